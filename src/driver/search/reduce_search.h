// The state of a reduction, and the trials of smaller modules.
#ifndef HLO_DRIVER_SEARCH_REDUCE_SEARCH_H_
#define HLO_DRIVER_SEARCH_REDUCE_SEARCH_H_

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/files.h"
#include "base/parallel.h"
#include "base/result.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/search/edits.h"
#include "driver/search/reduce.h"
#include "driver/search/symptom.h"
#include "ir/literal.h"
#include "ir/module.h"

namespace hlo {

using Announce = std::function<void(const std::string&)>;

inline int64_t LineCount(std::string_view text) { return std::ranges::count(text, '\n'); }

class ArgumentFolder {
 public:
  ~ArgumentFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Result<std::string> FileFor(size_t number) {
    if (path_.empty()) path_ = TRY(MakeTemporaryDirectory("hlo-reduce"));
    return Str(path_, "/", number, ".npz");
  }

 private:
  std::string path_;
};

struct Candidate {
  std::shared_ptr<const SourceText> text;
  std::unique_ptr<Module> module;
  ModuleSize size;
  RunOptions run;
  std::vector<Literal> arguments;
};

struct ReduceSearch {
  ReduceSearch(std::shared_ptr<const SourceText> failing, const ReduceOptions& given, const Announce& announces,
               const Announce& prints);
  ~ReduceSearch() { SetThreads(threads); }
  ReduceSearch(const ReduceSearch&) = delete;

  const int threads = Threads();
  const ReduceOptions& options;
  const Announce& announce;
  const Announce& line;
  const std::shared_ptr<const SourceText> text;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  TrialOptions trial;
  ReducedModule result;
  Candidate base;
  bool keeps_arguments = false;
  std::map<std::string, Literal> values;
  ArgumentFolder folder;
  size_t argument_files = 0;
  std::unordered_set<uint64_t> tried;
  Status wrote;
};

bool IsOver(ReduceSearch& s);
void JudgeFigure(const ReduceSearch& s, Symptom* symptom);
bool IsTheSame(const ReduceSearch& s, Symptom symptom);
std::string NameOfCandidates(const ReduceSearch& s);
// Empty if the module is not smaller, not valid or was tried before.
std::optional<Candidate> CandidateOf(ReduceSearch& s, std::unique_ptr<Module> module, bool of_same_size = false);
// The first candidate that fails in the same way becomes the base.
std::optional<size_t> Take(ReduceSearch& s, size_t count, const std::function<std::optional<Candidate>(size_t)>& make);
// Writes the smallest module, because a later step may fail.
void Keep(ReduceSearch& s);

// Null if the text cannot be read.
Result<std::unique_ptr<Module>> ReadTextOnly(const ReduceSearch& s);
Status ReduceModule(ReduceSearch& s);
Status ReduceText(ReduceSearch& s);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_REDUCE_SEARCH_H_
