// Renames and reorders a module, so that two texts differ only where the modules do.
#ifndef HLO_DRIVER_DIFF_RENAMED_H_
#define HLO_DRIVER_DIFF_RENAMED_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ir/module.h"

namespace hlo {

struct Renaming {
  // New names. "" keeps the old name. A name that is already taken gets a number (Module::UniqueName).
  std::function<std::string(const Computation&)> of_computation;
  std::function<std::string(const Instruction&)> of_instruction;
  // Among instructions whose operands are already placed, the smallest rank comes first. Null keeps the order.
  std::function<int64_t(const Instruction&)> rank;
};

// Drops computations that the entry does not reach. A scheduled module keeps its order.
std::unique_ptr<Module> Renamed(const Module& module, const Renaming& renaming);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_RENAMED_H_
