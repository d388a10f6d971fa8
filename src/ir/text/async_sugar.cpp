#include "ir/text/async_sugar.h"

#include "base/text.h"
#include "ir/module.h"

namespace hlo {

// `all-reduce-start` is an opcode, so it cannot mean an async-start of an all-reduce.
bool HasAsyncSugar(Opcode opcode) {
  if (opcode == Opcode::kConstant || opcode == Opcode::kParameter) return false;
  return !OpcodeFromText(Str(ToString(opcode), "-done"));
}

namespace {

// Returns null if the chain goes through a tuple or has an op without operands.
const Instruction* StartOf(const Instruction& async) {
  const Instruction* at = &async;
  while (at->Is(Opcode::kAsyncUpdate) || at->Is(Opcode::kAsyncDone)) {
    if (at->operands().empty()) return nullptr;
    at = &at->operand(0);
  }
  return at->Is(Opcode::kAsyncStart) ? at : nullptr;
}

}  // namespace

const Instruction* WrappedInstruction(const Instruction& async) {
  if (async.attributes().GetIf<AsyncAttrs>() == nullptr) return nullptr;
  const Instruction* start = StartOf(async);
  if (start == nullptr) return nullptr;
  const Computation* calls = start->attrs<AsyncAttrs>().calls;
  if (calls == nullptr || !calls->has_root()) return nullptr;
  const Instruction& root = calls->root();
  const auto parameters = calls->parameters();
  if (root.operand_count() != static_cast<int64_t>(parameters.size()) ||
      calls->InstructionCount() != root.operand_count() + 1)
    return nullptr;
  for (int64_t i = 0; i < root.operand_count(); ++i) {
    if (&root.operand(i) != parameters[i]) return nullptr;
  }
  return &root;
}

bool ReadsBackFromSugar(const Instruction& async) {
  const Instruction* wrapped = WrappedInstruction(async);
  if (wrapped == nullptr || !HasAsyncSugar(wrapped->opcode())) return false;
  const Instruction& start = *StartOf(async);
  // The short spelling would lose names and metadata of a written computation.
  if (!wrapped->range().empty() && wrapped->range() != start.range()) return false;
  const Shape& state = start.shape();
  if (!state.IsTuple() || state.elements().size() < 2 || !state.element(0).IsTuple() ||
      state.element(0).elements().size() != static_cast<size_t>(wrapped->operand_count()) ||
      state.element(1) != wrapped->shape())
    return false;
  for (int64_t i = 0; i < wrapped->operand_count(); ++i) {
    if (state.element(0).element(i) != wrapped->operand(i).shape()) return false;
  }
  return true;
}

}  // namespace hlo
