#include "driver/run/coverage.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "base/text.h"
#include "driver/optimize.h"
#include "driver/run/fallback.h"
#include "gpu/emitters/emitter.h"
#include "gpu/runtime/planned.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "ir/analysis/region.h"
#include "ir/verifier/verifier.h"
#include "parser/parser.h"

namespace hlo {
namespace {

// T is the measured type, and NUMBER a literal of it.
constexpr std::string_view kParameters = R"(
  a = T[2,3] parameter(0)
  b = T[2,3] parameter(1)
  c = T[3,2] parameter(2)
  square = T[3,3] parameter(3)
  row = T[1,3] parameter(4)
  v = T[3] parameter(5)
  s = T[] parameter(6)
  pair = T[2] parameter(17)
  t = T[] parameter(7)
  image = T[1,4,2] parameter(8)
  filter = T[2,2,5] parameter(9)
  index = s32[] parameter(10)
  indices = s32[2,1] parameter(11)
  state = u64[2] parameter(12)
  mask = pred[2,3] parameter(13)
  bits = u32[2,3] parameter(14)
  grouped = T[2,3,2] parameter(15)
  scale = T[1,1] parameter(16)
  groups = s32[2] constant({1, 1})
  there = token[] after-all()
  one = s32[1] constant({1})
  two = s32[] constant(2)
  three = s32[] constant(3)
  looped = (s32[], T[]) tuple(index, s)
)";

// Some computations are invalid for some types, so a program includes only those that its probes name.
constexpr std::pair<std::string_view, std::string_view> kComputations[] = {
    {"same", "{ ROOT x = T[] parameter(0) }"},
    {"sum", R"({ x = T[] parameter(0)
  y = T[] parameter(1)
  ROOT z = T[] add(x, y) })"},
    {"whole", "{ ROOT x = T[2,3] parameter(0) }"},
    // An async computation must have no other caller.
    {"whole_start", "{ ROOT x = T[2,3] parameter(0) }"},
    {"whole_update", "{ ROOT x = T[2,3] parameter(0) }"},
    {"whole_done", "{ ROOT x = T[2,3] parameter(0) }"},
    {"running", R"({ x = T[2] parameter(0)
  y = T[2] parameter(1)
  z = T[2] add(x, y)
  ROOT both = (T[2], T[2]) tuple(z, z) })"},
    {"less", R"({ x = T[] parameter(0)
  y = T[] parameter(1)
  ROOT z = pred[] compare(x, y), direction=LT })"},
    {"once", R"({ x = (s32[], T[]) parameter(0)
  i = s32[] get-tuple-element(x), index=0
  one = s32[] constant(1)
  ROOT z = pred[] compare(i, one), direction=LT })"},
    {"step", R"({ x = (s32[], T[]) parameter(0)
  i = s32[] get-tuple-element(x), index=0
  y = T[] get-tuple-element(x), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT z = (s32[], T[]) tuple(next, y) })"},
};

