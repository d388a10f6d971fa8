// Plants each fault of the catalogue in a small module in which it can occur. The default comparison has to find the
// fault and name the part that has it. `make test-inject` runs these tests.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"
#include "driver/run/run.h"
#include "gpu/kernel/mutation.h"
#include "ir/mutation.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string fault;                  // The value of --inject.
  std::string body;                   // The entry computation's instructions.
  std::vector<std::string> arg = {};  // The values of --arg.
  std::string before;                 // Computations before the entry.
};

constexpr const char* kFolds = R"(
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
half { x = f32[64] parameter(0)
  c = f32[] constant(0.5)
  cs = f32[64] broadcast(c), dimensions={}
  ROOT r = f32[64] multiply(x, cs) }
negative { x = f32[64] parameter(0)
  ROOT r = f32[64] negate(x) }
difference { a = f32[64] parameter(0)
  b = f32[64] parameter(1)
  c = f32[64] exponential(b)
  ROOT r = f32[64] subtract(a, c) }
last_largest { v = f32[] parameter(0)
  i = s32[] parameter(1)
  w = f32[] parameter(2)
  j = s32[] parameter(3)
  larger = pred[] compare(v, w), direction=GT
  equal = pred[] compare(v, w), direction=EQ
  later = pred[] compare(i, j), direction=GT
  tie = pred[] and(equal, later)
  pick = pred[] or(larger, tie)
  value = f32[] select(pick, v, w)
  index = s32[] select(pick, i, j)
  ROOT r = (f32[], s32[]) tuple(value, index) }
running { x = f32[] parameter(0)
  s = f32[] parameter(1)
  n = f32[] add(x, s)
  ROOT r = (f32[], f32[]) tuple(n, n) }
)";

