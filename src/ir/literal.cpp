#include "ir/literal.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/array_memory.h"
#include "base/check.h"
#include "ir/literal_memory.h"

namespace hlo {
namespace {

constexpr size_t kAlignment = 64;

std::atomic<int64_t> g_live = 0, g_peak = 0;

void CountAllocated(int64_t bytes) {
  const int64_t live = g_live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = g_peak.load(std::memory_order_relaxed);
  while (live > peak && !g_peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

// Memory of at most 16 bytes, allocated with the reference count. Vector instructions need no larger alignment for
// that.
struct ScalarMemory {
  alignas(16) std::byte data[16];
  int64_t bytes;

  explicit ScalarMemory(int64_t bytes) : bytes(bytes) { CountAllocated(bytes); }
  ~ScalarMemory() { g_live.fetch_sub(bytes, std::memory_order_relaxed); }
};

std::shared_ptr<std::byte[]> Allocate(int64_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes <= static_cast<int64_t>(sizeof(ScalarMemory::data))) {
    auto memory = std::make_shared<ScalarMemory>(bytes);
    std::byte* const data = memory->data;
    return {std::move(memory), data};
  }
  auto* const data = static_cast<std::byte*>(AllocateArray(bytes, kAlignment));
  if (data == nullptr) throw std::bad_alloc();
  CountAllocated(bytes);
  return {data, [bytes](std::byte* p) {
            g_live.fetch_sub(bytes, std::memory_order_relaxed);
            FreeArray(p);
          }};
}

template <class T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void Store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

int64_t SignExtend(int64_t value, int bits) { return value << (64 - bits) >> (64 - bits); }

}  // namespace

int64_t LiveLiteralBytes() { return g_live.load(std::memory_order_relaxed); }
int64_t PeakLiteralBytes() { return g_peak.load(std::memory_order_relaxed); }
void CountLiteralBytes(int64_t bytes) {
  if (bytes > 0) CountAllocated(bytes);
  else g_live.fetch_add(bytes, std::memory_order_relaxed);
}
void ResetPeakLiteralBytes() { g_peak.store(LiveLiteralBytes(), std::memory_order_relaxed); }

FloatFormat FormatOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF16: return kF16;
    case PrimitiveType::kBF16: return kBF16;
    case PrimitiveType::kF8E5M2: return kF8E5M2;
    case PrimitiveType::kF8E4M3: return kF8E4M3;
    case PrimitiveType::kF8E4M3FN: return kF8E4M3FN;
    case PrimitiveType::kF8E4M3B11FNUZ: return kF8E4M3B11FNUZ;
    case PrimitiveType::kF8E3M4: return kF8E3M4;
    case PrimitiveType::kF8E5M2FNUZ: return kF8E5M2FNUZ;
    case PrimitiveType::kF8E4M3FNUZ: return kF8E4M3FNUZ;
    case PrimitiveType::kF8E8M0FNU: return kF8E8M0FNU;
    case PrimitiveType::kF4E2M1FN: return kF4E2M1FN;
    case PrimitiveType::kF6E3M2FN: return kF6E3M2FN;
    case PrimitiveType::kF6E2M3FN: return kF6E2M3FN;
    default: CHECK(false, "no small float format: ", type);
  }
  __builtin_unreachable();
}

Literal::Literal(Shape shape) : shape_(std::move(shape)) {
  if (shape_.IsTuple()) {
    for (const Shape& element : shape_.elements()) elements_.emplace_back(element);
    return;
  }
  bytes_ = shape_.ByteSize();
  data_ = Allocate(bytes_);
  if (bytes_ > 0) std::memset(data_.get(), 0, bytes_);
}

Literal Literal::Uninitialized(const Shape& shape) {
  CHECK(!shape.IsTuple(), shape);
  Literal literal;
  literal.shape_ = shape;
  literal.bytes_ = shape.ByteSize();
  literal.data_ = Allocate(literal.bytes_);
  return literal;
}

