#include "judge/kept_values.h"

#include <algorithm>
#include <array>

#include "base/hash_bytes.h"

namespace hlo {
namespace {

std::vector<const Instruction*> ReachedById(const Module& module) {
  std::vector<const Instruction*> reached(module.id_limit());
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) reached[inst->id()] = inst;
  }
  return reached;
}

}  // namespace

uint64_t Mixed(uint64_t a, uint64_t b) {
  const std::array<uint64_t, 2> words = {a, b};
  return HashBytes({reinterpret_cast<const char*>(words.data()), sizeof words});
}

bool HasSeveralDevices(const Module& module) {
  return module.header.replica_count > 1 || module.header.num_partitions > 1;
}

bool HaveSameSignature(const Module& before, const Module& after) {
  const Computation &x = before.entry(), &y = after.entry();
  if (x.parameters().size() != y.parameters().size() || !Compatible(x.root().shape(), y.root().shape())) return false;
  for (size_t i = 0; i < x.parameters().size(); ++i) {
    if (!Compatible(x.parameters()[i]->shape(), y.parameters()[i]->shape())) return false;
  }
  return true;
}

// ---- Pairs of instructions -----------------------------------------------------------------------------------------

Origins::Origins(const Module& before, OriginsOf origins) : origins_(origins), by_id_(ReachedById(before)) {
  if (origins != OriginsOf::kAncestor) return;
  for (const Instruction* inst : by_id_) {
    if (inst != nullptr && inst->origin() >= 0) by_origin_[inst->origin()].push_back(inst);
  }
}

std::vector<const Instruction*> Origins::Of(const Instruction& after) const {
  if (origins_ == OriginsOf::kBefore) {
    if (const Instruction* inst = ById(after.origin())) return {inst};
    return {};
  }
  // If its origin changed, the instruction has another value.
  if (const Instruction* inst = ById(after.id()); inst != nullptr && inst->origin() == after.origin()) return {inst};
  const auto same = by_origin_.find(after.origin());
  return same == by_origin_.end() ? std::vector<const Instruction*>() : same->second;
}

const Instruction* Origins::ById(int id) const {
  return id >= 0 && id < static_cast<int>(by_id_.size()) ? by_id_[id] : nullptr;
}

