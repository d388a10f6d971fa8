#include "gpu/libraries/cudnn_parts.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace hlo::gpu::cudnn {
namespace {

void AddMain(Module& module, Computation& fused, const std::vector<Shape>& shapes, const std::vector<int64_t>& used,
             FusionKind kind = FusionKind::kLoop) {
  Computation& main = module.AddComputation("main");
  std::vector<Instruction*> parameters, operands;
  for (size_t i = 0; i < shapes.size(); ++i)
    parameters.push_back(&main.AddParameter(static_cast<int64_t>(i), shapes[i]));
  for (const int64_t i : used) operands.push_back(parameters[i]);
  main.SetRoot(main.Add(Opcode::kFusion, fused.root().shape(), operands, FusionAttrs{.kind = kind, .calls = &fused}));
  module.SetEntry(main);
}

// Returns the numbers of the remaining parameters.
std::vector<int64_t> RemoveDead(Computation& computation) {
  const std::vector<Instruction*> order = computation.PostOrder();
  for (size_t i = order.size(); i-- > 0;) {
    if (!order[i]->Is(Opcode::kParameter) && order[i]->IsDead()) computation.Remove(*order[i]);
  }
  std::vector<bool> goes;
  std::vector<int64_t> used;
  for (const Instruction* parameter : computation.parameters()) {
    goes.push_back(parameter->IsDead());
    if (!goes.back()) used.push_back(parameter->parameter_number());
  }
  computation.RemoveParameters(goes);
  return used;
}

}  // namespace

std::unique_ptr<Module> PackModule(const PreparedConvolution& prepared) {
  auto module = std::make_unique<Module>("pack");
  Computation& fused = module->AddComputation("pack_weights");
  const ConvolutionTensor& weights = prepared.problem.weights;
  const auto shape_of = [&](const std::vector<int64_t>& order) {
    std::vector<int64_t> dims;
    for (const int64_t d : order) dims.push_back(weights.dims[d]);
    return Shape(weights.type, dims);
  };
  const Shape from = shape_of(prepared.weights_in_memory);
  Instruction* value = &fused.AddParameter(0, from);
  std::vector<int64_t> flipped, moved;
  for (size_t i = 0; i < prepared.weights_in_memory.size(); ++i) {
    const int64_t d = prepared.weights_in_memory[i];
    if (d >= 2 && prepared.problem.spatial[d - 2].flipped) flipped.push_back(static_cast<int64_t>(i));
  }
  if (!flipped.empty()) value = &fused.Add(Opcode::kReverse, from, {value}, DimensionsAttrs{flipped});
  for (const int64_t d : prepared.weights_order)
    moved.push_back(std::ranges::find(prepared.weights_in_memory, d) - prepared.weights_in_memory.begin());
  if (prepared.weights_order != prepared.weights_in_memory)
    value = &fused.Add(Opcode::kTranspose, shape_of(prepared.weights_order), {value}, DimensionsAttrs{moved});
  fused.SetRoot(*value);
  AddMain(*module, fused, {from}, {0});
  return module;
}

