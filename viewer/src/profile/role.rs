//! What threads of a process do that are summed together.

use csprof_format::profile::{Process, Thread};
use csprof_format::role::numberless;

/// What a thread is to its process. Threads of one role are summed: the main thread, and those of
/// one name but for the numbers in it, as pools number their threads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Role {
    /// Whether it is not the main thread, which comes first.
    pub(super) is_other: bool,
    /// Its name, with `*` in place of each number.
    pub(super) name: Vec<u8>,
}

impl Role {
    /// That of a thread of this process.
    pub(super) fn of(thread: &Thread, process: &Process) -> Self {
        Self { is_other: thread.tid != process.pid, name: numberless(&thread.name).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_pool_have_one_role() {
        let process = Process { pid: 7, ..Process::default() };
        let role = |tid, name: &str| {
            Role::of(&Thread { tid, name: name.into(), ..Thread::default() }, &process)
        };
        assert_eq!(role(8, "worker-12"), role(9, "worker-3"));
        assert_eq!(role(8, "worker-12").name, b"worker-*");
        assert_ne!(role(8, "worker-1"), role(9, "io-1"));
        assert_ne!(role(7, "solver"), role(8, "solver"));
        assert!(role(7, "solver") < role(8, "a"));
    }
}
