// RUN: hlo opt --passes= --hlo_print=short %s
// Custom calls with strings, dictionaries, layouts and aliases, and a composite.
module @calls {
  func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.custom_call @legacy(%x) {backend_config = "say \22hi\22", has_side_effect = true} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1:2 = stablehlo.custom_call @lapack_ffi(%x) {api_version = 4 : i32, mhlo.backend_config = {lower = true, n = 3 : i64}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], backend_config = {lower = true, n = 3 : i64}} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
    %2 = stablehlo.composite "my.square" %x {composite_attributes = {scale = 2 : i64}, decomposition = @square, version = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0, %1#0, %1#1, %2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>
  }
  func.func private @square(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.multiply %x, %x : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}

// STDOUT:
// HloModule calls
//
// square {
//   x.1 = f32[2,3] parameter(0)
//   ROOT multiply = f32[2,3] multiply(x.1, x.1)
// }
//
// ENTRY main {
//   x = f32[2,3] parameter(0)
//   custom-call = f32[2,3] custom-call(x), custom_call_target="legacy", custom_call_has_side_effect=true, backend_config="say \"hi\""
//   custom-call.1 = (f32[2,3], f32[2]) custom-call(x), custom_call_target="lapack_ffi", operand_layout_constraints={f32[2,3]{0,1}}, output_to_operand_aliasing={{0}: (0, {})}, api_version=API_VERSION_TYPED_FFI, backend_config={lower = true, n = 3 : i64}
//   get-tuple-element = f32[2,3] get-tuple-element(custom-call.1), index=0
//   get-tuple-element.1 = f32[2] get-tuple-element(custom-call.1), index=1
//   call = f32[2,3] call(x), to_apply=square, is_composite=true, frontend_attributes={composite.attributes={scale = 2 : i64},composite.name="my.square",composite.version="1"}
//   ROOT tuple = (f32[2,3], f32[2,3], f32[2], f32[2,3]) tuple(custom-call, get-tuple-element, get-tuple-element.1, call)
// }
