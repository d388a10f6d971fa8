// Runs a step of an executable as a program of its own, on any arguments.
#ifndef HLO_DRIVER_RUN_STEP_ALONE_H_
#define HLO_DRIVER_RUN_STEP_ALONE_H_

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "driver/run/run.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "interp/arguments/arguments.h"
#include "ir/module.h"
#include "judge/compare/compare.h"

namespace hlo {

// Operands become parameters, except constants, which stay.
std::unique_ptr<Module> ExtractStep(const Instruction& step);
void OwnBytes(Literal& literal);
// The copies own their bytes, because later steps may overwrite the inputs.
std::vector<Literal> KeptInputs(std::span<const Literal> inputs);
// The arguments for `alone`, which must come from ExtractStep(step).
std::vector<Literal> ArgumentsOf(const Module& alone, const Instruction& step, std::span<const Literal> inputs);
// Null if the step does not compile alone. Plants the run's fault if it is for this step. Errors: failures of
// the device.
Result<std::unique_ptr<gpu::Executable>> CompileAlone(const Module& step, gpu::Device& device,
                                                      const RunOptions& options);
// Spoils the memory of the results first, so an element that no kernel writes is wrong.
Result<Literal> RunAlone(gpu::Executable& alone, std::span<const Literal> arguments);
// Turns an error into nullopt, because the step cannot run alone, but keeps failures of the device.
template <class T>
Result<std::optional<T>> UnlessOfDevice(Result<T> result) {
  if (result) return std::optional(std::move(*result));
  if (result.error().exit == ExitCode::kDevice) FAIL(std::move(result.error()));
  return std::nullopt;
}

// Made-up arguments that decide open outputs. Two sets have small integers, whose sums and comparisons are exact. One
// has numbers with all digits and no special values, which avoid ties. One has 1 and -1, whose products are exact.
// Seeds differ from the run's.
std::array<ArgumentOptions, 4> DecidingArguments(uint64_t seed);
// Compares on DecidingArguments until each `open` output is decided or one is a mismatch. Returns the last comparison,
// or nullopt if an output stays open. A match decides if at most a tenth of the elements are vacuous, and some expected
// value is neither zero nor infinite nor NaN.
using MadeUpComparison =
    std::function<Result<std::optional<Comparison>>(const ArgumentOptions& made_up, const LocalOptions& local)>;
Result<std::optional<Comparison>> CompareWhereDecided(const LocalOptions& local, std::set<ShapeIndex> open,
                                                      const MadeUpComparison& compare);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_STEP_ALONE_H_
