//! Thread-local storage of a library that is loaded at start-up (initial-exec, psABI TLS
//! supplement, variant II): one load, never `__tls_get_addr`, which may allocate; and the thread
//! control block of glibc.

use core::arch::asm;

/// Defines a word for each thread, 0 at first: a type with the functions `get` and `set`,
/// async-signal-safe. Assembly finds it by the symbol. The type is an integer of 8 bytes or a thin
/// pointer.
macro_rules! thread_word {
    ($(#[$doc:meta])* $visibility:vis $name:ident: $type:ty = $symbol:literal) => {
        $crate::arch::x86_64::thread_local::define!($symbol, "8");

        $(#[$doc])*
        #[derive(Debug)]
        $visibility struct $name;

        impl $name {
            /// The calling thread's.
            #[inline]
            $visibility fn get() -> $type {
                let value: $type;
                // SAFETY: reads the thread-local word defined above; the linker fills the offset
                // in.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov {0}, qword ptr fs:[{0}]",
                        out(reg) value,
                        options(nostack, readonly, preserves_flags),
                    );
                }
                value
            }

            /// Sets the calling thread's.
            #[inline]
            $visibility fn set(value: $type) {
                // SAFETY: writes the thread-local word defined above, of which there is no
                // reference.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov qword ptr fs:[{0}], {1}",
                        out(reg) _,
                        in(reg) value,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    };
}

/// The same for so many bytes, each with an index.
macro_rules! thread_bytes {
    ($(#[$doc:meta])* $visibility:vis $name:ident: [u8; $length:literal] = $symbol:literal) => {
        $crate::arch::x86_64::thread_local::define!($symbol, stringify!($length));

        $(#[$doc])*
        #[derive(Debug)]
        $visibility struct $name;

        impl $name {
            #[inline]
            $visibility fn get(index: usize) -> u8 {
                debug_assert!(index < $length);
                // The handler cannot panic, and must not touch what is another library's.
                let index = index.min($length - 1);
                let value: u8;
                // SAFETY: reads one byte of this thread's block, below its size.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {at}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov {value}, byte ptr fs:[{at} + {index}]",
                        at = out(reg) _,
                        index = in(reg) index,
                        value = out(reg_byte) value,
                        options(nostack, readonly, preserves_flags),
                    );
                }
                value
            }

            #[inline]
            $visibility fn set(index: usize, value: u8) {
                debug_assert!(index < $length);
                // The handler cannot panic, and must not touch what is another library's.
                let index = index.min($length - 1);
                // SAFETY: writes one byte of this thread's block, below its size; no reference to
                // it exists.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {at}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov byte ptr fs:[{at} + {index}], {value}",
                        at = out(reg) _,
                        index = in(reg) index,
                        value = in(reg_byte) value,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    };
}

/// The same for so many signed words, each with an index. What is subtracted is so by one
/// instruction: a handler that comes in between sees all of it or nothing.
macro_rules! thread_words {
    ($(#[$doc:meta])* $visibility:vis $name:ident: [i64; $length:literal] = $symbol:expr) => {
        $crate::arch::x86_64::thread_local::define!($symbol, stringify!(8 * $length));

        $(#[$doc])*
        #[derive(Debug)]
        $visibility struct $name;

        impl $name {
            #[inline]
            $visibility fn get(index: usize) -> i64 {
                debug_assert!(index < $length);
                // A handler must not touch what is another library's.
                let index = index.min($length - 1);
                let value: i64;
                // SAFETY: reads one word of this thread's block, below its size.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {at}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov {value}, qword ptr fs:[{at} + 8 * {index}]",
                        at = out(reg) _,
                        index = in(reg) index,
                        value = out(reg) value,
                        options(nostack, readonly, preserves_flags),
                    );
                }
                value
            }

            #[inline]
            $visibility fn set(index: usize, value: i64) {
                debug_assert!(index < $length);
                // A handler must not touch what is another library's.
                let index = index.min($length - 1);
                // SAFETY: writes one word of this thread's block, below its size; no reference to
                // it exists.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {at}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov qword ptr fs:[{at} + 8 * {index}], {value}",
                        at = out(reg) _,
                        index = in(reg) index,
                        value = in(reg) value,
                        options(nostack, preserves_flags),
                    );
                }
            }

            #[allow(dead_code, reason = "not all of them are counted down")]
            #[inline]
            $visibility fn subtract(index: usize, amount: i64) {
                debug_assert!(index < $length);
                // A handler must not touch what is another library's.
                let index = index.min($length - 1);
                // SAFETY: as in `set`.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {at}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "sub qword ptr fs:[{at} + 8 * {index}], {amount}",
                        at = out(reg) _,
                        index = in(reg) index,
                        amount = in(reg) amount,
                        options(nostack),
                    );
                }
            }
        }
    };
}

/// Room for a variable in the block of each thread.
macro_rules! define {
    ($symbol:expr, $bytes:expr) => {
        core::arch::global_asm!(
            concat!(".pushsection .tbss.", $symbol, ",\"awT\",@nobits"),
            ".balign 8",
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!(".type ", $symbol, ",@object"),
            concat!(".size ", $symbol, ",", $bytes),
            concat!($symbol, ": .zero ", $bytes),
            ".popsection",
        );
    };
}

pub(crate) use {define, thread_bytes, thread_word, thread_words};

/// The thread pointer, which glibc keeps at `fs:0`: the address of the thread control block, at the
/// top of a thread's stack.
#[must_use]
pub(crate) fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: reads one word of the thread control block.
    unsafe {
        asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags));
    }
    pointer
}

/// The stack pointer with which longjmp(3) goes on: the seventh of eight words of the `jmp_buf`
/// (glibc, sysdeps/x86_64/jmpbuf-offsets.h), mangled by the thread's pointer guard at `fs:0x30`
/// (sysdeps/x86_64/nptl/pointer_guard.h).
///
/// # Safety
/// `buffer` is one that setjmp(3) has filled.
pub(crate) unsafe fn jump_target(buffer: *const u64) -> u64 {
    const STACK_POINTER: usize = 6;
    // SAFETY: by contract.
    let mangled = unsafe { buffer.add(STACK_POINTER).read_unaligned() };
    let guard: u64;
    // SAFETY: reads a word of the thread control block.
    unsafe {
        asm!("mov {}, fs:[0x30]", out(reg) guard, options(nostack, readonly, preserves_flags));
    }
    mangled.rotate_right(0x11) ^ guard
}
