// The driver's double: streams, what is queued on them, events, and graphs that are captured.
#include <chrono>
#include <deque>

#include "tests/doubles/cuda.h"

namespace hlo::doubles {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kNonBlocking = 1;
constexpr int kCaptureRelaxed = 2;

struct Stream {
  std::deque<Work> queue;
  bool captured = false;
  bool spoilt = false;  // Of a capture: something was asked for that cannot be.
  std::vector<Work> nodes;
};
struct Graph {
  std::vector<Work> nodes;
};
struct GraphExec {
  std::vector<Work> nodes;
};
struct Event {
  Stream* recorded_on = nullptr;
  bool captured = false;
  bool pending = false;
  Clock::time_point at = {};
};

template <class T>
Registry<T>& All(const char* what) {
  static auto* const all = new Registry<T>(what);
  return *all;
}
Registry<Stream>& Streams() { return All<Stream>("stream"); }
Registry<Graph>& Graphs() { return All<Graph>("graph"); }
Registry<GraphExec>& Execs() { return All<GraphExec>("executable graph"); }
Registry<Event>& Events() { return All<Event>("event"); }

std::deque<Stream*>& AllStreams() {
  static auto* const all = new std::deque<Stream*>;
  return *all;
}

// The null stream has no order with those that are made here, which do not wait for it.
Stream* FindStream(const Entry& entry, void* handle) {
  if (handle != nullptr) return Streams().Find(entry, handle);
  entry.Violates(0, "on the null stream");
  return nullptr;
}

int RunAll(Stream& stream) {
  while (!stream.queue.empty()) {
    const Work work = std::move(stream.queue.front());
    stream.queue.pop_front();
    Trace(Words("> ", work.what));
    if (const int status = work.run()) {
      stream.queue.clear();
      return NoteLoss(status);
    }
  }
  return CUDA_SUCCESS;
}

// "12 kernels, 1 copy, 2 products".
std::string Counted(const std::vector<Work>& nodes) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"kernel", "kernels"},           {"copy", "copies"},  {"fill", "fills"},  {"product", "products"},
      {"convolution", "convolutions"}, {"event", "events"}, {"graph", "graphs"}};
  std::string out;
  for (int kind = 0; kind <= static_cast<int>(WorkKind::kGraph); ++kind) {
    int count = 0;
    for (const Work& node : nodes) count += static_cast<int>(node.kind) == kind;
    if (count > 0)
      out += Words(out.empty() ? "" : ", ", count, " ", count == 1 ? kNames[kind].first : kNames[kind].second);
  }
  return out.empty() ? "nothing" : out;
}

// One node after the other, as they were captured from one stream.
int RunNodes(const std::vector<Work>& nodes) {
  for (const Work& node : nodes) {
    Trace(Words("> > ", node.what));
    if (const int status = node.run()) return status;
  }
  return CUDA_SUCCESS;
}

}  // namespace

int Enqueue(const Entry& entry, void* stream, Work work) {
  Stream* const on = FindStream(entry, stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (on->captured) on->nodes.push_back(std::move(work));
  else on->queue.push_back(std::move(work));
  return CUDA_SUCCESS;
}

// A stream that is captured has nothing to do.
int Drain(void* stream) { return RunAll(*static_cast<Stream*>(stream)); }

int DrainAll() {
  for (Stream* stream : AllStreams()) {
    if (const int status = RunAll(*stream)) return status;
  }
  return CUDA_SUCCESS;
}

}  // namespace hlo::doubles

using namespace hlo::doubles;  // NOLINT: the functions of the interface follow.

extern "C" {

// ---- Streams -------------------------------------------------------------------------------------------------------

int cuStreamCreate(void** stream, unsigned flags) {
  ENTER(cuStreamCreate);
  if (flags != kNonBlocking) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "a stream that waits for the null stream");
  Stream* const made = Streams().Add({});
  AllStreams().push_back(made);
  *stream = made;
  return CUDA_SUCCESS;
}

// What is queued is done nevertheless.
int cuStreamDestroy_v2(void* stream) {
  ENTER(cuStreamDestroy_v2);
  Stream* const found = FindStream(entry, stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->captured) entry.Violates(0, "of a stream that is captured");
  const int drained = RunAll(*found);
  Streams().Remove(entry, stream);
  return entry.status() != CUDA_SUCCESS ? entry.status() : drained;
}

int cuStreamSynchronize(void* stream) {
  ENTER(cuStreamSynchronize);
  Stream* const found = FindStream(entry, stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->captured) {
    found->spoilt = true;
    return entry.Violates(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "of a stream that is captured");
  }
  return RunAll(*found);
}

// ---- Events --------------------------------------------------------------------------------------------------------

int cuEventCreate(void** event, unsigned flags) {
  ENTER(cuEventCreate);
  if (flags != 0) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "an event that takes no time");
  *event = Events().Add({});
  return CUDA_SUCCESS;
}

