#include "gpu/runtime/values.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "gpu/runtime/prepare.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kUnits = 4;
int64_t ResultBegins(int64_t position) { return kUnits * position + 1; }
int64_t OperandEnds(int64_t position) { return kUnits * position + 2; }
int64_t StepEnds(int64_t position) { return kUnits * position + 3; }

struct Loop {
  int parent;
  int64_t end;  // Position B (values.h).
};

struct Use {
  int value;
  int64_t position;
  int loop;
};

using Leaves = std::vector<int>;

Leaves ElementLeaves(const Shape& tuple, const Leaves& leaves, int64_t index) {
  const auto begin = leaves.begin() + tuple.FirstLeaf(index);
  return Leaves(begin, begin + tuple.element(index).LeafCount());
}

class Finder {
 public:
  Finder(const Module& module, const ShareTable& shares) : module_(module), shares_(shares) {
    found_.of_instruction.resize(module.id_limit());
    found_.position_of.resize(module.id_limit(), -1);
    found_.ends_of.resize(module.id_limit());
  }

  Values Find() {
    const Computation& entry = module_.entry();
    ++found_.positions;  // Parameters are defined at position 0.
    int leaf = 0;
    for (const Instruction* parameter : entry.parameters()) {
      Leaves leaves;
      ForEachLeaf(parameter->shape(), [&](const ShapeIndex&, const Shape& shape) {
        leaves.push_back(Add(ValueKind::kParameter, *parameter, leaf++, shape, 0));
      });
      LeavesOf(*parameter) = leaves;
    }
    Walk(entry);
    const int64_t end = found_.positions++;
    for (const int value : LeavesOf(entry.root())) {
      UseOf(value, end);
      outputs_.push_back(value);
    }
    ResolveValues();
    return std::move(found_);
  }

 private:
  Leaves& LeavesOf(const Instruction& inst) { return found_.of_instruction[inst.id()]; }

  int Add(ValueKind kind, const Instruction& inst, int leaf, const Shape& shape, int64_t position) {
    found_.values.push_back({kind, &inst, leaf, &shape, BytesInMemory(shape), loop_, position, false, {}});
    same_as_.push_back(static_cast<int>(same_as_.size()));
    return static_cast<int>(same_as_.size()) - 1;
  }

