#include "rules/engine/code_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>

namespace dtypecheck::rules {
namespace {

constexpr int kMaxLines = 24;  // of one statement
constexpr size_t kMaxBytes = 4096;

enum class Kind { kName, kNumber, kString, kSign };

struct Token {
  Kind kind;
  Span at;
};
using Tokens = std::vector<Token>;

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || static_cast<signed char>(c) < 0;
}

// The longest first.
constexpr std::array<std::string_view, 29> kSigns = {
    "**=", "//=", ">>=", "<<=", "...", "**", "//", "->", "::", ":=", "==", "!=", "<=", ">=", "+=",
    "-=",  "*=",  "/=",  "%=",  "@=",  "&=", "|=", "^=", "&&", "||", "<<", ">>", "++", "--"};

size_t sign_size(std::string_view rest) {
  for (const std::string_view sign : kSigns) {
    if (rest.starts_with(sign)) return sign.size();
  }
  return 1;
}

// Behind the string that begins here; the end of the text where it does not end.
size_t string_end(std::string_view text, size_t begin) {
  const char quote = text[begin];
  const std::string_view three = text.substr(begin, 3);
  const bool is_long = three.size() == 3 && three[1] == quote && three[2] == quote;
  for (size_t at = begin + (is_long ? 3 : 1); at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (is_long ? text.substr(at, 3) == three : text[at] == quote) {
      return at + (is_long ? 3 : 1);
    }
  }
  return text.size();
}

bool is_string_prefix(std::string_view word) {
  constexpr std::string_view kLetters = "rRbBuUfFL";
  return word.size() <= 2 && word.find_first_not_of(kLetters) == word.npos;
}

Tokens tokens_of(std::string_view text, bool is_cpp) {
  Tokens tokens;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    const size_t begin = at;
    if (std::isspace(static_cast<unsigned char>(c)) || c == '\\') {
      ++at;
      continue;
    }
    if (is_cpp ? text.substr(at, 2) == "//" : c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '"' || c == '\'') {
      at = string_end(text, at);
      tokens.push_back({Kind::kString, {begin, at}});
    } else if (std::isdigit(static_cast<unsigned char>(c)) ||
               (c == '.' && at + 1 < text.size() &&
                std::isdigit(static_cast<unsigned char>(text[at + 1])))) {
      const auto is_exponent = [&](size_t i) {
        return (text[i] == '-' || text[i] == '+') && (text[i - 1] == 'e' || text[i - 1] == 'E');
      };
      while (at < text.size() &&
             (is_name_character(text[at]) || text[at] == '.' || is_exponent(at)))
        ++at;
      tokens.push_back({Kind::kNumber, {begin, at}});
    } else if (is_name_character(c)) {
      while (at < text.size() && is_name_character(text[at])) ++at;
      const bool is_prefix = at < text.size() && (text[at] == '"' || text[at] == '\'') &&
                             is_string_prefix(text.substr(begin, at - begin));
      if (is_prefix) at = string_end(text, at);
      tokens.push_back({is_prefix ? Kind::kString : Kind::kName, {begin, at}});
    } else {
      at += sign_size(text.substr(at));
      tokens.push_back({Kind::kSign, {begin, at}});
    }
  }
  return tokens;
}

bool opens(std::string_view sign) { return sign == "(" || sign == "[" || sign == "{"; }
bool closes(std::string_view sign) { return sign == ")" || sign == "]" || sign == "}"; }

