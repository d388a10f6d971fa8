// hlo reduce finds a smaller module that still fails in the same way (symptom.h).
//
// Generated arguments replace given ones if they show the failure too. Large steps come first: only the accused kernel,
// or only the instructions of the value that a pass changed. Then small steps (edits.h) repeat until none helps. A step
// tries a list of edits in ever smaller chunks (delta debugging). A text that cannot be parsed is reduced by lines.
//
// Candidates, which must be smaller by ModuleSize, are tried in parallel processes. The first in list order that still
// fails is taken, so the result does not depend on the number of processes. It is written to disk before the next step.
#ifndef HLO_DRIVER_SEARCH_REDUCE_H_
#define HLO_DRIVER_SEARCH_REDUCE_H_

#include <functional>
#include <string>

#include "base/result.h"
#include "driver/run/run.h"
#include "driver/search/symptom.h"

namespace hlo {

struct ReduceOptions {
  RunOptions run;
  Property property;
  std::string output;  // "" for none.
  int jobs = 2;
  double seconds = 600;      // Limit for the whole search. Then the smallest module so far is the result.
  double trial_seconds = 0;  // 0 is ten times the first trial plus ten seconds.
  int confirm = 3;           // Number of trials of the original module, and of the result.
  // Called when a smaller module is on disk. May be empty.
  std::function<void(int64_t instructions)> on_smaller = {};
};

struct ReducedModule {
  Symptom symptom;
  int confirmed = 0;  // Trials of the given module with the symptom.
  int tries = 0;
  int64_t instructions_before = 0, instructions = 0;
  int64_t elements_before = 0, elements = 0;
  int64_t lines_before = 0, lines = 0;
  bool is_text = false;
  bool timed_out = false;
  bool made_up = false;    // Given arguments were replaced by generated ones.
  int reproduced = 0;      // Trials of the result with the symptom.
  std::string text, args;  // `args` is the file of the arguments. "" if generated.
};

// `announce` receives progress, and `line` the result of each round. Errors: the module cannot be loaded, unless that
// is the failure; N003 if nothing fails, or not reproducibly.
Result<ReducedModule> Reduce(const std::string& path, const ReduceOptions& options,
                             const std::function<void(const std::string&)>& announce,
                             const std::function<void(const std::string&)>& line);

Result<ReducedModule> Reduce(const std::shared_ptr<const SourceText>& text, const ReduceOptions& options,
                             const std::function<void(const std::string&)>& announce,
                             const std::function<void(const std::string&)>& line);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_REDUCE_H_
