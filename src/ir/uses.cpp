#include "ir/uses.h"

#include <algorithm>

namespace hlo {
namespace {

constexpr size_t kFew = 16;

}  // namespace

// ---- UserList ----------------------------------------------------------------------------------------------------

void UserList::Add(Instruction& user) {
  if (places_ != nullptr) places_->emplace(&user, list_.size());
  list_.push_back(&user);
}

bool UserList::Remove(const Instruction& user) {
  size_t place = list_.size();
  if (list_.size() <= kFew) {
    place = std::find(list_.begin(), list_.end(), &user) - list_.begin();
    if (place == list_.size()) return false;
  } else {
    if (places_ == nullptr) {
      places_ = std::make_unique<std::unordered_map<const Instruction*, size_t>>();
      for (size_t i = 0; i < list_.size(); ++i) places_->emplace(list_[i], i);
    }
    const auto found = places_->find(&user);
    if (found == places_->end()) return false;
    place = found->second;
    places_->erase(found);
  }
  list_[place] = nullptr;
  ++holes_;
  for (; !list_.empty() && list_.back() == nullptr; --holes_) list_.pop_back();
  const bool few = list_.size() <= kFew;
  if (few) places_.reset();
  if (few || 2 * holes_ > list_.size()) RemoveHoles();
  return true;
}

void UserList::RemoveHoles() {
  list_.resize(std::remove(list_.begin(), list_.end(), nullptr) - list_.begin());
  holes_ = 0;
  if (places_ == nullptr) return;
  for (size_t i = 0; i < list_.size(); ++i) (*places_)[list_[i]] = i;
}

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
