// Draws graphs as SVG pictures and pages. The contents of a frame are laid out first, then the frame as a box in the
// whole graph.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "driver/inspect/graph.h"
#include "driver/inspect/graph_scopes.h"
#include "driver/inspect/layout.h"
#include "driver/xml.h"
#include "ir/analysis/trip_count.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

constexpr double kCharWidth = 6.7, kLineHeight = 13, kPadding = 6, kFramePadding = 10, kFrameTitle = 18, kMargin = 20;
constexpr int64_t kMostPoints = 1'000'000;

double TextWidth(std::string_view text) { return static_cast<double>(text.size()) * kCharWidth; }

struct Place {
  double x = 0, y = 0, width = 0, height = 0;
};

struct Sections {
  std::unordered_map<const Computation*, size_t> of_computation;
  size_t of_scopes = 0;  // Index of the first picture of the drawn graph. The others follow it.
};

struct SectionLink {
  size_t section;
  std::string text;
};

std::vector<const Computation*> Entered(const Instruction& inst) {
  std::vector<const Computation*> entered;
  if (!inst.Is(kControl) && !inst.Is(Opcode::kAsyncStart)) return entered;
  for (const auto& [computation, times] : RunsOf(inst)) entered.push_back(computation);
  return entered;
}

class Drawing {
 public:
  Drawing(const Graph& graph, const Sections* sections)
      : graph_(graph), sections_(sections), places_(graph.nodes.size()), lines_(graph.nodes.size()) {}

