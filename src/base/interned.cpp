#include "base/interned.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace hlo {
namespace {

class Table {
 public:
  std::string_view Add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (2 * used_ >= slots_.size()) Double();
    const uint64_t hash = HashBytes(text);
    Slot& slot = Find(text, hash);
    if (slot.text.data() == nullptr) {
      slot = {Store(text), hash};
      ++used_;
    }
    return slot.text;
  }

 private:
  struct Slot {
    std::string_view text;
    uint64_t hash = 0;
  };

  Slot& Find(std::string_view text, uint64_t hash) {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (slots_[at].text.data() != nullptr && (slots_[at].hash != hash || slots_[at].text != text)) {
      at = (at + 1) & mask;
    }
    return slots_[at];
  }

  void Double() {
    const std::vector<Slot> old = std::move(slots_);
    slots_ = std::vector<Slot>(2 * old.size());
    for (const Slot& slot : old) {
      if (slot.text.data() != nullptr) Find(slot.text, slot.hash) = slot;
    }
  }

  std::string_view Store(std::string_view text) {
    if (text.size() > left_) {
      const size_t bytes = std::max<size_t>(text.size(), 1 << 16);
      blocks_.push_back(std::make_unique<char[]>(bytes));
      at_ = blocks_.back().get();
      left_ = bytes;
    }
    char* const kept = at_;
    std::memcpy(kept, text.data(), text.size());
    at_ += text.size();
    left_ -= text.size();
    return {kept, text.size()};
  }

  std::mutex mutex_;
  std::vector<Slot> slots_ = std::vector<Slot>(1 << 10);
  size_t used_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* at_ = nullptr;
  size_t left_ = 0;
};

}  // namespace

Interned::Interned(std::string_view text) {
  static Table* const table = new Table;  // Outlives every user.
  if (!text.empty()) text_ = table->Add(text);
}

uint64_t HashBytes(std::string_view bytes) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
  uint64_t hash = bytes.size();
  const char* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 32;
  }
  uint64_t rest = 0;
  if (left > 0) std::memcpy(&rest, p, left);
  hash = (hash ^ rest) * kOdd;
  return hash ^ hash >> 32;
}

}  // namespace hlo
