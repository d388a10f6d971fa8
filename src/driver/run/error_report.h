// Reports for a run that ended with an error instead of a verdict.
#ifndef HLO_DRIVER_RUN_ERROR_REPORT_H_
#define HLO_DRIVER_RUN_ERROR_REPORT_H_

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/source_text.h"
#include "driver/run/run.h"

namespace hlo {

// For example "UNSUPPORTED(what)" or "FAILED(input)" (docs/reports.md#verdicts).
std::string VerdictOf(const Error& error);
// The first diagnostic, as "[V012] line 7: ...".
std::string DetailOf(const Error& error);
// A command or flag, or "".
std::string NextOf(const Error& error, const RunOptions& options, const std::string& path);

// Verdict, exit and detail as in `hlo.run/1`, `errors`, `next`, and `culprit` if it is known.
std::string ErrorJson(const std::string& schema, const std::string& path, const Error& error, const std::string& next);

// Writes code, line, column (0: none) and message into an open object.
void WriteJson(JsonWriter& json, const SourceText* source, const Diagnostic& diagnostic);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_ERROR_REPORT_H_
