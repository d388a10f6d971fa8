// Tests of several devices in one process: each collective in each group mode with values worked out by hand, and
// reports of devices that wait for each other. The values of a device follow from its number, replica * partitions +
// partition.
#include <array>

#include "base/text.h"
#include "interp/arguments/argument_files.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

using Rows = std::vector<std::vector<double>>;

constexpr const char* kAdd = R"(
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
)";

// Arguments for all devices: device d has 10 * d + i in element i of each f32 parameter.
std::vector<std::vector<Literal>> Numbered(const Module& module) {
  std::vector<std::vector<Literal>> args(module.header.replica_count * module.header.num_partitions);
  for (size_t device = 0; device < args.size(); ++device) {
    for (const Instruction* parameter : module.entry().parameters()) {
      Literal value(parameter->shape());
      for (int64_t i = 0; i < parameter->shape().NumElements(); ++i)
        value.SetDouble(i, 10 * static_cast<double>(device) + static_cast<double>(i));
      args[device].push_back(std::move(value));
    }
  }
  return args;
}

Result<std::vector<Literal>> RunText(const std::string& text) {
  const auto module = ParseText(text);
  return InterpretDevices(*module, Numbered(*module));
}

// Runs `body` as the entry on replicas x partitions devices. The result must be an array.
Rows RunOn(int replicas, int partitions, const std::string& body) {
  const auto results = RunText(Str("HloModule m, replica_count=", replicas, ", num_partitions=", partitions, "\n", kAdd,
                                   "ENTRY main {\n", body, "\n}\n"));
  EXPECT_TRUE(results.has_value()) << (results ? "" : Render(results.error(), "test"));
  if (!results) return {};
  Rows rows;
  for (const Literal& result : *results) rows.push_back(Doubles(result));
  return rows;
}

std::string Refusal(const std::string& text) {
  const auto results = RunText(text);
  EXPECT_FALSE(results.has_value());
  return results ? "" : Render(results.error(), "test");
}

// ---- Group modes ---------------------------------------------------------------------------------------------------

constexpr const char* kX = "x = f32[1] parameter(0)\n";

TEST(Collectives, WithoutChannelTheIdsAreReplicas) {
  // Devices 0 1 | 2 3 | 4 5 are the partitions of replicas 0, 1, 2.
  EXPECT_EQ(RunOn(3, 2, Str(kX, "ROOT r = f32[1] all-reduce(x), to_apply=add")),
            (Rows{{60}, {90}, {60}, {90}, {60}, {90}}));
  EXPECT_EQ(RunOn(3, 2, Str(kX, "ROOT r = f32[1] all-reduce(x), replica_groups={{2,0},{1}}, to_apply=add")),
            (Rows{{40}, {60}, {20}, {30}, {40}, {60}}));
}

TEST(Collectives, WithAChannelReplicasIncludeAllTheirPartitions) {
  EXPECT_EQ(RunOn(3, 2, Str(kX, "ROOT r = f32[1] all-reduce(x), channel_id=1, to_apply=add")), (Rows(6, {150})));
  EXPECT_EQ(
      RunOn(3, 2, Str(kX, "ROOT r = f32[1] all-reduce(x), channel_id=1, replica_groups={{2,0},{1}}, to_apply=add")),
      (Rows{{100}, {100}, {50}, {50}, {100}, {100}}));
  // Values are in the order of the listed replicas, with the partitions of each.
  EXPECT_EQ(RunOn(2, 2, Str(kX, "ROOT r = f32[4] all-gather(x), channel_id=1, replica_groups={{1,0}}, dimensions={0}")),
            (Rows(4, {20, 30, 0, 10})));
}

