// Random modules, valid by construction: a pool of live values, and for each op family a way to complete an instruction
// around a value of the pool. The same options give the same module everywhere.
#ifndef HLO_DRIVER_FUZZ_GROW_H_
#define HLO_DRIVER_FUZZ_GROW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// Goes up whenever a seed gives another module than before.
inline constexpr int kGrowVersion = 3;

struct GrowOptions {
  uint64_t seed = 0;
  int64_t max_instructions = 24;   // Of the entry, about; what a rule needs besides (guards, indices) comes on top.
  int64_t max_elems = 4096;        // Of one value.
  int64_t depth = 3;               // Of computations that call others.
  std::string ops;                 // A regular expression over names of opcodes; only those grow. Empty: all.
  std::vector<std::string> focus;  // Opcodes that grow twenty times as often.
};

// [F007]: `ops` is no regular expression. [F004]: it matches no opcode that is grown, or one of `focus` is none.
Status CheckGrowOptions(const GrowOptions& options);

// The options must be good.
std::unique_ptr<Module> Grow(const GrowOptions& options);

// "hlo-fuzz --mode=grow --seed=17 --count=1 ...": the command that grows this module again.
std::string ReplayCommand(const GrowOptions& options);

// The module as text, under a line of comment with the generator's version and the command.
std::string GrownText(const Module& module, const GrowOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_FUZZ_GROW_H_
