#include "judge/compare/correspondence.h"

#include <algorithm>
#include <queue>
#include <ranges>
#include <unordered_set>

#include "ir/side_effects.h"

namespace hlo {
namespace {

using Readings = std::unordered_map<const Instruction*, size_t>;

size_t LastOf(Users results, const Readings& compared) {
  size_t last = 0;
  for (const Instruction* result : results) {
    if (const auto at = compared.find(result); at != compared.end()) last = std::max(last, at->second);
  }
  return last;
}

// The last position at which `inst` is read. `read` has the last positions of users, and receives the position. With
// `hands_on`, compared users are not evaluated again, because their values are kept while they are read. `inner` has
// the last comparison in each called computation.
size_t LastRead(const Instruction& inst, const Readings& compared, bool hands_on,
                std::unordered_map<const Instruction*, size_t>& read,
                const std::unordered_map<const Computation*, size_t>* inner = nullptr) {
  size_t last = 0;
  if (const auto it = read.find(&inst); it != read.end()) last = it->second;
  for (const Instruction* user : inst.users()) {
    const auto at = compared.find(user);
    const auto through = read.find(user);
    if (at != compared.end()) last = std::max(last, at->second);
    if ((at == compared.end() || !hands_on) && through != read.end()) last = std::max(last, through->second);
    if (inner == nullptr) continue;
    for (const Computation* callee : CalledComputations(*user)) {
      if (const auto it = inner->find(callee); it != inner->end()) last = std::max(last, it->second);
    }
  }
  return read[&inst] = last;
}

}  // namespace

bool IsOneOfSeveral(const Instruction& inst) {
  return inst.Is(Opcode::kGetTupleElement) && inst.operand(0).Is(Opcode::kFusion);
}

const Instruction* InsideKernel(const Instruction& one_of_several) {
  const Instruction& root = one_of_several.operand(0).attrs<FusionAttrs>().calls->root();
  return root.Is(Opcode::kTuple) ? &root.operand(one_of_several.tuple_index()) : nullptr;
}

Correspondence::Correspondence(const Module& input) : callers_(input) {
  for (const Computation* computation : input.Computations()) {
    for (const Instruction* inst : computation->Instructions()) by_id_[inst->id()] = inst;
  }
}

const Instruction* Correspondence::OriginOf(const Instruction& inst) const {
  const auto it = by_id_.find(inst.origin());
  return it == by_id_.end() ? nullptr : it->second;
}

const Instruction* Correspondence::OriginIn(const Instruction& inst, const Computation& before) const {
  const Instruction* origin = OriginOf(inst);
  return origin != nullptr && callers_.RunsOnceIn(origin->computation(), before) ? origin : nullptr;
}

const Instruction* Correspondence::ComparedWith(const Instruction& inst, const Computation& before) const {
  const Instruction* origin = inst.IsRoot() ? &before.root() : OriginIn(inst, before);
  if (origin == nullptr || inst.Is(Opcode::kTuple) || (inst.Is(Opcode::kParameter) && !inst.IsRoot())) return nullptr;
  return Compatible(origin->shape(), inst.shape()) && !inst.shape().IsToken() ? origin : nullptr;
}

std::vector<Correspondence::Elements> Correspondence::ElementsToCompare(const Instruction& origin,
                                                                        const Instruction& inst) const {
  std::vector<Elements> elements;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Instruction &before = origin.operand(i), &after = inst.operand(i);
    const bool is_there = OriginIn(after, origin.computation()) == &before;
    if (!is_there || after.Is(Opcode::kTuple)) elements.push_back({&before, &after});
  }
  return elements;
}

namespace {

// Instructions on which the root or a side effect depends. Passes need not keep values of dead instructions, and
// roundings may make them differ from a live instruction with the same origin.
std::unordered_set<const Instruction*> AliveIn(const Computation& computation,
                                               std::span<Instruction* const> post_order) {
  std::unordered_set<const Instruction*> alive = {&computation.root()};
  for (const Instruction* inst : std::views::reverse(post_order)) {
    if (!alive.contains(inst) && !HasSideEffect(*inst)) continue;
    alive.insert(inst);
    alive.insert(inst->operands().begin(), inst->operands().end());
  }
  return alive;
}

}  // namespace

