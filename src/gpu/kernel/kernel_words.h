// The parts of a kernel that determine its code, as words for a hash: everything except names and sources.
#ifndef HLO_GPU_KERNEL_KERNEL_WORDS_H_
#define HLO_GPU_KERNEL_KERNEL_WORDS_H_

#include <cstdint>
#include <span>
#include <string>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// Each list is preceded by its length, so that different kernels have different words.
template <class F>
void ForEachWord(std::span<const int32_t> words, const F& add) {
  add(words.size());
  for (const int32_t word : words) add(static_cast<uint64_t>(word));
}

template <class F>
void ForEachWord(const Region& region, const F& add) {
  ForEachWord(std::span(region.arguments), add);
  add(region.body.size());
  for (const Instruction& instruction : region.body) {
    add(static_cast<uint64_t>(instruction.op) << 8 | static_cast<uint64_t>(instruction.type));
    add(static_cast<uint64_t>(instruction.result));
    add(static_cast<uint64_t>(instruction.imm));
    add(static_cast<uint64_t>(instruction.imm2));
    ForEachWord(std::span(instruction.operands), add);
    ForEachWord(std::span(instruction.slots), add);
    add(instruction.regions.size());
    for (const Region& inner : instruction.regions) ForEachWord(inner, add);
  }
  ForEachWord(std::span(region.yields), add);
}

template <class F>
void ForEachWord(const ArrayInfo& array, const F& add) {
  add(static_cast<uint64_t>(array.kind) << 16 | static_cast<uint64_t>(array.type) << 8 | array.may_alias);
  add(array.elements);
  add(array.alignment);
  add(array.pitch);
  add(array.members);
  add(array.sizes);
  add(array.member_elements.size());
  for (const int64_t elements : array.member_elements) add(elements);
  add(array.table.size());
  for (const int64_t bits : array.table) add(bits);
}

template <class F>
void ForEachWord(const SlotInfo& slot, const F& add) {
  add(static_cast<uint64_t>(slot.type) << 32 | static_cast<uint64_t>(slot.width) << 8 |
      static_cast<uint64_t>(slot.level));
  add(slot.fragment.has_value());
  if (slot.fragment) add(static_cast<uint64_t>(slot.fragment->shape) << 8 | static_cast<uint64_t>(slot.fragment->role));
}

template <class F>
void ForEachWord(const Kernel& kernel, const F& add) {
  add(kernel.blocks);
  add(kernel.cluster);
  add(kernel.threads);
  add(kernel.min_blocks_per_sm);
  add(kernel.wide_index);
  add(kernel.arrays.size());
  for (const ArrayInfo& array : kernel.arrays) ForEachWord(array, add);
  add(kernel.slots.size());
  for (const SlotInfo& slot : kernel.slots) ForEachWord(slot, add);
  add(kernel.variables.size());
  for (const VariableInfo& variable : kernel.variables)
    add(static_cast<uint64_t>(variable.type) << 8 | static_cast<uint64_t>(variable.level));
  ForEachWord(kernel.body, add);
}

inline std::string WordsOf(const Kernel& kernel) {
  std::string bytes;
  ForEachWord(kernel, [&](uint64_t word) { bytes.append(reinterpret_cast<const char*>(&word), sizeof word); });
  return bytes;
}

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_KERNEL_WORDS_H_
