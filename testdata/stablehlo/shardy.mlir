// RUN: hlo opt --passes= --hlo_print=short %s; hlo inspect shardings %s
// Meshes and shardings of Shardy, as JAX prints them.
module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<8x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {"y"}]> : tensor<8x4xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg1: tensor<4x2xf32>) {
      %2 = stablehlo.negate %arg1 : tensor<4x2xf32>
      sdy.return %2 : tensor<4x2xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
}

// STDOUT:
// HloModule jit_f, num_partitions=4, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=2, "y"=2]>}}
//
// region {
//   arg1 = f32[4,2] parameter(0)
//   ROOT negate = f32[4,2] negate(arg1)
// }
//
// ENTRY main {
//   arg0 = f32[8,4] parameter(0), sharding={devices=[2,2]<=[2,2]T(1,0)}, frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\"y\"}, {\"x\"}]>"}
//   custom-call = f32[8,4] custom-call(arg0), custom_call_target="Sharding", sharding={devices=[2,2]<=[4]}, frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {\"y\"}]>]>"}
//   custom-call.1 = f32[4,2] custom-call(custom-call), custom_call_target="xla.sdy.GlobalToLocalShape", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {\"y\"}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"x\", \"y\"}>"}
//   call = f32[4,2] call(custom-call.1), to_apply=region, frontend_attributes={inlineable="false"}
//   custom-call.2 = f32[8,4] custom-call(call), custom_call_target="xla.sdy.LocalToGlobalShape", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.manual_axes="#sdy<manual_axes{\"x\", \"y\"}>",xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {\"y\"}]>]>"}
//   custom-call.3 = f32[8,4] custom-call(custom-call.2), custom_call_target="xla.sdy.FuncResultSharding", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {}]>]>"}
//   tuple = (f32[8,4]) tuple(custom-call.3)
//   ROOT get-tuple-element = f32[8,4] get-tuple-element(tuple), index=0, sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
// }
// testdata/stablehlo/shardy.mlir: jit_f
//   mesh    x=2, y=2  (4 partitions)
//   text    has shardings of 6 of 10 arrays
//
//   ENTRY main         shape     split                   on a device  bytes  attribute         source
//   arg0               f32[8,4]  [{y}, {x}]              f32[4,2]      32 B  xla.sdy.sharding
//   custom-call        f32[8,4]  [{x}, {y}]              f32[4,2]      32 B  xla.sdy.sharding
//   custom-call.1      f32[4,2]  [{}, {}] manual={x, y}  f32[4,2]      32 B  manual region
//   custom-call.2      f32[8,4]  [{x}, {y}]              f32[4,2]      32 B  manual region
//   custom-call.3      f32[8,4]  [{x}, {}]               f32[4,4]      64 B  xla.sdy.sharding
//   get-tuple-element  f32[8,4]  [{x}, {}]               f32[4,4]      64 B  sharding
