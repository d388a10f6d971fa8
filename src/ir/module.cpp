#include "ir/module.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/hash_bytes.h"
#include "ir/callees.h"
#include "ir/side_effects.h"

namespace hlo {
// ---- Computation -------------------------------------------------------------------------------------------------

Computation::Computation(Module& module, std::string name)
    : module_(&module), id_(module.next_computation_id_++), name_(std::move(name)) {
  Touch();
}

Computation::~Computation() {
  for (size_t i = instructions_.size(); i-- > 0;) Free(instructions_[i]);
}

Instruction& Computation::New(int id, Opcode opcode, Shape&& shape, std::string_view name, Attributes&& attrs) {
  void* const place = module_->instructions_.Take();
  auto* const inst = new (place) Instruction(*this, id, opcode, std::move(shape), name, std::move(attrs));
  inst->place_ = static_cast<int>(instructions_.size());
  if (instructions_.empty()) instructions_.reserve(8);
  instructions_.push_back(inst);
  return *inst;
}

void Computation::Free(Instruction* inst) {
  inst->~Instruction();
  module_->instructions_.Give(inst);
}

void Computation::Touch() { version_ = ++module_->versions_; }

void Computation::NumberPlaces() {
  int place = 0;
  for (Instruction* inst : instructions_) inst->place_ = place++;
}

void Computation::SetRoot(Instruction& root) {
  root_ = &root;
  Touch();
}

template <class T, class Find>
const T& Computation::Keep(Kept<T>& kept, Find&& find) const {
  if (kept.version.load(std::memory_order_acquire) == version_) return kept.value;
  const std::lock_guard lock(module_->keeping_);
  if (kept.version.load(std::memory_order_relaxed) == version_) return kept.value;
  kept.value = find();
  kept.version.store(version_, std::memory_order_release);
  return kept.value;
}

std::vector<Instruction*> Computation::Instructions() const {
  if (static_cast<size_t>(live_count_) == instructions_.size()) return instructions_;
  std::vector<Instruction*> live;
  live.reserve(live_count_);
  for (Instruction* inst : instructions_) {
    if (!inst->removed_) live.push_back(inst);
  }
  return live;
}

std::vector<Instruction*> Computation::PostOrder() const {
  const std::vector<Instruction*>& order =
      Keep(post_order_, [&] { return IsInPostOrder() ? std::vector<Instruction*>() : FindPostOrder(); });
  return order.empty() ? Instructions() : order;
}

const std::vector<Computation*>& Computation::Callees() const {
  return Keep(callees_, [&] { return CalleesOf(*this); });
}

namespace {

template <class AnyComputation, class IsDone>
std::vector<AnyComputation*> PostOrderFrom(AnyComputation& first, IsDone is_done) {
  std::vector<AnyComputation*> order;
  std::vector<bool> seen(first.module().computation_id_limit());
  struct Frame {
    AnyComputation* computation;
    const std::vector<Computation*>& callees;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto open = [&](AnyComputation& computation) {
    if (seen[computation.id()] || is_done(computation)) return;
    seen[computation.id()] = true;
    stack.push_back({&computation, computation.Callees()});
  };
  open(first);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next < frame.callees.size()) {
      open(*frame.callees[frame.next++]);
      continue;
    }
    order.push_back(frame.computation);
    stack.pop_back();
  }
  return order;
}

}  // namespace

bool Computation::HasOwnSideEffect() const {
  return Keep(own_side_effect_, [&] {
    for (const Instruction* inst : instructions()) {
      if (IsSideEffect(*inst)) return true;
    }
    return false;
  });
}

bool Computation::HasSideEffect() const {
  if (HasOwnSideEffect() || Callees().empty()) return HasOwnSideEffect();
  const uint64_t now = module_->versions_;
  const auto is_known = [&](const Computation& computation) {
    return computation.side_effect_.version.load(std::memory_order_acquire) == now;
  };
  if (is_known(*this)) return side_effect_.value;
  for (const Computation* computation : PostOrderFrom(*this, is_known)) {
    const bool own = computation->HasOwnSideEffect();
    const std::vector<Computation*>& callees = computation->Callees();
    const std::lock_guard lock(module_->keeping_);
    Kept<bool>& kept = computation->side_effect_;
    if (kept.version.load(std::memory_order_relaxed) == now) continue;
    kept.value = own || std::ranges::any_of(callees, [](const auto* callee) { return callee->side_effect_.value; });
    kept.version.store(now, std::memory_order_release);
  }
  return side_effect_.value;
}