  Status LayOutAll() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].is_frame) TRY(LayOutFrame(static_cast<int>(i)));
    }
    TRY(LayOutNodes(-1));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const int frame = graph_.nodes[i].frame;
      if (frame < 0) continue;
      const double dx = places_[frame].x + kFramePadding, dy = places_[frame].y + kFrameTitle + kFramePadding;
      places_[i].x += dx;
      places_[i].y += dy;
      for (LayoutStroke& stroke : lines_[i]) {
        for (LayoutPoint* point : {&stroke.from, &stroke.to}) point->x += dx, point->y += dy;
      }
    }
    for (const GraphEdge& edge : graph_.edges) {
      if (edge.port < 0) continue;
      const double x = places_[edge.port].x + places_[edge.port].width / 2;
      lines_[edge.from].push_back({{x, places_[edge.to].y}, {x, places_[edge.port].y}, true});
    }
    return {};
  }

  std::string Svg() const {
    std::string out =
        Str("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", Number(width_), " ", Number(height_),
            "\" width=\"", Number(width_), "\" height=\"", Number(height_), "\">\n", kStyle);
    std::vector<std::string> inputs(graph_.nodes.size());
    for (const GraphEdge& edge : graph_.edges) {
      std::string& list = inputs[edge.port >= 0 ? edge.port : edge.to];
      list += Str(list.empty() ? "" : " ", edge.from);
      if (edge.port >= 0) inputs[edge.to] += Str(inputs[edge.to].empty() ? "" : " ", edge.from);
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].is_frame) AppendNode(out, static_cast<int>(i), inputs[i]);
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) AppendLines(out, static_cast<int>(i));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!graph_.nodes[i].is_frame) AppendNode(out, static_cast<int>(i), inputs[i]);
    }
    return out + "</svg>\n";
  }

 private:
  static constexpr std::string_view kStyle =
      "<style>text{font:11px ui-monospace,Menlo,Consolas,monospace}text.o{font-weight:bold}"
      "rect{stroke:#6b7280;rx:3}path{fill:none;stroke:#9ca3af}path.a{fill:#6b7280;stroke:none}"
      ".f0 rect{fill:#dbeafe}.f1 rect{fill:#e5e7eb}.f2 rect{fill:#dcfce7}.f3 rect{fill:#fde68a}.f4 rect{fill:#fecaca}"
      ".f5 rect{fill:#f3f4f6}.f6 rect{fill:#e9d5ff}.f7 rect{fill:#fbcfe8}.frame rect{fill:#faf5ff;stroke-dasharray:4 2}"
      ".scope rect{fill:#fff;stroke:#2563eb;stroke-width:2}.outside rect{stroke-dasharray:2 2;fill-opacity:.6}"
      ".wrong rect{stroke:#dc2626;stroke-width:5}"
      "</style>\n";

  static std::string Number(double value) { return Format("%.1f", value); }

  Status LayOutNodes(int frame) {
    std::vector<int> own, box_of(graph_.nodes.size(), -1);
    std::vector<LayoutBox> boxes;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& node = graph_.nodes[i];
      if (node.frame != frame) continue;
      Place& place = places_[i];
      if (!node.is_frame) {
        for (const std::string& line : node.lines) place.width = std::max(place.width, TextWidth(line));
        const std::vector<SectionLink> links = LinksOf(node);
        for (const SectionLink& link : links) place.width = std::max(place.width, TextWidth(link.text));
        place.width += 2 * kPadding;
        place.height = static_cast<double>(node.lines.size() + links.size()) * kLineHeight + kPadding;
      }
      box_of[i] = static_cast<int>(own.size());
      own.push_back(static_cast<int>(i));
      boxes.push_back({place.width, place.height, node.is_frame ? exits_[i] : place.width / 2,
                       frame >= 0 && node.inst->Is(Opcode::kParameter)});
    }
    std::vector<LayoutEdge> edges;
    for (const GraphEdge& edge : graph_.edges) {
      if (graph_.nodes[edge.to].frame != frame) continue;
      const Place& port = places_[edge.port >= 0 ? edge.port : edge.to];
      // The places inside a frame are relative to the frame at this point.
      const double in_x = edge.port >= 0 ? kFramePadding + port.x + port.width / 2 : port.width / 2;
      edges.push_back({box_of[edge.from], box_of[edge.to], in_x});
    }
    if (LayoutSize(boxes, edges) > kMostPoints)
      FAIL(LimitError("A014", Str("the graph is too large to lay out: ", own.size(), " nodes"))
               .Hint("'hlo-opt MODEL | hlo-inspect graph --fusions=collapsed -' draws one node for each kernel, "
                     "--around=NAME --width=N draws the neighbourhood of an instruction, and --computation=NAME draws "
                     "another computation"));
    GraphLayout layout = LayOut(boxes, edges);
    for (size_t b = 0; b < own.size(); ++b) {
      places_[own[b]].x = layout.corners[b].x;
      places_[own[b]].y = layout.corners[b].y;
      lines_[own[b]] = std::move(layout.strokes[b]);
    }
    if (frame >= 0) {
      places_[frame].width = layout.width + 2 * kFramePadding;
      places_[frame].height = layout.height + 2 * kFramePadding + kFrameTitle;
      return {};
    }
    for (const int node : own) {
      places_[node].x += kMargin, places_[node].y += kMargin;
      for (LayoutStroke& stroke : lines_[node]) {
        for (LayoutPoint* point : {&stroke.from, &stroke.to}) point->x += kMargin, point->y += kMargin;
      }
    }
    width_ = layout.width + 2 * kMargin;
    height_ = layout.height + 2 * kMargin;
    return {};
  }

  // The value of a frame leaves below its root, which is the last node inside.
  Status LayOutFrame(int frame) {
    TRY(LayOutNodes(frame));
    int root = frame;
    while (root + 1 < static_cast<int>(graph_.nodes.size()) && graph_.nodes[root + 1].frame == frame) ++root;
    exits_.resize(graph_.nodes.size());
    exits_[frame] = kFramePadding + places_[root].x + places_[root].width / 2;
    places_[frame].width = std::max(places_[frame].width, TextWidth(FrameTitle(graph_.nodes[frame])) + 2 * kPadding);
    const double inside = places_[frame].height - kFrameTitle - kFramePadding;
    const double x = places_[root].x + places_[root].width / 2;
    lines_[root].push_back({{x, places_[root].y + places_[root].height}, {x, inside}});
    return {};
  }

  void AppendLines(std::string& out, int node) const {
    if (lines_[node].empty()) return;
    std::string lines, heads;
    for (const LayoutStroke& s : lines_[node]) {
      lines += Str("M", Number(s.from.x), " ", Number(s.from.y));
      if (s.from.x == s.to.x) {
        lines += Str("V", Number(s.to.y));
      } else {
        const double middle = (s.from.y + s.to.y) / 2;
        lines += Str("C", Number(s.from.x), " ", Number(middle), " ", Number(s.to.x), " ", Number(middle), " ",
                     Number(s.to.x), " ", Number(s.to.y));
      }
      if (s.arrives) heads += Str("M", Number(s.to.x), " ", Number(s.to.y), "l-3 -6h6z");
    }
    out += Str("<g id=\"e", node, "\"><path d=\"", lines, "\"/>");
    if (!heads.empty()) out += Str("<path class=\"a\" d=\"", heads, "\"/>");
    out += "</g>\n";
  }

  void AppendNode(std::string& out, int index, const std::string& inputs) const {
    const GraphNode& node = graph_.nodes[index];
    const Place& place = places_[index];
    std::string about = node.about;
    if (node.scope < 0) {
      about = ToString(*node.inst);
      if (!node.inst->metadata().op_name.empty()) about += Str("\n", node.inst->metadata().op_name.view());
    }
    std::string classes = node.is_frame     ? std::string("frame")
                          : node.scope >= 0 ? std::string("scope")
                                            : Str("f", static_cast<int>(node.family));
    if (node.is_outside) classes += " outside";
    if (!node.mark.empty()) classes += Str(" ", node.mark);
    out += Str("<g id=\"n", index, "\" class=\"n ", classes, "\" data-in=\"", inputs, "\"><title>", XmlText(about),
               "</title><rect x=\"", Number(place.x), "\" y=\"", Number(place.y), "\" width=\"", Number(place.width),
               "\" height=\"", Number(place.height), "\"/>");
    double y = place.y + kLineHeight - 1;
    const std::vector<std::string> lines = node.is_frame ? std::vector{FrameTitle(node)} : node.lines;
    for (size_t i = 0; i < lines.size(); ++i, y += kLineHeight) {
      out += Str("<text", i == 0 ? " class=\"o\"" : "", " x=\"", Number(place.x + kPadding), "\" y=\"", Number(y),
                 "\">", XmlText(lines[i]), "</text>");
    }
    for (const SectionLink& link : LinksOf(node)) {
      out += Str("<a href=\"#c", link.section, "\"><text x=\"", Number(place.x + kPadding), "\" y=\"", Number(y), "\">",
                 XmlText(link.text), "</text></a>");
      y += kLineHeight;
    }
    out += "</g>\n";
  }

  std::vector<SectionLink> LinksOf(const GraphNode& node) const {
    if (sections_ == nullptr || node.is_outside) return {};
    if (node.scope >= 0) return {{sections_->of_scopes + static_cast<size_t>(node.scope), "-> open"}};
    std::vector<SectionLink> links;
    for (const Computation* to : Entered(*node.inst)) {
      const auto section = sections_->of_computation.find(to);
      if (section != sections_->of_computation.end()) links.push_back({section->second, Str("-> ", to->name())});
    }
    return links;
  }

  const Graph& graph_;
  const Sections* const sections_;
  std::vector<Place> places_;
  std::vector<std::vector<LayoutStroke>> lines_;
  std::vector<double> exits_;  // LayoutBox::out_x of each frame.
  double width_ = 0, height_ = 0;
};

