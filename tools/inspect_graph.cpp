#include "base/files.h"
#include "base/text.h"
#include "driver/inspect/extract.h"
#include "driver/inspect/graph.h"
#include "tools/inspect.h"

namespace hlo {

Result<ExitCode> InspectGraph(Args args) {
  LoadOptions load;
  std::string format = "dot", path = "-", computation, around, fusions = "expanded", tuples = "folded";
  GraphOptions options;
  auto most_nodes = static_cast<int64_t>(options.most_nodes);
  FlagSet flags("hlo-inspect graph", "[flags] MODULE",
                "Draws a computation as a graph. Instructions are below their operands, colours show the kinds of ops, "
                "and frames show fusions. html is one file with zoom, pan, details and search, which needs no network. "
                "Its nodes for loops, calls and scopes open the graphs inside. dot is for Graphviz.",
                {"hlo-inspect graph --format=html model.hlo -o model.html",
                 "hlo-opt model.hlo | hlo-inspect graph --format=html --fusions=collapsed - -o kernels.html",
                 "hlo-inspect graph --around=dot.7 --width=3 --format=svg model.hlo -o part.svg",
                 "hlo-inspect graph --computation=body.3 model.hlo | dot -Tpdf >body.pdf"});
  flags.Choice("format", &format, {"dot", "svg", "html"}, "output format");
  flags.String("computation", &computation, "NAME", "computation that is drawn; default: the entry");
  flags.String("around", &around, "NAME", "draw only the neighbourhood of this instruction");
  flags.Int("width", &options.width, "size of the neighbourhood in edges");
  flags.Choice("fusions", &fusions, {"expanded", "collapsed"},
               "expanded: frames around the instructions of a fusion; collapsed: one node for each fusion");
  flags.Choice("tuples", &tuples, {"folded", "expanded"},
               "folded: edges bypass tuples; expanded: tuples and their elements are nodes");
  flags.Int("fold_scopes", &most_nodes,
            "html: a graph of more than N nodes has one node for each scope of op_name, and for the calls of each "
            "source line, which can be opened; 0: never");
  flags.String("o", &path, "FILE", "file for the graph; -: stdout");
  const auto module = TRY(InspectedModule(flags, args, &load));
  if (module == nullptr) return ExitCode::kOk;
  const Computation* place = computation.empty() ? nullptr : TRY(FindComputation(*module, computation));
  if (!around.empty()) {
    options.around = TRY(FindInstruction(*module, around, place));
    place = &options.around->computation();
  }
  if (place == nullptr) place = &module->entry();
  options.expand_fusions = fusions == "expanded";
  options.fold_tuples = tuples == "folded";
  options.most_nodes = static_cast<size_t>(most_nodes);
  const std::string title = Str(module->name(), ": ", place->name());
  TRY(WriteFile(path, format == "dot"   ? GraphDot(GraphOf(*place, options), title)
                      : format == "svg" ? TRY(GraphSvg(GraphOf(*place, options)))
                                        : TRY(GraphHtml(*place, options, title))));
  return ExitCode::kOk;
}

}  // namespace hlo
