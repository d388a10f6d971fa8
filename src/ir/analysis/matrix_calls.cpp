#include "ir/analysis/matrix_calls.h"

#include <algorithm>

#include <string>
#include <string_view>

#include "base/text.h"
#include "ir/fusion.h"

namespace hlo {
namespace {

// The letter with the code in `key`, such as 'L' in backend_config={key = 76 : ui8}.
char OptionOf(const Instruction& call, std::string_view key, char missing) {
  const std::string config = ConfigText(call);
  std::string_view text = config;
  if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
  for (const std::string_view field : Split(text, ',')) {
    const size_t equals = field.find('=');
    if (equals == std::string_view::npos || Trim(field.substr(0, equals)) != key) continue;
    const std::string_view value = field.substr(equals + 1);
    int64_t code = 0;
    return ParseInt(Trim(value.substr(0, value.find(':'))), &code) ? static_cast<char>(code) : missing;
  }
  return missing;
}

bool HasType(const Shape& shape, char letter) {
  constexpr std::pair<char, PrimitiveType> kTypes[] = {
      {'s', PrimitiveType::kF32}, {'d', PrimitiveType::kF64}, {'c', PrimitiveType::kC64}, {'z', PrimitiveType::kC128}};
  return std::ranges::any_of(kTypes,
                             [&](const auto& row) { return row.first == letter && row.second == shape.type(); });
}

bool IsMatrices(const Instruction& inst, char letter) {
  const Shape& shape = inst.shape();
  return shape.IsArray() && shape.rank() >= 2 && !shape.HasDynamicDims() && shape.NumElements() > 0 &&
         HasType(shape, letter);
}

bool IsSquare(const Shape& shape) { return shape.dim(shape.rank() - 2) == shape.dim(shape.rank() - 1); }

Shape Behind(const Shape& like, PrimitiveType type, std::initializer_list<int64_t> last) {
  Dims dims(like.dims().begin(), like.dims().end() - 2);
  for (const int64_t size : last) dims.push_back(size);
  return Shape(type, dims);
}

bool Fits(const MatrixCall& call, const Instruction& inst) {
  const Shape &a = inst.operand(0).shape(), info = Behind(a, PrimitiveType::kS32, {});
  if (call.routine == MatrixRoutine::kPotrf)
    return inst.operand_count() == 1 && IsSquare(a) && Compatible(inst.shape(), Shape::Tuple({a, info}));
  if (call.routine == MatrixRoutine::kGetrf) {
    const int64_t size = std::min(a.dim(a.rank() - 2), a.dim(a.rank() - 1));
    const Shape pivots = Behind(a, PrimitiveType::kS32, {size});
    return inst.operand_count() == 1 && Compatible(inst.shape(), Shape::Tuple({a, pivots, info}));
  }
  if (inst.operand_count() != 2 || !IsSquare(a)) return false;
  const Shape& b = inst.operand(1).shape();
  if (!b.IsArray() || b.rank() != a.rank() || b.NumElements() == 0 || !Compatible(inst.shape(), b)) return false;
  const int64_t n = a.dim(a.rank() - 1), solved = b.dim(b.rank() - (call.solve.left_side ? 2 : 1));
  return b.type() == a.type() && solved == n && std::equal(a.dims().begin(), a.dims().end() - 2, b.dims().begin());
}

}  // namespace

std::optional<MatrixCall> MatrixCallOf(const Instruction& inst) {
  if (!inst.Is(Opcode::kCustomCall) || inst.operand_count() == 0) return std::nullopt;
  constexpr std::string_view kBefore = "lapack_", kAfter = "_ffi";
  std::string_view target = inst.attrs<CustomCallAttrs>().target;
  if (!target.starts_with(kBefore) || !target.ends_with(kAfter)) return std::nullopt;
  target.remove_prefix(kBefore.size());
  target.remove_suffix(kAfter.size());
  if (target.empty() || !IsMatrices(inst.operand(0), target[0])) return std::nullopt;
  constexpr std::pair<std::string_view, MatrixRoutine> kRoutines[] = {
      {"potrf", MatrixRoutine::kPotrf}, {"getrf", MatrixRoutine::kGetrf}, {"trsm", MatrixRoutine::kTrsm}};
  for (const auto& [name, routine] : kRoutines) {
    if (target.substr(1) != name) continue;
    MatrixCall call{.routine = routine};
    call.solve.lower = OptionOf(inst, "uplo", 'U') == 'L';
    call.solve.left_side = OptionOf(inst, "side", 'L') == 'L';
    call.solve.unit_diagonal = OptionOf(inst, "diag", 'N') == 'U';
    const char transposed = OptionOf(inst, "trans_x", 'N');
    call.solve.transpose_a = transposed == 'N'   ? TransposeKind::kNoTranspose
                             : transposed == 'T' ? TransposeKind::kTranspose
                                                 : TransposeKind::kAdjoint;
    if (Fits(call, inst)) return call;
  }
  return std::nullopt;
}

}  // namespace hlo
