// What a pass did, as a diff of instructions: those that went, those that came, by computation. What only moved is
// counted, what stayed is left out, and so is what is dead: it went when its last user went.
#ifndef HLO_DRIVER_MODULE_DIFF_H_
#define HLO_DRIVER_MODULE_DIFF_H_

#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "passes/pipeline.h"

namespace hlo {

// A module as its instructions' lines, kept to be compared with what becomes of it.
struct ModuleLines {
  struct Part {
    std::string name;  // Of the computation.
    bool is_entry = false;
    std::vector<std::string> lines;  // "x = f32[2] parameter(0)", in the order of execution.
  };
  std::vector<Part> parts;
};
ModuleLines LinesOf(const Module& module);

struct DiffOptions {
  bool color = false;
  // What is more is counted. 0: all.
  size_t most_lines = 0;
};

// "" where nothing differs.
std::string DiffOf(const ModuleLines& before, const ModuleLines& after, const DiffOptions& options);

// What one pass instance did: a line that names it and its rules, and the diff.
std::string ChangeText(const PassRun& run, const ModuleLines& before, const ModuleLines& after, bool color);

}  // namespace hlo

#endif  // HLO_DRIVER_MODULE_DIFF_H_
