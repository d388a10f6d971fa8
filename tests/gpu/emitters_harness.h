// Runs emitted kernels on the host and in the emulator, for tests of the emitters.
#ifndef HLO_TESTS_GPU_EMITTERS_HARNESS_H_
#define HLO_TESTS_GPU_EMITTERS_HARNESS_H_

#include <memory>
#include <string>
#include <vector>

#include "gpu/emitters/emitter.h"
#include "gpu/plan/planner.h"
#include "ir/module.h"

namespace hlo::gpu {

enum class Inputs {
  kIntegers,  // Small integers: sums and products are exact, in any order.
  kReals,     // Uniform in [-2, 2), with a few zeros, infinities and NaN.
  kPlain,     // Uniform in [-2, 2).
  kWide,      // Integers of any bits. Floats as in kPlain.
};

// kHostQuickly compiles with little effort, as for kernels with a negligible share of a run.
enum class On { kHost, kEmulator, kHostQuickly };

// A module whose entry's root is a fusion of everything that the entry of `text` computes.
std::unique_ptr<Module> Fused(const std::string& text, FusionKind kind = FusionKind::kLoop);
std::unique_ptr<Module> Parsed(const std::string& text);

std::vector<Literal> MakeInputs(const Module& module, Inputs inputs, uint64_t seed = 1);

// Kernels according to the plan in the instruction's backend_config, or else according to the planners.
Result<std::vector<EmittedKernel>> Emit(const Instruction& inst, std::string_view mutation = "");

// The value of the entry's root, whose operands are parameters. In the emulator, findings of the sanitizer fail the
// test.
Result<Literal> RunKernels(const Module& module, std::span<const Literal> inputs, On on,
                           std::string_view mutation = "");

// Compares the host at every instruction set level with the interpreter, and the emulator with the host bit by bit, and
// assembles the PTX if ptxas is installed. `ulps` is the largest difference from the interpreter's floats, in units in
// the last place of the result's type. 0 means equal values.
void Check(const Module& module, Inputs inputs = Inputs::kIntegers, double ulps = 0);

}  // namespace hlo::gpu

#endif  // HLO_TESTS_GPU_EMITTERS_HARNESS_H_