TEST(Collectives, GlobalIdsAreDevices) {
  const std::string attributes = "channel_id=1, use_global_device_ids=true, ";
  EXPECT_EQ(
      RunOn(2, 2, Str(kX, "ROOT r = f32[1] all-reduce(x), ", attributes, "replica_groups={{0,3},{2,1}}, to_apply=add")),
      (Rows{{30}, {30}, {30}, {30}}));
  EXPECT_EQ(
      RunOn(2, 2,
            Str(kX, "ROOT r = f32[2] all-gather(x), ", attributes, "replica_groups={{0,3},{2,1}}, dimensions={0}")),
      (Rows{{0, 30}, {20, 10}, {20, 10}, {0, 30}}));
  EXPECT_EQ(RunOn(2, 2,
                  Str(kX, "ROOT r = f32[2] all-gather(x), ", attributes,
                      "replica_groups=[2,2]<=[2,2]T(1,0), dimensions={0}")),
            (Rows{{0, 20}, {10, 30}, {0, 20}, {10, 30}}));
}

TEST(Collectives, ForSomeOpsAChannelMakesTheIdsPartitions) {
  const std::string x = "x = f32[2] parameter(0)\n";
  EXPECT_EQ(RunOn(2, 2, Str(x, "ROOT r = f32[2] all-to-all(x), channel_id=1, replica_groups={{1,0}}, dimensions={0}")),
            (Rows{{11, 1}, {10, 0}, {31, 21}, {30, 20}}));
  EXPECT_EQ(RunOn(2, 2, Str(x, "ROOT r = f32[2] collective-permute(x), channel_id=1, source_target_pairs={{0,1}}")),
            (Rows{{0, 0}, {0, 1}, {0, 0}, {20, 21}}));
  EXPECT_EQ(RunOn(2, 2, Str(x, "ROOT r = f32[2] collective-broadcast(x), channel_id=1, replica_groups={{1,0}}")),
            (Rows{{10, 11}, {10, 11}, {30, 31}, {30, 31}}));
}

TEST(Collectives, GroupsMayFollowAMesh) {
  const std::string gather =
      "ROOT r = f32[2] all-gather(x), channel_id=1, use_global_device_ids=true, dimensions={0}, ";
  EXPECT_EQ(RunOn(4, 1, Str(kX, gather, "replica_groups=mesh['a'=2,'b'=2] {'b'}")),
            (Rows{{0, 10}, {0, 10}, {20, 30}, {20, 30}}));
  EXPECT_EQ(RunOn(4, 1, Str(kX, gather, "replica_groups=mesh['a'=2,'b'=2] {'a'}")),
            (Rows{{0, 20}, {10, 30}, {0, 20}, {10, 30}}));
}

