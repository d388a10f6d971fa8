#include "driver/lsp/server.h"

#include <algorithm>
#include <deque>
#include <expected>
#include <map>
#include <set>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "driver/lsp/features.h"

namespace hlo {
namespace {

// JSON-RPC 2.0, section 5.1; LSP 3.17, ErrorCodes.
enum RpcCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kServerNotInitialized = -32002,
  kRequestCancelled = -32800,
  kRequestFailed = -32803,
};

struct RpcError {
  RpcCode code;
  std::string message;
};

using Answer = std::expected<std::string, RpcError>;

auto Failed(RpcCode code, std::string message) { return std::unexpected(RpcError{code, std::move(message)}); }

class Server {
 public:
  Server(const ServerOptions& options, std::FILE* output) : output_(output), form_(options.form) {
    documents_options_.load = options.load;
  }

  // Queues the message, because a later one may cancel it.
  void Receive(const IncomingMessage& message);
  bool HasWaiting() const { return !waiting_.empty(); }
  bool HasRoom() const { return waiting_.size() < 100; }  // Further messages stay in the pipe.
  void HandleNext();
  void PublishPending();
  bool running() const { return !exited_ && !output_failed_; }
  ExitCode exit_code() const { return exited_ && stage_ == Stage::kShutDown ? ExitCode::kOk : ExitCode::kNo; }

 private:
  enum class Stage : uint8_t { kStarted, kInitialized, kShutDown };
  struct Method {
    std::string_view name;
    bool is_request;
    Answer (Server::*run)(const JsonValue& params);
  };
  static const Method kMethods[];

  // ---- JSON-RPC ----
  void Handle(const JsonValue& message);
  bool IsCancelled(const JsonValue& id) const;
  void Request(const JsonValue& id, std::string_view name, const JsonValue& params);
  void Notification(std::string_view name, const JsonValue& params);
  void Send(const std::string& json) { output_failed_ = !WriteMessage(output_, form_, json) || output_failed_; }
  void Respond(const JsonValue& id, const Answer& answer);
  void Notify(std::string_view method, std::string_view params);
  void Log(std::string_view text);

  // ---- Parameters ----
  std::expected<Document*, RpcError> DocumentOf(const JsonValue& params);
  struct Place {
    Document* document;
    uint32_t offset;
  };
  std::expected<Place, RpcError> PlaceOf(const JsonValue& params);

  // ---- Methods ----
  Answer Initialize(const JsonValue& params);
  Answer Initialized(const JsonValue&) { return "null"; }
  Answer Shutdown(const JsonValue&);
  Answer DidOpen(const JsonValue& params);
  Answer DidChange(const JsonValue& params);
  Answer DidClose(const JsonValue& params);
  Answer Hover(const JsonValue& params);
  Answer Definition(const JsonValue& params);
  Answer References(const JsonValue& params);
  Answer Highlights(const JsonValue& params);
  Answer PrepareRename(const JsonValue& params);
  Answer Rename(const JsonValue& params);
  Answer Symbols(const JsonValue& params);
  Answer FoldingRanges(const JsonValue& params);
  Answer Formatting(const JsonValue& params);
  Answer Completion(const JsonValue& params);

