#include "parser/proto_module.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "ir/text/printer.h"
#include "parser/proto_attributes.h"
#include "parser/proto_literal.h"
#include "parser/proto_rows.h"
#include "parser/proto_values.h"

namespace hlo {
namespace {

using C = proto::HloComputationProto;
using I = proto::HloInstructionProto;
using M = proto::HloModuleProto;

// Sorts by id, the order in which XLA reads and prints instructions, unless an instruction would precede its operand or
// control predecessor.
void SortById(std::vector<const WireMessage*>& instructions) {
  for (const WireMessage* inst : instructions) {
    for (const ProtoField& field : {I::operand_ids, I::control_predecessor_ids}) {
      for (const int64_t before : inst->Ints(field)) {
        if (before >= inst->Int(I::id)) return;
      }
    }
  }
  std::ranges::stable_sort(instructions, {}, [](const WireMessage* inst) { return inst->Int(I::id); });
}

class ModuleWriter {
 public:
  ModuleWriter(const ProtoBytes& bytes, const WireMessage& module) : bytes_(bytes), module_(module) {}

  Result<ModuleText> Write() {
    TRY(ReadNames());
    WriteHeader();
    for (const WireMessage& computation : computations_) TRY(WriteComputation(computation));
    return std::move(out_);
  }

 private:
  Status ReadNames();
  void WriteHeader();
  Status WriteComputation(const WireMessage& computation);
  std::string PartitionedSharding(const WireMessage& inst, bool is_root) const;
  Status WriteInstruction(const WireMessage& inst, bool is_root, bool is_of_entry);
  Result<std::string> Operands(Opcode opcode, const WireMessage& inst);
  Result<std::string> Constant(const WireMessage& inst);
  // `{...}` for an array or `({...}, ...)` for a tuple. Adds the elements to the constants. `with_shapes` writes a
  // shape before each `{...}`.
  std::string Elided(Literal literal, bool with_shapes);
  Result<std::vector<std::string>> Called(const WireMessage& inst) const;
  Result<const WireMessage*> Instruction(int64_t id, const WireMessage& user, std::string_view what) const;

  static std::string NameOf(const WireMessage& inst) { return SanitizedName(inst.Bytes(I::name)); }

