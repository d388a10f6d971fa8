#include "gpu/codegen/nvptx_lowering.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/text.h"
#include "gpu/codegen/nvptx/emission.h"

namespace hlo::kernel {
namespace {

constexpr int64_t kLeastThatWaits = 90;
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;

// Whether LLVM could use the number of blocks, in conditions, divisions, minima or maxima.
bool ComparesIndices(const Region& region) {
  return std::ranges::any_of(region.body, [](const Instruction& instruction) {
    const Op op = instruction.op;
    if (op == Op::kIf || (op == Op::kTile && !instruction.operands.empty())) return true;
    if (op >= Op::kEqual && op <= Op::kSelect) return true;
    const bool bounds = op == Op::kDiv || op == Op::kRem || op == Op::kMin || op == Op::kMax;
    if (bounds && instruction.type == Type::kIndex) return true;
    return std::ranges::any_of(instruction.regions, ComparesIndices);
  });
}

}  // namespace

int64_t BlocksInCode(const Kernel& kernel) { return ComparesIndices(kernel.body) ? kernel.blocks : kMostBlocks; }

int64_t ComputeOf(const NvptxOptions& options) {
  const std::string_view digits = std::string_view(options.arch).substr(options.arch.find('_') + 1);
  int64_t number = 0;
  ParseInt(digits.substr(0, digits.find_first_not_of("0123456789")), &number);
  return number;
}

bool WaitsInCode(const NvptxOptions& options) { return ComputeOf(options) >= kLeastThatWaits; }

void ForgetForNvptx(Kernel& kernel) {
  kernel.blocks = BlocksInCode(kernel);
  for (ArrayInfo& array : kernel.arrays) {
    if (!array.IsParameter()) continue;
    array.elements = 0;
    array.member_elements.clear();
  }
}

std::string Replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string replaced;
  size_t from = 0;
  for (size_t at; (at = text.find(what, from)) != std::string_view::npos; from = at + what.size())
    replaced.append(text, from, at - from).append(by);
  return replaced.append(text, from);
}

std::string EntryName(const Kernel& kernel) {
  std::string name = kernel.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "k_");
  return name;
}

std::unique_ptr<llvm::Module> LowerToNvptx(const Kernel& kernel, const NvptxOptions& options,
                                           llvm::LLVMContext& context) {
  return NvptxEmission(kernel, options, context).Lower();
}

}  // namespace hlo::kernel
