// What lies in a dump directory, from the names of its files: as JSON for programs, and as a page for a browser.
#ifndef HLO_DRIVER_DUMP_DUMP_INDEX_H_
#define HLO_DRIVER_DUMP_DUMP_INDEX_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo {

inline constexpr std::string_view kText = ".txt", kFirstState = "before_optimizations";
inline constexpr std::string_view kRecordedGraph = "recorded_graph";

// Names of what lies in a directory, in no order.
Result<std::vector<std::string>> NamesIn(const std::string& directory);
// N of module_N.*, or -1.
int64_t ModuleNumber(std::string_view name);

// What a file of a dump is, from its name.
struct DumpFile {
  std::string name, module, stage;
  std::string suffix;          // Behind the module's name: "before_optimizations.txt".
  std::string pipeline, pass;  // Of a state after a pass.
  int64_t number = 0;          // Of the module.
  int64_t instance = -1;       // Of the pass: all instances of a run are numbered.
  int64_t bytes = 0;
  std::string parent;      // What it was made from.
  bool is_beside = false;  // A picture of a state, its proto, what changed: beside its text.
};

// States in their order, each with what stands beside it; then what was made from the last one.
Result<std::vector<DumpFile>> DumpFilesOf(const std::string& directory);

// "hlo.dump/1".
std::string DumpIndexJson(std::span<const DumpFile> files);
// One page without scripts, which needs nothing but the files beside it: the modules, the passes that changed them with
// time and instructions, and what they changed. It reads passes.json, the diffs and what was left out, of the last
// modules alone: a directory may hold very many.
std::string DumpIndexHtml(const std::string& directory, std::span<const DumpFile> files);

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_INDEX_H_
