#include "gpu/runtime/executable.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "base/check.h"
#include "gpu/runtime/prepare.h"
#include "gpu/runtime/program.h"
#include "gpu/runtime/relayout.h"

namespace hlo::gpu {
namespace {

using Clock = std::chrono::steady_clock;

// Where kernels without bytes point to: never read, never null.
alignas(kBufferAlignment) std::byte g_nothing[kBufferAlignment];

class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Memory() {
    if (data_ != nullptr) device_->Free(data_);
  }

  static Result<Memory> Allocate(Device& device, int64_t bytes) {
    Memory memory;
    memory.device_ = &device;
    memory.data_ = TRY(device.Allocate(bytes));
    return memory;
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
};

// A value may be smaller where the shape says <=.
bool Fits(const Shape& value, const Shape& shape) {
  if (shape.IsTuple()) {
    return value.IsTuple() && std::ranges::equal(value.elements(), shape.elements(), Fits);
  }
  if (!shape.HasDynamicDims()) return Compatible(value, shape);
  if (value.type() != shape.type() || value.rank() != shape.rank()) return false;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.IsDynamic(d) ? value.dim(d) > shape.dim(d) : value.dim(d) != shape.dim(d)) return false;
  }
  return true;
}

// Whether the host can use the literal's bytes as they lie.
bool UsableInPlace(const Shape& shape, const Literal& literal) {
  return shape.HasDefaultLayout() && !shape.HasDynamicDims() &&
         reinterpret_cast<uintptr_t>(literal.raw()) % kHostAlignment == 0;
}

class ProgramExecutable : public Executable {
 public:
  ProgramExecutable(Program program, Device& device) : program_(std::move(program)), device_(device) {}

  Status Prepare() {
    const BufferPlan& buffers = program_.buffers;
    arena_ = TRY(Memory::Allocate(device_, buffers.arena_bytes));
    if (program_.counter_bytes > 0) {
      counters_ = TRY(Memory::Allocate(device_, program_.counter_bytes));
      TRY(device_.Fill(counters_.data(), 0, 8, program_.counter_bytes / 8));
    }
    if (program_.packed_bytes > 0) packed_ = TRY(Memory::Allocate(device_, program_.packed_bytes));
    for (const ConstantData& constant : program_.constants) TRY(LoadConstant(constant));
    for (const Instruction* parameter : module().entry().parameters()) {
      ForEachLeaf(parameter->shape(),
                  [&](const ShapeIndex&, const Shape& shape) { leaves_.push_back({.shape = &shape}); });
    }
    ListDonated();
    outputs_.resize(buffers.output_bytes.size());
    int leaf = 0;
    ForEachLeaf(module().entry().root().shape(),
                [&](const ShapeIndex&, const Shape& shape) { outputs_[leaf++].shape = &shape; });
    for (size_t i = 0; !device_.IsHost() && i < outputs_.size(); ++i) {
      if (buffers.output_bytes[i] > 0) outputs_[i].memory = TRY(Memory::Allocate(device_, buffers.output_bytes[i]));
    }
    return device_.Synchronize();
  }

  const Module& module() const override { return *program_.module; }
  const Device& device() const override { return device_; }
  std::span<const StepInfo> steps() const override { return program_.steps; }
  const MemoryReport& memory() const override { return program_.memory; }
  const CompileReport& report() const override { return program_.report; }
  double HostCallSeconds() const override { return host_call_seconds_; }
  std::string BuffersText() const override { return ToString(program_.buffers); }

  Status Bind(std::span<const Literal> arguments) override {
    TRY(CheckArguments(arguments));
    size_t leaf = 0;
    for (const Literal& argument : arguments) TRY(BindLeaves(argument, leaf));
    bound_ = true;
    unresolved_ = true;
    unpacked_ = program_.packed_bytes > 0;
    return {};
  }

  Status Execute(const RunOptions& options) override {
    CHECK(bound_, "Execute before Bind");
    TRY(MakeOutputs());
    if (unresolved_) ResolveAll();
    TRY(RefreshDonated());
    if (unpacked_) TRY(PackBlock(program_.block));
    unpacked_ = false;
    if (options.step_seconds != nullptr) options.step_seconds->assign(program_.steps.size(), 0);
    options_ = &options;
    loops_.clear();
    host_call_seconds_ = 0;
    if (const HostCalls* host = program_.options.host.get(); host != nullptr && host->begin) host->begin();
    auto done = RunBlock(program_.block);
    if (done) done = device_.Synchronize();
    options_ = nullptr;
    if (!done && program_.counter_bytes > 0) TRY(device_.Fill(counters_.data(), 0, 8, program_.counter_bytes / 8));
    ran_ = done.has_value();
    return done;
  }

