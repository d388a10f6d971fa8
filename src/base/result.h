// Errors as values. A `Result<T>` holds a value or an `Error`; `TRY(expr)` passes the error to the caller. There are
// three kinds of failure. Bad input returns an Error that points at the text. A failure of the system returns an Error
// with the system's own words. Our own bugs stop the program (base/check.h).
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

// Each code has one meaning in all tools: docs/reports.md#exit-codes.
enum class ExitCode : int {
  kOk = 0,
  kNo = 1,            // A negative verdict: mismatch, difference, failed check.
  kUsage = 2,         // Bad flag, missing operand, unknown pass name.
  kRejected = 3,      // Syntax, verifier, unreadable data, argument of the wrong shape or type.
  kUnsupported = 4,   // Valid HLO that is not implemented on this platform.
  kLimit = 5,         // A limit of memory, time, steps or depth. The message names the flag that raises it.
  kDevice = 6,        // Device, driver or vendor library.
  kInconclusive = 7,  // The requested comparison could not be decided.
  kInternal = 70,     // A bug of ours.
  kInterrupted = 130,
};

// Bytes [begin, end) of a SourceText. {0, 0} means that there is no place.
struct SourceRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool empty() const { return begin == end; }
  bool operator==(const SourceRange&) const = default;
};

// A second place that explains an error.
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
  std::string hint;  // Empty if there is none.
  // For programs that read diagnostics; empty where not known.
  std::string instruction;  // The name of the wrong instruction.
  std::string flag;         // The flag to change: "memory_limit", "platform=interpreter".
};

// A failure with at least one diagnostic, in the order of the text.
struct Error {
  ExitCode exit = ExitCode::kInternal;
  std::vector<Diagnostic> diagnostics;
  std::shared_ptr<const SourceText> source;  // The text that the ranges refer to; null if no diagnostic has a place.
  std::string pass;                          // The pass instance that failed, such as "algsimp#2", or empty.

  Error(ExitCode exit, std::string code, std::string message, SourceRange range = {});

  Error&& Hint(std::string hint) &&;
  // Sets the hint "--FLAG DOES", such as "--platform=interpreter runs all of them".
  Error&& Advise(std::string flag, std::string_view does = {}) &&;
  // Appends the flag that raises the limit to the message: " (--memory_limit)".
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

// TRY(expr) is the value of a Result, or returns the error from the calling function. TRY of a Status has no value.
#define TRY(...)                                                 \
  ({                                                             \
    auto hlo_try_result = (__VA_ARGS__);                         \
    if (!hlo_try_result) [[unlikely]]                            \
      return std::unexpected(std::move(hlo_try_result).error()); \
    ::hlo::internal::TakeValue(hlo_try_result);                  \
  })

// FAIL(error) returns an Error from a function that returns a Result.
#define FAIL(...) return std::unexpected(__VA_ARGS__)

namespace hlo::internal {
template <class T>
T TakeValue(Result<T>& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
}  // namespace hlo::internal

#endif  // HLO_BASE_RESULT_H_
