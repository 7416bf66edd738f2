#include "tracer/python/code_class.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/dtype_spellings.h"
#include "core/installed.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

CodeEntry code_table[1u << kCodeTableBits];

namespace {

using std::string_view;

struct Paths {
  std::vector<std::string> standard_library;  // folders, each with its slash
  std::vector<std::string> programs;          // <prefix>/bin/: the wrappers that pip writes
  std::string torch;
};
// Written once by start(), before the first walk; never freed, since walks may outlive static
// destructors.
const Paths* g_paths = new Paths;

bool starts_with(string_view text, string_view head) { return text.substr(0, head.size()) == head; }
bool ends_with(string_view text, string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}
bool contains(string_view text, string_view part) { return text.find(part) != string_view::npos; }
bool starts_with_one(string_view text, const std::vector<std::string>& heads) {
  return std::any_of(heads.begin(), heads.end(),
                     [text](const std::string& head) { return starts_with(text, head); });
}

std::string folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash + 1);
}

bool is_torch(string_view file) {
  if (!g_paths->torch.empty() && starts_with(file, g_paths->torch)) return true;
  for (const char* folder : {"-packages/torch/", "-packages/functorch/", "-packages/torchgen/"}) {
    if (contains(file, folder)) return true;
  }
  return starts_with(file, "<eval_with_key>") || contains(file, "/torchinductor_");
}

// Code without a file that libraries make: dataclasses compile __init__ and the like as "<string>".
bool is_generated_by_library(string_view file, string_view name) {
  for (const char* head :
       {"<__array_function__", "<decorator-gen", "<attrs generated", "<shim", "<lambdify"}) {
    if (starts_with(file, head)) return true;
  }
  return file == "<string>" && starts_with(name, "__");
}

CodeKind kind_of_file(string_view file, string_view name) {
  if (file.empty()) return CodeKind::kLibrary;
  if (is_torch(file)) return CodeKind::kTorch;
  if (begin_in_named_folder(file) != file.npos) return CodeKind::kLibrary;
  if (starts_with(file, "<frozen ")) return CodeKind::kStandardLibrary;
  if (starts_with_one(file, g_paths->standard_library)) return CodeKind::kStandardLibrary;
  if (starts_with_one(file, g_paths->programs)) return CodeKind::kLibrary;
  return is_generated_by_library(file, name) || is_installed(file) ? CodeKind::kLibrary
                                                                   : CodeKind::kUser;
}

string_view name_in(const Object* text, char (&buffer)[256]) {
  const ptrdiff_t length = read_text(text, buffer, sizeof buffer);
  return length < 0 ? string_view() : string_view(buffer, static_cast<size_t>(length));
}

// torch 2.1 on: _wrapped_call_impl(self, …) calls self._call_impl(…). Before: __call__ is
// _call_impl itself.
bool is_module_call(string_view file, string_view name, const Object* caller) {
  if (!ends_with(file, "/nn/modules/module.py")) return false;
  if (name == "_wrapped_call_impl") return true;
  if (name != "_call_impl") return false;
  char buffer[256];
  return caller == nullptr || name_in(code_name(caller), buffer) != "_wrapped_call_impl";
}

// def to(self, *args, **kwargs), as models and pipelines have it around nn.Module's: who calls it
// asks for the dtype, also where the library lies beside the program.
bool hands_on_cast(const Object* code, string_view name) {
  constexpr int32_t kTakesAll = 0x04 | 0x08;  // CO_VARARGS, CO_VARKEYWORDS
  if ((load<int32_t>(code, layout.code_flags) & kTakesAll) != kTakesAll) return false;
  return name == "to" ||
         std::any_of(std::begin(kDtypeNames), std::end(kDtypeNames), [&](const DtypeNames& names) {
           return names.kind == DtypeKind::kFloating && !name.empty() && cast_method(names) == name;
         });
}

CodeClass look_at(const Object* code, const Object* caller) {
  if (!is_exactly(code, api.PyCode_Type)) return static_cast<CodeClass>(CodeKind::kNone);
  char path[4096];
  const ptrdiff_t length = read_text(code_filename(code), path, sizeof path);
  const string_view file(path, length < 0 ? 0 : static_cast<size_t>(length));
  char buffer[256];
  const string_view name = name_in(code_name(code), buffer);
  CodeKind kind = kind_of_file(file, name);
  if (kind == CodeKind::kUser && hands_on_cast(code, name)) kind = CodeKind::kLibrary;
  if (kind != CodeKind::kTorch || !is_module_call(file, name, caller))
    return static_cast<CodeClass>(kind);
  const size_t slot = slot_of_first(code);
  if (slot >= 32) return static_cast<CodeClass>(kind);
  return static_cast<CodeClass>(static_cast<size_t>(CodeKind::kModuleCall) | slot << 3);
}

std::string system_text(const char* name) { return text_of(api.PySys_GetObject(name)); }

}  // namespace

size_t slot_of_first(const Object* code) {
  if (layout.code_cellvars == 0) return 0;
  const Object* varnames = load<Object*>(code, layout.code_varnames);
  const Object* cellvars = load<Object*>(code, layout.code_cellvars);
  const auto first = load<const Object*>(varnames, kTupleItems);
  const auto cells = load<int64_t>(cellvars, 16);
  for (int64_t i = 0; i < cells; ++i) {
    if (load<const Object*>(cellvars, kTupleItems + 8 * static_cast<size_t>(i)) != first) continue;
    return static_cast<size_t>(load<int32_t>(code, layout.code_nlocals) + i);
  }
  return 0;
}

CodeClass classify_code(const Object* code, const Object* caller) {
  const CodeClass found = look_at(code, caller);
  if (kind_of(found) == CodeKind::kNone) return found;
  CodeEntry& entry = code_entry(code);
  entry.code.store(word_of(code), std::memory_order_relaxed);
  entry.check.store(code_check(code) | found, std::memory_order_relaxed);
  return found;
}

void learn_paths() {
  auto* paths = new Paths;
  paths->standard_library.push_back(folder_of(text_of(imported_item("os", "__file__"))));
  for (const char* name : {"prefix", "base_prefix", "exec_prefix"}) {
    const std::string prefix = system_text(name);
    if (prefix.empty()) continue;
    for (const char* lib : {"/lib/python3", "/lib64/python3"})
      paths->standard_library.push_back(prefix + lib);
    paths->programs.push_back(prefix + "/bin/");
  }
  if (paths->standard_library.front().empty()) {  // `os` is frozen and has no file
    paths->standard_library.erase(paths->standard_library.begin());
  }
  paths->torch = folder_of(text_of(imported_item("torch", "__file__")));
  g_paths = paths;  // the one before stays: a walk in another thread may be reading it
}

}  // namespace dtypecheck::tracer::python
