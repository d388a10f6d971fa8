// Plans which elements some results need, and builds a computation of these.
#include "judge/bounds/slice.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <unordered_set>

#include "interp/interpreter.h"
#include "interp/strided.h"
#include "judge/bounds/dot_lines.h"
#include "judge/bounds/rules.h"
#include "judge/bounds/sample_points.h"

namespace hlo::shadow {
namespace {

// Row-major indices. Elementwise instructions share one list.
using Indices = std::shared_ptr<const std::vector<int64_t>>;

Indices Shared(std::vector<int64_t> at) { return std::make_shared<const std::vector<int64_t>>(std::move(at)); }

struct Places {
  bool all = false;
  Indices at;  // Null if `all`. Sorted when the plan is complete.
};

// Result j of a movement is the next element of the list from[number[j]], with one list for each operand. If `number`
// is empty, all results come from from[0].
struct Origins {
  std::vector<int32_t> number;
  std::vector<Indices> from;
};

// Updates of a scatter that reach wanted results, in order, and the positions of these results.
struct Landings {
  Indices update;
  std::vector<int64_t> on;
};

class Slicer {
 public:
  Slicer(const Cone& cone, std::vector<std::vector<int64_t>> points) : cone_(cone), points_(std::move(points)) {
    const Instruction& root = cone.module->entry().root();
    outputs_.assign(1, &root);
    if (root.Is(Opcode::kTuple)) outputs_.assign(root.operands().begin(), root.operands().end());
  }

  Status Plan() {
    for (size_t i = 0; i < outputs_.size(); ++i) Want(*outputs_[i], Shared(points_[i]));
    order_ = cone_.module->entry().PostOrder();
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const auto found = places_.find(*it);
      if (found == places_.end()) continue;
      Places& places = found->second;
      const Shape& shape = (*it)->shape();
      places.all = places.all || !shape.IsArray();
      if (!places.all) {
        MakeAscending(places.at, shape.NumElements());
        places.all = std::ssize(*places.at) == shape.NumElements();
      }
      if (places.all && shape.IsArray() && TakesAFew(**it)) {
        std::vector<int64_t> each(shape.NumElements());
        std::iota(each.begin(), each.end(), 0);
        places = {.all = false, .at = Shared(std::move(each))};
        made_whole_.insert(*it);
      }
      if (places.all) places.at = nullptr;
      TRY(WantOperands(**it, places));
    }
    return {};
  }

  int64_t steps() const { return steps_; }
  const std::vector<std::vector<int64_t>>& points() const { return points_; }

  // Makes both slices take the same elements of arguments with the same key, and have one parameter for each key.
  // Returns the arguments in the order of the parameters.
  static std::vector<Literal> ShareArguments(Slicer& a, Slicer& b) {
    std::map<int, SharedArgument> shared;
    for (Slicer* slicer : {&a, &b}) {
      for (const Instruction* parameter : slicer->cone_.module->entry().parameters()) {
        const auto found = slicer->places_.find(parameter);
        if (found == slicer->places_.end()) continue;
        const ConeArgument& argument = slicer->cone_.args[parameter->parameter_number()];
        SharedArgument& all = shared[argument.key];
        all.literal = argument.literal;
        all.Add(found->second);
      }
    }
    std::vector<Literal> args;
    for (auto& [key, argument] : shared) {
      const Shape& shape = argument.literal->shape();
      if (!argument.places.all) MakeAscending(argument.places.at, shape.NumElements());
      args.push_back(argument.places.all ? *argument.literal : TakeFrom(*argument.literal, *argument.places.at));
    }
    a.shared_ = b.shared_ = std::move(shared);
    return args;
  }

