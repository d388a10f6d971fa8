#include "interp/ops/elementwise.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/ops/elementwise_rows.h"

namespace hlo {

void SetIntegerRange(PrimitiveType type, ElementwiseOp& op);

namespace {

// Null for ops that are not elementwise.
constexpr auto kRows = [] {
  std::array<ElementwiseRow, 256> rows = {};
#define HLO_OPCODE(Name, elementwise) \
  if constexpr (elementwise) rows[static_cast<int>(Opcode::k##Name)] = &Name##Row;
#include "ir/opcodes.inc"
  return rows;
}();

constexpr int64_t kGrain = 1 << 15;
constexpr int64_t kChunk = 256;  // This many elements fit the first-level cache.
constexpr int64_t kWidest = 16;

// The verifier allows mixed float types, but neither the interpreter nor XLA computes a mix with f64.
Status CheckWidths(const Instruction& inst) {
  if (inst.Is(Opcode::kConvert) || inst.Is(Opcode::kStochasticConvert)) return {};
  const auto is_wide = [](const Shape& shape) {
    const Compute compute = ComputeOf(shape.type());
    return compute == Compute::kF64 || compute == Compute::kC128;
  };
  const auto is_real = [](const Shape& shape) { return IsFloat(shape.type()) || IsComplex(shape.type()); };
  const Shape* first = is_real(inst.shape()) ? &inst.shape() : nullptr;
  for (const Instruction* operand : inst.operands()) {
    const Shape& shape = operand->shape();
    if (!is_real(shape)) continue;
    if (first == nullptr) first = &shape;
    if (is_wide(*first) == is_wide(shape)) continue;
    FAIL(UnsupportedAt(inst, "U002",
                       Str("'", inst.opcode(), "' of ", first->type(), " and ", shape.type(),
                           " is not supported by the interpreter; XLA does not compile it either")));
  }
  return {};
}

}  // namespace

Result<ElementwiseOp> ElementwiseOp::Make(const Instruction& inst) {
  TRY(CheckWidths(inst));
  ElementwiseOp op;
  op.operands_ = static_cast<int>(inst.operand_count());
  for (int i = 0; i < op.operands_; ++i) {
    const PrimitiveType type = inst.operand(i).shape().type();
    op.in_bytes_[i] = ByteWidth(type);
    op.in_compute_bytes_[i] = ByteWidth(ComputeOf(type));
    op.load[i] = LoaderOf(type);
    if (inst.operand(i).shape().rank() == 0 && inst.shape().rank() != 0) op.scalars_ |= 1u << i;
  }
  op.bits = BitWidth(inst.operand(0).shape().type());
  op.out_bytes_ = ByteWidth(inst.shape().type());
  op.store = StorerOf(inst.shape().type());
  if (inst.Is(Opcode::kStochasticConvert)) SetIntegerRange(inst.shape().type(), op);
  const ElementwiseRow row = kRows[static_cast<int>(inst.opcode())];
  CHECK(row != nullptr, inst.opcode());
  row(inst, op);
  if (op.kernel == nullptr) {
    FAIL(UnsupportedAt(
        inst, "U002",
        Str("'", inst.opcode(), "' of ", inst.operand(0).shape().type(), " is not supported by the interpreter")));
  }
  for (int i = 0; i < op.operands_; ++i) {
    if (op.load[i] == nullptr) op.in_compute_bytes_[i] = op.in_bytes_[i];
  }
  return op;
}

void ElementwiseOp::RunAll(const std::byte* const* in, std::byte* out, int64_t count) const {
  if (count <= kGrain) return Run(in, out, count, scalars_);
  ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    const std::byte* part[kMaxOperands];
    for (int i = 0; i < kMaxOperands; ++i) part[i] = in[i] + ((scalars_ >> i) & 1 ? 0 : begin * in_bytes_[i]);
    Run(part, out + begin * out_bytes_, end - begin, scalars_);
  });
}

void ElementwiseOp::Run(const std::byte* const* in, std::byte* out, int64_t count, uint32_t scalars) const {
  const bool direct =
      store == nullptr && scalars == 0 && load[0] == nullptr && load[1] == nullptr && load[2] == nullptr;
  if (direct) {
    const void* operands[] = {in[0], operands_ > 1 ? in[1] : nullptr, operands_ > 2 ? in[2] : nullptr};
    kernel(*this, operands, out, count);
    return;
  }
  alignas(64) std::byte staged[kMaxOperands][kChunk * kWidest];
  alignas(64) std::byte result[kChunk * kWidest];
  const void* operands[kMaxOperands] = {};
  for (int i = 0; i < operands_; ++i) {
    if (!((scalars >> i) & 1)) continue;
    alignas(16) std::byte one[kWidest];
    const std::byte* element = in[i];
    if (load[i] != nullptr) {
      load[i](in[i], one, 1);
      element = one;
    }
    Fill(element, in_compute_bytes_[i], staged[i], std::min(count, kChunk));
    operands[i] = staged[i];
  }
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t part = std::min(kChunk, count - begin);
    for (int i = 0; i < operands_; ++i) {
      if ((scalars >> i) & 1) continue;
      const std::byte* from = in[i] + begin * in_bytes_[i];
      operands[i] = from;
      if (load[i] == nullptr) continue;
      load[i](from, staged[i], part);
      operands[i] = staged[i];
    }
    std::byte* to = out + begin * out_bytes_;
    kernel(*this, operands, store == nullptr ? to : result, part);
    if (store != nullptr) store(result, to, part);
  }
}

}  // namespace hlo
