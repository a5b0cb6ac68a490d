//! The file by which a share tells the others that it is there, and that it lives.
//!
//! Its owner holds a lock on it, which the kernel drops when the owner ends, however that happens:
//! so others on the same machine know at once. File systems of clusters may keep locks within one
//! machine; for others the file is touched every two seconds. Only changes of its time count, so
//! clocks need not agree.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use csprof_format::whole_file::Temporary;
use serde::{Deserialize, Serialize};
use serde_json::to_vec;

/// How often a file is touched.
pub(super) const BEAT: Duration = Duration::from_secs(2);

/// Bytes of the file. They are there from the beginning, so that a share can write into it why it
/// fails when the disk is full.
const BYTES: usize = 4096;

/// What a share says of itself.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct Member {
    /// The merge that it takes part in, as share 0 has named it; empty while it looks for one.
    pub(super) session: String,
    /// No other process has this one, not the one that had this share in an earlier merge either.
    pub(super) nonce: String,
    /// The running kernel: machines that share a name, such as containers, are one if this is.
    boot: String,
    /// Name of the machine.
    pub(super) host: String,
    /// Process id.
    pub(super) pid: u32,
    /// How many shares the merge has.
    pub(super) shares: u32,
    /// What is merged, and how: the same in all shares of one merge.
    pub(super) task: String,
}

impl Member {
    /// This process, in a merge of so many shares.
    pub(super) fn here(shares: u32, task: String) -> io::Result<Self> {
        let mut random = [0; 8];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let host = nix::sys::utsname::uname().map_or_else(
            |_| String::new(),
            |names| names.nodename().to_string_lossy().into_owned(),
        );
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Ok(Self {
            session: String::new(),
            nonce: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            boot: boot.trim().to_owned(),
            host,
            pid: std::process::id(),
            shares,
            task,
        })
    }

    /// The one that a file tells of, unless it is just being written.
    pub(super) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Makes its file, which is locked and touched while it is open, unless there is one.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is, and those of the file system.
    pub(super) fn create(&self, path: &Path) -> io::Result<OwnFile> {
        let temporary = Temporary::beside(path)?;
        let file = temporary.file.try_clone()?;
        // A file system without locks has the times alone.
        let _ = file.try_lock();
        let own = OwnFile { _beat: Beat::of(file.try_clone()?), file };
        own.write(self)?;
        temporary.create(path)?;
        Ok(own)
    }

    /// Whether a process of the same machine may say of a lock that nobody has it.
    fn is_neighbor(&self, other: &Self) -> bool {
        !self.boot.is_empty() && self.boot == other.boot
    }
}

/// The file of this process.
#[derive(Debug)]
pub(super) struct OwnFile {
    file: File,
    _beat: Beat,
}

impl OwnFile {
    /// Puts other content into it, in the room that it has.
    pub(super) fn write(&self, content: &impl Serialize) -> io::Result<()> {
        let mut bytes = to_vec(content)?;
        bytes.resize(bytes.len().max(BYTES), b' ');
        self.file.write_all_at(&bytes, 0)?;
        self.file.sync_data()
    }
}

/// Touches a file until it is dropped.
#[derive(Debug)]
struct Beat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Beat {
    fn of(file: File) -> Self {
        let (stop, stopped) = channel::<()>();
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                // Who cannot be heard is taken for dead, and says so itself when it is done.
                let _ = file.set_modified(SystemTime::now());
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

/// What is known of the owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Lives,
    /// No sign since it was last looked at.
    Silent,
    /// It has ended, for certain.
    Ended,
}

/// Looks whether the owner of a file lives.
#[derive(Debug)]
pub(super) struct Watch {
    modified: Option<SystemTime>,
    heard: Instant,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self { modified: None, heard: Instant::now() }
    }

    /// One that has heard nothing for so long.
    #[cfg(test)]
    pub(super) fn silent_for(silence: Duration) -> Self {
        let heard = Instant::now().checked_sub(silence).unwrap_or_else(Instant::now);
        Self { modified: None, heard }
    }