template <size_t kCount>
bool is_one_of(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Words of Python and C++ that an expression ends at, or that no call's name is.
constexpr std::array<std::string_view, 28> kKeywords = {
    "return", "if",     "elif",  "else",   "while",  "for",   "in",    "not",   "and", "or",
    "is",     "lambda", "yield", "assert", "del",    "raise", "from",  "with",  "as",  "await",
    "def",    "class",  "case",  "import", "switch", "auto",  "const", "except"};

// How tightly a sign binds; 0 for what is no binary operator.
int precedence(std::string_view sign) {
  if (sign == "**") return 8;
  constexpr std::array<std::string_view, 5> kProducts = {"*", "/", "//", "%", "@"};
  if (is_one_of(sign, kProducts)) return 7;
  if (sign == "+" || sign == "-") return 6;
  if (sign == "<<" || sign == ">>") return 5;
  if (sign == "&") return 4;
  if (sign == "^") return 3;
  if (sign == "|") return 2;
  constexpr std::array<std::string_view, 6> kComparisons = {"<", "<=", ">", ">=", "==", "!="};
  return is_one_of(sign, kComparisons) ? 1 : 0;
}

bool is_assignment(std::string_view sign) {
  return sign == "=" ||
         (sign.size() > 1 && sign.ends_with("=") && precedence(sign) == 0 && sign != ":=");
}

class Reader {
 public:
  Reader(CodeLine& line) : line_(line), tokens_(tokens_of(line.text, line.is_cpp)) {
    match_brackets();
  }

  void read() {
    for (size_t i = first(); i < tokens_.size(); ++i) {
      if (tokens_[i].kind != Kind::kSign) continue;
      const std::string_view sign = word(i);
      const bool is_postfix = i > 0 && partner_[i] && ends_primary(i - 1);
      if (sign == "(" && is_postfix) read_call(i);
      if (sign == "[" && is_postfix) read_subscript(i);
      if (is_binary(i)) read_operation(i, precedence(sign));
      if ((sign == "~" || sign == "-") && !line_.is_cpp && !is_binary(i)) read_unary(i);
      if (is_assignment(sign) && depth_[i] == 0) read_operation(i, 0);
    }
  }

  // The parts between commas inside of a pair of brackets.
  std::vector<Span> parts(size_t open) const {
    std::vector<Span> all;
    size_t begin = open + 1;
    for (size_t i = open + 1; i <= *partner_[open]; ++i) {
      const bool is_end = i == *partner_[open];
      if (!is_end && !(word(i) == "," && depth_[i] == depth_[open] + 1)) continue;
      if (i > begin) all.push_back(span(begin, i));
      begin = i + 1;
    }
    return all;
  }

  const Tokens& tokens() const { return tokens_; }
  std::optional<size_t> partner(size_t token) const { return partner_[token]; }

 private:
  // Behind "def f(x):", whose body may stand in the same line.
  size_t first() const {
    constexpr std::array<std::string_view, 5> kDefinitions = {"def", "class", "import", "from",
                                                              "@"};
    if (tokens_.empty() || !is_one_of(word(0), kDefinitions)) return 0;
    size_t i = 0;
    while (i < tokens_.size() && !(word(i) == ":" && depth_[i] == 0)) ++i;
    return std::min(i + 1, tokens_.size());
  }

  std::string_view word(size_t token) const { return line_.text_of(tokens_[token].at); }
  Span span(size_t begin, size_t end) const {  // of tokens; end is one behind
    return {tokens_[begin].at.begin, tokens_[end - 1].at.end};
  }

  void match_brackets() {
    partner_.resize(tokens_.size());
    depth_.resize(tokens_.size());
    std::vector<size_t> open;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const std::string_view sign = tokens_[i].kind == Kind::kSign ? word(i) : "";
      if (closes(sign) && !open.empty()) {
        partner_[i] = open.back();
        partner_[open.back()] = i;
        open.pop_back();
      }
      depth_[i] = open.size();
      if (opens(sign)) open.push_back(i);
    }
  }

  // An expression may end with this token, so that a bracket behind it is a call or a subscript.
  bool ends_primary(size_t i) const {
    if (tokens_[i].kind == Kind::kName) return !is_one_of(word(i), kKeywords);
    return tokens_[i].kind == Kind::kString || word(i) == ")" || word(i) == "]";
  }

  bool is_dot(size_t i) const {
    return word(i) == "." || (line_.is_cpp && (word(i) == "->" || word(i) == "::"));
  }

  // The first token of the name, attribute, call or subscript that ends with this one.
  size_t primary_begin(size_t last) const {
    size_t i = last;
    while (true) {
      const bool is_bracket = word(i) == ")" || word(i) == "]";
      if (is_bracket) {
        if (!partner_[i]) return i;
        i = *partner_[i];
        if (i == 0 || !ends_primary(i - 1)) return i;
        --i;
        continue;
      }
      if (i == 0 || !is_dot(i - 1)) return i;
      if (i < 2 || !ends_primary(i - 2)) return line_.is_cpp ? i - 1 : i;
      i -= 2;
    }
  }

  void read_call(size_t open) {
    const size_t begin = primary_begin(open - 1);
    CodeLine::Call call{span(begin, open), span(begin, *partner_[open] + 1), {}, false};
    for (const Span part : parts(open)) read_argument(part, call);
    line_.calls.push_back(std::move(call));
  }

  void read_argument(Span part, CodeLine::Call& call) const {
    const std::string_view text = line_.text_of(part);
    call.has_star |= text.starts_with('*');
    size_t name = 0;
    while (name < text.size() && is_name_character(text[name])) ++name;
    size_t sign = text.find_first_not_of(" \t\n", name);
    const bool has_keyword = !line_.is_cpp && name > 0 && sign != text.npos && text[sign] == '=' &&
                             text.substr(sign, 2) != "==";
    if (!has_keyword) return call.arguments.push_back({"", part});
    sign = text.find_first_not_of(" \t\n", sign + 1);
    if (sign == text.npos) return;
    call.arguments.push_back({std::string(text.substr(0, name)), {part.begin + sign, part.end}});
  }

  void read_subscript(size_t open) {
    const size_t begin = primary_begin(open - 1);
    if (*partner_[open] == open + 1) return;
    line_.subscripts.push_back(
        {span(begin, open), span(open + 1, *partner_[open]), span(begin, *partner_[open] + 1)});
  }

  bool is_binary(size_t i) const {
    const bool is_between = i > 0 && i + 1 < tokens_.size() &&
                            (ends_primary(i - 1) || tokens_[i - 1].kind == Kind::kNumber);
    // In C++ "*", "&" and "<" also stand in types.
    return is_between && precedence(word(i)) > (line_.is_cpp ? 5 : 0);
  }

  // An expression that a sign of this precedence stands beside ends here.
  bool is_border(size_t i, int than, bool to_the_left) const {
    const std::string_view sign = word(i);
    if (tokens_[i].kind == Kind::kName)
      return is_one_of(sign, kKeywords) && sign != "not" && sign != "await";
    if (tokens_[i].kind != Kind::kSign) return false;
    constexpr std::array<std::string_view, 8> kEnds = {",", ";", ":", ":=", "=", "?", "&&", "||"};
    if (opens(sign) || closes(sign) || is_one_of(sign, kEnds) || is_assignment(sign)) return true;
    const int own = is_binary(i) ? precedence(sign) : 0;
    return own > 0 && (to_the_left ? own < than : own <= than);
  }

  // "~mask", "-(a > b)": its left side is empty.
  void read_unary(size_t sign) {
    size_t end = sign + 1;
    while (end < tokens_.size()) {
      if (opens(word(end)) && partner_[end]) {
        end = *partner_[end] + 1;
      } else if (is_dot(end) ||
                 (tokens_[end].kind == Kind::kName && !is_one_of(word(end), kKeywords))) {
        ++end;
      } else {
        break;
      }
    }
    if (end == sign + 1) return;
    const Span none = span(sign, sign + 1);
    line_.operations.push_back(
        {std::string(word(sign)), {none.begin, none.begin}, span(sign + 1, end)});
  }

  void read_operation(size_t sign, int binds) {
    size_t begin = sign, end = sign + 1;
    while (begin > 0) {
      const size_t i = begin - 1;
      if (closes(word(i)) && partner_[i]) {
        begin = *partner_[i];
      } else if (is_border(i, binds, true)) {
        break;
      } else {
        begin = i;
      }
    }
    while (end < tokens_.size()) {
      if (opens(word(end)) && partner_[end]) {
        end = *partner_[end] + 1;
      } else if (is_border(end, binds, false) && !(binds == 0 && word(end) == ",")) {
        break;
      } else {
        ++end;
      }
    }
    if (begin == sign || end == sign + 1) return;
    line_.operations.push_back({std::string(word(sign)), span(begin, sign), span(sign + 1, end)});
  }

  CodeLine& line_;
  Tokens tokens_;
  std::vector<std::optional<size_t>> partner_;  // of a bracket
  std::vector<size_t> depth_;
};