  std::FILE* output_;
  MessageForm form_;
  DocumentOptions documents_options_;
  ClientAbilities client_;
  Stage stage_ = Stage::kStarted;
  std::deque<Result<JsonValue>> waiting_;
  bool exited_ = false;
  bool output_failed_ = false;
  std::map<std::string, Document> documents_;
  std::set<std::string> unpublished_;  // URIs of documents whose text has changed.
};

constexpr Server::Method Server::kMethods[] = {
    {"initialize", true, &Server::Initialize},
    {"initialized", false, &Server::Initialized},
    {"shutdown", true, &Server::Shutdown},
    {"textDocument/didOpen", false, &Server::DidOpen},
    {"textDocument/didChange", false, &Server::DidChange},
    {"textDocument/didClose", false, &Server::DidClose},
    {"textDocument/hover", true, &Server::Hover},
    {"textDocument/definition", true, &Server::Definition},
    {"textDocument/references", true, &Server::References},
    {"textDocument/documentHighlight", true, &Server::Highlights},
    {"textDocument/prepareRename", true, &Server::PrepareRename},
    {"textDocument/rename", true, &Server::Rename},
    {"textDocument/documentSymbol", true, &Server::Symbols},
    {"textDocument/foldingRange", true, &Server::FoldingRanges},
    {"textDocument/formatting", true, &Server::Formatting},
    {"textDocument/completion", true, &Server::Completion},
};

// ---- JSON-RPC ----------------------------------------------------------------------------------------------------

void Server::Receive(const IncomingMessage& message) {
  const bool bad = message.kind == IncomingMessage::Kind::kBad;
  waiting_.push_back(bad ? Result<JsonValue>(std::unexpected(Rejected("", message.text))) : ReadJson(message.text));
}

void Server::HandleNext() {
  const Result<JsonValue> message = std::move(waiting_.front());
  waiting_.pop_front();
  if (!message) return Respond({}, Failed(kParseError, message.error().message()));
  Handle(*message);
}

bool Server::IsCancelled(const JsonValue& id) const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const Result<JsonValue>& message) {
    const std::string* name = message ? (*message)["method"].String() : nullptr;
    return name != nullptr && *name == "$/cancelRequest" && (*message)["params"]["id"].ToString() == id.ToString();
  });
}

void Server::Handle(const JsonValue& message) {
  const std::string* name = message["method"].String();
  const JsonValue& id = message["id"];
  const bool is_request = id.String() != nullptr || id.Number().has_value();
  if (name == nullptr) {
    // The message is a response, although this server makes no requests.
    const bool is_response = !message["result"].IsNull() || !message["error"].IsNull();
    if (!is_response) Respond(id, Failed(kInvalidRequest, "a message must be an object with a method"));
    return;
  }
  if (*name != "textDocument/didChange") PublishPending();
  if (is_request) Request(id, *name, message["params"]);
  else Notification(*name, message["params"]);
}

void Server::Request(const JsonValue& id, std::string_view name, const JsonValue& params) {
  if (stage_ == Stage::kStarted && name != "initialize")
    return Respond(id, Failed(kServerNotInitialized, "the first request must be 'initialize'"));
  if (stage_ == Stage::kShutDown)
    return Respond(id, Failed(kInvalidRequest, "after 'shutdown' only 'exit' is allowed"));
  for (const Method& method : kMethods) {
    if (method.name != name || !method.is_request) continue;
    // `initialize` and `shutdown` change the meaning of later messages.
    const bool changes_state = name == "initialize" || name == "shutdown";
    if (!changes_state && IsCancelled(id)) return Respond(id, Failed(kRequestCancelled, "cancelled"));
    return Respond(id, (this->*method.run)(params));
  }
  Respond(id, Failed(kMethodNotFound, Str("no method '", Escaped(name), "'")));
}

void Server::Notification(std::string_view name, const JsonValue& params) {
  if (name == "exit") {
    exited_ = true;
    return;
  }
  if (stage_ != Stage::kInitialized) return;  // Required by LSP.
  for (const Method& method : kMethods) {
    if (method.name != name || method.is_request) continue;
    const Answer answer = (this->*method.run)(params);
    if (!answer) Log(Str(name, ": ", answer.error().message));
  }
}

void Server::Respond(const JsonValue& id, const Answer& answer) {
  JsonWriter json;
  json.Open('{').Key("jsonrpc").Value("2.0").Key("id").Raw(id.ToString());
  if (answer) {
    json.Key("result").Raw(*answer);
  } else {
    json.Key("error").Open('{').Key("code").Value(static_cast<int>(answer.error().code));
    json.Key("message").Value(answer.error().message).Close('}');
  }
  Send(json.Close('}').text());
}

void Server::Notify(std::string_view method, std::string_view params) {
  JsonWriter json;
  json.Open('{').Key("jsonrpc").Value("2.0").Key("method").Value(method).Key("params").Raw(params).Close('}');
  Send(json.text());
}

void Server::Log(std::string_view text) {
  constexpr int kError = 1;  // MessageType
  JsonWriter json;
  json.Open('{').Key("type").Value(kError).Key("message").Value(text).Close('}');
  Notify("window/logMessage", json.text());
}

void Server::PublishPending() {
  for (const std::string& uri : std::exchange(unpublished_, {}))
    Notify("textDocument/publishDiagnostics", DiagnosticsJson(documents_.at(uri), client_));
}

