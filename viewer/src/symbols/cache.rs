//! Files that hold what was worked out before, in a folder of the user's: `$XDG_CACHE_HOME/csprof`.
//!
//! An entry is believed if it is whole (its checksum says so) and has the very key that is asked
//! for. It is written under another name and renamed, so that whoever reads it meanwhile has the
//! one before or the new one. Of two who write one entry at once the later stays; both are right.
//! When all entries are larger than the limit, those go that were not used for the longest time.
//! What is to be stored waits until the profile is saved, which may need the room. Whatever fails
//! here costs time, and nothing else: nobody is told.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::Uid;

use crate::job_place::has_peers_here;

/// Environment variable with the bytes that the cache may have; 0 for none at all.
pub const SIZE_VARIABLE: &str = "CSPROF_CACHE_SIZE";

/// What it may have where nothing is said.
const USUAL_SIZE: u64 = 256 << 20;

/// What entries begin with.
const MAGIC: &[u8; 8] = b"csprofn1";

/// Bytes before the key: [`MAGIC`], the CRC-32 of all that follows it, and the length of the key.
const HEADER: usize = 16;

/// How the names of entries end.
const SUFFIX: &str = ".names";

/// How the names of files end that are to be renamed.
const NEW_SUFFIX: &str = ".new";

/// Most entries. A program that is built anew every minute leaves one each time.
const MOST_ENTRIES: usize = 4096;

/// Age at which a file is remembered. Times of files have steps (of 4 ms, of 2 s on some file
/// systems), and what is written within the step of the last time leaves no trace.
const SETTLED: Duration = Duration::from_secs(2);

/// Age at which a file that was not renamed is taken for one of a csprof that was killed.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder with entries.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
    settled: Duration,
    /// Whether entries stay in memory, and there is no folder.
    in_memory: bool,
    /// Keys and values that are to be stored.
    waiting: Mutex<Vec<(String, Vec<u8>)>>,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// Entries.
    pub entries: usize,
    /// Their size in bytes.
    pub bytes: u64,
}

impl Cache {
    /// The user's cache; `None` if `CSPROF_CACHE_SIZE` is 0, and where there is no place for it.
    /// One of many ranks has it only if it is told to: all would write at the same time, to a home
    /// that is on one server.
    ///
    /// # Errors
    ///
    /// A text for people, if the variable is no size.
    pub fn from_environment() -> Result<Option<Self>, String> {
        Self::from_variables(|name| std::env::var_os(name), has_peers_here())
    }

    fn from_variables(
        variable: impl Fn(&str) -> Option<OsString>,
        is_one_of_many: bool,
    ) -> Result<Option<Self>, String> {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let limit = match set(SIZE_VARIABLE) {
            Some(size) => size.to_str().and_then(bytes).ok_or_else(|| {
                let size = size.display();
                format!("{SIZE_VARIABLE}={size} is no size such as 256M, so nothing is remembered")
            })?,
            None if is_one_of_many => 0,
            None => USUAL_SIZE,
        };
        let folder = Self::folder_of(variable).filter(|_| limit > 0);
        Ok(folder.map(|folder| Self { settled: SETTLED, ..Self::at(folder, limit) }))
    }

    /// The user's folder of entries, whether it is used or not; `None` without a home.
    #[must_use]
    pub fn place() -> Option<PathBuf> {
        Self::folder_of(|name| std::env::var_os(name))
    }

    fn folder_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let folder = |name| set(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
        Some(caches.join("csprof/names"))
    }

    /// A cache in this folder, which need not exist, of at most `limit` bytes; also of files that
    /// were written just now.
    #[must_use]
    pub fn at(folder: PathBuf, limit: u64) -> Self {
        Self { folder, limit, settled: Duration::ZERO, in_memory: false, waiting: Mutex::default() }
    }

    /// A cache of at most `limit` bytes that ends with this process: a profile of a running program
    /// is read again and again.
    #[must_use]
    pub fn in_memory(limit: u64) -> Self {
        Self { in_memory: true, ..Self::at(PathBuf::new(), limit) }
    }

    /// Age at which what is read of a file is remembered.
    pub(super) fn settled(&self) -> Duration {
        self.settled
    }

