// Structs of attributes, which list their fields once (ir/fields.h). ir/ops.def names the struct of each opcode. Text:
// docs/language.md#attribute-values.
#ifndef HLO_IR_ATTRS_H_
#define HLO_IR_ATTRS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/interned.h"
#include "base/shared.h"
#include "ir/attribute_values.h"
#include "ir/fields.h"
#include "ir/literal.h"
#include "ir/metadata.h"
#include "ir/shape.h"
#include "ir/sharding.h"

namespace hlo {

class Computation;

struct NoAttrs {
  static constexpr auto Fields() { return FieldList(); }
  bool operator==(const NoAttrs&) const = default;
};

struct ParameterAttrs {
  int64_t number = 0;
  static constexpr auto Fields() { return FieldList(); }
};

struct ConstantAttrs {
  Literal literal;
  static constexpr auto Fields() { return FieldList(); }
};

struct CompareAttrs {
  ComparisonDirection direction = ComparisonDirection::kEq;
  ComparisonType type = ComparisonType::kDefault;  // kDefault is the usual one of the element type.
  static constexpr auto Fields() {
    return FieldList(Required("direction", &CompareAttrs::direction), Optional("type", &CompareAttrs::type));
  }
};

struct IotaAttrs {
  int64_t iota_dimension = 0;
  static constexpr auto Fields() { return FieldList(Required("iota_dimension", &IotaAttrs::iota_dimension)); }
};

struct IndexAttrs {  // get-tuple-element
  int64_t index = 0;
  static constexpr auto Fields() { return FieldList(Required("index", &IndexAttrs::index)); }
};

//   broadcast: dimension i of the operand becomes dimensions[i] of the result, in increasing order, as XLA requires.
//   transpose: dimension i of the result is dimensions[i] of the operand.
//   reverse:   the reversed dimensions.
struct DimensionsAttrs {
  std::vector<int64_t> dimensions;
  static constexpr auto Fields() { return FieldList(Always("dimensions", &DimensionsAttrs::dimensions)); }
};

struct OneDimensionAttrs {  // concatenate, get-dimension-size, set-dimension-size
  OneDimension dimension;
  static constexpr auto Fields() { return FieldList(Required("dimensions", &OneDimensionAttrs::dimension)); }
};

struct ReshapeAttrs {
  int64_t inferred_dimension = -1;
  static constexpr auto Fields() {
    return FieldList(Optional("inferred_dimension", &ReshapeAttrs::inferred_dimension));
  }
};

struct SliceAttrs {
  SliceRanges slice;
  static constexpr auto Fields() { return FieldList(Required("slice", &SliceAttrs::slice)); }
};

struct DynamicSliceAttrs {
  std::vector<int64_t> sizes;
  static constexpr auto Fields() { return FieldList(Required("dynamic_slice_sizes", &DynamicSliceAttrs::sizes)); }
};

struct PadAttrs {
  PaddingConfig padding;
  static constexpr auto Fields() { return FieldList(Required("padding", &PadAttrs::padding)); }
};

struct GatherAttrs {
  std::vector<int64_t> offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims,
      start_indices_batching_dims;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> slice_sizes;
  bool indices_are_sorted = false;
  static constexpr auto Fields() {
    return FieldList(Required("offset_dims", &GatherAttrs::offset_dims),
                     Required("collapsed_slice_dims", &GatherAttrs::collapsed_slice_dims),
                     Required("start_index_map", &GatherAttrs::start_index_map),
                     Optional("operand_batching_dims", &GatherAttrs::operand_batching_dims),
                     Optional("start_indices_batching_dims", &GatherAttrs::start_indices_batching_dims),
                     Required("index_vector_dim", &GatherAttrs::index_vector_dim),
                     Required("slice_sizes", &GatherAttrs::slice_sizes),
                     Optional("indices_are_sorted", &GatherAttrs::indices_are_sorted));
  }
};

struct ScatterAttrs {
  std::vector<int64_t> update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching_dims,
      scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false;
  bool unique_indices = false;
  Computation* to_apply = nullptr;
  static constexpr auto Fields() {
    return FieldList(Required("update_window_dims", &ScatterAttrs::update_window_dims),
                     Required("inserted_window_dims", &ScatterAttrs::inserted_window_dims),
                     Required("scatter_dims_to_operand_dims", &ScatterAttrs::scatter_dims_to_operand_dims),
                     Optional("input_batching_dims", &ScatterAttrs::input_batching_dims),
                     Optional("scatter_indices_batching_dims", &ScatterAttrs::scatter_indices_batching_dims),
                     Required("index_vector_dim", &ScatterAttrs::index_vector_dim),
                     Optional("indices_are_sorted", &ScatterAttrs::indices_are_sorted),
                     Optional("unique_indices", &ScatterAttrs::unique_indices),
                     Required("to_apply", &ScatterAttrs::to_apply));
  }
};

struct ReduceAttrs {
  std::vector<int64_t> dimensions;
  Computation* to_apply = nullptr;  // (acc..., element...) -> acc...; associative by HLO's contract.
  static constexpr auto Fields() {
    return FieldList(Required("dimensions", &ReduceAttrs::dimensions), Required("to_apply", &ReduceAttrs::to_apply));
  }
};

struct ReduceWindowAttrs {
  Window window;
  Computation* to_apply = nullptr;
  static constexpr auto Fields() {
    return FieldList(Optional("window", &ReduceWindowAttrs::window),
                     Required("to_apply", &ReduceWindowAttrs::to_apply));
  }
};

struct SelectAndScatterAttrs {
  Window window;
  Computation* select = nullptr;
  Computation* scatter = nullptr;
  static constexpr auto Fields() {
    return FieldList(Optional("window", &SelectAndScatterAttrs::window),
                     Required("select", &SelectAndScatterAttrs::select),
                     Required("scatter", &SelectAndScatterAttrs::scatter));
  }
};

struct MapAttrs {
  std::vector<int64_t> dimensions;
  Computation* to_apply = nullptr;
  static constexpr auto Fields() {
    return FieldList(Always("dimensions", &MapAttrs::dimensions), Required("to_apply", &MapAttrs::to_apply));
  }
};

struct ScanAttrs {
  OneDimension dimension;
  int64_t num_carries = 0;
  bool is_reverse = false;
  bool is_associative = false;
  Computation* to_apply = nullptr;
  static constexpr auto Fields() {
    return FieldList(Required("dimensions", &ScanAttrs::dimension), Required("num_carries", &ScanAttrs::num_carries),
                     Optional("is_reverse", &ScanAttrs::is_reverse),
                     Always("is_associative", &ScanAttrs::is_associative), Required("to_apply", &ScanAttrs::to_apply));
  }
};

struct SortAttrs {
  OneDimension dimension;
  bool is_stable = false;
  Computation* to_apply = nullptr;
  static constexpr auto Fields() {
    return FieldList(Required("dimensions", &SortAttrs::dimension), Optional("is_stable", &SortAttrs::is_stable),
                     Required("to_apply", &SortAttrs::to_apply));
  }
};

struct TopKAttrs {
  int64_t k = 0;
  bool largest = true;
  bool is_stable = true;
  static constexpr auto Fields() {
    return FieldList(Required("k", &TopKAttrs::k), Always("largest", &TopKAttrs::largest),
                     Always("is_stable", &TopKAttrs::is_stable));
  }
};

struct DotAttrs {  // dot, scaled-dot
  std::vector<int64_t> lhs_batch, lhs_contracting, rhs_batch, rhs_contracting;
  std::vector<Precision> precision;
  DotAlgorithm algorithm = DotAlgorithm::kUnset;
  SparsityConfig sparsity;
  BlockScalingConfig block_scaling;
  static constexpr auto Fields() {
    return FieldList(
        Optional("lhs_batch_dims", &DotAttrs::lhs_batch), Always("lhs_contracting_dims", &DotAttrs::lhs_contracting),
        Optional("rhs_batch_dims", &DotAttrs::rhs_batch), Always("rhs_contracting_dims", &DotAttrs::rhs_contracting),
        Optional("operand_precision", &DotAttrs::precision), Optional("algorithm", &DotAttrs::algorithm),
        Optional("sparsity_config", &DotAttrs::sparsity), Optional("block_scaling_config", &DotAttrs::block_scaling));
  }
};

struct RaggedDotAttrs {
  std::vector<int64_t> lhs_batch, lhs_contracting, rhs_batch, rhs_contracting, lhs_ragged, rhs_group;
  std::vector<Precision> precision;
  static constexpr auto Fields() {
    return FieldList(Optional("lhs_batch_dims", &RaggedDotAttrs::lhs_batch),
                     Always("lhs_contracting_dims", &RaggedDotAttrs::lhs_contracting),
                     Optional("rhs_batch_dims", &RaggedDotAttrs::rhs_batch),
                     Always("rhs_contracting_dims", &RaggedDotAttrs::rhs_contracting),
                     Optional("lhs_ragged_dims", &RaggedDotAttrs::lhs_ragged),
                     Optional("rhs_group_dims", &RaggedDotAttrs::rhs_group),
                     Optional("operand_precision", &RaggedDotAttrs::precision));
  }
};

struct ConvolutionAttrs {
  Window window;
  DimLabels dim_labels;
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  ConvolutionKind kind = ConvolutionKind::kUnset;
  std::vector<Precision> precision;
  DotAlgorithm algorithm = DotAlgorithm::kUnset;
  SparsityConfig sparsity;
  BlockScalingConfig block_scaling;
  static constexpr auto Fields() {
    return FieldList(
        Optional("window", &ConvolutionAttrs::window), Required("dim_labels", &ConvolutionAttrs::dim_labels),
        Optional("feature_group_count", &ConvolutionAttrs::feature_group_count),
        Optional("batch_group_count", &ConvolutionAttrs::batch_group_count),
        Optional("convolution_kind", &ConvolutionAttrs::kind),
        Optional("operand_precision", &ConvolutionAttrs::precision),
        Optional("algorithm", &ConvolutionAttrs::algorithm), Optional("sparsity_config", &ConvolutionAttrs::sparsity),
        Optional("block_scaling_config", &ConvolutionAttrs::block_scaling));
  }
};

struct FftAttrs {
  FftType fft_type = FftType::kFft;
  std::vector<int64_t> fft_length;
  static constexpr auto Fields() {
    return FieldList(Required("fft_type", &FftAttrs::fft_type), Required("fft_length", &FftAttrs::fft_length));
  }
};

struct TriangularSolveAttrs {
  bool left_side = false, lower = false, unit_diagonal = false;
  TransposeKind transpose_a = TransposeKind::kInvalid;
  static constexpr auto Fields() {
    return FieldList(Optional("left_side", &TriangularSolveAttrs::left_side),
                     Optional("lower", &TriangularSolveAttrs::lower),
                     Optional("unit_diagonal", &TriangularSolveAttrs::unit_diagonal),
                     Optional("transpose_a", &TriangularSolveAttrs::transpose_a));
  }
};

struct CholeskyAttrs {
  bool lower = false;
  static constexpr auto Fields() { return FieldList(Optional("lower", &CholeskyAttrs::lower)); }
};

struct BatchNormAttrs {
  double epsilon = 0;
  int64_t feature_index = 0;
  static constexpr auto Fields() {
    return FieldList(Required("epsilon", &BatchNormAttrs::epsilon),
                     Required("feature_index", &BatchNormAttrs::feature_index));
  }
};

struct RngAttrs {
  RandomDistribution distribution = RandomDistribution::kUniform;
  static constexpr auto Fields() { return FieldList(Required("distribution", &RngAttrs::distribution)); }
};

struct RngBitGeneratorAttrs {
  RandomAlgorithm algorithm = RandomAlgorithm::kDefault;
  static constexpr auto Fields() { return FieldList(Required("algorithm", &RngBitGeneratorAttrs::algorithm)); }
};

struct RngStateAttrs {
  int64_t delta = 0;
  static constexpr auto Fields() { return FieldList(Required("delta", &RngStateAttrs::delta)); }
};

struct ReducePrecisionAttrs {
  int64_t exponent_bits = 0, mantissa_bits = 0;
  static constexpr auto Fields() {
    return FieldList(Required("exponent_bits", &ReducePrecisionAttrs::exponent_bits),
                     Required("mantissa_bits", &ReducePrecisionAttrs::mantissa_bits));
  }
};

struct WhileAttrs {
  Computation* condition = nullptr;
  Computation* body = nullptr;
  static constexpr auto Fields() {
    return FieldList(Required("condition", &WhileAttrs::condition), Required("body", &WhileAttrs::body));
  }
};

// A pred selector goes with true_computation and false_computation, an s32 selector with branch_computations.
// branches() is in the order of branch numbers, where true is number 0.
struct ConditionalAttrs {
  Computation* true_computation = nullptr;
  Computation* false_computation = nullptr;
  std::vector<Computation*> branch_computations;
  static constexpr auto Fields() {
    return FieldList(Optional("true_computation", &ConditionalAttrs::true_computation),
                     Optional("false_computation", &ConditionalAttrs::false_computation),
                     Optional("branch_computations", &ConditionalAttrs::branch_computations));
  }
  std::vector<Computation*> branches() const {
    return true_computation ? std::vector{true_computation, false_computation} : branch_computations;
  }
};

struct CallAttrs {
  Computation* to_apply = nullptr;
  bool is_composite = false;
  static constexpr auto Fields() {
    return FieldList(Required("to_apply", &CallAttrs::to_apply), Optional("is_composite", &CallAttrs::is_composite));
  }
};

struct FusionAttrs {
  FusionKind kind = FusionKind::kLoop;
  OperandAliases aliases;
  Computation* calls = nullptr;
  static constexpr auto Fields() {
    return FieldList(Required("kind", &FusionAttrs::kind),
                     Optional("output_to_operand_aliasing", &FusionAttrs::aliases),
                     Required("calls", &FusionAttrs::calls));
  }
};

struct CustomCallAttrs {
  Window window;
  std::optional<DimLabels> dim_labels;
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  std::vector<Precision> precision;
  DotAlgorithm algorithm = DotAlgorithm::kUnset;
  PaddingType padding_type = PaddingType::kInvalid;
  std::string target;
  std::optional<ShapeList> operand_layouts;
  bool has_side_effect = false;
  LiteralValue literal;
  OperandAliases aliases;
  CustomCallSchedule schedule = CustomCallSchedule::kNone;
  ApiVersion api_version = ApiVersion::kOriginal;
  Computation* to_apply = nullptr;
  std::vector<Computation*> called_computations;
  static constexpr auto Fields() {
    return FieldList(
        Optional("window", &CustomCallAttrs::window), Optional("dim_labels", &CustomCallAttrs::dim_labels),
        Optional("feature_group_count", &CustomCallAttrs::feature_group_count),
        Optional("batch_group_count", &CustomCallAttrs::batch_group_count),
        Optional("operand_precision", &CustomCallAttrs::precision), Optional("algorithm", &CustomCallAttrs::algorithm),
        Optional("padding_type", &CustomCallAttrs::padding_type),
        Required("custom_call_target", &CustomCallAttrs::target),
        Optional("operand_layout_constraints", &CustomCallAttrs::operand_layouts),
        Optional("custom_call_has_side_effect", &CustomCallAttrs::has_side_effect),
        Optional("literal", &CustomCallAttrs::literal),
        Optional("output_to_operand_aliasing", &CustomCallAttrs::aliases),
        Optional("schedule", &CustomCallAttrs::schedule), Optional("api_version", &CustomCallAttrs::api_version),
        Optional("to_apply", &CustomCallAttrs::to_apply),
        Optional("called_computations", &CustomCallAttrs::called_computations));
  }
};

// Attributes of collectives and their start ops, except collective-permute. Each op uses some of the fields. Groups:
// docs/language.md#replica-groups.
struct CollectiveAttrs {
  std::optional<int64_t> channel_id;
  ReplicaGroups replica_groups;
  bool constrain_layout = false;
  bool use_global_device_ids = false;
  std::optional<OneDimension> dimension;
  std::optional<bool> has_dynamic_root;
  GroupModeWord mode;
  Computation* to_apply = nullptr;
  static constexpr auto Fields() {
    return FieldList(Optional("channel_id", &CollectiveAttrs::channel_id),
                     Always("replica_groups", &CollectiveAttrs::replica_groups),
                     Optional("constrain_layout", &CollectiveAttrs::constrain_layout),
                     Optional("dimensions", &CollectiveAttrs::dimension),
                     Optional("use_global_device_ids", &CollectiveAttrs::use_global_device_ids),
                     Optional("has_dynamic_root", &CollectiveAttrs::has_dynamic_root),
                     Optional("mode", &CollectiveAttrs::mode), Optional("to_apply", &CollectiveAttrs::to_apply));
  }
};

struct PermuteAttrs {  // collective-permute(-start)
  std::optional<int64_t> channel_id;
  ListOfLists source_target_pairs;
  std::optional<ListOfLists> slice_sizes;
  static constexpr auto Fields() {
    return FieldList(Optional("channel_id", &PermuteAttrs::channel_id),
                     Required("source_target_pairs", &PermuteAttrs::source_target_pairs),
                     Optional("slice_sizes", &PermuteAttrs::slice_sizes));
  }
};

struct ShuffleAttrs {
  std::vector<int64_t> dimensions;
  ShuffleMode mode = ShuffleMode::kRotate;
  std::vector<int64_t> shifts;
  static constexpr auto Fields() {
    return FieldList(Required("dimensions", &ShuffleAttrs::dimensions), Required("mode", &ShuffleAttrs::mode),
                     Optional("shifts", &ShuffleAttrs::shifts));
  }
};

struct CopyStartAttrs {
  std::optional<int64_t> cross_program_prefetch_index;
  static constexpr auto Fields() {
    return FieldList(Optional("cross_program_prefetch_index", &CopyStartAttrs::cross_program_prefetch_index));
  }
};

struct AsyncAttrs {  // async-start, async-update, async-done
  std::string thread = "main";
  OperandAliases aliases;
  Computation* calls = nullptr;
  static constexpr auto Fields() {
    return FieldList(Optional("async_execution_thread", &AsyncAttrs::thread),
                     Optional("output_to_operand_aliasing", &AsyncAttrs::aliases),
                     Optional("calls", &AsyncAttrs::calls));
  }
};

struct ChannelAttrs {  // send, recv, send-done, recv-done
  std::optional<int64_t> channel_id;
  bool is_host_transfer = false;
  static constexpr auto Fields() {
    return FieldList(Optional("channel_id", &ChannelAttrs::channel_id),
                     Optional("is_host_transfer", &ChannelAttrs::is_host_transfer));
  }
};

struct InfeedAttrs {
  std::string config;
  static constexpr auto Fields() { return FieldList(Optional("infeed_config", &InfeedAttrs::config)); }
};

struct OutfeedAttrs {
  std::optional<Shape> shape;
  std::string config;
  static constexpr auto Fields() {
    return FieldList(Optional("outfeed_shape", &OutfeedAttrs::shape),
                     Optional("outfeed_config", &OutfeedAttrs::config));
  }
};

struct DomainAttrs {
  Domain domain;
  static constexpr auto Fields() { return FieldList(Required("domain", &DomainAttrs::domain)); }
};

template <class... Structs>
struct StructList {
  template <class A>
  static constexpr bool kHolds = (std::is_same_v<A, Structs> || ...);
  template <class A>
  static constexpr int IndexOf() {
    int index = 0;
    (void)((std::is_same_v<A, Structs> || (++index, false)) || ...);
    return index;
  }
};

using AttributeStructs =
    StructList<NoAttrs, ParameterAttrs, ConstantAttrs, CompareAttrs, IotaAttrs, IndexAttrs, DimensionsAttrs,
               OneDimensionAttrs, ReshapeAttrs, SliceAttrs, DynamicSliceAttrs, PadAttrs, GatherAttrs, ScatterAttrs,
               ReduceAttrs, ReduceWindowAttrs, SelectAndScatterAttrs, MapAttrs, ScanAttrs, SortAttrs, TopKAttrs,
               DotAttrs, RaggedDotAttrs, ConvolutionAttrs, FftAttrs, TriangularSolveAttrs, CholeskyAttrs,
               BatchNormAttrs, RngAttrs, RngBitGeneratorAttrs, RngStateAttrs, ReducePrecisionAttrs, WhileAttrs,
               ConditionalAttrs, CallAttrs, FusionAttrs, CustomCallAttrs, CollectiveAttrs, PermuteAttrs, ShuffleAttrs,
               CopyStartAttrs, AsyncAttrs, ChannelAttrs, InfeedAttrs, OutfeedAttrs, DomainAttrs>;

// Holds one attribute struct, like a std::variant, but copying and destroying are compiled only once. Small trivial
// structs are stored in place.
class Attributes {
 public:
  template <class A>
    requires(AttributeStructs::kHolds<A>)
  Attributes(A value) : kind_(AttributeStructs::IndexOf<A>()), in_place_(kFits<A>) {
    if constexpr (kFits<A>) new (place_) A(value);
    else heap_ = new A(std::move(value));
  }
  Attributes() : Attributes(NoAttrs()) {}
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept : Attributes() { Swap(other); }
  Attributes& operator=(Attributes other) noexcept {
    Swap(other);
    return *this;
  }
  ~Attributes() {
    if (!in_place_) Destroy();
  }

