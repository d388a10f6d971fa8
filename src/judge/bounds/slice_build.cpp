#include <algorithm>
#include <cstring>
#include <utility>

#include "judge/bounds/rules.h"
#include "judge/bounds/sample_points.h"
#include "judge/bounds/slice_plan.h"

namespace hlo::shadow {
namespace {

class Builder {
 public:
  Builder(SlicePlan plan, const SharedArguments& shared) : plan_(std::move(plan)), cone_(*plan_.cone) {
    slice_.module = std::make_unique<Module>("slice");
    entry_ = &slice_.module->AddComputation("slice");
    slice_.module->SetEntry(*entry_);
    if (!shared.empty()) AddShared(shared);
    slice_.plan.contract = cone_.plan.contract;
    slice_.plan.ftz = cone_.plan.ftz;
  }

  Slice Build() {
    for (const Instruction* inst : plan_.order) {
      const auto found = plan_.places.find(inst);
      if (found == plan_.places.end() || (inst->IsRoot() && inst->Is(Opcode::kTuple)) || made_.contains(inst)) continue;
      made_[inst] = &Make(*inst, found->second);
    }
    std::vector<Instruction*> results;
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      Instruction& result = At(*plan_.outputs[i], plan_.points[i]);
      const bool again = std::ranges::find(results, &result) != results.end();
      results.push_back(again ? &entry_->Add(Opcode::kCopy, result.shape(), {&result}) : &result);
    }
    const bool tuple = cone_.module->entry().root().Is(Opcode::kTuple);
    entry_->SetRoot(tuple ? entry_->AddTuple(results) : *results[0]);
    slice_.points = std::move(plan_.points);
    return std::move(slice_);
  }

 private:
  // A bitcast depends on its operand's layout, so a whole parameter keeps its layout.
  void AddShared(const SharedArguments& shared) {
    std::unordered_map<int, std::vector<const Instruction*>> own;
    for (const Instruction* parameter : cone_.module->entry().parameters()) {
      if (plan_.places.contains(parameter)) own[cone_.args[parameter->parameter_number()].key].push_back(parameter);
    }
    int64_t number = 0;
    for (const auto& [key, argument] : shared) {
      const Shape& whole = own[key].empty() ? argument.literal->shape() : own[key].front()->shape();
      const Shape taken = argument.places.all ? whole : Shape(whole.type(), {std::ssize(*argument.places.at)});
      Instruction& made = entry_->AddParameter(number++, taken);
      for (const Instruction* parameter : own[key]) {
        const bool is_same = !argument.places.all || parameter->shape() == whole;
        made_[parameter] = is_same ? &made : &entry_->Add(Opcode::kCopy, parameter->shape(), {&made});
        plan_.places[parameter] = argument.places;
      }
    }
  }

  Shape List(const Instruction& inst, size_t size) const {
    return Shape(inst.shape().type(), {static_cast<int64_t>(size)});
  }

  Instruction& Pick(Instruction& list, const std::vector<int64_t>& at) {
    if (list.shape().rank() == 0)
      return entry_->Add(Opcode::kBroadcast, List(list, at.size()), {&list}, DimensionsAttrs{});
    const auto count = static_cast<int64_t>(at.size());
    if (count == list.shape().NumElements()) {
      int64_t next = 0;
      if (std::ranges::all_of(at, [&](int64_t i) { return i == next++; })) return list;
    }
    Literal indices(Shape(PrimitiveType::kS64, {count, 1}));
    std::ranges::copy(at, indices.mutable_data<int64_t>().begin());
    return entry_->Add(
        Opcode::kGather, List(list, at.size()), {&list, &entry_->AddConstant(std::move(indices))},
        GatherAttrs{.collapsed_slice_dims = {0}, .start_index_map = {0}, .index_vector_dim = 1, .slice_sizes = {1}});
  }