// ---- Parameters --------------------------------------------------------------------------------------------------

std::expected<Document*, RpcError> Server::DocumentOf(const JsonValue& params) {
  const std::string* uri = params["textDocument"]["uri"].String();
  if (uri == nullptr) return Failed(kInvalidParams, "expected textDocument.uri");
  const auto found = documents_.find(*uri);
  if (found == documents_.end()) return Failed(kInvalidParams, Str("document '", *uri, "' is not open"));
  return &found->second;
}

std::optional<Position> ReadPosition(const JsonValue& value) {
  const auto line = value["line"].Int(), character = value["character"].Int();
  if (!line || !character || *line < 0 || *character < 0) return std::nullopt;
  return Position{*line, *character};
}

std::expected<Server::Place, RpcError> Server::PlaceOf(const JsonValue& params) {
  const auto document = DocumentOf(params);
  if (!document) return std::unexpected(document.error());
  const auto position = ReadPosition(params["position"]);
  if (!position) return Failed(kInvalidParams, "expected position.line and position.character, from 0");
  return Place{*document, static_cast<uint32_t>((*document)->positions().OffsetOf(*position))};
}

// ---- From start to end -------------------------------------------------------------------------------------------

bool Holds(const JsonValue& list, std::string_view word) {
  const auto* items = list.Items();
  return items != nullptr && std::any_of(items->begin(), items->end(), [&](const JsonValue& item) {
           return item.String() != nullptr && *item.String() == word;
         });
}

constexpr std::string_view kCapabilities =
    R"("textDocumentSync":{"openClose":true,"change":2},"hoverProvider":true,"definitionProvider":true,)"
    R"("referencesProvider":true,"documentHighlightProvider":true,"renameProvider":{"prepareProvider":true},)"
    R"("documentSymbolProvider":true,"foldingRangeProvider":true,"documentFormattingProvider":true,)"
    R"("completionProvider":{})";

Answer Server::Initialize(const JsonValue& params) {
  if (stage_ != Stage::kStarted) return Failed(kInvalidRequest, "'initialize' is allowed only once");
  if (params.AsObject() == nullptr) return Failed(kInvalidParams, "expected an object");
  stage_ = Stage::kInitialized;
  const JsonValue& abilities = params["capabilities"];
  const JsonValue& texts = abilities["textDocument"];
  client_.markdown = Holds(texts["hover"]["contentFormat"], "markdown");
  client_.symbol_trees = texts["documentSymbol"]["hierarchicalDocumentSymbolSupport"].IsTrue();
  client_.related_information = texts["publishDiagnostics"]["relatedInformation"].IsTrue();
  const bool utf8 = Holds(abilities["general"]["positionEncodings"], "utf-8");
  documents_options_.encoding = utf8 ? PositionEncoding::kUtf8 : PositionEncoding::kUtf16;
  return Str(R"({"capabilities":{"positionEncoding":")", utf8 ? "utf-8" : "utf-16", R"(",)", kCapabilities,
             R"(},"serverInfo":{"name":"hlo","version":")", HLO_VERSION, R"("}})");
}

Answer Server::Shutdown(const JsonValue&) {
  stage_ = Stage::kShutDown;
  return "null";
}

// ---- Documents ---------------------------------------------------------------------------------------------------

Answer Server::DidOpen(const JsonValue& params) {
  const JsonValue& item = params["textDocument"];
  const std::string* uri = item["uri"].String();
  const std::string* text = item["text"].String();
  if (uri == nullptr || text == nullptr) return Failed(kInvalidParams, "expected textDocument.uri and .text");
  documents_.erase(*uri);
  Document& document = documents_.emplace(*uri, Document(*uri, *text, documents_options_)).first->second;
  document.SetVersion(item["version"].Int());
  unpublished_.insert(*uri);
  return "null";
}

