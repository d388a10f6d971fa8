#include "base/interned.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "base/arena.h"
#include "base/hash_bytes.h"

namespace hlo {
namespace {

class Table {
 public:
  const Interned::Entry* Add(std::string_view text) {
    const auto hash = static_cast<uint32_t>(HashBytes(text));
    const Locked locked(busy_);
    if (2 * used_ >= slots_.size()) Double();
    Slot& slot = Find(text, hash);
    if (slot.entry == nullptr) {
      slot = {Store(text), hash};
      ++used_;
    }
    return slot.entry;
  }

 private:
  struct Slot {
    const Interned::Entry* entry = nullptr;
    uint32_t hash = 0;
  };

  // A spin lock, held only briefly.
  class Locked {
   public:
    explicit Locked(std::atomic_flag& busy) : busy_(busy) {
      while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    }
    ~Locked() { busy_.clear(std::memory_order_release); }

   private:
    std::atomic_flag& busy_;
  };

  Slot& Find(std::string_view text, uint32_t hash) {
    const auto holds = [&](const Slot& slot) {
      return slot.hash == hash && SameBytes({reinterpret_cast<const char*>(slot.entry + 1), slot.entry->bytes}, text);
    };
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (slots_[at].entry != nullptr && !holds(slots_[at])) at = (at + 1) & mask;
    return slots_[at];
  }

  void Double() {
    const std::vector<Slot> old = std::move(slots_);
    const size_t mask = 2 * old.size() - 1;
    slots_ = std::vector<Slot>(mask + 1);
    for (const Slot& slot : old) {
      if (slot.entry == nullptr) continue;
      size_t at = slot.hash & mask;
      while (slots_[at].entry != nullptr) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  const Interned::Entry* Store(std::string_view text) {
    void* const place = memory_.Allocate(sizeof(Interned::Entry) + text.size(), alignof(Interned::Entry));
    auto* const entry = new (place) Interned::Entry{static_cast<uint32_t>(text.size())};
    std::memcpy(entry + 1, text.data(), text.size());
    return entry;
  }

  std::atomic_flag busy_;
  std::vector<Slot> slots_ = std::vector<Slot>(1 << 10);
  size_t used_ = 0;
  Arena memory_;
};

}  // namespace

Interned::Interned(std::string_view text) {
  static Table* const table = new Table;  // Never destroyed, because static objects may use it.
  if (!text.empty()) entry_ = table->Add(text);
}

}  // namespace hlo
