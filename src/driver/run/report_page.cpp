#include "driver/run/report_page.h"

#include <algorithm>

#include "base/text.h"
#include "driver/inspect/graph.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "driver/page.h"
#include "driver/run/oracles.h"
#include "driver/xml.h"

namespace hlo {
namespace {

constexpr std::string_view kRules = R"html(
h1{margin:0;font-size:34px}
.v{border-left:8px solid;padding:2px 16px;margin:20px 0}
.v p{margin:4px 0;color:CanvasText}
.good{color:#16a34a}.bad{color:#dc2626}.open{color:#b45309}
.q{font-size:20px}
.c{display:flex;flex-wrap:wrap;gap:0 40px;align-items:flex-start}.c>div{flex:0 1 auto;min-width:0;max-width:100%}
.g{overflow:auto;max-height:640px}
.g svg{display:block}
h2{margin-top:24px;padding-top:10px;font-size:18px}
@media(max-width:720px){h1{font-size:22px}.q{font-size:16px}}
)html";

struct KindWord {
  Culprit::Kind kind;
  std::string_view word;
};
constexpr KindWord kKindWords[] = {
    {Culprit::Kind::kPass, "pass"}, {Culprit::Kind::kKernel, "kernel"}, {Culprit::Kind::kLibrary, "library call"}};

// "kernel 'fusion.3' is wrong", or "".
std::string WhoIsWrong(const Culprit& culprit) {
  const auto row = std::ranges::find(kKindWords, culprit.kind, &KindWord::kind);
  if (row != std::end(kKindWords)) return Str(row->word, " '", culprit.name, "' is wrong");
  return culprit.kind == Culprit::Kind::kRuntime ? "the run time is wrong" : "";
}

const Instruction* Named(const Module& module, std::string_view name) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->name() == name) return inst;
    }
  }
  return nullptr;
}

class Page {
 public:
  Page(Experiment& experiment, const RunReport& report) : experiment_(experiment), report_(report) {}

  Result<std::string> Take() {
    out_ = PageHead(Str(report_.verdict, ": ", report_.module_name), kRules);
    TRY(Headline());
    out_ += "<div class=\"c\">\n";
    Elements();
    TRY(Where());
    out_ += "</div>\n";
    Judges();
    if (!report_.next.empty()) out_ += Str("<h2>Next</h2>\n<pre>", XmlText(report_.next), "</pre>\n");
    out_ +=
        Str("<details><summary>the report as text</summary><pre>", XmlText(ReportText(report_)), "</pre></details>\n");
    return Str(out_, kPageEnd);
  }

 private:
  bool IsStep() const {
    return report_.culprit.kind == Culprit::Kind::kKernel || report_.culprit.kind == Culprit::Kind::kLibrary;
  }

  // The wrong step, or the input value that a wrong pass changed, or null.
  Result<const Instruction*> Place() {
    const Culprit& culprit = report_.culprit;
    if (IsStep()) return Named(*TRY(experiment_.Planned())->module, culprit.name);
    if (culprit.kind == Culprit::Kind::kPass) return Named(*TRY(experiment_.Input())->module, culprit.input);
    return nullptr;
  }

  Status Headline() {
    const Culprit& culprit = report_.culprit;
    const std::string_view look = report_.exit == ExitCode::kOk   ? "good"
                                  : report_.exit == ExitCode::kNo ? "bad"
                                                                  : "open";
    const std::string who = WhoIsWrong(culprit);
    out_ += Str("<div class=\"v ", look, "\"><h1>", XmlText(report_.verdict),
                who.empty() ? "" : Str(": ", XmlText(who)), "</h1>\n");
    if (const Instruction* const place = TRY(Place())) {
      const std::string source = SourceOf(*place, SourcePlaces(place->module()));
      if (!source.empty()) out_ += Str(Element("p", Str("computes ", source), "q"), "\n");
    }
    if (culprit.kind != Culprit::Kind::kNone) {
      // Later lines name commands, which a page does not need.
      const std::string_view first = std::string_view(culprit.text).substr(0, culprit.text.find('\n'));
      out_ += Str(Element("p", first), "\n");
    }
    out_ += Str("<p class=\"s\">", XmlText(report_.path), " (", XmlText(report_.module_name), ") on ",
                XmlText(report_.platform), report_.device.empty() ? "" : Str(" (", XmlText(report_.device), ")"),
                "; inputs ", XmlText(report_.inputs), "; ", XmlText(report_.detail), "</p></div>\n");
    return {};
  }

