#include "driver/run/error_report.h"

#include "base/text.h"
#include "driver/command_line.h"

namespace hlo {

std::string VerdictOf(const Error& error) {
  switch (error.exit) {
    case ExitCode::kUnsupported: return Str("UNSUPPORTED(", error.message(), ")");
    case ExitCode::kLimit: return Str("LIMIT(", error.message(), ")");
    case ExitCode::kNo: return "FAILED(run)";
    case ExitCode::kRejected: return "FAILED(input)";
    case ExitCode::kUsage: return "FAILED(usage)";
    case ExitCode::kDevice: return "FAILED(device)";
    case ExitCode::kInternal: return "FAILED(internal)";
    default: return "FAILED";
  }
}

std::string DetailOf(const Error& error) {
  const Diagnostic& first = error.diagnostics.front();
  std::string detail = Str("[", first.code, "] ");
  if (error.source != nullptr && first.range != SourceRange{})
    detail += Str("line ", error.source->PlaceOf(first.range.begin).line, ": ");
  return detail + first.message;
}

std::string NextOf(const Error& error, const RunOptions& options, const std::string& path) {
  const auto again = [&](const std::string& flag) { return RunAgain(options.flags, "--" + flag, path); };
  const std::string& flag = error.diagnostics.front().flag;
  const std::string& hint = error.diagnostics.front().hint;
  if (error.exit == ExitCode::kLimit) return flag.empty() ? "" : again(flag + "=N") + "   with a larger N";
  if (error.exit != ExitCode::kUnsupported) return "";
  if (!flag.empty()) return again(flag);
  if (!hint.empty()) return hint;
  return "'hlo ops' lists the supported ops; 'hlo-inspect extract' extracts the part that is supported";
}

void WriteJson(JsonWriter& json, const SourceText* source, const Diagnostic& diagnostic) {
  const bool placed = source != nullptr && diagnostic.range != SourceRange{};
  const SourceText::Place place = placed ? source->PlaceOf(diagnostic.range.begin) : SourceText::Place{0, 0};
  json.Key("code").Value(diagnostic.code).Key("line").Value(place.line).Key("column").Value(place.column);
  json.Key("message").Value(diagnostic.message);
}

std::string ErrorJson(const std::string& schema, const std::string& path, const Error& error, const std::string& next) {
  JsonWriter json;
  json.Open('{').Key("schema").Value(schema).Key("path").Value(path == "-" ? "<stdin>" : path);
  json.Key("verdict").Value(VerdictOf(error)).Key("exit").Value(static_cast<int>(error.exit));
  json.Key("detail").Value(DetailOf(error)).Key("errors").Open('[');
  for (const Diagnostic& diagnostic : error.diagnostics) {
    json.Open('{');
    WriteJson(json, error.source.get(), diagnostic);
    json.Key("notes").Open('[');
    for (const Note& note : diagnostic.notes) json.Value(note.message);
    json.Close(']');
    if (!diagnostic.hint.empty()) json.Key("hint").Value(diagnostic.hint);
    json.Close('}');
  }
  json.Close(']');
  const std::string& instruction = error.diagnostics.front().instruction;
  if (!error.pass.empty() || !instruction.empty()) {
    json.Key("culprit").Open('{').Key("kind").Value(error.pass.empty() ? "instruction" : "pass");
    json.Key("name").Value(error.pass.empty() ? instruction : error.pass).Close('}');
  }
  if (!next.empty()) json.Key("next").Value(next);
  json.Close('}');
  return json.text() + "\n";
}

}  // namespace hlo
