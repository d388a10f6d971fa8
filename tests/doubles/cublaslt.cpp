// The double of cuBLASLt. It computes D = relu(alpha op(A) op(B) + beta C + bias), column-major, by the definition and
// in f64.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/small_floats.h"
#include "tests/doubles/cuda.h"

namespace hlo::doubles {
namespace {

constexpr size_t kVersion = 130000;
enum { kR32F = 0, kR64F = 1, kR16F = 2, kR16BF = 14 };
enum { kCompute32F = 68, kCompute64F = 70, kCompute32FFastTF32 = 77 };
enum { kRelu = 2, kBias = 4, kDefault = 1 };  // Bits of an epilogue. kDefault is used alone.
constexpr uintptr_t kAlignment = 256;         // The alignment that the heuristic assumes by default.
constexpr uintptr_t kBiasAlignment = 16;
constexpr uint64_t kMagic = 0x646f75626c65;
// The bytes of workspace of the algorithms, in the order of the heuristic.
constexpr size_t kWorkspaces[] = {4096, 0, size_t{32} << 20};

struct Description {
  int compute, scale_type;
  int32_t transpose_a = 0, transpose_b = 0;
  uint32_t epilogue = kDefault;
  const void* bias = nullptr;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;

  bool operator==(const Layout&) const = default;
};
struct Preference {
  uint64_t workspace = 0;
};
struct Algorithm {
  uint64_t magic, number, problem, unused[5];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};
struct Handle {};

template <class T>
Registry<T>& All(const char* what) {
  static auto* const all = new Registry<T>(what);
  return *all;
}
Registry<Handle>& Handles() { return All<Handle>("cuBLASLt handle"); }
Registry<Description>& Descriptions() { return All<Description>("matmul description"); }
Registry<Layout>& Layouts() { return All<Layout>("matrix layout"); }
Registry<Preference>& Preferences() { return All<Preference>("matmul preference"); }

size_t SizeOf(int type) { return type == kR64F ? 8 : type == kR32F ? 4 : 2; }
int64_t Rows(const Layout& layout, bool transposed) {
  return static_cast<int64_t>(transposed ? layout.columns : layout.rows);
}
int64_t Columns(const Layout& layout, bool transposed) { return Rows(layout, !transposed); }
int64_t Elements(const Layout& layout) {
  return (layout.batch - 1) * layout.stride + static_cast<int64_t>(layout.columns - 1) * layout.leading +
         static_cast<int64_t>(layout.rows);
}
size_t ByteSize(const Layout& layout) { return Elements(layout) * SizeOf(layout.type); }

// A product as a caller describes it.
struct Product {
  Description description;
  Layout a, b, c, d;

  int64_t m() const { return static_cast<int64_t>(d.rows); }
  int64_t n() const { return static_cast<int64_t>(d.columns); }
  int64_t k() const { return Columns(a, description.transpose_a != 0); }

  // An algorithm may be used for products with the same fingerprint. The address of the bias is not part of it.
  uint64_t Fingerprint() const {
    uint64_t hash = 1469598103934665603u;
    const auto add = [&](uint64_t word) { hash = (hash ^ word) * 1099511628211u; };
    add(description.compute), add(description.transpose_a), add(description.transpose_b), add(description.epilogue);
    for (const Layout& l : {a, b, c, d})
      add(l.type), add(l.rows), add(l.columns), add(l.leading), add(l.batch), add(l.stride);
    return hash;
  }

