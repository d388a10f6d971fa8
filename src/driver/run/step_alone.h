// A step of an executable as a program of its own, to be run on other arguments than the program has for it.
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
#include "interp/compare/compare.h"
#include "ir/module.h"

namespace hlo {

// Parameters for the step's operands, constants as they are.
std::unique_ptr<Module> ExtractStep(const Instruction& step);
// Nobody shares the bytes of its arrays from here on.
void OwnBytes(Literal& literal);
// What a step read, with bytes of its own: the next step may write over the others.
std::vector<Literal> KeptInputs(std::span<const Literal> inputs);
// The arguments of `alone`, which ExtractStep made of `step`, where the step read `inputs`.
std::vector<Literal> ArgumentsOf(const Module& alone, const Instruction& step, std::span<const Literal> inputs);
// Null where it does not compile alone. A fault to be planted is planted in it too, if it is meant for it. Errors of
// the device are passed on.
Result<std::unique_ptr<gpu::Executable>> CompileAlone(const Module& step, gpu::Device& device,
                                                      const RunOptions& options);
// The result, for which the memory of the results is spoiled first: an element that no kernel writes is wrong.
Result<Literal> RunAlone(gpu::Executable& alone, std::span<const Literal> arguments);
// Nothing where a step could not be run alone; but an error of the device is one of the run.
template <class T>
Result<std::optional<T>> UnlessOfDevice(Result<T> result) {
  if (result) return std::optional(std::move(*result));
  if (result.error().exit == ExitCode::kDevice) FAIL(std::move(result.error()));
  return std::nullopt;
}

// Made-up arguments, in the order to try them, for what its own leave open: small integers, whose sums and comparisons
// are exact and which hold no NaN, then others, then numbers of all digits without any special value, for what integers
// tie, then 1 and -1, whose products are. Seeds are others than that of the run, whose own arguments may have been of
// the same profile.
std::array<ArgumentOptions, 4> DecidingArguments(uint64_t seed);
// Compares on such arguments until each of the `open` outputs is decided, and returns the last comparison; nothing if
// some output stays open. A mismatch of any output ends it. A match decides an output if the bounds of at most a tenth
// of the elements say nothing, and if some right value is neither zero nor infinite nor NaN.
using MadeUpComparison =
    std::function<Result<std::optional<Comparison>>(const ArgumentOptions& made_up, const LocalOptions& local)>;
Result<std::optional<Comparison>> CompareWhereDecided(const LocalOptions& local, std::set<ShapeIndex> open,
                                                      const MadeUpComparison& compare);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_STEP_ALONE_H_