    /// What the file at a path says, to `me`.
    pub(super) fn look(&mut self, path: &Path, me: &Member) -> Life {
        let Ok(mut file) = File::open(path) else { return Life::Silent };
        let mut bytes = Vec::new();
        let member = file.read_to_end(&mut bytes).ok();
        let member: Option<Member> = member.and_then(|_| serde_json::from_slice(&bytes).ok());
        let life = match member {
            Some(member) if me.is_neighbor(&member) => match file.try_lock_shared() {
                Ok(()) => Life::Ended,
                Err(TryLockError::WouldBlock) => Life::Lives,
                Err(TryLockError::Error(_)) => self.beat(&file),
            },
            _ => self.beat(&file),
        };
        if life == Life::Lives {
            self.heard = Instant::now();
        }
        life
    }

    /// Whether the file was touched since the last look.
    fn beat(&mut self, file: &File) -> Life {
        let modified = file.metadata().and_then(|about| about.modified()).ok();
        let before = std::mem::replace(&mut self.modified, modified);
        if before.is_some() && before != modified { Life::Lives } else { Life::Silent }
    }

    /// For how long nothing was heard.
    pub(super) fn silence(&self) -> Duration {
        self.heard.elapsed()
    }
}

/// How many files are watched at one time. All are open then, of which a process may have 1024.
const WATCHED: usize = 256;

/// Removes those of these files whose processes have ended.
pub(super) fn remove_left(paths: &[PathBuf], me: &Member) {
    for paths in paths.chunks(WATCHED) {
        remove_silent(watched(paths), me, 3 * BEAT);
    }
}

/// Those of these files that there are. What somebody else removes meanwhile is gone. A file that
/// then has its name is another one's, of which nothing was heard because it has just begun.
fn watched(paths: &[PathBuf]) -> Vec<(File, PathBuf, Watch)> {
    let open = |path: &PathBuf| Some((opened(path).ok()??, path.clone(), Watch::new()));
    paths.iter().filter_map(open).collect()
}

/// Removes those of these files whose processes have ended; of a process on another machine, those
/// that are silent for so long.
fn remove_silent(mut watched: Vec<(File, PathBuf, Watch)>, me: &Member, patience: Duration) {
    let begin = Instant::now();
    loop {
        watched.retain_mut(|(file, path, watch)| match watch.look(path, me) {
            Life::Lives => false,
            Life::Ended => {
                let _ = remove_if_left(path, me);
                false
            }
            Life::Silent => is_at(file, path),
        });
        if watched.is_empty() || begin.elapsed() >= patience {
            break;
        }
        thread::sleep(BEAT / 20);
    }
    for (file, path, _) in watched {
        let _ = remove_unless(&file, &path, me, || false);
    }
}

/// Removes the file of a process that has ended; returns the member that has it if that lives.
///
/// # Errors
///
/// Those of the file system.
pub(super) fn remove_if_left(path: &Path, me: &Member) -> io::Result<Option<Member>> {
    match opened(path)? {
        Some(file) => remove_unless(&file, path, me, || beats(&file, path, me)),
        None => Ok(None),
    }
}

/// A file that may be locked; `None` where there is none.
fn opened(path: &Path) -> io::Result<Option<File>> {
    match File::options().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// Whether the file at a path is this one.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |about: fs::Metadata| (about.dev(), about.ino());
    let [own, there] = [file.metadata(), fs::metadata(path)].map(|about| about.map(id).ok());
    own.is_some() && own == there
}

/// Removes this file, which was found at a path; of a process on another machine `beats` says
/// whether it lives.
fn remove_unless(
    file: &File,
    path: &Path,
    me: &Member,
    beats: impl FnOnce() -> bool,
) -> io::Result<Option<Member>> {
    let member = Member::read(path);
    let lives = match lock_for_good(file) {
        Err(TryLockError::WouldBlock) => true,
        Ok(()) if member.as_ref().is_some_and(|member| me.is_neighbor(member)) => false,
        _ => beats(),
    };
    if lives {
        let unknown = || Member { host: "another machine".to_owned(), pid: 0, ..me.clone() };
        return Ok(Some(member.unwrap_or_else(unknown)));
    }
    // While it is locked here, nobody else removes it and puts another in its place.
    if is_at(file, path) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(None)
}

/// Locks a file that nobody has locked for good, alone: of two that remove it, one goes first. Who
/// looks whether its owner lives has it for a moment, and there may be many who do.
fn lock_for_good(file: &File) -> Result<(), TryLockError> {
    let begin = Instant::now();
    loop {
        for _ in 0..40 {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
                done => return done,
            }
        }
        // An owner lets nobody look.
        file.try_lock_shared()?;
        file.unlock().map_err(TryLockError::Error)?;
        if begin.elapsed() >= 3 * BEAT {
            return Err(TryLockError::WouldBlock);
        }
    }
}

