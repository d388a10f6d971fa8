#include "gpu/libraries/onednn.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/check.h"
#include "base/host_isa.h"
#include "base/parallel.h"
#include "gpu/device/device.h"
#include "gpu/libraries/onednn_api.h"

namespace hlo::gpu {

using namespace onednn;  // NOLINT: this file is its only user.

namespace {

// ---- Descriptors and primitives ----------------------------------------------------------------------------------

class Descriptor {
 public:
  // No strides: whatever the primitive likes best.
  Descriptor(const Api& api, const std::vector<int64_t>& dims, int type, const std::vector<int64_t>* strides)
      : api_(api) {
    Dims sizes = {}, steps = {};
    CHECK(dims.size() <= kMaxDims, dims.size());
    std::copy(dims.begin(), dims.end(), sizes);
    if (strides != nullptr) std::copy(strides->begin(), strides->end(), steps);
    const int rank = static_cast<int>(dims.size());
    if (api.IsVersion3()) {
      status_ = strides ? api.memory_desc_create_with_strides(&data_, rank, sizes, type, steps)
                        : api.memory_desc_create_with_tag(&data_, rank, sizes, type, kTagAny);
      return;
    }
    data_ = std::calloc(1, kDescriptorBytes);
    status_ = strides ? api.memory_desc_init_by_strides(data_, rank, sizes, type, steps)
                      : api.memory_desc_init_by_tag(data_, rank, sizes, type, kTagAny);
  }
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (!api_.IsVersion3()) {
      std::free(data_);
    } else if (data_ != nullptr) {
      api_.memory_desc_destroy(data_);
    }
  }

  bool ok() const { return status_ == kSuccess; }
  const void* get() const { return data_; }

 private:
  const Api& api_;
  void* data_ = nullptr;
  int status_;
};

// A handle with the function that ends it.
struct Owned {
  Handle handle = nullptr;
  int (*destroy)(Handle) = nullptr;

  Owned() = default;
  explicit Owned(int (*destroy)(Handle)) : destroy(destroy) {}
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle, other.handle);
    std::swap(destroy, other.destroy);
    return *this;
  }
  ~Owned() {
    if (handle != nullptr) destroy(handle);
  }
};

// Memory of a primitive, whose data is somewhere else in each run at most when arguments change.
struct Slot {
  int what;  // Argument of the primitive.
  Owned memory;
  void* data = nullptr;
  enum class Source : uint8_t { kOperand, kResult, kScratch, kPacked, kFixed } source;
  int64_t number = 0;  // kOperand: which.
  int64_t offset = 0;  // Bytes; of operands and results.
};

struct Primitive {
  Owned primitive;
  std::vector<Slot> slots;
};

Slot MakeSlot(const Api& api, int what, const void* descriptor, Slot::Source source, int64_t number, void* data) {
  Slot slot{.what = what, .memory = Owned(api.memory_destroy), .data = data, .source = source, .number = number};
  const int status = api.memory_create(&slot.memory.handle, descriptor, api.engine, data);
  CHECK(status == kSuccess, "dnnl_memory_create: ", status);
  return slot;
}

// maximum(x, 0), here and not in oneDNN: its ReLU turns NaN into 0.
void Relu(void* result, int64_t elements) {
  auto* x = static_cast<float*>(result);
  ParallelFor(elements, 1 << 15, [x](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) x[i] = x[i] > 0 || x[i] != x[i] ? x[i] : 0.0f;
  });
}

class OneDnnCall : public LibraryCall {
 public:
  OneDnnCall(const Api& api) : api_(api) {}

  std::string how() const override { return Str("oneDNN ", api_.VersionText(), " ", algorithm_); }
  std::string algorithm() const override { return algorithm_; }
  std::vector<std::string> algorithms() const override { return algorithms_; }
  int64_t ScratchBytes() const override { return scratch_bytes_; }
  int64_t InPlaceOperand() const override { return in_place_operand_; }
  int64_t PackedBytes() const override { return packed_bytes_; }
  int64_t PackedOperand() const override { return packed_operand_; }
  Result<std::unique_ptr<BoundCall>> Bind(Device& device) const override;

 private:
  friend class Builder;
  friend class BoundOneDnnCall;

