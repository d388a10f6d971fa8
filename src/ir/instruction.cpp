#include "ir/instruction.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/hash_bytes.h"
#include "ir/callees.h"
#include "ir/module.h"

namespace hlo {
namespace {

struct Hasher {
  uint64_t hash = 0xCBF29CE484222325;

  void Mix(uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  }
  void operator()(int64_t value) { Mix(static_cast<uint64_t>(value)); }
  void operator()(bool value) { Mix(value); }
  void operator()(double value) { Mix(std::bit_cast<uint64_t>(value)); }
  void operator()(const std::string& value) { Mix(std::hash<std::string_view>()(value)); }
  void operator()(const RawText& value) { Mix(HashBytes(value.text)); }
  template <class T, uint32_t N>
  void operator()(const InlineVector<T, N>& values) {
    Mix(values.size());
    for (const int64_t value : values) (*this)(value);
  }
  void operator()(Computation* value) { Mix(value ? std::hash<std::string_view>()(value->name()) : 0); }
  void operator()(const OneDimension& value) { (*this)(value.value); }
  void operator()(const WindowDim& w) {
    for (const int64_t v : {w.size, w.stride, w.pad_low, w.pad_high, w.base_dilation, w.window_dilation}) (*this)(v);
    (*this)(w.reversed);
  }
  void operator()(const Window& value) { (*this)(value.dims); }
  void operator()(const PaddingDim& p) {
    for (const int64_t v : {p.low, p.high, p.interior}) (*this)(v);
  }
  void operator()(const PaddingConfig& value) { (*this)(value.dims); }
  void operator()(const SliceDim& s) {
    for (const int64_t v : {s.start, s.limit, s.stride}) (*this)(v);
  }
  void operator()(const SliceRanges& value) { (*this)(value.dims); }
  void operator()(const DimLabels& d) {
    for (const int64_t v :
         {d.lhs_batch, d.lhs_feature, d.rhs_input_feature, d.rhs_output_feature, d.out_batch, d.out_feature})
      (*this)(v);
    (*this)(d.lhs_spatial);
    (*this)(d.rhs_spatial);
    (*this)(d.out_spatial);
  }
  void operator()(const OperandAlias& a) {
    (*this)(a.output);
    (*this)(a.operand);
    (*this)(a.operand_index);
  }
  void operator()(const Shape& shape) {
    Mix(static_cast<uint64_t>(shape.type()));
    (*this)(shape.dims());
    (*this)(shape.layout().minor_to_major);
    (*this)(shape.elements());
  }
  void operator()(const ShapeList& value) { (*this)(value.shapes); }
  void operator()(const DeviceOrder& order) {
    (*this)(order.listed);
    (*this)(order.dims);
    (*this)(order.permutation);
  }
  void operator()(const AxisRef& ref) {
    for (const int64_t v : {ref.axis, ref.before, ref.size}) (*this)(v);
  }
  void operator()(const Mesh& mesh) {
    for (const MeshAxis& axis : mesh.axes) {
      (*this)(axis.name);
      (*this)(axis.size);
    }
    (*this)(mesh.devices);
    (*this)(mesh.single_device);
  }
  void operator()(const IotaGroups& value) {
    (*this)(value.count);
    (*this)(value.size);
    (*this)(value.devices);
  }
  void operator()(const MeshGroups& value) {
    (*this)(value.mesh);
    (*this)(value.axes);
  }
  void operator()(const ReplicaGroups& value) { std::visit(*this, value.groups); }
  void operator()(const Domain& value) {
    Mix(static_cast<uint64_t>(value.entry.kind) << 8 | static_cast<uint64_t>(value.exit.kind));
  }
  void operator()(const SparsePattern& value) {
    (*this)(value.non_zeros);
    (*this)(value.block_size);
  }
  void operator()(const GroupModeWord&) {}
  template <class Struct>
    requires requires { Struct::Fields(); }
  void operator()(const Struct& value) {
    ForEachField<Struct>([&](const auto& field) { (*this)(value.*field.member); });
  }
  void operator()(const LiteralValue& value) { Mix(value.value ? value.value->KeptHash() : 0); }
  template <class T>
    requires std::is_enum_v<T>
  void operator()(T value) {
    Mix(static_cast<uint64_t>(value));
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    Mix(values.size());
    for (const T& value : values) (*this)(value);
  }
  template <class T>
  void operator()(const std::optional<T>& value) {
    Mix(value.has_value());
    if (value) (*this)(*value);
  }
};

// The text has the number and the literal in parentheses, so they are not fields.
bool SameAttrs(const ParameterAttrs& a, const ParameterAttrs& b) { return a.number == b.number; }
bool SameAttrs(const ConstantAttrs& a, const ConstantAttrs& b) { return a.literal.BitEquals(b.literal); }
template <class A>
bool SameAttrs(const A& a, const A& b) {
  bool same = true;
  ForEachField<A>([&](const auto& field) { same = same && a.*field.member == b.*field.member; });
  return same;
}

bool SameLeaves(const Shape& a, const Shape& b) {
  if (a.IsTuple() != b.IsTuple() || a.dims() != b.dims() || a.elements().size() != b.elements().size()) return false;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!SameLeaves(a.element(i), b.element(i))) return false;
  }
  return true;
}

}  // namespace