  Result<Slice> Build() {
    slice_.module = std::make_unique<Module>("slice");
    entry_ = &slice_.module->AddComputation("slice");
    slice_.module->SetEntry(*entry_);
    if (!shared_.empty()) AddShared();
    slice_.plan.contract = cone_.plan.contract;
    slice_.plan.ftz = cone_.plan.ftz;
    for (const Instruction* inst : order_) {
      const auto found = places_.find(inst);
      if (found == places_.end() || (inst->IsRoot() && inst->Is(Opcode::kTuple)) || made_.contains(inst)) continue;
      TRY(Make(*inst, found->second));
    }
    std::vector<Instruction*> results;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      Instruction& result = At(*outputs_[i], points_[i]);
      const bool again = std::ranges::find(results, &result) != results.end();
      results.push_back(again ? &entry_->Add(Opcode::kCopy, result.shape(), {&result}) : &result);
    }
    const bool tuple = cone_.module->entry().root().Is(Opcode::kTuple);
    entry_->SetRoot(tuple ? entry_->AddTuple(results) : *results[0]);
    slice_.points = std::move(points_);
    return std::move(slice_);
  }

 private:
  struct SharedArgument {
    const Literal* literal = nullptr;
    Places places;

    void Add(const Places& other) {
      if (places.all || other.all) {
        places = {.all = true, .at = nullptr};
      } else if (places.at == nullptr) {
        places.at = other.at;
      } else if (places.at != other.at) {
        std::vector<int64_t> both = *places.at;
        both.insert(both.end(), other.at->begin(), other.at->end());
        places.at = Shared(std::move(both));
      }
    }
  };

  // A bitcast depends on its operand's layout, so a whole parameter keeps its layout.
  void AddShared() {
    std::unordered_map<int, std::vector<const Instruction*>> own;
    for (const Instruction* parameter : cone_.module->entry().parameters()) {
      if (places_.contains(parameter)) own[cone_.args[parameter->parameter_number()].key].push_back(parameter);
    }
    int64_t number = 0;
    for (const auto& [key, argument] : shared_) {
      const Shape& whole = own[key].empty() ? argument.literal->shape() : own[key].front()->shape();
      const Shape taken = argument.places.all ? whole : Shape(whole.type(), {std::ssize(*argument.places.at)});
      Instruction& made = entry_->AddParameter(number++, taken);
      for (const Instruction* parameter : own[key]) {
        const bool is_same = !argument.places.all || parameter->shape() == whole;
        made_[parameter] = is_same ? &made : &entry_->Add(Opcode::kCopy, parameter->shape(), {&made});
        places_[parameter] = argument.places;
      }
    }
  }

  void Want(const Instruction& inst, const Indices& at) {
    Places& places = places_[&inst];
    if (places.all) return;
    if (places.at == nullptr) {
      places.at = at;
    } else if (places.at != at && *places.at != *at) {
      std::vector<int64_t> both = *places.at;
      both.insert(both.end(), at->begin(), at->end());
      places.at = Shared(std::move(both));
    }
  }
  void WantAll(const Instruction& inst) { places_[&inst] = {.all = true}; }
  static void MakeAscending(Indices& at, int64_t count) {
    if (std::ranges::adjacent_find(*at, std::greater_equal<>()) == at->end()) return;
    std::vector<int64_t> sorted = *at;
    SortUnique(sorted, count);
    at = Shared(std::move(sorted));
  }
  const Places& PlacesOf(const Instruction& inst) const { return places_.at(&inst); }

