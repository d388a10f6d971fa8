// convolution-layout-assignment: moves the channels of convolutions on tensor cores, and of instructions between them,
// to the last dimension.
//
// PrefersChannelsLast() selects convolutions by XLA's rule. The order spreads to all instructions that can be computed
// in it (order.h). A minimal cut finds the cheapest choice for each (docs/architecture.md#layouts). Costs:
//
//   channels first  a convolution costs the transposes of its library
//   channels last   nothing
//   between both    one transpose of the value for all users in that order; less if a kernel that reads or writes the
//                   value can transpose it, and nothing if no element moves
//
// Equal costs change nothing: a single convolution is left to its library. Libraries pack filters from any order, so a
// transpose of a filter becomes a change of dim_labels, and a reverse becomes a reversed window.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/id_span.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "ir/text/printer.h"
#include "passes/layout/minimal_cut.h"
#include "passes/layout/order.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// XLA's current rule. Depthwise convolutions do not run on tensor cores.
bool PrefersChannelsLast(const Instruction& inst, const DeviceDescription& device) {
  if (!inst.Is(Opcode::kConvolution)) return false;
  const auto& attrs = inst.attrs<ConvolutionAttrs>();
  const auto spatial = std::ssize(attrs.window.dims);
  const PrimitiveType type = inst.operand(0).shape().type();
  if (spatial < 1 || spatial > 2 || attrs.batch_group_count != 1) return false;
  if (inst.operand(1).shape().dim(attrs.dim_labels.rhs_input_feature) == 1 && attrs.feature_group_count != 1)
    return false;
  if (IsInteger(type)) return true;
  if (device.compute_capability >= 90) return IsFloat(type) && type != PrimitiveType::kF64;
  return spatial == 2 && (type == PrimitiveType::kF16 || type == PrimitiveType::kBF16);
}

// transpose(base, view). `view` is empty without a transpose.
struct Source {
  Instruction* base;
  Order view;
};
Source SourceOf(Instruction& operand) {
  Source source{&operand, {}};
  while (source.base->Is(Opcode::kTranspose)) {
    const Order& dimensions = source.base->dimensions();
    source.view = source.view.empty() ? dimensions : BeforeView(dimensions, source.view);
    source.base = &source.base->operand(0);
  }
  return source;
}
Order OfBase(const Source& source, const Order& order) {
  return source.view.empty() ? order : BeforeView(source.view, order);
}

struct Use {
  Instruction* user;  // Null for the computation's result.
  int64_t operand;
  Order view;
};

class ConvolutionLayouts {
 public:
  ConvolutionLayouts(Computation& computation, const PassContext& context)
      : computation_(computation),
        device_(*context.device),
        order_(computation.PostOrder()),
        ids_(order_),
        spaces_(ids_.size()),
        waits_(ids_.size()) {}

  // Finds the instructions that can be computed in another order. False if there are none.
  bool Spread() {
    for (const Instruction* inst : order_) {
      for (const Instruction* before : inst->control_predecessors()) waits_[ids_.IndexOf(*before)] = true;
    }
    for (Instruction* inst : order_) {
      if (!PrefersChannelsLast(*inst, device_)) continue;
      Order last(std::ssize(inst->attrs<ConvolutionAttrs>().window.dims) + 2);
      for (size_t i = 0; i < last.size(); ++i) last[i] = static_cast<int64_t>(i);
      GiveSpace(*inst, last);
    }
    if (spread_.empty()) return false;
    seeds_ = spread_;
    for (size_t i = 0; i < spread_.size(); ++i) SpreadFrom(*spread_[i]);
    return true;
  }

  // Returns whether any order changes.
  bool Choose();
  void Rewrite();

 private:
  const Order& SpaceOf(const Instruction& inst) const { return spaces_[ids_.IndexOf(inst)]; }  // Empty if `inst` stays.
  bool IsLast(const Instruction& inst) const {
    const int node = nodes_.empty() ? 0 : nodes_[ids_.IndexOf(inst)];
    return node > 0 && first_side_[node];
  }

