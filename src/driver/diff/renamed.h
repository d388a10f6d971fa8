// Renames and reorders a module, so that texts differ only where modules do.
#ifndef HLO_DRIVER_DIFF_RENAMED_H_
#define HLO_DRIVER_DIFF_RENAMED_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ir/module.h"

namespace hlo {

struct Renaming {
  // New names, or "" for the old name. A taken name gets a number (Module::UniqueName).
  std::function<std::string(const Computation&)> of_computation;
  std::function<std::string(const Instruction&)> of_instruction;
  // The smallest rank comes first among instructions whose operands are placed. Null keeps the order.
  std::function<int64_t(const Instruction&)> rank;
};

// Drops computations that the entry does not reach. A scheduled module keeps its order.
std::unique_ptr<Module> Renamed(const Module& module, const Renaming& renaming);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_RENAMED_H_
