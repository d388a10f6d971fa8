// What constants alone determine, as the declared types make it: a pass may have folded it, so what was rounded on the
// way, and decided on after that (a convert to s32, a compare, bits), need not be what f64 makes of it. Both sides of
// interp/compare/widened.h take these values.
//
// A value that is the same everywhere is kept as one element, so that its size does not matter, and movements whose
// indices are not known keep it. Fusions, calls, branches that are taken and loops of a few trips are looked into:
// folding may come after they were dissolved.
#ifndef HLO_INTERP_SHADOW_KNOWN_VALUES_H_
#define HLO_INTERP_SHADOW_KNOWN_VALUES_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interp/shadow/shadow.h"
#include "ir/literal.h"

namespace hlo {

class Computation;
class Instruction;
class Module;

class KnownValues {
 public:
  // A constant that was not `written` was made by a pass, and rounded by it. What is `open`, and what follows from it,
  // is not known, whatever it is made of.
  KnownValues(const Module& module, const std::function<bool(const Literal&)>& written,
              std::function<bool(const Instruction&)> open = nullptr);

  // Of an array that was rounded or decided on: its value in the declared type, and how far from it what another order
  // of folding, or none at all, may be. Nothing where it is not known, or is no other value in f64.
  std::optional<ShadowValue> Rounded(const Instruction& inst) const;
  // Of any array that is known.
  std::optional<ShadowValue> Value(const Instruction& inst) const;
  // Is anything not known only because it is `open`?
  bool LeftOpen() const { return left_open_; }
  // Was it known in the trips of a loop whose results so are known? Its value is not: it changes from trip to trip.
  bool IsFollowed(const Instruction& inst) const { return followed_.contains(&inst); }
  // Where bounds say nothing (the trips of a chaotic loop) and a pass made just this constant, it folded this value.
  void TakeFolded(const std::function<bool(const Literal&)>& made);
  // Each array's value that nothing rounded; one element where all are equal. In no order.
  void ForEachExact(const std::function<void(const Literal&)>& f) const;

 private:
  struct Known {
    Literal value;  // In the declared type; one element where splat.
    Literal bound;  // f64; no bytes: 0.
    bool splat = false;
    bool rounded = false;
    std::vector<std::optional<Known>> elements;  // Of a tuple.
  };

  // Whose parameters are the operands from `first` on, and whose root is the value, where it runs once. None: of a
  // branch that is not known, and of what calls nothing.
  struct Callee {
    const Computation* computation = nullptr;
    int64_t first = 0;
    bool once = false;
  };

  static Known Made(Literal value, Literal bound, bool rounded);
  static Known Zero(PrimitiveType type);
  void Visit(const Computation& computation);
  std::optional<Known> Find(const Instruction& inst);
  Callee CalleeOf(const Instruction& inst);
  const Computation* ExpansionOf(const Instruction& inst);
  std::optional<int64_t> TripsOf(const Instruction& loop);
  std::function<const Literal*(const Instruction&)> ScalarKnown() const;  // While this object lives.
  const Known* Passed(const Instruction& caller, const Computation& callee, int64_t i);
  void PassArguments(const Instruction& caller, const Callee& called);
  std::optional<Known> OfCallee(const Computation& callee) const;
  std::optional<Known> OfLoop(const Instruction& loop);
  std::optional<Known> Followed(const Instruction& loop, int64_t trips, const Known& init,
                                const std::vector<size_t>& wanted);
  std::optional<Known> SameEverywhere(std::span<const Instruction* const> operands) const;
  std::optional<Known> Moved(const Instruction& inst) const;
  std::optional<Known> ByIdentity(const Instruction& inst) const;
  std::optional<Known> Evaluated(const Instruction& inst) const;
  const Known* Get(const Instruction& inst) const;

  const std::function<bool(const Instruction&)> open_;
  bool left_open_ = false, follows_ = false;
  std::unordered_map<const Computation*, std::vector<const Instruction*>> callers_;
  std::unordered_map<const Instruction*, Known> known_;
  std::unordered_map<const Instruction*, std::unique_ptr<Module>> expansions_;  // Of batch norms; null: none.
  std::unordered_map<const Instruction*, std::optional<int64_t>> trips_;        // Of loops.
  std::unordered_set<const Computation*> visited_;
  std::unordered_set<const Instruction*> followed_;
};

}  // namespace hlo

#endif  // HLO_INTERP_SHADOW_KNOWN_VALUES_H_
