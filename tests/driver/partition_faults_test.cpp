// Plants faults in the program of one device. The judge of that program must find each fault, and name the pass and the
// value whose parts are wrong first.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "driver/run/run.h"
#include "ir/mutation.h"
#include "passes/pass.h"

namespace hlo {
namespace {

struct Case {
  std::string_view fault;
  std::string_view module;  // A file of testdata/devices, without extension.
  std::string_view value;   // An instruction of the file.
};

constexpr Case kCases[] = {
    // Faults of the partitioner.
    {"dropped_sum", "tensor_parallel", "sum"},
    {"dropped_sum", "uneven", "sums"},
    {"dropped_sum", "lookup", "found"},
    {"dropped_sum", "conditional", "row"},
    {"dropped_sum", "manual_region", "product"},
    {"forgotten_mask", "halo", "features"},
    {"forgotten_mask", "uneven", "sums"},
    {"forgotten_mask", "lookup", "found"},
    {"forgotten_mask", "rearranged", "both"},
    {"wrong_digit", "halo", "features"},
    {"wrong_digit", "uneven", "numbers"},
    {"wrong_digit", "lookup", "found"},
    {"wrong_digit", "conditional", "row"},
    {"wrong_group", "tensor_parallel", "sum"},
    {"wrong_group", "manual_region", "product"},
    {"wrong_neighbour", "halo", "features"},
    {"wrong_neighbour", "rearranged", "both"},
    // Faults of single instructions.
    {"other_branch", "conditional", "chosen"},
    {"reversed_window", "halo", "features"},
    {"shifted_padding", "halo", "padded"},
    {"shifted_padding", "lookup", "block"},
    {"shifted_slice", "halo", "features"},
    {"swapped_bounds", "rearranged", "limited"},
    {"swapped_cases", "lookup", "found"},
    {"swapped_dimensions", "halo", "pooled"},
    {"swapped_operands", "loop", "rest"},
    {"swapped_operands", "manual_region", "rest"},
    {"swapped_operands", "uneven", "rest"},
    {"swapped_pieces", "rearranged", "both"},
    {"wrong_constant", "loop", "steps"},
    {"wrong_contraction", "tensor_parallel", "product"},
    {"wrong_direction", "loop", "more"},
    {"wrong_reversed_dimension", "rearranged", "backwards"},
    // Roundings of the scores may send a token to another expert, and so explain wrong results.
    {"shifted_window", "routing", "count"},
    // Roundings may explain every result of this module.
    {"dropped_sum", "chaotic", "sum"},
};

class PartitionFaults : public testing::TestWithParam<Case> {};

TEST_P(PartitionFaults, AreNamed) {
  const Case& test = GetParam();
  RunOptions options;
  options.platform = "interpreter";
  options.compare_mode = CompareMode::kPartition;
  options.poison_padding = true;
  options.pipeline.inject = Str("spmd-partitioning:", test.fault);
  Progress progress(true);
  const auto report = RunModule(Str("testdata/devices/", test.module, ".hlo"), options, progress);
  ASSERT_TRUE(report) << Render(report.error(), "test");
  EXPECT_EQ(report->exit, ExitCode::kNo) << report->verdict;
  EXPECT_EQ(report->culprit.name, "spmd-partitioning#1");
  EXPECT_EQ(report->culprit.input, test.value) << report->culprit.text;
}

INSTANTIATE_TEST_SUITE_P(Planted, PartitionFaults, testing::ValuesIn(kCases),
                         [](const auto& info) { return Str(info.param.fault, "_in_", info.param.module); });

TEST(PartitionFaultsCatalogue, HasACaseForEachFaultOfThePartitioner) {
  std::set<std::string_view> faults, mutations;
  for (const Case& test : kCases) (FindMutation(test.fault) == nullptr ? faults : mutations).insert(test.fault);
  for (const std::string_view fault : FaultsOf("spmd-partitioning")) EXPECT_TRUE(faults.contains(fault)) << fault;
  EXPECT_GE(mutations.size(), 8u);
}

}  // namespace
}  // namespace hlo