  const ProtoBytes& bytes_;
  const WireMessage& module_;
  ModuleText out_;
  std::vector<WireMessage> computations_;
  std::unordered_map<int64_t, std::string> computation_names_;
  std::unordered_map<int64_t, std::vector<int64_t>> schedule_;
  std::unordered_map<int64_t, const WireMessage*> instructions_;
};

Status ModuleWriter::ReadNames() {
  computations_ = module_.Messages(M::computations);
  for (const WireMessage& computation : computations_) {
    const int64_t id = computation.Int(C::id);
    if (!computation_names_.emplace(id, SanitizedName(computation.Bytes(C::name))).second)
      FAIL(bytes_.ErrorAt("P021", Str("two computations have the id ", id), computation.begin()));
  }
  using S = proto::SequencesEntry;
  for (const WireMessage& entry : module_.Message(M::schedule).Messages(proto::HloScheduleProto::sequences)) {
    schedule_[entry.Int(S::key)] = entry.Message(S::value).Ints(proto::InstructionSequence::instruction_ids);
  }
  return {};
}

void ModuleWriter::WriteHeader() {
  std::string& out = out_.text;
  out = Str("HloModule ", SanitizedName(module_.Bytes(M::name)));
  Module printed("");
  ModuleHeader& header = printed.header;
  header.aliases =
      LoadAll<InputOutputAlias>(module_.Message(M::input_output_alias), proto::HloInputOutputAliasProto::entries);
  header.donors = LoadAll<BufferDonor>(module_.Message(M::buffer_donor), proto::HloBufferDonorProto::entries);
  using Devices = proto::DeviceAssignmentProto;
  const WireMessage devices = module_.Message(M::device_assignment);
  header.replica_count = std::max<int64_t>(devices.Int(Devices::replica_count), 1);
  header.num_partitions = std::max<int64_t>(devices.Int(Devices::computation_count), 1);
  const WireMessage attributes = module_.Message(M::frontend_attributes);
  if (!attributes.IsEmpty()) header.frontend_attributes.text = FrontendAttributesText(attributes);
  header.is_scheduled = !schedule_.empty();
  for (const PrintedAttribute& attribute : PrintedAttributes(printed))
    out += Str(", ", attribute.name, "=", attribute.text);
  if (module_.Has(M::host_program_shape)) {
    using P = proto::ProgramShapeProto;
    const WireMessage program = module_.Message(M::host_program_shape);
    std::vector<std::string> parameters;
    for (const WireMessage& parameter : program.Messages(P::parameters)) parameters.push_back(ShapeText(parameter));
    out +=
        Str(", entry_computation_layout={(", Join(parameters, ", "), ")->", ShapeText(program.Message(P::result)), "}");
  }
  out += "\n\n";
  const std::string frames = StackFramesText(module_.Message(M::stack_frame_index));
  if (!frames.empty()) out += Str(frames, "\n\n");
}

Status ModuleWriter::WriteComputation(const WireMessage& computation) {
  const int64_t id = computation.Int(C::id);
  std::vector<WireMessage> instructions = computation.Messages(C::instructions);
  instructions_.clear();
  for (const WireMessage& inst : instructions) {
    if (!instructions_.emplace(inst.Int(I::id), &inst).second)
      FAIL(bytes_.ErrorAt("P022", Str("two instructions have the id ", inst.Int(I::id)), inst.begin()));
  }
  std::vector<const WireMessage*> order;
  if (const auto sequence = schedule_.find(id); sequence != schedule_.end()) {
    for (const int64_t scheduled : sequence->second)
      order.push_back(TRY(Instruction(scheduled, computation, "the schedule")));
  } else {
    for (const WireMessage& inst : instructions) order.push_back(&inst);
    SortById(order);
  }
  const int64_t root_id = computation.Int(C::root_id);
  if (!instructions.empty()) TRY(Instruction(root_id, computation, "root_id"));

  const bool by_name = !module_.Has(M::entry_computation_id) && module_.Has(M::entry_computation_name);
  const bool is_entry = by_name ? computation.Bytes(C::name) == module_.Bytes(M::entry_computation_name)
                                : id == module_.Int(M::entry_computation_id);
  out_.text += Str(is_entry ? "ENTRY " : "", "%", computation_names_.at(id), " {\n");
  for (const WireMessage* inst : order) TRY(WriteInstruction(*inst, inst->Int(I::id) == root_id, is_entry));
  out_.text += "}";
  const std::string_view thread = computation.Bytes(C::execution_thread);
  if (!thread.empty() && thread != "main") out_.text += Str(", execution_thread=", Quoted(thread));
  out_.text += "\n\n";
  return {};
}

// The sharding of an entry parameter or root that XLA's partitioner moved to the module, or "".
std::string ModuleWriter::PartitionedSharding(const WireMessage& inst, bool is_root) const {
  if (inst.Has(I::sharding)) return "";
  if (is_root && module_.Has(M::spmd_output_sharding))
    return Str(", sharding=", ShardingText(module_.Message(M::spmd_output_sharding)));
  if (inst.Bytes(I::opcode) != "parameter") return "";
  const std::vector<WireMessage> parameters = module_.Messages(M::spmd_parameters_shardings);
  const int64_t number = inst.Int(I::parameter_number);
  return number >= 0 && number < std::ssize(parameters) ? Str(", sharding=", ShardingText(parameters[number])) : "";
}

Status ModuleWriter::WriteInstruction(const WireMessage& inst, bool is_root, bool is_of_entry) {
  const std::string_view word = inst.Bytes(I::opcode);
  out_.text += Str("  ", is_root ? "ROOT " : "", "%", NameOf(inst), " = ", ShapeText(inst.Message(I::shape)), " ",
                   WordText(word), "(");
  const auto opcode = OpcodeFromText(word);
  if (!opcode) {
    out_.text += ")\n";
    return {};
  }
  out_.text += Str(TRY(Operands(*opcode, inst)), ")");
  const std::vector<std::string> called = TRY(Called(inst));
  AttributeSource source{.inst = inst, .called = called};
  const std::vector<int64_t> operands = inst.Ints(I::operand_ids);
  if (opcode == Opcode::kConditional && !operands.empty()) {
    const WireMessage selector = instructions_.at(operands[0])->Message(I::shape);
    source.pred_selector = EnumText(selector, proto::ShapeProto::element_type) == "PRED";
  }
  std::string literal;
  if (opcode == Opcode::kCustomCall && inst.Has(I::literal)) {
    literal = Elided(TRY(LiteralFromProto(bytes_, inst.Message(I::literal))), true);
    source.literal = literal;
  }
  out_.text += AttributesText(*opcode, source);
  if (is_of_entry) out_.text += PartitionedSharding(inst, is_root);
  std::vector<std::string> before;
  for (const int64_t id : inst.Ints(I::control_predecessor_ids))
    before.push_back(Str("%", NameOf(*TRY(Instruction(id, inst, "control_predecessor_ids")))));
  if (!before.empty()) out_.text += Str(", control-predecessors={", Join(before, ", "), "}");
  out_.text += '\n';
  return {};
}

Result<std::string> ModuleWriter::Operands(Opcode opcode, const WireMessage& inst) {
  if (opcode == Opcode::kParameter) return Str(inst.Int(I::parameter_number));
  if (opcode == Opcode::kConstant) return Constant(inst);
  std::string operands;
  for (const int64_t id : inst.Ints(I::operand_ids)) {
    operands += Str(operands.empty() ? "%" : ", %", NameOf(*TRY(Instruction(id, inst, "operand_ids"))));
  }
  return operands;
}

Result<std::string> ModuleWriter::Constant(const WireMessage& inst) {
  if (!inst.Has(I::literal)) {
    FAIL(bytes_.ErrorAt("P040", Str("constant '", NameOf(inst), "' was written without its elements"), inst.begin())
             .Hint("dump with --xla_dump_large_constants"));
  }
  return Elided(TRY(LiteralFromProto(bytes_, inst.Message(I::literal))), false);
}

std::string ModuleWriter::Elided(Literal literal, bool with_shapes) {
  if (!literal.shape().IsTuple()) {
    std::string text = Str(with_shapes ? Str(literal.shape().ToStringWithLayout(), " ") : "", "{...}");
    out_.constants.push_back(std::move(literal));
    return text;
  }
  std::vector<std::string> elements;
  for (Literal& element : literal.mutable_elements()) elements.push_back(Elided(std::move(element), with_shapes));
  return Str("(", Join(elements, ", "), ")");
}

Result<std::vector<std::string>> ModuleWriter::Called(const WireMessage& inst) const {
  std::vector<std::string> names;
  for (const int64_t id : inst.Ints(I::called_computation_ids)) {
    const auto found = computation_names_.find(id);
    if (found == computation_names_.end())
      FAIL(bytes_.ErrorAt("V163", Str("'", NameOf(inst), "' calls computation ", id, ", which does not exist"),
                          inst.begin()));
    names.push_back(found->second);
  }
  return names;
}

Result<const WireMessage*> ModuleWriter::Instruction(int64_t id, const WireMessage& user, std::string_view what) const {
  const auto found = instructions_.find(id);
  if (found != instructions_.end()) return found->second;
  FAIL(bytes_.ErrorAt(
      "V008", Str(what, " of '", NameOf(user), "' names instruction ", id, ", which the computation does not have"),
      user.begin()));
}

}  // namespace

Result<ModuleText> TextOfProto(const ProtoBytes& bytes, const WireMessage& module) {
  return ModuleWriter(bytes, module).Write();
}

}  // namespace hlo
