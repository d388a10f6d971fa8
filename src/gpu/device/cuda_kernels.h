// Kernels of a CUDA device: from PTX to loaded functions and launches.
#ifndef HLO_GPU_DEVICE_CUDA_KERNELS_H_
#define HLO_GPU_DEVICE_CUDA_KERNELS_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/device/cuda_driver.h"
#include "gpu/device/device.h"

namespace hlo::gpu {

struct CudaKernel : LoadedKernel {
  CudaKernel(const Driver& driver, CudaHandle context) : driver(driver), context(context) {}
  ~CudaKernel() override {
    if (module == nullptr) return;
    driver.Ended("cuCtxSetCurrent", driver.set_context(context));
    driver.Ended("cuModuleUnload", driver.unload_module(module));
  }

  int64_t spilled_bytes() const override {
    int bytes = 0;
    driver.Ended("cuCtxSetCurrent", driver.set_context(context));
    return driver.ask_function(&bytes, kLocalBytes, function) == 0 ? bytes : 0;
  }

  const Driver& driver;
  CudaHandle context;
  CudaHandle module = nullptr, function = nullptr;
  unsigned blocks = 1, threads = 32, dynamic_shared = 0;
  bool waits = false;
  std::vector<size_t> first_arguments;
  std::string name;
};

Result<std::vector<std::shared_ptr<const KernelCode>>> CompileKernels(const Driver& driver,
                                                                      std::span<const kernel::Kernel* const> kernels,
                                                                      const std::string& arch);
// `code` is from CompileKernels. Equal pointers are loaded once.
Result<std::vector<std::shared_ptr<const LoadedKernel>>> LoadKernels(
    const Driver& driver, CudaHandle context, std::span<const std::shared_ptr<const KernelCode>> code);
// Queues a launch in the current context. `parameters` is the caller's space.
Status Queue(const CudaKernel& kernel, std::span<void* const> arguments, CudaHandle stream,
             std::vector<void*>& parameters);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_CUDA_KERNELS_H_
