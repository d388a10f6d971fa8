// Predicts the memory of a run by simulating the interpreter's frames with sizes in place of values.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "interp/contraction.h"
#include "interp/elements.h"
#include "interp/program.h"
#include "ir/markers.h"
#include "ir/module.h"
#include "ir/shapes/shape_rules.h"

namespace hlo {
namespace {

// Numbers of the buffers of a value's arrays. kFree marks memory that does not count, such as constants, which belong
// to the module.
constexpr int kFree = -1;
using Leaves = std::vector<int>;

// No machine has 2^50 bytes, and int64_t holds the sum of 8191 such arrays. Sums of Shape::ByteSize, which saturates,
// could overflow.
int64_t BytesOfArray(const Shape& shape) { return std::min(shape.ByteSize(), int64_t{1} << 50); }

void AddLeafBytes(const Shape& shape, std::vector<int64_t>& bytes) {
  if (!shape.IsTuple()) {
    bytes.push_back(BytesOfArray(shape));
    return;
  }
  for (const Shape& element : shape.elements()) AddLeafBytes(element, bytes);
}

std::vector<int64_t> LeafBytes(const Shape& shape) {
  std::vector<int64_t> bytes;
  AddLeafBytes(shape, bytes);
  return bytes;
}

int64_t ElementsOf(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsArray() ? shape.NumElements() : 0;
  int64_t count = 0;
  for (const Shape& element : shape.elements()) count += ElementsOf(element);
  return count;
}

// Scratch bytes per element of a sorted line: position, key, both together, and half of that for std::stable_sort.
constexpr int64_t kSortedBytes = 8 + 8 + 16 + 8;
// Bytes per element of topk: the key, and the key with the index.
constexpr int64_t kRankedBytes = 8 + 16;

int64_t LinesAtOnce(int64_t elements, int64_t line) {
  return line == 0 ? 0 : std::min<int64_t>(Threads(), elements / line);
}

// Scratch without operands and result. 0 if it is insignificant.
int64_t ScratchOf(const Instruction& inst) {
  // The module may be unverified.
  if (!InferShape(inst)) return 0;
  const Shape& shape = inst.shape();
  const auto operand_elements = [&] {
    int64_t count = 0;
    for (const Instruction* operand : inst.operands()) count += ElementsOf(operand->shape());
    return count;
  };
  switch (inst.opcode()) {
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad: return 8 * operand_elements() + 16 * ElementsOf(shape);
    case Opcode::kFft: {
      // In c128: operand, transformed array, for IRFFT its source, roots of unity, lines before and after. Later the
      // result replaces source, roots and lines.
      const FftAttrs& attrs = inst.attrs<FftAttrs>();
      const int64_t longest = std::ranges::max(attrs.fft_length), results = ElementsOf(shape);
      const int64_t operands = operand_elements();
      const int64_t transformed = operands + std::max(operands, results);
      const int64_t lines = longest * (1 + 2 * LinesAtOnce(std::max(operands, results), longest));
      const int64_t made_from = attrs.fft_type == FftType::kIrfft ? operands : 0;
      return std::max(16 * (transformed + made_from + lines) - shape.ByteSize(), 16 * (transformed + results));
    }
    case Opcode::kIota:
      return shape.ByteSize() / std::max<int64_t>(1, shape.NumElements()) *
             shape.dim(inst.attrs<IotaAttrs>().iota_dimension);
    case Opcode::kReduce: {
      const Shape& operand = inst.operand(0).shape();
      const bool narrow = operand.IsArray() && IsFloat(operand.type()) && BitWidth(operand.type()) <= 16;
      return narrow ? 4 * ElementsOf(operand) : 0;
    }
    case Opcode::kDot: return DotScratchBytes(inst);
    case Opcode::kRaggedDot: return RaggedDotScratchBytes(inst);
    case Opcode::kScaledDot: return ScaledDotScratchBytes(inst);
    case Opcode::kConvolution: return ConvolutionScratchBytes(inst);
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve: {
      const int64_t wide = ByteWidth(ComputeOf(shape.type()));
      int64_t widened = 0;
      for (const Instruction* operand : inst.operands())
        widened += WidenedBytes(operand->shape(), shape.type(), false).making;
      return widened + ElementsOf(shape) * wide;
    }
    case Opcode::kRngBitGenerator: return shape.IsTuple() ? 8 * ElementsOf(shape.element(1)) : 0;
    case Opcode::kSort: {
      const Shape& operand = inst.operand(0).shape();
      if (operand.rank() == 0) return 0;
      const int64_t along = inst.attrs<SortAttrs>().dimension.value, count = operand.dim(along);
      // Operands and results are transposed unless lines are contiguous.
      int64_t turned = 0;
      if (along != operand.rank() - 1) {
        for (const Instruction* each : inst.operands()) turned += 2 * each->shape().ByteSize();
      }
      return turned + LinesAtOnce(operand.NumElements(), count) * count * kSortedBytes;
    }
    case Opcode::kTopK: {
      const Shape& operand = inst.operand(0).shape();
      const int64_t count = operand.dims().back();
      return LinesAtOnce(operand.NumElements(), count) * count * kRankedBytes;
    }
    case Opcode::kCustomCall: {
      if (MarkerOf(inst) != Marker::kNone) return 0;
      // Reordered matrices or lines, and their results.
      int64_t bytes = 0;
      for (const Instruction* operand : inst.operands()) bytes += 2 * operand->shape().ByteSize();
      return bytes;
    }
    default: return 0;
  }
}

enum class ArgumentUse : uint8_t {
  kKept,   // The caller counts the arguments.
  kFreed,  // The arguments count here and are freed at their last use.
  // As kFreed, but arguments that a loop's body does not change belong to the caller.
  kLoopState,
};

struct Origin {
  enum : uint8_t { kNew, kParameter, kNothing } kind = kNew;
  int leaf = 0;  // Number among the leaves of all parameters.
};

struct LivenessResult {
  int64_t bytes = 0;
  const Instruction* largest = nullptr;
  int64_t largest_bytes = -1;
  std::vector<Origin> result;
};

class Plans {
 public:
  // The callees must have been added before.
  void Add(const Computation& computation);
  const LivenessResult& SimulationOf(const Computation* computation, ArgumentUse use) const {
    return known_.at({computation, use});
  }
  const Program& ProgramOf(const Computation& computation) { return programs_.ProgramOf(computation); }

