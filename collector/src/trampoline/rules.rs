//! Which return addresses may be replaced.
//!
//! Some code reads or copies its own return address: `setjmp` keeps it beyond the trampoline's
//! life, `dlopen` and `dlsym` find out from it who called, `vfork` keeps it in a register while
//! the child runs on the same stack, context switches leave with it. A slot is safe when the
//! activation's pc lies in none of these, nor in a PLT stub (which leaves by a jump, in the middle
//! of which the loader may read the stack), the loader, the vdso, or this library.

#![expect(unsafe_code, reason = "looks symbols up and reads instruction bytes")]

use core::ffi::CStr;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::modules::LoaderModule;

/// What the trampoline may do in a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModuleRules {
    /// No slot of its activations may be replaced.
    pub never: bool,
    /// It unwinds stacks: while it is on the stack, nothing may be touched.
    pub unwinder: bool,
    /// It holds functions of the list below.
    pub has_unsafe_functions: bool,
}

impl ModuleRules {
    /// The rules for a loaded module.
    #[must_use]
    pub fn of(module: &LoaderModule) -> Self {
        if module.identity.apart {
            return Self { never: true, unwinder: true, has_unsafe_functions: false };
        }
        let path = &module.identity.path;
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let this_library = (Self::of as *const ()).expose_provenance() as u64;
        let own = module.text().contains(&this_library);
        if own {
            OWN_CODE.0.store(module.text().start, Ordering::Relaxed);
            OWN_CODE.1.store(module.text().end, Ordering::Relaxed);
        }
        Self {
            never: name.starts_with(b"ld-linux")
                || name.starts_with(b"ld-2.")
                || name.starts_with(b"ld.so")
                || name == b"[vdso]",
            // This library too: its stubs disarm and then jump to an unwinder, and a sample that
            // came in between would arm the stub's caller.
            unwinder: name.starts_with(b"libgcc_s") || name.starts_with(b"libunwind") || own,
            has_unsafe_functions: module.code.iter().any(|code| {
                unsafe_ranges().any(|range| code.start < range.end && range.start < code.end)
            }),
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

/// Functions of libc that use their own return address other than for returning.
const UNSAFE_FUNCTIONS: [&CStr; 22] = [
    c"setjmp",
    c"_setjmp",
    c"__sigsetjmp",
    c"longjmp",
    c"_longjmp",
    c"siglongjmp",
    c"__longjmp_chk",
    c"getcontext",
    c"setcontext",
    c"swapcontext",
    c"makecontext",
    c"vfork",
    c"__vfork",
    c"fork",
    c"_Fork",
    c"clone",
    c"__clone",
    c"dlopen",
    c"dlmopen",
    c"dlsym",
    c"dlvsym",
    c"dlclose",
];

/// Code of the functions above, in runtime addresses. Filled once, before sampling begins.
static RANGES: [(AtomicU64, AtomicU64); UNSAFE_FUNCTIONS.len()] =
    [const { (AtomicU64::new(0), AtomicU64::new(0)) }; UNSAFE_FUNCTIONS.len()];
static RANGE_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Functions of libc that are about to leave frames, or to look at them, some instructions after
/// the wrapper has made the stack ready: while they run it stays so. backtrace(3) walks the stack by
/// a copy of libgcc that libc loads for itself.
const LEAVING_FUNCTIONS: [&CStr; 3] = [c"backtrace", c"siglongjmp", c"__longjmp_chk"];

/// Code of the functions above, in runtime addresses.
static LEAVING: [(AtomicU64, AtomicU64); LEAVING_FUNCTIONS.len()] =
    [const { (AtomicU64::new(0), AtomicU64::new(0)) }; LEAVING_FUNCTIONS.len()];

/// Whether `pc` lies in a function of libc that is about to leave frames or to look at them.
/// Signal side.
#[must_use]
pub fn is_leaving(pc: u64) -> bool {
    // Relaxed: written before the first sample.
    LEAVING.iter().any(|(start, end)| {
        (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&pc)
    })
}

/// Finds the functions. Setup side, before the first sample.
pub fn prepare() {
    for (name, place) in LEAVING_FUNCTIONS.into_iter().zip(&LEAVING) {
        if let Some(range) = extent_of(name) {
            place.0.store(range.start, Ordering::Relaxed);
            place.1.store(range.end, Ordering::Relaxed);
        }
    }
    let mut count = 0;
    for name in UNSAFE_FUNCTIONS {
        if let Some(range) = extent_of(name) {
            RANGES[count].0.store(range.start, Ordering::Relaxed);
            RANGES[count].1.store(range.end, Ordering::Relaxed);
            count += 1;
        }
    }
    // Release: pairs with the acquire in `is_unsafe_function`.
    RANGE_COUNT.store(count, Ordering::Release);
}

/// The code of a function behind this library in the loader's search order.
fn extent_of(name: &CStr) -> Option<Range<u64>> {
    const RTLD_DL_SYMENT: libc::c_int = 1;
    unsafe extern "C" {
        fn dladdr1(
            address: *const libc::c_void,
            info: *mut libc::Dl_info,
            extra: *mut *mut libc::c_void,
            flags: libc::c_int,
        ) -> libc::c_int;
    }
    let mut symbol: *mut libc::c_void = core::ptr::null_mut();
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: `name` is a C string; dladdr1 fills both results when it returns non-zero, and the
    // symbol entry lies in a module that stays loaded (libc).
    unsafe {
        let address = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        if address.is_null()
            || dladdr1(address, info.as_mut_ptr(), &raw mut symbol, RTLD_DL_SYMENT) == 0
            || symbol.is_null()
        {
            return None;
        }
        let start = address.expose_provenance() as u64;
        let size = (*symbol.cast::<libc::Elf64_Sym>()).st_size.max(1);
        Some(start..start + size)
    }
}

fn unsafe_ranges() -> impl Iterator<Item = Range<u64>> {
    // Acquire: pairs with the release in `prepare`.
    let count = RANGE_COUNT.load(Ordering::Acquire);
    RANGES
        .iter()
        .take(count)
        .map(|(start, end)| start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed))
}

/// Whether `pc` lies in a function that uses its own return address. Signal side.
#[must_use]
pub fn is_unsafe_function(pc: u64) -> bool {
    unsafe_ranges().any(|range| range.contains(&pc))
}

/// Bytes in which [`is_plt_jump`] looks.
pub const LONGEST_STUB: u64 = 16;

/// Whether the code at `pc` is a jump through memory relative to rip, as PLT stubs are. Signal side.
///
/// # Safety
/// [`LONGEST_STUB`] bytes from `pc` on must be readable.
#[must_use]
pub unsafe fn is_plt_jump(pc: u64) -> bool {
    // SAFETY: by contract.
    let code: [u8; LONGEST_STUB as usize] =
        unsafe { core::ptr::with_exposed_provenance::<[u8; _]>(pc as usize).read_unaligned() };
    let after_endbr = if code.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { &code[4..] } else { &code };
    let after_bnd =
        if after_endbr.first() == Some(&0xf2) { &after_endbr[1..] } else { after_endbr };
    after_bnd.starts_with(&[0xff, 0x25])
}
