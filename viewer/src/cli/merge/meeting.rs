//! Where the shares of a merge meet: a folder beside the output, on a file system that all see.
//!
//! | file | is |
//! |---|---|
//! | `share.I` | share I is there ([`Member`]); share 0 is the lock on the output, too |
//! | `SESSION.go` | share 0 has found all others |
//! | `SESSION.I.csprof`, `SESSION.I.json` | the result of share I |
//! | `SESSION.done`, `SESSION.failed` | how it ended; the latter says why |
//!
//! A file appears under its name when it is complete. What an earlier merge has left is taken for
//! nothing of this one: share 0 names the session anew, each other share answers by a file that has
//! that name and a number of its own, and `go` lists these numbers. So neither believes what is
//! old. A share whose owner ends is noticed by the share that waits for it, which tells all others.

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Error, Result, bail};
use csprof_format::whole_file::Temporary;
use serde::{Deserialize, Serialize};

use super::member::{self, BEAT, Life, Member, OwnFile, Watch};
use super::share::Share;
use crate::print;

/// How long a share that has seen the end waits for others to see it, before it ends and a launcher
/// may kill them.
const FAREWELL: Duration = Duration::from_secs(10);

/// Characters of an error that others are told.
const MOST_TEXT: usize = 3000;

/// Why a share gave up.
#[derive(Debug, Serialize, Deserialize)]
struct Failure {
    share: u32,
    host: String,
    text: String,
}

/// The error of a share that another one has ended.
#[derive(Debug)]
struct FailedElsewhere(String);

impl fmt::Display for FailedElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FailedElsewhere {}

/// A share among the others. Dropped, it leaves.
#[derive(Debug)]
pub(super) struct Meeting {
    folder: PathBuf,
    share: Share,
    timeout: Duration,
    me: Member,
    file: OwnFile,
    /// Whether its own file is still there under its name.
    is_there: bool,
}

/// Time between two looks, which grows.
struct Pause(Duration);

impl Pause {
    const fn new() -> Self {
        Self(Duration::from_millis(2))
    }

    fn wait(&mut self, folder: &Path) {
        sleep(self.0);
        // A quarter of what has passed so far.
        self.0 = (self.0 * 5 / 4).min(Duration::from_millis(250));
        // A network file system looks anew at a folder that is opened.
        let _ = fs::read_dir(folder);
    }
}

impl Meeting {
    /// Joins the shares that merge the same into a file, once all are there. If `share` is the only
    /// one, this keeps others from the file.
    ///
    /// # Errors
    ///
    /// When another process has this share, the shares differ in what they merge, one does not
    /// begin within `timeout`, or the folder cannot be written.
    pub(super) fn join(
        output: &Path,
        share: Share,
        task: String,
        timeout: Duration,
    ) -> Result<Self> {
        let mut folder = output.file_name().unwrap_or_default().to_owned();
        folder.push(".parts");
        let folder = output.with_file_name(folder);
        let mut me = Member::here(share.count, task)?;
        if share.number == 0 {
            me.session.clone_from(&me.nonce);
        }
        let (file, replaced) = claim(&folder, share, &me, output)?;
        let mut meeting = Self { folder, share, timeout, me, file, is_there: true };
        let joined = match share.number {
            0 => meeting.gather(replaced),
            _ => meeting.follow(),
        };
        match joined {
            Ok(()) => Ok(meeting),
            Err(error) => Err(meeting.fail(error)),
        }
    }