 private:
  const InterpretOptions options_;
  Programs programs_{options_};
  std::map<std::pair<const Computation*, ArgumentUse>, LivenessResult> known_;
};

struct FrameBuffers {
  struct Buffer {
    int64_t bytes;
    // Number of slots that hold the buffer, or more if the frame must not free it.
    int held;
    int parameter;  // Leaf of the parameters, or -1.
  };

  int New(int64_t bytes) {
    live += bytes;
    all.push_back({bytes, 1, -1});
    return static_cast<int>(all.size()) - 1;
  }

  Leaves New(const Shape& shape) {
    Leaves leaves;
    for (const int64_t bytes : LeafBytes(shape)) leaves.push_back(New(bytes));
    return leaves;
  }

  int Share(int buffer) {
    if (buffer != kFree) ++all[buffer].held;
    return buffer;
  }

  Leaves Share(std::span<const int> leaves) {
    for (const int buffer : leaves) Share(buffer);
    return {leaves.begin(), leaves.end()};
  }

  void Release(Leaves& leaves) {
    for (const int buffer : leaves) {
      if (buffer != kFree && --all[buffer].held == 0) live -= all[buffer].bytes;
    }
    leaves.clear();
  }

  Origin OriginOf(int buffer) const {
    if (buffer == kFree) return {Origin::kNothing};
    if (all[buffer].parameter >= 0) return {Origin::kParameter, all[buffer].parameter};
    return {};
  }

  int64_t BytesOf(const std::set<int>& buffers) const {
    int64_t bytes = 0;
    for (const int buffer : buffers) bytes += all[buffer].bytes;
    return bytes;
  }

  std::vector<Buffer> all;
  int64_t live = 0;
};

class LivenessSimulation {
 public:
  LivenessSimulation(Plans& plans, const Computation& computation, ArgumentUse use)
      : plans_(plans), computation_(computation), program_(plans.ProgramOf(computation)), slots_(program_.slots) {
    Receive(use);
  }

  LivenessResult Run() {
    NoteLargest(&computation_.root(), computation_.root().shape().ByteSize());
    for (const Step& step : program_.steps) {
      NoteLargest(step.inst, step.inst->shape().ByteSize());
      if (step.inst->Is(Opcode::kParameter)) continue;
      Leaves value = Do(step);
      Note(buffers_.live + ScratchOf(*step.inst));
      for (size_t i = 0; i < step.operands.size(); ++i) {
        if (step.operands[i].last) buffers_.Release(slots_[step.operands[i].slot]);
      }
      if (step.unused) buffers_.Release(value);
      slots_[step.result] = std::move(value);
    }
    for (const int buffer : slots_[program_.root]) result_.result.push_back(buffers_.OriginOf(buffer));
    return std::move(result_);
  }

