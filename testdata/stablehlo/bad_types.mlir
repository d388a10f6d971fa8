// RUN: hlo check --split_input_file %s
// Types and operations that hlokit does not read, and types that the verifier rejects.
func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}

// -----

func.func @main(%a: tensor<2x!quant.uniform<i8:f32, 2.0:15>>) {
  return
}

// -----

func.func @main(%a: tensor<*xf32>) {
  return
}

// -----

func.func @main(%a: memref<2xf32>) {
  return
}

// -----

func.func @main(%a: tensor<4000000000x4000000000xf32>) {
  return
}

// -----

func.func @main() -> tensor<2xf32> {
  %0 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.cosin %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.dynamic_reshape"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.addf %a, %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {
  return %a : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %b : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>}>
       : (tensor<2xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// STDERR:
// testdata/stablehlo/bad_types.mlir:3:27: error: [U011] a tensor with a dynamic dimension '?' is not supported
//     3 | func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
//       |                           ^~~~~~
// hint: use the program with the sizes of its arguments: jax.export with concrete shapes, or a shape refinement
// 1 error in testdata/stablehlo/bad_types.mlir#1
// testdata/stablehlo/bad_types.mlir:9:30: error: [U011] the quantized type '!quant.uniform' is not supported
//     9 | func.func @main(%a: tensor<2x!quant.uniform<i8:f32, 2.0:15>>) {
//       |                              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// 1 error in testdata/stablehlo/bad_types.mlir#2
// testdata/stablehlo/bad_types.mlir:15:28: error: [U011] a tensor of unknown rank is not supported
//    15 | func.func @main(%a: tensor<*xf32>) {
//       |                            ^
// 1 error in testdata/stablehlo/bad_types.mlir#3
// testdata/stablehlo/bad_types.mlir:21:21: error: [U011] the type 'memref' is not supported
//    21 | func.func @main(%a: memref<2xf32>) {
//       |                     ^~~~~~
// 1 error in testdata/stablehlo/bad_types.mlir#4
// testdata/stablehlo/bad_types.mlir:27:27: error: [P092] the tensor has 2^63 bytes or more
//    27 | func.func @main(%a: tensor<4000000000x4000000000xf32>) {
//       |                           ^~~~~~~~~~~~~~~~~~~~~~~~~~~
// 1 error in testdata/stablehlo/bad_types.mlir#5
// testdata/stablehlo/bad_types.mlir:34:27: error: [U011] the value of a dense_resource is not in the text
//    34 |   %0 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
//       |                           ^~~~~~~~~~~~~~
// hint: print the module with all values: in JAX, lowered.as_text() or jax.config.update('jax_mlir_print_large_constants', True)
// 1 error in testdata/stablehlo/bad_types.mlir#6
// testdata/stablehlo/bad_types.mlir:41:8: error: [U011] the operation 'stablehlo.cosin' is not supported
//    41 |   %0 = stablehlo.cosin %a : tensor<2xf32>
//       |        ^~~~~~~~~~~~~~~
// hint: did you mean 'stablehlo.cosine'?
// 1 error in testdata/stablehlo/bad_types.mlir#7
// testdata/stablehlo/bad_types.mlir:48:8: error: [U011] 'stablehlo.dynamic_reshape', which makes dynamic shapes, is not supported
//    48 |   %0 = "stablehlo.dynamic_reshape"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
//       |        ^~~~~~~~~~~~~~~~~~~~~~~~~~~
// 1 error in testdata/stablehlo/bad_types.mlir#8
// testdata/stablehlo/bad_types.mlir:55:8: error: [U011] the operation 'arith.addf' is not supported; only StableHLO and CHLO are
//    55 |   %0 = arith.addf %a, %a : tensor<2xf32>
//       |        ^~~~~~~~~~
// 1 error in testdata/stablehlo/bad_types.mlir#9
// testdata/stablehlo/bad_types.mlir:62:3: error: [P033] result 0 of the function is f32[3], but f32[2] is returned
//    62 |   return %a : tensor<2xf32>
//       |   ^~~~~~
// 1 error in testdata/stablehlo/bad_types.mlir#10
// testdata/stablehlo/bad_types.mlir:68:3: error: [V030] operands of '0' differ in shape: f32[2] and f32[3]
//    68 |   %0 = stablehlo.add %a, %b : tensor<2xf32>
//       |   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// testdata/stablehlo/bad_types.mlir:67:36: note: 'b' is f32[3] here
//    67 | func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
//       |                                    ^~~~~~~~~~~~~~~~~
// 1 error in testdata/stablehlo/bad_types.mlir#11
// testdata/stablehlo/bad_types.mlir:75:3: error: [V002] '0' is written f32[2,3], but its operands give f32[2]
//    75 |   %0 = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>}>
//       |   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// 1 error in testdata/stablehlo/bad_types.mlir#12
// EXIT: 5
