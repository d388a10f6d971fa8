#include "gpu/plan/block_space.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/plan/in_place.h"
#include "gpu/plan/rows_space.h"
#include "gpu/plan/scalar.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/reducer.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kFewTerms = 16;

bool IsElementOf(const Instruction& inst, const Instruction& tuple, int64_t element) {
  return inst.Is(Opcode::kGetTupleElement) && &inst.operand(0) == &tuple && inst.tuple_index() == element;
}

// Deeper loops take compilers much more time.
constexpr int kMostNested = 8;

bool IsReducedTogether(const Instruction& reduce) {
  const auto simple = AsSimpleReducer(*reduce.attrs<ReduceAttrs>().to_apply);
  return reduce.shape().IsArray() && reduce.shape().NumElements() == 1 && simple &&
         IdentityOf(simple->opcode, reduce.shape().type()) && reduce.operand(0).shape().NumElements() > kFewTerms;
}

class StateReaders {
 public:
  explicit StateReaders(const Computation& body) : state_(body.parameter(0)) {
    for (const Instruction* inst : body.PostOrder()) {
      position_.emplace(inst, std::ssize(position_));
      if (!inst->Is(Opcode::kGetTupleElement) && std::ranges::count(inst->operands(), &state_) > 0) is_whole_ = true;
    }
  }

  bool Reads(const Instruction& value, int64_t element) const {
    return IsElementOf(WithoutNames(value), state_, element);
  }

  // Whether no instruction after `last` reads the element, and neither a tuple nor the root contains it.
  bool IsDoneWith(int64_t element, const Instruction& last) const {
    if (is_whole_) return false;
    std::vector<const Instruction*> names;
    for (const Instruction* user : state_.users()) {
      if (IsElementOf(*user, state_, element)) names.push_back(user);
    }
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i]->IsRoot()) return false;
      for (const Instruction* user : names[i]->users()) {
        if (user->Is(Opcode::kBitcast)) names.push_back(user);
        else if (user->Is(kHandsOn) || position_.at(user) > position_.at(&last)) return false;
      }
    }
    return true;
  }

 private:
  const Instruction& state_;
  std::unordered_map<const Instruction*, int64_t> position_;
  bool is_whole_ = false;  // An instruction uses the whole state.
};

class Finder {
 public:
  explicit Finder(std::optional<RecurrentLoop> recurrent) { space_->recurrent = std::move(recurrent); }

  Status Find(const Computation& computation) {
    TRY(FindParts(computation));
    return ReplanUpdates(computation);
  }

  std::unique_ptr<BlockSpace> Take() { return std::move(space_); }

 private:
  Status FindParts(const Computation& computation) {
    for (const Instruction* inst : computation.PostOrder()) {
      TRY(CheckShape(*inst));
      if (inst->Is(Opcode::kParameter) || inst->Is(Opcode::kConstant) || inst->Is(Opcode::kTuple) ||
          inst->Is(Opcode::kGetTupleElement))
        continue;
      if (inst->Is(Opcode::kBitcast)) TRY(CheckBitcast(*inst));
      else if (inst->Is(Opcode::kWhile)) TRY(FindLoop(*inst));
      else if (ProductOf(*inst) != nullptr) TRY(FindProduct(*inst));
      else if (inst->Is(Opcode::kCopy) || (inst->Is(Opcode::kFusion) && !IsRegion(*inst))) TRY(FindPart(*inst));
      else return NotIn(*inst);
    }
    return {};
  }

  static Status NotIn(const Instruction& inst) {
    FAIL(UnsupportedAt(inst, "U103",
                       Str("one block of threads cannot run '", inst.opcode(), "' of shape ", inst.shape())));
  }

