#include "interp/arguments/ranges.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "interp/arguments/requirement.h"

namespace hlo {
namespace {

class Collector {
 public:
  explicit Collector(const Module& module) : module_(module) {
    for (const Instruction* parameter : module.entry().parameters())
      ranges_.parameters.emplace_back(parameter->shape().LeafCount());
    ranges_.elided.resize(module.id_limit());
    for (const Computation* computation : module.PostOrder()) {
      for (const Instruction* inst : computation->Instructions()) {
        for (const Computation* callee : CalledComputations(*inst)) callers_[callee].push_back(inst);
      }
    }
  }

  Ranges Run() {
    for (const Computation* computation : module_.PostOrder()) {
      for (const Instruction* inst : computation->Instructions()) {
        for (auto& [at, requirement] : RequirementsOfUse(*inst)) Require(*at, {}, std::move(requirement));
      }
    }
    return std::move(ranges_);
  }

 private:
  struct Pending {
    const Instruction* inst;
    ShapeIndex path;
    Requirement requirement;
  };

  // Passes a requirement from `inst`, or its leaf `path`, towards parameters. Follows each requirement once.
  void Require(const Instruction& inst, const ShapeIndex& path, Requirement requirement) {
    pending_.push_back({&inst, path, std::move(requirement)});
    if (is_following_) return;
    is_following_ = true;
    while (!pending_.empty()) {
      Pending pending = std::move(pending_.back());
      pending_.pop_back();
      if (!IsNew(pending)) continue;
      const size_t before = pending_.size();
      Step(*pending.inst, pending.path, std::move(pending.requirement));
      std::reverse(pending_.begin() + static_cast<int64_t>(before), pending_.end());
    }
    is_following_ = false;
  }

  // Only the first kMostRequirements of a leaf count, because a loop counter whose step is in a fusion gets new ones
  // without end.
  bool IsNew(const Pending& pending) {
    constexpr int kMostRequirements = 100;
    const Requirement& requirement = pending.requirement;
    const double last = requirement.components.empty() ? requirement.interval.high : requirement.components.back().high;
    const bool is_new =
        seen_
            .emplace(pending.inst->id(), pending.path, static_cast<int>(requirement.kind), requirement.flags,
                     requirement.dim, requirement.interval.low, last, requirement.number)
            .second;
    return is_new && ++requirement_count_[{pending.inst->id(), pending.path}] <= kMostRequirements;
  }

  void Step(const Instruction& inst, const ShapeIndex& path, Requirement requirement) {
    const auto tail = [&] { return ShapeIndex(path.begin() + 1, path.end()); };
    switch (inst.opcode()) {
      case Opcode::kParameter: return AtParameter(inst, path, std::move(requirement));
      case Opcode::kElidedConstant:
        ranges_.elided[inst.id()].resize(inst.shape().LeafCount());
        return Record(inst, ranges_.elided[inst.id()], path, std::move(requirement));
      case Opcode::kTuple: return Require(inst.operand(path.front()), tail(), std::move(requirement));
      case Opcode::kGetTupleElement: {
        ShapeIndex longer{inst.tuple_index()};
        longer.insert(longer.end(), path.begin(), path.end());
        return Require(inst.operand(0), longer, std::move(requirement));
      }
      case Opcode::kCall: return Require(inst.attrs<CallAttrs>().to_apply->root(), path, std::move(requirement));
      case Opcode::kFusion: return Require(inst.attrs<FusionAttrs>().calls->root(), path, std::move(requirement));
      case Opcode::kConditional:
        for (const Computation* branch : inst.attrs<ConditionalAttrs>().branches())
          Require(branch->root(), path, requirement);
        return;
      case Opcode::kWhile:
        Require(inst.operand(0), path, requirement);
        return RequireOfBody(inst, path, std::move(requirement));
      case Opcode::kOptimizationBarrier:
      case Opcode::kCopy:
      case Opcode::kConvert:
      case Opcode::kReducePrecision: return Require(inst.operand(0), path, std::move(requirement));
      default:
        for (auto& [at, passed] : RequirementsThrough(inst, std::move(requirement)))
          Require(*at, {}, std::move(passed));
    }
  }