std::vector<KeptPair> KeptPairs(const Module& after, const Origins& origins) {
  std::vector<KeptPair> pairs;
  for (const Computation* computation : after.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      if (!inst->shape().IsArray() || (computation->IsEntry() && inst->Is(Opcode::kParameter))) continue;
      KeptPair pair{inst, origins.Of(*inst)};
      std::erase_if(pair.before, [&](const Instruction* other) { return !Compatible(other->shape(), inst->shape()); });
      if (!pair.before.empty()) pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

KeptValues::KeptValues(const Module& before, const Module& after, OriginsOf origins_of)
    : origins(before, origins_of),
      pairs(KeptPairs(after, origins)),
      in_before(before.id_limit()),
      in_after(after.id_limit()) {
  for (const KeptPair& pair : pairs) {
    in_after[pair.after->id()] = true;
    for (const Instruction* inst : pair.before) in_before[inst->id()] = true;
  }
}

// ---- Runs ----------------------------------------------------------------------------------------------------------

void ObservedRun::Executed(const Instruction& inst) {
  ++executions_[inst.id()];
  if (inst.Is(Opcode::kWhile)) EndLoop(inst);
}

void ObservedRun::AddValue(const Instruction& inst, uint64_t hash, bool open) {
  Values& values = values_[inst.id()];
  ++values.executions;
  values.sequence = Mixed(values.sequence, hash);
  values.open |= open;
  if (values.executions <= kMostExecutions) values.hashes.push_back(hash);
}

void ObservedRun::BeginIteration(const Instruction& loop, int64_t iteration) {
  loops_[&loop].now = iteration + 1;
  if (path_.empty() || path_.back().first != &loop) path_.emplace_back(&loop, iteration);
  path_.back().second = iteration;
}

void ObservedRun::EndLoop(const Instruction& loop) {
  Loop& seen = loops_[&loop];
  seen.most = std::max(seen.most, seen.now);
  seen.skipped |= seen.now == 0;
  seen.now = 0;
  if (!path_.empty() && path_.back().first == &loop) path_.pop_back();
}

const ObservedRun::Loop* ObservedRun::LoopOf(const Instruction& loop) const {
  const auto seen = loops_.find(&loop);
  return seen == loops_.end() ? nullptr : &seen->second;
}

namespace {

// Indexed by computation id: the runs of all conditionals with this computation as a branch. kAny if others call it.
std::vector<int64_t> MostRuns(const std::vector<Computation*>& computations, const Module& module,
                              const ObservedRun& run) {
  constexpr int64_t kAny = int64_t{1} << 60;
  std::vector<int64_t> most(module.computation_id_limit());
  for (const Computation* computation : computations) {
    for (const Instruction* inst : computation->instructions()) {
      const int64_t runs = inst->Is(Opcode::kConditional) ? run.ExecutionsOf(*inst) : kAny;
      for (const Computation* callee : CalledComputations(*inst))
        most[callee->id()] = std::min(kAny, most[callee->id()] + runs);
    }
  }
  return most;
}

// Indexed by computation id: whether it is a branch that a conditional did not always take, part of a loop that once
// had no iteration, or called by one. A pass may compute values there that the module before did not. Counts of
// iterations do not distinguish devices, so on several devices all loops count.
std::vector<bool> ConditionalComputations(const Module& module, const ObservedRun& run) {
  std::vector<bool> conditional(module.computation_id_limit());
  const std::vector<Computation*> order = module.PostOrder();
  const std::vector<int64_t> most_runs = MostRuns(order, module, run);
  for (auto computation = order.rbegin(); computation != order.rend(); ++computation) {  // Callers before callees.
    for (const Instruction* inst : (*computation)->instructions()) {
      const ObservedRun::Loop* const loop = run.LoopOf(*inst);
      const bool skipped = loop != nullptr && (loop->skipped || HasSeveralDevices(module));
      for (const Computation* callee : CalledComputations(*inst)) {
        const bool may_skip =
            inst->Is(Opcode::kConditional) && run.ExecutionsOf(callee->root()) < most_runs[callee->id()];
        if (conditional[(*computation)->id()] || may_skip || skipped) conditional[callee->id()] = true;
      }
    }
  }
  return conditional;
}

enum class Agreement : uint8_t { kEqual, kDiffers, kNotCompared };

Agreement AgreementOf(const KeptPair& pair, const ObservedRun& before, const ObservedRun& after,
                      const std::vector<bool>& conditional) {
  const ObservedRun::Values& seen = after.Of(*pair.after);
  if (seen.executions == 0) return Agreement::kNotCompared;
  int64_t executions = 0;
  bool complete = true, open = seen.open;
  for (const Instruction* inst : pair.before) {
    const ObservedRun::Values& was = before.Of(*inst);
    if (was.executions == seen.executions && was.sequence == seen.sequence) return Agreement::kEqual;
    executions += was.executions;
    complete &= was.executions <= ObservedRun::kMostExecutions;
    open |= was.open;
  }
  if (executions == 0 || !complete) return Agreement::kNotCompared;
  const std::vector<uint64_t> values = ValuesBefore(pair, before);
  if (std::ranges::all_of(seen.hashes, [&](uint64_t hash) { return std::ranges::binary_search(values, hash); }))
    return seen.executions <= ObservedRun::kMostExecutions ? Agreement::kEqual : Agreement::kNotCompared;
  // An instruction that runs more often than before may replace several instructions, or was moved out of a branch.
  const bool may_differ =
      open || seen.executions > executions ||
      std::ranges::any_of(pair.before, [&](const auto* inst) { return conditional[inst->computation().id()]; });
  return may_differ ? Agreement::kNotCompared : Agreement::kDiffers;
}

}  // namespace

ComparedValues CompareValues(const KeptValues& kept, const Module& before, const ObservedRun& run_before,
                             const ObservedRun& run_after) {
  ComparedValues compared;
  const std::vector<bool> conditional = ConditionalComputations(before, run_before);
  for (const KeptPair& pair : kept.pairs) {
    const Agreement agreement = AgreementOf(pair, run_before, run_after, conditional);
    if (agreement == Agreement::kNotCompared) continue;
    ++compared.values;
    compared.elements += pair.after->shape().NumElements();
    if (agreement == Agreement::kDiffers) compared.different.push_back(&pair);
  }
  return compared;
}

std::vector<uint64_t> ValuesBefore(const KeptPair& pair, const ObservedRun& before) {
  std::vector<uint64_t> values;
  for (const Instruction* inst : pair.before) {
    const std::vector<uint64_t>& hashes = before.Of(*inst).hashes;
    values.insert(values.end(), hashes.begin(), hashes.end());
  }
  std::ranges::sort(values);
  return values;
}

}  // namespace hlo
