// Compares the interpreter bit by bit with an evaluator that implements the definitions with plain index loops.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/parallel.h"
#include "base/text.h"
#include "interp/strided.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

std::vector<std::vector<int64_t>> AllIndices(const std::vector<int64_t>& dims) {
  std::vector<std::vector<int64_t>> indices;
  for (IndexWalk walk(dims); walk.Valid(); walk.Next()) indices.push_back(walk.index());
  return indices;
}

double At(const Literal& literal, const std::vector<int64_t>& index) {
  return literal.GetDouble(Dot(index, RowMajorStrides(literal.shape().dims())));
}

// A dot with sums in f32, one product at a time.
Literal NaiveDot(const Instruction& inst, const Literal& a, const Literal& b) {
  const DotAttrs& attrs = inst.attrs<DotAttrs>();
  const auto has = [](const std::vector<int64_t>& dims, int64_t d) {
    return std::find(dims.begin(), dims.end(), d) != dims.end();
  };
  std::vector<int64_t> contracted;
  for (const int64_t d : attrs.lhs_contracting) contracted.push_back(a.shape().dim(d));
  Literal result(inst.shape());
  int64_t linear = 0;
  for (const auto& out : AllIndices(inst.shape().dims())) {
    std::vector<int64_t> ia(a.shape().rank()), ib(b.shape().rank());
    size_t next = 0;
    for (size_t i = 0; i < attrs.lhs_batch.size(); ++i, ++next)
      ia[attrs.lhs_batch[i]] = ib[attrs.rhs_batch[i]] = out[next];
    for (int64_t d = 0; d < a.shape().rank(); ++d) {
      if (!has(attrs.lhs_batch, d) && !has(attrs.lhs_contracting, d)) ia[d] = out[next++];
    }
    for (int64_t d = 0; d < b.shape().rank(); ++d) {
      if (!has(attrs.rhs_batch, d) && !has(attrs.rhs_contracting, d)) ib[d] = out[next++];
    }
    float sum = 0;
    for (const auto& k : AllIndices(contracted)) {
      for (size_t i = 0; i < k.size(); ++i) ia[attrs.lhs_contracting[i]] = ib[attrs.rhs_contracting[i]] = k[i];
      const float product = static_cast<float>(At(a, ia)) * static_cast<float>(At(b, ib));
      sum = sum + product;
    }
    result.SetDouble(linear++, sum);
  }
  return result;
}

// The coordinate in the operand for window offset w at output position o, or -1 if that is padding or a hole.
int64_t Base(const WindowDim& window, int64_t size, int64_t o, int64_t w) {
  const int64_t at = o * window.stride + w * window.window_dilation - window.pad_low;
  return at < 0 || at % window.base_dilation != 0 || at / window.base_dilation >= size ? -1 : at / window.base_dilation;
}

Literal NaiveConvolution(const Instruction& inst, const Literal& lhs, const Literal& rhs) {
  const ConvolutionAttrs& attrs = inst.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const size_t spatial = labels.lhs_spatial.size();
  const int64_t outputs = rhs.shape().dim(labels.rhs_output_feature),
                inputs = rhs.shape().dim(labels.rhs_input_feature);
  const int64_t g = attrs.feature_group_count, b = attrs.batch_group_count, batch = lhs.shape().dim(labels.lhs_batch);
  std::vector<int64_t> window;
  for (const int64_t d : labels.rhs_spatial) window.push_back(rhs.shape().dim(d));
  Literal result(inst.shape());
  int64_t linear = 0;
  for (const auto& out : AllIndices(inst.shape().dims())) {
    const int64_t n = out[labels.out_batch], o = out[labels.out_feature];
    float sum = 0;
    for (const auto& w : AllIndices(window)) {
      std::vector<int64_t> il(lhs.shape().rank()), ir(rhs.shape().rank());
      bool inside = true;
      for (size_t d = 0; d < spatial; ++d) {
        const WindowDim& dim = attrs.window.dims[d];
        il[labels.lhs_spatial[d]] = Base(dim, lhs.shape().dim(labels.lhs_spatial[d]), out[labels.out_spatial[d]], w[d]);
        inside &= il[labels.lhs_spatial[d]] >= 0;
        ir[labels.rhs_spatial[d]] = dim.reversed ? dim.size - 1 - w[d] : w[d];
      }
      if (!inside) continue;
      for (int64_t i = 0; i < inputs; ++i) {
        il[labels.lhs_batch] = n + o / (outputs / b) * (batch / b);
        il[labels.lhs_feature] = o / (outputs / g) * (lhs.shape().dim(labels.lhs_feature) / g) + i;
        ir[labels.rhs_input_feature] = i;
        ir[labels.rhs_output_feature] = o;
        const float product = static_cast<float>(At(lhs, il)) * static_cast<float>(At(rhs, ir));
        sum = sum + product;
      }
    }
    result.SetDouble(linear++, sum);
  }
  return result;
}

