#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "gpu/plan/fill.h"
#include "gpu/runtime/compilation.h"
#include "gpu/runtime/prepare.h"
#include "gpu/runtime/turns.h"
#include "ir/analysis/trip_count.h"

namespace hlo::gpu {
namespace {

int64_t BlocksOf(const CompiledStep& step) {
  constexpr int64_t kTileElements = 128 * 128;
  int64_t blocks = 0;
  for (const EmittedKernel& kernel : step.kernels) blocks = std::max(blocks, kernel.kernel->blocks);
  if (!CallsLibrary(step.kind)) return blocks;
  ForEachLeaf(step.inst.shape(), [&](const ShapeIndex&, const Shape& leaf) {
    blocks = std::max(blocks, (leaf.NumElements() + kTileElements - 1) / kTileElements);
  });
  return blocks;
}

class BlockMaker {
 public:
  explicit BlockMaker(Compilation& compilation) : compilation_(compilation), program_(compilation.program) {
    program_.places.push_back({});
    value_at_.push_back(-1);
    for (CompiledStep& step : compilation.steps) step_of_[&step.inst] = &step;
  }

  Block Make(const Computation& computation) {
    Block block;
    for (const Instruction* inst : RunOrder(computation)) {
      if (inst->Is(Opcode::kCall)) {
        Block called = Make(*inst->attrs<CallAttrs>().to_apply);
        std::move(called.begin(), called.end(), std::back_inserter(block));
      } else if (inst->Is(Opcode::kWhile)) {
        block.emplace_back(MakeLoop(*inst));
      } else if (inst->Is(Opcode::kConditional)) {
        block.emplace_back(MakeBranch(*inst));
      } else if (const auto step = step_of_.find(inst); step != step_of_.end()) {
        AddStep(block, *step->second);
      }
    }
    return block;
  }

 private:
  PlaceNumber Add(const Place& place, int64_t bytes, int value = -1) {
    program_.places.push_back({place, bytes});
    value_at_.push_back(value);
    return static_cast<PlaceNumber>(program_.places.size()) - 1;
  }
  PlaceNumber AddPlaceOf(int value) {
    return Add(program_.buffers.place_of[value], program_.buffers.values.values[value].bytes, value);
  }
  PlaceNumber AddPlaceOf(const Instruction& inst, int leaf) {
    return AddPlaceOf(program_.buffers.values.of_instruction[inst.id()][leaf]);
  }
  PlaceRange Open() const { return {static_cast<PlaceNumber>(program_.places.size()), 0}; }
  void Close(PlaceRange& range) const { range.count = static_cast<int32_t>(program_.places.size()) - range.first; }
  PlaceRange AllLeaves(const Instruction& inst) {
    PlaceRange range = Open();
    for (int leaf = 0; leaf < inst.shape().LeafCount(); ++leaf) AddPlaceOf(inst, leaf);
    Close(range);
    return range;
  }

  std::vector<CopyWork> CopiesAt(int64_t position) {
    std::vector<CopyWork> work;
    const auto found = program_.buffers.copies.find(position);
    if (found == program_.buffers.copies.end()) return work;
    for (const PlannedCopy& copy : found->second) {
      work.push_back({AddPlaceOf(copy.from), AddPlaceOf(copy.to), program_.buffers.values.values[copy.to].bytes});
    }
    return work;
  }

  std::unique_ptr<LoopNode> MakeLoop(const Instruction& loop) {
    const auto& attrs = loop.attrs<WhileAttrs>();
    const Values& values = program_.buffers.values;
    auto node = std::make_unique<LoopNode>();
    node->loop = &loop;
    node->known_trips = TripCount(loop).value_or(-1);
    node->enter = CopiesAt(values.position_of[loop.id()]);
    node->condition = Make(*attrs.condition);
    node->predicate = AddPlaceOf(attrs.condition->root(), 0);
    PlaceRange body = Open();
    node->body = Make(*attrs.body);
    Close(body);
    const int64_t end = values.ends_of[loop.id()].front();
    node->back = CopiesAt(end);
    if (compilation_.device.Records() && node->known_trips >= kLeastTripsInTurns && !node->back.empty()) {
      node->turns = FindTurns(loop, program_.buffers, program_.buffers.copies.at(end), body, value_at_);
      for (LoopNode::Turn& turn : node->turns) AddPlaces(turn, node->back[turn.copy].bytes);
    }
    return node;
  }

  void AddPlaces(LoopNode::Turn& turn, int64_t bytes) {
    for (PlaceNumber& place : turn.places) {
      place = Add({Area::kArena, 0, program_.buffers.arena_bytes}, bytes);
      const int64_t more = AlignedBytes(bytes);
      for (int64_t* const all : {&program_.buffers.arena_bytes, &program_.memory.arena_bytes}) *all += more;
    }
  }

  std::unique_ptr<BranchNode> MakeBranch(const Instruction& conditional) {
    const Values& values = program_.buffers.values;
    auto node = std::make_unique<BranchNode>();
    node->conditional = &conditional;
    node->selector = AddPlaceOf(conditional.operand(0), 0);
    const std::vector<Computation*> branches = conditional.attrs<ConditionalAttrs>().branches();
    for (size_t i = 0; i < branches.size(); ++i) {
      node->branches.push_back({Make(*branches[i]), CopiesAt(values.ends_of[conditional.id()][i])});
    }
    return node;
  }

