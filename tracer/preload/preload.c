/* preload.c: stage 1. Gets into every process of a traced run by LD_PRELOAD and does nothing until
 * LibTorch runs an op.
 *
 * libtorch_cpu calls at::getStepCallbacksUnlessEmpty() through its own PLT once for each op, and a
 * preloaded symbol wins. So that name is defined here as a trampoline (trampoline.S) which jumps to
 * the real function. At the first op, and never before, it finds the LibTorch that is really there
 * and loads stage 2 for it. sh, gcc or a launcher pay a 20 kB mapping. at::getStepCallbacks(),
 * which is called for scopes that the program opens, is defined here in the same way.
 *
 * Plain C: a preloaded library that needs libstdc++ breaks environments that bring a newer one. No
 * LibTorch, for it would come into every child. Nothing here is slow, blocks, or fails loudly: on
 * trouble one line, and the program runs on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/hash.h"
#include "tracer/preload/stage1.h"

#define EXPORT __attribute__((visibility("default")))
#define STEP_CALLBACKS "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE"
#define SCOPE_CALLBACKS "_ZN2at16getStepCallbacksENS_11RecordScopeE"

extern char** environ;

/* What pthread_atfork() calls, which is linked in from a part of glibc: musl has no such symbol,
 * and its loader ends each program whose preloaded library needs it. */
extern int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
                             void* library) __attribute__((weak));
extern void dtypecheck_trampoline_first(void); /* trampoline.S */
extern void dtypecheck_trampoline_first_scope(void);
extern void dtypecheck_trampoline_entry(void) __asm__(STEP_CALLBACKS);

/* Where the trampoline jumps: first to the loader of stage 2, then for good to LibTorch's own
 * function. */
__attribute__((visibility("hidden"))) void* dtypecheck_step_callbacks =
    (void*)dtypecheck_trampoline_first;
__attribute__((visibility("hidden"))) void* dtypecheck_scope_callbacks =
    (void*)dtypecheck_trampoline_first_scope;
__attribute__((visibility("hidden"))) void* dtypecheck_real_dlopen;

static __thread void* thread_slot __attribute__((tls_model("initial-exec")));
static void** get_thread_slot(void) { return &thread_slot; }

static void (*on_throw)(void*, void*);
static void (*on_observer)(void);
static void (*on_autocast)(int);
static void (*on_fork_child)(void);
static void (*on_exec)(int);
static void (*on_thread_start)(void);
static void (*at_end)(void);

static void complain(const char* line);
static char run_folder[PATH_MAX];
static char libtorch_path[PATH_MAX];
static int is_asked, was_observed;
static DtypecheckKill kills[DTYPECHECK_MOST_KILLS];
static int kill_count;
/* clang-format off */
static DtypecheckStage1 stage1 = {
    DTYPECHECK_STAGE1_ABI, run_folder, "", libtorch_path, get_thread_slot,
    &dtypecheck_step_callbacks, &dtypecheck_scope_callbacks, &is_asked, &was_observed, &on_throw, &on_observer, &on_autocast,
    &on_fork_child, &on_exec, &on_thread_start, kills, &kill_count, &at_end, complain};
/* clang-format on */

/* The process that stage 2 runs in: a vfork child shares our memory, not our pid. */
static pid_t traced_pid;
static int in_traced_process(void) { return traced_pid != 0 && getpid() == traced_pid; }

/* ---- saying what went wrong ------------------------------------------------------------------ */

static void write_all(int fd, const char* text, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, text, size);
    if (n <= 0) return;
    text += n;
    size -= (size_t)n;
  }
}

/* One line on stderr, and the same in the run's folder so that the report can tell. */
static void complain(const char* line) {
  char text[1024];
  const int n = snprintf(text, sizeof text, "dtypecheck: %s\n", line);
  if (n <= 0) return;
  const size_t size = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
  write_all(STDERR_FILENO, text, size);
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/untraced.%ld.txt", run_folder, (long)getpid());
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  write_all(fd, text, size);
  close(fd);
}

static void complain_about(const char* what, const char* detail) {
  char line[900];
  snprintf(line, sizeof line, "%.400s: %.400s; pid %ld runs on untraced", what,
           detail ? detail : "unknown", (long)getpid());
  complain(line);
}

