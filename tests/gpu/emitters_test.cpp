#include <gtest/gtest.h>

#include "base/text.h"
#include "interp/functions.h"
#include "tests/gpu/emitters_harness.h"

namespace hlo::gpu {
namespace {

TEST(EmitLoop, ComputesAnyNumberOfElements) {
  for (const char* dims : {"1", "7", "33", "1024", "1027", "3,5,7", "2,1000", ""}) {
    const std::string t = std::string("[") + dims + "]";
    Check(*Fused("ENTRY e { a = f32" + t + " parameter(0) b = f32" + t + " parameter(1) m = f32" + t +
                 " multiply(a, b) ROOT r = f32" + t + " add(m, b) }"));
  }
}

TEST(EmitLoop, ComputesEveryElementType) {
  for (const char* type : {"s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"}) {
    const std::string t = std::string(type) + "[2,35]";
    Check(*Fused("ENTRY e { a = " + t + " parameter(0) b = " + t + " parameter(1) s = " + t + " subtract(a, b) d = " +
                 t + " divide(s, b) c = pred[2,35] compare(d, a), direction=LT ROOT r = " + t + " select(c, d, s) }"));
  }
  Check(*Fused(
      "ENTRY e { a = pred[70] parameter(0) b = pred[70] parameter(1) x = pred[70] xor(a, b) o = pred[70] add(x, b)"
      " c = f32[70] convert(o) n = pred[70] not(a) ROOT t = (f32[70], pred[70]) tuple(c, n) }"));
}

TEST(EmitLoop, StoresAPredAsAByte) {
  Check(
      *Fused("ENTRY e { a = pred[70] parameter(0) u = u8[70] bitcast-convert(a) s = s8[70] bitcast-convert(a)"
             " ROOT t = (u8[70], s8[70]) tuple(u, s) }"));
  Check(
      *Fused("f { p = pred[] parameter(0) u = u8[] bitcast-convert(p) ROOT c = u8[] count-leading-zeros(u) }"
             " ENTRY e { a = pred[70] parameter(0) ROOT m = u8[70] map(a), dimensions={0}, to_apply=f }"));
}

TEST(EmitLoop, ComputesFunctionsOfSpecialValues) {
  std::vector<Opcode> ops = {Opcode::kAbs,  Opcode::kNegate,           Opcode::kSign,           Opcode::kFloor,
                             Opcode::kCeil, Opcode::kRoundNearestEven, Opcode::kRoundNearestAfz};
  for (const FloatFunction& function : FloatFunctions()) ops.push_back(function.opcode);
  for (const Opcode op : ops) {
    SCOPED_TRACE(ToString(op));
    // The interpreter's result is rounded too, which adds 1 ulp.
    Check(*Fused(Str("ENTRY e { a = f32[260] parameter(0) ROOT r = f32[260] ", ToString(op), "(a) }")), Inputs::kReals,
          RowOf(op).ulps + 1);
  }
  Check(*Fused("ENTRY e { a = f32[260] parameter(0) b = f32[260] parameter(1) x = f32[260] maximum(a, b) n = f32[260] "
               "minimum(a, b)"
               " ROOT t = (f32[260], f32[260]) tuple(x, n) }"),
        Inputs::kReals);
}

// The host interleaves several vectors, except in the remainder after the last whole tile.
TEST(EmitLoop, ComputesLongBodiesOverManyElements) {
  for (const char* dims : {"262147", "513,515", "2049,130"}) {
    const std::string t = std::string("f32[") + dims + "]";
    Check(*Fused("ENTRY e { a = " + t + " parameter(0) ROOT r = " + t + " erf(a) }"), Inputs::kReals, 13);
  }
}

TEST(EmitLoop, ComputesBroadcastsAndRows) {
  // The rows are wide enough for a block, for a warp, or for neither.
  for (const char* columns : {"2048", "300", "64", "33", "12", "5"}) {
    const std::string c(columns);
    Check(*Fused("ENTRY e { x = f32[9," + c + "] parameter(0) b = f32[" + c +
                 "] parameter(1) s = f32[9] parameter(2) k = f32[] parameter(3) bb = f32[9," + c +
                 "] broadcast(b), dimensions={1} ss = f32[9," + c + "] broadcast(s), dimensions={0} kk = f32[9," + c +
                 "] broadcast(k), dimensions={} m = f32[9," + c + "] multiply(x, ss) a = f32[9," + c +
                 "] add(m, bb) ROOT r = f32[9," + c + "] add(a, kk) }"));
  }
}

// The parts are so long that a host copies them. Tiles are cut at the ends of parts.
TEST(EmitLoop, ComputesLongConcatenations) {
  for (const char* type : {"bf16", "s8", "f64"}) {
    const std::string t(type);
    Check(*Fused("ENTRY e { a = " + t + "[5,1000] parameter(0) b = " + t + "[5,77] parameter(1) c = " + t +
                 "[5,1] parameter(2) d = " + t + "[5,933] parameter(3) ROOT r = " + t +
                 "[5,2011] concatenate(a, b, c, d), dimensions={1} }"));
    Check(*Fused("ENTRY e { a = " + t + "[701] parameter(0) b = " + t + "[1] parameter(1) c = " + t +
                 "[613] parameter(2) ROOT r = " + t + "[1315] concatenate(a, b, c), dimensions={0} }"));
  }
  // The parts are computed. One contains a pad, and one is read along the other dimension. Rows end within a tile.
  Check(
      *Fused("ENTRY e { a = f32[7,260] parameter(0) b = f32[7,131] parameter(1) c = f32[300,7] parameter(2)"
             " s = f32[7] parameter(3) z = f32[] constant(2) p = f32[7,135] pad(b, z), padding=0_0x3_1"
             " t = f32[7,300] transpose(c), dimensions={1,0} n = f32[7,260] negate(a)"
             " j = f32[7,695] concatenate(n, p, t), dimensions={1} ss = f32[7,695] broadcast(s), dimensions={0}"
             " ROOT r = f32[7,695] multiply(j, ss) }"));
  Check(
      *Fused("ENTRY e { a = s32[3,200] parameter(0) b = s32[3,330] parameter(1) c = pred[3,200] compare(a, a), "
             "direction=GE d = pred[3,330] compare(b, b), direction=LT e = pred[3,530] concatenate(c, d), "
             "dimensions={1} f = s32[3,530] concatenate(b, a), dimensions={1} g = s32[3,530] negate(f) "
             "ROOT r = s32[3,530] select(e, f, g) }"));
}

TEST(EmitLoop, MovesData) {
  Check(*Fused(
      "ENTRY e { x = f32[6,40] parameter(0) r = f32[2,3,40] reshape(x) t = f32[3,2,40] transpose(r), dimensions={1,0,2}"
      " s = f32[3,1,20] slice(t), slice={[0:3], [1:2], [0:40:2]} ROOT v = f32[3,1,20] reverse(s), dimensions={0,2} }"));
  Check(*Fused(
      "ENTRY e { x = s32[4,33] parameter(0) z = s32[] constant(7) ROOT p = s32[7,70] pad(x, z), padding=1_2x-1_6_1 }"));
  Check(
      *Fused("ENTRY e { a = f32[3,64] parameter(0) b = f32[2,64] parameter(1) c = f32[4,64] parameter(2)"
             " ROOT r = f32[9,64] concatenate(a, b, c), dimensions={0} }"));
  Check(
      *Fused("ENTRY e { a = f32[3,6] parameter(0) b = f32[3,0] parameter(1) c = f32[3,41] parameter(2) j = f32[3,47] "
             "concatenate(a, b, c), dimensions={1}"
             " ROOT r = f32[3,47] negate(j) }"));
  Check(
      *Fused("ENTRY e { i = s8[5,300] iota(), iota_dimension=1 f = f16[5,300] iota(), iota_dimension=0 ROOT t = "
             "(s8[5,300], f16[5,300]) tuple(i, f) }"));
  Check(
      *Fused("ENTRY e { x = f32[4,5,6]{0,2,1} parameter(0) y = f32[4,5,6]{2,1,0} parameter(1) ROOT r = "
             "f32[4,5,6]{1,0,2} add(x, y) }"));
  Check(*Fused(
      "ENTRY e { x = f32[8,6]{0,1} parameter(0) b = f32[2,3,8]{2,1,0} bitcast(x) ROOT r = f32[2,3,8] negate(b) }"));
  Check(
      *Fused("ENTRY e { c = f32[2,3] constant({{1,2,3},{4,5,6}}) x = f32[3,2] parameter(0) t = f32[3,2] transpose(c), "
             "dimensions={1,0}"
             " ROOT r = f32[3,2] add(t, x) }"));
}

TEST(EmitLoop, ComputesDynamicIndices) {
  Check(
      *Fused("ENTRY e { x = f32[7,50] parameter(0) i = s32[] parameter(1) j = s32[] parameter(2)"
             " ROOT r = f32[3,40] dynamic-slice(x, i, j), dynamic_slice_sizes={3,40} }"));
  Check(*Fused(
      "ENTRY e { x = f32[7,50] parameter(0) u = f32[3,40] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)"
      " n = f32[3,40] negate(u) ROOT r = f32[7,50] dynamic-update-slice(x, n, i, j) }"));
  // The operand is computed in the fusion, so all of it is written.
  Check(*Fused(
      "ENTRY e { x = f32[7,50] parameter(0) u = f32[3,40] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)"
      " n = f32[7,50] negate(x) ROOT r = f32[7,50] dynamic-update-slice(n, u, i, j) }"));
  // Another root reads the operand, so the update is not in place.
  Check(*Fused(
      "ENTRY e { x = f32[7,50] parameter(0) u = f32[3,40] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)"
      " n = f32[7,50] reverse(x), dimensions={0} d = f32[7,50] dynamic-update-slice(x, u, i, j)"
      " ROOT r = (f32[7,50], f32[7,50]) tuple(d, n) }"));
  Check(
      *Fused("ENTRY e { x = f32[10,36] parameter(0) i = s32[5,1] parameter(1) ROOT r = f32[5,36] gather(x, i), "
             "offset_dims={1},"
             " collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,36} }"));
}

TEST(EmitLoop, ComputesWindowsAndFolds) {
  const std::string max = "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) } ";
  const std::string add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] add(a, b) } ";
  Check(*Fused(
      max +
      "ENTRY e { x = f32[2,9,9,40] parameter(0) i = f32[] constant(-inf) ROOT r = f32[2,5,5,40] reduce-window(x, i),"
      " window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0}, to_apply=max }"));
  Check(*Fused(add +
               "ENTRY e { x = f32[3,100] parameter(0) i = f32[] constant(0) ROOT r = f32[3,100] reduce-window(x, i),"
               " window={size=1x100 pad=0_0x99_0}, to_apply=add }"));
  Check(*Fused(add + "ENTRY e { x = bf16[8,70] parameter(0) c = f32[8,70] convert(x) i = f32[] constant(1) ROOT r = "
                     "f32[70] reduce(c, i), dimensions={0}, to_apply=add }"));
  Check(*Fused(max + add +
               "ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = pred[] compare(a, b), direction=GE } "
               "ENTRY e { x = f32[1,8,8,33] parameter(0) s = f32[1,4,4,33] parameter(1) i = f32[] constant(0) ROOT r = "
               "f32[1,8,8,33]"
               " select-and-scatter(x, s, i), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_0x1_0x0_0}, select=ge, "
               "scatter=add }"));
}

