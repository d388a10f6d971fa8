// The used part of the CUDA driver's API, declared here, so that the build needs no toolkit.
#ifndef HLO_GPU_DEVICE_CUDA_DRIVER_H_
#define HLO_GPU_DEVICE_CUDA_DRIVER_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/device/shared_library.h"

namespace hlo::gpu {

using Status32 = int;  // CUresult.
using DevicePointer = unsigned long long;
using CudaHandle = void*;

enum { kCudaOutOfMemory = 2, kCudaNoDevice = 100, kCudaCaptureInvalidated = 901 };
enum {
  kMultiprocessors = 16,
  kCacheBytes = 38,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kSharedBytes = 97
};  // CUdevice_attribute.
enum { kJitErrorLog = 5, kJitErrorLogBytes = 6 };  // CUjit_option.
enum { kLocalBytes = 3, kMaxDynamicShared = 8 };   // CUfunction_attribute.
enum { kStreamNonBlocking = 1 };
enum { kCaptureRelaxed = 2 };    // CUstreamCaptureMode; libraries may make any call during a capture.
enum { kCaptureActive = 1 };     // CUstreamCaptureStatus.
enum { kConditionalNode = 13 };  // CUgraphNodeType.
enum { kIfNode = 0, kWhileNode = 1, kSwitchNode = 2 };  // CUgraphConditionalNodeType.
enum { kInitiallyAtEachLaunch = 1 };                    // CU_GRAPH_COND_ASSIGN_DEFAULT.
enum { kReplaceDependencies = 1 };                      // CU_STREAM_SET_CAPTURE_DEPENDENCIES.
// CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC. With such an edge, a kernel may start
// once all blocks of its predecessor allow it. Its code then waits for the predecessor's end.
enum { kProgrammaticPort = 1, kProgrammaticEdge = 1 };

struct CudaGraphEdge {  // CUgraphEdgeData.
  unsigned char from_port, to_port, type, reserved[5];
};

// CUgraphNodeParams of a conditional node.
struct CudaNodeParams {
  int type = kConditionalNode;
  int reserved0[3] = {};
  unsigned long long condition = 0;
  int form = 0;
  unsigned size = 0;
  CudaHandle* bodies = nullptr;  // Owned by the driver, valid as long as the node.
  CudaHandle context = nullptr;
  long long reserved1[25] = {};
  long long reserved2 = 0;
};
static_assert(sizeof(CudaNodeParams) == 256 && offsetof(CudaNodeParams, bodies) == 32);

struct Driver {
  SharedLibrary library;
  bool is_double = false;  // Whether the library is a double (emulated.h).
  Status32 (*init)(unsigned);
  Status32 (*driver_version)(int*);
  Status32 (*error_name)(Status32, const char**);
  Status32 (*error_string)(Status32, const char**);
  Status32 (*device_count)(int*);
  Status32 (*device_get)(int*, int);
  Status32 (*device_name)(char*, int, int);
  Status32 (*device_attribute)(int*, int, int);
  Status32 (*device_total_memory)(size_t*, int);
  Status32 (*primary_context)(CudaHandle*, int);
  Status32 (*set_context)(CudaHandle);
  Status32 (*stream_create)(CudaHandle*, unsigned);
  Status32 (*stream_destroy)(CudaHandle);
  Status32 (*stream_synchronize)(CudaHandle);
  Status32 (*allocate)(DevicePointer*, size_t);
  Status32 (*free)(DevicePointer);
  Status32 (*memory_info)(size_t*, size_t*);
  Status32 (*copy_in)(DevicePointer, const void*, size_t, CudaHandle);
  Status32 (*copy_out)(void*, DevicePointer, size_t, CudaHandle);
  Status32 (*copy)(DevicePointer, DevicePointer, size_t, CudaHandle);
  Status32 (*fill8)(DevicePointer, unsigned char, size_t, CudaHandle);
  Status32 (*fill16)(DevicePointer, unsigned short, size_t, CudaHandle);
  Status32 (*fill32)(DevicePointer, unsigned, size_t, CudaHandle);
  Status32 (*fill32_rows)(DevicePointer, size_t pitch, unsigned, size_t width, size_t height, CudaHandle);
  Status32 (*load_module)(CudaHandle*, const void*, unsigned, int*, void**);
  Status32 (*unload_module)(CudaHandle);
  Status32 (*get_function)(CudaHandle*, CudaHandle, const char*);
  Status32 (*function_attribute)(CudaHandle, int, int);
  Status32 (*ask_function)(int*, int attribute, CudaHandle);
  Status32 (*launch)(CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaHandle,
                     void**, void**);
  Status32 (*begin_capture)(CudaHandle, int);
  Status32 (*end_capture)(CudaHandle, CudaHandle*);
  Status32 (*instantiate_graph)(CudaHandle*, CudaHandle, unsigned long long);
  Status32 (*upload_graph)(CudaHandle, CudaHandle);
  Status32 (*launch_graph)(CudaHandle, CudaHandle);
  Status32 (*destroy_graph)(CudaHandle);
  Status32 (*destroy_graph_exec)(CudaHandle);
  // The next four, for conditional nodes, are null in older drivers.
  Status32 (*begin_capture_to)(CudaHandle stream, CudaHandle graph, const CudaHandle* after, const void* edges, size_t,
                               int) = nullptr;
  Status32 (*capture_info)(CudaHandle stream, int* status, unsigned long long* id, CudaHandle* graph,
                           const CudaHandle** after, const CudaGraphEdge** edges, size_t*) = nullptr;
  Status32 (*add_node)(CudaHandle* node, CudaHandle graph, const CudaHandle* after, const CudaGraphEdge* edges, size_t,
                       CudaNodeParams*) = nullptr;
  Status32 (*create_condition)(unsigned long long* handle, CudaHandle graph, CudaHandle context, unsigned initially,
                               unsigned flags) = nullptr;
  // The next two are null in drivers without typed edges.
  Status32 (*set_dependencies)(CudaHandle stream, CudaHandle* after, const CudaGraphEdge* edges, size_t,
                               unsigned flags) = nullptr;
  Status32 (*node_dependencies)(CudaHandle node, CudaHandle* before, CudaGraphEdge* edges, size_t*) = nullptr;
  Status32 (*create_event)(CudaHandle*, unsigned);
  Status32 (*destroy_event)(CudaHandle);
  Status32 (*record_event)(CudaHandle, CudaHandle);
  Status32 (*synchronize_event)(CudaHandle);
  Status32 (*elapsed_ms)(float*, CudaHandle, CudaHandle);

  std::string lacks;  // Name of a missing function for conditional nodes, or empty.
  std::shared_ptr<std::atomic<bool>> told =
      std::make_shared<std::atomic<bool>>(false);  // Whether an error was reported.

  Error Failed(std::string_view call, Status32 status, std::string_view while_doing = "") const;
  // Logs an error that the caller cannot return, unless an earlier error, the likely cause, was reported.
  void Ended(std::string_view call, Status32 status) const;
};

#define CUDA_TRY(name, ...)                                                                  \
  do {                                                                                       \
    if (const Status32 cuda_status = (__VA_ARGS__)) FAIL(driver_.Failed(name, cuda_status)); \
  } while (false)

// Errors: R010 if there is no driver, R014 if it lacks a function.
Result<Driver> LoadDriver(const std::vector<std::string>& search);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_CUDA_DRIVER_H_