/* ---- finding LibTorch ------------------------------------------------------------------------ */

static int starts_with(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

struct search {
  const char* base_prefix; /* of the file's name */
  char* path;              /* PATH_MAX */
  struct dl_phdr_info info;
};

static int match_object(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct search* search = data;
  if (!info->dlpi_name || !starts_with(base_name(info->dlpi_name), search->base_prefix)) return 0;
  snprintf(search->path, PATH_MAX, "%s", info->dlpi_name);
  search->info = *info;
  return 1;
}

static int find_object(const char* base_prefix, char* path, struct dl_phdr_info* info) {
  struct search search = {base_prefix, path, {0}};
  if (!dl_iterate_phdr(match_object, &search)) return 0;
  if (info) *info = search.info;
  return 1;
}

/* ---- children without us ----------------------------------------------------------------------
 */

/* As it was when this process began: the program may change its environment. */
static char run_of_start[PATH_MAX];
static int is_building; /* the hook, which is no part of the run */

__attribute__((constructor)) static void at_start(void) {
  const char* run = getenv("DTYPECHECK_RUN");
  if (run && strlen(run) < sizeof run_of_start) strcpy(run_of_start, run);
}

static int brings_us(char* const env[]) {
  int has_run = 0, has_preload = 0;
  for (; env && *env; ++env) {
    if (starts_with(*env, "DTYPECHECK_RUN=")) has_run = strcmp(*env + 15, run_of_start) == 0;
    if (starts_with(*env, "LD_PRELOAD="))
      has_preload = strstr(*env, "libdtypecheck_preload") != NULL;
  }
  return has_run && has_preload;
}

static int names_python(const char* word) {
#define LAUNCHER(program, start) \
  if (strstr(word, program)) return 1;
#include "platform/launchers.inc"
#undef LAUNCHER
  return strstr(word, "python") != NULL;
}

/* ldconfig, uname and gcc, which libraries start: the system's programs run no op, unless they are
 * told to start one that does. */
static int is_of_no_interest(const char* file, char* const argv[]) {
  if (names_python(file)) return 0;
  for (int i = 0; argv && argv[i]; ++i)
    if (names_python(argv[i])) return 0;
  return !strchr(file, '/') || starts_with(file, "/bin/") || starts_with(file, "/sbin/") ||
         starts_with(file, "/usr/bin/") || starts_with(file, "/usr/sbin/");
}

static void note_path(char* path, size_t room, long pid) {
  snprintf(path, room, "%s/untraced.%ld.txt", run_of_start, pid);
}

/* A program is about to be started in an environment that does not load us into it. Whether it is
 * one that could run LibTorch is judged when the report is made (reports/judging/recorded_run.h).
 * Between vfork and exec: the stack and system calls alone. */
static int note_start(const char* file, char* const argv[], char* const env[], long pid) {
  if (!run_of_start[0] || is_building || !file || brings_us(env)) return 0;
  if (is_of_no_interest(file, argv)) return 0;
  if (strchr(file, '/') && access(file, X_OK) != 0) return 0;
  char path[PATH_MAX + 32], line[1024];
  note_path(path, sizeof path, pid);
  int n = snprintf(line, sizeof line, "dtypecheck: started without LD_PRELOAD:\t%.600s", file);
  for (int i = 0; argv && argv[i] && n > 0 && n < (int)sizeof line - 260; ++i)
    n += snprintf(line + n, sizeof line - (size_t)n, "\t%.200s", argv[i]);
  if (n <= 0) return 0;
  for (char* c = line; *c; ++c)
    if (*c == '\n') *c = ' ';
  line[n++] = '\n';
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  write_all(fd, line, (size_t)n);
  close(fd);
  return n;
}

/* It was not started after all. */
static void take_note_back(int bytes) {
  if (bytes == 0) return;
  char path[PATH_MAX + 32];
  note_path(path, sizeof path, (long)getpid());
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0) return;
  if (fstat(fd, &st) == 0 && st.st_size > bytes) {
    if (ftruncate(fd, st.st_size - bytes) != 0) st.st_size = 0;
  } else {
    unlink(path);
  }
  close(fd);
}

