#include "gpu/plan/segments.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "gpu/kernel/builder.h"
#include "gpu/plan/planner.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kMostInstructions = 1000;  // More takes long, because one thread assembles a launch's code.
constexpr int64_t kMostPointers = 4000;      // A launch's parameters have at most 32764 bytes.
// Each reduction adds shared memory to all blocks, but only its own blocks use it.
constexpr int64_t kMostReductions = 4;
// A square root is a function called for each vector element. ptxas 13.0 spills registers at 14 calls.
constexpr int64_t kMostSquareRoots = 2;
constexpr int64_t kThreads = 256;

// ---- Units ----------------------------------------------------------------------------------------------------------

bool IsPlain(const Shape& shape) {
  return shape.IsArray() && shape.NumElements() > 0 && shape.HasDefaultLayout() && !shape.HasDynamicDims() &&
         !IsComplex(shape.type()) && BitWidth(shape.type()) >= 8;
}

// Whether each element depends only on scalars and operand elements at its position.
bool IsPlainElementwise(const Instruction& inst) {
  if (!IsPlain(inst.shape())) return false;
  if (inst.Is(Opcode::kParameter)) return true;
  if (inst.Is(Opcode::kConstant)) return inst.shape().NumElements() == 1 && inst.literal().IsKnown();
  if (inst.Is(Opcode::kBroadcast)) return inst.operand(0).shape().NumElements() == 1 || inst.shape().NumElements() == 1;
  if (inst.Is(Opcode::kReshape) || inst.Is(Opcode::kBitcast))
    return inst.shape().type() == inst.operand(0).shape().type() && IsPlain(inst.operand(0).shape());
  return inst.Is(kElementwise) && (inst.attributes().GetIf<NoAttrs>() != nullptr || inst.Is(Opcode::kCompare));
}

std::string_view BytesOf(const Literal& literal) {
  return {reinterpret_cast<const char*>(literal.raw()), static_cast<size_t>(literal.byte_size())};
}

bool IsSquareRoot(const Instruction* inst) { return inst->Is(Opcode::kSqrt) || inst->Is(Opcode::kRsqrt); }

class Units {
 public:
  explicit Units(const Instruction& kernel) : kernel_(kernel), fused_(FusedComputation(kernel)) {}

  std::vector<SegmentUnit> Find() {
    const std::vector<const Instruction*> roots = FusionRoots(kernel_);
    if (!std::ranges::all_of(fused_.PostOrder(), [&](const Instruction* inst) {
          return IsPlainElementwise(*inst) || (inst->IsRoot() && inst->Is(Opcode::kTuple));
        }))
      return {};
    std::vector<SegmentUnit> units;
    std::unordered_map<const Instruction*, size_t> unit_of;
    for (size_t i = 0; i < roots.size(); ++i) {
      const int64_t elements = roots[i]->shape().NumElements();
      std::set<size_t> met;
      const std::vector<const Instruction*> values = ArraysOf(*roots[i]);
      for (const Instruction* value : values) {
        if (value->shape().NumElements() != elements) return {};
        if (const auto found = unit_of.find(value); found != unit_of.end()) met.insert(found->second);
      }
      const size_t unit = met.empty() ? units.size() : *met.begin();
      if (met.empty()) units.push_back({.kernel = &kernel_, .elements = elements});
      for (const size_t other : met) {
        if (other == unit) continue;
        auto& moved = units[other].roots;
        units[unit].roots.insert(units[unit].roots.end(), moved.begin(), moved.end());
        moved.clear();
        for (auto& [value, of] : unit_of) {
          if (of == other) of = unit;
        }
      }
      units[unit].roots.push_back(static_cast<int64_t>(i));
      for (const Instruction* value : values) unit_of[value] = unit;
    }
    std::erase_if(units, [](const SegmentUnit& unit) { return unit.roots.empty(); });
    for (SegmentUnit& unit : units) {
      std::ranges::sort(unit.roots);
      Describe(roots, unit);
    }
    return units;
  }

