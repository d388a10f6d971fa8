// Candidates that are not to be taken, whatever they measure: --xla_gpu_algorithm_denylist_path. A line each of a text
// file, the key of a step or `*`, and words (choice.h) all of which the candidate has:
//
//   # gemm:jit is wrong here
//   key=55d0c0ffee15900d  library=oneDNN algorithm=gemm:jit
//   *                     algorithm=heuristic_7
//
// XLA's own file, `entries { ... }`, is read as far as to say that it holds nothing for this program: it names its
// custom calls by their text.
#ifndef HLO_GPU_RUNTIME_TUNING_DENYLIST_H_
#define HLO_GPU_RUNTIME_TUNING_DENYLIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo::gpu {

class Denylist {
 public:
  // Errors (A027, at the line): neither a key nor *, or no words.
  static Result<Denylist> Read(const std::string& path);

  bool empty() const { return rows_.empty(); }
  bool Denies(std::string_view key, std::string_view words) const;

 private:
  struct Row {
    std::string key;  // Empty: of any step.
    std::vector<std::string> words;
  };
  std::vector<Row> rows_;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_DENYLIST_H_