/* ---- stage 2 --------------------------------------------------------------------------------- */

/* The name under which stage 2 for this very LibTorch file is kept; see tracer/protocol.md. */
static int hook_key(char key[17]) {
  char real[PATH_MAX], text[PATH_MAX + 64];
  struct stat st;
  if (!realpath(libtorch_path, real) || stat(real, &st) != 0) return 0;
  const long long mtime_ns = (long long)st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
  snprintf(text, sizeof text, "%s:%lld:%lld", real, (long long)st.st_size, mtime_ns);
  const uint64_t hash = fnv1a_of_bytes(text, strlen(text), DTYPECHECK_FNV1A_BASIS);
  snprintf(key, 17, "%016llx", (unsigned long long)hash);
  return 1;
}

/* The environment without LD_PRELOAD: the hook's compiler is not part of the run. */
static char** environment_without_preload(void) {
  size_t n = 0;
  while (environ[n]) ++n;
  char** copy = malloc((n + 1) * sizeof *copy);
  if (!copy) return NULL;
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i)
    if (!starts_with(environ[i], "LD_PRELOAD=")) copy[kept++] = environ[i];
  copy[kept] = NULL;
  return copy;
}

/* 1 when it could not and has said why. */
static int build_hook(const char* exe, const char* path) {
  char** env = exe ? environment_without_preload() : NULL;
  if (!env) return 0;
  int status = 0; /* of no use where a program ignores SIGCHLD: whether the file is there decides */
  char* argv[] = {(char*)exe, "build-hook", "--libtorch", libtorch_path, "-o", (char*)path, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child;
  is_building = 1;
  if (posix_spawn(&child, exe, &actions, NULL, argv, env) == 0) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  is_building = 0;
  posix_spawn_file_actions_destroy(&actions);
  free(env);
  /* It leaves its note where the environment names the run. */
  return getenv("DTYPECHECK_RUN") && WIFEXITED(status) && WEXITSTATUS(status) == 2;
}

static void after_fork_in_child(void) {
  if (traced_pid == 0) return;
  traced_pid = getpid();
  if (on_fork_child) on_fork_child();
}

static void* stage2;

static void load_stage2(const char* folder, const char* hooks, const char* exe,
                        const char* options) {
  if (!folder || !hooks || strlen(folder) >= sizeof run_folder)
    return; /* preloaded, but not by `dtypecheck trace` */
  strcpy(run_folder, folder);
  stage1.options = options ? strdup(options) : "";
  char key[17], path[PATH_MAX];
  if (!hook_key(key)) return complain_about(libtorch_path, "cannot be read");
  if (snprintf(path, sizeof path, "%s/%s.so", hooks, key) >= (int)sizeof path) return;
  const int has_said_why = access(path, R_OK) != 0 && build_hook(exe, path);
  if (access(path, R_OK) != 0) {
    if (!has_said_why) complain_about("no tracer for this LibTorch", libtorch_path);
    return;
  }
  /* Stage 2 is not linked to LibTorch: its symbols come from the copy that is here, which the
   * callers made global. */
  void* hook = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!hook) return complain_about("the tracer could not be loaded", dlerror());
  DtypecheckHookStart start;
  *(void**)&start = dlsym(hook, "dtypecheck_hook_start");
  if (!start) return complain_about(path, "is not a tracer");
  traced_pid = getpid();
  if (__register_atfork) __register_atfork(NULL, NULL, after_fork_in_child, NULL);
  if (start(&stage1) != 0)
    traced_pid = 0;
  else
    stage2 = hook;
}

static void load_stage2_as_told(void) {
  load_stage2(getenv("DTYPECHECK_RUN"), getenv("DTYPECHECK_HOOKS"), getenv("DTYPECHECK_EXE"),
              getenv("DTYPECHECK_OPTIONS"));
}

static atomic_int begun;

