// Reads attributes according to the field lists of the attribute structs.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "ir/shapes/shape_rules.h"
#include "parser/attribute_rows.h"
#include "parser/pending.h"

namespace hlo {
namespace {

template <class... Structs>
constexpr auto MakeTables(const StructList<Structs...>*) {
  return std::array<std::span<const AttributeRow>, sizeof...(Structs)>{
      std::span<const AttributeRow>(kRowsOf<Structs>)...};
}
constexpr auto kTables = MakeTables(static_cast<const AttributeStructs*>(nullptr));

bool TakesResultAccuracy(Opcode opcode) {
  const bool complex_math = RowOf(opcode).shape_rule == ShapeOfComplexUnary;
  return complex_math || opcode == Opcode::kCbrt || opcode == Opcode::kErf;
}

constexpr std::pair<Opcode, std::string_view> kForeign[] = {
    {Opcode::kAllGather, "to_apply"},
    {Opcode::kAllGather, "has_dynamic_root"},
    {Opcode::kAllGather, "mode"},
    {Opcode::kAllGatherStart, "to_apply"},
    {Opcode::kAllGatherStart, "has_dynamic_root"},
    {Opcode::kAllGatherStart, "mode"},
    {Opcode::kAllReduce, "dimensions"},
    {Opcode::kAllReduce, "has_dynamic_root"},
    {Opcode::kAllReduceStart, "dimensions"},
    {Opcode::kAllReduceStart, "has_dynamic_root"},
    {Opcode::kAllToAll, "to_apply"},
    {Opcode::kAllToAll, "use_global_device_ids"},
    {Opcode::kAllToAll, "has_dynamic_root"},
    {Opcode::kAllToAll, "mode"},
    {Opcode::kAsyncDone, "output_to_operand_aliasing"},
    {Opcode::kCollectiveBroadcast, "to_apply"},
    {Opcode::kCollectiveBroadcast, "constrain_layout"},
    {Opcode::kCollectiveBroadcast, "use_global_device_ids"},
    {Opcode::kCollectiveBroadcast, "dimensions"},
    {Opcode::kCollectiveBroadcast, "mode"},
    {Opcode::kCollectiveReduce, "dimensions"},
    {Opcode::kCollectiveReduce, "mode"},
    {Opcode::kRaggedAllToAll, "to_apply"},
    {Opcode::kRaggedAllToAll, "constrain_layout"},
    {Opcode::kRaggedAllToAll, "use_global_device_ids"},
    {Opcode::kRaggedAllToAll, "has_dynamic_root"},
    {Opcode::kRaggedAllToAll, "mode"},
    {Opcode::kReduceScatter, "has_dynamic_root"},
    {Opcode::kScaledDot, "sparsity_config"},
    {Opcode::kScaledDot, "block_scaling_config"},
};

constexpr auto kHasForeign = [] {
  std::array<bool, 256> has{};
  for (const auto& [opcode, attribute] : kForeign) has[static_cast<size_t>(opcode)] = true;
  return has;
}();

}  // namespace

bool TakesAttribute(Opcode opcode, std::string_view attribute) {
  if (attribute == "result_accuracy") return TakesResultAccuracy(opcode);
  if (attribute == "parameter_replication") return opcode == Opcode::kParameter;
  if (!kHasForeign[static_cast<size_t>(opcode)]) return true;
  return std::find(std::begin(kForeign), std::end(kForeign), std::pair(opcode, attribute)) == std::end(kForeign);
}

// Reads `, name=`.
bool Reader::ReadAttributeName(Token& name) {
  const char* p = lexer_.Pointer(token_.end);
  if (*p == ' ') ++p;
  const char* const end = IsLetter(*p) ? WordEnd(p, lexer_.end()) : p;
  if (end == p || *end != '=') {
    Advance();
    if (token_.kind != TokenKind::kAttribute) return FailExpected("an attribute (name=value)");
    name = token_;
    Advance();
    return true;
  }
  name.begin = lexer_.Offset(p);
  name.end = lexer_.Offset(end + 1);
  name.text = {p, static_cast<size_t>(end - p)};
  EndBytes(end + 1);
  return true;
}

bool Reader::ReadAttributes(Pending& pending) {
  const std::span<const AttributeRow> own = kTables[pending.attributes.kind()];
  const std::span<const AttributeRow> async = pending.async == Pending::Async::kNone
                                                  ? std::span<const AttributeRow>()
                                                  : std::span<const AttributeRow>(kRowsOf<AsyncAttrs>);
  const std::span<const AttributeRow> common = kRowsOf<CommonAttrs>;
  const bool sugared = pending.async != Pending::Async::kNone;  // The short spelling has no `calls`.
  uint64_t seen = 0;
  while (token_.Is(',')) {
    Token name;
    if (!ReadAttributeName(name)) return false;
    uint64_t bit = 0;
    bool good = true;
    const auto check_once = [&](uint64_t position) {
      bit = uint64_t{1} << position;
      const bool again = (seen & bit) != 0;
      seen |= bit;
      return again ? Fail("P035", Str("attribute '", name.text, "' is given twice"), name.range()) : true;
    };
    if (const AttributeRow* row = FindRow(own, name.text);
        row != nullptr && TakesAttribute(pending.opcode, name.text)) {
      if (!check_once(row - own.data())) return false;
      good = row->read(*this, pending.attributes.data());
    } else if (const AttributeRow* row = FindRow(common, name.text)) {
      if (!check_once(32 + (row - common.data()))) return false;
      const bool takes = TakesAttribute(pending.opcode, name.text);
      if (name.text == "result_accuracy" && !takes)
        return Fail("V049", Str("'", pending.opcode, "' takes no result_accuracy"), name.range());
      if (!takes) return Fail("P034", Str("'", pending.opcode, "' has no attribute '", name.text, "'"), name.range());
      if (!pending.common) pending.common.emplace();
      good = row->read(*this, &*pending.common);
    } else if (const AttributeRow* row = FindRow(async, name.text);
               row != nullptr && !(sugared && name.text == "calls")) {
      if (!check_once(48 + (row - async.data()))) return false;
      good = row->read(*this, &*pending.async_attributes);
    } else if (name.text == "control-predecessors") {
      if (!check_once(63)) return false;
      good = ReadControlPredecessors(pending.predecessors);
    } else if (pending.opcode == Opcode::kCompare && name.text == "order") {
      if (!token_.IsWord("TOTAL") && !token_.IsWord("PARTIAL")) return FailExpected("TOTAL or PARTIAL");
      const Instruction* compared = pending.operands.empty() ? nullptr : pending.operands[0];
      const bool floats =
          compared != nullptr && (IsFloat(compared->shape().type()) || IsComplex(compared->shape().type()));
      ComparisonType& type = pending.attributes.Get<CompareAttrs>().type;
      if (token_.IsWord("TOTAL") && floats) type = ComparisonType::kTotalOrder;
      if (token_.IsWord("PARTIAL") && !floats) type = ComparisonType::kFloat;
      Advance();
    } else {
      std::vector<std::string_view> known;
      for (const AttributeRow& row : own) {
        if (TakesAttribute(pending.opcode, row.name)) known.push_back(row.name);
      }
      const std::string its_own = Join(known, ", ");
      for (const auto rows : {async, common}) {
        for (const AttributeRow& row : rows) {
          if (TakesAttribute(pending.opcode, row.name)) known.push_back(row.name);
        }
      }
      known.push_back("control-predecessors");
      std::erase(known, name.text);
      const auto near = NearNames(name.text, known, 1);
      Fail("P034",
           Str("'", Text(pending.opcode_range), "' has no attribute '", name.text, "'",
               near.empty() ? "" : Str("; did you mean '", near[0], "'?")),
           name.range());
      if (!its_own.empty()) AddHint(Str("its own attributes are ", its_own));
      return false;
    }
    if (!good) return false;
    if (name.text == "async_execution_thread") pending.thread_range = {name.begin, last_end_};
    if (name.text == "calls") pending.calls_range = {name.begin, last_end_};
  }
  return CheckRequired(pending, seen);
}

bool Reader::CheckRequired(const Pending& pending, uint64_t seen) {
  // In the short spelling, updates and dones take the attributes of their chain's start.
  if (pending.async == Pending::Async::kUpdate || pending.async == Pending::Async::kDone) return true;
  const std::span<const AttributeRow> own = kTables[pending.attributes.kind()];
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].presence != Presence::kRequired || (seen >> i & 1) != 0) continue;
    return Fail("P036", Str("'", pending.opcode, "' needs the attribute '", own[i].name, "'"), pending.opcode_range);
  }
  return true;
}

bool Reader::ReadControlPredecessors(std::vector<Instruction*>& predecessors) {
  if (!Expect('{', "'{' and the names of instructions")) return false;
  do {
    if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kName)
      return FailExpected("the name of an instruction");
    Instruction** found = scope_->Find(token_.text);
    if (found == nullptr)
      return Fail("V267", Str("control predecessor '", token_.text, "' is not defined above"), token_.range());
    const bool again = std::find(predecessors.begin(), predecessors.end(), *found) != predecessors.end();
    if (*found != nullptr && !again) predecessors.push_back(*found);
    Advance();
  } while (Accept(','));
  return Expect('}', "',' or '}'");
}

}  // namespace hlo
