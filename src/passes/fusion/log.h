// The reasons of fusion strategies, for --print_fusion_plan. No decision depends on the log.
#ifndef HLO_PASSES_FUSION_LOG_H_
#define HLO_PASSES_FUSION_LOG_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hlo {

class Instruction;

enum class FusionReason : uint8_t {
#define FUSION_REASON(Name, joins, text) k##Name,
#include "passes/fusion/reasons.def"
};
inline constexpr int kFusionReasons = 0
#define FUSION_REASON(Name, joins, text) +1
#include "passes/fusion/reasons.def"
    ;
std::string_view NameOf(FusionReason reason);
bool Joins(FusionReason reason);  // False if it keeps kernels apart.

struct FusionNote {
  FusionReason reason;
  const Instruction* inst = nullptr;
  double first = 0, second = 0;
};
std::string Text(const FusionNote& note);

struct FusionLog {
  struct Note {
    FusionReason reason;
    std::string text;
    // Names of the instructions that joined, of the stored value, or of the other kernel (empty for all kernels).
    std::vector<std::string> names;
    bool of_two = false;  // Whether the note is about two kernels.
    double bytes = 0;     // Traffic that joining saves or would save.
  };
  struct Group {
    bool made = false;               // Made by a pass.
    std::vector<std::string> parts;  // Merged kernels, which may be in the log themselves.
    std::vector<Note> notes;
    int64_t shared = 0;  // Instructions that other kernels compute too.
    double bytes_alone =
        0;  // Traffic if each instruction were a kernel. An instruction with k copies in kernels counts 1/k.
  };
  std::unordered_map<std::string, Group> groups;  // Keyed by fusion.
  std::array<int64_t, kFusionReasons> counts = {};
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_LOG_H_
