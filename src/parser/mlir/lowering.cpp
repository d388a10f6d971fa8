#include "parser/mlir/lowering.h"

#include <algorithm>

#include "base/text.h"
#include "parser/mlir/stablehlo_ops.h"

namespace hlo::mlir {
namespace {

std::string CountText(size_t count, std::string_view noun) { return Str(count, " ", noun, count == 1 ? "" : "s"); }

// HLO names consist of letters, digits, '_', '.' and '-', and begin with a letter or '_'.
std::string NameText(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    const bool good =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    if (!good) c = '_';
  }
  const bool is_letter = !text.empty() && !(text[0] >= '0' && text[0] <= '9') && text[0] != '.' && text[0] != '-';
  if (!is_letter) text.insert(0, "_");
  if (text.starts_with("__")) text.insert(0, "a");
  if (PrimitiveTypeFromText(text)) text += '_';
  return text;
}

}  // namespace

// ---- The module --------------------------------------------------------------------------------------------------

Status Lowering::FindFunctions() {
  for (const Operation& op : document_.operations) {
    if (op.name != "func.func") {
      if (op.row == nullptr) FAIL(UnknownOp(op.name, op.name_range));
      FAIL(ErrorAtOp(op, "P010", Str("'", op.name, "' is not in a function")));
    }
    TRY(ExpectRegions(op, 1));
    const Attribute& name = *TRY(Need(op, "sym_name"));
    if (!functions_.try_emplace(name.text, Function{.op = &op}).second)
      FAIL(Rejected("P021", Str("the function '", name.text, "' is defined twice"), name.range));
  }
  return {};
}

// The function `main`, or the only one.
Result<const Operation*> Lowering::EntryFunction() const {
  if (const auto main = functions_.find("main"); main != functions_.end()) return main->second.op;
  if (functions_.size() == 1) return functions_.begin()->second.op;
  if (functions_.empty()) FAIL(Rejected("P011", "the module has no function"));
  const Operation& last = document_.operations.back();
  FAIL(ErrorAtOp(last, "P011", "the module has several functions, and none is 'main'"));
}

Status Lowering::LowerDocument() {
  values_.resize(document_.shapes.size());
  constant_ops_.resize(document_.shapes.size());
  TRY(FindFunctions());
  const Operation& entry = *TRY(EntryFunction());
  Computation& computation = *TRY(LowerFunction(entry.Find("sym_name")->text, entry));
  module_.SetEntry(computation);
  module_.SetName(NameText(document_.name.empty() ? "module" : document_.name));
  TRY(LowerEntryAttributes(entry));
  TRY(LowerHeader());
  module_.Sweep();
  return {};
}

Result<Computation*> Lowering::LowerFunction(std::string_view name, const Operation& user) {
  const auto found = functions_.find(name);
  if (found == functions_.end()) FAIL(ErrorAtOp(user, "P010", Str("there is no function '", name, "'")));
  Function& function = found->second;
  if (function.is_open) FAIL(ErrorAtOp(user, "V163", Str("the function '", name, "' calls itself")));
  if (function.computation != nullptr) return function.computation;
  function.is_open = true;
  Computation* const outer = std::exchange(computation_, nullptr);
  const std::vector<ValueId>* const returned = std::exchange(also_returned_, nullptr);
  const Attribute* const results = std::exchange(result_attributes_, function.op->Find("res_attrs"));
  Annotations annotations = std::exchange(annotations_, {});
  const Region& region = function.op->regions[0];
  Computation& computation = module_.AddComputation(NameText(name));
  computation.range = function.op->Find("sym_name")->range;
  computation_ = &computation;
  for (size_t i = 0; i < region.arguments.size(); ++i) {
    const auto id = static_cast<ValueId>(region.first_value + i);
    values_[id] = &AddParameter(region.arguments[i], ShapeOf(id));
  }
  TRY(AnnotateParameters(region, computation, outer == nullptr));
  TRY(LowerBody(region, function.op->range));
  TRY(CheckResults(*function.op));
  computation_ = outer;
  also_returned_ = returned;
  result_attributes_ = results;
  annotations_ = std::move(annotations);
  function.is_open = false;
  function.computation = &computation;
  return &computation;
}

// The generic form declares the results in a function type, which is not read.
Status Lowering::CheckResults(const Operation& function) const {
  if (function.declared.empty()) return {};
  const Operation& end = function.regions[0].operations.back();
  if (end.operands.size() != function.declared.size())
    FAIL(ErrorAtOp(end, "P033",
                   Str("the function has ", CountText(function.declared.size(), "result"), ", but ",
                       end.operands.size(), " are returned")));
  for (size_t i = 0; i < end.operands.size(); ++i) {
    const Shape& returned = ShapeOf(end.operands[i]);
    if (returned == function.declared[i]) continue;
    FAIL(
        ErrorAtOp(end, "P033",
                  Str("result ", i, " of the function is ", function.declared[i], ", but ", returned, " is returned")));
  }
  return {};
}