  const Api& api_;
  Primitive primitive_, pack_;
  int64_t in_place_operand_ = -1, packed_operand_ = -1, packed_bytes_ = 0;
  std::vector<std::unique_ptr<float>> constants_;
  int64_t scratch_bytes_ = 0;
  int64_t relu_elements_ = 0;
  int threads_ = Threads();
  std::string algorithm_;
  std::vector<std::string> algorithms_;  // Where they were asked for.
};

// With memory objects of its own, since running tells them where their data lie.
class BoundOneDnnCall : public BoundCall {
 public:
  explicit BoundOneDnnCall(const OneDnnCall& call)
      : call_(call), slots_(Copies(call.primitive_.slots)), pack_slots_(Copies(call.pack_.slots)) {}

  Status Pack(std::span<void* const> operands, void* packed) override {
    if (call_.packed_bytes_ == 0) return {};
    return RunPrimitive(call_.pack_, pack_slots_, operands, nullptr, nullptr, packed);
  }

  Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch, void* packed) override {
    TRY(RunPrimitive(call_.primitive_, slots_, operands, results[0], scratch, packed));
    Relu(results[0], call_.relu_elements_);
    return {};
  }

 private:
  std::vector<Slot> Copies(const std::vector<Slot>& slots) const {
    std::vector<Slot> copies;
    for (const Slot& slot : slots) {
      const void* descriptor = nullptr;
      call_.api_.memory_get_memory_desc(slot.memory.handle, &descriptor);
      copies.push_back(MakeSlot(call_.api_, slot.what, descriptor, slot.source, slot.number, slot.data));
      copies.back().offset = slot.offset;
    }
    return copies;
  }

  Status RunPrimitive(const Primitive& primitive, std::vector<Slot>& slots, std::span<void* const> operands,
                      void* result, void* scratch, void* packed) {
    const Api& api = call_.api_;
    api.SetThreads(call_.threads_);
    Argument arguments[40];
    int count = 0;
    for (Slot& slot : slots) {
      void* data = slot.data;
      if (slot.source == Slot::Source::kOperand) data = static_cast<std::byte*>(operands[slot.number]) + slot.offset;
      if (slot.source == Slot::Source::kResult) data = static_cast<std::byte*>(result) + slot.offset;
      if (slot.source == Slot::Source::kScratch) data = scratch;
      if (slot.source == Slot::Source::kPacked) data = packed;
      if (data != slot.data) {
        if (const int status = api.memory_set_data_handle(slot.memory.handle, data))
          FAIL(Failed("dnnl_memory_set_data_handle", status));
        slot.data = data;
      }
      arguments[count++] = {slot.what, slot.memory.handle};
    }
    if (const int status = api.primitive_execute(primitive.primitive.handle, api.stream, count, arguments)) {
      FAIL(Failed("dnnl_primitive_execute", status));
    }
    return {};
  }

  const OneDnnCall& call_;
  std::vector<Slot> slots_, pack_slots_;
};

Result<std::unique_ptr<BoundCall>> OneDnnCall::Bind(Device& /*device*/) const {
  return std::make_unique<BoundOneDnnCall>(*this);
}

// One product as several calls, each on one thread of ours. oneDNN's threads sleep between calls (onednn_api.cpp), and
// to wake them takes as long as some 10 million operations: with two threads of an Emerald Rapids products of 16.8
// million took 150 us, on one of them 112.
class ProductInParts : public LibraryCall {
 public:
  ProductInParts(std::vector<std::unique_ptr<LibraryCall>> parts, int64_t relu_elements)
      : parts_(std::move(parts)), relu_elements_(relu_elements) {
    for (const auto& part : parts_) {
      offsets_.push_back(scratch_bytes_);
      scratch_bytes_ += (part->ScratchBytes() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    }
  }

  std::string how() const override { return parts_[0]->how(); }
  std::string algorithm() const override { return parts_[0]->algorithm(); }
  std::vector<std::string> algorithms() const override { return parts_[0]->algorithms(); }
  int64_t ScratchBytes() const override { return scratch_bytes_; }
  Result<std::unique_ptr<BoundCall>> Bind(Device& device) const override {
    std::vector<std::unique_ptr<BoundCall>> bound;
    for (const auto& part : parts_) bound.push_back(TRY(part->Bind(device)));
    return std::make_unique<Bound>(*this, std::move(bound));
  }

 private:
  class Bound : public BoundCall {
   public:
    Bound(const ProductInParts& call, std::vector<std::unique_ptr<BoundCall>> parts)
        : call_(call), parts_(std::move(parts)) {}

    Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch,
               void* /*packed*/) override {
      std::vector<Status> outcomes(parts_.size());
      ParallelFor(std::ssize(parts_), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          void* const own = static_cast<std::byte*>(scratch) + call_.offsets_[i];
          outcomes[i] = parts_[i]->Run(operands, results, own, nullptr);
        }
      });
      for (Status& outcome : outcomes) TRY(std::move(outcome));
      Relu(results[0], call_.relu_elements_);
      return {};
    }

   private:
    const ProductInParts& call_;
    std::vector<std::unique_ptr<BoundCall>> parts_;
  };

  std::vector<std::unique_ptr<LibraryCall>> parts_;
  int64_t relu_elements_;
  std::vector<int64_t> offsets_;  // Of the scratch of each part.
  int64_t scratch_bytes_ = 0;
};