const std::map<std::string_view, Case>& MutationCases() {
  static const auto* const cases = new std::map<std::string_view, Case>{
      {"fewer_mantissa_bits",
       {"", "x = f32[256] parameter(0)\n ROOT r = f32[256] reduce-precision(x), exponent_bits=8, mantissa_bits=7"}},
      {"inverse_fft", {"", "x = c64[4,16] parameter(0)\n ROOT r = c64[4,16] fft(x), fft_type=FFT, fft_length={16}"}},
      {"other_branch",
       {"",
        "p = pred[] parameter(0)\n x = f32[64] parameter(1)\n ROOT r = f32[64] conditional(p, x, x), "
        "true_computation=half, false_computation=negative"}},
      {"other_triangle",
       {"",
        "a = f32[8,8] parameter(0)\n b = f32[8,3] parameter(1)\n ROOT r = f32[8,3] triangular-solve(a, b), "
        "left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE"}},
      {"reversed_scan",
       {"",
        "x = f32[32] parameter(0)\n z = f32[] constant(0)\n s = (f32[32], f32[]) scan(x, z), dimensions={0}, "
        "num_carries=1, is_associative=true, to_apply=running\n ROOT r = f32[32] get-tuple-element(s), index=0"}},
      {"reversed_window",
       {"",
        "x = f32[2,9,9,3] parameter(0)\n w = f32[3,3,3,4] parameter(1)\n ROOT r = f32[2,9,9,4] convolution(x, w), "
        "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"}},
      {"shifted_padding",
       {"", "x = f32[31] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[40] pad(x, z), padding=4_5"}},
      {"shifted_slice", {"", "x = f32[64] parameter(0)\n ROOT r = f32[20] slice(x), slice={[7:27]}"}},
      {"shifted_window",
       {"",
        "x = f32[4,33] parameter(0)\n z = f32[] constant(-inf)\n ROOT r = f32[4,33] reduce-window(x, z), "
        "window={size=1x3 pad=0_0x1_1}, to_apply=max"}},
      {"smallest_for_largest",
       {"",
        "x = f32[4,32] parameter(0)\n t = (f32[4,3], s32[4,3]) topk(x), k=3, largest=true\n"
        " ROOT r = f32[4,3] get-tuple-element(t), index=0"}},
      // The second pass removes calls.
      {"swapped_arguments",
       {"pass:fusion-dissolver#1:swapped_arguments",
        "x = f32[64] parameter(0)\n y = f32[64] parameter(1)\n ROOT r = f32[64] call(x, y), to_apply=difference"}},
      {"swapped_bounds",
       {"",
        "lo = f32[64] parameter(0)\n x = f32[64] parameter(1)\n hi = f32[64] parameter(2)\n"
        " ROOT r = f32[64] clamp(lo, x, hi)",
        {"0=uniform(-1,-0.1)", "2=uniform(0.1,1)"}}},
      {"swapped_cases",
       {"",
        "p = pred[64] parameter(0)\n x = f32[64] parameter(1)\n y = f32[64] parameter(2)\n"
        " ROOT r = f32[64] select(p, x, y)"}},
      {"swapped_dimensions",
       {"", "x = f32[8,8,3] parameter(0)\n ROOT r = f32[3,8,8] transpose(x), dimensions={2,1,0}"}},
      {"swapped_index_map",
       {"",
        "x = f32[8,8] parameter(0)\n i = s32[5,2] parameter(1)\n ROOT r = f32[5] gather(x, i), offset_dims={}, "
        "collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}"}},
      {"swapped_indices",
       {"",
        "x = f32[16,16] parameter(0)\n i = s32[] parameter(1)\n j = s32[] parameter(2)\n"
        " ROOT r = f32[4,4] dynamic-slice(x, i, j), dynamic_slice_sizes={4,4}",
        {"1=2", "2=9"}}},
      {"swapped_operands",
       {"", "x = f32[64] parameter(0)\n y = f32[64] parameter(1)\n ROOT r = f32[64] subtract(x, y)"}},
      {"swapped_pieces",
       {"",
        "x = f32[16] parameter(0)\n y = f32[16] parameter(1)\n ROOT r = f32[32] concatenate(x, y), dimensions={0}"}},
      {"wrong_constant",
       {"",
        "x = f32[64] parameter(0)\n c = f32[] constant(3)\n cs = f32[64] broadcast(c), dimensions={}\n"
        " ROOT r = f32[64] multiply(x, cs)"}},
      {"wrong_contraction",
       {"",
        "a = f32[24,24] parameter(0)\n b = f32[24,24] parameter(1)\n s = f32[24,24] add(a, b)\n"
        " ROOT r = f32[24,24] dot(s, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"}},
      // The operands are equal in one element. OwnFaults has the case in a reducer.
      {"wrong_direction",
       {"",
        "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n keeps = pred[4] compare(x, y), direction=GE\n"
        " s = f32[4] sine(x)\n c = f32[4] cosine(y)\n ROOT r = f32[4] select(keeps, s, c)",
        {"0={1,3,2,0}", "1={1,2,3,0}"}}},
      {"wrong_element",
       {"",
        "x = f32[64] parameter(0)\n y = f32[64] parameter(1)\n t = (f32[64], f32[64]) tuple(x, y)\n"
        " s = (f32[64], f32[64]) opt-barrier(t)\n g = f32[64] get-tuple-element(s), index=1\n"
        " ROOT r = f32[64] exponential(g)"}},
      {"wrong_iota_dimension",
       {"", "x = f32[8,8] parameter(0)\n i = f32[8,8] iota(), iota_dimension=1\n ROOT r = f32[8,8] multiply(x, i)"}},
      {"wrong_reduced_dimension",
       {"",
        "x = f32[32,32] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[32] reduce(x, z), dimensions={1}, "
        "to_apply=add"}},
      {"wrong_reversed_dimension", {"", "x = f32[8,6] parameter(0)\n ROOT r = f32[8,6] reverse(x), dimensions={0}"}},
      {"wrong_sorted_dimension",
       {"", "x = f32[8,8] parameter(0)\n ROOT r = f32[8,8] sort(x), dimensions={1}, to_apply=less"}},
  };
  return *cases;
}

// False if no kernel has the mutated op: calls no longer exist when kernels are made, and other ops run as host calls
// or in the run time.
bool HasKernels(std::string_view mutation) {
  constexpr std::string_view kWithout[] = {"inverse_fft",   "other_branch",          "other_triangle",
                                           "reversed_scan", "smallest_for_largest",  "swapped_arguments",
                                           "wrong_element", "wrong_sorted_dimension"};
  return std::ranges::find(kWithout, mutation) == std::end(kWithout);
}