  std::string WhyNot() const {
    const bool at = description.transpose_a != 0, bt = description.transpose_b != 0;
    if (Rows(a, at) != m() || Columns(b, bt) != n() || Rows(b, bt) != k() || c.rows != d.rows || c.columns != d.columns)
      return Words("op(A) ", Rows(a, at), "x", k(), ", op(B) ", Rows(b, bt), "x", Columns(b, bt), ", C ", c.rows, "x",
                   c.columns, ", D ", d.rows, "x", d.columns);
    for (const Layout& each : {a, b, c}) {
      if (each.batch != d.batch) return Words("batches of ", each.batch, " and ", d.batch);
      if (each.type != d.type) return Words("types ", each.type, " and ", d.type);
    }
    if (d.batch > 1 && d.stride < Elements({d.type, d.rows, d.columns, d.leading}))
      return Words("the matrices of D are ", d.stride, " elements apart and overlap");
    const bool wide = d.type == kR64F;
    if ((description.compute == kCompute64F) != wide || (description.scale_type == kR64F) != wide)
      return Words("computation ", description.compute, " of type ", d.type);
    return "";
  }
};

bool ReadProduct(const Entry& entry, void* description, const void* a, const void* b, const void* c, const void* d,
                 Product* product) {
  const Description* const read = Descriptions().Find(entry, description);
  const Layout* layouts[4];
  const void* const handles[4] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) layouts[i] = Layouts().Find(entry, handles[i]);
  if (read == nullptr || std::ranges::find(layouts, nullptr) != std::end(layouts)) return false;
  *product = {*read, *layouts[0], *layouts[1], *layouts[2], *layouts[3]};
  const std::string why_not = product->WhyNot();
  if (!why_not.empty()) entry.Violates(0, why_not);
  return why_not.empty();
}

// ---- The product ---------------------------------------------------------------------------------------------------

double ReadElement(const void* from, int type, int64_t i) {
  switch (type) {
    case kR64F: return static_cast<const double*>(from)[i];
    case kR32F: return static_cast<const float*>(from)[i];
    case kR16F: return F16ToFloat(static_cast<const uint16_t*>(from)[i]);
    default: return BF16ToFloat(static_cast<const uint16_t*>(from)[i]);
  }
}

void WriteElement(void* to, int type, int64_t i, double value) {
  switch (type) {
    case kR64F: static_cast<double*>(to)[i] = value; break;
    case kR32F: static_cast<float*>(to)[i] = static_cast<float>(value); break;
    case kR16F: static_cast<uint16_t*>(to)[i] = FloatToF16(static_cast<float>(value)); break;
    default: static_cast<uint16_t*>(to)[i] = FloatToBF16(static_cast<float>(value));
  }
}

// Rounds to the ten mantissa bits of tf32, as tensor cores do.
double ToTf32(double value) {
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isfinite(value)) bits = (bits + 0x1000) & ~0x1fffu;
  return std::bit_cast<float>(bits);
}

// The elements of op(X) in one batch: `outer` runs of `inner` elements. The elements of a run are the terms of sums.
std::vector<double> Gather(const void* from, const Layout& layout, bool inner_is_columns, int64_t batch, bool tf32) {
  const auto rows = static_cast<int64_t>(layout.rows), columns = static_cast<int64_t>(layout.columns);
  const int64_t outer = inner_is_columns ? rows : columns, inner = inner_is_columns ? columns : rows;
  std::vector<double> values(outer * inner);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t row = inner_is_columns ? o : i, column = inner_is_columns ? i : o;
      const double value = ReadElement(from, layout.type, batch * layout.stride + column * layout.leading + row);
      values[o * inner + i] = tf32 ? ToTf32(value) : value;
    }
  }
  return values;
}

struct Call {
  Product product;
  double alpha, beta;
  const void *a, *b, *c;
  void *d, *workspace;
  size_t workspace_bytes;

  std::vector<Touch> Touches() const {
    const bool has_bias = (product.description.epilogue & kBias) != 0;
    return {{a, ByteSize(product.a), false},
            {b, ByteSize(product.b), false},
            {c, beta == 0 ? 0 : ByteSize(product.c), false},
            {product.description.bias, has_bias ? static_cast<size_t>(product.m() * SizeOf(product.d.type)) : size_t{0},
             false},
            {d, ByteSize(product.d), true},
            {workspace, workspace_bytes, true}};
  }

  // True if all accessed memory exists.
  bool Check(const std::string& who) const {
    const bool has_bias = (product.description.epilogue & kBias) != 0;
    return IsDeviceMemory(who + " A", a, ByteSize(product.a)) && IsDeviceMemory(who + " B", b, ByteSize(product.b)) &&
           IsDeviceMemory(who + " D", d, ByteSize(product.d)) &&
           (beta == 0 || IsDeviceMemory(who + " C", c, ByteSize(product.c))) &&
           (workspace_bytes == 0 || IsDeviceMemory(who + " workspace", workspace, workspace_bytes)) &&
           (!has_bias || IsDeviceMemory(who + " bias", product.description.bias, product.m() * SizeOf(product.d.type)));
  }

  int Run() const {
    if (!Check("cublasLtMatmul")) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (workspace_bytes > 0) std::memset(workspace, 0xa5, workspace_bytes);
    const bool tf32 = product.description.compute == kCompute32FFastTF32;
    for (int64_t batch = 0; batch < product.d.batch; ++batch) {
      const auto left = Gather(a, product.a, product.description.transpose_a == 0, batch, tf32),
                 right = Gather(b, product.b, product.description.transpose_b != 0, batch, tf32);
      for (int64_t j = 0; j < product.n(); ++j) {
        for (int64_t i = 0; i < product.m(); ++i) {
          double sum = 0;
          for (int64_t k = 0; k < product.k(); ++k) sum += left[i * product.k() + k] * right[j * product.k() + k];
          Finish(batch, i, j, alpha * sum);
        }
      }
    }
    return CUDA_SUCCESS;
  }

