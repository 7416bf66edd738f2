/* stub.S: what is copied into a process that runs already (inject.h). Two pages: this code, and
 * behind it struct StubData (stub.h), whose offsets stand here as numbers. Position-independent, and
 * calls nothing but what the data names. */
#if defined(__x86_64__)
#define DATA dtypecheck_stub + 4096
#define ORIGINAL 0
#define SLOT 8
#define EXPECTED 16
#define VALUE 24
#define FOUND 32
#define DLOPEN 40
#define PATH 48
#define OFFSET 56
#define FUNCTION 64
#define ARGUMENTS 72
#define RESULT 104
#define TAKEN 112
#define STATE 116
  .section .rodata
  .balign 16
  .globl dtypecheck_stub, dtypecheck_stub_store, dtypecheck_stub_stop, dtypecheck_stub_end
  .hidden dtypecheck_stub, dtypecheck_stub_store, dtypecheck_stub_stop, dtypecheck_stub_end

/* In place of at::getStepCallbacksUnlessEmpty(), at the start of an op: the first thread that comes
 * loads the library and calls its function; all go on to the real one. The arguments' registers are
 * kept, and no others have to be at a function's start. */
dtypecheck_stub:
  endbr64
  lea DATA(%rip), %r11
  mov $1, %eax
  xchg %eax, TAKEN(%r11)
  test %eax, %eax
  jnz 5f
  push %rbp
  mov %rsp, %rbp
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  push %rbx
  push %r12
  and $-16, %rsp
  mov %r11, %rbx
  movl $1, STATE(%rbx)
  mov FUNCTION(%rbx), %r12
  test %r12, %r12
  jnz 2f
  mov PATH(%rbx), %rdi
  mov $2, %esi /* RTLD_NOW */
  call *DLOPEN(%rbx)
  test %rax, %rax
  jz 3f
  mov (%rax), %r12 /* link_map::l_addr: where it was loaded */
  add OFFSET(%rbx), %r12
2:
  mov ARGUMENTS(%rbx), %rdi
  mov ARGUMENTS+8(%rbx), %rsi
  mov ARGUMENTS+16(%rbx), %rdx
  mov ARGUMENTS+24(%rbx), %rcx
  call *%r12
  movslq %eax, %rax
  mov %rax, RESULT(%rbx)
  movl $2, STATE(%rbx)
  jmp 4f
3:
  movl $3, STATE(%rbx)
4:
  mov %rbx, %r11
  lea -64(%rbp), %rsp
  pop %r12
  pop %rbx
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  pop %rbp
5:
  jmp *ORIGINAL(%r11)

/* Run once in a stopped thread: the slot gets another value, if it has the one that is expected. Ends
 * in a system call that does nothing, at which the thread is stopped again. */
dtypecheck_stub_store:
  lea DATA(%rip), %rbx
  mov SLOT(%rbx), %rcx
  mov VALUE(%rbx), %rdx
  mov EXPECTED(%rbx), %rax
  lock cmpxchg %rdx, (%rcx)
  mov %rax, FOUND(%rbx)
  mov $39, %eax /* getpid */
dtypecheck_stub_stop:
  syscall
  ud2
dtypecheck_stub_end:
#endif
  .section .note.GNU-stack, "", @progbits