// Part of an expression, read by itself.
struct Part {
  CodeLine line;
  Reader reader;
  Part(std::string_view text, bool is_cpp) : line(std::string(text), is_cpp), reader(line) {}
};

int open_brackets(std::string_view text, bool is_cpp) {
  int open = 0;
  for (const Token& token : tokens_of(text, is_cpp)) {
    const std::string_view sign = text.substr(token.at.begin, token.at.end - token.at.begin);
    if (token.kind == Kind::kSign) open += opens(sign) ? 1 : closes(sign) ? -1 : 0;
  }
  return open;
}

}  // namespace

CodeLine::CodeLine(std::string line, bool cpp) : text(std::move(line)), is_cpp(cpp) {
  Reader(*this).read();
}

// The extent of a call in a text that begins with its line.
static Span span_of(const Extent& extent, int first_line, std::string_view text) {
  size_t last = 0;
  for (int i = first_line; i < extent.end_line && last != text.npos; ++i)
    last = text.find('\n', last) == text.npos ? text.npos : text.find('\n', last) + 1;
  if (!extent.known() || last == text.npos) return {};
  const Span span{static_cast<size_t>(extent.column - 1), last + extent.end_column - 1};
  return span.begin < span.end && span.end <= text.size() ? span : Span{};
}

std::optional<CodeLine> CodeLine::focused() const {
  if (focus == Span{}) return std::nullopt;
  CodeLine line = *this;
  // CPython lets a call that goes over lines begin at the name of its method.
  std::erase_if(line.calls, [&](const Call& call) {
    return call.whole.end != focus.end || call.whole.begin > focus.begin;
  });
  std::erase_if(line.operations, [&](const Operation& operation) {
    const bool is_stored_to = operation.sign == "=" && operation.left == focus;
    return !is_stored_to && Span{operation.left.begin, operation.right.end} != focus;
  });
  std::erase_if(line.subscripts,
                [&](const Subscript& subscript) { return subscript.whole != focus; });
  const bool is_empty = line.calls.empty() && line.operations.empty() && line.subscripts.empty();
  return is_empty ? std::nullopt : std::optional(std::move(line));
}

