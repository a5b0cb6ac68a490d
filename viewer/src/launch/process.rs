//! What the kernel says of processes by their ids: proc_pid_stat(5), proc_pid_status(5).
//!
//! Ids are used again, and a container has ids of its own: that a process is there does not say
//! that it is the one which was meant.

use std::path::Path;
use std::{fs, io};

/// Whether there is such a process that has not ended. One that has ended and was not waited for (a
/// zombie) is in `/proc`, too.
pub(super) fn is_alive(pid: u32) -> bool {
    fields(pid).is_some_and(|[state, _]| !["Z", "X"].contains(&&*state))
}

/// Whether it was stopped by a signal.
pub(super) fn is_stopped(pid: u32) -> bool {
    fields(pid).is_some_and(|[state, _]| state == "T")
}

/// Whether it is a thread of the kernel: its parent is kthreadd (process 2).
pub(super) fn is_of_kernel(pid: u32) -> bool {
    fields(pid).is_some_and(|[_, parent]| parent == "2")
}

/// Whether it is below another process: its child, or a child of one that is. One whose parent has
/// ended is nobody's descendant any more.
pub(super) fn descends_from(pid: u32, ancestor: u32) -> bool {
    let parent = |of: &u32| fields(*of).and_then(|[_, parent]| parent.parse().ok());
    // A process may end, and its id be used again, while one looks.
    std::iter::successors(Some(pid), parent).skip(1).take(1000).any(|of| of == ancestor)
}

/// Whether it is a csprof that has not ended.
pub(super) fn runs_csprof(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"csprof\n") && is_alive(pid)
}

/// Its real user, also where `/proc/PID` belongs to root because the process is not dumpable.
pub(super) fn user(pid: u32) -> Option<u32> {
    let status = text(pid, "status")?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_ascii_whitespace().next()?.parse().ok()
}

/// A file of `/proc/PID`. Names in it are bytes, of which the kernel keeps the first 15: characters
/// may be cut.
pub(super) fn text(pid: u32, file: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/{file}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// When it was started, in ticks since the machine was: starttime of proc_pid_stat(5). `None` if
/// that is not there.
///
/// # Errors
///
/// That of reading it: the process has gone, or nobody else may ask (hidepid of proc(5)).
pub(super) fn started(pid: u32) -> io::Result<Option<u64>> {
    started_by(Path::new(&format!("/proc/{pid}/stat")))
}

/// The same of this process, also where `/proc` is of another namespace.
pub(super) fn own_start() -> Option<u64> {
    started_by(Path::new("/proc/self/stat")).ok()?
}

fn started_by(stat: &Path) -> io::Result<Option<u64>> {
    let stat = fs::read(stat)?;
    let stat = String::from_utf8_lossy(&stat);
    let behind_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    // The 22nd, where the state is the third.
    Ok(behind_name.split_ascii_whitespace().nth(19).and_then(|ticks| ticks.parse().ok()))
}

/// How many ids of processes and threads the kernel had given out at some moment.
#[derive(Debug)]
pub(super) struct IdsGiven(Option<u64>);

impl IdsGiven {
    pub(super) fn now() -> Self {
        // Forks since the machine was started, those of threads among them (proc_stat(5)).
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let count = stat.lines().find_map(|line| line.strip_prefix("processes "));
        // Sandboxes say that there were none.
        Self(count.and_then(|count| count.trim().parse().ok()).filter(|&count| count > 0))
    }

    /// Whether one that was given out since may have been so twice, or nobody knows. They are given
    /// out in turn, but for those in use, and begin anew at the end.
    pub(super) fn may_repeat(&self) -> bool {
        let most = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
        let most = most.trim().parse().unwrap_or(0_u64);
        // `running/all` is the fourth (proc_loadavg(5)).
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let in_use = load.split_ascii_whitespace().nth(3).and_then(|text| text.split_once('/'));
        let in_use = in_use.and_then(|(_, all)| all.parse().ok()).unwrap_or(most);
        let (Self(Some(before)), Self(Some(now))) = (self, Self::now()) else { return true };
        // Forks that fail may use one, too, and are not counted.
        now.saturating_sub(*before) >= most.saturating_sub(in_use) / 2
    }
}

/// State and parent, which follow the name in parentheses; that may contain any character.
fn fields(pid: u32) -> Option<[String; 2]> {
    let stat = text(pid, "stat")?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().map(str::to_owned);
    Some([fields.next()?, fields.next()?])
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use super::*;
    use crate::surroundings::comes_true;

    #[test]
    fn a_name_may_be_any_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ä".repeat(8));
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let mut child = Command::new(program).arg0("sleep").arg("1000").spawn().unwrap();
        let name = || fs::read(format!("/proc/{}/comm", child.id())).unwrap();
        // A parent of vfork goes on before execve(2) has renamed its child.
        assert!(comes_true(|| name() != fs::read("/proc/thread-self/comm").unwrap()));
        assert!(String::from_utf8(name()).is_err(), "the kernel has cut it");
        assert!(is_alive(child.id()) && user(child.id()).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn ids_are_given_out_in_turn() {
        assert!(!IdsGiven::now().may_repeat(), "few were meanwhile");
        assert!(IdsGiven(None).may_repeat(), "nobody knows");
        // Of another machine, which has started more processes than this.
        let before = |ids: u64| IdsGiven(IdsGiven::now().0.and_then(|now| now.checked_sub(ids)));
        assert!(before(4_194_304).may_repeat());
    }

    #[test]
    fn a_child_is_not_older_than_its_parent() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let of = |pid| started(pid).unwrap().unwrap();
        let [own, its] = [own_start().unwrap(), of(child.id())];
        assert_eq!(of(std::process::id()), own);
        assert!(of(1) <= own && own <= its);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn who_has_ended_is_not_alive_before_it_was_waited_for() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        assert!(is_alive(child.id()) && !is_of_kernel(child.id()));
        let own = std::process::id();
        assert!(descends_from(child.id(), own) && descends_from(child.id(), 1));
        assert!(!descends_from(own, own) && !descends_from(own, child.id()));
        assert_eq!(user(child.id()), Some(nix::unistd::Uid::current().as_raw()));
        child.kill().unwrap();
        assert!(comes_true(|| !is_alive(child.id())));
        assert!(fields(child.id()).is_some(), "a zombie is in /proc");
        child.wait().unwrap();
        assert!(!is_alive(child.id()));
    }
}
