//! The trampoline's code: where a return lands whose address was replaced.
//!
//! One 16-byte entry per thread, so the entry's address says whose it is and no thread-local
//! lookup is needed. An entry is reached by the `ret` of a sampled activation, so on arrival
//! `rsp` is just above the slot that held the entry's address, and *every* register and flag may
//! be live: gcc's `-fipa-ra` keeps values in caller-saved registers across calls, Rust returns in
//! rax, rdx and rcx, vectors return in xmm, ymm, zmm. The body therefore uses only instructions
//! that touch neither flags nor vector registers (push, pop, mov, lea, not, jrcxz), and addition
//! and comparison are `lea` and `jrcxz`. Memory below `rsp` is the returned callee's frame, dead by
//! now; the caller made a call, so it has no red zone in use (psABI 3.2.2).
//!
//! What the body does, in order:
//! 1. checks that `rsp − 8` is the slot that was armed, and that this is the thread that armed it;
//! 2. adds 1 to the edge count of each cached activation from the innermost to the armed one;
//! 3. arms the next activation outward, if its slot still holds what was seen there;
//! 4. returns to the real address.
//!
//! If a check fails, all state is saved and [`super::lost`] finds the real address.
//!
//! **Samples.** A handler that interrupts the trampoline knows where the thread is going: see
//! [`Place`]. What it must not do is change the record or the path.
//!
//! **Unwinding through an armed slot.** Unwinders that csprof cannot interpose (glibc's own copy
//! of libgcc for pthread_cancel, a static libgcc, gdb) meet the entry's address as a return
//! address. The code block has call frame information that leads them on: the CFA is `rsp`
//! unchanged, and the return address is computed by a DWARF expression that starts from the
//! entry's address (register 16), adds the displacement inside its `lea` instruction to reach the
//! thread's record, and reads the real address there. The frame is marked as a signal frame, so
//! that its canonical address differs from its caller's (libgcc subtracts one) and libgcc does not
//! take it for the frame that handles the exception; since the caller's address is then taken as
//! exact, the expression gives the real address minus one, which lies in the call instruction.
//! The procedure starts one byte before the first entry, because an unwinder looks up a return
//! address minus one. A handler of the program that interrupts the trampoline may unwind, too
//! (asynchronous cancellation does): the information is right at every instruction.

#![expect(unsafe_code, reason = "assembly")]

use core::arch::global_asm;
use core::mem::offset_of;

use super::{Entry, RECORDS, Record};

