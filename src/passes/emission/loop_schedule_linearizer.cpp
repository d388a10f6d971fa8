// In a loop body, makes the readers of a state element run before its next value is computed, if possible, so that the
// next value may overwrite the old one.
#include <algorithm>
#include <queue>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// The instruction behind views and tuple elements.
Instruction& MakerOf(Instruction& value) {
  Instruction* maker = &value;
  while (maker->Is(kNoKernel) && maker->operand_count() == 1) maker = &maker->operand(0);
  return *maker;
}

struct Element {
  Instruction* maker;
  std::vector<Instruction*> readers;
};

void AddReaders(Instruction& value, std::vector<Instruction*>* readers) {
  std::vector<Instruction*> names = {&value};
  while (!names.empty()) {
    const Instruction& name = *names.back();
    names.pop_back();
    for (Instruction* user : name.users()) {
      if (user->Is(Opcode::kTuple)) continue;
      (user->Is(kNoKernel) ? names : *readers).push_back(user);
    }
  }
}

// Elements that the body computes, if its root is a tuple.
std::vector<Element> ElementsOf(const Computation& body) {
  std::vector<Element> elements;
  Instruction &root = body.root(), &state = body.parameter(0);
  if (!root.Is(Opcode::kTuple)) return elements;
  std::vector<std::vector<Instruction*>> parts(root.operand_count());
  for (Instruction* user : state.users()) {
    if (user->Is(Opcode::kGetTupleElement)) parts[user->tuple_index()].push_back(user);
  }
  for (int64_t i = 0; i < root.operand_count(); ++i) {
    Instruction& maker = MakerOf(root.operand(i));
    if (!root.operand(i).shape().IsArray() || maker.Is(Opcode::kParameter) || maker.Is(Opcode::kConstant)) continue;
    Element& element = elements.emplace_back(&maker);
    for (Instruction* part : parts[i]) AddReaders(*part, &element.readers);
  }
  return elements;
}

// By place: the position in an order with the makers of next values as late as possible. Control edges along one order
// form no cycle.
std::vector<int> MakersLast(const Computation& body, const std::vector<Element>& elements) {
  const std::vector<Instruction*> order = body.PostOrder();
  std::vector<int> number(body.place_limit()), missing(body.place_limit()), turn(body.place_limit());
  std::vector<bool> is_maker(body.place_limit());
  for (const Element& element : elements) is_maker[element.maker->place()] = true;
  std::vector<std::vector<Instruction*>> waiting(body.place_limit());
  using Ready = std::pair<std::pair<bool, int>, Instruction*>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto push = [&](Instruction* inst) { ready.push({{is_maker[inst->place()], number[inst->place()]}, inst}); };
  int next = 0;
  for (Instruction* inst : order) number[inst->place()] = next++;
  for (Instruction* inst : order) {
    const auto wait = [&](Instruction* before) {
      waiting[before->place()].push_back(inst);
      ++missing[inst->place()];
    };
    for (Instruction* operand : inst->operands()) wait(operand);
    for (Instruction* before : inst->control_predecessors()) wait(before);
    if (missing[inst->place()] == 0) push(inst);
  }
  for (int at = 0; !ready.empty(); ++at) {
    Instruction* const inst = ready.top().second;
    ready.pop();
    turn[inst->place()] = at;
    for (Instruction* user : waiting[inst->place()]) {
      if (--missing[user->place()] == 0) push(user);
    }
  }
  return turn;
}

bool LinearizeBody(Computation& body) {
  const std::vector<Element> elements = ElementsOf(body);
  if (elements.empty()) return false;
  const std::vector<int> turn = MakersLast(body, elements);
  bool changed = false;
  for (const Element& element : elements) {
    for (Instruction* reader : element.readers) {
      const auto before = element.maker->control_predecessors();
      const auto operands = element.maker->operands();
      if (reader == element.maker || turn[reader->place()] > turn[element.maker->place()]) continue;
      if (std::ranges::find(before, reader) != before.end() || std::ranges::find(operands, reader) != operands.end())
        continue;
      element.maker->AddControlPredecessor(*reader);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Result<bool> LinearizeLoops(Module& module, const PassContext& context) {
  bool changed = false;
  for (const Computation* computation : SequentialComputations(module)) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->Is(Opcode::kWhile) && context.ConsumeFuel()) changed |= LinearizeBody(*inst->attrs<WhileAttrs>().body);
    }
  }
  return changed;
}

}  // namespace hlo
