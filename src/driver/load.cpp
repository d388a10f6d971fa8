#include "driver/load.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/source_text.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/dump/dump_index.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "ir/opcode_set.h"
#include "ir/verifier/verifier.h"
#include "parser/read_proto.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

bool MayHoldModule(const std::string& path) {
  constexpr size_t kMostBytes = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes, '\0');
  file.read(text.data(), kMostBytes);
  text.resize(static_cast<size_t>(file.gcount()));
  return text.empty() || text.contains("HloModule") || text.contains("ENTRY");
}

// Leaves out hidden directories, directories without permission, and texts such as readme.txt.
std::vector<std::string> ModulesIn(const std::string& directory, bool subdirectories) {
  std::vector<std::string> files;
  const auto below = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(directory, below); at != fs::recursive_directory_iterator(); ++at) {
    const fs::directory_entry& entry = *at;
    if (!subdirectories || entry.path().filename().string().starts_with('.')) at.disable_recursion_pending();
    const std::string extension = entry.path().extension();
    const std::string name = entry.path().filename().string();
    // Reports of XLA in a dump directory.
    constexpr std::string_view kReports[] = {"buffer-assignment", "memory-usage-report", "thunk_sequence",
                                             "live-range",        "gpu_target_config",   "autotune_results",
                                             "execution_options", "debug_options",       "flagfile"};
    if (std::any_of(std::begin(kReports), std::end(kReports),
                    [&](auto report) { return name.find(report) != std::string::npos; }))
      continue;
    constexpr std::string_view kModules[] = {".hlo", ".txt", ".pb", ".pbtxt"};
    const bool is_module = std::find(std::begin(kModules), std::end(kModules), extension) != std::end(kModules);
    if (!entry.is_regular_file() || !is_module) continue;
    if (extension != ".txt" || MayHoldModule(entry.path().string())) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Recorded runs of each module, or else its first state, and other files. Prefers text to a protocol buffer.
std::vector<std::string> FirstStates(const std::vector<std::string>& files) {
  const auto state_of = [](const std::string& file) { return DumpedStateOf(fs::path(file).filename().string()); };
  const auto is_proto = [](const std::string& file) { return file.ends_with(".pb") || file.ends_with(".pbtxt"); };
  using Rank = std::pair<DumpedState::Kind, bool>;
  const auto rank_of = [&](const DumpedState& state, const std::string& file) {
    return Rank(state.kind, state.kind != DumpedState::Kind::kRecording && is_proto(file));
  };
  std::map<std::string, Rank> first;
  for (const std::string& file : files) {
    const auto state = state_of(file);
    if (!state) continue;
    const Rank rank = rank_of(*state, file);
    const auto [known, is_new] = first.emplace(state->module, rank);
    if (!is_new) known->second = std::min(known->second, rank);
  }
  std::vector<std::string> chosen;
  for (const std::string& file : files) {
    const auto state = state_of(file);
    if (!state || rank_of(*state, file) == first.at(state->module)) chosen.push_back(file);
  }
  return chosen;
}

std::vector<std::string> Glob(const std::string& pattern) {
  glob_t found;
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return files;
}

bool Exists(const std::string& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

bool IsDirectory(const std::string& path) {
  std::error_code unknown;
  return fs::is_directory(path, unknown);
}

// Splits "FILE#2". The number is 0 if there is none, or if a file has the whole name.
std::pair<std::string, int64_t> FileAndPiece(const std::string& path) {
  const size_t hash = path.rfind('#');
  int64_t piece = 0;
  if (hash == std::string::npos || !ParseInt(std::string_view(path).substr(hash + 1), &piece) || piece < 1 ||
      Exists(path))
    return {path, 0};
  return {path.substr(0, hash), piece};
}

int Badness(ExitCode code) {
  constexpr ExitCode kWorstFirst[] = {
      ExitCode::kInterrupted, ExitCode::kInternal, ExitCode::kDevice,       ExitCode::kLimit, ExitCode::kUnsupported,
      ExitCode::kRejected,    ExitCode::kNo,       ExitCode::kInconclusive, ExitCode::kUsage, ExitCode::kOk};
  return static_cast<int>(std::end(kWorstFirst) - std::find(std::begin(kWorstFirst), std::end(kWorstFirst), code));
}

}  // namespace

ParseOptions ParseOptionsOf(const LoadOptions& options) {
  ParseOptions parse;
  parse.max_depth = options.max_depth;
  parse.max_errors = static_cast<int>(std::clamp<int64_t>(options.max_errors, 1, 1'000'000));
  parse.elided = options.fill_elided_constants == ElidedValues::kKeep    ? ElidedConstants::kKeep
                 : options.fill_elided_constants == ElidedValues::kError ? ElidedConstants::kError
                                                                         : ElidedConstants::kToFill;
  return parse;
}

namespace {

bool IsOfSameSize(const Shape& a, const Shape& b) {
  const auto bits_of = [](const Shape& shape) {
    return shape.NumElements() * (shape.type() == PrimitiveType::kPred ? 8 : BitWidth(shape.type()));
  };
  return !a.IsArray() || !b.IsArray() || bits_of(a) == bits_of(b);
}

// Rejects instructions without a defined meaning that XLA's verifier accepts: XLA reads the memory after an FFT of
// other lengths, crashes on a bitcast of another size, and does not compile a movement into another type. Errors:
// [U009].
Status CheckIsMeant(const Module& module) {
  constexpr OpcodeSet kMovements = {Opcode::kBroadcast,
                                    Opcode::kReshape,
                                    Opcode::kTranspose,
                                    Opcode::kSlice,
                                    Opcode::kDynamicSlice,
                                    Opcode::kReverse,
                                    Opcode::kPad,
                                    Opcode::kConcatenate,
                                    Opcode::kGather,
                                    Opcode::kTopK,
                                    Opcode::kDynamicUpdateSlice,
                                    Opcode::kDomain,
                                    Opcode::kAddDependency};
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (kMovements.Has(inst->opcode())) {
        const Shape& result = inst->Is(Opcode::kTopK) ? inst->shape().element(0) : inst->shape();
        const auto is_another = [&](const Instruction* x) {
          return IsFloat(x->shape().type()) && x->shape().type() != result.type();
        };
        if (std::ranges::any_of(inst->operands(), is_another))
          FAIL(UnsupportedAt(
                   *inst, "U009",
                   Str("'", inst->opcode(), "' has an operand of another element type than its result ", result))
                   .Hint("convert the operand first"));
      }
      if (inst->Is(Opcode::kBitcast) && !IsOfSameSize(inst->operand(0).shape(), inst->shape()))
        FAIL(UnsupportedAt(*inst, "U009",
                           Str("'bitcast' changes ", inst->operand(0).shape(), " to ", inst->shape(),
                               ", which has another size in bytes")));
      for (int64_t i = 0; inst->Is(Opcode::kSort) && i < inst->operand_count(); ++i) {
        const Shape& result = inst->shape().IsTuple() ? inst->shape().element(i) : inst->shape();
        if (result.type() != inst->operand(i).shape().type())
          FAIL(UnsupportedAt(*inst, "U009",
                             Str("'sort' has the result ", result, " for the operand ", inst->operand(i).shape()))
                   .Hint("convert the operand first"));
      }
      for (const int64_t i : {3, 4}) {  // XLA does not check the sizes of mean and variance.
        if (!inst->Is(Opcode::kBatchNormInference)) break;
        const Shape &shape = inst->operand(i).shape(), &scale = inst->operand(1).shape();
        if (shape.dims() != scale.dims())
          FAIL(UnsupportedAt(*inst, "U009", Str("operand ", i, " is ", shape, ", but the scale is ", scale)));
      }
      if (!inst->Is(Opcode::kFft) || inst->operand(0).shape().type() != inst->shape().type()) continue;
      const std::vector<int64_t>& lengths = inst->attrs<FftAttrs>().fft_length;
      const Shape& shape = inst->shape();
      if (!std::equal(lengths.rbegin(), lengths.rend(), shape.dims().rbegin()))
        FAIL(UnsupportedAt(*inst, "U009", Str("fft_length differs from the innermost dimensions of ", shape)));
    }
  }
  return {};
}

