// Attributes of the module, of arguments and of results, shardings and frontend attributes.
#include <algorithm>

#include "base/text.h"
#include "ir/text/printer.h"
#include "parser/mlir/hlo_values.h"
#include "parser/mlir/lowering.h"

namespace hlo::mlir {
namespace {

const Attribute* Find(const std::vector<NamedAttribute>& attributes, std::string_view name) {
  for (const NamedAttribute& attribute : attributes) {
    if (attribute.name == name) return &attribute.value;
  }
  return nullptr;
}

// The strings of a dictionary. `more` are entries in the form of HLO text.
Result<FrontendAttributes> FrontendOf(const Attribute* dictionary, std::vector<std::string> more = {}) {
  for (const NamedAttribute& entry : dictionary == nullptr ? std::vector<NamedAttribute>() : dictionary->entries) {
    if (entry.value.kind == Attribute::Kind::kString) more.push_back(Str(entry.name, "=", Quoted(entry.value.text)));
  }
  if (more.empty()) return FrontendAttributes();
  return ReadHloValue<FrontendAttributes>(Str("{", Join(more, ","), "}"),
                                          dictionary == nullptr ? SourceRange() : dictionary->range);
}

}  // namespace

Status Lowering::LowerHeader() {
  ModuleHeader& header = module_.header;
  for (const NamedAttribute& attribute : document_.attributes) {
    if (attribute.name == "mhlo.num_partitions") header.num_partitions = attribute.value.integer;
    if (attribute.name == "mhlo.num_replicas") header.replica_count = attribute.value.integer;
  }
  std::vector<std::string> meshes;
  for (const auto& [name, text] : document_.meshes) meshes.push_back(Str(name, " = #sdy.mesh", text));
  const std::string entry = Str("xla.sdy.meshes={", Join(meshes, ", "), "}");
  header.frontend_attributes = TRY(FrontendOf(Find(document_.attributes, "mhlo.frontend_attributes"),
                                              meshes.empty() ? std::vector<std::string>() : std::vector{entry}));
  std::vector<Shape> parameters;
  for (const Instruction* parameter : module_.entry().parameters()) parameters.push_back(parameter->shape());
  header.entry_parameters = Shape::Tuple(std::move(parameters));
  header.entry_result = module_.entry().root().shape();
  return {};
}

// Aliases of arguments and results, and donated arguments.
Status Lowering::LowerEntryAttributes(const Operation& function) {
  const std::vector<Argument>& arguments = function.regions[0].arguments;
  const Shape& result = module_.entry().root().shape();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto parameter = static_cast<int64_t>(i);
    if (const Attribute* const output = Find(arguments[i].attributes, "tf.aliasing_output")) {
      const bool is_tuple = result.IsTuple() && function.regions[0].operations.back().operands.size() != 1;
      module_.header.aliases.push_back(
          {.output = is_tuple ? ShapeIndex{output->integer} : ShapeIndex(), .parameter = parameter});
    }
    const Attribute* const donor = Find(arguments[i].attributes, "jax.buffer_donor");
    if (donor != nullptr && donor->integer != 0) module_.header.donors.push_back({.parameter = parameter});
  }
  std::ranges::sort(module_.header.aliases, {}, &InputOutputAlias::output);
  return AnnotateResults(function);
}

Result<Lowering::Annotations> Lowering::AnnotationsIn(const std::vector<NamedAttribute>& attributes) const {
  Annotations annotations;
  if (const Attribute* const text = Find(attributes, "mhlo.sharding"))
    annotations.sharding = TRY(ReadHloValue<Shared<Sharding>>(text->text, text->range));
  std::vector<std::string> shardy;
  for (const std::string_view name : {"sdy.sharding", "sdy.sharding_rule"}) {
    const Attribute* const text = Find(attributes, name);
    if (text != nullptr && text->name.starts_with("sdy."))
      shardy.push_back(Str("xla.", name, "=", Quoted(Str("#", text->name, "<", text->text, ">"))));
  }
  annotations.frontend = TRY(FrontendOf(Find(attributes, "mhlo.frontend_attributes"), std::move(shardy)));
  return annotations;
}

