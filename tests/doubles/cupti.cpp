// The double of CUPTI: records of the work on the driver's double, in the caller's buffers. It checks that callbacks
// are registered before records, that record kinds are enabled, and that external ids are pushed and popped in order.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "gpu/device/cupti.h"
#include "tests/doubles/cuda.h"

namespace hlo::doubles {
namespace {

using namespace gpu::cupti;  // NOLINT: its numbers.

constexpr uint32_t kVersion = 130001;  // HLO_DOUBLE_CUPTI replaces this version.
constexpr size_t kTail = 72;           // Bytes that records have after the fields that are known here.

struct Subscriber {
  void (*callback)(void*, int, uint32_t, const void*);
  void* ours;
  bool tells_clones = false;
};
Registry<Subscriber>& Subscribers() {
  static auto* const all = new Registry<Subscriber>("CUPTI subscriber");
  return *all;
}
Subscriber* subscriber = nullptr;

void (*give_buffer)(uint8_t**, size_t*, size_t*) = nullptr;
void (*take_buffer)(void*, uint32_t, uint8_t*, size_t, size_t) = nullptr;

// Only one thread queues work, so the state has no lock.
struct State {
  std::set<int> kinds;
  std::vector<uint64_t> external;
  std::vector<std::vector<uint8_t>> records;
  std::map<const void*, uint64_t> node_ids;

  bool Has(int kind) const { return kinds.contains(kind); }
  uint64_t IdOf(const void* node) {
    if (node == nullptr) return 0;
    return node_ids.try_emplace(node, (uint64_t{7} << 32) + node_ids.size() + 1).first->second;
  }
  template <class Record>
  void Add(const Record& record, size_t tail = 0) {
    std::vector<uint8_t> bytes(sizeof record + tail, 0xee);
    std::memcpy(bytes.data(), &record, sizeof record);
    records.push_back(std::move(bytes));
  }
};
State& TheState() {
  static auto* const state = new State;
  return *state;
}

size_t SizeOf(int kind) {
  switch (kind) {
    case kMemcpy: return sizeof(MemcpyRecord) + kTail;
    case kMemset: return sizeof(MemsetRecord) + kTail;
    case kConcurrentKernel: return sizeof(KernelRecord) + kTail;
    case kEnvironment: return sizeof(ClockRecord) + kTail;
    default: return sizeof(CorrelationRecord);
  }
}

uint64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Adds a record that connects a call with the current external id, if both kinds are enabled.
void Queued(uint32_t correlation) {
  State& state = TheState();
  if (!state.Has(kExternalCorrelation) || !state.Has(kDriverCalls) || state.external.empty()) return;
  state.Add(CorrelationRecord{kExternalCorrelation, kCustom0, state.external.back(), correlation, 0});
}

void DidRun(const Ran& ran) {
  State& state = TheState();
  const uint64_t node = state.IdOf(ran.node);
  const auto fill = [&](auto record, int kind) {
    record.kind = kind;
    record.start = ran.begin, record.end = ran.end;
    record.correlation = ran.correlation;
    record.graph_node = node;
    if (state.Has(kind)) state.Add(record, kTail);
  };
  if (ran.kind == WorkKind::kCopy) fill(MemcpyRecord{}, kMemcpy);
  else if (ran.kind == WorkKind::kFill) fill(MemsetRecord{}, kMemset);
  else fill(KernelRecord{}, kConcurrentKernel);
}

void Cloned(const void* node, const void* copy) {
  if (subscriber == nullptr || !subscriber->tells_clones) return;
  const GraphData graph{.node = const_cast<void*>(copy), .original_node = const_cast<void*>(node)};
  const ResourceData data{.descriptor = const_cast<GraphData*>(&graph)};
  subscriber->callback(subscriber->ours, kResource, kNodeCloned, &data);
}

constexpr Watcher kWatcher = {.queued = Queued, .ran = DidRun, .cloned = Cloned};

}  // namespace
}  // namespace hlo::doubles

using namespace hlo::doubles;  // NOLINT: the functions of the interface follow.

