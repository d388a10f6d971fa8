#include "driver/diff/structure.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "driver/diff/graph.h"
#include "driver/diff/match.h"
#include "driver/inspect/cost.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "driver/line_diff.h"
#include "ir/fusion.h"

namespace hlo {
namespace {

struct Side {
  Side(const DiffModule& diff, const DeviceDescription& device)
      : diff(diff), times(diff.module(), device), places(diff.module()) {
    for (const Computation* computation : diff.computations()) {
      if (!computation->IsEntry()) first_of.emplace(diff.HashOf(*computation), computation);
    }
    partner.resize(diff.module().computation_id_limit());
  }

  const Computation& FirstOf(const Computation& computation) const {
    return computation.IsEntry() ? computation : *first_of.at(diff.HashOf(computation));
  }

  const DiffModule& diff;
  const TimeModel times;
  const SourcePlaces places;
  std::unordered_map<uint64_t, const Computation*> first_of;
  // The paired computation of the other side, by id. Only results of FirstOf have one.
  std::vector<const Computation*> partner;
};

std::string SourceOf(const Side& side, const Instruction& inst) {
  const std::string place = side.places.PlaceOf(inst);
  const std::string_view op_name = inst.metadata().op_name;
  return Str(place, !place.empty() && !op_name.empty() ? " " : "", op_name);
}

StructureFigures FiguresOf(const Side& side) {
  StructureFigures figures;
  const Module& module = side.diff.module();
  for (const Computation* computation : side.diff.computations()) {
    if (&side.FirstOf(*computation) == computation) figures.instructions += side.diff.GraphOf(*computation).size();
  }
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      figures.custom_calls += inst->Is(Opcode::kCustomCall);
      figures.fusions += IsFusion(*inst) && side.diff.RunsOf(*computation) > 0;
    }
  }
  const TimeEstimate& time = side.times.TimeOf(module.entry());
  figures.launches = time.launches;
  figures.seconds = time.total();
  figures.bytes = side.times.costs().CostOf(module.entry()).bytes();
  return figures;
}

struct PairOfGraphs {
  const Computation &left_computation, &right_computation;
  const DiffGraph &left, &right;
  DiffMatch match;
};

