// The emitter of regions whose kernels share one launch (gpu/kernel/side_by_side.h).
//
//   alike    elementwise kernels, or parts of them, that differ only in arrays and sizes (SegmentUnit): they share
//            code, and tables give each block's unit
//   others   each is emitted by its own plan
#include "gpu/plan/segments.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "base/text.h"
#include "gpu/emitters/frame.h"
#include "gpu/emitters/scalar.h"
#include "gpu/kernel/side_by_side.h"
#include "gpu/plan/loop_space.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"

namespace hlo::gpu {
namespace {

using kernel::ArrayGroup;
using Place = std::pair<int64_t, ShapeIndex>;  // An array in an operand of the region.

class Region {
 public:
  explicit Region(const EmitRequest& request) : request_(request), region_(request.body.source()) {
    const Instruction& root = FusedComputation(region_).root();
    if (!root.Is(Opcode::kTuple)) AddResult(root, {});
    else
      for (int64_t i = 0; i < root.operand_count(); ++i) AddResult(root.operand(i), {i});
  }

  const Instruction& source() const { return region_; }
  const EmitRequest& request() const { return request_; }

  Result<Place> OperandOf(const Instruction& kernel, int64_t operand, const ShapeIndex& index) const {
    std::optional<RegionOperand> from = OperandOfRegion(kernel.operand(operand), index);
    TRY(request_.Require(from.has_value(), Str("its kernel '", kernel.name(), "' reads a result of another kernel")));
    return Place(from->operand, std::move(from->index));
  }

  Result<ShapeIndex> ResultOf(const Instruction& kernel, const ShapeIndex& index) const {
    const auto found = results_.find({&kernel, index});
    TRY(request_.Require(found != results_.end(),
                         Str("a result of its kernel '", kernel.name(), "' is not a result of the region")));
    return found->second;
  }

 private:
  void AddResult(const Instruction& value, const ShapeIndex& result) {
    results_.try_emplace(ArrayNamedBy(value), result);
  }

  const EmitRequest& request_;
  const Instruction& region_;
  std::map<NamedArray, ShapeIndex> results_;
};

// ---- Kernels that are alike -----------------------------------------------------------------------------------------

class AlikeEmitter {
 public:
  AlikeEmitter(const Region& region, const std::vector<SegmentUnit>& units)
      : region_(region), units_(units), largest_(*std::ranges::max_element(units, {}, &SegmentUnit::elements)) {}

  Result<EmittedKernel> Emit() && {
    const FusionBody body(*largest_.kernel);
    LoopRequest loop;
    for (const int64_t root : largest_.roots) loop.roots.push_back(&body.roots()[root]);
    const auto space = TRY(LoopSpaceOf(body, loop, /*flat=*/true));
    const EmitRequest& request = region_.request();
    tile_ = request.plan.tile[0];
    threads_ = request.plan.threads;
    width_ = VectorWidth(space->graph, space->Values(), body.roots(), /*bytes=*/16);
    while (tile_ % (threads_ * width_) != 0) width_ /= 2;
    int64_t blocks = 0;
    for (const SegmentUnit& unit : units_) {
      firsts_.push_back(blocks);
      blocks += CeilDiv(unit.elements, tile_);
    }
    KernelBuilder k(KernelName(region_.source(), ""), blocks, static_cast<int>(threads_));
    k.SetSource(std::string(region_.source().name()));
    TRY(EmitInto(k, blocks, body, *space));
    kernel_.kernel = std::make_shared<const kernel::Kernel>(std::move(k).Build());
    AddPromises();
    return std::move(kernel_);
  }

