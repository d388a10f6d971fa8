#include "base/result.h"

namespace hlo {

Error::Error(ExitCode exit, std::string code, std::string message, SourceRange range) : exit(exit) {
  diagnostics.push_back({std::move(code), std::move(message), range, {}, {}, {}, {}});
}

Error&& Error::Hint(std::string hint) && {
  diagnostics.back().hint = std::move(hint);
  return std::move(*this);
}

Error&& Error::Advise(std::string flag, std::string_view does) && {
  diagnostics.back().hint = "--" + flag + (does.empty() ? "" : " ") + std::string(does);
  diagnostics.back().flag = std::move(flag);
  return std::move(*this);
}

Error&& Error::RaisedBy(std::string flag) && {
  diagnostics.back().message += " (--" + flag + ")";
  diagnostics.back().flag = std::move(flag);
  return std::move(*this);
}

Error&& Error::AddNote(std::string message, SourceRange range) && {
  diagnostics.back().notes.push_back({std::move(message), range});
  return std::move(*this);
}

Error Rejected(std::string code, std::string message, SourceRange range) {
  return Error(ExitCode::kRejected, std::move(code), std::move(message), range);
}

Error Unsupported(std::string code, std::string message, SourceRange range) {
  return Error(ExitCode::kUnsupported, std::move(code), std::move(message), range);
}

Error UsageError(std::string code, std::string message) {
  return Error(ExitCode::kUsage, std::move(code), std::move(message));
}

Error LimitError(std::string code, std::string message, SourceRange range) {
  return Error(ExitCode::kLimit, std::move(code), std::move(message), range);
}

Error DeviceError(std::string code, std::string message) {
  return Error(ExitCode::kDevice, std::move(code), std::move(message));
}

Error InternalError(std::string message, SourceRange range) {
  return Error(ExitCode::kInternal, "I001", std::move(message), range);
}

}  // namespace hlo
