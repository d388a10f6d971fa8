#include "tests/gpu/emitters_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

#include "gpu/codegen/emulator.h"
#include "gpu/codegen/host.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/runtime/fault.h"
#include "interp/interpreter.h"
#include "parser/parser.h"
#include "tests/gpu/host_isa_levels.h"

namespace hlo::gpu {
namespace {

// The memory of a buffer, with the alignment that the run time uses.
struct Memory {
  explicit Memory(int64_t bytes, int fill)
      : data(static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 256) / 256 * 256)), std::free) {
    std::memset(data.get(), fill, (bytes + 256) / 256 * 256);
  }
  std::shared_ptr<std::byte> data;
};

// Calls `f` for each element in row-major order with its offset in memory.
template <class F>
void ForEachPlace(const Shape& shape, F f) {
  const std::vector<int64_t> strides = LayoutStrides(shape);
  std::vector<int64_t> index(shape.rank(), 0);
  for (int64_t linear = 0; linear < shape.NumElements(); ++linear) {
    int64_t place = 0;
    for (int64_t d = 0; d < shape.rank(); ++d) place += index[d] * strides[d];
    f(linear, place);
    for (int64_t d = shape.rank(); d-- > 0;) {
      if (++index[d] < shape.dim(d)) break;
      index[d] = 0;
    }
  }
}

void ToMemory(const Literal& literal, const Shape& shape, std::byte* memory) {
  const int64_t width = ByteWidth(shape.type());
  ForEachPlace(shape, [&](int64_t linear, int64_t place) {
    std::memcpy(memory + place * width, literal.raw() + linear * width, width);
  });
}

void FromMemory(const std::byte* memory, const Shape& shape, Literal& literal) {
  const int64_t width = ByteWidth(shape.type());
  std::byte* const raw = literal.mutable_raw();
  ForEachPlace(
      shape, [&](int64_t linear, int64_t place) { std::memcpy(raw + linear * width, memory + place * width, width); });
}

uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

double UlpAt(PrimitiveType type, double x) {
  const int bits = type == PrimitiveType::kF64   ? 53
                   : type == PrimitiveType::kF32 ? 24
                   : type == PrimitiveType::kF16 ? 11
                                                 : 8;
  return std::ldexp(1.0, std::ilogb(std::max(std::abs(x), 1e-30)) - bits + 1);
}

bool IsNan(std::complex<double> x) { return std::isnan(x.real()) || std::isnan(x.imag()); }

// Expects each element of `actual` within `ulps` units in the last place of the expected one. For complex numbers, the
// unit is taken at the absolute value, because a part may cancel.
void ExpectNear(const Literal& expected, const Literal& actual, double ulps, const std::string& what) {
  if (expected.shape().IsTuple()) {
    for (size_t i = 0; i < expected.elements().size(); ++i)
      ExpectNear(expected.elements()[i], actual.elements()[i], ulps, what);
    return;
  }
  int bad = 0;
  const PrimitiveType type = expected.shape().type();
  for (int64_t i = 0; i < expected.shape().NumElements() && bad < 5; ++i) {
    if (IsComplex(type)) {
      const std::complex<double> e = expected.GetComplex(i), a = actual.GetComplex(i);
      const double ulp = UlpAt(type == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64, std::abs(e));
      if (e == a || (IsNan(e) && IsNan(a)) || std::abs(e - a) <= ulps * ulp) continue;
      ADD_FAILURE() << what << ": element " << i << ": expected " << e << ", got " << a;
      ++bad;
      continue;
    }
    const double e = expected.GetDouble(i), a = actual.GetDouble(i);
    if (e == a || (std::isnan(e) && std::isnan(a))) continue;
    if (IsFloat(type) && std::abs(e - a) <= ulps * UlpAt(type, e)) continue;
    ADD_FAILURE() << what << ": element " << i << " of " << expected.shape().ToString() << ": expected " << e
                  << ", got " << a;
    ++bad;
  }
}

}  // namespace

std::unique_ptr<Module> Parsed(const std::string& text) {
  auto module = Parse(std::make_shared<SourceText>("test.hlo", text));
  if (!module) {
    ADD_FAILURE() << module.error().message() << "\n" << text;
    std::abort();
  }
  return std::move(*module);
}

