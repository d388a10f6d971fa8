// multi_output_fusion: kernels that walk the same elements become one with several results.
//
//   producer and consumer   the consumer reads the producer's result at the index at which it was made: one read less
//   siblings                both read the same large value: one read less
//   small ones              of equal dimensions and nothing to do with each other: one launch less
//
// Kernels walk the same elements when the dimensions of what they iterate over are equal (ir/fusion.h, IterationShape)
// and, if both reduce, they reduce the same dimensions. Two kernels may be joined unless one waits for the other by a
// way through a third. Exact.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "passes/fusion/wait_graph.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Kernels without anything in common are joined up to this size: above it a launch is not what they cost.
constexpr int64_t kSmallBytes = 1 << 20;
// Kernels tried in vain for each of those, and for each that reads a value: what is far away mostly waits.
constexpr int kMostTries = 8;

struct Kernel {
  std::vector<Instruction*> parts;  // Fusions that it is made of, producers first. Empty: joined to another.
  Shape iteration;
  std::vector<int64_t> reduced;  // Dimensions; empty when it does not reduce.
  bool reduces = false;
  int64_t instructions = 0;
};

// Does every use of the value within the fused computation read it at the index of the iteration?
bool ReadsAtIteration(const Instruction& value) {
  std::unordered_set<const Instruction*> seen = {&value};
  std::vector<const Instruction*> worklist = {&value};
  while (!worklist.empty()) {
    const Instruction& read = *worklist.back();
    worklist.pop_back();
    for (const Instruction* user : read.users()) {
      if (user->Is(Opcode::kTuple)) continue;
      if (user->Is(Opcode::kReduce)) {
        if (&user->operand(0) != &read) return false;
        continue;
      }
      if (!user->Is(kElementwise) || !SameDims(user->shape(), read.shape())) return false;
      if (seen.insert(user).second) worklist.push_back(user);
    }
  }
  return true;
}

