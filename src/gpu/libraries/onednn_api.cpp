#include "gpu/libraries/onednn_api.h"

#include <cstdlib>

#include "base/host_isa.h"

namespace hlo::gpu::onednn {

Error Failed(std::string_view call, int status) {
  return DeviceError("R015", Str("oneDNN: ", call, " failed with status ", status));
}

namespace {

int MaxIsa() {
  switch (ChosenHostIsa()) {
    case HostIsa::kAvx2: return kIsaAvx2;
    case HostIsa::kAvx512: return kIsaAvx512;
    case HostIsa::kNative: break;
  }
  return kIsaAll;
}

Result<Api> LoadOneDnn(const std::vector<std::string>& search) {
  // Otherwise oneDNN's waiting threads would spin on the cores of ours. libgomp reads the variable when loaded.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  Api api = TRY(LoadApi<Api>(search));
  // oneDNN reads this setting only at its first use.
  if (const int isa = MaxIsa(); isa != kIsaAll) {
    if (const int status = api.set_max_cpu_isa(isa)) FAIL(Failed("dnnl_set_max_cpu_isa", status));
  }
  if (const int status = api.engine_create(&api.engine, kCpu, 0)) FAIL(Failed("dnnl_engine_create", status));
  if (const int status = api.stream_create(&api.stream, api.engine, kInOrder))
    FAIL(Failed("dnnl_stream_create", status));
  return api;
}

}  // namespace

Result<const Api*> GetApi(const std::vector<std::string>& search) { return OpenOnce<LoadOneDnn>(search); }

}  // namespace hlo::gpu::onednn
