// Loops whose state passes changed: they added what was computed outside, dropped what nothing reads, put elements in
// another place. Internal to interp/compare.
#ifndef HLO_INTERP_COMPARE_LOOP_PAIRS_H_
#define HLO_INTERP_COMPARE_LOOP_PAIRS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "interp/compare/callers.h"
#include "interp/shadow/shadow.h"
#include "ir/module.h"

namespace hlo {

struct LoopPair {
  const Instruction* before = nullptr;  // Of the input; trip by trip they do the same.
  // By element of the optimized loop's state the one of the input's that has its value at the beginning of each trip
  // and at the end; -1: there is none.
  std::vector<int64_t> elements;

  bool HasCounterpart(int64_t element_before) const;
};

// `origin_of` an instruction of the optimized module, in the input; null: none. `callers`: in the input.
using OriginFunction = std::function<const Instruction*(const Instruction&)>;

// Of `loop`, of the optimized module: by the origins of what its body, and what comes after it, take of its state.
// Nothing: it has no counterpart, or the same state as the instruction that it is.
std::optional<LoopPair> ChangedLoop(const Instruction& loop, const OriginFunction& origin_of, const Callers& callers);

// The state of the optimized loop, on the trips of the input's: what has a counterpart is that, and the loop itself
// makes the rest of it, trip after trip.
class LoopBeside {
 public:
  // `start`: what the optimized loop begins with.
  LoopBeside(const Instruction& loop, const LoopPair& pair, ShadowValue start, ShadowOptions options);

  // A trip of the input's loop begins with this state. Goes the trip.
  void Begin(const ShadowValue& before);
  ShadowValue Now(const ShadowValue& before) const { return With(before, now_); }    // Of the trip that began last,
  ShadowValue Next(const ShadowValue& before) const { return With(before, next_); }  // and of the one after.
  const Status& status() const { return status_; }                                   // Of all trips.

  const LoopPair& pair() const { return pair_; }

 private:
  ShadowValue With(const ShadowValue& before, const ShadowValue& own) const;

  const Instruction& root_;  // Of the body.
  const LoopPair& pair_;
  const ShadowOptions options_;
  ShadowValue now_, next_;  // Elements with a counterpart are not kept up.
  Status status_;
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_LOOP_PAIRS_H_