Literal Literal::Tuple(std::vector<Literal> elements) {
  Literal literal;
  std::vector<Shape> shapes;
  for (const Literal& element : elements) shapes.push_back(element.shape());
  literal.shape_ = Shape::Tuple(std::move(shapes));
  literal.elements_ = std::move(elements);
  return literal;
}

Literal Literal::Scalar(PrimitiveType type, double value) {
  Literal literal(Shape::Scalar(type));
  literal.SetDouble(0, value);
  return literal;
}

Literal Literal::Scalar(PrimitiveType type, int64_t value) {
  Literal literal(Shape::Scalar(type));
  literal.SetInt(0, value);
  return literal;
}

const Literal& Literal::At(std::span<const int64_t> index) const {
  const Literal* at = this;
  for (const int64_t i : index) at = &at->elements_[i];
  return *at;
}

std::byte* Literal::mutable_raw() {
  kept_.Set(0);
  if (data_ != nullptr && data_.use_count() > 1) {
    auto own = Allocate(bytes_);
    std::memcpy(own.get(), data_.get(), bytes_);
    data_ = std::move(own);
  }
  return data_.get();
}

double Literal::GetDouble(int64_t linear) const {
  const PrimitiveType type = shape_.type();
  const std::byte* at = raw() + linear * ByteWidth(type);
  switch (type) {
    case PrimitiveType::kF32: return Load<float>(at);
    case PrimitiveType::kF64: return Load<double>(at);
    case PrimitiveType::kBF16: return BF16ToFloat(Load<uint16_t>(at));
    case PrimitiveType::kF16: return F16ToFloat(Load<uint16_t>(at));
    case PrimitiveType::kC64: return Load<float>(at);
    case PrimitiveType::kC128: return Load<double>(at);
    case PrimitiveType::kU64: return static_cast<double>(Load<uint64_t>(at));
    default: break;
  }
  if (IsFloat(type)) return DecodeFloat(FormatOf(type), Load<uint8_t>(at));
  return static_cast<double>(GetInt(linear));
}

int64_t Literal::GetInt(int64_t linear) const {
  const PrimitiveType type = shape_.type();
  const std::byte* at = raw() + linear * ByteWidth(type);
  const bool is_signed = IsSigned(type);
  switch (ByteWidth(type)) {
    case 1: return is_signed ? SignExtend(Load<int8_t>(at), BitWidth(type)) : Load<uint8_t>(at);
    case 2: return is_signed ? Load<int16_t>(at) : Load<uint16_t>(at);
    case 4: return is_signed ? Load<int32_t>(at) : static_cast<int64_t>(Load<uint32_t>(at));
    case 8: return Load<int64_t>(at);
    default: CHECK(false, "no integer: ", type);
  }
  return 0;
}

std::complex<double> Literal::GetComplex(int64_t linear) const {
  const std::byte* at = raw() + linear * ByteWidth(shape_.type());
  if (shape_.type() == PrimitiveType::kC64) return {Load<float>(at), Load<float>(at + 4)};
  if (shape_.type() == PrimitiveType::kC128) return {Load<double>(at), Load<double>(at + 8)};
  return GetDouble(linear);
}

void Literal::SetDouble(int64_t linear, double value) {
  const PrimitiveType type = shape_.type();
  std::byte* at = mutable_raw() + linear * ByteWidth(type);
  switch (type) {
    case PrimitiveType::kF32: return Store(at, static_cast<float>(value));
    case PrimitiveType::kF64: return Store(at, value);
    case PrimitiveType::kC64:
    case PrimitiveType::kC128: return SetComplex(linear, value);
    case PrimitiveType::kPred: return Store<uint8_t>(at, value != 0);
    case PrimitiveType::kU64:
      return Store<uint64_t>(at, value < 0 ? static_cast<int64_t>(value) : static_cast<uint64_t>(value));
    default: break;
  }
  if (!IsFloat(type)) return SetInt(linear, static_cast<int64_t>(value));
  const uint32_t bits = EncodeFloat(FormatOf(type), value);
  if (ByteWidth(type) == 2) return Store(at, static_cast<uint16_t>(bits));
  Store(at, static_cast<uint8_t>(bits));
}