// Strides of a dense tensor where size 1 left them open: oneDNN recognises formats by strides.
std::vector<int64_t> Closed(const std::vector<int64_t>& dims, std::vector<int64_t> strides) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (strides[d] != 0) continue;
    strides[d] = d + 1 < dims.size() ? strides[d + 1] * dims[d + 1] : 1;
  }
  return strides;
}

// A tensor as one of oneDNN's: its dimensions in oneDNN's order.
struct Tensor {
  int type;
  std::vector<int64_t> dims, strides;
  int64_t offset = 0;  // Bytes, of its first element.
};

struct BinaryStep {
  int algorithm;
  int64_t operand;  // -1: the constant.
  double constant;
  Tensor tensor;
  bool in_place = false;  // Added to what lies in the result.
};

// A fault of the library (2.6.3): where channels are last, the convolutions of gemm:jit take from the operand of a
// binary step the element of the channel alone, whatever its other dimensions, with and without groups. Found by a
// program that made the same descriptors through oneDNN's own header: all 420 cases with such an operand were wrong, on
// AVX2 and AVX-512; right were scalars, one value for each channel, sums in place, channels first (924 cases), and all
// other implementations (864).
bool IsMisread(const std::vector<BinaryStep>& steps, const Tensor& result) {
  if (result.strides[1] != 1 && result.dims[1] != 1) return false;
  return std::ranges::any_of(steps, [](const BinaryStep& step) {
    const std::vector<int64_t>& dims = step.tensor.dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (d != 1 && dims[d] > 1 && !step.in_place) return true;
    }
    return false;
  });
}

class Builder {
 public:
  // Of `options` the implementation to take, empty: the library's first choice; and whether all are to be listed. On so
  // many of the library's threads: it cuts the work when the primitive is made, so the number holds for making it, too.
  Builder(const Api& api, const LibraryOptions& options, int threads)
      : api_(api), algorithm_(options.algorithm), list_(options.list), call_(std::make_unique<OneDnnCall>(api)) {
    call_->threads_ = threads;
    api.SetThreads(threads);
  }

  struct Window {
    std::vector<int64_t> strides, dilates, pad_low, pad_high;
  };

