// RUN: hlo opt --passes= --hlo_print=short %s; hlo opt --passes= %s | grep metadata
// Locations become metadata. Aliases of locations may follow their uses.
#loc1 = loc("x")
module @located {
  func.func @main(%arg0: tensor<2xf32> loc("x")) -> tensor<2xf32> {
    %0 = stablehlo.sine %arg0 : tensor<2xf32> loc(#loc5)
    %1 = stablehlo.cosine %0 : tensor<2xf32> loc(fused<"pass">["jit(f)/cos", "other"])
    %2 = stablehlo.negate %1 : tensor<2xf32> loc("net.py":7:3)
    %3 = stablehlo.floor %2 : tensor<2xf32> loc(callsite("jit(f)/floor"("net.py":9:1 to :12) at "main.py":3:1))
    %4 = stablehlo.ceil %3 : tensor<2xf32> loc(unknown)
    return %4 : tensor<2xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("net.py":5:11 to :20)
#loc5 = loc("jit(f)/jit(main)/sin"(#loc2))

// STDOUT:
// HloModule located
//
// ENTRY main {
//   x = f32[2] parameter(0)
//   sin = f32[2] sine(x)
//   cos = f32[2] cosine(sin)
//   negate = f32[2] negate(cos)
//   floor = f32[2] floor(negate)
//   ROOT ceil = f32[2] ceil(floor)
// }
//   %x = f32[2]{0} parameter(0), metadata={op_name="x"}
//   %sin = f32[2]{0} sine(%x), metadata={op_name="jit(f)/jit(main)/sin" source_file="net.py" source_line=5}
//   %cos = f32[2]{0} cosine(%sin), metadata={op_name="jit(f)/cos"}
//   %negate = f32[2]{0} negate(%cos), metadata={source_file="net.py" source_line=7}
//   %floor = f32[2]{0} floor(%negate), metadata={op_name="jit(f)/floor" source_file="net.py" source_line=9}
