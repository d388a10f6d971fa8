// Options of passes in pipelines, such as `fusion{instructions=128}`.
#ifndef HLO_PASSES_OPTIONS_H_
#define HLO_PASSES_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ir/primitive_type.h"

namespace hlo {

template <class Struct, class T>
struct OptionField {
  std::string_view name;
  T Struct::* member;  // A nonnegative int64_t, a bool, or an element type.
  std::string_view what;
};
template <class Struct, class T>
constexpr OptionField<Struct, T> Option(std::string_view name, T Struct::* member, std::string_view what) {
  return {name, member, what};
}

struct NoPassOptions {
  static constexpr auto Fields() { return std::tuple(); }
};

struct InliningOptions {
  int64_t instructions = 1'000'000;
  static constexpr auto Fields() {
    return std::tuple(Option("instructions", &InliningOptions::instructions,
                             "largest number of instructions that are copied; calls beyond it stay calls"));
  }
};

struct FoldingOptions {
  int64_t result_elements = 4096;
  int64_t operand_elements = 1 << 20;
  static constexpr auto Fields() {
    return std::tuple(
        Option("result_elements", &FoldingOptions::result_elements,
               "largest number of elements of a result that is written into the module"),
        Option("operand_elements", &FoldingOptions::operand_elements, "largest number of elements of an operand"));
  }
};

struct SharingOptions {
  bool fusions_only = false;
  static constexpr auto Fields() {
    return std::tuple(
        Option("fusions_only", &SharingOptions::fusions_only, "share instructions only within fused computations"));
  }
};

struct FusionOptions {
  int64_t instructions = 256;
  int64_t parameters = 96;
  static constexpr auto Fields() {
    return std::tuple(
        Option("instructions", &FusionOptions::instructions, "largest number of instructions of one kernel"),
        Option("parameters", &FusionOptions::parameters, "largest number of operands and results of one kernel"));
  }
};

struct MotionOptions {
  bool inflating = false;
  static constexpr auto Fields() {
    return std::tuple(Option("inflating", &MotionOptions::inflating,
                             "also move cheap instructions whose result is larger than all their operands"));
  }
};

struct SumMotionOptions {
  bool reduce_scatter = false;
  int64_t max_bytes = 30 << 20;
  static constexpr auto Fields() {
    return std::tuple(Option("reduce_scatter", &SumMotionOptions::reduce_scatter,
                             "also move reduce-scatters; the loop then holds whole sums instead of parts"),
                      Option("max_bytes", &SumMotionOptions::max_bytes,
                             "largest number of bytes of an array of which each trip writes one row"));
  }
};

struct AsyncOptions {
  bool only_all_reduce = false;
  static constexpr auto Fields() {
    return std::tuple(Option("only_all_reduce", &AsyncOptions::only_all_reduce, "split only all-reduces"));
  }
};

// The defaults are XLA's.
struct UnrollingOptions {
  int64_t trips = 64;
  int64_t instructions = 800;
  int64_t copies = 10'000;
  int64_t module_copies = 100'000;
  bool one_kernel = false;
  static constexpr auto Fields() {
    return std::tuple(
        Option("trips", &UnrollingOptions::trips, "largest number of trips of a loop that is unrolled"),
        Option("instructions", &UnrollingOptions::instructions, "largest number of instructions of the loop's body"),
        Option("copies", &UnrollingOptions::copies, "largest number of instructions that one loop becomes"),
        Option("module_copies", &UnrollingOptions::module_copies,
               "largest number of instructions that all unrolled loops of a module become together"),
        Option("one_kernel", &UnrollingOptions::one_kernel, "unroll only loops that can become one kernel"));
  }
};

struct ExpansionOptions {
  bool simple_only = false;
  static constexpr auto Fields() {
    return std::tuple(
        Option("simple_only", &ExpansionOptions::simple_only, "expand only gathers and scatters of a single window"));
  }
};

struct SplittingOptions {
  int64_t operands = 128;
  static constexpr auto Fields() {
    return std::tuple(
        Option("operands", &SplittingOptions::operands, "largest number of operands of one concatenate; at least 2"));
  }
};

struct DotMergingOptions {
  int64_t max_bytes = 16 << 20;
  static constexpr auto Fields() {
    return std::tuple(
        Option("max_bytes", &DotMergingOptions::max_bytes,
               "largest number of bytes of the operands and the result of the smaller of two merged dots"));
  }
};

struct NormalizationOptions {
  bool dots = true;
  static constexpr auto Fields() {
    return std::tuple(Option("dots", &NormalizationOptions::dots, "also compute dots of bf16 in f32"));
  }
};

struct GemmPaddingOptions {
  PrimitiveType type = PrimitiveType::kF16;
  int64_t multiple = 8;
  static constexpr auto Fields() {
    return std::tuple(
        Option("type", &GemmPaddingOptions::type, "element type of both operands"),
        Option("multiple", &GemmPaddingOptions::multiple, "number of which rows and columns become multiples"));
  }
};

struct CombiningOptions {
  int64_t max_bytes = 30 << 20;
  int64_t max_operands = 256;
  bool combine_by_dim = true;
  static constexpr auto Fields() {
    return std::tuple(
        Option("max_bytes", &CombiningOptions::max_bytes,
               "largest number of bytes of the results of one combined collective"),
        Option("max_operands", &CombiningOptions::max_operands,
               "largest number of operands of one combined collective"),
        Option("combine_by_dim", &CombiningOptions::combine_by_dim,
               "combine only collectives along the same dimension; otherwise small arrays are transposed"));
  }
};

struct PartitioningOptions {
  int64_t max_gather = int64_t{1} << 40;  // A limit that no array on a device reaches.
  static constexpr auto Fields() {
    return std::tuple(Option("max_gather", &PartitioningOptions::max_gather,
                             "largest number of bytes of an array that each device gathers whole; a larger one is an "
                             "error (C040). 0 forbids all"));
  }
};

// Options that enable or disable rules of algsimp. algebraic_simplifier.cpp has the mapping. Names and defaults are
// XLA's unless stated otherwise.
struct AlgebraOptions {
  bool is_layout_sensitive = false;
  bool rounding = false;
  bool merge_reduces = false;
  bool enable_broadcast_degenerate_dimension = true;
  bool enable_conditional_simplification = false;
  bool enable_conv_add_multiply_reorder = false;
  bool enable_conv_operand_swap = true;
  bool enable_conv_simplification = true;
  bool enable_dot_strength_reduction = true;
  bool enable_dot_to_multiply_rewrite = true;
  bool enable_fold_transpose_into_scatter = false;
  bool enable_hoist_transpose_of_reshape = false;
  bool enable_move_dot_param_to_rhs = false;
  bool enable_negative_padding_replacement = true;
  bool enable_reduce_of_reshape = true;
  bool enable_scalar_multiply_reduction = false;
  bool enable_sink_broadcast = true;
  bool enable_window_reduce_to_reduce_replacement = true;
  bool executing_on_cpu = false;
  bool raise_slice_and_reduce_through_dot = false;
  bool replace_transpose_with_bitcast = true;
  bool rewrite_reshape_transpose_as_slice_concatenate = false;
  bool use_associative_reordering = false;
  bool use_convert_constant_folding = false;
  static constexpr auto Fields() {
    return std::tuple(
        Option("is_layout_sensitive", &AlgebraOptions::is_layout_sensitive,
               "the module has its final layouts: ops that move nothing in memory become bitcasts, and copies stay"),
        Option("rounding", &AlgebraOptions::rounding,
               "also apply laws that change roundings, as XLA's algsimp always does"),
        Option("merge_reduces", &AlgebraOptions::merge_reduces,
               "also merge reduce(reduce(x)) and reduce(reshape(x)), as XLA does before layout assignment; this undoes "
               "splits of reduces"),
        Option("enable_broadcast_degenerate_dimension", &AlgebraOptions::enable_broadcast_degenerate_dimension,
               "broadcasts lose dimensions of size 1"),
        Option("enable_conditional_simplification", &AlgebraOptions::enable_conditional_simplification,
               "conditionals take a predicate instead of an index"),
        Option("enable_conv_add_multiply_reorder", &AlgebraOptions::enable_conv_add_multiply_reorder,
               "(convolution(x, w) + b) * c => convolution(x, w * c) + b * c"),
        Option("enable_conv_operand_swap", &AlgebraOptions::enable_conv_operand_swap,
               "image and kernel of a convolution are swapped if the window is larger than the image"),
        Option("enable_conv_simplification", &AlgebraOptions::enable_conv_simplification,
               "convolutions that are matrix products become dots"),
        Option("enable_dot_strength_reduction", &AlgebraOptions::enable_dot_strength_reduction,
               "a dot with a vector becomes a multiply and a reduce"),
        Option("enable_dot_to_multiply_rewrite", &AlgebraOptions::enable_dot_to_multiply_rewrite,
               "a dot with one product for each result becomes a multiply"),
        Option("enable_fold_transpose_into_scatter", &AlgebraOptions::enable_fold_transpose_into_scatter,
               "transpose(scatter(x)) => scatter(transpose(x))"),
        Option("enable_hoist_transpose_of_reshape", &AlgebraOptions::enable_hoist_transpose_of_reshape,
               "reshape(transpose(x)) => transpose(reshape(x))"),
        Option("enable_move_dot_param_to_rhs", &AlgebraOptions::enable_move_dot_param_to_rhs,
               "dot(parameter, x) => transpose(dot(x, parameter))"),
        Option("enable_negative_padding_replacement", &AlgebraOptions::enable_negative_padding_replacement,
               "negative padding becomes a slice"),
        Option("enable_reduce_of_reshape", &AlgebraOptions::enable_reduce_of_reshape,
               "reduce(reshape(x)) => reduce(x)"),
        Option("enable_scalar_multiply_reduction", &AlgebraOptions::enable_scalar_multiply_reduction,
               "the scalar factor of a convolution is moved to its smaller operand, if that scales fewer elements"),
        Option("enable_sink_broadcast", &AlgebraOptions::enable_sink_broadcast, "f(broadcast(x)) => broadcast(f(x))"),
        Option("enable_window_reduce_to_reduce_replacement",
               &AlgebraOptions::enable_window_reduce_to_reduce_replacement,
               "a reduce-window with one window over everything becomes a reduce"),
        Option("executing_on_cpu", &AlgebraOptions::executing_on_cpu, "x / broadcast(y) => x * broadcast(1 / y)"),
        Option("raise_slice_and_reduce_through_dot", &AlgebraOptions::raise_slice_and_reduce_through_dot,
               "slices and sums of a dot become dots of slices and sums"),
        Option("replace_transpose_with_bitcast", &AlgebraOptions::replace_transpose_with_bitcast,
               "also transposes that move nothing in memory become bitcasts"),
        Option("rewrite_reshape_transpose_as_slice_concatenate",
               &AlgebraOptions::rewrite_reshape_transpose_as_slice_concatenate,
               "reshape(transpose(reshape(x))) of few chunks => concatenate; XLA's default is true"),
        Option("use_associative_reordering", &AlgebraOptions::use_associative_reordering,
               "dot(dot(a, b), c) => dot(a, dot(b, c)), where that takes half the products"),
        Option("use_convert_constant_folding", &AlgebraOptions::use_convert_constant_folding,
               "convert(constant) to a narrower type => a constant of that type"));
  }
};

using PassOptions = std::variant<NoPassOptions, AlgebraOptions, InliningOptions, FoldingOptions, SharingOptions,
                                 MotionOptions, UnrollingOptions, ExpansionOptions, FusionOptions, SplittingOptions,
                                 DotMergingOptions, GemmPaddingOptions, NormalizationOptions, CombiningOptions,
                                 SumMotionOptions, AsyncOptions, PartitioningOptions>;

struct OptionText {
  std::string_view name;
  std::string value;
  std::string_view what;
};
std::vector<OptionText> Describe(const PassOptions& options);

// Usage errors: an unknown option, with the nearest name, or an invalid value.
Status SetOption(std::string_view pass, std::string_view name, std::string_view value, PassOptions* options);

}  // namespace hlo

#endif  // HLO_PASSES_OPTIONS_H_
