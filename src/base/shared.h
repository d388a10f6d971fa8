// An immutable value that copies share, or none. Equality compares values.
#ifndef HLO_BASE_SHARED_H_
#define HLO_BASE_SHARED_H_

#include <memory>
#include <utility>

namespace hlo {

template <class T>
class Shared {
 public:
  Shared() = default;
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}

  bool empty() const { return value_ == nullptr; }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  const T* get() const { return value_.get(); }

  bool operator==(const Shared& other) const {
    return value_ == other.value_ || (value_ && other.value_ && *value_ == *other.value_);
  }

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace hlo

#endif  // HLO_BASE_SHARED_H_