  Result<Literal> Output() override {
    CHECK(ran_, "Output before a successful Execute");
    const Instruction& root = module().entry().root();
    std::vector<Literal> leaves;
    for (size_t i = 0; i < outputs_.size(); ++i)
      leaves.push_back(TRY(Give(root, static_cast<int>(i), *outputs_[i].shape)));
    size_t next = 0;
    return Assemble(root.shape(), leaves, next);
  }

 private:
  struct Leaf {
    const Shape* shape;
    Literal literal;  // Keeps the bytes alive that are used in place, or that a donated parameter is refilled from.
    Memory memory;    // Where they were copied to.
    void* pointer = nullptr;
    int64_t arena_offset = -1;  // Donated.
  };
  struct OutputLeaf {
    const Shape* shape = nullptr;
    Literal literal;     // Host: whose bytes the results are written to.
    Memory memory;       // Other devices.
    bool given = false;  // The bytes belong to somebody else now.
  };

  // Without a copy where the bytes lie in a literal already: copies of literals share them until one is written to.
  Result<Literal> Give(const Instruction& root, int number, const Shape& shape) {
    if (BytesInMemory(shape) == 0 || !device_.IsHost()) return ReadLeaf(root, number, shape);
    const Place& place = program_.buffers.PlaceOf(root, number);
    if (place.area == Area::kOutput && shape.HasDefaultLayout()) {
      outputs_[place.number].given = true;
      return outputs_[place.number].literal.WithShape(shape);
    }
    return ReadLeaf(root, number, shape);
  }

  Status LoadConstant(const ConstantData& constant) {
    if (device_.IsHost() && UsableInPlace(constant.shape, constant.literal)) {
      constants_.push_back(const_cast<std::byte*>(constant.literal.raw()));
      return {};
    }
    constant_memory_.push_back(TRY(Memory::Allocate(device_, constant.shape.ByteSize())));
    constants_.push_back(constant_memory_.back().data());
    return Upload(constant.shape, constant.literal, constants_.back());
  }

  Status Upload(const Shape& shape, const Literal& literal, void* to) {
    if (shape.HasDynamicDims()) return UploadSized(shape, literal, to);
    if (device_.IsHost()) {
      ToLayout(shape, literal.raw(), to);
      return {};
    }
    if (shape.HasDefaultLayout()) return device_.CopyIn(to, literal.raw(), shape.ByteSize());
    std::vector<std::byte> staged(shape.ByteSize());
    ToLayout(shape, literal.raw(), staged.data());
    return device_.CopyIn(to, staged.data(), shape.ByteSize());
  }

  // The elements that there are, then the sizes (BytesInMemory).
  Status UploadSized(const Shape& shape, const Literal& literal, void* to) {
    std::vector<std::byte> staged(BytesInMemory(shape));
    const Dims& sizes = literal.shape().dims();
    ToLayout(Sized(shape, sizes), literal.raw(), staged.data());
    std::memcpy(staged.data() + SizesOffset(shape), sizes.data(), 8 * sizes.size());
    return device_.CopyIn(to, staged.data(), std::ssize(staged));
  }

  static Shape Sized(const Shape& shape, const Dims& sizes) {
    Shape sized = shape.WithDims(sizes);
    sized.SetLayout(shape.layout());
    return sized;
  }

  // Donated parameters lie in the arena.
  void ListDonated() {
    const BufferPlan& buffers = program_.buffers;
    for (size_t v = 0; v < buffers.values.values.size(); ++v) {
      const Value& value = buffers.values.values[v];
      if (value.kind == ValueKind::kParameter && buffers.place_of[v].area == Area::kArena) {
        leaves_[value.leaf].arena_offset = buffers.place_of[v].offset;
      }
    }
  }

