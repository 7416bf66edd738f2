#include "analyzer/clang/undeclared.h"

#include <clang/AST/Decl.h>
#include <clang/Basic/DiagnosticParse.h>
#include <clang/Basic/DiagnosticSema.h>
#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/StringExtras.h>

#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace dtypecheck::analyzer {

using llvm::StringRef;

namespace {

// What everything undeclared is. Built-in traits, so that no header comes before the file's own.
constexpr StringRef kAny = R"(#pragma clang system_header
#define DTYPECHECK_BODY_(number) dtypecheck_body_##number
#define DTYPECHECK_BODY(number) DTYPECHECK_BODY_(number)
#pragma clang force_cuda_host_device begin
namespace dtypecheck_undeclared {
struct Any;
template <bool is_one, class T> struct Where {};
template <class T> struct Where<true, T> { using type = T; };
template <class T> struct Bare { using type = T; };
template <class T> struct Bare<T&> { using type = T; };
template <class T> struct Bare<const T> { using type = T; };
template <class T> struct Bare<const T&> { using type = T; };
struct Any {
  constexpr Any() = default;
  template <class... Args> constexpr Any(const Args&...) {}
  template <class T> constexpr operator T() const { return T(); }
  template <class... Args> constexpr Any operator()(const Args&...) const;
  template <class T> constexpr Any operator[](const T&) const;
  template <class T> constexpr Any& operator=(const T&);
  Any operator*() const;
  Any* operator->();
  const Any* operator->() const;
  Any operator++();
  Any operator++(int);
  Any operator--();
  Any operator--(int);
  Any operator-() const;
  Any operator~() const;
  Any* begin() const;
  Any* end() const;
)";
constexpr StringRef kOperators[] = {"+",  "-", "*", "/",  "%",  "|",  "&",  "^",  "<<", ">>", "==",
                                    "!=", "<", ">", "<=", ">=", "+=", "-=", "*=", "/=", "|=", "&="};
// As good a match as std::ostream's own operators for what is on the left, and a better one for
// Any.
constexpr StringRef kIsAny = R"(template <class T>
constexpr bool is_any = __is_base_of(Any, typename Bare<T>::type);
)";
constexpr StringRef kOperator = R"(template <class A, class B>
constexpr typename Where<is_any<A> || is_any<B>, Any>::type operator)";

// Keywords behind a scope, and the types that a dispatch names: where its macro is not known, what
// is read as scalar_t is not understood, whatever stands in for it.
const std::set<StringRef> kNotStoodIn = {"operator", "template", "typename",    "scalar_t",
                                         "index_t",  "acc_t",    "accscalar_t", "opmath_t"};

bool is_word(char letter) { return llvm::isAlnum(letter) || letter == '_'; }

const char* skip_word(const char* at) {
  while (is_word(*at)) ++at;
  return at;
}

const char* skip_blanks(const char* at) {
  while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') ++at;
  return at;
}

std::string word_at(const char* at) { return std::string(at, skip_word(at)); }

// The first word of the line.
const char* line_of(const clang::SourceManager& sources, clang::SourceLocation location) {
  const auto [file, offset] = sources.getDecomposedSpellingLoc(location);
  const StringRef text = sources.getBufferData(file);
  return skip_blanks(text.data() + text.substr(0, offset).rfind('\n') + 1);
}

// x.y, x->y
bool is_of_object(const clang::SourceManager& sources, clang::SourceLocation location) {
  const auto [file, offset] = sources.getDecomposedSpellingLoc(location);
  const StringRef before = sources.getBufferData(file).substr(0, offset).rtrim();
  return before.ends_with(".") || before.ends_with("->");
}

// The namespace that is opened last before it.
std::string namespace_at(const clang::SourceManager& sources, clang::SourceLocation location) {
  const auto [file, offset] = sources.getDecomposedSpellingLoc(location);
  const StringRef before = sources.getBufferData(file).substr(0, offset);
  const size_t at = before.rfind("\nnamespace ");
  const StringRef name = before.substr(at == before.npos ? offset : at + 11).split('{').first;
  return name.trim().str();
}

