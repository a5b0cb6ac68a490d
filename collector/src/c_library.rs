//! Functions of the C library, found by name in the objects behind this one (`RTLD_NEXT`).
//!
//! A program may define functions called `read`, `dlerror` or `getauxval`: the names are not ISO
//! C's. Its definitions come first in the loader's search order, so whatever the collector called
//! by a symbol of its own would be the program's code. Hence the collector imports two symbols
//! only, [`dlvsym`] and [`__environ`] (`tests/relocations.rs` reads the library and compares);
//! everything else is a system call ([`crate::sys`]) or one of these.
//!
//! Setup side: the first call of each function locks the loader and may allocate.

#![expect(unsafe_code, reason = "functions found by name are called through their address")]

use core::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use libc::{dl_phdr_info, pthread_attr_t, pthread_key_t, pthread_mutex_t};

use crate::arch::FIRST_GLIBC;

/// A vector of strings that ends with a null pointer.
pub type Strings = *const *const c_char;

unsafe extern "C" {
    /// The one function that is called by its symbol: it finds the others. glibc's tools for
    /// auditing define it too; such a definition finds what comes behind this library as well.
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;

    /// The environment, under the name that only the C library may define. A variable of the
    /// program's called `environ` can be the same one or another.
    static mut __environ: Strings;
}

/// A function, or a variable, of another library.
#[derive(Debug)]
#[repr(C)]
pub struct Real {
    /// Null until found. First, because the assembly of the stubs reads it by the static's address.
    address: AtomicPtr<c_void>,
    name: &'static CStr,
    find: fn(&CStr) -> *mut c_void,
}

