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

Result<Api> LoadApi(const std::vector<std::string>& search) {
  // Otherwise oneDNN's waiting threads would spin on the cores of ours. libgomp reads the variable when loaded.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  Api api;
  constexpr std::string_view kNames[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"};
  api.library = TRY(SharedLibrary::Open(kNames, search));
  SharedLibrary& library = api.library;
  library.Load("dnnl_version", &api.version);
  TRY(library.Complete());
  library.Load("dnnl_set_max_cpu_isa", &api.set_max_cpu_isa);
  library.Load("dnnl_engine_create", &api.engine_create);
  library.Load("dnnl_stream_create", &api.stream_create);
  library.Load("dnnl_memory_desc_get_size", &api.memory_desc_get_size);
  library.Load("dnnl_memory_desc_equal", &api.memory_desc_equal);
  library.Load("dnnl_memory_create", &api.memory_create);
  library.Load("dnnl_memory_get_memory_desc", &api.memory_get_memory_desc);
  library.Load("dnnl_memory_set_data_handle", &api.memory_set_data_handle);
  library.Load("dnnl_memory_destroy", &api.memory_destroy);
  library.Load("dnnl_primitive_attr_create", &api.attr_create);
  library.Load("dnnl_primitive_attr_destroy", &api.attr_destroy);
  library.Load("dnnl_primitive_attr_set_scratchpad_mode", &api.attr_set_scratchpad_mode);
  library.Load("dnnl_primitive_attr_set_post_ops", &api.attr_set_post_ops);
  library.Load("dnnl_post_ops_create", &api.post_ops_create);
  library.Load("dnnl_post_ops_destroy", &api.post_ops_destroy);
  library.Load("dnnl_post_ops_append_binary", &api.post_ops_append_binary);
  library.Load("dnnl_post_ops_append_sum", &api.post_ops_append_sum);
  library.Load("dnnl_reorder_primitive_desc_create", &api.reorder_create);
  library.Load("dnnl_primitive_desc_query", &api.primitive_desc_query);
  library.Load("dnnl_primitive_desc_query_md", &api.primitive_desc_query_md);
  library.Load("dnnl_primitive_desc_destroy", &api.primitive_desc_destroy);
  library.Load("dnnl_primitive_create", &api.primitive_create);
  library.Load("dnnl_primitive_destroy", &api.primitive_destroy);
  library.Load("dnnl_primitive_execute", &api.primitive_execute);
  if (api.IsVersion3()) {
    library.Load("dnnl_memory_desc_create_with_strides", &api.memory_desc_create_with_strides);
    library.Load("dnnl_memory_desc_create_with_tag", &api.memory_desc_create_with_tag);
    library.Load("dnnl_memory_desc_destroy", &api.memory_desc_destroy);
    library.Load("dnnl_matmul_primitive_desc_create", &api.matmul_create);
    library.Load("dnnl_convolution_forward_primitive_desc_create", &api.convolution_create);
    library.Load("dnnl_primitive_desc_next_impl", &api.primitive_desc_next_impl);
  } else {
    library.Load("dnnl_memory_desc_init_by_strides", &api.memory_desc_init_by_strides);
    library.Load("dnnl_memory_desc_init_by_tag", &api.memory_desc_init_by_tag);
    library.Load("dnnl_matmul_desc_init", &api.matmul_desc_init);
    library.Load("dnnl_dilated_convolution_forward_desc_init", &api.convolution_desc_init);
    library.Load("dnnl_primitive_desc_create", &api.primitive_desc_create);
    library.Load("dnnl_primitive_desc_iterator_create", &api.iterator_create);
    library.Load("dnnl_primitive_desc_iterator_next", &api.iterator_next);
    library.Load("dnnl_primitive_desc_iterator_fetch", &api.iterator_fetch);
    library.Load("dnnl_primitive_desc_iterator_destroy", &api.iterator_destroy);
  }
  TRY(library.Complete());
  api.omp_set_num_threads =
      reinterpret_cast<void (*)(int)>(library.Find("omp_set_num_threads"));  // In oneDNN's own libgomp.
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

Result<const Api*> GetApi(const std::vector<std::string>& search) { return OpenOnce<LoadApi>(search); }

}  // namespace hlo::gpu::onednn
