#include "ir/mesh/axes.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "ir/device_groups.h"
#include "ir/frontend_attributes.h"
#include "ir/mesh/shardy_text.h"
#include "ir/mesh/stated_shardings.h"
#include "ir/module.h"

namespace hlo {
namespace {

struct InDigits {
  std::vector<std::vector<Digit>> dims;  // The major digit first.
  std::vector<Digit> pending, manual, replicated;

  template <class F>
  void ForEach(F&& use) const {
    for (const auto& digits : dims) std::ranges::for_each(digits, use);
    for (const auto* digits : {&pending, &manual, &replicated}) std::ranges::for_each(*digits, use);
  }
};

void AddTo(std::vector<Digit>& list, const std::vector<Digit>& digits) {
  list.insert(list.end(), digits.begin(), digits.end());
}

std::optional<InDigits> DigitsOf(const Tiles& tiles, DeviceOrder order) {
  // The order of devices that hold the same part means nothing. XLA sorts their numbers, so sort the positions.
  if (!order.IsFormula() && !tiles.subgroups.empty() && tiles.subgroups.back() == ShardingKind::kReplicated) {
    for (auto at = order.listed.begin(); at != order.listed.end(); at += tiles.dims.back())
      std::sort(at, at + tiles.dims.back());
  }
  const auto digits = DigitsAlong(order, tiles.dims);
  if (!digits) return std::nullopt;
  const size_t rank = tiles.dims.size() - tiles.subgroups.size();
  InDigits result;
  result.dims.assign(digits->begin(), digits->begin() + static_cast<int64_t>(rank));
  for (size_t i = 0; i < tiles.subgroups.size(); ++i) {
    switch (tiles.subgroups[i]) {
      case ShardingKind::kReplicated: AddTo(result.replicated, (*digits)[rank + i]); break;
      case ShardingKind::kManual: AddTo(result.manual, (*digits)[rank + i]); break;
      case ShardingKind::kUnreduced: AddTo(result.pending, (*digits)[rank + i]); break;
      default: return std::nullopt;
    }
  }
  return result;
}

std::optional<InDigits> DigitsOf(const NamedSharding& named, const DeviceOrder& order) {
  const auto axes = DigitsOf(named.mesh, order);
  if (!axes) return std::nullopt;
  InDigits result;
  bool fine = true;
  const auto add = [&](std::vector<Digit>& list, const std::vector<AxisRef>& refs) {
    for (const AxisRef& ref : refs) {
      const auto digits = DigitsOf(ref, named.mesh, *axes);
      if (digits) AddTo(list, *digits);
      else fine = false;
    }
  };
  for (const NamedSharding::Dim& dim : named.dims) add(result.dims.emplace_back(), dim.axes);
  add(result.pending, named.unreduced);
  add(result.manual, named.manual);
  add(result.replicated, named.replicated);
  if (!fine) return std::nullopt;
  return result;
}

// Null without an order of devices. A mesh without axes has none: it is a single device, or Shardy's empty mesh, on
// which each device of the module has the whole array.
const DeviceOrder* OrderOf(const Sharding& sharding) {
  if (sharding.kind == ShardingKind::kTiled) return &sharding.tiles->devices;
  if (sharding.kind == ShardingKind::kNamed && !sharding.named->mesh.axes.empty()) return &sharding.named->mesh.devices;
  return nullptr;
}

int64_t DevicesOf(const DeviceOrder& order) {
  return order.IsFormula() ? CountDevices(order.dims) : std::ssize(order.listed);
}

Error Misfit(const Sharding& sharding, std::string_view why) {
  std::string text;
  AppendTo(text, sharding, /*with_metadata=*/false);
  return Rejected("A028", Str("sharding ", text, " ", why));
}

}  // namespace

// ---- The mesh of shardings ------------------------------------------------------------------------------------------

// Cuts the device number into atoms where digits start or end.
class MeshBuilder {
 public:
  explicit MeshBuilder(int64_t devices) { axes_.devices_ = devices; }

  void Add(const Sharding& sharding) {
    const DeviceOrder* order = OrderOf(sharding);
    if (order == nullptr || DevicesOf(*order) != axes_.devices_) return;
    has_formula_ |= order->IsFormula();
    if (!order->IsFormula() && first_list_ == nullptr && !DigitsAlong(*order, std::vector{axes_.devices_}))
      first_list_ = &order->listed;
    if (sharding.kind == ShardingKind::kNamed) named_.push_back(&*sharding.named);
    else tiled_.push_back(&*sharding.tiles);
  }