/* Where the second trampoline jumps, until stage 2 answers: LibTorch's own function. */
static void find_scope_callbacks(void* libtorch) {
  void* real = dlsym(libtorch, SCOPE_CALLBACKS);
  void* first = (void*)dtypecheck_trampoline_first_scope;
  if (real)
    __atomic_compare_exchange_n(&dtypecheck_scope_callbacks, &first, real, 0, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
}

/* A caller without a LibTorch: nothing sensible is left to jump to. */
static void end_without_libtorch(const char* called) {
  complain_about(called, "was called, but no libtorch_cpu.so is loaded");
  _exit(127);
}

/* A scope that is opened before the first op. */
__attribute__((visibility("hidden"))) void dtypecheck_first_scope(void) {
  const int saved_errno = errno;
  char path[PATH_MAX];
  if (find_object("libtorch_cpu.so", path, NULL) || find_object("libtorch.so", path, NULL)) {
    void* libtorch = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    if (libtorch) find_scope_callbacks(libtorch);
  }
  if (__atomic_load_n(&dtypecheck_scope_callbacks, __ATOMIC_ACQUIRE) ==
      (void*)dtypecheck_trampoline_first_scope)
    end_without_libtorch("at::getStepCallbacks");
  errno = saved_errno;
}

/* The first op of the process, from the trampoline. Threads that come meanwhile run untraced, but
 * they do not wait. */
__attribute__((visibility("hidden"))) void dtypecheck_first_op(void) {
  const int saved_errno = errno;
  if (atomic_exchange(&begun, 1) == 0) {
    void* real = NULL;
    if (find_object("libtorch_cpu.so", libtorch_path, NULL) ||
        find_object("libtorch.so", libtorch_path, NULL)) {
      void* libtorch = dlopen(libtorch_path, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY);
      real = libtorch ? dlsym(libtorch, STEP_CALLBACKS) : NULL;
      if (real && real != (void*)dtypecheck_trampoline_entry) {
        __atomic_store_n(&dtypecheck_step_callbacks, real, __ATOMIC_RELEASE);
        find_scope_callbacks(libtorch);
        is_asked = 1;
        char c10[PATH_MAX];
        if (find_object("libc10.so", c10, NULL)) dlopen(c10, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY);
        load_stage2_as_told();
      }
    }
    if (!real) end_without_libtorch("at::getStepCallbacksUnlessEmpty");
  }
  /* Another thread is resolving it at this moment: a matter of microseconds. */
  while (__atomic_load_n(&dtypecheck_step_callbacks, __ATOMIC_ACQUIRE) ==
         (void*)dtypecheck_trampoline_first)
    usleep(50);
  errno = saved_errno;
}

/* ---- when the trampoline cannot work --------------------------------------------------------- */

/* What the loader reads of an object: the slots of its calls (.rela.plt), its other slots, and
 * their names. */
struct tables {
  const ElfW(Rela) * calls, *others;
  size_t calls_bytes, others_bytes;
  const ElfW(Sym) * symbols;
  const char* strings;
};

#if defined(__x86_64__)
enum { kJumpSlot = R_X86_64_JUMP_SLOT, kGlobalSlot = R_X86_64_GLOB_DAT };
#else
enum { kJumpSlot = R_AARCH64_JUMP_SLOT, kGlobalSlot = R_AARCH64_GLOB_DAT };
#endif

static struct tables tables_of(const struct dl_phdr_info* info) {
  struct tables tables = {0};
  const ElfW(Dyn)* dyn = NULL;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dyn = (const void*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  for (; dyn && dyn->d_tag != DT_NULL; ++dyn) {
    /* The vdso's, and those of other libcs, are offsets yet. */
    const ElfW(Addr) value = dyn->d_un.d_ptr;
    const void* at = (const void*)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
    if (dyn->d_tag == DT_JMPREL) tables.calls = at;
    if (dyn->d_tag == DT_PLTRELSZ) tables.calls_bytes = dyn->d_un.d_val;
    if (dyn->d_tag == DT_RELA) tables.others = at;
    if (dyn->d_tag == DT_RELASZ) tables.others_bytes = dyn->d_un.d_val;
    if (dyn->d_tag == DT_SYMTAB) tables.symbols = at;
    if (dyn->d_tag == DT_STRTAB) tables.strings = at;
  }
  return tables;
}

/* The GOT slot through which libtorch_cpu calls the function; NULL when it has none (linked
 * -Bsymbolic, or inlined). */
static void** find_slot(const struct dl_phdr_info* info) {
  const struct tables tables = tables_of(info);
  if (!tables.calls || !tables.symbols || !tables.strings) return NULL;
  for (size_t i = 0; i < tables.calls_bytes / sizeof *tables.calls; ++i) {
    const size_t symbol = ELF64_R_SYM(tables.calls[i].r_info);
    if (strcmp(tables.strings + tables.symbols[symbol].st_name, STEP_CALLBACKS) == 0)
      return (void**)(info->dlpi_addr + tables.calls[i].r_offset);
  }
  return NULL;
}

static int inside(const struct dl_phdr_info* info, const void* address) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Addr) begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && (ElfW(Addr))address >= begin &&
        (ElfW(Addr))address < begin + info->dlpi_phdr[i].p_memsz)
      return 1;
  }
  return 0;
}

