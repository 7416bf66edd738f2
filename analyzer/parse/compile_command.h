// compile_command.h: the arguments with which a source file is parsed: from a compile database, or
// inferred from the tree around it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dtypecheck::analyzer {

// What build systems write into compile_commands.json, ours to parse with: the compiler, outputs
// and what only nvcc or gcc know are gone.
struct CompileCommand {
  std::string directory;  // relative paths in the arguments start here
  std::vector<std::string> arguments;
};

class CompileDatabase {
 public:
  // `path` is the file or the folder that holds compile_commands.json. Throws InputError.
  static CompileDatabase read(const std::filesystem::path& path);

  const CompileCommand* find(const std::filesystem::path& file) const;
  std::vector<std::string> files() const;  // absolute paths, sorted

 private:
  std::map<std::string, CompileCommand> commands_;  // by absolute path
};

// Arguments of a compiler, without its name, as clang takes them. Exposed for its test.
std::vector<std::string> clang_arguments(const std::vector<std::string>& arguments,
                                         const std::string& file);

// Where headers of LibTorch, Python and CUDA lie.
struct Toolkits {
  std::vector<std::string> torch_includes;   // empty: none was found, and the bundled ones are used
  std::string torch_root;                    // what it was found in, for people
  std::string why_bundled;                   // where it is empty, for people
  std::string torch_version;                 // "2.11.0"; empty: not known
  std::string cuda_root;                     // empty: the bundled minimal CUDA is used
  std::vector<std::string> vendor_includes;  // cuDNN's, NCCL's: packages beside LibTorch's
};

// `torch` is a folder of a LibTorch, of a Python package or of its headers; empty: that of the
// build's `command` (null: there is none), the active Python, a .venv in a folder above `from`,
// CONDA_PREFIX. The system's own, old as a rule, is used where the command names it. Throws
// InputError when a given one holds no LibTorch.
Toolkits find_toolkits(const std::string& torch, const std::filesystem::path& from,
                       const CompileCommand* command);
Toolkits bundled_toolkits();

// All arguments for dtypecheck-analyzer. `command` is null where no database knows the file;
// `stubs` is the folder of the bundled headers, `named` the folders that the user named.
std::vector<std::string> parse_arguments(const std::filesystem::path& file,
                                         const CompileCommand* command, const Toolkits& toolkits,
                                         const std::filesystem::path& stubs,
                                         const std::vector<std::string>& named = {});

// The same with each macro of the project's build files that the file asks about the other way: on
// where it was off, off where it was on. Empty: it asks about none.
std::vector<std::string> with_other_switches(const std::filesystem::path& file,
                                             const std::vector<std::string>& arguments);

}  // namespace dtypecheck::analyzer