  Axes Build() && {
    // A list that permutes no digits becomes the order of the mesh if no sharding has a formula.
    if (first_list_ != nullptr && !has_formula_) SetOrder(*first_list_);
    std::map<std::vector<int64_t>, int64_t> uses;
    const NamedSharding* main = nullptr;
    for (const NamedSharding* named : named_) {
      const auto digits = DigitsOf(named->mesh, axes_.InPositions(named->mesh.devices));
      if (!digits) continue;
      if (main == nullptr) main = named;
      InDigits in_digits = {*digits, {}, {}, {}};
      if (const auto used = DigitsOf(*named, axes_.InPositions(named->mesh.devices))) {
        for (const auto& dim : used->dims) in_digits.dims.push_back(dim);
        AddTo(in_digits.pending, used->pending);
        AddTo(in_digits.manual, used->manual);
      }
      // A named sharding outweighs all tiled shardings, because its axes have names.
      uses[CutsOf(in_digits)] += std::ssize(tiled_) + 1;
    }
    for (const Tiles* tiles : tiled_) {
      if (const auto digits = DigitsOf(*tiles, axes_.InPositions(tiles->devices))) ++uses[CutsOf(*digits)];
    }
    std::vector<std::pair<int64_t, const std::vector<int64_t>*>> by_use;
    for (const auto& [cuts, count] : uses) by_use.emplace_back(-count, &cuts);
    std::ranges::stable_sort(by_use, {}, [](const auto& entry) { return entry.first; });
    std::vector<int64_t> cuts = {1, axes_.devices_};
    for (const auto& [count, more] : by_use) AddCuts(cuts, *more);
    for (size_t i = cuts.size(); i-- > 1;)
      if (cuts[i] > cuts[i - 1]) axes_.atoms_.push_back({cuts[i] / cuts[i - 1], cuts[i - 1], ""});
    NameAtoms(main);
    return std::move(axes_);
  }

 private:
  void SetOrder(const std::vector<int64_t>& listed) {
    axes_.positions_.assign(listed.size(), 0);
    for (size_t i = 0; i < listed.size(); ++i) {
      if (listed[i] < 0 || listed[i] >= std::ssize(listed)) {
        axes_.positions_.clear();
        return;
      }
      axes_.positions_[listed[i]] = static_cast<int64_t>(i);
    }
    axes_.listed_ = listed;
  }

  static std::vector<int64_t> CutsOf(const InDigits& digits) {
    std::vector<int64_t> cuts;
    digits.ForEach([&](const Digit& digit) {
      cuts.push_back(digit.stride);
      cuts.push_back(digit.stride * digit.size);
    });
    std::ranges::sort(cuts);
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    return cuts;
  }

  // Adds the cuts `more` if each cut then divides the next one, and there are not too many.
  static void AddCuts(std::vector<int64_t>& cuts, const std::vector<int64_t>& more) {
    std::vector<int64_t> all;
    std::ranges::set_union(cuts, more, std::back_inserter(all));
    for (size_t i = 1; i < all.size(); ++i) {
      if (all[i] % all[i - 1] != 0) return;
    }
    if (std::ssize(all) <= AxisSet::kMost) cuts = std::move(all);
  }

  void NameAtoms(const NamedSharding* main) {
    for (size_t i = 0; i < axes_.atoms_.size(); ++i)
      axes_.atoms_[i].name = i < 26 ? std::string(1, static_cast<char>('a' + i)) : Str("a", i);
    if (main == nullptr) return;
    const auto digits = DigitsOf(main->mesh, axes_.InPositions(main->mesh.devices));
    for (size_t i = 0; i < main->mesh.axes.size(); ++i) {
      const MeshAxis& axis = main->mesh.axes[i];
      const auto atoms = axes_.AtomsAt((*digits)[i]);
      if (!atoms) return;
      int64_t before = 1;
      for (const uint8_t atom : *atoms) {
        const int64_t size = axes_.atoms_[atom].size;
        axes_.atoms_[atom].name = atoms->size() == 1 ? axis.name : Str(axis.name, ":(", before, ")", size);
        before *= size;
      }
    }
  }