// Reshapes cut dimensions at other places, and values are used at many indices. No value is computed twice.
TEST(EmitLoop, ComputesAValueWithManyUsesOnce) {
  std::string text = "ENTRY e { x0 = f32[40] parameter(0)";
  for (int i = 0; i < 30; ++i) {
    const std::string a = "x" + std::to_string(i), b = "x" + std::to_string(i + 1);
    text += " r" + b + " = f32[40] reverse(" + a + "), dimensions={0} s" + b + " = f32[40] subtract(" + a + ", r" + b +
            ") " + b + " = f32[40] negate(s" + b + ")";
  }
  Check(*Fused(text + " ROOT r = f32[5,8] reshape(x30) }"));
  Check(
      *Fused("ENTRY e { x = f32[6,35] parameter(0) a = f32[10,21] reshape(x) t = f32[21,10] transpose(a), "
             "dimensions={1,0} b = f32[7,30] reshape(t)"
             " s = f32[30] parameter(1) c = f32[7,30] broadcast(s), dimensions={1} ROOT r = f32[7,30] add(b, c) }"));
}

TEST(EmitLoop, ReadsTupleParameters) {
  Check(
      *Fused("ENTRY e { p = (f32[50], (s32[50], f32[])) parameter(0) a = f32[50] get-tuple-element(p), index=0 q = "
             "(s32[50], f32[]) get-tuple-element(p), index=1"
             " i = s32[50] get-tuple-element(q), index=0 k = f32[] get-tuple-element(q), index=1 f = f32[50] "
             "convert(i) b = f32[50] broadcast(k), dimensions={}"
             " m = f32[50] multiply(a, f) ROOT r = f32[50] add(m, b) }"));
}