  Status WantOperands(const Instruction& inst, Places& places) {
    const bool array = inst.shape().IsArray();
    const int64_t count = array ? inst.shape().NumElements() : 0;
    const int64_t wanted = places.all ? count : std::ssize(*places.at);
    steps_ += StepsOf(inst, wanted);
    if (!places.all && SameIndex(inst)) {
      for (const Instruction* operand : inst.operands()) {
        if (operand->shape().NumElements() == count) Want(*operand, places.at);
        else WantAll(*operand);
      }
      return {};
    }
    if (!places.all && IsMovement(inst)) {
      if (auto origins = TRY(OriginsOf(inst, places.at))) {
        for (size_t i = 0; i < origins->from.size(); ++i) {
          if (!origins->from[i]->empty()) Want(inst.operand(static_cast<int64_t>(i)), origins->from[i]);
        }
        origins_[&inst] = std::move(*origins);
        return {};
      }
    }
    if (!places.all && IsPlainReduce(inst)) {
      const int64_t arity = inst.operand_count() / 2;
      const Indices terms = terms_[&inst] = Shared(TermsOf(inst, *places.at));
      // Each term is gathered by its index.
      constexpr int64_t kStepsOfTaking = 20;
      steps_ += kStepsOfTaking * std::ssize(*terms);
      for (int64_t i = 0; i < arity; ++i) {
        Want(inst.operand(i), terms);
        WantAll(inst.operand(arity + i));
      }
      return {};
    }
    if (!places.all && inst.Is(Opcode::kScatter)) {
      if (auto landings = TRY(LandingsOf(inst, *places.at))) {
        Want(inst.operand(0), places.at);
        if (!landings->update->empty()) Want(inst.operand(2), landings->update);
        landings_[&inst] = std::move(*landings);
        return {};
      }
    }
    const bool made = inst.Is(Opcode::kParameter) || inst.Is(Opcode::kConstant) || inst.Is(Opcode::kIota);
    const bool masked =
        IsPlainContraction(inst) && std::ranges::all_of(inst.operands(), IsFloatArray) && IsFloatArray(&inst);
    if (masked && !places.all) {
      auto lines = inst.Is(Opcode::kDot) ? LinesOf(inst, *places.at) : std::nullopt;
      // Results are computed one by one from packed columns.
      const int64_t results = lines ? Shape(inst.shape().type(), lines->dims).NumElements() : count;
      const bool all_columns = !lines || lines->right.all;
      const int64_t packed = all_columns ? inst.operand(1).shape().NumElements() : std::ssize(lines->right.at);
      steps_ += 3 * StepsOf(inst, wanted) + results + packed;
      if (lines) {
        WantLines(inst.operand(0), lines->left);
        WantLines(inst.operand(1), lines->right);
        lines_[&inst] = std::move(*lines);
        return {};
      }
    }
    if (!made && !masked && !places.all) {
      steps_ += StepsOf(inst, count) - StepsOf(inst, wanted);
      places = {.all = true};
    }
    for (const Instruction* operand : inst.operands()) WantAll(*operand);
    return {};
  }

  void WantLines(const Instruction& operand, const DotLines::Side& side) {
    if (side.all) WantAll(operand);
    else Want(operand, Shared(side.at));
  }

  static bool IsFloatArray(const Instruction* inst) { return inst->shape().IsArray() && IsFloat(inst->shape().type()); }

  static bool IsPlainContraction(const Instruction& inst) {
    if (inst.operand_count() != 2) return false;
    if (inst.Is(Opcode::kDot)) return inst.attrs<DotAttrs>().sparsity.empty();
    if (!inst.Is(Opcode::kConvolution)) return false;
    const ConvolutionAttrs& attrs = inst.attrs<ConvolutionAttrs>();
    const bool is_forward = attrs.kind == ConvolutionKind::kUnset || attrs.kind == ConvolutionKind::kFprop;
    return is_forward && attrs.sparsity.empty() && attrs.block_scaling.empty();
  }

  // Whether element i needs element i of each operand, and scalars.
  static bool SameIndex(const Instruction& inst) {
    if (!inst.Is(kElementwise) && !inst.Is(Opcode::kMap)) return false;
    return std::ranges::all_of(inst.operands(), [&](const Instruction* operand) {
      return operand->shape().IsArray() &&
             (operand->shape().rank() == 0 || operand->shape().dims() == inst.shape().dims());
    });
  }

  static bool TakesAFew(const Instruction& inst) {
    constexpr int64_t kPart = 4;
    return IsMovement(inst) && inst.operand(0).shape().NumElements() / kPart > inst.shape().NumElements();
  }

  static bool IsPlainReduce(const Instruction& inst) {
    return inst.Is(Opcode::kReduce) && inst.shape().IsArray() && inst.operand_count() == 2;
  }