TEST(Collectives, ADeviceKnowsItsReplicaAndPartition) {
  EXPECT_EQ(RunOn(2, 2, R"(r = u32[] replica-id()
    p = u32[] partition-id()
    rs = u32[1] reshape(r)
    ps = u32[1] reshape(p)
    ROOT both = u32[2] concatenate(rs, ps), dimensions={0})"),
            (Rows{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

// ---- What each gives -----------------------------------------------------------------------------------------------

TEST(Collectives, SumsFollowTheOrderOfTheGroup) {
  // In f32, 1e8 + 1 is rounded to 1e8.
  const std::string body = R"(id = u32[] replica-id()
    big = f32[3] constant({1e8, -1e8, 1})
    at = f32[1] dynamic-slice(big, id), dynamic_slice_sizes={1}
    )";
  EXPECT_EQ(RunOn(3, 1, body + "ROOT r = f32[1] all-reduce(at), replica_groups={{0,1,2}}, to_apply=add"),
            (Rows(3, {1})));
  EXPECT_EQ(RunOn(3, 1, body + "ROOT r = f32[1] all-reduce(at), replica_groups={{0,2,1}}, to_apply=add"),
            (Rows(3, {0})));
}

TEST(Collectives, ReduceScatterGivesEachDeviceItsBlock) {
  const std::string x = "x = f32[4] parameter(0)\n";
  EXPECT_EQ(RunOn(2, 1, x + "ROOT r = f32[2] reduce-scatter(x), dimensions={0}, to_apply=add"),
            (Rows{{10, 12}, {14, 16}}));
  EXPECT_EQ(RunOn(2, 1, x + "ROOT r = f32[2] reduce-scatter(x), replica_groups={{1,0}}, dimensions={0}, to_apply=add"),
            (Rows{{14, 16}, {10, 12}}));
  EXPECT_EQ(RunOn(2, 1, R"(x = f32[3,2] parameter(0)
    ROOT r = f32[3,1] reduce-scatter(x), dimensions={1}, to_apply=add)"),
            (Rows{{10, 14, 18}, {12, 16, 20}}));
}

TEST(Collectives, AllGatherConcatenatesAlongAnInnerDimension) {
  EXPECT_EQ(RunOn(2, 1, R"(x = f32[2,2] parameter(0)
    ROOT r = f32[2,4] all-gather(x), dimensions={1})"),
            (Rows(2, {0, 1, 10, 11, 2, 3, 12, 13})));
}

TEST(Collectives, AllToAllExchangesTuples) {
  EXPECT_EQ(RunOn(2, 1, R"(x = f32[2] parameter(0)
    y = f32[2] negate(x)
    t = (f32[2], f32[2]) all-to-all(x, y), replica_groups={{0,1}}
    a = f32[2] get-tuple-element(t), index=0
    b = f32[2] get-tuple-element(t), index=1
    ROOT r = f32[4] concatenate(a, b), dimensions={0})"),
            (Rows{{0, 1, 10, 11}, {-0.0, -1, -10, -11}}));
}

TEST(Collectives, CollectivesMayHaveSeveralOperandsAndBeAsynchronous) {
  EXPECT_EQ(RunOn(2, 1, R"(x = f32[1] parameter(0)
    y = f32[1] negate(x)
    s = (f32[1], f32[1]) all-reduce-start(x, y), to_apply=add
    d = (f32[1], f32[1]) all-reduce-done(s)
    a = f32[1] get-tuple-element(d), index=0
    b = f32[1] get-tuple-element(d), index=1
    gs = ((f32[1], f32[1]), (f32[2], f32[2])) all-gather-start(x, y), dimensions={0}
    gd = (f32[2], f32[2]) all-gather-done(gs)
    c = f32[2] get-tuple-element(gd), index=1
    ps = ((f32[1], f32[1]), (f32[1], f32[1]), u32[]) collective-permute-start(x, y), source_target_pairs={{1,0}}
    pd = (f32[1], f32[1]) collective-permute-done(ps)
    e = f32[1] get-tuple-element(pd), index=1
    ROOT r = f32[5] concatenate(a, b, c, e), dimensions={0})"),
            (Rows{{10, -10, -0.0, -10, -10}, {10, -10, -0.0, -10, 0}}));
}

TEST(Collectives, CollectivesRunWithinAnAsyncStart) {
  EXPECT_EQ(RunOn(2, 1, R"(x = f32[2] parameter(0)
    s = ((f32[2]), f32[2]) all-to-all-start(x), dimensions={0}
    ROOT d = f32[2] all-to-all-done(s))"),
            (Rows{{0, 10}, {1, 11}}));
}

TEST(Collectives, PermuteInPlaceReplacesSlices) {
  // The sender's start selects the slice, and the receiver's start its place. Device 0 receives nothing.
  EXPECT_EQ(RunOn(2, 1, R"(x = f32[3] parameter(0)
    nine = f32[] constant(9)
    out = f32[4] broadcast(nine), dimensions={}
    one = s32[] constant(1)
    two = s32[] constant(2)
    from = (s32[]) tuple(one)
    to = (s32[]) tuple(two)
    ROOT r = f32[4] collective-permute(x, out, from, to), source_target_pairs={{0,1}}, slice_sizes={{2}})"),
            (Rows{{9, 9, 9, 9}, {9, 9, 1, 2}}));
}

TEST(Collectives, BroadcastMayHaveADynamicRoot) {
  EXPECT_EQ(RunOn(3, 1, R"(x = f32[2] parameter(0)
    root = s32[1] constant({2})
    t = (f32[2]) collective-broadcast(x, root), replica_groups={{0,1,2}}, has_dynamic_root=true
    ROOT r = f32[2] get-tuple-element(t), index=0)"),
            (Rows(3, {20, 21})));
}

// The first device keeps row 0 and sends rows 1 and 2. The second device sends row 0 and keeps nothing.
TEST(Collectives, RaggedRowsGoWhereTheSenderChooses) {
  const std::string head = R"(x = f32[3] parameter(0)
    minus = f32[] constant(-1)
    out = f32[4] broadcast(minus), dimensions={}
    id = u32[] replica-id()
    zero = u32[] constant(0)
    starts = s32[2,2] constant({{0, 1}, {0, 1}})
    sizes = s32[2,2] constant({{1, 2}, {1, 0}})
    places = s32[2,2] constant({{0, 2}, {3, 0}})
    )";
  const std::string tail = R"(
    row0 = s32[1,2] dynamic-slice(starts, id, zero), dynamic_slice_sizes={1,2}
    row1 = s32[1,2] dynamic-slice(sizes, id, zero), dynamic_slice_sizes={1,2}
    row2 = s32[1,2] dynamic-slice(places, id, zero), dynamic_slice_sizes={1,2}
    row3 = s32[1,2] dynamic-slice(expected, id, zero), dynamic_slice_sizes={1,2}
    from = s32[2] reshape(row0)
    count = s32[2] reshape(row1)
    to = s32[2] reshape(row2)
    want = s32[2] reshape(row3)
    ROOT r = f32[4] ragged-all-to-all(x, out, from, count, to, want), replica_groups={{0,1}})";
  EXPECT_EQ(RunOn(2, 1, head + "expected = s32[2,2] constant({{1, 1}, {2, 0}})" + tail),
            (Rows{{0, -1, -1, 10}, {-1, -1, 1, 2}}));
  const std::string text = Str("HloModule m, replica_count=2\nENTRY main {\n", head,
                               "expected = s32[2,2] constant({{1, 1}, {1, 0}})", tail, "\n}\n");
  EXPECT_NE(Refusal(text).find("[R041] 'r': replica 0 sends 2 rows to replica 1, which expects 1"), std::string::npos);
}

TEST(Collectives, DevicesMeetInEachTripOfALoop) {
  EXPECT_EQ(RunText(Str("HloModule m, replica_count=2\n", kAdd, R"(
condition {
  s = (s32[], f32[1]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[1]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  sum = f32[1] all-reduce(x), to_apply=add
  ROOT r = (s32[], f32[1]) tuple(next, sum)
}
ENTRY main {
  x = f32[1] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[1]) tuple(zero, x)
  w = (s32[], f32[1]) while(t), condition=condition, body=body
  ROOT r = f32[1] get-tuple-element(w), index=1
})"))
                ->at(1)
                .GetDouble(0),
            40);
}

// ---- send and recv -------------------------------------------------------------------------------------------------

constexpr const char* kRing = "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2},{2,0}}}";

// In the order of the text, each device would wait for its neighbour before it sends. Without a schedule, devices send
// first.
TEST(Collectives, ValuesMoveAroundARing) {
  const std::string body = Str(R"(x = f32[1] parameter(0)
    t = token[] after-all()
    rv = (f32[1], u32[], token[]) recv(t), channel_id=1, )",
                               kRing, R"(
    rd = (f32[1], token[]) recv-done(rv), channel_id=1
    s = (f32[1], u32[], token[]) send(x, t), channel_id=1, )",
                               kRing, R"(
    sd = token[] send-done(s), channel_id=1
    ROOT r = f32[1] get-tuple-element(rd), index=0)");
  EXPECT_EQ(RunOn(3, 1, body), (Rows{{20}, {0}, {10}}));
  EXPECT_EQ(RunOn(1, 3, body), (Rows{{20}, {0}, {10}}));
  EXPECT_EQ(RunOn(2, 3, body), (Rows{{20}, {0}, {10}, {50}, {30}, {40}}));
  const std::string scheduled = Str("HloModule m, replica_count=3, is_scheduled=true\nENTRY main {\n", body, "\n}\n");
  const std::string refusal = Refusal(scheduled);
  EXPECT_NE(refusal.find("[R040] deadlock: no replica can continue, 3 of 3 wait"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("replica 0 waits at 'rd' (recv-done) for replica 2"), std::string::npos) << refusal;
}

TEST(Collectives, ASentValueMustBeReceived) {
  const std::string refusal = Refusal(R"(HloModule m, replica_count=2
ENTRY main {
  x = f32[1] parameter(0)
  t = token[] after-all()
  s = (f32[1], u32[], token[]) send(x, t), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  ROOT d = token[] send-done(s), channel_id=1
})");
  EXPECT_NE(refusal.find("[R040] replica 0 sent a value at 's' that replica 1 never received"), std::string::npos)
      << refusal;
}

// ---- Who waits where -----------------------------------------------------------------------------------------------

// A module in which device d takes branch d.
std::string Diverging(int replicas, int partitions, const std::string& a, const std::string& b) {
  return Str("HloModule m, replica_count=", replicas, ", num_partitions=", partitions, "\n", kAdd,
             "one {\n  x = f32[1] parameter(0)\n  ", a, "\n}\nother {\n  x = f32[1] parameter(0)\n  ", b, R"(
}
ENTRY main {
  x = f32[1] parameter(0)
  id = u32[] replica-id()
  i = s32[] convert(id)
  ROOT r = f32[1] conditional(i, x, x), branch_computations={one, other}
})");
}