/* A slot that is still lazy points into libtorch_cpu's own PLT, not to the function itself. */
static int is_bound_elsewhere(const struct dl_phdr_info* info, const char* path) {
  void** slot = find_slot(info);
  if (!slot) return 1;
  if (*slot == (void*)dtypecheck_trampoline_entry) return 0;
  void* libtorch = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
  void* real = libtorch ? dlsym(libtorch, STEP_CALLBACKS) : NULL;
  return !inside(info, *slot) || *slot == real;
}

static atomic_int checked;

/* Before each dlopen: has an earlier one brought a LibTorch whose calls do not come here? Then
 * stage 2 is loaded now, which for Python is in the middle of `import torch`'s own imports, at the
 * latest at the next import of an extension. */
static void check_binding(void) {
  char path[PATH_MAX];
  struct dl_phdr_info info;
  if (atomic_load(&begun) || atomic_load(&checked) || !getenv("DTYPECHECK_RUN")) return;
  if (!find_object("libtorch_cpu.so", path, &info) || atomic_exchange(&checked, 1)) return;
  if (!is_bound_elsewhere(&info, path) || atomic_exchange(&begun, 1)) return;
  strcpy(libtorch_path, path);
  dlopen(path, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY);
  load_stage2_as_told();
  if (traced_pid)
    complain(
        "this LibTorch binds at::getStepCallbacksUnlessEmpty itself; tracing began at its import "
        "instead");
}

static _Thread_local int in_dlopen_check __attribute__((tls_model("initial-exec")));

/* From the dlopen wrapper in trampoline.S, which then jumps: glibc takes the caller's RUNPATH from
 * the return address. */
__attribute__((visibility("hidden"))) void dtypecheck_before_dlopen(void) {
  if (!dtypecheck_real_dlopen) dtypecheck_real_dlopen = dlsym(RTLD_NEXT, "dlopen");
  if (in_dlopen_check) return;
  const int saved_errno = errno;
  in_dlopen_check = 1;
  check_binding();
  in_dlopen_check = 0;
  errno = saved_errno;
}

/* ---- a program that asks for it itself ------------------------------------------------------- */

/* dtypecheck.trace() of the Python package loads this library into a program that runs already, so
 * nothing was preloaded: the calls that would come here by name are bound elsewhere. What the
 * loader would have done is done for each object that is there now: its slots for our names lead
 * here, and each function of ours goes on to the real one, which is still found by name. Objects
 * that are loaded later are seen to when recording begins the next time. */
static const char* const replaced_names[] = {
    STEP_CALLBACKS,
    SCOPE_CALLBACKS,
    "__cxa_throw",
    "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE",
    "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE",
    "_ZN2at8autocast17increment_nestingEv",
    "_ZN2at8autocast17decrement_nestingEv",
};
enum { kReplaced = sizeof replaced_names / sizeof replaced_names[0] };

struct replacing {
  void* ours[kReplaced];
  ElfW(Addr) own_base;
  unsigned long long now,
      seen; /* of the loader's count of objects: no more were added since `seen` */
};

