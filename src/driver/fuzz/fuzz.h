// Every oracle there is, over one module: the verifier, printing and reading, the interpreter
// with one thread and with two, the bits of exact passes, kernels with the passes and without. With a list of passes,
// each of these passes by itself, the bits, and the kernels of the optimized module.
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

// By opcode and element type of the result.
using FuzzCells = std::map<std::pair<Opcode, PrimitiveType>, int64_t>;

struct FuzzOutcome {
  int64_t instructions = 0;
  std::vector<FuzzFinding> findings;
  // Reasons, by oracle, of what could not be judged: "optimized: 'sort' has no kernel yet".
  std::vector<std::string> unsupported, inconclusive, limits;
  FuzzCells cells;
};

// How the module of `seed` is judged: `run`, which has the passes and the planted faults, with all else set. Its
// arguments have one of `profiles`; without any mostly `normal`, or another.
RunOptions JudgedAs(uint64_t seed, RunOptions run = {}, const std::vector<std::string>& profiles = {});

// [F004]: one of the names is not an oracle that may be asked for. The verifier may not, because it always judges.
Status CheckOracles(const std::vector<std::string>& names);

// `run` is what JudgedAs gives. With a list of passes the oracles are `passes`, `bits` and `optimized`. `doing` is told
// the next step: "optimized", "running cse#2". `only`: names of oracles; the others do not judge. Empty: all judge.
FuzzOutcome CheckAll(const Module& module, const std::string& text, const RunOptions& run,
                     const std::function<void(const std::string&)>& doing = nullptr,
                     const std::vector<std::string>& only = {});

// As `oracle`, or what `doing` was told, runs the module; nothing where a run does not show what it finds.
std::optional<RunOptions> RunOfOracle(std::string_view oracle, RunOptions run);

// Of what `oracle`, or what `doing` was told, found: the command that judges a module on stdin so, by itself, but for
// the passes, the target and the faults: "hlo-run --platform=cpu ...". "": no command does.
std::string ReportCommand(std::string_view oracle, const RunOptions& run);

// What of `what` tells one finding, or one reason, from another: names and numbers aside.
std::string KindOf(std::string_view what);

}  // namespace hlo

#endif  // HLO_DRIVER_FUZZ_FUZZ_H_