TEST(EmitTranspose, TransposesTheMinorDimension) {
  for (const char* dims : {"64,128", "33,70", "100,17", "16,300"}) {
    const std::string d(dims), rows = d.substr(0, d.find(',')), columns = d.substr(d.find(',') + 1),
                               t = columns + "," + rows;
    Check(*Fused("ENTRY e { x = f32[" + d + "] parameter(0) y = f32[" + t + "] parameter(1) b = f32[" + rows +
                 "] parameter(2)"
                 " t = f32[" +
                 t + "] transpose(x), dimensions={1,0} bb = f32[" + t + "] broadcast(b), dimensions={1} a = f32[" + t +
                 "] add(t, y)"
                 " ROOT r = f32[" +
                 t + "] multiply(a, bb) }"));
  }
  Check(*Fused("ENTRY e { x = bf16[3,40,70] parameter(0) ROOT t = bf16[3,70,40] transpose(x), dimensions={0,2,1} }"));
  Check(*Fused("ENTRY e { x = s8[20,5,66] parameter(0) ROOT t = s8[66,5,20] transpose(x), dimensions={2,1,0} }"));
  Check(
      *Fused("ENTRY e { x = f32[70,40]{0,1} parameter(0) y = f32[70,40]{1,0} parameter(1) ROOT r = f32[70,40]{1,0} "
             "subtract(x, y) }"));
  Check(*Fused("ENTRY e { x = f32[20,64,3] parameter(0) ROOT t = f32[3,64,20] transpose(x), dimensions={2,1,0} }"));
}

