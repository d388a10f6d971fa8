// Tests that includes point in one direction: base <- ir <- {parser, interp <- {passes, judge}, gpu} <- driver <-
// tools <- tests. See docs/architecture.md#layers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::set<std::string>> kMayInclude = {
    // The build compiles and includes this header. Sources name their own includes.
    {"precompiled.h", {"base", "ir"}},
    {"base", {"base"}},
    {"ir", {"base", "ir"}},
    {"parser", {"base", "ir", "parser"}},
    {"interp", {"base", "ir", "interp"}},
    {"passes", {"base", "ir", "interp", "passes"}},
    {"judge", {"base", "ir", "interp", "judge"}},
    {"gpu", {"base", "ir", "gpu"}},
    {"driver", {"base", "ir", "parser", "interp", "passes", "judge", "gpu", "driver"}},
    {"tools", {"base", "ir", "parser", "interp", "passes", "judge", "gpu", "driver", "tools"}},
};

// The folders of the same part that a file may include, besides its own folder. The key "ir" is for files directly in
// src/ir. Headers never include the code that dispatches to a subfolder, which is in sources directly in the part's
// folder.
const std::map<std::string, std::set<std::string>> kMayIncludeWithin = {
    {"ir", {"ir/factors", "ir/shapes", "ir/text"}},
    {"ir/analysis", {"ir"}},
    {"ir/factors", {"ir", "ir/shapes"}},
    {"ir/mesh", {"ir"}},
    {"ir/shapes", {"ir"}},
    {"ir/text", {"ir"}},
    {"ir/verifier", {"ir", "ir/analysis", "ir/mesh", "ir/shapes"}},
    {"interp", {"interp/devices", "interp/ops"}},
    {"interp/ops", {"interp"}},
    {"interp/calls", {"interp", "interp/ops"}},
    {"interp/devices", {"interp", "interp/ops"}},
    {"interp/arguments", {"interp", "interp/devices"}},
    {"parser", {"parser/mlir"}},
    {"parser/mlir", {"parser"}},
    {"passes", {"passes/simplify"}},
    {"passes/cleanup", {"passes", "passes/simplify"}},
    {"passes/collectives",
     {"passes", "passes/control", "passes/expanders", "passes/fusion", "passes/layout", "passes/simplify"}},
    {"passes/control", {"passes"}},
    {"passes/emission", {"passes", "passes/fusion"}},
    {"passes/expanders", {"passes", "passes/simplify"}},
    {"passes/fusion", {"passes"}},
    {"passes/layout", {"passes"}},
    {"passes/libraries", {"passes", "passes/fusion", "passes/simplify"}},
    {"passes/linear_algebra", {"passes", "passes/simplify"}},
    {"passes/pipelines", {"passes"}},
    {"passes/reductions", {"passes", "passes/simplify"}},
    {"passes/sharding", {"passes"}},
    {"passes/simplify", {"passes"}},
    {"judge", {"judge/bounds", "judge/compare", "judge/residues"}},
    {"judge/compare", {"judge/bounds"}},
    {"judge/residues", {"judge", "judge/bounds"}},
    {"gpu/codegen", {"gpu/codegen/host", "gpu/codegen/nvptx", "gpu/kernel"}},
    {"gpu/codegen/host", {"gpu/codegen", "gpu/kernel"}},
    {"gpu/codegen/nvptx", {"gpu/codegen", "gpu/kernel"}},
    {"gpu/plan", {"gpu/kernel"}},
    {"gpu/emitters", {"gpu/kernel", "gpu/plan"}},
    {"gpu/emitters/block", {"gpu/emitters", "gpu/kernel", "gpu/plan"}},
    {"gpu/device", {"gpu/codegen", "gpu/kernel"}},
    {"gpu/libraries", {"gpu/device", "gpu/emitters", "gpu/plan"}},
    {"gpu/runtime/tuning",
     {"gpu/codegen", "gpu/device", "gpu/emitters", "gpu/kernel", "gpu/libraries", "gpu/plan", "gpu/runtime"}},
    {"gpu/runtime/run", {"gpu/runtime"}},
    {"gpu/runtime",
     {"gpu/codegen", "gpu/device", "gpu/emitters", "gpu/kernel", "gpu/libraries", "gpu/plan", "gpu/runtime/run"}},
    {"driver", {"driver/dump"}},
    {"driver/dump", {"driver", "driver/inspect"}},
    {"driver/diff", {"driver", "driver/dump", "driver/inspect", "driver/profile", "driver/run"}},
    {"driver/inspect", {"driver"}},
    {"driver/lsp", {"driver", "driver/inspect"}},
    {"driver/manual", {"driver"}},
    {"driver/profile", {"driver", "driver/inspect"}},
    {"driver/run", {"driver", "driver/dump", "driver/inspect", "driver/profile"}},
    {"driver/fuzz", {"driver", "driver/run"}},
    {"driver/search", {"driver", "driver/inspect", "driver/run"}},
};

// Third-party headers and the only folders or files that may include them. <regex> recurses for each character, so
// patterns use RE2.
const std::multimap<std::string, std::string> kOnlyIn = {{"llvm/", "src/gpu/"},
                                                         {"zlib.h", "src/base/gzip.cpp"},
                                                         {"zlib.h", "src/interp/arguments/npz.cpp"},
                                                         {"re2/", "src/driver/pattern.cpp"},
                                                         {"CLI/", "tools/flags.cpp"},
                                                         {"regex>", "tests/"}};

bool MayName(const std::string& path, const std::string& header) {
  bool known = false, may = false;
  for (const auto& [prefix, place] : kOnlyIn) {
    known |= header.starts_with(prefix);
    may |= header.starts_with(prefix) && path.starts_with(place);
  }
  return !known || may;
}

// Returns "ir/text" for "ir/text/printer.h".
std::string FolderOf(const std::string& header) { return header.substr(0, header.rfind('/')); }

TEST(Layering, IncludesPointInOneDirection) {
  int lines = 0;
  for (const char* top : {"src", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      const std::string path = entry.path().string();
      if (!path.ends_with(".h") && !path.ends_with(".cpp") && !path.ends_with(".def")) continue;
      const std::string folder =
          std::string(top) == "tools" ? "tools" : entry.path().lexically_relative("src").begin()->string();
      ASSERT_TRUE(kMayInclude.contains(folder)) << path << " lies in a folder that the layering does not know";
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#include <")) {
          EXPECT_TRUE(MayName(path, line.substr(10))) << path << ": " << line;
        }
        if (!line.starts_with("#include \"")) continue;
        const std::string header = line.substr(10, line.find('"', 10) - 10);
        if (header.starts_with("llvm/")) {
          EXPECT_EQ(folder, "gpu") << path << ": " << line;
          continue;
        }
        const std::string target = header.substr(0, header.find('/'));
        EXPECT_TRUE(kMayInclude.at(folder).contains(target)) << path << " includes " << header;
        const std::string within = FolderOf(std::string(top) == "tools" ? path : path.substr(4));
        if (target == folder && FolderOf(header) != within) {
          const auto inner = kMayIncludeWithin.find(within);
          EXPECT_TRUE(inner != kMayIncludeWithin.end() && inner->second.contains(FolderOf(header)))
              << path << " includes " << header << ", to which no arrow points from " << within;
        }
        ++lines;
      }
    }
  }
  EXPECT_GT(lines, 50) << "the test saw no includes: is it run from the repository's root?";
}

}  // namespace
