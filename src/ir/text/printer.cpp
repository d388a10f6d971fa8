#include "ir/text/printer.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "ir/text/async_sugar.h"
#include "ir/text/attribute_text.h"
#include "ir/text/print_order.h"
#include "ir/text/reserved_words.h"

namespace hlo {
namespace {

// Returns "" for the default order of the type. Older texts have `type=` instead.
std::string_view WrittenOrder(const Instruction& compare) {
  const PrimitiveType element = compare.operand(0).shape().type();
  const ComparisonType type = compare.attrs<CompareAttrs>().type;
  if (!IsFloat(element) && !IsComplex(element)) return type == ComparisonType::kFloat ? "PARTIAL" : "";
  return type == ComparisonType::kDefault || type == ComparisonType::kFloat ? "" : "TOTAL";
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string Take() { return std::move(out_); }

  void PrintModule(const Module& module);
  void PrintComputation(const Computation& computation);
  void PrintInstruction(const Instruction& inst);
  std::vector<PrintedAttribute> TakeAttributes(const Instruction& inst);
  std::vector<PrintedAttribute> TakeAttributes(const Module& module);
  template <class T>
  std::string TakeValue(const T& value) {
    Value(value);
    return Take();
  }

 private:
  void Name(std::string_view name) {
    if (options_.percent || IsReserved(name)) out_ += '%';
    out_ += name;
  }
  void NameOf(const Instruction& inst) {
    if (!options_.canonical_names) return Name(inst.name());
    out_ += Str("tmp_", numbers_[inst.id()]);
  }
  void Indent() { out_.append(2 * depth_, ' '); }

  // Finds computations that only the short spelling of asynchronous ops contains.
  void FindUnwritten(std::span<Computation* const> computations);
  // Returns null unless `inst` is printed in the short spelling.
  const Instruction* Sugared(const Instruction& inst) const {
    const Instruction* wrapped = unwritten_.empty() ? nullptr : WrappedInstruction(inst);
    return wrapped != nullptr && unwritten_.contains(&wrapped->computation()) ? wrapped : nullptr;
  }

  void PrintHeader(const Module& module);
  void PrintHeaderAttributes(const Module& module);
  void PrintBody(const Computation& computation, std::span<Instruction* const> order);
  void PrintSignatureShape(const Shape& shape);
  void PrintShape(const Shape& shape);
  void PrintOperands(const Instruction& inst);
  void PrintAttributes(const Instruction& inst);
  void PrintCommon(const Instruction& inst);
  template <class Struct>
  void PrintFields(const Instruction& inst, const Struct& attrs);

  // When bodies are printed, XLA writes `calls` instead of some to_apply.
  std::string_view NameOfCallee(const Instruction& inst, std::string_view attribute) const {
    const bool renamed = inst.Is(Opcode::kReduceScatter) || inst.Is(Opcode::kScan);
    return options_.bodies && renamed ? "calls" : attribute;
  }
  void Begin(std::string_view name) {
    const size_t end = out_.size();
    out_ += ", ";
    out_ += name;
    out_ += '=';
    if (records_) starts_.push_back({name, end, out_.size(), false});
  }

  // ---- Values, one overload for each type ----
  void Value(bool value) { AppendTo(out_, value); }
  void Value(int64_t value) { AppendTo(out_, value); }
  void Value(double value) { out_ += Format("%g", value); }
  void Value(const std::string& value) { out_ += Quoted(value); }
  void Value(Interned value) { out_ += Quoted(value); }
  void Value(const RawText& value) { out_ += value.text; }
  void Value(const Shared<Sharding>& value) { AppendTo(out_, *value, options_.metadata); }
  void Value(const Domain& value) { AppendTo(out_, value); }
  void Value(const ReplicaGroups& value) { AppendTo(out_, value); }
  void Value(const GroupModeWord& value) { out_ += ToString(value.mode); }
  void Value(const OperandAliases& value) { AppendValue(out_, value); }
  template <class T>
    requires requires(std::string& out, const T& value) { AppendValue(out, value); }
  void Value(const T& value) {
    AppendValue(out_, value);
  }
  template <class T>
  void Value(const std::vector<T>& list) {
    out_ += '{';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ += ',';
      Value(list[i]);
    }
    out_ += '}';
  }
  template <class Struct>
    requires requires { Struct::Fields(); }
  void Value(const Struct& items);
  void Value(Computation* called);
  void Value(const std::vector<Computation*>& called) {
    out_ += '{';
    for (size_t i = 0; i < called.size(); ++i) {
      if (i > 0) out_ += options_.bodies ? "," : ", ";
      Value(called[i]);
    }
    out_ += options_.bodies ? "\n}" : "}";
  }
  template <class T>
  void Value(const std::optional<T>& value) {
    Value(*value);
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void Value(Enum value) {
    out_ += ToString(value);
  }

  std::vector<PrintedAttribute> TakeRecorded();

  PrintOptions options_;
  std::string out_;
  struct AttributeStart {
    std::string_view name;
    size_t before, value;  // Begin of the attribute and of its value.
    bool names_computations;
  };
  bool records_ = false;
  std::vector<AttributeStart> starts_;
  std::unordered_set<const Computation*> unwritten_;
  PrintOrder order_;
  std::vector<int64_t> numbers_;  // N of the name tmp_N, by id.
  int64_t depth_ = 0;
};

// ---- Module ------------------------------------------------------------------------------------------------------

void Printer::FindUnwritten(std::span<Computation* const> computations) {
  if (options_.async_sugar == AsyncSugar::kNone) return;
  std::vector<const Computation*> written;  // Computations that are also called by name.
  for (const Computation* computation : computations) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->attributes().GetIf<AsyncAttrs>() == nullptr) {
        for (const Computation* called : CalledComputations(*inst)) written.push_back(called);
      } else if (const Instruction* wrapped = WrappedInstruction(*inst)) {
        const bool sugar = options_.async_sugar == AsyncSugar::kAsXla || ReadsBackFromSugar(*inst);
        if (sugar) unwritten_.insert(&wrapped->computation());
        else written.push_back(&wrapped->computation());
      }
    }
  }
  for (const Computation* computation : written) unwritten_.erase(computation);
}

