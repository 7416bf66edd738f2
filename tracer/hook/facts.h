// facts.h: what the trace says of the program beside its op calls.
#pragma once

#include <string>

namespace dtypecheck {
namespace tracer {

// Where a launcher says which process this is: torchrun and accelerate, SLURM's srun, Open MPI, what
// has PMI (MPICH, Intel MPI) or PMIx, MVAPICH.
constexpr const char* kRankVariables[] = {"RANK",     "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                                          "PMI_RANK", "PMIX_RANK",    "MV2_COMM_WORLD_RANK"};
// What else it says.
constexpr const char* kLaunchVariables[] = {"LOCAL_RANK",           "WORLD_SIZE",
                                            "SLURM_JOB_ID",         "SLURM_LOCALID",
                                            "SLURM_NTASKS",         "SLURM_NODEID",
                                            "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                                            "PMI_SIZE",             "TORCHELASTIC_RUN_ID",
                                            "ACCELERATE_MIXED_PRECISION"};

void write_fact(const std::string& key, const std::string& value);
void write_facts_at_start();  // command line, executable, environment
void note_facts();    // what Python objects hold once training runs; after a step, written when it
                      // changed
void forget_facts();  // in a forked child: none was written yet

}  // namespace tracer
}  // namespace dtypecheck