  Status Where() {
    const Instruction* const place = TRY(Place());
    if (place == nullptr) return {};
    constexpr size_t kMostNodes = 14;
    GraphOptions options{.expand_fusions = false, .around = place, .width = 2};
    Graph graph = GraphOf(place->computation(), options);
    if (graph.nodes.size() > kMostNodes) {
      options.width = 1;
      graph = GraphOf(place->computation(), options);
    }
    for (GraphNode& node : graph.nodes) {
      const std::string name(node.inst->name());
      const bool is_wrong = node.inst == place || (IsStep() && report_.local && report_.local->wrong.contains(name));
      if (!is_wrong) continue;
      node.mark = "wrong";
      node.lines.push_back(IsStep() ? "WRONG" : Str("CHANGED by ", report_.culprit.name));
    }
    const auto svg = GraphSvg(graph);
    if (!svg) return {};  // The graph is too large to lay out.
    out_ += Str("<div><h2>Where it is</h2>\n<p class=\"s\">",
                IsStep() ? "The steps that ran" : "The program as it was read",
                ", users below what they read</p>\n<div class=\"g\">", *svg, "</div></div>\n");
    return {};
  }

  // The worst elements of the culprit if judged, otherwise of the outputs.
  void Elements() {
    const Culprit& culprit = report_.culprit;
    const Comparison* const comparison = culprit.comparison                              ? &*culprit.comparison
                                         : report_.outputs && report_.outputs->bad() > 0 ? &*report_.outputs
                                                                                         : nullptr;
    if (comparison == nullptr) return;
    const bool is_pass = culprit.kind == Culprit::Kind::kPass;
    out_ += Str("<div><h2>",
                !culprit.comparison ? "The outputs"
                : is_pass           ? "The value that it changed"
                                    : "What it computed",
                "</h2>\n");
    for (const TensorComparison& tensor : comparison->outputs) {
      if (tensor.bad() == 0) continue;
      out_ +=
          Str("<p>", XmlText(tensor.ShapeText()), tensor.output.empty() ? "" : Str(" {", Join(tensor.output, ","), "}"),
              ": <b class=\"bad\">", tensor.bad(), " of ", Counted(tensor.checked, "element"), "</b> ",
              is_pass ? "changed" : "beyond the error bound",
              tensor.where.empty() ? "" : Str("<br>", XmlText(tensor.where)), "</p>\n");
      std::vector<std::vector<std::string>> rows;
      for (const ElementReport& element : tensor.worst) {
        if (element.element_class != ElementClass::kViolation) continue;
        rows.push_back({Str("[", Join(element.index, ","), "]"), Format("%.7g", element.expected),
                        Format("%.7g", element.actual), Format("%.2g", element.abs_error),
                        Format("%.2g", element.bound), Format("%.3g", element.ratio)});
      }
      if (!rows.empty())
        out_ += HtmlTable({"element", ">expected", ">actual", ">error", ">error bound", ">error / bound"}, rows);
      for (const std::string& hint : tensor.looks_like) out_ += Str(Element("p", Str("looks like: ", hint)), "\n");
    }
    out_ += "</div>\n";
  }

  void Judges() {
    std::vector<std::string> rows = {TitleCells({"by", "verdict", "what it found"})};
    for (const Oracle& oracle : AllOracles()) {
      const std::string line = oracle.line(report_);
      if (line.empty()) continue;
      const std::string_view first = std::string_view(line).substr(0, line.find(' '));
      const std::string_view look = first == "MATCH" ? "good" : first == "MISMATCH" ? "bad" : "";
      const std::string_view verdict = look.empty() ? "" : first;
      rows.push_back(Str(Cell(oracle.name), "<td class=\"", look, "\">", Element("b", verdict), "</td>",
                         Cell(Trim(std::string_view(line).substr(verdict.size())), "x")));
    }
    if (rows.size() > 1) out_ += Str("<h2>What was judged</h2>\n", HtmlRows(rows));
  }

  Experiment& experiment_;
  const RunReport& report_;
  std::string out_;
};

}  // namespace

Result<std::string> ReportHtml(Experiment& experiment, const RunReport& report) {
  return Page(experiment, report).Take();
}

}  // namespace hlo
