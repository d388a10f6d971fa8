#include "ir/uses.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace hlo {
namespace {

constexpr size_t kFew = 16;

}  // namespace

// ---- UserList ----------------------------------------------------------------------------------------------------

// A hash table from users to their places in the list, with linear probing.
class UserList::Places {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  explicit Places(const Operands& users) : slots_(std::bit_ceil(4 * users.size())) {
    for (size_t i = 0; i < users.size(); ++i) Add(*users[i], i);
  }

  void Add(const Instruction& user, size_t place) {
    if (2 * ++count_ > slots_.size()) Rehash();
    slots_[Find(user)] = {&user, place};
  }

  size_t Remove(const Instruction& user) {
    size_t hole = Find(user);
    const auto [taken, place] = slots_[hole];
    if (taken == nullptr) return kNone;
    --count_;
    // Moves later entries up, but not before their home slots.
    for (size_t at = Next(hole); slots_[at].user != nullptr; at = Next(at)) {
      if (Distance(Home(*slots_[at].user), at) < Distance(hole, at)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
    return place;
  }

 private:
  struct Slot {
    const Instruction* user = nullptr;
    size_t place = 0;
  };

  size_t Home(const Instruction& user) const {
    const uint64_t hash = reinterpret_cast<uintptr_t>(&user) * 0x9E3779B97F4A7C15;
    return hash >> 32 & (slots_.size() - 1);
  }
  size_t Next(size_t at) const { return (at + 1) & (slots_.size() - 1); }
  size_t Distance(size_t from, size_t to) const { return (to - from) & (slots_.size() - 1); }
  size_t Find(const Instruction& user) const {
    size_t at = Home(user);
    while (slots_[at].user != nullptr && slots_[at].user != &user) at = Next(at);
    return at;
  }
  void Rehash() {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& slot : before) {
      if (slot.user != nullptr) slots_[Find(*slot.user)] = slot;
    }
  }

  std::vector<Slot> slots_;  // The size is a power of two. At most half are used.
  size_t count_ = 0;
};

UserList::UserList() = default;
UserList::~UserList() = default;

void UserList::Add(Instruction& user) {
  if (places_ != nullptr) places_->Add(user, list_.size());
  list_.push_back(&user);
}

bool UserList::Remove(const Instruction& user) {
  size_t place = list_.size();
  if (list_.size() <= kFew) {
    place = std::find(list_.begin(), list_.end(), &user) - list_.begin();
    if (place == list_.size()) return false;
  } else {
    if (places_ == nullptr) places_ = std::make_unique<Places>(list_);
    place = places_->Remove(user);
    if (place == Places::kNone) return false;
  }
  list_[place] = nullptr;
  ++holes_;
  for (; !list_.empty() && list_.back() == nullptr; --holes_) list_.pop_back();
  if (list_.size() <= kFew || 2 * holes_ > list_.size()) RemoveIf([](const Instruction&) { return false; });
  return true;
}

void UserList::ForgetPlaces() { places_.reset(); }

void UserList::Clear() {
  list_ = Operands();
  holes_ = 0;
  places_.reset();
}

// ---- OperandList -------------------------------------------------------------------------------------------------

OperandList& OperandList::operator=(Operands operands) {
  list_ = std::move(operands);
  index_.reset();
  return *this;
}

OperandList::Index* OperandList::IndexOfMany() {
  if (list_.size() <= kFew || index_ != nullptr) return index_.get();
  index_ = std::make_unique<Index>();
  for (size_t i = 0; i < list_.size(); ++i) {
    Held& held = (*index_)[list_[i]];
    ++held.count;
    held.places.push_back(static_cast<int64_t>(i));
  }
  return index_.get();
}

bool OperandList::Holds(const Instruction& operand) {
  if (const Index* index = IndexOfMany()) return index->contains(&operand);
  return std::find(list_.begin(), list_.end(), &operand) != list_.end();
}

void OperandList::Set(int64_t i, Instruction& operand) {
  if (Index* index = IndexOfMany()) {
    const auto before = index->find(list_[i]);
    if (--before->second.count == 0) index->erase(before);
    Held& held = (*index)[&operand];
    ++held.count;
    held.places.push_back(i);
  }
  list_[i] = &operand;
}

int64_t OperandList::Replace(Instruction& operand, Instruction& replacement) {
  Index* const index = IndexOfMany();
  if (index == nullptr) {
    const int64_t count = std::count(list_.begin(), list_.end(), &operand);
    std::replace(list_.begin(), list_.end(), &operand, &replacement);
    return count;
  }
  const auto found = index->extract(&operand);
  if (found.empty()) return 0;
  Held& held = (*index)[&replacement];
  held.count += found.mapped().count;
  for (const int64_t place : found.mapped().places) {
    if (list_[place] != &operand) continue;
    list_[place] = &replacement;
    held.places.push_back(place);
  }
  return found.mapped().count;
}

}  // namespace hlo
