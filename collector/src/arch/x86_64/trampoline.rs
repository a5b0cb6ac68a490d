//! The trampoline's code: one entry for each call site, and the body that they share.
//!
//! An entry is reached by a `ret`, so on arrival `rsp` is just above the slot that held the entry's
//! address, and *every* register and flag may be live: gcc's `-fipa-ra` keeps values in
//! caller-saved registers across calls, Rust returns in rax, rdx and rcx, vectors return in xmm,
//! ymm, zmm. The body therefore uses only instructions that touch neither flags nor vector
//! registers (push, pop, mov, lea, not, jrcxz), and addition and comparison are `lea` and `jrcxz`.
//! Memory below `rsp` is the returned callee's frame, dead by now; the caller made a call, so it
//! has no red zone in use (psABI 3.2.2).
//!
//! **Unwinding through an armed slot.** Unwinders that csprof cannot interpose (glibc's own copy
//! of libgcc for pthread_cancel, a static libgcc, gdb) meet the entry's address as a return
//! address. The code block has call frame information that leads them on: the CFA is `rsp`
//! unchanged, and the return address is computed by a DWARF expression that starts from the
//! entry's address (register 16), adds the displacement inside its `lea` instruction to reach the
//! site, and reads the real address there. It asks nothing of the thread, so it is right in any, at
//! any time, also after the slot was put right. The frame is marked as a signal frame, so
//! that its canonical address differs from its caller's (libgcc subtracts one) and libgcc does not
//! take it for the frame that handles the exception; since the caller's address is then taken as
//! exact, the expression gives the real address minus one, which lies in the call instruction.
//! The procedure starts one byte before the first entry, because an unwinder looks up a return
//! address minus one. A handler of the program that interrupts the trampoline may unwind, too
//! (asynchronous cancellation does): the information is right at every instruction.

/// Bytes of an entry, and of what the table of call sites has for it, which begins with the return
/// address.
pub(crate) const STRIDE: usize = 16;

