//! What a program points to, where there may be nothing: of a bad pointer the kernel says EFAULT,
//! and a function of csprof's that stands before the call must not die of it.
//!
//! What cannot be read is passed on as it is. The kernel is asked, by a call of some 100 ns, but
//! for what lies on the thread's own stack further out.

#![expect(unsafe_code, reason = "pointers from the program")]

use crate::sealed::sealed;
use crate::thread::own_stack::is_on_own_stack;
use crate::{arch, sys};

/// What the program points to; `None` where nothing can be read.
pub(super) fn read<T: Copy>(address: usize) -> Option<T> {
    let here = 0_u64;
    let here = (&raw const here).addr();
    // Elsewhere than on its own stack nothing says how far out that is in use.
    let is_in_use =
        |at: usize| at > here && is_on_own_stack(here as u64) && is_on_own_stack(at as u64);
    let last = address.wrapping_add(size_of::<T>() - 1);
    let is_there =
        address != 0 && [address, last].iter().all(|&at| is_in_use(at) || can_be_read(at));
    let pointer = core::ptr::with_exposed_provenance::<T>(address);
    // SAFETY: there is something to be read there; the program vouches for what it is.
    is_there.then(|| unsafe { pointer.read_unaligned() })
}

/// Whether the kernel says so. A sealed process may not ask.
fn can_be_read(address: usize) -> bool {
    sealed() || sys::is_readable(address as u64)
}

/// Whether this can be an address of the program's: not before the first page that a program may
/// map (vm.mmap_min_addr), nor behind the last one. Asks nobody.
pub(super) fn may_be_address(address: usize) -> bool {
    const LAST: usize = 1 << 47;
    (arch::PAGE_SIZE..LAST).contains(&address)
}

/// What can be read of what a program names for an exec.
pub(super) struct Readable {
    /// Number of the page last found to be readable.
    page: Option<usize>,
    /// How many bytes may still be read: of more the kernel refuses the call.
    rest: usize,
}

impl Readable {
    /// As the kernel takes for arguments and environment together, since Linux 4.13 (execve(2)).
    const MOST: usize = 6 << 20;

    pub(super) fn new() -> Self {
        Self { page: None, rest: Self::MOST }
    }

    /// What stands there.
    pub(super) fn at<T: Copy>(&mut self, address: usize) -> Option<T> {
        self.rest = self.rest.checked_sub(size_of::<T>())?;
        let last = address.checked_add(size_of::<T>() - 1)?;
        for page in [address, last].map(|at| at / arch::PAGE_SIZE) {
            if self.page != Some(page) {
                if !can_be_read(page * arch::PAGE_SIZE) {
                    return None;
                }
                self.page = Some(page);
            }
        }
        // SAFETY: its pages can be read.
        Some(unsafe { core::ptr::with_exposed_provenance::<T>(address).read_unaligned() })
    }

    /// Whether the whole of a string can be read.
    pub(super) fn has_string(&mut self, address: usize) -> bool {
        (address..).map_while(|at| self.at::<u8>(at)).any(|byte| byte == 0)
    }

    /// Whether the whole of a vector of strings can be read.
    pub(super) fn has_vector(&mut self, address: usize) -> bool {
        let mut vector = Self::new();
        for at in (address..).step_by(size_of::<usize>()) {
            match vector.at::<usize>(at) {
                Some(0) => return true,
                Some(string) if self.has_string(string) => {}
                _ => return false,
            }
        }
        false
    }
}