std::unique_ptr<Module> Fused(const std::string& text, FusionKind kind) {
  auto module = Parsed(text);
  Computation& old_entry = module->entry();
  Computation& computation = module->AddComputation("entry");
  std::vector<Instruction*> parameters;
  for (const Instruction* parameter : old_entry.parameters()) {
    parameters.push_back(&computation.AddParameter(parameter->parameter_number(), parameter->shape()));
  }
  FusionAttrs attrs;
  attrs.kind = kind;
  attrs.calls = &old_entry;
  computation.SetRoot(computation.Add(Opcode::kFusion, old_entry.root().shape(), parameters, attrs, "fusion"));
  module->SetEntry(computation);
  return module;
}

std::vector<Literal> MakeInputs(const Module& module, Inputs inputs, uint64_t seed) {
  std::vector<Literal> literals;
  for (const Instruction* parameter : module.entry().parameters()) {
    Literal literal(parameter->shape());
    const auto fill = [&](Literal& array, uint64_t leaf) {
      for (int64_t i = 0; i < array.shape().NumElements(); ++i) {
        const uint64_t random =
            Mix(seed * 1000003 + leaf * 7919 + parameter->parameter_number() * 104729 + static_cast<uint64_t>(i));
        const double unit = static_cast<double>(random >> 11) * 0x1p-53;
        if (IsComplex(array.shape().type())) {
          const double whole[] = {static_cast<double>(static_cast<int64_t>(random % 17) - 8),
                                  static_cast<double>(static_cast<int64_t>(random / 17 % 17) - 8)};
          const double other = static_cast<double>(Mix(random) >> 11) * 0x1p-53;
          array.SetComplex(i, inputs == Inputs::kIntegers ? std::complex(whole[0], whole[1])
                                                          : std::complex(unit * 4 - 2, other * 4 - 2));
        } else if (!IsFloat(array.shape().type())) {
          array.SetInt(i, inputs == Inputs::kWide                        ? static_cast<int64_t>(random)
                          : array.shape().type() == PrimitiveType::kPred ? static_cast<int64_t>(random & 1)
                          : IsUnsigned(array.shape().type())             ? static_cast<int64_t>(random % 9)
                                                                         : static_cast<int64_t>(random % 17) - 8);
        } else if (inputs == Inputs::kIntegers) {
          array.SetDouble(i, static_cast<double>(static_cast<int64_t>(random % 17) - 8));
        } else {
          const double special[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan("")};
          const bool is_special = inputs == Inputs::kReals && random % 64 < 5;
          array.SetDouble(i, is_special ? special[random % 64] : unit * 4 - 2);
        }
      }
    };
    uint64_t leaf = 0;
    const std::function<void(Literal&)> fill_all = [&](Literal& value) {
      if (!value.shape().IsTuple()) return fill(value, leaf++);
      for (Literal& element : value.mutable_elements()) fill_all(element);
    };
    fill_all(literal);
    literals.push_back(std::move(literal));
  }
  return literals;
}

Result<std::vector<EmittedKernel>> Emit(const Instruction& inst, std::string_view mutation) {
  std::vector<EmittedKernel> kernels = TRY(EmitFusion(inst, TRY(KernelPlanOf(inst, DefaultDevice()))));
  if (!mutation.empty()) {
    EXPECT_TRUE(PlantInKernels(*kernel::FindMutation(mutation), kernels)) << mutation;
  }
  return kernels;
}

