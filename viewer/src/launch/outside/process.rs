//! What `/proc` says of a process that runs, and whether it can be sampled from outside.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use nix::libc;
use nix::unistd::Uid;

use crate::launch;
use crate::launch::running::{self, Running};

/// A process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) parent: u32,
    /// When it began, in ticks since the machine did: another process with its id began later.
    start: u64,
}

/// What is used here of `/proc/PID/stat` (proc_pid_stat(5)).
struct Stat {
    name: String,
    state: char,
    parent: u32,
    flags: u64,
    threads: u64,
    start: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::parse(&launch::process::text(pid, "stat")?)
    }

    /// The name, in parentheses, may have any character.
    fn parse(text: &str) -> Option<Self> {
        let (name, fields) = text.rsplit_once(')')?;
        let name = name.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        Some(Self {
            name,
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            flags: fields.get(6)?.parse().ok()?,
            threads: fields.get(17)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        })
    }

    /// A main thread that has ended by pthread_exit(3) is a zombie until the others have ended.
    fn has_ended(&self) -> bool {
        match self.state {
            'Z' => self.threads <= 1,
            state => matches!(state, 'X' | 'x'),
        }
    }
}

impl Process {
    /// The process, if it may be sampled from outside.
    ///
    /// # Errors
    ///
    /// One sentence that says why not, and what can be done.
    pub(super) fn find(pid: u32) -> Result<Self> {
        /// `PF_KTHREAD` of the kernel's `sched.h`.
        const OF_KERNEL: u64 = 0x0020_0000;
        let Some(stat) = Stat::of(pid) else { bail!("there is no process {pid}") };
        let name = &stat.name;
        if pid == std::process::id() {
            bail!("process {pid} is this csprof, which does not sample itself");
        }
        if let Some(process) = status_field(pid, "Tgid").filter(|&process| process != pid) {
            bail!(
                "{pid} is a thread of process {process}: csprof record -p {process} \
                 samples all its threads"
            );
        }
        if stat.flags & OF_KERNEL != 0 {
            bail!(
                "process {pid} ({name}) is a thread of the kernel, which has no program to sample"
            );
        }
        if stat.has_ended() {
            bail!(
                "process {pid} ({name}) has ended, and waits for its parent to ask how; nothing is \
                 left of it to sample"
            );
        }
        let Some(user) = launch::process::user(pid) else { bail!("there is no process {pid}") };
        let own = Uid::effective();
        if !own.is_root() && own.as_raw() != user {
            bail!(
                "process {pid} ({name}) is another user's: run csprof as that user \
                 (uid {user}) or as root"
            );
        }
        if let Ok(run) = running::find(Some(&pid.to_string()))
            && let Some(better) = better_from_inside(&run, pid)
        {
            bail!("process {pid} ({name}) {better}");
        }
        if is_of_32_bits(pid) {
            bail!(
                "process {pid} ({name}) runs a 32-bit program, of which csprof finds no call paths"
            );
        }
        Ok(Self { pid, parent: stat.parent, start: stat.start })
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        Stat::of(self.pid).is_none_or(|stat| stat.has_ended() || stat.start != self.start)
    }

    /// Its file's path, as it was started; empty if that is not known.
    pub(super) fn program(&self) -> PathBuf {
        self.link("exe")
    }

    /// The folder in which it is.
    pub(super) fn directory(&self) -> Vec<u8> {
        self.link("cwd").into_os_string().into_vec()
    }

    /// Where a link of `/proc/PID` leads, of a thread that has not ended; empty if there is none.
    fn link(&self, name: &str) -> PathBuf {
        let links = threads(self.pid).into_iter().filter_map(|thread| {
            fs::read_link(format!("/proc/{}/task/{thread}/{name}", self.pid)).ok()
        });
        links.take(1).collect()
    }
}

/// Why a process of a run of csprof's is not sampled from outside, and what can be done; `None` if
/// csprof is not in it, as in a program without a dynamic linker.
fn better_from_inside(run: &Running, pid: u32) -> Option<String> {
    if run.recorder == Some(pid) {
        return Some(format!(
            "is a csprof that records: csprof control {pid} snapshot FILE saves what it has sampled"
        ));
    }
    run.processes.contains(&pid).then(|| match run.recorder {
        Some(recorder) => format!(
            "is sampled from inside, by csprof {recorder}: csprof control {pid} snapshot FILE saves \
             what there is"
        ),
        None => format!(
            "was started by csprof, which can sample it from inside, with edge counts: csprof \
             attach {pid}"
        ),
    })
}

/// A number behind `Name:` in `/proc/PID/status`; of several, the last.
pub(super) fn status_field(pid: u32, name: &str) -> Option<u32> {
    let status = launch::process::text(pid, "status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

fn is_of_32_bits(pid: u32) -> bool {
    const CLASS_32: u8 = 1;
    let head = fs::File::open(format!("/proc/{pid}/exe")).and_then(|file| {
        let mut head = [0; 5];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut head, 0).map(|()| head)
    });
    matches!(head, Ok([0x7f, b'E', b'L', b'F', CLASS_32]))
}

/// Program and arguments of a process; empty if it has ended.
pub(super) fn command(pid: u32) -> Vec<Vec<u8>> {
    let text = text(pid, "cmdline").unwrap_or_default();
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect()
}

/// The threads of a process, ascending; none if it has ended.
pub(super) fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut threads: Vec<u32> = numbers.collect();
    threads.sort_unstable();
    threads
}

