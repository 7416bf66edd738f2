/* trampoline.S: symbols that are entered for others and leave no frame behind.
 *
 * at::getStepCallbacksUnlessEmpty(RecordScope) returns a C++ object through a hidden pointer, so
 * its registers must reach the real function as they came: a jump through a pointer, which at first
 * leads to dtypecheck_first_op() in preload.c. dlopen() finds the caller's RUNPATH by its return
 * address, so it may only be jumped to as well, and at::add…Callback() takes a C++ struct by value.
 */
#define STEP_CALLBACKS _ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE
/* The same for at::getStepCallbacks(RecordScope), which a RecordFunction asks that is made for a scope. */
#define SCOPE_CALLBACKS _ZN2at16getStepCallbacksENS_11RecordScopeE

    .text

#if defined(__x86_64__)

    .macro SAVE_AND_CALL function
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    subq $128, %rsp
    andq $-16, %rsp
    movups %xmm0, 0(%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    call \function
    movups 0(%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    leaq -48(%rbp), %rsp
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    popq %rbp
    .cfi_def_cfa %rsp, 8
    .endm

    .macro JUMP_THROUGH pointer
    jmp *\pointer(%rip)
    .endm

#elif defined(__aarch64__)

    .macro SAVE_AND_CALL function
    stp x29, x30, [sp, #-96]!
    .cfi_def_cfa_offset 96
    .cfi_offset 29, -96
    .cfi_offset 30, -88
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    bl \function
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp x29, x30, [sp], #96
    .cfi_restore 29
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    .endm

    .macro JUMP_THROUGH pointer
    adrp x16, \pointer
    ldr x16, [x16, #:lo12:\pointer]
    br x16
    .endm

#else
#error "the tracer's trampoline is written for x86-64 and AArch64"
#endif

    .macro ENTRY name, pointer, before=
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .ifnb \before
    SAVE_AND_CALL \before
    .endif
    JUMP_THROUGH \pointer
    .cfi_endproc
    .size \name, . - \name
    .endm

    .hidden dtypecheck_trampoline_first
    .hidden dtypecheck_trampoline_first_scope
    ENTRY STEP_CALLBACKS, dtypecheck_step_callbacks
    ENTRY dtypecheck_trampoline_first, dtypecheck_step_callbacks, dtypecheck_first_op
    ENTRY SCOPE_CALLBACKS, dtypecheck_scope_callbacks
    ENTRY dtypecheck_trampoline_first_scope, dtypecheck_scope_callbacks, dtypecheck_first_scope
    ENTRY dlopen, dtypecheck_real_dlopen, dtypecheck_before_dlopen
    ENTRY _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE, dtypecheck_real_add_global, dtypecheck_before_observer
    ENTRY _ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE, dtypecheck_real_add_thread_local, dtypecheck_before_observer
    ENTRY _ZN2at8autocast17increment_nestingEv, dtypecheck_real_enter_autocast, dtypecheck_before_autocast
    ENTRY _ZN2at8autocast17decrement_nestingEv, dtypecheck_real_leave_autocast, dtypecheck_after_autocast

    .section .note.GNU-stack, "", @progbits