Literal NaiveReduceWindowAdd(const Instruction& inst, const Literal& x, const Literal& init) {
  const Window& window = inst.attrs<ReduceWindowAttrs>().window;
  std::vector<int64_t> sizes;
  for (const WindowDim& dim : window.dims) sizes.push_back(dim.size);
  Literal result(inst.shape());
  int64_t linear = 0;
  for (const auto& out : AllIndices(inst.shape().dims())) {
    float sum = static_cast<float>(init.GetDouble(0));
    for (const auto& w : AllIndices(sizes)) {
      std::vector<int64_t> index(out.size());
      bool inside = true;
      for (size_t d = 0; d < out.size(); ++d) {
        index[d] = Base(window.dims[d], x.shape().dim(d), out[d], w[d]);
        inside &= index[d] >= 0;
      }
      if (inside) sum = sum + static_cast<float>(At(x, index));
    }
    result.SetDouble(linear++, sum);
  }
  return result;
}

Literal NaiveGather(const Instruction& inst, const Literal& operand, const Literal& indices) {
  const GatherAttrs& attrs = inst.attrs<GatherAttrs>();
  const auto has = [](const std::vector<int64_t>& dims, int64_t d) {
    return std::find(dims.begin(), dims.end(), d) != dims.end();
  };
  Literal result(inst.shape());
  int64_t linear = 0;
  for (const auto& out : AllIndices(inst.shape().dims())) {
    std::vector<int64_t> batch, offset;
    for (size_t d = 0; d < out.size(); ++d)
      (has(attrs.offset_dims, static_cast<int64_t>(d)) ? offset : batch).push_back(out[d]);
    std::vector<int64_t> start(operand.shape().rank());
    for (size_t k = 0; k < attrs.start_index_map.size(); ++k) {
      std::vector<int64_t> at = batch;
      if (attrs.index_vector_dim < indices.shape().rank())
        at.insert(at.begin() + attrs.index_vector_dim, static_cast<int64_t>(k));
      start[attrs.start_index_map[k]] = static_cast<int64_t>(At(indices, at));
    }
    for (size_t k = 0; k < attrs.operand_batching_dims.size(); ++k) {
      int64_t d = attrs.start_indices_batching_dims[k];
      if (d > attrs.index_vector_dim) --d;
      start[attrs.operand_batching_dims[k]] = batch[d];
    }
    size_t next = 0;
    for (int64_t d = 0; d < operand.shape().rank(); ++d) {
      start[d] = std::clamp<int64_t>(start[d], 0, operand.shape().dim(d) - attrs.slice_sizes[d]);
      if (!has(attrs.collapsed_slice_dims, d) && !has(attrs.operand_batching_dims, d)) start[d] += offset[next++];
    }
    result.SetDouble(linear++, At(operand, start));
  }
  return result;
}

