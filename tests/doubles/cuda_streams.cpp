// The double of the driver's streams: queued and captured work, and events.
#include <chrono>
#include <deque>
#include <utility>

#include "tests/doubles/cuda_graphs.h"

namespace hlo::doubles {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kNonBlocking = 1;
constexpr int kCaptureRelaxed = 2;

struct Stream {
  std::deque<Work> queue;
  Graph* captured = nullptr;  // The graph that captures work. If null, work is queued.
  bool spoilt = false;        // The capture is invalid, because an operation was not permitted.
  std::vector<Edge> after;    // The predecessors of the next captured node.
  // The predecessors as the last query returned them.
  std::vector<const void*> reported_nodes;
  std::vector<EdgeData> reported_edges;
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
Registry<Event>& Events() { return All<Event>("event"); }

std::deque<Stream*>& AllStreams() {
  static auto* const all = new std::deque<Stream*>;
  return *all;
}

// Using the null stream is a violation, because other streams do not wait for it.
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
    if (const int status = RunWatched(work, nullptr)) {
      stream.queue.clear();
      return NoteLoss(status);
    }
  }
  return CUDA_SUCCESS;
}

int Capture(const Entry& entry, Stream& stream, Graph* graph, int mode) {
  if (stream.captured != nullptr) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "of a stream that is captured");
  if (graph->is_captured) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "to a graph that is captured already");
  if (mode != kCaptureRelaxed)  // The restrictions of other modes are not implemented.
    return entry.Violates(CUDA_ERROR_NOT_SUPPORTED, Words("the double has no capture of mode ", mode));
  stream.captured = graph;
  graph->is_captured = true;
  return CUDA_SUCCESS;
}

const Watcher* the_watcher = nullptr;
uint32_t correlation_now = 0;

uint64_t SystemNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void SetWatcher(const Watcher* watcher) { the_watcher = watcher; }
void RecordQueued(uint32_t correlation) {
  if (the_watcher != nullptr) the_watcher->queued(correlation);
}
void RecordClone(const void* node, const void* copy) {
  if (the_watcher != nullptr) the_watcher->cloned(node, copy);
}

int RunWatched(const Work& work, const void* node, bool in_body) {
  if (work.correlation != 0) correlation_now = work.correlation;
  const uint64_t begin = SystemNow();
  const int status = work.run();
  if (the_watcher != nullptr && work.kind != WorkKind::kGraph && work.kind != WorkKind::kEvent)
    the_watcher->ran({work.kind, in_body ? 0 : correlation_now, node, begin, SystemNow()});
  return status;
}