TEST(Collectives, NamesTheDevicesThatNeverArrive) {
  const std::string refusal = Refusal(
      Diverging(2, 2, "ROOT left = f32[1] all-reduce(x), channel_id=3, to_apply=add", "ROOT b = f32[1] negate(x)"));
  EXPECT_NE(refusal.find("[R040] deadlock: no device can continue, 2 of 4 wait (number = replica * 2 + partition)"),
            std::string::npos)
      << refusal;
  EXPECT_NE(refusal.find("devices 0, 1 wait at 'left' (all-reduce) for devices 2, 3"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("devices 2, 3 have ended"), std::string::npos) << refusal;
}

TEST(Collectives, DevicesAtDifferentCollectivesDoNotMeet) {
  const std::string refusal = Refusal(Diverging(2, 1, "ROOT left = f32[1] all-reduce(x), to_apply=add",
                                                "ROOT right = f32[1] all-reduce(x), to_apply=add"));
  EXPECT_NE(refusal.find("replica 0 waits at 'left' (all-reduce) for replica 1"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("replica 1 waits at 'right' (all-reduce) for replica 0"), std::string::npos) << refusal;
}

// All devices of a group take the same branch, and the two groups take different branches.
TEST(Collectives, OtherPartitionsMayTakeAnotherBranch) {
  const auto results = RunText(Diverging(2, 2,
                                         "ROOT left = f32[1] all-reduce(x), channel_id=1, use_global_device_ids=true, "
                                         "replica_groups={{0,1},{2,3}}, to_apply=add",
                                         "ROOT b = f32[1] negate(x)"));
  ASSERT_TRUE(results.has_value());
  EXPECT_EQ((*results)[1].GetDouble(0), 10);
  EXPECT_EQ((*results)[2].GetDouble(0), -20);
}

TEST(Collectives, GroupsThatDoNotFitTheDevicesAreRejected) {
  const std::string refusal = Refusal(Str("HloModule m\n", kAdd, R"(ENTRY main {
  x = f32[1] parameter(0)
  ROOT r = f32[1] all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=add
})"));
  EXPECT_NE(refusal.find("[R040] 'r' names replica 3, but there is 1 replica"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("--num_replicas=4 runs the module on that many"), std::string::npos) << refusal;
  EXPECT_NE(Refusal(Str("HloModule m, replica_count=2\n", kAdd, R"(ENTRY main {
  x = f32[1] parameter(0)
  ROOT r = f32[3] all-gather(x), dimensions={0}
})"))
                .find("'r' gives f32[2] in a group of 2 replicas, but f32[3] is written"),
            std::string::npos);
}

TEST(Collectives, RunningOneDeviceOfSeveralIsUnsupported) {
  const auto module = ParseText(Str("HloModule m, replica_count=2\n", kAdd, R"(ENTRY main {
  x = f32[1] parameter(0)
  ROOT r = f32[1] all-reduce(x), to_apply=add
})"));
  const auto result = Interpret(*module, Numbered(*module)[0]);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().exit, ExitCode::kUnsupported);
}

TEST(Collectives, MemoryIsPlannedForAllDevices) {
  const auto module = ParseText("HloModule m, replica_count=8\nENTRY main {\n  ROOT x = f32[1000] parameter(0)\n}\n");
  InterpretOptions options;
  options.memory_limit = 32000;
  EXPECT_TRUE(InterpretDevices(*module, Numbered(*module), options).has_value());
  options.memory_limit = 31999;
  const auto result = InterpretDevices(*module, Numbered(*module), options);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message().find("on each of 8 devices"), std::string::npos) << result.error().message();
}

// ---- A training step -----------------------------------------------------------------------------------------------

// A step of gradient descent on w for y = x w, whose loss is the mean of (y - t)^2 over `batch` rows. `reduce` is the
// text that adds up the gradients of all replicas.
std::string Step(int replicas, int rows, int batch, const std::string& reduce) {
  return Str("HloModule step, replica_count=", replicas, "\n", kAdd, "ENTRY main {\n  x = f32[", rows,
             ",3] parameter(0)\n  t = f32[", rows, ",2] parameter(1)\n  w = f32[3,2] parameter(2)\n  y = f32[", rows,
             ",2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  e = f32[", rows,
             ",2] subtract(y, t)\n  own = f32[3,2] dot(x, e), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
             reduce, "  rate = f32[] constant(", 2 * 0.125 / batch, R"()
  rates = f32[3,2] broadcast(rate), dimensions={}
  step = f32[3,2] multiply(rates, g)
  ROOT next = f32[3,2] subtract(w, step)
})");
}

