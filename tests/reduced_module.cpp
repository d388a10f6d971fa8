#include "tests/reduced_module.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "driver/search/edits.h"
#include "ir/verifier/verifier.h"

namespace hlo {
namespace {

// One size less, or nothing where no size can be: the smallest that is twice `tile` or more, so that its multiples go
// along.
std::unique_ptr<Module> Smaller(const Module& module, int64_t tile) {
  std::vector<int64_t> sizes = SizesOf(module);
  std::ranges::reverse(sizes);
  for (const int64_t from : sizes) {
    if (from < 2 * tile) continue;
    for (const bool multiples : {true, false}) {
      std::unique_ptr<Module> smaller = module.Clone();
      // The layout of the entry says the shapes once more.
      smaller->header.entry_parameters.reset();
      smaller->header.entry_result.reset();
      if (!Resize(*smaller, from, tile + from % tile, multiples)) continue;
      if (ElementCount(*smaller) < ElementCount(module) && Verify(*smaller)) return smaller;
    }
  }
  return nullptr;
}

}  // namespace

int64_t MostElements(const Module& module) {
  int64_t most = 0;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      ForEachLeaf(inst->shape(),
                  [&](const ShapeIndex&, const Shape& leaf) { most = std::max(most, leaf.NumElements()); });
    }
  }
  return most;
}

std::unique_ptr<Module> Reduced(const Module& module, int64_t most_elements) {
  std::unique_ptr<Module> reduced = module.Clone();
  for (const int64_t tile : {64, 16, 8}) {
    while (MostElements(*reduced) > most_elements) {
      std::unique_ptr<Module> smaller = Smaller(*reduced, tile);
      if (smaller == nullptr) break;
      reduced = std::move(smaller);
    }
  }
  return reduced;
}

}  // namespace hlo