 private:
  Status EmitInto(KernelBuilder& k, int64_t blocks, const FusionBody& body, LoopSpace& space) {
    const std::vector<NodeId> values = space.Values(), needed = space.graph.Reachable(values);
    CountIndices(space.graph, needed, k);
    std::map<int, Array> ones;
    std::map<NodeId, ArrayGroup> loads;
    TRY(TakeInputs(k, body, space, needed, &ones, &loads));
    std::vector<ArrayGroup> results;
    for (size_t i = 0; i < largest_.roots.size(); ++i) results.push_back(TRY(MakeResults(k, body, i)));
    Emission emission(space.graph, k, std::move(ones), LiteralArrays(space.graph, needed, k, kernel_.buffers));
    const auto [unit, first] = FindUnit(k, blocks);
    std::vector<int64_t> counts;
    for (const SegmentUnit& each : units_) counts.push_back(each.elements);
    const Value count = Convert(k.Table("counts", Type::kS64, counts).Load(unit), Type::kIndex);
    const Value begin = (k.block() - first) * tile_;
    const Value left = count - begin;
    emission.Hoist(values);
    const auto tile = [&](Value step) {
      k.Tile(static_cast<int>(width_), left - step, [&](Value i) {
        Emission::Scope scope(emission);
        const Value at = begin + step + i;
        emission.Bind(space.minor().e, at);
        for (const auto& [node, group] : loads) emission.Bind(node, {group.Load(unit, at)});
        std::vector<Value> made;
        for (const IterationSpace::Output& output : space.outputs) made.push_back(emission.Emit(output.value));
        for (size_t j = 0; j < made.size(); ++j) results[j].Store(unit, at, made[j]);
      });
    };
    const int64_t step = threads_ * width_;
    if (tile_ == step) tile(k.Index(0));
    else k.Loop(k.Index(0), Min(k.Index(tile_), left), step, tile);
    return {};
  }

  // Operand i of all units becomes group i. Scalars, which all units read, are separate inputs.
  Status TakeInputs(KernelBuilder& k, const FusionBody& body, LoopSpace& space, const std::vector<NodeId>& needed,
                    std::map<int, Array>* ones, std::map<NodeId, ArrayGroup>* loads) {
    std::map<int64_t, ArrayGroup> groups;
    for (size_t i = 0; i < largest_.operands.size(); ++i) {
      std::vector<int64_t> sizes;
      for (const SegmentUnit& unit : units_) {
        sizes.push_back(unit.elements);
        TRY(AddOperand(unit, unit.operands[i]));
      }
      const Type type = KernelTypeOf(largest_.kernel->operand(largest_.operands[i]).shape().type());
      const ArrayGroup group = k.InputGroup(Str("in", i), type, std::move(sizes));
      groups.emplace(largest_.operands[i], group);
      TRY(ShareWithResults(k, group, i));
    }
    for (const NodeId id : needed) {
      const ElementNode& node = space.graph.node(id);
      if (node.kind != ElementNode::Kind::kLoad) continue;
      const FusionBody::Leaf& leaf = body.leaves()[node.leaf];
      if (const auto group = groups.find(leaf.operand); group != groups.end()) {
        TRY(region_.request().Require(node.offset == space.minor().e,
                                      "kernels that share code must read their arrays in the order of the elements"));
        loads->emplace(id, group->second);
      } else if (!ones->contains(node.leaf)) {
        TRY(AddOperand(largest_, leaf.operand));
        ones->emplace(node.leaf, k.Input(Str("one", node.leaf), KernelTypeOf(leaf.shape->type()), 1));
      }
    }
    return {};
  }

  Status AddOperand(const SegmentUnit& unit, int64_t operand) {
    const Place place = TRY(region_.OperandOf(*unit.kernel, operand, {}));
    kernel_.buffers.push_back({.kind = KernelBuffer::Kind::kOperand,
                               .operand = place.first,
                               .index = place.second,
                               .bytes = unit.kernel->operand(operand).shape().ByteSize()});
    return {};
  }

  Result<ArrayGroup> MakeResults(KernelBuilder& k, const FusionBody& body, size_t number) {
    std::vector<int64_t> sizes;
    for (const SegmentUnit& unit : units_) {
      sizes.push_back(unit.elements);
      const FusionBody::Root root = FusionBody(*unit.kernel).roots()[unit.roots[number]];
      kernel_.buffers.push_back({.kind = KernelBuffer::Kind::kOutput,
                                 .index = TRY(region_.ResultOf(*unit.kernel, root.index)),
                                 .bytes = root.shape->ByteSize()});
    }
    const Type type = KernelTypeOf(body.roots()[largest_.roots[number]].shape->type());
    const ArrayGroup group = k.OutputGroup(Str("out", number), type, std::move(sizes));
    k.SetMayAlias(group);
    return group;
  }

