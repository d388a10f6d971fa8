// Reports for a run that ended with an error instead of a verdict.
#ifndef HLO_DRIVER_RUN_ERROR_REPORT_H_
#define HLO_DRIVER_RUN_ERROR_REPORT_H_

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/source_text.h"
#include "driver/run/run.h"

namespace hlo {

// "UNSUPPORTED(what)", "FAILED(input)", ... (docs/reports.md#verdicts).
std::string VerdictOf(const Error& error);
// The first diagnostic, as "[V012] line 7: ...".
std::string DetailOf(const Error& error);
// The next thing to do: a command, flag or hint, or "".
std::string NextOf(const Error& error, const RunOptions& options, const std::string& path);

// The members verdict, exit and detail of `hlo.run/1`, then `errors`, and `culprit` and `next` if known.
std::string ErrorJson(const std::string& schema, const std::string& path, const Error& error, const std::string& next);

// Writes code, line and column (0 if unknown), and message.
void WriteJson(JsonWriter& json, const SourceText* source, const Diagnostic& diagnostic);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_ERROR_REPORT_H_