extern "C" {

int cuptiGetResultString(int status, const char** words) {
  *words = ErrorName(Library::kCupti, status);
  return *words != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

int cuptiGetVersion(uint32_t* version) {
  ENTER(cuptiGetVersion);
  const char* const asked = std::getenv("HLO_DOUBLE_CUPTI");
  *version = asked != nullptr ? static_cast<uint32_t>(std::atoi(asked)) : kVersion;
  return CUPTI_SUCCESS;
}

int cuptiGetTimestamp(uint64_t* time) {
  ENTER(cuptiGetTimestamp);
  *time = Now();
  return CUPTI_SUCCESS;
}

int cuptiSubscribe(void** handle, void (*callback)(void*, int, uint32_t, const void*), void* ours) {
  ENTER(cuptiSubscribe);
  if (subscriber != nullptr)
    return entry.Violates(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "there is a subscriber");
  *handle = subscriber = Subscribers().Add({callback, ours});
  SetWatcher(&kWatcher);
  return CUPTI_SUCCESS;
}

int cuptiUnsubscribe(void* handle) {
  ENTER(cuptiUnsubscribe);
  if (!Subscribers().Remove(entry, handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  subscriber = nullptr;
  return entry.status();
}

int cuptiEnableCallback(uint32_t on, void* handle, int domain, uint32_t id) {
  ENTER(cuptiEnableCallback);
  Subscriber* const found = Subscribers().Find(entry, handle);
  if (found == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (domain != kResource || id != kNodeCloned)
    return entry.Violates(CUPTI_ERROR_INVALID_PARAMETER, Words("the double has no callback ", id, " of ", domain));
  found->tells_clones = on != 0;
  return CUPTI_SUCCESS;
}

int cuptiActivityRegisterCallbacks(void (*give)(uint8_t**, size_t*, size_t*),
                                   void (*take)(void*, uint32_t, uint8_t*, size_t, size_t)) {
  ENTER(cuptiActivityRegisterCallbacks);
  if (give == nullptr || take == nullptr) return entry.Violates(CUPTI_ERROR_INVALID_PARAMETER, "no callbacks");
  give_buffer = give;
  take_buffer = take;
  return CUPTI_SUCCESS;
}

int cuptiActivityEnable(int kind) {
  ENTER(cuptiActivityEnable);
  constexpr int kKnown[] = {kMemcpy,           kMemset,      kDriverCalls,        kRuntimeCalls,
                            kConcurrentKernel, kEnvironment, kExternalCorrelation};
  if (std::ranges::find(kKnown, kind) == std::end(kKnown))
    return entry.Violates(CUPTI_ERROR_INVALID_KIND, Words("the double has no kind ", kind));
  if (give_buffer == nullptr)
    return entry.Violates(CUPTI_ERROR_INVALID_OPERATION, "there are no callbacks for buffers");
  TheState().kinds.insert(kind);
  if (kind == kEnvironment) TheState().Add(ClockRecord{kEnvironment, 0, Now(), kSpeed, 1500, 2000}, kTail);
  return CUPTI_SUCCESS;
}

int cuptiActivityDisable(int kind) {
  ENTER(cuptiActivityDisable);
  if (TheState().kinds.erase(kind) == 0) return entry.Violates(CUPTI_ERROR_INVALID_KIND, "it is not on");
  return entry.status();
}

// Fills one buffer after another with whole records.
int cuptiActivityFlushAll(uint32_t flag) {
  ENTER(cuptiActivityFlushAll);
  if (flag > kFlushForced) return entry.Violates(CUPTI_ERROR_INVALID_PARAMETER, Words("flag ", flag));
  if (give_buffer == nullptr)
    return entry.Violates(CUPTI_ERROR_INVALID_OPERATION, "there are no callbacks for buffers");
  std::vector<std::vector<uint8_t>> records;
  records.swap(TheState().records);
  for (size_t next = 0; next < records.size();) {
    uint8_t* buffer = nullptr;
    size_t bytes = 0, most = 0, valid = 0;
    give_buffer(&buffer, &bytes, &most);
    if (buffer == nullptr) return entry.Violates(CUPTI_ERROR_UNKNOWN, "no buffer is given");
    if (reinterpret_cast<uintptr_t>(buffer) % 8 != 0) entry.Violates(0, "a buffer is no multiple of 8");
    for (; next < records.size() && valid + records[next].size() <= bytes; ++next) {
      std::memcpy(buffer + valid, records[next].data(), records[next].size());
      valid += records[next].size();
    }
    take_buffer(nullptr, 0, buffer, bytes, valid);
  }
  return CUPTI_SUCCESS;
}

int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, uint8_t** record) {
  ENTER(cuptiActivityGetNextRecord);
  int32_t kind = 0;
  uint8_t* next = buffer;
  if (*record != nullptr) {
    std::memcpy(&kind, *record, sizeof kind);
    next = *record + SizeOf(kind);
  }
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = next;
  return CUPTI_SUCCESS;
}

int cuptiActivityGetNumDroppedRecords(void* /*context*/, uint32_t /*stream*/, size_t* dropped) {
  ENTER(cuptiActivityGetNumDroppedRecords);
  *dropped = 0;
  return CUPTI_SUCCESS;
}

int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id) {
  ENTER(cuptiActivityPushExternalCorrelationId);
  if (kind != kCustom0) return entry.Violates(CUPTI_ERROR_INVALID_PARAMETER, Words("of kind ", kind));
  TheState().external.push_back(id);
  return CUPTI_SUCCESS;
}

int cuptiActivityPopExternalCorrelationId(int kind, uint64_t* last) {
  ENTER(cuptiActivityPopExternalCorrelationId);
  if (kind != kCustom0) return entry.Violates(CUPTI_ERROR_INVALID_PARAMETER, Words("of kind ", kind));
  if (TheState().external.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last != nullptr) *last = TheState().external.back();
  TheState().external.pop_back();
  return entry.status();
}

int cuptiGetGraphNodeId(void* node, uint64_t* id) {
  ENTER(cuptiGetGraphNodeId);
  if (node == nullptr) return entry.Violates(CUPTI_ERROR_INVALID_PARAMETER, "of no node");
  *id = TheState().IdOf(node);
  return CUPTI_SUCCESS;
}

}  // extern "C"
