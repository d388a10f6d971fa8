// fft in c128: radix 2 while the length is even, then sums by the definition of the transform.
#include <cmath>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "interp/contraction.h"
#include "interp/elements.h"
#include "interp/evaluation.h"

namespace hlo {
namespace {

// out[k] = sum_j in[j * stride] * root(j * k), where root(i) = roots[i * step] and n = roots.size() / step.
void Transform(const C128* in, int64_t stride, C128* out, int64_t n, const Scratch<C128>& roots, int64_t step) {
  if (n % 2 != 0 || n == 0) {
    for (int64_t k = 0; k < n; ++k) {
      C128 sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += in[j * stride] * roots[j * k % n * step];
      out[k] = sum;
    }
    return;
  }
  const int64_t half = n / 2;
  Transform(in, 2 * stride, out, half, roots, 2 * step);
  Transform(in + stride, 2 * stride, out + half, half, roots, 2 * step);
  for (int64_t k = 0; k < half; ++k) {
    const C128 even = out[k], odd = roots[k * step] * out[half + k];
    out[k] = even + odd;
    out[half + k] = even - odd;
  }
}

Scratch<C128> Roots(int64_t n, bool inverse) {
  Scratch<C128> roots(n);
  for (int64_t i = 0; i < n; ++i) {
    const double angle = (inverse ? 2 : -2) * M_PI * static_cast<double>(i) / static_cast<double>(n);
    roots[i] = {std::cos(angle), std::sin(angle)};
  }
  return roots;
}

void TransformLines(const Scratch<C128>& data, int64_t n, int64_t stride, bool inverse) {
  const Scratch<C128> roots = Roots(n, inverse);
  const int64_t lines = data.size() / n;
  ParallelFor(lines, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
    const Scratch<C128> line(n), out(n);
    for (int64_t i = begin; i < end; ++i) {
      C128* at = data.data() + i / stride * stride * n + i % stride;
      bool zero = true;
      for (int64_t j = 0; j < n; ++j) {
        line[j] = at[j * stride];
        zero &= line[j] == C128(0);
      }
      if (zero) continue;
      Transform(line.data(), 1, out.data(), n, roots, 1);
      for (int64_t j = 0; j < n; ++j) at[j * stride] = inverse ? out[j] / static_cast<double>(n) : out[j];
    }
  });
}

}  // namespace

Result<Literal> EvalFft(Evaluation& e) {
  const FftAttrs& attrs = e.inst.attrs<FftAttrs>();
  const Shape &from = e.operands[0].shape(), &shape = e.inst.shape();
  if (shape.NumElements() == 0 || from.NumElements() == 0) return Literal(shape);
  const Literal wide = Converted(e.operands[0], PrimitiveType::kC128);
  const bool inverse = attrs.fft_type == FftType::kIfft || attrs.fft_type == FftType::kIrfft;
  const bool from_real = attrs.fft_type == FftType::kRfft, to_real = attrs.fft_type == FftType::kIrfft;
  const int64_t length = attrs.fft_length.back(), stored = from.dims().back(), kept = shape.dims().back();
  const auto* in = wide.data<C128>().data();
  const int64_t rows = from.NumElements() / stored, transformed = static_cast<int64_t>(attrs.fft_length.size());

  // `width` is the size of the last dimension.
  const auto transform_outer = [&](const Scratch<C128>& data, int64_t width) {
    int64_t stride = width;
    for (int64_t d = transformed - 1; d-- > 0;) {
      TransformLines(data, attrs.fft_length[d], stride, inverse);
      stride *= attrs.fft_length[d];
    }
  };
  Scratch<C128> data(from.NumElements());
  std::copy_n(in, from.NumElements(), data.data());
  if (to_real) {
    // Negative frequencies are the conjugates of positive frequencies.
    transform_outer(data, stored);
    Scratch<C128> full(rows * length);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t j = 0; j < length; ++j) {
        full[row * length + j] = j < stored ? data[row * stored + j] : std::conj(data[row * stored + length - j]);
      }
    }
    TransformLines(full, length, 1, true);
    data = std::move(full);
  } else {
    TransformLines(data, length, 1, inverse);
    transform_outer(data, from_real ? stored : kept);
  }
  Literal result = Literal::Uninitialized(Shape(PrimitiveType::kC128, shape.dims()));
  auto* out = result.mutable_data<C128>().data();
  const int64_t width = data.size() / rows;
  for (int64_t row = 0; row < rows; ++row) std::copy_n(data.begin() + row * width, kept, out + row * kept);
  return Converted(result, shape.type());
}

}  // namespace hlo
