#include "driver/run/custom_call_stubs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/text.h"
#include "ir/control_edges.h"

namespace hlo {
namespace {

// A target may contain any characters, so the last equals sign counts.
struct Policy {
  std::string target, policy;

  explicit Policy(const std::string& flag) {
    const size_t equals = flag.rfind('=');
    if (equals == std::string::npos) return;
    target = flag.substr(0, equals);
    policy = flag.substr(equals + 1);
  }
  bool IsNative() const { return policy == "native" || policy == "interpreter"; }
  bool IsFile() const { return !IsNative() && policy != "zeros" && policy != "passthrough" && policy != "error"; }
};

class Stub {
 public:
  Stub(Policy policy, const LoadOptions& load) : policy_(std::move(policy)), load_(load) {}

  Status Replace(Instruction& call, Replacements* gone) {
    Instruction* const value = TRY(ValueOf(call));
    call.ReplaceAllUses(*value);
    (*gone)[&call] = RunsAfter(call);
    call.computation().Remove(call);
    ++calls_;
    return {};
  }
  CustomCallStub Summary() const { return {policy_.target, policy_.policy, calls_}; }

 private:
  Result<Instruction*> ValueOf(Instruction& call) {
    if (policy_.policy == "error")
      FAIL(UnsupportedAt(
          call, "U007",
          Str("custom-call target \"", Escaped(policy_.target), "\" is an error because --custom_call says so")));
    if (policy_.policy == "zeros") return Zeros(call, call.shape());
    if (policy_.policy == "passthrough") return Passed(call);
    return FromFile(call);
  }

  static Instruction* Zeros(Instruction& call, const Shape& shape) {
    Computation& computation = call.computation();
    if (shape.IsToken()) return &computation.AddLike(call, Opcode::kAfterAll, shape, {});
    if (!shape.IsTuple()) {
      Instruction& zero = computation.AddConstant(Literal(Shape::Scalar(shape.type())), "zero");
      return &computation.AddLike(call, Opcode::kBroadcast, shape, {&zero}, DimensionsAttrs{});
    }
    Operands elements;
    for (const Shape& element : shape.elements()) elements.push_back(Zeros(call, element));
    return &computation.AddLike(call, Opcode::kTuple, shape, elements);
  }

  Result<Instruction*> Passed(Instruction& call) const {
    std::vector<Instruction*> left(call.operands().begin(), call.operands().end());
    const auto take = [&](const Shape& shape) -> Result<Instruction*> {
      const auto found =
          std::find_if(left.begin(), left.end(), [&](const Instruction* x) { return Compatible(x->shape(), shape); });
      if (found == left.end()) FAIL(DoesNotFit(call, Str("no further operand fits the result ", shape)));
      Instruction* const operand = *found;
      left.erase(found);
      return &call.computation().AddLike(call, Opcode::kCopy, shape, {operand});
    };
    if (!call.shape().IsTuple()) return take(call.shape());
    Operands elements;
    for (const Shape& element : call.shape().elements()) elements.push_back(TRY(take(element)));
    return &call.computation().AddLike(call, Opcode::kTuple, call.shape(), elements);
  }

  // The part after the last colon is a computation if it has no slash.
  Result<const Computation*> Loaded(const Instruction& call) {
    if (computation_ != nullptr) return computation_;
    std::string path = policy_.policy, name;
    if (const size_t colon = path.rfind(':');
        colon != std::string::npos && path.find('/', colon) == std::string::npos) {
      name = path.substr(colon + 1);
      path.resize(colon);
    }
    module_ = TRY(LoadModule(path, load_));
    if (name.empty()) return computation_ = &module_->entry();
    for (const Computation* computation : module_->Computations()) {
      if (computation->name() == name) return computation_ = computation;
    }
    FAIL(DoesNotFit(call, Str("'", path, "' has no computation '", name, "'")));
  }

