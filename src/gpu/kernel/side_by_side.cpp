#include "gpu/kernel/side_by_side.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "gpu/kernel/renumber.h"

namespace hlo::kernel {
namespace {

// Makes block numbers relative to the kernel's `first` block.
void CountFrom(Region& region, int32_t block, int32_t first) {
  for (Instruction& instruction : region.body) {
    if (instruction.op == Op::kBlock) {
      instruction.op = Op::kSub;
      instruction.operands = {block, first};
    }
    for (Region& inner : instruction.regions) CountFrom(inner, block, first);
  }
}

class Joiner {
 public:
  Joiner(std::string name, std::span<const Kernel* const> kernels, const std::function<int(ArrayOf)>& place)
      : kernels_(kernels), place_(place) {
    whole().name = std::move(name);
    whole().blocks = 0;
    whole().threads = kernels.front()->threads;
    // Several kernels together may need more registers than min_blocks_per_sm allows.
    if (kernels.size() == 1) whole().min_blocks_per_sm = kernels.front()->min_blocks_per_sm;
  }

  SideBySide Join() && {
    Instruction block{.op = Op::kBlock, .type = Type::kIndex, .result = whole().values++};
    block_ = block.result;
    whole().body.body.push_back(std::move(block));
    for (size_t i = 0; i < kernels_.size(); ++i) Take(i);
    Choose(whole().body, 0, kernels_.size());
    return std::move(joined_);
  }

 private:
  Kernel& whole() { return joined_.kernel; }

  void Take(size_t number) {
    const Kernel& kernel = *kernels_[number];
    CHECK(kernel.threads == whole().threads && kernel.cluster == 1, kernel.name, ": ", kernel.threads, " threads, ",
          kernel.cluster, " blocks in a cluster");
    Renumbering to = Behind(whole(), statements_);
    Append(kernel, whole());
    for (size_t i = 0; i < kernel.arrays.size(); ++i) to.arrays.push_back(TakeArray(number, static_cast<int>(i)));
    for (size_t i = 0; i < kernel.arrays.size(); ++i) {
      if (kernel.arrays[i].sizes >= 0) whole().arrays[to.arrays[i]].sizes = to.arrays[kernel.arrays[i].sizes];
    }
    Region body = kernel.body;
    Renumber(body, to);
    statements_ += LastStatement(kernel.body) + 1;
    if (whole().blocks > 0) {
      Instruction first{.op = Op::kConstant, .type = Type::kIndex, .result = whole().values++, .imm = whole().blocks};
      CountFrom(body, block_, first.result);
      body.body.insert(body.body.begin(), std::move(first));
    }
    bodies_.push_back(std::move(body));
    firsts_.push_back(whole().blocks);
    whole().blocks += kernel.blocks;
  }

  int32_t TakeArray(size_t number, int array) {
    const ArrayInfo& info = kernels_[number]->arrays[array];
    const auto next = static_cast<int32_t>(whole().arrays.size());
    const int place = info.kind == ArrayKind::kInput && info.members == 0 ? place_({number, array}) : -1;
    if (place >= 0) {
      const auto [known, is_new] = inputs_.emplace(place, next);
      if (!is_new) {
        whole().arrays[known->second].may_alias |= info.may_alias;
        return known->second;
      }
    }
    whole().arrays.push_back(info);
    joined_.arrays.push_back({number, array});
    return next;
  }

  void Choose(Region& region, size_t begin, size_t end) {
    if (end - begin == 1) {
      std::ranges::move(bodies_[begin].body, std::back_inserter(region.body));
      return;
    }
    const size_t middle = begin + (end - begin) / 2;
    Instruction bound{.op = Op::kConstant, .type = Type::kIndex, .result = whole().values++, .imm = firsts_[middle]};
    Instruction less{.op = Op::kLess, .type = Type::kPred, .result = whole().values++};
    less.operands = {block_, bound.result};
    Instruction branch{.op = Op::kIf};
    branch.operands = {less.result};
    branch.regions.resize(2);
    Choose(branch.regions[0], begin, middle);
    Choose(branch.regions[1], middle, end);
    region.body.push_back(std::move(bound));
    region.body.push_back(std::move(less));
    region.body.push_back(std::move(branch));
  }

  std::span<const Kernel* const> kernels_;
  const std::function<int(ArrayOf)>& place_;
  SideBySide joined_;
  int32_t block_ = -1;
  int32_t statements_ = 0;
  std::unordered_map<int, int32_t> inputs_;
  std::vector<Region> bodies_;
  std::vector<int64_t> firsts_;  // First block of each kernel.
};

}  // namespace

SideBySide PutSideBySide(std::string name, std::span<const Kernel* const> kernels,
                         const std::function<int(ArrayOf)>& place) {
  return Joiner(std::move(name), kernels, place).Join();
}

}  // namespace hlo::kernel
