// `hlo ops` asks with a smallest use of each op: the uses must be HLO, and the ground truth goes as far as the kernels.
#include "driver/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hlo {
namespace {

TEST(Coverage, EveryProbeIsValidForSomeTypeAndTheInterpreterKnowsWhatKernelsDo) {
  for (const OpCoverage& op : MeasureCoverage()) {
    if (op.by_type.empty()) continue;
    EXPECT_TRUE(std::any_of(op.by_type.begin(), op.by_type.end(), [](const Support& s) { return s.defined; }))
        << ToString(op.opcode) << ": the probe is valid for no type";
    for (size_t t = 0; t < op.by_type.size(); ++t) {
      EXPECT_TRUE(op.by_type[t].interpreter || !op.by_type[t].kernels)
          << ToString(op.opcode) << " of " << ToString(CoverageTypes()[t]) << ": kernels, but no interpreter";
    }
  }
}

}  // namespace
}  // namespace hlo
