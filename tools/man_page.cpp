#include "tools/man_page.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/result.h"
#include "base/text.h"

namespace hlo {
namespace {

struct ExitRow {
  ExitCode code;
  std::string_view meaning;
};

constexpr ExitRow kExitCodes[] = {
    {ExitCode::kOk, "success; all comparisons agree"},
    {ExitCode::kNo, "a negative answer, such as a mismatch, a difference or a failed check"},
    {ExitCode::kUsage, "a usage error, such as a wrong flag, operand or pass name"},
    {ExitCode::kRejected,
     "the input was rejected: wrong syntax, an error of the verifier, unreadable data, or an argument of another shape "
     "or type than its parameter"},
    {ExitCode::kUnsupported, "a valid module that this platform does not support"},
    {ExitCode::kLimit,
     "a limit of memory, time, steps or depth was reached; the message names the flag that raises it"},
    {ExitCode::kDevice, "the device, its driver or a library failed"},
    {ExitCode::kInconclusive, "a comparison could not be decided"},
    {ExitCode::kInternal, "a bug in hlokit"},
    {ExitCode::kInterrupted, "interrupted"},
};

// groff would make these signs typographic.
std::string Plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
  }
  // To groff, a line that begins with a full stop is a request.
  return out.starts_with('.') ? "\\&" + out : out;
}

// Allows line breaks in lists of words, which are wider than a terminal.
std::string Breakable(std::string_view text) {
  const std::string plain = Plain(text);
  std::string out;
  for (size_t i = 0; i < plain.size(); ++i) {
    out += plain[i];
    if ((plain[i] == '|' || plain[i] == ',') && i + 1 < plain.size() && plain[i + 1] != ' ') out += "\\:";
  }
  return out;
}

std::string Entry(const ManEntry& entry) {
  const size_t value = std::min(entry.head.find_first_of("=["), entry.head.size());
  std::string head = Str("\\fB", Plain(std::string_view(entry.head).substr(0, value)), "\\fR");
  std::string_view rest = std::string_view(entry.head).substr(value);
  if (!rest.empty()) {
    const std::string_view sign = rest.substr(0, rest.find('=') + 1);
    rest.remove_prefix(sign.size());
    const bool optional = sign.starts_with('[');
    if (optional) rest.remove_suffix(1);
    head += Str(sign, "\\fI", Breakable(rest), "\\fR", optional ? "]" : "");
  }
  return Str(".TP\n", head, "\n", Breakable(entry.text), "\n");
}

std::string Title(std::string_view text) {
  std::string title(text);
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return Plain(title);
}

std::string FirstClause(std::string_view about) {
  size_t end = about.size();
  for (const std::string_view sign : {". ", ": ", "; "}) end = std::min(end, about.find(sign));
  std::string clause(about.substr(0, end));
  if (clause.ends_with('.')) clause.pop_back();
  if (!clause.empty()) clause[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(clause[0])));
  return clause;
}

}  // namespace

std::string Roff(const ManPage& page) {
  std::string name = page.command;
  std::ranges::replace(name, ' ', '-');
  // Names are not hyphenated.
  std::string out = Str(".TH ", Title(name), " 1 \"\" \"hlokit ", HLO_VERSION, "\" \"User Commands\"\n.nh\n.ad l\n");
  out += Str(".SH NAME\n", Plain(name), " \\- ", Plain(FirstClause(page.about)), "\n");
  out += Str(".SH SYNOPSIS\n\\fB", Plain(page.command), "\\fR ", Plain(page.usage), "\n");
  out += Str(".SH DESCRIPTION\n", Breakable(page.about), "\n");
  if (!page.flags_title.empty()) out += Str(".SH ", Title(page.flags_title), "\n");
  for (const ManSection& section : page.sections) {
    out += page.flags_title.empty() ? Str(".SH ", Title(section.title), "\n") : Str(".SS ", Plain(section.title), "\n");
    for (const ManEntry& entry : section.entries) out += Entry(entry);
  }
  out += ".SH EXIT STATUS\n";
  for (const ExitRow& row : kExitCodes) out += Entry({Str(static_cast<int>(row.code)), std::string(row.meaning)});
  if (!page.examples.empty()) out += ".SH EXAMPLES\n.EX\n";
  for (const std::string& example : page.examples) out += Plain(example) + "\n";
  if (!page.examples.empty()) out += ".EE\n";
  if (page.command != "hlo") out += ".SH SEE ALSO\n.BR hlo (1)\n";
  return out;
}

}  // namespace hlo