Instruction::Instruction(Computation& computation, int id, Opcode opcode, Shape&& shape, std::string_view name,
                         Attributes&& attrs)
    : opcode_(opcode), id_(id), computation_(&computation), attrs_(std::move(attrs)), shape_(std::move(shape)) {
  static_assert(sizeof(Instruction) == 256);
  SetName(computation.module().texts_.Copy(name));
}

Instruction::~Instruction() {
  if (common_ == nullptr) return;
  common_->~CommonAttrs();
  module().commons_.Give(common_);
}

Module& Instruction::module() const { return computation_->module(); }

void Instruction::SetName(std::string_view name) {
  name_ = name.data();
  name_size_ = static_cast<uint32_t>(name.size());
}

void Instruction::SetShape(Shape shape) {
  if (!SameLeaves(shape_, shape)) {
    origin_ = -1;
    if (common_ != nullptr) {
      common_->parameter_replication = {};
      common_->sharding = {};
      common_->origin = {};
    }
  }
  shape_ = std::move(shape);
  computation_->Touch();
}

void Instruction::RemoveUser(Instruction& user) { CHECK(users_.Remove(user), user.name(), " does not use ", name()); }

void Instruction::SetOperand(int64_t i, Instruction& operand) {
  Instruction& before = this->operand(i);
  if (&before == &operand) return;
  const bool is_user = operands_.Holds(operand);
  operands_.Set(i, operand);
  --before.use_count_;
  ++operand.use_count_;
  if (!operands_.Holds(before)) before.RemoveUser(*this);
  if (!is_user) operand.users_.Add(*this);
  computation_->Touch();
}

bool Instruction::IsRoot() const { return computation_->root_ == this; }

void Instruction::ReplaceAllUses(Instruction& replacement) {
  CHECK(&replacement != this, name());
  CHECK(Compatible(shape(), replacement.shape()), name(), " ", shape(), " by ", replacement.shape());
  if (replacement.origin_ < 0) replacement.origin_ = origin_;
  for (Instruction* user : users()) {
    const bool is_user = user->operands_.Holds(replacement);
    replacement.use_count_ += static_cast<int32_t>(user->operands_.Replace(*this, replacement));
    if (!is_user) replacement.users_.Add(*user);
  }
  users_.Clear();
  use_count_ = 0;
  if (IsRoot()) {
    // The new root takes over the sharding, unless it is a parameter, whose sharding states how its argument is cut.
    const bool has_sharding = HasCommon() && !common().sharding.empty();
    const bool may_get_it = !replacement.HasCommon() || replacement.common().sharding.empty();
    if (has_sharding && may_get_it && computation_->IsEntry() && !replacement.Is(Opcode::kParameter))
      replacement.mutable_common().sharding = common().sharding;
    computation_->root_ = &replacement;
  }
  computation_->Touch();
}

void Instruction::AddControlPredecessor(Instruction& before) {
  if (control_predecessors_ == nullptr) {
    control_predecessors_ = std::make_unique<std::vector<Instruction*>>();
    computation_->waiting_.push_back(this);
  }
  control_predecessors_->push_back(&before);
  computation_->Touch();
}

