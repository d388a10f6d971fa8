// A pass is a function that may change a module. passes.def lists the passes, and pipeline.h runs them.
#ifndef HLO_PASSES_PASS_H_
#define HLO_PASSES_PASS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ir/device_description.h"
#include "passes/options.h"

namespace hlo {

class Module;
struct FusionLog;
struct RuleBook;

struct PassContext {
  const DeviceDescription* device = &DefaultDevice();
  PassOptions options;  // The options of the pass, or none for its defaults.
  // The number of rewrites that the pass may still make; null for no limit. Used for bisection within a pass.
  int64_t* fuel = nullptr;
  RuleBook* rules = nullptr;     // Limits and counts of rules (rewrite.h); null for no limits.
  FusionLog* fusions = nullptr;  // The log of fusion passes (fusion/log.h), or null.
  // A planted fault of this pass, such as "drop_add_zero_sign", or "". Only tests of the judging tools set it. FaultsOf
  // lists the faults.
  std::string_view fault;

  template <class Options>
  Options Get() const {
    const Options* given = std::get_if<Options>(&options);
    return given == nullptr ? Options() : *given;
  }

  // Takes one unit of fuel. Returns false if none is left.
  bool ConsumeFuel() const {
    if (fuel == nullptr) return true;
    if (*fuel <= 0) return false;
    --*fuel;
    return true;
  }
};

// Returns whether the module changed. After an error the module must not be used.
using PassFunction = Result<bool> (*)(Module&, const PassContext&);

// The promise of a pass about the values that the module computes.
enum class Preserves : uint8_t {
  kExact,             // The same bits for the same inputs, except payloads of NaNs.
  kReassociates,      // The same real numbers, with sums and products in another order or grouping.
  kChangesPrecision,  // The same real numbers, with other types or fewer roundings in between.
};
std::string_view ToString(Preserves preserves);

struct PassRow {
  std::string_view name;        // The registered name in XLA.
  std::string_view class_name;  // The class name in XLA, also accepted.
  PassFunction function;
  Preserves preserves;
  PassOptions (*defaults)();
  std::string_view what;  // One line.
};

// The promise with these options. `pass.preserves` is the promise with the defaults.
Preserves PreservesOf(const PassRow& pass, const PassOptions& options);

std::span<const PassRow> AllPasses();
// Finds a pass by name or class name. '-' and '_' are equal. Null if there is none.
const PassRow* FindPass(std::string_view name);
bool SamePassName(std::string_view a, std::string_view b);
// A usage error that names the nearest passes.
Error UnknownPass(std::string_view name);

// The planted faults of a pass, for `--inject=pass:NAME:FAULT`.
std::span<const std::string_view> FaultsOf(std::string_view pass);

}  // namespace hlo

#endif  // HLO_PASSES_PASS_H_
