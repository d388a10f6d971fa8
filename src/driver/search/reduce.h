// hlo reduce: a smaller module that still fails in the same way (symptom.h).
//
// Arguments that are given go where made-up ones show it, too; else they come along. What is found first jumps: the
// kernel that is accused alone, what computes the value that a pass changed. Then, round by round until nothing helps:
// outputs go, instructions give way to operands, parameters, zeros, calls and loops to what is in them, attributes and
// layouts to their defaults, dimensions and types to smaller ones; each as a list of which ever smaller chunks are
// tried (delta debugging). A text that cannot be read is reduced line by line.
//
// Each candidate is verified and tried in a process of its own, several at once. Of those that are tried together the
// first that still fails is taken, so that the result does not hang on how many these are. What is taken is smaller in
// the order of ModuleSize, and on disk before the next is tried.
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
  std::string output;        // Where the smallest so far is. "": nowhere.
  int jobs = 2;              // Processes at once.
  double seconds = 600;      // Of all; then the smallest so far is the result.
  double trial_seconds = 0;  // Of one trial; 0: ten times what the first took, and ten seconds.
  int confirm = 3;           // Trials of the module as it is, and of the result.
  // Told each time that a smaller module is on disk, with its instructions. Empty: nobody asks.
  std::function<void(int64_t instructions)> on_smaller = {};
};

struct ReducedModule {
  Symptom symptom;    // Of the module as it is given.
  int confirmed = 0;  // Of its trials, that had it.
  int tries = 0;      // Candidates.
  int64_t instructions_before = 0, instructions = 0;
  int64_t elements_before = 0, elements = 0;
  int64_t lines_before = 0, lines = 0;
  bool is_text = false;  // It could not be read, and was reduced line by line.
  bool timed_out = false;
  bool made_up = false;    // Arguments were given, and need not be: made-up ones show it.
  int reproduced = 0;      // Of the trials of the result.
  std::string text, args;  // The smallest; where its arguments are, "" when they are made up.
};

// `tell` is called with what goes on, `line` with what a round came to. Errors: what a module that cannot be loaded is,
// where that is not what fails; [F010] nothing fails, or not each time.
Result<ReducedModule> Reduce(const std::string& path, const ReduceOptions& options,
                             const std::function<void(const std::string&)>& tell,
                             const std::function<void(const std::string&)>& line);

// The same of a text, which `path` names.
Result<ReducedModule> Reduce(const std::shared_ptr<const SourceText>& text, const ReduceOptions& options,
                             const std::function<void(const std::string&)>& tell,
                             const std::function<void(const std::string&)>& line);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_REDUCE_H_
