// Candidates that must not be used: --xla_gpu_algorithm_denylist_path. Each line has the key of a step or `*`, and
// words (choice.h). It excludes candidates that have all these words:
//
//   # gemm:jit is wrong here
//   key=55d0c0ffee15900d  library=oneDNN algorithm=gemm:jit
//   *                     algorithm=heuristic_7
//
// XLA's own file, `entries { ... }`, excludes nothing.
#ifndef HLO_GPU_RUNTIME_TUNING_DENYLIST_H_
#define HLO_GPU_RUNTIME_TUNING_DENYLIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo::gpu {

class Denylist {
 public:
  // Errors (A027, at the line): neither a key nor * at the start, or no words.
  static Result<Denylist> Read(const std::string& path);

  bool empty() const { return rows_.empty(); }
  bool Denies(std::string_view key, std::string_view words) const;

 private:
  struct Row {
    std::string key;  // Empty for all steps.
    std::vector<std::string> words;
  };
  std::vector<Row> rows_;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_DENYLIST_H_
