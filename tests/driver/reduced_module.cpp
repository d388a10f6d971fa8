#include "tests/driver/reduced_module.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "driver/search/edits.h"
#include "ir/verifier/verifier.h"

namespace hlo {
namespace {

template <class F>
void ForEachArray(const Module& module, const F& f) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions())
      ForEachLeaf(inst->shape(), [&](const ShapeIndex&, const Shape& leaf) { f(leaf); });
  }
}

// True if equal sizes are still equal, which for example keeps an array's number of parts.
bool KeepsEqualSizes(const Module& before, const Module& after) {
  std::vector<int64_t> sizes[2];
  ForEachArray(before, [&](const Shape& leaf) { std::ranges::copy(leaf.dims(), std::back_inserter(sizes[0])); });
  ForEachArray(after, [&](const Shape& leaf) { std::ranges::copy(leaf.dims(), std::back_inserter(sizes[1])); });
  std::map<int64_t, int64_t> becomes;
  for (size_t i = 0; i < sizes[0].size(); ++i) {
    if (becomes.emplace(sizes[0][i], sizes[1][i]).first->second != sizes[1][i]) return false;
  }
  return true;
}

// The module with one size reduced, and with it its multiples: the smallest size of too large arrays that is at least
// twice `tile`, or else another size. Returns null if there is none.
std::unique_ptr<Module> Smaller(const Module& module, int64_t tile, int64_t most_elements) {
  std::set<int64_t> large;
  ForEachArray(module, [&](const Shape& leaf) {
    if (leaf.NumElements() > most_elements) large.insert(leaf.dims().begin(), leaf.dims().end());
  });
  std::vector<int64_t> sizes(large.begin(), large.end()), all = SizesOf(module);
  std::copy(all.rbegin(), all.rend(), std::back_inserter(sizes));
  for (const int64_t from : sizes) {
    if (from < 2 * tile) continue;
    for (const bool multiples : {true, false}) {
      std::unique_ptr<Module> smaller = module.Clone();
      // The entry layout repeats the old shapes, so it is dropped.
      smaller->header.entry_parameters.reset();
      smaller->header.entry_result.reset();
      if (!Resize(*smaller, from, tile + from % tile, multiples)) continue;
      if (ElementCount(*smaller) < ElementCount(module) && KeepsEqualSizes(module, *smaller) && Verify(*smaller))
        return smaller;
    }
  }
  return nullptr;
}

}  // namespace

int64_t MostElements(const Module& module) {
  int64_t most = 0;
  ForEachArray(module, [&](const Shape& leaf) { most = std::max(most, leaf.NumElements()); });
  return most;
}

std::unique_ptr<Module> Reduced(const Module& module, int64_t most_elements) {
  std::unique_ptr<Module> reduced = module.Clone();
  for (const int64_t tile : {64, 16, 8}) {
    while (MostElements(*reduced) > most_elements) {
      std::unique_ptr<Module> smaller = Smaller(*reduced, tile, most_elements);
      if (smaller == nullptr) break;
      reduced = std::move(smaller);
    }
  }
  return reduced;
}

}  // namespace hlo
