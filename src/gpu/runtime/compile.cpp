#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/crash.h"
#include "base/parallel.h"
#include "gpu/emitters/emitter.h"
#include "gpu/libraries/open.h"
#include "gpu/plan/fill.h"
#include "gpu/plan/planner.h"
#include "gpu/runtime/conditions.h"
#include "gpu/runtime/fault.h"
#include "gpu/runtime/located.h"
#include "gpu/runtime/prepare.h"
#include "gpu/runtime/program.h"
#include "gpu/runtime/shares.h"
#include "gpu/runtime/step_plan.h"
#include "gpu/runtime/turns.h"
#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "ir/mutation.h"

namespace hlo::gpu {
namespace {

using Clock = std::chrono::steady_clock;
double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// A library call's keys in StepPlan::scratch and StepPlan::scratch_value.
constexpr int kCallScratch = 0, kCallPacked = 1;

struct StepPlan {
  const Instruction* inst;
  StepKind kind = StepKind::kKernel;
  FusionPlan plan;
  std::vector<EmittedKernel> kernels;
  std::unique_ptr<LibraryCall> call;
  const Instruction* fill = nullptr;
  std::map<int, Place> scratch;      // Zeroed scratch, and weights that are packed once.
  std::map<int, int> scratch_value;  // Other scratch, as indices into Values.
  Place trips;
  bool planted = false;
};

class Compiler {
 public:
  Compiler(const Module& module, Device& device, const CompileOptions& options) : device_(device) {
    program_.module = Prepare(module, *options.target);
    program_.options = options;
    program_.target = device.target();
    program_.places.push_back({});
    value_at_.push_back(-1);
  }

  Result<std::shared_ptr<const Program>> Compile() {
    const Clock::time_point start = Clock::now();
    fault_ = TRY(ParseFault(options().inject));
    ListSteps(program_.module->entry());
    TRY(PlanSteps());
    TRY(OpenLibraries());
    TRY(EmitKernels());
    const Clock::time_point buffers = Clock::now();
    PlanMemory();
    report().buffers_ms = MillisecondsSince(buffers);
    report().planted += PlantInBuffers(fault_, program_.buffers);
    TRY(CompileKernels());
    program_.block = MakeBlock(program_.module->entry());
    report().planted += PlantInBlock(fault_, program_.block);
    std::vector<const EmittedKernel*> kernels;
    for (const StepPlan& plan : plans_) {
      for (const EmittedKernel& kernel : plan.kernels) kernels.push_back(&kernel);
    }
    TRY(AddConditions(program_, device_, kernels));
    TRY(CountPlanted());
    report().total_ms = MillisecondsSince(start);
    return std::make_shared<const Program>(std::move(program_));
  }

 private:
  CompileReport& report() { return program_.report; }
  const CompileOptions& options() const { return program_.options; }
  const DeviceDescription& target() const { return *options().target; }

  void ListSteps(const Computation& computation) {
    for (const Instruction* inst : RunOrder(computation)) {
      if (inst->Is(kControl)) {
        for (const Computation* called : CalledComputations(*inst)) ListSteps(*called);
        continue;
      }
      if (!IsStep(*inst)) continue;
      plan_of_[inst] = static_cast<int>(plans_.size());
      plans_.push_back({.inst = inst});
      plans_.back().kind = KindWithoutPlan(*inst);
    }
  }

  // Returns kKernel if the plan determines the kind.
  StepKind KindWithoutPlan(const Instruction& inst) {
    const HostCalls* const host = options().host.get();
    if (host != nullptr && host->prefers && host->prefers(inst)) return StepKind::kHostCall;
    if (MovesBytes(inst)) return StepKind::kCopy;
    if (host != nullptr && HasDynamicSizes(inst)) return StepKind::kHostCall;
    return StepKind::kKernel;
  }

  static StepKind KindOf(const FusionPlan& plan) {
    if (plan.kernels.empty()) return StepKind::kKernel;
    switch (plan.kernels.front().kind) {
      case KernelKind::kFill: return StepKind::kFill;
      case KernelKind::kGemm: return StepKind::kGemm;
      case KernelKind::kConvolution: return StepKind::kConvolution;
      case KernelKind::kLibraryAttention: return StepKind::kAttention;
      default: return StepKind::kKernel;
    }
  }