    /// Share 0: removes what is left, and waits for the others.
    fn gather(&self, replaced: bool) -> Result<()> {
        if self.remove_left()? || replaced {
            print::message(format_args!(
                "{}: removed what a merge had left there that did not end",
                self.folder.display()
            ))?;
        }
        let mut others: Vec<Option<Member>> = vec![None; self.share.count as usize - 1];
        let (mut pause, mut since) = (Pause::new(), Instant::now());
        loop {
            let mut missing = None;
            for (number, other) in (1..).zip(&mut others) {
                if other.is_none() {
                    let found = Member::read(&self.path_of_share(number));
                    *other = found.filter(|found| found.session == self.me.session);
                    match other {
                        Some(_) => since = Instant::now(),
                        None => missing = missing.or(Some(number)),
                    }
                }
                // Who could not list them says so itself.
                let is_other = |task: &str| !task.is_empty() && task != self.me.task;
                let is_known = !self.me.task.is_empty();
                if let Some(other) =
                    other.as_ref().filter(|other| is_known && is_other(&other.task))
                {
                    bail!(
                        "{} on {} is to merge other files than share 0, or otherwise: {} there, {} here; \
                         give all shares one command line, and wait until the folder is complete",
                        Share { number, ..self.share },
                        other.host,
                        other.task,
                        self.me.task
                    );
                }
            }
            let Some(missing) = missing else { break };
            self.check()?;
            if since.elapsed() > self.timeout {
                return Err(self.not_begun(missing));
            }
            pause.wait(&self.folder);
        }
        let nonces: Vec<&str> = others.iter().flatten().map(|other| &*other.nonce).collect();
        self.write("go", &nonces).with_context(|| self.folder.display().to_string())
    }

    /// Another share: waits until share 0 has found it.
    fn follow(&mut self) -> Result<()> {
        let leader = self.path_of_share(0);
        let (mut pause, mut watch) = (Pause::new(), Watch::new());
        // The merge that began without this share: nothing that is said here is for that one.
        let mut not_ours = String::new();
        loop {
            match Member::read(&leader) {
                Some(found) if found.shares != self.share.count || found.session == not_ours => {}
                Some(found) => {
                    if found.session != self.me.session {
                        self.name(found.session)?;
                    }
                    let go = fs::read(self.path("go")).ok();
                    let nonces: Option<Vec<String>> =
                        go.and_then(|go| serde_json::from_slice(&go).ok());
                    match nonces {
                        Some(nonces) if nonces.contains(&self.me.nonce) => return Ok(()),
                        Some(_) => {
                            not_ours.clone_from(&self.me.session);
                            self.name(String::new())?;
                        }
                        // One that is left there from an earlier merge neither lives nor ends this.
                        None if watch.look(&leader, &self.me) == Life::Lives => self.check()?,
                        None => {}
                    }
                }
                // What it says while it is there may have been said to others.
                None => self.check()?,
            }
            if watch.silence() > self.timeout {
                return Err(self.not_begun(0));
            }
            pause.wait(&self.folder);
        }
    }

    /// Tells which merge this share takes part in; in none, if that has no name.
    fn name(&mut self, session: String) -> Result<()> {
        self.me.session = session;
        Ok(self.file.write(&self.me)?)
    }

    fn not_begun(&self, number: u32) -> Error {
        let Share { count, .. } = self.share;
        anyhow::anyhow!(
            "share {number} of {count} has not begun within {:?}; start all, from 0/{count} to \
             {}/{count}, each once, or wait longer by --timeout; --share 0/1 merges alone",
            self.timeout,
            count - 1
        )
    }

    /// Fails if another share has.
    ///
    /// # Errors
    ///
    /// What that one says.
    pub(super) fn check(&self) -> Result<()> {
        if self.me.session.is_empty() {
            return Ok(());
        }
        let failed = self.path("failed");
        let Ok(text) = fs::read(&failed) else { return Ok(()) };
        let Ok(Failure { share, host, text }) = serde_json::from_slice(&text) else {
            bail!(FailedElsewhere("another share has failed; its last line says why".to_owned()))
        };
        let other = Share { number: share, ..self.share };
        bail!(FailedElsewhere(format!("{other} on {host} failed: {text}")))
    }

    /// Where the result of a share is, in a file with this ending.
    pub(super) fn path_of_result(&self, number: u32, ending: &str) -> PathBuf {
        self.path(&format!("{number}.{ending}"))
    }

