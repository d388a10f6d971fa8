// A pass is a function from a module to the same module, changed or not. passes.def lists them; pipeline.h runs them.
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
  PassOptions options;  // Those of the pass, or none: then its defaults.
  // Rewrites that the pass may still make; null: as many as it likes. For bisecting inside of a pass.
  int64_t* fuel = nullptr;
  RuleBook* rules = nullptr;     // What rules may do and have done (rewrite.h); null: anything, and nobody counts.
  FusionLog* fusions = nullptr;  // Where passes that fuse write why (fusion/log.h); null: nobody asks.
  // A planted fault of this pass ("drop_add_zero_sign"), or "". Tests of the tools that find wrong passes ask for it;
  // nothing else can. The faults there are stand in FaultsOf.
  std::string_view fault;

  template <class Options>
  Options Get() const {
    const Options* given = std::get_if<Options>(&options);
    return given == nullptr ? Options() : *given;
  }

  // One unit of fuel, if there is any.
  bool ConsumeFuel() const {
    if (fuel == nullptr) return true;
    if (*fuel <= 0) return false;
    --*fuel;
    return true;
  }
};

// True when the module changed. An error leaves the module in no particular state.
using PassFunction = Result<bool> (*)(Module&, const PassContext&);

// What the pass promises of the values that the module computes.
enum class Preserves : uint8_t {
  kExact,             // The same bits from the same inputs (the payload of a NaN excepted).
  kReassociates,      // The same real numbers; sums and products in another order or grouping.
  kChangesPrecision,  // The same real numbers; other types or fewer roundings between.
};
std::string_view ToString(Preserves preserves);

struct PassRow {
  std::string_view name;        // XLA's registered name.
  std::string_view class_name;  // XLA's class, also accepted.
  PassFunction function;
  Preserves preserves;
  PassOptions (*defaults)();
  std::string_view what;  // One line.
};

// With options: `preserves` is what it promises with its defaults.
Preserves PreservesOf(const PassRow& pass, const PassOptions& options);

std::span<const PassRow> AllPasses();
// By name or class name; '-' and '_' are the same. Null when there is none.
const PassRow* FindPass(std::string_view name);
bool SamePassName(std::string_view a, std::string_view b);
// A usage error that names the nearest passes.
Error UnknownPass(std::string_view name);

// The planted faults that a pass knows, for `--inject=pass:NAME:FAULT`.
std::span<const std::string_view> FaultsOf(std::string_view pass);

}  // namespace hlo

#endif  // HLO_PASSES_PASS_H_
