#include "gpu/device/cuda_graph.h"

#include <utility>
#include <vector>

namespace hlo::gpu {
namespace {

// `graph` is kept if it has conditional nodes, because it owns their conditions.
struct CudaRecording : Recording {
  CudaRecording(const Driver& driver, CudaHandle context) : driver(driver), context(context) {}
  ~CudaRecording() override {
    driver.Ended("cuCtxSetCurrent", driver.set_context(context));
    if (executable != nullptr) driver.Ended("cuGraphExecDestroy", driver.destroy_graph_exec(executable));
    if (graph != nullptr) driver.Ended("cuGraphDestroy", driver.destroy_graph(graph));
  }

  const Driver& driver;
  CudaHandle context;
  CudaHandle executable = nullptr, graph = nullptr;
};

}  // namespace

Status CudaRecorder::Begin() {
  lost_ = false;
  early_.clear();
  listed_.clear();
  new_.clear();
  TRY(driver_.Check("cuStreamBeginCapture", driver_.begin_capture(stream_, kCaptureRelaxed)));
  captures_ = true;
  return {};
}

void CudaRecorder::Drop() {
  CudaHandle ended = nullptr;
  if (std::exchange(captures_, false)) {
    const Status32 status = driver_.end_capture(stream_, &ended);
    driver_.Ended("cuStreamEndCapture", status);
    lost_ = lost_ || status != 0;
    if (graph_ == nullptr) graph_ = ended;
  }
  const CudaHandle graph = std::exchange(graph_, nullptr);
  if (graph != nullptr && !lost_) driver_.Ended("cuGraphDestroy", driver_.destroy_graph(graph));
}

// Ends the capture also after an error, because a capturing stream executes no work.
Result<std::shared_ptr<const Recording>> CudaRecorder::End() {
  const bool decides = graph_ != nullptr;
  if (Status paused = Pause(); !paused) {
    Drop();
    return std::unexpected(std::move(paused).error());
  }
  const CudaHandle graph = std::exchange(graph_, nullptr);
  auto recording = std::make_shared<CudaRecording>(driver_, context_);
  const Status32 status = driver_.instantiate_graph(&recording->executable, graph, 0);
  if (decides) recording->graph = graph;
  else driver_.Ended("cuGraphDestroy", driver_.destroy_graph(graph));
  TRY(driver_.Check("cuGraphInstantiateWithFlags", status));
  // Graphs with conditional nodes are uploaded by their first launch.
  if (!decides) TRY(driver_.Check("cuGraphUpload", driver_.upload_graph(recording->executable, stream_)));
  return recording;
}

Status CudaRecorder::Launch(const Recording& recording) {
  TRY(driver_.Check("cuGraphLaunch",
                    driver_.launch_graph(static_cast<const CudaRecording&>(recording).executable, stream_)));
  return {};
}

Result<CudaRecorder::Capture> CudaRecorder::Now() const {
  int status = 0;
  Capture capture;
  const CudaHandle* after = nullptr;
  const CudaGraphEdge* edges = nullptr;
  size_t count = 0;
  TRY(driver_.Check("cuStreamGetCaptureInfo",
                    driver_.capture_info(stream_, &status, nullptr, &capture.graph, &after, &edges, &count)));
  if (status != kCaptureActive) FAIL(driver_.Failed("cuStreamGetCaptureInfo", kCudaCaptureInvalidated));
  capture.after.assign(after, after + count);
  return capture;
}

// If a capture cannot be ended, the driver drops its graph. Another graph with the dropped one as a body must not be
// used or destroyed.
Status CudaRecorder::Pause() {
  captures_ = false;
  CudaHandle ended = nullptr;
  const Status32 status = driver_.end_capture(stream_, &ended);
  lost_ = lost_ || status != 0;
  TRY(driver_.Check("cuStreamEndCapture", status));
  if (graph_ == nullptr) graph_ = ended;
  return {};
}

Status CudaRecorder::GoOn(CudaHandle graph, std::span<const CudaHandle> after) {
  TRY(driver_.Check("cuStreamBeginCaptureToGraph",
                    driver_.begin_capture_to(stream_, graph, after.data(), nullptr, after.size(), kCaptureRelaxed)));
  captures_ = true;
  return {};
}

Result<std::vector<CudaHandle>> CudaRecorder::Last() const { return TRY(Now()).after; }

Status CudaRecorder::After(std::span<const CudaHandle> nodes) {
  std::vector<CudaHandle> after(nodes.begin(), nodes.end());
  TRY(driver_.Check("cuStreamUpdateCaptureDependencies",
                    driver_.set_dependencies(stream_, after.data(), nullptr, after.size(), kReplaceDependencies)));
  return {};
}

// The edges apply to the next node, the launched kernel.
Status CudaRecorder::Early(const std::function<Status()>& launch) {
  Capture before = TRY(Now());
  std::vector<CudaGraphEdge> edges(before.after.size());
  bool any = false;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (!early_.contains(before.after[i])) continue;
    edges[i] = {.from_port = kProgrammaticPort, .to_port = 0, .type = kProgrammaticEdge, .reserved = {}};
    any = true;
  }
  if (any) {
    TRY(driver_.Check(
        "cuStreamUpdateCaptureDependencies",
        driver_.set_dependencies(stream_, before.after.data(), edges.data(), edges.size(), kReplaceDependencies)));
  }
  TRY(launch());
  const Capture after = TRY(Now());
  early_.insert(after.after.begin(), after.after.end());
  return {};
}