// FOO_API, but no T: what macros are called.
bool is_shouted(StringRef name) {
  return name.size() > 3 && llvm::none_of(name, [](char letter) { return llvm::isLower(letter); });
}

// 4, true, WARP_SIZE, kWarp, N + 1, but no float, T, a::B<4>.
bool is_number(StringRef argument) {
  argument = argument.trim();
  if (argument.empty()) return false;
  const bool is_constant = argument.size() > 2 && argument[0] == 'k' && llvm::isUpper(argument[1]);
  return llvm::isDigit(argument[0]) || argument == "true" || argument == "false" || is_constant ||
         (is_shouted(argument) && llvm::all_of(argument, is_word));
}

// The template arguments that begin at `at`, and what follows them; null where it does not look
// like any.
struct Arguments {
  std::vector<StringRef> given;
  const char* behind = nullptr;
};
Arguments arguments_at(const char* at) {
  Arguments arguments;
  int depth = 0;
  const char* begin = at + 1;
  for (; *at != 0 && *at != ';' && *at != '{'; ++at) {
    if (*at == '<' || *at == '(') ++depth;
    const bool ends = (*at == '>' || *at == ')') && --depth == 0;
    if (ends || (*at == ',' && depth == 1)) {
      arguments.given.push_back(StringRef(begin, static_cast<size_t>(at - begin)).trim());
      begin = at + 1;
    }
    if (!ends) continue;
    arguments.behind = skip_blanks(at + 1);
    return arguments;
  }
  return {};
}

// The parameters of a template that is given these. As many as there are may be too few elsewhere:
// the last one stands for any number.
std::string parameters_of(const std::vector<StringRef>& arguments) {
  std::string kinds;
  for (const StringRef argument : arguments) kinds += is_number(argument) ? 'n' : 't';
  std::string parameters;
  const size_t last = kinds.find_last_not_of(kinds.back()) + 1;
  for (size_t i = 0; i < last; ++i) parameters += kinds[i] == 'n' ? "auto, " : "class, ";
  return parameters + (kinds.back() == 'n' ? "auto..." : "class...");
}

// What a message quotes, the first or the next.
std::string quoted(StringRef text, size_t index) {
  llvm::SmallVector<StringRef, 8> parts;
  text.split(parts, '\'');
  return 2 * index + 1 < parts.size() ? parts[2 * index + 1].str() : std::string();
}

// FOO_KERNEL_LOOP(i, n) {
bool is_loop(const char* at) {
  int depth = 0;
  for (; *at != 0 && *at != ';' && *at != '{'; ++at) {
    if (*at == '(') ++depth;
    if (*at == ')' && --depth == 0) return *skip_blanks(at + 1) == '{';
  }
  return false;
}

bool is_redeclared(unsigned error) {
  return error == clang::diag::err_redefinition || error == clang::diag::err_using_decl_conflict ||
         error == clang::diag::err_redefinition_different_kind ||
         error == clang::diag::err_redefinition_different_typedef;
}

}  // namespace

void Undeclared::declare(const std::string& scope, const std::string& name, NameKind kind,
                         const std::string& parameters) {
  if (name.empty() || !is_word(name.front()) || llvm::isDigit(name.front())) return;
  if (kNotStoodIn.contains(name)) return;
  // at::Tensor is declared somewhere, and behind a stand-in for it nothing would be found.
  if (StringRef(name).ends_with("Tensor")) return;
  Scope* at = &root_;
  llvm::SmallVector<StringRef, 4> outer;
  StringRef(scope).split(outer, "::", -1, false);
  for (const StringRef part : outer) {
    if (!llvm::all_of(part, is_word)) return;
    at = &at->names[part.str()];
  }
  const auto [found, is_new] = at->names.try_emplace(name, Scope{kind, parameters, {}});
  if (!is_new && found->second.kind >= kind) return;
  found->second.kind = kind;
  found->second.parameters = parameters;
  has_more_ = true;
}

