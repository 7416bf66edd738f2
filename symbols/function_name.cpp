#include "symbols/function_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace dtypecheck::symbols {

static constexpr size_t kMaxSymbolBytes = 4096;  // a demangler's time grows faster than the name

// The '(' that opens the parameter list: the partner of the last ')'.
static size_t begin_of_parameters(std::string_view name) {
  int depth = 0;
  for (size_t i = name.rfind(')'); i != std::string_view::npos; i = i == 0 ? name.npos : i - 1) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// Behind the return type that a template's name begins with: the last space outside of all
// brackets.
static size_t begin_of_name(std::string_view name) {
  const size_t op = name.find("operator");
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < name.size() && i < op; ++i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
    if (c == ' ' && depth == 0) begin = i + 1;
  }
  return begin;
}

std::string without_signature(const std::string& demangled) {
  std::string_view name = demangled;
  if (const size_t clone = name.find(" [clone "); clone != name.npos) name = name.substr(0, clone);
  const size_t parameters = begin_of_parameters(name);
  // "(anonymous namespace)::table" and "f()::{lambda()#1}" end in no parameter list.
  const std::string_view rest = parameters == name.npos ? "" : name.substr(name.rfind(')') + 1);
  if (parameters != name.npos && parameters > 0 && rest.find("::") == rest.npos &&
      rest.find_first_of("#}") == rest.npos) {
    name = name.substr(0, parameters);
  }
  return std::string(name.substr(begin_of_name(name)));
}

std::string readable_name(const char* symbol) {
  const std::string_view name = symbol;
  if (name.substr(0, 2) != "_Z" || name.size() > kMaxSymbolBytes) return std::string(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 ? without_signature(demangled.get()) : std::string(name);
}

}  // namespace dtypecheck::symbols