    /// Where the entries are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Bytes that it has at most.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What was stored under a key, if that is there and whole.
    pub(super) fn get(&self, key: &str) -> Option<Vec<u8>> {
        if self.in_memory {
            let waiting = self.waiting.lock().ok()?;
            return waiting.iter().find(|(of, _)| of == key).map(|(_, value)| value.clone());
        }
        self.check_owner().ok()?;
        let path = self.path(key);
        let mut file = File::open(&path).ok()?;
        let mut bytes = Vec::new();
        (&mut file).take(self.limit).read_to_end(&mut bytes).ok()?;
        let Some(value) = value(&bytes, key) else {
            // Damaged, or of another key with the same checksum: the next one replaces it.
            return None;
        };
        let value = value.to_vec();
        // What was used last goes last.
        let _ = file.set_modified(SystemTime::now());
        Some(value)
    }

    /// Keeps a value that is to be stored under a key, as far as there is room for it.
    pub(super) fn put(&self, key: String, value: Vec<u8>) {
        let size = |(key, value): &(String, Vec<u8>)| (HEADER + key.len() + value.len()) as u64;
        let Ok(mut waiting) = self.waiting.lock() else { return };
        // Two modules of one key, each looked up when the other's was not there: the larger stays.
        if let Some((_, known)) = waiting.iter_mut().find(|(other, _)| *other == key) {
            if known.len() < value.len() {
                *known = value;
            }
            return;
        }
        let entry = (key, value);
        let all: u64 = waiting.iter().map(size).sum();
        if all.saturating_add(size(&entry)) <= self.limit {
            waiting.push(entry);
        }
    }

    /// Stores what waits for it, each value in place of what is there under its key.
    ///
    /// # Errors
    ///
    /// Whatever keeps one from being stored, which changes nothing else; the first one's.
    pub fn store(&self) -> io::Result<()> {
        if self.in_memory {
            return Ok(());
        }
        let waiting = self.waiting.lock().map(|mut all| std::mem::take(&mut *all));
        let waiting = waiting.unwrap_or_default();
        if waiting.is_empty() {
            return Ok(());
        }
        // A folder of root's in a user's home (`sudo -E`) would keep the user out for good.
        if let Some(why) = self.unusable() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.check_owner()?;
        let write = |(key, value): &(String, Vec<u8>)| self.write(key, value);
        let stored = waiting.iter().map(write).fold(Ok(()), Result::and);
        self.make_room();
        stored
    }

