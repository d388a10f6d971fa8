// Faults of single instructions, to test whether comparisons find them. Only for tests and --inject.
#ifndef HLO_IR_MUTATION_H_
#define HLO_IR_MUTATION_H_

#include <optional>
#include <span>
#include <string_view>

#include "ir/instruction.h"

namespace hlo {

struct Mutation {
  std::string_view name;
  // Never changes the shape. Returns false, and changes nothing, if the mutation does not apply.
  bool (*apply)(Instruction& inst);
};

std::span<const Mutation> Mutations();
const Mutation* FindMutation(std::string_view name);

// Mutates the first instruction that fits, among those that the root or a side effect depends on. Returns it, or null.
Instruction* Plant(const Mutation& mutation, Computation& computation);
Instruction* Plant(const Mutation& mutation, Module& module);

// Restores operands and attributes of `inst` at the end of the scope.
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