 private:
  static bool IsOne(const Instruction& inst) { return inst.shape().NumElements() == 1; }

  // `root`, which may be a single element, and the arrays on which it depends.
  static std::vector<const Instruction*> ArraysOf(const Instruction& root) {
    std::vector<const Instruction*> values = {&root};
    std::set<const Instruction*> seen = {&root};
    for (size_t i = 0; i < values.size(); ++i) {
      for (const Instruction* operand : values[i]->operands()) {
        if (!IsOne(*operand) && seen.insert(operand).second) values.push_back(operand);
      }
    }
    return values;
  }

  void Describe(const std::vector<const Instruction*>& roots, SegmentUnit& unit) {
    std::unordered_map<const Instruction*, size_t> number;
    for (const int64_t root : unit.roots) unit.key += Str("=", Describe(*roots[root], unit, number), ";");
    unit.instructions = static_cast<int64_t>(number.size());
    for (const auto& [inst, of] : number) unit.square_roots += IsSquareRoot(inst);
  }

  size_t Describe(const Instruction& inst, SegmentUnit& unit, std::unordered_map<const Instruction*, size_t>& number) {
    if (const auto found = number.find(&inst); found != number.end()) return found->second;
    std::string operands;
    for (const Instruction* operand : inst.operands()) operands += Str(" ", Describe(*operand, unit, number));
    std::string what = Str(inst.opcode(), " ", inst.shape().type(), IsOne(inst) ? " one" : "");
    if (inst.Is(Opcode::kConstant)) what += Str(" ", BytesOf(inst.literal()));
    if (inst.Is(Opcode::kCompare)) {
      const auto& attrs = inst.attrs<CompareAttrs>();
      what += Str(" ", static_cast<int>(attrs.direction), " ", static_cast<int>(attrs.type));
    }
    if (inst.Is(Opcode::kParameter) && !IsOne(inst)) unit.operands.push_back(inst.parameter_number());
    // Units with equal keys must read the same scalar, so the key names it.
    if (inst.Is(Opcode::kParameter) && IsOne(inst)) {
      const auto from = OperandOfRegion(kernel_.operand(inst.parameter_number()), {});
      what += from ? Str(" ", from->operand, ".", Join(from->index, ".")) : Str(" ", kernel_.name());
    }
    unit.key += Str(what, operands, ";");
    return number[&inst] = number.size();
  }

  const Instruction& kernel_;
  const Computation& fused_;
};

// ---- Launches -------------------------------------------------------------------------------------------------------

struct Segment {
  const Instruction* kernel;
  std::vector<SegmentUnit> units;
  // With `units`, only `threads` is set.
  KernelPlan plan;
  int64_t pointers = 0;
};

bool ReadsKernels(const Instruction& kernel) {
  bool reads = false;
  for (const Instruction* operand : kernel.operands()) {
    ForEachLeaf(operand->shape(),
                [&](const ShapeIndex& index, const Shape&) { reads = reads || !OperandOfRegion(*operand, index); });
  }
  return reads;
}

// nullopt if the kernel needs its own launch.
std::optional<Segment> SegmentOf(const Instruction& kernel, const DeviceDescription& device) {
  if (!IsKernel(kernel) || !kernel.control_predecessors().empty() || ReadsKernels(kernel)) return std::nullopt;
  Segment segment{.kernel = &kernel, .units = UnitsOf(kernel), .pointers = kernel.shape().LeafCount()};
  for (const Instruction* operand : kernel.operands()) segment.pointers += operand->shape().LeafCount();
  if (!segment.units.empty()) return segment;
  auto plan = PlanOf(kernel, device);
  if (!plan || plan->kernels.size() != 1) return std::nullopt;
  segment.plan = std::move(plan->kernels.front());
  const bool fits = segment.plan.kind == KernelKind::kLoop || segment.plan.kind == KernelKind::kRowReduction ||
                    segment.plan.kind == KernelKind::kColumnReduction;
  if (!fits || segment.plan.in_place || segment.plan.operand) return std::nullopt;
  return segment;
}