// A scatter that adds, one update element at a time in the order of the update's indices, with sums in f32.
Literal NaiveScatterAdd(const Instruction& inst, const Literal& operand, const Literal& indices,
                        const Literal& updates) {
  const ScatterAttrs& attrs = inst.attrs<ScatterAttrs>();
  const auto has = [](const std::vector<int64_t>& dims, int64_t d) {
    return std::find(dims.begin(), dims.end(), d) != dims.end();
  };
  Literal result = operand;
  for (const auto& at : AllIndices(updates.shape().dims())) {
    std::vector<int64_t> batch, window;
    for (size_t d = 0; d < at.size(); ++d)
      (has(attrs.update_window_dims, static_cast<int64_t>(d)) ? window : batch).push_back(at[d]);
    std::vector<int64_t> start(operand.shape().rank());
    for (size_t k = 0; k < attrs.scatter_dims_to_operand_dims.size(); ++k) {
      std::vector<int64_t> index = batch;
      if (attrs.index_vector_dim < indices.shape().rank())
        index.insert(index.begin() + attrs.index_vector_dim, static_cast<int64_t>(k));
      start[attrs.scatter_dims_to_operand_dims[k]] = static_cast<int64_t>(At(indices, index));
    }
    bool inside = true;
    size_t next = 0;
    for (int64_t d = 0; d < operand.shape().rank(); ++d) {
      const bool inserted = has(attrs.inserted_window_dims, d);
      const int64_t size = inserted ? 1 : updates.shape().dim(attrs.update_window_dims[next]);
      inside &= start[d] >= 0 && start[d] <= operand.shape().dim(d) - size;
      if (!inserted) start[d] += window[next++];
    }
    if (!inside) continue;
    const int64_t linear = Dot(start, RowMajorStrides(operand.shape().dims()));
    result.SetDouble(linear, static_cast<float>(result.GetDouble(linear)) + static_cast<float>(At(updates, at)));
  }
  return result;
}

void ExpectAgreement(const std::string& body) {
  const auto module = ParseText(
      "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\nENTRY "
      "main {\n" +
      body + "\n}");
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> args = RandomArguments(*module);
  const Instruction& root = module->entry().root();
  const auto actual = Interpret(*module, args);
  ASSERT_TRUE(actual.has_value()) << Render(actual.error(), "test");
  Literal expected;
  switch (root.opcode()) {
    case Opcode::kDot: expected = NaiveDot(root, args[0], args[1]); break;
    case Opcode::kConvolution: expected = NaiveConvolution(root, args[0], args[1]); break;
    case Opcode::kReduceWindow: expected = NaiveReduceWindowAdd(root, args[0], args[1]); break;
    case Opcode::kGather: expected = NaiveGather(root, args[0], args[1]); break;
    case Opcode::kScatter: expected = NaiveScatterAdd(root, args[0], args[1], args[2]); break;
    default: ADD_FAILURE() << "no naive evaluator";
  }
  EXPECT_TRUE(actual->BitEquals(expected)) << body;
}

TEST(SecondEvaluator, AgreesOnDot) {
  // Shapes leave remainders of the 6 x 16 tiles and have depths beyond one block of 256, few rows, transposed operands
  // and batches.
  ExpectAgreement(
      "a = f32[13,300] parameter(0)\nb = f32[300,37] parameter(1)\nROOT c = f32[13,37] dot(a, b), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  ExpectAgreement(
      "a = f32[70,5] parameter(0)\nb = f32[33,70] parameter(1)\nROOT c = f32[5,33] dot(a, b), "
      "lhs_contracting_dims={0}, rhs_contracting_dims={1}");
  ExpectAgreement(
      "a = f32[2,517] parameter(0)\nb = f32[517,300] parameter(1)\nROOT c = f32[2,300] dot(a, b), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  ExpectAgreement(
      "a = f32[3,4,5,2] parameter(0)\nb = f32[5,6,3,2] parameter(1)\n"
      "ROOT c = f32[3,4,6] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={2}, lhs_contracting_dims={3,2}, "
      "rhs_contracting_dims={3,0}");
  ExpectAgreement(
      "a = f32[3] parameter(0)\nb = f32[4] parameter(1)\nROOT c = f32[3,4] dot(a, b), lhs_contracting_dims={}, "
      "rhs_contracting_dims={}");
  ExpectAgreement(
      "a = f32[3,0] parameter(0)\nb = f32[0,4] parameter(1)\nROOT c = f32[3,4] dot(a, b), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}");
}

