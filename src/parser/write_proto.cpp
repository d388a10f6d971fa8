#include "parser/write_proto.h"

#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/source_text.h"
#include "base/text.h"
#include "ir/fusion.h"
#include "ir/text/print_order.h"
#include "ir/text/printer.h"
#include "parser/parser.h"
#include "parser/proto_attributes.h"
#include "parser/proto_literal.h"
#include "parser/proto_rows.h"
#include "parser/proto_values.h"
#include "parser/read_back.h"
#include "parser/read_proto.h"

namespace hlo {
namespace {

using C = proto::HloComputationProto;
using I = proto::HloInstructionProto;
using M = proto::HloModuleProto;

constexpr PrintOptions kListed = {.async_sugar = AsyncSugar::kNone, .text_order = true, .module_order = true};

void WriteInstruction(const Instruction& inst, MessageWriter& out) {
  out.Bytes(I::name, inst.name());
  out.Bytes(I::opcode, ToString(inst.opcode()));
  out.Int(I::id, IdOf(inst));
  WriteShape(inst.shape(), out.Part(I::shape));
  std::vector<int64_t> ids;
  for (const Instruction* operand : inst.operands()) ids.push_back(IdOf(*operand));
  out.Ints(I::operand_ids, ids);
  ids.clear();
  for (const Instruction* before : inst.control_predecessors()) ids.push_back(IdOf(*before));
  out.Ints(I::control_predecessor_ids, ids);
  if (inst.Is(Opcode::kParameter)) out.Int(I::parameter_number, inst.parameter_number());
  if (inst.Is(Opcode::kConstant)) WriteLiteral(inst.literal(), out.Part(I::literal));
  WriteAttributes(inst, out);
}

void WriteComputation(const Computation& computation, const std::vector<Instruction*>& order, MessageWriter& out) {
  out.Bytes(C::name, computation.name());
  out.Int(C::id, IdOf(computation));
  out.Int(C::root_id, IdOf(computation.root()));
  if (computation.execution_thread != "main") out.Bytes(C::execution_thread, computation.execution_thread);
  for (const Instruction* inst : order) WriteInstruction(*inst, out.Add(C::instructions));
}

void WriteHeader(const Module& module, MessageWriter& out) {
  const ModuleHeader& header = module.header;
  out.Bytes(M::name, module.name());
  out.Bytes(M::entry_computation_name, module.entry().name());
  out.Int(M::entry_computation_id, IdOf(module.entry()));
  using P = proto::ProgramShapeProto;
  MessageWriter& program = out.Part(M::host_program_shape);
  for (const Instruction* parameter : module.entry().parameters()) {
    const bool is_said = header.entry_parameters.has_value();
    WriteShape(is_said ? header.entry_parameters->element(parameter->parameter_number()) : parameter->shape(),
               program.Add(P::parameters));
    program.Bytes(P::parameter_names, parameter->name());
  }
  WriteShape(header.entry_result ? *header.entry_result : module.entry().root().shape(), program.Part(P::result));
  if (!header.aliases.empty())
    SaveAll(header.aliases, proto::HloInputOutputAliasProto::entries, out.Part(M::input_output_alias));
  if (!header.donors.empty()) SaveAll(header.donors, proto::HloBufferDonorProto::entries, out.Part(M::buffer_donor));
  if (header.replica_count != 1 || header.num_partitions != 1) {
    MessageWriter& devices = out.Part(M::device_assignment);
    devices.Int(proto::DeviceAssignmentProto::replica_count, header.replica_count);
    devices.Int(proto::DeviceAssignmentProto::computation_count, header.num_partitions);
  }
  if (!header.frontend_attributes.empty())
    WriteFrontendAttributes(header.frontend_attributes, out.Part(M::frontend_attributes));
  if (!header.stack_frames.empty()) WriteStackFrames(header.stack_frames, out.Part(M::stack_frame_index));
}

void WriteSequence(const Computation& computation, const std::vector<Instruction*>& order, MessageWriter& schedule) {
  using S = proto::SequencesEntry;
  MessageWriter& entry = schedule.Add(proto::HloScheduleProto::sequences);
  entry.Int(S::key, IdOf(computation));
  std::vector<int64_t> ids;
  for (const Instruction* inst : order) ids.push_back(IdOf(*inst));
  entry.Part(S::value).Ints(proto::InstructionSequence::instruction_ids, ids);
}

void WriteModule(const Module& module, MessageWriter& out) {
  WriteHeader(module, out);
  const std::vector<Computation*> computations = PrintOrder::ComputationsOf(module, kListed.module_order);
  std::unordered_set<const Computation*> fused;
  for (const Computation* computation : computations) {
    for (const Instruction* inst : computation->instructions()) {
      if (IsFusion(*inst)) fused.insert(inst->attrs<FusionAttrs>().calls);
    }
  }
  for (const Computation* computation : computations) {
    const std::vector<Instruction*> order =
        module.header.is_scheduled ? computation->Instructions() : computation->PostOrder();
    WriteComputation(*computation, order, out.Add(M::computations));
    // XLA rejects schedules of fused computations.
    if (module.header.is_scheduled && !fused.contains(computation))
      WriteSequence(*computation, order, out.Part(M::schedule));
  }
}

const Instruction* FindElided(const Module& module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->Is(Opcode::kElidedConstant)) return inst;
    }
  }
  return nullptr;
}

}  // namespace