  // Passes a requirement on to the next iteration's value, except for counters, which the trip count limits.
  void RequireOfBody(const Instruction& loop, const ShapeIndex& path, Requirement requirement) {
    const Instruction* root = &loop.attrs<WhileAttrs>().body->root();
    size_t depth = 0;
    while (root->Is(Opcode::kTuple) && depth < path.size()) root = &root->operand(path[depth++]);
    if (root->Is(Opcode::kAdd) || root->Is(Opcode::kSubtract)) return;
    Require(*root, ShapeIndex(path.begin() + depth, path.end()), std::move(requirement));
  }

  void AtParameter(const Instruction& parameter, const ShapeIndex& path, Requirement requirement) {
    const Computation& computation = parameter.computation();
    if (computation.IsEntry())
      return Record(parameter, ranges_.parameters[parameter.parameter_number()], path, std::move(requirement));
    for (const Instruction* caller : callers_[&computation]) {
      switch (caller->opcode()) {
        case Opcode::kCall:
        case Opcode::kFusion: Require(caller->operand(parameter.parameter_number()), path, requirement); break;
        case Opcode::kWhile:
          Require(caller->operand(0), path, requirement);
          RequireOfBody(*caller, path, requirement);
          break;
        case Opcode::kConditional: {
          const auto branches = caller->attrs<ConditionalAttrs>().branches();
          for (size_t i = 0; i < branches.size(); ++i) {
            if (branches[i] == &computation) Require(caller->operand(i + 1), path, requirement);
          }
          break;
        }
        default: break;
      }
    }
  }

  void Record(const Instruction& source, std::vector<LeafRange>& leaves, const ShapeIndex& path,
              Requirement requirement) {
    int64_t leaf = 0, at = 0;
    ForEachLeaf(source.shape(), [&](const ShapeIndex& index, const Shape&) {
      if (index == path) leaf = at;
      ++at;
    });
    LeafRange& range = leaves[leaf];
    switch (requirement.kind) {
      case Requirement::Kind::kExactly: range.exactly = requirement.number; return;
      case Requirement::Kind::kScale: range.scale = std::min(range.scale, requirement.number); return;
      case Requirement::Kind::kKey:
        range.is_key = true;
        range.distinct = range.distinct || requirement.Has(Requirement::kDistinct);
        if (range.key_dim < 0) range.key_dim = requirement.dim;
        return;
      case Requirement::Kind::kSummed:
        if (range.is_summed) return;
        range.is_summed = true;
        range.repeats = requirement.Has(Requirement::kRepeats);
        range.summed_dim = requirement.dim;
        return;
      default: break;
    }
    if (requirement.kind == Requirement::Kind::kIndex) range.is_index = true;
    range.is_promised = range.is_promised || requirement.Has(Requirement::kPromised);
    range.is_start = range.is_start || requirement.Has(Requirement::kStart);
    range.is_trip_count = range.is_trip_count || requirement.Has(Requirement::kTrips);
    range.rows_sorted = range.rows_sorted || requirement.Has(Requirement::kSorted);
    range.rows_unique = range.rows_unique || requirement.Has(Requirement::kUnique);
    if (!requirement.components.empty() && range.components.empty()) {
      range.components = requirement.components;
      range.component_dim = requirement.component_dim;
      return;
    }
    requirement.Flatten();
    const ClosedInterval meet{std::max(range.interval.low, requirement.interval.low),
                              std::min(range.interval.high, requirement.interval.high)};
    if (meet.low <= meet.high) {
      range.interval = meet;
      return;
    }
    range.conflict =
        Str("'", source.name(), "' must lie in [", range.interval.low, ", ", range.interval.high,
            "] for one use and in [", requirement.interval.low, ", ", requirement.interval.high, "] for another");
    if (requirement.kind == Requirement::Kind::kIndex) range.interval = requirement.interval;
  }

  const Module& module_;
  Ranges ranges_;
  std::unordered_map<const Computation*, std::vector<const Instruction*>> callers_;
  std::set<std::tuple<int, ShapeIndex, int, int, int64_t, double, double, double>> seen_;
  std::map<std::pair<int, ShapeIndex>, int> requirement_count_;
  // The last entry is followed next. Recursion would be too deep for long chains.
  std::vector<Pending> pending_;
  bool is_following_ = false;
};

}  // namespace

Ranges CollectRanges(const Module& module) { return Collector(module).Run(); }

}  // namespace hlo
