#include "tests/passes/partitioned_program.h"

#include <gtest/gtest.h>

#include "interp/arguments/arguments.h"
#include "interp/devices/parts.h"
#include "interp/interpreter.h"
#include "ir/mesh/parts.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "passes/pass.h"
#include "tests/interp/values.h"

namespace hlo {

Status RunPasses(Module& module, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) TRY(FindPass(name)->function(module, {}));
  module.Sweep();
  return {};
}

Result<Literal> Partitioned(const std::string& text, std::span<const Literal> args, std::byte padding) {
  const auto module = ParseText(text);
  TRY(RunPasses(*module, {"sharding-propagation", "spmd-partitioning", "dce"}));
  TRY(Verify(*module, VerifyLevel::kStrict));
  const int64_t devices = module->header.num_partitions;
  std::vector<std::vector<Literal>> by_device(devices);
  for (const Instruction* parameter : module->entry().parameters()) {
    const Literal& whole = args[parameter->parameter_number()];
    const PartTable table = TRY(PartTable::Make(*ShardingOfLeaf(*parameter, 0), parameter->shape().rank(), devices));
    for (int64_t device = 0; device < devices; ++device)
      by_device[device].push_back(CutPart(whole, parameter->shape(), table, device, padding));
  }
  const std::vector<Literal> results = TRY(InterpretDevices(*module, by_device, {}));
  const PartTable table =
      TRY(PartTable::Make(*ShardingOfLeaf(module->entry().root(), 0), results[0].shape().rank(), devices));
  std::vector<const Literal*> parts;
  for (const Literal& result : results) parts.push_back(&result);
  const auto whole = ParseText(text);
  return JoinParts(parts, whole->entry().root().shape(), table).whole;
}

void ExpectSame(const std::string& text) {
  const auto module = ParseText(text);
  const auto args = MakeArguments(*module, {.profile = InputProfile::kExact});
  ASSERT_TRUE(args.has_value()) << args.error().message();
  const auto expected = Interpret(*module, *args);
  ASSERT_TRUE(expected.has_value()) << expected.error().message();
  for (const int padding : {0, 0xff, 0x55}) {
    const auto actual = Partitioned(text, *args, std::byte(padding));
    ASSERT_TRUE(actual.has_value()) << text << actual.error().message();
    ASSERT_TRUE(actual->BitEquals(*expected)) << "padding " << padding << "\n" << text << PartitionedText(text);
  }
}

std::string PartitionedText(const std::string& text) {
  const auto module = ParseText(text);
  if (const Status status = RunPasses(*module, {"sharding-propagation", "spmd-partitioning", "dce"}); !status)
    return std::string(status.error().message());
  const Status verified = Verify(*module, VerifyLevel::kStrict);
  return verified ? Print(*module) : std::string(verified.error().message());
}

}  // namespace hlo
