// cuDNN's backend for tests, in the process or as a library (cudnn.cpp): computed by the definition. It checks how it
// is called: what is told to descriptors and when, that the graph is whole, that each tensor that runs has one pointer.
#ifndef HLO_TESTS_DOUBLES_CUDNN_DOUBLE_H_
#define HLO_TESTS_DOUBLES_CUDNN_DOUBLE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/libraries/convolution.h"
#include "gpu/libraries/cudnn_api.h"

namespace hlo::gpu {

struct ConvolutionArray {
  std::vector<int64_t> dims, strides;
  std::vector<double> elements;
};
// Adds to the result of problem.kind, by the definition of the forward convolution: the three arrays meet in the same
// products, whichever is the result. Tensors of `problem` are not looked at.
void Convolve(const ConvolutionProblem& problem, ConvolutionArray& images, ConvolutionArray& weights,
              ConvolutionArray& outputs);

// There is one double at a time. Its engines, in the order of its heuristics:
//   0   not deterministic
//   1   tensor cores
//   2   more workspace than there is
//   3   a plain one
struct CudnnDouble {
  std::function<void(const std::string&)> violated;  // It is told what is wrong with how the double is called.
  // What an execution does, onto a stream, and the memory that it is about to touch; null: at once, whatever it is.
  struct Touched {
    const void* begin;
    size_t bytes;
    bool writes;
  };
  std::function<int(void* stream, std::function<void()>, const std::vector<Touched>&)> enqueue = nullptr;
  std::function<bool(const void* begin, size_t bytes)> is_memory = nullptr;
  bool takes_epilogues = true, takes_sums = true;
  int fail_at = 0;  // The call of that number fails, from 1 on.

  int calls = 0, executions = 0;
  int alive = 0;  // Descriptors and handles.

  cudnn::Api api();
};

}  // namespace hlo::gpu

#endif  // HLO_TESTS_DOUBLES_CUDNN_DOUBLE_H_
