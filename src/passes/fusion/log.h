// Why kernels are what they are: what strategies decided, in words, for --print_fusion_plan. Passes that fuse write it
// when PassContext has one; nothing reads it to decide.
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
std::string_view NameOf(FusionReason reason);  // "ReadsTheSame"
bool Joins(FusionReason reason);               // Else it keeps apart.

// A reason with what it speaks of, as strategies give it.
struct FusionNote {
  FusionReason reason;
  const Instruction* inst = nullptr;
  double first = 0, second = 0;
};
std::string Text(const FusionNote& note);  // In words.

struct FusionLog {
  struct Note {
    FusionReason reason;
    std::string text;
    std::vector<std::string> names;  // The instructions that joined; the other kernel, or none: all; what is stored.
    bool of_two = false;             // Kernels.
    double bytes = 0;                // Of traffic that the union saves, or would.
  };
  struct Group {
    bool made = false;               // By a pass; else it came so.
    std::vector<std::string> parts;  // Kernels that it was made of; each may be in the log itself.
    std::vector<Note> notes;
    int64_t shared = 0;      // Instructions that other kernels compute, too.
    double bytes_alone = 0;  // That its instructions would move, each by itself; of one in k kernels a k-th.
  };
  std::unordered_map<std::string, Group> groups;  // By the fusion's name.
  std::array<int64_t, kFusionReasons> counts = {};
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_LOG_H_