  // Operands and results may share buffers: each element is read before its position is written.
  Status ShareWithResults(KernelBuilder& k, ArrayGroup group, size_t number) {
    k.SetMayAlias(group);
    for (const SegmentUnit& unit : units_) {
      const FusionBody body(*unit.kernel);
      const Place from = TRY(region_.OperandOf(*unit.kernel, unit.operands[number], {}));
      const Shape& operand = unit.kernel->operand(unit.operands[number]).shape();
      for (const int64_t root : unit.roots) {
        if (body.roots()[root].shape->ByteSize() != operand.ByteSize()) continue;
        kernel_.sharable.push_back(
            {from.first, from.second, TRY(region_.ResultOf(*unit.kernel, body.roots()[root].index))});
      }
    }
    return {};
  }

  // The block's unit, and the unit's first block.
  std::pair<Value, Value> FindUnit(KernelBuilder& k, int64_t blocks) {
    std::vector<int64_t> padded = firsts_;
    padded.resize(std::bit_ceil(padded.size()), blocks);
    const Array firsts = k.Table("firsts", Type::kS64, padded);
    Value unit = k.Index(0);
    for (auto half = static_cast<int64_t>(padded.size()) / 2; half > 0; half /= 2) {
      const Value next = unit + half;
      unit = Select(Convert(firsts.Load(next), Type::kIndex) <= k.block(), next, unit);
    }
    return {unit, Convert(firsts.Load(unit), Type::kIndex)};
  }

  void AddPromises() {
    kernel_.precision.contract = false;
    for (const SegmentUnit& unit : units_) {
      for (const Instruction* inst : FusedComputation(*unit.kernel).Instructions()) {
        if (inst->shape().IsArray() && IsFloat(inst->shape().type()))
          kernel_.precision.instructions[inst->id()].hold = inst->shape().type();
      }
    }
  }

  const Region& region_;
  const std::vector<SegmentUnit>& units_;
  const SegmentUnit& largest_;
  int64_t tile_ = 0, threads_ = 0, width_ = 1;
  std::vector<int64_t> firsts_;
  EmittedKernel kernel_;
};

// ---- Others ---------------------------------------------------------------------------------------------------------

// The kernel's buffers become the region's operands and results, and scratch memory from number `scratch` on.
Result<EmittedKernel> EmitOther(const Region& region, const Instruction& inst, int scratch) {
  const EmitRequest& request = region.request();
  const std::optional<FusionPlan> plan = TRY(ReadPlan(inst));
  TRY(request.Require(plan.has_value() && plan->kernels.size() == 1,
                      Str("its kernel '", inst.name(), "' has no plan with one kernel")));
  TRY(request.Require(plan->kernels.front().threads == request.plan.threads,
                      Str("its kernel '", inst.name(), "' has blocks of ", plan->kernels.front().threads,
                          " threads, not ", request.plan.threads)));
  std::vector<EmittedKernel> kernels = TRY(EmitFusion(inst, *plan));
  EmittedKernel& only = kernels.front();
  TRY(request.Require(only.loops.empty(), Str("its kernel '", inst.name(), "' is a loop")));
  for (KernelBuffer& buffer : only.buffers) {
    if (buffer.kind == KernelBuffer::Kind::kOperand)
      std::tie(buffer.operand, buffer.index) = TRY(region.OperandOf(inst, buffer.operand, buffer.index));
    if (buffer.kind == KernelBuffer::Kind::kOutput) {
      TRY(request.Require(buffer.in_place_operand < 0, Str("its kernel '", inst.name(), "' writes in place")));
      buffer.index = TRY(region.ResultOf(inst, buffer.index));
    }
    if (buffer.kind == KernelBuffer::Kind::kScratch) buffer.scratch += scratch;
  }
  for (SharablePair& pair : only.sharable) {
    std::tie(pair.operand, pair.operand_index) = TRY(region.OperandOf(inst, pair.operand, pair.operand_index));
    pair.output = TRY(region.ResultOf(inst, pair.output));
  }
  return std::move(only);
}

// ---- All of them ----------------------------------------------------------------------------------------------------

class Joiner {
 public:
  explicit Joiner(const Region& region) : region_(region) {}

