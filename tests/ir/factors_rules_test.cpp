// Tests the factor rules of ops in text form. Dimensions that are never cut are tested here only, not in
// tests/ir/factors_laws_test.cpp.
#include <gtest/gtest.h>

#include "base/text.h"
#include "ir/factors/factor_rules.h"
#include "ir/module.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

constexpr const char* kReducers = R"(
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
add_integers {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b)
}
subtract {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] subtract(a, b)
}
mulhi {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] mulhi(a, b)
}
second {
  a = f32[] parameter(0)
  ROOT b = f32[] parameter(1)
}
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT
}
not_less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE
}
argmax_of_integers {
  a = s32[] parameter(0)
  i = s32[] parameter(1)
  b = s32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  keep = pred[] or(more, tie)
  value = s32[] select(more, a, b)
  place = s32[] select(keep, i, j)
  ROOT r = (s32[], s32[]) tuple(value, place)
}
argmax_of_first_nan {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  greater = pred[] compare(a, b), direction=GT
  is_nan = pred[] compare(a, a), direction=NE
  more = pred[] or(greater, is_nan)
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  keep = pred[] or(more, tie)
  value = f32[] select(more, a, b)
  place = s32[] select(keep, i, j)
  ROOT r = (f32[], s32[]) tuple(value, place)
}
place_of_the_lesser {
  a = s32[] parameter(0)
  i = s32[] parameter(1)
  b = s32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  value = s32[] select(more, a, b)
  place = s32[] select(more, j, i)
  ROOT r = (s32[], s32[]) tuple(value, place)
}
running {
  x = f32[7] parameter(0)
  carry = f32[7] parameter(1)
  next = f32[7] add(carry, x)
  ROOT r = (f32[7], f32[7]) tuple(next, next)
}
decaying {
  x = f32[7] parameter(0)
  carry = f32[7] parameter(1)
  half = f32[7] subtract(carry, x)
  ROOT r = (f32[7], f32[7]) tuple(half, half)
}
)";

struct Row {
  const char* parameters;  // Shapes of the operands a, b, c, ...
  const char* op;          // The op's line without its name.
  const char* rule;
};