// The faults of emitters, library calls and the run time, and of single passes.
std::vector<Case> OwnFaults() {
  const std::string reduce =
      "x = f32[100,1000] parameter(0)\n z = f32[] constant(0)\n"
      " ROOT r = f32[100] reduce(x, z), dimensions={1}, to_apply=add";
  const std::string dot =
      "a = f32[16,4096] parameter(0)\n b = f32[4096,16] parameter(1)\n"
      " ROOT r = f32[16,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const std::string matrices =
      "a = f32[64,96] parameter(0)\n b = f32[96,80] parameter(1)\n"
      " ROOT r = f32[64,80] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const std::string loop = R"(z = s32[] constant(0)
  x = f32[64] parameter(0)
  init = (s32[], f32[64]) tuple(z, x)
  w = (s32[], f32[64]) while(init), condition=below, body=grow
  ROOT r = f32[64] get-tuple-element(w), index=1)";
  // A body that reads neighbouring elements stays a loop.
  const std::string loops = R"(
below { s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT r = pred[] compare(i, n), direction=LT }
grow { s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  sines = f32[64] sine(x)
  y = f32[64] reverse(sines), dimensions={0}
  z = f32[64] add(x, y)
  ROOT r = (s32[], f32[64]) tuple(j, z) })";
  // The last of equal elements wins, in whatever order they are reduced, so the result is determined.
  const std::string argmax =
      "x = f32[8,5] parameter(0)\n i = s32[8,5] iota(), iota_dimension=1\n z = f32[] constant(-inf)\n"
      " n = s32[] constant(-1)\n a = (f32[8], s32[8]) reduce(x, i, z, n), dimensions={1}, to_apply=last_largest\n"
      " ROOT r = s32[8] get-tuple-element(a), index=1";
  const std::vector<std::string> ties = {
      "0={{1,3,3,0,3},{2,2,2,2,2},{0,1,0,1,0},{4,4,1,1,4},{1,2,3,3,2},{5,0,5,0,0},"
      "{9,9,8,8,7},{6,6,6,6,0}}"};
  const std::string choice =
      "p = pred[] parameter(0)\n x = f32[64] parameter(1)\n"
      " ROOT r = f32[64] conditional(p, x, x), true_computation=half, false_computation=negative";
  return {
      {"kernel:*:tail", "x = f32[1027] parameter(0)\n ROOT r = f32[1027] exponential(x)"},
      {"kernel:*:dropped_term", reduce},
      {"kernel:*:dropped_term",
       "a = f32[5,4096] parameter(0)\n b = f32[4096] parameter(1)\n ROOT r = f32[5] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"kernel:*:max_ignores_nan",
       "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n ROOT r = f32[4] maximum(x, y)",
       {"0={nan,1,2,3}", "1={5,6,7,8}"}},
      // The arguments of a run do not reach the fault in the next programs.
      {"kernel:*:max_ignores_nan",
       "x = f32[64] parameter(0)\n low = f32[] constant(-500)\n high = f32[] constant(500)\n"
       " ROOT r = f32[64] clamp(low, x, high)"},
      {"kernel:*:near_limit", "x = f32[64] parameter(0)\n ROOT r = f32[64] tanh(x)"},
      {"kernel:*:near_limit",
       "x = f32[64] parameter(0)\n i = s32[16,1] parameter(1)\n"
       " ROOT r = f32[16] gather(x, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
       "index_vector_dim=1, slice_sizes={1}",
       {"1=zeros"}},
      {"kernel:*:zero_scalar",
       "x = f32[5,1000] parameter(0)\n z = f32[] parameter(1)\n"
       " ROOT r = f32[5] reduce(x, z), dimensions={1}, to_apply=add"},
      {"kernel:*:rounded_twice", "x = f32[65536] parameter(0)\n ROOT r = bf16[65536] convert(x)"},
      {"kernel:*:ties_away",
       "x = bf16[4] parameter(0)\n y = bf16[4] parameter(1)\n ROOT r = bf16[4] add(x, y)",
       {"0={1,2,3,4}", "1={0.00390625,0.5,0.25,0.125}"}},
      {"kernel:*:wrong_index", "x = f32[64] parameter(0)\n ROOT r = f32[64] exponential(x)"},
      {"library:*:bit", matrices},
      {"library:*:zero", matrices},
      {"library:*:scale", matrices},
      {"library:*:zero", dot},
      {"runtime:*:early", loop, {}, loops},
      {"runtime:*:branch", choice},
      // The fault is in the condition. The body would not show it.
      {"pass:call-inliner:wrong_constant", loop, {}, loops},
      {"pass:dce#1:swapped_operands",
       "x = c64[64] parameter(0)\n y = c64[64] parameter(1)\n ROOT r = c64[64] divide(x, y)"},
      {"pass:dce#1:swapped_operands",
       "x = c64[64] parameter(0)\n y = c64[64] parameter(1)\n ROOT r = c64[64] power(x, y)"},
      {"pass:dce#1:wrong_constant",
       "x = f32[64] parameter(0)\n c = f32[] constant(0.5)\n cs = f32[64] broadcast(c), dimensions={}\n"
       " z = c64[64] complex(x, cs)\n ROOT r = c64[64] exponential(z)"},
      {"pass:dce#1:wrong_direction", argmax, ties},
      {"kernel:*:wrong_direction", argmax, ties},
      {"pass:algsimp:multiply_by_zero",
       "x = f32[4] parameter(0)\n z = f32[] constant(0)\n zs = f32[4] broadcast(z), dimensions={}\n"
       " ROOT r = f32[4] multiply(x, zs)",
       {"0={1,inf,2,nan}"}},
      {"pass:algsimp:swapped_permutation",
       "x = f32[5,5,5] parameter(0)\n t = f32[5,5,5] transpose(x), dimensions={2,0,1}\n"
       " ROOT r = f32[5,5,5] transpose(t), dimensions={0,2,1}"},
  };
}

