// The same module under other names and in another order: so that two texts differ where the modules do.
#ifndef HLO_DRIVER_DIFF_RENAMED_H_
#define HLO_DRIVER_DIFF_RENAMED_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ir/module.h"

namespace hlo {

struct Renaming {
  // "" keeps the name. What is taken gets a number, as Module::UniqueName gives it.
  std::function<std::string(const Computation&)> of_computation;
  std::function<std::string(const Instruction&)> of_instruction;
  // Among instructions that could be next, operands first, the one of the smallest rank is; of equal ones the first.
  // Where nothing is given, they stay in their order.
  std::function<int64_t(const Instruction&)> rank;
};

// What the entry reaches. A module that is scheduled keeps its order.
std::unique_ptr<Module> Renamed(const Module& module, const Renaming& renaming);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_RENAMED_H_