TEST(SecondEvaluator, AgreesOnConvolution) {
  const std::string operands = "x = f32[2,7,6,8] parameter(0)\nw = f32[3,2,8,18] parameter(1)\n";
  ExpectAgreement(
      operands + "ROOT y = f32[2,7,5,18] convolution(x, w), window={size=3x2 pad=1_1x0_0}, dim_labels=b01f_01io->b01f");
  ExpectAgreement(
      operands +
      "ROOT y = f32[2,4,7,18] convolution(x, w), window={size=3x2 stride=2x1 pad=1_1x1_1}, dim_labels=b01f_01io->b01f");
  ExpectAgreement(operands +
                  "ROOT y = f32[2,13,4,18] convolution(x, w), window={size=3x2 pad=1_1x-1_0 lhs_dilate=2x1 "
                  "rhs_reversal=1x0}, dim_labels=b01f_01io->b01f");
  ExpectAgreement(operands +
                  "ROOT y = f32[2,5,4,18] convolution(x, w), window={size=3x2 pad=1_1x0_0 rhs_dilate=2x2}, "
                  "dim_labels=b01f_01io->b01f");
  ExpectAgreement(
      "x = f32[2,8,7,6] parameter(0)\nw = f32[12,4,3,2] parameter(1)\n"
      "ROOT y = f32[2,12,5,5] convolution(x, w), window={size=3x2}, dim_labels=bf01_oi01->bf01, feature_group_count=2");
  ExpectAgreement(
      "x = f32[4,7,6,3] parameter(0)\nw = f32[3,2,3,8] parameter(1)\n"
      "ROOT y = f32[2,5,5,8] convolution(x, w), window={size=3x2}, dim_labels=b01f_01io->b01f, batch_group_count=2");
  ExpectAgreement(
      "x = f32[2,7,6,5] parameter(0)\nw = f32[3,3,1,5] parameter(1)\n"
      "ROOT y = f32[2,7,6,5] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
      "feature_group_count=5");
}

TEST(SecondEvaluator, AgreesOnReduceWindow) {
  ExpectAgreement(
      "x = f32[2,7,6,9] parameter(0)\ni = f32[] parameter(1)\n"
      "ROOT y = f32[2,4,3,9] reduce-window(x, i), window={size=1x3x2x1 stride=1x2x2x1 pad=0_0x1_1x0_0x0_0}, "
      "to_apply=add");
  ExpectAgreement(
      "x = f32[2,7,6] parameter(0)\ni = f32[] parameter(1)\n"
      "ROOT y = f32[2,5,6] reduce-window(x, i), window={size=1x3x4 stride=1x1x2 pad=0_0x0_0x3_6 rhs_dilate=1x1x2 "
      "lhs_dilate=1x1x2}, to_apply=add");
  ExpectAgreement(
      "x = f32[600] parameter(0)\ni = f32[] parameter(1)\nROOT y = f32[600] reduce-window(x, i), window={size=600 "
      "pad=599_0}, to_apply=add");
}

// The interpreter folds many elements of a row at a time, and long rows in parts. The result must be as if it folded
// them one by one, also for NaNs and zeros, for which the order matters.
class SecondEvaluatorRows : public testing::TestWithParam<int64_t> {};