CodeLine CodeLine::at(const LineText& line_text, const SourceLine& line) {
  const bool is_cpp = is_cpp_file(line.file);
  std::string text;
  for (int i = 0; line_text && line.known() && i < kMaxLines && text.size() < kMaxBytes; ++i) {
    text += (i == 0 ? "" : "\n") + line_text(line.file, line.line + i);
    if (open_brackets(text, is_cpp) <= 0) break;
  }
  CodeLine code(text.size() < kMaxBytes ? text : "", is_cpp);
  code.focus = span_of(line.extent, line.line, code.text);
  return code;
}

std::vector<Span> CodeLine::elements(Span span) const {
  const std::string_view list = text_of(span);
  if (!list.starts_with('[') && !list.starts_with('(') && !list.starts_with('{')) return {span};
  const Part part(list, is_cpp);
  if (part.reader.partner(0) != part.reader.tokens().size() - 1) return {span};
  std::vector<Span> all = part.reader.parts(0);
  for (Span& one : all) one = {one.begin + span.begin, one.end + span.begin};
  return all;
}

bool CodeLine::is_primary(Span span) const {
  const Part part(text_of(span), is_cpp);
  const Tokens& tokens = part.reader.tokens();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view word = part.line.text_of(tokens[i].at);
    const bool is_part = tokens[i].kind == Kind::kName || opens(word) || word == "." ||
                         (is_cpp && (word == "->" || word == "::"));
    if (!is_part || is_one_of(word, kKeywords)) return false;
    if (!opens(word)) continue;
    if (!part.reader.partner(i)) return false;
    i = *part.reader.partner(i);
  }
  return !tokens.empty();
}

bool CodeLine::may_be_tensor(Span span) const {
  const Tokens tokens = tokens_of(text_of(span), is_cpp);
  const std::string_view all = text_of(span);
  if (all.starts_with("torch.float") || all.starts_with("torch.bfloat") ||
      all.starts_with("torch::k") || all.starts_with("at::k")) {
    return false;
  }
  return std::any_of(tokens.begin(), tokens.end(), [&](const Token& token) {
    const std::string_view word = all.substr(token.at.begin, token.at.end - token.at.begin);
    constexpr std::array<std::string_view, 7> kLiterals = {"True",  "False", "None", "true",
                                                           "false", "float", "inf"};
    return token.kind == Kind::kName && !is_one_of(word, kLiterals);
  });
}

bool CodeLine::is_unique(Span span) const {
  const std::string_view wanted = text_of(span);
  if (wanted.empty() || wanted.find('\n') != wanted.npos) return false;
  int count = 0;
  for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) ++count;
  return count == 1;
}

bool is_cpp_file(std::string_view file) {
  constexpr std::string_view kEndings[] = {".cpp", ".cc", ".cxx", ".cu", ".h", ".hpp", ".cuh"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return file.ends_with(ending); });
}

}  // namespace dtypecheck::rules
