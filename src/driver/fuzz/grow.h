// Random modules, valid by construction. Operands come from a pool of earlier values. Equal options give equal modules
// on all machines.
#ifndef HLO_DRIVER_FUZZ_GROW_H_
#define HLO_DRIVER_FUZZ_GROW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// Must be increased when a seed gives another module than before.
inline constexpr int kGrowVersion = 3;

struct GrowOptions {
  uint64_t seed = 0;
  int64_t max_instructions = 24;   // Approximate, for the entry. Excludes guards and indices.
  int64_t max_elems = 4096;        // For one value.
  int64_t depth = 3;               // The nesting of called computations.
  std::string ops;                 // A regular expression. Empty is all.
  std::vector<std::string> focus;  // Opcodes that occur twenty times as often.
  bool shardings = false;          // The entry states random shardings over 2 to 8 partitions.
};

// Errors: F007 for an invalid regular expression, F004 for opcodes that cannot be grown.
Status CheckGrowOptions(const GrowOptions& options);

// `options` must be valid.
std::unique_ptr<Module> GrowModule(const GrowOptions& options);

// The command that grows the module, such as "hlo-fuzz --seed=17 --count=1 ...".
std::string ReplayCommand(const GrowOptions& options);

// Begins with a comment that has kGrowVersion and the command.
std::string GrownText(const Module& module, const GrowOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_FUZZ_GROW_H_