  static Status CheckKind(const StepPlan& step) {
    const Instruction& inst = *step.inst;
    const bool is_fill = step.kind == StepKind::kFill;
    if (!is_fill && !CallsLibrary(step.kind)) return {};
    const bool fits = is_fill                             ? FilledWith(inst) != nullptr
                      : step.kind == StepKind::kAttention ? HasAttention(inst)
                                                          : LibraryOf(inst) == ToString(step.kind);
    if (!fits) FAIL(PlanError(inst, Str("it is not a ", ToString(step.kind))));
    if (step.plan.kernels.size() > 1)
      FAIL(PlanError(inst, Str("a ", ToString(step.kind), " must be the only kernel of its plan")));
    return {};
  }

  Status PlanSteps() {
    const Clock::time_point start = Clock::now();
    errors_.resize(plans_.size());
    ParallelFor(static_cast<int64_t>(plans_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        StepPlan& step = plans_[i];
        if (step.kind != StepKind::kKernel) continue;
        const AtHand at_hand("kernel", step.inst->name());
        auto plan = PlanOfStep(*step.inst, device_, options());
        if (plan) step.plan = std::move(*plan);
        else errors_[i] = std::move(plan).error();
        step.kind = KindOf(step.plan);
      }
    });
    for (const StepPlan& step : plans_) TRY(CheckKind(step));
    report().emit_ms = MillisecondsSince(start);
    return {};
  }

  using Names = std::vector<std::string_view>;

  void AddNote(const Names& names, std::string_view one, std::string_view several, std::string_view reason) {
    const std::string more = names.size() > 1 ? Str(" and ", names.size() - 1, " more") : "";
    report().notes.push_back(Str("'", names.front(), "'", more, names.size() > 1 ? several : one, reason));
  }

  // Drops the name (" ('multiply.3')"), so that instructions share a note.
  static std::string WithoutName(const std::string& message) { return message.substr(0, message.find(" ('")); }

  Status OpenLibraries() {
    const Clock::time_point start = Clock::now();
    std::vector<StepPlan*> calls;
    std::vector<LibraryRequest> requests;
    for (StepPlan& plan : plans_) {
      if (plan.kind == StepKind::kFill) plan.fill = FilledWith(*plan.inst);
      const bool may_be_call = options().libraries && !device_.IsHost() && IsOwnAttention(plan.plan);
      if (!CallsLibrary(plan.kind) && !may_be_call) continue;
      calls.push_back(&plan);
      requests.push_back({plan.inst, &plan.plan.kernels.front()});
      if (!options().libraries) plan.kind = StepKind::kKernel;
    }
    if (!options().libraries) return {};
    auto choices =
        OpenLibraryCalls(requests, device_, {.search = options().library_path, .allow_tf32 = options().allow_tf32});
    std::map<std::string, Names> kernels_by_reason;
    for (size_t i = 0; i < calls.size(); ++i) {
      StepPlan& plan = *calls[i];
      const bool is_own = !CallsLibrary(plan.kind);
      LibraryChoice choice = TRY(LocatedAt(*plan.inst, std::move(choices[i])));
      for (const std::string& note : choice.notes) report().notes.push_back(Str("'", plan.inst->name(), "': ", note));
      if (plan.plan.kernels.front().library.empty()) plan.plan.refused.clear();
      for (const Refusal& refusal : choice.refusals)
        plan.plan.refused.push_back(refusal.library.empty() ? refusal.why : Str(refusal.library, ": ", refusal.why));
      if (choice.call == nullptr) {
        if (!is_own) kernels_by_reason[choice.refusals.back().why].push_back(plan.inst->name());
        plan.kind = StepKind::kKernel;
        continue;
      }
      plan.plan.kernels = {std::move(choice.plan)};
      plan.kind = KindOf(plan.plan);
      plan.call = std::move(choice.call);
      ++report().library_calls;
    }
    for (const auto& [reason, names] : kernels_by_reason)
      AddNote(names, " runs as a kernel of hlokit: ", " run as kernels of hlokit: ", reason);
    report().libraries_ms = MillisecondsSince(start);
    return {};
  }

