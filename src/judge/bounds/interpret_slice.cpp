// The value of a slice in declared types. Products are added in the interpreter's order, so that results have the same
// bits as in a complete evaluation.
#include <algorithm>

#include "base/parallel.h"
#include "interp/contraction.h"
#include "interp/elements.h"
#include "judge/bounds/contract.h"
#include "judge/bounds/slice.h"

namespace hlo::shadow {
namespace {

struct Place {
  int64_t group, row, column, index;
};

std::vector<Place> PlacesOf(const Contraction& c, const std::vector<int64_t>& at) {
  std::vector<bool> wanted(at.empty() ? 0 : at.back() + 1);
  for (const int64_t index : at) wanted[index] = true;
  std::vector<Place> places;
  places.reserve(at.size());
  for (int64_t group = 0; group < c.groups; ++group) {
    for (int64_t row = 0; row < c.rows; ++row) {
      const int64_t base = c.result_row(group, row);
      for (int64_t column = 0; column < c.columns; ++column) {
        const int64_t index = base + c.result_column[group * c.columns + column];
        if (index < std::ssize(wanted) && wanted[index]) places.push_back({group, row, column, index});
      }
    }
  }
  return places;
}

Literal InterpretWanted(const Instruction& inst, const Literal& lhs, const Literal& rhs, const WantedResults& wanted) {
  const Contraction c = inst.Is(Opcode::kDot) ? ContractionOfDot(inst, lhs.shape(), rhs.shape())
                                              : ContractionOfConvolution(inst, lhs.shape(), rhs.shape(), wanted.whole);
  const PrimitiveType type = inst.shape().type();
  const WidenedElements left(lhs, type), right(rhs, type);
  const std::vector<Place> places = PlacesOf(c, wanted.at);
  const auto run = static_cast<int64_t>(c.left_offset.size());
  Literal result = Literal::Uninitialized(inst.shape());
  WithCompute(ComputeOf(type), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<T> sums(wanted.at.size());
      ParallelFor(std::ssize(places), 64, [&](int64_t begin, int64_t end) {
        std::vector<int64_t> bases(c.positions);
        for (int64_t i = begin; i < end; ++i) {
          const auto [group, row, column, index] = places[i];
          if (i == begin || places[i - 1].row != row || places[i - 1].group != group)
            c.left_bases(group, row, bases.data());
          const T* const from = right.data<T>() + c.right_group[group] + c.right_column[column];
          T sum = 0;
          for (int64_t k = 0; k < c.terms; k += run) {
            if (bases[k / run] < 0) continue;
            const T* const row_from = left.data<T>() + bases[k / run];
            for (int64_t j = 0; j < run; ++j) sum = sum + row_from[c.left_offset[j]] * from[c.right_term[k + j]];
          }
          sums[std::ranges::lower_bound(wanted.at, index) - wanted.at.begin()] = sum;
        }
      });
      StoreElements(sums.data(), type, result.mutable_raw(), std::ssize(sums));
    }
  });
  return result;
}

}  // namespace

Result<Literal> InterpretSlice(const Module& module,
                               const std::unordered_map<const Instruction*, WantedResults>& wanted,
                               std::span<const Literal> args, const InterpretOptions& options) {
  std::unordered_map<const Instruction*, Literal> values;
  std::unordered_map<const Instruction*, int64_t> uses;
  for (const Instruction* inst : module.entry().Instructions()) uses[inst] = inst->UseCount() + inst->IsRoot();
  for (const Instruction* inst : module.entry().PostOrder()) {
    if (uses[inst] == 0) continue;
    if (inst->Is(Opcode::kParameter)) {
      values[inst] = args[inst->parameter_number()];
      continue;
    }
    std::vector<Literal> operands;
    for (const Instruction* operand : inst->operands()) {
      Literal& value = values.at(operand);
      operands.push_back(--uses[operand] == 0 ? std::move(value) : value);
    }
    const auto some = wanted.find(inst);
    values[inst] = some != wanted.end() ? InterpretWanted(*inst, operands[0], operands[1], some->second)
                                        : TRY(Evaluate(*inst, operands, options));
  }
  return std::move(values.at(&module.entry().root()));
}

}  // namespace hlo::shadow
