// while-loop-all-reduce-code-motion: moves sums over devices behind a loop that only adds them up. The loop then adds
// up its own device's terms:
//
//   s = s + all-reduce(x)  =>  p = p + x, from 0, and after the loop s + all-reduce(p)
//
// If each trip writes one row of an array, the all-reduces of the rows become one of the array:
//
//   a = dynamic-update-slice(a, all-reduce(x), i)  =>  a = dynamic-update-slice(a, x, i), and after the loop
//   all-reduce(a)
//
// All devices of a group run the loop equally often, because each trip waits for all of them.
#include <algorithm>

#include "ir/analysis/dynamic_indices.h"
#include "ir/analysis/trip_count.h"
#include "ir/module.h"
#include "passes/collectives/moved_sums.h"
#include "passes/control/loop.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// A sum over devices that each trip adds to a state element, or subtracts from it.
struct Term {
  Instruction* link;  // The addition or subtraction.
  int64_t side;       // Operand number of the term in the link.
  MovedSum sum;
};

std::optional<Term> ReadTerm(Instruction& link, int64_t side, bool with_scatters) {
  auto sum = ReadMovedSum(link.operand(side), Opcode::kAllReduce);
  if (!sum && with_scatters) sum = ReadMovedSum(link.operand(side), Opcode::kReduceScatter);
  if (!sum || sum->combiner() != Opcode::kAdd || sum->type == PrimitiveType::kPred) return std::nullopt;
  return Term{&link, side, *sum};
}

// The read of element i in the body. Null unless it is the loop's only read, with one use.
Instruction* OnceUsed(const Loop& loop, int64_t i) {
  const auto reads = [&](const Instruction* element) { return element->tuple_index() == i; };
  if (std::ranges::count_if(loop.in_body, reads) != 1 || std::ranges::any_of(loop.in_condition, reads)) return nullptr;
  Instruction* const element = *std::ranges::find_if(loop.in_body, reads);
  return element->UseCount() == 1 ? element : nullptr;
}

// The terms that each trip adds to element i, if nothing else in the loop reads it.
std::vector<Term> ReadTerms(const Loop& loop, int64_t i, bool with_scatters) {
  Instruction* sum = OnceUsed(loop, i);
  if (sum == nullptr) return {};
  std::vector<Term> terms;
  while (sum->UseCount() == 1 && sum != &loop.Next(i)) {
    Instruction& link = **sum->users().begin();
    if (!link.Is(Opcode::kAdd) && !(link.Is(Opcode::kSubtract) && &link.operand(0) == sum)) return {};
    if (auto term = ReadTerm(link, &link.operand(0) == sum ? 1 : 0, with_scatters)) terms.push_back(std::move(*term));
    sum = &link;
  }
  return sum->UseCount() == 1 ? terms : std::vector<Term>();
}

Instruction& Zeros(Computation& computation, const Shape& shape) {
  Instruction& zero = computation.AddConstant(Literal::Scalar(shape.type(), 0.0));
  return shape.IsScalar() ? zero : computation.Add(Opcode::kBroadcast, shape, {&zero}, DimensionsAttrs{});
}

// Adds the sum of the term over trips and devices, after the loop.
Instruction* SumAfter(Loop& loop, const Term& term) {
  Computation &caller = loop.loop->computation(), &body = *loop.body;
  Instruction& x = Widened(term.sum);
  Instruction& part = AddInvariantElement(loop, Zeros(caller, x.shape()));
  Instruction& next = body.AddLike(*term.link, Opcode::kAdd, x.shape(), {&part, &x});
  const int64_t element = loop.Size() - 1;
  body.root().SetOperand(element, next);
  return &WithOperand(term.sum, caller.AddGetTupleElement(*loop.loop, element));
}

