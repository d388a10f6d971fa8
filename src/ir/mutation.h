// Faults in single instructions that a wrong pass or emitter could make, to test whether the comparisons find them.
// Only for tests and --inject.
#ifndef HLO_IR_MUTATION_H_
#define HLO_IR_MUTATION_H_

#include <optional>
#include <span>
#include <string_view>

#include "ir/instruction.h"

namespace hlo {

struct Mutation {
  std::string_view name;
  // Changes `inst` so that it computes another value of the same shape. Returns false, and changes nothing, if the
  // mutation does not apply.
  bool (*apply)(Instruction& inst);
};

std::span<const Mutation> Mutations();
const Mutation* FindMutation(std::string_view name);

// Applies the mutation to the first instruction that it fits, in the computation or in the whole module, and returns
// it. Only considers instructions that the root or a side effect depends on. Returns null if the mutation fits none.
Instruction* Plant(const Mutation& mutation, Computation& computation);
Instruction* Plant(const Mutation& mutation, Module& module);

// Restores the operands and attributes of an instruction at the end of the scope.
class Restored {
 public:
  explicit Restored(Instruction& inst);
  ~Restored();
  Restored(const Restored&) = delete;

 private:
  Instruction& inst_;
  const Operands operands_;
  const Attributes attributes_;
};

}  // namespace hlo

#endif  // HLO_IR_MUTATION_H_
