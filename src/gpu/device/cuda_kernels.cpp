#include "gpu/device/cuda_kernels.h"

#include <functional>
#include <map>
#include <utility>

#include "base/parallel.h"
#include "base/text.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/device/emulated.h"
#include "ir/device_limits.h"

namespace hlo::gpu {
namespace {

struct CudaCode : KernelCode {
  kernel::Ptx ptx;
  std::string name;
  int64_t blocks = 1, threads = 32;
  std::vector<size_t> first_arguments;
};

Status OnAllThreads(const std::vector<size_t>& items, const std::function<Status(size_t)>& work) {
  std::vector<Status> done(items.size());
  ParallelFor(std::ssize(items), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) done[i] = work(items[i]);
  });
  for (Status& one : done) TRY(std::move(one));
  return {};
}

std::shared_ptr<const KernelCode> CodeOf(const kernel::Kernel& kernel, kernel::Ptx ptx) {
  auto code = std::make_shared<CudaCode>();
  code->ptx = std::move(ptx);
  code->name = kernel.name;
  code->blocks = kernel.blocks;
  code->threads = kernel.threads;
  const std::vector<kernel::KernelArgument> arguments = kernel.Arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].member == 0) code->first_arguments.push_back(i);
  }
  return code;
}

Result<std::shared_ptr<const LoadedKernel>> LoadOne(const Driver& driver, CudaHandle context, const CudaCode& code) {
  auto loaded = std::make_shared<CudaKernel>(driver, context);
  loaded->name = code.name;
  loaded->blocks = static_cast<unsigned>(code.blocks);
  loaded->threads = static_cast<unsigned>(code.threads);
  loaded->first_arguments = code.first_arguments;
  loaded->dynamic_shared = static_cast<unsigned>(code.ptx.dynamic_shared_bytes);
  loaded->waits = code.ptx.waits;
  // Contexts are set per thread.
  if (const Status32 status = driver.set_context(context)) FAIL(driver.Failed("cuCtxSetCurrent", status));
  char log[4096] = {};
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  if (const Status32 status = driver.load_module(&loaded->module, code.ptx.text.c_str(), 2, options, values)) {
    loaded->module = nullptr;
    Error error = driver.Failed("cuModuleLoadDataEx", status, Str("loading '", code.name, "'"));
    if (log[0] != 0) error.diagnostics.back().notes.push_back({Str("the driver says: ", Trim(log)), {}});
    FAIL(std::move(error));
  }
  if (const Status32 status = driver.get_function(&loaded->function, loaded->module, code.ptx.entry.c_str()))
    FAIL(driver.Failed("cuModuleGetFunction", status, Str("loading '", code.name, "'")));
  if (code.ptx.dynamic_shared_bytes <= kStaticSharedBytes) return loaded;
  if (const Status32 status = driver.function_attribute(loaded->function, kMaxDynamicShared,
                                                        static_cast<int>(code.ptx.dynamic_shared_bytes)))
    FAIL(driver.Failed("cuFuncSetAttribute", status, Str("loading '", code.name, "'")));
  return loaded;
}

}  // namespace

Result<std::vector<std::shared_ptr<const KernelCode>>> CompileKernels(const Driver& driver,
                                                                      std::span<const kernel::Kernel* const> kernels,
                                                                      const std::string& arch) {
  std::map<kernel::KernelHash, std::shared_ptr<const KernelCode>> code_of;
  std::vector<std::shared_ptr<const KernelCode>> code;
  std::vector<kernel::Ptx> ptx = TRY(kernel::EmitPtx(kernels, {.arch = arch}));
  for (size_t i = 0; i < kernels.size(); ++i) {
    auto& one = code_of[kernel::Hash(*kernels[i])];
    if (one == nullptr) {
      if (driver.is_double) KeepForEmulator(ptx[i], *kernels[i]);
      one = CodeOf(*kernels[i], std::move(ptx[i]));
    }
    code.push_back(one);
  }
  return code;
}

Result<std::vector<std::shared_ptr<const LoadedKernel>>> LoadKernels(
    const Driver& driver, CudaHandle context, std::span<const std::shared_ptr<const KernelCode>> code) {
  std::map<const KernelCode*, size_t> first;
  std::vector<size_t> same_as(code.size()), todo;
  for (size_t i = 0; i < code.size(); ++i) {
    const auto [at, is_new] = first.emplace(code[i].get(), i);
    same_as[i] = at->second;
    if (is_new) todo.push_back(i);
  }
  std::vector<std::shared_ptr<const LoadedKernel>> loaded(code.size());
  TRY(OnAllThreads(todo, [&](size_t i) -> Status {
    loaded[i] = TRY(LoadOne(driver, context, static_cast<const CudaCode&>(*code[i])));
    return {};
  }));
  for (size_t i = 0; i < code.size(); ++i) loaded[i] = loaded[same_as[i]];
  return loaded;
}

Status Queue(const CudaKernel& kernel, std::span<void* const> arguments, CudaHandle stream,
             std::vector<void*>& parameters) {
  // A group of arrays is one parameter with several pointers.
  parameters.clear();
  for (const size_t first : kernel.first_arguments) parameters.push_back(const_cast<void**>(&arguments[first]));
  const Status32 status = kernel.driver.launch(kernel.function, kernel.blocks, 1, 1, kernel.threads, 1, 1,
                                               kernel.dynamic_shared, stream, parameters.data(), nullptr);
  if (status != 0) {
    FAIL(
        kernel.driver.Failed("cuLaunchKernel", status,
                             Str("launching '", kernel.name, "' with ", kernel.blocks, " blocks of ", kernel.threads)));
  }
  return {};
}

}  // namespace hlo::gpu