void Printer::PrintModule(const Module& module) {
  PrintHeader(module);
  const std::vector<Computation*> order = PrintOrder::ComputationsOf(module, options_.module_order);
  FindUnwritten(order);
  for (const Computation* computation : order) {
    if (unwritten_.contains(computation)) continue;
    if (computation->IsEntry()) out_ += "ENTRY ";
    PrintComputation(*computation);
    out_ += "\n\n";
  }
  if (!options_.final_blank_line) out_.pop_back();
}

// Whether a reader infers the header's layouts from the entry.
bool LayoutIsImplied(const Module& module) {
  const ModuleHeader& header = module.header;
  const Computation& entry = module.entry();
  if (!header.entry_result) return true;
  if (*header.entry_result != entry.root().shape() ||
      header.entry_parameters->elements().size() != entry.parameters().size())
    return false;
  for (size_t i = 0; i < entry.parameters().size(); ++i) {
    if (header.entry_parameters->element(i) != entry.parameter(i).shape()) return false;
  }
  return true;
}

void Printer::PrintHeader(const Module& module) {
  const ModuleHeader& header = module.header;
  out_ += Str("HloModule ", options_.names ? std::string_view(module.name()) : "");
  PrintHeaderAttributes(module);
  out_ += "\n\n";
  if (options_.metadata && !header.stack_frames.empty()) out_ += Str(header.stack_frames, "\n\n");
}