Result<std::unique_ptr<Module>> ReadAndVerify(const std::shared_ptr<const SourceText>& source, ParseOptions parse,
                                              const LoadOptions& options, std::vector<Diagnostic>* warnings) {
  const VerifyLevel level = options.verify;
  const bool off = level == VerifyLevel::kOff;
  std::vector<Diagnostic> of_text, of_rules;
  if (off) warnings = nullptr;
  if (warnings != nullptr) parse.warnings = &of_text;
  auto module = TRY(ReadModule(source, parse));
  if (options.num_replicas > 0) module->header.replica_count = options.num_replicas;
  if (options.num_partitions > 0) module->header.num_partitions = options.num_partitions;
  const bool needed = off && !options.text_only;
  if (Status valid = Verify(*module, needed ? VerifyLevel::kDefault : level, warnings == nullptr ? nullptr : &of_rules);
      !valid) {
    if (needed)
      FAIL(std::move(valid).error().Hint(
          "a module that is run or rewritten must be valid; --verify=off only disables warnings"));
    FAIL(std::move(valid).error());
  }
  if (!options.text_only) TRY(CheckIsMeant(*module));
  if (warnings == nullptr) return module;
  *warnings = std::move(of_text);
  warnings->insert(warnings->end(), of_rules.begin(), of_rules.end());
  std::stable_sort(warnings->begin(), warnings->end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.range.begin < b.range.begin; });
  return module;
}

}  // namespace

