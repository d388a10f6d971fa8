// Counts, sizes and arithmetic of a module.
#ifndef HLO_DRIVER_INSPECT_STATS_H_
#define HLO_DRIVER_INSPECT_STATS_H_

#include <map>
#include <string>
#include <vector>

#include "ir/analysis/cost.h"
#include "ir/module.h"

namespace hlo {

struct OpcodeStats {
  Opcode opcode;
  int64_t count = 0;
  int64_t bytes = 0;
  std::map<PrimitiveType, int64_t> by_type;  // Counts by the type of the result. Tuples count as kTuple.
  Cost cost;
};

struct ModuleStats {
  std::string path, name;
  int64_t text_bytes = 0;
  int64_t instructions = 0;
  std::vector<std::pair<std::string, int64_t>> computations;
  std::vector<std::pair<std::string, int64_t>> fusions;
  std::vector<std::pair<std::string, int64_t>> custom_calls;
  std::vector<std::pair<std::string, int64_t>> collectives;
  int64_t parameters = 0, parameter_bytes = 0, result_bytes = 0;
  int64_t constants = 0, constant_bytes = 0, elided_constants = 0;
  std::vector<OpcodeStats> opcodes;
  std::vector<const Instruction*> largest;  // Arrays, without views such as bitcasts.
  Cost cost;
  std::vector<CostGap> gaps;
};

ModuleStats StatsOf(const Module& module, int64_t largest);
std::string StatsText(const ModuleStats& stats);
std::string StatsJson(const ModuleStats& stats);  // "hlo.stats/1"

// One line for each reason, with the first instruction and the number of others.
std::vector<std::string> GapTexts(const std::vector<CostGap>& gaps);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_STATS_H_
