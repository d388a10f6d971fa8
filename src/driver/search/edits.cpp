#include "driver/search/edits.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/fusion_plan.h"
#include "ir/shapes/shape_rules.h"
#include "ir/side_effects.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

bool IsOperation(const Instruction& inst) {
  return !inst.Is(Opcode::kParameter) && !inst.Is(kHoldsLiteral) && !inst.Is(Opcode::kTuple) &&
         !inst.Is(Opcode::kGetTupleElement);
}

bool OfArrays(const Shape& shape) {
  bool arrays = true;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { arrays &= leaf.IsArray(); });
  return arrays;
}

std::vector<Computation*> EntryFirst(const Module& module) {
  std::vector<Computation*> order = module.PostOrder();
  std::ranges::reverse(order);
  return order;
}

Instruction* SplatOf(Instruction& inst, double value) {
  if (!inst.shape().IsArray()) return nullptr;
  Computation& computation = inst.computation();
  Instruction& scalar = computation.AddConstant(Literal::Scalar(inst.shape().type(), value));
  if (inst.shape().IsScalar()) return &scalar;
  return &computation.AddLike(inst, Opcode::kBroadcast, inst.shape(), {&scalar}, DimensionsAttrs());
}

Instruction* StandFor(Instruction& inst, Stand stand) {
  Computation& computation = inst.computation();
  switch (stand) {
    case Stand::kOperand:
      for (Instruction* operand : inst.operands()) {
        if (operand->shape() == inst.shape()) return operand;
      }
      return nullptr;
    case Stand::kParameter:
      if (!computation.IsEntry() || !OfArrays(inst.shape())) return nullptr;
      return &computation.AddParameter(std::ssize(computation.parameters()), inst.shape(), inst.name());
    case Stand::kShared:
      if (!computation.IsEntry()) return nullptr;
      for (Instruction* parameter : computation.parameters()) {
        if (parameter == &inst) return nullptr;
        if (parameter->shape() == inst.shape()) return parameter;
      }
      return nullptr;
    case Stand::kZero: return SplatOf(inst, 0);
    case Stand::kOne: return SplatOf(inst, 1);
  }
  return nullptr;
}

void Inline(Instruction& call, const Computation& callee, std::span<Instruction* const> operands) {
  std::vector<Instruction*> copies(callee.place_limit());
  for (const Instruction* inst : callee.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      copies[inst->place()] = operands[inst->parameter_number()];
      continue;
    }
    std::vector<Instruction*> mine;
    for (const Instruction* operand : inst->operands()) mine.push_back(copies[operand->place()]);
    copies[inst->place()] = &call.computation().AddClone(*inst, mine);
  }
  call.ReplaceAllUses(*copies[callee.root().place()]);
}

std::optional<int64_t> NewSize(int64_t size, int64_t from, int64_t to, bool multiples) {
  if (size == from) return to;
  if (multiples && size > from && size % from == 0) return size / from * to;
  return std::nullopt;
}

template <class F>
Shape MapLeaves(const Shape& shape, const F& change) {
  if (!shape.IsTuple()) return change(shape);
  std::vector<Shape> elements;
  for (const Shape& element : shape.elements()) elements.push_back(MapLeaves(element, change));
  return Shape::Tuple(std::move(elements));
}

// Larger dimensions repeat the elements.
Literal Resized(const Literal& literal, const Shape& shape) {
  Literal out(shape);
  const std::vector<int64_t> from = RowMajorStrides(literal.shape().dims()), to = RowMajorStrides(shape.dims());
  if (literal.shape().NumElements() == 0) return out;
  const int64_t bytes = literal.byte_size() / literal.shape().NumElements();
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    int64_t place = 0;
    for (int64_t d = 0; d < shape.rank(); ++d) place += i / to[d] % shape.dim(d) % literal.shape().dim(d) * from[d];
    std::copy_n(literal.raw() + place * bytes, bytes, out.mutable_raw() + i * bytes);
  }
  return out;
}

Literal Retyped(const Literal& literal, const Shape& shape) {
  Literal out(shape);
  for (int64_t i = 0; i < shape.NumElements(); ++i) out.SetDouble(i, literal.GetDouble(i));
  return out;
}

// Padding of one less than the window's size, as for prefix sums, stays one less.
void ResizeWindow(Window& window, const std::function<void(int64_t&)>& resize) {
  for (WindowDim& dim : window.dims) {
    const int64_t before = dim.size;
    resize(dim.size);
    for (int64_t* const pad : {&dim.pad_low, &dim.pad_high}) {
      if (before > 1 && *pad == before - 1) *pad = dim.size - 1;
    }
  }
}

