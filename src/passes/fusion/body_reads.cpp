#include "passes/fusion/body_reads.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/analysis/running_fold.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Key: an instruction that reads the value at another index than its own, or null for the roots. Value: number of
// evaluations.
using Readers = std::map<const Instruction*, double>;

}  // namespace

double Elements(const Instruction& inst) {
  return inst.shape().IsArray() ? static_cast<double>(inst.shape().NumElements()) : 1;
}

bool KeepsIndex(const Instruction& user, const Instruction& operand) {
  if (user.Is(kView)) return true;
  return user.Is(kElementwise) && user.shape().IsArray() && SameDims(user.shape(), operand.shape());
}

double EvaluationsFor(const Instruction& inst, const Instruction& user, double of_user) {
  if (user.Is(Opcode::kReduce) || RunningFoldOf(user)) return Elements(inst);
  if (KeepsIndex(user, inst)) return of_user;
  if (inst.shape().IsScalar()) return 1;  // Each thread computes it at most once.
  // Each operand is needed only for its share of the result.
  if (user.Is(Opcode::kConcatenate) || user.Is(Opcode::kPad) || user.Is(Opcode::kDynamicUpdateSlice))
    return of_user * Elements(inst) / std::max(1.0, Elements(user));
  return of_user;
}

std::vector<BodyRead> BodyReads(const Instruction& fusion) {
  const Computation& body = FusedComputation(fusion);
  const Instruction& root = body.root();
  std::unordered_map<const Instruction*, Readers> readers_of;
  std::unordered_map<const Instruction*, BodyRead> reads;
  const std::vector<Instruction*> order = body.PostOrder();
  for (size_t i = order.size(); i-- > 0;) {
    const Instruction& inst = *order[i];
    Readers& readers = readers_of[&inst];
    if (&inst == &root) readers[nullptr] = Elements(inst);
    for (const Instruction* user : inst.users()) {
      if (user == &root && user->Is(Opcode::kTuple)) {
        readers[nullptr] = Elements(inst);
      } else if (KeepsIndex(*user, inst)) {
        readers.insert(readers_of[user].begin(), readers_of[user].end());
      } else {
        readers[user] = EvaluationsFor(inst, *user, reads[user].evaluations);
      }
    }
    BodyRead& read = reads[&inst];
    for (const auto& [reader, evaluations] : readers) {
      read.evaluations += evaluations;
      read.copies += reader == nullptr ? 1 : reads[reader].copies;
    }
    read.copies = std::min<int64_t>(read.copies, 1 << 20);  // Each step of a prefix sum doubles it.
  }
  std::vector<BodyRead> by_operand;
  for (const Instruction* parameter : body.parameters()) by_operand.push_back(reads[parameter]);
  return by_operand;
}

}  // namespace hlo
