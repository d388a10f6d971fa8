// RUN: hlo opt --passes= --hlo_print=short %s
// Collectives and transfers. An all_to_all along two dimensions becomes four instructions, and a transfer two.
module @collectives attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @main(%x: tensor<4x6xf32>, %token: !stablehlo.token) -> (tensor<8x3xf32>, tensor<4x12xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, !stablehlo.token) {
    %split = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>}> : (tensor<4x6xf32>) -> tensor<8x3xf32>
    %gathered = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4x6xf32>) -> tensor<4x12xf32>
    %scattered = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %sum = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %reduced:2 = "stablehlo.all_reduce"(%x, %x) <{replica_groups = dense<[[0, 1, -1]]> : tensor<1x3xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %sum = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
    %moved = "stablehlo.collective_permute"(%reduced#1) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %fed:2 = "stablehlo.infeed"(%token) <{infeed_config = "queue"}> : (!stablehlo.token) -> (tensor<4x6xf32>, !stablehlo.token)
    %sent = "stablehlo.send"(%fed#0, %fed#1) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    %received:2 = "stablehlo.recv"(%sent) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4x6xf32>, !stablehlo.token)
    %last = "stablehlo.outfeed"(%moved, %received#1) : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    return %split, %gathered, %scattered, %received#0, %moved, %last : tensor<8x3xf32>, tensor<4x12xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, !stablehlo.token
  }
}

// STDOUT:
// HloModule collectives, replica_count=2, num_partitions=2
//
// region {
//   a = f32[] parameter(0)
//   b = f32[] parameter(1)
//   ROOT sum = f32[] add(a, b)
// }
//
// region.1 {
//   a.1 = f32[] parameter(0)
//   b.1 = f32[] parameter(1)
//   ROOT sum.1 = f32[] add(a.1, b.1)
// }
//
// ENTRY main {
//   x = f32[4,6] parameter(0)
//   token_ = token[] parameter(1)
//   split = f32[4,6] all-to-all(x), channel_id=3, replica_groups={{0,1}}, dimensions={1}
//   split.1 = f32[4,2,3] reshape(split)
//   split.2 = f32[2,4,3]{2,0,1} transpose(split.1), dimensions={1,0,2}
//   split.3 = f32[8,3] reshape(split.2)
//   gathered = f32[4,12] all-gather(x), channel_id=1, replica_groups={{0,2},{1,3}}, dimensions={1}, use_global_device_ids=true
//   scattered = f32[2,6] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=region
//   reduced = (f32[4,6], f32[4,6]) all-reduce(x, x), replica_groups={{0,1}}, to_apply=region.1
//   reduced.1 = f32[4,6] get-tuple-element(reduced), index=0
//   reduced.2 = f32[4,6] get-tuple-element(reduced), index=1
//   moved = f32[4,6] collective-permute(reduced.2), source_target_pairs={{0,1},{1,0}}
//   fed = ((f32[4,6]), token[]) infeed(token_), infeed_config="queue"
//   fed.1 = (f32[4,6]) get-tuple-element(fed), index=0
//   fed.2 = f32[4,6] get-tuple-element(fed.1), index=0
//   fed.3 = token[] get-tuple-element(fed), index=1
//   sent = (f32[4,6], u32[], token[]) send(fed.2, fed.3), channel_id=5, is_host_transfer=true
//   sent.1 = token[] send-done(sent), channel_id=5, is_host_transfer=true
//   received = (f32[4,6], u32[], token[]) recv(sent.1), channel_id=6, is_host_transfer=true
//   received.1 = (f32[4,6], token[]) recv-done(received), channel_id=6, is_host_transfer=true
//   received.2 = f32[4,6] get-tuple-element(received.1), index=0
//   received.3 = token[] get-tuple-element(received.1), index=1
//   last = (f32[4,6]) tuple(moved)
//   last.1 = token[] outfeed(last, received.3), outfeed_shape=(f32[4,6]{1,0})
//   ROOT tuple = (f32[8,3], f32[4,12], f32[2,6], f32[4,6], f32[4,6], token[]) tuple(split.3, gathered, scattered, received.2, moved, last.1)
// }
