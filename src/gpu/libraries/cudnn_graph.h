// A convolution as cuDNN's operation graph, and the engines that it has for it.
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

// Where a plan is to run: on a device at hand, by its handle, or on one that is described, as nothing but plans needs.
struct Where {
  Handle handle = nullptr;
  const Descriptor* description = nullptr;
};

// A convolution as cuDNN is told it: at least two spatial dimensions, its tensors dense with their channels last, or
// all of them first, whatever the strides of dimensions of size 1 were.
struct Laid {
  ConvolutionProblem problem;
  bool channels_last = true;
  // Dimensions of weights but those of size 1, as cuDNN has them, and as they lie: the outermost first.
  std::vector<int64_t> weights_order, weights_lie;
  std::string why_not;  // Empty: it can be told so.

  bool WeightsMove() const;  // They lie otherwise.
};
Laid Lay(const ConvolutionProblem& problem);

// What stands behind a tensor when a graph runs.
struct Slot {
  enum class Source : uint8_t { kOperand, kWeights, kResult, kSum, kScratch, kConstant } source;
  int64_t operand = -1;  // kOperand
  float constant = 0;    // kConstant
  int64_t number = 0;    // Of several, kResult: of the call's; kSum: its place in the problem.
};

// Descriptors refer to each other, so they live as long as the graph.
struct Graph {
  std::deque<Descriptor> parts;
  const Descriptor* whole = nullptr;
  std::vector<Slot> slots;  // The tensor of unique id i + 1; those that are kept inside have none.
};

// With the epilogue and sums of what that gives, or of the convolution alone. Errors: cuDNN finds it malformed, or the
// epilogue or the sums cannot be told.
Result<Graph> MakeGraph(const Api& api, const Where& where, const Laid& laid, bool with_epilogue);

// Gets what is passed over because a call of cuDNN's failed: not what it says that it does not support. Null: nobody is
// told.
using Notes = std::vector<std::string>*;
void NotePassedOver(Notes notes, std::string_view what, const Error& error);

struct Engine {
  int64_t index = 0;
  bool is_compiled = false;  // When its plan is made.
  std::string why_not;       // Empty: its results are what we promise.
};
Engine Describe(const Api& api, const Descriptor& config, PrimitiveType type, bool allow_tf32, Notes notes);

// In the order of cuDNN's heuristics, which is the same for a device and a version: what it finds best, then what it
// falls back to.
std::vector<Descriptor> Configurations(const Api& api, const Where& where, const Graph& graph, Notes notes);

struct Plan {
  Descriptor plan;
  int64_t workspace = 0;
};
Result<Plan> MakePlan(const Api& api, const Where& where, const Descriptor& config);

}  // namespace hlo::gpu::cudnn

#endif  // HLO_GPU_LIBRARIES_CUDNN_GRAPH_H_