void Lowering::AddShardySharding(const std::vector<NamedAttribute>& attributes, int64_t rank,
                                 Annotations& annotations) const {
  const Attribute* const text = Find(attributes, "sdy.sharding");
  if (text == nullptr || !annotations.sharding.empty()) return;
  if (auto sharding = ShardyToTiles(text->text, rank)) annotations.sharding = std::move(*sharding);
}

void Lowering::Annotate(const Annotations& annotations, const Operation& op, Instruction& inst) const {
  if (!annotations.frontend.empty()) inst.mutable_common().frontend_attributes = annotations.frontend;
  if (annotations.sharding.empty()) return;
  const bool is_tuple = annotations.sharding->kind == ShardingKind::kTuple;
  const auto& leaves = annotations.sharding->leaves;
  if (is_tuple && inst.Is(Opcode::kGetTupleElement) && std::ssize(leaves) == op.result_count) {
    inst.mutable_common().sharding = leaves[inst.tuple_index()];
  } else if (inst.shape().IsTuple() && !is_tuple) {
    Sharding all = {.kind = ShardingKind::kTuple};
    all.leaves.assign(std::max<int64_t>(1, inst.shape().LeafCount()), *annotations.sharding);
    inst.mutable_common().sharding = std::move(all);
  } else if (inst.shape().IsTuple() == is_tuple) {
    inst.mutable_common().sharding = annotations.sharding;
  }
}

Status Lowering::AnnotateParameters(const Region& region, const Computation& computation, bool is_entry) const {
  for (size_t i = 0; i < region.arguments.size(); ++i) {
    Instruction& parameter = computation.parameter(static_cast<int64_t>(i));
    Annotations annotations = TRY(AnnotationsIn(region.arguments[i].attributes));
    if (is_entry) AddShardySharding(region.arguments[i].attributes, parameter.shape().rank(), annotations);
    Annotate(annotations, Operation(), parameter);
  }
  return {};
}

Status Lowering::AnnotateResults(const Operation& function) {
  const Attribute* const results = function.Find("res_attrs");
  if (results == nullptr) return {};
  Sharding all = {.kind = ShardingKind::kTuple};
  bool is_any_set = false;
  const std::vector<Operation>& body = function.regions[0].operations;
  for (size_t i = 0; i < results->items.size(); ++i) {
    const Attribute& result = results->items[i];
    Annotations annotations = TRY(AnnotationsIn(result.entries));
    if (i < body.back().operands.size())
      AddShardySharding(result.entries, ShapeOf(body.back().operands[i]).rank(), annotations);
    is_any_set = is_any_set || !annotations.sharding.empty();
    if (annotations.sharding.empty()) all.leaves.emplace_back();
    else if (annotations.sharding->kind == ShardingKind::kTuple)
      std::ranges::copy(annotations.sharding->leaves, std::back_inserter(all.leaves));
    else all.leaves.push_back(*annotations.sharding);
  }
  if (!is_any_set) return {};
  Computation& entry = module_.entry();
  Instruction& root = entry.root();
  if (results->items.size() != 1) {
    if (root.Is(Opcode::kTuple)) root.mutable_common().sharding = std::move(all);
    return {};
  }
  Instruction& tuple = entry.AddTuple({&root});
  Instruction& element = entry.AddGetTupleElement(tuple, 0);
  if (root.HasCommon() && !root.common().sharding.empty() && !root.shape().IsTuple()) {
    Sharding of_tuple = {.kind = ShardingKind::kTuple};
    of_tuple.leaves.push_back(*root.common().sharding);
    tuple.mutable_common().sharding = std::move(of_tuple);
  }
  tuple.SetRange(root.range());
  element.SetRange(root.range());
  if (std::ssize(all.leaves) == 1 && !root.shape().IsTuple()) element.mutable_common().sharding = all.leaves[0];
  entry.SetRoot(element);
  return {};
}

}  // namespace hlo::mlir
