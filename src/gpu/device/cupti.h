// The used part of CUPTI's activity interface, declared here, so that the build needs no toolkit.
#ifndef HLO_GPU_DEVICE_CUPTI_H_
#define HLO_GPU_DEVICE_CUPTI_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device/activity_log.h"

namespace hlo::gpu {

// Constants of CUPTI and the first members of its records, equal in CUDA 12 and 13.
namespace cupti {

enum ActivityKind {
  kMemcpy = 1,
  kMemset = 2,
  kDriverCalls = 4,
  kRuntimeCalls = 5,
  kConcurrentKernel = 10,
  kEnvironment = 20,
  kExternalCorrelation = 39,
};
enum { kSuccess = 0, kMaxLimitReached = 12 };  // CUptiResult. kMaxLimitReached: no more records.
enum { kFlushForced = 1 };
enum { kCustom0 = 3 };      // CUpti_ExternalCorrelationKind.
enum { kSpeed = 1 };        // CUpti_ActivityEnvironmentKind.
enum { kResource = 3 };     // CUpti_CallbackDomain.
enum { kNodeCloned = 20 };  // CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED.

struct [[gnu::packed, gnu::aligned(8)]] KernelRecord {
  int32_t kind;
  uint8_t cache_config, shared_memory_config;
  uint16_t registers;
  int32_t cache_partition[2];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_memory[2];
  uint32_t correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued, submitted;
  uint8_t launch_type, carveout[3];
  uint32_t shared_executed;
  uint64_t graph_node;
};

struct [[gnu::packed, gnu::aligned(8)]] MemcpyRecord {
  int32_t kind;
  uint8_t copy_kind, from, to, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime_correlation, padding;
  void* reserved;
  uint64_t graph_node;
};

struct [[gnu::packed, gnu::aligned(8)]] MemsetRecord {
  int32_t kind;
  uint32_t value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void* reserved;
  uint64_t graph_node;
};

struct [[gnu::packed, gnu::aligned(8)]] CorrelationRecord {
  int32_t kind, external_kind;
  uint64_t external;
  uint32_t correlation, reserved;
};

// A record of kind kEnvironment with kSpeed.
struct [[gnu::packed, gnu::aligned(8)]] ClockRecord {
  int32_t kind;
  uint32_t device;
  uint64_t time;
  int32_t what;
  uint32_t multiprocessors_mhz, memory_mhz;
};

struct ResourceData {  // CUpti_ResourceData.
  void* context;
  void* handle;
  void* descriptor;
};
struct GraphData {  // CUpti_GraphData.
  void *graph, *original_graph, *node, *original_node;
  int node_type;
  void *dependency, *executable;
};

}  // namespace cupti

// The version, such as "13.0.1" or "of CUDA 12, interface 24". Needs no GPU.
Result<std::string> CuptiVersion(const std::vector<std::string>& search);

// Functions that list graph nodes recorded on a device.
struct GraphNodes {
  std::function<void(bool on)> watch;  // Starts or stops listing nodes for take_new.
  std::function<Result<std::vector<void*>>()> take_new;
};

// Errors: R013 or R014 if CUPTI or its functions are missing, R017 if its version is unknown or it fails to start.
Result<std::unique_ptr<ActivityLog>> OpenCupti(const std::vector<std::string>& search, GraphNodes nodes);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_CUPTI_H_