void Instruction::ClearControlPredecessors() {
  if (control_predecessors_ != nullptr) control_predecessors_->clear();
  computation_->Touch();
}

Attributes& Instruction::attributes() {
  computation_->Touch();
  return attrs_;
}

const CommonAttrs& Instruction::common() const {
  static const CommonAttrs kNothing;
  return common_ != nullptr ? *common_ : kNothing;
}

CommonAttrs& Instruction::mutable_common() {
  if (common_ == nullptr) common_ = new (module().commons_.Take()) CommonAttrs;
  computation_->Touch();
  return *common_;
}

void Instruction::SetCommon(CommonAttrs common) {
  if (common_ == nullptr) common_ = new (module().commons_.Take()) CommonAttrs(std::move(common));
  else *common_ = std::move(common);
  computation_->Touch();
}

void Instruction::SetLiteral(Literal literal) {
  opcode_ = literal.IsKnown() ? Opcode::kConstant : Opcode::kElidedConstant;
  mutable_attrs<ConstantAttrs>().literal = std::move(literal);
}

bool Instruction::IsConstantOf(double value) const {
  const Instruction* source = this;
  while (source->Is(Opcode::kBroadcast)) source = &source->operand(0);
  return source->Is(Opcode::kConstant) && source->literal().IsAll(value);
}

void ForEachCalled(Attributes& attrs, const std::function<void(Computation*&)>& f) {
  Visit(attrs, [&]<class A>(A& a) {
    ForEachField<A>([&](const auto& field) {
      auto& member = a.*field.member;
      using T = std::remove_reference_t<decltype(member)>;
      if constexpr (std::is_same_v<T, Computation*>) {
        if (member != nullptr) f(member);
      } else if constexpr (std::is_same_v<T, std::vector<Computation*>>) {
        for (Computation*& called : member) f(called);
      }
    });
  });
}

namespace {

template <class A>
constexpr bool NamesComputations() {
  bool names = false;
  ForEachField<A>([&]<class T>(const Field<A, T>&) {
    names = names || std::is_same_v<T, Computation*> || std::is_same_v<T, std::vector<Computation*>>;
  });
  return names;
}

// Whether attributes can hold computations, by OpRow::attrs_kind. The table saves visits of attributes.
template <class... Structs>
constexpr auto NamesComputationsByKind(const StructList<Structs...>*) {
  return std::array{NamesComputations<Structs>()...};
}
}  // namespace

bool MayCall(const Instruction& inst) {
  static constexpr auto kByKind = NamesComputationsByKind(static_cast<const AttributeStructs*>(nullptr));
  return kByKind[RowOf(inst.opcode()).attrs_kind];
}

std::vector<Computation*> CalledComputations(const Instruction& inst) {
  if (!MayCall(inst)) return {};
  std::vector<Computation*> called;
  // The visitor only reads.
  ForEachCalled(const_cast<Attributes&>(inst.attributes()), [&](Computation*& c) { called.push_back(c); });
  return called;
}

std::vector<Computation*> CalleesOf(const Computation& computation) {
  std::vector<Computation*> callees;
  const auto add = [&](Computation*& callee) { callees.push_back(callee); };
  for (const Instruction* inst : computation.instructions()) {
    if (MayCall(*inst)) ForEachCalled(const_cast<Attributes&>(inst->attributes()), add);
  }
  return callees;
}

bool SameOperation(const Instruction& a, const Instruction& b) {
  if (a.opcode() != b.opcode() || a.shape() != b.shape()) return false;
  return Visit(a.attributes(), [&]<class A>(const A& attrs) { return SameAttrs(attrs, b.attrs<A>()); });
}

uint64_t HashOperation(const Instruction& inst) {
  Hasher hash;
  hash(inst.opcode());
  hash(inst.shape());
  if (inst.Is(Opcode::kParameter)) hash(inst.parameter_number());
  if (inst.Is(Opcode::kConstant)) hash.Mix(inst.literal().KeptHash());
  if (inst.Is(Opcode::kElidedConstant)) hash.Mix(static_cast<uint64_t>(inst.id()));  // No other instruction equals it.
  Visit(inst.attributes(),
        [&]<class A>(const A& attrs) { ForEachField<A>([&](const auto& field) { hash(attrs.*field.member); }); });
  return hash.hash;
}

}  // namespace hlo