  Result<std::vector<EmittedKernel>> Emit(StepPlan& step) {
    const std::string fault = FaultOf(step);
    const Mutation* const mutation = FindMutation(fault);
    if (KindOf(step.plan) != StepKind::kKernel) {
      std::vector<std::string> refused = std::move(step.plan.refused);
      step.plan = TRY(OwnPlanOfStep(*step.inst, device_, options()));
      step.plan.refused = std::move(refused);
    }
    if (mutation == nullptr) {
      std::vector<EmittedKernel> kernels = TRY(EmitFusion(*step.inst, step.plan));
      if (const kernel::Mutation* of_kernel = kernel::FindMutation(fault))
        step.planted = PlantInKernels(*of_kernel, kernels);
      return kernels;
    }
    Instruction& own = const_cast<Instruction&>(*step.inst);  // The compiler owns program_.module.
    std::vector<Instruction*> candidates = {&own};
    for (size_t i = 0; i < candidates.size(); ++i) {
      for (Computation* called : CalledComputations(*candidates[i])) {
        const std::vector<Instruction*> inside = called->Instructions();
        candidates.insert(candidates.end(), inside.begin(), inside.end());
      }
    }
    for (Instruction* inst : candidates) {
      const Restored restored(*inst);
      if (!mutation->apply(*inst)) continue;
      step.plan = TRY(PlanKernels(own, target()));
      return EmitFusion(own, step.plan);
    }
    return EmitFusion(own, step.plan);
  }

