// Judges a module by the oracles print, threads, bits, optimized and unfused, or, if a list of passes is given, by the
// oracles passes, bits and optimized.
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
  std::string oracle;  // verify, print, threads, passes, bits, optimized, unfused, partition, crash
  std::string what;
};

using FuzzCells = std::map<std::pair<Opcode, PrimitiveType>, int64_t>;

struct FuzzOutcome {
  int64_t instructions = 0;
  std::vector<FuzzFinding> findings;
  // Reasons why oracles could not judge: "optimized: 'sort' has no kernel yet".
  std::vector<std::string> unsupported, inconclusive, limits;
  FuzzCells cells;
};

// Options for judging `module`, the module of `seed`, with the passes and planted faults of `run`. The seed selects one
// of `profiles`. If `profiles` is empty, most seeds select `normal`.
RunOptions JudgedAs(const Module& module, uint64_t seed, RunOptions run = {},
                    const std::vector<InputProfile>& profiles = {});

// Errors: F004 for an unknown name, or `verify`, which always runs.
Status CheckOracles(const std::vector<std::string>& names);

// Judges by the oracles in `only`, or by all if it is empty. `run` comes from JudgedAs. `doing` receives each step:
// "optimized", "running cse#2".
FuzzOutcome CheckAll(const Module& module, const std::string& text, const RunOptions& run,
                     const std::function<void(const std::string&)>& doing = nullptr,
                     const std::vector<std::string>& only = {});

// Options of a run that repeats an oracle, or a step that `doing` received. nullopt if no run shows its findings.
std::optional<RunOptions> RunOfOracle(std::string_view oracle, RunOptions run);

// A command that judges a module on stdin like an oracle or step: "hlo-run --platform=cpu ...". It lacks passes, target
// and faults. "" if there is none.
std::string ReportCommand(std::string_view oracle, const RunOptions& run);

// Drops names and numbers, to group similar findings.
std::string KindOf(std::string_view what);

}  // namespace hlo

#endif  // HLO_DRIVER_FUZZ_FUZZ_H_
