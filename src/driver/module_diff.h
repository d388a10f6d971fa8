// The changes of a pass as a diff of instructions by computation. Moved instructions are counted, and unchanged and
// dead ones omitted.
#ifndef HLO_DRIVER_MODULE_DIFF_H_
#define HLO_DRIVER_MODULE_DIFF_H_

#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "passes/pipeline.h"

namespace hlo {

struct ModuleLines {
  struct Part {
    std::string name;
    bool is_entry = false;
    std::vector<std::string> lines;  // In the order of execution: "x = f32[2] parameter(0)".
  };
  std::vector<Part> parts;
};
ModuleLines LinesOf(const Module& module);

struct DiffOptions {
  bool color = false;
  // Further lines are only counted. 0 prints all.
  size_t most_lines = 0;
};

std::string DiffOf(const ModuleLines& before, const ModuleLines& after, const DiffOptions& options);

// A line with the pass instance and its rules, and the diff.
std::string ChangeText(const PassRun& run, const ModuleLines& before, const ModuleLines& after, bool color);

}  // namespace hlo

#endif  // HLO_DRIVER_MODULE_DIFF_H_