// Joins each kernel with the kernel of the other side that shares most instructions with it. Joining all that share any
// would give large sets.
class KernelSets {
 public:
  KernelSets(const PairOfGraphs& pair, const DiffModule& left, const DiffModule& right) : pair_(pair) {
    parent_.resize(pair.left.kernels.size() + pair.right.kernels.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    const std::vector<bool> ties = TiesOf(pair.left), other_ties = TiesOf(pair.right);
    std::map<std::pair<int, int>, int> shared;
    for (int i = 0; i < pair.left.size(); ++i) {
      const int other = pair.match.right_of[i];
      if (other < 0 || (!ties[i] && !other_ties[other])) continue;
      const int left = pair.left.nodes[i].kernel, right = pair.right.nodes[other].kernel;
      if (left >= 0 && right >= 0) ++shared[{left, Number(right)}];
    }
    // For each kernel: the most shared instructions, and the kernel that shares them.
    std::vector<std::pair<int, int>> most(parent_.size(), {0, -1});
    for (const auto& [kernels, count] : shared) {
      const auto [left, right] = kernels;
      if (count > most[left].first) most[left] = {count, right};
      if (count > most[right].first) most[right] = {count, left};
    }
    for (int i = 0; i < std::ssize(most); ++i) {
      if (most[i].second >= 0) parent_[Find(i)] = Find(most[i].second);
    }
    PairEmpty(left, right);
  }

  struct Set {
    std::vector<int> left, right;
  };
  std::vector<Set> Take() {
    std::map<int, Set> sets;
    for (int i = 0; i < std::ssize(pair_.left.kernels); ++i) sets[Find(i)].left.push_back(i);
    for (int i = 0; i < std::ssize(pair_.right.kernels); ++i) sets[Find(Number(i))].right.push_back(i);
    std::vector<Set> all;
    for (auto& [first, set] : sets) all.push_back(std::move(set));
    return all;
  }

 private:
  int Number(int right) const { return static_cast<int>(pair_.left.kernels.size()) + right; }
  int Find(int kernel) {
    while (parent_[kernel] != kernel) kernel = parent_[kernel] = parent_[parent_[kernel]];
    return kernel;
  }

  void PairEmpty(const DiffModule& left, const DiffModule& right) {
    std::map<uint64_t, std::vector<int>> rights;
    const auto hash = [](const DiffModule& side, const DiffKernel& kernel) {
      return side.HashOf(FusedComputation(*kernel.inst));
    };
    for (int i = std::ssize(pair_.right.kernels) - 1; i >= 0; --i) {
      const DiffKernel& kernel = pair_.right.kernels[i];
      if (kernel.nodes.empty()) rights[hash(right, kernel)].push_back(i);
    }
    for (int i = 0; i < std::ssize(pair_.left.kernels); ++i) {
      const DiffKernel& kernel = pair_.left.kernels[i];
      if (!kernel.nodes.empty()) continue;
      std::vector<int>& same = rights[hash(left, kernel)];
      if (same.empty()) continue;
      parent_[Find(i)] = Find(Number(same.back()));
      same.pop_back();
    }
  }

  // Indexed by node: whether sharing it shows that two kernels do the same work. Constants, broadcasts and the like,
  // which kernels compute themselves, count only in kernels without other nodes.
  static std::vector<bool> TiesOf(const DiffGraph& graph) {
    const auto is_made_anew = [](const DiffNode& node) {
      return node.inst->Is(kNoKernel) || node.inst->Is(kHoldsLiteral) || node.inst->Is(Opcode::kBroadcast) ||
             node.inst->Is(Opcode::kIota);
    };
    std::vector<bool> ties(graph.size());
    for (const DiffKernel& kernel : graph.kernels) {
      const bool all = std::ranges::all_of(kernel.nodes, [&](int node) { return is_made_anew(graph.nodes[node]); });
      for (const int node : kernel.nodes) ties[node] = all || !is_made_anew(graph.nodes[node]);
    }
    return ties;
  }

  const PairOfGraphs& pair_;
  std::vector<int> parent_;
};

void Add(const Side& side, const Instruction& inst, std::vector<InstructionDiff>* to,
         const Instruction* InstructionDiff::* place) {
  InstructionDiff one;
  one.*place = &inst;
  one.source = SourceOf(side, inst);
  to->push_back(std::move(one));
}

void AddUnpaired(const Side& side, std::vector<InstructionDiff>* to, const Instruction* InstructionDiff::* place) {
  for (const Computation* computation : side.diff.computations()) {
    if (side.partner[computation->id()] != nullptr || &side.FirstOf(*computation) != computation) continue;
    for (const DiffNode& node : side.diff.GraphOf(*computation).nodes) Add(side, *node.inst, to, place);
  }
}

// The source of a kernel. A fusion without a source has the last source inside it.
std::string SourceOfKernel(const Side& side, const Instruction& inst) {
  std::string source = SourceOf(side, inst);
  if (!source.empty() || !IsFusion(inst)) return source;
  for (const Instruction* one : FusedComputation(inst).instructions()) {
    if (std::string own = SourceOf(side, *one); !own.empty()) source = std::move(own);
  }
  return source;
}

// Finds parameters whose order changed, not only their number.
std::vector<bool> MovedParameters(const PairOfGraphs& pair, bool is_mirrored) {
  struct Parameter {
    int64_t number, other;  // On the side where matching starts, and on the other.
    int left;
  };
  std::vector<Parameter> parameters;
  for (int i = 0; i < pair.left.size(); ++i) {
    const Instruction& was = *pair.left.nodes[i].inst;
    if (!was.Is(Opcode::kParameter) || pair.match.right_of[i] < 0) continue;
    const Instruction& is = *pair.right.nodes[pair.match.right_of[i]].inst;
    if (!is.Is(Opcode::kParameter)) continue;
    parameters.push_back({was.parameter_number(), is.parameter_number(), i});
    if (is_mirrored) std::swap(parameters.back().number, parameters.back().other);
  }
  std::ranges::sort(parameters, {}, &Parameter::number);
  std::vector<size_t> numbers;
  for (const Parameter& parameter : parameters) numbers.push_back(parameter.other);
  std::vector<bool> moved(pair.left.size());
  for (const Parameter& parameter : parameters) moved[parameter.left] = true;
  for (const size_t stayed : LongestIncreasing(numbers)) moved[parameters[stayed].left] = false;
  return moved;
}

int64_t CountMoved(const PairOfGraphs& pair) {
  std::vector<size_t> places;
  for (const int other : pair.match.right_of) {
    if (other >= 0) places.push_back(other);
  }
  return std::ssize(places) - std::ssize(LongestIncreasing(places));
}

// Skips operands without a partner, which are reported themselves, and operands with equal hashes.
void AddOperands(const PairOfGraphs& pair, int left, int right, std::vector<AttributeChange>* changes) {
  const std::span<const int> was = pair.left.OperandsOf(left), is = pair.right.OperandsOf(right);
  const auto name = [](const DiffGraph& graph, int node) { return std::string(graph.nodes[node].inst->name()); };
  const int64_t count = pair.left.nodes[left].operand_count;
  if (was.size() != is.size() || count != pair.right.nodes[right].operand_count) {
    changes->push_back({"operands", Str(was.size()), Str(is.size())});
    return;
  }
  const auto is_other = [&](int a, int b) {
    return pair.match.right_of[a] != b && pair.match.right_of[a] >= 0 && pair.match.left_of[b] >= 0 &&
           pair.left.nodes[a].operand_cone != pair.right.nodes[b].operand_cone;
  };
  for (int64_t i = 0; i < count; ++i) {
    if (is_other(was[i], is[i]))
      changes->push_back({Str("operand ", i), name(pair.left, was[i]), name(pair.right, is[i])});
  }
  for (size_t i = count; i < was.size(); ++i) {
    const auto others = is.subspan(count);
    const bool is_there = std::ranges::any_of(others, [&](int b) { return !is_other(was[i], b); });
    if (!is_there) changes->push_back({"control-predecessors", name(pair.left, was[i]), ""});
  }
}

KernelDiff::What WhatOf(const KernelSets::Set& set) {
  using What = KernelDiff::What;
  if (set.right.empty()) return What::kOnlyLeft;
  if (set.left.empty()) return What::kOnlyRight;
  if (set.left.size() == 1) return set.right.size() == 1 ? What::kChanged : What::kSplit;
  return set.right.size() == 1 ? What::kMerged : What::kRegrouped;
}

class Differ {
 public:
  Differ(Side& left, Side& right, const StructureOptions& options)
      : left_(left),
        right_(right),
        options_(options),
        is_mirrored_(left.diff.HashOf(left.diff.module().entry()) > right.diff.HashOf(right.diff.module().entry())) {}

