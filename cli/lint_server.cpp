// A file is judged as it was saved. While it is edited, findings move with their lines, and those
// whose lines change are gone until the next save, so that none is about a text that is not there.
// One thread reads messages, another one lints; where a file is saved again before its turn comes,
// only the last save is linted.
#include "cli/lint_server.h"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "core/dtype_names.h"
#include "platform/files.h"
#include "platform/json.h"
#include "platform/text.h"
#include "platform/utf8.h"
#include "platform/version.h"
#include "reports/formatting.h"

namespace dtypecheck::cli {

namespace {

using Json = nlohmann::json;
using reports::uri_of;

constexpr size_t kMaxMessage = 256 << 20;
constexpr size_t kMaxHeader = 4096;

// Reads standard input through a buffer of its own; false at its end.
class Input {
 public:
  bool line(std::string& text) {
    text.clear();
    for (char c; next(c);) {
      if (c == '\n') return true;
      if (c != '\r') text += c;
      if (text.size() > kMaxHeader) return false;
    }
    return false;
  }
  bool bytes(size_t count, std::string& text) {
    text.clear();
    while (text.size() < count) {
      if (at_ == end_ && !fill()) return false;
      const size_t some = std::min(count - text.size(), end_ - at_);
      text.append(buffer_ + at_, some);
      at_ += some;
    }
    return true;
  }

 private:
  bool next(char& c) {
    if (at_ == end_ && !fill()) return false;
    c = buffer_[at_++];
    return true;
  }
  bool fill() {
    ssize_t got = 0;
    do {
      got = read(STDIN_FILENO, buffer_, sizeof buffer_);
    } while (got < 0 && errno == EINTR);
    at_ = 0;
    end_ = got > 0 ? static_cast<size_t>(got) : 0;
    return got > 0;
  }