  Result<Instruction*> FromFile(Instruction& call) {
    const Computation& from = *TRY(Loaded(call));
    if (static_cast<int64_t>(from.parameters().size()) != call.operand_count()) {
      FAIL(DoesNotFit(call, Str("'", from.name(), "' takes ", from.parameters().size(), " operands and not ",
                                call.operand_count())));
    }
    for (int64_t i = 0; i < call.operand_count(); ++i) {
      if (Compatible(from.parameter(i).shape(), call.operand(i).shape())) continue;
      FAIL(DoesNotFit(call, Str("operand ", i, " is ", call.operand(i).shape(), ", but '", from.name(), "' takes ",
                                from.parameter(i).shape())));
    }
    if (!Compatible(from.root().shape(), call.shape()))
      FAIL(DoesNotFit(call,
                      Str("the result is ", call.shape(), ", but '", from.name(), "' gives ", from.root().shape())));
    if (copy_ == nullptr) copy_ = &CopyOf(from, call.module());
    const Operands operands(call.operands().begin(), call.operands().end());
    CallAttrs attrs;
    attrs.to_apply = copy_;
    return &call.computation().AddLike(call, Opcode::kCall, call.shape(), operands, attrs);
  }

  Computation& CopyOf(const Computation& from, Module& to) {
    if (const auto known = copies_.find(&from); known != copies_.end()) return *known->second;
    for (const Instruction* inst : from.Instructions()) {
      for (const Computation* called : CalledComputations(*inst)) CopyOf(*called, to);
    }
    Computation& copy = to.CloneComputation(from, from.name());
    for (Instruction* inst : copy.Instructions()) {
      inst->SetOrigin(-1);
      inst->SetRange({});
      ForEachCalled(inst->attributes(), [&](Computation*& called) { called = copies_.at(called); });
    }
    copy.range = {};
    copies_[&from] = &copy;
    return copy;
  }

  Error DoesNotFit(const Instruction& call, std::string_view why) const {
    return UnsupportedAt(call, "U007",
                         Str("--custom_call='", Escaped(policy_.target), "=", policy_.policy, "' does not fit: ", why));
  }

  const Policy policy_;
  const LoadOptions& load_;
  int64_t calls_ = 0;
  std::unique_ptr<Module> module_;
  const Computation* computation_ = nullptr;
  Computation* copy_ = nullptr;
  std::unordered_map<const Computation*, Computation*> copies_;
};

}  // namespace

Status CheckCustomCallPolicies(std::span<const std::string> policies) {
  for (const std::string& flag : policies) {
    const Policy policy(flag);
    if (policy.target.empty() || policy.policy.empty()) {
      FAIL(UsageError("F004", Str("--custom_call wants TARGET=POLICY, got '", flag, "'"))
               .Hint("policies: native, zeros, passthrough, error, FILE.hlo, FILE.hlo:COMPUTATION"));
    }
    if (policy.policy.ends_with(".so") || policy.policy.find(".so:") != std::string::npos)
      FAIL(UsageError("F004", Str("--custom_call does not load libraries, got '", policy.policy, "'")));
    // A word without '.', '/' and ':' is a misspelt policy rather than a file.
    if (policy.IsFile() && policy.policy.find_first_of("./:") == std::string::npos) {
      FAIL(UsageError("F004", Str("--custom_call has no policy '", policy.policy, "'"))
               .Hint("policies: native, zeros, passthrough, error, FILE.hlo, FILE.hlo:COMPUTATION"));
    }
  }
  return {};
}

Result<std::vector<CustomCallStub>> StubCustomCalls(Module& module, std::span<const std::string> policies,
                                                    const LoadOptions& load) {
  std::map<std::string, std::unique_ptr<Stub>> stubs;
  for (const std::string& flag : policies) {
    const Policy policy(flag);
    if (policy.IsNative()) stubs.erase(policy.target);
    else stubs[policy.target] = std::make_unique<Stub>(policy, load);
  }
  if (stubs.empty()) return std::vector<CustomCallStub>();
  for (Computation* computation : module.Computations()) {
    Replacements gone;
    for (Instruction* inst : computation->Instructions()) {
      if (!inst->Is(Opcode::kCustomCall)) continue;
      const auto stub = stubs.find(inst->attrs<CustomCallAttrs>().target);
      if (stub == stubs.end()) continue;
      TRY(stub->second->Replace(*inst, &gone));
    }
    CloseGaps(*computation, gone);
  }
  std::vector<CustomCallStub> summaries;
  for (const auto& [target, stub] : stubs) summaries.push_back(stub->Summary());
  return summaries;
}

}  // namespace hlo