// Applies all changes or none, because each builds on the previous one.
Answer Server::DidChange(const JsonValue& params) {
  const auto document = DocumentOf(params);
  if (!document) return std::unexpected(document.error());
  const auto* changes = params["contentChanges"].Items();
  if (changes == nullptr) return Failed(kInvalidParams, "expected contentChanges");
  for (const JsonValue& change : *changes) {
    const JsonValue& range = change["range"];
    const bool whole = range.IsNull();
    const bool placed = ReadPosition(range["start"]).has_value() && ReadPosition(range["end"]).has_value();
    if (change["text"].String() == nullptr || (!whole && !placed))
      return Failed(kInvalidParams, "a change must have a text, and a range unless the text is the whole document");
  }
  for (const JsonValue& change : *changes) {
    const JsonValue& range = change["range"];
    const std::string& text = *change["text"].String();
    if (range.IsNull()) (*document)->SetText(text);
    else (*document)->Replace(*ReadPosition(range["start"]), *ReadPosition(range["end"]), text);
  }
  (*document)->SetVersion(params["textDocument"]["version"].Int());
  unpublished_.insert((*document)->uri());
  return "null";
}

Answer Server::DidClose(const JsonValue& params) {
  const auto document = DocumentOf(params);
  if (!document) return std::unexpected(document.error());
  const std::string uri = (*document)->uri();
  documents_.erase(uri);
  JsonWriter json;
  json.Open('{').Key("uri").Value(uri).Key("diagnostics").Open('[').Close(']').Close('}');
  Notify("textDocument/publishDiagnostics", json.text());
  return "null";
}

// ---- Questions ---------------------------------------------------------------------------------------------------

Answer Server::Hover(const JsonValue& params) {
  const auto place = PlaceOf(params);
  if (!place) return std::unexpected(place.error());
  return HoverJson(*place->document, place->offset, client_);
}

Answer Server::Definition(const JsonValue& params) {
  const auto place = PlaceOf(params);
  if (!place) return std::unexpected(place.error());
  return DefinitionJson(*place->document, place->offset);
}

Answer Server::References(const JsonValue& params) {
  const auto place = PlaceOf(params);
  if (!place) return std::unexpected(place.error());
  return ReferencesJson(*place->document, place->offset, params["context"]["includeDeclaration"].IsTrue());
}

Answer Server::Highlights(const JsonValue& params) {
  const auto place = PlaceOf(params);
  if (!place) return std::unexpected(place.error());
  return HighlightsJson(*place->document, place->offset);
}

Answer Server::PrepareRename(const JsonValue& params) {
  const auto place = PlaceOf(params);
  if (!place) return std::unexpected(place.error());
  return PrepareRenameJson(*place->document, place->offset);
}

Answer Server::Rename(const JsonValue& params) {
  const auto place = PlaceOf(params);
  if (!place) return std::unexpected(place.error());
  const std::string* new_name = params["newName"].String();
  if (new_name == nullptr) return Failed(kInvalidParams, "expected newName");
  auto edit = RenameJson(*place->document, place->offset, *new_name);
  if (!edit) return Failed(kRequestFailed, std::move(edit.error()));
  return std::move(*edit);
}

Answer Server::Symbols(const JsonValue& params) {
  const auto document = DocumentOf(params);
  if (!document) return std::unexpected(document.error());
  return SymbolsJson(**document, client_);
}

Answer Server::FoldingRanges(const JsonValue& params) {
  const auto document = DocumentOf(params);
  if (!document) return std::unexpected(document.error());
  return FoldingRangesJson(**document);
}

Answer Server::Formatting(const JsonValue& params) {
  const auto document = DocumentOf(params);
  if (!document) return std::unexpected(document.error());
  auto edits = FormattingJson(**document);
  if (!edits) return Failed(kInternalError, std::move(edits.error()));
  return std::move(*edits);
}

Answer Server::Completion(const JsonValue& params) {
  const auto place = PlaceOf(params);
  if (!place) return std::unexpected(place.error());
  return CompletionJson(*place->document, place->offset);
}

}  // namespace

ExitCode ServeLanguage(const ServerOptions& options, int input, std::FILE* output) {
  MessageReader reader(input, options.form, static_cast<size_t>(options.load.max_input));
  Server server(options, output);
  while (server.running()) {
    const IncomingMessage message = reader.Next();
    if (message.kind == IncomingMessage::Kind::kEnd) break;
    server.Receive(message);
    while (server.running() && server.HasWaiting()) {
      while (server.HasRoom() && reader.HasNext()) server.Receive(reader.Next());
      server.HandleNext();
      if (server.running() && !server.HasWaiting() && !reader.HasNext()) server.PublishPending();
    }
  }
  return server.exit_code();
}

}  // namespace hlo
