#include "gpu/emitters/product.h"

#include "base/text.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {

Result<const Instruction*> ProductOf(const EmitRequest& request) {
  const std::vector<const Instruction*> heroes = TRY(request.Heroes());
  TRY(request.Require(heroes.size() == 1 && (heroes[0]->Is(Opcode::kDot) || heroes[0]->Is(Opcode::kConvolution)) &&
                          heroes[0]->operand_count() == 2,
                      "its hero must be one dot or convolution of two operands"));
  const Instruction& hero = *heroes[0];
  const PrimitiveType type = hero.shape().type();
  TRY(KernelType(hero, type));
  TRY(request.Require(type != PrimitiveType::kPred && !IsComplex(type) && !(Saturates(hero) && BitWidth(type) == 64),
                      Str("there are no tiled kernels for the type of '", hero.name(), "'")));
  return &hero;
}

Type SumTypeOf(const Instruction& product) {
  // A sum of products of u32 may exceed s64.
  if (Saturates(product)) return IsSigned(product.shape().type()) ? Type::kS64 : Type::kU64;
  const Type declared = KernelTypeOf(product.shape().type());
  if (kernel::IsInteger(declared) && kernel::Bits(declared) < 32) return Type::kS32;
  return AccumulatorType(product, declared);
}

Result<std::unique_ptr<ContractionSpace>> ProductSpaceOf(const EmitRequest& request, const Instruction& product) {
  std::string why_not;
  auto space = TRY(ContractionSpaceOf(request.body, product, &why_not));
  TRY(request.Require(space != nullptr, why_not.empty() ? "the product has no terms" : why_not));
  return space;
}

std::array<TileAxis, 3> ProductAxes(const ContractionSpace& space) {
  return {TileAxis{space.row().size, Role::kKept}, TileAxis{space.column().size, Role::kKept},
          TileAxis{space.term().size, Role::kReduced}};
}

ProductResults::ProductResults(const ContractionSpace& space, const Instruction& hero, KernelFrame& frame)
    : space_(space), hero_(hero), declared_(KernelTypeOf(hero.shape().type())), frame_(frame) {
  for (const auto& output : space.outputs) outputs_.push_back(frame.Output(*output.root));
}

void ProductResults::Store(std::span<const Slot> sums, Value row0, int64_t tile_rows, Value column0,
                           int64_t tile_columns) {
  KernelBuilder& k = frame_.k();
  Emission& emission = frame_.emission();
  emission.SetLane(space_.column().e);
  const int64_t rows = space_.row().size, warp_rows = std::ssize(sums);
  const Value first = row0 + k.warp() * warp_rows;
  const auto store = [&](int64_t r) {
    Emission::Scope scope(emission);
    emission.Bind(space_.row().e, first + r);
    StoreRow(sums[r], column0, tile_columns);
  };
  const auto store_all = [&] {
    for (int64_t r = 0; r < warp_rows; ++r) store(r);
  };
  // If rows % warp_rows is 0, a warp has all its rows or none.
  if (rows % tile_rows == 0) return store_all();
  if (rows % warp_rows == 0) return k.If(first < rows, store_all);
  for (int64_t r = 0; r < warp_rows; ++r) k.If(first + r < rows, [&] { store(r); });
}

void ProductResults::StoreRow(const Slot& sum, Value column0, int64_t tile_columns) {
  Emission& emission = frame_.emission();
  emission.Hoist(space_.Values());
  for (const auto& output : space_.outputs) emission.Hoist(output.offset);
  TileOver(frame_.k(), sum.width(), space_.column().size, column0, tile_columns, [&](Value j) {
    Emission::Scope in_tile(emission);
    emission.Bind(space_.column().e, column0 + j);
    for (const NodeId given : space_.given) emission.Bind(given, {Declared(sum.Get())});
    std::vector<std::vector<Value>> results;
    for (const auto& output : space_.outputs) results.push_back(emission.EmitParts(std::span(&output.value, 1)));
    for (size_t o = 0; o < results.size(); ++o)
      StoreElement(outputs_[o], emission.Lower(space_.outputs[o].offset), results[o]);
  });
}

Value ProductResults::Declared(Value sum) const {
  const PrimitiveType type = hero_.shape().type();
  if (!Saturates(hero_)) return Convert(sum, declared_);
  const int64_t most = (int64_t{1} << (BitWidth(type) - IsSigned(type))) - 1;
  const int64_t least = IsSigned(type) ? -most - 1 : 0;
  return Convert(kernel::Max(kernel::Min(sum, kernel::ConstantLike(sum, most)), kernel::ConstantLike(sum, least)),
                 declared_);
}

EmittedKernel ProductResults::Finish(std::string_view emitter, Type accumulator, int64_t chain,
                                     SumRounding rounding) && {
  EmittedKernel result = std::move(frame_).Finish(emitter);
  if (IsFloat(hero_.shape().type())) {
    result.precision.instructions[hero_.id()].sum =
        SumPlan{.accumulator = accumulator == declared_ ? hero_.shape().type() : PrimitiveType::kF32,
                .rounding = rounding,
                .longest_chain = chain};
  }
  return result;
}

}  // namespace hlo::gpu
