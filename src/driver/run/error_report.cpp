#include "driver/run/error_report.h"

#include "base/text.h"
#include "driver/command_line.h"

namespace hlo {
namespace {

// "algsimp#2": the pipeline adds the note "in pass 7, algsimp#2 of simplify" to what a pass fails with.
std::string GuiltyPass(const Error& error) {
  for (const Diagnostic& diagnostic : error.diagnostics) {
    for (const Note& note : diagnostic.notes) {
      if (!note.message.starts_with("in pass ")) continue;
      const size_t begin = note.message.find(", "), end = note.message.find(" of ");
      if (begin != std::string::npos && end != std::string::npos && begin < end)
        return note.message.substr(begin + 2, end - begin - 2);
    }
  }
  return "";
}

// The instruction on whose line the error stands: "ROOT %r = f32[2] add(...)" gives r.
std::string InstructionAt(const Error& error) {
  const SourceRange range = error.diagnostics.front().range;
  if (error.source == nullptr || range == SourceRange{}) return "";
  std::string_view line = Trim(error.source->Line(error.source->PlaceOf(range.begin).line));
  if (line.starts_with("ROOT ")) line.remove_prefix(5);
  const size_t equals = line.find(" = ");
  if (equals == std::string_view::npos) return "";
  line = Trim(line.substr(0, equals));
  if (line.starts_with('%')) line.remove_prefix(1);
  return line.find(' ') == std::string_view::npos ? std::string(line) : "";
}

// The first flag that the text names: "(--memory_limit)" gives "--memory_limit".
std::string FlagIn(const std::string& text) {
  const size_t begin = text.find("--");
  if (begin == std::string::npos) return "";
  const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin + 2);
  return text.substr(begin, end == std::string::npos ? end : end - begin);
}

}  // namespace

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
  const auto again = [&](const std::string& flag) { return RunAgain(options.flags, flag, path); };
  const std::string& hint = error.diagnostics.front().hint;
  if (error.exit == ExitCode::kLimit) {
    const std::string flag = FlagIn(error.message());
    return flag.empty() ? "" : again(flag + "=N") + "   with a larger N";
  }
  if (error.exit != ExitCode::kUnsupported) return "";
  // The hint of an unsupported op is the flag that helps, where one does.
  const std::string flag = FlagIn(hint);
  if (flag == "--platform") return again("--platform=interpreter");
  if (!hint.empty()) return hint;
  return "'hlo ops' shows what is supported where; 'hlo-inspect extract' cuts out the part that is";
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
  const std::string pass = GuiltyPass(error), instruction = InstructionAt(error);
  if (!pass.empty() || !instruction.empty()) {
    json.Key("culprit").Open('{').Key("kind").Value(pass.empty() ? "instruction" : "pass");
    json.Key("name").Value(pass.empty() ? instruction : pass).Close('}');
  }
  if (!next.empty()) json.Key("next").Value(next);
  json.Close('}');
  return json.text() + "\n";
}

}  // namespace hlo
