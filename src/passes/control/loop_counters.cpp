// Replaces counters of a loop that move together by one. If c starts at c0 with step s, and j at j0 with step q * s,
// then after t trips j = j0 + t * q * s = q * c + (j0 - q * c0), also modulo the size of the type.
#include <cstdlib>
#include <optional>

#include "ir/analysis/trip_count.h"
#include "ir/module.h"
#include "passes/control/loop.h"
#include "passes/pass.h"

namespace hlo {
namespace {

struct Counter {
  int64_t element;
  Induction induction;
};

bool IsRead(const Instruction& element) { return !element.removed() && !element.IsDead(); }

// Whether `element` or its next value has another use than in the element's next state.
bool HasReader(const Loop& loop, const Instruction& element) {
  if (!IsRead(element)) return false;
  const Instruction& next = loop.Next(element.tuple_index());
  return element.users().size() > 1 || element.users().front() != &next || next.UseCount() > 1;
}

class Counters {
 public:
  explicit Counters(const Loop& loop) : loop_(loop), in_condition_(loop.Size(), false) {
    for (const Instruction* element : loop.in_condition) {
      if (IsRead(*element)) in_condition_[element->tuple_index()] = true;
    }
    for (int64_t i = 0; i < loop.Size(); ++i) {
      const Shape& shape = loop.init->operand(i).shape();
      if (!shape.IsScalar() || !IsInteger(shape.type()) || BitWidth(shape.type()) < 8) continue;
      if (const auto induction = InductionOf(*loop.loop, i); induction && induction->step != 0)
        counters_.push_back({i, *induction});
    }
  }

  bool Merge(const PassContext& context) {
    if (counters_.size() < 2) return false;
    // Indexed by state element. `bases` has the counter that replaces each counter, or null.
    std::vector<const Counter*> counters(loop_.Size()), bases(loop_.Size());
    for (const Counter& counter : counters_) {
      counters[counter.element] = &counter;
      bases[counter.element] = BaseOf(counter);
    }
    bool changed = false;
    for (const auto* elements : {&loop_.in_body, &loop_.outside}) {
      for (Instruction* element : *elements) {
        const Counter* const base = bases[element->tuple_index()];
        const bool read = elements == &loop_.in_body ? HasReader(loop_, *element) : IsRead(*element);
        if (base == nullptr || !read || !context.ConsumeFuel()) continue;
        element->ReplaceAllUses(ValueOf(*element, counters[element->tuple_index()]->induction, *base));
        changed = true;
      }
    }
    return changed;
  }

 private:
  static uint64_t Distance(int64_t step) {
    return step < 0 ? -static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  }

  bool IsBetter(const Counter& a, const Counter& b) const {
    if (in_condition_[a.element] != in_condition_[b.element]) return in_condition_[a.element];
    return Distance(a.induction.step) < Distance(b.induction.step);
  }

  const Counter* BaseOf(const Counter& counter) const {
    if (in_condition_[counter.element]) return nullptr;
    const Counter* base = &counter;
    for (const Counter& other : counters_) {
      if (TypeOf(other) != TypeOf(counter) || Distance(counter.induction.step) % Distance(other.induction.step) != 0)
        continue;
      if (IsBetter(other, *base) || (!IsBetter(*base, other) && other.element < base->element)) base = &other;
    }
    return base == &counter ? nullptr : base;
  }
  PrimitiveType TypeOf(const Counter& counter) const { return loop_.init->operand(counter.element).shape().type(); }

  // q * base + (j0 - q * c0)
  static Instruction& ValueOf(Instruction& element, const Induction& counter, const Counter& base) {
    Computation& computation = element.computation();
    const PrimitiveType type = element.shape().type();
    const auto factor = static_cast<int64_t>(static_cast<__int128>(counter.step) / base.induction.step);
    const uint64_t first = static_cast<uint64_t>(counter.first) -
                           static_cast<uint64_t>(factor) * static_cast<uint64_t>(base.induction.first);
    Instruction* value = &computation.AddGetTupleElement(element.operand(0), base.element);
    const auto apply = [&](Opcode opcode, int64_t constant) {
      Instruction& other = computation.AddConstant(Literal::Scalar(type, constant));
      value = &computation.Add(opcode, element.shape(), {value, &other});
    };
    if (factor != 1) apply(Opcode::kMultiply, factor);
    if (first != 0) apply(Opcode::kAdd, static_cast<int64_t>(first));
    return *value;
  }

  const Loop& loop_;
  std::vector<bool> in_condition_;  // Indexed by state element.
  std::vector<Counter> counters_;
};

}  // namespace

bool MergeCounters(const Loop& loop, const PassContext& context) { return Counters(loop).Merge(context); }

}  // namespace hlo
