// Copies values that would share memory with another value while both are needed:
//
//   result       a parameter without an alias, a constant, or a value that occurs earlier in the result
//   loop         an initial value that is an argument, a constant, needed later or in the tuple already; a next value
//                that is another element of the state, a constant, in the tuple already, or computed while the old
//                value is still needed
//   conditional  a branch result that is an argument of the branch, a constant, or in the tuple already
//   in place     an updated array that is an argument, a constant or needed later
//
// The buffer plan (gpu/runtime/buffers.h) finds these conflicts by the schedule and does not need the copies. Only
// elements of the outermost tuple are examined.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/wait_graph.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// The instruction that owns the memory, through bitcasts and tuple elements.
Instruction& SourceOf(Instruction& value) {
  Instruction* source = &value;
  while (true) {
    if (source->Is(Opcode::kBitcast)) {
      source = &source->operand(0);
    } else if (source->Is(Opcode::kGetTupleElement) && source->operand(0).Is(Opcode::kTuple)) {
      source = &source->operand(0).operand(source->tuple_index());
    } else {
      return *source;
    }
  }
}

bool IsConstant(const Instruction& inst) { return inst.Is(Opcode::kConstant) || inst.Is(Opcode::kElidedConstant); }

bool IsArgument(const Instruction& inst) {
  const Instruction* whole = &inst;
  while (whole->Is(Opcode::kGetTupleElement)) whole = &whole->operand(0);
  return whole->Is(Opcode::kParameter);
}

std::vector<Instruction*> ReadersOf(const Instruction& value) {
  std::vector<Instruction*> readers;
  std::vector<const Instruction*> names = {&value};
  while (!names.empty()) {
    const Instruction& name = *names.back();
    names.pop_back();
    for (Instruction* user : name.users()) {
      if (user->Is(Opcode::kBitcast)) names.push_back(user);
      else readers.push_back(user);
    }
  }
  return readers;
}

// The instruction that computes `value`, also as an element of a tuple.
const Instruction& MakerOf(const Instruction& value) {
  const Instruction* maker = &value;
  while (maker->Is(Opcode::kGetTupleElement)) maker = &maker->operand(0);
  return *maker;
}

// Whether all instructions that depend on parameter k are elementwise with its dimensions.
bool DependsElementwise(const Computation& fused, int64_t k) {
  const Shape& shape = fused.parameter(k).shape();
  std::vector<bool> depends(fused.place_limit());
  depends[fused.parameter(k).place()] = true;
  for (const Instruction* inst : fused.PostOrder()) {
    if (inst->Is(Opcode::kTuple)) continue;
    const bool on_it =
        std::ranges::any_of(inst->operands(), [&](const Instruction* operand) { return depends[operand->place()]; });
    if (on_it && (!inst->Is(kElementwise) || inst->shape().dims() != shape.dims())) return false;
    depends[inst->place()] = depends[inst->place()] || on_it;
  }
  return true;
}

// Whether `next` depends on `old` only at the same index, so that it may overwrite it.
bool WritesOver(const Instruction& next, const Instruction& old) {
  const Instruction& maker = MakerOf(next);
  for (int64_t k = 0; k < maker.operand_count(); ++k) {
    if (&SourceOf(maker.operand(k)) != &old) continue;
    if (maker.operand(k).shape() != next.shape()) return false;
    if (IsKernel(maker)) {
      const int64_t root = next.Is(Opcode::kGetTupleElement) ? next.tuple_index() : 0;
      if (CanUpdateInPlace(maker, root) != k && !DependsElementwise(FusedComputation(maker), k)) return false;
    } else if (!maker.Is(kElementwise) && !(maker.Is(Opcode::kDynamicUpdateSlice) && k == 0)) {
      return false;
    }
  }
  return true;
}

struct Place {
  Instruction* user;
  int64_t operand;
};

// Finds the copies of one computation before any is inserted.
class Finder {
 public:
  Finder(const Computation& computation, bool is_body)
      : computation_(computation), is_body_(is_body), order_(computation.PostOrder()), waits_(order_) {}

  std::vector<Place> Run() {
    if (computation_.IsEntry()) FindInResult();
    for (Instruction* inst : order_) {
      if (inst->Is(Opcode::kWhile)) FindAtLoop(*inst);
      const int64_t updated = UpdatedBy(*inst);
      if (updated >= 0 && IsNeeded(SourceOf(inst->operand(updated)), *inst)) places_.push_back({inst, updated});
    }
    return std::exchange(places_, {});
  }

  std::vector<Place> RunBody() {
    Instruction& root = computation_.root();
    std::set<const Instruction*> seen;
    if (!root.Is(Opcode::kTuple)) return {};
    std::vector<std::vector<Instruction*>> old_values(root.operand_count());
    for (Instruction* user : computation_.parameter(0).users()) {
      if (user->Is(Opcode::kGetTupleElement)) old_values[user->tuple_index()].push_back(user);
    }
    for (int64_t i = 0; i < root.operand_count(); ++i) {
      Instruction& next = SourceOf(root.operand(i));
      if (!next.shape().IsArray() || IsStateElement(next, i)) continue;
      if (IsArgument(next) || IsConstant(next) || !seen.insert(&next).second || OldIsNeeded(next, old_values[i]))
        places_.push_back({&root, i});
    }
    return std::exchange(places_, {});
  }
  std::vector<Place> RunBranch() {
    Instruction& root = computation_.root();
    std::set<const Instruction*> seen;
    if (!root.Is(Opcode::kTuple)) return {};
    for (int64_t i = 0; i < root.operand_count(); ++i) {
      const Instruction& value = SourceOf(root.operand(i));
      if (!value.shape().IsArray()) continue;
      if (IsArgument(value) || IsConstant(value) || !seen.insert(&value).second) places_.push_back({&root, i});
    }
    return std::exchange(places_, {});
  }

