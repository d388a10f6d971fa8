// Pieces of a module as modules of their own.
#ifndef HLO_DRIVER_INSPECT_EXTRACT_H_
#define HLO_DRIVER_INSPECT_EXTRACT_H_

#include <memory>
#include <string_view>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// The one of that name; `%` in front is fine. Errors [F008]: none (with near names), or several.
Result<const Computation*> FindComputation(const Module& module, std::string_view name);
// By its name in the text. In `computation`; when null in the entry, else in the only computation that has one of that
// name.
Result<const Instruction*> FindInstruction(const Module& module, std::string_view name, const Computation* computation);
// What computes output `index`, written {1} or {1,0}: through the tuples at the end of the entry.
Result<const Instruction*> FindOutput(const Module& module, std::string_view index);

// `inst` as the result of a module: what computes its operands comes along up to `height` instructions deep (all of it
// when negative), constants always; what lies deeper becomes a parameter of the same name. The computation's own
// parameters come first, in their order. With `users`, what uses `inst` comes along too and gives the results.
// Control predecessors are left out. Not verified: the half of an asynchronous pair, say, cannot stand alone.
std::unique_ptr<Module> Extract(const Instruction& inst, int64_t height, bool users);
// The computation as the entry of a module.
std::unique_ptr<Module> Extract(const Computation& computation);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_EXTRACT_H_
