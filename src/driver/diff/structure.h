// Structural differences between two modules: instructions, fusions, costs.
#ifndef HLO_DRIVER_DIFF_STRUCTURE_H_
#define HLO_DRIVER_DIFF_STRUCTURE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/diff/operation.h"
#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo {

struct StructureOptions {
  DiffIgnore ignore{.names = true, .metadata = true, .order = true};
  const DeviceDescription* device = nullptr;
  int64_t most_instructions = 2'000'000;  // Also counts instructions inside fusions.
};

struct InstructionDiff {
  const Instruction *left = nullptr, *right = nullptr;
  std::vector<AttributeChange> changes;
  std::string source;
};

// Kernels of the left side that became kernels of the right side.
struct KernelDiff {
  enum class What : uint8_t { kChanged, kSplit, kMerged, kRegrouped, kOnlyLeft, kOnlyRight };
  What what;
  std::vector<const Instruction*> left, right;
  std::vector<AttributeChange> changes;  // For kChanged.
  // Right minus left, for one run of the entry.
  double launches = 0, bytes = 0, seconds = 0;
  std::string source;
};
std::string_view ToString(KernelDiff::What what);

struct StructureFigures {
  int64_t instructions = 0;  // With expanded fusions. Equal computations count once.
  int64_t fusions = 0, custom_calls = 0;
  double launches = 0, bytes = 0, seconds = 0;
};

struct StructureDiff {
  StructureFigures left, right;
  int64_t matched = 0;                                          // left.instructions = matched + changed + only_left.
  std::vector<InstructionDiff> changed, only_left, only_right;  // Instructions of the entry come first.
  std::vector<KernelDiff> kernels;                              // The largest change of time comes first.
  std::vector<AttributeChange> module;
  int64_t moved = 0;  // Not counted if --ignore covers the order.
  std::vector<std::string> notes;
  // Name, computation and position of the left partner, by id on the right side. "" or -1 without a partner.
  std::vector<std::string_view> left_names, left_computations;
  std::vector<int> left_places;

  bool is_equal() const {
    return changed.empty() && only_left.empty() && only_right.empty() && kernels.empty() && module.empty() &&
           moved == 0;
  }
};

// Errors: A021 for too many instructions.
Result<StructureDiff> DiffModules(const Module& left, const Module& right, const StructureOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_STRUCTURE_H_