// ---- Regions -----------------------------------------------------------------------------------------------------

Status Lowering::ExpectRegions(const Operation& op, size_t count) const {
  if (op.regions.size() == count) return {};
  FAIL(
      ErrorAtOp(op, "P010", Str("'", op.name, "' has ", CountText(op.regions.size(), "region"), ", expected ", count)));
}

Instruction& Lowering::AddParameter(const Argument& argument, Shape shape, std::string_view name) {
  const auto number = static_cast<int64_t>(computation_->parameters().size());
  const Metadata& metadata = locations_.Read(argument.location);
  if (name.empty()) name = metadata.op_name.empty() ? argument.name : metadata.op_name.view();
  Instruction& parameter = computation_->AddParameter(number, std::move(shape), NameText(name.empty() ? "arg" : name));
  parameter.SetRange(argument.range);
  if (metadata != Metadata()) parameter.mutable_common().metadata = metadata;
  return parameter;
}

Status Lowering::LowerBody(const Region& region, SourceRange range) {
  constexpr int kLevels = 16;
  depth_ += kLevels;
  if (depth_ > max_depth_)
    FAIL(LimitError("P091", Str("calls and regions are nested deeper than the limit of ", max_depth_, " levels"), range)
             .RaisedBy("max_depth"));
  for (const Operation& op : region.operations) {
    if (op.name.ends_with("return") && &op != &region.operations.back())
      FAIL(ErrorAtOp(op, "P010", "a return is not at the end of its region"));
    TRY(LowerOperation(op));
  }
  if (region.operations.empty() || !region.operations.back().name.ends_with("return"))
    FAIL(Rejected("P012", "the region does not end with a return", range));
  RemoveDeadConstants(*computation_);
  depth_ -= kLevels;
  return {};
}

// A broadcast of a constant is another constant, so the first one may have no user.
void Lowering::RemoveDeadConstants(Computation& computation) {
  const std::vector<Instruction*> all = computation.Instructions();
  for (auto inst = all.rbegin(); inst != all.rend(); ++inst) {
    if (IsConstantValue(**inst) && (*inst)->IsDead()) computation.Remove(**inst);
  }
}

Status Lowering::LowerOperation(const Operation& op) {
  if (op.row == nullptr) FAIL(UnknownOp(op.name, op.name_range));
  if (op.row->opcode == Opcode::kConstant && op.result_count == 1) constant_ops_[op.first_result] = &op;
  Annotations outer = std::exchange(annotations_, TRY(AnnotationsIn(op.attributes)));
  if (Instruction* const same = SameValue(op)) SetResult(op, 0, *same);
  else TRY(op.row->build(*this, op));
  annotations_ = std::move(outer);
  return {};
}

Result<Computation*> Lowering::LowerRegion(const Operation& op, size_t index) {
  const Region& region = op.regions[index];
  std::vector<ValueId> captured;
  std::vector<bool> seen(region.first_value);
  FindCaptured(region, region.first_value, seen, captured);
  for (const ValueId value : captured) {
    if (!IsConstant(value))
      FAIL(ErrorAtOp(op, "U011", Str("a region of '", op.name, "' uses a value from outside that is not a constant")));
  }
  Computation* const outer = computation_;
  const std::vector<ValueId>* const returned = std::exchange(also_returned_, nullptr);
  const Attribute* const results = std::exchange(result_attributes_, nullptr);
  Computation& computation = module_.AddComputation("region");
  computation.range = op.name_range;
  computation_ = &computation;
  for (size_t i = 0; i < region.arguments.size(); ++i) {
    const auto id = static_cast<ValueId>(region.first_value + i);
    values_[id] = &AddParameter(region.arguments[i], ShapeOf(id));
  }
  std::vector<Instruction*> hidden;
  for (const ValueId value : captured) hidden.push_back(values_[value]);
  TRY(LowerConstants(captured));
  TRY(LowerBody(region, op.range));
  for (size_t i = 0; i < captured.size(); ++i) values_[captured[i]] = hidden[i];
  computation_ = outer;
  also_returned_ = returned;
  result_attributes_ = results;
  return &computation;
}