  static std::vector<int64_t> TermsOf(const Instruction& reduce, const std::vector<int64_t>& at) {
    const std::vector<int64_t>& reduced = reduce.attrs<ReduceAttrs>().dimensions;
    const Shape& shape = reduce.operand(0).shape();
    const std::vector<int64_t> strides = RowMajorStrides(shape.dims());
    std::vector<int64_t> kept_dims, kept_strides, dims, dim_strides;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const bool gone = std::ranges::find(reduced, d) != reduced.end();
      (gone ? dims : kept_dims).push_back(shape.dim(d));
      (gone ? dim_strides : kept_strides).push_back(strides[d]);
    }
    std::vector<int64_t> offsets, terms;
    for (IndexWalk walk(dims); walk.Valid(); walk.Next()) offsets.push_back(hlo::Dot(walk.index(), dim_strides));
    terms.reserve(offsets.size() * at.size());
    IndexWalk kept(kept_dims);
    for (const int64_t result : at) {
      kept.Seek(result);
      const int64_t base = hlo::Dot(kept.index(), kept_strides);
      for (const int64_t offset : offsets) terms.push_back(base + offset);
    }
    return terms;
  }

  // Returns nullopt if the indices are unknown before the slice runs.
  Result<std::optional<Landings>> LandingsOf(const Instruction& scatter, const std::vector<int64_t>& at) {
    if (!scatter.shape().IsArray() || scatter.operand_count() != 3) return std::nullopt;
    const std::optional<Literal> indices = TRY(Known(scatter.operand(1)));
    if (!indices) return std::nullopt;
    const std::vector<int64_t> destinations = DestinationsOf(scatter, *indices);
    std::vector<int64_t> update, landed;
    for (size_t u = 0; u < destinations.size(); ++u) {
      const auto on = std::ranges::lower_bound(at, destinations[u]);
      if (on == at.end() || *on != destinations[u]) continue;
      update.push_back(static_cast<int64_t>(u));
      landed.push_back(on - at.begin());
    }
    return Landings{.update = Shared(std::move(update)), .on = std::move(landed)};
  }

  // The value of integers that depend only on arguments and constants, such as the start of a slice.
  Result<std::optional<Literal>> Known(const Instruction& inst) {
    std::vector<const Instruction*> stack = {&inst};
    while (!stack.empty()) {
      const Instruction& top = *stack.back();
      if (known_.contains(&top)) {
        stack.pop_back();
        continue;
      }
      const bool computed = (top.Is(kElementwise) || IsMovement(top)) && top.shape().IsArray() &&
                            !IsFloat(top.shape().type()) && !top.Is(Opcode::kParameter) && !top.Is(Opcode::kConstant);
      const size_t before = stack.size();
      for (size_t i = 0; computed && i < top.operands().size(); ++i) {
        if (!known_.contains(top.operands()[i])) stack.push_back(top.operands()[i]);
      }
      if (stack.size() == before) known_[&top] = TRY(computed ? KnownOfOperands(top) : KnownAlone(top));
    }
    return known_.at(&inst);
  }

  Result<std::optional<Literal>> KnownAlone(const Instruction& inst) const {
    if (!inst.shape().IsArray() || IsFloat(inst.shape().type())) return std::nullopt;
    if (inst.Is(Opcode::kConstant)) return inst.literal();
    if (!inst.Is(Opcode::kParameter)) return std::nullopt;
    const ConeArgument& argument = cone_.args[inst.parameter_number()];
    if (argument.literal != nullptr) return *argument.literal;
    if (argument.value.HasOpen()) return std::nullopt;
    return argument.value.exact;
  }

  Result<std::optional<Literal>> KnownOfOperands(const Instruction& inst) const {
    std::vector<Literal> operands;
    for (const Instruction* operand : inst.operands()) {
      const std::optional<Literal>& value = known_.at(operand);
      if (!value) return std::nullopt;
      operands.push_back(*value);
    }
    return TRY(Evaluate(inst, operands));
  }

  // Returns nullopt if the sources depend on unknown values.
  Result<std::optional<Origins>> OriginsOf(const Instruction& inst, const Indices& wanted) {
    const std::vector<int64_t>& at = *wanted;
    const Shape& shape = inst.shape();
    const int64_t data = DataOperands(inst);
    std::vector<int64_t> from(at.size());  // Result j is element from[j] of operand number[j].
    std::vector<int32_t> number(data > 1 ? at.size() : 0);
    const auto result = [&] { return std::optional(OriginsFrom(data, std::move(from), std::move(number))); };
    const auto by_index = [&](auto&& place) {  // Calls place(index, j) for each result.
      IndexWalk walk(shape.dims());
      for (size_t j = 0; j < at.size(); ++j) {
        walk.Seek(at[j]);
        place(walk.index(), j);
      }
      return result();
    };
    const std::vector<int64_t> strides = RowMajorStrides(inst.operand(0).shape().dims());
    switch (inst.opcode()) {
      case Opcode::kBitcast:
        if (!shape.HasDefaultLayout() || !inst.operand(0).shape().HasDefaultLayout()) break;
        [[fallthrough]];
      case Opcode::kReshape: return std::optional(Origins{.number = {}, .from = {wanted}});
      case Opcode::kBroadcast:
      case Opcode::kTranspose: {
        const std::vector<int64_t>& dimensions = inst.attrs<DimensionsAttrs>().dimensions;
        if (dimensions.empty()) return result();
        return by_index([&](const std::vector<int64_t>& index, size_t j) {
          for (size_t d = 0; d < dimensions.size(); ++d) {
            from[j] +=
                inst.Is(Opcode::kBroadcast) ? index[dimensions[d]] * strides[d] : index[d] * strides[dimensions[d]];
          }
        });
      }
      case Opcode::kSlice: {
        const std::vector<SliceDim>& dims = inst.attrs<SliceAttrs>().slice.dims;
        return by_index([&](const std::vector<int64_t>& index, size_t j) {
          for (size_t d = 0; d < dims.size(); ++d) from[j] += (dims[d].start + index[d] * dims[d].stride) * strides[d];
        });
      }
      case Opcode::kConcatenate: {
        const int64_t along = inst.attrs<OneDimensionAttrs>().dimension.value;
        return by_index([&](const std::vector<int64_t>& index, size_t j) {
          std::vector<int64_t> within = index;
          int32_t part = 0;
          while (within[along] >= inst.operand(part).shape().dim(along))
            within[along] -= inst.operand(part++).shape().dim(along);
          if (data > 1) number[j] = part;
          from[j] = hlo::Dot(within, RowMajorStrides(inst.operand(part).shape().dims()));
        });
      }
      case Opcode::kPad: {
        const std::vector<PaddingDim>& padding = inst.attrs<PadAttrs>().padding.dims;
        return by_index([&](const std::vector<int64_t>& index, size_t j) {
          for (size_t d = 0; d < padding.size(); ++d) {
            const int64_t inside = index[d] - padding[d].low, step = padding[d].interior + 1;
            if (inside < 0 || inside % step != 0 || inside / step >= inst.operand(0).shape().dim(d)) {
              number[j] = 1;
              from[j] = 0;
              return;
            }
            from[j] += inside / step * strides[d];
          }
        });
      }
      default: break;
    }
    std::vector<ShadowValue> values(inst.operand_count());
    std::vector<const ShadowValue*> operands;
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      if (i >= data) {
        const std::optional<Literal> index = TRY(Known(inst.operand(i)));
        if (!index) return std::optional<Origins>();
        values[i] = ToShadow(*index);
      }
      operands.push_back(&values[i]);
    }
    for (int32_t i = 0; i < data; ++i) {
      const Literal source = TRY(SourceOf(inst, i, operands));
      for (size_t j = 0; j < at.size(); ++j) {
        if (source.data<int64_t>()[at[j]] < 0) continue;
        if (data > 1) number[j] = i;
        from[j] = source.data<int64_t>()[at[j]];
      }
    }
    return result();
  }

  static Origins OriginsFrom(int64_t data, std::vector<int64_t> from, std::vector<int32_t> number) {
    if (data == 1) return {.number = {}, .from = {Shared(std::move(from))}};
    std::vector<std::vector<int64_t>> lists(data);
    for (size_t j = 0; j < from.size(); ++j) lists[number[j]].push_back(from[j]);
    Origins origins{.number = std::move(number), .from = {}};
    for (std::vector<int64_t>& list : lists) origins.from.push_back(Shared(std::move(list)));
    return origins;
  }

  // ---- Building ----

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
    const Places& places = PlacesOf(inst);
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
    return PlacesOf(inst).at == at ? *made_.at(&inst) : At(inst, *at);
  }

  Instruction& Clone(const Instruction& inst, Shape shape, const std::vector<Instruction*>& operands) {
    Instruction& clone = entry_->AddClone(inst, std::move(shape), operands);
    if (const InstructionPlan* plan = cone_.plan.Find(inst.id())) slice_.plan.instructions[clone.id()] = *plan;
    return clone;
  }

  Instruction& AddArgument(const Instruction& inst, ShadowValue value) {
    slice_.args.push_back(std::move(value));
    return entry_->AddParameter(static_cast<int64_t>(slice_.args.size()) - 1, slice_.args.back().shape, inst.name());
  }

  static Literal TakeFrom(const Literal& literal, const std::vector<int64_t>& at) {
    Literal taken = Literal::Uninitialized(Shape(literal.shape().type(), {static_cast<int64_t>(at.size())}));
    const int64_t width = ByteWidth(literal.shape().type());
    std::byte* to = taken.mutable_raw();
    for (size_t j = 0; j < at.size(); ++j) std::memcpy(to + j * width, literal.raw() + at[j] * width, width);
    return taken;
  }

  Status Make(const Instruction& inst, const Places& places) {
    Instruction*& made = made_[&inst];
    if (inst.Is(Opcode::kParameter)) {
      const ConeArgument& argument = cone_.args[inst.parameter_number()];
      if (places.all) {
        ShadowValue value = argument.All();
        value.shape = inst.shape();
        made = &AddArgument(inst, std::move(value));
      } else if (argument.literal != nullptr) {
        made = &AddArgument(inst, ToShadow(TakeFrom(*argument.literal, *places.at)));
      } else {
        made = &AddArgument(inst, Take(argument.value, *places.at, {std::ssize(*places.at)}));
      }
      return {};
    }
    if (places.all) {
      std::vector<Instruction*> operands;
      for (const Instruction* operand : inst.operands()) operands.push_back(made_.at(operand));
      made = &Clone(inst, inst.shape(), operands);
      return {};
    }
    if (inst.Is(Opcode::kConstant)) {
      made = &entry_->AddConstant(TakeFrom(inst.literal(), *places.at));
      return {};
    }
    if (inst.Is(Opcode::kIota)) {
      made = &MakeIota(inst, *places.at);
      return {};
    }
    if (SameIndex(inst)) {
      std::vector<Instruction*> operands;
      for (const Instruction* operand : inst.operands())
        operands.push_back(operand->shape().rank() == 0 ? made_.at(operand) : &At(*operand, places.at));
      made = &Clone(inst, List(inst, places.at->size()), operands);
      return {};
    }
    if (const auto origins = origins_.find(&inst); origins != origins_.end()) {
      made = &MakeMovement(inst, origins->second);
      if (!made_whole_.contains(&inst)) return {};
      made = &entry_->Add(Opcode::kReshape, inst.shape(), {made}, ReshapeAttrs{});
      places_.at(&inst) = {.all = true};
      return {};
    }
    if (IsPlainReduce(inst)) {
      const auto count = std::ssize(*places.at);
      Instruction& terms = At(inst.operand(0), terms_.at(&inst));
      const Shape rows(terms.shape().type(), {count, terms.shape().NumElements() / std::max<int64_t>(1, count)});
      ReduceAttrs attrs = inst.attrs<ReduceAttrs>();
      attrs.dimensions = {1};
      Instruction& table = entry_->Add(Opcode::kReshape, rows, {&terms}, ReshapeAttrs{});
      made = &entry_->AddLike(inst, Opcode::kReduce, List(inst, places.at->size()),
                              {&table, made_.at(&inst.operand(1))}, attrs);
      if (const InstructionPlan* plan = cone_.plan.Find(inst.id())) slice_.plan.instructions[made->id()] = *plan;
      return {};
    }
    if (const auto landings = landings_.find(&inst); landings != landings_.end()) {
      made = &MakeScatter(inst, places.at, landings->second);
      return {};
    }
    if (const auto lines = lines_.find(&inst); lines != lines_.end()) {
      made = &MakeDot(inst, std::ssize(*places.at), lines->second);
      return {};
    }
    std::vector<Instruction*> operands;  // `inst` is a dot or convolution.
    for (const Instruction* operand : inst.operands()) operands.push_back(made_.at(operand));
    made = &Clone(inst, List(inst, places.at->size()), operands);
    slice_.wanted[made] = {inst.shape(), *places.at};
    return {};
  }

  Instruction& MakeDot(const Instruction& inst, int64_t count, const DotLines& lines) {
    const auto operand = [&](int64_t i, const DotLines::Side& side) -> Instruction* {
      if (side.all) return made_.at(&inst.operand(i));
      Instruction& list = At(inst.operand(i), side.at);
      return &entry_->Add(Opcode::kReshape, Shape(list.shape().type(), side.dims), {&list}, ReshapeAttrs{});
    };
    Instruction* const left = operand(0, lines.left);
    Instruction* const right = operand(1, lines.right);
    Instruction& made = entry_->AddLike(inst, Opcode::kDot, List(inst, count), {left, right}, lines.attrs);
    if (const InstructionPlan* plan = cone_.plan.Find(inst.id())) slice_.plan.instructions[made.id()] = *plan;
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
    Instruction& made = entry_->AddLike(
        inst, Opcode::kScatter, List(inst, at->size()),
        {&start, &entry_->AddConstant(std::move(indices)), &At(inst.operand(2), landings.update)}, attrs);
    if (const InstructionPlan* plan = cone_.plan.Find(inst.id())) slice_.plan.instructions[made.id()] = *plan;
    return made;
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

  const Cone& cone_;
  std::vector<std::vector<int64_t>> points_;
  std::vector<const Instruction*> outputs_;
  std::vector<Instruction*> order_;
  std::unordered_map<const Instruction*, Places> places_;
  std::unordered_set<const Instruction*> made_whole_;
  std::unordered_map<const Instruction*, Origins> origins_;
  std::unordered_map<const Instruction*, Landings> landings_;
  std::unordered_map<const Instruction*, Indices> terms_;
  std::unordered_map<const Instruction*, DotLines> lines_;
  std::unordered_map<const Instruction*, std::optional<Literal>> known_;
  int64_t steps_ = 0;

  std::map<int, SharedArgument> shared_;
  Slice slice_;
  Computation* entry_ = nullptr;
  std::unordered_map<const Instruction*, Instruction*> made_, flat_;
};