// A class that is declared here: to one of the project's, nothing can be added.
bool Undeclared::stands_in(const std::string& name) const {
  if (name == "dtypecheck_undeclared::Any") return true;
  const Scope* at = &root_;
  llvm::SmallVector<StringRef, 4> parts;
  StringRef(name).split(parts, "::", -1, false);
  for (const StringRef part : parts) {
    const auto found = at->names.find(part.str());
    if (found == at->names.end()) return false;
    at = &found->second;
  }
  return at->kind != NameKind::kNamespace;
}

// What a class of the project lacks, it may have from a base that nothing declares.
void Undeclared::declare_in_bases(const std::string& name) {
  for (const std::string& base : bases_) declare(base, name, NameKind::kValue);
}

// std::floor(x): of what stands in, each of its overloads makes something else.
void Undeclared::overload_chain(const char* at) {
  std::string scope;
  for (;;) {
    const std::string name = word_at(at);
    const char* next = skip_blanks(skip_word(at));
    if (!StringRef(next, strnlen(next, 2)).starts_with("::"))
      return declare(scope, name, NameKind::kOverload);
    scope += (scope.empty() ? "" : "::") + name;
    at = skip_blanks(next + 2);
  }
}

// a::b::c from `at` on: namespaces, and behind them what its use makes of the last one.
void Undeclared::declare_chain(std::string scope, const char* at, bool is_type, bool is_member) {
  for (;;) {
    const std::string name = word_at(at);
    const char* next = skip_blanks(skip_word(at));
    if (next[0] == ':' && next[1] == ':' && is_word(*skip_blanks(next + 2))) {
      declare(scope, name, NameKind::kNamespace);
      scope += (scope.empty() ? "" : "::") + name;
      at = skip_blanks(next + 2);
      continue;
    }
    NameKind kind = is_type ? NameKind::kType : NameKind::kValue;
    std::string parameters;
    const bool is_launch = StringRef(next, strnlen(next, 3)) == "<<<";
    if (*next == '<' && next[1] != '<' && next[1] != '=') {
      const Arguments given = arguments_at(next);
      const bool is_called =
          given.behind != nullptr && !is_type && (*given.behind == '(' || *given.behind == '<');
      if (given.behind != nullptr) {
        kind = is_called ? NameKind::kFunction : NameKind::kTemplate;
        parameters = parameters_of(given.given);
      }
    } else if (!is_type && (*next == '(' || is_launch)) {
      kind = is_shouted(name) && is_loop(next) ? NameKind::kLoop : NameKind::kFunction;
    } else if (!is_member && (*next == '{' || is_word(*next))) {
      kind = NameKind::kType;
    }
    return declare(scope, name, kind, parameters);
  }
}

// A value that nothing declares is an object here, which no `auto` takes before C++20.
void Undeclared::overload(Scope& within, const std::string& name, const char* at) {
  for (auto& [inner, scope] : within.names) {
    if (inner != name || scope.kind != NameKind::kFunction) {
      overload(scope, name, at);
      continue;
    }
    const Arguments arguments = arguments_at(at);
    std::string parameters;
    for (const StringRef argument : arguments.given) {
      const auto value = root_.names.find(argument.str());
      const bool is_value = value != root_.names.end() && value->second.kind == NameKind::kValue;
      parameters += is_value              ? "const ::dtypecheck_undeclared::Any&, "
                    : is_number(argument) ? "auto, "
                                          : "class, ";
    }
    if (!parameters.empty()) has_more_ |= scope.overloads.insert(parameters).second;
  }
}

