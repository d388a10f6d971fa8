// Scratch memory of ops, counted like literals (ir/literal_memory.h) and predicted by planned_peak.cpp.
#ifndef HLO_INTERP_SCRATCH_H_
#define HLO_INTERP_SCRATCH_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "base/array_memory.h"
#include "ir/literal_memory.h"

namespace hlo {

// Elements with undefined contents, writable through a const object.
template <class T>
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(int64_t count) : count_(count) {
    if (count == 0) return;
    memory_ = static_cast<T*>(AllocateArray(bytes(), 64));
    if (memory_ == nullptr) throw std::bad_alloc();
    CountLiteralBytes(bytes());
  }
  Scratch(Scratch&& other) noexcept { swap(other); }
  Scratch& operator=(Scratch&& other) noexcept {
    Scratch(std::move(other)).swap(*this);
    return *this;
  }
  ~Scratch() {
    if (memory_ == nullptr) return;
    CountLiteralBytes(-bytes());
    FreeArray(memory_);
  }

  T* data() const { return memory_; }
  T* begin() const { return memory_; }
  T* end() const { return memory_ + count_; }
  int64_t size() const { return count_; }
  T& operator[](int64_t i) const { return memory_[i]; }

  void swap(Scratch& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(count_, other.count_);
  }

 private:
  int64_t bytes() const { return count_ * static_cast<int64_t>(sizeof(T)); }

  T* memory_ = nullptr;
  int64_t count_ = 0;
};

}  // namespace hlo

#endif  // HLO_INTERP_SCRATCH_H_
