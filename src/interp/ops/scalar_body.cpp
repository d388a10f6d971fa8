#include "interp/ops/scalar_body.h"

#include <cstring>
#include <unordered_map>

#include "base/check.h"
#include "interp/nan_bits.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr int64_t kRegisterBytes = ScalarBody::kLanes * 16;
constexpr int kMaxNesting = 100;  // Nested interpretations take stack.
constexpr int kMaxInlined = 200;  // Calls within scalar computations.

bool IsIdentity(const Instruction& inst) {
  const bool moves = inst.Is(kMoves) && inst.operand_count() == 1;
  return (moves || inst.Is(Opcode::kOptimizationBarrier) || inst.Is(Opcode::kCopy)) &&
         inst.operand(0).shape().IsScalar() && inst.shape().type() == inst.operand(0).shape().type();
}

// XLA's optimized comparators have such bitcasts of floats.
bool IsSameBytes(const Instruction& inst) {
  if (!inst.Is(Opcode::kBitcast) && !inst.Is(Opcode::kBitcastConvert)) return false;
  const Shape &from = inst.operand(0).shape(), &to = inst.shape();
  if (!from.IsScalar() || !to.IsScalar()) return false;
  return from.type() == to.type() || (BitWidth(from.type()) == BitWidth(to.type()) && BitWidth(to.type()) >= 8);
}

// One value for each element of a tuple.
template <class Source>
using Values = std::unordered_map<const Instruction*, std::vector<Source>>;

}  // namespace

Result<std::unique_ptr<ScalarBody>> ScalarBody::Make(const Computation& computation, const InterpretOptions& options,
                                                     int nesting) {
  auto body = std::make_unique<ScalarBody>();
  body->computation_ = &computation;
  body->options_ = options;
  body->options_.on_value = nullptr;
  body->options_.perturb = nullptr;
  body->options_.on_iteration = nullptr;
  body->options_.given = nullptr;
  body->nesting_ = nesting;
  for (const Instruction* parameter : computation.parameters()) {
    if (!parameter->shape().IsScalar()) {
      FAIL(UnsupportedAt(*parameter, "U002",
                         Str("a parameter of ", parameter->shape(),
                             " in a computation that is applied to scalars is not supported by the interpreter")));
    }
    body->parameter_types_.push_back(parameter->shape().type());
  }
  ForEachLeaf(computation.root().shape(),
              [&](const ShapeIndex&, const Shape& leaf) { body->results_.push_back(leaf.type()); });
  if (auto status = body->Compile(computation); !status) return std::unexpected(std::move(status).error());
  return body;
}

Status ScalarBody::Compile(const Computation& computation) {
  struct Compiler {
    ScalarBody& body;

    // Returns no values if an instruction cannot run block by block.
    Result<std::vector<Source>> Inline(const Computation& computation,
                                       const std::vector<std::vector<Source>>& parameters, int depth) {
      Values<Source> values;
      if (depth > kMaxInlined) return std::vector<Source>();
      for (const Instruction* inst : computation.PostOrder()) {
        // Steps do not unify NaNs, so instructions that read their bits are interpreted.
        if (body.options_.nan_bits != NanBits::kOwn && ReadsNanBits(*inst)) return std::vector<Source>();
        std::vector<Source>& value = values[inst];
        if (inst->Is(Opcode::kParameter)) {
          value = parameters[inst->parameter_number()];
          continue;
        }
        if (inst->Is(Opcode::kTuple)) {
          for (const Instruction* operand : inst->operands())
            value.insert(value.end(), values[operand].begin(), values[operand].end());
          continue;
        }
        if (inst->Is(Opcode::kCall) || inst->Is(Opcode::kFusion)) {
          std::vector<std::vector<Source>> arguments;
          for (const Instruction* operand : inst->operands()) arguments.push_back(values[operand]);
          value = TRY(Inline(*CalledComputations(*inst)[0], arguments, depth + 1));
          if (value.empty()) return std::vector<Source>();
          continue;
        }
        if (inst->Is(Opcode::kGetTupleElement) &&
            inst->operand(0).shape().LeafCount() == static_cast<int64_t>(inst->operand(0).shape().elements().size())) {
          value = {values[&inst->operand(0)][inst->tuple_index()]};
          continue;
        }
        if (!inst->shape().IsScalar()) return std::vector<Source>();
        if (inst->Is(Opcode::kConstant)) {
          const int64_t bytes = ByteWidth(inst->shape().type());
          body.constants_.emplace_back(kLanes * bytes);
          Fill(inst->literal().raw(), bytes, body.constants_.back().data(), kLanes);
          value = {{Source::kConstant, static_cast<int64_t>(body.constants_.size()) - 1}};
          continue;
        }
        if (IsIdentity(*inst) || IsSameBytes(*inst)) {
          value = values[&inst->operand(0)];
          continue;
        }
        if (!inst->Is(kElementwise)) return std::vector<Source>();
        Step step = {TRY(ElementwiseOp::Make(*inst))};
        for (const Instruction* operand : inst->operands()) step.operands[step.operand_count++] = values[operand][0];
        body.steps_.push_back(step);
        value = {{Source::kRegister, static_cast<int64_t>(body.steps_.size()) - 1}};
      }
      return values[&computation.root()];
    }
  };

  std::vector<std::vector<Source>> parameters;
  for (size_t i = 0; i < parameter_types_.size(); ++i)
    parameters.push_back({{Source::kParameter, static_cast<int64_t>(i)}});
  outputs_ = TRY((Compiler{*this}.Inline(computation, parameters, 0)));
  blocks_ = outputs_.size() == results_.size() && !outputs_.empty();
  if (!blocks_) return {};

  if (outputs_.size() != 1) return {};
  if (steps_.empty()) {
    if (outputs_[0].kind == Source::kParameter) as_parameter_ = outputs_[0].index;
    return {};
  }
  if (steps_.size() != 1 || steps_[0].operand_count != 2 || !computation.root().Is(kElementwise)) return {};
  const Source &x = steps_[0].operands[0], &y = steps_[0].operands[1];
  if (x.kind != Source::kParameter || y.kind != Source::kParameter || x.index + y.index != 1) return {};
  for (const Instruction* operand : computation.root().operands()) {
    if (operand->shape().type() != parameter_types_[0]) return {};
  }
  binary_opcode_ = computation.root().opcode();
  binary_ = x.index == 0;
  if (binary_ && binary_opcode_ == Opcode::kCompare) comparison_ = &computation.root();
  return {};
}