int cuEventDestroy_v2(void* event) {
  ENTER(cuEventDestroy_v2);
  return Events().Remove(entry, event) ? entry.status() : CUDA_ERROR_INVALID_HANDLE;
}

int cuEventRecord(void* event, void* stream) {
  ENTER(cuEventRecord);
  Event* const found = Events().Find(entry, event);
  Stream* const on = FindStream(entry, stream);
  if (found == nullptr || on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  found->recorded_on = on;
  found->captured = on->captured;
  found->pending = !on->captured;
  return Enqueue(entry, stream, {.kind = WorkKind::kEvent, .what = "event", .run = [found] {
                                   found->at = Clock::now();
                                   found->pending = false;
                                   return int{CUDA_SUCCESS};
                                 }});
}

int cuEventSynchronize(void* event) {
  ENTER(cuEventSynchronize);
  const Event* const found = Events().Find(entry, event);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->captured) return entry.Violates(CUDA_ERROR_CAPTURED_EVENT, "of an event that was recorded into a graph");
  if (found->recorded_on == nullptr) return entry.Violates(CUDA_SUCCESS, "of an event that was never recorded");
  return found->pending ? RunAll(*found->recorded_on) : int{CUDA_SUCCESS};
}

int cuEventElapsedTime(float* ms, void* begin, void* end) {
  ENTER(cuEventElapsedTime);
  const Event *const first = Events().Find(entry, begin), *const last = Events().Find(entry, end);
  if (first == nullptr || last == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (first->recorded_on == nullptr || last->recorded_on == nullptr)
    return entry.Violates(CUDA_ERROR_INVALID_HANDLE, "of an event that was never recorded");
  if (first->pending || last->pending)
    return entry.Violates(CUDA_ERROR_NOT_READY, "of an event that nobody waited for");
  *ms = std::chrono::duration<float, std::milli>(last->at - first->at).count();
  return CUDA_SUCCESS;
}

// ---- Graphs --------------------------------------------------------------------------------------------------------

int cuStreamBeginCapture_v2(void* stream, int mode) {
  ENTER(cuStreamBeginCapture_v2);
  Stream* const found = FindStream(entry, stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->captured) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "of a stream that is captured");
  if (mode != kCaptureRelaxed)  // What other modes forbid while they last is not checked here.
    return entry.Violates(CUDA_ERROR_NOT_SUPPORTED, Words("the double has no capture of mode ", mode));
  found->captured = true;
  return CUDA_SUCCESS;
}

// The capture ends in any case.
int cuStreamEndCapture(void* stream, void** graph) {
  ENTER(cuStreamEndCapture);
  Stream* const found = FindStream(entry, stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!found->captured) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "of a stream that is not captured");
  Graph captured{.nodes = std::move(found->nodes)};
  const bool spoilt = found->spoilt;
  found->nodes.clear();
  found->captured = found->spoilt = false;
  *graph = nullptr;
  if (entry.status() != CUDA_SUCCESS) return entry.status();
  if (spoilt) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = Graphs().Add(std::move(captured));
  return CUDA_SUCCESS;
}

int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  ENTER(cuGraphInstantiateWithFlags);
  const Graph* const found = Graphs().Find(entry, graph);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags != 0) return entry.Violates(CUDA_ERROR_INVALID_VALUE, Words("the double knows no flags ", flags));
  if (found->nodes.empty()) entry.Violates(0, "of a graph without nodes");
  for (const Work& node : found->nodes) {
    if (node.kind == WorkKind::kCopy && node.what.starts_with("copy in"))
      entry.Violates(0, "a copy from the process's memory is in the graph, which would be read at each launch");
    if (node.kind == WorkKind::kCopy && node.what.starts_with("copy out"))
      entry.Violates(0, "a copy to the process's memory is in the graph");
  }
  *executable = Execs().Add({.nodes = found->nodes});
  Trace(Words("> graph of ", Counted(found->nodes)));
  return CUDA_SUCCESS;
}

int cuGraphUpload(void* executable, void* stream) {
  ENTER(cuGraphUpload);
  if (Execs().Find(entry, executable) == nullptr || FindStream(entry, stream) == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  return CUDA_SUCCESS;
}

int cuGraphLaunch(void* executable, void* stream) {
  ENTER(cuGraphLaunch);
  const GraphExec* const found = Execs().Find(entry, executable);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Enqueue(entry, stream,
                 {.kind = WorkKind::kGraph, .what = "graph", .run = [found] { return RunNodes(found->nodes); }});
}

int cuGraphDestroy(void* graph) {
  ENTER(cuGraphDestroy);
  return Graphs().Remove(entry, graph) ? entry.status() : CUDA_ERROR_INVALID_HANDLE;
}

// Launches that are under way go on.
int cuGraphExecDestroy(void* executable) {
  ENTER(cuGraphExecDestroy);
  return Execs().Remove(entry, executable) ? entry.status() : CUDA_ERROR_INVALID_HANDLE;
}

}  // extern "C"
