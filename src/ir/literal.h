// The value of a shape. Elements are in row-major order, independent of the layout of the shape. Sub-byte types use one
// byte per element (s4 as int8_t, u4 as uint8_t, f4 and f6 as their bits). Copies share their bytes, and a writer first
// gets its own copy.
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
  explicit Literal(Shape shape);                     // Filled with zeros; a tuple has elements of zeros.
  static Literal Uninitialized(const Shape& shape);  // An array whose bytes are undefined until the caller writes them.
  static Literal Tuple(std::vector<Literal> elements);
  // An array whose elements were omitted in the text, `{...}`. It has no bytes and is not equal to anything, including
  // itself. An array without elements is always known.
  static Literal Elided(const Shape& shape);
  // Whether no part of it is elided.
  bool IsKnown() const;

  // A scalar with `value` converted to `type`: integers wrap, floats round once, complex numbers get the imaginary part
  // 0.
  static Literal Scalar(PrimitiveType type, double value);
  static Literal Scalar(PrimitiveType type, int64_t value);
  // A rank-1 array. T has the memory format of `type`.
  template <class T>
  static Literal Vector(PrimitiveType type, const std::vector<T>& values);

  const Shape& shape() const { return shape_; }
  void SetLayout(Layout layout) { shape_.SetLayout(std::move(layout)); }

  const std::vector<Literal>& elements() const { return elements_; }
  std::vector<Literal>& mutable_elements() { return elements_; }
  const Literal& At(std::span<const int64_t> index) const;

  int64_t byte_size() const { return bytes_; }  // The bytes of this array, 0 for tuples.
  const std::byte* raw() const { return data_.get(); }
  std::byte* mutable_raw();  // Copies the bytes first if they are shared.
  // Whether the bytes are not shared, so that writing them copies nothing.
  bool OwnsBytes() const { return data_.use_count() == 1; }

  template <class T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(raw()), static_cast<size_t>(bytes_) / sizeof(T)};
  }
  template <class T>
  std::span<T> mutable_data() {
    return {reinterpret_cast<T*>(mutable_raw()), static_cast<size_t>(bytes_) / sizeof(T)};
  }

  // One element by its row-major index. 64-bit integers may round, pred gives 0 or 1, and complex gives the real part.
  double GetDouble(int64_t linear) const;
  // Integers and pred, exactly. u64 is returned as its bit pattern. Not for floats.
  int64_t GetInt(int64_t linear) const;
  std::complex<double> GetComplex(int64_t linear) const;
  // Sets the element to `value`, converted as by `Scalar`.
  void SetDouble(int64_t linear, double value);
  void SetInt(int64_t linear, int64_t value);
  void SetComplex(int64_t linear, std::complex<double> value);

  // The same bytes with another shape of the same type and number of elements.
  Literal WithShape(Shape shape) const;

  // The same literal with 0 or 1 in each byte of pred. A wrong kernel may leave other bytes. Kernels read any nonzero
  // byte as true, but in C++ such a bool is undefined.
  Literal WithBools() const;

  // Whether all elements have the bits of element 0. False for tuples and empty arrays.
  bool IsSplat() const;
  // Whether it is a scalar or splat whose element is numerically equal to `value`.
  bool IsAll(double value) const;

  // Whether both are known and have the same bits and, except for the layout, the same shape. NaN payloads and signed
  // zeros count.
  bool BitEquals(const Literal& other) const;
  uint64_t Hash() const;  // Depends on type, dimensions and bits.
  // The same hash, computed only once. The literal must not change afterwards.
  uint64_t KeptHash() const;

 private:
  // A hash of 0 is not known yet. Several threads may copy and hash one literal.
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

// The format of a float type of at most 16 bits. CHECKs for other types.
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
