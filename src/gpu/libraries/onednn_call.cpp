#include "gpu/libraries/onednn_call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "base/check.h"
#include "base/parallel.h"
#include "gpu/device/device.h"

namespace hlo::gpu::onednn {
namespace {

class Descriptor {
 public:
  // Without `strides`, the primitive chooses the layout.
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

struct Slot {
  int what;
  Owned memory;
  void* data = nullptr;
  enum class Source : uint8_t { kOperand, kResult, kScratch, kPacked, kFixed } source;
  int64_t number = 0;  // The operand's number, for kOperand.
  int64_t offset = 0;  // Bytes.
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
  std::vector<std::string> algorithms_;
};

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
    std::vector<Argument> arguments;
    arguments.reserve(slots.size());
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
      arguments.push_back({slot.what, slot.memory.handle});
    }
    if (const int status = api.primitive_execute(primitive.primitive.handle, api.stream,
                                                 static_cast<int>(arguments.size()), arguments.data())) {
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

// Whether a fault of oneDNN affects the steps. In version 2.6.3, gemm:jit's convolutions read only one element for each
// channel of a binary step's operand if channels are last. Sums in place, channels first and other implementations are
// right.
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
  // oneDNN divides the work when the primitive is made, so the threads are set here.
  Builder(const Api& api, const LibraryOptions& options, int threads)
      : api_(api), algorithm_(options.algorithm), list_(options.list), call_(std::make_unique<OneDnnCall>(api)) {
    call_->threads_ = threads;
    api.SetThreads(threads);
  }

  LibraryAnswer Build(const Operation& operation) {
    const auto& [lhs, rhs, result, lhs_operand, rhs_operand, packs_rhs, steps, relu, window] = operation;
    Descriptor source(api_, lhs.dims, lhs.type, &lhs.strides), weights(api_, rhs.dims, rhs.type, &rhs.strides);
    Descriptor any(api_, rhs.dims, rhs.type, nullptr), destination(api_, result.dims, result.type, &result.strides);
    if (!source.ok() || !weights.ok() || !any.ok() || !destination.ok())
      return No("oneDNN cannot describe its operands");
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
        return No("oneDNN does not support its epilogue");
      }
    }
    api_.attr_set_post_ops(attr.handle, post_ops.handle);
    const void* wanted = packs_rhs ? any.get() : weights.get();
    if (!Describe(&descriptor.handle, source.get(), wanted, destination.get(), attr.handle, window))
      return No("oneDNN does not support it");
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
    if (std::string_view(implementation).starts_with("ref")) return No("oneDNN has only its reference implementation");
    if (window != nullptr && std::string_view(implementation).ends_with("gemm:jit") && IsMisread(steps, result))
      return No("oneDNN's gemm:jit reads an operand of its epilogue only by channel");
    call_->algorithm_ = implementation;

    Primitive primitive{Owned(api_.primitive_destroy), {}};
    if (api_.primitive_create(&primitive.primitive.handle, descriptor.handle))
      return No("oneDNN cannot make a primitive of it");
    const void* packed = api_.primitive_desc_query_md(descriptor.handle, kQueryWeights, 0);
    AddSlot(primitive, kArgSource, source.get(), Slot::Source::kOperand, lhs_operand, lhs.offset);
    if (packs_rhs && !api_.memory_desc_equal(packed, weights.get())) {
      if (!AddReorder(weights.get(), packed, rhs_operand)) return No("oneDNN cannot reorder its weights");
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

  std::string ChooseImplementation(Owned& descriptor, Handle attr) const {
    if (algorithm_.empty()) return "";
    std::vector<std::string> names;
    const bool found = FindImplementation(descriptor, attr, [&](std::string_view name) {
      names.emplace_back(name);
      return name == algorithm_;
    });
    if (found) return "";
    return Str("there is no algorithm '", Escaped(algorithm_), "' for it; the algorithms are ", Join(names, ", "));
  }

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

  // Numbers of post-op arguments are multiples of 2^14 or, in later releases of version 3, of 2^15. With the larger
  // base, the number in this query refers to a step before `first`, which has no argument, so the query fails.
  int PostOpBase(Handle descriptor, size_t first) const {
    const int what = (1 << 14) * static_cast<int>(first + 1) | kArgSecondSource;
    const void* argument = api_.primitive_desc_query_md(descriptor, kQueryArgument, what);
    return argument != nullptr && api_.memory_desc_get_size(argument) > 0 ? 1 << 14 : 1 << 15;
  }

  const Api& api_;
  const std::string_view algorithm_;
  const bool list_;
  alignas(64) std::byte operation_[kDescriptorBytes];  // Version 2.
  std::unique_ptr<OneDnnCall> call_;
};

}  // namespace

LibraryAnswer MakeCall(const Api& api, const LibraryOptions& options, const Operation& operation, int threads) {
  return Builder(api, options, threads).Build(operation);
}

void Relu(void* result, int64_t elements) {
  auto* x = static_cast<float*>(result);
  ParallelFor(elements, 1 << 15, [x](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) x[i] = x[i] > 0 || x[i] != x[i] ? x[i] : 0.0f;
  });
}

}  // namespace hlo::gpu::onednn