TEST(EmitTranspose, TransposesEveryElementSize) {
  for (const char* type : {"pred", "s8", "f16", "s32", "f64"}) {
    const std::string t(type);
    Check(*Fused("ENTRY e { x = " + t + "[66,70] parameter(0) ROOT t = " + t +
                 "[70,66] transpose(x), dimensions={1,0} }"));
  }
}

// The arrays are large enough for streaming stores. The length of a row is a multiple of a cache line, but not of a
// tile.
TEST(EmitTranspose, WritesPartialTilesBesideStreamedOnes) {
  Check(*Fused("ENTRY e { x = f64[1040,4080] parameter(0) ROOT t = f64[4080,1040] transpose(x), dimensions={1,0} }"));
}

TEST(EmitReduction, ReducesRowsOfAnyLength) {
  const std::string add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] add(a, b) } ";
  for (const char* dims : {"5,17", "9,33", "3,300", "4,1024", "2,1029", "3,5000", "1,40000", "70,4100", "2,16384",
                           "3,512", "300,30", "129,17", "256,63"}) {
    const std::string d(dims), rows = d.substr(0, d.find(','));
    Check(*Fused(add + "ENTRY e { x = f32[" + d + "] parameter(0) y = f32[" + d + "] parameter(1) m = f32[" + d +
                     "] multiply(x, y) i = f32[] constant(3) ROOT r = f32[" + rows +
                     "] reduce(m, i), dimensions={1}, to_apply=add }",
                 FusionKind::kInput));
  }
}

TEST(EmitReduction, ReducesColumnsOfAnyShape) {
  const std::string add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] add(a, b) } ";
  for (const char* dims : {"17,5", "300,64", "40,1024", "1000,17", "33,2500", "5000,132", "256,1024", "4096,64",
                           "9000,200", "6144,384", "5000,6"}) {
    const std::string d(dims), columns = d.substr(d.find(',') + 1);
    Check(*Fused(add + "ENTRY e { x = f32[" + d + "] parameter(0) i = f32[] constant(3) ROOT r = f32[" + columns +
                     "] reduce(x, i), dimensions={0}, to_apply=add }",
                 FusionKind::kInput));
  }
  Check(*Fused(add + "ENTRY e { x = f32[3,50,70] parameter(0) i = f32[] constant(0) ROOT r = f32[3,70] reduce(x, i), "
                     "dimensions={1}, to_apply=add }"));
  Check(*Fused(add + "ENTRY e { x = f32[30,7,70] parameter(0) i = f32[] constant(0) ROOT r = f32[7] reduce(x, i), "
                     "dimensions={0,2}, to_apply=add }"));
  Check(*Fused(add + "ENTRY e { x = f32[30,70]{0,1} parameter(0) i = f32[] constant(0) ROOT r = f32[70] reduce(x, i), "
                     "dimensions={0}, to_apply=add }"));
}

TEST(EmitReduction, ReducesAWholeArray) {
  const std::string add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] add(a, b) } ";
  Check(*Fused(add +
                   "ENTRY e { x = f32[256,512] parameter(0) y = f32[256,512] parameter(1) z = f32[256,512] parameter(2)"
                   " m = f32[256,512] multiply(y, z) s = f32[256,512] add(x, m) i = f32[] constant(0) ROOT r = f32[] "
                   "reduce(s, i), dimensions={0,1}, to_apply=add }",
               FusionKind::kInput));
  Check(*Parsed(add + "ENTRY e { x = f32[1025] parameter(0) i = f32[] parameter(1) ROOT r = f32[] reduce(x, i), "
                      "dimensions={0}, to_apply=add }"));
}

