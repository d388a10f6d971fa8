// Sites: the places of a module where values decide which values go on, and which sides of them runs have reached.
//
// Sides of a site:
//   select, compare    true, false
//   tie                equal operands of an ordered comparison
//   clamp              below, inside, above
//   largest            the first or the second operand of maximum and minimum wins
//   start, index       of a dynamic slice, or of a gather or scatter: below 0, in range, beyond
//   branch             each branch of a conditional
// One element reaches a side. Scalar bodies, as of reduce and sort, have no sites.
//
// A side is proven unreachable if the operands of the site do not depend on arguments (dependence.h) and a complete
// run that executed the site did not reach it, or if the bounds of the operands exclude it (value_bounds.h).
#ifndef HLO_JUDGE_REACH_H_
#define HLO_JUDGE_REACH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "interp/interpreter.h"
#include "ir/instruction.h"
#include "ir/literal.h"
#include "judge/dependence.h"

namespace hlo {

class Computation;
class Instruction;
class Module;

enum class SiteKind : uint8_t { kSelect, kCompare, kTie, kClamp, kLargest, kStart, kIndex, kBranch };
inline constexpr int kSiteKinds = 8;
std::string_view ToString(SiteKind kind);  // "select"

struct Site {
  const Instruction* inst = nullptr;
  SiteKind kind = SiteKind::kSelect;
  int64_t part = 0;  // kStart: number of the start operand; kIndex: number of the component.
  int64_t most = 0;  // The largest start or index that is in range.
  int sides = 2;
  uint64_t reached = 0;      // A bit for each side.
  uint64_t unreachable = 0;  // Sides that are proven to be unreachable.

  uint64_t all() const { return (uint64_t{1} << sides) - 1; }
  uint64_t missing() const { return all() & ~reached & ~unreachable; }
};

// Sides of kClamp, kStart and kIndex.
enum : int { kBelow = 0, kInside = 1, kBeyond = 2 };

// Values of one run. An instruction that runs several times has its first value here.
struct Recording {
  std::vector<std::optional<Literal>> values;  // By id.
  std::vector<Literal> args;
  Literal result;     // The result of the entry.
  int64_t steps = 0;  // Scalar steps of the run.
};

struct ReachCount {
  // The number of sites. `reached`: sites with all sides reached. `proven`: other sites with all sides reached or
  // proven unreachable.
  int64_t sites = 0, reached = 0, proven = 0;
};

class Reach {
 public:
  explicit Reach(const Module& module);

  // Interprets the module and adds the sides that the run reaches. Values are recorded as long as they take less than
  // `most_bytes`. An error of the interpreter is passed on, and then nothing is added.
  Result<Recording> Run(std::span<const Literal> args, const InterpretOptions& options,
                        int64_t most_bytes = int64_t{1} << 28);

  const std::vector<Site>& sites() const { return sites_; }
  bool HasRun(const Instruction& inst) const { return ever_ran_[inst.id()]; }  // True if it ran on any arguments.
  const Dependence& dependence() const { return dependence_; }
  int64_t Missing() const;  // Sides that were neither reached nor proven unreachable.
  // Elements at which the site decides, at most `most`. A site of kIndex has the elements of its component.
  static std::vector<int64_t> ElementsOf(const Site& site, int64_t most);
  ReachCount CountOf(SiteKind kind) const;

 private:
  void Add(const Instruction& inst, SiteKind kind, int sides, int64_t part = 0, int64_t most = 0);
  void FindSites(const Instruction& inst);
  void Look(const Instruction& inst, std::span<const Literal> operands, const Literal& value);
  void LookAtBranch(const Instruction& conditional, const Literal& selector);
  bool RunsAlike(const Computation& computation) const;
  void ProveByDependence();

  const Module& module_;
  const Dependence dependence_;
  std::vector<Site> sites_;
  std::vector<std::pair<int, int>> by_id_;  // First site and end, by instruction id.
  std::vector<bool> ran_, ever_ran_;  // Whether the instruction ran in the latest run, and in any run. Indexed by id.
  std::vector<bool> is_selector_;     // Whether the instruction decides a conditional. Indexed by id.
  std::vector<std::vector<const Instruction*>> calls_;  // Callers, indexed by id of the computation.
};

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_H_
