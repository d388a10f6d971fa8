// A literal: the value of a shape. Elements lie in logical row-major order, whatever the shape's layout says; sub-byte
// types take a byte an element (s4 as int8_t, u4 as uint8_t, f4 and f6 as bits). Copies share their bytes; whoever
// writes gets bytes of his own first.
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
  Literal() = default;                               // The empty tuple.
  explicit Literal(Shape shape);                     // Zeros. For tuples: elements of zeros.
  static Literal Uninitialized(const Shape& shape);  // An array whose every byte the caller is about to write.
  static Literal Tuple(std::vector<Literal> elements);
  // An array whose elements were left out of the text, `{...}`: it has no bytes and equals nothing, not even itself.
  // One that holds no elements is known all the same.
  static Literal Elided(const Shape& shape);
  bool IsKnown() const;  // No part of it is elided.

  // A scalar holding `value` converted to `type` (integers wrap, floats round once; complex gets a zero imaginary
  // part).
  static Literal Scalar(PrimitiveType type, double value);
  static Literal Scalar(PrimitiveType type, int64_t value);
  // A rank-1 array of the given bytes-for-bytes elements.
  template <class T>
  static Literal Vector(PrimitiveType type, const std::vector<T>& values);

  const Shape& shape() const { return shape_; }
  void SetLayout(Layout layout) { shape_.SetLayout(std::move(layout)); }

  const std::vector<Literal>& elements() const { return elements_; }
  std::vector<Literal>& mutable_elements() { return elements_; }
  const Literal& At(std::span<const int64_t> index) const;

  int64_t byte_size() const { return bytes_; }  // Of this array.
  const std::byte* raw() const { return data_.get(); }
  std::byte* mutable_raw();  // Own bytes from here on.
  // Nobody shares this array's bytes, so that writing them copies nothing.
  bool OwnsBytes() const { return data_.use_count() == 1; }

  template <class T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(raw()), static_cast<size_t>(bytes_) / sizeof(T)};
  }
  template <class T>
  std::span<T> mutable_data() {
    return {reinterpret_cast<T*>(mutable_raw()), static_cast<size_t>(bytes_) / sizeof(T)};
  }

  // One element by logical row-major index, widened. Floats and integers to double (64-bit integers may round), pred to
  // 0 or 1, complex gives the real part.
  double GetDouble(int64_t linear) const;
  // Integers and pred exactly; u64 as its bit pattern. Not for floats.
  int64_t GetInt(int64_t linear) const;
  std::complex<double> GetComplex(int64_t linear) const;
  // The element converted from `value` as `Scalar` does.
  void SetDouble(int64_t linear, double value);
  void SetInt(int64_t linear, int64_t value);
  void SetComplex(int64_t linear, std::complex<double> value);

  // The same bits under another shape of equal element count and type (reshape).
  Literal WithShape(Shape shape) const;

  // The same with 0 or 1 for every element of pred. A wrong kernel may have left any byte there, and kernels read what
  // is not 0 as true; C++ has no such bool.
  Literal WithBools() const;

  // All elements have the bits of element 0. False for tuples and empty arrays.
  bool IsSplat() const;
  // A splat (scalars too) whose element equals `value` in value.
  bool IsAll(double value) const;

  // Known, the same shape up to layout and the same bits (NaN payloads and signed zeros count).
  bool BitEquals(const Literal& other) const;
  uint64_t Hash() const;  // Of type, dims and bits.
  // The same, found once: for constants, whose bytes nobody writes through a pointer that he has from before.
  uint64_t KeptHash() const;

 private:
  // 0: not known. Copies of a literal may be made and asked by several threads.
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
  mutable Kept kept_;  // Of arrays.
};

// The float format of a type that has one narrower than f32 (f16 and bf16 too); CHECKs otherwise.
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
