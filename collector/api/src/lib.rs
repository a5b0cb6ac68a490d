//! What a program tells csprof: resources that it uses up, and the phase it is in.
//!
//! ```
//! csprof_api::count(c"rows", 17); // csprof record -e resource:rows ./program
//! csprof_api::phase(c"assemble"); // csprof report --refine 'phase = assemble'
//! ```
//!
//! Nothing has to be linked. Without csprof both calls test one address and do nothing. The same as
//! `csprof.h` for C and C++. Where the program does not run on Linux on x86-64, the calls are there
//! and do nothing.

#![expect(unsafe_code, reason = "functions that are there under csprof alone")]

use core::ffi::CStr;

/// Counts an amount of a resource, in a unit of the program's choice, at most 2^40 in one call. The
/// name is compared, not kept. Async-signal-safe.
#[inline]
pub fn count(resource: &CStr, amount: u64) {
    if let Some(count) = find::count() {
        // SAFETY: csprof's function of this name, which takes a C string.
        unsafe { count(resource.as_ptr(), amount) };
    }
}

/// From here on the process is in the phase of this name: all its threads, and processes that it
/// forks. An empty name ends the phase. The first 128 bytes of a name tell it from others; a
/// process has at most 4096.
#[inline]
pub fn phase(name: &CStr) {
    if let Some(phase) = find::phase() {
        // SAFETY: csprof's function of this name, which takes a C string.
        unsafe { phase(name.as_ptr()) };
    }
}

type Count = unsafe extern "C" fn(*const core::ffi::c_char, u64);
type Phase = unsafe extern "C" fn(*const core::ffi::c_char);

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod find {
    //! By weak symbols, which stable Rust has in assembly alone.

    use super::{Count, Phase};

    macro_rules! weak {
        ($name:literal, $function:ident, $type:ty) => {
            #[inline]
            pub(super) fn $function() -> Option<$type> {
                let function: usize;
                // SAFETY: reads an entry of the global offset table, and nothing else.
                unsafe {
                    core::arch::asm!(
                        concat!(".weak ", $name),
                        concat!("mov {}, [rip + ", $name, "@GOTPCREL]"),
                        out(reg) function,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                // SAFETY: null, which is none, or the address of csprof's function of this name.
                unsafe { core::mem::transmute::<usize, Option<$type>>(function) }
            }
        };
    }

    weak!("csprof_count", count, Count);
    weak!("csprof_phase", phase, Phase);
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod find {
    use super::{Count, Phase};

    pub(super) const fn count() -> Option<Count> {
        None
    }

    pub(super) const fn phase() -> Option<Phase> {
        None
    }
}
