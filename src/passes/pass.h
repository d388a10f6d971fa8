// A pass is a function that may change a module. passes.def lists them, and pipeline.h runs them.
#ifndef HLO_PASSES_PASS_H_
#define HLO_PASSES_PASS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ir/device_description.h"
#include "ir/preserves.h"
#include "passes/options.h"

namespace hlo {

class Module;
struct FusionLog;
struct RuleBook;

struct PassContext {
  const DeviceDescription* device = &DefaultDevice();
  PassOptions options;  // NoPassOptions means the pass's defaults.
  // Rewrites that the pass may still make. Null for no limit.
  int64_t* fuel = nullptr;
  RuleBook* rules = nullptr;     // Null for no limits (rewrite.h).
  FusionLog* fusions = nullptr;  // May be null (fusion/log.h).
  // Receives sentences about the module for the user. May be null.
  std::vector<std::string>* notes = nullptr;
  // A planted fault of this pass (FaultsOf), or "". Only tests of the judging tools set it.
  std::string_view fault;

  template <class Options>
  Options Get() const {
    const Options* given = std::get_if<Options>(&options);
    return given == nullptr ? Options() : *given;
  }

  void Note(std::string text) const {
    if (notes != nullptr) notes->push_back(std::move(text));
  }

  // Returns false if no fuel is left.
  bool ConsumeFuel() const {
    if (fuel == nullptr) return true;
    if (*fuel <= 0) return false;
    --*fuel;
    return true;
  }
};

// Returns whether the module changed. After an error, the module must not be used.
using PassFunction = Result<bool> (*)(Module&, const PassContext&);

std::string_view ToString(Preserves preserves);

struct PassRow {
  std::string_view name;        // As registered in XLA.
  std::string_view class_name;  // XLA's class. FindPass accepts it too.
  PassFunction function;
  Preserves preserves;
  PassOptions (*defaults)();
  std::string_view what;
};

Preserves PreservesOf(const PassRow& pass, const PassOptions& options);

std::span<const PassRow> AllPasses();
// Accepts name or class name, where '-' and '_' are equal. Null if there is none.
const PassRow* FindPass(std::string_view name);
bool SamePassName(std::string_view a, std::string_view b);
// A usage error with the nearest names.
Error UnknownPass(std::string_view name);

// The faults that `--inject=pass:NAME:FAULT` can plant.
std::span<const std::string_view> FaultsOf(std::string_view pass);

}  // namespace hlo

#endif  // HLO_PASSES_PASS_H_
