// RUN: hlo opt --passes= --hlo_print=short %s
// Some operations of CHLO are instructions, and the others become formulas.
func.func @main(%x: tensor<3xf32>, %y: tensor<3xbf16>, %z: tensor<3xcomplex<f32>>)
    -> (tensor<3xf32>, tensor<2xf32>, tensor<2xi32>, tensor<3xf32>, tensor<3xbf16>, tensor<3xcomplex<f32>>, tensor<3xi1>) {
  %0 = chlo.erf %x : tensor<3xf32> -> tensor<3xf32>
  %1:2 = chlo.top_k(%x, k = 2) : tensor<3xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %2 = chlo.asin %x : tensor<3xf32> -> tensor<3xf32>
  %3 = chlo.cosh %y : tensor<3xbf16> -> tensor<3xbf16>
  %4 = chlo.asinh %z : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %5 = chlo.is_inf %x : tensor<3xf32> -> tensor<3xi1>
  return %0, %1#0, %1#1, %2, %3, %4, %5 : tensor<3xf32>, tensor<2xf32>, tensor<2xi32>, tensor<3xf32>, tensor<3xbf16>, tensor<3xcomplex<f32>>, tensor<3xi1>
}

// STDOUT:
// HloModule module
//
// ENTRY main {
//   x = f32[3] parameter(0)
//   y = bf16[3] parameter(1)
//   z = c64[3] parameter(2)
//   erf = f32[3] erf(x)
//   topk = (f32[2], s32[2]) topk(x), k=2, largest=true, is_stable=true
//   get-tuple-element = f32[2] get-tuple-element(topk), index=0
//   get-tuple-element.1 = s32[2] get-tuple-element(topk), index=1
//   constant = f32[] constant(1)
//   broadcast = f32[3] broadcast(constant), dimensions={}
//   add = f32[3] add(x, broadcast)
//   subtract = f32[3] subtract(broadcast, x)
//   multiply = f32[3] multiply(subtract, add)
//   sqrt = f32[3] sqrt(multiply)
//   add.1 = f32[3] add(sqrt, broadcast)
//   atan2 = f32[3] atan2(x, add.1)
//   add.2 = f32[3] add(atan2, atan2)
//   convert = f32[3] convert(y)
//   constant.1 = f32[] constant(-0.693147182)
//   broadcast.1 = f32[3] broadcast(constant.1), dimensions={}
//   subtract.1 = f32[3] subtract(broadcast.1, convert)
//   exponential = f32[3] exponential(subtract.1)
//   add.3 = f32[3] add(convert, broadcast.1)
//   exponential.1 = f32[3] exponential(add.3)
//   add.4 = f32[3] add(exponential.1, exponential)
//   convert.1 = bf16[3] convert(add.4)
//   asinh = c64[3] asinh(z)
//   abs = f32[3] abs(x)
//   constant.2 = f32[] constant(inf)
//   broadcast.2 = f32[3] broadcast(constant.2), dimensions={}
//   compare = pred[3] compare(abs, broadcast.2), direction=EQ
//   ROOT tuple = (f32[3], f32[2], s32[2], f32[3], bf16[3], c64[3], pred[3]) tuple(erf, get-tuple-element, get-tuple-element.1, add.2, convert.1, asinh, compare)
// }