  Leaves AddAll(ValueKind kind, const Instruction& inst, int64_t position) {
    Leaves leaves;
    ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& shape) {
      leaves.push_back(Add(kind, inst, static_cast<int>(leaves.size()), shape, position));
    });
    return leaves;
  }

  void UseOf(int value, int64_t position) { uses_.push_back({value, position, loop_}); }

  int Same(int value) {
    while (same_as_[value] != value) value = same_as_[value] = same_as_[same_as_[value]];
    return value;
  }

  void Walk(const Computation& computation) {
    for (const Instruction* inst : RunOrder(computation)) {
      switch (inst->opcode()) {
        case Opcode::kParameter: break;  // Set where the computation is called.
        case Opcode::kConstant: LeavesOf(*inst) = AddAll(ValueKind::kConstant, *inst, 0); break;
        case Opcode::kTuple:
        case Opcode::kAfterAll: {
          Leaves leaves;
          if (inst->Is(Opcode::kTuple)) {
            for (const Instruction* operand : inst->operands())
              leaves.insert(leaves.end(), LeavesOf(*operand).begin(), LeavesOf(*operand).end());
          } else {
            leaves = AddAll(ValueKind::kConstant, *inst, 0);  // A token has no bytes.
          }
          LeavesOf(*inst) = std::move(leaves);
          break;
        }
        case Opcode::kGetTupleElement:
          LeavesOf(*inst) = ElementLeaves(inst->operand(0).shape(), LeavesOf(inst->operand(0)), inst->tuple_index());
          break;
        case Opcode::kCall: WalkCall(*inst); break;
        case Opcode::kWhile: WalkWhile(*inst); break;
        case Opcode::kConditional: WalkConditional(*inst); break;
        default:
          if (IsControlOrView(*inst)) {
            LeavesOf(*inst) = LeavesOf(inst->operand(0));
          } else {
            WalkStep(*inst);
          }
      }
    }
  }

  void WalkStep(const Instruction& inst) {
    const int64_t position = found_.position_of[inst.id()] = found_.positions++;
    for (const Instruction* operand : inst.operands()) {
      for (const int value : LeavesOf(*operand)) UseOf(value, position);
    }
    LeavesOf(inst) = AddAll(ValueKind::kComputed, inst, position);
    const auto shares = shares_.find(&inst);
    if (shares == shares_.end()) return;
    for (const Share& share : shares->second) {
      found_.in_place.push_back({position, LeavesOf(inst.operand(share.operand))[share.operand_leaf],
                                 LeavesOf(inst)[share.result_leaf], true, share.must});
    }
  }

  void WalkCall(const Instruction& call) {
    const Computation& callee = *call.attrs<CallAttrs>().to_apply;
    for (int64_t i = 0; i < call.operand_count(); ++i) LeavesOf(callee.parameter(i)) = LeavesOf(call.operand(i));
    Walk(callee);
    LeavesOf(call) = LeavesOf(callee.root());
  }

  void WalkWhile(const Instruction& loop) {
    const auto& attrs = loop.attrs<WhileAttrs>();
    const Leaves initial = LeavesOf(loop.operand(0));
    const int64_t enter = found_.position_of[loop.id()] = found_.positions++;
    const int outer = loop_;
    loops_.push_back({outer, 0});
    loop_ = static_cast<int>(loops_.size()) - 1;
    const int self = loop_;
    const Leaves state = AddAll(ValueKind::kState, loop, enter);
    LeavesOf(attrs.condition->parameter(0)) = LeavesOf(attrs.body->parameter(0)) = state;
    Walk(*attrs.condition);
    const int64_t test = found_.positions++;
    for (const int value : LeavesOf(attrs.condition->root())) UseOf(value, test);
    // The loop ends after its condition, with the state as result.
    for (const int value : state) UseOf(value, test);
    Walk(*attrs.body);
    const Leaves next = LeavesOf(attrs.body->root());
    const int64_t back = loops_[self].end = found_.positions++;
    found_.ends_of[loop.id()] = {back};
    for (size_t i = 0; i < state.size(); ++i) {
      if (Same(next[i]) == state[i]) {
        same_as_[state[i]] = Same(initial[i]);  // The body returns the element unchanged.
        continue;
      }
      UseOf(next[i], back);
      found_.merges.push_back({back, next[i], state[i]});
      found_.merges.push_back({enter, initial[i], state[i]});
    }
    loop_ = outer;
    for (size_t i = 0; i < state.size(); ++i) {
      if (Same(state[i]) == state[i]) UseOf(initial[i], enter);
    }
    LeavesOf(loop) = state;
  }

  void WalkConditional(const Instruction& conditional) {
    const int64_t select = found_.position_of[conditional.id()] = found_.positions++;
    for (const int value : LeavesOf(conditional.operand(0))) UseOf(value, select);
    const std::vector<Computation*> branches = conditional.attrs<ConditionalAttrs>().branches();
    std::vector<int64_t>& ends = found_.ends_of[conditional.id()];
    std::vector<Leaves> results;
    for (size_t b = 0; b < branches.size(); ++b) {
      LeavesOf(branches[b]->parameter(0)) = LeavesOf(conditional.operand(b + 1));
      Walk(*branches[b]);
      results.push_back(LeavesOf(branches[b]->root()));
      ends.push_back(found_.positions++);
    }
    const Leaves state = AddAll(ValueKind::kState, conditional, select);
    for (size_t i = 0; i < state.size(); ++i) {
      const int first = Same(results[0][i]);
      if (std::all_of(results.begin(), results.end(), [&](const Leaves& leaves) { return Same(leaves[i]) == first; })) {
        same_as_[state[i]] = first;
        continue;
      }
      for (size_t b = 0; b < results.size(); ++b) {
        UseOf(results[b][i], ends[b]);
        found_.merges.push_back({ends[b], results[b][i], state[i]});
      }
    }
    LeavesOf(conditional) = state;
  }

  int64_t End(const Use& use, int home) const {
    int64_t end = OperandEnds(use.position);
    for (int loop = use.loop; loop >= 0 && !Encloses(loop, home); loop = loops_[loop].parent) {
      end = std::max(end, StepEnds(loops_[loop].end));
    }
    return end;
  }

  bool Encloses(int loop, int inner) const {
    while (inner > loop) inner = loops_[inner].parent;  // An inner loop has a greater number than its outer loops.
    return inner == loop;
  }

  void ResolveValues() {
    for (Leaves& leaves : found_.of_instruction) {
      for (int& value : leaves) value = Same(value);
    }
    for (Merge& merge : found_.merges) merge = {merge.position, Same(merge.from), Same(merge.to)};
    for (const int value : outputs_) found_.values[Same(value)].is_output = true;
    for (InPlace& pair : found_.in_place) pair.operand = Same(pair.operand);
    for (InPlace& pair : found_.in_place) pair.may = MayShare(pair);

    std::vector<std::vector<int>> uses_of(found_.values.size());
    for (size_t i = 0; i < uses_.size(); ++i) {
      uses_[i].value = Same(uses_[i].value);
      uses_of[uses_[i].value].push_back(static_cast<int>(i));
    }
    for (size_t v = 0; v < found_.values.size(); ++v) {
      if (Same(v) == static_cast<int>(v)) found_.values[v].live = Live(found_.values[v], uses_of[v]);
    }
  }

  // A value may share the result's buffer only if all its operand leaves may.
  bool MayShare(const InPlace& pair) {
    const BufferedValue& result = found_.values[pair.result];
    const Instruction& step = *result.definition;
    int64_t reads = 0, shared = 0;
    for (const Instruction* operand : step.operands())
      reads += std::count(LeavesOf(*operand).begin(), LeavesOf(*operand).end(), pair.operand);
    for (const Share& share : shares_.at(&step)) {
      shared +=
          share.result_leaf == result.leaf && LeavesOf(step.operand(share.operand))[share.operand_leaf] == pair.operand;
    }
    return reads == shared;
  }

  std::vector<Interval> Live(const BufferedValue& value, const std::vector<int>& uses) const {
    const int64_t begin = ResultBegins(value.position);
    if (value.kind == ValueKind::kParameter || value.kind == ValueKind::kComputed) {
      Interval live{value.kind == ValueKind::kParameter ? 0 : begin, StepEnds(value.position)};
      for (const int use : uses) live.end = std::max(live.end, End(uses_[use], value.loop));
      return {live};
    }
    if (value.kind == ValueKind::kConstant) return {};
    const std::vector<int64_t>& ends = found_.ends_of[value.definition->id()];
    const int64_t last = ends.back();
    Interval after{ResultBegins(last), StepEnds(last)};
    if (value.definition->Is(Opcode::kWhile)) {
      Interval inside{begin, StepEnds(value.position)};
      for (const int use : uses) {
        Interval& part = uses_[use].position <= last ? inside : after;
        part.end = std::max(part.end, End(uses_[use], value.loop));
      }
      if (inside.end >= after.begin) return {{inside.begin, std::max(inside.end, after.end)}};
      return {inside, after};
    }
    std::vector<Interval> live;
    for (size_t b = 0; b + 1 < ends.size(); ++b) live.push_back({ResultBegins(ends[b]), StepEnds(ends[b])});
    for (const int use : uses) after.end = std::max(after.end, End(uses_[use], value.loop));
    live.push_back(after);
    return live;
  }

  const Module& module_;
  const ShareTable& shares_;
  Values found_;
  std::vector<int> same_as_;  // Union-find over values.
  std::vector<Loop> loops_;
  std::vector<Use> uses_;
  std::vector<int> outputs_;
  int loop_ = -1;
};

}  // namespace