  Status CheckArguments(std::span<const Literal> arguments) const {
    const auto parameters = module().entry().parameters();
    if (arguments.size() != parameters.size()) {
      FAIL(Rejected("A004", Str("expected ", parameters.size(), " arguments, found ", arguments.size())));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!Fits(arguments[i].shape(), parameters[i]->shape())) {
        FAIL(Rejected("A004", Str("argument ", i, " ('", parameters[i]->name(), "') wants ", parameters[i]->shape(),
                                  ", found ", arguments[i].shape())));
      }
    }
    return {};
  }

  Status BindLeaves(const Literal& literal, size_t& next) {
    if (literal.shape().IsTuple()) {
      for (const Literal& element : literal.elements()) TRY(BindLeaves(element, next));
      return {};
    }
    Leaf& leaf = leaves_[next++];
    leaf.literal = literal;
    const int64_t bytes = BytesInMemory(*leaf.shape);
    if (bytes == 0 || leaf.arena_offset >= 0) return {};
    if (device_.IsHost() && UsableInPlace(*leaf.shape, literal)) {
      leaf.pointer = const_cast<std::byte*>(literal.raw());
      return {};
    }
    if (leaf.memory.data() == nullptr) leaf.memory = TRY(Memory::Allocate(device_, bytes));
    leaf.pointer = leaf.memory.data();
    return Upload(*leaf.shape, literal, leaf.pointer);
  }

  Status RefreshDonated() {
    for (const Leaf& leaf : leaves_) {
      if (leaf.arena_offset >= 0) TRY(Upload(*leaf.shape, leaf.literal, arena_.data() + leaf.arena_offset));
    }
    return {};
  }

  // On the host results are written straight into literals; those that were given away are replaced.
  Status MakeOutputs() {
    if (!device_.IsHost()) return {};
    for (size_t i = 0; i < outputs_.size(); ++i) {
      OutputLeaf& output = outputs_[i];
      if (program_.buffers.output_bytes[i] == 0 || (output.literal.raw() != nullptr && !output.given)) continue;
      output.literal = Literal::Uninitialized(output.shape->WithDefaultLayout());
      output.given = false;
      unresolved_ = true;
    }
    return {};
  }

  void* Resolve(const Place& place) const {
    switch (place.area) {
      case Area::kNothing: return g_nothing;
      case Area::kParameter: return leaves_[place.number].pointer;
      case Area::kConstant: return constants_[place.number];
      case Area::kOutput: {
        const OutputLeaf& output = outputs_[place.number];
        return device_.IsHost() ? const_cast<std::byte*>(output.literal.raw()) : output.memory.data();
      }
      case Area::kArena: return arena_.data() + place.offset;
      case Area::kCounters: return counters_.data() + place.offset;
      case Area::kPacked: return packed_.data() + place.offset;
    }
    return nullptr;
  }

  void ResolveAll() {
    ForEachReference(program_.block, [&](Reference& reference) { reference.pointer = Resolve(reference.place); });
    unresolved_ = false;
  }

  // Weights that stay packed until the next Bind.
  Status PackBlock(const Block& block) {
    for (const Node& node : block) {
      if (const auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node)) {
        TRY(PackBlock((*loop)->condition));
        TRY(PackBlock((*loop)->body));
        continue;
      }
      if (const auto* branch = std::get_if<std::unique_ptr<BranchNode>>(&node)) {
        for (const BranchNode::Branch& one : (*branch)->branches) TRY(PackBlock(one.block));
        continue;
      }
      for (const auto& work : std::get<Step>(node).work) {
        const auto* call = std::get_if<LibraryWork>(&work);
        if (call != nullptr && call->pack_once) TRY(call->call->Pack(call->pointers, call->packed.pointer));
      }
    }
    return {};
  }

  // ---- Running ---------------------------------------------------------------------------------------------------

  Status RunBlock(const Block& block) {
    for (const Node& node : block) {
      if (const auto* step = std::get_if<Step>(&node)) {
        TRY(RunStep(*step));
      } else if (const auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node)) {
        TRY(RunLoop(**loop));
      } else {
        TRY(RunBranch(*std::get<std::unique_ptr<BranchNode>>(node)));
      }
    }
    return {};
  }

  Status RunCopies(const std::vector<CopyWork>& copies) {
    for (const CopyWork& copy : copies) TRY(device_.Copy(copy.to.pointer, copy.from.pointer, copy.bytes));
    return {};
  }

  Status RunLoop(const LoopNode& node) {
    TRY(RunCopies(node.enter));
    const int64_t most = program_.options.max_loop_iterations;
    loops_.push_back({node.loop, 0});
    for (;; ++loops_.back().iteration) {
      TRY(RunBlock(node.condition));
      uint8_t again = 0;
      TRY(device_.CopyOut(&again, node.predicate.pointer, 1));
      if (again == 0 || (node.planted_early && loops_.back().iteration == 1)) break;
      if (most > 0 && loops_.back().iteration >= most) {
        Error error = LimitError(
            "R021", Str("while '", node.loop->name(), "' exceeded ", most, " iterations (--max_loop_iterations)"),
            node.loop->range());
        error.source = module().source;
        FAIL(std::move(error));
      }
      TRY(RunBlock(node.body));
      TRY(RunCopies(node.back));
    }
    loops_.pop_back();
    return {};
  }

  // A pred takes branch 0 when true; an index out of range takes the last branch.
  Status RunBranch(const BranchNode& node) {
    const auto count = static_cast<int64_t>(node.branches.size());
    int64_t branch = 0;
    if (node.conditional->operand(0).shape().type() == PrimitiveType::kPred) {
      uint8_t taken = 0;
      TRY(device_.CopyOut(&taken, node.selector.pointer, 1));
      branch = taken != 0 ? 0 : 1;
    } else {
      int32_t index = 0;
      TRY(device_.CopyOut(&index, node.selector.pointer, 4));
      branch = index < 0 || index >= count ? count - 1 : index;
    }
    TRY(RunBlock(node.branches[branch].block));
    return RunCopies(node.branches[branch].end);
  }

  Status RunStep(const Step& step) {
    if (options_->observer != nullptr || options_->step_seconds != nullptr || options_->interrupted != nullptr)
      return RunWatched(step);
    TRY(RunCopies(step.copies));
    return RunWork(step);
  }

  Status RunWatched(const Step& step) {
    if (options_->interrupted != nullptr && *options_->interrupted)
      FAIL(Error(ExitCode::kInterrupted, "R022", "interrupted"));
    const Observer* observer = options_->observer;
    const bool observed =
        observer != nullptr && step.info >= 0 && (!observer->wants || observer->wants(*step.instruction, loops_));
    std::vector<Literal> inputs;
    if (observed) {
      for (const Instruction* operand : step.instruction->operands()) inputs.push_back(TRY(Read(*operand)));
    }
    const Clock::time_point start = Clock::now();
    TRY(RunCopies(step.copies));
    TRY(RunWork(step));
    if (options_->step_seconds != nullptr && step.info >= 0) {
      TRY(device_.Synchronize());
      (*options_->step_seconds)[step.info] += std::chrono::duration<double>(Clock::now() - start).count();
    }
    if (!observed) return {};
    return observer->observe(*step.instruction, loops_, inputs, TRY(Read(*step.instruction)));
  }

  Status RunWork(const Step& step) {
    for (const auto& work : step.work) {
      if (const auto* kernel = std::get_if<KernelWork>(&work)) {
        TRY(device_.Launch(*kernel->kernel, kernel->pointers));
      } else if (const auto* call = std::get_if<LibraryWork>(&work)) {
        if (!call->pack_once) TRY(call->call->Pack(call->pointers, call->packed.pointer));
        TRY(call->call->Run(call->pointers, call->result.pointer, call->scratch.pointer, call->packed.pointer));
        if (!step.fault.empty()) TRY(Spoil(step, call->result.pointer));
      } else if (const auto* fill = std::get_if<FillWork>(&work)) {
        TRY(device_.Fill(fill->to.pointer, fill->pattern, fill->width, fill->count));
      } else {
        TRY(RunHostCall(*step.instruction));
      }
    }
    return {};
  }

  Status RunHostCall(const Instruction& inst) {
    TRY(device_.Synchronize());
    const Clock::time_point start = Clock::now();
    std::vector<Literal> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(TRY(Read(*operand)));
    const Literal result = TRY(program_.options.host->call(inst, operands));
    CHECK(Fits(result.shape(), inst.shape()), inst.name(), ": ", result.shape(), " is not ", inst.shape());
    int leaf = 0;
    Status status;
    ForEachLeaf(inst.shape(), [&](const ShapeIndex& index, const Shape& shape) {
      if (status && BytesInMemory(shape) > 0)
        status = Upload(shape, result.At(index), Resolve(program_.buffers.PlaceOf(inst, leaf)));
      ++leaf;
    });
    host_call_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    return status;
  }

  // A planted fault: see fault.h.
  Status Spoil(const Step& step, void* result) {
    const Shape& shape = step.instruction->shape();
    Literal value = TRY(ReadLeaf(*step.instruction, 0, shape));
    const int64_t elements = shape.NumElements();
    if (step.fault == "bit") {
      const int64_t last_byte = (elements / 2 + 1) * ByteWidth(shape.type()) - 1;  // Of the element in the middle.
      value.mutable_raw()[last_byte] ^= std::byte{1};
    } else if (step.fault == "zero") {
      value.SetDouble(elements - 1, 0);
    } else {
      for (int64_t i = 0; i < elements; ++i) value.SetDouble(i, value.GetDouble(i) * (1 + 0x1p-6));
    }
    return Upload(shape, value, result);
  }

  // ---- Reading ---------------------------------------------------------------------------------------------------

  // The value of an instruction, as it lies in memory now.
  Result<Literal> Read(const Instruction& inst) {
    if (inst.Is(Opcode::kConstant)) return inst.literal();
    std::vector<Literal> leaves;
    Status status;
    ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& shape) {
      if (!status) return;
      auto leaf = ReadLeaf(inst, static_cast<int>(leaves.size()), shape);
      if (leaf) {
        leaves.push_back(std::move(*leaf));
      } else {
        status = std::unexpected(std::move(leaf).error());
      }
    });
    TRY(std::move(status));
    size_t next = 0;
    return Assemble(inst.shape(), leaves, next);
  }

  Result<Literal> ReadLeaf(const Instruction& inst, int leaf, const Shape& shape) {
    if (BytesInMemory(shape) == 0) return Literal(shape);
    const void* from = Resolve(program_.buffers.PlaceOf(inst, leaf));
    if (shape.HasDynamicDims()) return ReadSized(shape, from);
    Literal literal = Literal::Uninitialized(shape);
    if (device_.IsHost()) {
      FromLayout(shape, from, literal.mutable_raw());
    } else if (shape.HasDefaultLayout()) {
      TRY(device_.CopyOut(literal.mutable_raw(), from, shape.ByteSize()));
    } else {
      std::vector<std::byte> staged(shape.ByteSize());
      TRY(device_.CopyOut(staged.data(), from, shape.ByteSize()));
      FromLayout(shape, staged.data(), literal.mutable_raw());
    }
    return literal;
  }

  // Sizes that cannot be are a fault of the run time, which the comparison is to find.
  Result<Literal> ReadSized(const Shape& shape, const void* from) {
    std::vector<std::byte> staged(BytesInMemory(shape));
    TRY(device_.CopyOut(staged.data(), from, std::ssize(staged)));
    Dims sizes = shape.dims();
    for (int64_t d = 0; d < shape.rank(); ++d) {
      int64_t size = 0;
      std::memcpy(&size, staged.data() + SizesOffset(shape) + 8 * d, 8);
      sizes[d] = std::clamp<int64_t>(size, 0, shape.dim(d));
    }
    const Shape sized = Sized(shape, sizes);
    Literal literal = Literal::Uninitialized(sized.WithDefaultLayout());
    FromLayout(sized, staged.data(), literal.mutable_raw());
    return literal;
  }

  static Literal Assemble(const Shape& shape, std::vector<Literal>& leaves, size_t& next) {
    if (!shape.IsTuple()) return std::move(leaves[next++]);
    std::vector<Literal> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Assemble(element, leaves, next));
    return Literal::Tuple(std::move(elements));
  }

  Program program_;
  Device& device_;
  Memory arena_, counters_, packed_;
  std::vector<Memory> constant_memory_;
  std::vector<void*> constants_;
  std::vector<Leaf> leaves_;  // Of the parameters.
  std::vector<OutputLeaf> outputs_;
  std::vector<LoopStep> loops_;
  const RunOptions* options_ = nullptr;
  double host_call_seconds_ = 0;
  bool bound_ = false, unresolved_ = true, unpacked_ = false, ran_ = false;
};

}  // namespace

Result<std::unique_ptr<Executable>> MakeExecutable(Program program, Device& device) {
  auto executable = std::make_unique<ProgramExecutable>(std::move(program), device);
  TRY(executable->Prepare());
  return executable;
}

}  // namespace hlo::gpu
