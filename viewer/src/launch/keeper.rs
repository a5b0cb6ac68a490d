//! The keeper: a second csprof, which saves the profile of a rank if the first one is killed.
//!
//! Launchers end a job whose rank failed by SIGKILL to all its processes, some at once (Hydra),
//! some a second after SIGTERM (Open MPI). What was sampled is in the run folder by then, in the
//! memory of a node that the user may never see again. So where csprof is one of several ranks, it
//! starts a process in a session of its own, which the launcher does not know, and holds a pipe to
//! it. If the pipe closes without a word, the keeper takes the run folder, waits for the end of the
//! run's processes, and saves.
//!
//! Who ends all processes of a node by a cgroup, as Slurm may, ends the keeper, too; then
//! `csprof salvage --all` finds the folder.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::close;

use super::alive::{Eldest, running_processes};
use super::inherited;
use super::run_dir::{self, RunDir};
use crate::job_place;

/// The hidden subcommand that is the keeper; its arguments follow.
pub const SUBCOMMAND: &str = "keep-run";

/// What csprof says when there is nothing to keep any more.
const DISMISSED: &[u8] = b"d";

/// How often the keeper looks whether processes of the run go on: often at first, for they are
/// mostly killed with csprof.
const LOOKS: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(1)];

/// How long it waits for them: what a rank leaves behind, such as a daemon, may run for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long csprof waits for the end of a dismissed keeper, which may have been stopped.
const FAREWELL: Duration = Duration::from_secs(1);

/// The keeper, from the side of the csprof that it stands by. It is dismissed when dropped.
#[derive(Debug)]
pub struct Keeper(Child);

impl Keeper {
    /// Starts one for the run in this folder, if csprof is one of several ranks: with the arguments
    /// that say where and how to save. Without it, for want of processes for instance, csprof does
    /// what it can.
    #[must_use]
    pub fn start(run_dir: &RunDir, arguments: &[impl AsRef<OsStr>]) -> Option<Self> {
        if !job_place::has_peers_here() {
            return None;
        }
        let mut keeper = Command::new("/proc/self/exe");
        keeper.arg0("csprof").arg(SUBCOMMAND).arg(run_dir.path()).args(arguments);
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        inherited::set_apart(&mut keeper);
        keeper.spawn().ok().map(Self)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            // A keeper that was killed hears nothing.
            let _ = pipe.write_all(DISMISSED);
        }
        let begin = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) && begin.elapsed() < FAREWELL {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// From the side of the keeper: closes what launchers wait for, and waits for the other csprof.
/// Returns whether it was killed, so that there is something to do.
///
/// # Errors
///
/// When the pipe cannot be read.
pub fn wait_for_kill() -> io::Result<bool> {
    // Launchers wait until what they have given to a rank is closed.
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for number in open.into_iter().filter(|&number| number > 2) {
        let _ = close(number);
    }
    let _ = std::env::set_current_dir("/");
    let mut word = Vec::new();
    io::stdin().read_to_end(&mut word)?;
    Ok(word.is_empty())
}

/// Waits until no process of the run in this folder goes on, none that is about to make its arena
/// either. Returns whether that is so; if not, after a minute, what is there is a part.
#[must_use]
pub fn wait_for_processes(run_dir: &RunDir) -> bool {
    let [mut pause, longest] = LOOKS;
    let begin = Instant::now();
    // It is older than all processes of the run, and so is the keeper, which was started before.
    let eldest = Eldest::since_own_start(run_dir::owner_of(run_dir.path()).unwrap_or(0));
    loop {
        if running_processes(run_dir, &eldest).is_empty() {
            return true;
        }
        if begin.elapsed() > PATIENCE {
            return false;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keeper_that_was_stopped_holds_nobody() {
        // It reads nothing, as one that was stopped.
        let child = Command::new("sleep").arg("1000").stdin(Stdio::piped()).spawn().unwrap();
        let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
        let begin = Instant::now();
        drop(Keeper(child));
        assert!(begin.elapsed() < Duration::from_secs(60));
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    }
}