// The smallest use of ops whose shape or attributes do not follow from the op table. `before` is the instruction on the
// previous line. Ops without a probe are elementwise, or not measured, such as send and custom-call.
struct Probe {
  Opcode opcode;
  std::string_view text;
};
constexpr Probe kProbes[] = {
    {Opcode::kAddDependency, "T[2,3] add-dependency(a, there)"},
    {Opcode::kAfterAll, "token[] after-all(there)"},
    {Opcode::kAllGatherDone, "(T[2,3], T[2,3]) all-gather-start(a), dimensions={0}\nT[2,3] all-gather-done(before)"},
    {Opcode::kAllGatherStart, "(T[2,3], T[2,3]) all-gather-start(a), dimensions={0}\nT[2,3] all-gather-done(before)"},
    {Opcode::kAllReduceDone,
     "T[2,3] all-reduce-start(a), replica_groups={}, to_apply=sum\nT[2,3] all-reduce-done(before)"},
    {Opcode::kAllReduceStart,
     "T[2,3] all-reduce-start(a), replica_groups={}, to_apply=sum\nT[2,3] all-reduce-done(before)"},
    {Opcode::kAsyncDone,
     "((T[2,3]), T[2,3]) async-start(a), calls=whole_done\nT[2,3] async-done(before), calls=whole_done"},
    {Opcode::kAsyncStart,
     "((T[2,3]), T[2,3]) async-start(a), calls=whole_start\nT[2,3] async-done(before), calls=whole_start"},
    {Opcode::kAsyncUpdate,
     "((T[2,3]), T[2,3]) async-start(a), calls=whole_update\n((T[2,3]), T[2,3]) async-update(before), "
     "calls=whole_update\n"
     "T[2,3] async-done(before), calls=whole_update"},
    {Opcode::kCollectiveBroadcast, "T[2,3] collective-broadcast(a), replica_groups={{0}}"},
    {Opcode::kCollectivePermute, "T[2,3] collective-permute(a), source_target_pairs={{0,0}}"},
    {Opcode::kCollectivePermuteDone,
     "(T[2,3], T[2,3]) collective-permute-start(a), source_target_pairs={{0,0}}\nT[2,3] "
     "collective-permute-done(before)"},
    {Opcode::kCollectivePermuteStart,
     "(T[2,3], T[2,3]) collective-permute-start(a), source_target_pairs={{0,0}}\nT[2,3] "
     "collective-permute-done(before)"},
    {Opcode::kCollectiveReduce, "T[2,3] collective-reduce(a), replica_groups={{0}}, to_apply=sum"},
    {Opcode::kCopyDone, "(T[2,3], T[2,3], u32[]) copy-start(a)\nT[2,3] copy-done(before)"},
    {Opcode::kCopyStart, "(T[2,3], T[2,3], u32[]) copy-start(a)\nT[2,3] copy-done(before)"},
    {Opcode::kDomain, "T[2,3] domain(a), domain={kind=\"sharding\", entry={replicated}, exit={replicated}}"},
    {Opcode::kFusion, "T[2,3] fusion(a), kind=kLoop, calls=whole"},
    {Opcode::kGetTupleElement, "(T[2,3], T[3]) tuple(a, v)\nT[3] get-tuple-element(before), index=1"},
    {Opcode::kPartitionId, "u32[] partition-id()"},
    {Opcode::kReduceScatter, "T[2,3] reduce-scatter(a), replica_groups={{0}}, dimensions={0}, to_apply=sum"},
    {Opcode::kReplicaId, "u32[] replica-id()"},
    {Opcode::kRngGetAndUpdateState, "u64[2] rng-get-and-update-state(), delta=1"},
    {Opcode::kScan, "(T[2,3], T[2]) scan(a, pair), dimensions={1}, num_carries=1, to_apply=running"},
    {Opcode::kAllGather, "T[2,3] all-gather(a), dimensions={0}"},
    {Opcode::kAllReduce, "T[2,3] all-reduce(a), replica_groups={}, to_apply=sum"},
    {Opcode::kAllToAll, "T[2,3] all-to-all(a), dimensions={0}"},
    {Opcode::kBatchNormGrad, "(T[2,3], T[3], T[3]) batch-norm-grad(a, v, v, v, b), epsilon=0.001, feature_index=1"},
    {Opcode::kBatchNormInference, "T[2,3] batch-norm-inference(a, v, v, v, v), epsilon=0.001, feature_index=1"},
    {Opcode::kBatchNormTraining, "(T[2,3], T[3], T[3]) batch-norm-training(a, v, v), epsilon=0.001, feature_index=1"},
    {Opcode::kBitcast, "T[6] bitcast(a)"},
    {Opcode::kBitcastConvert, "T[2,3] bitcast-convert(a)"},
    {Opcode::kBroadcast, "T[2,3] broadcast(v), dimensions={1}"},
    {Opcode::kCall, "T[] call(s, t), to_apply=sum"},
    {Opcode::kCholesky, "T[3,3] cholesky(square), lower=true"},
    {Opcode::kCompare, "pred[2,3] compare(a, b), direction=LE"},
    {Opcode::kConcatenate, "T[4,3] concatenate(a, b), dimensions={0}"},
    {Opcode::kConditional, "T[] conditional(index, s, t), branch_computations={same, same}"},
    {Opcode::kConstant, "T[2] constant({NUMBER, NUMBER})"},
    {Opcode::kConvert, "f32[2,3] convert(a)"},
    {Opcode::kConvolution, "T[1,3,5] convolution(image, filter), window={size=2}, dim_labels=b0f_0io->b0f"},
    {Opcode::kDot, "T[2,2] dot(a, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {Opcode::kDynamicSlice, "T[1,3] dynamic-slice(a, index, index), dynamic_slice_sizes={1,3}"},
    {Opcode::kDynamicUpdateSlice, "T[2,3] dynamic-update-slice(a, row, index, index)"},
    {Opcode::kDynamicReshape, "T[3,2] dynamic-reshape(a, three, two)"},
    {Opcode::kFft, "T[2,3] fft(a), fft_type=FFT, fft_length={3}"},
    {Opcode::kGather,
     "T[2,3] gather(a, indices), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,3}"},
    {Opcode::kGetDimensionSize, "s32[] get-dimension-size(a), dimensions={0}"},
    {Opcode::kIota, "T[2,3] iota(), iota_dimension=1"},
    {Opcode::kMap, "T[2,3] map(a, b), dimensions={0,1}, to_apply=sum"},
    {Opcode::kOptimizationBarrier, "T[2,3] opt-barrier(a)"},
    {Opcode::kPad, "T[2,5] pad(a, s), padding=0_0x1_1"},
    {Opcode::kParameter, "T[2] parameter(18)"},
    {Opcode::kRaggedAllToAll, "T[2,3] ragged-all-to-all(a, b, one, one, one, one), replica_groups={{0}}"},
    {Opcode::kRaggedDot,
     "T[2,2] ragged-dot(a, grouped, groups), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
     "rhs_group_dims={0}"},
    {Opcode::kReduce, "T[2] reduce(a, s), dimensions={1}, to_apply=sum"},
    {Opcode::kReducePrecision, "T[2,3] reduce-precision(a), exponent_bits=5, mantissa_bits=2"},
    {Opcode::kReduceWindow, "T[2,2] reduce-window(a, s), window={size=1x2}, to_apply=sum"},
    {Opcode::kReshape, "T[3,2] reshape(a)"},
    {Opcode::kReverse, "T[2,3] reverse(a), dimensions={1}"},
    {Opcode::kRng, "T[2,3] rng(s, t), distribution=rng_uniform"},
    {Opcode::kRngBitGenerator, "(u64[2], T[2,3]) rng-bit-generator(state), algorithm=rng_default"},
    {Opcode::kScaledDot, "T[2,2] scaled-dot(a, c, scale, scale), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {Opcode::kScatter,
     "T[2,3] scatter(a, indices, b), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum"},
    {Opcode::kSelect, "T[2,3] select(mask, a, b)"},
    {Opcode::kSelectAndScatter, "T[2,3] select-and-scatter(a, b, s), window={size=1x1}, select=less, scatter=sum"},
    {Opcode::kSetDimensionSize, "T[2,<=3] set-dimension-size(a, two), dimensions={1}"},
    {Opcode::kShuffle, "T[2,3] shuffle(a), dimensions={1}, mode=rotate, shifts={1}"},
    {Opcode::kSlice, "T[1,3] slice(a), slice={[0:1], [0:3]}"},
    {Opcode::kSort, "T[2,3] sort(a), dimensions={1}, to_apply=less"},
    {Opcode::kStochasticConvert, "s8[2,3] stochastic-convert(a, bits)"},
    {Opcode::kTopK, "(T[2,2], s32[2,2]) topk(a), k=2, largest=true"},
    {Opcode::kTranspose, "T[3,2] transpose(a), dimensions={1,0}"},
    {Opcode::kTriangularSolve,
     "T[3,2] triangular-solve(square, c), left_side=true, lower=true, transpose_a=NO_TRANSPOSE"},
    {Opcode::kTuple, "(T[2,3], T[3]) tuple(a, v)"},
    {Opcode::kWhile, "(s32[], T[]) while(looped), condition=once, body=step"},
};

std::string ProbeText(Opcode opcode) {
  for (const Probe& probe : kProbes) {
    if (probe.opcode == opcode) return std::string(probe.text);
  }
  const OpRow& row = RowOf(opcode);
  if (!(row.traits & kElementwise) || row.arity == kVariadic) return "";
  constexpr std::string_view kOperands[] = {"a", "a, b", "a, b, a"};
  return Str(row.text, "(", kOperands[row.arity - 1], ")");
}

std::string ProgramOf(std::span<const std::string> probes, PrimitiveType type) {
  std::string text = "HloModule probe\n", body = "ENTRY main {" + std::string(kParameters);
  std::vector<std::string> names;
  for (const std::string& probe : probes) {
    names.push_back(Str("r", names.size()));
    std::string before;
    for (std::string_view line : Split(probe, '\n')) {
      std::string text(line);
      if (const size_t at = text.find("before"); at != std::string::npos) text.replace(at, 6, before);
      const bool is_last = line.data() + line.size() == probe.data() + probe.size();
      before = is_last ? names.back() : Str(names.back(), "_", before.size());
      body += Str("  ", before, " = ", text, "\n");
    }
  }
  const auto is_named = [](std::string_view name) {
    return [name](const std::string& probe) { return probe.find(name) != std::string::npos; };
  };
  for (const auto& [name, computation] : kComputations) {
    if (std::ranges::any_of(probes, is_named(name))) text += Str(name, " ", computation, "\n");
  }
  text += Str(body, "  ROOT all = tuple(", Join(names, ", "), ")\n}\n");
  const auto replace = [&](std::string_view from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace("T[", Str(ToString(type), "["));
  replace("NUMBER", IsComplex(type) ? "(1, 0)" : "1");
  return text;
}

std::unique_ptr<Module> ProbeModule(const std::string& probe, PrimitiveType type) {
  const std::string text = ProgramOf(std::span(&probe, 1), type);
  auto module = Parse(std::make_shared<const SourceText>("<probe>", text));
  if (!module || !Verify(**module)) return nullptr;
  Computation& entry = (*module)->entry();
  Instruction& all = entry.root();
  entry.SetRoot(all.operand(0));
  entry.Remove(all);
  (*module)->header.entry_result.reset();
  return std::move(*module);
}

// Whether the interpreter implements an op without a probe. Any operands suffice.
bool Interprets(Opcode opcode) {
  const Shape shape(PrimitiveType::kF32, {2, 3});
  Module module("probe");
  Computation& computation = module.AddComputation("entry");
  const int operands = RowOf(opcode).arity == kVariadic ? 1 : RowOf(opcode).arity;
  std::vector<Instruction*> parameters;
  for (int i = 0; i < operands; ++i) parameters.push_back(&computation.AddParameter(i, shape));
  return CanInterpret(computation.Add(opcode, shape, parameters));
}

bool Interprets(const Module& module) {
  const auto arguments = MakeArguments(module);
  return arguments && Interpret(module, *arguments);
}

// Fails also for steps that the interpreter runs by preference.
Status EmitKernels(const Module& module, const DeviceDescription& target) {
  const auto device = gpu::OpenHostDevice();
  const gpu::CompileOptions options{.target = &target, .libraries = false, .host = InterpreterCalls({})};
  const auto planned = TRY(gpu::Plan(module, *device, options));
  for (const gpu::PlannedStep& step : planned->steps()) {
    if (step.why_not) FAIL(*step.why_not);
    if (step.kind == gpu::StepKind::kKernel) TRY(gpu::EmitFusion(*step.inst, step.plan));
    if (step.kind != gpu::StepKind::kHostCall) continue;
    if (options.host->prefers(*step.inst))
      FAIL(UnsupportedAt(*step.inst, "U041", "its kernel has no error bounds to be judged by"));
    FAIL(UnsupportedAt(*step.inst, "U002", "it has sizes that are known only at run time"));
  }
  return {};
}

bool Holds(const Module& module, Opcode opcode) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->Is(opcode)) return true;
    }
  }
  return false;
}