/// The name of a function as a C string, whose 0 is there.
#[must_use]
pub const fn c_name(name: &'static str) -> &'static CStr {
    let name = CStr::from_bytes_with_nul(name.as_bytes());
    assert!(name.is_ok(), "a name ends with its one 0");
    match name {
        Ok(name) => name,
        Err(_) => c"",
    }
}

impl Real {
    /// The one called `name`, found by dlsym(3).
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self::found_by(next, name)
    }

    /// The one called `name`, found by `find`.
    #[must_use]
    pub const fn found_by(find: fn(&CStr) -> *mut c_void, name: &'static CStr) -> Self {
        Self { address: AtomicPtr::new(null_mut()), name, find }
    }

    /// Where it is; null where no library has it.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        // Relaxed: the value is an address of code that was mapped before anyone could find it.
        let known = self.address.load(Ordering::Relaxed);
        if known.is_null() { self.find() } else { known }
    }

    /// Where it is now, of which nothing is kept; null where no library has it.
    pub fn look(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if known.is_null() { (self.find)(self.name) } else { known }
    }

    /// Whether it has been found.
    pub fn is_found(&self) -> bool {
        !self.address.load(Ordering::Relaxed).is_null()
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static CStr {
        self.name
    }

    /// Its name, and where it was found, if it was.
    pub fn found(&self) -> Option<(&'static CStr, u64)> {
        let known = self.address.load(Ordering::Relaxed);
        (!known.is_null()).then(|| (self.name, known.addr() as u64))
    }

    /// Has it looked for anew if it is taken to be at `address`. Stubs look where there is none.
    pub fn forget(&self, address: u64) {
        let known = self.address.load(Ordering::Relaxed);
        if known.addr() as u64 == address {
            // Unless another thread has just found it.
            let _ = self.address.compare_exchange(
                known,
                null_mut(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let found = (self.find)(self.name);
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// The address of `name` in the objects behind this one; null where none has it.
///
/// A name that does not exist leaves a message for dlerror(3), which is not the program's: it is
/// taken away again. It stands on the program's heap, so no such name is asked for before the
/// program has begun.
pub fn next(name: &CStr) -> *mut c_void {
    type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    let mut dlsym = DLSYM.load(Ordering::Relaxed);
    if dlsym.is_null() {
        // Every glibc has this version: since 2.34, when the function moved into libc.so.6, as an
        // old one.
        dlsym = next_of_version(c"dlsym", FIRST_GLIBC);
        DLSYM.store(dlsym, Ordering::Relaxed);
    }
    if dlsym.is_null() {
        return null_mut();
    }
    // SAFETY: the address of dlsym(3), whose signature this is.
    let dlsym = unsafe { core::mem::transmute::<*mut c_void, Dlsym>(dlsym) };
    // SAFETY: `name` ends with 0.
    let found = unsafe { dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() && name != c"dlerror" {
        forget_message();
    }
    found
}

/// The same, of one version of the symbol.
fn next_of_version(name: &CStr, version: &CStr) -> *mut c_void {
    // SAFETY: both strings end with 0.
    let found = unsafe { dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) };
    if found.is_null() && name != c"dlsym" {
        forget_message();
    }
    found
}

fn forget_message() {
    // SAFETY: takes nothing; the message is not looked at.
    unsafe { dlerror() };
}

/// Declares functions that are called with the signature of the manual page. Where an old C
/// library lacks one, the call answers with the value after `else`.
macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty, else $missing:expr;)*) => {$(
        /// The C library's function of this name.
        ///
        /// # Safety
        /// The arguments must be what its manual page asks for.
        pub unsafe fn $name($($arg: $type),*) -> $result {
            static REAL: Real = Real::new(c_name(concat!(stringify!($name), "\0")));
            let address = REAL.address();
            if address.is_null() {
                return $missing;
            }
            type Function = unsafe extern "C" fn($($type),*) -> $result;
            // SAFETY: the address belongs to the function of this name, whose C signature, from
            // its manual page, is the one given here.
            let function = unsafe { core::mem::transmute::<*mut c_void, Function>(address) };
            // SAFETY: the caller vouches for the arguments.
            unsafe { function($($arg),*) }
        }
    )*};
}

/// A callback of dl_iterate_phdr(3).
type Visit = unsafe extern "C" fn(*mut dl_phdr_info, usize, *mut c_void) -> c_int;
/// A handler of pthread_atfork(3).
type AtFork = unsafe extern "C" fn();

functions! {
    fn __errno_location() -> *mut c_int, else null_mut();
    fn dlerror() -> *mut c_char, else null_mut();
    fn dladdr(address: *const c_void, info: *mut libc::Dl_info) -> c_int, else 0;
    fn dl_iterate_phdr(visit: Visit, data: *mut c_void) -> c_int, else 0;
    fn getauxval(kind: c_ulong) -> c_ulong, else 0;
    fn pthread_attr_init(attributes: *mut pthread_attr_t) -> c_int, else libc::ENOSYS;
    fn pthread_attr_destroy(attributes: *mut pthread_attr_t) -> c_int, else libc::ENOSYS;
    fn pthread_attr_getstack(attributes: *const pthread_attr_t, low: *mut *mut c_void, size: *mut usize) -> c_int, else libc::ENOSYS;
    fn pthread_attr_getguardsize(attributes: *const pthread_attr_t, size: *mut usize) -> c_int, else libc::ENOSYS;
    fn pthread_attr_getstacksize(attributes: *const pthread_attr_t, size: *mut usize) -> c_int, else libc::ENOSYS;
    fn pthread_key_create(key: *mut pthread_key_t, end: unsafe extern "C" fn(*mut c_void)) -> c_int, else libc::ENOSYS;
    fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int, else libc::ENOSYS;
    fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int, else libc::ENOSYS;
    fn pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int, else libc::ENOSYS;
    fn __register_atfork(prepare: AtFork, parent: AtFork, child: AtFork, object: *const c_void) -> c_int, else libc::ENOSYS;
}

/// `errno` of the calling thread. Wrappers that work after the real call put it back.
#[must_use]
pub fn errno() -> c_int {
    // SAFETY: the address of a thread-local that lives as long as the thread.
    unsafe { __errno_location().as_ref() }.copied().unwrap_or(0)
}

/// Sets `errno` of the calling thread.
pub fn set_errno(value: c_int) {
    // SAFETY: as in `errno`; only this thread uses it.
    if let Some(errno) = unsafe { __errno_location().as_mut() } {
        *errno = value;
    }
}

/// The process's environment now. Null before the C library has begun.
#[must_use]
pub fn environment() -> Strings {
    // SAFETY: a word, read as a whole. The program may change the vector at any time, as it may
    // under functions of the C library.
    unsafe { __environ }
}

/// Makes another vector the environment.
///
/// # Safety
/// It, and the strings it points to, stay for ever.
pub unsafe fn set_environment(strings: Strings) {
    // SAFETY: a word; by contract.
    unsafe { __environ = strings };
}

/// The strings of a vector.
///
/// # Safety
/// `vector` is null or ends with a null pointer, and stays as it is meanwhile.
pub unsafe fn strings(vector: Strings) -> impl Iterator<Item = *const c_char> {
    let mut at = vector;
    core::iter::from_fn(move || {
        if at.is_null() {
            return None;
        }
        // SAFETY: not past the null pointer at the end.
        let string = unsafe { at.read() };
        // SAFETY: at most past the null pointer at the end, where it is not read.
        at = unsafe { at.add(usize::from(!string.is_null())) };
        (!string.is_null()).then_some(string)
    })
}