Result<Computation*> Lowering::LowerControlRegion(const Operation& op, size_t index, std::span<const int32_t> carried,
                                                  const std::vector<ValueId>& captured, bool returns_captured) {
  const Region& region = op.regions[index];
  Computation* const outer = computation_;
  const std::vector<ValueId>* const returned = std::exchange(also_returned_, returns_captured ? &captured : nullptr);
  const Attribute* const results = std::exchange(result_attributes_, nullptr);
  Computation& computation = module_.AddComputation("region");
  computation.range = op.name_range;
  computation_ = &computation;

  std::vector<ValueId> inputs;
  for (const int32_t i : carried) inputs.push_back(region.first_value + i);
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  std::vector<ValueId> constants;
  std::vector<bool> seen(region.first_value);
  FindCaptured(region, region.first_value, seen, constants);
  std::erase_if(constants, [&](ValueId value) { return !IsConstant(value); });
  std::vector<std::pair<ValueId, Instruction*>> hidden;
  for (const ValueId value : captured) hidden.emplace_back(value, values_[value]);
  for (const ValueId value : constants) hidden.emplace_back(value, values_[value]);

  if (inputs.size() == 1) {
    const Argument unnamed;
    values_[inputs[0]] = &AddParameter(carried.empty() ? unnamed : region.arguments[carried[0]], ShapeOf(inputs[0]));
  } else {
    std::vector<Shape> shapes;
    for (const ValueId input : inputs) shapes.push_back(ShapeOf(input));
    Instruction& tuple = AddParameter({}, Shape::Tuple(std::move(shapes)), "arg_tuple");
    tuple.SetRange(op.name_range);
    for (size_t i = 0; i < inputs.size(); ++i) {
      Instruction& element = computation.AddGetTupleElement(tuple, static_cast<int64_t>(i));
      element.SetRange(i < carried.size() ? region.arguments[carried[i]].range : op.name_range);
      values_[inputs[i]] = &element;
    }
  }
  TRY(LowerConstants(constants));
  TRY(LowerBody(region, op.range));
  for (const auto& [value, inst] : hidden) values_[value] = inst;
  computation_ = outer;
  also_returned_ = returned;
  result_attributes_ = results;
  return &computation;
}

bool Lowering::IsConstant(ValueId value) const { return constant_ops_[value] != nullptr; }

// Copies constants from outside, as XLA does.
Status Lowering::LowerConstants(const std::vector<ValueId>& constants) {
  for (const ValueId value : constants) TRY(LowerOperation(*constant_ops_[value]));
  return {};
}

// Nested regions come before the operands of their operation, as in XLA's conversion.
void Lowering::FindCaptured(const Region& region, ValueId outside, std::vector<bool>& seen,
                            std::vector<ValueId>& captured) const {
  for (const Operation& op : region.operations) {
    for (const Region& inner : op.regions) FindCaptured(inner, outside, seen, captured);
    for (const ValueId operand : op.operands) {
      if (operand >= outside || seen[operand]) continue;
      seen[operand] = true;
      captured.push_back(operand);
    }
  }
}

std::vector<ValueId> Lowering::Captured(std::span<const Region> regions) const {
  std::vector<ValueId> captured;
  std::vector<bool> seen(document_.shapes.size());
  for (const Region& region : regions) FindCaptured(region, regions[0].first_value, seen, captured);
  std::erase_if(captured, [&](ValueId value) { return IsConstant(value); });
  return captured;
}

// ---- Instructions ------------------------------------------------------------------------------------------------

Shape Lowering::ShapeOfResults(const Operation& op) const {
  if (op.result_count == 1) return ResultShape(op);
  std::vector<Shape> shapes;
  for (int32_t i = 0; i < op.result_count; ++i) shapes.push_back(ResultShape(op, i));
  return Shape::Tuple(std::move(shapes));
}

Operands Lowering::AllOperands(const Operation& op) const {
  Operands operands;
  for (const ValueId operand : op.operands) operands.push_back(&Value(operand));
  return operands;
}

// As in XLA, the last part of the location's name. Otherwise the name of the result, or the opcode.
std::string Lowering::NameFor(const Operation& op, Opcode opcode, std::string_view op_name) const {
  const std::string_view last = op_name.substr(op_name.rfind('/') + 1);
  if (!last.empty()) return NameText(last);
  const std::string_view name = op.result_name;
  const bool is_number = name.empty() || (name[0] >= '0' && name[0] <= '9');
  return is_number ? std::string(ToString(opcode)) : NameText(name);
}

