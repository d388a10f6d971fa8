#include "base/files.h"
#include "base/text.h"
#include "driver/inspect/extract.h"
#include "tools/inspect.h"
#include "tools/module_flags.h"

namespace hlo {
namespace {

struct OutputFlags {
  std::string path = "-";
  PrintFlags print;
};

void AddOutputFlags(FlagSet& flags, OutputFlags* output) {
  flags.Group("Output");
  flags.String("o", &output->path, "FILE", "file for the module; -: stdout");
  AddPrintFlags(flags, &output->print);
}

// Errors: kUnsupported if the piece is not valid without other instructions.
Status WritePiece(const Module& piece, const OutputFlags& output) {
  if (const Status verified = Verify(piece, VerifyLevel::kDefault); !verified) {
    Error error = verified.error();
    error.exit = ExitCode::kUnsupported;
    FAIL(std::move(error).Hint(
        "this piece is not a module by itself; --height=N or -1 adds more of the instructions that it needs"));
  }
  return WriteFile(output.path, TRY(PrintAs(piece, output.print)));
}

}  // namespace

Result<ExitCode> InspectExtract(Args args) {
  LoadOptions load{.text_only = true};
  OutputFlags output;
  std::string instruction, computation;
  int64_t height = 0;
  bool users = false, fusion_as_entry = false;
  FlagSet flags(
      "hlo-inspect extract", "[flags] MODULE",
      "Prints one instruction with the producers of its operands, or one computation, as a valid module. Values from "
      "outside become parameters of the same name.",
      {"hlo-inspect extract --instruction=dot.7 --height=2 model.hlo",
       "hlo-inspect extract --instruction=fusion.3 model.hlo | hlo-run -",
       "hlo-inspect extract --computation=fused_computation.3 model.hlo"});
  flags.String("instruction", &instruction, "NAME", "instruction that becomes the result");
  flags.Int("height", &height, "number of levels of producers that are included; 0: none; -1: all", -1);
  flags.Bool("users", &users, "include the users of the instruction, which become the results");
  flags.Bool("fusion_as_entry", &fusion_as_entry, "extract the computation inside this fusion");
  flags.String("computation", &computation, "NAME", "computation that becomes the entry, or that holds --instruction");
  AddOutputFlags(flags, &output);
  const auto module = TRY(InspectedModule(flags, args, &load));
  if (module == nullptr) return ExitCode::kOk;
  if (instruction.empty() && computation.empty())
    FAIL(UsageError("F002", "--instruction or --computation is missing")
             .Hint("--instruction=NAME or --computation=NAME selects what to extract"));
  const Computation* place = computation.empty() ? nullptr : TRY(FindComputation(*module, computation));
  if (instruction.empty()) {
    TRY(WritePiece(*Extract(*place), output));
    return ExitCode::kOk;
  }
  const Instruction& inst = *TRY(FindInstruction(*module, instruction, place));
  if (!fusion_as_entry) {
    TRY(WritePiece(*Extract(inst, height, users), output));
    return ExitCode::kOk;
  }
  if (!inst.Is(Opcode::kFusion))
    FAIL(UsageError("F004", Str("--fusion_as_entry: '", inst.name(), "' is not a fusion but '", inst.opcode(), "'")));
  TRY(WritePiece(*Extract(*inst.attrs<FusionAttrs>().calls), output));
  return ExitCode::kOk;
}

Result<ExitCode> InspectSlice(Args args) {
  LoadOptions load{.text_only = true};
  OutputFlags output;
  std::string to;
  FlagSet flags("hlo-inspect slice", "--to=NAME [flags] MODULE",
                "Prints the part of a module that one result needs: the instruction or output, all instructions that "
                "it depends on, and the parameters.",
                {"hlo-inspect slice --to={1} model.hlo", "hlo-inspect slice --to=dot.7 --hlo_print=short model.hlo"});
  flags.String("to", &to, "NAME", "an instruction of the entry, or an output: {0}, {1,0}");
  AddOutputFlags(flags, &output);
  const auto module = TRY(InspectedModule(flags, args, &load));
  if (module == nullptr) return ExitCode::kOk;
  if (to.empty()) FAIL(UsageError("F002", "--to is missing").Hint("--to=NAME, or --to={0} for an output"));
  const Instruction* inst =
      to.starts_with('{') ? TRY(FindOutput(*module, to)) : TRY(FindInstruction(*module, to, &module->entry()));
  TRY(WritePiece(*Extract(*inst, -1, false), output));
  return ExitCode::kOk;
}

}  // namespace hlo
