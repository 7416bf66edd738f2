/* stage1.h: what stage 1 (C, preloaded) and stage 2 (C++, loaded at the first op) know of each
 * other. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DTYPECHECK_STAGE1_ABI 6

/* A process, or with a negative number a group, that this one sent a signal to. */
typedef struct DtypecheckKill {
  long by, pid;
  int signal;
} DtypecheckKill;
enum { DTYPECHECK_MOST_KILLS = 256 };

/* Given to stage 2; lives as long as the process. */
typedef struct DtypecheckStage1 {
  uint32_t abi;
  const char* run_folder;
  const char* options;
  const char* libtorch_path;
  /* One pointer per thread in static TLS (a dlopened library has none to spare): stage 2's. */
  void** (*thread_slot)(void);
  /* Where the trampoline jumps when LibTorch asks for an op's callbacks: now to LibTorch's own
   * function. */
  void** step_callbacks;
  /* The same for at::getStepCallbacks(), where LibTorch calls that through a slot of its own. */
  void** scope_callbacks;
  /* 1: LibTorch does ask through the trampoline; 0: it binds its function itself. */
  const int* is_asked;
  /* 1: someone added a RecordFunction callback before stage 2 was loaded. */
  const int* was_observed;
  /* Stage 2 sets these; each may be null. In the throwing thread, before unwinding starts: */
  void (**on_throw)(void* object, void* type_info);
  void (**on_observer)(void);        /* before anyone adds a RecordFunction callback */
  void (**on_autocast)(int entered); /* before an autocast region begins (1) or ends (0) */
  void (**on_fork_child)(void);      /* in the child, in its only thread */
  void (**on_exec)(int failed);      /* 0: before an exec*(); 1: it returned, the process goes on */
  void (**on_thread_start)(void);    /* in a thread that begins, before its own function */
  const DtypecheckKill* kills;       /* all but those that it sent to itself */
  const int* kill_count;             /* may pass DTYPECHECK_MOST_KILLS, which are kept */
  void (**on_exit)(void);            /* at exit() and _exit(), after the program's own handlers */
  /* One line on stderr, prefixed "dtypecheck: ", and kept in the run's folder; then nothing more
   * from this process. */
  void (*complain)(const char* line);
} DtypecheckStage1;

/* Stage 2's entry point; 0 when tracing is on. */
typedef int (*DtypecheckHookStart)(const DtypecheckStage1* stage1);

#ifdef __cplusplus
}
#endif