/// The name of a thread, padded with zeros.
pub(super) fn name(pid: u32, thread: u32) -> [u8; 16] {
    let name = fs::read(format!("/proc/{pid}/task/{thread}/comm")).unwrap_or_default();
    padded(name.strip_suffix(b"\n").unwrap_or(&name))
}

/// The first 16 bytes, or zeros behind them.
pub(super) fn padded(name: &[u8]) -> [u8; 16] {
    let mut padded = [0; 16];
    padded.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
    padded
}

/// CPU time of a thread, in nanoseconds. `None` if it has ended.
pub(super) fn cpu_ns(pid: u32, thread: u32) -> Option<u64> {
    schedstat(&format!("/proc/{pid}/task/{thread}/schedstat"))?.first().copied()
}

/// Whether a thread has ever run; as if it had where the kernel does not count that. Its parent
/// lets it run only when the records of its beginning are written (`kernel_clone` of the kernel's
/// `fork.c`).
pub(super) fn has_run(pid: u32, thread: u32) -> bool {
    let runs = |numbers: Option<Vec<u64>>| numbers.and_then(|numbers| numbers.get(2).copied());
    let is_counted = || runs(schedstat("/proc/self/schedstat")).is_some_and(|runs| runs > 0);
    let own = runs(schedstat(&format!("/proc/{pid}/task/{thread}/schedstat")));
    own != Some(0) || !is_counted()
}

/// CPU time and time in the run queue in nanoseconds, and how often it ran.
fn schedstat(path: &str) -> Option<Vec<u64>> {
    let text = fs::read_to_string(path).ok()?;
    text.split_ascii_whitespace().map(|number| number.parse().ok()).collect()
}

/// What it has mapped.
///
/// # Errors
///
/// When this cannot be read.
pub(super) fn maps(pid: u32) -> Result<Vec<u8>> {
    match text(pid, "maps") {
        Ok(maps) => Ok(maps),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => bail!(
            "process {pid} has more rights than csprof, and what it has mapped may not be read: \
             run csprof as root"
        ),
        Err(error) => bail!("what process {pid} has mapped cannot be read: {error}"),
    }
}

/// A file of `/proc/PID`, as a thread has it that has not ended; empty if all have.
fn text(pid: u32, name: &str) -> io::Result<Vec<u8>> {
    let read = |path: String| match fs::read(path) {
        Err(error) if [Some(libc::ENOENT), Some(libc::ESRCH)].contains(&error.raw_os_error()) => {
            Ok(Vec::new())
        }
        read => read,
    };
    let first = read(format!("/proc/{pid}/{name}"))?;
    if !first.is_empty() {
        return Ok(first);
    }
    let others = threads(pid).into_iter().filter(|&thread| thread != pid);
    let mut others = others.map(|thread| read(format!("/proc/{pid}/task/{thread}/{name}")));
    others.find(|read| !matches!(read, Ok(text) if text.is_empty())).unwrap_or(Ok(first))
}

#[cfg(test)]
mod tests {
    use csprof_format::launch::{SampleSource, SampleSources, SourceKind};

    use super::*;

    #[test]
    fn a_name_may_look_like_fields() {
        let text = "42 (a) R 7) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 12345 1 2";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((&*stat.name, stat.state, stat.parent), ("a) R 7", 'S', 1));
        assert_eq!((stat.flags, stat.threads, stat.start), (4_194_560, 3, 12345));
        assert!(Stat::parse("42 (a").is_none());
    }

    #[test]
    fn a_process_has_not_ended_with_its_main_thread_alone() {
        let has_ended = |state: char, threads: u64| {
            let text = format!("42 (a) {state} 1 42 42 0 -1 0 1 2 3 4 5 6 7 8 20 0 {threads} 0 9");
            Stat::parse(&text).unwrap().has_ended()
        };
        assert!(!has_ended('Z', 2));
        assert!(has_ended('Z', 1) && has_ended('Z', 0) && has_ended('X', 2));
        assert!(!has_ended('S', 1));
    }

    #[test]
    fn only_what_csprof_is_in_is_sampled_from_inside() {
        let mut run = Running {
            folder: PathBuf::new(),
            command: Vec::new(),
            sources: SampleSources::one(SampleSource::of(SourceKind::TaskClock)),
            output: None,
            recorder: None,
            processes: vec![7],
        };
        assert!(better_from_inside(&run, 7).unwrap().ends_with("csprof attach 7"));
        assert_eq!(better_from_inside(&run, 8), None);
        run.recorder = Some(6);
        let told = |pid: u32| better_from_inside(&run, pid).unwrap_or_default();
        assert!(told(7).contains("by csprof 6: csprof control 7 snapshot"), "{}", told(7));
        assert!(told(6).contains("a csprof that records: csprof control 6 snapshot"));
        assert_eq!(told(8), "");
    }

    #[test]
    fn the_own_process_is_known() {
        let own = std::process::id();
        assert!(threads(own).contains(&own));
        assert_eq!(status_field(own, "Tgid"), Some(own));
        assert!(!command(own).is_empty());
        assert!(!maps(own).unwrap().is_empty() && maps(u32::MAX).unwrap().is_empty());
        assert!(has_run(own, own) && cpu_ns(own, own).is_some());
        assert_eq!(padded(b"a name of more than 16 bytes"), *b"a name of more t");
    }

    #[test]
    fn what_cannot_be_sampled_is_told_why() {
        let told = |pid: u32| Process::find(pid).unwrap_err().to_string();
        assert!(told(std::process::id()).contains("does not sample itself"));
        assert_eq!(told(u32::MAX), format!("there is no process {}", u32::MAX));
    }
}
