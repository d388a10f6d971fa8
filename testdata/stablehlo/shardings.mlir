// RUN: hlo opt --passes= --hlo_print=short %s
// Shardings in strings, donated and aliased arguments, and frontend attributes.
module @sharded attributes {mhlo.num_partitions = 4 : i32, mhlo.frontend_attributes = {from = "jax"}} {
  func.func public @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}", tf.aliasing_output = 1 : i32}, %b: tensor<8x4xf32> {jax.buffer_donor = true, mhlo.frontend_attributes = {k = "v w"}})
      -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) {
    %0 = stablehlo.custom_call @Sharding(%b) {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1:2 = stablehlo.custom_call @two(%0) {mhlo.sharding = "{{replicated}, {manual}}"} : (tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>)
    %2 = stablehlo.add %a, %1#1 : tensor<8x4xf32>
    return %1#0, %2 : tensor<f32>, tensor<8x4xf32>
  }
}

// STDOUT:
// HloModule sharded, input_output_alias={ {1}: (0, {}, may-alias) }, buffer_donor={ (1, {}) }, num_partitions=4, frontend_attributes={from="jax"}
//
// ENTRY main {
//   a = f32[8,4] parameter(0), sharding={devices=[2,2]<=[4]}
//   b = f32[8,4] parameter(1), frontend_attributes={k="v w"}
//   custom-call = f32[8,4] custom-call(b), custom_call_target="Sharding", sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
//   custom-call.1 = (f32[], f32[8,4]) custom-call(custom-call), custom_call_target="two", sharding={{replicated}, {manual}}
//   get-tuple-element = f32[] get-tuple-element(custom-call.1), index=0, sharding={replicated}
//   get-tuple-element.1 = f32[8,4] get-tuple-element(custom-call.1), index=1, sharding={manual}
//   add = f32[8,4] add(a, get-tuple-element.1)
//   ROOT tuple = (f32[], f32[8,4]) tuple(get-tuple-element, add), sharding={{replicated}, {devices=[2,2]<=[4]}}
// }
