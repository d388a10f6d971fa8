// cuBLASLt's C interface, declared here.
//
// Its matrices are column-major. Row-major D[m,n] = A[m,k] B[k,n] is column-major D' = B' A' with D'[n,m]. So rhs
// becomes cuBLASLt's A, a bias along n is a bias along the rows of D', and a row stride is a leading dimension.
#include "gpu/libraries/cublaslt.h"

#include <memory>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "gpu/device/shared_library.h"

namespace hlo::gpu {
namespace {

using Handle = void*;
enum { kR32F = 0, kR64F = 1, kR16F = 2, kR16BF = 14 };  // cudaDataType
enum { kCompute32F = 68, kCompute64F = 70, kCompute32FFastTF32 = 77 };
enum { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8 };  // cublasLtMatmulDescAttributes_t
enum { kBatchCount = 5, kBatchStride = 6 };                                  // cublasLtMatrixLayoutAttribute_t
enum { kMaxWorkspace = 1 };                                                  // cublasLtMatmulPreferenceAttributes_t
enum { kNotSupported = 15 };  // cublasStatus_t: the heuristic knows no algorithm.
enum { kEpilogueDefault = 1, kEpilogueRelu = 2, kEpilogueBias = 4 };
constexpr int64_t kWorkspaceBytes = 32 << 20;
constexpr int kMostAlgorithms = 16;
constexpr std::string_view kHeuristic = "heuristic_";

struct Algorithm {  // cublasLtMatmulHeuristicResult_t
  uint64_t algo[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

struct Api {
  static constexpr std::string_view kFiles[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  static constexpr std::string_view kFolders[] = {"/usr/local/cuda/lib64"};
  SharedLibrary library;
  size_t (*version)() = library.Get("cublasLtGetVersion");
  const char* (*status_string)(int) = library.Get("cublasLtGetStatusString");
  int (*create)(Handle*) = library.Get("cublasLtCreate");
  int (*destroy)(Handle) = library.Get("cublasLtDestroy");
  int (*desc_create)(Handle*, int compute, int scale_type) = library.Get("cublasLtMatmulDescCreate");
  int (*desc_destroy)(Handle) = library.Get("cublasLtMatmulDescDestroy");
  int (*desc_set)(Handle, int attribute, const void*, size_t) = library.Get("cublasLtMatmulDescSetAttribute");
  int (*layout_create)(Handle*, int type, uint64_t rows, uint64_t columns,
                       int64_t leading) = library.Get("cublasLtMatrixLayoutCreate");
  int (*layout_destroy)(Handle) = library.Get("cublasLtMatrixLayoutDestroy");
  int (*layout_set)(Handle, int attribute, const void*, size_t) = library.Get("cublasLtMatrixLayoutSetAttribute");
  int (*preference_create)(Handle*) = library.Get("cublasLtMatmulPreferenceCreate");
  int (*preference_destroy)(Handle) = library.Get("cublasLtMatmulPreferenceDestroy");
  int (*preference_set)(Handle, int attribute, const void*,
                        size_t) = library.Get("cublasLtMatmulPreferenceSetAttribute");
  int (*heuristic)(Handle, Handle desc, Handle a, Handle b, Handle c, Handle d, Handle preference, int, Algorithm*,
                   int*) = library.Get("cublasLtMatmulAlgoGetHeuristic");
  int (*matmul)(Handle, Handle desc, const void* alpha, const void* a, Handle, const void* b, Handle, const void* beta,
                const void* c, Handle, void* d, Handle, const void* algo, void* workspace, size_t,
                void* stream) = library.Get("cublasLtMatmul");

  std::string VersionText() const {
    const size_t v = version();
    return Str(v / 10000, ".", v / 100 % 100, ".", v % 100);
  }
  Error Failed(std::string_view call, int status) const {
    return DeviceError("R015", Str(call, ": ", status_string(status), " (", status, ")"));
  }
  // Logs a failure of a destroy function, which no caller can handle.
  void Ended(std::string_view call, int status) const {
    if (status != 0) VLOG(0, Failed(call, status).message());
  }
};

Result<const Api*> GetApi(const std::vector<std::string>& search) { return OpenOnce<LoadApi<Api>>(search); }

// A device's handle belongs to the CUDA context in which it was made. Any thread may use it.
Result<Handle> GetHandle(const Api& api, Device& device) {
  return device.LibraryState(&api, [&]() -> Result<std::shared_ptr<void>> {
    Handle handle = nullptr;
    if (const int status = api.create(&handle)) FAIL(api.Failed("cublasLtCreate", status));
    return std::shared_ptr<void>(handle, [&api](Handle made) { api.Ended("cublasLtDestroy", api.destroy(made)); });
  });
}

struct Column {
  int64_t operand = -1;
  bool transposed = false;  // cuBLASLt transposes the stored matrix, whose sizes follow.
  int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
};

// Reads a row-major matrix as its transpose, a column-major matrix of `rows` x `columns`. Returns false if neither
// dimension is contiguous.
bool ReadColumn(const MatrixView& row_major, int64_t rows, int64_t columns, bool may_transpose, Column* column) {
  const int64_t row = row_major.column, col = row_major.row;
  column->batch_stride = row_major.batch;
  if (row == 1 || rows == 1) {
    *column = {column->operand, false, rows, columns, columns == 1 ? rows : col, row_major.batch};
    return column->leading >= rows;
  }
  if (!may_transpose || (col != 1 && columns != 1)) return false;
  *column = {column->operand, true, columns, rows, row, row_major.batch};
  return column->leading >= columns;
}

struct Plan {
  Column a, b, d;
  int type, compute;
  double alpha = 1;
  int64_t bias = -1, residual = -1;  // Operand numbers.
  Column c;
  bool relu = false;
  int64_t batch = 1;
};

std::string MakePlan(const MatrixProduct& product, bool allow_tf32, Plan* plan) {
  if (product.lhs_type != product.rhs_type || product.lhs_type != product.result_type)
    return "its operands and result differ in type";
  switch (product.result_type) {
    case PrimitiveType::kF16: plan->type = kR16F; break;
    case PrimitiveType::kBF16: plan->type = kR16BF; break;
    case PrimitiveType::kF32: plan->type = kR32F; break;
    case PrimitiveType::kF64: plan->type = kR64F; break;
    default: return Str("hlokit does not use cuBLASLt for ", product.result_type);
  }
  plan->compute = product.result_type == PrimitiveType::kF64 ? kCompute64F : kCompute32F;
  if (product.result_type == PrimitiveType::kF32 && allow_tf32) plan->compute = kCompute32FFastTF32;
  if (product.m == 0 || product.n == 0 || product.k == 0 || product.batch == 0) return "it is empty";
  plan->batch = product.batch;
  plan->a.operand = product.rhs_operand;
  plan->b.operand = product.lhs_operand;
  if (!ReadColumn(product.rhs, product.n, product.k, true, &plan->a) ||
      !ReadColumn(product.lhs, product.k, product.m, true, &plan->b) ||
      !ReadColumn(product.result, product.n, product.m, false, &plan->d)) {
    return "no dimension of an operand or of the result is contiguous";
  }
  for (const MatrixStep& step : product.epilogue) {
    const bool vector = step.strides.column == 1 && step.strides.row == 0 && step.strides.batch == 0;
    if (step.op == EpilogueOp::kMultiply && step.operand < 0 && plan->bias < 0 && plan->residual < 0 && !plan->relu) {
      plan->alpha *= step.constant;
    } else if (step.op == EpilogueOp::kAdd && step.operand >= 0 && vector && plan->bias < 0 && !plan->relu) {
      plan->bias = step.operand;
    } else if (step.op == EpilogueOp::kAdd && step.operand >= 0 && plan->residual < 0 && !plan->relu &&
               step.strides.row != 0 && step.strides.column != 0 &&
               ReadColumn(step.strides, product.n, product.m, false, &plan->c)) {
      plan->residual = step.operand;
    } else if (step.op == EpilogueOp::kRelu && !plan->relu) {
      plan->relu = true;
    } else {
      return "cuBLASLt does not support its epilogue";
    }
  }
  return "";
}

class Descriptors {
 public:
  explicit Descriptors(const Api& api) : api_(api) {}
  Descriptors(const Descriptors&) = delete;
  ~Descriptors() {
    if (operation != nullptr) api_.Ended("cublasLtMatmulDescDestroy", api_.desc_destroy(operation));
    for (const Handle layout : {a, b, c, d}) {
      if (layout != nullptr) api_.Ended("cublasLtMatrixLayoutDestroy", api_.layout_destroy(layout));
    }
  }

  Status Make(const Plan& plan) {
    const int scale_type = plan.type == kR64F ? kR64F : kR32F;
    if (const int status = api_.desc_create(&operation, plan.compute, scale_type))
      FAIL(api_.Failed("cublasLtMatmulDescCreate", status));
    const int32_t transpose_a = plan.a.transposed, transpose_b = plan.b.transposed;
    uint32_t epilogue = kEpilogueDefault;
    if (plan.relu) epilogue = kEpilogueRelu;
    if (plan.bias >= 0) epilogue = plan.relu ? kEpilogueRelu | kEpilogueBias : kEpilogueBias;
    TRY(Set(kTransposeA, &transpose_a, sizeof transpose_a));
    TRY(Set(kTransposeB, &transpose_b, sizeof transpose_b));
    TRY(Set(kEpilogue, &epilogue, sizeof epilogue));
    TRY(MakeLayout(plan, plan.a, &a));
    TRY(MakeLayout(plan, plan.b, &b));
    TRY(MakeLayout(plan, plan.d, &d));
    return MakeLayout(plan, plan.residual >= 0 ? plan.c : plan.d, &c);
  }

  Status Set(int attribute, const void* value, size_t bytes) {
    if (const int status = api_.desc_set(operation, attribute, value, bytes))
      FAIL(api_.Failed("cublasLtMatmulDescSetAttribute", status));
    return {};
  }

  Handle operation = nullptr, a = nullptr, b = nullptr, c = nullptr, d = nullptr;

 private:
  Status MakeLayout(const Plan& plan, const Column& column, Handle* layout) {
    if (const int status = api_.layout_create(layout, plan.type, column.rows, column.columns, column.leading)) {
      FAIL(api_.Failed("cublasLtMatrixLayoutCreate", status));
    }
    if (plan.batch == 1) return {};
    const auto count = static_cast<int32_t>(plan.batch);
    int status = api_.layout_set(*layout, kBatchCount, &count, sizeof count);
    if (status == 0) status = api_.layout_set(*layout, kBatchStride, &column.batch_stride, sizeof column.batch_stride);
    if (status != 0) FAIL(api_.Failed("cublasLtMatrixLayoutSetAttribute", status));
    return {};
  }

  const Api& api_;
};

Result<Algorithm> ChooseAlgorithm(const Api& api, Device& device, const Plan& plan, int number) {
  TRY(device.MakeCurrent());
  const Handle handle = TRY(GetHandle(api, device));
  Descriptors descriptors(api);
  TRY(descriptors.Make(plan));
  Handle preference = nullptr;
  if (const int status = api.preference_create(&preference)) FAIL(api.Failed("cublasLtMatmulPreferenceCreate", status));
  const std::shared_ptr<void> owned(
      preference, [&api](Handle made) { api.Ended("cublasLtMatmulPreferenceDestroy", api.preference_destroy(made)); });
  const uint64_t workspace = kWorkspaceBytes;
  if (const int status = api.preference_set(preference, kMaxWorkspace, &workspace, sizeof workspace))
    FAIL(api.Failed("cublasLtMatmulPreferenceSetAttribute", status));
  Algorithm algorithms[kMostAlgorithms] = {};
  int found = 0;
  const int status = api.heuristic(handle, descriptors.operation, descriptors.a, descriptors.b, descriptors.c,
                                   descriptors.d, preference, number + 1, algorithms, &found);
  if (status != 0 && status != kNotSupported) FAIL(api.Failed("cublasLtMatmulAlgoGetHeuristic", status));
  if (found <= number) algorithms[number].state = 1;
  return algorithms[number];
}

// The number in an algorithm's name, or -1. Numbers depend on the device and cuBLASLt's version.
int NumberOf(std::string_view algorithm) {
  int64_t number = algorithm.empty() ? 0 : -1;
  if (algorithm.starts_with(kHeuristic)) ParseInt(algorithm.substr(kHeuristic.size()), &number);
  return number >= 0 && number < kMostAlgorithms ? static_cast<int>(number) : -1;
}

class BoundCublasLtCall : public BoundCall {
 public:
  BoundCublasLtCall(const Api& api, Device& device, const Plan& plan, const Algorithm& algorithm)
      : api_(api), device_(device), plan_(plan), algorithm_(algorithm), descriptors_(api) {}

  Status Prepare() {
    TRY(device_.MakeCurrent());
    handle_ = TRY(GetHandle(api_, device_));
    return descriptors_.Make(plan_);
  }

  Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch,
             void* /*packed*/) override {
    TRY(device_.MakeCurrent());
    if (plan_.bias >= 0) {
      const void* bias = operands[plan_.bias];
      TRY(descriptors_.Set(kBiasPointer, &bias, sizeof bias));
    }
    const float alpha = static_cast<float>(plan_.alpha), beta = plan_.residual >= 0;
    const double wide_alpha = plan_.alpha, wide_beta = beta;
    const bool wide = plan_.type == kR64F;
    const void* c = plan_.residual >= 0 ? operands[plan_.residual] : results[0];
    const int status =
        api_.matmul(handle_, descriptors_.operation, wide ? static_cast<const void*>(&wide_alpha) : &alpha,
                    operands[plan_.a.operand], descriptors_.a, operands[plan_.b.operand], descriptors_.b,
                    wide ? static_cast<const void*>(&wide_beta) : &beta, c, descriptors_.c, results[0], descriptors_.d,
                    algorithm_.algo, scratch, algorithm_.workspace_bytes, device_.stream());
    if (status != 0) FAIL(api_.Failed("cublasLtMatmul", status));
    return {};
  }

 private:
  const Api& api_;
  Device& device_;
  const Plan& plan_;
  const Algorithm& algorithm_;
  Handle handle_ = nullptr;
  Descriptors descriptors_;
};

class CublasLtCall : public LibraryCall {
 public:
  CublasLtCall(const Api& api, const Plan& plan, const Algorithm& algorithm, int number)
      : api_(api), plan_(plan), algorithm_(algorithm), number_(number) {}

  std::string how() const override { return Str("cuBLASLt ", api_.VersionText()); }
  std::string algorithm() const override { return Str(kHeuristic, number_); }
  std::vector<std::string> algorithms() const override {
    std::vector<std::string> names;
    for (int i = 0; i < kMostAlgorithms; ++i) names.push_back(Str(kHeuristic, i));
    return names;
  }
  int64_t ScratchBytes() const override { return static_cast<int64_t>(algorithm_.workspace_bytes); }

  Result<std::unique_ptr<BoundCall>> Bind(Device& device) const override {
    auto bound = std::make_unique<BoundCublasLtCall>(api_, device, plan_, algorithm_);
    TRY(bound->Prepare());
    return bound;
  }

 private:
  const Api& api_;
  Plan plan_;
  Algorithm algorithm_;
  int number_;
};

}  // namespace

Result<std::string> CublasLtVersion(const std::vector<std::string>& search) {
  return TRY(GetApi(search))->VersionText();
}

Result<LibraryAnswer> CublasLtMatrixProduct(const MatrixProduct& product, Device* device,
                                            const LibraryOptions& options) {
  Plan plan;
  std::string why_not = MakePlan(product, options.allow_tf32, &plan);
  if (device == nullptr || !why_not.empty()) return LibraryAnswer{nullptr, std::move(why_not)};
  const auto api = GetApi(options.search);
  if (!api) return LibraryAnswer{nullptr, api.error().message()};
  const int number = NumberOf(options.algorithm);
  if (number < 0) {
    return LibraryAnswer{
        nullptr, Str("there is no algorithm '", Escaped(options.algorithm), "' for it; the algorithms are ", kHeuristic,
                     "0 to ", kHeuristic, kMostAlgorithms - 1)};
  }
  const Algorithm algorithm = TRY(ChooseAlgorithm(**api, *device, plan, number));
  if (algorithm.state != 0) return LibraryAnswer{nullptr, "cuBLASLt has no algorithm for it"};
  return LibraryAnswer{std::make_unique<CublasLtCall>(**api, plan, algorithm, number), ""};
}

}  // namespace hlo::gpu
