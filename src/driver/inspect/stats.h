// Counts, sizes and arithmetic of a module.
#ifndef HLO_DRIVER_INSPECT_STATS_H_
#define HLO_DRIVER_INSPECT_STATS_H_

#include <map>
#include <string>
#include <vector>

#include "ir/cost.h"
#include "ir/module.h"

namespace hlo {

struct OpcodeStats {
  Opcode opcode;
  int64_t count = 0;
  int64_t bytes = 0;
  std::map<PrimitiveType, int64_t> by_type;  // By type of the result, or kTuple.
  Cost cost;                                 // Counts each instruction once.
};

struct ModuleStats {
  std::string path, name;
  int64_t text_bytes = 0;
  int64_t instructions = 0;
  std::vector<std::pair<std::string, int64_t>> computations;  // By use; "entry" first.
  std::vector<std::pair<std::string, int64_t>> fusions;
  std::vector<std::pair<std::string, int64_t>> custom_calls;  // Targets.
  std::vector<std::pair<std::string, int64_t>> collectives;
  int64_t parameters = 0, parameter_bytes = 0, result_bytes = 0;
  int64_t constants = 0, constant_bytes = 0, elided_constants = 0;
  std::vector<OpcodeStats> opcodes;         // The most frequent first.
  std::vector<const Instruction*> largest;  // Arrays, without renamed ones (bitcast, ...).
  Cost cost;                                // In one run of the entry.
  std::vector<CostGap> gaps;
};

// Keeps the `largest` largest values.
ModuleStats StatsOf(const Module& module, int64_t largest);
std::string StatsText(const ModuleStats& stats);
std::string StatsJson(const ModuleStats& stats);  // "hlo.stats/1"

// One line for each reason, with the first instruction and the number.
std::vector<std::string> GapTexts(const std::vector<CostGap>& gaps);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_STATS_H_