TEST(EmitReduction, ReducesWithAnyReducerAndType) {
  Check(*Fused("r { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) } ENTRY e { x = "
               "f32[9,777] parameter(0)"
               " i = f32[] constant(-inf) ROOT r = f32[9] reduce(x, i), dimensions={1}, to_apply=r }"),
        Inputs::kReals);
  Check(
      *Fused("r { a = s32[] parameter(0) b = s32[] parameter(1) ROOT m = s32[] minimum(a, b) } ENTRY e { x = "
             "s32[900,40] parameter(0)"
             " i = s32[] constant(5) ROOT r = s32[40] reduce(x, i), dimensions={0}, to_apply=r }"));
  Check(
      *Fused("r { a = pred[] parameter(0) b = pred[] parameter(1) ROOT m = pred[] or(a, b) } ENTRY e { x = pred[6,500] "
             "parameter(0)"
             " i = pred[] constant(false) ROOT r = pred[6] reduce(x, i), dimensions={1}, to_apply=r }"));
  Check(
      *Fused("r { a = f64[] parameter(0) b = f64[] parameter(1) ROOT m = f64[] add(b, a) } ENTRY e { x = f64[6,500] "
             "parameter(0)"
             " i = f64[] constant(0) ROOT r = f64[6] reduce(x, i), dimensions={1}, to_apply=r }"));
  Check(
      *Fused("r { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT m = bf16[] add(a, b) } ENTRY e { x = "
             "bf16[6,500] parameter(0)"
             " i = bf16[] constant(0) ROOT r = bf16[6] reduce(x, i), dimensions={1}, to_apply=r }"));
}

// (a + b) + 1 is associative and has the identity -1, which the emitter does not find. Partial results therefore start
// without a value, and the initial value counts once.
TEST(EmitReduction, InitialValueCountsOnce) {
  const std::string plus =
      "f { a = s32[] parameter(0) b = s32[] parameter(1) one = s32[] constant(1) s = s32[] add(a, b)"
      " ROOT r = s32[] add(s, one) } ";
  const std::string pair =
      "g { a = s32[] parameter(0) x = f32[] parameter(1) b = s32[] parameter(2) y = f32[] parameter(3)"
      " one = s32[] constant(1) s = s32[] add(a, b) i = s32[] add(s, one) m = f32[] maximum(x, y)"
      " ROOT t = (s32[], f32[]) tuple(i, m) } ";
  struct Case {
    const char *from, *to, *dimensions;
  };
  for (const Case& c :
       {Case{"3,5000", "3", "1"}, Case{"5000,3", "3", "0"}, Case{"5000,300", "300", "0"}, Case{"200000", "", "0"},
        Case{"40,20", "40", "1"}, Case{"4,17,9", "4,9", "1"}, Case{"70,33", "", "0,1"}}) {
    SCOPED_TRACE(c.from);
    const std::string from = std::string("[") + c.from + "]", to = std::string("[") + c.to + "]";
    const std::string dimensions = std::string("), dimensions={") + c.dimensions + "}, to_apply=";
    Check(*Fused(plus + "ENTRY e { x = s32" + from + " parameter(0) i = s32[] constant(5) ROOT r = s32" + to +
                 " reduce(x, i" + dimensions + "f }"));
    Check(*Fused(pair + "ENTRY e { x = s32" + from + " parameter(0) y = f32" + from +
                 " parameter(1) i = s32[] constant(5) j = f32[] constant(7) ROOT r = (s32" + to + ", f32" + to +
                 ") reduce(x, y, i, j" + dimensions + "g }"));
  }
}

TEST(EmitReduction, ComputesVariadicAndSeveralReductions) {
  const std::string argmax =
      "argmax { av = f32[] parameter(0) ai = s32[] parameter(1) bv = f32[] parameter(2) bi = s32[] parameter(3)"
      " g = pred[] compare(av, bv), direction=GT eq = pred[] compare(av, bv), direction=EQ lo = pred[] compare(ai, "
      "bi), direction=LT"
      " t = pred[] and(eq, lo) k = pred[] or(g, t) v = f32[] select(k, av, bv) j = s32[] select(k, ai, bi) ROOT r = "
      "(f32[], s32[]) tuple(v, j) } ";
  for (const char* dims : {"6,900", "4,70"}) {
    const std::string d(dims), rows = d.substr(0, 1);
    Check(*Fused(argmax + "ENTRY e { x = f32[" + d + "] parameter(0) i = s32[" + d +
                     "] iota(), iota_dimension=1 m = f32[] constant(-inf) z = s32[] constant(0)"
                     " ROOT r = (f32[" +
                     rows + "], s32[" + rows + "]) reduce(x, i, m, z), dimensions={1}, to_apply=argmax }",
                 FusionKind::kInput));
  }
  const std::string both =
      "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] add(a, b) } "
      "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) } ";
  Check(*Fused(both + "ENTRY e { x = f32[12,640] parameter(0) z = f32[] constant(0) m = f32[] constant(-inf) y = "
                      "f32[12,640] multiply(x, x)"
                      " s = f32[12] reduce(y, z), dimensions={1}, to_apply=add h = f32[12] reduce(x, m), "
                      "dimensions={1}, to_apply=max"
                      " q = f32[12] parameter(1) d = f32[12] subtract(s, q) e = f32[3,4] reshape(d)"
                      " ROOT r = (f32[3,4], f32[12], f32[12,640]) tuple(e, h, y) }",
               FusionKind::kInput));
  Check(*Fused(both + "ENTRY e { x = f32[700,96] parameter(0) z = f32[] constant(0) m = f32[] constant(-inf) y = "
                      "f32[700,96] multiply(x, x)"
                      " s = f32[96] reduce(y, z), dimensions={0}, to_apply=add h = f32[96] reduce(x, m), "
                      "dimensions={0}, to_apply=max"
                      " d = f32[96] subtract(s, h) ROOT r = (f32[96], f32[700,96]) tuple(d, y) }",
               FusionKind::kInput));
}

