// Collects CUPTI's records. Each launch, also of a whole graph, has a correlation id, which a correlation record maps
// to the number passed to Enter. The record of a node's execution names the captured node, or its copy in the
// instantiated graph, which callbacks report (NodeCloned).
//
// The collector is global, because CUPTI's buffer callbacks get no pointer to the log.
#include "gpu/device/cupti.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "gpu/device/shared_library.h"

namespace hlo::gpu {
namespace {

using namespace cupti;  // NOLINT: constants of the interface.

using Handle = void*;
using Requested = void(uint8_t** buffer, size_t* bytes, size_t* most_records);
using Completed = void(Handle context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);
using Callback = void(void* ours, int domain, uint32_t id, const void* data);

struct Api {
  static constexpr std::string_view kFiles[] = {"libcupti.so.13", "libcupti.so.12"};
  static constexpr std::string_view kFolders[] = {"/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"};
  SharedLibrary library;
  int (*version)(uint32_t*) = library.Get("cuptiGetVersion");
  int (*result_string)(int, const char**) = library.Get("cuptiGetResultString");
  int (*timestamp)(uint64_t*) = library.Get("cuptiGetTimestamp");
  int (*subscribe)(Handle*, Callback*, void*) = library.Get("cuptiSubscribe");
  int (*unsubscribe)(Handle) = library.Get("cuptiUnsubscribe");
  int (*enable_callback)(uint32_t on, Handle, int domain, uint32_t id) = library.Get("cuptiEnableCallback");
  int (*register_callbacks)(Requested*, Completed*) = library.Get("cuptiActivityRegisterCallbacks");
  int (*enable)(int kind) = library.Get("cuptiActivityEnable");
  int (*disable)(int kind) = library.Get("cuptiActivityDisable");
  int (*flush_all)(uint32_t flag) = library.Get("cuptiActivityFlushAll");
  int (*next_record)(uint8_t* buffer, size_t valid, uint8_t** record) = library.Get("cuptiActivityGetNextRecord");
  int (*dropped_records)(Handle context, uint32_t stream,
                         size_t* dropped) = library.Get("cuptiActivityGetNumDroppedRecords");
  int (*push_external)(int kind, uint64_t id) = library.Get("cuptiActivityPushExternalCorrelationId");
  int (*pop_external)(int kind, uint64_t* last) = library.Get("cuptiActivityPopExternalCorrelationId");
  int (*node_id)(Handle node, uint64_t* id) = library.Get("cuptiGetGraphNodeId");