  StructureDiff Take() {
    diff_.left = FiguresOf(left_);
    diff_.right = FiguresOf(right_);
    diff_.module = ChangesOf(left_.diff.module(), right_.diff.module(), options_.ignore);
    diff_.left_names.resize(right_.diff.module().id_limit());
    diff_.left_places.resize(right_.diff.module().id_limit(), -1);
    diff_.left_computations.resize(right_.diff.module().computation_id_limit());
    Pair(left_.diff.module().entry(), right_.diff.module().entry());
    const Side &first = is_mirrored_ ? right_ : left_, &other = is_mirrored_ ? left_ : right_;
    for (const Computation* computation : first.diff.computations()) {
      if (computation->IsEntry() || &first.FirstOf(*computation) != computation) continue;
      const auto same = other.first_of.find(first.diff.HashOf(*computation));
      if (same == other.first_of.end()) continue;
      Pair(is_mirrored_ ? *same->second : *computation, is_mirrored_ ? *computation : *same->second);
    }
    for (size_t next = 0; next < pairs_.size(); ++next) Compare(*pairs_[next].first, *pairs_[next].second);
    AddUnpaired(left_, &diff_.only_left, &InstructionDiff::left);
    AddUnpaired(right_, &diff_.only_right, &InstructionDiff::right);
    std::ranges::stable_sort(diff_.kernels, [](const KernelDiff& a, const KernelDiff& b) {
      return std::abs(a.seconds) > std::abs(b.seconds);
    });
    AddWhatCarries();
    AddNotes();
    return std::move(diff_);
  }