TEST(EmitContraction, ComputesDotsOfAnyShape) {
  Check(
      *Parsed("ENTRY e { a = f32[70,90] parameter(0) b = f32[90,130] parameter(1) ROOT d = f32[70,130] dot(a, b), "
              "lhs_contracting_dims={1}, rhs_contracting_dims={0} }"));
  Check(
      *Parsed("ENTRY e { a = f32[3,40] parameter(0) b = f32[128,40] parameter(1) ROOT d = f32[3,128] dot(a, b), "
              "lhs_contracting_dims={1}, rhs_contracting_dims={1} }"));
  Check(
      *Fused("ENTRY e { a = f32[64,128]{0,1} parameter(0) b = f32[64,64] parameter(1) c = f32[64] parameter(2) z = "
             "f32[] constant(0)"
             " d = f32[128,64] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0} cc = f32[128,64] "
             "broadcast(c), dimensions={1}"
             " s = f32[128,64] add(d, cc) zz = f32[128,64] broadcast(z), dimensions={} m = f32[128,64] maximum(s, zz) "
             "ROOT r = f32[2,64,64] reshape(m) }",
             FusionKind::kCustom));
  Check(
      *Parsed("ENTRY e { a = bf16[2,20,3,33] parameter(0) b = bf16[2,33,3,35] parameter(1) ROOT d = f32[2,3,20,35] "
              "dot(a, b), lhs_batch_dims={0,2},"
              " rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={1} }"));
  Check(
      *Parsed("ENTRY e { a = s32[17,40] parameter(0) b = s32[40,9] parameter(1) ROOT d = s32[17,9] dot(a, b), "
              "lhs_contracting_dims={1}, rhs_contracting_dims={0} }"));
  // The tiles have 64 x 128 elements.
  Check(
      *Parsed("ENTRY e { a = f32[70,33] parameter(0) b = f32[33,8600] parameter(1) ROOT d = f32[70,8600] dot(a, b), "
              "lhs_contracting_dims={1}, rhs_contracting_dims={0} }"));
  // The dot has so few terms that it becomes a loop.
  Check(
      *Parsed("ENTRY e { a = f32[50,3] parameter(0) b = f32[3,40] parameter(1) ROOT d = f32[50,40] dot(a, b), "
              "lhs_contracting_dims={1}, rhs_contracting_dims={0} }"));
}

TEST(EmitContraction, ComputesConvolutions) {
  Check(*Fused(
      "ENTRY e { x = f32[2,9,11,20] parameter(0) w = f32[3,3,20,40] parameter(1) c = f32[40] parameter(2)"
      " v = f32[2,5,6,40] convolution(x, w), window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"
      " cc = f32[2,5,6,40] broadcast(c), dimensions={3} ROOT r = f32[2,5,6,40] add(v, cc) }",
      FusionKind::kCustom));
  // There are few input features, and channels come first.
  Check(*Parsed(
      "ENTRY e { x = f32[1,3,12,12] parameter(0) w = f32[8,3,5,5] parameter(1) ROOT v = f32[1,8,8,8] convolution(x, w),"
      " window={size=5x5}, dim_labels=bf01_oi01->bf01 }"));
  Check(*Parsed(
      "ENTRY e { x = f32[2,10,16] parameter(0) w = f32[3,16,6] parameter(1) ROOT v = f32[2,19,6] convolution(x, w),"
      " window={size=3 pad=1_1 lhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f }"));
  Check(*Parsed(
      "ENTRY e { x = f32[2,10,12] parameter(0) w = f32[5,6,8] parameter(1) ROOT v = f32[2,6,8] convolution(x, w),"
      " window={size=5}, dim_labels=b0f_0io->b0f, feature_group_count=2 }"));
}