void ResizeAttributes(Instruction& inst, const std::function<void(int64_t&)>& resize) {
  if (inst.Is(Opcode::kSlice)) {
    for (size_t d = 0; d < inst.attrs<SliceAttrs>().slice.dims.size(); ++d) {
      SliceDim& slice = inst.mutable_attrs<SliceAttrs>().slice.dims[d];
      resize(slice.start);
      resize(slice.limit);
      slice.limit = std::min(slice.limit, inst.operand(0).shape().dim(static_cast<int64_t>(d)));
      slice.start = std::min(slice.start, std::max<int64_t>(0, slice.limit - 1));
    }
  } else if (inst.Is(Opcode::kDynamicSlice)) {
    std::ranges::for_each(inst.mutable_attrs<DynamicSliceAttrs>().sizes, resize);
  } else if (inst.Is(Opcode::kGather)) {
    std::ranges::for_each(inst.mutable_attrs<GatherAttrs>().slice_sizes, resize);
  } else if (inst.Is(Opcode::kReduceWindow)) {
    ResizeWindow(inst.mutable_attrs<ReduceWindowAttrs>().window, resize);
  } else if (inst.Is(Opcode::kConvolution)) {
    auto& convolution = inst.mutable_attrs<ConvolutionAttrs>();
    ResizeWindow(convolution.window, resize);
    resize(convolution.feature_group_count);
    resize(convolution.batch_group_count);
  } else if (inst.Is(Opcode::kFft)) {
    std::ranges::for_each(inst.mutable_attrs<FftAttrs>().fft_length, resize);
  }
}

// Operands and callees come first. An inferred shape replaces an incompatible one.
bool Reshape(Module& module, const std::function<Shape(const Shape&)>& change,
             const std::function<Literal(const Literal&, const Shape&)>& convert,
             const std::function<void(int64_t&)>& resize) {
  bool changed = false;
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* inst : computation->PostOrder()) {
      if (resize) ResizeAttributes(*inst, resize);
      Shape shape = MapLeaves(inst->shape(), change);
      if (inst->Is(kHoldsLiteral)) {
        if (shape == inst->shape() || !shape.IsArray() || !inst->Is(Opcode::kConstant)) continue;
        const Literal literal = convert(inst->literal(), shape);
        inst->SetShape(shape);
        inst->SetLiteral(literal);
        changed = true;
        continue;
      }
      const Shape before = inst->shape();
      inst->SetShape(std::move(shape));  // Some shape rules read the shape.
      if (const auto inferred = InferShape(*inst); inferred && !Compatible(*inferred, inst->shape()))
        inst->SetShape(*inferred);
      changed |= inst->shape() != before;
    }
  }
  return changed;
}

void ForgetHeader(Module& module) {
  module.header.aliases.clear();
  module.header.donors.clear();
  module.header.entry_parameters.reset();
  module.header.entry_result.reset();
  module.header.propagation_to_parameters = module.header.propagation_to_output = {};
}

bool RemoveDead(Module& module) {
  bool any = false;
  for (Computation* computation : module.Computations()) {
    std::vector<Instruction*> order = computation->PostOrder();
    std::ranges::reverse(order);
    for (Instruction* inst : order) {
      if (inst->removed() || !inst->IsDead() || inst->Is(Opcode::kParameter) || HasSideEffect(*inst)) continue;
      computation->Remove(*inst);
      any = true;
    }
  }
  return any;
}

void RemoveUnreadParameters(Computation& entry) {
  std::vector<bool> goes;
  for (const Instruction* parameter : entry.parameters()) goes.push_back(parameter->IsDead());
  if (std::ranges::find(goes, true) != goes.end()) entry.RemoveParameters(goes);
}

}  // namespace

ModuleSize SizeOf(const Module& module, size_t characters) {
  // Replacing an operation by a parameter makes the module smaller, and so does removing the parameter.
  constexpr int64_t kOperation = 4, kOther = 2;
  int64_t weight = 0;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) weight += IsOperation(*inst) ? kOperation : kOther;
  }
  return {weight, ElementCount(module), characters};
}

int64_t ElementCount(const Module& module) {
  int64_t elements = 0;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      ForEachLeaf(inst->shape(), [&](const ShapeIndex&, const Shape& leaf) {
        if (leaf.IsArray()) elements += leaf.NumElements();
      });
    }
  }
  return elements;
}

std::vector<int> Replaceable(const Module& module, Stand stand) {
  std::vector<int> ids;
  for (const Computation* computation : EntryFirst(module)) {
    const bool entry = computation->IsEntry();
    if (!entry && (stand == Stand::kParameter || stand == Stand::kShared)) continue;
    for (const Instruction* inst : computation->PostOrder()) {
      const bool parameter = inst->Is(Opcode::kParameter);
      if (inst->Is(kHoldsLiteral) && stand != Stand::kParameter) continue;
      if (parameter && (stand == Stand::kParameter || stand == Stand::kOperand)) continue;
      if (inst->IsRoot() && (inst->Is(Opcode::kTuple) || (entry && stand != Stand::kOperand))) continue;
      ids.push_back(inst->id());
    }
  }
  return ids;
}

bool Replace(Module& module, std::span<const int> ids, Stand stand) {
  const std::set<int> wanted(ids.begin(), ids.end());
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* inst : computation->PostOrder()) {
      if (!wanted.contains(inst->id()) || inst->IsDead()) continue;
      Instruction* const in_place = StandFor(*inst, stand);
      if (in_place == nullptr) continue;
      inst->ReplaceAllUses(*in_place);
      changed = true;
    }
  }
  return changed;
}