  Axes axes_;
  bool has_formula_ = false;
  const std::vector<int64_t>* first_list_ = nullptr;
  std::vector<const NamedSharding*> named_;
  std::vector<const Tiles*> tiled_;
};

Axes Axes::Of(std::span<const Sharding* const> shardings, int64_t devices) {
  MeshBuilder builder(devices);
  for (const Sharding* sharding : shardings) builder.Add(*sharding);
  return std::move(builder).Build();
}

Axes Axes::Of(const Module& module) {
  std::vector<Sharding> stated;
  // Defined meshes name the axes, even if all shardings are tiles.
  const auto meshes = FrontendAttribute(module.header.frontend_attributes, kShardyMeshes);
  for (Mesh& mesh : ReadShardyMeshes(meshes.value_or(""))) {
    Sharding& sharding = stated.emplace_back(Sharding{.kind = ShardingKind::kNamed});
    sharding.named.Mutable().mesh = std::move(mesh);
  }
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      for (auto& entry : StatedShardings(*inst)) {
        if (entry) stated.push_back(std::move(entry->sharding));
      }
    }
  }
  std::map<int64_t, int64_t> uses;  // Keys are numbers of devices.
  std::vector<const Sharding*> pointers;
  for (const Sharding& sharding : stated) {
    pointers.push_back(&sharding);
    if (const DeviceOrder* order = OrderOf(sharding)) ++uses[DevicesOf(*order)];
  }
  int64_t devices = module.header.num_partitions;
  // If the header has no number of devices, takes the most frequent one of the shardings.
  if (devices <= 1 && !uses.empty())
    devices = std::ranges::max_element(uses, {}, [](const auto& entry) { return entry.second; })->first;
  return Of(pointers, devices);
}

DeviceOrder Axes::InPositions(const DeviceOrder& order) const {
  if (listed_.empty()) return order;
  DeviceOrder result = {Listed(order), {}, {}};
  for (int64_t& device : result.listed) device = positions_[device];
  return result;
}

std::optional<std::vector<uint8_t>> Axes::AtomsAt(const std::vector<Digit>& digits) const {
  std::vector<uint8_t> result;
  for (const Digit& digit : digits) {
    int64_t size = 1;
    for (size_t i = 0; i < atoms_.size(); ++i) {
      const Atom& atom = atoms_[i];
      if (atom.stride < digit.stride || atom.stride >= digit.stride * digit.size) continue;
      result.push_back(static_cast<uint8_t>(i));
      size *= atom.size;
    }
    // Strides divide each other. So atoms with the digit's size cover it if the last atom has the digit's stride.
    if (size != digit.size || (!result.empty() && atoms_[result.back()].stride != digit.stride)) return std::nullopt;
  }
  return result;
}

// ---- Splits --------------------------------------------------------------------------------------------------------

AxisSet AxisSet::Of(std::span<const uint8_t> atoms) {
  AxisSet set;
  for (const uint8_t atom : atoms) set.Add(atom);
  return set;
}

std::vector<int> AxisSet::Atoms() const {
  std::vector<int> atoms;
  for (uint32_t left = bits_; left != 0; left &= left - 1) atoms.push_back(std::countr_zero(left));
  return atoms;
}

std::span<const uint8_t> ArraySplit::AtomsOf(int64_t dim) const {
  const size_t begin = dim == 0 ? 0 : ends_[dim - 1];
  return std::span(atoms_).subspan(begin, ends_[dim] - begin);
}

void ArraySplit::Append(int64_t dim, int atom) {
  atoms_.insert(atoms_.begin() + ends_[dim], static_cast<uint8_t>(atom));
  for (int64_t d = dim; d < rank(); ++d) ++ends_[d];
}

int64_t Axes::SizeOf(AxisSet atoms) const {
  int64_t size = 1;
  for (const int atom : atoms.Atoms()) size *= atoms_[atom].size;
  return size;
}

Result<ArraySplit> Axes::Read(const Sharding& sharding, int64_t rank) const {
  ArraySplit split(rank);
  split.reduction = sharding.reduction;
  switch (sharding.kind) {
    case ShardingKind::kReplicated: return split;
    case ShardingKind::kManual: split.manual = All(); return split;
    case ShardingKind::kUnreduced: split.pending = All(); return split;
    case ShardingKind::kMaximal: split.only_device = sharding.device; return split;
    case ShardingKind::kUnknown: FAIL(Misfit(sharding, "does not say how the array is split"));
    case ShardingKind::kTuple: FAIL(Misfit(sharding, "is for a tuple, but the value is an array"));
    case ShardingKind::kTiled:
    case ShardingKind::kNamed: break;
  }
  const DeviceOrder* order = OrderOf(sharding);
  if (order == nullptr) {
    split.only_device = sharding.named->mesh.single_device;
    return split;
  }
  if (const int64_t devices = DevicesOf(*order); devices != devices_)
    FAIL(Misfit(sharding, Str("is for ", devices, " devices, but the mesh of the module has ", devices_)));
  const DeviceOrder positions = InPositions(*order);
  const bool is_named = sharding.kind == ShardingKind::kNamed;
  const auto digits = is_named ? DigitsOf(*sharding.named, positions) : DigitsOf(*sharding.tiles, positions);
  if (!digits)
    FAIL(Misfit(sharding, "lists its devices in an order that no split of the module's mesh into axes gives"));
  // A named sharding without dimensions fits each rank.
  if (!digits->dims.empty() || !is_named) {
    if (std::ssize(digits->dims) != rank)
      FAIL(Misfit(sharding, Str("splits ", digits->dims.size(), " dimensions, but the array has ", rank)));
  }
  const auto atoms_of = [&](const std::vector<Digit>& list) -> Result<std::vector<uint8_t>> {
    if (auto atoms = AtomsAt(list)) return std::move(*atoms);
    FAIL(Misfit(sharding, Str("does not split along the axes of the module's mesh: ", Text())));
  };
  for (size_t d = 0; d < digits->dims.size(); ++d) {
    for (const uint8_t atom : TRY(atoms_of(digits->dims[d]))) split.Append(static_cast<int64_t>(d), atom);
  }
  split.pending = AxisSet::Of(TRY(atoms_of(digits->pending)));
  split.manual = AxisSet::Of(TRY(atoms_of(digits->manual)));
  return split;
}