bool Computation::IsInPostOrder() const {
  for (const Instruction* inst : instructions()) {
    const auto is_later = [&](const Instruction* before) { return before->place_ >= inst->place_; };
    if (std::ranges::any_of(inst->operands(), is_later) || std::ranges::any_of(inst->control_predecessors(), is_later))
      return false;
  }
  return true;
}

std::vector<Instruction*> Computation::FindPostOrder() const {
  std::vector<Instruction*> order;
  order.reserve(live_count_);
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> states(place_limit(), kNew);
  const auto state = [&](const Instruction& inst) -> uint8_t& { return states[inst.place_]; };
  struct Frame {
    Instruction* inst;
    size_t next;
  };
  std::vector<Frame> stack;
  for (Instruction* start : instructions_) {
    if (start->removed_ || state(*start) != kNew) continue;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      auto& [inst, next] = stack.back();
      state(*inst) = kOpen;
      const size_t operands = inst->operands().size();
      const std::span<Instruction* const> predecessors = inst->control_predecessors();
      if (next < operands + predecessors.size()) {
        Instruction* before = next < operands ? inst->operands()[next] : predecessors[next - operands];
        ++next;
        CHECK(state(*before) != kOpen, "cycle through ", before->name());
        if (state(*before) == kNew) stack.push_back({before, 0});
        continue;
      }
      state(*inst) = kDone;
      order.push_back(inst);
      stack.pop_back();
    }
  }
  return order;
}

void Computation::SetOrder(const std::vector<Instruction*>& order) {
  if (order == Instructions()) return;
  CHECK(static_cast<int64_t>(order.size()) == live_count_, name_);
  std::vector<bool> seen(place_limit());
  std::vector<Instruction*> removed;
  if (order.size() < instructions_.size())
    std::ranges::copy_if(instructions_, std::back_inserter(removed), [](const auto* inst) { return inst->removed_; });
  for (const Instruction* inst : order) {
    CHECK(inst->computation_ == this && !inst->removed_, inst->name(), " is not at hand in ", name_);
    CHECK(!seen[inst->place_], inst->name(), " stands twice in an order");
    seen[inst->place_] = true;
  }
  instructions_ = order;
  instructions_.insert(instructions_.end(), removed.begin(), removed.end());
  NumberPlaces();
  Touch();
}

Instruction& Computation::Add(Opcode opcode, Shape shape, Operands operands, Attributes attrs, std::string_view name) {
  const OpRow& row = RowOf(opcode);
  if (attrs.GetIf<NoAttrs>() != nullptr) attrs = row.make_attrs();
  CHECK(attrs.kind() == row.attrs_kind, "wrong attributes for ", row.text);
  CHECK(row.arity == kVariadic || static_cast<size_t>(row.arity) == operands.size(), row.text, " with ",
        operands.size(), " operands");
  const std::string unique = module_->UniqueName(name.empty() ? row.text : name);
  return AddNamed(opcode, std::move(shape), std::move(operands), std::move(attrs), unique);
}

Instruction& Computation::AddNamed(Opcode opcode, Shape&& shape, Operands&& operands, Attributes&& attrs,
                                   std::string_view name) {
  Instruction& inst = New(module_->next_id_++, opcode, std::move(shape), name, std::move(attrs));
  ++live_count_;
  inst.operands_ = std::move(operands);
  for (Instruction* operand : inst.operands()) {
    CHECK(operand->computation_ == this && !operand->removed_, operand->name(), " is not at hand in ", name_);
    ++operand->use_count_;
    if (!operand->users_.EndsWith(inst)) operand->users_.Add(inst);  // A new user is last or not in the list.
  }
  if (opcode == Opcode::kParameter) {
    const size_t number = inst.parameter_number();
    if (parameters_.size() <= number) {
      if (parameters_.empty()) parameters_.reserve(4);
      parameters_.resize(number + 1);
    }
    CHECK(parameters_[number] == nullptr, "parameter ", number, " of ", name_, " exists");
    parameters_[number] = &inst;
  }
  if (root_ == nullptr) root_ = &inst;
  Touch();
  return inst;
}

Instruction& Computation::AddLike(const Instruction& from, Opcode opcode, Shape shape, Operands operands,
                                  Attributes attrs) {
  Instruction& inst = Add(opcode, std::move(shape), std::move(operands), std::move(attrs));
  inst.range_ = from.range_;
  if (from.HasCommon() && from.metadata() != Metadata()) inst.mutable_common().metadata = from.metadata();
  return inst;
}