std::vector<Case> AllCases() {
  std::vector<Case> cases = OwnFaults();
  for (const auto& [name, mutated] : MutationCases()) {
    Case by_pass = mutated;
    // At dce#1, scans have already become loops.
    const std::string_view pass = name == "reversed_scan" ? "one-device-simplifier#1" : "dce#1";
    if (by_pass.fault.empty()) by_pass.fault = Str("pass:", pass, ":", name);
    cases.push_back(by_pass);
    if (!HasKernels(name)) continue;
    Case by_kernel = mutated;
    by_kernel.fault = Str("kernel:*:", name);
    cases.push_back(by_kernel);
  }
  return cases;
}

class Inject : public testing::TestWithParam<Case> {};

TEST_P(Inject, IsFound) {
  const Case& test = GetParam();
  const fs::path file = fs::temp_directory_path() / Str("hlo-inject-", getpid(), ".hlo");
  std::ofstream(file) << "HloModule planted\n" << kFolds << test.before << "\nENTRY main {\n " << test.body << "\n}\n";
  RunOptions options;
  options.platform = "cpu";
  options.arg = test.arg;
  options.load.verify = VerifyLevel::kDefault;
  const bool in_pass = test.fault.starts_with("pass:");
  if (in_pass) options.pipeline.inject = test.fault.substr(5);
  else options.inject = test.fault;
  // The run time has no part in a loop that is one kernel.
  if (test.fault.starts_with("runtime:")) options.pipeline.disabled.emplace_back("loops");
  // Products are kernels if the fault is planted in kernels.
  options.libraries = test.fault.starts_with("library:");
  Progress progress(true);
  const auto report = RunModule(file.string(), options, progress);
  fs::remove(file);
  ASSERT_TRUE(report.has_value()) << Render(report.error(), "test");
  EXPECT_EQ(report->exit, ExitCode::kNo) << report->verdict;
  const auto expected = in_pass                              ? Culprit::Kind::kPass
                        : test.fault.starts_with("kernel:")  ? Culprit::Kind::kKernel
                        : test.fault.starts_with("library:") ? Culprit::Kind::kLibrary
                                                             : Culprit::Kind::kRuntime;
  EXPECT_EQ(report->culprit.kind, expected) << report->culprit.text;
}

INSTANTIATE_TEST_SUITE_P(Planted, Inject, testing::ValuesIn(AllCases()), [](const auto& info) {
  std::string name = Str(info.index, "_", info.param.fault);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

TEST(InjectCatalogue, HasACaseForEachFault) {
  for (const Mutation& mutation : Mutations()) EXPECT_TRUE(MutationCases().contains(mutation.name)) << mutation.name;
  const std::vector<Case> cases = AllCases();
  const auto has = [&](const std::string& end) {
    return std::ranges::any_of(cases, [&](const Case& test) { return test.fault.ends_with(end); });
  };
  for (const kernel::Mutation& mutation : kernel::Mutations())
    EXPECT_TRUE(has(Str("kernel:*:", mutation.name))) << mutation.name;
  EXPECT_GE(cases.size(), 48u);
}

}  // namespace
}  // namespace hlo
