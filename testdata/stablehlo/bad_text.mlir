// RUN: hlo check --split_input_file %s
// Texts that are not MLIR, or end too early.
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %b : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0:2 = stablehlo.add %a, %a : tensor<2xf32>
  return %0#0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.add"(%a, %a) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main() -> tensor<2xi8> {
  %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi8>
  return %0 : tensor<2xi8>
}

// -----

func.func @main() -> tensor<2xi8> {
  %0 = stablehlo.constant dense<[1, 128]> : tensor<2xi8>
  return %0 : tensor<2xi8>
}

// -----

func.func @main() -> tensor<2xi8> {
  %0 = stablehlo.constant dense<"0x0102zz"> : tensor<3xi8>
  return %0 : tensor<2xi8>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.transpose %a, dims = [0, #unknown] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.transpose"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @other(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @main(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %a : tensor<2xf32>
}

// -----

module @cut {
  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %a, %a : tensor<2x

// STDERR:
// testdata/stablehlo/bad_text.mlir:4:26: error: [V008] the value '%b' is not defined here
//     4 |   %0 = stablehlo.add %a, %b : tensor<2xf32>
//       |                          ^~
// 1 error in testdata/stablehlo/bad_text.mlir#1
// testdata/stablehlo/bad_text.mlir:11:25: error: [P010] expected ',', found '%a'
//    11 |   %0 = stablehlo.add %a %a : tensor<2xf32>
//       |                         ^~
// 1 error in testdata/stablehlo/bad_text.mlir#2
// testdata/stablehlo/bad_text.mlir:18:10: error: [V001] 'stablehlo.add' has 1 result, but 2 are named
//    18 |   %0:2 = stablehlo.add %a, %a : tensor<2xf32>
//       |          ^~~~~~~~~~~~~
// 1 error in testdata/stablehlo/bad_text.mlir#3
// testdata/stablehlo/bad_text.mlir:25:34: error: [P026] operand 1 of 'stablehlo.add' is f32[2], but its type is written f32[3]
//    25 |   %0 = "stablehlo.add"(%a, %a) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
//       |                                  ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// 1 error in testdata/stablehlo/bad_text.mlir#4
// testdata/stablehlo/bad_text.mlir:32:38: error: [P041] the elements do not fill s8[2]
//    32 |   %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi8>
//       |                                      ^
// 1 error in testdata/stablehlo/bad_text.mlir#5
// testdata/stablehlo/bad_text.mlir:39:37: error: [P042] the number does not fit the type s8
//    39 |   %0 = stablehlo.constant dense<[1, 128]> : tensor<2xi8>
//       |                                     ^~~
// 1 error in testdata/stablehlo/bad_text.mlir#6
// testdata/stablehlo/bad_text.mlir:46:33: error: [P043] expected hexadecimal digits
//    46 |   %0 = stablehlo.constant dense<"0x0102zz"> : tensor<3xi8>
//       |                                 ^~~~~~~~~~
// 1 error in testdata/stablehlo/bad_text.mlir#7
// testdata/stablehlo/bad_text.mlir:53:43: error: [P010] there is no attribute '#unknown'
//    53 |   %0 = stablehlo.transpose %a, dims = [0, #unknown] : (tensor<2xf32>) -> tensor<2xf32>
//       |                                           ^~~~~~~~
// 1 error in testdata/stablehlo/bad_text.mlir#8
// testdata/stablehlo/bad_text.mlir:60:8: error: [P036] 'stablehlo.transpose' needs the attribute 'permutation'
//    60 |   %0 = "stablehlo.transpose"(%a) : (tensor<2xf32>) -> tensor<2xf32>
//       |        ^~~~~~~~~~~~~~~~~~~~~
// 1 error in testdata/stablehlo/bad_text.mlir#9
// testdata/stablehlo/bad_text.mlir:67:8: error: [P010] there is no function 'other'
//    67 |   %0 = call @other(%a) : (tensor<2xf32>) -> tensor<2xf32>
//       |        ^~~~
// 1 error in testdata/stablehlo/bad_text.mlir#10
// testdata/stablehlo/bad_text.mlir:74:8: error: [V163] the function 'main' calls itself
//    74 |   %0 = call @main(%a) : (tensor<2xf32>) -> tensor<2xf32>
//       |        ^~~~
// 1 error in testdata/stablehlo/bad_text.mlir#11
// testdata/stablehlo/bad_text.mlir:80:1: error: [P012] the region does not end with a return
//    80 | func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
//       | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// 1 error in testdata/stablehlo/bad_text.mlir#12
// testdata/stablehlo/bad_text.mlir:88:42: error: [P012] the text ends too early: expected an element type
//    88 |     %0 = stablehlo.add %a, %a : tensor<2x
//       |                                          ^
// 1 error in testdata/stablehlo/bad_text.mlir#13
// EXIT: 3