Instruction& Computation::AddClone(const Instruction& from, Operands operands) {
  return AddClone(from, from.shape(), std::move(operands));
}

Instruction& Computation::AddClone(const Instruction& from, Shape shape, Operands operands) {
  Instruction& inst = Add(from.opcode_, from.shape_, std::move(operands), from.attrs_, from.name());
  inst.range_ = from.range_;
  inst.origin_ = from.origin_;
  if (from.HasCommon()) inst.SetCommon(from.common());
  inst.SetShape(std::move(shape));
  return inst;
}

Instruction& Computation::AddConstant(Literal literal, std::string_view name) {
  Shape shape = literal.shape();
  return Add(Opcode::kConstant, std::move(shape), {}, ConstantAttrs{std::move(literal)}, name);
}

Instruction& Computation::AddParameter(int64_t number, Shape shape, std::string_view name) {
  return Add(Opcode::kParameter, std::move(shape), {}, ParameterAttrs{number},
             name.empty() ? Str("param_", number) : std::string(name));
}

Instruction& Computation::AddTuple(Operands operands) {
  std::vector<Shape> shapes;
  for (const Instruction* operand : operands) shapes.push_back(operand->shape());
  return Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), std::move(operands));
}

Instruction& Computation::AddGetTupleElement(Instruction& tuple, int64_t index) {
  return Add(Opcode::kGetTupleElement, tuple.shape().element(index), {&tuple}, IndexAttrs{index});
}

void Computation::Remove(Instruction& inst) {
  CHECK(inst.computation_ == this && !inst.removed_, inst.name());
  CHECK(inst.users().empty(), "removing an instruction that is still used: ", inst.name());
  CHECK(root_ != &inst, "removing the root: ", inst.name());
  if (!waiting_.empty()) gone_[&inst] = RunsAfter(inst);
  Operands operands = inst.operands_.list();
  inst.operands_ = Operands();
  for (Instruction* operand : operands) --operand->use_count_;
  std::sort(operands.begin(), operands.end());
  operands.resize(std::unique(operands.begin(), operands.end()) - operands.begin());
  for (Instruction* operand : operands) operand->RemoveUser(inst);
  if (inst.Is(Opcode::kParameter)) parameters_[inst.parameter_number()] = nullptr;
  inst.removed_ = true;
  --live_count_;
  Touch();
}

void Computation::RemoveDeadTree(Instruction& inst) {
  std::vector<Instruction*> worklist = {&inst};
  while (!worklist.empty()) {
    Instruction* dead = worklist.back();
    worklist.pop_back();
    if (dead->removed_) continue;
    const Operands operands = dead->operands_.list();
    Remove(*dead);
    for (Instruction* operand : operands) {
      if (!operand->removed_ && operand->IsDead() && !operand->Is(Opcode::kParameter) &&
          !hlo::HasSideEffect(*operand)) {
        worklist.push_back(operand);
      }
    }
  }
}

void Computation::RemoveAll(std::span<Instruction* const> dead) {
  for (Instruction* inst : dead) {
    CHECK(inst->computation_ == this && !inst->removed_, inst->name());
    CHECK(root_ != inst, "removing the root: ", inst->name());
    inst->removed_ = true;
  }
  if (!waiting_.empty()) {
    for (const Instruction* inst : dead) gone_[inst] = RunsAfter(*inst);
  }
  std::vector<Instruction*> used;
  std::vector<bool> seen(place_limit());
  for (Instruction* inst : dead) {
    for (const Instruction* user : inst->users())
      CHECK(user->removed_, "removing an instruction that is still used: ", inst->name());
    inst->users_.Clear();
    inst->use_count_ = 0;
    for (Instruction* operand : inst->operands()) {
      if (operand->removed_) continue;
      --operand->use_count_;
      if (seen[operand->place_]) continue;
      seen[operand->place_] = true;
      used.push_back(operand);
    }
    inst->operands_ = Operands();
    if (inst->Is(Opcode::kParameter)) parameters_[inst->parameter_number()] = nullptr;
  }
  for (Instruction* operand : used) operand->users_.RemoveIf([](const Instruction& user) { return user.removed_; });
  live_count_ -= static_cast<int64_t>(dead.size());
  if (!dead.empty()) Touch();
}