TEST_P(SecondEvaluatorRows, AgreesOnExtremes) {
  constexpr int64_t kRows = 6;
  const int64_t row_size = GetParam();
  for (const char* type : {"f32", "bf16", "f16", "s32"}) {
    for (const char* op : {"maximum", "minimum"}) {
      SCOPED_TRACE(Str(op, " of ", type));
      const bool max = std::string_view(op) == "maximum";
      const auto module = ParseText(Str(R"(HloModule extremes
fold {
  a = )",
                                        type, R"([] parameter(0)
  b = )",
                                        type, R"([] parameter(1)
  ROOT r = )",
                                        type, "[] ", op, R"((a, b)
}
ENTRY main {
  x = )",
                                        type, "[6,", row_size, "] parameter(0)\n  init = ", type, R"([] parameter(1)
  ROOT r = )",
                                        type, R"([6] reduce(x, init), dimensions={1}, to_apply=fold
})"));
      ASSERT_NE(module, nullptr);
      Literal x = Random(module->entry().parameter(0).shape(), 7);
      const bool floats = IsFloat(x.shape().type());
      const Literal init = Literal::Scalar(x.shape().type(), max ? -100.0 : 100.0);
      if (floats) {
        // In row 1 the extremes are zeros of either sign. Row 2 has a NaN near the end. Row 3 has two NaNs with
        // different bits.
        for (int64_t i = 0; i < row_size; ++i)
          x.SetDouble(row_size + i, i % 97 == 5 ? (i % 2 == 0 ? 0.0 : -0.0) : max ? -1 : 1);
        x.SetDouble(2 * row_size + row_size - 2, std::numeric_limits<double>::quiet_NaN());
        x.SetDouble(3 * row_size + 40, -std::numeric_limits<double>::quiet_NaN());
        x.SetDouble(3 * row_size + row_size - 100, std::numeric_limits<double>::quiet_NaN());
        x.SetDouble(4 * row_size + 12, max ? INFINITY : -INFINITY);
      }
      Literal expected(module->entry().root().shape());
      for (int64_t row = 0; row < kRows; ++row) {
        double best = init.GetDouble(0);
        for (int64_t i = row * row_size; i < (row + 1) * row_size && best == best; ++i) {
          const double v = x.GetDouble(i);
          const bool zeros = best == 0 && v == 0;  // +0 is larger than -0.
          if (v != v || (max ? v > best : v < best) || (zeros && std::signbit(v) != max)) best = v;
        }
        expected.SetDouble(row, best);
      }
      const auto result = Interpret(*module, std::vector{x, init});
      ASSERT_TRUE(result.has_value());
      EXPECT_TRUE(result->BitEquals(expected));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SecondEvaluatorRows, testing::Values(333, 70001));

// Folds the elements in row-major order into their results.
template <class A>
std::vector<A> NaiveReduce(const Literal& x, const std::vector<bool>& reduced, A init,
                           const std::function<A(A, A)>& f) {
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < x.shape().rank(); ++d) kept.push_back(reduced[d] ? 1 : x.shape().dim(d));
  const std::vector<int64_t> strides = RowMajorStrides(kept);
  std::vector<A> results(Product(kept), init);
  int64_t linear = 0;
  for (IndexWalk walk(x.shape().dims()); walk.Valid(); walk.Next(), ++linear) {
    int64_t at = 0;
    for (int64_t d = 0; d < x.shape().rank(); ++d) at += reduced[d] ? 0 : walk.index()[d] * strides[d];
    if constexpr (std::is_same_v<A, double>) results[at] = f(results[at], x.GetDouble(linear));
    else results[at] = f(results[at], static_cast<A>(x.GetInt(linear)));
  }
  return results;
}