/// Defines the code for `$sites` call sites, which are in the static `$table`, and for the record
/// and the cached path that the thread's [`thread_word`](super::thread_local::thread_word)
/// `csprof_record` points to: structures of types `$record` and `$entry`.
macro_rules! trampoline {
    ($sites:expr, $table:path, $record:ty, $entry:ty) => {
        core::arch::global_asm!(
            ".pushsection .text.csprof_trampoline,\"ax\",@progbits",
            ".balign 64",
            ".cfi_startproc",
            ".cfi_signal_frame",
            // DW_CFA_def_cfa_expression, 11 bytes: breg7 0; breg16 0; lit15; and; lit0; ne; lit3;
            // shl; plus  (rsp, or rsp + 8 behind the push)
            ".cfi_escape 0x0f, 0x0b, 0x77, 0x00, 0x80, 0x00, 0x3f, 0x1a, 0x30, 0x2e, 0x33, 0x24, 0x22",
            // DW_CFA_val_expression r16, 25 bytes: breg16 0; const1s -16; and; plus_uconst 4;
            // deref; const4u 0xffffffff; and  (the displacement of `lea`, positive, for sites lie
            // behind code); breg16 0; const1s -16; and; plus; plus_uconst 8; deref; lit1; minus
            // valgrind knows these operations; of dup, deref_size and shra it would warn in every
            // program.
            ".cfi_escape 0x16, 0x10, 0x19, 0x80, 0x00, 0x09, 0xf0, 0x1a, 0x23, 0x04, 0x06, 0x0c, 0xff, 0xff, \
             0xff, 0xff, 0x1a, 0x80, 0x00, 0x09, 0xf0, 0x1a, 0x22, 0x23, 0x08, 0x06, 0x31, 0x1c",
            ".rept {stride}",
            "nop",
            ".endr",
            ".globl csprof_trampoline_start",
            ".hidden csprof_trampoline_start",
            "csprof_trampoline_start:",
            ".set csprof_site_offset, 0",
            ".rept {sites}",
            "push rax",
            "lea rax, [rip + {table} + csprof_site_offset]",
            "jmp csprof_trampoline_body",
            ".balign {stride}, 0xcc",
            ".set csprof_site_offset, csprof_site_offset + {stride}",
            ".endr",
            ".cfi_endproc",

            ".cfi_startproc",
            // On entry: [rsp] = the program's rax, in the slot; rax = the site.
            ".cfi_def_cfa rsp, 8",
            ".cfi_offset rax, -8",
            // DW_CFA_val_expression r16, 3 bytes: breg0 0; deref
            ".cfi_escape 0x16, 0x10, 0x03, 0x70, 0x00, 0x06",
            "csprof_trampoline_body:",
            "push rcx",
            ".cfi_adjust_cfa_offset 8",
            "csprof_trampoline_pushed_rcx:",
            "push rdx",
            ".cfi_adjust_cfa_offset 8",
            "csprof_trampoline_pushed_rdx:",
            "push rsi",
            ".cfi_adjust_cfa_offset 8",
            "csprof_trampoline_pushed_rsi:",
            // 1. rsi = the record; the slot is at rsp + 24; rdx = the real address.
            "mov rsi, qword ptr [rip + csprof_record@GOTTPOFF]",
            "mov rsi, qword ptr fs:[rsi]",
            "mov rdx, [rax]",
            "mov rcx, rsi",
            "jrcxz 2f",
            "mov rcx, [rsi + {armed_slot}]",
            "not rcx",
            "lea rcx, [rcx + rsp + 25]",
            "jrcxz 3f",
            "2:",
            "jmp csprof_trampoline_stray",
            "3:",
            "mov rcx, [rsi + {real}]",
            "not rcx",
            "lea rcx, [rcx + rdx + 1]",
            "jrcxz 4f",
            "jmp csprof_trampoline_stray",
            "4:",
            // The real address into the slot, the program's rax on top of the stack.
            "mov rcx, [rsp + 24]",
            "mov [rsp + 24], rdx",
            ".cfi_offset rip, -8",
            "push rcx",
            ".cfi_adjust_cfa_offset 8",
            ".cfi_offset rax, -40",
            "csprof_trampoline_pushed_rax:",
            // 2. rdx walks from the innermost cached activation to the armed one.
            "mov rdx, [rsi + {inner}]",
            "5:",
            "mov rcx, [rdx + {edge}]",
            "mov rax, [rcx]",
            "lea rax, [rax + 1]",
            "lea rdx, [rdx - {entry_size}]",
            // Counted and done with, next to each other: a handler of the program may leave by a
            // jump in between, and one that comes before or after finds the activation in one
            // state.
            "mov [rsi + {inner}], rdx",
            "mov [rcx], rax",
            "mov rcx, [rsi + {returns}]",
            "mov rax, [rcx]",
            "lea rax, [rax + 1]",
            "mov [rcx], rax",
            "mov rcx, [rsi + {armed}]",
            "not rcx",
            "lea rcx, [rcx + rdx + {entry_size} + 1]",
            "jrcxz 6f",
            "jmp 5b",
            "6:",
            // 3. rdx = the next activation to arm; rax = its slot.
            "mov rcx, [rsi + {armed}]",
            "mov rdx, [rcx + {next}]",
            "lea rdx, [rdx + rcx]",
            "mov [rsi + {armed}], rdx",
            "csprof_trampoline_moved:",
            "mov rax, [rdx + {entry_slot}]",
            "mov [rsi + {armed_slot}], rax",
            "mov rcx, rax",
            "jrcxz 8f",
            "mov rcx, [rdx + {entry_real}]",
            "mov [rsi + {real}], rcx",
            "not rcx",
            "mov rdx, [rax]",
            "lea rcx, [rcx + rdx + 1]",
            "jrcxz 7f",
            // The slot holds something else: leave it alone; the next sample finds nothing armed.
            "mov qword ptr [rsi + {armed_slot}], 0",
            "jmp 8f",
            "7:",
            "mov rdx, [rsi + {armed}]",
            "mov ecx, [rdx + {site}]",
            "lea rdx, [rip + csprof_trampoline_start - {stride}]",
            "lea rcx, [rcx + rdx]",
            "mov [rax], rcx",
            "8:",
            // 4.
            "pop rax",
            ".cfi_adjust_cfa_offset -8",
            ".cfi_same_value rax",
            "csprof_trampoline_popped_rax:",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "csprof_trampoline_popped_rsi:",
            "pop rdx",
            ".cfi_adjust_cfa_offset -8",
            "csprof_trampoline_popped_rdx:",
            "pop rcx",
            ".cfi_adjust_cfa_offset -8",
            "csprof_trampoline_popped_rcx:",
            "ret",
            ".cfi_endproc",

            ".cfi_startproc",
            ".cfi_def_cfa rsp, 32",
            ".cfi_offset rax, -8",
            ".cfi_escape 0x16, 0x10, 0x03, 0x70, 0x00, 0x06",
            // As the body left it: rax = the site, rdx = the real address, rsi = the record or
            // null.
            "csprof_trampoline_stray:",
            "mov rcx, rsi",
            "jrcxz 2f",
            "pushfq",
            ".cfi_adjust_cfa_offset 8",
            "cmp rdx, [rsi + {real}]",
            "jne 1f",
            "mov rcx, [rsi + {armed_slot}]",
            "test rcx, rcx",
            "jz 1f",
            // How many bytes of arguments are popped, if any are; the armed slot is mapped if it is
            // so near.
            "lea rdx, [rsp + 32]",
            "sub rdx, rcx",
            "cmp rdx, 0x10000",
            "jae 1f",
            "mov rcx, [rcx]",
            "lea rdx, [rip + csprof_trampoline_start]",
            "sub rcx, rdx",
            "lea rdx, [rip + {table}]",
            "add rcx, rdx",
            "cmp rcx, rax",
            "jne 1f",
            // The slot whose return is under way is the one that does not hold its entry any more.
            "lea rcx, [rsp + 32]",
            "mov [rsi + {armed_slot}], rcx",
            "mov rdx, [rax]",
            ".cfi_remember_state",
            "popfq",
            ".cfi_adjust_cfa_offset -8",
            "jmp 4b",
            ".cfi_restore_state",
            "1:",
            "popfq",
            ".cfi_adjust_cfa_offset -8",
            "2:",
            "mov rdx, [rax]",
            "mov rcx, [rsp + 24]",
            "mov [rsp + 24], rdx",
            ".cfi_offset rip, -8",
            ".cfi_register rax, rcx",
            "mov rax, rcx",
            ".cfi_same_value rax",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "pop rdx",
            ".cfi_adjust_cfa_offset -8",
            "pop rcx",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            ".globl csprof_trampoline_end",
            ".hidden csprof_trampoline_end",
            "csprof_trampoline_end:",
            ".cfi_endproc",
            // No function begins where the trampoline ends.
            "int3",
            ".popsection",

            // Where the body changes what `InterruptedReturn::at` tells, as distances from the
            // first entry.
            ".pushsection .rodata.csprof_trampoline,\"a\",@progbits",
            ".balign 4",
            ".globl csprof_trampoline_marks",
            ".hidden csprof_trampoline_marks",
            "csprof_trampoline_marks:",
            ".irp mark, body, pushed_rcx, pushed_rdx, pushed_rsi, pushed_rax, popped_rax, popped_rsi, \
             popped_rdx, popped_rcx, stray, moved",
            ".long csprof_trampoline_\\mark - csprof_trampoline_start",
            ".endr",
            ".popsection",
            sites = const $sites,
            stride = const $crate::arch::STRIDE,
            table = sym $table,
            armed_slot = const core::mem::offset_of!($record, armed_slot),
            real = const core::mem::offset_of!($record, real),
            armed = const core::mem::offset_of!($record, armed),
            inner = const core::mem::offset_of!($record, inner),
            returns = const core::mem::offset_of!($record, returns),
            entry_size = const size_of::<$entry>(),
            entry_slot = const core::mem::offset_of!($entry, slot),
            entry_real = const core::mem::offset_of!($entry, real),
            edge = const core::mem::offset_of!($entry, edge),
            next = const core::mem::offset_of!($entry, next),
            site = const core::mem::offset_of!($entry, site),
        );
    };
}

