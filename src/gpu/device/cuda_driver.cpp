#include "gpu/device/cuda_driver.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "gpu/device/emulated.h"

namespace hlo::gpu {

Error Driver::Failed(std::string_view call, Status32 status, std::string_view while_doing) const {
  *told = true;
  const char *name = nullptr, *words = nullptr;
  error_name(status, &name);
  error_string(status, &words);
  std::string message = Str(call, ": ", name ? name : "unknown error", " (", status, ")");
  if (words != nullptr) message += Str(", ", words);
  if (!while_doing.empty()) message += Str(" while ", while_doing);
  return DeviceError("R014", std::move(message));
}

void Driver::Ended(std::string_view call, Status32 status) const {
  if (status != 0 && !*told) VLOG(0, Failed(call, status).message());
}

Result<Driver> LoadDriver(const std::vector<std::string>& search) {
  Driver driver;
  constexpr std::string_view kNames[] = {"libcuda.so.1"};
  constexpr std::string_view kMore[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib",
                                        "/usr/local/nvidia/lib64"};
  auto library = SharedLibrary::Open(kNames, search, kMore);
  if (!library) {
    FAIL(DeviceError("R010", Str("no CUDA driver here: ", library.error().message()))
             .Hint("--platform=cpu runs the program on this machine without a GPU"));
  }
  driver.library = *library;
  SharedLibrary& l = driver.library;
  l.Load("cuInit", &driver.init);
  l.Load("cuDriverGetVersion", &driver.driver_version);
  l.Load("cuGetErrorName", &driver.error_name);
  l.Load("cuGetErrorString", &driver.error_string);
  l.Load("cuDeviceGetCount", &driver.device_count);
  l.Load("cuDeviceGet", &driver.device_get);
  l.Load("cuDeviceGetName", &driver.device_name);
  l.Load("cuDeviceGetAttribute", &driver.device_attribute);
  l.Load("cuDeviceTotalMem_v2", &driver.device_total_memory);
  l.Load("cuDevicePrimaryCtxRetain", &driver.primary_context);
  l.Load("cuCtxSetCurrent", &driver.set_context);
  l.Load("cuStreamCreate", &driver.stream_create);
  l.Load("cuStreamDestroy_v2", &driver.stream_destroy);
  l.Load("cuStreamSynchronize", &driver.stream_synchronize);
  l.Load("cuMemAlloc_v2", &driver.allocate);
  l.Load("cuMemFree_v2", &driver.free);
  l.Load("cuMemGetInfo_v2", &driver.memory_info);
  l.Load("cuMemcpyHtoDAsync_v2", &driver.copy_in);
  l.Load("cuMemcpyDtoHAsync_v2", &driver.copy_out);
  l.Load("cuMemcpyDtoDAsync_v2", &driver.copy);
  l.Load("cuMemsetD8Async", &driver.fill8);
  l.Load("cuMemsetD16Async", &driver.fill16);
  l.Load("cuMemsetD32Async", &driver.fill32);
  l.Load("cuMemsetD2D32Async", &driver.fill32_rows);
  l.Load("cuModuleLoadDataEx", &driver.load_module);
  l.Load("cuModuleUnload", &driver.unload_module);
  l.Load("cuModuleGetFunction", &driver.get_function);
  l.Load("cuFuncSetAttribute", &driver.function_attribute);
  l.Load("cuFuncGetAttribute", &driver.ask_function);
  l.Load("cuLaunchKernel", &driver.launch);
  l.Load("cuStreamBeginCapture_v2", &driver.begin_capture);
  l.Load("cuStreamEndCapture", &driver.end_capture);
  l.Load("cuGraphInstantiateWithFlags", &driver.instantiate_graph);
  l.Load("cuGraphUpload", &driver.upload_graph);
  l.Load("cuGraphLaunch", &driver.launch_graph);
  l.Load("cuGraphDestroy", &driver.destroy_graph);
  l.Load("cuGraphExecDestroy", &driver.destroy_graph_exec);
  l.Load("cuEventCreate", &driver.create_event);
  l.Load("cuEventDestroy_v2", &driver.destroy_event);
  l.Load("cuEventRecord", &driver.record_event);
  l.Load("cuEventSynchronize", &driver.synchronize_event);
  l.Load("cuEventElapsedTime", &driver.elapsed_ms);
  TRY(l.Complete());
  const auto find = [&]<class F>(const char* symbol, F** function) {
    *function = reinterpret_cast<F*>(l.Find(symbol));
    if (*function == nullptr) driver.lacks = symbol;
  };
  find("cuStreamBeginCaptureToGraph", &driver.begin_capture_to);
  find("cuStreamGetCaptureInfo_v3", &driver.capture_info);
  find("cuGraphAddNode_v2", &driver.add_node);
  find("cuGraphConditionalHandleCreate", &driver.create_condition);
  driver.set_dependencies =
      reinterpret_cast<decltype(driver.set_dependencies)>(l.Find("cuStreamUpdateCaptureDependencies_v2"));
  driver.node_dependencies =
      reinterpret_cast<decltype(driver.node_dependencies)>(l.Find("cuGraphNodeGetDependencies_v2"));
  driver.is_double = AttachEmulator(l);
  return driver;
}

}  // namespace hlo::gpu