void Undeclared::note(const clang::Diagnostic& error, bool is_of_others) {
  using namespace clang;
  if (!error.hasSourceManager() || error.getLocation().isInvalid()) return;
  const SourceManager& sources = error.getSourceManager();
  bool is_invalid = false;
  const char* at =
      sources.getCharacterData(sources.getSpellingLoc(error.getLocation()), &is_invalid);
  if (is_invalid) return;
  llvm::SmallString<128> text;
  error.FormatDiagnostic(text);
  const std::string name = quoted(text, 0);
  const std::string called = std::exchange(called_, "");
  if (is_of_others && !is_redeclared(error.getID())) return;
  switch (error.getID()) {
    case diag::err_unknown_typename: {
      // FOO_API void f(), FOO_ALIGN(8) struct S: no type could stand there.
      const char* next = skip_blanks(skip_word(at));
      const char* behind = skip_blanks(skip_word(next));
      const bool is_two_words = is_word(*next) && (is_word(*behind) || behind[0] == ':');
      if (is_shouted(name) && is_two_words) return declare("", name, NameKind::kAttribute);
      return declare_chain("", at, true);
    }
    case diag::err_undeclared_var_use:
      if (*skip_blanks(skip_word(at)) == '(') called_ = name;
      return declare_chain("", at, false);
    case diag::err_undeclared_use:
    case diag::err_no_template:
    case diag::err_unknown_template_name:
      return declare_chain("", at, error.getID() == diag::err_no_template);
    // FOO_REGISTER(x) between functions.
    case diag::err_missing_type_specifier:
    case diag::err_invalid_token_after_toplevel_declarator: {
      const char* line = line_of(sources, error.getLocation());
      const bool is_macro = *skip_blanks(skip_word(line)) == '(' && is_shouted(word_at(line));
      const bool heads_body = is_macro && is_loop(skip_word(line));
      if (is_macro) declare("", word_at(line), heads_body ? NameKind::kBody : NameKind::kMacro);
      return;
    }
    // Map map_ FOO_GUARDED_BY(lock_);
    case diag::err_expected_semi_decl_list: {
      // Or FOO_DECLARE(Map) on a line of its own.
      for (const char* word : {skip_blanks(at), line_of(sources, error.getLocation())}) {
        const bool is_macro = is_shouted(word_at(word)) && *skip_blanks(skip_word(word)) == '(';
        if (is_macro) declare("", word_at(word), NameKind::kMacro);
      }
      return;
    }
    // class FOO_API Map {
    case diag::err_typecheck_decl_incomplete_type: {
      const StringRef macro = StringRef(name).split(' ').second;
      const char* behind = skip_blanks(skip_word(at));
      if (is_shouted(macro) && (*behind == '{' || *behind == ':' || is_word(*behind)))
        declare("", macro.str(), NameKind::kAttribute);
      return;
    }
    // std::map<int, cv::Scalar>, whose first use was cv::Scalar(0, 0, 0).
    case diag::err_template_arg_must_be_type:
      if (root_.names.contains(word_at(at))) declare_chain("", at, true);
      return;
    case diag::err_expected_semi_after_expr:
      return declare("", called, NameKind::kStatement);
    case diag::err_ovl_no_viable_function_in_call: {
      const char* arguments = skip_blanks(skip_word(at));
      if (*arguments == '<') overload(root_, word_at(at), arguments);
      return;
    }
    case diag::err_ovl_ambiguous_call:
      return overload_chain(at);
    case diag::err_expected_class_name:
      bases_.insert(word_at(at));
      return declare_chain("", at, true);
    case diag::err_using_decl_conflict:
      has_more_ |= declared_later_.insert(word_at(at)).second;
      return;
    case diag::err_redefinition:
    case diag::err_redefinition_different_kind:
    case diag::err_redefinition_different_typedef:
    case diag::err_ambiguous_reference:
      has_more_ |= declared_later_.insert(name).second;
      return;
    case diag::err_expected_namespace_name:
      return declare_chain("", at, false);
    case diag::err_typename_nested_not_found:
    case diag::err_no_member_template:
    case diag::err_no_member: {
      const std::string scope = StringRef(quoted(text, 1)).split('<').first.str();
      const bool is_open = StringRef(text).contains("in namespace '") || stands_in(scope);
      if (word_at(at) != name) return;
      if (!is_open) return declare_in_bases(name);
      return declare_chain(scope, at, error.getID() == diag::err_typename_nested_not_found,
                           is_of_object(sources, error.getLocation()));
    }
    default:
      // template <class T> struct serializer<Mine<T>> {
      if (StringRef(text).starts_with("explicit specialization of undeclared template"))
        declare(namespace_at(sources, error.getLocation()), name, NameKind::kTemplate, "class...");
      return;
  }
}

