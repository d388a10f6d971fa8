// The operands of an instruction, and its users in the order of first uses. Changes take constant time: long lists get
// an index at the first change.
#ifndef HLO_IR_USES_H_
#define HLO_IR_USES_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/inline_vector.h"

namespace hlo {

class Instruction;

using Operands = InlineVector<Instruction*, 3>;

// A view of the users, each once. The list must not change meanwhile.
class Users {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Instruction*;
    using difference_type = std::ptrdiff_t;
    using pointer = Instruction* const*;
    using reference = Instruction* const&;

    Iterator() = default;
    Iterator(pointer at, pointer end) : at_(at), end_(end) { SkipHoles(); }
    reference operator*() const { return *at_; }
    Iterator& operator++() {
      ++at_;
      SkipHoles();
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void SkipHoles() {
      while (at_ != end_ && *at_ == nullptr) ++at_;
    }
    pointer at_ = nullptr, end_ = nullptr;
  };

  // `holes` entries of `all` are null.
  Users(std::span<Instruction* const> all, size_t holes) : all_(all), size_(all.size() - holes) {}
  Iterator begin() const { return {all_.data(), all_.data() + all_.size()}; }
  Iterator end() const { return {all_.data() + all_.size(), all_.data() + all_.size()}; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Instruction* front() const { return *begin(); }

 private:
  std::span<Instruction* const> all_;
  size_t size_;
};

// Removing a user leaves a hole. At most half of the entries are holes, and the last entry never is.
class UserList {
 public:
  UserList();
  ~UserList();
  Users users() const { return {list_, holes_}; }
  bool empty() const { return list_.empty(); }
  bool EndsWith(const Instruction& user) const { return !list_.empty() && list_.back() == &user; }
  void Add(Instruction& user);  // `user` must not be in the list.
  bool Remove(const Instruction& user);
  template <class Goes>
  void RemoveIf(Goes goes) {
    const auto is_gone = [&](const Instruction* user) { return user == nullptr || goes(*user); };
    list_.resize(std::remove_if(list_.begin(), list_.end(), is_gone) - list_.begin());
    holes_ = 0;
    ForgetPlaces();
  }
  void Clear();

 private:
  class Places;

  void ForgetPlaces();

  Operands list_;
  size_t holes_ = 0;
  std::unique_ptr<Places> places_;
};

class OperandList {
 public:
  OperandList& operator=(Operands operands);
  const Operands& list() const { return list_; }
  bool Holds(const Instruction& operand);
  void Set(int64_t i, Instruction& operand);
  int64_t Replace(Instruction& operand, Instruction& replacement);

 private:
  struct Held {
    int64_t count = 0;
    std::vector<int64_t> places;  // Some of these places may hold another operand now.
  };
  using Index = std::unordered_map<const Instruction*, Held>;
  Index* IndexOfMany();

  Operands list_;
  std::unique_ptr<Index> index_;
};

}  // namespace hlo

#endif  // HLO_IR_USES_H_