AxisSet Axes::ReplicatedIn(const Sharding& sharding) const {
  const DeviceOrder* order = sharding.kind == ShardingKind::kNamed ? OrderOf(sharding) : nullptr;
  if (order == nullptr || DevicesOf(*order) != devices_) return {};
  const auto digits = DigitsOf(*sharding.named, InPositions(*order));
  const auto atoms = digits ? AtomsAt(digits->replicated) : std::nullopt;
  return atoms ? AxisSet::Of(*atoms) : AxisSet();
}

Sharding Axes::Write(const ArraySplit& split) const {
  if (split.only_device) return {.kind = ShardingKind::kMaximal, .device = *split.only_device};
  std::vector<int64_t> dims, sizes, permutation;
  for (const Atom& atom : atoms_) sizes.push_back(atom.size);
  for (int64_t d = 0; d < split.rank(); ++d) {
    dims.push_back(SizeOf(split.AtomsOf(d)));
    for (const uint8_t atom : split.AtomsOf(d)) permutation.push_back(atom);
  }
  std::vector<ShardingKind> subgroups;
  const auto add = [&](AxisSet atoms, ShardingKind kind) {
    if (atoms.empty()) return;
    dims.push_back(SizeOf(atoms));
    subgroups.push_back(kind);
    for (const int atom : atoms.Atoms()) permutation.push_back(atom);
  };
  const AxisSet used = split.InDims() | split.manual | split.pending;
  add(split.manual, ShardingKind::kManual);
  add(split.pending, ShardingKind::kUnreduced);
  add(All() - used, ShardingKind::kReplicated);
  if (used.empty()) return {.kind = ShardingKind::kReplicated};
  DeviceOrder order = IotaOrder(sizes, permutation);
  if (!listed_.empty()) {
    order = {Listed(order), {}, {}};
    for (int64_t& position : order.listed) position = listed_[position];
  }
  Sharding sharding = TiledSharding(std::move(dims), std::move(order), subgroups);
  sharding.reduction = split.reduction;
  return sharding;
}

Shape Axes::LocalShape(const Shape& whole, const ArraySplit& split) const {
  Shape local = whole;
  for (int64_t d = 0; d < split.rank(); ++d) {
    const int64_t parts = SizeOf(split.AtomsOf(d));
    local.SetDim(d, (whole.dim(d) + parts - 1) / parts);
  }
  return local;
}

std::string Axes::Text() const {
  std::vector<std::string> texts;
  for (const Atom& atom : atoms_) texts.push_back(Str(atom.name, "=", atom.size));
  return Join(texts, ", ");
}

std::string Axes::Text(const ArraySplit& split) const {
  if (split.only_device) return Str("device ", *split.only_device);
  const auto names = [&](auto&& atoms) {
    std::vector<std::string_view> list;
    for (const int atom : atoms) list.push_back(atoms_[atom].name);
    return Str("{", Join(list, ", "), "}");
  };
  std::vector<std::string> dims;
  for (int64_t d = 0; d < split.rank(); ++d) dims.push_back(names(split.AtomsOf(d)));
  std::string text = Str("[", Join(dims, ", "), "]");
  if (!split.pending.empty())
    text += Str(" ", split.reduction == Reduction::kSum ? "sum" : ToString(split.reduction), "=",
                names(split.pending.Atoms()));
  if (!split.manual.empty()) text += Str(" manual=", names(split.manual.Atoms()));
  return text;
}

}  // namespace hlo
