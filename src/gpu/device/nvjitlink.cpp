#include "gpu/device/nvjitlink.h"

#include <array>

#include "base/text.h"
#include "gpu/device/shared_library.h"
#include "gpu/kernel/ptxas_log.h"

namespace hlo::gpu {
namespace {

using Handle = void*;
enum { kInputPtx = 2 };  // nvJitLinkInputType

struct Api {
  SharedLibrary library;
  int (*version)(unsigned* major, unsigned* minor);
  int (*create)(Handle*, uint32_t count, const char** options);
  int (*destroy)(Handle*);
  int (*add_data)(Handle, int type, const void*, size_t, const char* name);
  int (*complete)(Handle);
  int (*cubin_size)(Handle, size_t*);
  int (*cubin)(Handle, void*);
  int (*error_size)(Handle, size_t*);
  int (*error)(Handle, char*);
  int (*info_size)(Handle, size_t*);
  int (*info)(Handle, char*);
};

Result<Api> LoadApi(const std::vector<std::string>& search) {
  Api api;
  constexpr std::string_view kNames[] = {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"};
  constexpr std::string_view kMore[] = {"/usr/local/cuda/lib64"};
  api.library = TRY(SharedLibrary::Open(kNames, search, kMore));
  SharedLibrary& l = api.library;
  l.Load("nvJitLinkVersion", &api.version);
  l.Load("nvJitLinkCreate", &api.create);
  l.Load("nvJitLinkDestroy", &api.destroy);
  l.Load("nvJitLinkAddData", &api.add_data);
  l.Load("nvJitLinkComplete", &api.complete);
  l.Load("nvJitLinkGetLinkedCubinSize", &api.cubin_size);
  l.Load("nvJitLinkGetLinkedCubin", &api.cubin);
  l.Load("nvJitLinkGetErrorLogSize", &api.error_size);
  l.Load("nvJitLinkGetErrorLog", &api.error);
  l.Load("nvJitLinkGetInfoLogSize", &api.info_size);
  l.Load("nvJitLinkGetInfoLog", &api.info);
  TRY(l.Complete());
  return api;
}

Result<const Api*> GetApi(const std::vector<std::string>& search) { return OpenOnce<LoadApi>(search); }

std::string Log(Handle handle, int (*size)(Handle, size_t*), int (*get)(Handle, char*)) {
  size_t bytes = 0;
  if (size(handle, &bytes) != 0 || bytes == 0) return "";
  std::string text(bytes, '\0');
  if (get(handle, text.data()) != 0) return "";
  return text.substr(0, text.find('\0'));
}

Result<kernel::PtxasReport> Link(const Api& api, Handle handle, const std::string& ptx) {
  const auto failed = [&](std::string_view call, int status) -> Error {
    return DeviceError("R105", Str(call, ": ", status, ", ", Trim(Log(handle, api.error_size, api.error))));
  };
  if (const int status = api.add_data(handle, kInputPtx, ptx.c_str(), ptx.size() + 1, "kernels"))
    FAIL(failed("nvJitLinkAddData", status));
  if (const int status = api.complete(handle)) FAIL(failed("nvJitLinkComplete", status));
  size_t bytes = 0;
  if (const int status = api.cubin_size(handle, &bytes)) FAIL(failed("nvJitLinkGetLinkedCubinSize", status));
  kernel::PtxasReport report{.kernels = kernel::KernelsInLog(Log(handle, api.info_size, api.info)),
                             .cubin = std::string(bytes, '\0')};
  if (const int status = api.cubin(handle, report.cubin.data())) FAIL(failed("nvJitLinkGetLinkedCubin", status));
  if (report.kernels.empty()) FAIL(DeviceError("R105", "the output of nvJitLink names no kernel"));
  return report;
}

}  // namespace

Result<std::string> NvJitLinkVersion(const std::vector<std::string>& search) {
  const Api* const api = TRY(GetApi(search));
  unsigned major = 0, minor = 0;
  if (const int status = api->version(&major, &minor)) FAIL(DeviceError("R105", Str("nvJitLinkVersion: ", status)));
  return Str(major, ".", minor);
}

Result<kernel::PtxasReport> NvJitLink(const std::string& ptx, const std::string& arch,
                                      const std::vector<std::string>& search) {
  const Api* const api = TRY(GetApi(search));
  const std::string wanted = "-arch=" + arch;
  std::array<const char*, 2> options = {wanted.c_str(), "-Xptxas=-v"};
  Handle handle = nullptr;
  if (const int status = api->create(&handle, options.size(), options.data()))
    FAIL(DeviceError("R105", Str("nvJitLinkCreate for ", arch, " failed with status ", status)));
  auto report = Link(*api, handle, ptx);
  api->destroy(&handle);
  return report;
}

}  // namespace hlo::gpu
