#include "tracer/python/notebook_cells.h"

#include <map>
#include <utility>

#include "tracer/python/python_api.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

std::map<std::string, std::string>* names = new std::map<std::string, std::string>;
std::vector<Cell>* unrecorded = new std::vector<Cell>;

bool may_be_cell(const std::string& file) {
  return file.compare(0, 15, "<ipython-input-") == 0 || file.find("/ipykernel_") != file.npos;
}

// IPython's own table; 0 where it has no such name.
long long number_of(const std::string& file) {
  Object* shell_class = imported_item("IPython.core.interactiveshell", "InteractiveShell");
  if (!is_type(shell_class)) return 0;
  const Ref shell = attribute(shell_class, "_instance");
  const Ref compiler = attribute(shell.get(), "compile");
  const Ref numbers = attribute(compiler.get(), "_filename_map");
  return as_integer(dict_item(numbers.get(), file.c_str()), 0);
}

// linecache.cache[file] is (size, time, lines, name).
std::string source_of(const std::string& file) {
  Object* entry = dict_item(imported_item("linecache", "cache"), file.c_str());
  Object* lines = sequence_size(entry) >= 3 ? sequence_item(entry, 2) : nullptr;
  std::string source;
  for (std::ptrdiff_t i = 0; i < sequence_size(lines); ++i)
    source += text_of(sequence_item(lines, i));
  return source;
}

}  // namespace

void forget_cells() {
  if (!active()) return;
  const Interpreter interpreter;
  if (interpreter) names->clear();
}

std::string cell_name(const std::string& code_file) {
  if (!may_be_cell(code_file)) return std::string();
  const auto known = names->find(code_file);
  if (known != names->end()) return known->second;
  const long long number = number_of(code_file);
  const std::string name = number > 0 ? "In [" + std::to_string(number) + "]" : std::string();
  names->emplace(code_file, name);
  if (!name.empty()) unrecorded->push_back({name, source_of(code_file)});
  return name;
}

std::vector<Cell> take_new_cells() { return std::exchange(*unrecorded, {}); }

}  // namespace dtypecheck::tracer::python
