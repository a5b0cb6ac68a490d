//! What the program says itself, by `csprof.h`: amounts of a resource that it has used up, and the
//! phase that begins. Nothing stands behind these names; without csprof nobody has them, and the
//! header calls nobody.

#![expect(unsafe_code, reason = "functions that the program calls, with strings of its own")]

use core::ffi::{CStr, c_char, c_void};

use super::real::Real;
use super::stub;
use super::view::sampled;
use crate::arch::{self, Call};
use crate::messages::{self, Warning};
use crate::phases;
use crate::sampling::call::on_call;
use crate::sealed::{SAMPLES_OF_CALLS, sealed};
use crate::sources::flag::flag;
use crate::sources::metric_of_resource;

flag! {
    /// Whether amounts that the program names are counted.
    RESOURCES_COUNT: Resource
}

/// What is called once an amount was counted, or none.
static NOTHING: Real = Real::found_by(nothing, c"csprof_count");

fn nothing(_name: &CStr) -> *mut c_void {
    extern "C" fn nothing() {}
    nothing as *mut c_void
}

/// Most of a resource that one call counts. More is a mistake, such as a length of −1, and the sums
/// of a whole run would not hold it.
const MOST: u64 = 1 << 40;

/// Counts an amount. Returns where to jump.
extern "C" fn count(call: &mut Call, nothing: &Real) -> *mut c_void {
    let [name, amount, ..] = call.arguments;
    let name = name as *const c_char;
    if sampled() && !name.is_null() {
        // SAFETY: the header asks for a C string.
        let name = unsafe { CStr::from_ptr(name) };
        if let Some(metric) = metric_of_resource(name.to_bytes()) {
            if amount as u64 <= MOST {
                on_call(metric, amount as u64, || call.caller_registers());
            } else if !sealed() {
                messages::warn_once(
                    Warning::AmountRefused,
                    "csprof_count was called with more than 2^40 at once, which was not counted",
                );
            }
        }
    }
    stub::target(nothing)
}

arch::stub! {
    /// `csprof_count(resource, amount)`. Unless a resource is a source, nothing but that is looked
    /// at.
    #[unsafe(no_mangle)]
    {}
    jump csprof_count = NOTHING, RESOURCES_COUNT, count
}

/// `csprof_phase(name)`.
///
/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn csprof_phase(name: *const c_char) {
    // Who seals the process waits for this.
    let _counted = (!sealed()).then(|| SAMPLES_OF_CALLS.enter());
    if sealed() || !sampled() {
        return;
    }
    // SAFETY: as is asked for.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    phases::begin(name.to_bytes());
}