std::unique_ptr<Module> FinishModule(const Contraction& contraction, const PreparedConvolution& prepared) {
  const Computation& from = contraction.product->computation();
  const Shape& shape = contraction.product->shape();
  if (!shape.HasDefaultLayout() || !from.root().shape().HasDefaultLayout()) return nullptr;
  auto module = std::make_unique<Module>("finish");
  std::unordered_map<const Instruction*, Instruction*> copies;
  Computation& fused = module->CloneComputation(from, "finish_convolution", &copies);
  Instruction& product = *copies.at(contraction.product);
  const DimLabels& labels = contraction.product->attrs<ConvolutionAttrs>().dim_labels;
  // cuDNN's order of the dimensions, outermost first.
  std::vector<int64_t> order = labels.out_spatial;
  const bool exchanged = prepared.problem.kind == ConvolutionKind::kWgrad;
  const int64_t first = exchanged ? labels.out_feature : labels.out_batch;
  const int64_t second = exchanged ? labels.out_batch : labels.out_feature;
  order.insert(prepared.channels_last ? order.end() : order.begin(), second);
  order.insert(order.begin(), first);
  std::vector<int64_t> dims, back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    dims.push_back(shape.dim(order[i]));
    back[order[i]] = static_cast<int64_t>(i);
  }
  std::vector<Shape> shapes;
  for (const Instruction* parameter : from.parameters()) shapes.push_back(parameter->shape());
  shapes.emplace_back(shape.type(), dims);
  Instruction* value = &fused.AddParameter(std::ssize(shapes) - 1, shapes.back());
  if (!std::ranges::is_sorted(order)) value = &fused.Add(Opcode::kTranspose, shape, {value}, DimensionsAttrs{back});
  if (product.IsRoot()) fused.SetRoot(*value);
  product.ReplaceAllUses(*value);
  const std::vector<int64_t> used = RemoveDead(fused);
  AddMain(*module, fused, shapes, used);
  return module;
}

namespace {

// Copies a fused computation and replaces some values by new last parameters.
class Cut {
 public:
  explicit Cut(const Contraction& contraction)
      : from_(contraction.product->computation()), fused_(module_->CloneComputation(from_, "of_sums", &copies_)) {
    for (const Instruction* parameter : from_.parameters()) shapes_.push_back(parameter->shape());
  }

  void At(const Instruction& value) {
    shapes_.push_back(value.shape());
    copies_.at(&value)->ReplaceAllUses(fused_.AddParameter(std::ssize(shapes_) - 1, shapes_.back()));
  }
  // Adds up `sum` with a reducer of this module.
  void AddUpHere(const Instruction& sum) {
    const Shape number(PrimitiveType::kF32, {});
    if (adder_ == nullptr) {
      adder_ = &module_->AddComputation("add");
      Instruction &lhs = adder_->AddParameter(0, number), &rhs = adder_->AddParameter(1, number);
      adder_->SetRoot(adder_->Add(Opcode::kAdd, number, {&lhs, &rhs}));
    }
    copies_.at(&sum)->mutable_attrs<ReduceAttrs>().to_apply = adder_;
  }

  std::unique_ptr<Module> Make(const std::vector<int64_t>& results, FusionKind kind) {
    Instruction& all = fused_.root();
    std::vector<Instruction*> left;
    for (const int64_t i : results) left.push_back(&all.operand(i));
    fused_.SetRoot(left.size() == 1 ? *left.front() : fused_.AddTuple(left));
    const std::vector<int64_t> used = RemoveDead(fused_);
    AddMain(*module_, fused_, shapes_, used, kind);
    return std::move(module_);
  }

 private:
  const Computation& from_;
  std::unique_ptr<Module> module_ = std::make_unique<Module>("sums");
  std::unordered_map<const Instruction*, Instruction*> copies_;
  Computation& fused_;
  Computation* adder_ = nullptr;
  std::vector<Shape> shapes_;
};

}  // namespace

std::unique_ptr<Module> SumsModule(const Contraction& contraction) {
  Cut cut(contraction);
  const Instruction& root = contraction.product->computation().root();
  std::vector<int64_t> results;
  for (int64_t i = 0; i < root.operand_count(); ++i) {
    if (i != contraction.stored) results.push_back(i);
  }
  for (const ResultSum& sum : contraction.sums) cut.AddUpHere(*sum.inst);
  cut.At(root.operand(contraction.stored));
  return cut.Make(results, FusionKind::kInput);
}

std::unique_ptr<Module> OfSumsModule(const Contraction& contraction) {
  if (contraction.of_sums.empty()) return nullptr;
  Cut cut(contraction);
  for (const ResultSum& sum : contraction.sums) cut.At(*sum.inst);
  return cut.Make(contraction.of_sums, FusionKind::kLoop);
}

}  // namespace hlo::gpu::cudnn
