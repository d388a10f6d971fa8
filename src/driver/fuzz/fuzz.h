// Runs all oracles on a module: the verifier, printing and parsing, the interpreter with one and two threads, the bits
// of exact passes, and kernels with and without passes. With a list of passes: each pass, the bits, and the kernels of
// the optimized module.
#ifndef HLO_DRIVER_FUZZ_FUZZ_H_
#define HLO_DRIVER_FUZZ_FUZZ_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "driver/fuzz/grow.h"
#include "driver/run/run.h"
#include "ir/module.h"

namespace hlo {

struct FuzzFinding {
  std::string oracle;  // verify, print, threads, passes, bits, optimized, unfused, crash
  std::string what;    // One line.
};

// Counts of instructions, keyed by opcode and element type of the result.
using FuzzCells = std::map<std::pair<Opcode, PrimitiveType>, int64_t>;

struct FuzzOutcome {
  int64_t instructions = 0;
  std::vector<FuzzFinding> findings;
  // For each oracle, the reasons why something could not be judged: "optimized: 'sort' has no kernel yet".
  std::vector<std::string> unsupported, inconclusive, limits;
  FuzzCells cells;
};

// The complete options for judging the module of `seed`, from `run` with the passes and planted faults. The arguments
// have one of `profiles`, or if empty mostly `normal`.
RunOptions JudgedAs(uint64_t seed, RunOptions run = {}, const std::vector<std::string>& profiles = {});

// F004 if a name is not an oracle that can be selected. The verifier always runs and cannot be selected.
Status CheckOracles(const std::vector<std::string>& names);

// `run` comes from JudgedAs. With a list of passes the oracles are `passes`, `bits` and `optimized`. `doing` receives
// the next step: "optimized", "running cse#2". `only` selects oracles by name; empty selects all.
FuzzOutcome CheckAll(const Module& module, const std::string& text, const RunOptions& run,
                     const std::function<void(const std::string&)>& doing = nullptr,
                     const std::vector<std::string>& only = {});

// The options that repeat an oracle, or a step that `doing` received; nullopt if a run does not show its findings.
std::optional<RunOptions> RunOfOracle(std::string_view oracle, RunOptions run);

// The command that judges a module on stdin like an oracle, or a step that `doing` received: "hlo-run --platform=cpu
// ...". Without passes, target and faults. "" if there is no such command.
std::string ReportCommand(std::string_view oracle, const RunOptions& run);

// The text of a finding or reason without names and numbers, to group similar ones.
std::string KindOf(std::string_view what);

}  // namespace hlo

#endif  // HLO_DRIVER_FUZZ_FUZZ_H_