  bool CanMove(const Instruction& inst) const {
    const auto is_plain = [](const Shape& shape) {
      return shape.IsArray() && !shape.IsBuffer() && !shape.HasDynamicDims() && shape.HasDefaultLayout();
    };
    if (!HasSpace(inst) || !is_plain(inst.shape())) return false;
    if (!std::ranges::all_of(inst.operands(), [&](const Instruction* operand) { return is_plain(operand->shape()); }))
      return false;
    return inst.control_predecessors().empty() && !waits_[ids_.IndexOf(inst)] && inst.common().sharding.empty() &&
           !HasSideEffect(inst);
  }

  void GiveSpace(Instruction& inst, const Order& space) {
    if (!CanMove(inst) || !SpaceOf(inst).empty() || !MayWalk(inst, space)) return;
    bool other = !IsIdentityPermutation(OrderOfResult(inst, space));
    for (int64_t i = 0; i < inst.operand_count(); ++i) other |= !IsIdentityPermutation(OrderOfOperand(inst, i, space));
    if (!other) return;
    spaces_[ids_.IndexOf(inst)] = space;
    spread_.push_back(&inst);
  }

  void SpreadFrom(Instruction& inst) {
    const Order space = SpaceOf(inst);
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      const Order order = OrderOfOperand(inst, i, space);
      if (order.empty()) continue;
      const Source source = SourceOf(inst.operand(i));
      const Order of_base = OfBase(source, order);
      if (!HasSpace(*source.base) || IsIdentityPermutation(of_base)) continue;
      if (const auto wanted = SpaceOfResult(*source.base, of_base)) GiveSpace(*source.base, *wanted);
    }
    const Order result = OrderOfResult(inst, space);
    if (result.empty()) return;
    for (const Use& use : UsesOf(inst)) {
      const Order order = use.view.empty() ? result : BehindView(use.view, result);
      if (use.user == nullptr || !HasSpace(*use.user) || IsIdentityPermutation(order)) continue;
      if (const auto wanted = SpaceOfOperand(*use.user, use.operand, order)) GiveSpace(*use.user, *wanted);
    }
  }

  // Uses of the value and of its transposes.
  std::vector<Use> UsesOf(Instruction& base) const {
    std::vector<Use> uses;
    std::vector<Source> values = {{&base, {}}};
    for (size_t v = 0; v < values.size(); ++v) {
      const Source value = values[v];
      if (value.base->IsRoot()) uses.push_back({nullptr, 0, value.view});
      for (Instruction* user : value.base->users()) {
        if (user->Is(Opcode::kTranspose)) {
          values.push_back(
              {user, value.view.empty() ? user->dimensions() : BeforeView(value.view, user->dimensions())});
          continue;
        }
        for (int64_t i = 0; i < user->operand_count(); ++i) {
          if (&user->operand(i) == value.base) uses.push_back({user, i, value.view});
        }
      }
    }
    return uses;
  }

  double SecondsOf(const Shape& array, double passes) const {
    return device_.launch_seconds + passes * static_cast<double>(array.ByteSize()) / device_.memory_rate;
  }
  // Picoseconds, the unit of costs in the cut.
  static int64_t Cost(double seconds) { return static_cast<int64_t>(seconds * 1e12); }

  int64_t CostOfLibrary(const Instruction& convolution) const;
  int64_t CostOfTranspose(const Instruction& base, const Order& from, const Order& to, bool on_the_way) const;
  void ConnectValue(Instruction& base, const std::vector<Use>& uses);

  Instruction& ValueInOrder(Instruction& base, const Order& order);
  void Log() const;

  Computation& computation_;
  const DeviceDescription& device_;
  const std::vector<Instruction*> order_;
  const IdSpan ids_;
  std::vector<Order> spaces_;  // Indexed by id.
  std::vector<bool> waits_;    // Whether it is a control predecessor, by id.
  std::vector<Instruction*> spread_;
  std::vector<Instruction*> seeds_;  // Convolutions from which the order spreads.
  CutGraph graph_;
  std::vector<CutGraph::Node> nodes_;  // By id. 0 if none. Channels-last is the first side.
  std::vector<bool> first_side_;
  std::map<std::pair<int, Order>, Instruction*> in_order_;
};