void Computation::RemoveParameters(const std::vector<bool>& goes) {
  size_t kept = 0;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Instruction* const parameter = parameters_[i];
    if (goes[i]) {
      Remove(*parameter);
      continue;
    }
    if (kept != i) parameter->mutable_attrs<ParameterAttrs>().number = static_cast<int64_t>(kept);
    parameters_[kept++] = parameter;
  }
  parameters_.resize(kept);
}

bool Computation::IsEntry() const { return module_->entry_ == this; }

std::vector<Instruction*> Computation::Callers() const {
  std::vector<Instruction*> callers;
  for (Computation* computation : module_->Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      const auto called = CalledComputations(*inst);
      if (std::find(called.begin(), called.end(), this) != called.end()) callers.push_back(inst);
    }
  }
  return callers;
}

// ---- Module ------------------------------------------------------------------------------------------------------

std::vector<Computation*> Module::Computations() const {
  std::vector<Computation*> all;
  for (const auto& computation : computations_) all.push_back(computation.get());
  return all;
}

std::vector<Computation*> Module::PostOrder() const {
  return PostOrderFrom(*entry_, [](const Computation&) { return false; });
}

void Module::ClaimNames(Computation& computation) {
  names_.Claim(
      computation.instructions_.size(), [&](size_t i) { return computation.instructions_[i]->name(); },
      [&](size_t i) {
        Instruction& inst = *computation.instructions_[i];
        const std::string_view wanted = inst.name();
        inst.SetName(names_.Unique(wanted, texts_));
        if (!inst.HasCommon() || !inst.metadata().scheduling_name.is_own) return;
        inst.mutable_common().metadata.scheduling_name = {.other = wanted};
      });
}

Computation& Module::AddComputation(std::string_view name) {
  const bool free = computation_names_.Claim(texts_.Copy(name));
  computations_.emplace_back(new Computation(*this, free ? std::string(name) : computation_names_.Unique(name)));
  return *computations_.back();
}

Computation& Module::CloneComputation(const Computation& from, std::string_view name,
                                      std::unordered_map<const Instruction*, Instruction*>* map) {
  std::unordered_map<const Instruction*, Instruction*> own;
  if (map == nullptr) map = &own;
  Computation& copy = AddComputation(name);
  copy.execution_thread = from.execution_thread;
  copy.range = from.range;
  // Instructions() keeps a schedule. Both orders have operands first.
  const bool ordered = header.is_scheduled;
  for (const Instruction* inst : ordered ? from.Instructions() : from.PostOrder()) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(map->at(operand));
    Instruction& clone = copy.AddClone(*inst, operands);
    for (const Instruction* before : inst->control_predecessors()) clone.AddControlPredecessor(*map->at(before));
    (*map)[inst] = &clone;
  }
  copy.SetRoot(*map->at(&from.root()));
  return copy;
}

bool Module::RemoveUnreachable() {
  const std::vector<Computation*> order = PostOrder();
  if (order.size() == computations_.size()) return false;
  std::vector<bool> reached(next_computation_id_);
  for (const Computation* computation : order) reached[computation->id_] = true;
  return std::erase_if(computations_, [&](const auto& computation) {
           if (reached[computation->id_]) return false;
           computation_names_.Release(computation->name());
           return true;
         }) > 0;
}

int64_t Module::InstructionCount() const {
  int64_t count = 0;
  for (const auto& computation : computations_) count += computation->InstructionCount();
  return count;
}

void Module::Sweep() {
  for (const auto& computation : computations_) {
    if (static_cast<int64_t>(computation->instructions_.size()) == computation->live_count_) continue;
    MoveControlEdges(*computation, std::exchange(computation->gone_, {}));
    std::erase_if(computation->waiting_, [](const Instruction* inst) { return inst->removed_; });
    // Backwards, so that new instructions reuse the memory in order.
    for (size_t i = computation->instructions_.size(); i-- > 0;) {
      Instruction*& inst = computation->instructions_[i];
      if (inst->removed_) computation->Free(std::exchange(inst, nullptr));
    }
    std::erase(computation->instructions_, nullptr);
    computation->NumberPlaces();
  }
}

void Module::SetMaker(std::string pass) {
  if (!makers_.empty() && makers_.back().first == next_id_) makers_.pop_back();
  makers_.emplace_back(next_id_, std::move(pass));
}

