#include "gpu/plan/fft_space.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "gpu/plan/scalar.h"
#include "ir/device_limits.h"
#include "ir/fft_primes.h"

namespace hlo::gpu {
namespace {

// Longer lines have no kernels: each element would need a constant root of unity.
constexpr int64_t kLongest = int64_t{1} << 22;
constexpr int64_t kElementsOfBlock = 2048;

// The sizes of butterflies. `n` must have only kFftPrimes. Two factors of 2 are one butterfly of 4.
std::vector<int64_t> Radices(int64_t n) {
  std::vector<int64_t> radices;
  for (; n % 4 == 0; n /= 4) radices.push_back(4);
  for (const int64_t prime : kFftPrimes) {
    for (; n % prime == 0; n /= prime) radices.push_back(prime);
  }
  return radices;
}

// Two buffers of real and imaginary parts must fit into shared memory.
int64_t MostElements(PrimitiveType part) { return kMostValueBytes / (4 * ByteWidth(part)); }
bool Fits(int64_t length, PrimitiveType part) { return FftForm(length).size <= MostElements(part); }

// Rows of a long line's matrix, 0 if none fits.
int64_t RowsOfLong(int64_t length, PrimitiveType part) {
  for (int64_t rows = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(length))); rows > 1; --rows) {
    if (rows * rows <= length && length % rows == 0) return Fits(rows, part) && Fits(length / rows, part) ? rows : 0;
  }
  return 0;
}

FftStep Along(const Dims& dims, int64_t d, int64_t length) {
  FftStep step{.length = length, .whole = length, .read = length, .written = length};
  for (int64_t i = 0; i < std::ssize(dims); ++i) {
    if (i < d) step.outer *= dims[i];
    if (i > d) step.inner *= dims[i];
  }
  return step;
}

Status AddStep(FftSpace& space, const FftStep& step) {
  if (Fits(step.points(), space.part)) {
    space.steps.push_back(step);
    return {};
  }
  const int64_t rows = step.inner == 1 && step.length <= kLongest ? RowsOfLong(step.length, space.part) : 0;
  if (rows == 0) {
    FAIL(UnsupportedAt(*space.inst, "U109",
                       Str("no kernels for an 'fft' of length ", step.length,
                           ": it is too long for shared memory and cannot be split")));
  }
  FftStep columns = step, lines = step;
  columns.length = columns.rows = lines.rows = rows;
  columns.inner = lines.length = step.length / rows;
  lines.outer = step.outer * rows;
  lines.is_rows = true;
  columns.to_real = lines.from_real = lines.mirrors = false;
  space.steps.push_back(columns);
  space.steps.push_back(lines);
  return {};
}

}  // namespace

FftForm::FftForm(int64_t length) : chirps(length > 1 && !HasOnlyFftPrimes(length)), size(length), first(1) {
  if (chirps) size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * length - 1)));
  // Threads share a matrix that is about square.
  constexpr int64_t kShort = 16;
  for (const int64_t radix : Radices(size)) {
    if (size > kShort && !of_first.empty() && first * first >= size) {
      of_second.push_back(radix);
    } else {
      of_first.push_back(radix);
      first *= radix;
    }
  }
  second = size / first;
}

Result<std::unique_ptr<FftSpace>> FftSpaceOf(const FusionBody& body) {
  if (body.roots().size() != 1 || !body.roots()[0].inst->Is(Opcode::kFft)) return nullptr;
  const FusionBody::Root& root = body.roots()[0];
  auto space = std::make_unique<FftSpace>(body);
  const Instruction& inst = *root.inst;
  space->inst = &inst;
  const Shape &from = inst.operand(0).shape(), &to = inst.shape();
  if (from.NumElements() == 0 || !root.shape->HasDefaultLayout())
    FAIL(UnsupportedAt(inst, "U109", "no emitter for an 'fft' that is empty or whose result is not row-major"));
  const auto& attrs = inst.attrs<FftAttrs>();
  const bool from_real = attrs.fft_type == FftType::kRfft, to_real = attrs.fft_type == FftType::kIrfft;
  const PrimitiveType complex = from_real ? to.type() : from.type();
  space->is_inverse = to_real || attrs.fft_type == FftType::kIfft;
  space->part = complex == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64;
  const int64_t last = from.rank() - 1, count = std::ssize(attrs.fft_length), length = attrs.fft_length.back();
  FftStep along_last = Along(to.dims(), last, length);
  along_last.read = from.dim(last);
  along_last.written = to.dim(last);
  along_last.from_real = from_real;
  along_last.mirrors = along_last.to_real = to_real;
  if (!to_real) TRY(AddStep(*space, along_last));
  const Dims& between = to_real ? from.dims() : to.dims();
  for (int64_t d = last - 1; d > last - count; --d) TRY(AddStep(*space, Along(between, d, between[d])));
  if (to_real) TRY(AddStep(*space, along_last));
  IndexPool& pool = space->pool;
  const int64_t elements = from.NumElements();
  space->variables.push_back({pool.Variable(0, elements - 1), elements, Role::kKept});
  space->element = TRY(space->graph.Plan(inst.operand(0), pool.Delinearize(space->minor().e, from.dims())));
  return space;
}

int64_t LinesOfBlock(const FftSpace& space, const FftStep& step) {
  const int64_t size = FftForm(step.points()).size;
  const int64_t side_by_side = step.is_rows ? step.rows : step.inner > 1 ? step.inner : step.lines();
  int64_t lines =
      std::min({side_by_side, MostElements(space.part) / size, std::max<int64_t>(1, kElementsOfBlock / size)});
  while (side_by_side % lines != 0) --lines;
  return lines;
}

}  // namespace hlo::gpu
