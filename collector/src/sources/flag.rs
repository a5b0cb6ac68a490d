//! What wrappers of calls look at first: whether what they count is asked for at all.
//!
//! A wrapper's file [declares](flag) its flag, with the sources that it is for, and a source that
//! begins sets the flags of its kind. Where none is set, the flag is all that a call costs.

#![expect(unsafe_code, reason = "flags lie in a section of their own")]

use core::sync::atomic::{AtomicBool, Ordering};

use csprof_format::launch::SourceKind;

use crate::gathered::gathered;

/// A flag. It only ever becomes set.
#[derive(Debug)]
#[repr(C)]
pub struct Flag {
    /// First, because the assembly of the stubs reads it by the static's address.
    is_set: AtomicBool,
    kinds: &'static [SourceKind],
}

impl Flag {
    /// One for these sources.
    #[must_use]
    pub const fn of(kinds: &'static [SourceKind]) -> Self {
        Self { is_set: AtomicBool::new(false), kinds }
    }

    /// Whether one of its sources is in use.
    #[must_use]
    #[inline]
    pub fn is_set(&self) -> bool {
        // Relaxed: each thread has set it itself, or sees it early or late.
        self.is_set.load(Ordering::Relaxed)
    }

    /// Whether it is for sources of this kind.
    #[must_use]
    pub fn is_of(&self, kind: SourceKind) -> bool {
        self.kinds.contains(&kind)
    }
}

/// Declares a flag, and the kinds of sources that it is for.
macro_rules! flag {
    ($(#[$attribute:meta])* $visibility:vis $name:ident: $($kind:ident),+) => {
        $(#[$attribute])*
        #[used]
        #[unsafe(link_section = "csprof_flags")]
        $visibility static $name: $crate::sources::flag::Flag = $crate::sources::flag::Flag::of(
            &[$(csprof_format::launch::SourceKind::$kind),+],
        );
    };
}

pub(crate) use flag;

gathered! {
    /// All that are [declared](flag).
    fn all() -> [Flag] from "__start_csprof_flags" to "__stop_csprof_flags"
}

/// Sets those of a source. Setup side.
pub(super) fn set(kind: SourceKind) {
    let of_kind = all().iter().filter(|flag| flag.is_of(kind));
    of_kind.for_each(|flag| flag.is_set.store(true, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use csprof_format::launch::Trigger;

    use super::*;

    /// Else no wrapper would look at its calls.
    #[test]
    fn each_source_of_calls_has_a_flag_and_no_other_has() {
        for kind in SourceKind::ALL {
            let has_flag = all().iter().any(|flag| flag.is_of(kind));
            assert_eq!(has_flag, kind.properties().trigger == Trigger::Call, "{kind:?}");
        }
    }
}