global_asm!(
    ".pushsection .bss.csprof_trampoline_records,\"aw\",@nobits",
    ".balign 64",
    ".globl csprof_trampoline_records",
    ".hidden csprof_trampoline_records",
    "csprof_trampoline_records:",
    ".zero {record_size} * {records}",
    ".popsection",

    ".pushsection .text.csprof_trampoline,\"ax\",@progbits",
    ".balign 64",
    ".cfi_startproc",
    ".cfi_signal_frame",
    // DW_CFA_def_cfa_expression, 11 bytes:
    //   breg7 0; breg16 0; lit15; and; lit0; ne; lit3; shl; plus  (rsp, or rsp + 8 behind the push)
    ".cfi_escape 0x0f, 0x0b, 0x77, 0x00, 0x80, 0x00, 0x3f, 0x1a, 0x30, 0x2e, 0x33, 0x24, 0x22",
    // DW_CFA_val_expression r16, 25 bytes:
    //   breg16 0; const1s -16; and; plus_uconst 4; deref; const4u 0xffffffff; and  (the displacement
    //   of `lea`, positive, for records lie behind code); breg16 0; const1s -16; and; plus;
    //   plus_uconst 8 + offset of `real`; deref; lit1; minus
    // valgrind knows these operations; of dup, deref_size and shra it would warn in every program.
    ".cfi_escape 0x16, 0x10, 0x19, 0x80, 0x00, 0x09, 0xf0, 0x1a, 0x23, 0x04, 0x06, 0x0c, 0xff, 0xff, \
     0xff, 0xff, 0x1a, 0x80, 0x00, 0x09, 0xf0, 0x1a, 0x22, 0x23, 8 + {real}, 0x06, 0x31, 0x1c",
    ".rept 16",
    "nop",
    ".endr",
    ".globl csprof_trampoline_start",
    ".hidden csprof_trampoline_start",
    "csprof_trampoline_start:",
    ".set csprof_record_offset, 0",
    ".rept {records}",
    "push rax",
    "lea rax, [rip + csprof_trampoline_records + csprof_record_offset]",
    "jmp csprof_trampoline_body",
    ".balign 16, 0xcc",
    ".set csprof_record_offset, csprof_record_offset + {record_size}",
    ".endr",
    ".cfi_endproc",

    ".cfi_startproc",
    // On entry: [rsp] = the program's rax, in the slot; rax = the record.
    ".cfi_def_cfa rsp, 8",
    ".cfi_offset rax, -8",
    // DW_CFA_val_expression r16, 3 bytes: breg0 offset of `real`; deref
    ".cfi_escape 0x16, 0x10, 0x03, 0x70, {real}, 0x06",
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
    // 1. The slot is now at rsp + 24. rcx = slot − armed slot.
    "mov rcx, [rax + {armed_slot}]",
    "not rcx",
    "lea rcx, [rcx + rsp + 25]",
    "jrcxz 2f",
    "jmp csprof_trampoline_lost_way",
    "2:",
    "mov rcx, fs:[0]",
    "not rcx",
    "mov rdx, [rax + {owner}]",
    "lea rcx, [rcx + rdx + 1]",
    "jrcxz 3f",
    "jmp csprof_trampoline_lost_way",
    "3:",
    // 2. rdx walks from the innermost cached activation to the armed one.
    "mov rdx, [rax + {inner}]",
    "4:",
    "mov rcx, [rdx + {edge}]",
    "mov rsi, [rcx]",
    "lea rsi, [rsi + 1]",
    "lea rdx, [rdx - {entry_size}]",
    // Counted and done with, next to each other: a handler of the program may leave by a jump in
    // between, and one that comes before or after finds the activation in one state.
    "mov [rax + {inner}], rdx",
    "mov [rcx], rsi",
    "mov rcx, [rax + {returns}]",
    "mov rsi, [rcx]",
    "lea rsi, [rsi + 1]",
    "mov [rcx], rsi",
    "mov rcx, [rax + {armed}]",
    "not rcx",
    "lea rcx, [rcx + rdx + {entry_size} + 1]",
    "jrcxz 5f",
    "jmp 4b",
    "5:",
    // Put the real address into the slot, the program's rax on top of the stack.
    "mov rsi, [rax + {real}]",
    "mov rdx, [rsp + 24]",
    "mov [rsp + 24], rsi",
    ".cfi_offset rip, -8",
    "push rdx",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_offset rax, -40",
    "csprof_trampoline_pushed_rax:",
    // 3. rcx = the next activation to arm.
    "mov rcx, [rax + {armed}]",
    "mov rdx, [rcx + {next}]",
    "lea rdx, [rdx + rcx]",
    "mov [rax + {armed}], rdx",
    "csprof_trampoline_moved:",
    "mov rsi, [rdx + {entry_slot}]",
    "mov [rax + {armed_slot}], rsi",
    "mov rcx, rsi",
    "jrcxz 6f",
    "mov rcx, [rdx + {entry_real}]",
    "mov [rax + {real}], rcx",
    "not rcx",
    "mov rdx, [rsi]",
    "lea rcx, [rcx + rdx + 1]",
    "jrcxz 7f",
    // The slot holds something else: leave it alone; the next sample finds nothing armed.
    "mov qword ptr [rax + {armed_slot}], 0",
    "jmp 6f",
    "7:",
    "mov rcx, [rax + {entry_address}]",
    "mov [rsi], rcx",
    "6:",
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
    ".cfi_undefined rip",
    "csprof_trampoline_lost_way:",
    "pushfq",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    "push rbx",
    "mov rdi, rax",
    "lea rsi, [rsp + 80]",
    "mov rbx, rsp",
    "sub rsp, 576",
    "and rsp, -64",
    "fxsave64 [rsp]",
    "cld",
    "call {lost}",
    "fxrstor64 [rsp]",
    "mov rsp, rbx",
    "pop rbx",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "popfq",
    "mov rdx, [rsp + 24]",
    "mov [rsp + 24], rax",
    "mov rax, rdx",
    "pop rsi",
    "pop rdx",
    "pop rcx",
    "ret",
    ".globl csprof_trampoline_end",
    ".hidden csprof_trampoline_end",
    "csprof_trampoline_end:",
    ".cfi_endproc",
    ".popsection",

    // Where the body changes what `Place::at` tells, as distances from the first entry.
    ".pushsection .rodata.csprof_trampoline,\"a\",@progbits",
    ".balign 4",
    ".globl csprof_trampoline_marks",
    ".hidden csprof_trampoline_marks",
    "csprof_trampoline_marks:",
    ".irp mark, body, pushed_rcx, pushed_rdx, pushed_rsi, pushed_rax, popped_rax, popped_rsi, \
     popped_rdx, popped_rcx, lost_way, moved",
    ".long csprof_trampoline_\\mark - csprof_trampoline_start",
    ".endr",
    ".popsection",
    records = const RECORDS,
    record_size = const size_of::<Record>(),
    armed_slot = const offset_of!(Record, armed_slot),
    real = const offset_of!(Record, real),
    armed = const offset_of!(Record, armed),
    inner = const offset_of!(Record, inner),
    owner = const offset_of!(Record, owner),
    entry_address = const offset_of!(Record, entry_address),
    returns = const offset_of!(Record, returns),
    entry_size = const size_of::<Entry>(),
    entry_slot = const offset_of!(Entry, slot),
    entry_real = const offset_of!(Entry, real),
    edge = const offset_of!(Entry, edge),
    next = const offset_of!(Entry, next),
    lost = sym super::lost,
);

