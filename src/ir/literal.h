// An array or tuple with its values, in row-major order, independent of the layout. Sub-byte types use one byte per
// element (s4 as int8_t, u4 as uint8_t, f4 and f6 as bits). Copies share their bytes until one is written.
#ifndef HLO_IR_LITERAL_H_
#define HLO_IR_LITERAL_H_

#include <atomic>
#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/small_floats.h"
#include "ir/shape.h"

namespace hlo {

class Literal {
 public:
  Literal() = default;
  explicit Literal(Shape shape);                     // Filled with zeros.
  static Literal Uninitialized(const Shape& shape);  // The caller must write all bytes.
  static Literal Tuple(std::vector<Literal> elements);
  // An array whose values the text omits, `{...}`. It has no bytes and does not even equal itself. An array without
  // elements is always known.
  static Literal Elided(const Shape& shape);
  bool IsKnown() const;

  // Integers wrap, floats round once, complex numbers get the imaginary part 0.
  static Literal Scalar(PrimitiveType type, double value);
  static Literal Scalar(PrimitiveType type, int64_t value);
  // Elements are converted as by Scalar.
  template <class T>
  static Literal Vector(PrimitiveType type, const std::vector<T>& values);

  const Shape& shape() const { return shape_; }
  void SetLayout(Layout layout) { shape_.SetLayout(std::move(layout)); }

  const std::vector<Literal>& elements() const { return elements_; }
  std::vector<Literal>& mutable_elements() { return elements_; }
  const Literal& At(std::span<const int64_t> index) const;

  int64_t byte_size() const { return bytes_; }  // 0 for tuples.
  const std::byte* raw() const { return data_.get(); }
  std::byte* mutable_raw();  // Copies shared bytes first.
  bool OwnsBytes() const { return data_.use_count() == 1; }

  template <class T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(raw()), static_cast<size_t>(bytes_) / sizeof(T)};
  }
  template <class T>
  std::span<T> mutable_data() {
    return {reinterpret_cast<T*>(mutable_raw()), static_cast<size_t>(bytes_) / sizeof(T)};
  }

  // 64-bit integers may round, pred gives 0 or 1, complex the real part.
  double GetDouble(int64_t linear) const;
  // Exact for integers and pred. A u64 keeps its bit pattern. Not for floats.
  int64_t GetInt(int64_t linear) const;
  std::complex<double> GetComplex(int64_t linear) const;
  void SetDouble(int64_t linear, double value);
  void SetInt(int64_t linear, int64_t value);
  void SetComplex(int64_t linear, std::complex<double> value);

  // Returns another shape with shared bytes. `shape` must have the same type and number of elements.
  Literal WithShape(Shape shape) const;

  // A copy in which each byte of pred is 0 or 1. Wrong kernels may leave other bytes, which are undefined as a C++
  // bool.
  Literal WithBools() const;

  // False for tuples and empty arrays.
  bool IsSplat() const;
  bool IsAll(double value) const;

  // Whether both are known, with equal bits and, except for the layout, equal shapes. NaN payloads and signed zeros
  // count.
  bool BitEquals(const Literal& other) const;
  uint64_t Hash() const;
  // An array keeps the hash. Earlier spans of mutable_data must not be written afterwards.
  uint64_t KeptHash() const;

 private:
  // 0: not computed yet. Several threads may copy and hash one literal.
  struct Kept {
    std::atomic<uint64_t> hash = 0;
    Kept() = default;
    Kept(const Kept& other) : hash(other.Get()) {}
    Kept& operator=(const Kept& other) { return Set(other.Get()); }
    uint64_t Get() const { return hash.load(std::memory_order_relaxed); }
    Kept& Set(uint64_t value) {
      hash.store(value, std::memory_order_relaxed);
      return *this;
    }
  };

  Shape shape_;
  bool elided_ = false;
  int64_t bytes_ = 0;
  std::shared_ptr<std::byte[]> data_;
  std::vector<Literal> elements_;
  mutable Kept kept_;
};

// For floats of at most 16 bits; CHECKs for others.
FloatFormat FormatOf(PrimitiveType type);

template <class T>
Literal Literal::Vector(PrimitiveType type, const std::vector<T>& values) {
  Literal literal(Shape(type, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      literal.SetInt(i, values[i]);
    } else {
      literal.SetDouble(i, values[i]);
    }
  }
  return literal;
}

}  // namespace hlo

#endif  // HLO_IR_LITERAL_H_