constexpr std::string_view kPage = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>TITLE</title><style>
:root{color-scheme:light dark}
html,body{margin:0;height:100%;overflow:hidden;font:13px system-ui,sans-serif;background:Canvas}
body{display:flex;flex-direction:column}
#bar{padding:6px 10px;border-bottom:1px solid #8886;display:flex;flex-wrap:wrap;gap:4px;align-items:baseline}
#bar b,#bar i{overflow-wrap:anywhere}
#bar span{padding:1px 6px;border:1px solid #ccc;color:#000}
#about{margin:0;padding:6px 10px;border-top:1px solid #8886;white-space:pre-wrap;overflow-wrap:anywhere;
font:12px ui-monospace,monospace;min-height:2.6em;max-height:20%;overflow:auto}
section{flex:1;min-height:0}section[hidden]{display:none}section p{padding:20px}
svg{width:100%;height:100%;cursor:grab;touch-action:none;user-select:none}a text{fill:#2563eb;text-decoration:underline}
.hot path{stroke:#dc2626;stroke-width:2}.hot path.a{fill:#dc2626;stroke:none}
.n:hover rect{stroke:#dc2626;stroke-width:2}.found rect{stroke:#2563eb;stroke-width:4}
@media(max-width:720px){#bar span{font-size:10px;padding:0 3px}#find{width:9em}}
</style></head><body>
<div id="bar"><b>TITLE</b> <i id="name"></i> <a id="up">up</a> <input id="find" placeholder="find" size="24">
<i id="count"></i>
<span style="background:#dbeafe">parameter</span><span style="background:#e5e7eb">constant</span>
<span style="background:#dcfce7">elementwise</span><span style="background:#fde68a">dot, convolution</span>
<span style="background:#fecaca">reduction</span><span style="background:#f3f4f6">movement</span>
<span style="background:#e9d5ff">control</span><span style="background:#fbcfe8">other</span></div>
SECTIONS<pre id="about">wheel or two fingers: zoom, drag: pan, double click: all, point: details, Enter: next one found</pre>
<script>
const about = document.getElementById('about'), views = [...document.querySelectorAll('section')];
const up = document.getElementById('up');
let svg = null, box, whole;
const show = (x, y, w, h) => { box.x = x; box.y = y; box.width = w; box.height = h; };
const scale = () => Math.max(box.width / svg.clientWidth, box.height / svg.clientHeight);
// All of the picture, in the middle; a small one is not made larger than one and a half times.
const fit = () => {
  const w = svg.clientWidth, h = svg.clientHeight, f = Math.max(whole[0] / w, whole[1] / h, 1 / 1.5);
  show((whole[0] - w * f) / 2, Math.min(0, (whole[1] - h * f) / 2), w * f, h * f);
};
const open = () => {
  const view = views.find(v => '#' + v.id === location.hash) || views[0];
  for (const v of views) v.hidden = v !== view;
  document.getElementById('name').textContent = view === views[0] ? '' : view.dataset.name;
  up.hidden = view === views[0];
  up.href = '#' + (view.dataset.up || views[0].id);
  svg = view.querySelector('svg');
  if (!svg) return;
  box = svg.viewBox.baseVal;
  whole = view.whole;
  if (whole) return;
  whole = view.whole = [box.width, box.height];
  svg.removeAttribute('width'); svg.removeAttribute('height');
  fit();
};
addEventListener('hashchange', () => { open(); search(); });
const on = (name, f, options) => { for (const v of views) v.querySelector('svg')?.addEventListener(name, f, options); };
on('wheel', e => {
  e.preventDefault();
  const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const f = Math.exp(e.deltaY * 0.0015);
  show(p.x - (p.x - box.x) * f, p.y - (p.y - box.y) * f, box.width * f, box.height * f);
}, { passive: false });
const fingers = new Map();  // Pointers that are down: where each is.
const spread = () => { const [a, b] = fingers.values(); return Math.hypot(a.x - b.x, a.y - b.y); };
on('pointerdown', e => { fingers.set(e.pointerId, { x: e.clientX, y: e.clientY }); });
addEventListener('pointermove', e => {
  const at = fingers.get(e.pointerId);
  if (!at) return;
  const dx = e.clientX - at.x, dy = e.clientY - at.y, before = fingers.size === 2 ? spread() : 0;
  at.x = e.clientX; at.y = e.clientY;
  const share = scale() / fingers.size;
  box.x -= dx * share; box.y -= dy * share;
  if (!before || !spread()) return;
  const f = before / spread();
  show(box.x + box.width * (1 - f) / 2, box.y + box.height * (1 - f) / 2, box.width * f, box.height * f);
});
for (const name of ['pointerup', 'pointercancel']) addEventListener(name, e => { fingers.delete(e.pointerId); });
let hot = [];
on('pointerover', e => {
  const node = e.target.closest('.n');
  for (const edge of hot) edge.classList.remove('hot');
  hot = [];
  if (!node) return;
  about.textContent = node.querySelector('title').textContent;
  hot = [node.id.slice(1), ...node.dataset.in.split(' ')].map(i => svg.querySelector('#e' + i)).filter(Boolean);
  for (const edge of hot) edge.classList.add('hot');
});
on('dblclick', fit);
const find = document.getElementById('find'), count = document.getElementById('count');
let found = [], at = 0;
const center = () => {
  count.textContent = found.length ? (at + 1) + ' of ' + found.length : find.value.trim() ? 'none' : '';
  if (!found.length) return;
  const b = found[at].querySelector('rect').getBBox();
  show(b.x + b.width / 2 - box.width / 2, b.y + b.height / 2 - box.height / 2, box.width, box.height);
};
const search = () => {
  if (!svg) return;
  const words = find.value.toLowerCase().split(' ').filter(Boolean);
  found = [];
  at = 0;
  for (const node of svg.querySelectorAll('.n')) {
    const text = node.querySelector('title').textContent.toLowerCase();
    const matches = words.length > 0 && words.every(w => text.includes(w));
    node.classList.toggle('found', matches);
    if (matches) found.push(node);
  }
  center();
};
find.addEventListener('input', search);
find.addEventListener('keydown', e => {
  if (e.key !== 'Enter' || !found.length) return;
  at = (at + (e.shiftKey ? -1 : 1) + found.length) % found.length;
  center();
});
open();
</script></body></html>
)html";

void Replace(std::string& text, std::string_view what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

std::vector<const Computation*> Reached(const Computation& computation) {
  std::vector<const Computation*> reached = {&computation};
  std::unordered_set<const Computation*> seen = {&computation};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const Instruction* inst : reached[i]->Instructions()) {
      for (const Computation* called : Entered(*inst)) {
        if (seen.insert(called).second) reached.push_back(called);
      }
    }
  }
  return reached;
}

}  // namespace

Result<std::string> GraphSvg(const Graph& graph) {
  Drawing drawing(graph, nullptr);
  TRY(drawing.LayOutAll());
  return drawing.Svg();
}

Result<std::string> GraphHtml(const Computation& computation, const GraphOptions& options, const std::string& title) {
  struct Part {
    const Computation* computation;
    std::vector<GraphPicture> pictures;
    size_t first_section;
  };
  std::vector<Part> parts;
  Sections sections;
  size_t count = 0;
  for (const Computation* one : Reached(computation)) {
    GraphOptions own = options;
    if (one != &computation) own.around = nullptr;
    const size_t most = own.around != nullptr ? 0 : own.most_nodes;
    parts.push_back({one, PicturesOf(GraphOf(*one, own), most), count});
    sections.of_computation.emplace(one, count);
    count += parts.back().pictures.size();
  }
  std::string all;
  for (const Part& part : parts) {
    sections.of_scopes = part.first_section;
    for (size_t i = 0; i < part.pictures.size(); ++i) {
      const GraphPicture& picture = part.pictures[i];
      Drawing drawing(picture.graph, &sections);
      const Status laid_out = drawing.LayOutAll();
      const size_t number = part.first_section + i;
      if (number == 0) TRY(laid_out);
      const std::string scope = picture.name.empty() ? "" : Str(" ", picture.name);
      all += Str("<section id=\"c", number, "\" data-name=\"", XmlText(Str(part.computation->name(), scope)), "\"",
                 picture.parent < 0 ? "" : Str(" data-up=\"c", part.first_section + picture.parent, "\""),
                 number == 0 ? "" : " hidden", ">",
                 laid_out ? drawing.Svg() : Str("<p>", XmlText(laid_out.error().message()), "</p>"), "</section>\n");
    }
  }
  std::string page(kPage);
  Replace(page, "TITLE", XmlText(title));
  const size_t at = page.find("SECTIONS<pre");
  return page.replace(at, 8, all);
}

}  // namespace hlo