static void write_slot(const struct dl_phdr_info* info, void** slot, void* value) {
  if (*slot == value) return;
  const ElfW(Addr) page_bytes = (ElfW(Addr))sysconf(_SC_PAGESIZE);
  void* page = (void*)((ElfW(Addr))slot & ~(page_bytes - 1));
  int is_sealed = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Addr) begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO && (ElfW(Addr))slot >= begin &&
        (ElfW(Addr))slot < begin + info->dlpi_phdr[i].p_memsz)
      is_sealed = 1;
  }
  if (is_sealed && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  if (is_sealed) mprotect(page, page_bytes, PROT_READ);
}

static void replace_in_table(const struct dl_phdr_info* info, const struct replacing* replacing,
                             const ElfW(Rela) * rela, size_t bytes, const ElfW(Sym) * symbols,
                             const char* strings) {
  for (size_t i = 0; rela && i < bytes / sizeof *rela; ++i) {
    const unsigned type = ELF64_R_TYPE(rela[i].r_info);
    if (type != kJumpSlot && type != kGlobalSlot) continue;
    const char* name = strings + symbols[ELF64_R_SYM(rela[i].r_info)].st_name;
    for (int k = 0; k < kReplaced; ++k)
      if (replacing->ours[k] && strcmp(name, replaced_names[k]) == 0)
        write_slot(info, (void**)(info->dlpi_addr + rela[i].r_offset), replacing->ours[k]);
  }
}

static int replace_in_object(struct dl_phdr_info* info, size_t size, void* data) {
  struct replacing* replacing = data;
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs)) {
    if (info->dlpi_adds == replacing->seen) return 1;
    replacing->now = info->dlpi_adds;
  }
  if (info->dlpi_addr == replacing->own_base || !info->dlpi_name || !*info->dlpi_name ||
      starts_with(base_name(info->dlpi_name), "libstdc++.so"))
    return 0;
  const struct tables tables = tables_of(info);
  if (!tables.symbols || !tables.strings) return 0;
  replace_in_table(info, replacing, tables.calls, tables.calls_bytes, tables.symbols,
                   tables.strings);
  replace_in_table(info, replacing, tables.others, tables.others_bytes, tables.symbols,
                   tables.strings);
  return 0;
}