 private:
  void Receive(ArgumentUse use) {
    int leaf = 0;
    const std::vector<Origin>* passed_on =
        use == ArgumentUse::kLoopState ? &plans_.SimulationOf(&computation_, ArgumentUse::kKept).result : nullptr;
    for (const Instruction* parameter : computation_.parameters()) {
      const int slot = program_.parameters[parameter->parameter_number()];
      for (const int64_t bytes : LeafBytes(parameter->shape())) {
        const bool callers =
            use == ArgumentUse::kKept ||
            (passed_on != nullptr && (*passed_on)[leaf].kind == Origin::kParameter && (*passed_on)[leaf].leaf == leaf);
        if (slot >= 0) {
          slots_[slot].push_back(static_cast<int>(buffers_.all.size()));
          buffers_.all.push_back({callers ? 0 : bytes, callers ? 2 : 1, leaf});
          if (!callers) buffers_.live += bytes;
        }
        ++leaf;
      }
    }
    Note(buffers_.live);
  }

  void Note(int64_t bytes) { result_.bytes = std::max(result_.bytes, bytes); }

  const Leaves& Operand(const Step& step, size_t i) const { return slots_[step.operands[i].slot]; }

  std::span<const int> Element(const Step& step, int64_t element) const {
    const Shape& shape = step.inst->operand(0).shape();
    return std::span(Operand(step, 0)).subspan(shape.FirstLeaf(element), shape.element(element).LeafCount());
  }

  bool Dies(const Step& step, size_t i, int buffer) const {
    return step.operands[i].last && buffer != kFree && buffers_.all[buffer].held == 1;
  }

  bool NamedOnce(const Step& step, size_t i) const {
    return std::ranges::count(step.operands, step.operands[i].slot, &Use::slot) == 1;
  }

  // The buffer of operand `i` if the op can overwrite it, otherwise a new one.
  int InPlaceOf(const Step& step, size_t i) {
    const int buffer = Operand(step, i)[0];
    if (Dies(step, i, buffer) && NamedOnce(step, i)) return buffers_.Share(buffer);
    return buffers_.New(BytesOfArray(step.inst->operand(static_cast<int64_t>(i)).shape()));
  }

  Leaves Elementwise(const Step& step) {
    const Shape& shape = step.inst->shape();
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const Shape& operand = step.inst->operand(static_cast<int64_t>(i)).shape();
      if (operand.type() != shape.type() || !SameDims(operand, shape)) continue;
      if (Dies(step, i, Operand(step, i)[0]) && NamedOnce(step, i)) return {InPlaceOf(step, i)};
    }
    return buffers_.New(shape);
  }

  std::set<int> Given(const Step& step) const {
    std::set<int> given;
    for (size_t i = 0; i < step.operands.size(); ++i) {
      for (const int buffer : Operand(step, i)) {
        if (Dies(step, i, buffer)) given.insert(buffer);
      }
    }
    return given;
  }

  void NoteLargest(const Instruction* inst, int64_t bytes) {
    if (bytes > result_.largest_bytes) result_.largest = inst, result_.largest_bytes = bytes;
  }
  void NoteCallee(const LivenessResult& callee) { NoteLargest(callee.largest, callee.largest_bytes); }

  // Notes the lower of two upper bounds: the callee frees no argument early, or buffers that the call uses last count
  // only in the callee.
  void NoteFrame(const Computation* callee, int64_t given) {
    const LivenessResult& freed = plans_.SimulationOf(callee, ArgumentUse::kFreed);
    NoteCallee(freed);
    Note(std::min(buffers_.live + plans_.SimulationOf(callee, ArgumentUse::kKept).bytes,
                  buffers_.live - given + freed.bytes));
  }

  // False if the callee does not match the step, as in an unverified module.
  bool Fits(const Step& step, const Computation* callee, size_t first, size_t count, const Shape& result) const {
    size_t arguments = 0, parameters = 0;
    for (size_t i = first; i < std::min(first + count, step.operands.size()); ++i) arguments += Operand(step, i).size();
    for (const Instruction* parameter : callee->parameters()) parameters += parameter->shape().LeafCount();
    return arguments == parameters &&
           plans_.SimulationOf(callee, ArgumentUse::kKept).result.size() == static_cast<size_t>(result.LeafCount());
  }