  // Null `window`: a matrix product. `rhs_any`: the weights are put into the library's own order first, in scratch.
  LibraryAnswer Build(const Tensor& lhs, int64_t lhs_operand, const Tensor& rhs, int64_t rhs_operand, bool rhs_any,
                      const Tensor& result, const std::vector<BinaryStep>& steps, bool relu, const Window* window) {
    Descriptor source(api_, lhs.dims, lhs.type, &lhs.strides), weights(api_, rhs.dims, rhs.type, &rhs.strides);
    Descriptor any(api_, rhs.dims, rhs.type, nullptr), destination(api_, result.dims, result.type, &result.strides);
    if (!source.ok() || !weights.ok() || !any.ok() || !destination.ok())
      return No("oneDNN does not describe its operands");
    Owned attr(api_.attr_destroy), post_ops(api_.post_ops_destroy), descriptor(api_.primitive_desc_destroy);
    api_.attr_create(&attr.handle);
    api_.attr_set_scratchpad_mode(attr.handle, kUserScratchpad);
    api_.post_ops_create(&post_ops.handle);
    for (const BinaryStep& step : steps) {
      if (step.in_place) {
        api_.AppendSum(post_ops.handle);
        call_->in_place_operand_ = step.operand;
        continue;
      }
      const Descriptor operand(api_, step.tensor.dims, step.tensor.type, &step.tensor.strides);
      if (!operand.ok() || api_.post_ops_append_binary(post_ops.handle, step.algorithm, operand.get())) {
        return No("oneDNN does not take its epilogue");
      }
    }
    api_.attr_set_post_ops(attr.handle, post_ops.handle);
    const void* wanted = rhs_any ? any.get() : weights.get();
    if (!Describe(&descriptor.handle, source.get(), wanted, destination.get(), attr.handle, window))
      return No("oneDNN does not take it");
    if (list_) {
      Owned listed(api_.primitive_desc_destroy);
      if (Describe(&listed.handle, source.get(), wanted, destination.get(), attr.handle, window))
        FindImplementation(listed, attr.handle, [&](std::string_view name) {
          call_->algorithms_.emplace_back(name);
          return false;
        });
    }
    if (std::string why_not = ChooseImplementation(descriptor, attr.handle); !why_not.empty()) return No(why_not);
    const char* const implementation = ImplementationOf(descriptor.handle);
    if (std::string_view(implementation).starts_with("ref")) return No("oneDNN has its reference implementation only");
    if (window != nullptr && std::string_view(implementation).ends_with("gemm:jit") && IsMisread(steps, result))
      return No("oneDNN's gemm:jit reads an operand of its epilogue by channel only");
    call_->algorithm_ = implementation;

    Primitive primitive{Owned(api_.primitive_destroy), {}};
    if (api_.primitive_create(&primitive.primitive.handle, descriptor.handle))
      return No("oneDNN makes no primitive of it");
    const void* packed = api_.primitive_desc_query_md(descriptor.handle, kQueryWeights, 0);
    AddSlot(primitive, kArgSource, source.get(), Slot::Source::kOperand, lhs_operand, lhs.offset);
    if (rhs_any && !api_.memory_desc_equal(packed, weights.get())) {
      if (!AddReorder(weights.get(), packed, rhs_operand)) return No("oneDNN does not reorder its weights");
      AddSlot(primitive, kArgWeights, packed, Slot::Source::kPacked, 0);
    } else {
      AddSlot(primitive, kArgWeights, packed, Slot::Source::kOperand, rhs_operand, rhs.offset);
    }
    AddSlot(primitive, kArgResult, destination.get(), Slot::Source::kResult, 0, result.offset);
    const size_t first =
        std::find_if(steps.begin(), steps.end(), [](const BinaryStep& step) { return !step.in_place; }) - steps.begin();
    const int base = PostOpBase(descriptor.handle, first);
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!steps[i].in_place) AddStep(primitive, base * static_cast<int>(i + 1) | kArgSecondSource, steps[i]);
    }
    const void* scratchpad = api_.primitive_desc_query_md(descriptor.handle, kQueryScratchpad, 0);
    if (const int64_t bytes = static_cast<int64_t>(api_.memory_desc_get_size(scratchpad)); bytes > 0) {
      AddSlot(primitive, kArgScratchpad, scratchpad, Slot::Source::kScratch, 0);
      call_->scratch_bytes_ = bytes;
    }
    call_->primitive_ = std::move(primitive);
    if (relu) {
      call_->relu_elements_ = 1;
      for (const int64_t dim : result.dims) call_->relu_elements_ *= dim;
    }
    return {std::move(call_), ""};
  }

 private:
  static LibraryAnswer No(std::string why) { return {nullptr, std::move(why)}; }

  bool Describe(Handle* descriptor, const void* source, const void* weights, const void* destination, Handle attr,
                const Window* window) {
    Dims strides = {}, dilates = {}, low = {}, high = {};
    if (window != nullptr) {
      std::copy(window->strides.begin(), window->strides.end(), strides);
      std::copy(window->dilates.begin(), window->dilates.end(), dilates);
      std::copy(window->pad_low.begin(), window->pad_low.end(), low);
      std::copy(window->pad_high.begin(), window->pad_high.end(), high);
    }
    if (api_.IsVersion3()) {
      if (window == nullptr)
        return api_.matmul_create(descriptor, api_.engine, source, weights, nullptr, destination, attr) == kSuccess;
      return api_.convolution_create(descriptor, api_.engine, kForwardInference, kConvolutionDirect, source, weights,
                                     nullptr, destination, strides, dilates, low, high, attr) == kSuccess;
    }
    std::memset(operation_, 0, sizeof operation_);
    const int status = window == nullptr
                           ? api_.matmul_desc_init(operation_, source, weights, nullptr, destination)
                           : api_.convolution_desc_init(operation_, kForwardInference, kConvolutionDirect, source,
                                                        weights, nullptr, destination, strides, dilates, low, high);
    return status == kSuccess &&
           api_.primitive_desc_create(descriptor, operation_, attr, api_.engine, nullptr) == kSuccess;
  }

  const char* ImplementationOf(Handle descriptor) const {
    const char* implementation = "";
    api_.primitive_desc_query(descriptor, kQueryImplementation, 0, &implementation);
    return implementation;
  }

  // Puts the implementation that is asked for in place of the first. Why there is none; empty: it is there.
  std::string ChooseImplementation(Owned& descriptor, Handle attr) const {
    if (algorithm_.empty()) return "";
    std::vector<std::string> names;
    const bool found = FindImplementation(descriptor, attr, [&](std::string_view name) {
      names.emplace_back(name);
      return name == algorithm_;
    });
    if (found) return "";
    return Str("there is no algorithm '", Escaped(algorithm_), "' for it; there are ", Join(names, ", "));
  }

  // Goes through the implementations until `is_it` holds for one, which `descriptor` then is; else false.
  bool FindImplementation(Owned& descriptor, Handle attr, const std::function<bool(std::string_view)>& is_it) const {
    if (api_.IsVersion3()) {
      do {
        if (is_it(ImplementationOf(descriptor.handle))) return true;
      } while (api_.primitive_desc_next_impl(descriptor.handle) == kSuccess);
      return false;
    }
    Owned iterator(api_.iterator_destroy);
    if (api_.iterator_create(&iterator.handle, operation_, attr, api_.engine, nullptr)) return false;
    do {
      Owned each(api_.primitive_desc_destroy);
      each.handle = api_.iterator_fetch(iterator.handle);
      if (!is_it(ImplementationOf(each.handle))) continue;
      std::swap(descriptor.handle, each.handle);
      return true;
    } while (api_.iterator_next(iterator.handle) == kSuccess);
    return false;
  }

  void AddSlot(Primitive& primitive, int what, const void* descriptor, Slot::Source source, int64_t number,
               int64_t offset = 0, void* data = nullptr) {
    primitive.slots.push_back(MakeSlot(api_, what, descriptor, source, number, data));
    primitive.slots.back().offset = offset;
  }

  void AddStep(Primitive& primitive, int what, const BinaryStep& step) {
    const Descriptor descriptor(api_, step.tensor.dims, step.tensor.type, &step.tensor.strides);
    if (step.operand >= 0)
      return AddSlot(primitive, what, descriptor.get(), Slot::Source::kOperand, step.operand, step.tensor.offset);
    call_->constants_.push_back(std::make_unique<float>(static_cast<float>(step.constant)));
    AddSlot(primitive, what, descriptor.get(), Slot::Source::kFixed, 0, 0, call_->constants_.back().get());
  }

  bool AddReorder(const void* from, const void* to, int64_t operand) {
    Owned descriptor(api_.primitive_desc_destroy);
    if (api_.reorder_create(&descriptor.handle, from, api_.engine, to, api_.engine, nullptr)) return false;
    Primitive primitive{Owned(api_.primitive_destroy), {}};
    if (api_.primitive_create(&primitive.primitive.handle, descriptor.handle)) return false;
    AddSlot(primitive, kArgSource, from, Slot::Source::kOperand, operand);
    AddSlot(primitive, kArgResult, to, Slot::Source::kPacked, 0);
    call_->pack_ = std::move(primitive);
    call_->packed_operand_ = operand;
    call_->packed_bytes_ = static_cast<int64_t>(api_.memory_desc_get_size(to));
    return true;
  }

  // The number that marks an argument as that of the first post-op moved from 2^14 to 2^15 within version 3. Asked for
  // under the smaller one: under the larger one the same number would mean a step before `first`, the first that has an
  // argument.
  int PostOpBase(Handle descriptor, size_t first) const {
    const int what = (1 << 14) * static_cast<int>(first + 1) | kArgSecondSource;
    const void* argument = api_.primitive_desc_query_md(descriptor, kQueryArgument, what);
    return argument != nullptr && api_.memory_desc_get_size(argument) > 0 ? 1 << 14 : 1 << 15;
  }

  const Api& api_;
  const std::string_view algorithm_;
  const bool list_;
  alignas(64) std::byte operation_[kDescriptorBytes];  // 2.
  std::unique_ptr<OneDnnCall> call_;
};