void Printer::PrintHeaderAttributes(const Module& module) {
  const ModuleHeader& header = module.header;
  const auto say = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    Begin(name);
    out_ += value;
  };
  const auto count = [](int64_t value) { return value == 1 ? "" : Str(value); };
  say("is_scheduled", header.is_scheduled ? "true" : "");
  if (!header.aliases.empty()) {
    Begin("input_output_alias");
    out_ += "{ ";
    for (size_t i = 0; i < header.aliases.size(); ++i) {
      const InputOutputAlias& alias = header.aliases[i];
      out_ += Str(i > 0 ? ", " : "", "{", Join(alias.output, ", "), "}: (", alias.parameter, ", {",
                  Join(alias.parameter_index, ", "), "}, ", alias.must ? "must-alias" : "may-alias", ")");
    }
    out_ += " }";
  }
  if (!header.donors.empty()) {
    Begin("buffer_donor");
    out_ += "{ ";
    for (size_t i = 0; i < header.donors.size(); ++i) {
      const BufferDonor& donor = header.donors[i];
      out_ += Str(i > 0 ? ", " : "", "(", donor.parameter, ", {", Join(donor.parameter_index, ", "), "})");
    }
    out_ += " }";
  }
  say("alias_passthrough_params", header.alias_passthrough_params ? "true" : "");
  if (header.entry_result && (options_.layouts || !LayoutIsImplied(module))) {
    Begin("entry_computation_layout");
    out_ += "{(";
    const std::vector<Shape>& parameters = header.entry_parameters->elements();
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (i > 0) out_ += ", ";
      if (i > 0 && i % 5 == 0) out_ += Str("/*index=", i, "*/");
      out_ += parameters[i].ToStringWithLayout();
    }
    out_ += Str(")->", header.entry_result->ToStringWithLayout(), "}");
  }
  say("allow_spmd_sharding_propagation_to_parameters", header.propagation_to_parameters.text);
  say("allow_spmd_sharding_propagation_to_output", header.propagation_to_output.text);
  say("replica_count", count(header.replica_count));
  say("num_partitions", count(header.num_partitions));
  say("frontend_attributes", header.frontend_attributes.text);
  say("backend_config", header.backend_config.text);
  say("origin_recovery_table", header.origin_recovery_table.text);
  say("debug_attributes", header.debug_attributes.text);
}

void Printer::PrintSignatureShape(const Shape& shape) {
  if (!shape.IsTuple()) return AppendTo(out_, shape);
  out_ += '(';
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    if (i > 0) out_ += ", ";
    if (i > 0 && i % 5 == 0 && options_.index_comments) out_ += Str("/*index=", i, "*/");
    PrintSignatureShape(shape.element(i));
  }
  out_ += ')';
}

void Printer::PrintComputation(const Computation& computation) {
  if (options_.names) {
    Name(computation.name());
    out_ += ' ';
  }
  if (computation.module().header.is_scheduled) return PrintBody(computation, computation.Instructions());
  PrintBody(computation, options_.text_order ? computation.PostOrder() : order_.InstructionsOf(computation));
}

void Printer::PrintBody(const Computation& computation, std::span<Instruction* const> order) {
  if (options_.signature) {
    out_ += '(';
    for (size_t i = 0; i < computation.parameters().size(); ++i) {
      if (i > 0) out_ += ", ";
      const Instruction& parameter = computation.parameter(i);
      out_ += Str(parameter.name(), ": ");
      PrintSignatureShape(parameter.shape());
    }
    out_ += ") -> ";
    PrintSignatureShape(computation.root().shape());
    out_ += ' ';
  }
  out_ += "{\n";
  ++depth_;
  if (options_.canonical_names) {
    numbers_.resize(computation.module().id_limit());
    for (size_t i = 0; i < order.size(); ++i) numbers_[order[i]->id()] = static_cast<int64_t>(i);
  }
  for (const Instruction* inst : order) {
    Indent();
    if (inst->IsRoot()) out_ += "ROOT ";
    PrintInstruction(*inst);
    out_ += '\n';
  }
  --depth_;
  Indent();
  out_ += '}';
  if (options_.names && computation.execution_thread != "main")
    out_ += Str(", execution_thread=\"", computation.execution_thread, "\"");
}

// ---- Instruction -------------------------------------------------------------------------------------------------

void Printer::PrintShape(const Shape& shape) {
  if (options_.layouts) {
    out_ += shape.ToStringWithLayout();
    return;
  }
  out_ += shape.HasDefaultLayout() ? shape.ToString() : shape.ToStringWithLayout();
}

void Printer::PrintInstruction(const Instruction& inst) {
  const bool canonical_alone = options_.canonical_names && depth_ == 0;
  if (!canonical_alone) {
    NameOf(inst);
    out_ += " = ";
  }
  PrintShape(inst.shape());
  out_ += ' ';
  const Instruction* wrapped = Sugared(inst);
  if (wrapped != nullptr) {
    out_ += ToString(wrapped->opcode());
    out_ += ToString(inst.opcode()).substr(std::string_view("async").size());
  } else {
    out_ += ToString(inst.opcode());
  }
  out_ += '(';
  PrintOperands(inst);
  out_ += ')';
  PrintAttributes(inst);
  PrintCommon(inst);
}