 private:
  void Pair(const Computation& left, const Computation& right) {
    left_.partner[left.id()] = &right;
    right_.partner[right.id()] = &left;
    pairs_.emplace_back(&left, &right);
    diff_.left_computations[right.id()] = left.name();
  }

  void Compare(const Computation& left, const Computation& right) {
    PairOfGraphs pair{left, right, left_.diff.GraphOf(left), right_.diff.GraphOf(right), {}};
    pair.match = is_mirrored_ ? MatchGraphs(pair.right, pair.left) : MatchGraphs(pair.left, pair.right);
    if (is_mirrored_) std::swap(pair.match.left_of, pair.match.right_of);
    PairCallees(pair);
    std::vector<bool> differs(pair.left.size());
    const std::vector<bool> moved = MovedParameters(pair, is_mirrored_);
    for (int i = 0; i < pair.left.size(); ++i) {
      const int other = pair.match.right_of[i];
      if (other < 0) {
        Add(left_, *pair.left.nodes[i].inst, &diff_.only_left, &InstructionDiff::left);
        continue;
      }
      const Instruction &was = *pair.left.nodes[i].inst, &is = *pair.right.nodes[other].inst;
      diff_.left_names[is.id()] = was.name();
      diff_.left_places[is.id()] = i;
      elided_ += was.Is(Opcode::kElidedConstant) && is.Is(Opcode::kElidedConstant);
      std::vector<AttributeChange> changes = ChangesOfNodes(pair, i, other);
      if (moved[i]) changes.push_back({"number", Str(was.parameter_number()), Str(is.parameter_number())});
      differs[i] = !changes.empty();
      if (differs[i]) diff_.changed.push_back({&was, &is, std::move(changes), SourceOf(left_, was)});
      else ++diff_.matched;
    }
    for (int i = 0; i < pair.right.size(); ++i) {
      if (pair.match.left_of[i] < 0) Add(right_, *pair.right.nodes[i].inst, &diff_.only_right, &InstructionDiff::right);
    }
    if (left.execution_thread != right.execution_thread)
      diff_.module.push_back({Str("execution_thread of ", left.name()), left.execution_thread, right.execution_thread});
    if (!options_.ignore.order) diff_.moved += CountMoved(pair);
    CompareKernels(pair, differs);
  }

  std::vector<AttributeChange> ChangesOfNodes(const PairOfGraphs& pair, int left, int right) {
    const DiffNode &was = pair.left.nodes[left], &is = pair.right.nodes[right];
    const bool is_known = was.operation == is.operation && options_.ignore.names && options_.ignore.metadata;
    std::vector<AttributeChange> changes;
    if (!is_known) changes = ChangesOf(*was.inst, *is.inst, options_.ignore);
    if (was.operation != is.operation) AddCalls(*was.inst, *is.inst, &changes);
    AddOperands(pair, left, right, &changes);
    const bool one_root = (left == pair.left.root) != (right == pair.right.root);
    if (one_root && pair.match.right_of[pair.left.root] >= 0 && pair.match.left_of[pair.right.root] >= 0) {
      const auto word = [](bool is_root) { return is_root ? "true" : "false"; };
      changes.push_back({"root", word(left == pair.left.root), word(right == pair.right.root)});
    }
    return changes;
  }