unsafe extern "C" {
    static csprof_trampoline_start: [u8; 0];
    static csprof_trampoline_end: [u8; 0];
    static csprof_trampoline_marks: [u32; BELOW.len() + 2];
    static csprof_trampoline_records: [core::cell::UnsafeCell<Record>; 0];
}

/// Bytes between entries.
const ENTRY_BYTES: u64 = 16;

/// Whether `pc` lies in the trampoline's code, entry or body.
#[must_use]
pub fn is_trampoline_code(pc: u64) -> bool {
    (code_start()..code_end()).contains(&pc)
}

/// Bytes that the body has on the stack below the slot, from each of its marks on.
const BELOW: [u64; 9] = [0, 8, 16, 24, 32, 24, 16, 8, 0];

/// How far the trampoline has come with one return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The slot through which the activation returned.
    pub slot: u64,
    /// Whether the record says already which activation is armed next.
    pub moved: bool,
}

impl Place {
    /// The place of a thread that was interrupted at `pc` with the stack pointer `sp`; `None`
    /// outside the trampoline's code, and where it has lost its way.
    pub(super) fn at(pc: u64, sp: u64) -> Option<Self> {
        let distance = pc.wrapping_sub(code_start());
        if distance < RECORDS as u64 * ENTRY_BYTES {
            let pushed = !distance.is_multiple_of(ENTRY_BYTES);
            return Some(Self { slot: if pushed { sp } else { sp - 8 }, moved: false });
        }
        // SAFETY: constants of the assembly above.
        let [marks @ .., lost_way, moved] = unsafe { csprof_trampoline_marks }.map(u64::from);
        if distance >= lost_way {
            return None;
        }
        let passed = marks.iter().rposition(|&mark| mark <= distance)?;
        Some(Self { slot: sp + BELOW.get(passed)?, moved: distance >= moved })
    }
}

/// Whether a word read as a return address is the address of an entry.
#[must_use]
pub fn is_entry(address: u64) -> bool {
    let offset = address.wrapping_sub(code_start());
    offset < RECORDS as u64 * ENTRY_BYTES && offset.is_multiple_of(ENTRY_BYTES)
}

fn code_start() -> u64 {
    (&raw const csprof_trampoline_start).expose_provenance() as u64
}

fn code_end() -> u64 {
    (&raw const csprof_trampoline_end).expose_provenance() as u64
}

/// The address that stands in an armed slot of record `number`.
pub(super) fn entry_address(number: usize) -> u64 {
    code_start() + number as u64 * ENTRY_BYTES
}

/// Record `number`, below [`RECORDS`].
pub(super) fn record(number: usize) -> *mut Record {
    // SAFETY: the block has RECORDS records; `claim` gives smaller numbers only. UnsafeCell: the
    // assembly and the owning thread write it.
    unsafe {
        core::cell::UnsafeCell::raw_get(
            (&raw const csprof_trampoline_records)
                .cast::<core::cell::UnsafeCell<Record>>()
                .add(number),
        )
    }
}
