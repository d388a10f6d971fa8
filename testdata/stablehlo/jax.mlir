// RUN: hlo opt --passes= --hlo_print=short %s
// The text of jax.jit(f).lower(...).as_text(): calls, constants, broadcasts, a dot and reductions.
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) -> (tensor<2xi32> {jax.result_info = "result[0]"}, tensor<2x4xf32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<2x4xf32>
    %3 = stablehlo.add %0, %2 : tensor<2x4xf32>
    %4 = call @g(%3) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
    %7 = stablehlo.compare GE, %4, %6, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %8 = stablehlo.select %7, %4, %6 : tensor<2x4xi1>, tensor<2x4xf32>
    %9:2 = call @argmax(%8) : (tensor<2x4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
    return %9#1, %8 : tensor<2xi32>, tensor<2x4xf32>
  }
  func.func private @g(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %0 = stablehlo.sine %arg0 : tensor<2x4xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<2x4xf32>
    %1 = stablehlo.multiply %0, %cst : tensor<2x4xf32>
    return %1 : tensor<2x4xf32>
  }
  func.func private @argmax(%arg0: tensor<2x4xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.select %2, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %4 = stablehlo.select %2, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
    }
    return %1#0, %1#1 : tensor<2xf32>, tensor<2xi32>
  }
}

// STDOUT:
// HloModule jit_f
//
// g {
//   arg0.1 = f32[2,4] parameter(0)
//   sine = f32[2,4] sine(arg0.1)
//   cst.1 = f32[] constant(2)
//   cst.2 = f32[2,4] broadcast(cst.1), dimensions={}
//   ROOT multiply = f32[2,4] multiply(sine, cst.2)
// }
//
// region {
//   arg = f32[] parameter(0)
//   arg.1 = f32[] parameter(1)
//   ROOT maximum = f32[] maximum(arg, arg.1)
// }
//
// region.1 {
//   arg1.1 = f32[] parameter(0)
//   arg2 = s32[] parameter(1)
//   arg3 = f32[] parameter(2)
//   arg4 = s32[] parameter(3)
//   compare.1 = pred[] compare(arg1.1, arg3), direction=GT
//   select.1 = f32[] select(compare.1, arg1.1, arg3)
//   select.2 = s32[] select(compare.1, arg2, arg4)
//   ROOT tuple = (f32[], s32[]) tuple(select.1, select.2)
// }
//
// argmax {
//   arg0.2 = f32[2,4] parameter(0)
//   iota = s32[4] iota(), iota_dimension=0
//   broadcast.3 = s32[2,4] broadcast(iota), dimensions={1}
//   cst.3 = f32[] constant(-inf)
//   c = s32[] constant(0)
//   reduce.1 = (f32[2], s32[2]) reduce(arg0.2, broadcast.3, cst.3, c), dimensions={1}, to_apply=region.1
//   get-tuple-element = f32[2] get-tuple-element(reduce.1), index=0
//   get-tuple-element.1 = s32[2] get-tuple-element(reduce.1), index=1
//   ROOT tuple.1 = (f32[2], s32[2]) tuple(get-tuple-element, get-tuple-element.1)
// }
//
// ENTRY main {
//   arg0 = f32[2,3] parameter(0)
//   arg1 = f32[3,4] parameter(1)
//   dot = f32[2,4] dot(arg0, arg1), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={default,highest}
//   constant = f32[1,4] constant({ { 1, 2, 3, 4 } })
//   broadcast = f32[1,4] broadcast(constant), dimensions={0,1}
//   reshape = f32[4] reshape(broadcast)
//   broadcast.1 = f32[2,4] broadcast(reshape), dimensions={1}
//   add = f32[2,4] add(dot, broadcast.1)
//   call = f32[2,4] call(add), to_apply=g
//   cst_0 = f32[] constant(-inf)
//   reduce = f32[2] reduce(call, cst_0), dimensions={1}, to_apply=region
//   broadcast.2 = f32[2,4] broadcast(reduce), dimensions={0}
//   compare = pred[2,4] compare(call, broadcast.2), direction=GE
//   select = f32[2,4] select(compare, call, broadcast.2)
//   call.1 = (f32[2], s32[2]) call(select), to_apply=argmax
//   get-tuple-element.2 = f32[2] get-tuple-element(call.1), index=0
//   get-tuple-element.3 = s32[2] get-tuple-element(call.1), index=1
//   ROOT tuple.2 = (s32[2], f32[2,4]) tuple(get-tuple-element.3, select)
// }