static void replace_in_all_objects(void) {
  static struct replacing replacing;
  Dl_info own;
  if (!dladdr((void*)dtypecheck_trampoline_first, &own)) return;
  void* self = dlopen(own.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  if (!self) return;
  replacing.own_base = (ElfW(Addr))own.dli_fbase;
  for (int k = 0; k < kReplaced; ++k) replacing.ours[k] = dlsym(self, replaced_names[k]);
  if (!is_asked) replacing.ours[0] = replacing.ours[1] = NULL;
  dl_iterate_phdr(replace_in_object, &replacing);
  replacing.seen = replacing.now;
}

static void find_autocast(void);

static int has_observers(void* libtorch) {
  int (*has)(void);
  *(void**)&has = dlsym(libtorch, "_ZN2at12hasCallbacksEv");
  return !has || (has() & 1);
}

/* Recording begins; 0 when it does. 1: this process was preloaded, and is recorded already; 2: it
 * has no LibTorch yet; 3: it cannot be recorded, and complain() has said why; 4: a recording that
 * was begun so goes on. */
EXPORT int dtypecheck_begin(const char* folder, const char* hooks, const char* exe,
                            const char* options) {
  static void* libtorch;
  int (*resume)(void) = NULL;
  if (stage2 && libtorch) { /* not the first time */
    if (strlen(folder) >= sizeof run_folder) return 3;
    char folder_before[sizeof run_folder];
    strcpy(folder_before, run_folder);
    const char* options_before = stage1.options;
    strcpy(run_folder, folder);
    stage1.options = options ? strdup(options) : ""; /* the last ones may be read at this moment */
    traced_pid = getpid();
    replace_in_all_objects();
    *(void**)&resume = dlsym(stage2, "dtypecheck_hook_resume");
    const int error = resume ? resume() : ENOSYS;
    if (error == EBUSY) {
      strcpy(run_folder, folder_before);
      stage1.options = options_before;
      return 4;
    }
    if (error) complain_about("no trace file can be made", strerror(error));
    return error ? 3 : 0;
  }
  struct dl_phdr_info info;
  if (!find_object("libtorch_cpu.so", libtorch_path, &info)) return 2;
  if (atomic_exchange(&begun, 1)) return libtorch ? 3 : 1;
  libtorch = dlopen(libtorch_path, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY);
  void* real = libtorch ? dlsym(libtorch, STEP_CALLBACKS) : NULL;
  if (!real) return 3;
  char c10[PATH_MAX];
  if (find_object("libc10.so", c10, NULL)) dlopen(c10, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY);
  __atomic_store_n(&dtypecheck_step_callbacks, real, __ATOMIC_RELEASE);
  find_scope_callbacks(libtorch);
  is_asked = find_slot(&info) != NULL;
  was_observed = has_observers(libtorch);
  find_autocast();
  replace_in_all_objects();
  load_stage2(folder, hooks, exe, options);
  return traced_pid ? 0 : 3;
}

/* Recording ends, as the program does by the exception of this text; "" for none. */
EXPORT void dtypecheck_end(const char* uncaught) {
  void (*suspend)(const char*) = NULL;
  if (stage2) *(void**)&suspend = dlsym(stage2, "dtypecheck_hook_suspend");
  if (suspend && in_traced_process()) suspend(uncaught);
}

/* ---- other observers ------------------------------------------------------------------------- */

__attribute__((visibility("hidden"))) void* dtypecheck_real_add_global;
__attribute__((visibility("hidden"))) void* dtypecheck_real_add_thread_local;

/* From the wrappers in trampoline.S: torch.profiler, say, is about to watch. Stage 2 then stops
 * hiding from it what is of no interest to us (op_table.h). */
__attribute__((visibility("hidden"))) void dtypecheck_before_observer(void) {
  char path[PATH_MAX];
  if (!dtypecheck_real_add_global && find_object("libtorch_cpu.so", path, NULL)) {
    void* libtorch = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    if (libtorch) {
      dtypecheck_real_add_thread_local =
          dlsym(libtorch, "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE");
      dtypecheck_real_add_global =
          dlsym(libtorch, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
    }
  }
  was_observed = 1;
  if (on_observer && in_traced_process()) on_observer();
}

/* ---- autocast regions ------------------------------------------------------------------------ */

__attribute__((visibility("hidden"))) void* dtypecheck_real_enter_autocast;
__attribute__((visibility("hidden"))) void* dtypecheck_real_leave_autocast;

static void find_autocast(void) {
  char path[PATH_MAX];
  if (dtypecheck_real_leave_autocast || !find_object("libtorch_cpu.so", path, NULL)) return;
  void* libtorch = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
  if (!libtorch) return;
  dtypecheck_real_enter_autocast = dlsym(libtorch, "_ZN2at8autocast17increment_nestingEv");
  dtypecheck_real_leave_autocast = dlsym(libtorch, "_ZN2at8autocast17decrement_nestingEv");
}

static void tell_autocast(int entered) {
  const int saved_errno = errno;
  find_autocast();
  if (on_autocast && in_traced_process()) on_autocast(entered);
  errno = saved_errno;
}

/* From the wrappers in trampoline.S. */
__attribute__((visibility("hidden"))) void dtypecheck_before_autocast(void) { tell_autocast(1); }
__attribute__((visibility("hidden"))) void dtypecheck_after_autocast(void) { tell_autocast(0); }

/* ---- what a throwing op says ----------------------------------------------------------------- */

typedef void (*ThrowFn)(void*, void*, void (*)(void*)) __attribute__((noreturn));

static void* find_real_throw(void) {
  void* real = dlsym(RTLD_NEXT, "__cxa_throw");
  char path[PATH_MAX];
  if (!real &&
      find_object("libstdc++.so", path, NULL)) { /* came in with RTLD_LOCAL, as under Python */
    void* library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    if (library) real = dlsym(library, "__cxa_throw");
  }
  if (!real && find_object("libc++abi.so", path, NULL)) {
    void* library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    if (library) real = dlsym(library, "__cxa_throw");
  }
  return real;
}

EXPORT void __cxa_throw(void* object, void* type_info, void (*destructor)(void*)) {
  static ThrowFn real;
  if (!real) *(void**)&real = find_real_throw();
  if (!real) {
    complain("no C++ run time was found to throw an exception with");
    abort();
  }
  if (on_throw && in_traced_process()) on_throw(object, type_info);
  real(object, type_info, destructor);
}

/* ---- threads that begin ---------------------------------------------------------------------- */

struct thread_start {
  void* (*function)(void*);
  void* argument;
};

static void* start_thread(void* start_and_argument) {
  const struct thread_start start = *(struct thread_start*)start_and_argument;
  free(start_and_argument);
  if (on_thread_start && in_traced_process()) on_thread_start();
  return start.function(start.argument);
}

/* --keep-going has to be there before a thread's first op; nobody else asks for it. */
EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                          void* (*function)(void*), void* argument) {
  static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "pthread_create");
  struct thread_start* start =
      on_thread_start && in_traced_process() ? malloc(sizeof *start) : NULL;
  if (!start) return real(thread, attributes, function, argument);
  *start = (struct thread_start){function, argument};
  const int error = real(thread, attributes, start_thread, start);
  if (error) free(start);
  return error;
}