  void AddStep(Block& block, CompiledStep& compiled) {
    const Instruction& inst = compiled.inst;
    Step step{.instruction = &inst};
    step.copies = CopiesAt(program_.buffers.values.position_of[inst.id()]);
    if (compiled.kind == StepKind::kCopy && step.copies.empty()) return;  // Operand and result share one buffer.
    std::string how = Str(ToString(compiled.kind));
    if (compiled.planned.call != nullptr) {
      how = compiled.planned.call->how();
      step.work.push_back(MakeCall(compiled));
    }
    PrecisionPlan precision;
    for (size_t i = 0; i < compiled.kernels.size(); ++i) {
      const EmittedKernel& kernel = compiled.kernels[i];
      step.work.push_back(MakeKernel(compiled, i));
      how = i == 0 ? LaunchText(kernel) : Str(how, "; ", LaunchText(kernel));
      precision.instructions.insert(kernel.precision.instructions.begin(), kernel.precision.instructions.end());
    }
    if (compiled.kind == StepKind::kFill) step.work.push_back(MakeFill(inst));
    if (compiled.kind == StepKind::kHostCall) step.work.push_back(MakeHostCall(inst));
    step.info = static_cast<int>(program_.steps.size());
    step.seconds = compiled.share.seconds;
    step.blocks = BlocksOf(compiled);
    program_.steps.push_back(
        {&inst, compiled.kind, std::move(how), std::move(precision), std::move(compiled.plan), {}});
    if (program_.options.keep_kernels) program_.steps.back().kernels = compiled.kernels;
    block.push_back(std::move(step));
  }

  LibraryWork MakeCall(const CompiledStep& step) {
    const LibraryCall& call = *step.planned.call;
    LibraryWork work{.call = static_cast<int>(program_.calls.size())};
    work.operands = Open();
    for (const Instruction* operand : step.inst.operands()) AddPlaceOf(*operand, 0);
    Close(work.operands);
    work.results = AllLeaves(step.inst);
    if (step.scratch_value.contains(kCallScratch)) work.scratch = AddPlaceOf(step.scratch_value.at(kCallScratch));
    if (step.scratch_value.contains(kCallPacked)) work.packed = AddPlaceOf(step.scratch_value.at(kCallPacked));
    work.pack_once = step.scratch.contains(kCallPacked);
    if (work.pack_once) work.packed = Add(step.scratch.at(kCallPacked), call.PackedBytes());
    const std::string fault = FaultOf(compilation_, step);
    work.waits = !fault.empty();
    program_.calls.push_back(fault.empty() ? step.planned.call
                                           : WithFault(step.planned.call, fault, step.inst.shape()));
    return work;
  }

  HostWork MakeHostCall(const Instruction& inst) {
    HostWork work{.operands = Open()};
    for (const Instruction* operand : inst.operands()) AllLeaves(*operand);
    Close(work.operands);
    work.results = AllLeaves(inst);
    return work;
  }

  FillWork MakeFill(const Instruction& inst) {
    const Instruction& constant = *FilledWith(inst);
    uint64_t pattern = 0;
    const int width = static_cast<int>(ByteWidth(constant.shape().type()));
    std::copy_n(constant.literal().raw(), width, reinterpret_cast<std::byte*>(&pattern));
    return {AddPlaceOf(inst, 0), pattern, width, inst.shape().NumElements()};
  }

  KernelWork MakeKernel(const CompiledStep& step, size_t number) {
    const EmittedKernel& kernel = step.kernels[number];
    KernelWork work{
        .code = step.first_code + static_cast<int>(number), .arguments = Open(), .writes = {}, .loops = kernel.loops};
    const Instruction& inst = step.inst;
    for (const KernelBuffer& buffer : kernel.buffers) {
      work.writes.push_back(buffer.kind != KernelBuffer::Kind::kOperand && buffer.kind != KernelBuffer::Kind::kLiteral);
      switch (buffer.kind) {
        case KernelBuffer::Kind::kOperand: {
          const Instruction& operand = inst.operand(buffer.operand);
          AddPlaceOf(operand, LeafNumber(operand.shape(), buffer.index));
          break;
        }
        case KernelBuffer::Kind::kOutput: AddPlaceOf(inst, LeafNumber(inst.shape(), buffer.index)); break;
        case KernelBuffer::Kind::kScratch: {
          const auto counter = step.scratch.find(buffer.scratch);
          if (counter != step.scratch.end()) {
            Add(counter->second, buffer.bytes);
          } else {
            AddPlaceOf(step.scratch_value.at(buffer.scratch));
          }
          break;
        }
        case KernelBuffer::Kind::kTrips: work.trips = Add(step.trips, buffer.bytes); break;
        case KernelBuffer::Kind::kLiteral:
          Add({Area::kConstant, static_cast<int64_t>(program_.constants.size())}, buffer.literal.byte_size());
          program_.constants.push_back({buffer.literal, buffer.literal.shape().WithDefaultLayout()});
          program_.memory.constant_bytes += buffer.literal.byte_size();
          break;
      }
    }
    Close(work.arguments);
    return work;
  }

  Compilation& compilation_;
  Program& program_;
  std::unordered_map<const Instruction*, CompiledStep*> step_of_;
  std::vector<int> value_at_;  // -1 for places without a value.
};

}  // namespace

void MakeBlock(Compilation& compilation) {
  compilation.program.block = BlockMaker(compilation).Make(compilation.program.module->entry());
}

}  // namespace hlo::gpu