  char buffer_[1 << 16];
  size_t at_ = 0, end_ = 0;
};

// The next message; nothing at the end of the input or where it is no protocol at all.
std::optional<std::string> next_message(Input& input) {
  static constexpr std::string_view kLength = "content-length:";
  size_t length = 0;
  bool has_length = false;
  for (std::string line; input.line(line);) {
    if (line.empty()) {
      std::string body;
      if (!has_length || length > kMaxMessage || !input.bytes(length, body)) return std::nullopt;
      return body;
    }
    if (lowered(line.substr(0, kLength.size())) != kLength) continue;
    char* end = nullptr;
    length = strtoull(line.c_str() + kLength.size(), &end, 10);
    has_length = end != line.c_str() + kLength.size();
  }
  return std::nullopt;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// "" for what is no file on this machine.
std::string path_of(const std::string& uri) {
  static constexpr std::string_view kScheme = "file://";
  if (!uri.starts_with(kScheme)) return "";
  const size_t slash = uri.find('/', kScheme.size());
  if (slash == uri.npos) return "";
  std::string path;
  for (size_t i = slash; i < uri.size(); ++i) {
    const bool is_coded = uri[i] == '%' && i + 2 < uri.size() && hex_digit(uri[i + 1]) >= 0 &&
                          hex_digit(uri[i + 2]) >= 0;
    path +=
        is_coded ? static_cast<char>(hex_digit(uri[i + 1]) * 16 + hex_digit(uri[i + 2])) : uri[i];
    if (is_coded) i += 2;
  }
  return path;
}

// The lines of a text, to count as the protocol does: from 0, in UTF-16.
class Lines {
 public:
  explicit Lines(const std::string& text) {
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      lines_.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  const std::string& line(int number) const {  // from 1
    static const std::string none;
    const bool is_there = number >= 1 && static_cast<size_t>(number) <= lines_.size();
    return is_there ? lines_[static_cast<size_t>(number) - 1] : none;
  }
  // Of a column in bytes, from 1.
  Json position(int number, int column) const {
    const std::string& text = line(number);
    const auto before = std::string_view(text).substr(
        0, std::min(text.size(), static_cast<size_t>(std::max(column, 1)) - 1));
    return {{"line", std::max(number, 1) - 1}, {"character", utf16_units(before)}};
  }
  Json range(int number, int begin, int end) const {
    return {{"start", position(number, begin)}, {"end", position(number, end)}};
  }
  // The name of a variable or field around a place of the protocol: "params.weight".
  std::string name_at(int line, int character) const {
    const std::string& text = this->line(line + 1);
    size_t at = 0;
    for (int units = 0; at < text.size() && units < character; ++at)
      units += utf16_units(std::string_view(text).substr(at, 1));
    const auto is_name = [&](size_t i) { return i < text.size() && is_of_name(text[i]); };
    size_t begin = at, end = at;
    while (begin > 0 && (is_name(begin - 1) || (text[begin - 1] == '.' && is_name(begin)))) --begin;
    while (is_name(end)) ++end;
    return text.substr(begin, end - begin);
  }

 private:
  std::vector<std::string> lines_;
};

struct Change {
  int first, last, added;  // lines from 0, both replaced in part; lines that the new text begins
};

// The line after a change; nothing where it was changed itself.
std::optional<int> moved(int line, const Change& change) {
  if (line - 1 < change.first) return line;
  if (line - 1 <= change.last) return std::nullopt;
  return line + change.added - (change.last - change.first);
}

// False: the finding is about a line that was changed.
bool move(Finding& finding, const std::string& file, const Change& change) {
  const auto own = moved(finding.site.line.line, change);
  if (finding.site.line.file == file && !own) return false;
  if (finding.site.line.file == file) finding.site.line.line = *own;
  std::erase_if(finding.places, [&](NotedPlace& place) {
    if (place.line.file != file) return false;
    const auto line = moved(place.line.line, change);
    if (line) place.line.line = *line;
    return !line;
  });
  for (SourceEdit& edit : finding.edits) {
    if (edit.file != file) continue;
    const auto line = moved(edit.line, change);
    if (!line) {
      finding.edits.clear();
      break;
    }
    edit.line = *line;
  }
  return true;
}

struct Document {
  uint64_t saves = 0;            // that were seen, the last of which counts
  std::vector<Change> changes;   // since the last save
  bool is_whole_change = false;  // the client sent a new text as a whole
  Linted linted;
  std::string text;  // that was linted
};

class LintServer {
 public:
  explicit LintServer(const std::function<Linted(const std::string&)>& lint) : lint_(lint) {}

  int run() {
    std::thread([this] { work(); }).detach();
    Input input;
    while (const auto message = next_message(input)) {
      const Json json = Json::parse(*message, is_shallow, false);
      if (!json.is_object()) {
        send({{"id", nullptr}, {"error", {{"code", -32700}, {"message", "not a JSON object"}}}});
        continue;
      }
      const std::string method = json.value("method", "");
      if (method == "exit") return is_shut_down_ ? 0 : 1;
      try {
        receive(json, method);
      } catch (const std::exception& error) {
        if (json.contains("id"))
          send({{"id", json["id"]}, {"error", {{"code", -32602}, {"message", error.what()}}}});
      }
    }
    return is_shut_down_ ? 0 : 1;  // the client is gone
  }

 private:
  void send(Json message) {
    message["jsonrpc"] = "2.0";
    const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
    const std::string text = fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
    const std::lock_guard guard(output_);
    for (size_t at = 0; at < text.size();) {
      const ssize_t written = write(STDOUT_FILENO, text.data() + at, text.size() - at);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) _exit(1);  // nobody reads
      at += static_cast<size_t>(written);
    }
  }

  void receive(const Json& json, const std::string& method) {
    const Json params = json.value("params", Json::object());
    if (method == "initialize") {
      answer(json, capabilities());
    } else if (method == "shutdown") {
      is_shut_down_ = true;
      answer(json, nullptr);
    } else if (method == "textDocument/hover") {
      answer(json, hover(params));
    } else if (method == "textDocument/codeAction") {
      answer(json, code_actions(params));
    } else if (method == "textDocument/didOpen" || method == "textDocument/didSave") {
      saved(file_in(params));
    } else if (method == "textDocument/didChange") {
      changed(params);
    } else if (method == "textDocument/didClose") {
      closed(file_in(params));
    } else if (json.contains("id") && !method.empty()) {
      send({{"id", json["id"]},
            {"error", {{"code", -32601}, {"message", method + " is not served"}}}});
    }
  }

  static std::string file_in(const Json& params) {
    return path_of(params.at("textDocument").at("uri").get<std::string>());
  }
  void answer(const Json& to, Json result) {
    if (to.contains("id")) send({{"id", to["id"]}, {"result", std::move(result)}});
  }
  static Json capabilities() {
    return {{"capabilities",
             {{"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
              {"hoverProvider", true},
              {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}}}},
            {"serverInfo", {{"name", "dtypecheck"}, {"version", tool_version()}}}};
  }

  void saved(const std::string& file) {
    if (file.empty()) return;
    const std::lock_guard guard(lock_);
    Document& document = documents_[file];
    ++document.saves;
    document.changes.clear();
    document.is_whole_change = false;
    std::erase(queue_, file);
    queue_.push_back(file);
    wakes_.notify_one();
  }

  void changed(const Json& params) {
    const std::string file = file_in(params);
    const std::lock_guard guard(lock_);
    const auto at = documents_.find(file);
    if (at == documents_.end()) return;
    Document& document = at->second;
    const size_t before = document.linted.findings.size();
    for (const Json& one : params.at("contentChanges")) {
      if (!one.contains("range")) {
        document.is_whole_change = true;
        document.linted.findings.clear();
        continue;
      }
      const std::string text = one.at("text").get<std::string>();
      const Change change = {one["range"]["start"]["line"].get<int>(),
                             one["range"]["end"]["line"].get<int>(),
                             static_cast<int>(std::count(text.begin(), text.end(), '\n'))};
      document.changes.push_back(change);
      apply(document.linted, file, change);
    }
    // Editors move what is shown with its lines themselves.
    if (document.linted.findings.size() < before) publish(file, document);
  }

  static void apply(Linted& linted, const std::string& file, const Change& change) {
    std::erase_if(linted.findings, [&](Finding& finding) { return !move(finding, file, change); });
  }

  void closed(const std::string& file) {
    const std::lock_guard guard(lock_);
    std::erase(queue_, file);
    if (documents_.erase(file) > 0) publish(file, {});
  }

  // One file after the other, as they were saved.
  void work() {
    for (;;) {
      std::string file;
      uint64_t save = 0;
      {
        std::unique_lock guard(lock_);
        wakes_.wait(guard, [&] { return !queue_.empty(); });
        file = queue_.front();
        queue_.pop_front();
        save = documents_[file].saves;
      }
      Linted linted;
      std::string text;
      try {
        text = read_file_if_any(file).value_or("");
        linted = lint_(file);
      } catch (const std::exception& error) {
        send({{"method", "window/logMessage"},
              {"params", {{"type", 2}, {"message", fmt::format("{}: {}", file, error.what())}}}});
      }
      const std::lock_guard guard(lock_);
      const auto at = documents_.find(file);
      if (at == documents_.end() || at->second.saves != save) continue;  // closed, or saved again
      Document& document = at->second;
      document.linted = std::move(linted);
      document.text = std::move(text);
      if (document.is_whole_change) document.linted.findings.clear();
      for (const Change& change : document.changes) apply(document.linted, file, change);
      publish(file, document);
    }
  }

  void publish(const std::string& file, const Document& document) {
    const Lines lines(document.text);
    Json diagnostics = Json::array();
    for (const Finding& finding : document.linted.findings) {
      if (finding.site.line.file == file) diagnostics.push_back(diagnostic(finding, lines));
    }
    send({{"method", "textDocument/publishDiagnostics"},
          {"params", {{"uri", uri_of(file)}, {"diagnostics", std::move(diagnostics)}}}});
  }

  static Json diagnostic(const Finding& finding, const Lines& lines) {
    const int severity = finding.severity == Severity::kError     ? 1
                         : finding.severity == Severity::kWarning ? 2
                                                                  : 3;
    Json json = {
        {"range", lines.range(finding.site.line.line, finding.column, finding.end_column)},
        {"severity", severity},
        {"source", "dtypecheck"},
        {"code", finding.rule},
        {"message", fmt::format("{}\n{}\nfix: {}", finding.message, finding.why, finding.fix)}};
    for (const NotedPlace& place : finding.places) {
      json["relatedInformation"].push_back(
          {{"location",
            {{"uri", uri_of(place.line.file)},
             {"range", lines.range(place.line.line, place.column, place.end_column)}}},
           {"message", place.note}});
    }
    return json;
  }

  Json code_actions(const Json& params) {
    const std::string file = file_in(params);
    const int first = params.at("range").at("start").at("line").get<int>() + 1;
    const int last = params.at("range").at("end").at("line").get<int>() + 1;
    const std::lock_guard guard(lock_);
    Json actions = Json::array();
    const auto at = documents_.find(file);
    if (at == documents_.end()) return actions;
    const Lines lines(at->second.text);
    for (const Finding& finding : at->second.linted.findings) {
      const SourceLine& line = finding.site.line;
      if (line.file != file || line.line < first || line.line > last || finding.edits.empty())
        continue;
      Json edits = Json::object();
      for (const SourceEdit& edit : finding.edits) {
        const auto [end_line, end_column] = end_of(edit);
        edits[uri_of(edit.file)].push_back({{"range",
                                             {{"start", lines.position(edit.line, edit.column)},
                                              {"end", lines.position(end_line, end_column)}}},
                                            {"newText", edit.new_text}});
      }
      actions.push_back({{"title", "dtypecheck: cure " + finding.rule},
                         {"kind", "quickfix"},
                         {"diagnostics", Json::array({diagnostic(finding, lines)})},
                         {"edit", {{"changes", std::move(edits)}}}});
    }
    return actions;
  }

  static std::string where_from(const analyzer::TensorFact& tensor) {
    const std::string at =
        tensor.place.line > 0 ? fmt::format(" in line {}", tensor.place.line) : "";
    switch (tensor.source) {
      case analyzer::TensorSource::kParameter:
        return "a parameter";
      case analyzer::TensorSource::kMember:
        return "a field";
      case analyzer::TensorSource::kMade:
        return "made" + at;
      case analyzer::TensorSource::kOther:
        return "the result of a call" + at;
      case analyzer::TensorSource::kProgram:
        return "what a program returns" + at;
    }
    return "";
  }

  static std::string known_of(const analyzer::TensorFact& tensor) {
    if (tensor.dtypes.size() <= analyzer::kNarrowed) return tensor.dtypes.to_string();
    if (tensor.looked_at) return "something looked at its dtype";
    if (tensor.dtypes == analyzer::kAnyDtype) return "any dtype, nothing compares it";
    return "any dtype but " + (analyzer::kAnyDtype - tensor.dtypes).to_string();
  }

  // What is known of the tensor where it is read, at the read next to the place.
  Json hover(const Json& params) {
    const std::string file = file_in(params);
    const int line = params.at("position").at("line").get<int>();
    const int character = params.at("position").at("character").get<int>();
    const std::lock_guard guard(lock_);
    const auto at = documents_.find(file);
    // Facts are about the text that was saved.
    if (at == documents_.end() || !at->second.changes.empty() || at->second.is_whole_change)
      return nullptr;
    const std::string name = Lines(at->second.text).name_at(line, character);
    if (name.empty()) return nullptr;
    const analyzer::Read* nearest = nullptr;
    const auto distance = [&](const analyzer::Read& read) {
      return std::abs(read.place.line - line - 1);
    };
    for (const analyzer::Read& read : at->second.linted.facts.reads) {
      if (read.tensor.name != name || read.place.file != file) continue;
      if (nearest == nullptr || distance(read) < distance(*nearest)) nearest = &read;
    }
    if (nearest == nullptr) return nullptr;
    const std::string text = fmt::format("`{}`: {}; {}; read as `{}` in line {} of `{}`", name,
                                         known_of(nearest->tensor), where_from(nearest->tensor),
                                         nearest->type, nearest->place.line, nearest->function);
    return {{"contents", {{"kind", "markdown"}, {"value", text}}}};
  }

  const std::function<Linted(const std::string&)>& lint_;
  bool is_shut_down_ = false;
  std::mutex output_;
  std::mutex lock_;  // of what follows; taken before output_
  std::condition_variable wakes_;
  std::map<std::string, Document> documents_;
  std::deque<std::string> queue_;
};

}  // namespace

int serve_lint(const std::function<Linted(const std::string& file)>& lint) {
  LintServer server(lint);
  const int status = server.run();
  _exit(status);  // a parse that is under way dies with this process
}

}  // namespace dtypecheck::cli