// The product has few tiles with many terms. Several blocks share a tile, with fewer terms in the last part. The last
// block that arrives computes the sums and the epilogue.
TEST(EmitContraction, BlocksShareATile) {
  const auto blocks_of = [](const Module& module) {
    const auto kernels = Emit(module.entry().root());
    return kernels && kernels->size() == 1 ? kernels->front().kernel->blocks : 0;
  };
  const auto dot = Parsed(
      "ENTRY e { a = f32[70,1300] parameter(0) b = f32[1300,90] parameter(1) ROOT d = f32[70,90] dot(a, b), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0} }");
  // The result has tiles of 64 x 64. The 41 panels of 32 terms are divided into 5 per block.
  EXPECT_EQ(blocks_of(*dot), 2 * 2 * 9);
  Check(*dot);
  // In the gradient of a filter, the window is the whole image. The f32 sums of bf16 products are exact here, so the
  // result is rounded once.
  Check(
      *Fused("ENTRY e { x = f32[9,14,14,24] parameter(0) g = f32[9,14,14,40] parameter(1) b = f32[40] parameter(2)"
             " c = f32[3,3,24,40] convolution(x, g), window={size=14x14 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf"
             " bb = f32[3,3,24,40] broadcast(b), dimensions={3} ROOT r = f32[3,3,24,40] add(c, bb) }",
             FusionKind::kCustom));
  Check(
      *Parsed("ENTRY e { a = bf16[2,5,700] parameter(0) b = bf16[2,700,8] parameter(1) ROOT d = bf16[2,5,8] dot(a, b), "
              "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} }"));
  Check(
      *Parsed("ENTRY e { a = s8[20,2000] parameter(0) b = s8[2000,30] parameter(1) ROOT d = s32[20,30] dot(a, b), "
              "lhs_contracting_dims={1}, rhs_contracting_dims={0} }"));
}

// Products of 16-bit operands use matrix units. Sums of small integers are exact there too, and results are rounded
// once.
TEST(EmitContraction, UsesMatrixUnits) {
  const auto emitter_of = [](const Module& module) {
    const auto kernels = Emit(module.entry().root());
    return kernels && kernels->size() == 1 ? kernels->front().emitter : "";
  };
  const auto dot = [](std::string_view lhs, std::string_view rhs, std::string_view result, int lhs_dim, int rhs_dim) {
    return Parsed(Str("ENTRY e { a = ", lhs, " parameter(0) b = ", rhs, " parameter(1) ROOT d = ", result,
                      " dot(a, b), lhs_contracting_dims={", lhs_dim, "}, rhs_contracting_dims={", rhs_dim, "} }"));
  };
  const auto plain = dot("bf16[200,90]", "bf16[90,130]", "f32[200,130]", 1, 0);
  EXPECT_EQ(emitter_of(*plain), "dot, matrix units");
  Check(*plain);
  Check(*dot("f16[128,64]", "f16[64,64]", "f16[128,64]", 1, 1));
  Check(*dot("bf16[40,33]", "bf16[40,70]", "f32[33,70]", 0, 0));
  Check(*dot("bf16[5,1700]", "bf16[70,1700]", "f32[5,70]", 1, 1));  // Several blocks share the terms.
  // Half of the last tile has no columns, so two of its warps compute nothing.
  Check(*dot("bf16[20,40]", "bf16[40,96]", "f32[20,96]", 1, 0));
  Check(*dot("bf16[150,1700]", "bf16[96,1700]", "bf16[150,96]", 1, 1), Inputs::kPlain, 2);
  // The product has too few terms to fill a panel.
  EXPECT_EQ(emitter_of(*dot("bf16[200,9]", "bf16[9,130]", "f32[200,130]", 1, 0)), "loop");
  Check(*Fused(
      "ENTRY e { x = bf16[2,9,11,20] parameter(0) w = bf16[3,3,20,40] parameter(1) c = f32[40] parameter(2)"
      " v = f32[2,5,6,40] convolution(x, w), window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"
      " cc = f32[2,5,6,40] broadcast(c), dimensions={3} ROOT r = f32[2,5,6,40] add(v, cc) }",
      FusionKind::kCustom));
  Check(*Parsed(
      "ENTRY e { x = bf16[2,10,16] parameter(0) w = bf16[3,16,6] parameter(1) ROOT v = bf16[2,19,6] convolution(x, w),"
      " window={size=3 pad=1_1 lhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f }"));
  Check(
      *Parsed("ENTRY e { x = f16[9,14,14,24] parameter(0) g = f16[9,14,14,40] parameter(1) ROOT c = f32[3,3,24,40] "
              "convolution(x, g), window={size=14x14 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf }"));
}