std::string_view Module::MakerOf(const Instruction& inst) const {
  const auto next = std::ranges::upper_bound(makers_, inst.id(), {}, &std::pair<int, std::string>::first);
  return next == makers_.begin() ? std::string_view() : std::string_view(std::prev(next)->second);
}

std::unique_ptr<Module> Module::Clone(bool as_input) const {
  auto copy = std::make_unique<Module>(name_);
  copy->header = header;
  copy->source = source;
  copy->makers_ = makers_;
  std::vector<Computation*> computations(next_computation_id_);
  std::vector<Instruction*> clones(next_id_);
  const auto clone_of = [&](const Instruction* inst) { return clones[inst->id_]; };
  for (const auto& from : computations_) {
    copy->computations_.emplace_back(new Computation(*copy, from->name_));
    Computation& to = *copy->computations_.back();
    computations[from->id_] = &to;
    to.execution_thread = from->execution_thread;
    to.range = from->range;
    to.live_count_ = from->live_count_;
    to.parameters_.resize(from->parameters_.size());
    for (const Instruction* inst : from->instructions()) {
      Instruction& clone =
          to.New(inst->id_, inst->opcode_, Shape(inst->shape_), inst->name(), Attributes(inst->attrs_));
      clone.origin_ = as_input ? inst->id_ : inst->origin_;
      clone.range_ = inst->range_;
      clone.use_count_ = inst->use_count_;
      if (inst->HasCommon()) clone.SetCommon(inst->common());
      if (clone.Is(Opcode::kParameter)) to.parameters_[clone.parameter_number()] = &clone;
      clones[inst->id_] = &clone;
    }
  }
  for (const auto& from : computations_) {
    Computation* const to = computations[from->id_];
    for (const Instruction* inst : from->instructions()) {
      Instruction& clone = *clone_of(inst);
      Operands operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(clone_of(operand));
      clone.operands_ = std::move(operands);
      for (const Instruction* user : inst->users()) clone.users_.Add(*clone_of(user));
      for (Instruction* before : inst->control_predecessors()) clone.AddControlPredecessor(*clone_of(before));
      ForEachCalled(clone.attrs_, [&](Computation*& called) { called = computations[called->id_]; });
    }
    if (from->root_ != nullptr) to->root_ = clone_of(from->root_);
  }
  if (entry_ != nullptr) copy->entry_ = computations[entry_->id_];
  copy->next_id_ = next_id_;
  copy->names_ = names_;
  copy->names_.SplitNames();  // Copies the names out of this module's memory.
  copy->computation_names_ = computation_names_;
  copy->computation_names_.SplitNames();
  return copy;
}

namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 31);
}

}  // namespace

uint64_t Fingerprint(const Computation& computation) {
  std::vector<int> position(computation.place_limit());
  int next = 0;
  uint64_t hash = 0;
  for (const Instruction* inst : computation.instructions()) {
    position[inst->place()] = next++;
    hash = Mix(hash, HashOperation(*inst));
    // Passes store decisions in backend_config.
    if (inst->HasCommon() && !inst->common().backend_config.empty())
      hash = Mix(hash, HashBytes(inst->common().backend_config.text));
    // sharding-propagation changes only shardings.
    if (inst->HasCommon() && !inst->common().sharding.empty()) {
      std::string text;
      AppendTo(text, *inst->common().sharding, /*with_metadata=*/false);
      hash = Mix(hash, HashBytes(text));
    }
  }
  for (const Instruction* inst : computation.instructions()) {
    for (const Instruction* operand : inst->operands()) hash = Mix(hash, position[operand->place()]);
    for (const Instruction* before : inst->control_predecessors()) hash = Mix(hash, position[before->place()] + 1);
  }
  return Mix(hash, position[computation.root().place()]);
}

uint64_t Fingerprint(const Module& module) { return Fingerprinter().FingerprintOf(module); }

uint64_t Fingerprinter::FingerprintOf(const Module& module) {
  uint64_t hash = module.header.is_scheduled;
  for (const InputOutputAlias& alias : module.header.aliases)
    hash = Mix(hash, static_cast<uint64_t>(alias.parameter) + 1);
  known_.resize(module.computation_id_limit());
  for (const Computation* computation : module.PostOrder()) {
    Known& known = known_[computation->id()];
    if (known.version != computation->version()) known = {computation->version(), Fingerprint(*computation)};
    hash = Mix(hash, known.hash);
  }
  return hash;
}

}  // namespace hlo
