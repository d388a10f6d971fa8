// A convolution as cuDNN's operation graph, and cuDNN's engines for it.
#ifndef HLO_GPU_LIBRARIES_CUDNN_GRAPH_H_
#define HLO_GPU_LIBRARIES_CUDNN_GRAPH_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/libraries/convolution.h"
#include "gpu/libraries/cudnn_api.h"

namespace hlo::gpu::cudnn {

// F16, BF16 or F32.
DataType TypeOf(PrimitiveType type);

// The device of a plan: a present device by its handle, or a described one, which suffices for making plans.
struct Where {
  Handle handle = nullptr;
  const Descriptor* description = nullptr;
};

// A convolution in the form that cuDNN accepts: at least two spatial dimensions, and dense tensors that all have
// channels last or all have channels first. Strides of dimensions of size 1 are normalized.
struct PreparedConvolution {
  ConvolutionProblem problem;
  bool channels_last = true;
  // The dimensions of weights above 1 in cuDNN's order and in memory order, the outermost first.
  std::vector<int64_t> weights_order, weights_in_memory;
  std::string why_not;  // Empty if cuDNN can express it.

  bool WeightsMove() const;  // Whether the two orders differ.
};
PreparedConvolution PrepareConvolution(const ConvolutionProblem& problem);

// The memory of a tensor when a graph runs.
struct Slot {
  enum class Source : uint8_t { kOperand, kWeights, kResult, kSum, kScratch, kConstant } source;
  int64_t operand = -1;  // kOperand
  float constant = 0;    // kConstant
  int64_t number = 0;    // kResult: the call's result number. kSum: the index in the problem.
};

// Descriptors refer to each other, so they live as long as the graph.
struct Graph {
  std::deque<Descriptor> parts;
  const Descriptor* whole = nullptr;
  std::vector<Slot> slots;  // The tensor with unique id i + 1. Internal tensors have none.
};

// A graph with the epilogue and the sums, or of the convolution alone. Errors: cuDNN rejects it, or it cannot express
// the epilogue or the sums.
Result<Graph> MakeGraph(const Api& api, const Where& where, const PreparedConvolution& prepared, bool with_epilogue);

// Receives the parts that were skipped because a call of cuDNN failed, except for unsupported ones. May be null.
using Notes = std::vector<std::string>*;
void NotePassedOver(Notes notes, std::string_view what, const Error& error);

struct Engine {
  int64_t index = 0;
  bool is_compiled = false;  // Making its plan compiles code.
  std::string why_not;       // Empty if its results keep our promises.
};
Engine Describe(const Api& api, const Descriptor& config, PrimitiveType type, bool allow_tf32, Notes notes);

// In the order of cuDNN's heuristics, best first and fallbacks last. The order is fixed for a device and a version.
std::vector<Descriptor> Configurations(const Api& api, const Where& where, const Graph& graph, Notes notes);

struct Plan {
  Descriptor plan;
  int64_t workspace = 0;
};
Result<Plan> MakePlan(const Api& api, const Where& where, const Descriptor& config);

}  // namespace hlo::gpu::cudnn

#endif  // HLO_GPU_LIBRARIES_CUDNN_GRAPH_H_
