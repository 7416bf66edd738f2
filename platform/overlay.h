// overlay.h: folders in which a process and its children may write without a change to the user's
// files. Each is covered by a copy-on-write file system (Linux's overlayfs) in a mount namespace of
// this process's own, for which a user namespace of its own gives the right; what was written goes
// to a scratch folder. Other processes see nothing of it. Some systems forbid user namespaces to
// programs (a hardened container, AppArmor on Ubuntu 24.04); then the answer says so.
#pragma once

#include <string>
#include <vector>

namespace dtypecheck {

struct Covering {
  std::vector<std::string> folders;
  std::vector<std::string> others = {};  // that are covered where they can be
  std::vector<std::string> kept = {};    // what is written there is really written
  std::string scratch;                   // an empty folder that lies below none of these
  bool seals = false;                    // what is not covered can be read only, but for /dev
};
// To be called in a child that has one thread, before it runs a program. Returns why it could not
// be done, or ""; after a failure nothing should be run.
std::string cover_folders(const Covering& covering);
void remove_scratch(const std::string& scratch);

// Tries it in a process of its own, with nothing left of it: why it could not be done, or "".
std::string why_not_covered(const std::string& folder);

// The folders that a program may write to, as far as its command line tells: where it is run, and
// those that its arguments name, "--output_dir=/data/out" too, or in which they name a file.
std::vector<std::string> written_folders(const std::vector<std::string>& command);
// Those that the environment names, as HOME and HF_HOME do, and that of temporary files.
std::vector<std::string> folders_of_environment();

// Makes a folder for the scratch that lies below none of these, in `preferred` where that is none
// of them; "" where there is no place for it.
std::string scratch_beside(const std::vector<std::string>& folders,
                           const std::string& preferred = "");

}  // namespace dtypecheck
