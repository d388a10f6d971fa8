// RUN: hlo opt --passes= --hlo_print=short %s
// Regions use values from outside: the loop and the branches take them as operands, and constants are copied.
func.func @main(%x: tensor<3xf32>, %n: tensor<i32>, %flag: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %loop:2 = stablehlo.while(%i = %zero, %sum = %x) : tensor<i32>, tensor<3xf32>
  cond {
    %less = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %more = stablehlo.add %sum, %x : tensor<3xf32>
    stablehlo.return %next, %more : tensor<i32>, tensor<3xf32>
  }
  %chosen = "stablehlo.if"(%flag) ({
    %negative = stablehlo.negate %loop#1 : tensor<3xf32>
    stablehlo.return %negative : tensor<3xf32>
  }, {
    %product = stablehlo.multiply %x, %loop#1 : tensor<3xf32>
    stablehlo.return %product : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  %case = "stablehlo.case"(%n) ({
    stablehlo.return %chosen : tensor<3xf32>
  }, {
    %half = stablehlo.constant dense<5.0e-01> : tensor<3xf32>
    stablehlo.return %half : tensor<3xf32>
  }) : (tensor<i32>) -> tensor<3xf32>
  return %chosen, %case : tensor<3xf32>, tensor<3xf32>
}

// STDOUT:
// HloModule module
//
// region {
//   arg_tuple = (s32[], f32[3], s32[], f32[3]) parameter(0)
//   get-tuple-element = s32[] get-tuple-element(arg_tuple), index=0
//   get-tuple-element.1 = f32[3] get-tuple-element(arg_tuple), index=1
//   get-tuple-element.2 = s32[] get-tuple-element(arg_tuple), index=2
//   get-tuple-element.3 = f32[3] get-tuple-element(arg_tuple), index=3
//   one.1 = s32[] constant(1)
//   next = s32[] add(get-tuple-element, one.1)
//   more = f32[3] add(get-tuple-element.1, get-tuple-element.3)
//   ROOT tuple = (s32[], f32[3], s32[], f32[3]) tuple(next, more, get-tuple-element.2, get-tuple-element.3)
// }
//
// region.1 {
//   arg_tuple.1 = (s32[], f32[3], s32[], f32[3]) parameter(0)
//   get-tuple-element.4 = s32[] get-tuple-element(arg_tuple.1), index=0
//   get-tuple-element.5 = f32[3] get-tuple-element(arg_tuple.1), index=1
//   get-tuple-element.6 = s32[] get-tuple-element(arg_tuple.1), index=2
//   get-tuple-element.7 = f32[3] get-tuple-element(arg_tuple.1), index=3
//   ROOT less = pred[] compare(get-tuple-element.4, get-tuple-element.6), direction=LT
// }
//
// region.2 {
//   arg = f32[3] parameter(0)
//   ROOT negative = f32[3] negate(arg)
// }
//
// region.3 {
//   arg_tuple.2 = (f32[3], f32[3]) parameter(0)
//   get-tuple-element.8 = f32[3] get-tuple-element(arg_tuple.2), index=0
//   get-tuple-element.9 = f32[3] get-tuple-element(arg_tuple.2), index=1
//   ROOT product = f32[3] multiply(get-tuple-element.8, get-tuple-element.9)
// }
//
// region.4 {
//   ROOT arg.1 = f32[3] parameter(0)
// }
//
// region.5 {
//   arg_tuple.3 = () parameter(0)
//   half = f32[] constant(0.5)
//   ROOT half.1 = f32[3] broadcast(half), dimensions={}
// }
//
// ENTRY main {
//   x = f32[3] parameter(0)
//   n = s32[] parameter(1)
//   flag = pred[] parameter(2)
//   zero = s32[] constant(0)
//   loop = (s32[], f32[3], s32[], f32[3]) tuple(zero, x, n, x)
//   loop.1 = (s32[], f32[3], s32[], f32[3]) while(loop), condition=region.1, body=region
//   loop.2 = s32[] get-tuple-element(loop.1), index=0
//   loop.3 = f32[3] get-tuple-element(loop.1), index=1
//   chosen = (f32[3], f32[3]) tuple(x, loop.3)
//   chosen.1 = f32[3] conditional(flag, loop.3, chosen), true_computation=region.2, false_computation=region.3
//   case = () tuple()
//   case.1 = f32[3] conditional(n, chosen.1, case), branch_computations={region.4, region.5}
//   ROOT tuple.1 = (f32[3], f32[3]) tuple(chosen.1, case.1)
// }
// STDERR:
// note: 1 warning: W004; hlo check testdata/stablehlo/control_flow.mlir shows them
