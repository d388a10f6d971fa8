// The double of cuDNN as a library: the functions of cudnn_double.h with the streams and the memory of the driver's
// double.
#include <cstdio>

#include "tests/doubles/cuda.h"
#include "tests/doubles/cudnn_double.h"

namespace hlo::doubles {
namespace {

gpu::CudnnDouble& TheDouble();

class Alive : public AnyRegistry {
 public:
  using AnyRegistry::AnyRegistry;
  size_t alive() const override { return TheDouble().alive; }
};

const Entry* now = nullptr;  // The current call.

gpu::CudnnDouble& TheDouble() {
  static auto* const made = new gpu::CudnnDouble{
      .violated = Violation,
      .enqueue =
          [](void* stream, const std::function<void()>& run, const std::vector<gpu::CudnnDouble::Touched>& touched) {
            Work work{.kind = WorkKind::kConvolution, .what = "convolution", .run = [run] {
                        run();
                        return int{CUDA_SUCCESS};
                      }};
            for (const auto& [begin, bytes, writes] : touched) work.touches.push_back({begin, bytes, writes});
            return Enqueue(*now, stream, std::move(work));
          },
      .is_memory = [](const void* begin, size_t bytes) { return IsDeviceMemory("cuDNN", begin, bytes); }};
  static auto* const alive = new Alive("cuDNN descriptor or handle");
  static_cast<void>(alive);
  return *made;
}

const gpu::cudnn::Api& Api() {
  static auto* const api = new gpu::cudnn::Api(TheDouble().api());
  return *api;
}

}  // namespace
}  // namespace hlo::doubles

using namespace hlo::doubles;  // NOLINT: the functions of the interface follow.

// A function that cleans up does its work even if it has to fail.
#define FORWARD(name, function, ...)            \
  ENTER(name);                                  \
  now = &entry;                                 \
  const int done = Api().function(__VA_ARGS__); \
  return entry.status() != 0 ? entry.status() : done

extern "C" {

size_t cudnnGetVersion() { return Api().version(); }
const char* cudnnGetErrorString(int status) {
  const char* const name = ErrorName(Library::kCudnn, status);
  return name != nullptr ? name : "unknown";
}
void cudnnGetLastErrorString(char* words, size_t bytes) { std::snprintf(words, bytes, "as the double was asked to"); }

int cudnnCreate(void** handle) { FORWARD(cudnnCreate, create, handle); }
int cudnnDestroy(void* handle) { FORWARD(cudnnDestroy, destroy, handle); }
int cudnnSetStream(void* handle, void* stream) { FORWARD(cudnnSetStream, set_stream, handle, stream); }
int cudnnBackendCreateDescriptor(int kind, void** descriptor) {
  FORWARD(cudnnBackendCreateDescriptor, descriptor_create, kind, descriptor);
}
int cudnnBackendDestroyDescriptor(void* descriptor) {
  FORWARD(cudnnBackendDestroyDescriptor, descriptor_destroy, descriptor);
}
int cudnnBackendSetAttribute(void* descriptor, int attribute, int type, int64_t count, const void* values) {
  FORWARD(cudnnBackendSetAttribute, descriptor_set, descriptor, attribute, type, count, values);
}
int cudnnBackendGetAttribute(void* descriptor, int attribute, int type, int64_t count, int64_t* found, void* values) {
  FORWARD(cudnnBackendGetAttribute, descriptor_get, descriptor, attribute, type, count, found, values);
}
int cudnnBackendFinalize(void* descriptor) { FORWARD(cudnnBackendFinalize, finalize, descriptor); }
int cudnnBackendExecute(void* handle, void* plan, void* pack) {
  FORWARD(cudnnBackendExecute, execute, handle, plan, pack);
}

}  // extern "C"