bool Undeclared::has_more() { return std::exchange(has_more_, false); }

void Undeclared::write(const Scope& scope, const std::string& name, bool is_in_class,
                       std::string& text) const {
  if (declared_later_.contains(name)) return;
  const std::string any = "::dtypecheck_undeclared::Any";
  const auto write_names = [&](bool in_class) {
    for (const auto& [inner, below] : scope.names) write(below, inner, in_class, text);
  };
  const bool is_class = is_in_class || scope.kind != NameKind::kNamespace;
  switch (is_in_class && scope.kind == NameKind::kNamespace ? NameKind::kType : scope.kind) {
    case NameKind::kLoop:
      text += "#define " + name + "(i, ...) for (int i = 0; i < 2; ++i)\n";
      return;
    case NameKind::kMacro:
      text += "#define " + name + "(...)\n";
      return;
    case NameKind::kBody:
      text += "#define " + name + "(...) static void DTYPECHECK_BODY(__COUNTER__)()\n";
      return;
    case NameKind::kStatement:
      text += "#define " + name + "(...) (void)::dtypecheck_undeclared::call(__VA_ARGS__);\n";
      return;
    case NameKind::kAttribute:
      text += "#define " + name + "\n";
      return;
    case NameKind::kNamespace:
      text += "namespace " + name + " {\n";
      write_names(false);
      text += "}\n";
      return;
    case NameKind::kTemplate:
      text += "template <" + scope.parameters + "> ";
      [[fallthrough]];
    case NameKind::kType:
      text += "struct " + name + " : " + any + " {\nusing " + any + "::Any;\n";
      write_names(is_class);
      text += "};\n";
      return;
    case NameKind::kFunction: {
      const std::string rest = std::string(is_in_class ? "static " : "") + "constexpr " + any +
                               " " + name + "(const Args&...) { return {}; }\n";
      text += "template <class... Types, class... Args> " + rest;
      text += "#if __cplusplus >= 201703L\ntemplate <auto first, auto... rest, class... Args> " +
              rest + "template <class T, auto first, auto... rest, class... Args> " + rest;
      for (const std::string& parameters : scope.overloads) {
        text += "template <" + parameters + "class... Args> " + rest;
      }
      text += "#endif\n";
      return;
    }
    case NameKind::kOverload:
      text +=
          "#if __cplusplus >= 201703L\ntemplate <class... Args> constexpr typename "
          "::dtypecheck_undeclared::Where<(::dtypecheck_undeclared::is_any<Args> || ...), " +
          any + ">::type " + name + "(const Args&...) { return {}; }\n#endif\n";
      return;
    case NameKind::kValue:
      text += is_in_class ? "static " + any + " " + name + ";\n"
                          : "static constexpr " + any + " " + name + "{};\n";
      return;
  }
}

std::string Undeclared::header() const {
  std::string text = kAny.str();
  Scope rest = root_;
  const auto own = rest.names.extract("dtypecheck_undeclared");
  if (!own.empty()) {
    const auto any = own.mapped().names.find("Any");
    if (any != own.mapped().names.end()) {
      for (const auto& [name, scope] : any->second.names) write(scope, name, true, text);
    }
  }
  text += "};\n" + kIsAny.str();
  for (const StringRef op : kOperators) {
    text += (kOperator + op + "(A&&, B&&);\n").str();
  }
  text += "template <class... Args> Any call(const Args&...);\n}\n";
  for (const auto& [name, scope] : rest.names) write(scope, name, false, text);
  return text + "#pragma clang force_cuda_host_device end\n";
}

}  // namespace dtypecheck::analyzer