  Instruction& At(const Instruction& inst, const std::vector<int64_t>& at) {
    Instruction& made = *made_.at(&inst);
    const Places& places = plan_.places.at(&inst);
    if (places.all) {
      Instruction*& flat = flat_[&inst];
      if (flat == nullptr)
        flat = made.shape().rank() < 2
                   ? &made
                   : &entry_->Add(Opcode::kReshape, List(made, made.shape().NumElements()), {&made}, ReshapeAttrs{});
      return Pick(*flat, at);
    }
    if (*places.at == at) return made;
    return Pick(made, PositionsIn(*places.at, at, inst.shape().NumElements()));
  }
  Instruction& At(const Instruction& inst, const Indices& at) {
    return plan_.places.at(&inst).at == at ? *made_.at(&inst) : At(inst, *at);
  }

  Instruction& Clone(const Instruction& inst, Shape shape, const std::vector<Instruction*>& operands) {
    return WithPlan(inst, entry_->AddClone(inst, std::move(shape), operands));
  }

  Instruction& WithPlan(const Instruction& inst, Instruction& made) {
    if (const InstructionPlan* plan = cone_.plan.Find(inst.id())) slice_.plan.instructions[made.id()] = *plan;
    return made;
  }

  std::vector<Instruction*> MadeOperands(const Instruction& inst) const {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(made_.at(operand));
    return operands;
  }

  Instruction& AddArgument(const Instruction& inst, ShadowValue value) {
    slice_.args.push_back(std::move(value));
    return entry_->AddParameter(static_cast<int64_t>(slice_.args.size()) - 1, slice_.args.back().shape, inst.name());
  }

  Instruction& Make(const Instruction& inst, const Places& places) {
    if (inst.Is(Opcode::kParameter)) return MakeParameter(inst, places);
    if (places.all) return Clone(inst, inst.shape(), MadeOperands(inst));
    if (inst.Is(Opcode::kConstant)) return entry_->AddConstant(TakeFrom(inst.literal(), *places.at));
    if (inst.Is(Opcode::kIota)) return MakeIota(inst, *places.at);
    if (HasSameIndex(inst)) {
      std::vector<Instruction*> operands;
      for (const Instruction* operand : inst.operands())
        operands.push_back(operand->shape().rank() == 0 ? made_.at(operand) : &At(*operand, places.at));
      return Clone(inst, List(inst, places.at->size()), operands);
    }
    if (const auto origins = plan_.origins.find(&inst); origins != plan_.origins.end()) {
      Instruction& moved = MakeMovement(inst, origins->second);
      if (!plan_.made_whole.contains(&inst)) return moved;
      plan_.places.at(&inst) = {.all = true};
      return entry_->Add(Opcode::kReshape, inst.shape(), {&moved}, ReshapeAttrs{});
    }
    if (IsPlainReduce(inst)) return MakeReduce(inst, std::ssize(*places.at));
    if (const auto landings = plan_.landings.find(&inst); landings != plan_.landings.end())
      return MakeScatter(inst, places.at, landings->second);
    if (const auto lines = plan_.lines.find(&inst); lines != plan_.lines.end())
      return MakeDot(inst, std::ssize(*places.at), lines->second);
    // `inst` is a dot or convolution.
    Instruction& made = Clone(inst, List(inst, places.at->size()), MadeOperands(inst));
    slice_.wanted[&made] = {inst.shape(), *places.at};
    return made;
  }

  Instruction& MakeParameter(const Instruction& inst, const Places& places) {
    const ConeArgument& argument = cone_.args[inst.parameter_number()];
    if (places.all) {
      ShadowValue value = argument.All();
      value.shape = inst.shape();
      return AddArgument(inst, std::move(value));
    }
    if (argument.literal != nullptr) return AddArgument(inst, ToShadow(TakeFrom(*argument.literal, *places.at)));
    return AddArgument(inst, Take(argument.value, *places.at, {std::ssize(*places.at)}));
  }

  Instruction& MakeReduce(const Instruction& inst, int64_t count) {
    Instruction& terms = At(inst.operand(0), plan_.terms.at(&inst));
    const Shape rows(terms.shape().type(), {count, terms.shape().NumElements() / std::max<int64_t>(1, count)});
    ReduceAttrs attrs = inst.attrs<ReduceAttrs>();
    attrs.dimensions = {1};
    Instruction& table = entry_->Add(Opcode::kReshape, rows, {&terms}, ReshapeAttrs{});
    return WithPlan(
        inst, entry_->AddLike(inst, Opcode::kReduce, List(inst, count), {&table, made_.at(&inst.operand(1))}, attrs));
  }

