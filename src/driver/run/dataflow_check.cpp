#include "driver/run/dataflow_check.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash_bytes.h"
#include "base/text.h"
#include "driver/inspect/text.h"
#include "gpu/runtime/prepare.h"
#include "gpu/runtime/relayout.h"
#include "ir/instruction.h"

namespace hlo {
namespace {

uint64_t HashOf(const void* bytes, int64_t size) {
  return HashBytes({static_cast<const char*>(bytes), static_cast<size_t>(size)});
}

// The bytes in the order of the layout. Uses no code of the run time, which is judged.
std::vector<std::byte> InMemory(const Shape& shape, const std::byte* row_major) {
  const int64_t width = ByteWidth(shape.type()), count = shape.NumElements();
  std::vector<int64_t> strides(shape.rank());
  int64_t stride = 1;
  for (const int64_t dim : shape.layout().minor_to_major) {
    strides[dim] = stride;
    stride *= shape.dim(dim);
  }
  std::vector<std::byte> memory(count * width);
  std::vector<int64_t> index(shape.rank());
  int64_t place = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(row_major + i * width, width, memory.data() + place * width);
    for (int64_t d = shape.rank() - 1; d >= 0; --d) {
      place += strides[d];
      if (++index[d] < shape.dim(d)) break;
      place -= strides[d] * std::exchange(index[d], 0);
    }
  }
  return memory;
}

// In HLO, true takes branch 0, and an index out of range the last branch.
size_t BranchTaken(const Instruction& conditional, int32_t selector) {
  if (conditional.operand(0).shape().type() == PrimitiveType::kPred) return selector != 0 ? 0 : 1;
  const size_t last = conditional.operand_count() - 2;
  return selector < 0 || static_cast<size_t>(selector) > last ? last : static_cast<size_t>(selector);
}

}  // namespace

std::string LoopText(std::span<const gpu::LoopStep> loops) {
  std::string out;
  for (const gpu::LoopStep& step : loops) out += Str(" in iteration ", step.iteration, " of '", step.loop->name(), "'");
  return out;
}

DataflowCheck::DataflowCheck(const Module& module, std::span<const Literal> arguments)
    : values_(module.id_limit()), entry_(module.entry()) {
  for (const Instruction* parameter : entry_.parameters())
    Of(*parameter) = ValueOf(*parameter, arguments[parameter->parameter_number()]);
  Push(entry_, nullptr);
}

void DataflowCheck::Step(const Instruction& step, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
                         const Literal& output) {
  if (!fault_.empty() || gpu::MovesBytes(step)) return;
  const Instruction* due = Due();
  if (due != &step)
    return Fail(
        step, loops,
        due == nullptr ? "ran after the end" : Str("ran where '", due->name(), "'", LoopText(Loops()), " was due"));
  for (int64_t i = 0; i < step.operand_count(); ++i) {
    const Instruction& operand = step.operand(i);
    if (!std::ranges::equal(ValueOf(operand, inputs[i]), Of(operand), {}, &Leaf::bits, &Leaf::bits))
      return Fail(step, loops, Str("read a value as operand ", i, " that is not the value of '", operand.name(), "'"));
    ++operands_;
  }
  ++steps_;
  Of(step) = ValueOf(step, output);
  ++frames_.back().next;
}

void DataflowCheck::End(const Literal& outputs) {
  if (!fault_.empty()) return;
  if (const Instruction* due = Due(); due != nullptr) return Fail(*due, Loops(), "had not run when the run ended");
  const Instruction& root = entry_.root();
  const Value results = ValueOf(root, outputs);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].bits != Of(root)[i].bits)
      return Fail(root, {}, Str("has another value than the run returned (array ", i, " of the result)"));
  }
}

void DataflowCheck::Fail(const Instruction& where, std::span<const gpu::LoopStep> loops, const std::string& what) {
  if (!fault_.empty()) return;
  culprit_ = where.name();
  fault_ = Str("'", where.name(), "'", LoopText(loops), " ", what);
}

DataflowCheck::Leaf DataflowCheck::LeafOf(const Instruction& inst, const Shape& shape, const Literal& literal) {
  const int64_t bytes = shape.ByteSize();
  if (gpu::BytesInMemory(shape) == 0) return {0, 0};
  Leaf leaf;
  if (shape.HasDynamicDims()) {
    leaf.bits = literal.Hash();  // Includes the dynamic sizes.
  } else if (shape.HasDefaultLayout()) {
    leaf.bits = HashOf(literal.raw(), bytes);
  } else {
    const std::vector<std::byte> memory = InMemory(shape, literal.raw());
    std::vector<std::byte> placed(bytes);
    gpu::ToLayout(shape, literal.raw(), placed.data());
    if (placed != memory) Fail(inst, {}, Str("is placed in memory in another order than that of ", shape));
    leaf.bits = HashOf(memory.data(), bytes);
  }
  // A reshape may make an array of one element a scalar, so it has a number too.
  const bool selects = shape.type() == PrimitiveType::kPred || shape.type() == PrimitiveType::kS32;
  if (selects && shape.NumElements() == 1) leaf.number = static_cast<int32_t>(literal.GetInt(0));
  return leaf;
}

DataflowCheck::Value DataflowCheck::ValueOf(const Instruction& inst, const Literal& literal) {
  Value value;
  ForEachLeaf(inst.shape(), [&](const ShapeIndex& index, const Shape& leaf) {
    value.push_back(LeafOf(inst, leaf, literal.At(index)));
  });
  return value;
}

