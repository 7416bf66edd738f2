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
    .cfi_startproc
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

    .globl STEP_CALLBACKS
    .type STEP_CALLBACKS, @function
STEP_CALLBACKS:
    .cfi_startproc
    jmp *dtypecheck_step_callbacks(%rip)
    .cfi_endproc
    .size STEP_CALLBACKS, . - STEP_CALLBACKS

    .hidden dtypecheck_trampoline_first
    .globl dtypecheck_trampoline_first
    .type dtypecheck_trampoline_first, @function
dtypecheck_trampoline_first:
    SAVE_AND_CALL dtypecheck_first_op
    jmp *dtypecheck_step_callbacks(%rip)
    .cfi_endproc
    .size dtypecheck_trampoline_first, . - dtypecheck_trampoline_first

    .globl SCOPE_CALLBACKS
    .type SCOPE_CALLBACKS, @function
SCOPE_CALLBACKS:
    .cfi_startproc
    jmp *dtypecheck_scope_callbacks(%rip)
    .cfi_endproc
    .size SCOPE_CALLBACKS, . - SCOPE_CALLBACKS

    .hidden dtypecheck_trampoline_first_scope
    .globl dtypecheck_trampoline_first_scope
    .type dtypecheck_trampoline_first_scope, @function
dtypecheck_trampoline_first_scope:
    SAVE_AND_CALL dtypecheck_first_scope
    jmp *dtypecheck_scope_callbacks(%rip)
    .cfi_endproc
    .size dtypecheck_trampoline_first_scope, . - dtypecheck_trampoline_first_scope

    .globl dlopen
    .type dlopen, @function
dlopen:
    SAVE_AND_CALL dtypecheck_before_dlopen
    jmp *dtypecheck_real_dlopen(%rip)
    .cfi_endproc
    .size dlopen, . - dlopen

    .globl _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE
    .type _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE, @function
_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE:
    SAVE_AND_CALL dtypecheck_before_observer
    jmp *dtypecheck_real_add_global(%rip)
    .cfi_endproc
    .size _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE, . - _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE

    .globl _ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE
    .type _ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE, @function
_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE:
    SAVE_AND_CALL dtypecheck_before_observer
    jmp *dtypecheck_real_add_thread_local(%rip)
    .cfi_endproc
    .size _ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE, . - _ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE

    .globl _ZN2at8autocast17increment_nestingEv
    .type _ZN2at8autocast17increment_nestingEv, @function
_ZN2at8autocast17increment_nestingEv:
    SAVE_AND_CALL dtypecheck_before_autocast
    jmp *dtypecheck_real_enter_autocast(%rip)
    .cfi_endproc
    .size _ZN2at8autocast17increment_nestingEv, . - _ZN2at8autocast17increment_nestingEv

    .globl _ZN2at8autocast17decrement_nestingEv
    .type _ZN2at8autocast17decrement_nestingEv, @function
_ZN2at8autocast17decrement_nestingEv:
    SAVE_AND_CALL dtypecheck_after_autocast
    jmp *dtypecheck_real_leave_autocast(%rip)
    .cfi_endproc
    .size _ZN2at8autocast17decrement_nestingEv, . - _ZN2at8autocast17decrement_nestingEv

#elif defined(__aarch64__)

    .macro SAVE_AND_CALL function
    .cfi_startproc
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

    .globl STEP_CALLBACKS
    .type STEP_CALLBACKS, @function
STEP_CALLBACKS:
    .cfi_startproc
    JUMP_THROUGH dtypecheck_step_callbacks
    .cfi_endproc
    .size STEP_CALLBACKS, . - STEP_CALLBACKS

    .hidden dtypecheck_trampoline_first
    .globl dtypecheck_trampoline_first
    .type dtypecheck_trampoline_first, @function
dtypecheck_trampoline_first:
    SAVE_AND_CALL dtypecheck_first_op
    JUMP_THROUGH dtypecheck_step_callbacks
    .cfi_endproc
    .size dtypecheck_trampoline_first, . - dtypecheck_trampoline_first

    .globl SCOPE_CALLBACKS
    .type SCOPE_CALLBACKS, @function
SCOPE_CALLBACKS:
    .cfi_startproc
    JUMP_THROUGH dtypecheck_scope_callbacks
    .cfi_endproc
    .size SCOPE_CALLBACKS, . - SCOPE_CALLBACKS

    .hidden dtypecheck_trampoline_first_scope
    .globl dtypecheck_trampoline_first_scope
    .type dtypecheck_trampoline_first_scope, @function
dtypecheck_trampoline_first_scope:
    SAVE_AND_CALL dtypecheck_first_scope
    JUMP_THROUGH dtypecheck_scope_callbacks
    .cfi_endproc
    .size dtypecheck_trampoline_first_scope, . - dtypecheck_trampoline_first_scope

    .globl dlopen
    .type dlopen, @function
dlopen:
    SAVE_AND_CALL dtypecheck_before_dlopen
    JUMP_THROUGH dtypecheck_real_dlopen
    .cfi_endproc
    .size dlopen, . - dlopen

    .globl _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE
    .type _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE, @function
_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE:
    SAVE_AND_CALL dtypecheck_before_observer
    JUMP_THROUGH dtypecheck_real_add_global
    .cfi_endproc
    .size _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE, . - _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE

    .globl _ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE
    .type _ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE, @function
_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE:
    SAVE_AND_CALL dtypecheck_before_observer
    JUMP_THROUGH dtypecheck_real_add_thread_local
    .cfi_endproc
    .size _ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE, . - _ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE

    .globl _ZN2at8autocast17increment_nestingEv
    .type _ZN2at8autocast17increment_nestingEv, @function
_ZN2at8autocast17increment_nestingEv:
    SAVE_AND_CALL dtypecheck_before_autocast
    JUMP_THROUGH dtypecheck_real_enter_autocast
    .cfi_endproc
    .size _ZN2at8autocast17increment_nestingEv, . - _ZN2at8autocast17increment_nestingEv

    .globl _ZN2at8autocast17decrement_nestingEv
    .type _ZN2at8autocast17decrement_nestingEv, @function
_ZN2at8autocast17decrement_nestingEv:
    SAVE_AND_CALL dtypecheck_after_autocast
    JUMP_THROUGH dtypecheck_real_leave_autocast
    .cfi_endproc
    .size _ZN2at8autocast17decrement_nestingEv, . - _ZN2at8autocast17decrement_nestingEv

#else
#error "the tracer's trampoline is written for x86-64 and AArch64"
#endif

    .section .note.GNU-stack, "", @progbits