Order IdentityOrder(const Instruction& inst) {
  Order order(inst.shape().rank());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  return order;
}

// Whether a kernel can compute it in any order.
bool IsLoop(const Instruction& inst) {
  return (inst.Is(kElementwise) || inst.Is(kMoves)) && !inst.Is(Opcode::kReshape) &&
         inst.control_predecessors().empty();
}

int64_t ConvolutionLayouts::CostOfLibrary(const Instruction& convolution) const {
  const Order& space = SpaceOf(convolution);
  const auto cost_of = [&](const Instruction& image, const Order& order) {
    return order.empty() ? 0 : CostOfTranspose(image, IdentityOrder(image), order, false);
  };
  int64_t cost = cost_of(convolution, OrderOfResult(convolution, space));
  for (int64_t i = 0; i < convolution.operand_count(); ++i)
    cost += cost_of(convolution.operand(i), OrderOfOperand(convolution, i, space));
  return cost;
}

int64_t ConvolutionLayouts::CostOfTranspose(const Instruction& base, const Order& from, const Order& to,
                                            bool on_the_way) const {
  if (base.Is(Opcode::kBroadcast) || base.Is(Opcode::kIota) || !MovesElements(base.shape(), from, to)) return 0;
  // A kernel that transposes on the way moves no more bytes, but uses tiles in shared memory, and takes half the time
  // of a separate transpose.
  return Cost(on_the_way ? SecondsOf(base.shape(), 1) - device_.launch_seconds : SecondsOf(base.shape(), 2));
}

void ConvolutionLayouts::ConnectValue(Instruction& base, const std::vector<Use>& uses) {
  struct Reader {
    CutGraph::Node node;  // 0 for a user that stays.
    bool first, second;   // Whether the user wants this order on each side.
  };
  std::map<Order, std::vector<Reader>> readers_of;
  std::map<Order, bool> in_loops;
  const Order identity = IdentityOrder(base);
  for (const Use& use : uses) {
    const Order& now = use.view.empty() ? identity : use.view;
    const CutGraph::Node node = use.user == nullptr ? 0 : nodes_[ids_.IndexOf(*use.user)];
    Order last = node == 0 ? Order() : OrderOfOperand(*use.user, use.operand, SpaceOf(*use.user));
    last = last.empty() ? now : use.view.empty() ? last : BeforeView(use.view, last);
    readers_of[now].push_back({node, last == now, true});
    if (last != now) readers_of[last].push_back({node, true, false});
    const bool in_loop = use.user != nullptr && IsLoop(*use.user);
    for (const Order& order : {now, last}) in_loops.try_emplace(order, true).first->second &= in_loop;
  }
  const CutGraph::Node node = nodes_[ids_.IndexOf(base)];
  Order last = node == 0 ? identity : OrderOfResult(base, SpaceOf(base));
  if (last.empty()) last = identity;
  for (const auto& [order, readers] : readers_of) {
    // A transpose directly after a convolution would separate the convolution from its epilogue.
    const bool on_the_way = IsLoop(base) || (in_loops.at(order) && !base.Is(Opcode::kConvolution));
    const bool always = std::ranges::any_of(readers, [](const Reader& a) { return a.first && a.second; });
    if (last != identity && order == identity) {  // If the value has its channels last, it must be transposed.
      const int64_t cost = CostOfTranspose(base, last, order, on_the_way);
      const CutGraph::Node made = always ? CutGraph::kSecond : graph_.Add();
      graph_.Connect(node, made, cost);
      for (const Reader& a : readers) {
        if (!always && a.second) graph_.Connect(made, a.node, CutGraph::kNever);
      }
    } else if (last != identity && order == last) {  // If the value has its channels first, it must be transposed.
      const int64_t cost = CostOfTranspose(base, identity, order, on_the_way);
      const bool now = std::ranges::any_of(readers, &Reader::second);
      const CutGraph::Node made = now ? CutGraph::kFirst : graph_.Add();
      graph_.Connect(made, node, cost);
      for (const Reader& a : readers) {
        if (!now) graph_.Connect(a.node, made, CutGraph::kNever);
      }
    } else if (order != identity && !always) {  // If a user wants this order, it must be transposed.
      const int64_t cost = CostOfTranspose(base, identity, order, on_the_way);
      const CutGraph::Node made_first = graph_.Add(), made_second = graph_.Add();
      graph_.Connect(made_first, CutGraph::kSecond, cost);
      graph_.Connect(CutGraph::kFirst, made_second, cost);
      for (const Reader& a : readers) {
        if (a.first) graph_.Connect(a.node, made_first, CutGraph::kNever);
        else graph_.Connect(made_second, a.node, CutGraph::kNever);
      }
    }
  }
}

