// Finds the first value of an unpartitioned program whose parts are wrong in the program of one device.
//
// A device's part of a value must have the bits of the whole value if the parts of the operands have them and the op
// rounds no sum that devices could add in another order. Then other bits prove a fault. Other values are compared by a
// tolerance.
#ifndef HLO_DRIVER_RUN_PARTITION_VALUES_H_
#define HLO_DRIVER_RUN_PARTITION_VALUES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "base/result.h"
#include "interp/interpreter.h"
#include "ir/module.h"
#include "judge/compare/compare.h"

namespace hlo {

struct WrongPart {
  const Instruction* value = nullptr;  // An instruction of the unpartitioned module.
  int64_t device = 0;
  Comparison comparison;  // The device's part and the expected one.
  // If false, the value is only beyond the tolerance of its type.
  bool is_proven = false;
};

struct PartitionedPair {
  const Module& whole;  // All arrays have shardings.
  const Module& local;
  // Ids of instructions of `whole`, and of their parts in `local`.
  std::span<const std::pair<int, int>> parts;
  // Interprets one of the modules on the same arguments.
  std::function<Status(const Module&, const InterpretOptions&)> run;
};

// Prefers a proven fault. Keeps values of `whole` up to a sixth of the memory limit, and compares only these.
// Finds nothing if `whole` cannot be interpreted.
std::optional<WrongPart> FindWrongPart(const PartitionedPair& pair, InterpretOptions interpret,
                                       const CompareOptions& compare);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PARTITION_VALUES_H_
