// hlo ops: the op table, and where each is supported.
#include <cstdio>

#include "base/text.h"
#include "interp/interpreter.h"
#include "ir/module.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace hlo {
namespace {

// An instruction of that opcode with operands of no particular meaning: enough to ask what is supported.
bool Interprets(Opcode opcode) {
  Module module("ops");
  Computation& computation = module.AddComputation("entry");
  const int operands = RowOf(opcode).arity == kVariadic ? 1 : RowOf(opcode).arity;
  std::vector<Instruction*> parameters;
  for (int i = 0; i < operands; ++i)
    parameters.push_back(&computation.AddParameter(i, Shape(PrimitiveType::kF32, {2, 3})));
  const Instruction& inst = opcode == Opcode::kParameter
                                ? computation.AddParameter(operands, Shape(PrimitiveType::kF32, {2, 3}))
                                : computation.Add(opcode, Shape(PrimitiveType::kF32, {2, 3}), parameters);
  return CanInterpret(inst);
}

}  // namespace

Result<ExitCode> OpsCommand(Args args) {
  FlagSet flags(
      "hlo-ops", "",
      "The opcodes: operands, whether the text may leave out the shape, and whether the interpreter has them.",
      {"hlo ops"});
  const std::vector<std::string> positionals = TRY(flags.Parse(args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (!positionals.empty()) FAIL(UsageError("F002", Str("unexpected '", Escaped(positionals[0]), "'")));
  int supported = 0;
  std::printf("%-26s %-9s %-12s %s\n", "opcode", "operands", "elementwise", "interpreter");
  for (size_t i = 0; i < AllOps().size(); ++i) {
    const OpRow& row = AllOps()[i];
    const bool interprets = Interprets(static_cast<Opcode>(i));
    supported += interprets;
    std::printf("%-26s %-9s %-12s %s\n", std::string(row.text).c_str(),
                row.arity == kVariadic ? "any" : Str(row.arity).c_str(), row.traits & kElementwise ? "yes" : "",
                interprets ? "yes" : "UNSUPPORTED");
  }
  std::printf("%d of %zu opcodes in the interpreter\n", supported, AllOps().size());
  return ExitCode::kOk;
}

}  // namespace hlo
