// RUN: hlo opt --passes= --hlo_print=short %s
// Lists, one number for all elements, bits of floats in hexadecimal digits, bytes of elements, and no elements.
func.func @main() -> (tensor<2x3xi8>, tensor<2xf64>, tensor<3xbf16>, tensor<3xi1>, tensor<2xcomplex<f32>>, tensor<0x2xf32>, tensor<2x3xui16>, tensor<3xi4>, tensor<1xf32>) {
  %list = stablehlo.constant dense<[[1, -2, 3], [127, -128, 0]]> : tensor<2x3xi8>
  %bits = stablehlo.constant dense<[0x7FF0000000000000, -1.0E-310]> : tensor<2xf64>
  %nan = stablehlo.constant dense<[0x7FC0, 0x8000, 1.0]> : tensor<3xbf16>
  %bool = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %complex = stablehlo.constant dense<[(1.0, -2.5), (0x7F800000, 0.0)]> : tensor<2xcomplex<f32>>
  %empty = stablehlo.constant dense<> : tensor<0x2xf32>
  %splat = stablehlo.constant dense<65535> : tensor<2x3xui16>
  %bytes = stablehlo.constant dense<"0x01FF07"> : tensor<3xi4>
  %single = stablehlo.constant dense<"0x0000C03F"> : tensor<1xf32>
  return %list, %bits, %nan, %bool, %complex, %empty, %splat, %bytes, %single : tensor<2x3xi8>, tensor<2xf64>, tensor<3xbf16>, tensor<3xi1>, tensor<2xcomplex<f32>>, tensor<0x2xf32>, tensor<2x3xui16>, tensor<3xi4>, tensor<1xf32>
}

// STDOUT:
// HloModule module
//
// ENTRY main {
//   list = s8[2,3] constant({ { 1, -2, 3 }, { 127, -128, 0 } })
//   bits = f64[2] constant({inf, -9.99999999999997e-311})
//   %nan = bf16[3] constant({nan, -0, 1})
//   bool = pred[3] constant({1, 0, 1})
//   complex = c64[2] constant({(1, -2.5), (inf, 0)})
//   empty = f32[0,2] constant({  })
//   splat = u16[] constant(65535)
//   splat.1 = u16[2,3] broadcast(splat), dimensions={}
//   bytes = s4[3] constant({1, -1, 7})
//   single = f32[1] constant({1.5})
//   ROOT tuple = (s8[2,3], f64[2], bf16[3], pred[3], c64[2], f32[0,2], u16[2,3], s4[3], f32[1]) tuple(list, bits, %nan, bool, complex, empty, splat.1, bytes, single)
// }
