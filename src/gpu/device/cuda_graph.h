// What a stream of a CUDA device is given, kept as a graph: captured, with nodes in it that decide about loops and
// branches.
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

// One capture at a time: it ends before a node that decides, goes on into each body, and then behind the node. So there
// is no second stream, and libraries keep theirs.
class CudaRecorder {
 public:
  CudaRecorder(const Driver& driver, CudaHandle context, CudaHandle stream)
      : driver_(driver), context_(context), stream_(stream) {}

  Status Begin();
  Result<std::shared_ptr<const Recording>> End();
  void Drop();
  Status Launch(const Recording& recording);

  // The nodes that what comes next has to wait for; from here on those.
  Result<std::vector<CudaHandle>> Last() const;
  Status After(std::span<const CudaHandle> nodes);
  // `launch` queues a kernel that waits in its code for those before it. Of these, kernels that were queued so need not
  // have ended when it begins.
  Status Early(const std::function<Status()>& launch);

  // While it is on, TakeNew gives the nodes that were recorded since the last time, or since Begin.
  void ListNodes(bool on) { lists_ = on; }
  Result<std::vector<CudaHandle>> TakeNew();

  // The handle of a condition for a node of what is recorded now, as the argument of kernels that set it.
  Result<void*> MakeCondition();
  // A node of this form: each body is queued by its function; null: it is empty.
  Status Add(int form, void* condition, std::span<const std::function<Status()>> bodies);

 private:
  struct Capture {
    CudaHandle graph = nullptr;
    std::vector<CudaHandle> after;  // The nodes that the next one has to wait for.
  };
  Result<Capture> Now() const;
  Status ListNew();
  Status Pause();
  Status GoOn(CudaHandle graph, std::span<const CudaHandle> after);

  const Driver& driver_;
  CudaHandle context_, stream_;
  bool captures_ = false;
  bool lost_ = false;           // The graph belongs to nobody any more: see Pause.
  CudaHandle graph_ = nullptr;  // The whole, from the first pause on.
  std::set<CudaHandle> early_;  // Nodes: kernels that wait in their code.
  bool lists_ = false;
  std::set<CudaHandle> listed_;  // All nodes that ListNew has seen.
  std::vector<CudaHandle> new_;  // Those of them that nobody has taken.
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_CUDA_GRAPH_H_
