// The symptom of a failure. Failures are the same if their `way` is equal: the kind of verdict and the culprit, the
// signal and place of a crash, the code of an error, or the status of a script.
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
  kFails,
  kMismatch,  // A wrong kernel, pass, ...
  kCrash,     // A signal, a failed CHECK, or a hang.
  kError,     // A diagnostic, with `code` unless that is empty.
  kNan,       // Outputs have NaN although no argument does. In the interpreter: an instruction makes NaN.
  kSlower,    // More than `limit` times slower than the good end, as modelled or measured.
  kKernels,   // More kernels than `limit`, or than the good end.
  kBytes,     // More bytes moved than `limit`, or than the good end.
  kScript,    // A command exits with a nonzero status. 125 means undecided.
};

struct Property {
  PropertyKind kind = PropertyKind::kFails;
  std::optional<double> limit;
  std::string code, command;
  std::optional<Pattern> words;  // Must also match the text of the failure.
  std::string text = "fails";    // The value of --property.

  bool IsFigure() const {
    return kind == PropertyKind::kSlower || kind == PropertyKind::kKernels || kind == PropertyKind::kBytes;
  }
};

// Parses "mismatch", "slower:1.2", "error:V012" or "script:grep -q tanh $1". Errors: usage.
Result<Property> ParseProperty(std::string_view text, std::string_view fail_regex);
std::string PropertiesText();

// The part of a run that decides a property.
enum class Depth : uint8_t {
  kRun,
  kKernels,  // Kernels are judged, but not passes.
  kMeaning,  // Judges whether the passes keep the meaning, and names the culprit.
  // Like kMeaning, but without the culprit's name.
  kEnds,
  kPasses,
  kRead,  // Parsing and verifying.
};

struct Symptom {
  std::string way;       // "MISMATCH: pass algsimp", or "" for no failure.
  std::string detail;    // The failure in words, with names. Without a failure: a note if no fault was planted.
  bool untried = false;  // The trial could not be judged.
  Culprit::Kind accused = Culprit::Kind::kNone;
  std::string name, input, made_by;  // As in Culprit.
  std::string bits;                  // "" if the outputs were not judged.
  std::string stage;                 // The last stage: "reading", "pass algsimp#2", "compiling", ...
  int64_t pass = 0;                  // Number of the last pass instance that started.
  double figure = 0;
  double seconds = 0;
  struct Instance {
    std::string name, stage;
    int64_t number = 0;
    bool changed = false;
  };
  std::vector<Instance> instances;  // Excludes skipped instances.
  // A decision of the lock file, and the choice without it.
  struct Decision {
    std::string key, step, signature, chosen, without;
    int64_t steps = 0;  // Number of steps with that key. `step` is the first.
  };
  std::vector<Decision> decisions;
  std::map<std::string, int64_t> rewrites;  // Keyed by rule.

  bool Shows(const Property& property) const;
  // `detail`, or "no failure" with the note in `detail`.
  std::string Text() const;
};

struct TrialOptions {
  Property property;
  Depth depth = Depth::kRun;
  double seconds = 60;  // Longer trials count as hangs.
  int threads = 0;      // 0 is all.
  // Runs ensembles, which are slow but needed for inconclusive verdicts.
  bool asks_for_roundings = true;
};

// The depth needed to see `symptom` again.
Depth DepthOf(const Symptom& symptom, const Property& property);

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