  void Finish(int64_t batch, int64_t i, int64_t j, double value) const {
    const uint32_t epilogue = product.description.epilogue;
    const Layout &of_c = product.c, &of_d = product.d;
    if (beta != 0) value += beta * ReadElement(c, of_c.type, batch * of_c.stride + j * of_c.leading + i);
    if ((epilogue & kBias) != 0) value += ReadElement(product.description.bias, of_d.type, i);
    if ((epilogue & kRelu) != 0 && !std::isnan(value)) value = std::max(value, 0.0);
    WriteElement(d, of_d.type, batch * of_d.stride + j * of_d.leading + i, value);
  }
};

bool Overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

// The error in the pointers or the algorithm, or "".
std::string WhyNotRun(const Call& call, const Algorithm& algorithm) {
  const Product& product = call.product;
  if (algorithm.magic != kMagic || algorithm.problem != product.Fingerprint())
    return "with an algorithm that was found for another product";
  if (call.workspace_bytes < kWorkspaces[algorithm.number])
    return Words("the algorithm wants ", kWorkspaces[algorithm.number], " bytes of workspace, not ",
                 call.workspace_bytes);
  const std::pair<const char*, const void*> pointers[] = {
      {"A", call.a}, {"B", call.b}, {"C", call.c}, {"D", call.d}, {"the workspace", call.workspace}};
  for (const auto& [what, pointer] : pointers) {
    if (reinterpret_cast<uintptr_t>(pointer) % kAlignment != 0)
      return Words(what, " at ", pointer, " is no multiple of ", kAlignment, ", as the heuristic took it to be");
  }
  // The heuristic uses the value of the pointer, so a null pointer counts as aligned.
  if (reinterpret_cast<uintptr_t>(product.description.bias) % kBiasAlignment != 0)
    return Words("the bias at ", product.description.bias, " is no multiple of ", kBiasAlignment);
  const size_t bytes = ByteSize(product.d);
  if (Overlap(call.d, bytes, call.a, ByteSize(product.a)) || Overlap(call.d, bytes, call.b, ByteSize(product.b)))
    return "D overlaps A or B";
  if (call.beta != 0 && Overlap(call.d, bytes, call.c, ByteSize(product.c)) &&
      (call.c != call.d || product.c != product.d))
    return "D overlaps C and is not the same";
  if (call.workspace_bytes > 0 && Overlap(call.d, bytes, call.workspace, call.workspace_bytes))
    return "D overlaps the workspace";
  return "";
}

template <class T>
int SetTo(const Entry& entry, T* field, const void* value, size_t bytes) {
  if (bytes != sizeof(T))
    return entry.Violates(CUBLAS_STATUS_INVALID_VALUE, Words("the attribute has ", sizeof(T), " bytes, not ", bytes));
  std::memcpy(field, value, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
int Destroyed(const Entry& entry, Registry<T>& all, const void* handle) {
  return all.Remove(entry, handle) ? entry.status() : int{CUBLAS_STATUS_INVALID_VALUE};
}

}  // namespace
}  // namespace hlo::doubles

using namespace hlo::doubles;  // NOLINT: the functions of the interface follow.

extern "C" {

size_t cublasLtGetVersion() { return kVersion; }
const char* cublasLtGetStatusString(int status) {
  const char* const name = ErrorName(Library::kCublas, status);
  return name != nullptr ? name : "unknown";
}

int cublasLtCreate(void** handle) {
  ENTER(cublasLtCreate);
  *handle = Handles().Add({});
  return CUBLAS_STATUS_SUCCESS;
}
int cublasLtDestroy(void* handle) {
  ENTER(cublasLtDestroy);
  return Destroyed(entry, Handles(), handle);
}

int cublasLtMatmulDescCreate(void** description, int compute, int scale_type) {
  ENTER(cublasLtMatmulDescCreate);
  if (compute != kCompute32F && compute != kCompute64F && compute != kCompute32FFastTF32)
    return entry.Violates(CUBLAS_STATUS_INVALID_VALUE, Words("the double knows no computation ", compute));
  *description = Descriptions().Add({.compute = compute, .scale_type = scale_type});
  return CUBLAS_STATUS_SUCCESS;
}
int cublasLtMatmulDescDestroy(void* description) {
  ENTER(cublasLtMatmulDescDestroy);
  return Destroyed(entry, Descriptions(), description);
}
int cublasLtMatmulDescSetAttribute(void* description, int attribute, const void* value, size_t bytes) {
  ENTER(cublasLtMatmulDescSetAttribute);
  Description* const found = Descriptions().Find(entry, description);
  if (found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case 3: return SetTo(entry, &found->transpose_a, value, bytes);
    case 4: return SetTo(entry, &found->transpose_b, value, bytes);
    case 7: return SetTo(entry, &found->epilogue, value, bytes);
    case 8: return SetTo(entry, &found->bias, value, bytes);
    default: return entry.Violates(CUBLAS_STATUS_NOT_SUPPORTED, Words("the double knows no attribute ", attribute));
  }
}

int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  ENTER(cublasLtMatrixLayoutCreate);
  if (!std::set<int>{kR32F, kR64F, kR16F, kR16BF}.contains(type) || rows == 0 || columns == 0 ||
      leading < static_cast<int64_t>(rows))
    return entry.Violates(CUBLAS_STATUS_INVALID_VALUE,
                          Words("type ", type, ", ", rows, "x", columns, ", leading dimension ", leading));
  *layout = Layouts().Add({.type = type, .rows = rows, .columns = columns, .leading = leading});
  return CUBLAS_STATUS_SUCCESS;
}
int cublasLtMatrixLayoutDestroy(void* layout) {
  ENTER(cublasLtMatrixLayoutDestroy);
  return Destroyed(entry, Layouts(), layout);
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t bytes) {
  ENTER(cublasLtMatrixLayoutSetAttribute);
  Layout* const found = Layouts().Find(entry, layout);
  if (found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case 5: return SetTo(entry, &found->batch, value, bytes);
    case 6: return SetTo(entry, &found->stride, value, bytes);
    default: return entry.Violates(CUBLAS_STATUS_NOT_SUPPORTED, Words("the double knows no attribute ", attribute));
  }
}

