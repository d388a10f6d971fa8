// The changes of a pass as a diff of instructions by computation: removed and added ones. Moved instructions are
// counted; unchanged ones are omitted, and so are dead ones.
#ifndef HLO_DRIVER_MODULE_DIFF_H_
#define HLO_DRIVER_MODULE_DIFF_H_

#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "passes/pipeline.h"

namespace hlo {

// A module as lines of instructions, for comparison with a later state.
struct ModuleLines {
  struct Part {
    std::string name;  // The name of the computation.
    bool is_entry = false;
    std::vector<std::string> lines;  // "x = f32[2] parameter(0)", in the order of execution.
  };
  std::vector<Part> parts;
};
ModuleLines LinesOf(const Module& module);

struct DiffOptions {
  bool color = false;
  // Further lines are only counted. 0 prints all.
  size_t most_lines = 0;
};

// "" if there are no differences.
std::string DiffOf(const ModuleLines& before, const ModuleLines& after, const DiffOptions& options);

// The effect of a pass instance: a line with its name and rules, and the diff.
std::string ChangeText(const PassRun& run, const ModuleLines& before, const ModuleLines& after, bool color);

}  // namespace hlo

#endif  // HLO_DRIVER_MODULE_DIFF_H_