// `pass` is the first pass after which the op is absent.
void MeasureCompiled(const Module& module, Opcode opcode, Support& support) {
  const DeviceDescription device = HostDescription(1, 32);
  const auto optimized = module.Clone(true);
  std::string gone_by;
  PipelineOptions options{.device = &device};
  options.after = [&](const PassRun& run, Module& m) -> Status {
    if (run.changed && gone_by.empty() && !Holds(m, opcode)) gone_by = run.pass->name;
    return {};
  };
  if (const auto report = Optimize(*optimized, options, nullptr); !report) {
    support.why = report.error().message();
    return;
  }
  if (const Status emitted = EmitKernels(*optimized, device); !emitted) {
    support.why = emitted.error().message();
    return;
  }
  support.kernels = EmitKernels(module, device).has_value();
  if (!support.kernels) support.pass = gone_by.empty() ? "fusion" : gone_by;
}

Support Measure(Opcode opcode, const std::string& probe, PrimitiveType type) {
  const auto module = ProbeModule(probe, type);
  if (module == nullptr) return {};
  Support support{true, Interprets(*module)};
  MeasureCompiled(*module, opcode, support);
  return support;
}

}  // namespace

const std::vector<PrimitiveType>& CoverageTypes() {
  using enum PrimitiveType;
  static const std::vector<PrimitiveType> types = {kPred, kS4,  kS8,     kS16, kS32,  kS64, kU4,  kU8,  kU16,
                                                   kU32,  kU64, kF8E5M2, kF16, kBF16, kF32, kF64, kC64, kC128};
  return types;
}

std::string CoverageProgram(std::span<const Opcode> opcodes, PrimitiveType type) {
  std::vector<std::string> probes;
  for (const Opcode opcode : opcodes) probes.push_back(ProbeText(opcode));
  return ProgramOf(probes, type);
}

std::vector<OpCoverage> MeasureCoverage() {
  std::vector<OpCoverage> coverage(AllOps().size());
  const auto types = static_cast<int64_t>(CoverageTypes().size());
  ParallelFor(static_cast<int64_t>(coverage.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      OpCoverage& op = coverage[i];
      op.opcode = static_cast<Opcode>(i);
      const std::string probe = ProbeText(op.opcode);
      for (int64_t t = 0; t < types && !probe.empty(); ++t)
        op.by_type.push_back(Measure(op.opcode, probe, CoverageTypes()[t]));
      op.interpreter = probe.empty() ? Interprets(op.opcode)
                                     : std::any_of(op.by_type.begin(), op.by_type.end(),
                                                   [](const Support& support) { return support.interpreter; });
    }
  });
  return coverage;
}

}  // namespace hlo
