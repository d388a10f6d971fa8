// A vector of trivially copyable values, such as dimensions. Up to N are stored in place.
#ifndef HLO_BASE_INLINE_VECTOR_H_
#define HLO_BASE_INLINE_VECTOR_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace hlo {

template <class T, uint32_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() {}
  InlineVector(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  InlineVector(const std::vector<T>& values) { assign(values.begin(), values.end()); }
  template <std::input_iterator It>
  InlineVector(It begin, It end) {
    assign(begin, end);
  }
  InlineVector(const InlineVector& other) {
    if (other.capacity_ == N) CopyInPlace(other);
    else assign(other.begin(), other.end());
  }
  InlineVector(InlineVector&& other) noexcept { MoveFrom(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) {
      Free();
      MoveFrom(other);
    }
    return *this;
  }
  ~InlineVector() { Free(); }

  operator std::vector<T>() const { return std::vector<T>(begin(), end()); }

  T* data() { return capacity_ == N ? inline_ : heap_; }
  const T* data() const { return capacity_ == N ? inline_ : heap_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  auto rbegin() const { return std::reverse_iterator(end()); }
  auto rend() const { return std::reverse_iterator(begin()); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void clear() { size_ = 0; }
  void push_back(T value) {
    if (size_ == capacity_) ReserveAtLeast(size_ + 1);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  void resize(size_t size, T value = T()) {
    ReserveAtLeast(size);
    if (size > size_) std::fill(data() + size_, data() + size, value);
    size_ = static_cast<uint32_t>(size);
  }
  template <std::input_iterator It>
  void assign(It begin, It end) {
    const auto count = static_cast<size_t>(std::distance(begin, end));
    ReserveAtLeast(count);
    std::copy(begin, end, data());
    size_ = static_cast<uint32_t>(count);
  }
  T* insert(const T* at, T value) {
    const size_t i = at - begin();
    push_back(value);
    std::rotate(begin() + i, end() - 1, end());
    return begin() + i;
  }
  T* erase(const T* at) {
    T* const hole = begin() + (at - begin());
    std::copy(hole + 1, end(), hole);
    --size_;
    return hole;
  }

  bool operator==(const InlineVector& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
  template <class U>
  bool operator==(const std::vector<U>& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  void ReserveAtLeast(size_t size) {
    if (size <= capacity_) return;
    const size_t capacity = std::max<size_t>(size, 2 * capacity_);
    T* const grown = new T[capacity];
    std::copy(begin(), end(), grown);
    Free();
    heap_ = grown;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void Free() {
    if (capacity_ != N) delete[] heap_;
    capacity_ = N;
  }
  void MoveFrom(InlineVector& other) {
    CopyInPlace(other);  // The heap pointer is copied, too.
    capacity_ = std::exchange(other.capacity_, N);
    other.size_ = 0;
  }
  // Copies the whole storage: a fixed size is faster than a loop.
  void CopyInPlace(const InlineVector& other) {
    size_ = other.size_;
    std::memcpy(static_cast<void*>(inline_), other.inline_, sizeof inline_);
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  union {
    T inline_[N] = {};
    T* heap_;
  };
};

}  // namespace hlo

#endif  // HLO_BASE_INLINE_VECTOR_H_
