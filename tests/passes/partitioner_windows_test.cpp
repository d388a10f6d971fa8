// Tests of spmd-partitioning on ops whose parts read rows of other parts or look for elements in them: windows,
// gathers, slices with variable starts and sums of uneven parts.
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/passes/partitioned_program.h"

namespace hlo {
namespace {

std::string Program(int64_t devices, std::string_view body) {
  return Str("HloModule m, num_partitions=", devices, R"(
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
most {
  a.1 = f32[] parameter(0)
  b.1 = f32[] parameter(1)
  ROOT c.1 = f32[] maximum(a.1, b.1)
}
greater {
  a.2 = f32[] parameter(0)
  b.2 = f32[] parameter(1)
  ROOT c.2 = pred[] compare(a.2, b.2), direction=GE
}
largest {
  a.3 = f32[] parameter(0)
  i.3 = s32[] parameter(1)
  b.3 = f32[] parameter(2)
  j.3 = s32[] parameter(3)
  more = pred[] compare(a.3, b.3), direction=GT
  equal = pred[] compare(a.3, b.3), direction=EQ
  before = pred[] compare(i.3, j.3), direction=LT
  tie = pred[] and(equal, before)
  keep = pred[] or(more, tie)
  value = f32[] select(more, a.3, b.3)
  place = s32[] select(keep, i.3, j.3)
  ROOT r.3 = (f32[], s32[]) tuple(value, place)
}
ENTRY main {
)",
             body, "}\n");
}

std::string Rows(int64_t devices) { return Str("{devices=[", devices, ",1]<=[", devices, "]}"); }

// The op `root` reads x, whose rows are split over 2 to 5 devices, evenly or not. `sends` is a collective that it
// needs.
void ExpectRows(int64_t rows, std::string_view root, std::string_view sends = "") {
  for (const int64_t devices : {2, 3, 4, 5}) {
    const std::string text = Program(devices, Str("  x = f32[", rows, ",3] parameter(0), sharding=", Rows(devices),
                                                  "\n  zero = f32[] constant(0)\n  seven = f32[] constant(7)\n", root,
                                                  ", sharding=", Rows(devices), "\n"));
    ExpectSame(text);
    if (sends.empty() || rows % devices != 0) continue;
    const std::string partitioned = PartitionedText(text);
    EXPECT_FALSE(partitioned.contains("all-gather(")) << partitioned;
    EXPECT_TRUE(partitioned.contains(sends)) << partitioned;
  }
}

struct TestWindow {
  int64_t size, stride = 1, low = 0, high = 0, dilation = 1, base = 1;
  bool reversed = false;

