// A pointer-sized holder of a value that is nearly always T(). Only Mutable() and copying a holder of another value
// allocate memory. Equality compares values.
#ifndef HLO_BASE_BOXED_H_
#define HLO_BASE_BOXED_H_

#include <memory>

namespace hlo {

template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }

  const T& operator*() const { return value_ ? *value_ : Default(); }
  const T* operator->() const { return &**this; }
  T& Mutable() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }

  bool operator==(const Boxed& other) const { return value_ == other.value_ || **this == *other; }

 private:
  static const T& Default() {
    static const T kDefault;
    return kDefault;
  }

  std::unique_ptr<T> value_;
};

}  // namespace hlo

#endif  // HLO_BASE_BOXED_H_