  Error Failed(std::string_view call, int status) const {
    const char* words = nullptr;
    if (result_string(status, &words) != kSuccess || words == nullptr) words = "unknown error";
    return DeviceError("R017", Str(call, ": ", words, " (", status, ")"));
  }
};

Result<const Api*> GetApi(const std::vector<std::string>& search) { return OpenOnce<LoadApi<Api>>(search); }

// CUPTI's versions: from 18 on for CUDA 12, but 130001 for CUDA 13.0.1.
constexpr uint32_t kFirstOf12 = 18, kFirstOf13 = 130000, kFirstOf14 = 140000;

std::string VersionText(uint32_t version) {
  if (version < kFirstOf13) return Str("of CUDA 12, interface ", version);
  return Str(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

// A kernel, copy or fill whose launch is not yet known.
struct Raw {
  uint64_t start, end, node;
  uint32_t correlation;
};

struct Collector {
  std::mutex mutex;
  const Api* api = nullptr;
  std::vector<Raw> raw;
  std::unordered_map<uint32_t, uint64_t> launches;  // Indexed by correlation id.
  std::unordered_map<uint64_t, int64_t> pieces;     // Indexed by node id.
  std::vector<int64_t> clocks_mhz;
  int64_t memory_mhz = 0;
  uint64_t dropped = 0;
  std::optional<Error> failed;

  void Note(std::string_view call, int status) {
    if (status != kSuccess && !failed) failed = api->Failed(call, status);
  }
};

// Never destroyed, because CUPTI may return a buffer until the process ends.
Collector& TheCollector() {
  static auto* const collector = new Collector;
  return *collector;
}

constexpr size_t kBufferBytes = size_t{4} << 20, kBufferAlignment8 = 8;

void GiveBuffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment8, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;
}

void Read(const uint8_t* record, Collector& collector) {
  switch (*reinterpret_cast<const int32_t*>(record)) {
    case kConcurrentKernel: {
      const auto& kernel = *reinterpret_cast<const KernelRecord*>(record);
      collector.raw.push_back({kernel.start, kernel.end, kernel.graph_node, kernel.correlation});
      break;
    }
    case kMemcpy: {
      const auto& copy = *reinterpret_cast<const MemcpyRecord*>(record);
      collector.raw.push_back({copy.start, copy.end, copy.graph_node, copy.correlation});
      break;
    }
    case kMemset: {
      const auto& fill = *reinterpret_cast<const MemsetRecord*>(record);
      collector.raw.push_back({fill.start, fill.end, fill.graph_node, fill.correlation});
      break;
    }
    case kExternalCorrelation: {
      const auto& tie = *reinterpret_cast<const CorrelationRecord*>(record);
      if (tie.external_kind == kCustom0) collector.launches[tie.correlation] = tie.external;
      break;
    }
    case kEnvironment: {
      const auto& clock = *reinterpret_cast<const ClockRecord*>(record);
      if (clock.what != kSpeed) break;
      collector.clocks_mhz.push_back(clock.multiprocessors_mhz);
      collector.memory_mhz = clock.memory_mhz;
      break;
    }
    default: break;
  }
}

void TakeBuffer(Handle /*context*/, uint32_t /*stream*/, uint8_t* buffer, size_t /*bytes*/, size_t valid) {
  Collector& collector = TheCollector();
  const std::lock_guard lock(collector.mutex);
  uint8_t* record = nullptr;
  int status = kSuccess;
  while (valid > 0 && (status = collector.api->next_record(buffer, valid, &record)) == kSuccess)
    Read(record, collector);
  if (status != kMaxLimitReached) collector.Note("cuptiActivityGetNextRecord", status);
  size_t dropped = 0;
  collector.Note("cuptiActivityGetNumDroppedRecords", collector.api->dropped_records(nullptr, 0, &dropped));
  collector.dropped += dropped;
  std::free(buffer);
}

void NodeCloned(void* /*ours*/, int domain, uint32_t id, const void* data) {
  if (domain != kResource || id != kNodeCloned) return;
  const auto& graph = *static_cast<const GraphData*>(static_cast<const ResourceData*>(data)->descriptor);
  Collector& collector = TheCollector();
  const std::lock_guard lock(collector.mutex);
  uint64_t original = 0, copy = 0;
  for (const auto& [node, its_id] : {std::pair(graph.original_node, &original), std::pair(graph.node, &copy)}) {
    const int status = collector.api->node_id(node, its_id);
    collector.Note("cuptiGetGraphNodeId", status);
    if (status != kSuccess) return;
  }
  if (const auto known = collector.pieces.find(original); known != collector.pieces.end())
    collector.pieces[copy] = known->second;
}

int64_t SteadyNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

#define CUPTI_TRY(name, ...)                                                           \
  do {                                                                                 \
    if (const int cupti_status = (__VA_ARGS__)) FAIL(api_.Failed(name, cupti_status)); \
  } while (false)

class CuptiLog : public ActivityLog {
 public:
  CuptiLog(const Api& api, uint32_t version, GraphNodes nodes)
      : api_(api), version_(version), nodes_(std::move(nodes)) {}

  ~CuptiLog() override {
    if (const Status disabled = Disable(); !disabled) VLOG(0, disabled.error().message());
    if (subscriber_ != nullptr) Ended("cuptiUnsubscribe", api_.unsubscribe(subscriber_));
  }

  std::string name() const override { return Str("CUPTI ", VersionText(version_)); }

  Status Open() {
    TheCollector().api = &api_;
    CUPTI_TRY("cuptiActivityRegisterCallbacks", api_.register_callbacks(GiveBuffer, TakeBuffer));
    CUPTI_TRY("cuptiSubscribe", api_.subscribe(&subscriber_, NodeCloned, nullptr));
    CUPTI_TRY("cuptiEnableCallback", api_.enable_callback(1, subscriber_, kResource, kNodeCloned));
    return {};
  }

  Status Begin() override {
    Status begun = Enable();
    nodes_.watch(begun.has_value());
    return begun;
  }

  Result<Activities> End() override {
    nodes_.watch(false);
    TRY(Disable());
    CUPTI_TRY("cuptiActivityFlushAll", api_.flush_all(kFlushForced));
    Collector& collector = TheCollector();
    const std::lock_guard lock(collector.mutex);
    if (collector.failed) FAIL(*std::exchange(collector.failed, std::nullopt));
    Activities told{.dropped = std::exchange(collector.dropped, 0), .memory_mhz = collector.memory_mhz};
    if (const std::vector<int64_t> mhz = std::exchange(collector.clocks_mhz, {}); !mhz.empty()) {
      told.least_mhz = std::ranges::min(mhz);
      told.most_mhz = std::ranges::max(mhz);
    }
    for (const Raw& raw : std::exchange(collector.raw, {})) {
      Activity one{.begin = static_cast<int64_t>(raw.start) + to_steady_,
                   .end = static_cast<int64_t>(raw.end) + to_steady_,
                   .node = raw.node};
      if (const auto launch = collector.launches.find(raw.correlation); launch != collector.launches.end())
        one.launch = launch->second;
      if (const auto piece = collector.pieces.find(raw.node); raw.node != 0 && piece != collector.pieces.end())
        one.piece = piece->second;
      told.all.push_back(one);
    }
    collector.launches.clear();
    return told;
  }

  Status Enter(uint64_t launch) override {
    CUPTI_TRY("cuptiActivityPushExternalCorrelationId", api_.push_external(kCustom0, launch));
    return {};
  }
  Status Leave() override {
    uint64_t last = 0;
    CUPTI_TRY("cuptiActivityPopExternalCorrelationId", api_.pop_external(kCustom0, &last));
    return {};
  }

  Status NameRecorded(int64_t piece) override {
    for (void* const node : TRY(nodes_.take_new())) {
      uint64_t id = 0;
      CUPTI_TRY("cuptiGetGraphNodeId", api_.node_id(node, &id));
      Collector& collector = TheCollector();
      const std::lock_guard lock(collector.mutex);
      collector.pieces[id] = piece;
    }
    return {};
  }

 private:
  // Reads CUPTI's clock three times, each time between two readings of the steady clock, and uses the closest pair.
  Status SynchronizeClocks() {
    int64_t nearest = INT64_MAX;
    for (int look = 0; look < 3; ++look) {
      uint64_t theirs = 0;
      const int64_t before = SteadyNow();
      CUPTI_TRY("cuptiGetTimestamp", api_.timestamp(&theirs));
      const int64_t after = SteadyNow();
      if (after - before >= nearest) continue;
      nearest = after - before;
      to_steady_ = before + nearest / 2 - static_cast<int64_t>(theirs);
    }
    return {};
  }

  // Records API calls too, because CUPTI reports launch numbers only for recorded calls.
  Status Enable() {
    TRY(SynchronizeClocks());
    for (const ActivityKind kind :
         {kExternalCorrelation, kDriverCalls, kRuntimeCalls, kMemcpy, kMemset, kConcurrentKernel, kEnvironment}) {
      CUPTI_TRY("cuptiActivityEnable", api_.enable(kind));
      enabled_.push_back(kind);
    }
    return {};
  }

  Status Disable() {
    for (const ActivityKind kind : std::exchange(enabled_, {})) CUPTI_TRY("cuptiActivityDisable", api_.disable(kind));
    return {};
  }

  void Ended(std::string_view call, int status) const {
    if (status != kSuccess) VLOG(0, api_.Failed(call, status).message());
  }

  const Api& api_;
  uint32_t version_;
  GraphNodes nodes_;
  Handle subscriber_ = nullptr;
  std::vector<ActivityKind> enabled_;
  int64_t to_steady_ = 0;  // Nanoseconds to add to CUPTI's clock.
};

Result<uint32_t> KnownVersion(const Api& api) {
  uint32_t version = 0;
  if (const int status = api.version(&version)) FAIL(api.Failed("cuptiGetVersion", status));
  if (version >= kFirstOf12 && version < kFirstOf14) return version;
  FAIL(DeviceError("R017", Str(api.library.path(), " has version ", version,
                               ", but hlokit knows only the records of CUDA 12 and 13")));
}

}  // namespace

Result<std::string> CuptiVersion(const std::vector<std::string>& search) {
  return VersionText(TRY(KnownVersion(*TRY(GetApi(search)))));
}

Result<std::unique_ptr<ActivityLog>> OpenCupti(const std::vector<std::string>& search, GraphNodes nodes) {
  const Api& api = *TRY(GetApi(search));
  auto log = std::make_unique<CuptiLog>(api, TRY(KnownVersion(api)), std::move(nodes));
  TRY(log->Open());
  return log;
}

}  // namespace hlo::gpu