/// Whether a file is touched while it is at a path.
fn beats(file: &File, path: &Path, me: &Member) -> bool {
    let mut watch = Watch::new();
    while watch.silence() < 3 * BEAT && is_at(file, path) {
        if watch.look(path, me) == Life::Lives {
            return true;
        }
        thread::sleep(BEAT / 20);
    }
    false
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;
    use crate::surroundings::{comes_true, skip};

    fn member() -> Member {
        Member::here(2, "3 files".to_owned()).unwrap()
    }

    #[test]
    fn who_holds_the_lock_lives_and_who_has_dropped_it_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("share.1");
        let me = member();
        if me.boot.is_empty() {
            return skip("locks of members", "the kernel does not say which one it is");
        }
        let mut watch = Watch::new();
        assert_eq!(watch.look(&path, &me), Life::Silent);
        let own = me.create(&path).unwrap();
        assert_eq!(Member::read(&path), Some(me.clone()));
        assert_eq!(watch.look(&path, &me), Life::Lives);
        assert_eq!(remove_if_left(&path, &me).unwrap(), Some(me.clone()));
        assert_eq!(me.create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop(own);
        assert!(comes_true(|| watch.look(&path, &me) == Life::Ended));
        assert_eq!(remove_if_left(&path, &me).unwrap(), None);
        assert!(!path.exists());
        // Nothing else is left behind.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// Of another machine, whose locks may not be seen here, only the time of the file says that it
    /// lives.
    #[test]
    fn who_is_elsewhere_lives_while_its_file_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("share.1");
        let me = member();
        let elsewhere = Member { boot: "another".to_owned(), ..me.clone() };
        let own = elsewhere.create(&path).unwrap();
        let mut watch = Watch::new();
        assert_eq!([(); 2].map(|()| watch.look(&path, &me)), [Life::Silent; 2]);
        own.file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!([(); 2].map(|()| watch.look(&path, &me)), [Life::Lives, Life::Silent]);
    }

    /// What somebody else has removed is not waited for, and who comes in its place lives: nothing
    /// was heard of it because it has just begun.
    #[test]
    fn a_file_that_takes_the_place_of_another_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("share.1");
        let me = member();
        let write = |to: &Path| {
            let elsewhere = Member { boot: "another".to_owned(), ..me.clone() };
            fs::write(to, to_vec(&elsewhere).unwrap()).unwrap();
        };
        let begin = Instant::now();
        remove_left(slice::from_ref(&path), &me);
        assert!(begin.elapsed() < 3 * BEAT, "{:?}", begin.elapsed());
        write(&path);
        let patience = Duration::from_millis(300);
        let found = watched(slice::from_ref(&path));
        let taken = thread::scope(|scope| {
            let remover = scope.spawn(|| {
                let begin = Instant::now();
                remove_silent(found, &me, patience);
                begin.elapsed()
            });
            thread::sleep(patience / 3);
            let next = folder.path().join("next");
            write(&next);
            fs::rename(&next, &path).unwrap();
            remover.join().unwrap()
        });
        assert!(path.exists());
        assert!(taken < 3 * BEAT, "{taken:?}");
        remove_silent(watched(slice::from_ref(&path)), &me, Duration::ZERO);
        assert!(!path.exists());
    }

    /// Two that would remove a file are not inside at one time, however long others look.
    #[test]
    fn who_removes_has_the_lock_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("share.1");
        fs::write(&path, "").unwrap();
        let [looker, remover, other] = [(); 3].map(|()| opened(&path).unwrap().unwrap());
        looker.lock_shared().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(300));
                looker.unlock().unwrap();
            });
            lock_for_good(&remover).unwrap();
        });
        assert!(matches!(other.try_lock_shared(), Err(TryLockError::WouldBlock)));
        assert!(matches!(lock_for_good(&other), Err(TryLockError::WouldBlock)));
    }

    #[test]
    fn content_takes_no_more_room_than_there_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("share.1");
        let mut me = member();
        let own = me.create(&path).unwrap();
        me.session = "a".repeat(16);
        own.write(&me).unwrap();
        assert_eq!(Member::read(&path), Some(me));
        assert_eq!(fs::metadata(&path).unwrap().len(), BYTES as u64);
    }
}