std::vector<const Instruction*> OutputsOf(const Instruction& root) {
  std::vector<const Instruction*> outputs{&root};
  if (root.Is(Opcode::kTuple)) outputs.assign(root.operands().begin(), root.operands().end());
  return outputs;
}

}  // namespace

Result<std::optional<Slice>> SliceAt(const Cone& cone, const std::vector<std::vector<int64_t>>& points, int64_t limit) {
  const std::vector<const Instruction*> outputs = OutputsOf(cone.module->entry().root());
  for (const Instruction* output : outputs) {
    if (!output->shape().IsArray()) return std::optional<Slice>();
  }
  if (outputs.size() != points.size()) return std::optional<Slice>();
  Slicer slicer(cone, points);
  TRY(slicer.Plan());
  if (slicer.steps() > limit) return std::optional<Slice>();
  return std::optional(TRY(slicer.Build()));
}

namespace {

Result<Slicer> Planned(const Cone& cone, std::vector<std::vector<int64_t>> points) {
  Slicer slicer(cone, std::move(points));
  TRY(slicer.Plan());
  return slicer;
}

// Takes about `limit` steps, or about `fewest` points if these take more.
Result<Slicer> BestSlicer(const Cone& cone, int64_t limit, uint64_t seed, int64_t fewest = kFewestPoints) {
  const std::vector<const Instruction*> outputs = OutputsOf(cone.module->entry().root());
  int64_t largest = 0;
  for (const Instruction* output : outputs) largest = std::max(largest, output->shape().NumElements());
  const auto plan = [&](Spread spread, int64_t wanted) {
    std::vector<std::vector<int64_t>> points;
    for (const Instruction* output : outputs) points.push_back(Points(output->shape(), spread, wanted, seed));
    return Planned(cone, std::move(points));
  };
  std::optional<Slicer> best;
  Spread spread = Spread::kEverywhere;
  for (const Spread other : {Spread::kEverywhere, Spread::kInGrid, Spread::kInRows, Spread::kInColumns}) {
    Slicer slicer = TRY(plan(other, fewest));
    // kEverywhere is the most informative. Others must cost less than half, or stay below the limit.
    if (best && slicer.steps() > limit && 2 * slicer.steps() > best->steps()) continue;
    best.emplace(std::move(slicer));
    spread = other;
    if (best->steps() <= limit || largest <= fewest) break;  // In the second case each spread has all points.
  }
  constexpr int64_t kMostPoints = int64_t{1} << 18;
  const double room = static_cast<double>(limit) / static_cast<double>(std::max<int64_t>(1, best->steps()));
  if (room > 2 && largest > fewest) {
    Slicer larger =
        TRY(plan(spread, static_cast<int64_t>(std::min<double>(kMostPoints, static_cast<double>(fewest) * room / 2))));
    if (larger.steps() <= limit) best.emplace(std::move(larger));
  }
  return std::move(*best);
}

Result<Slicer> SmallestSlicer(const Cone& cone, int64_t limit, uint64_t seed) {
  std::optional<Slicer> best;
  for (int64_t fewest = kFewestPoints; fewest >= kFewestPointsOfTwo; fewest /= 8) {
    Slicer slicer = TRY(BestSlicer(cone, limit, seed, fewest));
    if (!best || slicer.steps() < best->steps()) best.emplace(std::move(slicer));
    if (best->steps() <= limit) break;
  }
  return std::move(*best);
}

std::vector<int64_t> AllPoints(const Shape& shape) {
  std::vector<int64_t> points(shape.NumElements());
  std::iota(points.begin(), points.end(), 0);
  return points;
}

// Copies called computations, and removes origins.
void MakeSelfContained(Module& module) {
  std::unordered_map<const Computation*, Computation*> copies;
  const std::function<void(Computation&)> adopt = [&](Computation& computation) {
    for (Instruction* inst : computation.Instructions()) {
      inst->SetOrigin(-1);
      if (CalledComputations(*inst).empty()) continue;
      ForEachCalled(inst->attributes(), [&](Computation*& called) {
        if (Computation*& copy = copies[called]; copy == nullptr) {
          copy = &module.CloneComputation(*called, called->name());
          adopt(*copy);
        }
        called = copies.at(called);
      });
    }
  };
  adopt(module.entry());
}

}  // namespace

