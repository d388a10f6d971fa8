// What is wrong with a module, and the way in which it is: what a search for the guilty one, or for a smaller module,
// asks of each of its trials. Two failures are the same when they have the same way: the kind of verdict and who is
// accused; the signal of a crash and where; the code of an error; the exit status of a script.
#ifndef HLO_DRIVER_SEARCH_SYMPTOM_H_
#define HLO_DRIVER_SEARCH_SYMPTOM_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/source_text.h"
#include "driver/pattern.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"
#include "driver/search/child.h"

namespace hlo {

enum class PropertyKind : uint8_t {
  kFails,     // Whatever it is.
  kMismatch,  // A kernel, a pass, ... is wrong.
  kCrash,     // A signal, a check of ours, or no end.
  kError,     // A diagnostic; with `code` that one.
  kNan,       // The outputs have one, and no argument does; in the interpreter: an instruction makes one.
  kSlower,    // Than the good end, by `limit` times; by the description of the device.
  kKernels,   // More of them than `limit`; without one, than the good end has.
  kBytes,     // As kKernels, of bytes moved.
  kScript,    // A command ends with another status than 0; 125: this cannot be tried.
};

// What --property asks for.
struct Property {
  PropertyKind kind = PropertyKind::kFails;
  std::optional<double> limit;
  std::string code, command;
  std::optional<Pattern> words;  // What is told of it has to match, too.
  std::string text = "fails";    // As it was given.

  bool IsFigure() const {
    return kind == PropertyKind::kSlower || kind == PropertyKind::kKernels || kind == PropertyKind::kBytes;
  }
};

// "mismatch", "slower:1.2", "kernels:12", "error:V012", "script:grep -q tanh $1". Errors: usage.
Result<Property> ParseProperty(std::string_view text, std::string_view fail_regex);
// For --help: "mismatch: ...; crash: ...".
std::string PropertiesText();

// How much of a run has to happen for it to be known. What does not decide is left out.
enum class Depth : uint8_t {
  kRun,      // All of it.
  kKernels,  // A run, of which the kernels are judged and not the passes.
  kMeaning,  // The passes, and whether they kept the meaning; who is wrong is asked too.
  kEnds,     // The same, and nobody is asked for.
  kPasses,   // The passes.
  kRead,     // Reading and verifying.
};

struct Symptom {
  std::string way;       // "MISMATCH: pass algsimp"; "": nothing is wrong.
  std::string detail;    // In a line, with names; where nothing is wrong, that no fault was planted.
  bool untried = false;  // The script said so, or it came to another end that says nothing.
  // Who is accused.
  Culprit::Kind accused = Culprit::Kind::kNone;
  std::string name, input, made_by;  // As in Culprit.
  std::string bits;                  // Of the outputs, where they were judged.
  std::string stage;                 // How far it came: "reading", "pass algsimp#2", "compiling", ...
  int64_t pass = 0;                  // The number of the last pass instance that began.
  double figure = 0;                 // Kernels, bytes or seconds.
  double seconds = 0;                // That the trial took.
  struct Instance {
    std::string name, stage;
    int64_t number = 0;
    bool changed = false;
  };
  std::vector<Instance> instances;  // Of passes that ran.
  // A decision of a lock of autotuning that the module takes, and what is taken without it.
  struct Decision {
    std::string key, step, signature, chosen, without;
    int64_t steps = 0;  // With that key; `step` is the first of them.
  };
  std::vector<Decision> decisions;
  std::map<std::string, int64_t> rewrites;  // By rule.

  // What is told of it is what was asked for.
  bool Shows(const Property& property) const;
  // `detail`, or that nothing is wrong, and why not what was planted.
  std::string Text() const;
};

struct TrialOptions {
  Property property;
  Depth depth = Depth::kRun;
  double seconds = 60;             // Of one; what takes longer has no end.
  int threads = 0;                 // Of one; 0: all.
  bool asks_for_roundings = true;  // RunOptions::asks_for_roundings: needed to see that a verdict is open, and slow.
};

// Where the way of `symptom` is looked for again, what is enough to see it.
Depth DepthOf(const Symptom& symptom, const Property& property);

// One trial in a process of its own.
class Trial {
 public:
  Trial(std::shared_ptr<const SourceText> text, const RunOptions& run, const TrialOptions& options);

  bool Finished();           // Without waiting.
  const Symptom& symptom();  // Waits.
  ChildProcess& process() { return child_; }

 private:
  std::optional<Symptom> SymptomFrom(const std::string& line);
  void SeeEnd();

  const PropertyKind kind_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  ChildProcess child_;
  std::string stage_ = "reading";
  int64_t pass_ = 0;
  std::optional<Symptom> symptom_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_SYMPTOM_H_