// Long reductions with few results, which are computed in parts. Sums of small integers are exact in any order.
TEST(SecondEvaluator, AgreesOnLongReductions) {
  struct Case {
    std::vector<int64_t> dims;
    std::vector<bool> reduced;
  };
  const Case cases[] = {{{200003}, {true}},
                        {{3, 70001}, {false, true}},
                        {{70001, 5}, {true, false}},
                        {{400, 7, 333}, {true, false, true}},
                        {{3, 2, 70001}, {true, false, true}},
                        {{200000, 2}, {true, true}}};
  struct Op {
    const char* name;
    std::function<double(double, double)> of_floats;
    std::function<uint64_t(uint64_t, uint64_t)> of_ints;
  };
  const Op ops[] = {
      {"add", [](double a, double b) { return a + b; }, [](uint64_t a, uint64_t b) { return a + b; }},
      // Rounds the product to f32 at every step, as the interpreter does. Products of these factors are not exact.
      {"multiply", [](double a, double b) { return static_cast<float>(a) * static_cast<float>(b); },
       [](uint64_t a, uint64_t b) { return a * b; }},
      {"maximum", [](double a, double b) { return std::max(a, b); }, {}},
      {"minimum", [](double a, double b) { return std::min(a, b); }, {}},
      {"and", {}, [](uint64_t a, uint64_t b) { return a & b; }},
      {"or", {}, [](uint64_t a, uint64_t b) { return a | b; }},
      {"xor", {}, [](uint64_t a, uint64_t b) { return a ^ b; }},
  };
  const int threads = Threads();
  for (const char* type : {"f32", "bf16", "f16", "s32", "u32", "pred"}) {
    for (const auto& [dims, reduced] : cases) {
      for (const Op& op : ops) {
        const std::string name = op.name, word = type;
        const bool floats = word.find('f') != std::string::npos;
        if (floats ? !op.of_floats : !op.of_ints) continue;
        // The interpreter rounds products of narrower types to the type at every step, and `of_floats` does not.
        if (floats && name == "multiply" && word != "f32") continue;
        if (word == "pred" && (name == "add" || name == "multiply")) continue;
        const std::string text = Str(
            "fold { a = ", type, "[] parameter(0) b = ", type, "[] parameter(1) ROOT r = ", type, "[] ", name,
            "(a, b) } ENTRY main { x = ", type, "[", Join(dims, ","), "] parameter(0) init = ", type,
            "[] parameter(1) ROOT r = reduce(x, init), dimensions={",
            [&] {
              std::vector<int64_t> list;
              for (size_t d = 0; d < dims.size(); ++d) {
                if (reduced[d]) list.push_back(static_cast<int64_t>(d));
              }
              return Join(list, ",");
            }(),
            "}, to_apply=fold }");
        const auto module = ParseText(text);
        ASSERT_NE(module, nullptr);
        Literal x(module->entry().parameter(0).shape());
        std::mt19937 random(1);
        for (int64_t i = 0; i < x.shape().NumElements(); ++i) {
          if (name == "multiply" && floats) x.SetDouble(i, std::exp(((random() % 2048) - 1023.5) / 65536));
          else if (floats) x.SetDouble(i, static_cast<double>(random() % 64) - 30);
          else if (word == "pred") x.SetInt(i, random() % 2);
          else x.SetInt(i, static_cast<int64_t>(random()) | 1);
        }
        Literal init = Literal::Scalar(x.shape().type(), 1.0);
        Literal expected(module->entry().root().shape());
        if (floats) {
          const auto results = NaiveReduce<double>(x, reduced, 1, op.of_floats);
          for (size_t i = 0; i < results.size(); ++i) expected.SetDouble(static_cast<int64_t>(i), results[i]);
        } else {
          const auto results = NaiveReduce<uint64_t>(x, reduced, 1, op.of_ints);
          for (size_t i = 0; i < results.size(); ++i) {
            const uint64_t bits = word == "pred" ? results[i] & 1 : results[i] & 0xffffffff;
            expected.SetInt(static_cast<int64_t>(i),
                            word == "s32" ? static_cast<int32_t>(bits) : static_cast<int64_t>(bits));
          }
        }
        for (const int count : {1, 2, 3}) {
          SetThreads(count);
          const auto actual = Interpret(*module, std::vector{x, init});
          SetThreads(threads);
          ASSERT_TRUE(actual.has_value());
          EXPECT_TRUE(actual->BitEquals(expected)) << count << " threads: " << text;
        }
      }
    }
  }
}

