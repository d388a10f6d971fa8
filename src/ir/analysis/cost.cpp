#include "ir/analysis/cost.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "base/text.h"
#include "ir/analysis/region.h"
#include "ir/analysis/running_fold.h"
#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"

namespace hlo {
namespace {

// A double, because counts may exceed int64. An unbounded dimension counts as 0.
double Elements(const Shape& shape) {
  if (!shape.IsArray()) return 0;
  double product = 1;
  for (const int64_t dim : shape.dims()) product *= static_cast<double>(std::max<int64_t>(dim, 0));
  return product;
}

double Bytes(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsArray() ? Elements(shape) * static_cast<double>(ByteWidth(shape.type())) : 0;
  double sum = 0;
  for (const Shape& element : shape.elements()) sum += Bytes(element);
  return sum;
}

double SizeOf(const Shape& shape, const std::vector<int64_t>& dimensions) {
  double product = 1;
  for (const int64_t d : dimensions) product *= static_cast<double>(std::max<int64_t>(shape.dim(d), 0));
  return product;
}

bool IsComplexOp(const Instruction& inst) {
  const Shape& shape = inst.operand_count() > 0 ? inst.operand(0).shape() : inst.shape();
  return shape.IsArray() && IsComplex(shape.type());
}

Cost Arithmetic(double count) { return {.flops = count, .scalar_work = count}; }

// ---- Arithmetic by family of ops ---------------------------------------------------------------------------------

Cost OfOneElement(const Instruction& inst) {
  const ElementCost& cost = RowOf(inst.opcode()).cost;
  const bool is_complex = IsComplexOp(inst);
  return {.flops = is_complex ? cost.complex_flops : cost.flops,
          .transcendentals = cost.function ? (is_complex ? 2.0 : 1.0) : 0,
          .scalar_work = InstructionCost(inst)};
}

// Each term is a multiply and an add, or 8 operations if it is complex.
Cost SumOfProducts(const Instruction& inst, double terms) {
  int64_t bits = 8;
  for (int64_t i = 0; i < 2; ++i) bits = std::max<int64_t>(bits, BitWidth(inst.operand(i).shape().type()));
  const DotWidth width = bits <= 8    ? DotWidth::k8
                         : bits <= 16 ? DotWidth::k16
                         : bits <= 32 ? DotWidth::k32
                                      : DotWidth::k64;
  Cost cost;
  cost.flops = (IsComplexOp(inst) ? 8 : 2) * terms;
  cost.dot_flops[static_cast<int>(IsComplexOp(inst) && bits == 64 ? DotWidth::k32 : width)] = cost.flops;
  return cost;
}

Cost OfDot(const Instruction& inst) {
  const double depth = SizeOf(inst.operand(0).shape(), inst.attrs<DotAttrs>().lhs_contracting);
  return SumOfProducts(inst, Elements(inst.shape()) * depth);
}

// Number of pairs (result position o, window position k) along a spatial dimension that read an element, not padding or
// a hole: o * stride + k * window_dilation - pad_low == i * base_dilation for an i in [0, size). If counting would take
// more than kMostSteps steps, all pairs count.
double TapsOf(const WindowDim& window, int64_t size, int64_t results) {
  const int64_t period = window.base_dilation;
  constexpr double kMostSteps = 1e6;
  if (static_cast<double>(window.size) * static_cast<double>(period) > kMostSteps)
    return static_cast<double>(window.size) * static_cast<double>(results);
  const auto floor_div = [](__int128 a, __int128 b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
  const __int128 limit = static_cast<__int128>(size - 1) * window.base_dilation;
  double taps = 0;
  for (int64_t k = 0; k < window.size; ++k) {
    const __int128 offset = static_cast<__int128>(k) * window.window_dilation - window.pad_low;
    // 0 <= o * stride + offset <= limit.
    const __int128 low = std::max<__int128>(0, -floor_div(offset, window.stride));
    const __int128 high = std::min<__int128>(results - 1, floor_div(limit - offset, window.stride));
    for (__int128 o = low; o < low + period && o <= high; ++o) {
      if ((o * window.stride + offset) % window.base_dilation == 0)
        taps += static_cast<double>((high - o) / period + 1);
    }
  }
  return taps;
}

Cost OfConvolution(const Instruction& inst) {
  const auto& attrs = inst.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const Shape &lhs = inst.operand(0).shape(), &rhs = inst.operand(1).shape(), &out = inst.shape();
  double terms = static_cast<double>(rhs.dim(labels.rhs_input_feature));
  terms *= SizeOf(out, {labels.out_batch, labels.out_feature});
  for (size_t i = 0; i < attrs.window.dims.size(); ++i)
    terms *= TapsOf(attrs.window.dims[i], lhs.dim(labels.lhs_spatial[i]), out.dim(labels.out_spatial[i]));
  return SumOfProducts(inst, terms);
}

double WindowSize(const Window& window) {
  double product = 1;
  for (const WindowDim& dim : window.dims) product *= static_cast<double>(dim.size);
  return product;
}

// Cooley-Tukey: 5 N log2 N real operations for N complex points, or half if one side is real.
Cost OfFft(const Instruction& inst) {
  const auto& attrs = inst.attrs<FftAttrs>();
  double points = 1;
  for (const int64_t length : attrs.fft_length) points *= static_cast<double>(length);
  const double all = std::max(Elements(inst.operand(0).shape()), Elements(inst.shape()));
  const bool real = attrs.fft_type == FftType::kRfft || attrs.fft_type == FftType::kIrfft;
  return Arithmetic((real ? 2.5 : 5) * all * std::log2(std::max(points, 1.0)));
}

// n^3 / 3 for an n x n matrix.
Cost OfCholesky(const Instruction& inst) {
  const auto rows = static_cast<double>(inst.shape().dim(inst.shape().rank() - 1));
  return Arithmetic((IsComplexOp(inst) ? 4 : 1) * Elements(inst.shape()) * rows / 3);
}

// A multiply and an add for each earlier unknown, rows / 2 on average.
Cost OfTriangularSolve(const Instruction& inst) {
  const Shape& a = inst.operand(0).shape();
  const auto rows = static_cast<double>(a.dim(a.rank() - 1));
  return Arithmetic((IsComplexOp(inst) ? 4 : 1) * Elements(inst.operand(1).shape()) * rows);
}

double ComparisonsPerElement(int64_t length) {
  return std::ceil(std::log2(static_cast<double>(std::max<int64_t>(length, 1))));
}

// ---- Traffic -----------------------------------------------------------------------------------------------------

// Returns 0 if the fused computation has no parameter for the operand.
double BytesReadInside(const Instruction& parameter, bool in_region);
double BytesReadByFusion(const Instruction& fusion, int64_t operand, bool is_region) {
  const auto parameters = FusedComputation(fusion).parameters();
  return operand < std::ssize(parameters) ? BytesReadInside(*parameters[operand], is_region) : 0;
}

// A kernel in a region reads as much as outside. A fusion in another fusion counts as reading whole operands.
double BytesReadByInner(const Instruction& fusion, int64_t operand, bool in_region) {
  return in_region ? BytesReadByFusion(fusion, operand, false) : Bytes(fusion.operand(operand).shape());
}

// Bytes that users read, directly or through views. A tuple in a region is the initial state of a loop, which reads it
// whole.
double BytesReadInside(const Instruction& parameter, bool in_region) {
  double read = 0;
  std::vector<const Instruction*> names = {&parameter};
  for (size_t n = 0; n < names.size(); ++n) {
    for (const Instruction* user : names[n]->users()) {
      if (user->Is(kNoKernel)) {
        if (in_region && user->Is(Opcode::kTuple) && !user->IsRoot()) read += Bytes(names[n]->shape());
        else if (user->operand_count() == 1) names.push_back(user);
        continue;
      }
      double by_user = 0;
      for (int64_t i = 0; i < user->operand_count(); ++i) {
        if (&user->operand(i) != names[n]) continue;
        by_user += user->Is(Opcode::kFusion) ? BytesReadByInner(*user, i, in_region) : BytesRead(*user, i);
      }
      read += std::min(by_user, Bytes(names[n]->shape()));
    }
  }
  return std::min(read, Bytes(parameter.shape()));
}

// The roots of a fusion, or of the kernel whose result a region returns.
std::vector<const Instruction*> WrittenBy(const Instruction& fusion) {
  std::vector<const Instruction*> roots = FusionRoots(fusion);
  if (!IsRegion(fusion)) return roots;
  for (const Instruction*& root : roots) {
    const bool is_element = root->Is(Opcode::kGetTupleElement);
    const Instruction& kernel = is_element ? root->operand(0) : *root;
    if (!IsFusion(kernel) || IsRegion(kernel)) continue;
    if (is_element != FusedComputation(kernel).root().Is(Opcode::kTuple)) continue;
    root = FusionRoots(kernel)[is_element ? root->tuple_index() : 0];
  }
  return roots;
}

void AddTraffic(const Instruction& inst, Cost& cost) {
  if (inst.Is(kNoKernel)) return;
  std::vector<std::pair<const Instruction*, double>> reads;
  for (int64_t i = 0; i < inst.operand_count(); ++i) reads.emplace_back(&inst.operand(i), BytesRead(inst, i));
  std::ranges::stable_sort(reads, {}, [](const auto& read) { return read.first->id(); });
  for (size_t i = 0; i < reads.size();) {
    const Instruction* value = reads[i].first;
    double sum = 0;
    for (; i < reads.size() && reads[i].first == value; ++i) sum += reads[i].second;
    cost.bytes_read += std::min(sum, Bytes(value->shape()));
  }
  cost.bytes_written += BytesWritten(inst);
}

}  // namespace

double BytesRead(const Instruction& inst, int64_t operand) {
  if (inst.Is(kNoKernel)) return 0;
  const double all = Bytes(inst.operand(operand).shape());
  const bool first = operand == 0;
  switch (inst.opcode()) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kGather: return first ? Bytes(inst.shape()) : all;
    case Opcode::kDynamicUpdateSlice: return first ? 0 : all;
    case Opcode::kScatter: {
      const int64_t inputs = inst.operand_count() / 2;
      return operand < inputs ? Bytes(inst.operand(inputs + 1 + operand).shape()) : all;
    }
    case Opcode::kFusion: return BytesReadByFusion(inst, operand, IsRegion(inst));
    default: return all;
  }
}

double BytesMoved(const Instruction& inst) {
  Cost cost;
  AddTraffic(inst, cost);
  return cost.bytes();
}

double BytesWritten(const Instruction& inst) {
  if (inst.Is(Opcode::kFusion)) {
    double sum = 0;
    for (const Instruction* root : WrittenBy(inst)) sum += BytesWritten(*root);
    return sum;
  }
  if (inst.Is(Opcode::kDynamicUpdateSlice)) return Bytes(inst.operand(1).shape());
  if (!inst.Is(Opcode::kScatter)) return Bytes(inst.shape());
  double sum = 0;  // An element with several updates is written once.
  const int64_t inputs = inst.operand_count() / 2;
  for (int64_t i = 0; i < inputs; ++i)
    sum += std::min(Bytes(inst.operand(i).shape()), Bytes(inst.operand(inputs + 1 + i).shape()));
  return sum;
}

Cost& Cost::operator+=(const Cost& other) {
  flops += other.flops;
  transcendentals += other.transcendentals;
  for (int i = 0; i < kDotWidths; ++i) dot_flops[i] += other.dot_flops[i];
  scalar_work += other.scalar_work;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  return *this;
}

Cost Cost::Times(double count) const {
  Cost cost = *this;
  cost.flops *= count;
  cost.transcendentals *= count;
  for (double& flops : cost.dot_flops) flops *= count;
  cost.scalar_work *= count;
  cost.bytes_read *= count;
  cost.bytes_written *= count;
  return cost;
}

Roofline RooflineOf(const Cost& cost, const DeviceDescription& device) {
  Roofline time = {.memory = cost.bytes() / device.memory_rate, .scalar = cost.scalar_work / device.instruction_rate};
  for (int width = 0; width < kDotWidths; ++width) time.dots += cost.dot_flops[width] / device.dot_rates[width];
  return time;
}

const Cost& CostAnalysis::CostOf(const Instruction& inst) const {
  const auto known = costs_.find(inst.id());
  return known != costs_.end() ? known->second : costs_.emplace(inst.id(), ComputeCost(inst)).first->second;
}

const Cost& CostAnalysis::CostOf(const Computation& computation) const {
  if (const auto known = sums_.find(computation.id()); known != sums_.end()) return known->second;
  std::vector<const Computation*> pending = {&computation};
  while (!pending.empty()) {
    const Computation* const next = pending.back();
    const size_t before = pending.size();
    if (!sums_.contains(next->id())) {
      for (const Computation* callee : std::views::reverse(next->Callees())) {
        if (!sums_.contains(callee->id())) pending.push_back(callee);
      }
      if (pending.size() > before) continue;
      Cost sum;
      for (const Instruction* inst : next->instructions()) sum += ComputeCost(*inst);
      sums_.emplace(next->id(), sum);
    }
    pending.pop_back();
  }
  return sums_.at(computation.id());
}

const std::vector<CostGap>& CostAnalysis::gaps() const {
  CostOf(module_.entry());
  return gaps_;
}

// An instruction may be visited alone and in its computation, but its gap is added once.
void CostAnalysis::AddGap(const Instruction& inst, std::string_view what) const {
  if (with_gap_.insert(inst.id()).second) gaps_.push_back({&inst, what});
}

Cost CostAnalysis::CostOfCalls(const Instruction& inst) const {
  if (inst.Is(Opcode::kFusion)) {
    Cost cost = CostOf(FusedComputation(inst));
    cost.bytes_read = cost.bytes_written = 0;
    for (int64_t i = 0; i < inst.operand_count(); ++i) cost.bytes_read += BytesRead(inst, i);
    cost.bytes_written = BytesWritten(inst);
    return cost;
  }
  if (inst.Is(Opcode::kConditional)) {
    AddGap(inst, "the branch depends on data; the branch with most work and traffic is counted");
    const Cost* most = nullptr;
    const auto weight = [](const Cost& c) { return c.flops + c.scalar_work + c.bytes(); };
    for (const Computation* branch : inst.attrs<ConditionalAttrs>().branches()) {
      if (most == nullptr || weight(CostOf(*branch)) > weight(*most)) most = &CostOf(*branch);
    }
    return *most;
  }
  if (inst.Is(Opcode::kWhile) && !TripCount(inst)) AddGap(inst, "the trip count depends on data; one trip is counted");
  Cost cost;
  for (const auto& [called, times] : RunsOf(inst)) cost += CostOf(*called).Times(times);
  return cost;
}

Cost CostAnalysis::CostOfApplied(const Instruction& inst) const {
  const auto applied = [&](const Computation* computation, double times) {
    Cost body = computation != nullptr ? CostOf(*computation) : Cost{};
    body.bytes_read = body.bytes_written = 0;  // Values of a called computation stay in registers.
    return body.Times(times);
  };
  switch (inst.opcode()) {
    case Opcode::kReduce: return applied(inst.attrs<ReduceAttrs>().to_apply, Elements(inst.operand(0).shape()));
    case Opcode::kScan: return applied(inst.attrs<ScanAttrs>().to_apply, Elements(inst.operand(0).shape()));
    // Window positions on padding count. A running fold takes one step for each result.
    case Opcode::kReduceWindow: {
      const auto& attrs = inst.attrs<ReduceWindowAttrs>();
      const Shape& result = inst.shape().IsTuple() ? inst.shape().element(0) : inst.shape();
      return applied(attrs.to_apply, Elements(result) * (RunningFoldOf(inst) ? 1 : WindowSize(attrs.window)));
    }
    case Opcode::kSelectAndScatter: {
      const auto& attrs = inst.attrs<SelectAndScatterAttrs>();
      const double sources = Elements(inst.operand(1).shape());
      Cost cost = applied(attrs.select, sources * WindowSize(attrs.window));
      return cost += applied(attrs.scatter, sources);
    }
    case Opcode::kScatter:
      return applied(inst.attrs<ScatterAttrs>().to_apply, Elements(inst.operand(inst.operand_count() - 1).shape()));
    case Opcode::kMap: return applied(inst.attrs<MapAttrs>().to_apply, Elements(inst.shape()));
    case Opcode::kSort: {
      const auto& attrs = inst.attrs<SortAttrs>();
      const Shape& keys = inst.operand(0).shape();
      return applied(attrs.to_apply, Elements(keys) * ComparisonsPerElement(keys.dim(attrs.dimension.value)));
    }
    default: {
      Cost cost;
      for (const Instruction* operand : inst.operands())
        cost += applied(inst.attrs<CollectiveAttrs>().to_apply, Elements(operand->shape()));
      return cost;
    }
  }
}

Cost CostAnalysis::ComputeCost(const Instruction& inst) const {
  Cost cost;
  const double elements = Elements(inst.shape());
  switch (inst.opcode()) {
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kFusion:
    case Opcode::kCall:
    case Opcode::kAsyncStart: return CostOfCalls(inst);

    case Opcode::kDot:
    case Opcode::kScaledDot: cost = OfDot(inst); break;
    case Opcode::kConvolution: cost = OfConvolution(inst); break;
    case Opcode::kFft: cost = OfFft(inst); break;
    case Opcode::kCholesky: cost = OfCholesky(inst); break;
    case Opcode::kTriangularSolve: cost = OfTriangularSolve(inst); break;

    case Opcode::kReduce:
    case Opcode::kScan:
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
    case Opcode::kScatter:
    case Opcode::kMap:
    case Opcode::kSort:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
    case Opcode::kCollectiveReduce: cost = CostOfApplied(inst); break;
    // A heap keeps the best k elements.
    case Opcode::kTopK:
      cost = Arithmetic(Elements(inst.operand(0).shape()) * ComparisonsPerElement(inst.attrs<TopKAttrs>().k + 1));
      break;

    // Mean (add), variance (subtract, multiply, add), result (subtract, 2 multiplies, add).
    case Opcode::kBatchNormTraining: cost = Arithmetic(8 * Elements(inst.operand(0).shape())); break;
    case Opcode::kBatchNormInference: cost = Arithmetic(4 * elements); break;
    // Normalised input (subtract, multiply), both sums (multiply, 2 adds), gradient (2 multiplies, 2 subtracts,
    // multiply by scale).
    case Opcode::kBatchNormGrad: cost = Arithmetic(10 * Elements(inst.operand(0).shape())); break;
    // Philox: 10 rounds of 2 wide multiplies, 4 xors and 2 adds for 4 words.
    case Opcode::kRngBitGenerator:
      cost = Arithmetic(20 * Elements(inst.shape().IsTuple() ? inst.shape().element(1) : inst.shape()));
      break;
    case Opcode::kRng: cost = Arithmetic(20 * elements); break;

    case Opcode::kCustomCall:
      AddGap(inst, "arithmetic of custom calls is unknown; only their traffic is counted");
      break;
    case Opcode::kRaggedDot:
      AddGap(inst, "arithmetic of ragged-dot depends on data; only its traffic is counted");
      break;

    default:
      if (inst.Is(kElementwise)) {
        cost = OfOneElement(inst).Times(elements);
      } else {
        cost.scalar_work = elements * InstructionCost(inst);
      }
  }
  if (inst.Is(kCollective) && !inst.Is(kNoKernel)) AddGap(inst, "the links between devices are not modelled");
  AddTraffic(inst, cost);
  return cost;
}

}  // namespace hlo