int Enqueue(const Entry& entry, void* stream, Work work) {
  Stream* const on = FindStream(entry, stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (on->captured != nullptr) {
    on->after = {{AddNode(entry, *on->captured, std::move(work), on->after)}};
  } else {
    static uint32_t calls = 0;
    RecordQueued(work.correlation = ++calls);
    on->queue.push_back(std::move(work));
  }
  return CUDA_SUCCESS;
}

bool IsStream(const Entry& entry, void* handle) { return FindStream(entry, handle) != nullptr; }

// A captured stream needs no check, because its queue is empty.
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

// The queued work still runs.
int cuStreamDestroy_v2(void* stream) {
  ENTER(cuStreamDestroy_v2);
  Stream* const found = FindStream(entry, stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->captured != nullptr) entry.Violates(0, "of a stream that is captured");
  const int drained = RunAll(*found);
  Streams().Remove(entry, stream);
  return entry.status() != CUDA_SUCCESS ? entry.status() : drained;
}

int cuStreamSynchronize(void* stream) {
  ENTER(cuStreamSynchronize);
  Stream* const found = FindStream(entry, stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->captured != nullptr) {
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
  found->captured = on->captured != nullptr;
  found->pending = on->captured == nullptr;
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

// ---- Captures ------------------------------------------------------------------------------------------------------

int cuStreamBeginCapture_v2(void* stream, int mode) {
  ENTER(cuStreamBeginCapture_v2);
  Stream* const found = FindStream(entry, stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Capture(entry, *found, NewGraph(), mode);
}

int cuStreamBeginCaptureToGraph(void* stream, void* graph, const void* const* after, const void* edges, size_t count,
                                int mode) {
  ENTER(cuStreamBeginCaptureToGraph);
  Stream* const found = FindStream(entry, stream);
  Graph* const to = FindGraph(entry, graph);
  if (found == nullptr || to == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<Edge> nodes;
  if (!ReadEdges(entry, *to, after, static_cast<const EdgeData*>(edges), count, &nodes))
    return CUDA_ERROR_INVALID_VALUE;
  if (const int status = Capture(entry, *found, to, mode)) return status;
  found->after = std::move(nodes);
  return CUDA_SUCCESS;
}

int cuStreamGetCaptureInfo_v3(void* stream, int* status, unsigned long long* /*id*/, void** graph,
                              const void* const** after, const void** edges, size_t* count) {
  ENTER(cuStreamGetCaptureInfo_v3);
  constexpr int kNone = 0, kActive = 1, kInvalidated = 2;
  Stream* const found = FindStream(entry, stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *status = found->captured == nullptr ? kNone : found->spoilt ? kInvalidated : kActive;
  if (*status != kActive) return CUDA_SUCCESS;
  found->reported_nodes.clear();
  found->reported_edges.clear();
  bool is_plain = true;
  for (const Edge& edge : found->after) {
    is_plain = is_plain && !edge.is_early;
    found->reported_nodes.push_back(edge.from);
    found->reported_edges.push_back(edge.is_early ? EdgeData{.from_port = 1, .type = 1} : EdgeData());
  }
  if (edges == nullptr && !is_plain) return entry.Violates(CUDA_ERROR_LOSSY_QUERY, "edges of a kind are not asked for");
  *graph = found->captured;
  *after = found->reported_nodes.data();
  if (edges != nullptr) *edges = is_plain ? nullptr : found->reported_edges.data();
  *count = found->after.size();
  return CUDA_SUCCESS;
}

// Captured nodes that are no longer predecessors stay in the graph and need not be joined.
int cuStreamUpdateCaptureDependencies_v2(void* stream, void** nodes, const void* edges, size_t count, unsigned flags) {
  ENTER(cuStreamUpdateCaptureDependencies_v2);
  constexpr unsigned kReplace = 1;
  Stream* const found = FindStream(entry, stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->captured == nullptr) return entry.Violates(CUDA_ERROR_ILLEGAL_STATE, "of a stream that is not captured");
  if (flags != kReplace) return entry.Violates(CUDA_ERROR_NOT_SUPPORTED, Words("the double knows no flags ", flags));
  std::vector<Edge> after;
  if (!ReadEdges(entry, *found->captured, nodes, static_cast<const EdgeData*>(edges), count, &after))
    return CUDA_ERROR_INVALID_VALUE;
  found->after = std::move(after);
  return CUDA_SUCCESS;
}

// The capture ends in any case. The graph of a failed capture no longer exists.
int cuStreamEndCapture(void* stream, void** graph) {
  ENTER(cuStreamEndCapture);
  Stream* const found = FindStream(entry, stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->captured == nullptr) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "of a stream that is not captured");
  Graph* const captured = std::exchange(found->captured, nullptr);
  captured->is_captured = false;
  const bool spoilt = std::exchange(found->spoilt, false);
  found->after.clear();
  *graph = nullptr;
  if (spoilt || entry.status() != CUDA_SUCCESS) {
    LoseGraph(entry, *captured);
    return entry.status() != CUDA_SUCCESS ? entry.status() : int{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  }
  *graph = captured;
  return CUDA_SUCCESS;
}

}  // extern "C"