const Instruction* DataflowCheck::Due() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.next == frame.order.size()) {
      Leave();
      continue;
    }
    const Instruction& inst = *frame.order[frame.next];
    if (gpu::IsStep(inst) && !gpu::MovesBytes(inst)) return &inst;
    ++frame.next;
    if (inst.Is(kControl)) {
      Enter(inst);
    } else {
      View(inst);
    }
  }
  return nullptr;
}

void DataflowCheck::View(const Instruction& inst) {
  Value& value = Of(inst);
  switch (inst.opcode()) {
    case Opcode::kParameter: break;  // Set by Enter.
    case Opcode::kConstant:
      if (value.empty()) value = ValueOf(inst, inst.literal());
      break;
    case Opcode::kTuple:
      value.clear();
      for (const Instruction* operand : inst.operands())
        value.insert(value.end(), Of(*operand).begin(), Of(*operand).end());
      break;
    case Opcode::kGetTupleElement: {
      const Instruction& tuple = inst.operand(0);
      const auto begin = Of(tuple).begin() + tuple.shape().FirstLeaf(inst.tuple_index());
      value.assign(begin, begin + inst.shape().LeafCount());
      break;
    }
    default:
      if (inst.shape().ByteSize() == 0 && !gpu::HasDynamicSizes(inst)) {
        value.assign(inst.shape().LeafCount(), {0, 0});
      } else {
        value = Of(inst.operand(0));
      }
  }
}

void DataflowCheck::Push(const Computation& computation, const Instruction* caller, int64_t iteration) {
  frames_.push_back({&computation, gpu::RunOrder(computation), caller, iteration});
}

std::vector<gpu::LoopStep> DataflowCheck::Loops() const {
  std::vector<gpu::LoopStep> loops;
  for (const Frame& frame : frames_) {
    if (frame.caller != nullptr && frame.caller->Is(Opcode::kWhile)) loops.push_back({frame.caller, frame.iteration});
  }
  return loops;
}

void DataflowCheck::Enter(const Instruction& caller) {
  if (caller.Is(Opcode::kWhile)) {
    const Computation& condition = *caller.attrs<WhileAttrs>().condition;
    Of(condition.parameter(0)) = Of(caller.operand(0));
    Push(condition, &caller);
  } else if (caller.Is(Opcode::kConditional)) {
    const size_t taken = BranchTaken(caller, Of(caller.operand(0))[0].number);
    const Computation& branch = *caller.attrs<ConditionalAttrs>().branches()[taken];
    Of(branch.parameter(0)) = Of(caller.operand(taken + 1));
    Push(branch, &caller);
  } else {
    const Computation& callee = *caller.attrs<CallAttrs>().to_apply;
    for (int64_t i = 0; i < caller.operand_count(); ++i) Of(callee.parameter(i)) = Of(caller.operand(i));
    Push(callee, &caller);
  }
}

void DataflowCheck::Leave() {
  const Frame done = std::move(frames_.back());
  frames_.pop_back();
  if (done.caller == nullptr) return;
  const Value result = Of(done.computation->root());
  if (!done.caller->Is(Opcode::kWhile)) {
    Of(*done.caller) = result;
    return;
  }
  const auto& attrs = done.caller->attrs<WhileAttrs>();
  if (done.computation == attrs.condition) {
    const Value& state = Of(attrs.condition->parameter(0));
    if (result[0].number == 0) {
      Of(*done.caller) = state;
    } else {
      Of(attrs.body->parameter(0)) = state;
      Push(*attrs.body, done.caller, done.iteration);
    }
  } else {
    Of(attrs.condition->parameter(0)) = result;
    Push(*attrs.condition, done.caller, done.iteration + 1);
  }
}

bool IsInCondition(const Instruction& inst, const gpu::LoopStep& step) {
  return &inst.computation() == step.loop->attrs<WhileAttrs>().condition;
}

bool MayComeOfWrongValues(const Error& error) {
  const bool is_loop = error.exit == ExitCode::kLimit && error.diagnostics.front().flag == "max_loop_iterations";
  return is_loop || error.code() == "R006";
}

Result<FollowedRun> Follow(gpu::Executable& executable, std::span<const Literal> arguments, bool unfinished) {
  FollowedRun followed{.runs = std::vector<int64_t>(executable.steps().size())};
  std::map<int, size_t> step_by_id;
  for (size_t i = 0; i < executable.steps().size(); ++i) step_by_id[executable.steps()[i].instruction->id()] = i;
  DataflowCheck check(executable.module(), arguments);
  const gpu::Observer observer = {.observe = [&](const Instruction& inst, std::span<const gpu::LoopStep> loops,
                                                 std::span<const Literal> inputs, const Literal& output) -> Status {
    for (const gpu::LoopStep& step : loops) {
      if (IsInCondition(inst, step)) continue;
      int64_t& last = followed.last_iterations[step.loop->id()];
      last = std::max(last, step.iteration);
    }
    ++followed.runs[step_by_id.at(inst.id())];
    check.Step(inst, loops, inputs, output);
    if (unfinished && !check.fault().empty()) FAIL(InternalError(check.fault()));
    return {};
  }};
  const Status ran = executable.Execute({.observer = &observer});
  if (ran) check.End(TRY(executable.Output()));
  else if (check.fault().empty() && !(unfinished && MayComeOfWrongValues(ran.error()))) FAIL(ran.error());
  followed.fault = check.fault();
  followed.culprit = check.culprit();
  followed.summary = {.steps = check.steps(), .operands = check.operands(), .sound = check.fault().empty()};
  return followed;
}

std::string ToString(const DataflowSummary& dataflow) {
  if (!dataflow.sound) return Str("MISMATCH  after ", Counted(dataflow.steps, "step"));
  return Str("MATCH  ", Counted(dataflow.steps, "step"), " in order, ", Counted(dataflow.operands, "operand"),
             " read unchanged");
}

}  // namespace hlo