  static constexpr int kMade = -2;
  Leaves ResultOf(const Step& step, const Computation* callee, size_t first, size_t count) const {
    Leaves arguments;
    for (size_t i = first; i < first + count; ++i)
      arguments.insert(arguments.end(), Operand(step, i).begin(), Operand(step, i).end());
    Leaves result;
    for (const Origin& origin : plans_.SimulationOf(callee, ArgumentUse::kKept).result) {
      result.push_back(origin.kind == Origin::kNew         ? kMade
                       : origin.kind == Origin::kParameter ? arguments[origin.leaf]
                                                           : kFree);
    }
    return result;
  }

  // Buffers that the call uses last (`given`) remain only if they are in the result.
  Leaves Made(const Leaves& pattern, const Shape& shape, const std::set<int>& given) {
    for (const int buffer : given) {
      if (std::ranges::find(pattern, buffer) == pattern.end())
        buffers_.live -= std::exchange(buffers_.all[buffer].bytes, 0);
    }
    const std::vector<int64_t> bytes = LeafBytes(shape);
    Leaves leaves;
    for (size_t i = 0; i < pattern.size(); ++i)
      leaves.push_back(pattern[i] == kMade ? buffers_.New(bytes[i]) : buffers_.Share(pattern[i]));
    return leaves;
  }

  Leaves Call(const Step& step, const Shape& shape) {
    const Computation* callee = CalledComputations(*step.inst)[0];
    if (!Fits(step, callee, 0, step.operands.size(), shape)) return buffers_.New(shape);
    const std::set<int> given = Given(step);
    NoteFrame(callee, buffers_.BytesOf(given));
    return Made(ResultOf(step, callee, 0, step.operands.size()), shape, given);
  }

  // An array counts as made by the callee unless all branches return the same buffer.
  Leaves Conditional(const Step& step) {
    const Shape& shape = step.inst->shape();
    const std::vector<Computation*> branches = CalledComputations(*step.inst);
    const std::set<int> given = Given(step);
    Leaves pattern;
    for (size_t b = 0; b < branches.size(); ++b) {
      if (!Fits(step, branches[b], b + 1, 1, shape)) return buffers_.New(shape);
      NoteFrame(branches[b], buffers_.BytesOf(given));
      const Leaves of_branch = ResultOf(step, branches[b], b + 1, 1);
      if (b == 0) pattern = of_branch;
      for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != of_branch[i]) pattern[i] = kMade;
      }
    }
    return Made(pattern, shape, given);
  }

  // A leaf of the initial state remains if it has other users or the body passes it on.
  Leaves While(const Step& step) {
    const Shape& shape = step.inst->shape();
    const WhileAttrs& attrs = step.inst->attrs<WhileAttrs>();
    if (!Fits(step, attrs.body, 0, 1, shape)) return buffers_.New(shape);
    const std::vector<int64_t> bytes = LeafBytes(shape);
    const std::vector<Origin>& origins = plans_.SimulationOf(attrs.body, ArgumentUse::kKept).result;
    Leaves pattern = Operand(step, 0);
    std::set<int> given = Given(step);
    int64_t state = 0;
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (origins[i].kind == Origin::kParameter && origins[i].leaf == static_cast<int>(i)) {
        given.erase(pattern[i]);
        continue;
      }
      pattern[i] = kMade;
      state += bytes[i];
    }
    const LivenessResult& body = plans_.SimulationOf(attrs.body, ArgumentUse::kLoopState);
    const LivenessResult& condition = plans_.SimulationOf(attrs.condition, ArgumentUse::kKept);
    NoteCallee(body);
    NoteCallee(condition);
    Note(buffers_.live - buffers_.BytesOf(given) + std::max(body.bytes, state + condition.bytes));
    return Made(pattern, shape, given);
  }

  // ((operands), result, ...). With all operands bound, other elements than the result are zeros.
  Leaves Started(const Step& step) {
    const Shape& shape = step.inst->shape();
    if (step.operands.size() != CalledComputations(*step.inst)[0]->parameters().size()) return buffers_.New(shape);
    Leaves leaves;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      const Shape& element = shape.element(static_cast<int64_t>(i));
      const Leaves more = i == 1 ? Call(step, element) : buffers_.New(element);
      leaves.insert(leaves.end(), more.begin(), more.end());
    }
    return leaves;
  }

  Leaves TakeElement(const Step& step) {
    Leaves& tuple = slots_[step.operands[0].slot];
    const int64_t first = step.inst->operand(0).shape().FirstLeaf(step.inst->tuple_index());
    Leaves taken;
    for (int64_t i = first; i < first + step.inst->shape().LeafCount(); ++i)
      taken.push_back(std::exchange(tuple[i], kFree));
    return taken;
  }

  Leaves Do(const Step& step) {
    const Instruction& inst = *step.inst;
    if (step.take_element) return TakeElement(step);
    switch (inst.opcode()) {
      case Opcode::kConstant: return Leaves(inst.shape().LeafCount(), kFree);
      case Opcode::kCall:
      case Opcode::kFusion: return Call(step, inst.shape());
      case Opcode::kConditional: return Conditional(step);
      case Opcode::kWhile: return While(step);
      case Opcode::kAsyncStart: return Started(step);
      case Opcode::kTuple: {
        Leaves leaves;
        for (size_t i = 0; i < step.operands.size(); ++i) {
          const Leaves more = buffers_.Share(Operand(step, i));
          leaves.insert(leaves.end(), more.begin(), more.end());
        }
        return leaves;
      }
      case Opcode::kGetTupleElement: return buffers_.Share(Element(step, inst.tuple_index()));
      case Opcode::kCopyDone: return buffers_.Share(Element(step, 0));
      case Opcode::kAsyncDone:
      case Opcode::kAllGatherDone:
      case Opcode::kCollectivePermuteDone: return buffers_.Share(Element(step, 1));
      case Opcode::kReshape:
      case Opcode::kOptimizationBarrier:
      case Opcode::kDomain:
      case Opcode::kAddDependency:
      case Opcode::kAllReduceDone: return buffers_.Share(Operand(step, 0));
      case Opcode::kAsyncUpdate:
        if (step.operands.size() > 1) break;
        return buffers_.Share(Operand(step, 0));
      case Opcode::kCopyStart: {
        Leaves leaves = buffers_.Share(Operand(step, 0));
        const Leaves source = buffers_.Share(Operand(step, 0));
        leaves.insert(leaves.end(), source.begin(), source.end());
        leaves.push_back(buffers_.New(inst.shape().element(2).ByteSize()));
        return leaves;
      }
      case Opcode::kCopy:
        if (inst.shape().IsArray() && inst.shape().type() != inst.operand(0).shape().type()) break;
        return buffers_.Share(Operand(step, 0));
      case Opcode::kDynamicUpdateSlice:
        if (!step.dynamic && inst.operand(0).shape().IsArray()) return {InPlaceOf(step, 0)};
        break;
      case Opcode::kScatter: {
        if (step.dynamic) break;
        Leaves leaves;
        for (size_t i = 0; i < step.operands.size() / 2; ++i) leaves.push_back(InPlaceOf(step, i));
        return leaves;
      }
      default:
        if (inst.Is(kElementwise) && inst.shape().IsArray() && !step.dynamic) return Elementwise(step);
        break;
    }
    return buffers_.New(inst.shape());
  }

  Plans& plans_;
  const Computation& computation_;
  const Program& program_;
  std::vector<Leaves> slots_;
  FrameBuffers buffers_;
  LivenessResult result_;
};