  int64_t Positions(int64_t rows) const {
    const int64_t padded = (rows - 1) * base + 1 + low + high;
    return (padded - (size - 1) * dilation - 1) / stride + 1;
  }
  // The window for arrays of `dims` dimensions. Along a second dimension it is trivial.
  std::string Text(int64_t dims) const {
    const auto both = [&](int64_t value, std::string_view other) {
      return dims == 1 ? Str(value) : Str(value, "x", other);
    };
    return Str("{size=", both(size, "1"), " stride=", both(stride, "1"), " pad=", low, "_", high,
               dims == 1 ? "" : "x0_0", " lhs_dilate=", both(base, "1"), " rhs_dilate=", both(dilation, "1"),
               reversed ? " rhs_reversal=1}" : "}");
  }
};

constexpr TestWindow kWindows[] = {
    {.size = 3, .low = 1, .high = 1},
    {.size = 3},
    {.size = 5, .low = 2, .high = 2},
    {.size = 3, .stride = 2, .low = 1},
    {.size = 2, .stride = 2},
    {.size = 3, .low = 2, .high = 2, .dilation = 2},
    {.size = 3, .low = 1, .high = 2, .base = 2},
    {.size = 4, .low = 3},
    {.size = 3, .low = -1, .high = 1},
    {.size = 3, .stride = 3, .low = 5, .high = 4, .reversed = true},
    {.size = 7, .low = 9, .high = 9},
};

TEST(PartitionedWindows, Convolutions) {
  for (const TestWindow& window : kWindows) {
    for (const int64_t devices : {2, 3, 4}) {
      for (const int64_t rows : {12, 24, 13}) {
        const std::string split = Str("{devices=[1,", devices, ",1]<=[", devices, "]}");
        ExpectSame(Program(devices, Str("  x = f32[2,", rows, ",2] parameter(0), sharding=", split, "\n  k = f32[",
                                        window.size, ",2,3] parameter(1), sharding={replicated}\n  ROOT c = f32[2,",
                                        window.Positions(rows), ",3] convolution(x, k), window=", window.Text(1),
                                        ", dim_labels=b0f_0io->b0f, sharding=", split, "\n")));
      }
    }
  }
}

TEST(PartitionedWindows, AConvolutionReceivesRowsOfItsNeighbours) {
  const std::string text = PartitionedText(Program(4, R"(
  x = f32[2,16,2] parameter(0), sharding={devices=[1,4,1]<=[4]}
  k = f32[3,2,3] parameter(1), sharding={replicated}
  ROOT c = f32[2,16,3] convolution(x, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, sharding={devices=[1,4,1]<=[4]}
)"));
  EXPECT_TRUE(text.contains("f32[2,1,2]{2,1,0} collective-permute(")) << text;
  EXPECT_FALSE(text.contains("all-gather")) << text;
}

// The image and the gradient of the result are split along the rows, which are summed.
TEST(PartitionedWindows, GradientsOfWeights) {
  for (const bool reversed : {false, true}) {
    for (const int64_t devices : {2, 4}) {
      const std::string split = Str("{devices=[1,", devices, ",1]<=[", devices, "]}");
      ExpectSame(Program(
          devices,
          Str("  x = f32[2,16,2] parameter(0), sharding=", split, "\n  g = f32[2,16,3] parameter(1), sharding=", split,
              "\n  ROOT c = f32[3,2,3] convolution(x, g), window={size=16 pad=1_1", reversed ? " rhs_reversal=1" : "",
              "}, dim_labels=f0b_i0o->0bf, sharding={replicated}\n")));
    }
  }
}

TEST(PartitionedWindows, ReduceWindows) {
  for (const TestWindow& window : kWindows) {
    if (window.reversed) continue;
    for (const int64_t rows : {12, 20, 17}) {
      for (const std::string_view reducer : {"add", "most"}) {
        ExpectRows(rows, Str("  ROOT w = f32[", window.Positions(rows),
                             ",3] reduce-window(x, seven), window=", window.Text(2), ", to_apply=", reducer));
      }
    }
  }
}

TEST(PartitionedWindows, Pads) {
  for (const int64_t rows : {12, 20, 17}) {
    for (const auto& [low, high, interior] :
         {std::tuple{1, 1, 0}, {8, 0, 0}, {0, 3, 0}, {-2, 5, 0}, {-3, -3, 0}, {2, 1, 1}, {0, -1, 2}, {40, 3, 0}}) {
      const int64_t result = (rows - 1) * (interior + 1) + 1 + low + high;
      ExpectRows(
          rows, Str("  ROOT p = f32[", result, ",3] pad(x, seven), padding=", low, "_", high, "_", interior, "x0_0_0"));
    }
  }
}

TEST(PartitionedWindows, Slices) {
  for (const int64_t rows : {12, 20, 17}) {
    for (const auto& [start, limit, stride] :
         {std::tuple{1, 11, 1}, {0, 6, 1}, {5, 12, 1}, {0, 12, 2}, {1, 12, 3}, {7, 8, 1}, {2, 12, 5}}) {
      ExpectRows(rows, Str("  ROOT s = f32[", (limit - start + stride - 1) / stride, ",3] slice(x), slice={[", start,
                           ":", limit, ":", stride, "], [0:3]}"));
    }
  }
}

TEST(PartitionedWindows, Reversals) {
  for (const int64_t rows : {12, 20, 60, 17, 18})
    ExpectRows(rows, Str("  ROOT r = f32[", rows, ",3] reverse(x), dimensions={0,1}"));
  ExpectRows(60, "  ROOT r = f32[60,3] reverse(x), dimensions={0}", "collective-permute(");
}

TEST(PartitionedWindows, Concatenations) {
  for (const int64_t rows : {12, 20, 17}) {
    for (const int64_t more : {1, 3, 12, 30}) {
      ExpectRows(rows, Str("  y = f32[", more, ",3] iota(), iota_dimension=0\n  ROOT c = f32[", 2 * rows + more,
                           ",3] concatenate(x, y, x), dimensions={0}"));
    }
  }
}

// slice and concatenate, as jnp.roll writes a rotation.
TEST(PartitionedWindows, Rotations) {
  for (const int64_t rows : {12, 60, 17}) {
    for (const int64_t start : {1, 3, 6, 11}) {
      ExpectRows(rows,
                 Str("  a = f32[", rows - start, ",3] slice(x), slice={[", start, ":", rows, "], [0:3]}\n  b = f32[",
                     start, ",3] slice(x), slice={[0:", start, "], [0:3]}\n  ROOT c = f32[", rows,
                     ",3] concatenate(a, b), dimensions={0}"),
                 rows == 60 ? "collective-permute(" : "");
    }
  }
}

TEST(PartitionedWindows, SelectAndScatter) {
  for (const int64_t devices : {2, 3, 4}) {
    for (const bool overlaps : {false, true}) {
      ExpectSame(Program(devices, Str("  x = f32[24,3] parameter(0), sharding=", Rows(devices),
                                      "\n  s = f32[12,3] parameter(1), sharding=", Rows(devices),
                                      "\n  zero = f32[] constant(0)\n  ROOT r = f32[24,3] select-and-scatter(x, s, "
                                      "zero), window={size=",
                                      overlaps ? "3x1 stride=2x1 pad=0_1x0_0" : "2x1 stride=2x1",
                                      "}, select=greater, scatter=add, sharding=", Rows(devices), "\n")));
    }
  }
}

// Indices out of range are clamped to the whole array, not to a part.
TEST(PartitionedLooks, Gathers) {
  for (const std::string_view indices :
       {"s32[5,1] constant({{-1},{0},{7},{16},{99}})", "u8[5,1] constant({{0},{3},{9},{16},{255}})",
        "s8[5,1] constant({{-100},{3},{9},{16},{127}})", "u32[5,1] constant({{0},{3},{9},{16},{4294967295}})"}) {
    for (const std::string_view result : {"{replicated}", "{devices=[4,1]<=[4]}"}) {
      for (const int64_t rows : {16, 17}) {
        for (const std::string_view type : {"f32", "bf16", "s8", "pred", "f64", "c64"}) {
          ExpectSame(
              Program(4, Str("  x = ", type, "[", rows,
                             ",3] parameter(0), sharding={devices=[4,1]<=[4]}\n  i = ", indices, "\n  ROOT r = ", type,
                             "[5,3] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
                             "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}, sharding=",
                             result, "\n")));
        }
      }
    }
  }
}

TEST(PartitionedLooks, GathersAlongTwoSplitDimensions) {
  ExpectSame(Program(4, R"(
  x = f32[6,10] parameter(0), sharding={devices=[2,2]<=[4]}
  i = s32[2,4] constant({{-1,2,5,9},{3,0,9,4}})
  ROOT r = f32[4] gather(x, i), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=0, slice_sizes={1,1}, sharding={replicated}
)"));
}

TEST(PartitionedLooks, DynamicSlicesAndUpdates) {
  for (const int64_t rows : {16, 17}) {
    for (const int64_t width : {1, 3, 6, 15}) {
      for (const int64_t start : {-2, 0, 3, 4, 9, 13, 99}) {
        for (const std::string_view result : {"{replicated}", "{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}"}) {
          const std::string x = Str("  x = f32[", rows, ",4] parameter(0), sharding={devices=[4,1]<=[4]}\n  u = f32[",
                                    width, ",2] parameter(1), sharding={replicated}\n  i = s32[] constant(", start,
                                    ")\n  j = s32[] constant(1)\n");
          ExpectSame(
              Program(4, Str(x, "  ROOT r = f32[", width, ",2] dynamic-slice(x, i, j), dynamic_slice_sizes={", width,
                             ",2}, sharding=", result == "{devices=[1,4]<=[4]}" ? "{replicated}" : result, "\n")));
          ExpectSame(Program(
              4, Str(x, "  ROOT r = f32[", rows, ",4] dynamic-update-slice(x, u, i, j), sharding=", result, "\n")));
        }
      }
    }
  }
}

TEST(PartitionedLooks, UpdatesWithStartsOfOtherTypes) {
  for (const std::string_view type : {"s8", "u8", "s64", "u32"}) {
    ExpectSame(Program(4, Str("  x = f32[300,4] parameter(0), sharding={devices=[2,2]<=[4]}\n"
                              "  u = f32[7,3] parameter(1), sharding={replicated}\n  i = ",
                              type, "[] constant(100)\n  j = ", type,
                              "[] constant(1)\n  ROOT r = f32[300,4] dynamic-update-slice(x, u, i, j), "
                              "sharding={devices=[2,2]<=[4]}\n")));
  }
}

TEST(PartitionedSums, UnevenParts) {
  for (const int64_t rows : {10, 13}) {
    ExpectSame(Program(4, Str("  x = f32[8,", rows, "] parameter(0), sharding={devices=[1,4]<=[4]}\n  y = f32[", rows,
                              ",16] parameter(1), sharding={devices=[4,1]<=[4]}\n"
                              "  ROOT z = f32[8,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
                              "sharding={replicated}\n")));
    for (const std::string_view reducer : {"add", "most"}) {
      ExpectSame(Program(4, Str("  x = f32[", rows,
                                ",8] parameter(0), sharding={devices=[4,1]<=[4]}\n  start = f32[] constant(5)\n"
                                "  ROOT z = f32[8] reduce(x, start), dimensions={0}, to_apply=",
                                reducer, ", sharding={replicated}\n")));
    }
  }
}

TEST(PartitionedSums, TheLargestElementAndItsPlace) {
  for (const std::string_view split : {"{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}", "{devices=[2,2]<=[4]}"}) {
    ExpectSame(Program(4, Str("  x = f32[8,12] parameter(0), sharding=", split,
                              "\n  i = s32[8,12] iota(), iota_dimension=0\n  none = f32[] constant(-inf)\n"
                              "  zero = s32[] constant(0)\n  m = (f32[12], s32[12]) reduce(x, i, none, zero), "
                              "dimensions={0}, to_apply=largest\n"
                              "  ROOT p = s32[12] get-tuple-element(m), index=1, sharding={replicated}\n")));
  }
}

TEST(PartitionedSums, SortsMoveToAnotherDimension) {
  const std::string text = PartitionedText(Program(4, R"(
  x = f32[8,12] parameter(0), sharding={devices=[4,1]<=[4]}
  ROOT s = f32[8,12] sort(x), dimensions={0}, to_apply=greater, sharding={devices=[4,1]<=[4]}
)"));
  EXPECT_TRUE(text.contains("all-to-all(")) << text;
  EXPECT_FALSE(text.contains("all-gather(")) << text;
}

}  // namespace
}  // namespace hlo