int cublasLtMatmulPreferenceCreate(void** preference) {
  ENTER(cublasLtMatmulPreferenceCreate);
  *preference = Preferences().Add({});
  return CUBLAS_STATUS_SUCCESS;
}
int cublasLtMatmulPreferenceDestroy(void* preference) {
  ENTER(cublasLtMatmulPreferenceDestroy);
  return Destroyed(entry, Preferences(), preference);
}
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value, size_t bytes) {
  ENTER(cublasLtMatmulPreferenceSetAttribute);
  Preference* const found = Preferences().Find(entry, preference);
  if (found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == 1) return SetTo(entry, &found->workspace, value, bytes);
  return entry.Violates(CUBLAS_STATUS_NOT_SUPPORTED, Words("the double knows no attribute ", attribute));
}

int cublasLtMatmulAlgoGetHeuristic(void* handle, void* description, void* a, void* b, void* c, void* d,
                                   void* preference, int wanted, void* results, int* found) {
  ENTER(cublasLtMatmulAlgoGetHeuristic);
  const Preference* const asked = Preferences().Find(entry, preference);
  Product product;
  if (Handles().Find(entry, handle) == nullptr || asked == nullptr ||
      !ReadProduct(entry, description, a, b, c, d, &product))
    return CUBLAS_STATUS_INVALID_VALUE;
  *found = 0;
  for (uint64_t number = 0; number < std::size(kWorkspaces) && *found < wanted; ++number) {
    if (kWorkspaces[number] > asked->workspace) continue;
    static_cast<HeuristicResult*>(results)[(*found)++] = {
        .algorithm = {.magic = kMagic, .number = number, .problem = product.Fingerprint(), .unused = {}},
        .workspace_bytes = kWorkspaces[number],
        .state = CUBLAS_STATUS_SUCCESS,
        .waves = 1,
        .reserved = {}};
  }
  return *found > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

int cublasLtMatmul(void* handle, void* description, const void* alpha, const void* a, void* a_layout, const void* b,
                   void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,
                   const void* algorithm, void* workspace, size_t workspace_bytes, void* stream) {
  ENTER(cublasLtMatmul);
  Call call{.a = a, .b = b, .c = c, .d = d, .workspace = workspace, .workspace_bytes = workspace_bytes};
  if (Handles().Find(entry, handle) == nullptr ||
      !ReadProduct(entry, description, a_layout, b_layout, c_layout, d_layout, &call.product))
    return CUBLAS_STATUS_INVALID_VALUE;
  call.alpha = ReadElement(alpha, call.product.description.scale_type, 0);
  call.beta = ReadElement(beta, call.product.description.scale_type, 0);
  if (const std::string why = WhyNotRun(call, *static_cast<const Algorithm*>(algorithm)); !why.empty())
    return entry.Violates(CUBLAS_STATUS_INVALID_VALUE, why);
  if (!call.Check("cublasLtMatmul")) return CUBLAS_STATUS_INVALID_VALUE;
  const std::string what =
      Words("product ", call.product.m(), "x", call.product.n(), "x", call.product.k(), " of ", call.product.d.batch);
  const int status = Enqueue(
      entry, stream,
      {.kind = WorkKind::kProduct, .what = what, .run = [call] { return call.Run(); }, .touches = call.Touches()});
  return status == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;
}

}  // extern "C"
