#include "gpu/kernel/linear.h"

#include <algorithm>

namespace hlo::kernel {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;  // The power of two that "divides" zero.

int64_t PowerOfTwoIn(int64_t value) { return value == 0 ? kMost : std::min(kMost, value & -value); }

class Forms {
 public:
  explicit Forms(const Kernel& kernel) : kernel_(kernel), forms_(kernel.values), constants_(kernel.values, kNone) {}

  void Walk(const Region& region, int64_t tile_width) {
    for (const Instruction& instruction : region.body) {
      Visit(instruction, tile_width);
      for (const Region& inner : instruction.regions) {
        Walk(inner, instruction.op == Op::kTile ? instruction.imm : tile_width);
      }
    }
  }

  std::vector<Linear> Take() { return std::move(forms_); }

 private:
  static constexpr int64_t kNone = INT64_MIN;

  void Visit(const Instruction& instruction, int64_t tile_width) {
    const Op op = instruction.op;
    if (op == Op::kTile) {
      forms_[instruction.regions[0].arguments[0]] = {.stride = 1, .multiple = instruction.imm};
      return;
    }
    bool varies = false;
    for (const int32_t operand : instruction.operands) varies = varies || forms_[operand].stride != 0;
    if (op == Op::kLoop) {
      const int64_t multiple =
          std::min(forms_[instruction.operands[0]].multiple, forms_[instruction.operands[2]].multiple);
      forms_[instruction.regions[0].arguments[0]] = {.stride = varies ? Linear::kVarying : 0, .multiple = multiple};
      return;
    }
    if (instruction.result < 0) return;
    if (op == Op::kConstant) constants_[instruction.result] = instruction.imm;
    // Within a tile, values that each thread computes for itself vary by element.
    const bool own = op == Op::kLoadVector || (IsOwn(kernel_, instruction) && op != Op::kLane && op != Op::kThread);
    if (own && tile_width > 0) varies = true;
    if (op == Op::kLoadVector) {
      for (int64_t i = 0; i < instruction.imm2; ++i)
        forms_[instruction.result + i] = {.stride = tile_width > 0 ? Linear::kVarying : 0, .multiple = 1};
      return;
    }
    Linear form =
        instruction.type == Type::kIndex ? IndexForm(instruction, tile_width) : Linear{.stride = Linear::kVarying};
    if (!varies) form.stride = 0;
    if (own && tile_width > 0) form = {.stride = Linear::kVarying, .multiple = 1};
    forms_[instruction.result] = form;
  }

  Linear IndexForm(const Instruction& instruction, int64_t tile_width) const {
    constexpr Linear kUnknown = {.stride = Linear::kVarying, .multiple = 1};
    if (instruction.op == Op::kConstant) return {.stride = 0, .multiple = PowerOfTwoIn(instruction.imm)};
    if (instruction.operands.size() < 2) return kUnknown;
    const Linear a = forms_[instruction.operands[0]], b = forms_[instruction.operands[1]];
    const int64_t constant_a = constants_[instruction.operands[0]], constant_b = constants_[instruction.operands[1]];
    const bool lines = a.stride != Linear::kVarying && b.stride != Linear::kVarying;
    const int64_t multiple = std::min(a.multiple, b.multiple);
    switch (instruction.op) {
      case Op::kAdd: return {.stride = lines ? a.stride + b.stride : Linear::kVarying, .multiple = multiple};
      case Op::kSub: return {.stride = lines ? a.stride - b.stride : Linear::kVarying, .multiple = multiple};
      case Op::kMul: {
        const int64_t product = std::min(kMost, a.multiple > kMost / b.multiple ? kMost : a.multiple * b.multiple);
        int64_t stride = Linear::kVarying;
        if (lines && constant_b != kNone) stride = a.stride * constant_b;
        if (lines && constant_a != kNone) stride = b.stride * constant_a;
        return {.stride = stride, .multiple = product};
      }
      // V elements from a multiple of V on have one quotient if V divides the divisor.
      case Op::kDiv:
        if (constant_b == kNone || tile_width == 0 || a.stride != 1) return kUnknown;
        if (a.multiple % tile_width != 0 || constant_b % tile_width != 0) return kUnknown;
        return {.stride = 0, .multiple = 1};
      case Op::kRem:
        if (constant_b == kNone) return kUnknown;
        if (a.stride == 1 && tile_width > 0 && a.multiple % tile_width == 0 && constant_b % tile_width == 0) {
          return {.stride = 1, .multiple = std::min(a.multiple, PowerOfTwoIn(constant_b))};
        }
        return {.stride = Linear::kVarying, .multiple = std::min(a.multiple, PowerOfTwoIn(constant_b))};
      case Op::kMin:
      case Op::kMax: return {.stride = Linear::kVarying, .multiple = multiple};
      default: return kUnknown;
    }
  }

  const Kernel& kernel_;
  std::vector<Linear> forms_;
  std::vector<int64_t> constants_;
};

}  // namespace

std::vector<Linear> LinearForms(const Kernel& kernel) {
  Forms forms(kernel);
  forms.Walk(kernel.body, 0);
  return forms.Take();
}

}  // namespace hlo::kernel