void Printer::PrintOperands(const Instruction& inst) {
  if (inst.Is(Opcode::kParameter)) return AppendTo(out_, inst.parameter_number());
  if (inst.Is(kHoldsLiteral)) {
    out_ += ConstantText(inst.literal(), options_.constants);
    return;
  }
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (i > 0) out_ += ", ";
    if (i > 0 && i % 5 == 0 && options_.index_comments) out_ += Str("/*index=", i, "*/");
    if (options_.operand_shapes) PrintShape(inst.operand(i).shape());
    if (options_.canonical_names && depth_ == 0) continue;  // A lone instruction has no numbered operands.
    if (options_.operand_shapes) out_ += ' ';
    NameOf(inst.operand(i));
  }
}

template <class Struct>
void Printer::PrintFields(const Instruction& inst, const Struct& attrs) {
  [[maybe_unused]] static const Struct kDefaults{};
  ForEachField<Struct>([&](const auto& field) {
    const auto& value = attrs.*field.member;
    using T = std::remove_cvref_t<decltype(value)>;
    if (field.presence == Presence::kOptional && value == kDefaults.*field.member) return;
    if constexpr (std::is_same_v<T, std::vector<Precision>>) {
      if (std::all_of(value.begin(), value.end(), [](Precision p) { return p == Precision::kDefault; })) return;
    }
    std::string_view name = field.name;
    if constexpr (std::is_same_v<T, Computation*>) {
      if (value == nullptr) return;
      name = NameOfCallee(inst, name);
    }
    Begin(name);
    Value(value);
  });
}

void Printer::PrintAttributes(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kCompare: {
      const CompareAttrs& a = inst.attrs<CompareAttrs>();
      Begin("direction");
      Value(a.direction);
      if (const std::string_view order = WrittenOrder(inst); !order.empty()) {
        Begin("order");
        out_ += order;
      }
      return;
    }
    case Opcode::kOutfeed: {  // The shape is always written.
      OutfeedAttrs a = inst.attrs<OutfeedAttrs>();
      if (!a.shape) a.shape = inst.operand(0).shape();
      return PrintFields(inst, a);
    }
    case Opcode::kAsyncStart: {
      const Instruction* wrapped = Sugared(inst);
      if (wrapped == nullptr) return PrintFields(inst, inst.attrs<AsyncAttrs>());
      AsyncAttrs a = inst.attrs<AsyncAttrs>();
      a.calls = nullptr;
      const OperandAliases aliases = std::exchange(a.aliases, {});
      PrintFields(inst, a);
      PrintAttributes(*wrapped);
      if (!aliases.empty()) {
        Begin("output_to_operand_aliasing");
        Value(aliases);
      }
      if (!options_.bodies) return;
      Begin("calls");
      return Value(inst.attrs<AsyncAttrs>().calls);
    }
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone: {  // The start has these attributes for the whole chain.
      AsyncAttrs a = inst.attrs<AsyncAttrs>();
      a.calls = nullptr;
      a.thread = AsyncAttrs().thread;
      return PrintFields(inst, a);
    }
    case Opcode::kCustomCall: {  // XLA reads `to_apply=f` as `called_computations={f}`, and does not print it.
      CustomCallAttrs a = inst.attrs<CustomCallAttrs>();
      if (a.to_apply != nullptr) a.called_computations = {std::exchange(a.to_apply, nullptr)};
      return PrintFields(inst, a);
    }
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce: {
      CollectiveAttrs a = inst.attrs<CollectiveAttrs>();
      if (!a.has_dynamic_root) a.has_dynamic_root = false;
      return PrintFields(inst, a);
    }
    case Opcode::kReduceScatter: {  // The dimension is printed later than in other collectives.
      CollectiveAttrs a = inst.attrs<CollectiveAttrs>();
      Computation* to_apply = std::exchange(a.to_apply, nullptr);
      const auto dimension = std::exchange(a.dimension, std::nullopt);
      PrintFields(inst, a);
      if (dimension) {
        Begin("dimensions");
        Value(dimension);
      }
      if (to_apply == nullptr) return;
      Begin(NameOfCallee(inst, "to_apply"));
      return Value(to_apply);
    }
    default: Visit(inst.attributes(), [&](const auto& attrs) { PrintFields(inst, attrs); });
  }
}

