// What a person, and a program, gets to read where a run ended with an error instead of a verdict.
#ifndef HLO_DRIVER_RUN_ERROR_REPORT_H_
#define HLO_DRIVER_RUN_ERROR_REPORT_H_

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/source_text.h"
#include "driver/run/run.h"

namespace hlo {

// The verdict (docs/reports.md#verdicts): "UNSUPPORTED(what)", "LIMIT(which)", "FAILED(input)".
std::string VerdictOf(const Error& error);
// "[V012] line 7: ..." of the first.
std::string DetailOf(const Error& error);
// A command or a flag that leads on; "" where the error says all there is.
std::string NextOf(const Error& error, const RunOptions& options, const std::string& path);

// The report of a command that came to nothing: verdict, exit and detail as `hlo.run/1` has them, `errors`, `culprit`
// where it is known, `next`.
std::string ErrorJson(const std::string& schema, const std::string& path, const Error& error, const std::string& next);

// Keys of an open object: code, line, column (0: none) and message.
void WriteJson(JsonWriter& json, const SourceText* source, const Diagnostic& diagnostic);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_ERROR_REPORT_H_