  template <class A>
  const A* GetIf() const {
    return kind_ == AttributeStructs::IndexOf<A>() ? static_cast<const A*>(data()) : nullptr;
  }
  template <class A>
  A& Get() {
    CHECK(kind_ == AttributeStructs::IndexOf<A>());
    return *static_cast<A*>(data());
  }
  template <class A>
  const A& Get() const {
    return const_cast<Attributes*>(this)->Get<A>();
  }

  int kind() const { return kind_; }
  void* data() { return in_place_ ? place_ : heap_; }
  const void* data() const { return const_cast<Attributes*>(this)->data(); }

 private:
  template <class A>
  static constexpr bool kFits = sizeof(A) <= sizeof(void*) && std::is_trivially_copyable_v<A>;

  void Swap(Attributes& other) {
    std::swap(kind_, other.kind_);
    std::swap(in_place_, other.in_place_);
    std::swap(place_, other.place_);
  }
  void Destroy();

  int kind_;
  bool in_place_;
  union {
    alignas(void*) std::byte place_[sizeof(void*)] = {};
    void* heap_;
  };
};

template <class F>
decltype(auto) Visit(Attributes& attrs, F&& f) {
  return [&]<class... Structs>(const StructList<Structs...>*) {
    using R = decltype(f(std::declval<NoAttrs&>()));
    static constexpr R (*kCalls[])(F&,
                                   void*) = {[](F& f, void* data) -> R { return f(*static_cast<Structs*>(data)); }...};
    return kCalls[attrs.kind()](f, attrs.data());
  }(static_cast<const AttributeStructs*>(nullptr));
}
template <class F>
decltype(auto) Visit(const Attributes& attrs, F&& f) {
  return Visit(const_cast<Attributes&>(attrs), [&]<class A>(A& a) -> decltype(auto) { return f(std::as_const(a)); });
}

// ---- Attributes of any instruction -------------------------------------------------------------------------------

struct CommonAttrs {
  LeafFlags parameter_replication;
  Shared<Sharding> sharding;
  FrontendAttributes frontend_attributes;
  Statistics statistics;
  ResultAccuracy result_accuracy;
  Origin origin;
  Metadata metadata;
  BackendConfig backend_config;
  static constexpr auto Fields() {
    return FieldList(Optional("parameter_replication", &CommonAttrs::parameter_replication),
                     Optional("sharding", &CommonAttrs::sharding),
                     Optional("frontend_attributes", &CommonAttrs::frontend_attributes),
                     Optional("statistics", &CommonAttrs::statistics),
                     Optional("result_accuracy", &CommonAttrs::result_accuracy),
                     Optional("origin", &CommonAttrs::origin), Optional("metadata", &CommonAttrs::metadata),
                     Optional("backend_config", &CommonAttrs::backend_config));
  }
};

}  // namespace hlo

#endif  // HLO_IR_ATTRS_H_
