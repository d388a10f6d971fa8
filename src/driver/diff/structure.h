// What differs between two modules: instructions, fusions, costs.
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
  int64_t most_instructions = 2'000'000;  // Of one module, fusions opened.
};

// An instruction that is on both sides, or on one.
struct InstructionDiff {
  const Instruction *left = nullptr, *right = nullptr;
  std::vector<AttributeChange> changes;  // Where it is on both.
  std::string source;                    // Of the program: "model.py:12 jit(f)/mul"; "" where nothing is said.
};

// Kernels of the left that became kernels of the right.
struct KernelDiff {
  enum class What : uint8_t { kChanged, kSplit, kMerged, kRegrouped, kOnlyLeft, kOnlyRight };
  What what;
  std::vector<const Instruction*> left, right;
  std::vector<AttributeChange> changes;  // Of the fusion itself, with kChanged.
  // Right less left, of one run of the entry.
  double launches = 0, bytes = 0, seconds = 0;
  std::string source;
};
std::string_view ToString(KernelDiff::What what);

// Of one run of the entry.
struct StructureFigures {
  int64_t instructions = 0;  // Fusions opened; of equal computations those of one.
  int64_t fusions = 0, custom_calls = 0;
  double launches = 0, bytes = 0, seconds = 0;
};

struct StructureDiff {
  StructureFigures left, right;
  int64_t matched = 0;  // The same on both sides. left.instructions = matched + changed + only_left.
  std::vector<InstructionDiff> changed, only_left, only_right;  // In the order of the modules, entry first.
  std::vector<KernelDiff> kernels;                              // What changes the estimated time most comes first.
  std::vector<AttributeChange> module;                          // Of the header.
  int64_t moved = 0;               // Stand in another order, where that is no matter of --ignore.
  std::vector<std::string> notes;  // Of what is no difference, and what was not compared.
  // By id of what is on the right: the name of its partner, "" where it has none; and where that stands, or -1.
  std::vector<std::string_view> left_names, left_computations;
  std::vector<int> left_places;

  bool is_equal() const {
    return changed.empty() && only_left.empty() && only_right.empty() && kernels.empty() && module.empty() &&
           moved == 0;
  }
};

// Errors: [A021] a module that is too large.
Result<StructureDiff> DiffModules(const Module& left, const Module& right, const StructureOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_STRUCTURE_H_