int BinaryAlgorithm(EpilogueOp op) {
  switch (op) {
    case EpilogueOp::kAdd: return kBinaryAdd;
    case EpilogueOp::kSubtract: return kBinarySub;
    default: return kBinaryMul;
  }
}

LibraryAnswer NotTaken(std::string why) { return {nullptr, std::move(why)}; }

// Rows of rhs a multiple of 2 KiB apart fall into the same sets of a first-level cache, and version 2 goes down them
// as they lie. With AVX2 on one core, at 256 rows and 256 terms: 448 and 500 columns 92 and 90 Gflop/s, 512 columns 63,
// 640 and 1000 columns 91 and 86, 1024 columns 42; 32 rows 41, 128 rows 39. Our kernel, which packs rhs first
// (emitters/packed_contraction.cpp), has 79, 76, 79, 73, 70, 75, 54 and 68. Of 16 rows the two are as fast.
bool IsSlowWithAvx2(const Api& api, const MatrixProduct& product) {
  constexpr int64_t kFloats = 2048 / 4, kLeastRows = 32;
  return !api.IsVersion3() && !MayUseAvx512() && product.m >= kLeastRows && product.rhs.column == 1 &&
         product.rhs.row >= kFloats && product.rhs.row % kFloats == 0;
}

// Splits off a ReLU that stands last; false when one stands elsewhere.
template <class Step>
bool TakeRelu(std::vector<Step>& steps, bool* relu) {
  *relu = !steps.empty() && steps.back().op == EpilogueOp::kRelu;
  if (*relu) steps.pop_back();
  return std::none_of(steps.begin(), steps.end(), [](const Step& step) { return step.op == EpilogueOp::kRelu; });
}

