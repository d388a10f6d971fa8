// Faults planted in single instructions, as a wrong pass or emitter would make them, to see whether the comparisons
// find them. Tests and --inject only.
#ifndef HLO_IR_MUTATION_H_
#define HLO_IR_MUTATION_H_

#include <optional>
#include <span>
#include <string_view>

#include "ir/instruction.h"

namespace hlo {

struct Mutation {
  std::string_view name;
  // Makes it compute something else of the same shape. False, and nothing done, where the fault does not fit.
  bool (*apply)(Instruction& inst);
};

std::span<const Mutation> Mutations();
const Mutation* FindMutation(std::string_view name);  // Null when there is none.

// The first instruction that the fault fits, of `computation` or of the whole module, has it: of those that something
// comes of, not of what a pass left behind for dce. Null when none does.
Instruction* Plant(const Mutation& mutation, Computation& computation);
Instruction* Plant(const Mutation& mutation, Module& module);

// Gives an instruction its operands and attributes back when it goes.
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
