// Records the work of a CUDA stream as a graph by stream capture, with conditional nodes for loops and branches.
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

// The capture ends before a conditional node, continues in each body, and then after the node. A second stream would
// change the stream of libraries.
class CudaRecorder {
 public:
  CudaRecorder(const Driver& driver, CudaHandle context, CudaHandle stream)
      : driver_(driver), context_(context), stream_(stream) {}

  Status Begin();
  Result<std::shared_ptr<const Recording>> End();
  void Drop();
  Status Launch(const Recording& recording);

  // The nodes that the next node depends on.
  Result<std::vector<CudaHandle>> Last() const;
  Status After(std::span<const CudaHandle> nodes);
  // `launch` queues a kernel that waits in its code for its predecessors. The kernel may start before predecessors that
  // were queued in this way have ended.
  Status Early(const std::function<Status()>& launch);

  // While enabled, TakeNew returns the nodes recorded since its last call or Begin.
  void ListNodes(bool on) { lists_ = on; }
  Result<std::vector<CudaHandle>> TakeNew();

  // Returns the handle that kernels need to set the condition.
  Result<void*> MakeCondition();
  // Adds a conditional node. A function queues each body; null is an empty body.
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
  bool lost_ = false;           // See Pause.
  CudaHandle graph_ = nullptr;  // Set by the first pause.
  std::set<CudaHandle> early_;  // Kernels that wait in their code.
  bool lists_ = false;
  std::set<CudaHandle> listed_;
  std::vector<CudaHandle> new_;  // Not yet taken.
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_CUDA_GRAPH_H_
