// Errors as values. A `Result<T>` holds a value or an `Error`. `TRY(expr)` passes the error to the caller. Errors of
// bad input point at the text, errors of the system contain its message. A bug of this program ends the process
// (base/check.h).
#ifndef HLO_BASE_RESULT_H_
#define HLO_BASE_RESULT_H_

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hlo {

class SourceText;

// Codes mean the same in all tools: docs/reports.md#exit-codes.
enum class ExitCode : int {
  kOk = 0,
  kNo = 1,  // A negative verdict.
  kUsage = 2,
  kRejected = 3,  // Bad syntax, module, data or argument.
  kUnsupported = 4,
  kLimit = 5,  // Most messages name the flag that raises the limit.
  kDevice = 6,
  kInconclusive = 7,
  kInternal = 70,
  kInterrupted = 130,
};

// Bytes [begin, end) of a SourceText. {0, 0} means that the place is unknown.
struct SourceRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool empty() const { return begin == end; }
  bool operator==(const SourceRange&) const = default;
};

struct Note {
  std::string message;
  SourceRange range;
};

struct Diagnostic {
  std::string code;  // Stable code such as "P031" (`hlo help P031`). The letters: docs/reports.md#diagnostics.
  // The expected and the found state, with names in quotes. Starts in lower case and has no full stop.
  std::string message;
  SourceRange range;
  std::vector<Note> notes;
  std::string hint;
  // For programs that read diagnostics. Both may be empty.
  std::string instruction;
  std::string flag;  // Such as "platform=interpreter".
};

struct Error {
  ExitCode exit = ExitCode::kInternal;
  std::vector<Diagnostic> diagnostics;
  std::shared_ptr<const SourceText> source;  // Null if no diagnostic has a place.
  std::string pass;                          // Such as "algsimp#2", or empty.

  Error(ExitCode exit, std::string code, std::string message, SourceRange range = {});

  Error&& Hint(std::string hint) &&;
  // Sets the hint "--FLAG DOES" and Diagnostic::flag.
  Error&& Advise(std::string flag, std::string_view does = {}) &&;
  // Appends the flag that raises the limit: " (--memory_limit)". Sets Diagnostic::flag.
  Error&& RaisedBy(std::string flag) &&;
  Error&& AddNote(std::string message, SourceRange range = {}) &&;
  const std::string& message() const { return diagnostics.front().message; }
  const std::string& code() const { return diagnostics.front().code; }
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

Error Rejected(std::string code, std::string message, SourceRange range = {});
Error Unsupported(std::string code, std::string message, SourceRange range = {});
Error UsageError(std::string code, std::string message);
Error LimitError(std::string code, std::string message, SourceRange range = {});
Error DeviceError(std::string code, std::string message);
Error InternalError(std::string message, SourceRange range = {});

}  // namespace hlo

#define TRY(...)                                                 \
  ({                                                             \
    auto hlo_try_result = (__VA_ARGS__);                         \
    if (!hlo_try_result) [[unlikely]]                            \
      return std::unexpected(std::move(hlo_try_result).error()); \
    ::hlo::internal::TakeValue(hlo_try_result);                  \
  })

#define FAIL(...) return std::unexpected(__VA_ARGS__)

namespace hlo::internal {
template <class T>
T TakeValue(Result<T>& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
}  // namespace hlo::internal

#endif  // HLO_BASE_RESULT_H_
