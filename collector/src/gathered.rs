//! Statics of one type that are declared where they belong, and that the linker gathers: all that
//! are in a section of their own lie there one behind the other, and it says where that begins and
//! ends (ld(1), "Orphan sections"). So what is listed is written once, and nothing runs for it.
//!
//! Each is marked `used`, so that compiler and linker keep it, whoever else uses it.

#![expect(unsafe_code, reason = "a slice between two symbols of the linker's")]

/// Defines a function that returns the statics of one type in the section that lies between these
/// two symbols. One of another type must not be there: a macro beside this one declares them.
macro_rules! gathered {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident() -> [$of:ty] from $start:literal to $end:literal
    ) => {
        $crate::arch::hide_symbols!($start, $end);

        $(#[$attribute])*
        $visibility fn $name() -> &'static [$of] {
            unsafe extern "C" {
                #[link_name = $start]
                static START: core::sync::atomic::AtomicU8;
                #[link_name = $end]
                static END: core::sync::atomic::AtomicU8;
            }
            // SAFETY: the linker's bounds of statics of this type.
            unsafe {
                $crate::gathered::between((&raw const START).cast(), (&raw const END).cast())
            }
        }
    };
}

pub(crate) use gathered;

/// The statics between two addresses.
///
/// # Safety
/// There are statics of this type, one behind the other, and nothing else.
pub unsafe fn between<T>(start: *const u8, end: *const u8) -> &'static [T] {
    // By the address alone: for the compiler the symbol is a variable of one byte, and no other
    // static lies there. What changes in these statics is atomic, and never assumed to be known.
    let first = core::ptr::with_exposed_provenance(start.expose_provenance());
    debug_assert!((end.addr() - start.addr()).is_multiple_of(size_of::<T>()));
    let count = end.addr().saturating_sub(start.addr()).checked_div(size_of::<T>()).unwrap_or(0);
    // SAFETY: by contract.
    unsafe { core::slice::from_raw_parts(first, count) }
}