    fn write(&self, key: &str, value: &[u8]) -> io::Result<()> {
        let size = HEADER + key.len() + value.len();
        // Who writes more gets a signal that ends the process (getrlimit(2), `RLIMIT_FSIZE`).
        if getrlimit(Resource::RLIMIT_FSIZE).is_ok_and(|(most, _)| size as u64 > most) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::with_capacity(size);
        bytes.extend(MAGIC);
        bytes.extend([0; 4]);
        bytes.extend(u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(key.as_bytes());
        bytes.extend(value);
        let sum = crc32fast::hash(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());

        // Nobody else writes this one, also where containers share a home and have the same pids.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let temporary = self.folder.join(format!("{}-{now}{NEW_SUFFIX}", std::process::id()));
        let mut file = File::create_new(&temporary)?;
        let written = file.write_all(&bytes).and_then(|()| fs::rename(&temporary, self.path(key)));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// What it holds now.
    #[must_use]
    pub fn holds(&self) -> Holds {
        let (entries, _) = self.files();
        Holds { entries: entries.len(), bytes: entries.iter().map(|entry| entry.1).sum() }
    }

    /// Removes all entries.
    ///
    /// # Errors
    ///
    /// If one is left, or the folder is not the user's own.
    pub fn clear(&self) -> io::Result<()> {
        let is_there = fs::symlink_metadata(&self.folder).is_ok();
        if let Some(why) = self.unusable().filter(|_| is_there) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let (entries, abandoned) = self.files();
        for (_, _, path) in entries.into_iter().chain(abandoned) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Why nothing is read there or stored, if so: names decide what a reader of a profile
    /// believes, so nobody else may write them.
    #[must_use]
    pub fn unusable(&self) -> Option<&'static str> {
        let is_own = |metadata: &fs::Metadata| metadata.uid() == Uid::effective().as_raw();
        let Ok(folder) = fs::symlink_metadata(&self.folder) else {
            let there = self.folder.ancestors().find_map(|folder| fs::metadata(folder).ok());
            let is_own = there.is_some_and(|there| is_own(&there));
            return (!is_own).then_some("the folder that it would be in is another user's");
        };
        match folder {
            _ if !folder.is_dir() => Some("it is no folder"),
            _ if !is_own(&folder) => Some("it is another user's"),
            _ if folder.mode() & 0o022 != 0 => Some("others may write to it"),
            _ => None,
        }
    }

    fn check_owner(&self) -> io::Result<()> {
        let is_there = fs::symlink_metadata(&self.folder).map(drop);
        is_there
            .and(self.unusable().map_or(Ok(()), |_| Err(io::ErrorKind::PermissionDenied.into())))
    }

    fn path(&self, key: &str) -> PathBuf {
        // Of keys with the same sum one is kept; there are few.
        self.folder.join(format!("{:08x}{SUFFIX}", crc32fast::hash(key.as_bytes())))
    }

    /// Entries, and what a csprof has left that was killed.
    fn files(&self) -> (Vec<Entry>, Vec<Entry>) {
        let (mut entries, mut abandoned) = (Vec::new(), Vec::new());
        if self.check_owner().is_err() {
            return (entries, abandoned);
        }
        for file in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_own = |of: &fs::Metadata| of.is_file() && of.uid() == Uid::effective().as_raw();
            let Some(metadata) = file.metadata().ok().filter(is_own) else { continue };
            let Ok(used) = metadata.modified() else { continue };
            let entry = (used, metadata.len(), file.path());
            let name = file.file_name();
            match name.to_str() {
                Some(name) if is_entry(name) => entries.push(entry),
                Some(name)
                    if is_temporary(name) && used.elapsed().is_ok_and(|age| age > ABANDONED) =>
                {
                    abandoned.push(entry);
                }
                _ => {}
            }
        }
        (entries, abandoned)
    }

    /// Removes what was not used for the longest time until the rest is within the limit.
    fn make_room(&self) {
        let (mut entries, abandoned) = self.files();
        // Somebody else may remove the same at the same time.
        for (_, _, path) in abandoned {
            let _ = fs::remove_file(path);
        }
        entries.sort_unstable();
        let mut bytes: u64 = entries.iter().map(|entry| entry.1).sum();
        let mut count = entries.len();
        for (_, size, path) in entries {
            if bytes <= self.limit && count <= MOST_ENTRIES {
                break;
            }
            let _ = fs::remove_file(path);
            bytes -= size;
            count -= 1;
        }
    }
}

/// When a file was used last, its size in bytes, and where it is.
type Entry = (SystemTime, u64, PathBuf);

/// Whether an entry has this name: a checksum.
fn is_entry(name: &str) -> bool {
    name.strip_suffix(SUFFIX).is_some_and(|sum| {
        sum.len() == 8 && sum.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Whether a file that is to be renamed has this name: the process and a number.
fn is_temporary(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name.strip_suffix(NEW_SUFFIX).and_then(|numbers| numbers.split_once('-'));
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// The value in an entry; `None` if it is damaged, or of another key.
fn value<'b>(entry: &'b [u8], key: &str) -> Option<&'b [u8]> {
    let rest = entry.strip_prefix(MAGIC)?;
    let (sum, rest) = rest.split_first_chunk()?;
    if crc32fast::hash(rest) != u32::from_le_bytes(*sum) {
        return None;
    }
    let (length, rest) = rest.split_first_chunk()?;
    let (own, value) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    (own == key.as_bytes()).then_some(value)
}

/// A number of bytes: `0`, `4096`, `64M`, `2G`.
fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(limit: u64) -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("deep/names"), limit);
        (folder, cache)
    }

    impl Cache {
        fn put_now(&self, key: &str, value: &[u8]) -> io::Result<()> {
            self.put(key.to_owned(), value.to_vec());
            self.store()
        }
    }

