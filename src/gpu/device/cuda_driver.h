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
  static constexpr std::string_view kFiles[] = {"libcuda.so.1"};
  static constexpr std::string_view kFolders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib",
                                                  "/usr/local/nvidia/lib64"};
  bool is_double = false;  // Whether the library is a double (emulated.h).
  Status32 (*init)(unsigned) = library.Get("cuInit");
  Status32 (*driver_version)(int*) = library.Get("cuDriverGetVersion");
  Status32 (*error_name)(Status32, const char**) = library.Get("cuGetErrorName");
  Status32 (*error_string)(Status32, const char**) = library.Get("cuGetErrorString");
  Status32 (*device_count)(int*) = library.Get("cuDeviceGetCount");
  Status32 (*device_get)(int*, int) = library.Get("cuDeviceGet");
  Status32 (*device_name)(char*, int, int) = library.Get("cuDeviceGetName");
  Status32 (*device_attribute)(int*, int, int) = library.Get("cuDeviceGetAttribute");
  Status32 (*device_total_memory)(size_t*, int) = library.Get("cuDeviceTotalMem_v2");
  Status32 (*primary_context)(CudaHandle*, int) = library.Get("cuDevicePrimaryCtxRetain");
  Status32 (*set_context)(CudaHandle) = library.Get("cuCtxSetCurrent");
  Status32 (*stream_create)(CudaHandle*, unsigned) = library.Get("cuStreamCreate");
  Status32 (*stream_destroy)(CudaHandle) = library.Get("cuStreamDestroy_v2");
  Status32 (*stream_synchronize)(CudaHandle) = library.Get("cuStreamSynchronize");
  Status32 (*allocate)(DevicePointer*, size_t) = library.Get("cuMemAlloc_v2");
  Status32 (*free)(DevicePointer) = library.Get("cuMemFree_v2");
  Status32 (*memory_info)(size_t*, size_t*) = library.Get("cuMemGetInfo_v2");
  Status32 (*copy_in)(DevicePointer, const void*, size_t, CudaHandle) = library.Get("cuMemcpyHtoDAsync_v2");
  Status32 (*copy_out)(void*, DevicePointer, size_t, CudaHandle) = library.Get("cuMemcpyDtoHAsync_v2");
  Status32 (*copy)(DevicePointer, DevicePointer, size_t, CudaHandle) = library.Get("cuMemcpyDtoDAsync_v2");
  Status32 (*fill8)(DevicePointer, unsigned char, size_t, CudaHandle) = library.Get("cuMemsetD8Async");
  Status32 (*fill16)(DevicePointer, unsigned short, size_t, CudaHandle) = library.Get("cuMemsetD16Async");
  Status32 (*fill32)(DevicePointer, unsigned, size_t, CudaHandle) = library.Get("cuMemsetD32Async");
  Status32 (*fill32_rows)(DevicePointer, size_t pitch, unsigned, size_t width, size_t height,
                          CudaHandle) = library.Get("cuMemsetD2D32Async");
  Status32 (*load_module)(CudaHandle*, const void*, unsigned, int*, void**) = library.Get("cuModuleLoadDataEx");
  Status32 (*unload_module)(CudaHandle) = library.Get("cuModuleUnload");
  Status32 (*get_function)(CudaHandle*, CudaHandle, const char*) = library.Get("cuModuleGetFunction");
  Status32 (*function_attribute)(CudaHandle, int, int) = library.Get("cuFuncSetAttribute");
  Status32 (*ask_function)(int*, int attribute, CudaHandle) = library.Get("cuFuncGetAttribute");
  Status32 (*launch)(CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaHandle,
                     void**, void**) = library.Get("cuLaunchKernel");
  Status32 (*begin_capture)(CudaHandle, int) = library.Get("cuStreamBeginCapture_v2");
  Status32 (*end_capture)(CudaHandle, CudaHandle*) = library.Get("cuStreamEndCapture");
  Status32 (*instantiate_graph)(CudaHandle*, CudaHandle,
                                unsigned long long) = library.Get("cuGraphInstantiateWithFlags");
  Status32 (*upload_graph)(CudaHandle, CudaHandle) = library.Get("cuGraphUpload");
  Status32 (*launch_graph)(CudaHandle, CudaHandle) = library.Get("cuGraphLaunch");
  Status32 (*destroy_graph)(CudaHandle) = library.Get("cuGraphDestroy");
  Status32 (*destroy_graph_exec)(CudaHandle) = library.Get("cuGraphExecDestroy");
  std::string lacks;  // Name of a missing function for conditional nodes, or empty.
  // The next four, for conditional nodes, are null in older drivers.
  Status32 (*begin_capture_to)(CudaHandle stream, CudaHandle graph, const CudaHandle* after, const void* edges, size_t,
                               int) = FindForConditions("cuStreamBeginCaptureToGraph");
  Status32 (*capture_info)(CudaHandle stream, int* status, unsigned long long* id, CudaHandle* graph,
                           const CudaHandle** after, const CudaGraphEdge** edges,
                           size_t*) = FindForConditions("cuStreamGetCaptureInfo_v3");
  Status32 (*add_node)(CudaHandle* node, CudaHandle graph, const CudaHandle* after, const CudaGraphEdge* edges, size_t,
                       CudaNodeParams*) = FindForConditions("cuGraphAddNode_v2");
  Status32 (*create_condition)(unsigned long long* handle, CudaHandle graph, CudaHandle context, unsigned initially,
                               unsigned flags) = FindForConditions("cuGraphConditionalHandleCreate");
  // The next two are null in drivers without typed edges.
  Status32 (*set_dependencies)(CudaHandle stream, CudaHandle* after, const CudaGraphEdge* edges, size_t,
                               unsigned flags) = library.Find("cuStreamUpdateCaptureDependencies_v2");
  Status32 (*node_dependencies)(CudaHandle node, CudaHandle* before, CudaGraphEdge* edges,
                                size_t*) = library.Find("cuGraphNodeGetDependencies_v2");
  Status32 (*create_event)(CudaHandle*, unsigned) = library.Get("cuEventCreate");
  Status32 (*destroy_event)(CudaHandle) = library.Get("cuEventDestroy_v2");
  Status32 (*record_event)(CudaHandle, CudaHandle) = library.Get("cuEventRecord");
  Status32 (*synchronize_event)(CudaHandle) = library.Get("cuEventSynchronize");
  Status32 (*elapsed_ms)(float*, CudaHandle, CudaHandle) = library.Get("cuEventElapsedTime");

  std::shared_ptr<std::atomic<bool>> told =
      std::make_shared<std::atomic<bool>>(false);  // Whether an error was reported.

  Symbol FindForConditions(const char* symbol) {
    const Symbol found = library.Find(symbol);
    if (found.address == nullptr) lacks = symbol;
    return found;
  }
  Error Failed(std::string_view call, Status32 status, std::string_view while_doing = "") const;
  Status Check(std::string_view call, Status32 status) const {
    if (status != 0) FAIL(Failed(call, status));
    return {};
  }
  // Logs an error that the caller cannot return, unless an earlier error, the likely cause, was reported.
  void Ended(std::string_view call, Status32 status) const;
};

// Errors: R010 if there is no driver, R014 if it lacks a function.
Result<Driver> LoadDriver(const std::vector<std::string>& search);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_CUDA_DRIVER_H_
