#include "driver/page.h"

#include <algorithm>
#include <array>

#include "base/counted.h"
#include "base/text.h"
#include "driver/xml.h"

namespace hlo {
namespace {

// Columns of long text (`x`) wrap. Wide tables scroll inside their box (`t`).
constexpr std::string_view kStyle = R"html(<style>
:root{color-scheme:light dark}
body{font:14px/1.5 system-ui,sans-serif;max-width:1320px;margin:0 auto;padding:0 16px 48px;overflow-wrap:anywhere}
h2{margin:40px 0 4px;border-top:1px solid #8886;padding-top:16px}
.t{overflow-x:auto;margin:8px 0}
table{border-collapse:collapse}
th,td{text-align:left;padding:2px 14px 2px 0;vertical-align:top;white-space:nowrap}
.x{min-width:26ch;white-space:normal;overflow-wrap:anywhere}
td{border-bottom:1px solid #8882}th{font-weight:600;border-bottom:1px solid #8886}
.n{text-align:right;font-variant-numeric:tabular-nums}
table.f{width:100%}td.d{padding:0;max-width:0}
.s{opacity:.65}
.w{color:#b45309}
pre{margin:2px 0 10px;padding:8px;overflow-x:auto;font:12px/1.4 ui-monospace,monospace;background:#8881}
pre.l{white-space:pre-wrap;overflow-wrap:anywhere}
.m{color:#dc2626}.p{color:#16a34a}.h{color:#0891b2}
summary{cursor:pointer}
a{margin-right:10px}
@media(max-width:720px){body{padding:0 10px 32px}h1{font-size:22px}.x{min-width:18ch}}
)html";

std::string_view ClassOf(std::string_view line) {
  if (line.starts_with("--- ") || line.starts_with("+++ ")) return "";
  return line.starts_with('-') ? "m" : line.starts_with('+') ? "p" : line.starts_with("@@ ") ? "h" : "";
}

}  // namespace

std::string PageHead(std::string_view title, std::string_view rules) {
  return Str(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>",
      XmlText(title), "</title>", kStyle, rules, "</style></head><body>\n");
}

std::string Element(std::string_view tag, std::string_view text, std::string_view css) {
  return Str("<", tag, css.empty() ? "" : Str(" class=\"", css, "\""), ">", XmlText(text), "</", tag, ">");
}

std::string TitleCells(std::initializer_list<std::string_view> titles) {
  std::string cells;
  for (const std::string_view title : titles) {
    const bool is_number = title.starts_with('>');
    cells += Element("th", title.substr(is_number), is_number ? "n" : "");
  }
  return cells;
}

std::string HtmlRows(const std::vector<std::string>& rows, std::string_view css) {
  std::string out = Str("<div class=\"t\"><table", css.empty() ? "" : Str(" class=\"", css, "\""), ">\n");
  for (const std::string& cells : rows) out += Str("<tr>", cells, "</tr>\n");
  return out + "</table></div>\n";
}

std::string HtmlTable(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows) {
  constexpr size_t kLongText = 28;
  std::vector<std::string> lines(rows.size() + 1);
  for (size_t i = 0; i < titles.size(); ++i) {
    const bool is_number = titles[i].starts_with('>');
    const bool is_long = std::ranges::any_of(rows, [&](const auto& row) { return row[i].size() > kLongText; });
    const std::string_view css = is_number ? "n" : is_long ? "x" : "";
    lines[0] += Element("th", std::string_view(titles[i]).substr(is_number), css);
    for (size_t r = 0; r < rows.size(); ++r) lines[r + 1] += Cell(rows[r][i], css);
  }
  return HtmlRows(lines);
}

std::string DiffHtml(std::string_view diff, size_t most_lines, std::string_view left_out) {
  std::string out = "<pre>";
  const std::vector<std::string_view> lines = Split(Trim(diff), '\n');
  for (size_t i = 0; i < std::min(lines.size(), most_lines); ++i) {
    const std::string_view color = ClassOf(lines[i]);
    out += color.empty() ? XmlText(lines[i]) : Element("span", lines[i], color);
    out += "\n";
  }
  if (lines.size() > most_lines)
    out += Str("... and ", Counted(static_cast<int64_t>(lines.size() - most_lines), "line"), " ", left_out, "\n");
  return out + "</pre>";
}

}  // namespace hlo