void Printer::PrintCommon(const Instruction& inst) {
  const auto predecessors = [&] {
    if (inst.control_predecessors().empty() || !options_.control_dependencies) return;
    Begin("control-predecessors");
    out_ += '{';
    for (size_t i = 0; i < inst.control_predecessors().size(); ++i) {
      if (i > 0) out_ += ", ";
      NameOf(*inst.control_predecessors()[i]);
    }
    out_ += '}';
  };
  if (!inst.HasCommon()) return predecessors();
  const CommonAttrs& common = inst.common();
  ForEachField<CommonAttrs>([&](const auto& field) {
    const auto& value = common.*field.member;
    const std::string_view name = field.name;
    if (name == "statistics") predecessors();
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Metadata>) {
      if (!options_.metadata || value == Metadata()) return;
      if (value.op_type.empty() && value.op_name.empty() && value.source_file.empty() &&
          value.scheduling_name.empty() && value.stack_frame_id == 0 && value.payload.empty())
        return;
      Begin(field.name);
      AppendTo(out_, value, inst.name());
    } else {
      if (value.empty() || (name == "backend_config" && !options_.backend_config)) return;
      if (name == "parameter_replication" && !options_.names) return;
      Begin(field.name);
      Value(value);
    }
  });
}

std::vector<PrintedAttribute> Printer::TakeAttributes(const Instruction& inst) {
  records_ = true;
  PrintAttributes(inst);
  PrintCommon(inst);
  return TakeRecorded();
}

std::vector<PrintedAttribute> Printer::TakeAttributes(const Module& module) {
  records_ = true;
  PrintHeaderAttributes(module);
  return TakeRecorded();
}

std::vector<PrintedAttribute> Printer::TakeRecorded() {
  std::vector<PrintedAttribute> attributes;
  for (size_t i = 0; i < starts_.size(); ++i) {
    const size_t end = i + 1 < starts_.size() ? starts_[i + 1].before : out_.size();
    attributes.push_back(
        {starts_[i].name, out_.substr(starts_[i].value, end - starts_[i].value), starts_[i].names_computations});
  }
  return attributes;
}

// ---- Values ------------------------------------------------------------------------------------------------------

// As in XLA, a printed body does not have the order of a schedule.
void Printer::Value(Computation* called) {
  if (records_) starts_.back().names_computations = true;
  if (!options_.bodies) return Name(called->name());
  out_ += '\n';
  Indent();
  PrintBody(*called, order_.InstructionsOf(*called));
}

template <class Struct>
  requires requires { Struct::Fields(); }
void Printer::Value(const Struct& items) {
  static const Struct kDefaults;
  out_ += '{';
  bool first = true;
  ForEachField<Struct>([&](const auto& field) {
    if (field.presence == Presence::kOptional && items.*field.member == kDefaults.*field.member) return;
    if (!first) out_ += ' ';
    first = false;
    out_ += field.name;
    out_ += '=';
    Value(items.*field.member);
  });
  out_ += '}';
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '"': out += "\\\""; break;
      case '\'': out += "\\'"; break;
      case '\\': out += "\\\\"; break;
      default:
        if (c >= 0x20 && c < 0x7F) {
          out += c;
        } else {
          out += Format("\\%03o", static_cast<unsigned char>(c));
        }
    }
  }
  out += '"';
  return out;
}

template <class T>
std::string AttributeText(const T& value) {
  return Printer(PrintOptions()).TakeValue(value);
}
template std::string AttributeText(const Window&);
template std::string AttributeText(const DimLabels&);
template std::string AttributeText(const PaddingConfig&);
template std::string AttributeText(const SliceRanges&);
template std::string AttributeText(const OperandAliases&);
template std::string AttributeText(const ListOfLists&);
template std::string AttributeText(const SparsityConfig&);
template std::string AttributeText(const BlockScalingConfig&);

std::vector<PrintedAttribute> PrintedAttributes(const Instruction& inst, const PrintOptions& options) {
  return Printer(options).TakeAttributes(inst);
}

std::vector<PrintedAttribute> PrintedAttributes(const Module& module, const PrintOptions& options) {
  return Printer(options).TakeAttributes(module);
}

std::string Print(const Module& module, const PrintOptions& options) {
  Printer printer(options);
  printer.PrintModule(module);
  return printer.Take();
}

std::string Print(const Computation& computation, const PrintOptions& options) {
  Printer printer(options);
  printer.PrintComputation(computation);
  return printer.Take();
}

std::string Print(const Instruction& inst, const PrintOptions& options) {
  Printer printer(options);
  printer.PrintInstruction(inst);
  return printer.Take();
}

}  // namespace hlo
