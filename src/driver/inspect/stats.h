// What a module consists of: counts, sizes, arithmetic. One walk over the instructions; text and JSON from one struct.
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
  int64_t bytes = 0;                         // Of all results.
  std::map<PrimitiveType, int64_t> by_type;  // Of the result; tuples count as kTuple.
  Cost cost;                                 // Each instruction counted once, wherever it stands.
};

struct ModuleStats {
  std::string path, name;
  int64_t text_bytes = 0;
  int64_t instructions = 0;
  std::vector<std::pair<std::string, int64_t>> computations;  // By what they are called for; "entry" first.
  std::vector<std::pair<std::string, int64_t>> fusions;       // By kind.
  std::vector<std::pair<std::string, int64_t>> custom_calls;  // By target.
  std::vector<std::pair<std::string, int64_t>> collectives;
  int64_t parameters = 0, parameter_bytes = 0, result_bytes = 0;  // Of the entry.
  int64_t constants = 0, constant_bytes = 0, elided_constants = 0;
  std::vector<OpcodeStats> opcodes;         // Most frequent first.
  std::vector<const Instruction*> largest;  // Array values, by bytes; renamed ones (bitcast, ...) left out.
  Cost cost;                                // One run of the entry.
  std::vector<CostGap> gaps;
};

// Of a module that was parsed. `largest`: how many of the largest values to keep.
ModuleStats StatsOf(const Module& module, int64_t largest);
std::string StatsText(const ModuleStats& stats);
std::string StatsJson(const ModuleStats& stats);  // "hlo.stats/1"

// What the gaps of a cost analysis say, one line each with how many instructions it holds for and the first of them.
std::vector<std::string> GapTexts(const std::vector<CostGap>& gaps);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_STATS_H_
