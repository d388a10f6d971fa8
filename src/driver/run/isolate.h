// --isolate: each kernel and library call of a program, or each instruction of the module that was read, compiled and
// run alone, so that nothing that another one did can hide what it does, or be taken for it.
//
// Kernel: a step of the compiled program as it is; no passes run over it. Instruction: of the input, through the passes
// as a module of one instruction, so that a pass that is wrong by itself shows, too. What is fused, or called by a
// reduce and its like, stays with the one that has it.
//
// Each is an experiment, judged as any run is (run_check.h): by its kernels, and by the passes where some ran.
#ifndef HLO_DRIVER_RUN_ISOLATE_H_
#define HLO_DRIVER_RUN_ISOLATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/pattern.h"
#include "driver/progress.h"
#include "driver/run/run.h"

namespace hlo {

// What each is given: what the interpreter makes of the program up to there, the first time that it gets there; what
// the run itself made, with all that may be wrong in it; or what --input_profile makes up for it.
enum class IsolateInputs : uint8_t { kGolden, kActual, kRandom };

struct IsolateOptions {
  bool instructions = false;  // Instead of kernels.
  IsolateInputs inputs = IsolateInputs::kGolden;
  // Which of them: those of which the pattern finds some part, or not. Opcodes of a kernel are those of all that it
  // has.
  std::optional<Pattern> filter_by_name, skip_by_name, filter_by_opcode, skip_by_opcode;
};

enum class IsolatedState : uint8_t {
  kWrong,
  kUndecided,   // It ran, and its bounds leave too much open.
  kNotRun,      // It does not compile or run alone.
  kNotReached,  // Nothing was read: no loop or branch came to it.
  kRight,
  kInterpreted,  // By the interpreter, which is the reference.
  kNothing,      // Alone there is nothing to compute: the passes leave a view, or a constant.
};

struct IsolatedPart {
  int64_t number = 0;  // In the order of the program, from 1.
  std::string name, kind, shape, source;
  IsolatedState state = IsolatedState::kNotReached;
  std::string why;   // Of what is undecided or was not run.
  RunReport report;  // Of it alone.
};

struct Isolation {
  std::string path, module_name, inputs, platform, device;
  bool instructions = false;
  std::vector<IsolatedPart> parts;
  int64_t left_out = 0;  // By the patterns.
  std::string planted;   // The fault, and in how many parts it is.
  int64_t planted_parts = 0;
  std::vector<std::string> notes;

  int64_t Count(IsolatedState state) const;
  // Whether something is wrong; nothing is, but not all was decided; or all is right.
  Verdict verdict() const;
};

// Errors: those of making the arguments, of the passes over the whole and of compiling it; [F008] where the patterns
// leave nothing. What one part comes to is in its row.
Result<Isolation> Isolate(const std::string& path, const RunOptions& run, const IsolateOptions& options,
                          Progress& progress);

// The bad ones first, and of the first of these what is wrong in them; and the same as JSON ("hlo.isolate/1").
std::string IsolationText(const Isolation& isolation);
std::string IsolationJson(const Isolation& isolation);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_ISOLATE_H_
