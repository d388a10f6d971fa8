#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/text.h"
#include "driver/run/coverage.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/module_flags.h"

namespace hlo {
namespace {

const char* Cell(const Support& support) {
  if (!support.defined) return "";
  if (support.kernels) return "k";
  if (support.compiled()) return "p";
  return support.interpreter ? "f" : "-";
}

void PrintRow(const OpCoverage& op) {
  std::string row = Format("%-26s", std::string(ToString(op.opcode)).c_str());
  for (size_t t = 0; t < op.by_type.size(); ++t) {
    const int width = static_cast<int>(ToString(CoverageTypes()[t]).size());
    row += Format(" %-*s", std::max(2, width), Cell(op.by_type[t]));
  }
  if (op.by_type.empty()) row += op.interpreter ? " f" : " -";
  std::printf("%s\n", std::string(row, 0, row.find_last_not_of(' ') + 1).c_str());
}

// Examples: "  p: scan_expander", "  f: no emitter for 'sort' of s4 (s4, u4)".
void PrintWhy(const OpCoverage& op) {
  std::map<std::string, std::vector<std::string_view>> types;
  for (size_t t = 0; t < op.by_type.size(); ++t) {
    const Support& support = op.by_type[t];
    if (!support.pass.empty()) types[Str("p: ", support.pass)].push_back(ToString(CoverageTypes()[t]));
    else if (support.defined && !support.kernels)
      types[Str(support.interpreter ? "f: " : "-: ", support.why)].push_back(ToString(CoverageTypes()[t]));
  }
  for (const auto& [why, of] : types)
    std::printf("%s\n",
                Str("  ", why, of.size() == CoverageTypes().size() ? "" : Str(" (", Join(of, ", "), ")")).c_str());
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
  FlagSet flags(
      "hlo-ops", "[OPCODE...]",
      "Shows the support of each op for each element type. k: compiled to kernels (the same on cpu and cuda); p: "
      "compiled after a pass has replaced the op by others; f: computed by the interpreter on cpu and cuda "
      "(UNSUPPORTED with --nofallback); -: not supported; blank: HLO has no such op. The interpreter supports k, p and "
      "f. Each entry was tested: hlo-run without flags ran a minimal instruction of the op on cpu. One f8 type "
      "represents all f8 types. Infeed, outfeed, send, recv and custom-call have a single letter instead of one for "
      "each type. For given opcodes, the pass of each p and the reason for each f and - are printed.",
      {"hlo ops", "hlo ops dot convolution"});
  const std::vector<std::string> positionals = TRY(ParseArgs(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  std::set<Opcode> asked;
  for (const std::string& name : positionals) asked.insert(TRY(OpcodeNamed(name)));
  std::string head = Format("%-26s", "opcode");
  for (const PrimitiveType type : CoverageTypes()) head += Format(" %-2s", std::string(ToString(type)).c_str());
  std::printf("%s\n", head.c_str());
  int64_t interpreted = 0, with_kernels = 0, compiled = 0, falling_back = 0, fall_back = 0;
  const std::vector<OpCoverage> coverage = MeasureCoverage();
  for (const OpCoverage& op : coverage) {
    if (asked.empty() || asked.contains(op.opcode)) PrintRow(op);
    if (asked.contains(op.opcode)) PrintWhy(op);
    const auto falls_back = [](const Support& s) { return s.interpreter && !s.compiled(); };
    interpreted += op.interpreter;
    with_kernels += std::ranges::any_of(op.by_type, &Support::compiled);
    compiled += std::ranges::count_if(op.by_type, &Support::compiled);
    falling_back += std::ranges::count_if(op.by_type, falls_back);
    fall_back += std::ranges::any_of(op.by_type, falls_back) || (op.by_type.empty() && op.interpreter);
  }
  std::printf("%s\n", Str(interpreted, " of ", coverage.size(), " opcodes run in the interpreter, ", with_kernels,
                          " are compiled, ", fall_back, " fall back; of the pairs of opcode and type, ", compiled,
                          " are compiled, ", falling_back, " fall back")
                          .c_str());
  return ExitCode::kOk;
}

}  // namespace hlo
