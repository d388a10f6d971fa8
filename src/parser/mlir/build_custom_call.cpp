// Custom calls, and composites, which are calls of their decompositions.
#include <algorithm>

#include "base/text.h"
#include "ir/text/printer.h"
#include "parser/mlir/builders.h"
#include "parser/mlir/hlo_values.h"

namespace hlo::mlir {
namespace {

// The layouts of arrays, as in [dense<[1, 0]> : tensor<2xindex>].
Status SetLayouts(const Attribute& attribute, std::span<Shape*> shapes) {
  if (attribute.items.size() != shapes.size())
    FAIL(Rejected("P037", Str("expected ", shapes.size(), " layouts"), attribute.range));
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<int64_t> order = TRY(IntsIn(attribute.items[i]));
    if (!shapes[i]->IsArray()) continue;
    std::vector<int64_t> sorted = order;
    std::ranges::sort(sorted);
    for (size_t d = 0; d < sorted.size(); ++d) {
      if (sorted[d] != static_cast<int64_t>(d) || std::ssize(sorted) != shapes[i]->rank())
        FAIL(Rejected("P053", Str("the layout does not order the dimensions of ", *shapes[i]),
                      attribute.items[i].range));
    }
    Layout layout;
    for (const int64_t dim : order) layout.minor_to_major.push_back(static_cast<int16_t>(dim));
    shapes[i]->SetLayout(std::move(layout));
  }
  return {};
}

Status SetAliases(const Operation& op, CustomCallAttrs& attrs) {
  const Attribute* const aliases = op.Find("output_operand_aliases");
  if (aliases == nullptr) return {};
  for (const Attribute& alias : aliases->items) {
    attrs.aliases.push_back({TRY(IntsOfField(alias, "output_tuple_indices")),
                             TRY(IntOfField(alias, "operand_index", 0)),
                             TRY(IntsOfField(alias, "operand_tuple_indices"))});
  }
  return {};
}

// A dictionary is kept as it is written, and a string is quoted.
Result<BackendConfig> ConfigOf(Lowering& to, const Attribute& attribute) {
  if (attribute.kind == Attribute::Kind::kDictionary) {
    BackendConfig config;
    config.text = to.Text(attribute.range);
    return config;
  }
  return ReadHloValue<BackendConfig>(Quoted(attribute.text), attribute.range);
}

}  // namespace

Status BuildCustomCall(Lowering& to, const Operation& op) {
  CustomCallAttrs attrs;
  attrs.target = TRY(TextOf(op, "call_target_name"));
  attrs.has_side_effect = TRY(BoolOf(op, "has_side_effect", false));
  const int64_t version = TRY(IntOf(op, "api_version", 1));
  if (version < 0 || version > 4) FAIL(ErrorAtOp(op, "P037", Str("there is no api_version ", version)));
  attrs.api_version = static_cast<ApiVersion>(version);
  // JAX writes the dictionary of a typed call under this name.
  const Attribute* config = op.Find("mhlo.backend_config");
  if (config != nullptr) attrs.api_version = ApiVersion::kTypedFfi;
  else config = op.Find("backend_config");
  TRY(SetAliases(op, attrs));
  if (const Attribute* const called = op.Find("called_computations")) {
    for (const Attribute& name : called->items)
      attrs.called_computations.push_back(TRY(to.LowerFunction(name.text, op)));
  }
  if (attrs.called_computations.size() == 1) {
    attrs.to_apply = attrs.called_computations[0];
    attrs.called_computations.clear();
  }
  Shape shape = to.ShapeOfResults(op);
  if (const Attribute* const layouts = op.Find("operand_layouts")) {
    ShapeList& list = attrs.operand_layouts.emplace();
    std::vector<Shape*> shapes;
    for (const ValueId operand : op.operands) list.shapes.push_back(to.ShapeOf(operand));
    for (Shape& operand : list.shapes) shapes.push_back(&operand);
    TRY(SetLayouts(*layouts, shapes));
  }
  if (const Attribute* const layouts = op.Find("result_layouts")) {
    std::vector<Shape*> shapes;
    if (!shape.IsTuple()) shapes.push_back(&shape);
    else
      for (Shape& element : shape.mutable_elements()) shapes.push_back(&element);
    TRY(SetLayouts(*layouts, shapes));
  }
  Instruction& call = to.Add(op, Opcode::kCustomCall, std::move(shape), to.AllOperands(op), std::move(attrs));
  if (config != nullptr) call.mutable_common().backend_config = TRY(ConfigOf(to, *config));
  return to.SetResults(op, call);
}

Status BuildComposite(Lowering& to, const Operation& op) {
  CallAttrs attrs{.to_apply = TRY(to.LowerFunction(TRY(TextOf(op, "decomposition")), op)), .is_composite = true};
  std::string text = "{";
  if (const Attribute* const attributes = op.Find("composite_attributes"))
    text += Str("composite.attributes=", Quoted(to.Text(attributes->range)), ",");
  text += Str("composite.name=", Quoted(TRY(TextOf(op, "name"))), ",composite.version=\"", TRY(IntOf(op, "version", 0)),
              "\"}");
  Instruction& call = to.Add(op, Opcode::kCall, to.ShapeOfResults(op), to.AllOperands(op), attrs);
  call.mutable_common().frontend_attributes = TRY(ReadHloValue<FrontendAttributes>(text, op.name_range));
  return to.SetResults(op, call);
}

}  // namespace hlo::mlir