void Plans::Add(const Computation& computation) {
  for (const ArgumentUse use : {ArgumentUse::kKept, ArgumentUse::kFreed})
    known_[{&computation, use}] = LivenessSimulation(*this, computation, use).Run();
  // Only bodies of loops have loop states.
  const auto parameters = computation.parameters();
  if (parameters.size() == 1 && parameters[0]->shape().LeafCount() == computation.root().shape().LeafCount())
    known_[{&computation, ArgumentUse::kLoopState}] =
        LivenessSimulation(*this, computation, ArgumentUse::kLoopState).Run();
}

bool RunsFrames(Opcode opcode) {
  return opcode == Opcode::kCall || opcode == Opcode::kFusion || opcode == Opcode::kWhile ||
         opcode == Opcode::kConditional || opcode == Opcode::kAsyncStart;
}

}  // namespace

Peak PlannedPeak(const Computation& computation) {
  Plans plans;
  std::vector<std::pair<const Computation*, bool>> stack = {{&computation, false}};
  std::set<const Computation*> seen;
  while (!stack.empty()) {
    const auto [current, opened] = stack.back();
    stack.pop_back();
    if (opened) {
      plans.Add(*current);
      continue;
    }
    if (!seen.insert(current).second) continue;
    stack.push_back({current, true});
    for (const Instruction* inst : current->Instructions()) {
      if (!RunsFrames(inst->opcode())) continue;
      for (const Computation* callee : CalledComputations(*inst)) stack.push_back({callee, false});
    }
  }
  const LivenessResult& entry = plans.SimulationOf(&computation, ArgumentUse::kKept);
  Peak peak = {entry.bytes, entry.largest};
  for (const Instruction* parameter : computation.parameters()) peak.bytes += parameter->shape().ByteSize();
  return peak;
}

}  // namespace hlo