Result<std::optional<Slice>> SliceOf(const Cone& cone, int64_t limit, uint64_t seed) {
  const std::vector<const Instruction*> outputs = OutputsOf(cone.module->entry().root());
  int64_t largest = 0;
  for (const Instruction* output : outputs) {
    if (!output->shape().IsArray()) return std::optional<Slice>();
    largest = std::max(largest, output->shape().NumElements());
  }
  // A small result is computed completely, unless its cone is huge, as for a slice of a value that exceeds the memory.
  constexpr int64_t kMostSteps = 10'000'000'000;
  if (largest <= kFewestPoints && cone.steps <= kMostSteps) return std::optional<Slice>();
  Slicer best = TRY(BestSlicer(cone, limit, seed));
  if (best.steps() >= cone.steps) return std::optional<Slice>();
  return std::optional(TRY(best.Build()));
}

Result<std::optional<SlicesOfTwo>> SlicesOfBoth(const Cone& before, const Cone& after, int64_t limit, int64_t most,
                                                uint64_t seed) {
  const Shape& shape = after.module->entry().root().shape();
  if (!shape.IsArray() || !before.module->entry().root().shape().IsArray()) return std::nullopt;
  const bool takes_all = std::max(before.steps, after.steps) <= limit;
  Slicer slicer = TRY(takes_all ? Planned(after, {AllPoints(shape)}) : SmallestSlicer(after, limit, seed));
  if (slicer.steps() > most) return std::nullopt;
  Slicer other = TRY(Planned(before, slicer.points()));
  if (other.steps() > most) return std::nullopt;
  SlicesOfTwo both;
  both.points = slicer.points()[0];
  both.args = Slicer::ShareArguments(other, slicer);
  const auto side = [](Slicer& of) -> Result<SlicesOfTwo::Side> {
    const int64_t steps = of.steps();
    Slice slice = TRY(of.Build());
    MakeSelfContained(*slice.module);
    return SlicesOfTwo::Side{std::move(slice.module), std::move(slice.wanted), steps};
  };
  both.before = TRY(side(other));
  both.after = TRY(side(slicer));
  return both;
}

}  // namespace hlo::shadow