Result<std::unique_ptr<Module>> LoadModule(const std::string& path, const LoadOptions& options,
                                           std::vector<Diagnostic>* warnings) {
  const auto [file, piece] = FileAndPiece(path);
  const auto source = TRY(ReadSource(ModuleFile(file), options.max_input));
  ParseOptions parse = ParseOptionsOf(options);
  if (piece > 0) {
    const std::vector<SourceRange> pieces = SplitInput(*source);
    if (piece > static_cast<int64_t>(pieces.size())) {
      FAIL(UsageError("F006", Str("'", Escaped(file), "' holds ", pieces.size(),
                                  pieces.size() == 1 ? " module" : " modules", ", so #", piece, " does not exist")));
    }
    parse.piece = pieces[piece - 1];
  }
  return ReadAndVerify(source, parse, options, warnings);
}

Result<std::unique_ptr<Module>> LoadModule(const std::shared_ptr<const SourceText>& text, const LoadOptions& options,
                                           std::vector<Diagnostic>* warnings) {
  return ReadAndVerify(text, ParseOptionsOf(options), options, warnings);
}

Result<int64_t> FillElided(Module& module, const LoadOptions& options, uint64_t seed, int64_t memory_limit) {
  const ElidedValues values = options.fill_elided_constants;
  if (values == ElidedValues::kKeep || values == ElidedValues::kError) return 0;
  ElidedFill fill;
  fill.profile = values == ElidedValues::kZeros  ? InputProfile::kZeros
                 : values == ElidedValues::kIota ? InputProfile::kIota
                                                 : InputProfile::kNormal;
  fill.seed = seed;
  fill.memory_limit = memory_limit > 0 ? memory_limit : DefaultMemoryLimit();
  return FillElidedConstants(module, fill);
}

std::string FilledText(int64_t count, const LoadOptions& options) {
  return Str(count, count == 1 ? " elided constant" : " elided constants",
             " filled with made-up values (--fill_elided_constants=", options.fill_elided_constants, ")");
}

std::string SummaryOf(std::span<const Diagnostic> warnings, const std::string& path) {
  if (warnings.empty()) return "";
  std::set<std::string> codes;
  for (const Diagnostic& warning : warnings) codes.insert(warning.code);
  return Str(warnings.size(), warnings.size() == 1 ? " warning: " : " warnings: ", Join(codes, ", "), "; hlo check ",
             path == "-" ? "FILE" : path, " shows them");
}

