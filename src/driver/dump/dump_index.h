// The index of a dump directory from the names of its files: as JSON, and as a page for a browser.
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

// The names in a directory, unsorted.
Result<std::vector<std::string>> NamesIn(const std::string& directory);
// N for module_N.*, or -1.
int64_t ModuleNumber(std::string_view name);

// A file of a dump, parsed from its name.
struct DumpFile {
  std::string name, module, stage;
  std::string suffix;          // After the module's name: "before_optimizations.txt".
  std::string pipeline, pass;  // For a state after a pass.
  int64_t number = 0;          // The number of the module.
  int64_t instance = -1;       // The number of the pass instance; all instances of a run are numbered.
  int64_t bytes = 0;
  std::string parent;      // The file from which it was made.
  bool is_beside = false;  // An addition to a state's text: a picture, a protocol buffer or a diff.
};

// The states in order, each followed by its additions, and then the files made from the last state.
Result<std::vector<DumpFile>> DumpFilesOf(const std::string& directory);

// "hlo.dump/1".
std::string DumpIndexJson(std::span<const DumpFile> files);
// A page without scripts that needs only the dumped files. It lists the modules and the passes that changed them, with
// times, instructions and changes. Only for the last modules it reads passes.json, diffs and omissions, because a
// directory may have very many.
std::string DumpIndexHtml(const std::string& directory, std::span<const DumpFile> files);

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_INDEX_H_