int64_t OutputCount(const Module& module) {
  const Instruction& root = module.entry().root();
  return root.Is(Opcode::kTuple) ? root.operand_count() : 1;
}

bool DropOutputs(Module& module, std::span<const int> outputs) {
  Instruction& root = module.entry().root();
  if (!root.Is(Opcode::kTuple)) return false;
  std::vector<Instruction*> kept;
  for (int64_t i = 0; i < root.operand_count(); ++i) {
    if (std::ranges::find(outputs, static_cast<int>(i)) == outputs.end()) kept.push_back(&root.operand(i));
  }
  if (kept.empty() || std::ssize(kept) == root.operand_count()) return false;
  module.entry().SetRoot(kept.size() == 1 ? *kept.front() : module.entry().AddTuple(kept));
  return true;
}

std::vector<int> Flattenable(const Module& module) {
  std::vector<int> ids;
  for (const Computation* computation : EntryFirst(module)) {
    for (const Instruction* inst : computation->PostOrder()) {
      if (inst->Is(Opcode::kCall) || inst->Is(Opcode::kFusion) || inst->Is(Opcode::kWhile) ||
          inst->Is(Opcode::kConditional))
        ids.push_back(inst->id());
    }
  }
  return ids;
}

bool Flatten(Module& module, std::span<const int> ids, size_t branch) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* inst : computation->PostOrder()) {
      if (std::ranges::find(ids, inst->id()) == ids.end()) continue;
      if (inst->Is(Opcode::kConditional)) {
        const std::vector<Computation*> branches = inst->attrs<ConditionalAttrs>().branches();
        if (branch >= branches.size()) continue;
        Inline(*inst, *branches[branch], inst->operands().subspan(branch + 1, 1));
      } else if (branch == 0) {
        Inline(*inst, inst->Is(Opcode::kWhile) ? *inst->attrs<WhileAttrs>().body : *CalledComputations(*inst).front(),
               inst->operands());
      } else {
        continue;
      }
      changed = true;
    }
  }
  return changed;
}

bool ForgetRemarks(Module& module, Remark remark) {
  if (remark == Remark::kPlan) {
    const uint64_t before = Fingerprint(module);
    RemovePlans(module);
    return Fingerprint(module) != before;
  }
  if (remark == Remark::kMetadata) {
    module.header.stack_frames.clear();
    module.header.frontend_attributes = {};
    module.header.origin_recovery_table = module.header.debug_attributes = {};
    module.header.backend_config = {};
  }
  for (Computation* computation : module.Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      CommonAttrs common = inst->common();
      switch (remark) {
        case Remark::kMetadata:
          common.metadata = {};
          common.frontend_attributes = {};
          common.origin = {};
          common.statistics = {};
          break;
        case Remark::kSharding:
          common.sharding = {};
          common.parameter_replication = {};
          break;
        case Remark::kConfig: common.backend_config = {}; break;
        case Remark::kLayout:
          inst->SetShape(MapLeaves(inst->shape(), [](const Shape& leaf) { return leaf.WithDefaultLayout(); }));
          continue;
        case Remark::kPrecision:
          if (inst->Is(Opcode::kDot)) inst->mutable_attrs<DotAttrs>().precision.clear();
          if (inst->Is(Opcode::kConvolution)) inst->mutable_attrs<ConvolutionAttrs>().precision.clear();
          continue;
        case Remark::kPlan: break;
      }
      if (inst->HasCommon()) inst->SetCommon(std::move(common));
    }
  }
  return true;
}

std::vector<int64_t> SizesOf(const Module& module) {
  std::set<int64_t, std::greater<>> sizes;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      ForEachLeaf(inst->shape(), [&](const ShapeIndex&, const Shape& leaf) {
        for (const int64_t size : leaf.dims()) {
          if (size > 1) sizes.insert(size);
        }
      });
    }
  }
  return {sizes.begin(), sizes.end()};
}

bool Resize(Module& module, int64_t from, int64_t to, bool multiples) {
  const auto resize = [&](int64_t& size) { size = NewSize(size, from, to, multiples).value_or(size); };
  const auto change = [&](const Shape& leaf) {
    Shape shape = leaf;
    for (int64_t d = 0; d < leaf.rank(); ++d) {
      if (!leaf.IsDynamic(d)) shape.SetDim(d, NewSize(leaf.dim(d), from, to, multiples).value_or(leaf.dim(d)));
    }
    return shape;
  };
  return Reshape(module, change, Resized, resize);
}

bool Retype(Module& module, PrimitiveType from, PrimitiveType to) {
  const auto change = [&](const Shape& leaf) { return leaf.type() == from ? leaf.WithType(to) : leaf; };
  return Reshape(module, change, Retyped, nullptr);
}

void Tidy(Module& module) {
  do {
    module.RemoveUnreachable();
  } while (RemoveDead(module) || RemoveUnusedOperands(module));
  RemoveUnreadParameters(module.entry());
  ForgetHeader(module);
  if (module.header.is_scheduled) {
    for (Computation* computation : module.Computations()) computation->SetOrder(computation->PostOrder());
  }
  module.Sweep();
}

}  // namespace hlo