  Instruction& MakeDot(const Instruction& inst, int64_t count, const DotLines& lines) {
    const auto operand = [&](int64_t i, const DotLines::Side& side) -> Instruction* {
      if (side.all) return made_.at(&inst.operand(i));
      Instruction& list = At(inst.operand(i), side.at);
      return &entry_->Add(Opcode::kReshape, Shape(list.shape().type(), side.dims), {&list}, ReshapeAttrs{});
    };
    Instruction* const left = operand(0, lines.left);
    Instruction* const right = operand(1, lines.right);
    Instruction& made =
        WithPlan(inst, entry_->AddLike(inst, Opcode::kDot, List(inst, count), {left, right}, lines.attrs));
    slice_.wanted[&made] = {Shape(inst.shape().type(), lines.dims), lines.at};
    return made;
  }

  Instruction& MakeScatter(const Instruction& inst, const Indices& at, const Landings& landings) {
    Instruction& start = At(inst.operand(0), at);
    if (landings.update->empty()) return start;
    Literal indices(Shape(PrimitiveType::kS64, {std::ssize(landings.on), 1}));
    std::ranges::copy(landings.on, indices.mutable_data<int64_t>().begin());
    const ScatterAttrs& whole = inst.attrs<ScatterAttrs>();
    const ScatterAttrs attrs = {.inserted_window_dims = {0},
                                .scatter_dims_to_operand_dims = {0},
                                .index_vector_dim = 1,
                                .unique_indices = whole.unique_indices,
                                .to_apply = whole.to_apply};
    return WithPlan(
        inst, entry_->AddLike(inst, Opcode::kScatter, List(inst, at->size()),
                              {&start, &entry_->AddConstant(std::move(indices)), &At(inst.operand(2), landings.update)},
                              attrs));
  }

  Instruction& MakeIota(const Instruction& inst, const std::vector<int64_t>& at) {
    const int64_t along = inst.attrs<IotaAttrs>().iota_dimension;
    const int64_t stride = RowMajorStrides(inst.shape().dims())[along], size = inst.shape().dim(along);
    Instruction& line = entry_->Add(Opcode::kIota, Shape(inst.shape().type(), {size}), {}, IotaAttrs{0});
    std::vector<int64_t> numbers;
    for (const int64_t i : at) numbers.push_back(i / stride % size);
    return Pick(line, numbers);
  }

  Instruction& MakeMovement(const Instruction& inst, const Origins& origins) {
    std::vector<Instruction*> parts;
    std::vector<int64_t> begin;
    int64_t end = 0;
    for (size_t i = 0; i < origins.from.size(); ++i) {
      begin.push_back(end);
      if (origins.from[i]->empty()) continue;
      parts.push_back(&At(inst.operand(static_cast<int64_t>(i)), origins.from[i]));
      end += std::ssize(*origins.from[i]);
    }
    if (parts.empty()) return entry_->AddConstant(Literal(List(inst, 0)));
    if (parts.size() == 1) return *parts[0];
    Instruction& all =
        entry_->Add(Opcode::kConcatenate, List(inst, origins.number.size()), parts, OneDimensionAttrs{{0}});
    std::vector<int64_t> positions;
    for (const int32_t number : origins.number) positions.push_back(begin[number]++);
    return Pick(all, positions);
  }

  SlicePlan plan_;
  const Cone& cone_;
  Slice slice_;
  Computation* entry_ = nullptr;
  OfInstruction<Instruction*> made_, flat_;
};

}  // namespace

Literal TakeFrom(const Literal& literal, const std::vector<int64_t>& at) {
  Literal taken = Literal::Uninitialized(Shape(literal.shape().type(), {static_cast<int64_t>(at.size())}));
  const int64_t width = ByteWidth(literal.shape().type());
  std::byte* to = taken.mutable_raw();
  for (size_t j = 0; j < at.size(); ++j) std::memcpy(to + j * width, literal.raw() + at[j] * width, width);
  return taken;
}

Slice BuildSlice(SlicePlan plan, const SharedArguments& shared) { return Builder(std::move(plan), shared).Build(); }

}  // namespace hlo::shadow
