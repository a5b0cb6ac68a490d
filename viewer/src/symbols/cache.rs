//! Files that hold what was worked out before, in a folder of the user's: `$XDG_CACHE_HOME/csprof`.
//!
//! An entry is believed if it is whole (its checksum says so) and has the very key that is asked
//! for. It is written under another name and renamed, so that whoever reads it meanwhile has the
//! one before or the new one. Of two who write one entry at once the later stays; both are right.
//! When all entries are larger than the limit, those go that were not used for the longest time.
//! Whatever fails here costs time, and nothing else: nobody is told.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use nix::unistd::Uid;

/// Environment variable with the bytes that the cache may have; 0 for none at all.
pub const SIZE_VARIABLE: &str = "CSPROF_CACHE_SIZE";

/// What entries begin with.
const MAGIC: &[u8; 8] = b"csprofn1";

/// Bytes before the key: [`MAGIC`], the CRC-32 of all that follows it, and the length of the key.
const HEADER: usize = 16;

/// How the names of entries end.
const SUFFIX: &str = ".names";

/// Age at which a file that was not renamed is taken for one of a csprof that was killed.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder with entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
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
    /// The user's cache; `None` unless `CSPROF_CACHE_SIZE` is a size above 0, and where there is no
    /// place for it.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let size = set(SIZE_VARIABLE)?;
        let limit = size.to_str().and_then(bytes).filter(|&size| size > 0)?;
        Some(Self::at(Self::folder_of(variable)?, limit))
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

    /// A cache in this folder, which need not exist, of at most `limit` bytes.
    #[must_use]
    pub fn at(folder: PathBuf, limit: u64) -> Self {
        Self { folder, limit }
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

    /// Stores a value under a key, in place of what is there.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being stored, which changes nothing.
    pub(super) fn put(&self, key: &str, value: &[u8]) -> io::Result<()> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let size = HEADER + key.len() + value.len();
        if size as u64 > self.limit {
            return Err(io::ErrorKind::StorageFull.into());
        }
        // A folder of root's in a user's home (`sudo -E`) would keep the user out for good.
        let there = self.folder.ancestors().find_map(|folder| fs::metadata(folder).ok());
        if there.is_none_or(|there| there.uid() != Uid::effective().as_raw()) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.check_owner()?;
        let mut bytes = Vec::with_capacity(size);
        bytes.extend(MAGIC);
        bytes.extend([0; 4]);
        bytes.extend(u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(key.as_bytes());
        bytes.extend(value);
        let sum = crc32fast::hash(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());

        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!("{}-{number}.new", std::process::id()));
        let written = File::create_new(&temporary)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| fs::rename(&temporary, self.path(key)));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        self.make_room();
        written
    }

    /// What it holds now.
    #[must_use]
    pub fn holds(&self) -> Holds {
        let entries = self.entries();
        Holds { entries: entries.len(), bytes: entries.iter().map(|entry| entry.1).sum() }
    }

    /// Removes all entries.
    ///
    /// # Errors
    ///
    /// If one is left.
    pub fn clear(&self) -> io::Result<()> {
        for (_, _, path) in self.entries() {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Names decide what a reader of a profile believes, so nobody else may write them.
    fn check_owner(&self) -> io::Result<()> {
        let metadata = fs::symlink_metadata(&self.folder)?;
        let is_own = metadata.uid() == Uid::effective().as_raw() && metadata.mode() & 0o022 == 0;
        if metadata.is_dir() && is_own {
            Ok(())
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        // Of keys with the same sum one is kept; there are few.
        self.folder.join(format!("{:08x}{SUFFIX}", crc32fast::hash(key.as_bytes())))
    }

    /// When each entry was used last, its size in bytes, and where it is.
    fn entries(&self) -> Vec<(SystemTime, u64, PathBuf)> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let entry = |file: fs::DirEntry| {
            let path = file.path();
            let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
            let used = metadata.modified().ok()?;
            let name = path.file_name()?.to_str()?;
            let is_abandoned = name.ends_with(".new") && used.elapsed().ok()? > ABANDONED;
            (name.ends_with(SUFFIX) || is_abandoned).then_some((used, metadata.len(), path))
        };
        files.filter_map(entry).collect()
    }

    /// Removes what was not used for the longest time until the rest is within the limit.
    fn make_room(&self) {
        let mut entries = self.entries();
        entries.sort_unstable();
        let mut bytes: u64 = entries.iter().map(|entry| entry.1).sum();
        for (_, size, path) in entries {
            if bytes <= self.limit {
                break;
            }
            // Somebody else may have removed it at the same time.
            let _ = fs::remove_file(path);
            bytes -= size;
        }
    }
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

    #[test]
    fn what_was_stored_is_there_under_its_key_alone() {
        let (_folder, cache) = cache(1 << 20);
        assert_eq!(cache.get("a"), None);
        cache.put("a", b"one").unwrap();
        cache.put("b", b"").unwrap();
        assert_eq!(cache.get("a").as_deref(), Some(&b"one"[..]));
        assert_eq!(cache.get("b").as_deref(), Some(&b""[..]));
        cache.put("a", b"two").unwrap();
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
        cache.put("key", b"some value").unwrap();
        let whole = fs::read(cache.path("key")).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(cache.path("key"), &damaged).unwrap();
            assert_eq!(cache.get("key"), None, "byte {at}");
            fs::write(cache.path("key"), &whole[..at]).unwrap();
            assert_eq!(cache.get("key"), None, "cut at {at}");
        }
        cache.put("key", b"anew").unwrap();
        assert_eq!(cache.get("key").as_deref(), Some(&b"anew"[..]));
    }

    #[test]
    fn what_was_not_used_for_long_goes_first() {
        let size = (HEADER + 1 + 100) as u64;
        let (_folder, cache) = cache(3 * size);
        let long_ago = |seconds| SystemTime::now() - Duration::from_secs(seconds);
        for (key, seconds) in [("a", 300), ("b", 200), ("c", 100)] {
            cache.put(key, &[1; 100]).unwrap();
            let file = File::open(cache.path(key)).unwrap();
            file.set_modified(long_ago(seconds)).unwrap();
        }
        assert!(cache.get("a").is_some(), "used again");
        cache.put("d", &[1; 100]).unwrap();
        let there = ["a", "b", "c", "d"].map(|key| cache.get(key).is_some());
        assert_eq!(there, [true, false, true, true]);
        assert!(cache.holds().bytes <= cache.limit());
        assert!(cache.put("e", &[1; 1000]).is_err(), "larger than all may be");
        assert_eq!(cache.holds().entries, 3);
    }

    #[test]
    fn files_of_others_stay() {
        let (_folder, cache) = cache(1);
        assert!(cache.put("a", b"value").is_err());
        fs::create_dir_all(cache.folder()).unwrap();
        let (young, old) = (cache.folder().join("1-1.new"), cache.folder().join("1-2.new"));
        let foreign = cache.folder().join("README");
        for path in [&young, &old, &foreign] {
            fs::write(path, "text").unwrap();
        }
        let hours = Duration::from_secs(3 * 3600);
        File::open(&old).unwrap().set_modified(SystemTime::now() - hours).unwrap();
        cache.make_room();
        assert!(young.exists() && foreign.exists() && !old.exists());
    }

    #[test]
    fn a_folder_of_others_is_not_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, cache) = cache(1 << 20);
        cache.put("a", b"value").unwrap();
        fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(cache.get("a"), None);
        assert!(cache.put("a", b"value").is_err());
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
                        let _ = cache.put(&key, &[thread; 1000]);
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
        let of = |pairs: &[(&str, &str)]| {
            Cache::from_variables(|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into())
            })
        };
        let at = |folder: &str, limit| Some(Cache::at(PathBuf::from(folder), limit));
        let small = (SIZE_VARIABLE, "1M");
        assert_eq!(of(&[("HOME", "/h"), small]), at("/h/.cache/csprof/names", 1 << 20));
        assert_eq!(of(&[("HOME", "/h")]), None, "it is asked for");
        assert_eq!(
            of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c"), (SIZE_VARIABLE, "2g")]),
            at("/c/csprof/names", 2 << 30)
        );
        // A relative folder is none (XDG Base Directory Specification).
        let relative = [("XDG_CACHE_HOME", "c"), ("HOME", "/h"), small];
        assert_eq!(of(&relative), of(&[("HOME", "/h"), small]));
        for none in ["0", "0M", "many", "-1", "99999999999999G"] {
            let text: OsString = none.into();
            let variable = |name: &str| (name == SIZE_VARIABLE).then(|| text.clone());
            let home = |name: &str| variable(name).or_else(|| Some("/h".into()));
            assert_eq!(Cache::from_variables(home), None, "{none}");
        }
        assert_eq!(of(&[small]), None);
    }
}