  Status EmitKernels() {
    const Clock::time_point start = Clock::now();
    std::vector<std::optional<Error>>& errors = errors_;
    // With a planted fault one thread emits, because all threads see a mutated instruction.
    const int64_t grain = fault_.kind.empty() ? 1 : std::ssize(plans_);
    ParallelFor(static_cast<int64_t>(plans_.size()), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (plans_[i].kind != StepKind::kKernel || errors[i]) continue;
        const AtHand at_hand("kernel", plans_[i].inst->name());
        auto kernels = Emit(plans_[i]);
        if (kernels) {
          plans_[i].kernels = std::move(*kernels);
        } else {
          errors[i] = std::move(kernels).error();
        }
      }
    });
    std::map<std::string, Names> called_by_reason;
    for (size_t i = 0; i < plans_.size(); ++i) {
      StepPlan& plan = plans_[i];
      if (errors[i]) {
        if (options().host == nullptr || errors[i]->exit != ExitCode::kUnsupported) FAIL(std::move(*errors[i]));
        plan.kind = StepKind::kHostCall;
      }
      if (plan.kind != StepKind::kHostCall) continue;
      if (options().host->takes) TRY(options().host->takes(*plan.inst));
      report().host_calls.emplace_back(plan.inst->name());
      called_by_reason[errors[i]                     ? WithoutName(errors[i]->message())
                       : HasDynamicSizes(*plan.inst) ? "it has sizes that are known only at run time"
                                                     : "there are no error bounds to judge its kernel by"]
          .push_back(plan.inst->name());
    }
    for (const auto& [reason, names] : called_by_reason)
      AddNote(names, " runs in the interpreter: ", " run in the interpreter: ", reason);
    std::map<std::string, Names> slow_by_reason;
    for (const StepPlan& step : plans_) {
      if (step.kind == StepKind::kKernel && !step.plan.slow.empty())
        slow_by_reason[step.plan.slow].push_back(step.inst->name());
    }
    for (const auto& [reason, names] : slow_by_reason) AddNote(names, " is slow: ", " are slow: ", reason);
    report().emit_ms += MillisecondsSince(start);
    return {};
  }

  std::vector<Share> SharesOf(const StepPlan& plan) const {
    std::vector<Share> shares;
    const Instruction& inst = *plan.inst;
    if (plan.kind == StepKind::kCopy) {
      for (int leaf = 0; leaf < inst.shape().LeafCount(); ++leaf) shares.push_back({0, leaf, leaf, true});
    }
    if (plan.call != nullptr && plan.call->InPlaceOperand() >= 0)
      shares.push_back({plan.call->InPlaceOperand(), 0, 0, true});
    for (size_t i = 0; i < plan.kernels.size(); ++i) {
      for (const KernelBuffer& buffer : plan.kernels[i].buffers) {
        if (buffer.kind != KernelBuffer::Kind::kOutput || buffer.in_place_operand < 0) continue;
        const int operand_leaf = LeafNumber(inst.operand(buffer.in_place_operand).shape(), buffer.in_place_index);
        shares.push_back({buffer.in_place_operand, operand_leaf, LeafNumber(inst.shape(), buffer.index), true});
      }
      for (const SharablePair& pair : plan.kernels[i].sharable) {
        if (!MayShareAfter(plan, i, pair)) continue;
        const int operand_leaf = LeafNumber(inst.operand(pair.operand).shape(), pair.operand_index);
        shares.push_back({pair.operand, operand_leaf, LeafNumber(inst.shape(), pair.output), false});
      }
    }
    return shares;
  }

  // A pair of one kernel is valid for the step if no later kernel reads the operand.
  static bool MayShareAfter(const StepPlan& plan, size_t kernel, const SharablePair& pair) {
    for (size_t i = kernel + 1; i < plan.kernels.size(); ++i) {
      for (const KernelBuffer& buffer : plan.kernels[i].buffers) {
        if (buffer.kind == KernelBuffer::Kind::kOperand && buffer.operand == pair.operand &&
            buffer.index == pair.operand_index)
          return false;
      }
    }
    return true;
  }

  void PlanMemory() {
    ShareTable shares;
    for (const StepPlan& plan : plans_) {
      if (auto found = SharesOf(plan); !found.empty()) shares[plan.inst] = std::move(found);
    }
    Values values = FindValues(*program_.module, shares);
    for (StepPlan& plan : plans_) AddScratches(values, plan);
    BufferOptions buffer_options;
    buffer_options.reuse_parameters = options().reuse_donated && !device_.IsHost();
    program_.buffers = PlanBuffers(*program_.module, std::move(values), buffer_options);
    for (const Instruction* constant : program_.buffers.constants) {
      program_.constants.push_back({constant->literal(), constant->shape()});
    }
    FillMemoryReport();
  }

  void AddScratches(Values& values, StepPlan& plan) {
    const int64_t position = values.position_of[plan.inst->id()];
    if (plan.call != nullptr) {
      if (plan.call->ScratchBytes() > 0)
        plan.scratch_value[kCallScratch] = AddScratch(values, *plan.inst, position, plan.call->ScratchBytes());
      if (plan.call->PackedBytes() > 0) AddPacked(values, plan, position);
    }
    int64_t bytes = 0;
    bool has_trips = false;
    for (const EmittedKernel& kernel : plan.kernels) {
      for (const KernelBuffer& buffer : kernel.buffers) {
        // A kernel can list a buffer twice, to read and write.
        if (buffer.kind == KernelBuffer::Kind::kTrips && !std::exchange(has_trips, true))
          plan.trips = AddCounters(buffer.bytes);
        if (buffer.kind != KernelBuffer::Kind::kScratch || plan.scratch.contains(buffer.scratch) ||
            plan.scratch_value.contains(buffer.scratch))
          continue;
        if (buffer.zeroed) {
          plan.scratch[buffer.scratch] = AddCounters(buffer.bytes);
        } else {
          plan.scratch_value[buffer.scratch] = AddScratch(values, *plan.inst, position, buffer.bytes);
        }
        bytes += buffer.bytes;
      }
    }
    if (plan.call != nullptr) bytes = plan.call->ScratchBytes() + plan.call->PackedBytes();
    program_.memory.scratch_bytes = std::max(program_.memory.scratch_bytes, bytes);
  }

  Place AddCounters(int64_t bytes) {
    const Place place{Area::kCounters, 0, program_.counter_bytes};
    program_.counter_bytes += AlignedBytes(bytes);
    return place;
  }

  void AddPacked(Values& values, StepPlan& plan, int64_t position) {
    const Instruction& operand = plan.inst->operand(plan.call->PackedOperand());
    const ValueKind kind = values.values[values.of_instruction[operand.id()][0]].kind;
    if (options().pack_once && (kind == ValueKind::kParameter || kind == ValueKind::kConstant)) {
      plan.scratch[kCallPacked] = {Area::kPacked, 0, program_.packed_bytes};
      program_.packed_bytes += AlignedBytes(plan.call->PackedBytes());
      return;
    }
    plan.scratch_value[kCallPacked] = AddScratch(values, *plan.inst, position, plan.call->PackedBytes());
  }

  void FillMemoryReport() {
    MemoryReport& memory = program_.memory;
    const BufferPlan& buffers = program_.buffers;
    for (const Instruction* parameter : program_.module->entry().parameters())
      memory.parameter_bytes += parameter->shape().ByteSize();
    for (const ConstantData& constant : program_.constants) memory.constant_bytes += constant.shape.ByteSize();
    for (const int64_t bytes : buffers.output_bytes) memory.output_bytes += bytes;
    memory.packed_bytes = program_.packed_bytes;
    memory.arena_bytes = buffers.arena_bytes + program_.counter_bytes;
    memory.arena_lower_bound = buffers.arena_lower_bound + program_.counter_bytes;
    for (const auto& [position, copies] : buffers.copies) memory.copies += static_cast<int64_t>(copies.size());
  }

  Status CompileKernels() {
    const Clock::time_point start = Clock::now();
    std::vector<const kernel::Kernel*> kernels;
    std::vector<double> shares;
    shares_ = SharesOfRun(*program_.module, target());
    std::set<kernel::KernelHash> distinct;
    for (const StepPlan& plan : plans_) {
      for (const EmittedKernel& kernel : plan.kernels) {
        kernels.push_back(kernel.kernel.get());
        shares.push_back(options().quick_code ? 0 : shares_.at(plan.inst).share);
        distinct.insert(kernel::Hash(*kernel.kernel));
      }
    }
    report().kernels = static_cast<int>(kernels.size());
    report().distinct_kernels = static_cast<int>(distinct.size());
    kernel::CodeCache* const cache = options().cache.get();
    program_.code = TRY(device_.Compile(kernels, shares, cache));
    report().kernels_ms = MillisecondsSince(start);
    if (cache != nullptr) {
      std::set<kernel::KernelHash> cached;
      for (size_t i = 0; i < kernels.size(); ++i) {
        if (program_.code[i]->was_kept()) cached.insert(kernel::Hash(*kernels[i]));
      }
      report().cached_kernels = static_cast<int>(cached.size());
      for (std::string& note : cache->TakeNotes()) report().notes.push_back(std::move(note));
    }
    constexpr double kLong = 2;
    std::set<kernel::KernelHash> slow;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const double seconds = program_.code[i]->compile_seconds();
      if (seconds > kLong && slow.insert(kernel::Hash(*kernels[i])).second)
        report().notes.push_back(
            Str("kernel '", kernels[i]->name, "' took ", Format("%.1f", seconds), " s to compile"));
    }
    return {};
  }

  // ---- Steps in order --------------------------------------------------------------------------------------------

  PlaceNumber Add(const Place& place, int64_t bytes, int value = -1) {
    program_.places.push_back({place, bytes});
    value_at_.push_back(value);
    return static_cast<PlaceNumber>(program_.places.size()) - 1;
  }
  PlaceNumber AddPlaceOf(int value) {
    return Add(program_.buffers.place_of[value], program_.buffers.values.values[value].bytes, value);
  }
  PlaceNumber AddPlaceOf(const Instruction& inst, int leaf) {
    return AddPlaceOf(program_.buffers.values.of_instruction[inst.id()][leaf]);
  }
  PlaceRange Open() const { return {static_cast<PlaceNumber>(program_.places.size()), 0}; }
  void Close(PlaceRange& range) const { range.count = static_cast<int32_t>(program_.places.size()) - range.first; }
  PlaceRange AllLeaves(const Instruction& inst) {
    PlaceRange range = Open();
    for (int leaf = 0; leaf < inst.shape().LeafCount(); ++leaf) AddPlaceOf(inst, leaf);
    Close(range);
    return range;
  }

  std::vector<CopyWork> CopiesAt(int64_t position) {
    std::vector<CopyWork> work;
    const auto found = program_.buffers.copies.find(position);
    if (found == program_.buffers.copies.end()) return work;
    for (const PlannedCopy& copy : found->second) {
      work.push_back({AddPlaceOf(copy.from), AddPlaceOf(copy.to), program_.buffers.values.values[copy.to].bytes});
    }
    return work;
  }

  Block MakeBlock(const Computation& computation) {
    Block block;
    for (const Instruction* inst : RunOrder(computation)) {
      if (inst->Is(Opcode::kCall)) {
        Block called = MakeBlock(*inst->attrs<CallAttrs>().to_apply);
        std::move(called.begin(), called.end(), std::back_inserter(block));
      } else if (inst->Is(Opcode::kWhile)) {
        block.emplace_back(MakeLoop(*inst));
      } else if (inst->Is(Opcode::kConditional)) {
        block.emplace_back(MakeBranch(*inst));
      } else if (const auto plan = plan_of_.find(inst); plan != plan_of_.end()) {
        AddStep(block, plans_[plan->second]);
      }
    }
    return block;
  }

  std::unique_ptr<LoopNode> MakeLoop(const Instruction& loop) {
    const auto& attrs = loop.attrs<WhileAttrs>();
    const Values& values = program_.buffers.values;
    auto node = std::make_unique<LoopNode>();
    node->loop = &loop;
    node->known_trips = TripCount(loop).value_or(-1);
    node->enter = CopiesAt(values.position_of[loop.id()]);
    node->condition = MakeBlock(*attrs.condition);
    node->predicate = AddPlaceOf(attrs.condition->root(), 0);
    PlaceRange body = Open();
    node->body = MakeBlock(*attrs.body);
    Close(body);
    const int64_t end = values.ends_of[loop.id()].front();
    node->back = CopiesAt(end);
    if (device_.Records() && node->known_trips >= kLeastTripsInTurns && !node->back.empty()) {
      node->turns = FindTurns(loop, program_.buffers, program_.buffers.copies.at(end), body, value_at_);
      for (LoopNode::Turn& turn : node->turns) AddPlaces(turn, node->back[turn.copy].bytes);
    }
    return node;
  }

  void AddPlaces(LoopNode::Turn& turn, int64_t bytes) {
    for (PlaceNumber& place : turn.places) {
      place = Add({Area::kArena, 0, program_.buffers.arena_bytes}, bytes);
      const int64_t more = AlignedBytes(bytes);
      for (int64_t* const all : {&program_.buffers.arena_bytes, &program_.memory.arena_bytes}) *all += more;
    }
  }

  std::unique_ptr<BranchNode> MakeBranch(const Instruction& conditional) {
    const Values& values = program_.buffers.values;
    auto node = std::make_unique<BranchNode>();
    node->conditional = &conditional;
    node->selector = AddPlaceOf(conditional.operand(0), 0);
    const std::vector<Computation*> branches = conditional.attrs<ConditionalAttrs>().branches();
    for (size_t i = 0; i < branches.size(); ++i) {
      node->branches.push_back({MakeBlock(*branches[i]), CopiesAt(values.ends_of[conditional.id()][i])});
    }
    return node;
  }

  void AddStep(Block& block, StepPlan& plan) {
    Step step{.instruction = plan.inst};
    step.copies = CopiesAt(program_.buffers.values.position_of[plan.inst->id()]);
    if (plan.kind == StepKind::kCopy && step.copies.empty()) return;  // Operand and result share one buffer.
    std::string how = Str(ToString(plan.kind));
    if (plan.call != nullptr) {
      how = plan.call->how();
      step.work.push_back(MakeCall(plan));
    }
    for (size_t i = 0; i < plan.kernels.size(); ++i) {
      step.work.push_back(MakeKernel(plan, plan.kernels[i]));
      const std::string one = LaunchText(plan.kernels[i]);
      how = i == 0 ? one : Str(how, "; ", one);
    }
    if (plan.fill != nullptr) step.work.push_back(MakeFill(plan));
    if (plan.kind == StepKind::kHostCall) step.work.push_back(MakeHostCall(*plan.inst));
    step.info = static_cast<int>(program_.steps.size());
    PrecisionPlan precision;
    for (const EmittedKernel& kernel : plan.kernels) {
      precision.instructions.insert(kernel.precision.instructions.begin(), kernel.precision.instructions.end());
    }
    program_.steps.push_back({plan.inst, plan.kind, std::move(how), std::move(precision), plan.plan});
    if (options().keep_kernels) program_.steps.back().kernels = plan.kernels;
    step.seconds = shares_.at(plan.inst).seconds;
    step.blocks = BlocksOf(plan);
    block.push_back(std::move(step));
  }

  static int64_t BlocksOf(const StepPlan& plan) {
    constexpr int64_t kTileElements = 128 * 128;
    int64_t blocks = 0;
    for (const EmittedKernel& kernel : plan.kernels) blocks = std::max(blocks, kernel.kernel->blocks);
    if (!CallsLibrary(plan.kind)) return blocks;
    ForEachLeaf(plan.inst->shape(), [&](const ShapeIndex&, const Shape& leaf) {
      blocks = std::max(blocks, (leaf.NumElements() + kTileElements - 1) / kTileElements);
    });
    return blocks;
  }

  LibraryWork MakeCall(StepPlan& plan) {
    LibraryWork work{.call = static_cast<int>(program_.calls.size())};
    work.operands = Open();
    for (const Instruction* operand : plan.inst->operands()) AddPlaceOf(*operand, 0);
    Close(work.operands);
    work.results = AllLeaves(*plan.inst);
    if (plan.scratch_value.contains(kCallScratch)) work.scratch = AddPlaceOf(plan.scratch_value.at(kCallScratch));
    if (plan.scratch_value.contains(kCallPacked)) work.packed = AddPlaceOf(plan.scratch_value.at(kCallPacked));
    work.pack_once = plan.scratch.contains(kCallPacked);
    if (work.pack_once) work.packed = Add(plan.scratch.at(kCallPacked), plan.call->PackedBytes());
    if (const std::string fault = FaultOf(plan); !fault.empty()) {
      plan.call = WithFault(std::move(plan.call), fault, plan.inst->shape());
      work.waits = true;
    }
    program_.calls.push_back(std::move(plan.call));
    return work;
  }

  HostWork MakeHostCall(const Instruction& inst) {
    HostWork work{.operands = Open()};
    for (const Instruction* operand : inst.operands()) AllLeaves(*operand);
    Close(work.operands);
    work.results = AllLeaves(inst);
    return work;
  }

  FillWork MakeFill(const StepPlan& plan) {
    uint64_t pattern = 0;
    const int width = static_cast<int>(ByteWidth(plan.fill->shape().type()));
    std::copy_n(plan.fill->literal().raw(), width, reinterpret_cast<std::byte*>(&pattern));
    return {AddPlaceOf(*plan.inst, 0), pattern, width, plan.inst->shape().NumElements()};
  }

  KernelWork MakeKernel(const StepPlan& plan, const EmittedKernel& kernel) {
    KernelWork work{.code = static_cast<int>(KernelNumber(kernel)), .arguments = Open(), .loops = kernel.loops};
    const Instruction& inst = *plan.inst;
    for (const KernelBuffer& buffer : kernel.buffers) {
      work.writes.push_back(buffer.kind != KernelBuffer::Kind::kOperand && buffer.kind != KernelBuffer::Kind::kLiteral);
      switch (buffer.kind) {
        case KernelBuffer::Kind::kOperand: {
          const Instruction& operand = inst.operand(buffer.operand);
          AddPlaceOf(operand, LeafNumber(operand.shape(), buffer.index));
          break;
        }
        case KernelBuffer::Kind::kOutput: AddPlaceOf(inst, LeafNumber(inst.shape(), buffer.index)); break;
        case KernelBuffer::Kind::kScratch: {
          const auto counter = plan.scratch.find(buffer.scratch);
          if (counter != plan.scratch.end()) {
            Add(counter->second, buffer.bytes);
          } else {
            AddPlaceOf(plan.scratch_value.at(buffer.scratch));
          }
          break;
        }
        case KernelBuffer::Kind::kTrips: work.trips = Add(plan.trips, buffer.bytes); break;
        case KernelBuffer::Kind::kLiteral:
          Add({Area::kConstant, static_cast<int64_t>(program_.constants.size())}, buffer.literal.byte_size());
          program_.constants.push_back({buffer.literal, buffer.literal.shape().WithDefaultLayout()});
          program_.memory.constant_bytes += buffer.literal.byte_size();
          break;
      }
    }
    Close(work.arguments);
    return work;
  }

  // Numbers kernels in the order of CompileKernels.
  size_t KernelNumber(const EmittedKernel& kernel) {
    if (kernel_number_.empty()) {
      for (const StepPlan& plan : plans_) {
        for (const EmittedKernel& one : plan.kernels) kernel_number_.emplace(&one, kernel_number_.size());
      }
    }
    return kernel_number_.at(&kernel);
  }

  std::string FaultOf(const StepPlan& plan) const {
    return fault_.MeantFor(FaultKindOf(plan), plan.inst->name()) ? fault_.what : "";
  }

  // Fails if no fault was planted, because such a run would test nothing.
  Status CountPlanted() {
    if (fault_.kind.empty()) return {};
    std::vector<std::string_view> names;
    for (const StepPlan& plan : plans_) {
      if (fault_.kind == "runtime" || fault_.kind == FaultKindOf(plan)) names.push_back(plan.inst->name());
      if (FaultOf(plan).empty()) continue;
      const bool is_mutated = plan.kind == StepKind::kKernel && FindMutation(fault_.what) != nullptr;
      report().planted += is_mutated ? TRY(DiffersFromSound(plan)) : plan.kind != StepKind::kKernel || plan.planted;
    }
    if (fault_.kind == "runtime") {
      for (const auto& computation : program_.module->Computations()) {
        for (const Instruction* inst : computation->Instructions()) {
          if (inst->Is(Opcode::kWhile) || inst->Is(Opcode::kConditional)) names.push_back(inst->name());
        }
      }
    }
    if (report().planted > 0) return {};
    if (std::ranges::find(report().host_calls, fault_.name) != report().host_calls.end())
      FAIL(UsageError("F004", Str("'", fault_.name, "' runs in the interpreter, where no fault can be planted")));
    FAIL(NothingPlanted(fault_, names));
  }

  static std::string_view FaultKindOf(const StepPlan& plan) {
    if (plan.kind == StepKind::kKernel) return "kernel";
    return CallsLibrary(plan.kind) ? "library" : "";
  }

  Result<bool> DiffersFromSound(const StepPlan& plan) const {
    const std::vector<EmittedKernel> sound =
        TRY(EmitFusion(*plan.inst, TRY(OwnPlanOfStep(*plan.inst, device_, options()))));
    return !std::ranges::equal(plan.kernels, sound, [](const EmittedKernel& a, const EmittedKernel& b) {
      return kernel::Hash(*a.kernel) == kernel::Hash(*b.kernel);
    });
  }

  Device& device_;
  Program program_;
  Fault fault_;
  std::vector<StepPlan> plans_;
  std::vector<std::optional<Error>> errors_;
  std::unordered_map<const Instruction*, int> plan_of_;
  std::unordered_map<const Instruction*, StepShare> shares_;
  std::vector<int> value_at_;  // -1 for places without a value.
  std::unordered_map<const EmittedKernel*, size_t> kernel_number_;
};

}  // namespace

Status CheckFault(std::string_view inject) {
  TRY(ParseFault(inject));
  return {};
}

Result<std::shared_ptr<const Program>> CompileProgram(const Module& optimized, Device& device,
                                                      const CompileOptions& options) {
  return Compiler(optimized, device, options).Compile();
}

}  // namespace hlo::gpu
