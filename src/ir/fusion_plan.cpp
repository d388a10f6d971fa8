#include "ir/fusion_plan.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/source_parts.h"

namespace hlo {
namespace {

enum FieldBit : unsigned {
  kNone = 0,
  kRoots = 1,
  kOperand = 2,
  kInPlace = 4,
  kHeroes = 8,
  kTile = 16,
  kVector = 32,
  kThreads = 64,
  kSplits = 128,
  kUnroll = 256,
  kStages = 512,
  kLibrary = 1024,
  kAlgorithm = 2048,
  kWorkspace = 4096,
  kTotals = 8192,
  kKept = 16384,
};

struct KindRow {
  std::string_view text;
  unsigned fields;
  bool own;
};
constexpr KindRow kKinds[] = {
#define OTHER_KIND(Name, text, fields, what) {text, fields, false},
#define KERNEL_KIND(Name, text, fields, what) {text, fields, true},
#include "ir/kernel_kinds.def"
};

using Member = std::variant<int64_t KernelPlan::*, bool KernelPlan::*, std::string KernelPlan::*,
                            std::vector<int64_t> KernelPlan::*, std::vector<std::string> KernelPlan::*>;
struct Field {
  std::string_view name;
  unsigned bit;
  Member member;
  int64_t least = 1, most = 1;
};
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr Field kFields[] = {
    {"roots", kRoots, &KernelPlan::roots, 0, kAny},
    {"operand", kOperand, &KernelPlan::operand},
    {"in_place", kInPlace, &KernelPlan::in_place},
    {"heroes", kHeroes, &KernelPlan::heroes},
    {"kept", kKept, &KernelPlan::kept},
    {"totals", kTotals, &KernelPlan::totals},
    {"tile", kTile, &KernelPlan::tile, 1, 1 << 20},
    {"vector", kVector, &KernelPlan::vector, 1, 16},
    {"threads", kThreads, &KernelPlan::threads, 1, 1024},
    {"splits", kSplits, &KernelPlan::splits, 1, 1 << 20},
    {"unroll", kUnroll, &KernelPlan::unroll, 1, 32},
    {"stages", kStages, &KernelPlan::stages, 1, 8},
    {"library", kLibrary, &KernelPlan::library},
    {"algorithm", kAlgorithm, &KernelPlan::algorithm},
    {"workspace", kWorkspace, &KernelPlan::workspace, 0, kAny},
};

void Write(JsonWriter& json, int64_t value) { json.Value(value); }
void Write(JsonWriter& json, bool value) { json.Value(value); }
void Write(JsonWriter& json, const std::string& value) { json.Value(value); }
template <class T>
void Write(JsonWriter& json, const std::vector<T>& values) {
  json.Open('[');
  for (const T& value : values) Write(json, value);
  json.Close(']');
}

void Write(JsonWriter& json, const KernelPlan& plan) {
  const KernelPlan nothing;
  json.Open('{').Key("kind").Value(ToString(plan.kind));
  for (const Field& field : kFields) {
    std::visit(
        [&](auto member) {
          if (plan.*member == nothing.*member) return;
          json.Key(field.name);
          Write(json, plan.*member);
        },
        field.member);
  }
  json.Close('}');
}

std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& known) {
  const std::vector<std::string> near = NearNames(word, known);
  return near.empty() ? Str("; there are ", Join(known, ", ")) : Str("; did you mean '", Join(near, "', '"), "'?");
}

class Reader {
 public:
  const std::string& wrong() const { return wrong_; }

  FusionPlan Fusion(const JsonValue& json) {
    FusionPlan plan;
    const JsonValue::Object* object = json.AsObject();
    if (object == nullptr) return Fail("\"plan\" wants an object", plan);
    for (size_t i = 0; i < object->keys.size(); ++i) {
      const std::string& key = object->keys[i];
      const JsonValue& value = object->values[i];
      if (key == "target") ReadField(key, value, plan.target);
      else if (key == "slow") ReadField(key, value, plan.slow);
      else if (key == "refused") ReadField(key, value, plan.refused);
      else if (key != "kernels")
        Fail(Str("a plan has no \"", key, "\"", DidYouMean(key, {"target", "kernels", "slow", "refused"})));
      else if (value.Items() == nullptr) Fail("\"kernels\" wants a list");
      else
        for (const JsonValue& kernel : *value.Items()) plan.kernels.push_back(Kernel(kernel));
    }
    if (json["kernels"].IsNull()) Fail("the plan has no \"kernels\"");
    return plan;
  }

 private:
  template <class T = int>
  T Fail(std::string what, T result = {}) {
    if (wrong_.empty()) wrong_ = std::move(what);
    return result;
  }

  KernelPlan Kernel(const JsonValue& json) {
    KernelPlan plan;
    const JsonValue::Object* object = json.AsObject();
    if (object == nullptr) return Fail("a kernel wants an object", plan);
    const std::string* kind = json["kind"].String();
    if (kind == nullptr) return Fail("a kernel has no \"kind\"", plan);
    const auto row = std::ranges::find(kKinds, *kind, &KindRow::text);
    if (row == std::end(kKinds)) {
      std::vector<std::string_view> known;
      for (const KindRow& each : kKinds) known.push_back(each.text);
      return Fail(Str("no kind of kernel is called \"", Escaped(*kind), "\"", DidYouMean(*kind, known)), plan);
    }
    plan.kind = static_cast<KernelKind>(row - kKinds);
    for (size_t i = 0; i < object->keys.size(); ++i) {
      if (object->keys[i] != "kind") ReadField(*row, object->keys[i], object->values[i], plan);
    }
    return plan;
  }