bool ConvolutionLayouts::Choose() {
  nodes_.assign(ids_.size(), 0);
  for (const Instruction* inst : spread_) nodes_[ids_.IndexOf(*inst)] = graph_.Add();
  for (const Instruction* inst : seeds_)
    graph_.Connect(CutGraph::kFirst, nodes_[ids_.IndexOf(*inst)], CostOfLibrary(*inst));
  std::vector<bool> connected(ids_.size());
  const auto connect = [&](Instruction& base) {
    if (base.shape().IsArray() && base.shape().rank() > 1 && !connected[ids_.IndexOf(base)])
      ConnectValue(base, UsesOf(base));
    connected[ids_.IndexOf(base)] = true;
  };
  for (Instruction* inst : spread_) {
    connect(*inst);
    for (Instruction* operand : inst->operands()) connect(*SourceOf(*operand).base);
  }
  // Real models take far fewer steps.
  constexpr int64_t kMostSteps = 100'000'000;
  const auto first = graph_.Cut(kMostSteps);
  if (!first) {
    VLOG(2, computation_.name(), ": the cheapest layout of ", spread_.size(), " instructions was not found in ",
         kMostSteps, " steps, so convolutions keep their layouts");
    return false;
  }
  first_side_ = *first;
  return std::ranges::any_of(spread_, [&](const Instruction* inst) { return IsLast(*inst); });
}

Instruction& ConvolutionLayouts::ValueInOrder(Instruction& base, const Order& order) {
  Instruction*& made = in_order_[{base.id(), order}];
  if (made != nullptr) return *made;
  const bool is_last = IsLast(base);
  Order from = is_last ? OrderOfResult(base, SpaceOf(base)) : IdentityOrder(base);
  if (from.empty()) from = IdentityOrder(base);
  Instruction& is = is_last ? *in_order_.at({base.id(), from}) : base;
  if (order == from) return *(made = &is);
  if (base.Is(Opcode::kIota)) return *(made = &InSpace(base, order, {}));
  made = &computation_.AddLike(base, Opcode::kTranspose, InOrder(base.shape(), order), {&is},
                               DimensionsAttrs{TransposeBetween(from, order)});
  return *made;
}

void ConvolutionLayouts::Log() const {
  if (!VLOG_IS_ON(2)) return;
  int64_t of_libraries = 0, convolutions = 0, moved = 0;
  for (const Instruction* inst : seeds_) {
    if (!IsLast(*inst)) continue;
    of_libraries += CostOfLibrary(*inst);
    ++convolutions;
  }
  for (const Instruction* inst : spread_) moved += IsLast(*inst);
  VLOG(2, computation_.name(), ": ", convolutions, " of ", seeds_.size(),
       " convolutions have their channels last now, and ", moved - convolutions,
       " other instructions too; estimated time of their transposes: ",
       Format("%.2f", static_cast<double>(graph_.cost()) * 1e-6), " us, and ",
       Format("%.2f", static_cast<double>(of_libraries) * 1e-6), " us if libraries transpose each operand and result");
}