Values FindValues(const Module& module, const ShareTable& shares) { return Finder(module, shares).Find(); }

int AddScratch(Values& values, const Instruction& inst, int64_t position, int64_t bytes) {
  values.values.push_back({ValueKind::kScratch,
                           &inst,
                           0,
                           nullptr,
                           bytes,
                           -1,
                           position,
                           false,
                           {{ResultBegins(position), StepEnds(position)}}});
  return static_cast<int>(values.values.size()) - 1;
}

int LeafNumber(const Shape& shape, const ShapeIndex& index) {
  int number = 0, found = -1;
  ForEachLeaf(shape, [&](const ShapeIndex& at, const Shape&) {
    if (at == index) found = number;
    ++number;
  });
  CHECK(found >= 0, "no leaf {", Join(index, ","), "} in ", shape);
  return found;
}

bool Overlap(const std::vector<Interval>& a, const std::vector<Interval>& b, Interval allowed, Interval also_allowed) {
  const auto within = [](const Interval& inner, const Interval& outer) {
    return inner.begin >= outer.begin && inner.end <= outer.end;
  };
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval common{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (common.begin <= common.end && !within(common, allowed) && !within(common, also_allowed)) return true;
    a[i].end < b[j].end ? ++i : ++j;
  }
  return false;
}

}  // namespace hlo::gpu
