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

// Supports F16, BF16 and F32.
DataType TypeOf(PrimitiveType type);

// Where a graph is made: on the device of `handle`, or for the device of `description`, which can make plans but not
// run them.
struct Where {
  Handle handle = nullptr;
  const Descriptor* description = nullptr;
};

// The form that cuDNN accepts: at least two spatial dimensions, and dense tensors that all have channels last or all
// have channels first.
struct PreparedConvolution {
  ConvolutionProblem problem;
  bool channels_last = true;
  // The weights' dimensions larger than 1, outermost first: in the order that cuDNN needs, and in memory order.
  std::vector<int64_t> weights_order, weights_in_memory;
  std::string why_not;  // Empty if cuDNN can express the convolution.

  bool WeightsMove() const;
};
PreparedConvolution PrepareConvolution(const ConvolutionProblem& problem);

// A tensor's memory when a graph runs.
struct Slot {
  enum class Source : uint8_t { kOperand, kWeights, kResult, kSum, kScratch, kConstant } source;
  int64_t operand = -1;
  float constant = 0;
  int64_t number = 0;  // The call's result number, or the index of a sum.
};

struct Graph {
  std::deque<Descriptor> parts;
  const Descriptor* whole = nullptr;
  std::vector<Slot> slots;  // Slot i has the unique id i + 1.
};

// `with_epilogue` includes sums. Errors: cuDNN rejects the graph, or cannot express the epilogue or sums.
Result<Graph> MakeGraph(const Api& api, const Where& where, const PreparedConvolution& prepared, bool with_epilogue);

// Receives why parts of cuDNN were skipped, except those that cuDNN does not support. May be null.
using Notes = std::vector<std::string>*;
void NotePassedOver(Notes notes, std::string_view what, const Error& error);

struct Engine {
  int64_t index = 0;
  bool is_compiled = false;  // Making the plan compiles code.
  std::string why_not;       // Empty if the engine is deterministic and precise.
};
Engine Describe(const Api& api, const Descriptor& config, PrimitiveType type, bool allow_tf32, Notes notes);

// cuDNN's proposed configurations, best first. Their order is fixed for a device and version.
std::vector<Descriptor> Configurations(const Api& api, const Where& where, const Graph& graph, Notes notes);

struct Plan {
  Descriptor plan;
  int64_t workspace = 0;
};
Result<Plan> MakePlan(const Api& api, const Where& where, const Descriptor& config);

}  // namespace hlo::gpu::cudnn

#endif  // HLO_GPU_LIBRARIES_CUDNN_GRAPH_H_