class Joiner {
 public:
  Joiner(Computation& computation, const PassContext& context)
      : computation_(computation),
        options_(context.Get<FusionOptions>()),
        order_(computation.PostOrder()),
        graph_(order_) {
    position_.resize(computation.place_limit());
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]->place()] = i;
  }

  bool Run() {
    FindKernels();
    if (kernels_.size() < 2) return false;
    JoinConsumers();
    JoinSiblings();
    JoinSmall();
    bool changed = false;
    for (Kernel& kernel : kernels_) {
      if (kernel.parts.size() < 2) continue;
      Emit(kernel);
      changed = true;
    }
    return changed;
  }

 private:
  // By place. What nothing needs is left to dce, and no kernel is joined to it.
  std::vector<bool> Needed() const {
    std::vector<bool> needed(position_.size(), false);
    needed[computation_.root().place()] = true;
    for (size_t i = order_.size(); i-- > 0;) {
      const Instruction& inst = *order_[i];
      if (!needed[inst.place()] && !HasSideEffect(inst)) continue;
      needed[inst.place()] = true;
      for (const Instruction* operand : inst.operands()) needed[operand->place()] = true;
      for (const Instruction* before : inst.control_predecessors()) needed[before->place()] = true;
    }
    return needed;
  }

  void FindKernels() {
    number_.assign(position_.size(), -1);
    const std::vector<bool> needed = Needed();
    for (Instruction* inst : order_) {
      if (!needed[inst->place()]) continue;
      // One of several results comes with the others.
      if (inst->Is(Opcode::kGetTupleElement) && KernelOf(*inst) >= 0) graph_.Join(inst->operand(0), *inst);
      if (!IsKernel(*inst) || !MayJoin(*inst)) continue;
      Kernel kernel{
          {inst}, IterationShape(*inst).WithDefaultLayout(), {}, false, FusedComputation(*inst).InstructionCount()};
      const Instruction& hero = FusionHero(*inst);
      kernel.reduces = hero.Is(Opcode::kReduce);
      if (kernel.reduces) kernel.reduced = hero.attrs<ReduceAttrs>().dimensions;
      number_[inst->place()] = static_cast<int>(kernels_.size());
      kernels_.push_back(std::move(kernel));
    }
  }

  static bool MayJoin(const Instruction& fusion) {
    if (!fusion.control_predecessors().empty() || !fusion.attrs<FusionAttrs>().aliases.empty()) return false;
    const std::vector<const Instruction*> roots = FusionRoots(fusion);
    if (roots.empty()) return false;  // An empty tuple walks nothing.
    for (size_t i = 0; i < roots.size(); ++i) {
      if (!roots[i]->shape().IsArray()) return false;
      const Hero hero = HeroOf(*roots[i]);
      if (hero == Hero::kUpdateSlice) {
        if (CanUpdateInPlace(fusion, static_cast<int64_t>(i))) return false;
        continue;
      }
      if (hero != Hero::kLoop && hero != Hero::kReduce) return false;
    }
    return true;
  }

  int KernelOf(const Instruction& inst) const {
    // A result of several is read through get-tuple-element.
    const Instruction& value = inst.Is(Opcode::kGetTupleElement) ? inst.operand(0) : inst;
    return number_[value.place()];
  }

  bool WaitsFor(const Kernel& kernel, const Kernel& other) {
    return graph_.WaitsFor(*kernel.parts.front(), *other.parts.front());
  }

  bool SameWalk(const Kernel& a, const Kernel& b) const {
    if (!SameDims(a.iteration, b.iteration)) return false;
    return !a.reduces || !b.reduces || a.reduced == b.reduced;
  }

  bool FitsLimits(const Kernel& a, const Kernel& b) const {
    if (a.instructions + b.instructions > options_.instructions) return false;
    std::vector<const Instruction*> values;
    int64_t results = 0;
    for (const Kernel* kernel : {&a, &b}) {
      for (const Instruction* part : kernel->parts) {
        values.insert(values.end(), part->operands().begin(), part->operands().end());
        results += part->shape().LeafCount();
      }
    }
    std::sort(values.begin(), values.end());
    const int64_t operands = std::unique(values.begin(), values.end()) - values.begin();
    return operands + results <= options_.parameters;
  }

  // `b` joins `a`. Whoever waits for one of them waits for both from here on.
  void Join(int a, int b) {
    Kernel &into = kernels_[a], &from = kernels_[b];
    graph_.Join(*into.parts.front(), *from.parts.front());
    for (Instruction* part : from.parts) {
      number_[part->place()] = a;
      into.parts.push_back(part);
    }
    into.instructions += from.instructions;
    if (from.reduces) {
      into.reduces = true;
      into.reduced = from.reduced;
    }
    from.parts.clear();
  }

  void JoinConsumers() {
    for (Instruction* consumer : order_) {
      if (number_[consumer->place()] < 0) continue;
      for (int64_t i = 0; i < consumer->operand_count(); ++i) {
        const int a = KernelOf(consumer->operand(i)), b = number_[consumer->place()];
        if (a < 0 || a == b || kernels_[b].parts.size() != 1) continue;
        if (MayReadInside(*consumer, a, b)) Join(a, b);
      }
    }
  }

  bool MayReadInside(const Instruction& consumer, int a, int b) {
    const Kernel &producer = kernels_[a], &kernel = kernels_[b];
    if (producer.reduces && !kernel.reduces)
      return false;  // Nothing is known of a reduce's result before the walk ends.
    if (!SameWalk(producer, kernel) || !FitsLimits(producer, kernel) || WaitsFor(producer, kernel)) return false;
    const Computation& fused = FusedComputation(consumer);
    for (int64_t i = 0; i < consumer.operand_count(); ++i) {
      const Instruction& value = consumer.operand(i);
      if (KernelOf(value) != a) {
        if (graph_.WaitsFor(value, *producer.parts.front())) return false;  // The way through a third.
        continue;
      }
      // Not a reduced value, and read at its own index.
      if (!SameDims(value.shape(), kernel.iteration) || !ReadsAtIteration(fused.parameter(i))) return false;
      if (producer.reduces && producer.iteration.NumElements() == value.shape().NumElements() && IsReduced(value))
        return false;
    }
    return true;
  }

  // Is the value (a result of a kernel that reduces) made after the walk?
  static bool IsReduced(const Instruction& value) {
    const bool element = value.Is(Opcode::kGetTupleElement);
    const Instruction& fusion = element ? value.operand(0) : value;
    return HeroOf(*FusionRoots(fusion)[element ? value.tuple_index() : 0]) == Hero::kReduce;
  }

  bool TryJoin(int a, int b) {
    if (a == b || kernels_[a].parts.empty() || kernels_[b].parts.empty()) return false;
    if (!SameWalk(kernels_[a], kernels_[b]) || !FitsLimits(kernels_[a], kernels_[b])) return false;
    if (WaitsFor(kernels_[a], kernels_[b]) || WaitsFor(kernels_[b], kernels_[a])) return false;
    Join(a, b);
    return true;
  }

  void JoinSiblings() {
    std::vector<const Instruction*> read(kernels_.size());  // By kernel: the value that it was last found to read.
    for (Instruction* value : order_) {
      if (!value->shape().IsArray() || value->users().size() < 2) continue;
      std::vector<int> readers;
      for (const Instruction* user : value->users()) {
        const int reader = number_[user->place()];
        if (reader < 0 || !SameDims(kernels_[reader].iteration, value->shape())) continue;
        if (std::exchange(read[reader], value) != value) readers.push_back(reader);
      }
      for (size_t i = 0; i < readers.size(); ++i) {
        int tries = kernels_[readers[i]].parts.empty() ? 0 : kMostTries;
        for (size_t k = i + 1; k < readers.size() && tries > 0; ++k) {
          if (!kernels_[readers[k]].parts.empty() && !TryJoin(readers[i], readers[k])) --tries;
        }
      }
    }
  }

  void JoinSmall() {
    std::map<std::vector<int64_t>, std::vector<int>> open;
    for (Instruction* inst : order_) {
      const int kernel = number_[inst->place()];
      if (kernel < 0 || kernels_[kernel].parts.empty() || kernels_[kernel].parts.front() != inst) continue;
      if (kernels_[kernel].reduces || inst->shape().ByteSize() > kSmallBytes) continue;
      std::vector<int>& same = open[kernels_[kernel].iteration.dims()];
      bool joined = false;
      for (size_t i = same.size(), tries = 0; i-- > 0 && tries < kMostTries && !joined; ++tries)
        joined = TryJoin(same[i], kernel);
      if (!joined) same.push_back(kernel);
    }
  }

  // One fusion from the parts: their computations one after the other, with a value that one part makes for another
  // taken directly.
  void Emit(Kernel& kernel) {
    std::vector<Instruction*> parts = kernel.parts;
    std::ranges::sort(parts, {}, [&](const Instruction* part) { return position_[part->place()]; });
    const std::string name = kernel.reduces ? "input_multi" : "loop_multi";
    Computation& fused = computation_.module().AddComputation(Str("fused_", name));
    std::vector<Instruction*> operands;
    std::unordered_map<const Instruction*, Instruction*> inside;  // Value outside -> parameter or copy inside.
    std::vector<std::pair<Instruction*, Instruction*>> results;   // Value outside -> copy inside.
    const auto value_of = [&](Instruction& outside) {
      if (const auto found = inside.find(&outside); found != inside.end()) return found->second;
      Instruction& parameter = fused.AddParameter(static_cast<int64_t>(operands.size()), outside.shape());
      operands.push_back(&outside);
      return inside[&outside] = &parameter;
    };
    for (Instruction* part : parts) {
      std::unordered_map<const Instruction*, Instruction*> copies;
      const Computation& from = FusedComputation(*part);
      for (const Instruction* inst : from.PostOrder()) {
        if (inst->Is(Opcode::kParameter)) {
          copies[inst] = value_of(part->operand(inst->parameter_number()));
          continue;
        }
        if (inst == &from.root() && inst->Is(Opcode::kTuple)) continue;
        std::vector<Instruction*> inner;
        for (const Instruction* operand : inst->operands()) inner.push_back(copies.at(operand));
        copies[inst] = &fused.AddClone(*inst, inner);
      }
      const std::vector<const Instruction*> roots = FusionRoots(*part);
      if (!from.root().Is(Opcode::kTuple)) {
        inside[part] = copies.at(roots.front());
        results.emplace_back(part, inside[part]);
        continue;
      }
      const std::vector<Instruction*> users(part->users().begin(), part->users().end());
      for (Instruction* element : users) {
        inside[element] = copies.at(roots[element->tuple_index()]);
        results.emplace_back(element, inside[element]);
      }
    }
    // What only the parts themselves read is no result.
    std::erase_if(results, [&](const auto& result) { return !IsReadOutside(*result.first, parts); });
    std::vector<Instruction*> values;
    for (const auto& [outside, copy] : results) values.push_back(copy);
    Instruction& root = values.size() == 1 ? *values.front() : fused.AddTuple(values);
    fused.SetRoot(root);
    Instruction& fusion =
        computation_.Add(Opcode::kFusion, root.shape(), operands,
                         FusionAttrs{.kind = kernel.reduces ? FusionKind::kInput : FusionKind::kLoop, .calls = &fused},
                         Str(name, "_fusion"));
    fusion.SetRange(parts.front()->range());
    for (size_t i = 0; i < results.size(); ++i) {
      Instruction& value =
          values.size() == 1 ? fusion : computation_.AddGetTupleElement(fusion, static_cast<int64_t>(i));
      value.SetOrigin(results[i].first->origin());
      results[i].first->ReplaceAllUses(value);
    }
  }

  static bool IsReadOutside(const Instruction& value, const std::vector<Instruction*>& parts) {
    if (value.IsRoot()) return true;
    return std::any_of(value.users().begin(), value.users().end(),
                       [&](Instruction* user) { return std::find(parts.begin(), parts.end(), user) == parts.end(); });
  }

  Computation& computation_;
  const FusionOptions options_;
  std::vector<Instruction*> order_;
  WaitGraph graph_;
  std::vector<size_t> position_;  // In order_, by place.
  std::vector<Kernel> kernels_;
  std::vector<int> number_;  // Of the kernel, by place; -1: none.
};

}  // namespace

Result<bool> JoinKernels(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) changed |= Joiner(*computation, context).Run();
  return changed;
}

}  // namespace hlo
