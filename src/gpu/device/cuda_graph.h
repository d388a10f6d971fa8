// Records a CUDA stream's work as a graph by stream capture, with conditional nodes for loops and branches.
#ifndef HLO_GPU_DEVICE_CUDA_GRAPH_H_
#define HLO_GPU_DEVICE_CUDA_GRAPH_H_

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/result.h"
#include "gpu/device/cuda_driver.h"
#include "gpu/device/device.h"

namespace hlo::gpu {

// Captures the one stream that libraries use. The capture ends before a conditional node, continues in the graph of
// each body, and then after the node.
class CudaRecorder {
 public:
  CudaRecorder(const Driver& driver, CudaHandle context, CudaHandle stream)
      : driver_(driver), context_(context), stream_(stream) {}

  Status Begin();
  Result<std::shared_ptr<const Recording>> End();
  void Drop();
  Status Launch(const Recording& recording);

  // Last returns the nodes that the next node depends on, and After sets them.
  Result<std::vector<CudaHandle>> Last() const;
  Status After(std::span<const CudaHandle> nodes);
  // Records the kernel that `launch` queues. The kernel's code waits for predecessors, so the kernel may start before a
  // predecessor recorded by Early has ended.
  Status Early(const std::function<Status()>& launch);

  // While `on`, TakeNew returns nodes recorded since its last call or Begin.
  void ListNodes(bool on) { lists_ = on; }
  Result<std::vector<CudaHandle>> TakeNew();

  // Makes a condition and returns its handle.
  Result<void*> MakeCondition();
  // Adds a conditional node (kIfNode, kWhileNode or kSwitchNode). Each function queues one body. Null is an empty body.
  Status Add(int form, void* condition, std::span<const std::function<Status()>> bodies);

 private:
  struct Capture {
    CudaHandle graph = nullptr;
    std::vector<CudaHandle> after;
  };
  Result<Capture> Now() const;
  Status ListNew();
  Status Pause();
  Status GoOn(CudaHandle graph, std::span<const CudaHandle> after);

  const Driver& driver_;
  CudaHandle context_, stream_;
  bool captures_ = false;
  bool lost_ = false;           // Whether a graph was lost (see Pause).
  CudaHandle graph_ = nullptr;  // The recorded graph; set by the first pause.
  std::set<CudaHandle> early_;  // Nodes that Early recorded.
  bool lists_ = false;
  std::set<CudaHandle> listed_;
  std::vector<CudaHandle> new_;  // Nodes that TakeNew has not returned yet.
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_CUDA_GRAPH_H_
