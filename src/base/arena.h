// Arena allocates bytes. Pool allocates places for objects of one type, and reuses the places that are passed to Give.
// Both free their memory only when destroyed. Neither calls constructors or destructors.
#ifndef HLO_BASE_ARENA_H_
#define HLO_BASE_ARENA_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace hlo {

class Arena {
 public:
  void* Allocate(size_t bytes, size_t alignment) {
    const size_t skipped = -reinterpret_cast<size_t>(at_) & (alignment - 1);
    if (skipped + bytes > left_) return AllocateBlock(bytes, alignment);
    std::byte* const place = at_ + skipped;
    at_ = place + bytes;
    left_ -= skipped + bytes;
    return place;
  }

  std::string_view Copy(std::string_view text) {
    if (text.empty()) return {};
    auto* const place = static_cast<char*>(Allocate(text.size(), 1));
    std::memcpy(place, text.data(), text.size());
    return {place, text.size()};
  }

 private:
  void* AllocateBlock(size_t bytes, size_t alignment) {
    next_block_ = std::clamp<size_t>(2 * next_block_, 1 << 10, 1 << 18);
    left_ = std::max(bytes + alignment, next_block_);
    blocks_.emplace_back(new std::byte[left_]);
    at_ = blocks_.back().get();
    return Allocate(bytes, alignment);
  }

  std::byte* at_ = nullptr;
  size_t left_ = 0;
  size_t next_block_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

template <class T>
class Pool {
 public:
  void* Take() {
#ifdef __SANITIZE_ADDRESS__
    return ::operator new(sizeof(T), std::align_val_t(alignof(T)));  // Lets the sanitizer detect uses after Give.
#endif
    if (free_ == nullptr) return arena_.Allocate(std::max(sizeof(T), sizeof(Free)), alignof(T));
    return std::exchange(free_, free_->next);
  }
  void Give(void* place) {
#ifdef __SANITIZE_ADDRESS__
    return ::operator delete(place, std::align_val_t(alignof(T)));
#endif
    free_ = new (place) Free{free_};
  }

 private:
  struct Free {
    Free* next;
  };
  Free* free_ = nullptr;
  Arena arena_;
};

}  // namespace hlo

#endif  // HLO_BASE_ARENA_H_
