#include "driver/inspect/emit.h"

#include "base/text.h"
#include "driver/inspect/graph.h"
#include "parser/print_proto.h"
#include "parser/write_proto.h"

namespace hlo {
namespace {

std::string TitleOf(const Module& module) { return Str(module.name(), ": ", module.entry().name()); }

Result<std::string> EmitTextProto(const Module& module) {
  return PrintProto(TRY(WriteProto(module)), ProtoType::kHloProto);
}
Result<std::string> EmitJson(const Module& module) {
  return PrintProtoJson(TRY(WriteProto(module)), ProtoType::kHloProto);
}
Result<std::string> EmitDot(const Module& module) { return GraphDot(GraphOf(module.entry(), {}), TitleOf(module)); }
Result<std::string> EmitHtml(const Module& module) { return GraphHtml(module.entry(), {}, TitleOf(module)); }

constexpr EmitForm kForms[] = {{"pb", "a protocol buffer (HloProto)", WriteProto},
                               {"pbtxt", "HloProto as text", EmitTextProto},
                               {"json", "HloProto as JSON, as XLA's hlo_proto_to_json prints it", EmitJson},
                               {"dot", "the entry's graph, for Graphviz", EmitDot},
                               {"html", "the entry's graph as one page", EmitHtml}};

}  // namespace

std::span<const EmitForm> EmitForms() { return kForms; }

}  // namespace hlo
