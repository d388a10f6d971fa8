// RUN: hlo opt --passes= --hlo_print=short %s
// The generic form, as mlir-opt --mlir-print-op-generic prints it.
"builtin.module"() <{sym_name = "generic"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3xf32>, tensor<3x5xf32>) -> tensor<5xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3xf32>, %arg1: tensor<3x5xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3xf32>, tensor<3x5xf32>) -> tensor<5xf32>
    %2 = "stablehlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64: 1>} : (tensor<5xf32>) -> tensor<7x5xf32>
    %3 = "stablehlo.reduce"(%2, %0) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %4 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%4) : (tensor<f32>) -> ()
    }) : (tensor<7x5xf32>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%3) : (tensor<5xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32} : () -> ()

// STDOUT:
// HloModule generic
//
// region {
//   arg2 = f32[] parameter(0)
//   arg3 = f32[] parameter(1)
//   ROOT add = f32[] add(arg2, arg3)
// }
//
// ENTRY main {
//   arg0 = f32[3] parameter(0)
//   arg1 = f32[3,5] parameter(1)
//   constant = f32[] constant(0)
//   dot = f32[5] dot(arg0, arg1), lhs_contracting_dims={0}, rhs_contracting_dims={0}
//   broadcast = f32[7,5] broadcast(dot), dimensions={1}
//   ROOT reduce = f32[5] reduce(broadcast, constant), dimensions={0}, to_apply=region
// }
