// Finds sites, where values decide which values are used, and the sides of each site that runs have reached or that are
// proven unreachable: docs/comparison.md#reach. Sides are numbered in the order of the table there. One element is
// enough to reach a side. Scalar bodies, such as reducers, have no sites.
#ifndef HLO_JUDGE_REACH_REACH_H_
#define HLO_JUDGE_REACH_REACH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "interp/interpreter.h"
#include "ir/instruction.h"
#include "ir/literal.h"
#include "judge/reach/dependence.h"

namespace hlo {

class Computation;
class Instruction;
class Module;

enum class SiteKind : uint8_t { kSelect, kCompare, kTie, kClamp, kLargest, kStart, kIndex, kBranch };
inline constexpr int kSiteKinds = 8;
std::string_view ToString(SiteKind kind);

struct Site {
  const Instruction* inst = nullptr;
  SiteKind kind = SiteKind::kSelect;
  int64_t part = 0;  // Number of the start operand (kStart) or of the component (kIndex).
  int64_t most = 0;  // The largest start or index in range.
  int sides = 2;
  uint64_t reached = 0;
  uint64_t unreachable = 0;

  uint64_t all() const { return (uint64_t{1} << sides) - 1; }
  uint64_t missing() const { return all() & ~reached & ~unreachable; }
};

enum : int { kBelow = 0, kInside = 1, kBeyond = 2 };

// The first value of each instruction in one run.
struct Recording {
  std::vector<std::optional<Literal>> values;
  std::vector<Literal> args;
  Literal result;
  int64_t steps = 0;  // Estimated nanoseconds of the run.
};

struct ReachCount {
  // reached: sites with all sides reached. proven: other sites, whose sides are all reached or unreachable.
  int64_t sites = 0, reached = 0, proven = 0;
};

class Reach {
 public:
  explicit Reach(const Module& module);

  // Adds the sides that a run reaches, and records at most `most_bytes` of values. A run that fails adds no sides.
  Result<Recording> Run(std::span<const Literal> args, const InterpretOptions& options,
                        int64_t most_bytes = int64_t{1} << 28);

  const std::vector<Site>& sites() const { return sites_; }
  bool HasRun(const Instruction& inst) const { return ever_ran_[inst.id()]; }
  const Dependence& dependence() const { return dependence_; }
  int64_t Missing() const;
  // At most `most` row-major indices of elements at which the site decides. For kIndex, the elements are those of the
  // indices that hold component Site::part.
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
  std::vector<std::pair<int, int>> by_id_;  // Range of the instruction's sites, by its id.
  std::vector<bool> ran_, ever_ran_;
  std::vector<bool> is_selector_;
  std::vector<std::vector<const Instruction*>> calls_;  // Callers, by computation id.
};

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_REACH_H_