constexpr Row kRows[] = {
    {"f32[6,5] f32[6,5]", "f32[6,5] add(a, b)", "([i,j],[i,j])->([i,j]) i=6 j=5"},
    {"pred[] f32[6,5] f32[6,5]", "f32[6,5] select(a, b, c)", "([],[i,j],[i,j])->([i,j]) i=6 j=5"},
    {"f32[<=8,3]", "f32[<=8,3] negate(a)", "([i,j])->([i,j]) i:whole=8 j=3"},
    {"f32[6,1]", "f32[6,1] negate(a)", "([i,1])->([i,1]) i=6"},
    {"f32[0,3]", "f32[0,3] negate(a)", "([j,i])->([k,i]) i=3 j:whole=0 k:whole=0"},
    {"f32[6,5]", "u8[6,5,4] bitcast-convert(a)", "([i,j])->([i,j,k]) i=6 j=5 k:whole=4"},
    {"f32[5]", "f32[6,5,2] broadcast(a), dimensions={1}", "([j])->([i,j,k]) i=6 j=5 k=2"},
    {"f32[6,5,2]", "f32[2,6,5] transpose(a), dimensions={2,0,1}", "([j,k,i])->([i,j,k]) i=2 j=6 k=5"},
    {"f32[24,1]", "f32[6,4] reshape(a)", "([ij,1])->([i,j]) i=6 j=4"},
    {"f32[6,4]", "f32[24] reshape(a)", "([i,j])->([ij]) i=6 j=4"},
    {"f32[6,4]", "f32[4,6] reshape(a)", "([ij,kn])->([il,mn]) i=2 j:whole=3 k:whole=2 l:whole=2 m:whole=3 n=2"},
    {"f32[3,16]", "f32[2,12,2] reshape(a)", "([i,jmn])->([k,lm,n]) i:whole=3 j:whole=2 k:whole=2 l:whole=3 m=4 n=2"},
    {"f32[8,3]", "f32[3,8] reshape(a)", "([i,j])->([k,l]) i:whole=8 j:whole=3 k:whole=3 l:whole=8"},
    {"f32[5,6,4]", "f32[5,24] reshape(a)", "([i,j,k])->([i,jk]) i=5 j=6 k=4"},
    {"", "s32[6,5] iota(), iota_dimension=1", "()->([i,j]) i=6 j=5"},
    {"f32[16,3]", "f32[10,3] slice(a), slice={[2:12], [0:3]}", "([i,j])->([i,j]) i:window=10 j=3"},
    {"f32[6,5] f32[]", "f32[9,5] pad(a, b), padding=1_2x0_0", "([i,j],[])->([i,j]) i:window=9 j=5"},
    {"f32[6,5] f32[6,2]", "f32[6,7] concatenate(a, b), dimensions={1}", "([i,j],[i,j])->([i,j]) i=6 j:window=7"},
    {"f32[6,5]", "f32[6,5] reverse(a), dimensions={1}", "([i,j])->([i,j]) i=6 j:window=5"},
    {"f32[6,5]", "f32[6,5] shuffle(a), dimensions={0,1}, mode=rotate, shifts={2,5}", "([i,j])->([i,j]) i:window=6 j=5"},
    {"f32[64,16] f32[16,64]", "f32[64,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "([i,k],[k,j])->([i,j]) i=64 j=64 k:sum=16"},
    {"f32[2,6,5] f32[7,5,2]",
     "f32[2,6,7] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={2}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
     "([i,j,l],[k,l,i])->([i,j,k]) i=2 j=6 k=7 l:sum=5"},
    {"f32[6,8] f32[8,7] f32[6,4] f32[2,7]",
     "f32[6,7] scaled-dot(a, b, c, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "([i,kl],[kl,j],[i,km],[k,j])->([i,j]) i=6 j=7 k:sum=2 l:whole=4 m:whole=2"},
    {"f32[6,5] f32[3,5,7] s32[3]",
     "f32[6,7] ragged-dot(a, b, c), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
     "rhs_group_dims={0}",
     "([k,j],[l,j,i],[m])->([n,i]) i=7 j:sum=5 k:whole=6 l:whole=3 m:whole=3 n:whole=6"},
    {"f32[2,9,4] f32[3,4,6]", "f32[2,7,6] convolution(a, b), window={size=3}, dim_labels=b0f_0io->b0f",
     "([i,l,k],[m,k,j])->([i,l,j]) i=2 j=6 k:sum=4 l:window=7 m:sum=3"},
    {"f32[2,9,4] f32[3,2,6]",
     "f32[2,7,6] convolution(a, b), window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=2",
     "([j,m,il],[n,l,ik])->([j,m,ik]) i=2 j=2 k=3 l:sum=2 m:window=7 n:sum=3"},
    {"f32[4,9,3] f32[3,3,6]",
     "f32[2,7,6] convolution(a, b), window={size=3}, dim_labels=b0f_0io->b0f, batch_group_count=2",
     "([ij,m,l],[n,l,ik])->([j,m,ik]) i=2 j=2 k=3 l:sum=3 m:window=7 n:sum=3"},
    {"s32[2,9,4] s32[3,4,6]", "s32[2,7,6] convolution(a, b), window={size=3}, dim_labels=b0f_0io->b0f",
     "([i,l,k],[m,k,j])->([i,l,j]) i=2 j=6 k:whole=4 l:window=7 m:whole=3"},
    {"f32[6,5] f32[]", "f32[6] reduce(a, b), dimensions={1}, to_apply=add", "([i,j],[])->([i]) i=6 j:sum=5"},
    {"f32[6,5] f32[]", "f32[6] reduce(a, b), dimensions={1}, to_apply=subtract", "([i,j],[])->([i]) i=6 j:whole=5"},
    {"s32[6,5] s32[]", "s32[6] reduce(a, b), dimensions={1}, to_apply=mulhi", "([i,j],[])->([i]) i=6 j:whole=5"},
    {"s32[4,6,5] s32[4,6,5] s32[] s32[]",
     "(s32[4], s32[4]) reduce(a, b, c, d), dimensions={1,2}, to_apply=argmax_of_integers",
     "([i,j,k],[i,j,k],[],[])->([i],[i]) i=4 j:sum=6 k:sum=5"},
    {"f32[4,6,5] s32[4,6,5] f32[] s32[]",
     "(f32[4], s32[4]) reduce(a, b, c, d), dimensions={1,2}, to_apply=argmax_of_first_nan",
     "([i,j,k],[i,j,k],[],[])->([i],[i]) i=4 j:sum=6 k:whole=5"},
    {"s32[4,6] s32[4,6] s32[] s32[]",
     "(s32[4], s32[4]) reduce(a, b, c, d), dimensions={1}, to_apply=place_of_the_lesser",
     "([i,j],[i,j],[],[])->([i],[i]) i=4 j:whole=6"},
    {"f32[6,5] f32[]", "f32[6,4] reduce-window(a, b), window={size=1x2}, to_apply=add",
     "([i,j],[])->([i,j]) i=6 j:window=4"},
    {"f32[6,8] f32[6,4] f32[]",
     "f32[6,8] select-and-scatter(a, b, c), window={size=1x2 stride=1x2}, select=not_less, scatter=add",
     "([i,jk],[i,j],[])->([i,jk]) i=6 j=4 k:whole=2"},
    {"f32[6,8] f32[6,4] f32[]",
     "f32[6,8] select-and-scatter(a, b, c), window={size=1x3 stride=1x2 pad=0_0x0_1}, select=not_less, scatter=add",
     "([i,j],[i,j],[])->([i,j]) i=6 j:window=8"},
    {"f32[5,7] f32[7]", "(f32[5,7], f32[7]) scan(a, b), dimensions={0}, num_carries=1, to_apply=running",
     "([i,j],[j])->([i,j],[j]) i:scan=5 j=7"},
    {"f32[5,7] f32[7]", "(f32[5,7], f32[7]) scan(a, b), dimensions={0}, num_carries=1, to_apply=decaying",
     "([j,i],[i])->([k,i],[i]) i=7 j:whole=5 k:whole=5"},
    {"f32[6,5]", "f32[6,5] sort(a), dimensions={1}, to_apply=less", "([i,j])->([i,j]) i=6 j:whole=5"},
    {"f32[6,5]", "(f32[6,3], s32[6,3]) topk(a), k=3, largest=true, is_stable=true",
     "([i,j])->([i,k],[i,l]) i=6 j:sum=5 k:whole=3 l:whole=3"},
    {"f32[8,5] s32[6,2]",
     "f32[6,5] gather(a, b), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={1,5}",
     "([i,j],[k,l])->([k,j]) i:look=8 j=5 k=6 l:whole=2"},
    {"f32[8,5] s32[6,2]",
     "f32[6,2,5] gather(a, b), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={2,5}",
     "([i,j],[k,l])->([k,m,j]) i:look=8 j=5 k=6 l:whole=2 m:whole=2"},
    {"f32[4,8] s32[4,6]",
     "f32[4,6] gather(a, b), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
     "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}",
     "([j,i],[j,k])->([j,k]) i:look=8 j=4 k=6"},
    {"f32[8,5] s32[6] f32[6,5]",
     "f32[8,5] scatter(a, b, c), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, to_apply=add",
     "([i,j],[k],[k,j])->([i,j]) i:put=8 j=5 k:sum=6"},
    {"f32[8,5] s32[6] f32[6,5]",
     "f32[8,5] scatter(a, b, c), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, to_apply=second",
     "([i,j],[k],[l,j])->([i,j]) i:put=8 j=5 k:whole=6 l:whole=6"},
    {"f32[8,5] s32[6] f32[6,2,5]",
     "f32[8,5] scatter(a, b, c), update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, to_apply=add",
     "([k,i],[j],[j,l,i])->([m,i]) i=5 j:sum=6 k:whole=8 l:whole=2 m:whole=8"},
    {"f32[8,5] s32[] s32[]", "f32[3,5] dynamic-slice(a, b, c), dynamic_slice_sizes={3,5}",
     "([i,j],[],[])->([k,j]) i:look=8 j=5 k:whole=3"},
    {"f32[8,5] f32[3,5] s32[] s32[]", "f32[8,5] dynamic-update-slice(a, b, c, d)",
     "([i,j],[k,j],[],[])->([i,j]) i:put=8 j=5 k:whole=3"},
    {"f32[6,5,4] f32[4] f32[4]",
     "(f32[6,5,4], f32[4], f32[4]) batch-norm-training(a, b, c), epsilon=0.1, feature_index=2",
     "([j,k,i],[i],[i])->([l,m,i],[i],[i]) i=4 j:whole=6 k:whole=5 l:whole=6 m:whole=5"},
    {"f32[6,4] f32[4] f32[4] f32[4] f32[4]",
     "f32[6,4] batch-norm-inference(a, b, c, d, e), epsilon=0.1, feature_index=1",
     "([i,j],[j],[j],[j],[j])->([i,j]) i=6 j=4"},
    {"f32[6,5,5]", "f32[6,5,5] cholesky(a)", "([i,j,k])->([i,l,m]) i=6 j:whole=5 k:whole=5 l:whole=5 m:whole=5"},
    {"f32[6,5,5] f32[6,5,3]", "f32[6,5,3] triangular-solve(a, b), left_side=true, transpose_a=NO_TRANSPOSE",
     "([i,k,l],[i,m,j])->([i,n,j]) i=6 j=3 k:whole=5 l:whole=5 m:whole=5 n:whole=5"},
    {"c64[6,8]", "c64[6,8] fft(a), fft_type=FFT, fft_length={8}", "([i,j])->([i,k]) i=6 j:whole=8 k:whole=8"},
    {"f32[] f32[]", "f32[6,5] rng(a, b), distribution=rng_uniform", "([],[])->([i,j]) i:whole=6 j:whole=5"},
    {"f32[6,5] s32[4]", "(f32[6,5], s32[4]) tuple(a, b)", "([i,j],[k])->([i,j],[k]) i=6 j=5 k=4"},
    {"(f32[6,5],s32[4])", "s32[4] get-tuple-element(a), index=1", "(([j,k],[i]))->([i]) i=4 j=6 k=5"},
    {"f32[6,5]", "s32[] get-dimension-size(a), dimensions={0}", "([j,i])->([]) i=5 j:whole=6"},
    {"f32[6,5] s32[]", "f32[<=6,5] set-dimension-size(a, b), dimensions={0}",
     "([j,i],[])->([k,i]) i=5 j:whole=6 k:whole=6"},
    {"f32[6,5]", "f32[6,5] all-reduce(a), to_apply=add", "([i,j])->([i,j]) i=6 j=5"},
    {"f32[6,5]", "f32[12,5] all-gather(a), dimensions={0}", "([j,i])->([k,i]) i=5 j:whole=6 k:whole=12"},
    {"f32[6,5]", "f32[6,5] custom-call(a), custom_call_target=\"unknown\"",
     "([i,j])->([k,l]) i:whole=6 j:whole=5 k:whole=6 l:whole=5"},
    {"f32[] f32[]", "f32[] call(a, b), to_apply=add", "edges"},
};

TEST(FactorRules, HaveTheirText) {
  for (const Row& row : kRows) {
    std::string text = Str("HloModule m\n", kReducers, "ENTRY main {\n");
    char name = 'a';
    for (const std::string_view shape : Split(row.parameters, ' ')) {
      if (!shape.empty()) text += Str("  ", name, " = ", shape, " parameter(", name - 'a', ")\n");
      ++name;
    }
    text += Str("  ROOT r = ", row.op, "\n}\n");
    const auto module = ParseText(text);
    ASSERT_NE(module, nullptr) << row.op;
    EXPECT_EQ(FactorsOf(module->entry().root()).ToString(), row.rule) << row.op << " of " << row.parameters;
  }
}

}  // namespace
}  // namespace hlo