std::vector<Instruction*> Correspondence::OrderOf(const Computation& before, const Computation& after) const {
  std::unordered_map<const Instruction*, size_t> rank;
  for (const Instruction* inst : before.PostOrder()) rank.emplace(inst, rank.size());
  using Next = std::pair<size_t, size_t>;  // The rank of the origin or of the operands' origins, then the position.
  const std::vector<Instruction*> given = after.PostOrder();
  std::unordered_map<const Instruction*, size_t> position, waits_for;
  std::vector<size_t> ranks(given.size());
  std::priority_queue<Next, std::vector<Next>, std::greater<>> ready;
  for (size_t i = 0; i < given.size(); ++i) {
    const Instruction& inst = *given[i];
    position[&inst] = i;
    const Instruction* origin = OriginIn(inst, before);
    const auto known = origin == nullptr ? rank.end() : rank.find(origin);
    if (known != rank.end()) ranks[i] = known->second;
    for (const Instruction* operand : inst.operands()) {
      if (known == rank.end()) ranks[i] = std::max(ranks[i], ranks[position[operand]]);
    }
    waits_for[&inst] = std::unordered_set<const Instruction*>(inst.operands().begin(), inst.operands().end()).size();
    if (inst.operands().empty()) ready.emplace(ranks[i], i);
  }
  const std::unordered_set<const Instruction*> alive = AliveIn(after, given);
  std::vector<Instruction*> order;
  while (!ready.empty()) {
    Instruction& inst = *given[ready.top().second];
    ready.pop();
    if (alive.contains(&inst)) order.push_back(&inst);
    for (const Instruction* user : inst.users()) {
      if (--waits_for[user] == 0) ready.emplace(ranks[position[user]], position[user]);
    }
  }
  return order;
}

Lifetimes Correspondence::LifetimesOf(const Computation& before, const Computation& after,
                                      const std::vector<Instruction*>& order) const {
  const size_t end = order.size();
  const Instruction &root = after.root(), &root_before = before.root();
  Readings compared, compared_before;                    // Position of the last comparison of an instruction or origin.
  std::unordered_map<const Computation*, size_t> inner;  // Last comparison of any instruction in the computation.
  for (size_t i = 0; i < end; ++i) {
    const Instruction* origin = ComparedWith(*order[i], before);
    if (origin == nullptr) continue;
    compared[order[i]] = compared_before[origin] = i;
    for (const Computation* at = &origin->computation(); at != &before; at = &callers_.Of(*at).computation())
      inner[at] = i;
  }
  // Elements of the root tuple are compared again at the end.
  std::unordered_map<const Instruction*, size_t> read, read_before;
  if (root.Is(Opcode::kTuple)) {
    read[&root] = end;
    read_before[&root_before] = end;
  }
  Lifetimes lifetimes(end + 1);
  for (size_t i = end; i-- > 0;) {
    const Instruction& inst = *order[i];
    size_t last = std::max(i, LastRead(inst, compared, /*hands_on=*/true, read));
    if (!compared.contains(&inst)) continue;
    if (IsOneOfSeveral(inst)) last = std::max(last, LastOf(inst.operand(0).users(), compared));
    lifetimes.after[last].push_back(&inst);
  }
  std::unordered_map<const Instruction*, size_t> ends;  // Last reads in the input.
  std::vector<const Computation*> inside{&before};      // Callers first.
  for (size_t i = 0; i < inside.size(); ++i) {
    if (const auto it = inner.find(inside[i]); it != inner.end()) lifetimes.callees[it->second].push_back(inside[i]);
    const std::vector<Instruction*> instructions = inside[i]->PostOrder();
    for (const Instruction* inst : instructions | std::views::reverse) {
      if (inst->IsRoot() && inside[i] != &before) {
        size_t& last = read_before[inst];
        last = std::max(last, read_before[&callers_.Of(*inside[i])]);
      }
      size_t& last = ends[inst];
      last = std::max(last, LastRead(*inst, compared_before, /*hands_on=*/false, read_before, &inner));
      for (const Computation* callee : CalledComputations(*inst)) {
        if (inner.contains(callee)) inside.push_back(callee);
      }
    }
  }
  for (const auto& [inst, last] : ends) {
    const auto it = compared_before.find(inst);
    if (it != compared_before.end()) lifetimes.before[std::max(last, it->second)].push_back(inst);
  }
  return lifetimes;
}

}  // namespace hlo