void ConvolutionLayouts::Rewrite() {
  for (Instruction* inst : order_) {
    if (!IsLast(*inst)) continue;
    const Order& space = SpaceOf(*inst);
    std::vector<Instruction*> operands;
    for (int64_t i = 0; i < inst->operand_count(); ++i) {
      const Source source = SourceOf(inst->operand(i));
      const Order now = source.view.empty() ? IdentityOrder(*source.base) : source.view;
      const Order order = OrderOfOperand(*inst, i, space);
      const Order wanted = order.empty() ? now : OfBase(source, order);
      const bool stays = wanted == now && !IsLast(*source.base);
      operands.push_back(stays ? &inst->operand(i) : &ValueInOrder(*source.base, wanted));
    }
    Order result = OrderOfResult(*inst, space);
    if (result.empty()) result = IdentityOrder(*inst);
    Instruction& made = InSpace(*inst, space, operands);
    in_order_[{inst->id(), result}] = &made;
    if (LOGS_WHY())
      LogWhy("convolution-layout-assignment", *inst, Str("=> ", ToString(made)),
             "it is cheaper with the channels last");
  }
  Log();
  for (size_t i = order_.size(); i-- > 0;) {
    Instruction& inst = *order_[i];
    if (inst.removed() || (!IsLast(inst) && !inst.Is(Opcode::kTranspose))) continue;
    if (!inst.IsDead()) {
      if (!IsLast(inst)) continue;
      inst.ReplaceAllUses(ValueInOrder(inst, IdentityOrder(inst)));
    }
    computation_.RemoveDeadTree(inst);
  }
}

bool FoldKernelTranspose(Instruction& convolution) {
  if (!HasSpace(convolution) || ImagesOf(convolution).operand[1]) return false;
  const Source source = SourceOf(convolution.operand(1));
  if (source.view.empty() || !source.base->shape().HasDefaultLayout()) return false;
  DimLabels& labels = convolution.mutable_attrs<ConvolutionAttrs>().dim_labels;
  for (int64_t* d : {&labels.rhs_input_feature, &labels.rhs_output_feature}) *d = source.view[*d];
  for (int64_t& d : labels.rhs_spatial) d = source.view[d];
  Instruction& transpose = convolution.operand(1);
  convolution.SetOperand(1, *source.base);
  if (transpose.IsDead()) convolution.computation().RemoveDeadTree(transpose);
  if (LOGS_WHY())
    LogWhy("convolution-layout-assignment", convolution, "reads its filter without the transpose",
           "libraries reorder filters themselves");
  return true;
}

// Gradients of images read reversed filters.
bool FoldKernelReverse(Instruction& convolution) {
  if (!HasSpace(convolution) || ImagesOf(convolution).operand[1]) return false;
  Instruction& reverse = convolution.operand(1);
  if (!reverse.Is(Opcode::kReverse) || !reverse.operand(0).shape().HasDefaultLayout()) return false;
  const DimLabels& labels = convolution.attrs<ConvolutionAttrs>().dim_labels;
  std::vector<size_t> turned;
  for (const int64_t d : reverse.dimensions()) {
    const auto at = std::ranges::find(labels.rhs_spatial, d);
    if (at == labels.rhs_spatial.end()) return false;
    turned.push_back(at - labels.rhs_spatial.begin());
  }
  std::vector<WindowDim>& window = convolution.mutable_attrs<ConvolutionAttrs>().window.dims;
  for (const size_t i : turned) window[i].reversed = !window[i].reversed;
  convolution.SetOperand(1, reverse.operand(0));
  if (reverse.IsDead()) convolution.computation().RemoveDeadTree(reverse);
  if (LOGS_WHY())
    LogWhy("convolution-layout-assignment", convolution, "reads its filter without the reverse",
           "its window is reversed instead");
  return true;
}

}  // namespace

Result<bool> AssignConvolutionLayouts(Module& module, const PassContext& context) {
  if (!context.device->is_gpu || context.device->compute_capability < 70) return false;
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    bool any = false;
    for (Instruction* inst : computation->Instructions()) {
      if (inst->removed() || !inst->Is(Opcode::kConvolution)) continue;
      any = true;
      while (FoldKernelTranspose(*inst) || FoldKernelReverse(*inst)) changed = true;
    }
    if (!any) continue;
    ConvolutionLayouts layouts(*computation, context);
    if (!layouts.Spread() || !layouts.Choose() || !context.ConsumeFuel()) continue;
    layouts.Rewrite();
    changed = true;
  }
  return changed;
}

}  // namespace hlo
