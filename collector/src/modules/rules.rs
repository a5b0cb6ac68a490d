//! Which return addresses may be replaced.
//!
//! Some code reads or copies its own return address: `setjmp` keeps it beyond the trampoline's
//! life, `dlopen` and `dlsym` find out from it who called, `vfork` keeps it in a register while
//! the child runs on the same stack, context switches leave with it. A slot is safe when the
//! activation's pc lies in none of these, nor in a PLT stub (which leaves by a jump, in the middle
//! of which the loader may read the stack), the loader, the vdso, or this library.

#![expect(unsafe_code, reason = "looks symbols up and reads instruction bytes")]

use crate::arch;
use crate::{c_library, sys};
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

use super::elf::{LoaderModule, is_unwinder};
use super::runtimes::{self, Extent, Runtime};

/// What the trampoline may do in a module.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModuleRules {
    /// No slot of its activations may be replaced.
    pub never: bool,
    /// It unwinds stacks: while it is on the stack, nothing may be touched.
    pub unwinder: bool,
    /// It holds functions of the list below.
    pub has_unsafe_functions: bool,
    /// The runtime that it is part of, if that does more with return addresses than return to them.
    pub runtime: Option<&'static Runtime>,
}

impl ModuleRules {
    /// The rules for a loaded module.
    #[must_use]
    pub fn of(module: &LoaderModule) -> Self {
        if module.identity.apart {
            return Self { never: true, unwinder: true, ..Self::default() };
        }
        let path = &module.identity.path;
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let runtime = runtimes::of(module);
        if name == b"[vdso]"
            && let Some(clock) = module.address_of(c"__vdso_clock_gettime")
        {
            let clock = core::ptr::with_exposed_provenance_mut(clock as usize);
            // SAFETY: the function of this name in the vdso.
            unsafe { sys::read_elapsed_by(clock) };
        }
        let this_library = (Self::of as *const ()).expose_provenance() as u64;
        let own = module.text().contains(&this_library);
        if own {
            OWN_CODE.0.store(module.text().start, Ordering::Relaxed);
            OWN_CODE.1.store(module.text().end, Ordering::Relaxed);
        }
        Self {
            never: runtime.is_some_and(|runtime| runtime.extent == Extent::Module)
                || name.starts_with(b"ld-linux")
                || name.starts_with(b"ld-2.")
                || name.starts_with(b"ld.so")
                || name == b"[vdso]",
            // This library too: its stubs disarm and then jump to an unwinder, and a sample that
            // came in between would arm the stub's caller.
            unwinder: is_unwinder(name) || own,
            has_unsafe_functions: find_functions(module),
            runtime,
        }
    }
}

/// This library's code, in runtime addresses. Written when the load map is first read.
static OWN_CODE: (AtomicU64, AtomicU64) = (AtomicU64::new(0), AtomicU64::new(0));

/// Whether `pc` lies in this library. Either side.
#[must_use]
pub fn is_own_code(pc: u64) -> bool {
    // Relaxed: both are written before the first sample.
    (OWN_CODE.0.load(Ordering::Relaxed)..OWN_CODE.1.load(Ordering::Relaxed)).contains(&pc)
}

arch::hide_symbols!("__start_csprof_waits", "__stop_csprof_waits");

unsafe extern "C" {
    /// The first byte of the section of wrappers that wait, and the one past its last; the linker
    /// says where (ld(1), "Orphan sections").
    #[link_name = "__start_csprof_waits"]
    static WAITS_START: u8;
    #[link_name = "__stop_csprof_waits"]
    static WAITS_END: u8;
}

/// Whether `pc` lies in a wrapper that waits: it returns as any function does, and no unwinder is
/// called from it, so what called it may be followed while it waits. Either side.
#[must_use]
#[inline]
pub fn is_wait(pc: u64) -> bool {
    ((&raw const WAITS_START).addr() as u64..(&raw const WAITS_END).addr() as u64).contains(&pc)
}

/// A function of libc, and its code in runtime addresses; no address at first.
struct Function {
    name: &'static CStr,
    start: AtomicU64,
    end: AtomicU64,
}

impl Function {
    const fn named(name: &'static CStr) -> Self {
        Self { name, start: AtomicU64::new(0), end: AtomicU64::new(0) }
    }

    /// Whether `pc` lies in it. Either side.
    #[inline]
    fn contains(&self, pc: u64) -> bool {
        // Relaxed: both are written before the first sample.
        (self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed)).contains(&pc)
    }
}