namespace {

Result<std::vector<std::string>> PiecesOf(const std::vector<std::string>& files, const LoadOptions& options) {
  std::vector<std::string> pieces;
  for (const std::string& file : files) {
    if (file == "-") FAIL(UsageError("F004", "--split_input_file needs a file, because stdin can be read only once"));
    const auto source = ReadSource(file, options.max_input);
    const size_t count = source ? SplitInput(**source).size() : 1;  // Loading reports why a file is unreadable.
    if (count <= 1) pieces.push_back(file);
    for (size_t i = 1; count > 1 && i <= count; ++i) pieces.push_back(Str(file, "#", i));
  }
  return pieces;
}

}  // namespace

std::optional<DumpedState> DumpedStateOf(std::string_view file_name) {
  const size_t at = file_name.find('.');
  if (ModuleNumber(file_name) < 0 || at == std::string_view::npos) return std::nullopt;
  const size_t number = file_name.find('_') + 1;
  const size_t end = std::min(file_name.find('.', at + 1), file_name.size());
  DumpedState state{.kind = DumpedState::Kind::kPass,
                    .module = std::string(file_name.substr(0, end)),
                    .title = std::string(file_name.substr(number, file_name.rfind('.') - number))};
  // The module's name may have dots.
  const auto cut_at = [&](std::string_view mark) {
    const size_t found = file_name.find(mark, at);
    if (found == std::string_view::npos) return false;
    state.title = file_name.substr(number, found - number);
    return true;
  };
  if (cut_at(".hlo_snapshot.") || cut_at(".hlo_unoptimized_snapshot.")) {
    state.kind = DumpedState::Kind::kRecording;
  } else if (file_name.find(".snapshot.", at) != std::string_view::npos) {
    state.kind = DumpedState::Kind::kRecording;
  } else if (cut_at(Str(".", kFirstState, "."))) {
    state.kind = DumpedState::Kind::kBefore;
  } else if (file_name.find("after_optimizations.", at) != std::string_view::npos) {
    state.kind = DumpedState::Kind::kAfter;
  }
  return state;
}

Result<std::vector<std::string>> ExpandPaths(std::span<const std::string> paths, const LoadOptions& options,
                                             std::vector<std::string>* notes) {
  std::vector<std::string> files;
  const auto append = [&](std::vector<std::string> more) { files.insert(files.end(), more.begin(), more.end()); };
  for (const std::string& path : paths) {
    if (path.starts_with('@')) {
      const auto list = TRY(ReadSource(path.substr(1)));
      std::vector<std::string> listed;
      for (const std::string_view line : Split(list->text(), '\n')) {
        if (!Trim(line).empty()) listed.emplace_back(Trim(line));
      }
      append(
          TRY(ExpandPaths(listed, {.subdirectories = options.subdirectories, .one_state = options.one_state}, notes)));
      continue;
    }
    if (IsBundle(path)) {
      files.push_back(path);
      continue;
    }
    if (IsDirectory(path)) {
      std::vector<std::string> inside = ModulesIn(path, options.subdirectories);
      if (inside.empty())
        FAIL(UsageError("F006",
                        Str("directory '", Escaped(path), "' holds no module in a .hlo, .txt, .pb or .pbtxt file"))
                 .Hint(options.subdirectories ? "its subdirectories hold no such file either"
                                              : "its subdirectories are not searched; '*', '?' and @LIST select files "
                                                "in several directories"));
      const size_t all = inside.size();
      if (options.one_state) inside = FirstStates(inside);
      if (const size_t left_out = all - inside.size(); left_out > 0 && notes != nullptr)
        notes->push_back(Str(left_out, left_out == 1 ? " other dump" : " other dumps", " of these modules in '",
                             Escaped(path), "' ", left_out == 1 ? "is not run; it runs" : "are not run; they run",
                             " when named"));
      append(std::move(inside));
      continue;
    }
    const bool is_pattern = path.find_first_of("*?[") != std::string::npos && !Exists(path);
    if (!is_pattern) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found = Glob(path);
    if (found.empty()) FAIL(UsageError("F006", Str("no file matches '", Escaped(path), "'")));
    append(std::move(found));
  }
  return options.split_input_file ? PiecesOf(files, options) : files;
}

ExitCode WorseOf(ExitCode a, ExitCode b) { return Badness(a) >= Badness(b) ? a : b; }

}  // namespace hlo