// Finds new nodes on paths from the next node's predecessors back to listed nodes.
Status CudaRecorder::ListNew() {
  if (!lists_) return {};
  std::vector<CudaHandle> open = TRY(Now()).after;
  while (!open.empty()) {
    const CudaHandle node = open.back();
    open.pop_back();
    if (!listed_.insert(node).second) continue;
    new_.push_back(node);
    // The driver returns at most `room` predecessors, so a full list may lack some.
    for (size_t room = 16;; room *= 4) {
      std::vector<CudaHandle> before(room);
      std::vector<CudaGraphEdge> edges(room);
      size_t count = room;
      TRY(driver_.Check("cuGraphNodeGetDependencies",
                        driver_.node_dependencies(node, before.data(), edges.data(), &count)));
      if (count == room) continue;
      open.insert(open.end(), before.begin(), before.begin() + static_cast<ptrdiff_t>(count));
      break;
    }
  }
  return {};
}

Result<std::vector<CudaHandle>> CudaRecorder::TakeNew() {
  TRY(ListNew());
  return std::exchange(new_, {});
}

// Each launch resets the condition to 0, so if and while bodies do not run unless a kernel sets it.
Result<void*> CudaRecorder::MakeCondition() {
  const Capture now = TRY(Now());
  unsigned long long handle = 0;
  TRY(driver_.Check("cuGraphConditionalHandleCreate",
                    driver_.create_condition(&handle, now.graph, context_, 0, kInitiallyAtEachLaunch)));
  return reinterpret_cast<void*>(handle);
}

Status CudaRecorder::Add(int form, void* condition, std::span<const std::function<Status()>> bodies) {
  const Capture now = TRY(Now());
  TRY(ListNew());
  TRY(Pause());
  CudaNodeParams params = {.condition = reinterpret_cast<unsigned long long>(condition),
                           .form = form,
                           .size = static_cast<unsigned>(bodies.size()),
                           .context = context_};
  CudaHandle node = nullptr;
  TRY(driver_.Check("cuGraphAddNode",
                    driver_.add_node(&node, now.graph, now.after.data(), nullptr, now.after.size(), &params)));
  const std::vector<CudaHandle> graphs(params.bodies, params.bodies + bodies.size());
  for (size_t i = 0; i < bodies.size(); ++i) {
    if (bodies[i] == nullptr) continue;
    TRY(GoOn(graphs[i], {}));
    TRY(bodies[i]());
    TRY(ListNew());
    TRY(Pause());
  }
  return GoOn(now.graph, std::span(&node, 1));
}

}  // namespace hlo::gpu