/* ---- how the process ends -------------------------------------------------------------------- */

/* The function that ours of this name stands before. */
#define REAL(name)               \
  static __typeof__(&name) real; \
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, #name)

static void will_exec(int failed) {
  if (on_exec && in_traced_process()) on_exec(failed);
}

#define DEFINE_EXEC(name, parameters, file, env, arguments)        \
  EXPORT int name parameters {                                     \
    REAL(name);                                                    \
    const int noted = note_start(file, argv, env, (long)getpid()); \
    will_exec(0);                                                  \
    const int result = real arguments;                             \
    const int saved_errno = errno;                                 \
    take_note_back(noted);                                         \
    will_exec(1);                                                  \
    errno = saved_errno;                                           \
    return result;                                                 \
  }
DEFINE_EXEC(execve, (const char* path, char* const argv[], char* const env[]), path, env,
            (path, argv, env))
DEFINE_EXEC(execvp, (const char* file, char* const argv[]), file, environ, (file, argv))
DEFINE_EXEC(execvpe, (const char* file, char* const argv[], char* const env[]), file, env,
            (file, argv, env))
EXPORT int execv(const char* path, char* const argv[]) { return execve(path, argv, environ); }

typedef int (*SpawnFn)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                       const posix_spawnattr_t*, char* const[], char* const[]);

static int spawn(SpawnFn real, pid_t* pid, const char* file,
                 const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
                 char* const argv[], char* const env[]) {
  pid_t child = 0;
  const int error = real(&child, file, actions, attributes, argv, env);
  if (error == 0) note_start(file, argv, env, (long)child);
  if (pid) *pid = child;
  return error;
}

EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                       const posix_spawnattr_t* attributes, char* const argv[], char* const env[]) {
  REAL(posix_spawn);
  return spawn(real, pid, path, actions, attributes, argv, env);
}

EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes, char* const argv[],
                        char* const env[]) {
  REAL(posix_spawnp);
  return spawn(real, pid, file, actions, attributes, argv, env);
}

/* Kept here and written at the end: a handler of a signal may send one, too. */
static void note_kill(long pid, int signal) {
  const long by = (long)getpid();
  if (signal == 0 || pid == by || !in_traced_process()) return;
  const int at = __atomic_fetch_add(&kill_count, 1, __ATOMIC_RELAXED);
  if (at < DTYPECHECK_MOST_KILLS) kills[at] = (DtypecheckKill){by, pid, signal};
}

EXPORT int kill(pid_t pid, int signal) {
  REAL(kill);
  note_kill((long)pid, signal);
  return real(pid, signal);
}

EXPORT int killpg(pid_t group, int signal) {
  REAL(killpg);
  note_kill(-(long)group, signal);
  return real(group, signal);
}

EXPORT void _exit(int status) {
  REAL(_exit);
  if (at_end && in_traced_process()) at_end();
  real(status);
}

__attribute__((destructor)) static void at_exit(void) {
  if (at_end && in_traced_process()) at_end();
}