Status ScalarBody::Run(const std::byte* const* in, std::byte* const* out, int64_t count, Scratch& scratch) const {
  if (!blocks_) return RunEach(in, out, count);
  if (scratch.bytes.size() < steps_.size() * kRegisterBytes) scratch.bytes.resize(steps_.size() * kRegisterBytes);
  std::byte* const registers = scratch.bytes.data();
  const auto place = [&](const Source& source) -> const std::byte* {
    if (source.kind == Source::kParameter) return in[source.index];
    if (source.kind == Source::kConstant) return constants_[source.index].data();
    return registers + source.index * kRegisterBytes;
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const std::byte* operands[ElementwiseOp::kMaxOperands] = {};
    for (int j = 0; j < step.operand_count; ++j) operands[j] = place(step.operands[j]);
    // The last step may write the only result in place, because nothing is read later.
    const bool last = outputs_.size() == 1 && i + 1 == steps_.size() && outputs_[0].kind == Source::kRegister &&
                      outputs_[0].index == static_cast<int64_t>(i);
    step.op.Run(operands, last ? out[0] : registers + i * kRegisterBytes, count);
    if (last) return {};
  }
  // An earlier result may overwrite a parameter that is also a result.
  std::vector<std::vector<std::byte>> kept(outputs_.size());
  if (outputs_.size() > 1) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].kind != Source::kParameter) continue;
      const std::byte* from = in[outputs_[i].index];
      kept[i].assign(from, from + count * ByteWidth(results_[i]));
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const std::byte* from = kept[i].empty() ? place(outputs_[i]) : kept[i].data();
    if (from != out[i]) std::memcpy(out[i], from, count * ByteWidth(results_[i]));
  }
  return {};
}

Status ScalarBody::RunEach(const std::byte* const* in, std::byte* const* out, int64_t count) const {
  if (nesting_ >= kMaxNesting) {
    FAIL(LimitError("R005", Str("scalar computations (of map, reduce and the like) are nested deeper than ",
                                kMaxNesting, " levels; no flag raises this limit"))
             .Hint("calls from an array computation may be nested as deep as --max_depth"));
  }
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Literal> arguments;
    for (size_t p = 0; p < parameter_types_.size(); ++p) {
      const int64_t bytes = ByteWidth(parameter_types_[p]);
      Literal argument = Literal::Uninitialized(Shape::Scalar(parameter_types_[p]));
      std::memcpy(argument.mutable_raw(), in[p] + i * bytes, bytes);
      arguments.push_back(std::move(argument));
    }
    const Literal result = TRY(EvaluateNested(*computation_, arguments, options_, nesting_ + 1));
    size_t leaf = 0;
    ForEachLeaf(result.shape(), [&](const ShapeIndex& index, const Shape& shape) {
      const int64_t bytes = ByteWidth(shape.type());
      std::memcpy(out[leaf++] + i * bytes, result.At(index).raw(), bytes);
    });
  }
  return {};
}

Status CheckBody(const Instruction& inst, const ScalarBody& body, size_t arrays, std::span<const Literal> accumulators,
                 std::span<const Literal> values) {
  bool fits = body.parameters().size() == 2 * arrays && body.results().size() == arrays;
  for (size_t i = 0; fits && i < arrays; ++i) {
    const PrimitiveType type = accumulators[i].shape().type();
    fits = body.parameters()[i] == type && body.parameters()[arrays + i] == values[i].shape().type() &&
           body.results()[i] == type && values[i].shape().type() == type;
  }
  if (fits && inst.shape().LeafCount() == static_cast<int64_t>(arrays)) {
    ForEachLeaf(inst.shape(), [&, i = size_t{0}](const ShapeIndex&, const Shape& leaf) mutable {
      fits = fits && leaf.type() == body.results()[i++];
    });
  }
  if (fits) return {};
  FAIL(UnsupportedAt(inst, "U002",
                     Str("'", inst.opcode(),
                         "' whose computation has other types than the operands is not supported by the interpreter")));
}

}  // namespace hlo