Result<Literal> RunKernels(const Module& module, std::span<const Literal> inputs, On on, std::string_view mutation) {
  const Instruction& root = module.entry().root();
  const std::vector<EmittedKernel> plans = TRY(Emit(root, mutation));
  const auto operand_of = [&](int64_t operand, const ShapeIndex& index) -> std::pair<const Literal&, const Shape&> {
    const Instruction& parameter = root.operand(operand);
    if (parameter.Is(Opcode::kConstant)) return {parameter.literal(), parameter.shape()};
    return {inputs[parameter.parameter_number()].At(index), SubShape(parameter.shape(), index)};
  };
  std::map<ShapeIndex, Memory> outputs;
  ForEachLeaf(root.shape(), [&](const ShapeIndex& index, const Shape& shape) {
    outputs.emplace(index, Memory(shape.ByteSize(), 0xA5));
  });
  std::map<int, Memory> scratch;
  std::map<int, int64_t> must_be_zero;
  for (const EmittedKernel& plan : plans) {
    std::vector<Memory> keep;
    std::vector<void*> arguments;
    for (const KernelBuffer& buffer : plan.buffers) {
      switch (buffer.kind) {
        case KernelBuffer::Kind::kOperand: {
          const auto [literal, shape] = operand_of(buffer.operand, buffer.index);
          keep.emplace_back(buffer.bytes, 0);
          ToMemory(literal, shape, keep.back().data.get());
          arguments.push_back(keep.back().data.get());
          break;
        }
        case KernelBuffer::Kind::kOutput: {
          Memory& memory = outputs.at(buffer.index);
          if (buffer.in_place_operand >= 0) {
            const auto [literal, shape] = operand_of(buffer.in_place_operand, buffer.in_place_index);
            ToMemory(literal, shape, memory.data.get());
          }
          arguments.push_back(memory.data.get());
          break;
        }
        case KernelBuffer::Kind::kScratch: {
          const auto [it, is_new] = scratch.try_emplace(buffer.scratch, Memory(buffer.bytes, buffer.zeroed ? 0 : 0xA5));
          if (buffer.zeroed) must_be_zero[buffer.scratch] = buffer.bytes;
          arguments.push_back(it->second.data.get());
          break;
        }
        case KernelBuffer::Kind::kTrips: {
          keep.emplace_back(buffer.bytes, 0);
          auto* const trips = reinterpret_cast<int64_t*>(keep.back().data.get());
          trips[kStopAfter] = trips[kMostTrips] = std::numeric_limits<int64_t>::max();
          arguments.push_back(trips);
          break;
        }
        case KernelBuffer::Kind::kLiteral:
          keep.emplace_back(buffer.bytes, 0);
          std::memcpy(keep.back().data.get(), buffer.literal.raw(), buffer.bytes);
          arguments.push_back(keep.back().data.get());
          break;
      }
    }
    if (on != On::kEmulator) {
      const kernel::Kernel* const kernels[] = {plan.kernel.get()};
      const double share[] = {on == On::kHostQuickly ? 0.0 : 1.0};
      TRY(kernel::CompileHost(kernels, share)).front().Launch(arguments);
      continue;
    }
    const kernel::SanitizerReport report = TRY(kernel::Emulate(*plan.kernel, arguments));
    EXPECT_TRUE(report.clean()) << report.ToString();
  }
  for (const auto& [id, bytes] : must_be_zero) {
    const auto* data = scratch.at(id).data.get();
    EXPECT_TRUE(std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte{0}; }))
        << "scratch " << id << " is not left zero";
  }
  Literal result(root.shape());
  ForEachLeaf(root.shape(), [&](const ShapeIndex& index, const Shape& shape) {
    Literal* leaf = &result;
    for (const int64_t i : index) leaf = &leaf->mutable_elements()[i];
    FromMemory(outputs.at(index).data.get(), shape, *leaf);
  });
  return result;
}

void Check(const Module& module, Inputs inputs, double ulps) {
  const std::vector<Literal> literals = MakeInputs(module, inputs);
  const auto expected = Interpret(module, literals);
  ASSERT_TRUE(expected.has_value()) << expected.error().message();
  const auto emulated = RunKernels(module, literals, On::kEmulator);
  ASSERT_TRUE(emulated.has_value()) << emulated.error().message();
  AtEveryHostIsa([&] {
    const auto host = RunKernels(module, literals, On::kHost);
    ASSERT_TRUE(host.has_value()) << host.error().message();
    ExpectNear(*expected, *host, ulps, "host against the interpreter");
    ForEachLeaf(host->shape(), [&](const ShapeIndex& index, const Shape&) {
      EXPECT_TRUE(host->At(index).BitEquals(emulated->At(index))) << "the emulator's result differs from the host's";
    });
  });
  if (kernel::FindPtxas().empty()) return;
  const auto plans = Emit(module.entry().root());
  for (const EmittedKernel& plan : *plans) {
    const auto ptx = kernel::EmitPtx(*plan.kernel);
    ASSERT_TRUE(ptx.has_value()) << ptx.error().message();
    const auto report = kernel::Ptxas(ptx->text);
    EXPECT_TRUE(report.has_value()) << report.error().message();
  }
}

}  // namespace hlo::gpu
