#include "tests/gpu/kernel_buffers.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/text.h"

namespace hlo::kernel {
namespace {

bool IsWritten(const ArrayInfo& array) { return array.kind == ArrayKind::kOutput || array.kind == ArrayKind::kInOut; }

int64_t ElementsOf(const ArrayInfo& array, int64_t member) {
  return array.member_elements.empty() ? array.elements : array.member_elements[member];
}

void FindCounters(const Region& region, std::set<int64_t>& counters) {
  for (const Instruction& instruction : region.body) {
    if (instruction.op == Op::kArrive) counters.insert(instruction.imm);
    for (const Region& inner : instruction.regions) FindCounters(inner, counters);
  }
}

uint64_t Next(uint64_t& state) {
  uint64_t x = state += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

void StoreRandom(Type type, uint64_t random, char* to) {
  const int64_t magnitude = static_cast<int64_t>(random >> 32) % 1000;
  const double number = static_cast<double>(random % 4 == 0 ? -magnitude : magnitude) / 256;
  const float narrow = static_cast<float>(number);
  const _Float16 half = static_cast<_Float16>(number);
  const uint64_t integer = random % 3 == 0 ? random : static_cast<uint64_t>(random / 3 % 40) - 5;
  const uint64_t truth = random % 2;
  switch (type) {
    case Type::kF32: std::memcpy(to, &narrow, 4); return;
    case Type::kF64: std::memcpy(to, &number, 8); return;
    case Type::kF16: std::memcpy(to, &half, 2); return;
    case Type::kBF16: std::memcpy(to, reinterpret_cast<const char*>(&narrow) + 2, 2); return;
    case Type::kPred: std::memcpy(to, &truth, 1); return;
    default: std::memcpy(to, &integer, Bytes(type));
  }
}

bool IsNan(Type type, const char* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, Bytes(type));
  switch (type) {
    case Type::kF16: return (bits & 0x7fff) > 0x7c00;
    case Type::kBF16: return (bits & 0x7fff) > 0x7f80;
    case Type::kF32: return (bits & 0x7fffffff) > 0x7f800000;
    case Type::kF64: return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    default: return false;
  }
}

}  // namespace

Buffers Buffers::CopyWritten(const Kernel& kernel) const {
  Buffers copy = *this;
  const std::vector<KernelArgument> given = kernel.Arguments();
  for (size_t p = 0; p < given.size(); ++p) {
    if (!IsWritten(kernel.arrays[given[p].array])) continue;
    copy.storage[p] = std::make_shared<std::vector<char>>(*storage[p]);
    copy.arguments[p] = copy.storage[p]->data();
  }
  return copy;
}

Buffers MakeBuffers(const Kernel& kernel) {
  std::set<int64_t> counters;
  FindCounters(kernel.body, counters);
  uint64_t state = 11;
  Buffers buffers;
  for (const KernelArgument& argument : kernel.Arguments()) {
    const ArrayInfo& array = kernel.arrays[argument.array];
    const int bytes = Bytes(array.type);
    const int64_t elements = ElementsOf(array, argument.member);
    const char fill = counters.contains(argument.array) ? 0 : 0x55;
    auto data = std::make_shared<std::vector<char>>(elements * bytes, fill);
    if (array.kind != ArrayKind::kOutput && !counters.contains(argument.array)) {
      for (int64_t i = 0; i < elements; ++i) StoreRandom(array.type, Next(state), data->data() + i * bytes);
    }
    buffers.arguments.push_back(data->data());
    buffers.storage.push_back(std::move(data));
  }
  return buffers;
}

void SetMostTrips(const Kernel& kernel, const Buffers& buffers, int64_t trips) {
  const std::vector<KernelArgument> given = kernel.Arguments();
  for (size_t i = 0; i < given.size(); ++i) {
    const ArrayInfo& array = kernel.arrays[given[i].array];
    if (array.name == "limits" && array.type == Type::kS64)
      std::fill_n(static_cast<int64_t*>(buffers.arguments[i]), array.elements, trips);
  }
}

Written CompareWritten(const Kernel& kernel, const Buffers& before, const Buffers& a, const Buffers& b) {
  Written written;
  const std::vector<KernelArgument> given = kernel.Arguments();
  for (size_t p = 0; p < given.size(); ++p) {
    const ArrayInfo& array = kernel.arrays[given[p].array];
    if (!IsWritten(array)) continue;
    const int bytes = Bytes(array.type);
    const int64_t elements = ElementsOf(array, given[p].member);
    int64_t different = 0, first = -1;
    for (int64_t i = 0; i < elements; ++i) {
      const char* const x = a.storage[p]->data() + i * bytes;
      const char* const y = b.storage[p]->data() + i * bytes;
      const bool nan = IsNan(array.type, x);
      if (std::memcmp(x, before.storage[p]->data() + i * bytes, bytes) != 0) {
        ++written.elements;
        written.nan += nan;
      }
      if (std::memcmp(x, y, bytes) == 0 || (nan && IsNan(array.type, y))) continue;
      if (different++ == 0) first = i;
    }
    if (different > 0)
      written.differences +=
          Str("'", array.name, "': ", different, " of ", elements, " elements differ, first ", first, "\n");
  }
  return written;
}

bool BlocksMeet(const Kernel& kernel) {
  std::set<int64_t> counters;
  FindCounters(kernel.body, counters);
  return !counters.empty();
}

}  // namespace hlo::kernel