/// Functions of libc that use their own return address other than for returning.
static UNSAFE: [Function; 22] = [
    Function::named(c"setjmp"),
    Function::named(c"_setjmp"),
    Function::named(c"__sigsetjmp"),
    Function::named(c"longjmp"),
    Function::named(c"_longjmp"),
    Function::named(c"siglongjmp"),
    Function::named(c"__longjmp_chk"),
    Function::named(c"getcontext"),
    Function::named(c"setcontext"),
    Function::named(c"swapcontext"),
    Function::named(c"makecontext"),
    Function::named(c"vfork"),
    Function::named(c"__vfork"),
    Function::named(c"fork"),
    Function::named(c"_Fork"),
    Function::named(c"clone"),
    Function::named(c"__clone"),
    Function::named(c"dlopen"),
    Function::named(c"dlmopen"),
    Function::named(c"dlsym"),
    Function::named(c"dlvsym"),
    Function::named(c"dlclose"),
];

/// Functions of libc that are about to leave frames, or to look at them, some instructions after
/// the wrapper has made the stack ready: while they run it stays so. backtrace(3) walks the stack
/// by a copy of libgcc that libc loads for itself.
static LEAVING: [Function; 3] = [
    Function::named(c"backtrace"),
    Function::named(c"siglongjmp"),
    Function::named(c"__longjmp_chk"),
];

/// Finds where the functions begin: behind this library in the loader's search order. Setup side,
/// before the first look at what is loaded, by which [`ModuleRules::of`] learns where they end.
pub fn prepare() {
    for function in UNSAFE.iter().chain(&LEAVING) {
        let start = c_library::next(function.name);
        function.start.store(start.expose_provenance() as u64, Ordering::Relaxed);
    }
}

/// Learns where the functions end that the module holds; whether it holds any.
fn find_functions(module: &LoaderModule) -> bool {
    let mut any = false;
    for function in UNSAFE.iter().chain(&LEAVING) {
        let start = function.start.load(Ordering::Relaxed);
        if module.code.iter().any(|code| code.contains(&start)) {
            any = true;
            let size = module.size_of_function(function.name, start).unwrap_or(0);
            function.end.store(start + size.max(1), Ordering::Relaxed);
        }
    }
    any
}

/// Whether `pc` lies in a function that uses its own return address. Signal side.
#[must_use]
pub fn is_unsafe_function(pc: u64) -> bool {
    UNSAFE.iter().any(|function| function.contains(pc))
}

/// Whether `pc` lies in a function of libc that is about to leave frames or to look at them.
/// Signal side.
#[must_use]
pub fn is_leaving(pc: u64) -> bool {
    LEAVING.iter().any(|function| function.contains(pc))
}

/// So many bytes of code at `pc`, if they can be read: the thread may be about to find out that
/// they are not there. Signal side.
///
/// # Safety
/// The thread must be about to execute what is at `pc`, and so many bytes be code that follows.
/// Where a filter of system calls forbids to have them copied, they are read directly.
#[must_use]
pub unsafe fn code_at<const N: usize>(pc: u64) -> Option<[u8; N]> {
    sys::probe_bytes(pc).or_else(|| {
        let is_forbidden = sys::is_probing_forbidden();
        // As most such filters let one find out in another way.
        let is_there = || [pc, pc.wrapping_add(N as u64 - 1)].into_iter().all(sys::is_readable);
        // SAFETY: code that is executed, by contract, and could be read a moment ago. All
        // protection keys are allowed.
        (is_forbidden && is_there()).then(|| unsafe {
            core::ptr::with_exposed_provenance::<[u8; _]>(pc as usize).read_unaligned()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::PAGE_SIZE;

    /// A page that nobody may read, also if code has been read there before.
    #[test]
    fn code_at_the_end_of_its_mapping() {
        let pages = sys::map_anonymous(2 * PAGE_SIZE).unwrap();
        let forbid = |page: usize| {
            // SAFETY: a page of this test's own, to which no reference is.
            let page = unsafe { pages.byte_add(page * PAGE_SIZE) };
            // SAFETY: the same.
            assert_eq!(unsafe { libc::mprotect(page.as_ptr().cast(), PAGE_SIZE, 0) }, 0);
        };
        forbid(1);
        let end = pages.as_ptr().expose_provenance() + PAGE_SIZE;
        let call = [0x0f, 0x05];
        // SAFETY: the last bytes of the first page.
        unsafe { pages.byte_add(PAGE_SIZE - 2).cast().write(call) };
        // SAFETY: nothing forbids this test to look.
        let bytes = |left: u64| unsafe { code_at::<2>(end as u64 - left) };
        assert_eq!([2, 1].map(bytes), [Some(call), None]);
        forbid(0);
        assert_eq!(bytes(2), None);
    }
}
