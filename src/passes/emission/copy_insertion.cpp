// copy-insertion: a copy where two values would have to lie in one place and both are still needed: what the module
// then computes can be computed in place, value by value.
//
//   result       a parameter that is not given away, a constant, and what stands there twice
//   loop         what goes in, and is a parameter, a constant, needed later or there twice; what a trip makes, where it
//                is another element as it was, a constant, there twice, or made while the old one is still needed
//   conditional  what a branch gives, and is its parameter, a constant, or there twice
//   in place     what is updated, and is a parameter, a constant or needed later
//
// The plan of buffers (gpu/runtime/buffers.h) needs none of them, since it finds the same conflicts by the schedule and
// lists copies itself; where a copy here turns out to be idle, it puts both values in one place. What XLA inserts and
// takes out again is not inserted here, and only elements of the outermost tuple are looked at.
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

// Whose memory the value is in: an element of a tuple that is at hand, and a bitcast, are in another's.
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

// A parameter, or an element of one.
bool IsArgument(const Instruction& inst) {
  const Instruction* whole = &inst;
  while (whole->Is(Opcode::kGetTupleElement)) whole = &whole->operand(0);
  return whole->Is(Opcode::kParameter);
}

// Those that need the value, through names of it.
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

// The instruction that computes the value: a fusion of several roots, of which it is one.
const Instruction& MakerOf(const Instruction& value) {
  const Instruction* maker = &value;
  while (maker->Is(Opcode::kGetTupleElement)) maker = &maker->operand(0);
  return *maker;
}

// Within a fusion: is all that hangs on parameter k elementwise, in its dimensions?
bool HangsElementwise(const Computation& fused, int64_t k) {
  const Shape& shape = fused.parameter(k).shape();
  std::vector<bool> hangs(fused.place_limit());
  hangs[fused.parameter(k).place()] = true;
  for (const Instruction* inst : fused.PostOrder()) {
    if (inst->Is(Opcode::kTuple)) continue;  // The roots.
    const bool on_it =
        std::ranges::any_of(inst->operands(), [&](const Instruction* operand) { return hangs[operand->place()]; });
    if (on_it && (!inst->Is(kElementwise) || inst->shape().dims() != shape.dims())) return false;
    hangs[inst->place()] = hangs[inst->place()] || on_it;
  }
  return true;
}

// Does each element of `next` hang on the same element of `old` alone, as far as on `old` at all? Then it may be
// written over that as it is read.
bool WritesOver(const Instruction& next, const Instruction& old) {
  const Instruction& maker = MakerOf(next);
  for (int64_t k = 0; k < maker.operand_count(); ++k) {
    if (&SourceOf(maker.operand(k)) != &old) continue;
    if (maker.operand(k).shape() != next.shape()) return false;
    if (IsKernel(maker)) {
      const int64_t root = next.Is(Opcode::kGetTupleElement) ? next.tuple_index() : 0;
      if (CanUpdateInPlace(maker, root) != k && !HangsElementwise(FusedComputation(maker), k)) return false;
    } else if (!maker.Is(kElementwise) && !(maker.Is(Opcode::kDynamicUpdateSlice) && k == 0)) {
      return false;
    }
  }
  return true;
}

// What gets a copy: an operand of a user.
struct Place {
  Instruction* user;
  int64_t operand;
};

// Finds all of one computation before anything changes.
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

  // Within a body: what the next trip gets. Within a branch: what it gives.
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
  // A parameter is the result's memory where the header says so.
  bool IsAliased(int64_t output, const Instruction& parameter) const {
    return parameter.Is(Opcode::kParameter) &&
           std::ranges::any_of(computation_.module().header.aliases, [&](const InputOutputAlias& alias) {
             return alias.parameter == parameter.parameter_number() && alias.output == ShapeIndex{output};
           });
  }

  void FindInResult() {
    Instruction& root = computation_.root();
    if (!root.Is(Opcode::kTuple)) return;
    std::map<const Instruction*, std::vector<int64_t>> places;  // By source.
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

  // By whom, besides `user`, that does not run before it? An argument is the caller's, but a body's is its own.
  bool IsNeeded(Instruction& value, Instruction& user) {
    if (IsConstant(value) || (IsArgument(value) && !is_body_)) return true;
    if (value.IsRoot()) return true;
    return std::ranges::any_of(ReadersOf(value), [&](const Instruction* reader) {
      return reader != &user && !waits_.WaitsFor(user, *reader);
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

  // Of a body: is what an element of the state was read while or after its next value is made?
  bool OldIsNeeded(const Instruction& next, const std::vector<Instruction*>& old_values) {
    const Instruction& maker = MakerOf(next);
    return std::ranges::any_of(old_values, [&](const Instruction* old) {
      return !WritesOver(next, *old) || std::ranges::any_of(ReadersOf(*old), [&](const Instruction* reader) {
        return reader != &maker && !waits_.WaitsFor(maker, *reader);
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
  const bool is_body_;  // Of a loop.
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

// A branch or body that is called from several places is looked at once.
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
