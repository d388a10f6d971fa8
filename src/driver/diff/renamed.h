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
  // "" keeps the name. A name that is taken gets a number as in Module::UniqueName.
  std::function<std::string(const Computation&)> of_computation;
  std::function<std::string(const Instruction&)> of_instruction;
  // Among instructions whose operands are done, the one with the smallest rank is next, or the first of equal ones.
  // Without this function, the order is kept.
  std::function<int64_t(const Instruction&)> rank;
};

// Only the computations that the entry reaches. A scheduled module keeps its order.
std::unique_ptr<Module> Renamed(const Module& module, const Renaming& renaming);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_RENAMED_H_
