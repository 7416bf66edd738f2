// undeclared.h: stands in for what a file names and nothing that was found declares.
//
// A vendor's SDK, a header that the build generates, a newer LibTorch than the bundled one: one
// type that is not known costs the whole declaration that it stands in, and each name behind it. So
// each undeclared name is noted with what its use says of it (a namespace, a type, a function, a
// value, a macro), and the file is parsed again behind a header that declares them all: as types
// that can be made of anything, called, added and turned into anything. What is done with them is
// not known then, as it was not before; what stands around them is.
#pragma once

#include <clang/Basic/Diagnostic.h>

#include <map>
#include <set>
#include <string>

namespace dtypecheck::analyzer {

// The header's name, which no file has.
inline constexpr llvm::StringLiteral kStandIns = "/dtypecheck/undeclared.h";

class Undeclared {
 public:
  // Looks at an error. In the headers of others only those count that a stand-in made.
  void note(const clang::Diagnostic& error, bool is_of_others);

  // True when a name came in since it was asked last.
  bool has_more();

  // The header, in C++14 and later.
  std::string header() const;

 private:
  // Of two uses the one that says more counts, the later here: what is a type somewhere is one
  // where it is called, and where it stands before `::`.
  enum class NameKind : uint8_t {
    kOverload,  // of a function that is declared: one for stand-ins
    kValue,
    kFunction,
    kNamespace,
    kType,
    kTemplate,
    kLoop,
    kMacro,
    kBody,  // TEST_CASE("x") { … }: of a function
    kStatement,
    kAttribute
  };
  struct Scope {
    NameKind kind = NameKind::kNamespace;
    std::string parameters;           // of a template
    std::set<std::string> overloads;  // of a function: the template parameters of some uses
    std::map<std::string, Scope> names;
  };

  void declare(const std::string& scope, const std::string& name, NameKind kind,
               const std::string& parameters = "");
  bool stands_in(const std::string& name) const;
  void declare_in_bases(const std::string& name);
  void declare_chain(std::string scope, const char* at, bool is_type, bool is_member = false);
  void overload_chain(const char* at);
  // Adds to the stand-in of a function one for the template arguments that it is given at `at`.
  void overload(Scope& within, const std::string& name, const char* at);
  void write(const Scope& scope, const std::string& name, bool is_in_class,
             std::string& text) const;

  Scope root_;
  std::set<std::string> bases_;           // of the project's classes, that nothing declares
  std::set<std::string> declared_later_;  // by the file itself, behind their first use
  std::string called_;  // by the last error: FOO_CASES(x), if a semicolon is missed behind it
  bool has_more_ = false;
};

}  // namespace dtypecheck::analyzer
