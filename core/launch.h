// launch.h: the environment variables by which launchers tell a process which rank it is, and of
// how many. Read by the tracer (C++17), and by who asks whether all ranks of a run are there.
#pragma once

#include <string_view>

namespace dtypecheck {

struct LauncherVariables {
  const char* rank;
  const char* size;  // null: it says none
};

// torchrun and accelerate, SLURM's srun, Open MPI, what has PMI (MPICH, Intel MPI) or PMIx,
// MVAPICH. torchrun and accelerate say RANK, also where SLURM or MPI start them on each node, so it
// goes first.
constexpr LauncherVariables kLaunchers[] = {
    {"RANK", "WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PMIX_RANK", nullptr},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
};

// What else they say that a trace keeps. LOCAL_WORLD_SIZE: of the ranks, those on this machine.
constexpr const char* kLaunchVariables[] = {
    "LOCAL_RANK",   "LOCAL_WORLD_SIZE",           "SLURM_JOB_ID",       "SLURM_LOCALID",
    "SLURM_NODEID", "OMPI_COMM_WORLD_LOCAL_RANK", "TORCHELASTIC_RUN_ID"};

// As ACCELERATE_MIXED_PRECISION does: who asked for a dtype may be there.
inline bool names_precision(std::string_view variable) {
  const bool is_ours = variable.substr(0, 11) == "DTYPECHECK_";
  return !is_ours &&
         (variable.find("PRECISION") != variable.npos || variable.find("DTYPE") != variable.npos);
}

// Without it, it is another program, or none: where modules are found, and what asked for a
// precision.
inline bool is_of_program(std::string_view variable) {
  return variable == "PYTHONPATH" || names_precision(variable);
}

// Whether a trace keeps a variable: one of those, or one that belongs to the program.
inline bool is_kept(std::string_view variable) {
  for (const LauncherVariables& launcher : kLaunchers)
    if (variable == launcher.rank || (launcher.size && variable == launcher.size)) return true;
  for (const char* name : kLaunchVariables)
    if (variable == name) return true;
  return is_of_program(variable);
}

}  // namespace dtypecheck
