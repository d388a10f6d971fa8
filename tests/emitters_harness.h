// Runs emitted kernels on the host and in the emulator, for the tests of the emitters.
#ifndef HLO_TESTS_EMITTERS_HARNESS_H_
#define HLO_TESTS_EMITTERS_HARNESS_H_

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
  kWide,      // Integers of any bits; floats as in kPlain.
};

enum class On { kHost, kEmulator, kHostQuickly };  // The last: as kernels that take next to nothing of a run.

// A module whose entry's root is a fusion of all that the entry of `text` computed.
std::unique_ptr<Module> Fused(const std::string& text, FusionKind kind = FusionKind::kLoop);
// As it is written.
std::unique_ptr<Module> Parsed(const std::string& text);

std::vector<Literal> MakeInputs(const Module& module, Inputs inputs, uint64_t seed = 1);

// By the plan that stands on it, or the planners'.
Result<std::vector<EmittedKernel>> Emit(const Instruction& inst, std::string_view mutation = "");

// The value of the entry's root, an instruction on parameters. In the emulator the sanitizer watches; what it finds
// fails the test.
Result<Literal> RunKernels(const Module& module, std::span<const Literal> inputs, On on,
                           std::string_view mutation = "");

// Host at every level of instructions against the interpreter, emulator against host (to the bit), PTX through ptxas
// where there is one. `ulps`: how far floats may be from the interpreter's, in units of the result's type at the
// expected value; 0: equal values.
void Check(const Module& module, Inputs inputs = Inputs::kIntegers, double ulps = 0);

}  // namespace hlo::gpu

#endif  // HLO_TESTS_EMITTERS_HARNESS_H_
