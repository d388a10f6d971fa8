// The index of a dump directory from its file names.
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

// Names of all files in the directory, unsorted.
Result<std::vector<std::string>> NamesIn(const std::string& directory);
// N for module_N.*, or -1.
int64_t ModuleNumber(std::string_view name);

struct DumpFile {
  std::string name, module, stage;
  std::string suffix;          // "before_optimizations.txt"
  std::string pipeline, pass;  // For states after a pass.
  int64_t number = 0;          // The module's number.
  int64_t instance = -1;
  int64_t bytes = 0;
  std::string parent;
  bool is_beside = false;  // An addition to a state's text: a picture, a protocol buffer or a diff.
};

// The states in order, each with its additions, then the files made from the last state.
Result<std::vector<DumpFile>> DumpFilesOf(const std::string& directory);

std::string DumpIndexJson(std::span<const DumpFile> files);
// A self-contained page. Reads passes.json and diffs only for the last modules, because there may be many.
std::string DumpIndexHtml(const std::string& directory, std::span<const DumpFile> files);

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_INDEX_H_