  // Pairs the computations that paired instructions call, each only once.
  void PairCallees(const PairOfGraphs& pair) {
    const int size = is_mirrored_ ? pair.right.size() : pair.left.size();
    for (int i = 0; i < size; ++i) {
      const int left = is_mirrored_ ? pair.match.left_of[i] : i, right = is_mirrored_ ? i : pair.match.right_of[i];
      if (left < 0 || right < 0) continue;
      const DiffNode &one = pair.left.nodes[left], &other = pair.right.nodes[right];
      if (one.operation == other.operation) continue;
      const std::vector<Computation*> was = CalledComputations(*one.inst), is = CalledComputations(*other.inst);
      for (size_t k = 0; k < std::min(was.size(), is.size()); ++k) {
        const Computation &first = left_.FirstOf(*was[k]), &second = right_.FirstOf(*is[k]);
        if (left_.partner[first.id()] == nullptr && right_.partner[second.id()] == nullptr) Pair(first, second);
      }
    }
  }

  void AddCalls(const Instruction& left, const Instruction& right, std::vector<AttributeChange>* changes) const {
    const std::vector<Computation*> was = CalledComputations(left), is = CalledComputations(right);
    if (was.size() != is.size()) {
      changes->push_back({"called computations", Str(was.size()), Str(is.size())});
      return;
    }
    for (size_t i = 0; i < was.size(); ++i) {
      if (left_.diff.HashOf(*was[i]) == right_.diff.HashOf(*is[i])) continue;
      if (left_.partner[left_.FirstOf(*was[i]).id()] == &right_.FirstOf(*is[i])) continue;
      const std::vector<std::string> names = CallingAttributes(is_mirrored_ ? right : left);
      changes->push_back({names[std::min(i, names.size() - 1)], was[i]->name(), is[i]->name()});
    }
  }

  void CompareKernels(const PairOfGraphs& pair, const std::vector<bool>& differs) {
    for (const KernelSets::Set& set : KernelSets(pair, left_.diff, right_.diff).Take()) {
      KernelDiff kernels{.what = WhatOf(set), .left = {}, .right = {}, .changes = {}, .source = ""};
      for (const int i : set.left) kernels.left.push_back(pair.left.kernels[i].inst);
      for (const int i : set.right) kernels.right.push_back(pair.right.kernels[i].inst);
      const auto is_fusion = [](const Instruction* inst) { return IsFusion(*inst); };
      if (std::ranges::none_of(kernels.left, is_fusion) && std::ranges::none_of(kernels.right, is_fusion)) continue;
      if (kernels.what == KernelDiff::What::kChanged) {
        const DiffKernel &left = pair.left.kernels[set.left[0]], &right = pair.right.kernels[set.right[0]];
        NameAlike(*left.inst, *right.inst);
        if (!IsChanged(pair, left, right, differs, &kernels.changes)) continue;
      }
      SetCosts(pair, &kernels);
      diff_.kernels.push_back(std::move(kernels));
    }
  }

  void NameAlike(const Instruction& left, const Instruction& right) {
    const auto name = [&](const Instruction& was, const Instruction& is) { diff_.left_names[is.id()] = was.name(); };
    name(left, right);
    if (!IsFusion(left) || !IsFusion(right)) return;
    const Computation &was = FusedComputation(left), &is = FusedComputation(right);
    diff_.left_computations[is.id()] = was.name();
    for (size_t i = 0; i < std::min(was.parameters().size(), is.parameters().size()); ++i)
      name(was.parameter(i), is.parameter(i));
    if (was.root().Is(Opcode::kTuple) && is.root().Is(Opcode::kTuple)) name(was.root(), is.root());
    for (const Instruction* user : right.users()) {
      for (const Instruction* other : left.users()) {
        const bool same = user->Is(Opcode::kGetTupleElement) && other->Is(Opcode::kGetTupleElement) &&
                          user->tuple_index() == other->tuple_index();
        if (same) name(*other, *user);
      }
    }
  }