// Whether blocks of any size can run the kernel: a loop over all elements.
bool FitsAnyBlock(const KernelPlan& plan) { return plan.kind == KernelKind::kLoop && plan.tile.size() == 1; }

int64_t CommonThreads(const std::vector<Segment>& segments) {
  std::map<int64_t, int64_t> count;
  for (const Segment& segment : segments) {
    if (segment.units.empty() && !FitsAnyBlock(segment.plan)) ++count[segment.plan.threads];
  }
  if (count.empty()) return kThreads;
  return std::ranges::max_element(count, {}, [](const auto& entry) { return std::pair(entry.second, entry.first); })
      ->first;
}

struct Launch {
  int64_t threads = 0;
  std::vector<Segment> segments;
  int64_t pointers = 0, instructions = 0, reductions = 0, square_roots = 0;
  std::set<std::string> keys;

  Launch With(const Segment& segment) const {
    Launch with = *this;
    with.pointers += segment.pointers;
    if (segment.units.empty()) {
      with.instructions += FusedComputation(*segment.kernel).InstructionCount();
      with.square_roots += std::ranges::count_if(FusedComputation(*segment.kernel).Instructions(), IsSquareRoot);
      with.reductions += segment.plan.kind == KernelKind::kLoop ? 0 : 1;
    }
    for (const SegmentUnit& unit : segment.units) {
      if (!with.keys.insert(unit.key).second) continue;
      with.instructions += unit.instructions;
      with.square_roots += unit.square_roots;
    }
    return with;
  }
  bool Fits() const {
    return pointers <= kMostPointers && instructions <= kMostInstructions && reductions <= kMostReductions &&
           (square_roots <= kMostSquareRoots || segments.empty());
  }
};

std::vector<Launch> LaunchesOf(const Instruction& region, const DeviceDescription& device) {
  if (!device.is_gpu) return {};
  std::vector<Segment> segments;
  for (const Instruction* inst : FusedComputation(region).PostOrder()) {
    if (auto segment = SegmentOf(*inst, device)) segments.push_back(std::move(*segment));
  }
  const int64_t threads = CommonThreads(segments);
  std::vector<Launch> launches;
  for (Segment& segment : segments) {
    if (!segment.units.empty()) {
      segment.plan.threads = threads;
    } else if (FitsAnyBlock(segment.plan)) {
      segment.plan.threads = threads;
      segment.plan.tile = {threads * segment.plan.vector};
    }
    auto launch = std::ranges::find_if(launches, [&](const Launch& launch) {
      return launch.threads == segment.plan.threads && launch.With(segment).Fits();
    });
    if (launch == launches.end()) launch = launches.insert(launch, Launch{.threads = segment.plan.threads});
    *launch = launch->With(segment);
    launch->segments.push_back(std::move(segment));
  }
  std::erase_if(launches, [](const Launch& launch) { return launch.segments.size() < 2; });
  return launches;
}

// Whether the region's results are the arrays of the launch's kernels, each once.
bool GivesEachOnce(const Instruction& region, const Launch& launch) {
  std::set<NamedArray> given;
  const std::vector<const Instruction*> roots = FusionRoots(region);
  for (const Instruction* root : roots) given.insert(ArrayNamedBy(*root));
  if (std::ranges::any_of(given, [](const NamedArray& each) { return each.of->Is(Opcode::kParameter); })) return false;
  int64_t made = 0;
  for (const Segment& segment : launch.segments) made += segment.kernel->shape().LeafCount();
  return std::ssize(given) == made && std::ssize(roots) == made;
}

bool IsOneLaunch(const Instruction& region, const std::vector<Launch>& launches) {
  if (launches.size() != 1 || !GivesEachOnce(region, launches.front())) return false;
  const auto computes = [](const Instruction* inst) { return inst->Is(Opcode::kFusion) || inst->Is(Opcode::kCopy); };
  return std::ranges::count_if(FusedComputation(region).Instructions(), computes) ==
         std::ssize(launches.front().segments);
}

