// Laws of the factor rules of collectives: two devices whose arrays are split alike get the parts of the results on
// whole arrays. tests/ir/factors_laws_test.cpp has the laws of the other opcodes.
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/interp/values.h"
#include "tests/ir/factor_parts.h"

namespace hlo {
namespace {

constexpr const char* kText = R"(HloModule m, replica_count=2
add {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b)
}
ENTRY main {
  x = s32[4,5,3] parameter(0)
  y = s32[6,2] parameter(1)
  offsets = s32[2] parameter(2)
  sizes = s32[2] parameter(3)
  places = s32[2] parameter(4)
  root = s32[1] parameter(5)
  sums = (s32[4,5,3], s32[6,2]) all-reduce(x, y), to_apply=add
  gathered = s32[4,10,3] all-gather(x), dimensions={1}
  both_gathered = (s32[8,5,3], s32[12,2]) all-gather(x, y), dimensions={0}
  blocks = s32[2,5,3] reduce-scatter(x), dimensions={0}, to_apply=add
  exchanged = s32[4,5,3] all-to-all(x), dimensions={0}
  tuples = (s32[4,5,3], s32[4,5,3]) all-to-all(x, x)
  permuted = s32[4,5,3] collective-permute(x), source_target_pairs={{0,1},{1,0}}
  first = s32[4,5,3] collective-broadcast(x), replica_groups={{1,0}}
  named = s32[4,5,3] collective-broadcast(x, root), replica_groups={{1,0}}, has_dynamic_root=true
  reduced = s32[4,5,3] collective-reduce(x), replica_groups={{1,0}}, to_apply=add
  ragged = s32[4,5,3] ragged-all-to-all(x, x, offsets, sizes, places, sizes), replica_groups={{0,1}}
  ROOT r = (s32[4,10,3]) tuple(gathered)
})";

// Each array has other numbers on each device. In a ragged exchange each device sends one row to each device. Row d of
// a result comes from device d.
int64_t ElementOf(const Instruction& operand, int64_t device, int64_t i) {
  if (operand.shape().rank() > 1) return 100 * device + i;
  if (operand.name() == "sizes") return 1;
  if (operand.name() == "places") return device;
  return i == 0 ? 1 : 0;
}

Literal ArgumentOf(const Instruction& operand, int64_t device) {
  Literal literal(operand.shape());
  for (int64_t i = 0; i < operand.shape().NumElements(); ++i) literal.SetInt(i, ElementOf(operand, device, i));
  return literal;
}

using Arguments = std::vector<std::vector<Literal>>;  // Indexed by device and operand.

Result<std::vector<Literal>> RunOnDevices(Module& module, Opcode opcode, const Shape& shape,
                                          const Attributes& attributes, const Arguments& arguments) {
  Computation& entry = module.AddComputation("law");
  Operands parameters;
  for (const Literal& argument : arguments[0])
    parameters.push_back(&entry.AddParameter(std::ssize(parameters), argument.shape()));
  entry.SetRoot(entry.Add(opcode, shape, parameters, attributes));
  module.SetEntry(entry);
  return InterpretDevices(module, arguments);
}

class CollectiveLaw {
 public:
  explicit CollectiveLaw(const Instruction& inst) : inst_(inst), rule_(FactorsOf(inst)) {
    for (int64_t device = 0; device < 2; ++device) {
      std::vector<Literal>& operands = whole_.emplace_back();
      for (const Instruction* operand : inst.operands()) operands.push_back(ArgumentOf(*operand, device));
    }
  }

  void Check() {
    const auto whole = RunOnDevices(inst_.module(), inst_.opcode(), inst_.shape(), inst_.attributes(), whole_);
    ASSERT_TRUE(whole.has_value()) << inst_.name() << ": " << whole.error().message();
    int cut = 0;
    for (int64_t factor = 0; factor < std::ssize(rule_.factors); ++factor) {
      if (rule_.factors[factor].kind == FactorKind::kWhole) continue;
      EXPECT_EQ(rule_.factors[factor].kind, FactorKind::kFree);
      ++cut;
      for (const int64_t parts : {2, 3, 4, 8}) {
        SCOPED_TRACE(Str(inst_.name(), " ", rule_.ToString(), ": factor ", factor, " in ", parts));
        CheckParts(factor, parts, *whole);
      }
    }
    EXPECT_GT(cut, 0) << inst_.name();
  }

 private:
  void CheckParts(int64_t factor, int64_t parts, std::span<const Literal> whole) const {
    for (int64_t i = 0; i < parts; ++i) {
      const auto part = PartOf(rule_, factor, parts, i);
      if (!part) continue;
      const LocalOp local = LocalOpOf(inst_, rule_, *part);
      Arguments arguments;
      for (const std::vector<Literal>& operands : whole_) arguments.push_back(Cut(operands, *part));
      const auto results = RunOnDevices(inst_.module(), inst_.opcode(), local.shape, local.attributes, arguments);
      ASSERT_TRUE(results.has_value()) << results.error().message();
      for (size_t device = 0; device < whole.size(); ++device) CheckPart((*results)[device], whole[device], *part);
    }
  }

  std::vector<Literal> Cut(std::span<const Literal> operands, const FactorPart& part) const {
    std::vector<Literal> cut;
    for (size_t i = 0; i < operands.size(); ++i)
      cut.push_back(Take(operands[i], BoxOf(rule_, rule_.operands[i][0], operands[i].shape(), part)));
    return cut;
  }

  void CheckPart(const Literal& result, const Literal& whole, const FactorPart& part) const {
    const std::vector<Literal> leaves = LeafLiterals(whole), actual = LeafLiterals(result);
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const Literal expected = Take(leaves[leaf], BoxOf(rule_, rule_.result[leaf], leaves[leaf].shape(), part));
      EXPECT_TRUE(actual[leaf].BitEquals(expected)) << "leaf " << leaf;
    }
  }

  const Instruction& inst_;
  const FactorRule rule_;
  Arguments whole_;
};

TEST(FactorLaws, CollectivesOfPartsGiveParts) {
  const auto module = ParseText(kText);
  ASSERT_NE(module, nullptr);
  std::set<Opcode> seen;
  for (const Instruction* inst : module->entry().Instructions()) {
    if (!inst->Is(kCollective)) continue;
    seen.insert(inst->opcode());
    CollectiveLaw(*inst).Check();
  }
  for (const Opcode opcode :
       {Opcode::kAllGather, Opcode::kAllReduce, Opcode::kAllToAll, Opcode::kCollectiveBroadcast,
        Opcode::kCollectivePermute, Opcode::kCollectiveReduce, Opcode::kRaggedAllToAll, Opcode::kReduceScatter})
    EXPECT_TRUE(seen.contains(opcode)) << ToString(opcode);
}

}  // namespace
}  // namespace hlo
