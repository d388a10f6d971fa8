#include <algorithm>
#include <utility>

#include "gpu/runtime/compilation.h"

namespace hlo::gpu {
namespace {

// A pair of one kernel is valid for the step if no later kernel reads the operand.
bool MayShareAfter(const CompiledStep& step, size_t kernel, const SharablePair& pair) {
  for (size_t i = kernel + 1; i < step.kernels.size(); ++i) {
    for (const KernelBuffer& buffer : step.kernels[i].buffers) {
      if (buffer.kind == KernelBuffer::Kind::kOperand && buffer.operand == pair.operand &&
          buffer.index == pair.operand_index)
        return false;
    }
  }
  return true;
}

std::vector<Share> SharesOf(const CompiledStep& step) {
  std::vector<Share> shares;
  const Instruction& inst = step.inst;
  const LibraryCall* const call = step.planned.call.get();
  if (step.kind == StepKind::kCopy) {
    for (int leaf = 0; leaf < inst.shape().LeafCount(); ++leaf) shares.push_back({0, leaf, leaf, true});
  }
  if (call != nullptr && call->InPlaceOperand() >= 0) shares.push_back({call->InPlaceOperand(), 0, 0, true});
  for (size_t i = 0; i < step.kernels.size(); ++i) {
    for (const KernelBuffer& buffer : step.kernels[i].buffers) {
      if (buffer.kind != KernelBuffer::Kind::kOutput || buffer.in_place_operand < 0) continue;
      const int operand_leaf = LeafNumber(inst.operand(buffer.in_place_operand).shape(), buffer.in_place_index);
      shares.push_back({buffer.in_place_operand, operand_leaf, LeafNumber(inst.shape(), buffer.index), true});
    }
    for (const SharablePair& pair : step.kernels[i].sharable) {
      if (!MayShareAfter(step, i, pair)) continue;
      const int operand_leaf = LeafNumber(inst.operand(pair.operand).shape(), pair.operand_index);
      shares.push_back({pair.operand, operand_leaf, LeafNumber(inst.shape(), pair.output), false});
    }
  }
  return shares;
}

Place AddCounters(Program& program, int64_t bytes) {
  const Place place{Area::kCounters, 0, program.counter_bytes};
  program.counter_bytes += AlignedBytes(bytes);
  return place;
}

void AddPacked(Program& program, Values& values, CompiledStep& step, int64_t position) {
  const LibraryCall& call = *step.planned.call;
  const Instruction& operand = step.inst.operand(call.PackedOperand());
  const ValueKind kind = values.values[values.of_instruction[operand.id()][0]].kind;
  if (program.options.pack_once && (kind == ValueKind::kParameter || kind == ValueKind::kConstant)) {
    step.scratch[kCallPacked] = {Area::kPacked, 0, program.packed_bytes};
    program.packed_bytes += AlignedBytes(call.PackedBytes());
    return;
  }
  step.scratch_value[kCallPacked] = AddScratch(values, step.inst, position, call.PackedBytes());
}

void AddScratches(Program& program, Values& values, CompiledStep& step) {
  const int64_t position = values.position_of[step.inst.id()];
  const LibraryCall* const call = step.planned.call.get();
  if (call != nullptr) {
    if (call->ScratchBytes() > 0)
      step.scratch_value[kCallScratch] = AddScratch(values, step.inst, position, call->ScratchBytes());
    if (call->PackedBytes() > 0) AddPacked(program, values, step, position);
  }
  int64_t bytes = 0;
  bool has_trips = false;
  for (const EmittedKernel& kernel : step.kernels) {
    for (const KernelBuffer& buffer : kernel.buffers) {
      // A kernel can list a buffer twice, to read and write.
      if (buffer.kind == KernelBuffer::Kind::kTrips && !std::exchange(has_trips, true))
        step.trips = AddCounters(program, buffer.bytes);
      if (buffer.kind != KernelBuffer::Kind::kScratch || step.scratch.contains(buffer.scratch) ||
          step.scratch_value.contains(buffer.scratch))
        continue;
      if (buffer.zeroed) {
        step.scratch[buffer.scratch] = AddCounters(program, buffer.bytes);
      } else {
        step.scratch_value[buffer.scratch] = AddScratch(values, step.inst, position, buffer.bytes);
      }
      bytes += buffer.bytes;
    }
  }
  if (call != nullptr) bytes = call->ScratchBytes() + call->PackedBytes();
  program.memory.scratch_bytes = std::max(program.memory.scratch_bytes, bytes);
}

void FillMemoryReport(Program& program) {
  MemoryReport& memory = program.memory;
  const BufferPlan& buffers = program.buffers;
  for (const Instruction* parameter : program.module->entry().parameters())
    memory.parameter_bytes += parameter->shape().ByteSize();
  for (const ConstantData& constant : program.constants) memory.constant_bytes += constant.shape.ByteSize();
  for (const int64_t bytes : buffers.output_bytes) memory.output_bytes += bytes;
  memory.packed_bytes = program.packed_bytes;
  memory.arena_bytes = buffers.arena_bytes + program.counter_bytes;
  memory.arena_lower_bound = buffers.arena_lower_bound + program.counter_bytes;
  for (const auto& [position, copies] : buffers.copies) memory.copies += std::ssize(copies);
}

}  // namespace

void PlanMemory(Compilation& compilation) {
  Program& program = compilation.program;
  ShareTable shares;
  for (const CompiledStep& step : compilation.steps) {
    if (auto found = SharesOf(step); !found.empty()) shares[&step.inst] = std::move(found);
  }
  Values values = FindValues(*program.module, shares);
  for (CompiledStep& step : compilation.steps) AddScratches(program, values, step);
  BufferOptions options;
  options.reuse_parameters = program.options.reuse_donated && !compilation.device.IsHost();
  program.buffers = PlanBuffers(*program.module, std::move(values), options);
  for (const Instruction* constant : program.buffers.constants)
    program.constants.push_back({constant->literal(), constant->shape()});
  FillMemoryReport(program);
}

}  // namespace hlo::gpu
