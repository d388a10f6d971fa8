// The C interface of oneDNN 2 and 3, declared here, so that the build needs no header. A memory descriptor is a struct
// of the caller in version 2, and a handle in version 3.
#ifndef HLO_GPU_LIBRARIES_ONEDNN_API_H_
#define HLO_GPU_LIBRARIES_ONEDNN_API_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "gpu/device/shared_library.h"

namespace hlo::gpu::onednn {

using Handle = void*;
constexpr int kMaxDims = 12;
using Dims = int64_t[kMaxDims];

enum { kSuccess = 0, kOutOfMemory = 1 };
enum { kTypeF16 = 1, kTypeBF16 = 2, kTypeF32 = 3 };
enum { kIsaAll = 0, kIsaAvx2 = 0x7, kIsaAvx512 = 0x27 };
enum { kCpu = 1, kInOrder = 1, kTagAny = 1, kUserScratchpad = 1, kForwardInference = 96, kConvolutionDirect = 1 };
enum { kBinaryAdd = 0x1fff0, kBinaryMul = 0x1fff1, kBinarySub = 0x1fff5 };
enum { kQueryImplementation = 8, kQueryWeights = 131, kQueryScratchpad = 136, kQueryArgument = 255 };
enum { kArgSource = 1, kArgSecondSource = 2, kArgResult = 17, kArgWeights = 33, kArgScratchpad = 80 };

struct Argument {
  int what;
  Handle memory;
};

struct Version {
  int major, minor, patch;
};

constexpr size_t kDescriptorBytes = 16384;  // sizeof(dnnl_convolution_desc_t) is 5,928 in 2.6.

struct Api {
  static constexpr std::string_view kFiles[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"};
  static constexpr std::span<const std::string_view> kFolders{};
  SharedLibrary library;
  const Version* (*version)() = library.Get("dnnl_version");
  int (*set_max_cpu_isa)(int) = library.Get("dnnl_set_max_cpu_isa");
  int (*engine_create)(Handle*, int kind, size_t index) = library.Get("dnnl_engine_create");
  int (*stream_create)(Handle*, Handle engine, unsigned flags) = library.Get("dnnl_stream_create");
  size_t (*memory_desc_get_size)(const void*) = library.Get("dnnl_memory_desc_get_size");
  int (*memory_desc_equal)(const void*, const void*) = library.Get("dnnl_memory_desc_equal");
  int (*memory_create)(Handle*, const void* descriptor, Handle engine, void* data) = library.Get("dnnl_memory_create");
  int (*memory_get_memory_desc)(Handle, const void** descriptor) = library.Get("dnnl_memory_get_memory_desc");
  int (*memory_set_data_handle)(Handle, void* data) = library.Get("dnnl_memory_set_data_handle");
  int (*memory_destroy)(Handle) = library.Get("dnnl_memory_destroy");
  int (*attr_create)(Handle*) = library.Get("dnnl_primitive_attr_create");
  int (*attr_destroy)(Handle) = library.Get("dnnl_primitive_attr_destroy");
  int (*attr_set_scratchpad_mode)(Handle, int) = library.Get("dnnl_primitive_attr_set_scratchpad_mode");
  int (*attr_set_post_ops)(Handle, Handle) = library.Get("dnnl_primitive_attr_set_post_ops");
  int (*post_ops_create)(Handle*) = library.Get("dnnl_post_ops_create");
  int (*post_ops_destroy)(Handle) = library.Get("dnnl_post_ops_destroy");
  int (*post_ops_append_binary)(Handle, int algorithm,
                                const void* descriptor) = library.Get("dnnl_post_ops_append_binary");
  // 2: (Handle, float scale); 3: (Handle, float scale, int32_t zero_point, int type).
  void (*post_ops_append_sum)() = library.Get("dnnl_post_ops_append_sum");
  int (*reorder_create)(Handle*, const void* from, Handle from_engine, const void* to, Handle to_engine,
                        Handle attr) = library.Get("dnnl_reorder_primitive_desc_create");
  int (*primitive_desc_query)(Handle, int what, int index, void* result) = library.Get("dnnl_primitive_desc_query");
  const void* (*primitive_desc_query_md)(Handle, int what, int index) = library.Get("dnnl_primitive_desc_query_md");
  int (*primitive_desc_destroy)(Handle) = library.Get("dnnl_primitive_desc_destroy");
  int (*primitive_create)(Handle*, Handle primitive_desc) = library.Get("dnnl_primitive_create");
  int (*primitive_destroy)(Handle) = library.Get("dnnl_primitive_destroy");
  int (*primitive_execute)(Handle, Handle stream, int count, const Argument*) = library.Get("dnnl_primitive_execute");
  void (*omp_set_num_threads)(int) = library.Find("omp_set_num_threads");  // In oneDNN's own libgomp.
  int (*memory_desc_init_by_strides)(void*, int rank, const int64_t*, int type,
                                     const int64_t*) = GetFor(2, "dnnl_memory_desc_init_by_strides");
  int (*memory_desc_init_by_tag)(void*, int rank, const int64_t*, int type,
                                 int tag) = GetFor(2, "dnnl_memory_desc_init_by_tag");
  int (*matmul_desc_init)(void*, const void*, const void*, const void*, const void*) = GetFor(2,
                                                                                              "dnnl_matmul_desc_init");
  int (*convolution_desc_init)(void*, int, int, const void*, const void*, const void*, const void*, const int64_t*,
                               const int64_t*, const int64_t*,
                               const int64_t*) = GetFor(2, "dnnl_dilated_convolution_forward_desc_init");
  int (*primitive_desc_create)(Handle*, const void*, Handle attr, Handle engine,
                               Handle hint) = GetFor(2, "dnnl_primitive_desc_create");
  int (*iterator_create)(Handle*, const void*, Handle attr, Handle engine,
                         Handle hint) = GetFor(2, "dnnl_primitive_desc_iterator_create");
  int (*iterator_next)(Handle) = GetFor(2, "dnnl_primitive_desc_iterator_next");
  Handle (*iterator_fetch)(Handle) = GetFor(2, "dnnl_primitive_desc_iterator_fetch");
  int (*iterator_destroy)(Handle) = GetFor(2, "dnnl_primitive_desc_iterator_destroy");
  int (*memory_desc_create_with_strides)(void**, int rank, const int64_t*, int type,
                                         const int64_t*) = GetFor(3, "dnnl_memory_desc_create_with_strides");
  int (*memory_desc_create_with_tag)(void**, int rank, const int64_t*, int type,
                                     int tag) = GetFor(3, "dnnl_memory_desc_create_with_tag");
  int (*memory_desc_destroy)(void*) = GetFor(3, "dnnl_memory_desc_destroy");
  int (*matmul_create)(Handle*, Handle engine, const void*, const void*, const void*, const void*,
                       Handle attr) = GetFor(3, "dnnl_matmul_primitive_desc_create");
  int (*convolution_create)(Handle*, Handle engine, int, int, const void*, const void*, const void*, const void*,
                            const int64_t*, const int64_t*, const int64_t*, const int64_t*,
                            Handle attr) = GetFor(3, "dnnl_convolution_forward_primitive_desc_create");
  int (*primitive_desc_next_impl)(Handle) = GetFor(3, "dnnl_primitive_desc_next_impl");

  Handle engine = nullptr, stream = nullptr;

  // Adds the old contents of the result.
  int AppendSum(Handle post_ops) const {
    if (IsVersion3())
      return reinterpret_cast<int (*)(Handle, float, int32_t, int)>(post_ops_append_sum)(post_ops, 1.0f, 0, 0);
    return reinterpret_cast<int (*)(Handle, float)>(post_ops_append_sum)(post_ops, 1.0f);
  }

  // Sets the threads for calls on the current thread. Does nothing without OpenMP.
  void SetThreads(int threads) const {
    if (omp_set_num_threads != nullptr) omp_set_num_threads(threads);
  }
  Symbol GetFor(int major, const char* symbol) {
    return version != nullptr && IsVersion3() == (major == 3) ? library.Get(symbol) : Symbol();
  }
  bool IsVersion3() const { return version()->major >= 3; }
  std::string VersionText() const { return Str(version()->major, ".", version()->minor, ".", version()->patch); }
};

Error Failed(std::string_view call, int status);

// Opens oneDNN once. Later calls return the same interface or error.
Result<const Api*> GetApi(const std::vector<std::string>& search);

}  // namespace hlo::gpu::onednn

#endif  // HLO_GPU_LIBRARIES_ONEDNN_API_H_