  static Status CheckShape(const Instruction& inst) {
    const Shape& shape = inst.shape();
    const auto fits = [](const Shape& array) {
      return array.IsArray() && !IsComplex(array.type()) && array.HasDefaultLayout() && !array.HasDynamicDims();
    };
    const bool all = shape.IsTuple() ? std::ranges::all_of(shape.elements(), fits) : fits(shape);
    if (!all) return NotIn(inst);
    Status status;
    ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) {
      if (auto type = KernelType(inst, leaf.type()); !type && status) status = std::unexpected(std::move(type).error());
    });
    return status;
  }

  static Status CheckBitcast(const Instruction& inst) {
    if (inst.operand(0).shape().IsArray() && inst.operand(0).shape().type() == inst.shape().type()) return {};
    return NotIn(inst);
  }

  Status FindLoop(const Instruction& loop) {
    if (!loop.shape().IsTuple() || depth_ == kMostNested) return NotIn(loop);
    space_->has_loops = true;
    ++depth_;
    const auto& attrs = loop.attrs<WhileAttrs>();
    TRY(Find(*attrs.condition));
    TRY(FindParts(*attrs.body));
    --depth_;
    const Instruction& next = attrs.body->root();
    const StateReaders readers(*attrs.body);
    for (int64_t element = 0; next.Is(Opcode::kTuple) && element < next.operand_count(); ++element)
      PlaceOnState(next.operand(element), element, readers);
    return ReplanUpdates(*attrs.body);
  }

  Status FindPart(const Instruction& inst) {
    if (space_->parts.contains(&inst)) return {};
    auto part = std::make_unique<BlockPart>(inst);
    if (part->body.HasComplex() || !StitchedReduces(part->body).empty()) return NotIn(inst);
    std::vector<const Instruction*> heroes;
    for (const Instruction* each : part->body.instructions()) {
      if (each->Is(Opcode::kReduce)) heroes.push_back(each);
    }
    if (!heroes.empty() && std::ranges::all_of(heroes, [](const auto* hero) { return IsReducedTogether(*hero); })) {
      std::string why_not;
      part->reduction = TRY(ReductionSpaceOf(part->body, heroes, &why_not));
    }
    if (part->reduction == nullptr) {
      for (const auto& space : TRY(LoopSpacesOf(part->body, AllRoots(part->body)))) {
        LoopRequest request{.in_place = space->outputs[0].in_place_leaf >= 0};
        for (const auto& output : space->outputs) request.roots.push_back(output.root);
        part->loops.push_back(TRY(LoopSpaceOf(part->body, request, /*flat=*/true)));
        space_->most_elements = std::max(space_->most_elements, part->loops.back()->Size());
      }
    } else {
      space_->most_elements = std::max(space_->most_elements, part->reduction->Size());
    }
    space_->parts.emplace(&inst, std::move(part));
    return {};
  }

  const RecurrentLoop::Product* ProductOf(const Instruction& inst) const {
    return space_->recurrent ? space_->recurrent->ProductOf(inst) : nullptr;
  }

  // Plans a product in a cluster. Fails if a result uses the product's elements at another index than its own.
  Status FindProduct(const Instruction& inst) {
    auto part = std::make_unique<BlockPart>(inst);
    part->product = ProductOf(inst);
    const Instruction& dot = *part->product->dot;
    auto space = TRY(LoopSpaceOf(part->body, {.roots = AllRoots(part->body), .given = &dot}, /*flat=*/true));
    const IndexExpr place = space->outputs[0].offset;
    for (const NodeId id : space->graph.Reachable(space->Values())) {
      const ElementNode& node = space->graph.node(id);
      if (node.kind != ElementNode::Kind::kGiven) continue;
      if (part->sum >= 0 || space->pool.Dot(node.index, LayoutStrides(dot.shape())) != place)
        FAIL(UnsupportedAt(inst, "U103", "in a cluster, a product must be read at the index of the computed element"));
      part->sum = id;
    }
    part->loops.push_back(std::move(space));
    space_->parts.emplace(&inst, std::move(part));
    return {};
  }

  // Lets the kernel that computes `next` overwrite the state element, unless a later read could see the new value.
  void PlaceOnState(const Instruction& next, int64_t element, const StateReaders& readers) {
    const Instruction& named = WithoutNames(next);
    const bool is_element = named.Is(Opcode::kGetTupleElement);
    const Instruction& maker = is_element ? named.operand(0) : named;
    const auto found = space_->parts.find(&maker);
    if (found == space_->parts.end() || next.shape().NumElements() < 2 || !readers.IsDoneWith(element, maker)) return;
    BlockPart& part = *found->second;
    const int64_t root = is_element ? named.tuple_index() : 0;
    if (part.state_of_root[root] >= 0) return;
    std::vector<int> leaves;
    for (size_t leaf = 0; leaf < part.body.leaves().size(); ++leaf) {
      if (readers.Reads(maker.operand(part.body.leaves()[leaf].operand), element))
        leaves.push_back(static_cast<int>(leaf));
    }
    if (std::ranges::all_of(leaves, [&](int leaf) { return ReadsInPlace(part, root, leaf); }))
      part.state_of_root[root] = static_cast<int>(element);
  }

  // Whether each element that is read from `leaf` is the one that the same thread then overwrites.
  static bool ReadsInPlace(const BlockPart& part, int64_t root, int leaf) {
    const FusionBody::Root* const written = &part.body.roots()[root];
    const auto writes = [&](const IterationSpace::Output& output) { return output.root == written; };
    if (part.reduction != nullptr) {
      const ReductionSpace& space = *part.reduction;
      const auto store = std::ranges::find_if(space.stores, writes);
      return store != space.stores.end() && !ReadsLeaf(space, space.Inputs(), leaf, store->offset) &&
             !ReadsLeaf(space, space.Epilogues(), leaf);
    }
    return std::ranges::all_of(part.loops, [&](const auto& space) {
      const auto output = std::ranges::find_if(space->outputs, writes);
      return output == space->outputs.end() ? !ReadsLeaf(*space, space->Values(), leaf)
                                            : !ReadsLeaf(*space, space->Values(), leaf, output->offset);
    });
  }

  // Updates whose operand is not in the result's buffer cannot work in place, so their kernels write the whole array.
  Status ReplanUpdates(const Computation& computation) {
    for (const Instruction* inst : computation.instructions()) {
      const auto found = space_->parts.find(inst);
      if (found == space_->parts.end()) continue;
      BlockPart& part = *found->second;
      for (auto& space : part.loops) {
        const auto& output = space->outputs[0];
        if (output.in_place_leaf < 0) continue;
        int& element = part.state_of_root[output.root - part.body.roots().data()];
        const Instruction& updated = inst->operand(part.body.leaves()[output.in_place_leaf].operand);
        if (element >= 0 && IsElementOf(WithoutNames(updated), computation.parameter(0), element)) continue;
        element = -1;  // ReadsInPlace did not check the new kernel.
        const LoopRequest request{.roots = {output.root}};
        space = TRY(LoopSpaceOf(part.body, request, /*flat=*/true));
        space_->most_elements = std::max(space_->most_elements, space->Size());
      }
    }
    return {};
  }

  std::unique_ptr<BlockSpace> space_ = std::make_unique<BlockSpace>();
  int depth_ = 0;
};

