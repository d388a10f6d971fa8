// hlo ops: which op is supported for which element type where.
#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text.h"
#include "driver/coverage.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace hlo {
namespace {

// One letter a type.
const char* Cell(const Support& support) {
  if (!support.defined) return "";
  if (support.interpreter) return support.kernels ? "ik" : "i";
  return support.kernels ? "k" : "-";
}

void PrintRow(const OpCoverage& op) {
  std::string row = Format("%-26s", std::string(ToString(op.opcode)).c_str());
  for (size_t t = 0; t < op.by_type.size(); ++t) {
    const int width = static_cast<int>(ToString(CoverageTypes()[t]).size());
    row += Format(" %-*s", std::max(2, width), Cell(op.by_type[t]));
  }
  if (op.by_type.empty()) row += op.interpreter ? " i" : " UNSUPPORTED";
  std::printf("%s\n", std::string(row, 0, row.find_last_not_of(' ') + 1).c_str());
}

Result<Opcode> OpcodeNamed(const std::string& name) {
  if (const std::optional<Opcode> opcode = OpcodeFromText(name)) return *opcode;
  std::string message = Str("no opcode '", Escaped(name), "'");
  std::vector<std::string_view> known;
  for (const OpRow& row : AllOps()) known.push_back(row.text);
  const std::vector<std::string> near = NearNames(name, known);
  if (!near.empty()) message += Str("; did you mean '", Join(near, "' or '"), "'?");
  FAIL(UsageError("F002", std::move(message)));
}

}  // namespace

Result<ExitCode> OpsCommand(Args args) {
  FlagSet flags("hlo-ops", "[OPCODE...]",
                "Which op is supported for which element type: i by the interpreter, k by kernels (cpu and cuda have "
                "the same), - by neither; blank where HLO has no such op. Measured with a smallest use of each op; one "
                "f8 stands for all.",
                {"hlo ops", "hlo ops dot convolution"});
  const std::vector<std::string> positionals = TRY(flags.Parse(args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  std::set<Opcode> asked;
  for (const std::string& name : positionals) asked.insert(TRY(OpcodeNamed(name)));
  std::string head = Format("%-26s", "opcode");
  for (const PrimitiveType type : CoverageTypes()) head += Format(" %-2s", std::string(ToString(type)).c_str());
  std::printf("%s\n", head.c_str());
  int interpreted = 0, with_kernels = 0;
  const std::vector<OpCoverage> coverage = MeasureCoverage();
  for (const OpCoverage& op : coverage) {
    if (asked.empty() || asked.contains(op.opcode)) PrintRow(op);
    interpreted += op.interpreter;
    with_kernels += std::any_of(op.by_type.begin(), op.by_type.end(), [](const Support& s) { return s.kernels; });
  }
  std::printf("%d of %zu opcodes in the interpreter, %d as kernels\n", interpreted, coverage.size(), with_kernels);
  return ExitCode::kOk;
}

}  // namespace hlo
