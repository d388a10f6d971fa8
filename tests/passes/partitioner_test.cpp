// Tests of sharding-propagation and spmd-partitioning: the program of each device, run on all devices, gives the parts
// of the results of the program on one device.
#include <gtest/gtest.h>

#include "base/text.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "tests/interp/values.h"
#include "tests/passes/partitioned_program.h"

namespace hlo {
namespace {

// A program of one op whose operands and result have shardings.
std::string Program(int64_t devices, std::string_view body) {
  return Str("HloModule m, num_partitions=", devices,
             "\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
             "most {\n  a.1 = f32[] parameter(0)\n  b.1 = f32[] parameter(1)\n  ROOT c.1 = f32[] maximum(a.1, b.1)\n}\n"
             "ENTRY main {\n",
             body, "}\n");
}

const char* const kSplits[] = {
    "{replicated}",         "{devices=[4,1]<=[4]}",         "{devices=[1,4]<=[4]}",
    "{devices=[2,2]<=[4]}", "{devices=[2,2]<=[2,2]T(1,0)}", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"};

TEST(Partitioner, ElementwiseOpsInAnySplits) {
  for (const std::string_view x : kSplits) {
    for (const std::string_view y : kSplits) {
      for (const std::string_view z : kSplits) {
        // 6 and 10 elements have parts of 2 and 3 elements, and the last ones fewer.
        ExpectSame(
            Program(4, Str("  x = f32[6,10] parameter(0), sharding=", x, "\n  y = f32[6,10] parameter(1), sharding=", y,
                           "\n  ROOT z = f32[6,10] subtract(x, y), sharding=", z, "\n")));
      }
    }
  }
}

TEST(Partitioner, DotsInAnySplits) {
  for (const std::string_view x : kSplits) {
    for (const std::string_view y : kSplits) {
      for (const std::string_view z : kSplits) {
        ExpectSame(Program(
            4, Str("  x = f32[8,12] parameter(0), sharding=", x, "\n  y = f32[12,16] parameter(1), sharding=", y,
                   "\n  ROOT z = f32[8,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
                   "sharding=",
                   z, "\n")));
      }
    }
  }
}

TEST(Partitioner, AReductionUsesItsInitialValueOnce) {
  for (const std::string_view x : kSplits) {
    for (const std::string_view reducer : {"add", "most"}) {
      ExpectSame(Program(4, Str("  x = f32[8,12] parameter(0), sharding=", x,
                                "\n  start = f32[] constant(5)\n"
                                "  ROOT z = f32[12] reduce(x, start), dimensions={0}, to_apply=",
                                reducer, ", sharding={devices=[4]<=[4]}\n")));
    }
  }
}

TEST(Partitioner, MovedElements) {
  for (const std::string_view x : kSplits) {
    ExpectSame(Program(4, Str("  x = f32[8,12] parameter(0), sharding=", x,
                              "\n  t = f32[12,8] transpose(x), dimensions={1,0}\n"
                              "  r = f32[3,4,8] reshape(t)\n  n = f32[3,4,8] negate(r)\n"
                              "  ROOT s = f32[2,3,4] slice(n), slice={[0:2], [0:3], [1:5]}, sharding={replicated}\n")));
  }
}

TEST(Partitioner, AnIotaCountsOnFromThePartsBefore) {
  ExpectSame(Program(4,
                     "  x = f32[10,4] parameter(0), sharding={devices=[4,1]<=[4]}\n"
                     "  i = f32[10,4] iota(), iota_dimension=0\n"
                     "  ROOT z = f32[10,4] add(x, i), sharding={devices=[4,1]<=[4]}\n"));
}

TEST(Partitioner, AConstantOfSeveralNumbersIsCut) {
  ExpectSame(Program(4,
                     "  x = f32[4] parameter(0), sharding={devices=[4]<=[4]}\n"
                     "  c = f32[4] constant({1, 2, 3, 4})\n"
                     "  ROOT z = f32[4] multiply(x, c), sharding={devices=[4]<=[4]}\n"));
}

// The operand cannot be split by all factors of the result. The factor that is dropped for it is a major one of the
// result.
TEST(Partitioner, AReshapeDropsFactorsUntilNoneIsMinor) {
  ExpectSame(Program(4,
                     "  x = s32[12,6] parameter(0), sharding={mesh['a'=2,'b'=2], [{'b'},{'a'}]}\n"
                     "  ROOT r = s32[6,12] reshape(x), sharding={mesh['a'=2,'b'=2], [{},{'b'}]}\n"));
}

TEST(Partitioner, AnIotaRoundsEachNumberOnce) {
  for (const std::string_view type : {"bf16[4000]", "f16[4000]", "f8e4m3fn[400]", "s8[100]", "c64[400]", "u64[400]"}) {
    ExpectSame(Program(4, Str("  ROOT r = ", type, " iota(), iota_dimension=0, sharding={devices=[4]<=[4]}\n")));
  }
}

TEST(Partitioner, ScattersWithNarrowIndices) {
  for (const std::string_view values :
       {"s8[3,1] constant({{-100},{5},{127}})", "u8[3,1] constant({{250},{5},{127}})"}) {
    ExpectSame(Program(3, Str("  x = f32[300] parameter(0), sharding={devices=[3]<=[3]}\n  i = ", values,
                              "\n  u = f32[3] constant({7,8,9})\n"
                              "  ROOT r = f32[300] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
                              "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add, "
                              "sharding={devices=[3]<=[3]}\n")));
  }
}

TEST(Partitioner, ValuesStatedAsUnreducedHaveNoTerms) {
  for (const std::string_view value : {"constant({1,2,3,4})", "constant({1,1,1,1})", "parameter(0)"}) {
    const std::string text =
        PartitionedText(Program(2, Str("  x = f32[4] ", value, ", sharding={mesh['x'=2], [{}], unreduced={'x'}}\n",
                                       "  ROOT r = f32[4] negate(x), sharding={replicated}\n")));
    EXPECT_TRUE(text.ends_with("has an unreduced sharding, but each device has the whole value, not a term of the sum"))
        << text;
  }
}

TEST(Partitioner, AManualValueAndASplitOneDoNotMix) {
  const std::string_view kManual = "{manual}", kSplit = "{devices=[2]<=[2]}";
  for (const bool manual_first : {true, false}) {
    const std::string text = PartitionedText(
        Program(2, Str("  x = f32[4] parameter(0), sharding=", manual_first ? kManual : kSplit,
                       "\n  ROOT r = f32[4] negate(x), sharding=", manual_first ? kSplit : kManual, "\n")));
    EXPECT_EQ(text, "'r' (negate) has a value that is manual along an axis, and a value that this axis splits");
  }
}

TEST(Partitioner, ElementsOfNestedTuples) {
  const std::string text =
      PartitionedText(Program(2,
                              "  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n"
                              "  c = ((f32[4],f32[4]),u32[]) custom-call(x), custom_call_target=\"foo\"\n"
                              "  t = (f32[4],f32[4]) get-tuple-element(c), index=0\n"
                              "  ROOT r = f32[4] get-tuple-element(t), index=1, sharding={devices=[2]<=[2]}\n"));
  EXPECT_TRUE(text.contains("ROOT %")) << text;
}

TEST(Partitioner, ControlEdgesStay) {
  const std::string text =
      PartitionedText(Program(2,
                              "  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n  n = f32[4] negate(x)\n"
                              "  c = f32[4] cosine(x), control-predecessors={n}\n"
                              "  ROOT r = f32[4] add(n, c), sharding={devices=[2]<=[2]}\n"));
  EXPECT_TRUE(text.contains("control-predecessors={%negate}")) << text;
}

// The parameter has parts of 2x6 elements, and the result of 4x3.
TEST(Partitioner, PartsOfOtherShapesShareNoBuffer) {
  const auto program = [](std::string_view kind) {
    return Str("HloModule m, num_partitions=2, input_output_alias={ {}: (0, {}, ", kind,
               "-alias) }\nENTRY main {\n  x = f32[4,6] parameter(0), sharding={devices=[2,1]<=[2]}\n"
               "  ROOT r = f32[4,6] negate(x), sharding={devices=[1,2]<=[2]}\n}\n");
  };
  EXPECT_FALSE(PartitionedText(program("may")).contains("alias"));
  EXPECT_EQ(PartitionedText(program("must")), "'x' (parameter) must alias a result whose parts have another shape");
}

TEST(Partitioner, AnArrayWithoutAShardingIsRefused) {
  const auto module =
      ParseText(Program(4, "  x = f32[8] parameter(0), sharding={devices=[4]<=[4]}\n  ROOT y = f32[8] negate(x)\n"));
  const Status status = RunPasses(*module, {"spmd-partitioning"});
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code(), "U044");
  EXPECT_EQ(status.error().message(), "'y' (negate) has no sharding (sharding-propagation gives it one)");
}

}  // namespace
}  // namespace hlo
