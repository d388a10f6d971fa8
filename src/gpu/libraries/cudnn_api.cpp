#include "gpu/libraries/cudnn_api.h"

#include "base/log.h"

namespace hlo::gpu::cudnn {

Result<const Api*> GetApi(const std::vector<std::string>& search) { return OpenOnce<LoadApi<Api>>(search); }

Error Api::Failed(std::string_view call, int status) const {
  char words[1024] = {};
  last_error(words, sizeof words);
  std::string message = Str(call, ": ", status_string(status), " (", status, ")");
  if (const std::string_view trimmed = Trim(words); !trimmed.empty()) message += Str(", ", trimmed);
  constexpr int kNotSupported = 3000, kInternalError = 4000;
  const bool is_refusal = status >= kNotSupported && status < kInternalError;
  return DeviceError(is_refusal ? "R018" : "R015", std::move(message));
}

Descriptor::Descriptor(const Api& api, Kind kind) : api_(api) {
  if (const int status = api.descriptor_create(kind, &handle_)) {
    handle_ = nullptr;
    error_ = api.Failed(Str("cudnnBackendCreateDescriptor of kind ", static_cast<int>(kind)), status);
  }
}

Descriptor::~Descriptor() {
  if (handle_ == nullptr) return;
  if (const int status = api_.descriptor_destroy(handle_))
    VLOG(0, api_.Failed("cudnnBackendDestroyDescriptor", status).message());
}

Descriptor& Descriptor::Set(Attribute attribute, Type type, int64_t count, const void* values) {
  if (error_) return *this;
  if (const int status = api_.descriptor_set(handle_, attribute, type, count, values))
    error_ = api_.Failed(Str("cudnnBackendSetAttribute ", static_cast<int>(attribute)), status);
  return *this;
}

Descriptor& Descriptor::Refer(Attribute attribute, const std::vector<const Descriptor*>& others) {
  std::vector<Handle> handles;
  for (const Descriptor* other : others) handles.push_back(other->handle_);
  return Set(attribute, kTypeDescriptor, std::ssize(handles), handles.data());
}

Status Descriptor::Finalize() {
  if (error_) FAIL(*error_);
  if (const int status = api_.finalize(handle_)) FAIL(api_.Failed("cudnnBackendFinalize", status));
  return {};
}

Result<int64_t> Descriptor::Get(Attribute attribute, Type type, int64_t count, void* values) const {
  if (error_) FAIL(*error_);
  int64_t found = 0;
  if (const int status = api_.descriptor_get(handle_, attribute, type, count, &found, values))
    FAIL(api_.Failed(Str("cudnnBackendGetAttribute ", static_cast<int>(attribute)), status));
  return found;
}

}  // namespace hlo::gpu::cudnn