// Where each dimension of a part of a product begins, and how long it is there.
struct Range {
  int64_t begin = 0, count = 1;
};
struct ProductPart {
  Range batch, rows, columns;
};

// One for each thread of ours, where all are worth it: of a batch whole products, else rows; columns of a single row,
// as those of several would be apart in the result, for which oneDNN's better implementations are not. What takes long
// is left to the library, which cuts it in two directions.
std::vector<ProductPart> PartsOf(const MatrixProduct& product) {
  // A part of 1e6 takes some 10 us, to hand it over 2; at 2e9 both ways take the same 7.1 ms (two threads of an Emerald
  // Rapids).
  constexpr double kLeastFlop = 1e6, kMostFlop = 1e9;
  const ProductPart whole = {{0, product.batch}, {0, product.m}, {0, product.n}};
  const double flop = Flop(product);
  const auto most = static_cast<int64_t>(std::min<double>(Threads(), flop / kLeastFlop));
  if (most < 2 || flop > kMostFlop) return {whole};
  const auto cut = [&](Range ProductPart::* axis, int64_t multiple) {
    const int64_t size = (whole.*axis).count;
    const int64_t step = ((size + most - 1) / most + multiple - 1) / multiple * multiple;
    std::vector<ProductPart> parts;
    for (int64_t begin = 0; begin < size; begin += step) {
      parts.push_back(whole);
      parts.back().*axis = {begin, std::min(step, size - begin)};
    }
    return parts;
  };
  if (product.batch > 1) return cut(&ProductPart::batch, 1);
  return product.m == 1 ? cut(&ProductPart::columns, 16) : cut(&ProductPart::rows, 8);
}

// Of oneDNN's: waking them takes longer than a small product.
int ThreadsFor(const MatrixProduct& product) {
  constexpr double kSmallFlop = 4e6;
  return Flop(product) < kSmallFlop ? 1 : Threads();
}