  bool IsChanged(const PairOfGraphs& pair, const DiffKernel& left, const DiffKernel& right,
                 const std::vector<bool>& differs, std::vector<AttributeChange>* changes) const {
    const bool same_nodes =
        left.nodes.size() == right.nodes.size() && std::ranges::all_of(left.nodes, [&](int node) {
          const int other = pair.match.right_of[node];
          return other >= 0 && !differs[node] && &pair.right.kernels[pair.right.nodes[other].kernel] == &right;
        });
    *changes = ChangesOf(*left.inst, *right.inst, options_.ignore);
    if (!same_nodes) {
      const bool same_count = left.nodes.size() == right.nodes.size();
      changes->push_back(
          {same_count ? "different instructions" : "instructions", Str(left.nodes.size()), Str(right.nodes.size())});
    }
    if (!same_nodes || !changes->empty()) return true;
    if (!IsFusion(*left.inst)) return false;
    const Computation &was = FusedComputation(*left.inst), &is = FusedComputation(*right.inst);
    if (left_.diff.HashOf(was) == right_.diff.HashOf(is)) return false;
    changes->push_back(
        {"parameters and results, or their order", Str(was.parameters().size()), Str(is.parameters().size())});
    return true;
  }

  void SetCosts(const PairOfGraphs& pair, KernelDiff* kernels) const {
    const auto add = [&](const Side& side, const Computation& computation,
                         const std::vector<const Instruction*>& instructions, double sign) {
      const double runs = sign * side.diff.RunsOf(computation);
      for (const Instruction* inst : instructions) {
        const TimeEstimate time = side.times.TimeOf(*inst);
        kernels->launches += runs * time.launches;
        kernels->seconds += runs * time.total();
        kernels->bytes += runs * side.times.costs().CostOf(*inst).bytes();
        if (kernels->source.empty()) kernels->source = SourceOfKernel(side, *inst);
      }
    };
    add(left_, pair.left_computation, kernels->left, -1);
    add(right_, pair.right_computation, kernels->right, 1);
  }

  // If hashes differ although no difference was found, values enter and leave fusions in different ways.
  void AddWhatCarries() {
    const Module &left = left_.diff.module(), &right = right_.diff.module();
    if (!diff_.is_equal() || left_.diff.HashOf(left.entry()) == right_.diff.HashOf(right.entry())) return;
    diff_.module.push_back(
        {"instructions around fusions, or their order", Str(left.InstructionCount()), Str(right.InstructionCount())});
  }

  void AddNotes() {
    if (elided_ > 0)
      diff_.notes.push_back(
          Str(Counted(elided_, "constant"), " without values in both texts, so their values were not compared"));
    const auto copies = [](const Side& side) {
      return std::ssize(side.diff.computations()) - 1 - std::ssize(side.first_of);
    };
    if (copies(left_) != copies(right_))
      diff_.notes.push_back(Str("equal computations have ", copies(left_), " copies on the left and ", copies(right_),
                                " on the right, which does not count as a difference"));
  }

  Side &left_, &right_;
  const StructureOptions& options_;
  // Whether matching starts from the right, so that swapped sides give the mirrored result.
  const bool is_mirrored_;
  StructureDiff diff_;
  std::vector<std::pair<const Computation*, const Computation*>> pairs_;
  int64_t elided_ = 0;
};

}  // namespace

std::string_view ToString(KernelDiff::What what) {
  constexpr std::string_view kWords[] = {"changed", "split", "merged", "regrouped", "only-left", "only-right"};
  return kWords[static_cast<int>(what)];
}

Result<StructureDiff> DiffModules(const Module& left, const Module& right, const StructureOptions& options) {
  const DiffModule was = TRY(DiffModule::Make(left, options.ignore, options.most_instructions));
  const DiffModule is = TRY(DiffModule::Make(right, options.ignore, options.most_instructions));
  Side left_side(was, *options.device), right_side(is, *options.device);
  return Differ(left_side, right_side, options).Take();
}

}  // namespace hlo