Result<std::string> WriteProto(const Module& module) {
  if (const Instruction* elided = FindElided(module))
    FAIL(ErrorAt(*elided, "P040", Str("constant '", elided->name(), "' has no elements to write")));
  MessageWriter proto;
  WriteModule(module, proto.Part(proto::HloProto::hlo_module));
  std::string wire = proto.Wire();
  // Reads the proto again, to find contents that have no field.
  const auto unsaid = [](std::string_view what) {
    return Unsupported("U008", Str("a protocol buffer cannot hold all of this module: ", what));
  };
  const auto back = ReadModule(std::make_shared<const SourceText>("the protocol buffer that was written", wire));
  if (!back) FAIL(unsaid(back.error().message()));
  // Readers number stack frames by use. A text in the same order gives equal numbers.
  const auto said = Parse(std::make_shared<const SourceText>("the same as text", Print(module, kListed)));
  if (!said) FAIL(unsaid(said.error().message()));
  if (const std::string lost = LostByReading(Print(**said), Print(**back)); !lost.empty()) FAIL(unsaid(lost));
  const uint64_t read = Fingerprint(**back);
  if (read != Fingerprint(module) && read != Fingerprint(**said))
    FAIL(unsaid("the module has properties that its text does not show"));
  return wire;
}

Result<std::string> WriteSnapshot(const Module& module, std::span<const Literal> arguments, const Literal& result) {
  using S = proto::HloSnapshot;
  constexpr int64_t kMostBytes = (int64_t{1} << 31) - 1;
  int64_t bytes = 0;
  const auto check = [&](const Literal& literal) -> Status {
    Status status;
    ForEachLeaf(literal.shape(), [&](const ShapeIndex&, const Shape& leaf) {
      if (!leaf.IsArray())
        status = std::unexpected(Unsupported("U008", Str("a protocol buffer cannot hold a value of ", leaf)));
      else bytes += leaf.ByteSize();
    });
    return status;
  };
  for (const Literal& argument : arguments) TRY(check(argument));
  TRY(check(result));
  const std::string proto = TRY(WriteProto(module));
  if (bytes + std::ssize(proto) > kMostBytes)
    FAIL(Unsupported(
        "U008", Str("the protocol buffer would have ", bytes + std::ssize(proto), " bytes, but the limit is 2 GiB")));
  MessageWriter snapshot;
  snapshot.Bytes(S::hlo, proto);  // Messages are encoded like bytes.
  for (const Literal& argument : arguments) WriteLiteral(argument, snapshot.Add(S::arguments));
  WriteLiteral(result, snapshot.Part(S::result));
  return snapshot.Wire();
}

}  // namespace hlo