LibraryAnswer MakePart(const Api& api, const LibraryOptions& options, const MatrixProduct& product,
                       const ProductPart& part, int threads, bool relu) {
  const auto tensor = [&](const MatrixView& view, const Range& rows, const Range& columns) {
    Tensor tensor{kTypeF32, {rows.count, columns.count}, {view.row, view.column}};
    if (product.batch > 1) {
      tensor.dims.insert(tensor.dims.begin(), view.batch == 0 ? 1 : part.batch.count);
      tensor.strides.insert(tensor.strides.begin(), view.batch);
    }
    tensor.strides = Closed(tensor.dims, tensor.strides);
    tensor.offset = (part.batch.begin * view.batch + rows.begin * view.row + columns.begin * view.column) *
                    static_cast<int64_t>(sizeof(float));
    return tensor;
  };
  std::vector<BinaryStep> steps;
  for (const MatrixStep& step : product.epilogue) {
    const Range rows = step.strides.row != 0 ? part.rows : Range{},
                columns = step.strides.column != 0 ? part.columns : Range{};
    steps.push_back({BinaryAlgorithm(step.op), step.operand, step.constant, tensor(step.strides, rows, columns)});
  }
  const Range terms = {0, product.k};
  return Builder(api, options, threads)
      .Build(tensor(product.lhs, part.rows, terms), product.lhs_operand, tensor(product.rhs, terms, part.columns),
             product.rhs_operand, false, tensor(product.result, part.rows, part.columns), steps, relu, nullptr);
}

}  // namespace

Result<std::string> OneDnnVersion(const std::vector<std::string>& search) { return TRY(GetApi(search))->VersionText(); }

Result<LibraryAnswer> OneDnnMatrixProduct(const MatrixProduct& original, const LibraryOptions* options) {
  MatrixProduct product = original;
  for (const PrimitiveType type : {product.lhs_type, product.rhs_type, product.result_type}) {
    if (type != PrimitiveType::kF32) return NotTaken(Str("oneDNN is asked for f32 only, not ", type));
  }
  if (product.m == 0 || product.n == 0 || product.k == 0 || product.batch == 0) return NotTaken("it is empty");
  bool relu;
  if (!TakeRelu(product.epilogue, &relu)) return NotTaken("a ReLU stands before the end of its epilogue");
  // oneDNN writes rows; a result whose columns are contiguous is the transposed product: D' = B' A'.
  if (product.result.column != 1 && product.n > 1) {
    const auto transpose = [](MatrixView& view) { std::swap(view.row, view.column); };
    std::swap(product.lhs, product.rhs);
    std::swap(product.lhs_operand, product.rhs_operand);
    std::swap(product.m, product.n);
    transpose(product.lhs);
    transpose(product.rhs);
    transpose(product.result);
    for (MatrixStep& step : product.epilogue) transpose(step.strides);
    if (product.result.column != 1 && product.n > 1)
      return NotTaken("neither rows nor columns of the result are contiguous");
  }
  if (options == nullptr) return LibraryAnswer{};
  const auto api = GetApi(options->search);
  if (!api) return NotTaken(api.error().message());
  if (options->library.empty() && IsSlowWithAvx2(**api, product))
    return NotTaken("its second operand has rows a multiple of 2 KiB apart");
  std::vector<ProductPart> parts = PartsOf(product);
  if (parts.size() == 1) return MakePart(**api, *options, product, parts[0], ThreadsFor(product), relu);
  std::vector<std::unique_ptr<LibraryCall>> calls;
  for (const ProductPart& part : parts) {
    LibraryAnswer answer = MakePart(**api, *options, product, part, /*threads=*/1, /*relu=*/false);
    if (answer.call == nullptr) return answer;
    calls.push_back(std::move(answer.call));
  }
  const int64_t relu_elements = relu ? product.batch * product.m * product.n : 0;
  return LibraryAnswer{std::make_unique<ProductInParts>(std::move(calls), relu_elements), ""};
}