pub(crate) use trampoline;

unsafe extern "C" {
    static csprof_trampoline_start: [u8; 0];
    static csprof_trampoline_end: [u8; 0];
    static csprof_trampoline_marks: [u32; BELOW.len() + 2];
}

/// Bytes that the body has on the stack below the slot, from each of its marks on.
const BELOW: [u64; 9] = [0, 8, 16, 24, 32, 24, 16, 8, 0];

/// How far the trampoline has come with one return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InterruptedReturn {
    /// The slot through which the activation returned.
    pub slot: u64,
    /// Whether the record says already which activation is armed next.
    pub moved: bool,
}

impl InterruptedReturn {
    /// The place of a thread that was interrupted at `pc` with the stack pointer `sp`; `None`
    /// outside the trampoline's code, and with a return that nobody waits for.
    pub(crate) fn at(pc: u64, sp: u64) -> Option<Self> {
        let distance = pc.wrapping_sub(trampoline_start());
        // SAFETY: constants of the assembly above.
        let [marks @ .., stray, moved] = unsafe { csprof_trampoline_marks }.map(u64::from);
        // The body begins where the entries end.
        if distance < marks[0] {
            let pushed = !distance.is_multiple_of(STRIDE as u64);
            return Some(Self { slot: if pushed { sp } else { sp - 8 }, moved: false });
        }
        if distance >= stray {
            return None;
        }
        let passed = marks.iter().rposition(|&mark| mark <= distance)?;
        Some(Self { slot: sp + BELOW.get(passed)?, moved: distance >= moved })
    }
}

/// Where the first entry begins.
pub(crate) fn trampoline_start() -> u64 {
    (&raw const csprof_trampoline_start).expose_provenance() as u64
}

/// Where the trampoline's code ends.
pub(crate) fn trampoline_end() -> u64 {
    (&raw const csprof_trampoline_end).expose_provenance() as u64
}
