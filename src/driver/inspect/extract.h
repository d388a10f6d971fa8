// Extracts parts of a module as modules.
#ifndef HLO_DRIVER_INSPECT_EXTRACT_H_
#define HLO_DRIVER_INSPECT_EXTRACT_H_

#include <memory>
#include <string_view>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// `name` may begin with `%`. Errors: F008 if there is none.
Result<const Computation*> FindComputation(const Module& module, std::string_view name);
// The name of an instruction of a parsed text. Instruction::name() differs if another computation has an instruction of
// the same name.
std::string_view NameInText(const Instruction& inst);
// Finds an instruction by its name in the text. If `computation` is null, looks in the entry, and then for a unique
// match in the other computations. Errors: F008.
Result<const Instruction*> FindInstruction(const Module& module, std::string_view name, const Computation* computation);
// Finds the instruction that computes output `index`, written {1} or {1,0}. Looks through the tuples at the end of the
// entry.
Result<const Instruction*> FindOutput(const Module& module, std::string_view index);

// Makes a module that computes `inst` from the instructions within a distance of `height` (all if negative). Deeper
// instructions become parameters with their names, after the computation's own parameters. Constants stay. With
// `users`, the results are the users of `inst`, if any. Control predecessors are omitted. The result may be invalid,
// for example half of an asynchronous pair.
std::unique_ptr<Module> Extract(const Instruction& inst, int64_t height, bool users);
std::unique_ptr<Module> Extract(const Computation& computation);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_EXTRACT_H_
