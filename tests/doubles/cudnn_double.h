// A double of cuDNN's backend, in the process or as a library (cudnn.cpp). It computes by the definitions. It checks
// attributes of descriptors and when they are set, that graphs are complete, and that each tensor of an execution has
// one pointer.
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
// Adds to the array that problem.kind computes: images, weights or outputs. All kinds add up the products of the
// forward convolution. The tensors of `problem` are not used.
void Convolve(const ConvolutionProblem& problem, ConvolutionArray& images, ConvolutionArray& weights,
              ConvolutionArray& outputs);

// Only one double may exist at a time. Its engines, in the order of its heuristics:
//   0   is not deterministic
//   1   uses tensor cores
//   2   needs more workspace than there is
//   3   is a plain engine
struct CudnnDouble {
  std::function<void(const std::string&)> violated;  // Receives a description of each misuse of the double.
  // Memory that an execution accesses.
  struct Touched {
    const void* begin;
    size_t bytes;
    bool writes;
  };
  // Queues an execution on a stream. If null, executions run at once.
  std::function<int(void* stream, std::function<void()>, const std::vector<Touched>&)> enqueue = nullptr;
  std::function<bool(const void* begin, size_t bytes)> is_memory = nullptr;
  bool takes_epilogues = true, takes_sums = true;
  int fail_at = 0;  // The number of the call that fails, counted from 1.

  int calls = 0, executions = 0;
  int alive = 0;  // The number of descriptors and handles.

  cudnn::Api api();
};

}  // namespace hlo::gpu

#endif  // HLO_TESTS_DOUBLES_CUDNN_DOUBLE_H_
