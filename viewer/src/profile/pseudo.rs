//! Frames that are no code, in pseudo modules: what threads waited for ([`WAITS`]), by the number
//! of a system call, and where they handed work to other threads ([`HANDOVERS`]). And frames of
//! the [`KERNEL`], which have names of their own where these were known.

use csprof_format::address::WAITS_FOR_PAGE;
use csprof_format::ids::ModuleId;
use csprof_format::profile::{Frame, HANDOVERS, KERNEL, PARALLEL_REGION, Profile, WAITS};
use syscalls::x86_64::Sysno;

use super::FrameKind;

/// Name and kind of a frame that is in a pseudo module.
pub(super) fn name_and_kind(profile: &Profile, frame: &Frame) -> Option<(String, FrameKind)> {
    match path(profile, frame.module?)? {
        WAITS => Some((wait(frame.offset), FrameKind::Wait)),
        HANDOVERS => Some((handover(frame.offset), FrameKind::Handover)),
        KERNEL => Some((KERNEL.to_owned(), FrameKind::Kernel)),
        _ => None,
    }
}

/// The pseudo module of the kernel, if there is one.
pub(super) fn kernel(profile: &Profile) -> Option<ModuleId> {
    let place = profile.modules.iter().position(|module| {
        profile.strings.get(module.path.index()).is_some_and(|path| **path == *KERNEL)
    });
    place.map(ModuleId::from_index)
}

/// Whether a frame is a handover.
pub(super) fn is_handover(profile: &Profile, frame: &Frame) -> bool {
    frame.module.and_then(|module| path(profile, module)) == Some(HANDOVERS)
}

fn path(profile: &Profile, module: ModuleId) -> Option<&str> {
    let path = profile.modules.get(module.index())?.path;
    profile.strings.get(path.index()).map(|text| &**text)
}

/// What waits in the system call with this number, of x86-64, are called.
fn wait(number: u64) -> String {
    if number == u64::from(WAITS_FOR_PAGE) {
        return "[waits: page fault]".to_owned();
    }
    let call = usize::try_from(number).ok().and_then(Sysno::new);
    match call {
        Some(call) => format!("[waits: {}]", call.name()),
        None => format!("[waits: system call {number}]"),
    }
}

/// What handovers of this kind are called.
fn handover(number: u64) -> String {
    match number {
        PARALLEL_REGION => "[parallel region]".to_owned(),
        _ => format!("[handover {number}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_waits_are_those_of_the_manual_pages() {
        assert_eq!(wait(0), "[waits: read]");
        assert_eq!(wait(202), "[waits: futex]");
        assert_eq!(wait(281), "[waits: epoll_pwait]");
        assert_eq!(wait(u64::from(WAITS_FOR_PAGE)), "[waits: page fault]");
        assert_eq!(wait(u64::MAX), format!("[waits: system call {}]", u64::MAX));
    }

    #[test]
    fn handovers_of_later_versions_have_numbers() {
        assert_eq!(handover(PARALLEL_REGION), "[parallel region]");
        assert_eq!(handover(7), "[handover 7]");
    }
}
