// Reads modules: header, tables, computations, and the short forms. Meaning: docs/language.md#header.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/text.h"
#include "ir/source_parts.h"
#include "ir/text/printer.h"
#include "parser/input_format.h"
#include "parser/reader.h"

namespace hlo {
namespace {

std::string OnOneLine(std::string_view written) {
  std::string line;
  for (size_t at = 0; at < written.size();) {
    size_t end = at + 1;
    if (written[at] == '"') end = StringEnd(written.data() + at, written.data() + written.size()) - written.data();
    else if (ClassOfByte(written[at]) == kSpaceByte)
      end = std::min(written.find_first_not_of(" \t\r\n", at), written.size());
    const std::string_view piece = written.substr(at, end - at);
    line += piece[0] != '"' && piece.find('\n') != std::string_view::npos ? " " : piece;
    at = end;
  }
  return line;
}

// A module's text as a string in XLA's recovery tables. Unlike XLA, escapes quotes, so that it can be read back.
std::string Indented(std::string_view module) {
  std::string text = "\"\n";
  for (size_t begin = 0; begin < module.size();) {
    const size_t end = std::min(module.find('\n', begin), module.size());
    for (const char c : module.substr(begin, end - begin)) {
      if (text.back() == '\n') text += "    ";
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '\n';
    begin = end + 1;
  }
  return text + "\n  \"";
}

}  // namespace

Result<std::unique_ptr<Module>> Reader::ReadWhole() {
  module_ = std::make_unique<Module>("_");
  module_->source = source_;
  constexpr int64_t kBytesOfLine = 100;
  module_->ReserveNames((lexer_.end() - lexer_.at()) / kBytesOfLine);
  ReadModule();
  if (!diagnostics_.empty()) FAIL(TakeError());
  return std::move(module_);
}

Result<Shape> Reader::ReadLoneShape() {
  Shape shape;
  if (Read(shape) && token_.kind != TokenKind::kEnd) FailExpected("the end of the text after a shape");
  if (!diagnostics_.empty()) FAIL(TakeError());
  return shape;
}

Result<Literal> Reader::ReadLoneLiteral(const Shape& shape) {
  Literal literal;
  if (ReadLiteral(shape, literal) && token_.kind != TokenKind::kEnd)
    FailExpected("the end of the text after a literal");
  if (!diagnostics_.empty()) FAIL(TakeError());
  return literal;
}

bool Reader::FailNoHlo() {
  const SourceRange here = {token_.begin, std::max(token_.end, token_.begin + 1)};
  if (token_.kind == TokenKind::kEnd) return Fail("P011", "there is no module: the text is empty", token_.range());
  const std::string_view rest = Text({lexer_.Offset(BeginBytes()), lexer_.Offset(lexer_.end())});
  if (const auto foreign = ForeignFormatOf(rest)) {
    Fail("P014", Str("this is ", foreign->name, ", not HLO"), foreign->is_binary ? SourceRange{} : here);
    AddHint(std::string(foreign->hint));
    return false;
  }
  if (token_.Is('#') || (token_.kind == TokenKind::kError && *BeginBytes() == '#'))
    return Fail("P014", "this is not HLO text; it looks like a script", here);
  return true;
}

bool Reader::ReadModule() {
  if (!FailNoHlo()) return false;
  if (token_.IsWord("HloModule")) return ReadHeader() && ReadComputations();
  Lexer ahead = lexer_;
  const bool braces_follow = ahead.Next().Is('{');
  if (token_.IsWord("ENTRY") || token_.IsWord("FileNames") || braces_follow) {
    if (token_.IsWord("FileNames") && !ReadStackFrames()) return false;
    if (!ReadComputations()) return false;
    module_->SetName(Str("module_", module_->entry().name()));
    return true;
  }
  return ReadLoneInstruction();
}

// ---- Header ------------------------------------------------------------------------------------------------------

bool Reader::ReadHeader() {
  Advance();
  const bool is_name = token_.kind == TokenKind::kName || (token_.kind == TokenKind::kWord && !IsReserved(token_.text));
  if (!is_name) return FailExpected("the module's name");
  module_->SetName(std::string(token_.text));
  Advance();
  std::vector<std::string_view> seen;
  while (Accept(',')) {
    if (token_.kind != TokenKind::kAttribute) return FailExpected("a header attribute (name=value)");
    const Token name = token_;
    if (std::find(seen.begin(), seen.end(), name.text) != seen.end()) {
      return Fail("P035", Str("header attribute '", name.text, "' is given twice"), name.range());
    }
    seen.push_back(name.text);
    Advance();
    if (!ReadHeaderAttribute(name.text, name.range())) return false;
  }
  return !token_.IsWord("FileNames") || ReadStackFrames();
}

// Reads { {"old" {0}} : {"new"} {"older"} : {"newer"}, "HloModule ..." }. Keeps the text as XLA prints it: sorted by
// old array, one entry per line, each followed by its module.
bool Reader::ReadOriginRecoveryTable(RawText& table) {
  const auto array = [&](std::string& text) {
    if (!token_.Is('{')) return FailExpected("'{' of an original value");
    const bool good = ReadOriginTree(text);
    if (text == "{}") text = "{\"\"}";
    return good;
  };
  if (!Expect('{', "'{' of a table")) return false;
  std::map<std::string, std::string> entries;
  while (!token_.Is('}')) {
    std::string old, text;
    if (!array(old) || !Expect(':', "':'") || !array(text)) return false;
    if (Accept(',')) {
      const SourceRange range = token_.range();
      std::string module_text;
      if (!Read(module_text)) return false;
      const auto module = Parse(std::make_shared<SourceText>("the module of an entry", std::move(module_text)));
      if (!module) return Fail("P037", Str("the entry's module does not parse: ", module.error().message()), range);
      text += Str(",\n  ", Indented(Print(**module)));
    }
    old.pop_back();  // So {"a"} sorts before {"a" {0}}.
    entries.emplace(std::move(old), std::move(text));
  }
  Advance();
  if (entries.empty()) return true;
  std::string lines;
  for (const auto& [old, text] : entries) lines += Str("  ", old, "} : ", text, "\n");
  table.text = Str("{\n", lines, "}\n");
  return true;
}

// Checks { {"x"}:({log_mode=default,callback_id=3}, ...), {"y" {1}}:{partitioned=true,op_id=9} } and keeps the text.
bool Reader::ReadDebugAttributes(RawText& table) {
  const auto attribute = [&] {
    if (token_.kind != TokenKind::kAttribute) return FailExpected("a debug attribute (name=value)");
    const Token name = token_;
    Advance();
    if (name.text == "log_mode") {
      if (!token_.IsWord("default") && !token_.IsWord("fusion_debugger"))
        return FailExpected("default or fusion_debugger");
      Advance();
      return true;
    }
    bool partitioned = false;
    int64_t number = 0;
    if (name.text == "partitioned") return Read(partitioned);
    if (name.text == "callback_id" || name.text == "op_id") return ReadInt(number, "a number");
    return Fail("P034", Str("there is no debug attribute '", name.text, "'"), name.range());
  };
  const auto attributes = [&] {
    if (!Expect('{', "'{' of debug attributes")) return false;
    do {
      if (!attribute()) return false;
    } while (Accept(','));
    return Expect('}', "',' or '}'");
  };
  const char* const begin = BeginBytes();
  if (!Read(table)) return false;  // Checks that braces are closed.
  EndBytes(begin);
  std::string ignored;
  if (!Expect('{', "'{' of a table")) return false;
  while (!token_.Is('}')) {
    if (!token_.Is('{')) return FailExpected("'{' of an original value");
    if (!ReadOriginTree(ignored) || !Expect(':', "':'")) return false;
    if (token_.Is('{')) {
      if (!attributes()) return false;
    } else {
      if (!Expect('(', "'{' or '('")) return false;
      while (!token_.Is(')')) {
        if (!attributes()) return false;
        if (!Accept(',') && !token_.Is(')')) return FailExpected("',' or ')'");
      }
      Advance();
    }
    if (!Accept(',') && !token_.Is('}')) return FailExpected("',' or '}'");
  }
  table.text = OnOneLine({begin, lexer_.Pointer(token_.end)});
  Advance();
  return true;
}

bool Reader::ReadHeaderAttribute(std::string_view name, SourceRange range) {
  ModuleHeader& header = module_->header;
  if (name == "is_scheduled") return Read(header.is_scheduled);
  if (name == "alias_passthrough_params") return Read(header.alias_passthrough_params);
  if (name == "replica_count") return Read(header.replica_count);
  if (name == "num_partitions") return Read(header.num_partitions);
  if (name == "allow_spmd_sharding_propagation_to_parameters") return Read(header.propagation_to_parameters);
  if (name == "allow_spmd_sharding_propagation_to_output") return Read(header.propagation_to_output);
  if (name == "frontend_attributes") return Read(header.frontend_attributes);
  if (name == "origin_recovery_table") return ReadOriginRecoveryTable(header.origin_recovery_table);
  if (name == "debug_attributes") return ReadDebugAttributes(header.debug_attributes);
  if (name == "backend_config") return Read(header.backend_config);
  if (name == "input_output_alias") {
    std::set<ShapeIndex> outputs;
    return ReadBraced([&] {
      InputOutputAlias alias;
      const uint32_t item_begin = token_.begin;
      if (!ReadIndexedAlias(alias.output, alias.parameter, alias.parameter_index, &alias.must)) return false;
      if (outputs.insert(alias.output).second) {
        header.aliases.push_back(std::move(alias));
      } else {
        Warn("W010", Str("output {", Join(alias.output, ","), "} already has an alias, so this one is ignored"),
             {item_begin, last_end_});
      }
      return true;
    });
  }
  if (name == "buffer_donor") {
    return ReadBraced([&] {
      BufferDonor& donor = header.donors.emplace_back();
      return Expect('(', "'('") && ReadInt(donor.parameter, "a parameter number") && Expect(',', "','") &&
             Read(donor.parameter_index) && Expect(')', "')'");
    });
  }
  if (name == "entry_computation_layout") {
    if (!Expect('{', "'{'") || !token_.Is('(')) return FailExpected("'(' and the parameters' shapes");
    if (!Read(header.entry_parameters.emplace())) return false;
    if (token_.kind != TokenKind::kArrow) return FailExpected("'->'");
    Advance();
    return Read(header.entry_result.emplace()) && Expect('}', "'}'");
  }
  constexpr std::string_view kKnown[] = {"is_scheduled",
                                         "entry_computation_layout",
                                         "input_output_alias",
                                         "buffer_donor",
                                         "alias_passthrough_params",
                                         "replica_count",
                                         "num_partitions",
                                         "allow_spmd_sharding_propagation_to_parameters",
                                         "allow_spmd_sharding_propagation_to_output",
                                         "frontend_attributes",
                                         "origin_recovery_table",
                                         "debug_attributes",
                                         "backend_config"};
  const auto near = NearNames(name, kKnown, 1);
  return Fail("P034",
              Str("a module has no attribute '", name, "'", near.empty() ? "" : Str("; did you mean '", near[0], "'?")),
              range);
}

// An entry's id is its position, not the written one.
bool Reader::ReadStackFrames() {
  const auto section = [&](std::string_view title, auto& entries) {
    if (!token_.IsWord(title)) return FailExpected(title);
    Advance();
    while (token_.kind == TokenKind::kInt) {
      Advance();
      if (!Read(entries.emplace_back())) return false;
    }
    return true;
  };
  StackFrameTables tables;
  if (!section("FileNames", tables.file_names) || !section("FunctionNames", tables.function_names) ||
      !section("FileLocations", tables.file_locations) || !section("StackFrames", tables.stack_frames))
    return false;
  stack_frames_.emplace(std::move(tables));
  return true;
}

// ---- Computations ------------------------------------------------------------------------------------------------

bool Reader::ReadComputations() {
  while (token_.kind != TokenKind::kEnd) {
    if (!ReadComputation() || Stopped()) return false;
  }
  if (module_->Computations().empty()) return FailExpected("a computation");
  if (!diagnostics_.empty()) return false;
  if (!module_->has_entry()) {
    const auto named = [&](Computation* computation) { return computations_.Find(computation->name()) != nullptr; };
    std::vector<Computation*> all = module_->Computations();
    std::erase_if(all, [&](Computation* computation) { return !named(computation); });
    module_->SetEntry(*all.back());
  }
  FinishHeader();
  return true;
}

bool Reader::FailNoComputation() {
  const bool is_header = token_.IsWord("HloModule");
  FailExpected("the name of a computation");
  if (is_header) AddHint("a file holds one module, or several between lines '// -----' if --split_input_file is given");
  return false;
}

bool Reader::ReadComputation() {
  const SourceRange keyword = token_.range();
  const bool is_entry = token_.IsWord("ENTRY");
  if (is_entry) {
    if (module_->has_entry()) {
      Fail("P020", "this module has an ENTRY already", keyword);
      AddNote("the first entry computation", module_->entry().range);
    }
    Advance();
  }
  const bool is_name = token_.kind == TokenKind::kName || (token_.kind == TokenKind::kWord && !IsReserved(token_.text));
  if (!is_name) return FailNoComputation();
  const std::string_view name = token_.text;
  const SourceRange name_range = token_.range();
  Computation& computation = module_->AddComputation(name);
  computation.range = name_range;
  if (is_entry && !module_->has_entry()) module_->SetEntry(computation);
  Advance();
  Signature& signature = signature_;
  signature.parameters.clear();
  signature.result.reset();
  if (token_.Is('(') && !ReadSignature(signature)) return false;
  const std::optional<Shape>& result = signature.result;
  if (!ReadBody(computation)) {
    if (Stopped() || !broken_.contains(&computation)) return false;
  } else if (result && !Compatible(*result, computation.root().shape())) {
    Fail("P033", Str("the signature says ", *result, ", but the root is ", computation.root().shape()),
         signature.result_range);
    AddNote("the root", NameRange(computation.root()));
  } else if (result) {
    CompareParameters(signature, computation);
  }
  if (Accept(',')) {
    if (!ExpectAttributeName("execution_thread", "execution_thread=")) return false;
    if (!Read(computation.execution_thread)) return false;
  }
  if (!computations_.Insert(name, &computation)) {
    Fail("P021", Str("computation '", name, "' is defined twice"), name_range);
    AddNote("the first definition", (*computations_.Find(name))->range);
  }
  return true;
}

bool Reader::ReadSignature(Signature& signature) {
  const uint32_t parameters_begin = token_.begin;
  Advance();
  while (!token_.Is(')')) {
    if (token_.kind != TokenKind::kName && (token_.kind != TokenKind::kWord || IsReserved(token_.text)))
      return FailExpected("the name of a parameter");
    Signature::Parameter& parameter = signature.parameters.emplace_back(token_.text, Shape(), token_.range());
    Advance();
    if (!Read(parameter.shape)) return false;
    parameter.range.end = last_end_;
    if (!Accept(',') && !token_.Is(')')) return FailExpected("',' or ')'");
  }
  Advance();
  signature.range = {parameters_begin, last_end_};
  if (token_.kind != TokenKind::kArrow) return FailExpected("'->'");
  Advance();
  const uint32_t begin = token_.begin;
  if (!Read(signature.result.emplace())) return false;
  signature.result_range = {begin, last_end_};
  return true;
}

void Reader::CompareParameters(const Signature& signature, const Computation& computation) {
  if (options_.warnings == nullptr) return;
  const auto written = signature.parameters.size();
  const auto parameters = computation.parameters();
  if (written != parameters.size()) {
    Warn("W010",
         Str("the signature has ", written, written == 1 ? " parameter" : " parameters", ", but the body has ",
             parameters.size()),
         signature.range);
    return;
  }
  for (size_t i = 0; i < written; ++i) {
    const auto& [name, shape, range] = signature.parameters[i];
    std::string_view own = Text(NameRange(*parameters[i]));
    if (own.starts_with('%')) own.remove_prefix(1);
    if (name == own && Compatible(shape, parameters[i]->shape())) continue;
    Warn(
        "W010",
        Str("the signature says ", name, ": ", shape, ", but parameter ", i, " is ", own, ": ", parameters[i]->shape()),
        range);
  }
}

bool Reader::ReadBody(Computation& computation) {
  Computation* outer = std::exchange(computation_, &computation);
  std::unique_ptr<Scope> outer_scope = std::move(scope_);
  Instruction* outer_root = std::exchange(root_, nullptr);
  const SourceRange outer_keyword = std::exchange(root_keyword_, SourceRange{});
  auto outer_projections = std::exchange(projections_, {});
  const bool outer_lone = std::exchange(lone_, false);
  if (spare_scopes_.empty()) spare_scopes_.push_back(std::make_unique<Scope>());
  scope_ = std::move(spare_scopes_.back());
  spare_scopes_.pop_back();
  scope_->Clear();

  if (computation.range.empty()) computation.range = token_.range();
  const size_t errors = diagnostics_.size();
  bool good = Expect('{', "'{'");
  if (good) {
    good = ReadInstructions();
    const SourceRange end = token_.range();
    if (!good && !Stopped() && token_.Is('}')) {
      broken_[&computation] = true;
      Advance();
    } else {
      good = good && Expect('}', "'}'") && FinishBody(computation, root_, end);
      if (!good && !Stopped() && diagnostics_.size() > errors) broken_[&computation] = true;
    }
  }

  spare_scopes_.push_back(std::move(scope_));
  computation_ = outer;
  scope_ = std::move(outer_scope);
  root_ = outer_root;
  root_keyword_ = outer_keyword;
  projections_ = std::move(outer_projections);
  lone_ = outer_lone;
  return good;
}

bool Reader::FinishBody(Computation& computation, Instruction* root, SourceRange end) {
  if (computation.InstructionCount() == 0)
    return Fail("P015", Str("computation '", computation.name(), "' has no instructions"), end);
  computation.SetRoot(root != nullptr ? *root : *computation.Instructions().back());
  const auto parameters = computation.parameters();
  const auto gap = std::find(parameters.begin(), parameters.end(), nullptr);
  if (gap != parameters.end()) {
    const auto present = parameters.size() - std::count(parameters.begin(), parameters.end(), nullptr);
    return Fail("V051",
                Str("there is a parameter ", parameters.size() - 1, " but no parameter ", gap - parameters.begin(),
                    "; ", present, present == 1 ? " parameter is" : " parameters are", " defined"),
                parameters.back()->range());
  }
  ClaimNames(computation);
  return true;
}

void Reader::ClaimNames(Computation& computation) {
  if (options_.warnings == nullptr) return module_->ClaimNames(computation);
  std::vector<std::string_view> written;
  for (const Instruction* inst : computation.instructions()) written.push_back(inst->name());
  module_->ClaimNames(computation);
  auto name = written.begin();
  for (const Instruction* inst : computation.instructions()) {
    const std::string_view wish = *name++;
    // The text of an instruction without a name begins with its shape or opcode.
    const std::string_view text = Text(inst->range());
    const bool is_named = text.substr(text.starts_with('%')).starts_with(wish);
    if (!is_named || inst->name() == wish) continue;
    const uint32_t begin = inst->range().begin;
    Warn("W010", Str("'", wish, "' is renamed '", inst->name(), "': names must be unique in a module"),
         {begin, begin + static_cast<uint32_t>(wish.size())});
  }
}

// Reads [NAME =] [SHAPE] OPCODE(...) as the whole program.
bool Reader::ReadLoneInstruction() {
  Computation& computation = module_->AddComputation("entry");
  computation.range = token_.range();
  computation_ = &computation;
  lone_ = true;
  if (token_.IsWord("ROOT")) Advance();
  Lexer ahead = lexer_;
  const bool has_name = (token_.kind == TokenKind::kName || token_.kind == TokenKind::kWord) && ahead.Next().Is('=');
  std::string_view name = "_";
  SourceRange range = token_.range();
  if (has_name && !ReadName(name, range)) return false;
  if (has_name) Advance();
  if (!has_name && !AtShape() && (token_.kind != TokenKind::kWord || !OpcodeFromText(token_.text))) {
    const bool computation_head = (token_.kind == TokenKind::kName || token_.kind == TokenKind::kWord) &&
                                  Text({token_.end, lexer_.Offset(lexer_.end())}).find("->") != std::string_view::npos;
    FailExpected("'HloModule', 'ENTRY' or an instruction");
    if (computation_head)
      AddHint("a file that begins with a computation needs 'HloModule NAME' above it, or 'ENTRY' before it");
    return false;
  }
  Instruction* inst = nullptr;
  if (!ReadRight(name, range.begin, inst)) return false;
  if (token_.kind != TokenKind::kEnd) {
    FailExpected("the end of the text after a single instruction");
    AddHint("a module of several instructions begins with 'HloModule NAME'");
    return false;
  }
  CHECK(inst != nullptr, "a single instruction without errors was not made");
  if (!FinishBody(computation, inst, range)) return false;
  module_->SetEntry(computation);
  module_->header.is_scheduled = true;
  FinishHeader();
  return true;
}

// Adds the used stack frames to the header. The default entry_computation_layout has the shapes of the entry's
// parameters and root.
void Reader::FinishHeader() {
  ModuleHeader& header = module_->header;
  if (stack_frames_) header.stack_frames = ToString(stack_frames_->kept());
  if (header.entry_result) return;
  std::vector<Shape> parameters;
  for (const Instruction* parameter : module_->entry().parameters()) parameters.push_back(parameter->shape());
  header.entry_parameters = Shape::Tuple(std::move(parameters));
  header.entry_result = module_->entry().root().shape();
}

}  // namespace hlo
