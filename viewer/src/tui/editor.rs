//! The user's editor, which has the terminal until it ends.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use signal_hook::consts::SIGTSTP;
use signal_hook::low_level::emulate_default_handler;

use super::terminal::give_back;

/// Whether an editor has the terminal, whose keys may be signals for all of the process group.
pub(super) static IN_EDITOR: AtomicBool = AtomicBool::new(false);

/// Lets the editor have the terminal until it ends.
///
/// The error is for people, and says why there was none, or how it failed.
pub(super) fn edit(path: &Path, line: u32) -> Result<(), String> {
    let mut command = editor(path, line);
    give_back();
    IN_EDITOR.store(true, Ordering::Relaxed);
    let started = command.spawn();
    let status = started
        .map_err(anyhow::Error::from)
        .and_then(|editor| wait_for(Pid::from_raw(i32::try_from(editor.id()).unwrap_or(0))));
    IN_EDITOR.store(false, Ordering::Relaxed);
    match status {
        Ok(WaitStatus::Exited(_, 0)) => Ok(()),
        Ok(WaitStatus::Exited(_, 127)) => {
            Err("there is no such editor; VISUAL or EDITOR names one".to_owned())
        }
        Ok(WaitStatus::Exited(_, status)) => Err(format!("the editor ended with {status}")),
        Ok(_) => Err("the editor was killed".to_owned()),
        Err(error) => Err(format!("no editor was started: {error:#}")),
    }
}

/// What opens a file at a line: the user's editor, with what else stands in its variable.
fn editor(path: &Path, line: u32) -> Command {
    let set = |name| std::env::var(name).ok().filter(|text: &String| !text.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    // A shell, as for others who start editors (git, crontab): the variable may have arguments.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{editor} \"$@\""), &editor, &format!("+{line}")]);
    // Begins with no sign of an option.
    command.arg(Path::new(".").join(path));
    command
}

/// Waits for the end of an editor. If it is stopped, so is the viewer, until both go on.
fn wait_for(editor: Pid) -> anyhow::Result<WaitStatus> {
    loop {
        match waitpid(editor, Some(WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Stopped(..)) => emulate_default_handler(SIGTSTP)?,
            Err(Errno::EINTR) => {}
            other => return Ok(other?),
        }
    }
}
