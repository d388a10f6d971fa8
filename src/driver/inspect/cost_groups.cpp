#include <algorithm>
#include <functional>
#include <map>
#include <ranges>

#include "base/text.h"
#include "driver/inspect/cost.h"

namespace hlo {
namespace {

struct CostKey {
  std::string_view word;
  bool is_scope;  // Whether "a/b" is inside "a".
  std::string (*of)(const CostRow& row);
};
const CostKey kCostKeys[] = {
    {"op_name", true, [](const CostRow& row) { return row.op_name; }},
    {"source", false, [](const CostRow& row) { return row.source; }},
    {"computation", false, [](const CostRow& row) { return std::string(row.inst->computation().name()); }},
    {"kind", false, [](const CostRow& row) { return row.kind; }},
};

struct Sum {
  CostGroup group;
  int64_t rows = 0;
  bool is_shown = true;
};

void Add(const CostRow& row, Sum* sum) {
  ++sum->rows;
  sum->group.cost += row.cost;
  sum->group.time += row.time;
  if (row.measured_us) sum->group.measured_us = sum->group.measured_us.value_or(0) + *row.measured_us;
}

// Ends of the scopes of a name: "a", "a/b" and "a/b/c" for "a/b/c". Levels beyond kDeepest count as one.
std::vector<size_t> ScopesOf(const std::string& name) {
  constexpr size_t kDeepest = 64;
  std::vector<size_t> ends;
  for (size_t at = name.find('/', 1); at != std::string::npos && ends.size() < kDeepest; at = name.find('/', at + 1))
    ends.push_back(at);
  ends.push_back(name.size());
  return ends;
}

Sum* Around(const std::string& name, std::map<std::string, Sum>& sums) {
  for (size_t at = name.rfind('/'); at != std::string::npos && at > 0; at = name.rfind('/', at - 1)) {
    const auto found = sums.find(name.substr(0, at));
    if (found != sums.end() && found->second.is_shown) return &found->second;
  }
  return nullptr;
}

bool IsLonger(const Sum* a, const Sum* b) {
  const double left = a->group.time.total(), right = b->group.time.total();
  return left != right ? left > right : a->group.name.size() < b->group.name.size();
}

std::vector<CostGroup> InTheirScopes(std::map<std::string, Sum>& sums, const std::vector<Sum*>& shown) {
  std::map<const Sum*, std::vector<Sum*>> inside;
  for (Sum* sum : shown) inside[Around(sum->group.name, sums)].push_back(sum);
  std::vector<CostGroup> groups;
  std::vector<std::pair<Sum*, int>> pending;
  const auto open = [&](const Sum* around, int depth) {
    for (Sum* sum : std::views::reverse(inside[around])) pending.emplace_back(sum, depth);
  };
  open(nullptr, 0);
  while (!pending.empty()) {
    const auto [sum, depth] = pending.back();
    pending.pop_back();
    groups.push_back(sum->group);
    groups.back().depth = depth;
    open(sum, depth + 1);
  }
  return groups;
}

}  // namespace

std::vector<std::string> CostKeyWords() {
  std::vector<std::string> words;
  for (const CostKey& key : kCostKeys) words.emplace_back(key.word);
  return words;
}

std::vector<CostGroup> CostGroupsOf(const CostReport& report, int64_t top) {
  const auto key = std::ranges::find(kCostKeys, report.by, &CostKey::word);
  if (key == std::end(kCostKeys)) return {};
  std::map<std::string, Sum> sums;
  for (const CostRow& row : report.rows) {
    std::string name = key->of(row);
    if (name.empty()) name = "(unknown)";
    const std::vector<size_t> ends = key->is_scope ? ScopesOf(name) : std::vector<size_t>{name.size()};
    for (const size_t end : ends) Add(row, &sums[name.substr(0, end)]);
  }
  for (auto& [name, sum] : sums) sum.group.name = name;
  if (key->is_scope) {
    for (auto& [name, sum] : sums) {
      const size_t slash = name.rfind('/');
      const auto around = slash == std::string::npos ? sums.end() : sums.find(name.substr(0, slash));
      if (around != sums.end() && around->second.rows == sum.rows) around->second.is_shown = false;
    }
  }
  std::vector<Sum*> shown;
  for (auto& [name, sum] : sums) {
    if (sum.is_shown) shown.push_back(&sum);
  }
  std::ranges::stable_sort(shown, IsLonger);
  for (size_t i = top > 0 ? static_cast<size_t>(top) : shown.size(); i < shown.size(); ++i) shown[i]->is_shown = false;
  std::erase_if(shown, [](const Sum* sum) { return !sum->is_shown; });
  return InTheirScopes(sums, shown);
}

}  // namespace hlo