 private:
  bool IsAliased(int64_t output, const Instruction& parameter) const {
    return parameter.Is(Opcode::kParameter) &&
           std::ranges::any_of(computation_.module().header.aliases, [&](const InputOutputAlias& alias) {
             return alias.parameter == parameter.parameter_number() && alias.output == ShapeIndex{output};
           });
  }

  void FindInResult() {
    Instruction& root = computation_.root();
    if (!root.Is(Opcode::kTuple)) return;
    std::map<const Instruction*, std::vector<int64_t>> places;  // Keyed by owner of the memory.
    for (int64_t i = 0; i < root.operand_count(); ++i) {
      Instruction& value = SourceOf(root.operand(i));
      if (value.shape().IsArray()) places[&value].push_back(i);
    }
    for (const auto& [value, at] : places) {
      for (const int64_t i : at) {
        const bool is_first = i == at.front() && !IsArgument(*value) && !IsConstant(*value);
        if (!is_first && !IsAliased(i, *value)) result_.push_back(i);
      }
    }
    std::ranges::sort(result_);
    for (const int64_t i : result_) places_.push_back({&root, i});
  }

  static bool IsStateElement(const Instruction& value, int64_t i) {
    return value.Is(Opcode::kGetTupleElement) && value.operand(0).Is(Opcode::kParameter) && value.tuple_index() == i;
  }

  // Whether another instruction may read the value after `user`. True for constants, roots and arguments, but not for
  // arguments of a loop body.
  bool IsNeeded(Instruction& value, Instruction& user) {
    if (IsConstant(value) || (IsArgument(value) && !is_body_)) return true;
    if (value.IsRoot()) return true;
    return std::ranges::any_of(ReadersOf(value), [&](const Instruction* reader) {
      return reader != &user && !waits_.IsReachable(user, *reader);
    });
  }

  void FindAtLoop(Instruction& loop) {
    Instruction& init = loop.operand(0);
    const Computation& body = *loop.attrs<WhileAttrs>().body;
    if (!init.Is(Opcode::kTuple) || !body.root().Is(Opcode::kTuple) || init.UseCount() != 1) return;
    std::set<const Instruction*> seen;
    for (int64_t i = 0; i < init.operand_count(); ++i) {
      Instruction& value = SourceOf(init.operand(i));
      if (!value.shape().IsArray() || IsStateElement(SourceOf(body.root().operand(i)), i)) continue;
      if (!seen.insert(&value).second || IsNeeded(value, init)) places_.push_back({&init, i});
    }
  }

  // Whether an old element is read while or after its next value is computed.
  bool OldIsNeeded(const Instruction& next, const std::vector<Instruction*>& old_values) {
    const Instruction& maker = MakerOf(next);
    return std::ranges::any_of(old_values, [&](const Instruction* old) {
      return !WritesOver(next, *old) || std::ranges::any_of(ReadersOf(*old), [&](const Instruction* reader) {
        return reader != &maker && !waits_.IsReachable(maker, *reader);
      });
    });
  }

  static int64_t UpdatedBy(const Instruction& inst) {
    if (inst.Is(Opcode::kDynamicUpdateSlice)) return 0;
    if (inst.Is(Opcode::kScatter) && inst.shape().IsArray()) return 0;
    if (!IsKernel(inst) || !inst.shape().IsArray()) return -1;
    return CanUpdateInPlace(inst, 0).value_or(-1);
  }

  const Computation& computation_;
  const bool is_body_;
  const std::vector<Instruction*> order_;
  WaitGraph waits_;
  std::vector<Place> places_;
  std::vector<int64_t> result_;
};

void Copy(const Place& place) {
  Instruction& value = place.user->operand(place.operand);
  Instruction& copy = place.user->computation().AddLike(value, Opcode::kCopy, value.shape(), {&value});
  place.user->SetOperand(place.operand, copy);
}

std::vector<Place> FindAll(const Module& module) {
  std::vector<Place> all;
  std::set<const Computation*> bodies, branches;
  const std::vector<Computation*> computations = SequentialComputations(module);
  for (const Computation* computation : computations) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->Is(Opcode::kWhile)) bodies.insert(inst->attrs<WhileAttrs>().body);
      if (!inst->Is(Opcode::kConditional)) continue;
      for (const Computation* branch : CalledComputations(*inst)) branches.insert(branch);
    }
  }
  const auto add = [&](std::vector<Place> places) { all.insert(all.end(), places.begin(), places.end()); };
  for (const Computation* computation : computations) {
    const bool is_body = bodies.contains(computation);
    Finder finder(*computation, is_body);
    add(finder.Run());
    if (is_body) add(finder.RunBody());
    else if (branches.contains(computation)) add(finder.RunBranch());
  }
  return all;
}

}  // namespace

Result<bool> InsertCopies(Module& module, const PassContext& context) {
  bool changed = false;
  for (const Place& place : FindAll(module)) {
    if (place.user->operand(place.operand).Is(Opcode::kCopy) || !context.ConsumeFuel()) continue;
    Copy(place);
    changed = true;
  }
  return changed;
}

}  // namespace hlo
