// launch.h: the environment variables by which launchers tell a process which rank it is, and of
// how many. Read by the tracer (C++17), and by who asks whether all ranks of a run are there.
#pragma once

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
constexpr const char* kLaunchVariables[] = {"LOCAL_RANK",          "LOCAL_WORLD_SIZE",
                                            "SLURM_JOB_ID",        "SLURM_LOCALID",
                                            "SLURM_NODEID",        "OMPI_COMM_WORLD_LOCAL_RANK",
                                            "TORCHELASTIC_RUN_ID", "ACCELERATE_MIXED_PRECISION"};

}  // namespace dtypecheck