Status CheckFilled(const BlockSpace& space) {
  const RecurrentLoop& recurrent = *space.recurrent;
  const Instruction& next = recurrent.loop->attrs<WhileAttrs>().body->root();
  for (size_t i = 0; i < recurrent.state.size(); ++i) {
    if (recurrent.state[i] != RecurrentLoop::Element::kFilled) continue;
    const Instruction& named = WithoutNames(next.operand(static_cast<int64_t>(i)));
    const bool is_element = named.Is(Opcode::kGetTupleElement);
    const Instruction& maker = is_element ? named.operand(0) : named;
    const int64_t root = is_element ? named.tuple_index() : 0;
    const auto part = space.parts.find(&maker);
    if (part == space.parts.end() || part->second->state_of_root[root] != static_cast<int>(i))
      FAIL(UnsupportedAt(maker, "U103", Str("element ", i, " of the loop's state is not filled in place")));
  }
  return {};
}

}  // namespace

const Instruction* OnlyLoopOf(const Instruction& region) {
  const Instruction* loop = nullptr;
  for (const Instruction* inst : FusedComputation(region).PostOrder()) {
    if (inst->Is(Opcode::kWhile) && loop == nullptr) loop = inst;
    else if (!inst->Is(kNoKernel) && !inst->Is(Opcode::kConstant) && !inst->Is(Opcode::kParameter)) return nullptr;
  }
  return loop;
}

bool IsPassedOn(const Instruction& loop, int64_t element) {
  const Computation& body = *loop.attrs<WhileAttrs>().body;
  return body.root().Is(Opcode::kTuple) && IsElementOf(body.root().operand(element), body.parameter(0), element);
}

Result<std::unique_ptr<BlockSpace>> BlockSpaceOf(const Instruction& region, bool in_cluster) {
  for (const Instruction* parameter : FusedComputation(region).parameters()) {
    if (!parameter->shape().IsArray())
      FAIL(UnsupportedAt(*parameter, "U103", "one block of threads takes only arrays"));
  }
  std::optional<RecurrentLoop> recurrent;
  if (in_cluster) {
    const Instruction* const loop = OnlyLoopOf(region);
    std::string why_not = "it has several loops, or a kernel outside the loop";
    if (loop != nullptr) recurrent = RecurrentLoopOf(*loop, &why_not);
    if (!recurrent) FAIL(UnsupportedAt(region, "U103", Str("a cluster of blocks cannot share it: ", why_not)));
  }
  Finder finder(std::move(recurrent));
  TRY(finder.Find(FusedComputation(region)));
  std::unique_ptr<BlockSpace> space = finder.Take();
  if (space->recurrent) TRY(CheckFilled(*space));
  return space;
}

}  // namespace hlo::gpu
