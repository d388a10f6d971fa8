// RUN: hlo opt --passes= --hlo_print=short %s
// Operations with windows and dimension numbers, in the pretty form where there is one.
func.func @main(%x: tensor<1x8x8x3xf32>, %k: tensor<3x2x3x4xf32>, %i: tensor<5x1xi32>, %u: tensor<5x3xf32>, %m: tensor<7x3xf32>)
    -> (tensor<1x4x6x4xf32>, tensor<1x4x4x3xf32>, tensor<4x4xf32>, tensor<5x3xf32>, tensor<7x3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %conv = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [2, 1], pad = [[1, 1], [0, -1]], rhs_dilate = [1, 1], reverse = [true, false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]}
    : (tensor<1x8x8x3xf32>, tensor<3x2x3x4xf32>) -> tensor<1x4x6x4xf32>
  %pool = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %max = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %max : tensor<f32>
  }) : (tensor<1x8x8x3xf32>, tensor<f32>) -> tensor<1x4x4x3xf32>
  %square = stablehlo.constant dense<1.5> : tensor<4x4xf32>
  %half = stablehlo.constant dense<0.5> : tensor<2x2xf32>
  %spread = "stablehlo.select_and_scatter"(%square, %half, %zero) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<0> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %ge = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %ge : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %rows = "stablehlo.gather"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 3>}> : (tensor<7x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  %added = "stablehlo.scatter"(%m, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<7x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  return %conv, %pool, %spread, %rows, %added : tensor<1x4x6x4xf32>, tensor<1x4x4x3xf32>, tensor<4x4xf32>, tensor<5x3xf32>, tensor<7x3xf32>
}

// STDOUT:
// HloModule module
//
// region {
//   a = f32[] parameter(0)
//   b = f32[] parameter(1)
//   ROOT max = f32[] maximum(a, b)
// }
//
// region.1 {
//   a.1 = f32[] parameter(0)
//   b.1 = f32[] parameter(1)
//   ROOT ge = pred[] compare(a.1, b.1), direction=GE
// }
//
// region.2 {
//   a.2 = f32[] parameter(0)
//   b.2 = f32[] parameter(1)
//   ROOT sum = f32[] add(a.2, b.2)
// }
//
// region.3 {
//   a.3 = f32[] parameter(0)
//   b.3 = f32[] parameter(1)
//   ROOT sum.1 = f32[] add(a.3, b.3)
// }
//
// ENTRY main {
//   x = f32[1,8,8,3] parameter(0)
//   k = f32[3,2,3,4] parameter(1)
//   i = s32[5,1] parameter(2)
//   u = f32[5,3] parameter(3)
//   m = f32[7,3] parameter(4)
//   zero = f32[] constant(0)
//   conv = f32[1,4,6,4] convolution(x, k), window={size=3x2 stride=2x1 pad=1_1x0_-1 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f, operand_precision={highest,default}
//   pool = f32[1,4,4,3] reduce-window(x, zero), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=region
//   square = f32[] constant(1.5)
//   square.1 = f32[4,4] broadcast(square), dimensions={}
//   half = f32[] constant(0.5)
//   half.1 = f32[2,2] broadcast(half), dimensions={}
//   spread = f32[4,4] select-and-scatter(square.1, half.1, zero), window={size=2x2 stride=2x2}, select=region.1, scatter=region.2
//   rows = f32[5,3] gather(m, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}, indices_are_sorted=true
//   added = f32[7,3] scatter(m, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=region.3
//   ROOT tuple = (f32[1,4,6,4], f32[1,4,4,3], f32[4,4], f32[5,3], f32[7,3]) tuple(conv, pool, spread, rows, added)
// }