void MoveBehind(Loop& loop, int64_t i, const std::vector<Term>& terms) {
  Computation& caller = loop.loop->computation();
  std::vector<Instruction*> sums;
  for (const Term& term : terms) {
    sums.push_back(SumAfter(loop, term));
    term.link->ReplaceAllUses(term.link->operand(1 - term.side));
  }
  Instruction* total;
  if (loop.IsInvariant(i)) {
    total = &loop.init->operand(i);
    loop.init->SetOperand(i, Zeros(caller, total->shape()));  // An outer loop can then move the sums, too.
  } else {
    total = &caller.AddGetTupleElement(*loop.loop, i);
  }
  for (size_t t = 0; t < terms.size(); ++t) {
    Instruction& link = *terms[t].link;
    total = &caller.AddLike(link, link.opcode(), link.shape(), {total, sums[t]});
    loop.body->RemoveDeadTree(link);
  }
  for (Instruction* kept = OnceUsed(loop, i);; kept = *kept->users().begin()) {
    kept->SetOrigin(-1);  // In each trip, the sums now lack the moved terms.
    if (kept == &loop.Next(i)) break;
  }
  for (Instruction* element : loop.outside) {
    if (element->tuple_index() == i) element->ReplaceAllUses(*total);
  }
}

// The all-reduce of the row that each trip writes into element i, if the loop writes all rows and reads none.
std::optional<MovedSum> ReadRow(const Loop& loop, int64_t i, int64_t trips, int64_t max_bytes) {
  const Instruction &next = loop.Next(i), *element = OnceUsed(loop, i);
  if (element == nullptr || !next.Is(Opcode::kDynamicUpdateSlice) || next.UseCount() != 1) return std::nullopt;
  const Shape &all = next.shape(), &row = next.operand(1).shape();
  if (&next.operand(0) != element || !HasScalarIndices(next) || all.ByteSize() > max_bytes) return std::nullopt;
  std::optional<int64_t> dimension;
  for (int64_t d = 0; d < row.rank(); ++d) {
    if (row.dim(d) == all.dim(d)) continue;
    if (dimension || row.dim(d) != 1 || all.dim(d) != trips) return std::nullopt;
    dimension = d;
  }
  if (!dimension || !TakesEachOnce(loop, next.operand(2 + *dimension), trips)) return std::nullopt;
  const auto sum = ReadMovedSum(next.operand(1), Opcode::kAllReduce);
  if (!sum || sum->type != sum->x().shape().type()) return std::nullopt;
  // After a broadcast or before a slice, the rows differ in size from the operands of their all-reduces.
  return sum->x().shape().NumElements() == row.NumElements() ? sum : std::nullopt;
}

void MoveRowsBehind(Loop& loop, int64_t i, const MovedSum& sum) {
  Computation& caller = loop.loop->computation();
  Instruction &rows = caller.AddGetTupleElement(*loop.loop, i), &collective = *sum.collective;
  Instruction& all = caller.AddLike(collective, Opcode::kAllReduce, rows.shape(), {&rows}, collective.attributes());
  collective.ReplaceAllUses(sum.x());
  loop.body->Remove(collective);
  loop.Next(i).SetOrigin(-1);
  for (Instruction* move : sum.moves) move->SetOrigin(-1);
  for (Instruction* element : loop.outside) {
    if (element->tuple_index() == i) element->ReplaceAllUses(all);
  }
}

bool Move(Loop& loop, const PassContext& context) {
  const auto options = context.Get<SumMotionOptions>();
  const auto trips = DerivedTripCount(*loop.loop);
  if (trips && *trips < 2) return false;
  bool changed = false;
  for (int64_t i = 0, size = loop.Size(); i < size; ++i) {
    const std::vector<Term> terms = ReadTerms(loop, i, options.reduce_scatter);
    const auto row = trips ? ReadRow(loop, i, *trips, options.max_bytes) : std::nullopt;
    if ((terms.empty() && !row) || !context.ConsumeFuel()) continue;
    if (row) MoveRowsBehind(loop, i, *row);
    else MoveBehind(loop, i, terms);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> MoveLoopSums(Module& module, const PassContext& context) { return ForEachOwnLoop(module, context, Move); }

}  // namespace hlo
