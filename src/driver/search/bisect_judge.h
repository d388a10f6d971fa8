// Tries variants of a module for a bisection, and compares them with the failure at the bad end.
#ifndef HLO_DRIVER_SEARCH_BISECT_JUDGE_H_
#define HLO_DRIVER_SEARCH_BISECT_JUDGE_H_

#include <memory>
#include <string>

#include "base/parallel.h"
#include "base/result.h"
#include "base/source_text.h"
#include "driver/search/bisect.h"
#include "driver/search/symptom.h"
#include "driver/search/variant.h"

namespace hlo::bisect {

using Text = std::shared_ptr<const SourceText>;

enum class Answer : uint8_t { kGood, kBad, kUntried };

Error NotHeld(std::string message);

class Judge {
 public:
  Judge(std::string path, const BisectOptions& options);
  ~Judge() { SetThreads(threads_); }
  Judge(const Judge&) = delete;

  Result<Symptom> LookAtEnds(const Text& bad_text, const RunOptions& bad, const Text& good_text,
                             const RunOptions& good);

  Answer AnswerOf(const Text& text, const RunOptions& run);

  // Runs only the passes. The symptom includes decisions from a lock.
  Symptom Look(const Text& text, const RunOptions& run);

  // Number of options_.confirm tries that give `answer`. `known` earlier tries gave it already, and are not repeated.
  int Count(const Text& text, const RunOptions& run, Answer answer, int known = 0);

  const Symptom& last() const { return last_; }

 private:
  Symptom Try(const Text& text, const RunOptions& run);
  Result<double> LimitOf(const Symptom& good) const;

  // Measured times are compared by the median quotient of several rounds.
  bool IsBeyond(double figure, const RunOptions& run);
  std::string FigureText(double figure) const;

  const int threads_ = Threads();
  const std::string path_;
  const BisectOptions& options_;
  TrialOptions trial_;
  Symptom way_, last_;
  double limit_ = 0;
  double times_ = 0;
  std::unique_ptr<VariantProcess> good_process_;
};

}  // namespace hlo::bisect

#endif  // HLO_DRIVER_SEARCH_BISECT_JUDGE_H_
