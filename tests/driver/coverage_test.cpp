// Tests of `hlo ops`, which probes each opcode with a smallest use. The uses must be valid, and the interpreter must
// support each opcode and type that has kernels.
#include "driver/run/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/source_text.h"
#include "driver/run/experiment.h"
#include "judge/compare/compare.h"

namespace hlo {
namespace {

TEST(Coverage, EveryProbeIsValidAndTheInterpreterSupportsWhatKernelsDo) {
  for (const OpCoverage& op : MeasureCoverage()) {
    if (op.by_type.empty()) continue;
    EXPECT_TRUE(std::any_of(op.by_type.begin(), op.by_type.end(), [](const Support& s) { return s.defined; }))
        << ToString(op.opcode) << ": the probe is valid for no type";
    for (size_t t = 0; t < op.by_type.size(); ++t) {
      EXPECT_TRUE(op.by_type[t].interpreter || !op.by_type[t].compiled())
          << ToString(op.opcode) << " of " << ToString(CoverageTypes()[t]) << ": kernels, but no interpreter";
    }
  }
}

TEST(Coverage, CompiledOpcodesAgreeWithTheInterpreter) {
  const std::vector<OpCoverage> coverage = MeasureCoverage();
  for (size_t t = 0; t < CoverageTypes().size(); ++t) {
    std::vector<Opcode> compiled;
    for (const OpCoverage& op : coverage) {
      if (!op.by_type.empty() && op.by_type[t].compiled()) compiled.push_back(op.opcode);
    }
    const std::string program = CoverageProgram(compiled, CoverageTypes()[t]);
    SCOPED_TRACE(program);
    RunOptions options;
    options.platform = "cpu";
    options.fallback = false;
    Progress progress(true);
    Experiment experiment(std::make_shared<const SourceText>("probes.hlo", program), options, progress);
    const auto results = experiment.Results();
    ASSERT_TRUE(results) << results.error().message();
    const auto expected = experiment.Interpreted();
    ASSERT_TRUE(expected) << expected.error().message();
    const Comparison comparison = CompareTolerance((*expected)->outputs, (*results)->outputs);
    for (const TensorComparison& output : comparison.outputs) {
      // If each step is rounded to 8 bits, the variance of an expanded batch norm may be below 0, and its root NaN.
      const Opcode opcode = compiled[output.output[0]];
      if (BitWidth(CoverageTypes()[t]) <= 8 && ToString(opcode).starts_with("batch-norm")) continue;
      // Only a mismatch is a failure: with roundings to 8 bits, the bound of two steps is often too wide (vacuous).
      EXPECT_NE(output.verdict, Verdict::kMismatch)
          << ToString(opcode) << " of " << ToString(CoverageTypes()[t]) << ": " << output.reason;
    }
  }
}

}  // namespace
}  // namespace hlo
