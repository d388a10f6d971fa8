#include "gpu/device/nvjitlink.h"

#include <array>

#include "base/text.h"
#include "gpu/codegen/ptxas_log.h"
#include "gpu/device/shared_library.h"

namespace hlo::gpu {
namespace {

using Handle = void*;
enum { kInputPtx = 2 };  // nvJitLinkInputType

struct Api {
  static constexpr std::string_view kFiles[] = {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"};
  static constexpr std::string_view kFolders[] = {"/usr/local/cuda/lib64"};
  SharedLibrary library;
  int (*version)(unsigned* major, unsigned* minor) = library.Get("nvJitLinkVersion");
  int (*create)(Handle*, uint32_t count, const char** options) = library.Get("nvJitLinkCreate");
  int (*destroy)(Handle*) = library.Get("nvJitLinkDestroy");
  int (*add_data)(Handle, int type, const void*, size_t, const char* name) = library.Get("nvJitLinkAddData");
  int (*complete)(Handle) = library.Get("nvJitLinkComplete");
  int (*cubin_size)(Handle, size_t*) = library.Get("nvJitLinkGetLinkedCubinSize");
  int (*cubin)(Handle, void*) = library.Get("nvJitLinkGetLinkedCubin");
  int (*error_size)(Handle, size_t*) = library.Get("nvJitLinkGetErrorLogSize");
  int (*error)(Handle, char*) = library.Get("nvJitLinkGetErrorLog");
  int (*info_size)(Handle, size_t*) = library.Get("nvJitLinkGetInfoLogSize");
  int (*info)(Handle, char*) = library.Get("nvJitLinkGetInfoLog");
};

Result<const Api*> GetApi(const std::vector<std::string>& search) { return OpenOnce<LoadApi<Api>>(search); }

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