    #[test]
    fn what_was_stored_is_there_under_its_key_alone() {
        let (_folder, cache) = cache(1 << 20);
        assert_eq!(cache.get("a"), None);
        cache.put_now("a", b"one").unwrap();
        cache.put_now("b", b"").unwrap();
        assert_eq!(cache.get("a").as_deref(), Some(&b"one"[..]));
        assert_eq!(cache.get("b").as_deref(), Some(&b""[..]));
        cache.put_now("a", b"two").unwrap();
        assert_eq!(cache.get("a").as_deref(), Some(&b"two"[..]));
        assert_eq!(cache.holds().entries, 2);
        fs::copy(cache.path("a"), cache.path("b")).unwrap();
        assert_eq!(cache.get("b"), None, "an entry of another key");
        cache.clear().unwrap();
        assert_eq!((cache.get("a"), cache.holds()), (None, Holds::default()));
    }

    #[test]
    fn a_damaged_entry_is_none() {
        let (_folder, cache) = cache(1 << 20);
        cache.put_now("key", b"some value").unwrap();
        let whole = fs::read(cache.path("key")).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(cache.path("key"), &damaged).unwrap();
            assert_eq!(cache.get("key"), None, "byte {at}");
            fs::write(cache.path("key"), &whole[..at]).unwrap();
            assert_eq!(cache.get("key"), None, "cut at {at}");
        }
        cache.put_now("key", b"anew").unwrap();
        assert_eq!(cache.get("key").as_deref(), Some(&b"anew"[..]));
    }

    #[test]
    fn what_was_not_used_for_long_goes_first() {
        let size = (HEADER + 1 + 100) as u64;
        let (_folder, cache) = cache(3 * size);
        let long_ago = |seconds| SystemTime::now() - Duration::from_secs(seconds);
        for (key, seconds) in [("a", 300), ("b", 200), ("c", 100)] {
            cache.put_now(key, &[1; 100]).unwrap();
            let file = File::open(cache.path(key)).unwrap();
            file.set_modified(long_ago(seconds)).unwrap();
        }
        assert!(cache.get("a").is_some(), "used again");
        cache.put_now("d", &[1; 100]).unwrap();
        let there = ["a", "b", "c", "d"].map(|key| cache.get(key).is_some());
        assert_eq!(there, [true, false, true, true]);
        assert!(cache.holds().bytes <= cache.limit());
        cache.put_now("e", &[1; 1000]).unwrap();
        assert_eq!(cache.get("e"), None, "larger than all may be");
        assert_eq!(cache.holds().entries, 3);
    }

    #[test]
    fn files_of_others_stay() {
        let (folder, cache) = cache(1 << 20);
        cache.put_now("a", b"value").unwrap();
        let names = ["1-1.new", "1-2.new", "README", "all.names", "config.new", "1-x.new"];
        let paths = names.map(|name| cache.folder().join(name));
        for path in &paths {
            fs::write(path, "text").unwrap();
            let hours = Duration::from_secs(if path.ends_with("1-1.new") { 0 } else { 3 * 3600 });
            File::open(path).unwrap().set_modified(SystemTime::now() - hours).unwrap();
        }
        let there = || names.into_iter().zip(&paths).filter(|(_, path)| path.exists());
        let left = || there().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(cache.holds().entries, 1);
        cache.make_room();
        assert_eq!(left(), ["1-1.new", "README", "all.names", "config.new", "1-x.new"]);
        // Nor what a link leads to.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(cache.folder(), &link).unwrap();
        let linked = Cache::at(link, 1);
        assert_eq!(
            (linked.clear().unwrap_err().to_string(), linked.holds()),
            ("it is no folder".to_owned(), Holds::default())
        );
        linked.make_room();
        assert_eq!((cache.holds().entries, left().len()), (1, 5));
        cache.clear().unwrap();
        assert_eq!((cache.holds().entries, left().len()), (0, 5));
    }

    /// Its temporary may be of another process: one that has the same number in its container.
    #[test]
    fn what_cannot_be_written_leaves_what_is_there() {
        let (_folder, cache) = cache(1 << 20);
        cache.put_now("a", b"one").unwrap();
        let there = || fs::read_dir(cache.folder()).unwrap().count();
        // A folder stands where the entry is to be.
        fs::create_dir(cache.path("b")).unwrap();
        assert!(cache.put_now("b", b"two").is_err());
        assert_eq!((there(), cache.get("a").as_deref()), (2, Some(&b"one"[..])));
    }

    #[test]
    fn nothing_is_written_before_it_is_stored() {
        let (_folder, cache) = cache(1 << 20);
        cache.put("a".to_owned(), b"one".to_vec());
        assert!(cache.get("a").is_none() && !cache.folder().exists());
        cache.store().unwrap();
        assert_eq!(cache.get("a").as_deref(), Some(&b"one"[..]));
    }

    #[test]
    fn there_are_not_too_many_entries() {
        let (_folder, cache) = cache(1 << 30);
        for number in 0..=MOST_ENTRIES {
            cache.put(number.to_string(), Vec::new());
        }
        cache.store().unwrap();
        // Keys with one sum share an entry.
        let entries = cache.holds().entries;
        assert!((MOST_ENTRIES - 10..=MOST_ENTRIES).contains(&entries), "{entries}");
    }

    #[test]
    fn a_folder_of_others_is_not_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, cache) = cache(1 << 20);
        cache.put_now("a", b"value").unwrap();
        fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!((cache.get("a"), cache.holds()), (None, Holds::default()));
        assert_eq!(cache.unusable(), Some("others may write to it"));
        assert!(cache.put_now("a", b"value").is_err() && cache.clear().is_err());
    }

    #[test]
    fn many_use_one_cache_at_once() {
        let (_folder, cache) = cache(40 * 1000);
        std::thread::scope(|scope| {
            for thread in 0..8_u8 {
                let cache = &cache;
                scope.spawn(move || {
                    for round in 0..100 {
                        let key = format!("{}", (round + usize::from(thread)) % 60);
                        if let Some(value) = cache.get(&key) {
                            assert!(value.len() == 1000 && value.iter().all(|b| *b == value[0]));
                        }
                        // What another thread removes at this moment is no failure of this one.
                        let _ = cache.put_now(&key, &[thread; 1000]);
                    }
                });
            }
        });
        assert!(cache.holds().bytes <= cache.limit());
        let left = fs::read_dir(cache.folder()).unwrap().count();
        assert_eq!(left, cache.holds().entries, "nothing but entries is left");
    }

    #[test]
    fn variables_say_where_and_how_much() {
        let as_rank = |pairs: &[(&str, &str)], is_one_of_many: bool| {
            let variable = |name: &str| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into())
            };
            Cache::from_variables(variable, is_one_of_many)
        };
        let all = |pairs: &[(&str, &str)]| as_rank(pairs, false);
        let of = |pairs: &[(&str, &str)]| {
            all(pairs)
                .unwrap()
                .map(|cache| (cache.folder.to_str().unwrap().to_owned(), cache.limit))
        };
        let at = |folder: &str, limit| Some((folder.to_owned(), limit));
        let small = (SIZE_VARIABLE, "1M");
        assert_eq!(of(&[("HOME", "/h"), small]), at("/h/.cache/csprof/names", 1 << 20));
        assert_eq!(of(&[("HOME", "/h")]), at("/h/.cache/csprof/names", USUAL_SIZE));
        // Of a rank it is asked for.
        assert!(as_rank(&[("HOME", "/h")], true).unwrap().is_none());
        assert!(as_rank(&[("HOME", "/h"), small], true).unwrap().is_some());
        assert_eq!(
            of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c"), (SIZE_VARIABLE, "2g")]),
            at("/c/csprof/names", 2 << 30)
        );
        // A relative folder is none (XDG Base Directory Specification).
        let relative = [("XDG_CACHE_HOME", "c"), ("HOME", "/h"), small];
        assert_eq!(of(&relative), of(&[("HOME", "/h"), small]));
        for none in ["0", "0M"] {
            assert_eq!(of(&[(SIZE_VARIABLE, none), ("HOME", "/h")]), None, "{none}");
        }
        for no_size in ["many", "-1", "256MB", "1GiB", "99999999999999G"] {
            let why = all(&[(SIZE_VARIABLE, no_size), ("HOME", "/h")]).unwrap_err();
            assert!(why.contains(no_size), "{why}");
        }
        assert_eq!(of(&[small]), None);
    }
}