Result<LibraryAnswer> OneDnnConvolution(const Contraction& contraction, const LibraryOptions* options) {
  const Instruction& convolution = *contraction.product;
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  for (const PrimitiveType type : {contraction.lhs.type, contraction.rhs.type, contraction.result.type}) {
    if (type != PrimitiveType::kF32) return NotTaken(Str("oneDNN is asked for f32 only, not ", type));
  }
  if (attrs.batch_group_count != 1) return NotTaken("batch_group_count is not 1");
  const DimLabels& labels = attrs.dim_labels;
  const size_t spatial = labels.lhs_spatial.size();
  if (spatial < 1 || spatial > 3) return NotTaken(Str(spatial, " spatial dimensions"));
  for (const int64_t dim : contraction.result.dims) {
    if (dim == 0) return NotTaken("it is empty");
  }
  Builder::Window window;
  for (const WindowDim& dim : attrs.window.dims) {
    if (dim.base_dilation != 1) return NotTaken("its input is dilated");
    if (dim.reversed && dim.size > 1) return NotTaken("its window is reversed");
    if (dim.pad_low < 0 || dim.pad_high < 0) return NotTaken("it has negative padding");
    window.strides.push_back(dim.stride);
    window.dilates.push_back(dim.window_dilation - 1);
    window.pad_low.push_back(dim.pad_low);
    window.pad_high.push_back(dim.pad_high);
  }
  std::vector<EpilogueStep> epilogue = contraction.epilogue;
  bool relu;
  if (!TakeRelu(epilogue, &relu)) return NotTaken("a ReLU stands before the end of its epilogue");

  // oneDNN's order: batch, feature, spatial; output feature, input feature, spatial.
  const auto ordered = [&](const View& view, int64_t first, int64_t second, const std::vector<int64_t>& rest) {
    Tensor tensor{kTypeF32, {}, {}};
    const auto add = [&](int64_t dim) {
      tensor.dims.push_back(view.dims[dim]);
      tensor.strides.push_back(view.strides[dim]);
    };
    add(first);
    add(second);
    for (const int64_t dim : rest) add(dim);
    return tensor;
  };
  const auto is_broadcast = [](const Tensor& tensor) {
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (tensor.dims[d] > 1 && tensor.strides[d] == 0) return true;
    }
    return false;
  };
  // Size-1 dimensions are closed as channels-last or channels-first would have them.
  const auto closed = [](Tensor tensor) {
    const bool channels_last = tensor.strides[1] == 1 || tensor.dims[1] == 1;
    const int64_t rank = static_cast<int64_t>(tensor.dims.size());
    std::vector<int64_t> order = {0};
    for (int64_t d = 2; d < rank; ++d) order.push_back(d);
    order.insert(channels_last ? order.end() : order.begin() + 1, 1);
    int64_t next = 1;
    for (int64_t i = rank; i-- > 0;) {
      const int64_t d = order[i];
      if (tensor.dims[d] == 1) tensor.strides[d] = next;
      next = std::max(next, tensor.strides[d] * tensor.dims[d]);
    }
    return tensor;
  };
  Tensor source = ordered(contraction.lhs, labels.lhs_batch, labels.lhs_feature, labels.lhs_spatial);
  std::vector<int64_t> kernel_spatial(labels.rhs_spatial.begin(), labels.rhs_spatial.end());
  Tensor weights = ordered(contraction.rhs, labels.rhs_output_feature, labels.rhs_input_feature, kernel_spatial);
  Tensor result = ordered(contraction.result, labels.out_batch, labels.out_feature, labels.out_spatial);
  if (is_broadcast(source) || is_broadcast(weights)) return NotTaken("an operand is broadcast");
  if (const int64_t groups = attrs.feature_group_count; groups > 1) {
    weights.dims[0] /= groups;
    weights.dims.insert(weights.dims.begin(), groups);
    weights.strides.insert(weights.strides.begin(), weights.strides[0] * weights.dims[1]);
  }
  weights.strides = Closed(weights.dims, weights.strides);
  std::vector<BinaryStep> steps;
  for (const EpilogueStep& step : epilogue) {
    Tensor operand{kTypeF32, std::vector<int64_t>(spatial + 2, 1), std::vector<int64_t>(spatial + 2, 1)};
    if (!step.view.dims.empty()) {
      operand = ordered(step.view, labels.out_batch, labels.out_feature, labels.out_spatial);
      for (size_t d = 0; d < operand.dims.size(); ++d) {
        if (operand.strides[d] == 0) operand.dims[d] = 1;
      }
      operand = closed(operand);
    }
    // A residual that lies as the result does is added where it lies; that keeps oneDNN on its faster implementations.
    const bool in_place =
        step.op == EpilogueOp::kAdd && step.view.operand >= 0 && step.view.dims == contraction.result.dims &&
        step.view.strides == contraction.result.strides &&
        std::none_of(steps.begin(), steps.end(), [](const BinaryStep& other) { return other.in_place; });
    steps.push_back({BinaryAlgorithm(step.op), step.view.operand, step.view.constant, std::move(operand), in_place});
  }
  if (options == nullptr) return LibraryAnswer{};
  const auto api = GetApi(options->search);
  if (!api) return NotTaken(api.error().message());
  return Builder(**api, *options, Threads())
      .Build(closed(source), contraction.lhs.operand, weights, contraction.rhs.operand, true, closed(result), steps,
             relu, &window);
}

}  // namespace hlo::gpu
