// The symptom of a failure, which searches for a culprit or a smaller module check in each trial. Two failures are the
// same if their `way` is equal. It is the kind of verdict and the culprit, the signal and place of a crash, the code of
// an error, or the status of a script.
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
  kFails,     // Any failure.
  kMismatch,  // Wrong results of a kernel, a pass, ...
  kCrash,     // A signal, a failed CHECK, or a hang.
  kError,     // A diagnostic, with a particular code if `code` is set.
  kNan,       // The outputs contain NaN and no argument does; in the interpreter, an instruction produces one.
  kSlower,    // More than `limit` times slower than the good end, by the description of the device.
  kKernels,   // More kernels than `limit`, or than the good end.
  kBytes,     // The same for bytes moved.
  kScript,    // A command exits with a nonzero status; 125 means that the trial cannot be judged.
};

// The property of --property.
struct Property {
  PropertyKind kind = PropertyKind::kFails;
  std::optional<double> limit;
  std::string code, command;
  std::optional<Pattern> words;  // Must match the text of the failure, too.
  std::string text = "fails";    // As given.

  bool IsFigure() const {
    return kind == PropertyKind::kSlower || kind == PropertyKind::kKernels || kind == PropertyKind::kBytes;
  }
};

// Parses "mismatch", "slower:1.2", "kernels:12", "error:V012", "script:grep -q tanh $1". Errors: usage.
Result<Property> ParseProperty(std::string_view text, std::string_view fail_regex);
// The properties and their meanings, for --help.
std::string PropertiesText();

// The part of a run that is needed to decide a property.
enum class Depth : uint8_t {
  kRun,      // All of it.
  kKernels,  // A run in which kernels are judged, but not passes.
  kMeaning,  // The passes, whether they keep the meaning, and the culprit.
  kEnds,     // The same without the culprit.
  kPasses,
  kRead,  // Only parsing and verifying.
};

struct Symptom {
  std::string way;       // "MISMATCH: pass algsimp", or "" for no failure.
  std::string detail;    // One line with names; without a failure, a note if no fault was planted.
  bool untried = false;  // The trial could not be judged, by the script's status or another cause.
  Culprit::Kind accused = Culprit::Kind::kNone;
  std::string name, input, made_by;  // As in Culprit.
  std::string bits;                  // Bits of the outputs, if they were judged.
  std::string stage;                 // The last stage: "reading", "pass algsimp#2", "compiling", ...
  int64_t pass = 0;                  // The number of the last pass instance that started.
  double figure = 0;                 // Kernels, bytes or seconds.
  double seconds = 0;                // Time of the trial.
  struct Instance {
    std::string name, stage;
    int64_t number = 0;
    bool changed = false;
  };
  std::vector<Instance> instances;  // Pass instances that ran.
  // A decision of an autotuning lock for the module, and the default without it.
  struct Decision {
    std::string key, step, signature, chosen, without;
    int64_t steps = 0;  // Steps with that key; `step` is the first of them.
  };
  std::vector<Decision> decisions;
  std::map<std::string, int64_t> rewrites;  // Keyed by rule.

  // Whether it has the requested property.
  bool Shows(const Property& property) const;
  // `detail`, or a sentence that nothing is wrong or that the fault was not planted.
  std::string Text() const;
};

struct TrialOptions {
  Property property;
  Depth depth = Depth::kRun;
  double seconds = 60;  // For one trial; longer ones count as endless.
  int threads = 0;      // For one trial; 0 is all.
  // RunOptions::asks_for_roundings, which is slow but needed to detect inconclusive verdicts.
  bool asks_for_roundings = true;
};

// The depth needed to see the `way` of `symptom` again.
Depth DepthOf(const Symptom& symptom, const Property& property);

// One trial in a child process.
class Trial {
 public:
  Trial(std::shared_ptr<const SourceText> text, const RunOptions& run, const TrialOptions& options);

  bool Finished();           // Does not wait.
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
