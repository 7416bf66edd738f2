#include "analyzer/clang/spaced_launches.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MemoryBuffer.h>

#include <optional>

namespace dtypecheck::analyzer {

using llvm::StringRef;
using llvm::Twine;

namespace {

constexpr size_t kMaxArguments = 2'000;  // characters between the brackets

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Behind three brackets with nothing but blanks between, the first of them at `at`; 0: there are
// none.
size_t behind_three(StringRef text, size_t at, char bracket) {
  for (int found = 0; at < text.size(); ++at) {
    if (text[at] == bracket) {
      if (++found == 3) return at + 1;
    } else if (!is_blank(text[at])) {
      return 0;
    }
  }
  return 0;
}

// f << < and f<T> << <, but no operator<< <T>.
bool follows_kernel(StringRef before) {
  before = before.rtrim();
  if (before.empty() || before.ends_with("operator")) return false;
  return llvm::isAlnum(before.back()) || before.back() == '_' || before.back() == '>';
}

// Where the brackets stand that end the arguments of a launch, with the `(` of its call behind.
std::optional<size_t> closing(StringRef text, size_t at) {
  int depth = 0;
  const size_t end = std::min(text.size(), at + kMaxArguments);
  for (; at < end && text[at] != ';'; ++at) {
    const char c = text[at];
    depth += (c == '(' || c == '{' || c == '[') - (c == ')' || c == '}' || c == ']');
    if (depth < 0) return std::nullopt;
    const size_t behind = depth == 0 && c == '>' ? behind_three(text, at, '>') : 0;
    if (behind != 0 && text.substr(behind).ltrim().starts_with("(")) return at;
  }
  return std::nullopt;
}

// True: they were apart.
bool join(std::string& text, size_t at, char bracket) {
  const size_t behind = behind_three(text, at, bracket);
  if (behind == at + 3) return false;
  std::string blanks;
  for (const char c : text.substr(at, behind - at)) {
    if (c != bracket) blanks += c;
  }
  text.replace(at, behind - at, std::string(3, bracket) + blanks);
  return true;
}

// Arguments that are lists, {16, 16}, which nvcc takes for a dim3: Clang takes (16, 16). True:
// there was one.
bool open_lists(std::string& text, size_t at, size_t end) {
  bool changes = false;
  int depth = 0;
  bool is_first = true;     // of an argument
  size_t list = text.npos;  // where the one that is open begins
  for (; at < end; ++at) {
    const char c = text[at];
    const int before = depth;
    depth += (c == '(' || c == '{' || c == '[') - (c == ')' || c == '}' || c == ']');
    if (c == '{' && before == 0 && is_first) list = at;
    if (c == '}' && depth == 0 && list != text.npos) {
      const bool is_empty = StringRef(text).slice(list + 1, at).trim().empty();
      if (!is_empty) text[list] = '(', text[at] = ')';
      changes |= !is_empty;
      list = text.npos;
    }
    if (!is_blank(c)) is_first = before == 0 && c == ',';
  }
  return changes;
}

class Joined : public llvm::vfs::File {
 public:
  Joined(llvm::vfs::Status status, std::string text)
      : status_(std::move(status)), text_(std::move(text)) {}

  llvm::ErrorOr<llvm::vfs::Status> status() override { return status_; }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const Twine& name, int64_t, bool,
                                                               bool) override {
    return llvm::MemoryBuffer::getMemBufferCopy(text_, name);
  }
  std::error_code close() override { return {}; }

 private:
  llvm::vfs::Status status_;
  std::string text_;
};

class Joining : public llvm::vfs::ProxyFileSystem {
 public:
  using ProxyFileSystem::ProxyFileSystem;

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const Twine& path) override {
    auto file = ProxyFileSystem::openFileForRead(path);
    if (!file || StringRef(path.str()).starts_with("/usr/")) return file;
    const auto status = (*file)->status();
    const auto buffer = (*file)->getBuffer(path);
    if (!status || !buffer) return ProxyFileSystem::openFileForRead(path);
    std::string text = (*buffer)->getBuffer().str();
    if (!join_launches(text)) return file;
    return std::make_unique<Joined>(*status, std::move(text));
  }
};

}  // namespace

bool join_launches(std::string& text) {
  bool changes = false;
  for (size_t at = text.find('<'); at != text.npos; at = text.find('<', at + 1)) {
    const size_t behind = behind_three(text, at, '<');
    if (behind == 0 || !follows_kernel(StringRef(text).substr(0, at))) continue;
    const auto end = closing(text, behind);
    if (!end) continue;
    changes |= open_lists(text, behind, *end);
    changes |= join(text, *end, '>');
    changes |= join(text, at, '<');
    at = behind;
  }
  return changes;
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> with_joined_launches(
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> below) {
  return llvm::makeIntrusiveRefCnt<Joining>(std::move(below));
}

}  // namespace dtypecheck::analyzer