void Literal::SetInt(int64_t linear, int64_t value) {
  const PrimitiveType type = shape_.type();
  if (IsFloat(type) || IsComplex(type)) return SetDouble(linear, static_cast<double>(value));
  std::byte* at = mutable_raw() + linear * ByteWidth(type);
  if (type == PrimitiveType::kPred) return Store<uint8_t>(at, value != 0);
  switch (ByteWidth(type)) {
    case 1:
      if (IsSigned(type)) return Store(at, static_cast<int8_t>(SignExtend(value, BitWidth(type))));
      return Store(at, static_cast<uint8_t>(value & ((1 << BitWidth(type)) - 1)));
    case 2: return Store(at, static_cast<int16_t>(value));
    case 4: return Store(at, static_cast<int32_t>(value));
    case 8: return Store(at, value);
    default: CHECK(false, "no integer: ", type);
  }
}

void Literal::SetComplex(int64_t linear, std::complex<double> value) {
  std::byte* at = mutable_raw() + linear * ByteWidth(shape_.type());
  if (shape_.type() == PrimitiveType::kC64) {
    Store(at, static_cast<float>(value.real()));
    return Store(at + 4, static_cast<float>(value.imag()));
  }
  CHECK(shape_.type() == PrimitiveType::kC128, shape_);
  Store(at, value.real());
  Store(at + 8, value.imag());
}

Literal Literal::Elided(const Shape& shape) {
  Literal literal;
  literal.shape_ = shape;
  literal.elided_ = shape.NumElements() != 0;
  return literal;
}

bool Literal::IsKnown() const {
  return !elided_ && std::ranges::all_of(elements_, [](const Literal& element) { return element.IsKnown(); });
}

Literal Literal::WithShape(Shape shape) const {
  CHECK(shape.type() == shape_.type() && shape.NumElements() == shape_.NumElements(), shape_, " as ", shape);
  Literal literal = *this;
  literal.shape_ = std::move(shape);
  literal.kept_.Set(0);
  return literal;
}

Literal Literal::WithBools() const {
  Literal same = *this;
  for (Literal& element : same.elements_) element = element.WithBools();
  if (!shape_.IsArray() || shape_.type() != PrimitiveType::kPred) return same;
  const auto is_bool = [](uint8_t byte) { return byte <= 1; };
  if (std::ranges::all_of(data<uint8_t>(), is_bool)) return same;
  for (uint8_t& byte : same.mutable_data<uint8_t>()) byte = byte != 0;
  return same;
}

bool Literal::IsSplat() const {
  if (!shape_.IsArray() || bytes_ == 0) return false;
  const int64_t width = ByteWidth(shape_.type());
  return std::memcmp(raw(), raw() + width, bytes_ - width) == 0;
}

bool Literal::IsAll(double value) const { return IsSplat() && GetComplex(0) == value; }

bool Literal::BitEquals(const Literal& other) const {
  if (!Compatible(shape_, other.shape_) || elements_.size() != other.elements_.size()) return false;
  for (size_t i = 0; i < elements_.size(); ++i) {
    if (!elements_[i].BitEquals(other.elements_[i])) return false;
  }
  if (elided_ || other.elided_) return false;
  return bytes_ == other.bytes_ && (bytes_ == 0 || std::memcmp(raw(), other.raw(), bytes_) == 0);
}

uint64_t Literal::Hash() const {
  uint64_t hash = 0xCBF29CE484222325;
  const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0x100000001B3; };
  mix(static_cast<uint64_t>(shape_.type()));
  for (const int64_t dim : shape_.dims()) mix(dim);
  for (int64_t i = 0; i < bytes_; ++i) mix(static_cast<uint64_t>(raw()[i]));
  for (const Literal& element : elements_) mix(element.Hash());
  return hash;
}

uint64_t Literal::KeptHash() const {
  if (!elements_.empty()) return Hash();
  uint64_t hash = kept_.Get();
  if (hash == 0) kept_.Set(hash = Hash());
  return hash;
}

}  // namespace hlo