    /// Hands on what is known of the result of this share, after the result itself.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub(super) fn hand_over(&self, notes: &impl Serialize) -> Result<()> {
        let name = format!("{}.json", self.share.number);
        self.write(&name, notes).with_context(|| self.folder.display().to_string())
    }

    /// Waits for the result of another share, and takes what is known of it.
    ///
    /// # Errors
    ///
    /// When a share has failed or ended, or is not heard of.
    pub(super) fn wait_for<N: for<'d> Deserialize<'d>>(&self, number: u32) -> Result<N> {
        let notes = self.path_of_result(number, "json");
        self.wait_while_lives(number, || match fs::read(&notes) {
            Ok(notes) => Ok(Some(serde_json::from_slice(&notes)?)),
            Err(_) => Ok(None),
        })
    }

    /// Waits until share 0 has saved the output.
    ///
    /// # Errors
    ///
    /// When it has not.
    pub(super) fn wait_for_end(mut self) -> Result<()> {
        let done = self.path("done");
        let ended = self.wait_while_lives(0, || Ok(done.exists().then_some(())));
        match ended {
            Ok(()) => {
                self.leave(self.timeout);
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    fn wait_while_lives<T>(
        &self,
        number: u32,
        mut look: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let other = Share { number, ..self.share };
        let path = self.path_of_share(number);
        let host = || Member::read(&path).map_or_else(String::new, |of| format!(" on {}", of.host));
        let (mut pause, mut watch) = (Pause::new(), Watch::new());
        loop {
            // In this order: who has said the last word may end.
            let life = watch.look(&path, &self.me);
            if let Some(found) = look()? {
                return Ok(found);
            }
            self.check()?;
            if life == Life::Ended {
                bail!("{other}{} has ended without a word, as one does that is killed", host());
            }
            if watch.silence() > self.timeout.max(3 * BEAT) {
                bail!(
                    "{other}{} has not been heard of for {:?}: its machine or the file system may have \
                     failed",
                    host(),
                    self.timeout
                );
            }
            pause.wait(&self.folder);
        }
    }

    /// Share 0: tells the others that the output is saved, and ends the meeting.
    pub(super) fn done(mut self) {
        if !self.share.is_whole() {
            self.say("done", &());
        }
        self.leave(self.timeout);
    }

    /// Tells the others why this share gives up, and ends the meeting. Returns the error.
    pub(super) fn fail(mut self, error: Error) -> Error {
        if !error.is::<FailedElsewhere>() && !self.me.session.is_empty() {
            let text: String = format!("{error:#}").chars().take(MOST_TEXT).collect();
            let host = self.me.host.clone();
            self.say("failed", &Failure { share: self.share.number, host, text });
        }
        self.leave(FAREWELL);
        error
    }

    /// Says the last word to the others. On a full disk that takes the room of this share's own
    /// file, whose name others may then have: if that fails, too, they will say that it has ended
    /// without a word.
    fn say(&mut self, name: &str, content: &impl Serialize) {
        if self.write(name, content).is_err() {
            // Where nothing can be written, they are told that it failed, or is done.
            let _ = self.file.write(content);
            let _ = fs::rename(self.path_of_share(self.share.number), self.path(name));
            self.is_there = false;
        }
    }

    /// Leaves; the last one removes the folder. Waits for that at most so long. Share 0 stays until
    /// the others have left: while its file is there, no other merge into the output begins, which
    /// would remove what they have yet to read.
    fn leave(&mut self, patience: Duration) {
        if self.share.number != 0 {
            self.remove_own();
        }
        let (mut pause, begin) = (Pause::new(), Instant::now());
        let mut watches: Vec<Option<Watch>> = (0..self.share.count).map(|_| None).collect();
        while self.folder.exists() {
            if !self.has_others(&mut watches, 3 * BEAT) {
                self.remove_own();
                return self.remove_all();
            }
            if begin.elapsed() > patience {
                break;
            }
            pause.wait(&self.folder);
        }
        self.remove_own();
    }

    /// Whether other shares of this session are there, and have been heard of within `silence`.
    /// While share 0 is, no others look at one another, who may be many.
    pub(super) fn has_others(&self, watches: &mut [Option<Watch>], silence: Duration) -> bool {
        let mut has_others = false;
        for (number, watch) in (0..).zip(watches).filter(|(number, _)| *number != self.share.number)
        {
            let path = self.path_of_share(number);
            let is_of_session = |of: Member| self.is_of_session(&of.session);
            if !Member::read(&path).is_some_and(is_of_session) {
                continue;
            }
            let watch = watch.get_or_insert_with(Watch::new);
            has_others |= watch.look(&path, &self.me) != Life::Ended && watch.silence() <= silence;
            if has_others && number == 0 {
                break;
            }
        }
        has_others
    }

    fn remove_own(&mut self) {
        if std::mem::take(&mut self.is_there) {
            let _ = fs::remove_file(self.path_of_share(self.share.number));
        }
    }

    /// Removes what is of this session, and files of shares that have ended. What is of others, or
    /// was put there by somebody else, stays, and so does the folder then.
    fn remove_all(&self) {
        let mut shares = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !is_of_merge(&name) {
                continue;
            }
            if name.starts_with(SHARE) {
                shares.push(entry.path());
            } else if self.is_of_session(&name)
                || name.starts_with('.') && !self.me.session.is_empty()
            {
                let _ = fs::remove_file(entry.path());
            }
        }
        member::remove_left(&shares, &self.me);
        let _ = fs::remove_dir(&self.folder);
    }

    /// Removes what an earlier merge left, but for shares, which may be of this one. Returns
    /// whether there was something.
    fn remove_left(&self) -> Result<bool> {
        let mut was_there = false;
        let in_folder = || self.folder.display().to_string();
        for entry in fs::read_dir(&self.folder).with_context(in_folder)? {
            let entry = entry.with_context(in_folder)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !is_of_merge(&name) {
                bail!(
                    "{}: {name} in it is of no merge; move it elsewhere, or merge into another file",
                    self.folder.display()
                );
            }
            // Another share may be about to name its file. Were that removed, a process of the same
            // number on another machine could make one of its name, and both would name that.
            if name.starts_with(SHARE) || name.starts_with('.') {
                continue;
            }
            was_there |= fs::remove_file(entry.path()).is_ok();
        }
        Ok(was_there)
    }

    fn is_of_session(&self, name: &str) -> bool {
        !self.me.session.is_empty() && name.starts_with(&self.me.session)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.{name}", self.me.session))
    }

    fn path_of_share(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{SHARE}{number}"))
    }

    fn write(&self, name: &str, content: &impl Serialize) -> io::Result<()> {
        let path = self.path(name);
        let mut temporary = Temporary::beside(&path)?;
        temporary.file.write_all(&serde_json::to_vec(content)?)?;
        temporary.file.sync_data()?;
        temporary.replace(&path)
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        if self.is_there {
            self.leave(Duration::ZERO);
        }
    }
}

/// The beginning of the names of shares.
const SHARE: &str = "share.";

/// Whether a file of this name is one that a merge makes in the folder.
fn is_of_merge(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = name.strip_prefix(SHARE) {
        return is_number(number);
    }
    if name.starts_with(".csprof-") {
        return true;
    }
    let Some((session, rest)) = name.split_once('.') else { return false };
    let is_session = session.len() == 16 && session.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_session
        && match rest.split_once('.') {
            None => ["go", "done", "failed"].contains(&rest),
            Some((number, ending)) => is_number(number) && ["csprof", "json"].contains(&ending),
        }
}

/// Makes the file of a share in the folder, which is made, too. Also returns whether that of a
/// process was there that has ended.
fn claim(folder: &Path, share: Share, me: &Member, output: &Path) -> Result<(OwnFile, bool)> {
    /// Others may remove the folder just then, or the file.
    const MOST: u32 = 100;
    let path = folder.join(format!("{SHARE}{}", share.number));
    let in_folder = || folder.display().to_string();
    let mut replaced = false;
    for _ in 0..MOST {
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).with_context(in_folder);
            }
            _ => {}
        }
        match me.create(&path) {
            Ok(file) => return Ok((file, replaced)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let other = member::remove_if_left(&path, me).with_context(in_folder)?;
                let Some(Member { host, pid, .. }) = other else {
                    replaced = true;
                    continue;
                };
                let output = output.display();
                match share.number {
                    0 => bail!(
                        "{output}: process {pid} on {host} merges into this file already; let one do \
                         it, or give each its share (--share I/N)"
                    ),
                    _ => bail!(
                        "{output}: process {pid} on {host} does {share} already; each process needs \
                         another one"
                    ),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(in_folder),
        }
    }
    bail!("{}: what is made there is removed by others", folder.display())
}