// Layouts pass from operands to results, as in XLA.
static void TakeLayout(Opcode opcode, const Operands& operands, const Attributes& attrs, Shape& shape) {
  if (operands.empty()) return;
  const Shape& operand = operands[0]->shape();
  if (opcode == Opcode::kGetTupleElement) {
    shape.SetLayout(operand.element(attrs.Get<IndexAttrs>().index).layout());
  } else if (opcode == Opcode::kCall) {
    const Shape& root = attrs.Get<CallAttrs>().to_apply->root().shape();
    if (Compatible(root, shape)) shape = root;
  } else if ((RowOf(opcode).traits & kElementwise) != 0 && SameDims(operand, shape)) {
    shape.SetLayout(operand.layout());
  }
}

Instruction& Lowering::Add(const Operation& op, Opcode opcode, Shape shape, Operands operands, Attributes attrs) {
  // As in XLA, a constant is the second operand.
  const bool is_commutative = (RowOf(opcode).traits & kCommutative) != 0;
  if (is_commutative && IsConstantValue(*operands[0]) && !IsConstantValue(*operands[1]))
    std::swap(operands[0], operands[1]);
  TakeLayout(opcode, operands, attrs, shape);
  const Metadata& metadata = locations_.Read(op.location);
  Instruction& inst = computation_->Add(opcode, std::move(shape), std::move(operands), std::move(attrs),
                                        NameFor(op, opcode, metadata.op_name.view()));
  inst.SetRange(op.range);
  if (metadata != Metadata()) inst.mutable_common().metadata = metadata;
  Annotate(annotations_, op, inst);
  return inst;
}

Instruction& Lowering::Constant(const Operation& op, Literal value, const Shape& shape) {
  if (shape.NumElements() == 1) value = value.WithShape(shape);
  const bool is_splat = !SameDims(value.shape(), shape);
  const uint64_t hash = value.Hash() + 0x9E3779B97F4A7C15u * static_cast<uint64_t>(computation_->id() + 1);
  const auto [begin, end] = constants_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    Instruction& inst = *known->second;
    if (inst.Is(Opcode::kBroadcast) != is_splat || &inst.computation() != computation_ || inst.shape() != shape)
      continue;
    if ((is_splat ? inst.operand(0) : inst).literal().BitEquals(value)) return inst;
  }
  const Shape of_value = value.shape();
  Instruction* inst = &Add(op, Opcode::kConstant, of_value, {}, ConstantAttrs{std::move(value)});
  if (is_splat) inst = &Add(op, Opcode::kBroadcast, shape, {inst}, DimensionsAttrs());
  constants_.emplace(hash, inst);
  return *inst;
}

Status Lowering::SetResults(const Operation& op, Instruction& inst) {
  if (op.result_count == 1) {
    SetResult(op, 0, inst);
    return {};
  }
  const size_t elements = inst.shape().IsTuple() ? inst.shape().elements().size() : 1;
  if (elements != static_cast<size_t>(op.result_count))
    FAIL(ErrorAtOp(op, "V001",
                   Str("'", op.name, "' has ", CountText(op.result_count, "result"), ", expected ", elements)));
  for (int32_t i = 0; i < op.result_count; ++i)
    SetResult(op, i, Add(op, Opcode::kGetTupleElement, ResultShape(op, i), {&inst}, IndexAttrs{i}));
  return {};
}

Status Lowering::Build(const Operation& op, Operands operands, Attributes attrs) {
  const Opcode opcode = op.row->opcode;
  const int arity = RowOf(opcode).arity;
  if (arity != kVariadic && operands.size() != static_cast<size_t>(arity))
    FAIL(
        ErrorAtOp(op, "V001", Str("'", op.name, "' takes ", CountText(arity, "operand"), ", found ", operands.size())));
  return SetResults(op, Add(op, opcode, ShapeOfResults(op), std::move(operands), std::move(attrs)));
}

Instruction& Lowering::Together(const Operation& op, Operands values) {
  if (values.size() == 1) return *values[0];
  std::vector<Shape> shapes;
  for (const Instruction* value : values) shapes.push_back(value->shape());
  return Add(op, Opcode::kTuple, Shape::Tuple(std::move(shapes)), std::move(values));
}

Status Lowering::Return(const Operation& op) {
  Operands values = AllOperands(op);
  if (result_attributes_ != nullptr && result_attributes_->items.size() == values.size()) {
    for (size_t i = 0; i < values.size(); ++i) TRY(MarkResult(op, result_attributes_->items[i], values[i]));
  }
  if (also_returned_ != nullptr) {
    for (const ValueId value : *also_returned_) values.push_back(&Value(value));
  }
  computation_->SetRoot(Together(op, std::move(values)));
  return {};
}

}  // namespace hlo::mlir
