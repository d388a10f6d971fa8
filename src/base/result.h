// Errors as values. A `Result<T>` holds a value or an `Error`; `TRY(expr)` passes the error up. Three kinds of failure
// exist: bad input returns an Error that points at the text, the world's failures return an Error
// that keeps the world's words, and our own bugs stop the program (base/check.h).
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

// One meaning each, the same in every tool: docs/reports.md#exit-codes.
enum class ExitCode : int {
  kOk = 0,
  kNo = 1,            // A negative verdict: mismatch, difference, failed check.
  kUsage = 2,         // Bad flag, missing operand, unknown pass name.
  kRejected = 3,      // Syntax, verifier, unreadable data, argument of the wrong shape or type.
  kUnsupported = 4,   // Valid HLO that we do not implement there.
  kLimit = 5,         // Memory, time, steps, depth; the message names the flag that raises it.
  kDevice = 6,        // Device, driver or vendor library.
  kInconclusive = 7,  // A comparison was asked for and could not be decided.
  kInternal = 70,     // Our bug.
  kInterrupted = 130,
};

// Bytes [begin, end) of a SourceText. {0, 0} means "no place".
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
  std::string code;     // "P031"; stable, explained by `hlo help P031`. Its letter: docs/reports.md#diagnostics.
  std::string message;  // Lower-case start, no full stop; what was expected and what was found; names in quotes.
  SourceRange range;
  std::vector<Note> notes;
  std::string hint;  // At most one, or empty.
  // For what reads diagnostics instead of showing them; empty where there is none.
  std::string instruction;  // The name of the one that is wrong.
  std::string flag;         // That changes it: "memory_limit", which raises a limit; "platform=interpreter".
};

// What went wrong: at least one diagnostic, in the order of the text.
struct Error {
  ExitCode exit = ExitCode::kInternal;
  std::vector<Diagnostic> diagnostics;
  std::shared_ptr<const SourceText> source;  // What the ranges refer to; null when nothing has a place.
  std::string pass;                          // The instance that failed, "algsimp#2", or empty.

  Error(ExitCode exit, std::string code, std::string message, SourceRange range = {});

  Error&& Hint(std::string hint) &&;
  // The hint "--platform=interpreter runs all of them", of its flag and what that does.
  Error&& Advise(std::string flag, std::string_view does = {}) &&;
  // The message ends with the flag that raises the limit: " (--memory_limit)".
  Error&& RaisedBy(std::string flag) &&;
  Error&& AddNote(std::string message, SourceRange range = {}) &&;
  const std::string& message() const { return diagnostics.front().message; }
  const std::string& code() const { return diagnostics.front().code; }
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

// Constructors for the common kinds. `code` is the stable diagnostic code.
Error Rejected(std::string code, std::string message, SourceRange range = {});
Error Unsupported(std::string code, std::string message, SourceRange range = {});
Error UsageError(std::string code, std::string message);
Error LimitError(std::string code, std::string message, SourceRange range = {});
Error DeviceError(std::string code, std::string message);
Error InternalError(std::string message, SourceRange range = {});

}  // namespace hlo

// TRY(expr): the value of a Result, or return its error. TRY of a Status has no value.
#define TRY(...)                                                 \
  ({                                                             \
    auto hlo_try_result = (__VA_ARGS__);                         \
    if (!hlo_try_result) [[unlikely]]                            \
      return std::unexpected(std::move(hlo_try_result).error()); \
    ::hlo::internal::TakeValue(hlo_try_result);                  \
  })

// FAIL(error): return an Error from a function that returns a Result.
#define FAIL(...) return std::unexpected(__VA_ARGS__)

namespace hlo::internal {
template <class T>
T TakeValue(Result<T>& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
}  // namespace hlo::internal

#endif  // HLO_BASE_RESULT_H_