  void Add(EmittedKernel segment) {
    for (const KernelBuffer& buffer : segment.buffers) {
      if (buffer.kind == KernelBuffer::Kind::kOperand) ++readers_[{buffer.operand, buffer.index}];
      if (buffer.kind == KernelBuffer::Kind::kScratch) scratches_ = std::max(scratches_, buffer.scratch + 1);
    }
    segments_.push_back(std::move(segment));
  }
  int scratches() const { return scratches_; }

  EmittedKernel Join(int64_t count) && {
    std::vector<const kernel::Kernel*> kernels;
    for (const EmittedKernel& segment : segments_) kernels.push_back(segment.kernel.get());
    kernel::SideBySide joined = kernel::PutSideBySide(KernelName(region_.source(), region_.request().suffix), kernels,
                                                      [&](kernel::ArrayOf array) { return PlaceOf(array); });
    EmittedKernel whole;
    for (const kernel::ArrayOf& from : joined.arrays) TakeBuffers(from, whole);
    whole.precision.contract = false;
    for (const EmittedKernel& segment : segments_) {
      // An operand that one kernel overwrites must have no other reader.
      std::ranges::copy_if(segment.sharable, std::back_inserter(whole.sharable), [&](const SharablePair& pair) {
        return readers_.at({pair.operand, pair.operand_index}) == 1;
      });
      whole.precision.instructions.insert(segment.precision.instructions.begin(), segment.precision.instructions.end());
      whole.precision.contract |= segment.precision.contract;
    }
    whole.kernel = std::make_shared<const kernel::Kernel>(std::move(joined.kernel));
    whole.emitter = Str(count, " side by side");
    whole.source = &region_.source();
    return whole;
  }

 private:
  const KernelBuffer& BufferOf(kernel::ArrayOf array) const {
    const std::vector<kernel::KernelArgument> arguments = segments_[array.kernel].kernel->Arguments();
    const auto found = std::ranges::find(arguments, array.array, &kernel::KernelArgument::array);
    return segments_[array.kernel].buffers[found - arguments.begin()];
  }

  // A number that is equal for inputs that read the same operand as the same type. -1 for other arrays.
  int PlaceOf(kernel::ArrayOf array) {
    const KernelBuffer& buffer = BufferOf(array);
    if (buffer.kind != KernelBuffer::Kind::kOperand) return -1;
    const kernel::ArrayInfo& info = segments_[array.kernel].kernel->arrays[array.array];
    const auto next = static_cast<int>(places_.size());
    return places_.try_emplace({{buffer.operand, buffer.index}, info.type, info.elements, info.alignment}, next)
        .first->second;
  }

  void TakeBuffers(kernel::ArrayOf from, EmittedKernel& whole) {
    const kernel::ArrayInfo& info = segments_[from.kernel].kernel->arrays[from.array];
    if (!info.IsParameter()) return;
    const KernelBuffer* const first = &BufferOf(from);
    whole.buffers.insert(whole.buffers.end(), first, first + std::max<int64_t>(1, info.members));
  }

  const Region& region_;
  std::vector<EmittedKernel> segments_;
  int scratches_ = 0;
  std::map<Place, int> readers_;
  std::map<std::tuple<Place, Type, int64_t, int64_t>, int> places_;
};

}  // namespace

Result<EmittedKernel> EmitSegments(const EmitRequest& request) {
  const Region region(request);
  const SegmentLaunch launch = LaunchOf(region.source());
  TRY(request.RequireBlock(launch.alike.empty() ? 0 : 1));
  for (const int64_t elements : request.plan.tile)
    TRY(request.Require(elements % request.plan.threads == 0,
                        "its tile must be a multiple of the number of its threads"));
  Joiner joiner(region);
  auto count = std::ssize(launch.others);
  for (const Instruction* other : launch.others) joiner.Add(TRY(EmitOther(region, *other, joiner.scratches())));
  for (const std::vector<SegmentUnit>& units : launch.alike) {
    joiner.Add(TRY(AlikeEmitter(region, units).Emit()));
    count += std::ssize(units);
  }
  TRY(request.Require(count > 0, "it holds no kernels"));
  return std::move(joiner).Join(count);
}

}  // namespace hlo::gpu