TEST(Collectives, ADataParallelStepEqualsTheStepOnTheWholeBatch) {
  const auto parallel = ParseText(Step(4, 2, 8, "  g = f32[3,2] all-reduce(own), to_apply=add\n"));
  const auto whole = ParseText(Step(1, 8, 8, "  g = f32[3,2] copy(own)\n"));
  // The values are small integers, so every order of summation gives the same bits.
  Literal x(Shape(PrimitiveType::kF32, {8, 3})), t(Shape(PrimitiveType::kF32, {8, 2})),
      w(Shape(PrimitiveType::kF32, {3, 2}));
  for (int i = 0; i < 24; ++i) x.SetDouble(i, (i * 7 + 3) % 11 - 5);
  for (int i = 0; i < 16; ++i) t.SetDouble(i, (i * 5 + 1) % 7 - 3);
  for (int i = 0; i < 6; ++i) w.SetDouble(i, i - 2);
  const auto expected = Interpret(*whole, std::array{x, t, w});
  ASSERT_TRUE(expected.has_value());
  EXPECT_FALSE(expected->BitEquals(w));

  const auto rows = [](const Literal& all, int replica) {
    const int64_t columns = all.shape().dim(1);
    Literal part(Shape(PrimitiveType::kF32, {2, columns}));
    for (int64_t i = 0; i < 2 * columns; ++i) part.SetDouble(i, all.GetDouble(2 * columns * replica + i));
    return part;
  };
  std::vector<std::vector<Literal>> args;
  for (int replica = 0; replica < 4; ++replica) args.push_back({rows(x, replica), rows(t, replica), w});
  const auto results = InterpretDevices(*parallel, args);
  ASSERT_TRUE(results.has_value());
  for (const Literal& result : *results) EXPECT_TRUE(result.BitEquals(*expected));
}