TEST(EmitScatter, UpdatesInOrder) {
  const std::string add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] add(a, b) } ";
  const std::string set = "set { a = f32[] parameter(0) ROOT b = f32[] parameter(1) } ";
  // Several indices are equal. Updates at negative and too large indices are skipped.
  Check(*Parsed(add + "ENTRY e { x = f32[6,300] parameter(0) i = s32[9,1] parameter(1) u = f32[9,300] parameter(2) "
                      "ROOT s = f32[6,300] scatter(x, i, u),"
                      " update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                      "index_vector_dim=1, to_apply=add }"));
  Check(*Parsed(set + "ENTRY e { x = f32[9,9] parameter(0) i = s32[30,2] parameter(1) u = f32[30] parameter(2) ROOT s "
                      "= f32[9,9] scatter(x, i, u),"
                      " update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, "
                      "index_vector_dim=1, to_apply=set }"));
  // The windows overlap, and the operand is computed.
  Check(*Fused(add + "ENTRY e { x = f32[12] parameter(0) i = s32[5,1] parameter(1) u = f32[5,4] parameter(2) n = "
                     "f32[12] negate(x) ROOT s = f32[12] scatter(n, i, u),"
                     " update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
                     "index_vector_dim=1, to_apply=add }"));
}

// Some indices are equal, and some are out of range. Blocks share the places of the operand. If indices are equal, the
// last update wins.
TEST(EmitScatter, BlocksShareThePlaces) {
  const std::string add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] add(a, b) } ";
  const std::string set = "set { a = f32[] parameter(0) ROOT b = f32[] parameter(1) } ";
  const auto rows =
      Parsed(set +
             "ENTRY e { x = f32[6,30] parameter(0) i = s32[2500,1] parameter(1) u = f32[2500,30] "
             "parameter(2) ROOT s = f32[6,30] scatter(x, i, u), update_window_dims={1}, "
             "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=set }");
  const auto kernels = Emit(rows->entry().root());
  ASSERT_TRUE(kernels);
  EXPECT_EQ(kernels->back().kernel->blocks, 2500 / 64);
  Check(*rows);
  // The windows are wider than a block, or are single elements, and one operand is computed.
  Check(*Parsed(add + "ENTRY e { x = f32[5,300] parameter(0) i = u8[200,1] parameter(1) u = f32[200,300] parameter(2) "
                      "ROOT s = f32[5,300] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
                      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }"));
  Check(*Fused(add +
               "ENTRY e { x = f32[9,9] parameter(0) i = s32[1100,2] parameter(1) u = f32[1100] parameter(2) n = "
               "f32[9,9] negate(x) ROOT s = f32[9,9] scatter(n, i, u), update_window_dims={}, "
               "inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add }"));
}

TEST(EmitFaults, ChangeTheResult) {
  const auto module = Fused(
      "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] add(a, b) } ENTRY e { x = f32[8,900] "
      "parameter(0)"
      " i = f32[] constant(0) ROOT r = f32[8] reduce(x, i), dimensions={1}, to_apply=add }",
      FusionKind::kInput);
  const std::vector<Literal> inputs = MakeInputs(*module, Inputs::kPlain);
  const auto good = RunKernels(*module, inputs, On::kHost);
  const auto bad = RunKernels(*module, inputs, On::kHost, "dropped_term");
  ASSERT_TRUE(good && bad);
  EXPECT_FALSE(good->BitEquals(*bad));
}

// The pairs of operands and results that the run time may put into the same memory.
TEST(EmitBuffers, NamesSharableBuffers) {
  const auto module = Fused(
      "ENTRY e { x = f32[64] parameter(0) y = f32[64] parameter(1) r = f32[64] reverse(y), dimensions={0} ROOT a = "
      "f32[64] add(x, r) }");
  const auto plans = Emit(module->entry().root());
  ASSERT_TRUE(plans.has_value());
  ASSERT_EQ((*plans)[0].sharable.size(), 1u);
  EXPECT_EQ((*plans)[0].sharable[0].operand, 0);
}

TEST(EmitErrors, AreUnsupported) {
  for (const char* text : {
           "ENTRY e { x = f16[3] parameter(0) ROOT r = bf16[3] abs(x) }",
           "ENTRY e { x = bf16[3] parameter(0) y = f32[3] parameter(1) ROOT r = f32[3] add(x, y) }",
           "ENTRY e { x = bf16[3] parameter(0) y = f32[3] parameter(1) ROOT r = f32[6] concatenate(x, y), "
           "dimensions={0} }",
       }) {
    const auto module = Parsed(text);
    const auto plans = Emit(module->entry().root());
    ASSERT_FALSE(plans.has_value()) << text;
    EXPECT_EQ(plans.error().exit, ExitCode::kUnsupported) << text;
  }
}

}  // namespace
}  // namespace hlo::gpu