// Sums of numbers that are not integers are rounded to f32 once. Before that, their error is at most the error of an
// f64 sum in any order. A sum of f64 is computed in order, bit by bit.
TEST(SecondEvaluator, AgreesOnLongSums) {
  for (const char* type : {"f32", "f64"}) {
    const auto module =
        ParseText(Str("add { a = ", type, "[] parameter(0) b = ", type, "[] parameter(1) ROOT r = ", type,
                      "[] add(a, b) } ENTRY main { x = ", type, "[300007] parameter(0) zero = ", type,
                      "[] constant(0) ROOT r = reduce(x, zero), dimensions={0}, to_apply=add }"));
    ASSERT_NE(module, nullptr);
    const Literal x = Random(module->entry().parameter(0).shape(), 3);
    const auto actual = Interpret(*module, std::vector{x});
    ASSERT_TRUE(actual.has_value());
    double sum = 0, sizes = 0;
    for (int64_t i = 0; i < x.shape().NumElements(); ++i) {
      sum += x.GetDouble(i);
      sizes += std::fabs(x.GetDouble(i));
    }
    if (std::string(type) == "f64") {
      EXPECT_EQ(actual->GetDouble(0), sum);
      continue;
    }
    const double off = 2 * static_cast<double>(x.shape().NumElements()) * 0x1p-53 * sizes;
    EXPECT_GE(actual->GetDouble(0), static_cast<float>(sum - off));
    EXPECT_LE(actual->GetDouble(0), static_cast<float>(sum + off));
  }
}

TEST(SecondEvaluator, AgreesOnGather) {
  ExpectAgreement(
      "x = f32[5,7,3] parameter(0)\ni = s32[4,2] parameter(1)\n"
      "ROOT y = f32[4,2,3] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={1,0}, "
      "index_vector_dim=1, slice_sizes={1,2,3}");
  ExpectAgreement(
      "x = f32[4,7,3] parameter(0)\ni = s32[2,4] parameter(1)\n"
      "ROOT y = f32[3,4,2] gather(x, i), offset_dims={0,2}, collapsed_slice_dims={}, start_index_map={2,1}, "
      "operand_batching_dims={0}, "
      "start_indices_batching_dims={1}, index_vector_dim=0, slice_sizes={1,3,2}");
}

TEST(SecondEvaluator, AgreesOnScatter) {
  ExpectAgreement(
      "x = f32[5,7] parameter(0)\ni = s32[9,1] parameter(1)\nu = f32[9,7] parameter(2)\n"
      "ROOT y = f32[5,7] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add");
  ExpectAgreement(
      "x = f32[5,7] parameter(0)\ni = s32[2,6] parameter(1)\nu = f32[2,6,3] parameter(2)\n"
      "ROOT y = f32[5,7] scatter(x, i, u), update_window_dims={0,2}, inserted_window_dims={}, "
      "scatter_dims_to_operand_dims={1,0}, index_vector_dim=0, to_apply=add");
}

TEST(SecondEvaluator, InfiniteWeightsSkipPadding) {
  const auto module = ParseText(R"(HloModule m
ENTRY main {
  x = f32[1,3,1] constant({{{1}, {2}, {3}}})
  w = f32[2,1,1] constant({{{inf}}, {{1}}})
  ROOT y = f32[1,4,1] convolution(x, w), window={size=2 pad=1_1}, dim_labels=b0f_0io->b0f
})");
  const auto result = Interpret(*module, {});
  ASSERT_TRUE(result.has_value());
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Doubles(*result), (std::vector<double>{1, infinity, infinity, infinity}));
}

}  // namespace
}  // namespace hlo