  void ReadField(const KindRow& kind, const std::string& key, const JsonValue& value, KernelPlan& plan) {
    const auto field = std::ranges::find(kFields, key, &Field::name);
    if (field == std::end(kFields) || (kind.fields & field->bit) == 0) {
      std::vector<std::string_view> known;
      for (const Field& each : kFields) {
        if (kind.fields & each.bit) known.push_back(each.name);
      }
      Fail(Str("a ", kind.text, " has no \"", Escaped(key), "\"", known.empty() ? "" : DidYouMean(key, known)));
      return;
    }
    least_ = field->least;
    most_ = field->most;
    std::visit([&](auto member) { ReadField(key, value, plan.*member); }, field->member);
  }

  void ReadField(std::string_view key, const JsonValue& value, int64_t& number) {
    const std::optional<int64_t> read = value.Int();
    if (read && *read >= least_ && *read <= most_) {
      number = *read;
      return;
    }
    const std::string range = most_ == kAny ? Str(least_, " or more") : Str(least_, " to ", most_);
    Fail(Str("\"", key, "\" wants a number, ", range, ", not ", value.ToString()));
  }
  void ReadField(std::string_view key, const JsonValue& value, bool& flag) {
    if (!value.Bool()) Fail(Str("\"", key, "\" wants true or false, not ", value.ToString()));
    flag = value.IsTrue();
  }
  void ReadField(std::string_view key, const JsonValue& value, std::string& text) {
    if (value.String() == nullptr) Fail(Str("\"", key, "\" wants a string, not ", value.ToString()));
    else text = *value.String();
  }
  template <class T>
  void ReadField(std::string_view key, const JsonValue& value, std::vector<T>& list) {
    if (value.Items() == nullptr) {
      Fail(Str("\"", key, "\" wants a list, not ", value.ToString()));
      return;
    }
    list.resize(value.Items()->size());
    for (size_t i = 0; i < list.size(); ++i) ReadField(key, (*value.Items())[i], list[i]);
  }

  std::string wrong_;
  int64_t least_ = 1, most_ = 1;
};

constexpr std::string_view kKey = "plan";

}  // namespace

std::string_view ToString(KernelKind kind) { return kKinds[static_cast<int>(kind)].text; }
bool IsOwnKernel(KernelKind kind) { return kKinds[static_cast<int>(kind)].own; }

std::string ToJson(const KernelPlan& plan) {
  JsonWriter json;
  Write(json, plan);
  return json.text();
}

std::string ToJson(const FusionPlan& plan) {
  JsonWriter json;
  json.Open('{').Key("target").Value(plan.target).Key("kernels").Open('[');
  for (const KernelPlan& kernel : plan.kernels) Write(json, kernel);
  json.Close(']');
  if (!plan.slow.empty()) json.Key("slow").Value(plan.slow);
  if (!plan.refused.empty()) {
    json.Key("refused");
    Write(json, plan.refused);
  }
  return json.Close('}').text();
}

bool HasPlan(const Instruction& inst) {
  return inst.Is(Opcode::kFusion) && inst.HasCommon() &&
         inst.common().backend_config.text.view().find("plan") != std::string_view::npos &&
         ConfigText(inst).find("\"plan\"") != std::string::npos;
}

Result<std::optional<FusionPlan>> ReadPlan(const Instruction& inst) {
  if (!HasPlan(inst)) return std::nullopt;
  const auto json = ReadJson(ConfigText(inst));
  if (!json) FAIL(PlanError(inst, Str("the backend_config is not JSON: ", json.error().message())));
  const JsonValue& value = (*json)[kKey];
  if (value.IsNull()) return std::nullopt;
  Reader reader;
  FusionPlan plan = reader.Fusion(value);
  if (!reader.wrong().empty()) FAIL(PlanError(inst, reader.wrong()));
  return plan;
}

namespace {

void ReplacePlan(Instruction& inst, const std::string& plan) {
  Interned& text = inst.mutable_common().backend_config.text;
  JsonWriter json;
  json.Open('{');
  bool empty = true;
  if (!text.empty()) {
    const auto old = ReadJson(ConfigText(inst));
    const JsonValue::Object* members = old ? old->AsObject() : nullptr;
    if (members == nullptr) return;
    for (size_t i = 0; i < members->keys.size(); ++i) {
      if (members->keys[i] == kKey) continue;
      json.Key(members->keys[i]).Raw(members->values[i].ToString());
      empty = false;
    }
  }
  if (!plan.empty()) json.Key(kKey).Raw(plan);
  text = plan.empty() && empty ? Interned() : Interned(json.Close('}').text());
}

}  // namespace

void SetPlan(Instruction& inst, const FusionPlan& plan) { ReplacePlan(inst, ToJson(plan)); }

void RemovePlans(Module& module) {
  for (const auto& computation : module.Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      if (HasPlan(*inst)) ReplacePlan(*inst, "");
    }
  }
}

Error PlanError(const Instruction& inst, std::string_view why) {
  return ErrorAtAttribute(inst, "backend_config", "C001", Str("the plan of '", inst.name(), "' does not fit: ", why));
}

}  // namespace hlo