// Unit elements for each block. A block takes several steps if enough blocks remain. Empty without units.
std::vector<int64_t> TileOf(const Launch& launch, const DeviceDescription& device) {
  int64_t elements = 0;
  for (const Segment& segment : launch.segments) {
    for (const SegmentUnit& unit : segment.units) elements += unit.elements;
  }
  constexpr int64_t kOfThread = 4, kSteps = 4;
  const int64_t tile = launch.threads * kOfThread;
  if (elements == 0) return {};
  return {elements >= 2 * device.multiprocessors * kSteps * tile ? kSteps * tile : tile};
}

}  // namespace

NamedArray ArrayNamedBy(const Instruction& value, ShapeIndex index) {
  const Instruction* of = &value;
  for (; of->Is(Opcode::kGetTupleElement) || of->Is(Opcode::kBitcast); of = &of->operand(0)) {
    if (of->Is(Opcode::kGetTupleElement)) index.insert(index.begin(), of->tuple_index());
  }
  return {of, std::move(index)};
}

std::optional<RegionOperand> OperandOfRegion(const Instruction& value, ShapeIndex index) {
  NamedArray named = ArrayNamedBy(value, std::move(index));
  if (!named.of->Is(Opcode::kParameter)) return std::nullopt;
  return RegionOperand{named.of->parameter_number(), std::move(named.index)};
}

std::vector<SegmentUnit> UnitsOf(const Instruction& kernel) { return Units(kernel).Find(); }

SegmentLaunch LaunchOf(const Instruction& region) {
  SegmentLaunch launch;
  std::map<std::string, size_t> number;
  for (const Instruction* inst : FusedComputation(region).PostOrder()) {
    if (!IsKernel(*inst)) continue;
    std::vector<SegmentUnit> units = UnitsOf(*inst);
    if (units.empty()) launch.others.push_back(inst);
    for (SegmentUnit& unit : units) {
      const auto [found, is_new] = number.try_emplace(unit.key, launch.alike.size());
      if (is_new) launch.alike.emplace_back();
      launch.alike[found->second].push_back(std::move(unit));
    }
  }
  return launch;
}

Result<PlanAnswer> PlanSegments(PlanRequest& request) {
  const Instruction& region = request.body().source();
  if (RegionOf(region) != "segments") return PlanAnswer{};
  if (!request.device().is_gpu)
    FAIL(UnsupportedAt(region, "U103", "on a host, the kernels of this region run one by one"));
  const std::vector<Launch> launches = LaunchesOf(region, request.device());
  if (!IsOneLaunch(region, launches))
    FAIL(UnsupportedAt(region, "U103", "the kernels of this region do not fit one launch, so they run one by one"));
  return PlanAnswer{.candidates = {{{.kind = KernelKind::kSegments,
                                     .tile = TileOf(launches.front(), request.device()),
                                     .threads = launches.front().threads}}}};
}

RegionGroups GroupSegments(const Instruction& region, const DeviceDescription& device) {
  RegionGroups groups;
  for (const Launch& launch : LaunchesOf(region, device)) {
    groups.emplace_back();
    for (const Segment& segment : launch.segments) groups.back().push_back(segment.kernel);
  }
  return groups;
}

void PlanSegments(Module& module, const DeviceDescription& device) {
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* region : computation->Instructions()) {
      if (RegionOf(*region) != "segments") continue;
      for (const Launch& launch : LaunchesOf(*region, device)) {
        for (const Segment& segment : launch.segments) {
          if (!segment.units.empty()) continue;
          // The kernel belongs to `module`.
          SetPlan(const_cast<Instruction&>(*segment.kernel),
                  {.target = std::string(device.name), .kernels = {segment.plan}});
        }
      }
    }
  }
}

}  // namespace hlo::gpu