// ---- Files ---------------------------------------------------------------------------------------------------------

TEST(Collectives, ArgumentsOfDevicesAreWrittenAndRead) {
  const auto module = ParseText(
      "HloModule m, replica_count=2, num_partitions=2\nENTRY main {\n  a = f32[1] parameter(0)\n  b = f32[1] "
      "parameter(1)\n"
      "  ROOT c = f32[1] add(a, b)\n}\n");
  const auto value = [](double v) { return Values(PrimitiveType::kF32, {1}, {v}); };
  // Replica 1 has another a, and its partition 1 has another b.
  const std::vector<std::vector<Literal>> args = {
      {value(1), value(2)}, {value(1), value(2)}, {value(3), value(2)}, {value(3), value(4)}};
  const std::string path = testing::TempDir() + "hlokit_devices.npz";
  ASSERT_TRUE(WriteArgumentsByDevice(path, args, 2).has_value());
  const auto read = ReadArgumentsByDevice(path, *module);
  ASSERT_TRUE(read.has_value()) << Render(read.error(), "test");
  ASSERT_EQ(read->by_device.size(), 4u);
  for (size_t device = 0; device < 4; ++device) {
    for (size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(read->by_device[device][i].BitEquals(args[device][i])) << device << " " << i;
  }
  std::remove(path.c_str());
}

TEST(Collectives, DevicesHavePrefixes) {
  const auto of = SplitDevicePrefix("r12.p3.x.1");
  ASSERT_TRUE(of.has_value());
  EXPECT_EQ(of->replica, 12);
  EXPECT_EQ(of->partition, 3);
  EXPECT_EQ(of->key, "x.1");
  EXPECT_EQ(SplitDevicePrefix("r1.0")->partition, -1);
  EXPECT_EQ(SplitDevicePrefix("r1.0")->key, "0");
  EXPECT_FALSE(SplitDevicePrefix("rate.1").has_value());
  EXPECT_FALSE(SplitDevicePrefix("r.1").has_value());
  EXPECT_FALSE(SplitDevicePrefix("r1").has_value());
}

// ---- Roundings ------------------------------------------------------------------------------------------------------

TEST(Collectives, APerturbedSumIsTheSameOnAllMembers) {
  const auto module = ParseText(Str("HloModule m, num_partitions=3\n", kAdd, R"(
ENTRY main {
  p = f32[2] parameter(0)
  ROOT r = f32[2] all-reduce(p), replica_groups={}, to_apply=add, channel_id=1, use_global_device_ids=true
})"));
  std::vector<double> terms;
  InterpretOptions options;
  options.perturb = [&](const Instruction& inst, std::span<const Literal> operands, Literal& value) -> Status {
    EXPECT_EQ(inst.name(), "r");
    for (const Literal& operand : operands) terms.push_back(operand.GetDouble(1));
    value.SetDouble(1, value.GetDouble(1) + 0.5);
    return {};
  };
  const auto results = InterpretDevices(*module, Numbered(*module), options);
  ASSERT_TRUE(results.has_value());
  EXPECT_EQ(terms, (std::vector<double>{1, 11, 21}));
  for (const Literal& result : *results) EXPECT_EQ(Doubles(result), (std::vector<double>{30, 33.5}));
}

}  // namespace
}  // namespace hlo
