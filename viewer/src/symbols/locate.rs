//! Which files hold the symbols of a load module.
//!
//! The module's own file first, then separate debug files where gdb(1) looks for them too:
//!
//! | what | where |
//! |---|---|
//! | by build id | `FOLDER/.build-id/ab/cdef.debug`, for every debug folder |
//! | `.gnu_debuglink` | beside the module, in `.debug/` beside it, `FOLDER/path/of/module/` |
//! | debuginfod | `CACHE/BUILDID/debuginfo`, what its clients have downloaded before |
//! | `.gnu_debugaltlink` | the path it names, and by build id: what dwz(1) shared between files |
//! | `.gnu_debugdata` | inside the module: an xz-compressed file with the symbol table |
//!
//! Invariant: nothing is believed because of its name. A file counts if its build id is the
//! module's; without build ids a debug link's CRC decides. Names of another build would be wrong
//! silently, and no names are better than wrong ones. The file of a module that was built without a
//! build id (`ld --build-id=none`) is known by device, inode, size and times, as they were when it
//! was loaded. Of one that was gone while it was in use, the process may have left a copy.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use csprof_format::file_identity::{FileIdentity, copy_name};
use csprof_format::ids::ModuleId;
use csprof_format::profile::{self as saved, ModuleFile};

use super::bytes::FileBytes;
use super::elf::Elf;
use super::request::{FileRequest, FileSource};

/// What is known of a module before any file is opened.
#[derive(Clone, Debug)]
pub(super) struct Wanted<'a> {
    /// Path as the loader knew it.
    pub(super) path: &'a str,
    /// Build id of what ran, empty if it had none.
    pub(super) build_id: &'a [u8],
    /// Without a build id: the files that it was, as far as that is known; more than one in a
    /// profile of several runs.
    pub(super) files: &'a [ModuleFile],
    /// Folder that a relative path starts from: where the program was started.
    pub(super) directory: &'a Path,
    /// Start of the run, in nanoseconds since 1970-01-01 UTC.
    pub(super) start_unix_ns: u64,
}

/// Whether a module of this path is a file: not generated code, whose names are in no file any
/// more, nor waits and handovers, which are no code, nor the kernel.
pub(crate) fn is_file(path: &str) -> bool {
    ![saved::GENERATED_CODE, saved::WAITS, saved::HANDOVERS, saved::KERNEL].contains(&path)
}

/// What is known of a module; `directory` is where the program was started. `None` for what is no
/// file.
pub(super) fn wanted<'a>(
    profile: &'a saved::Profile,
    directory: &'a Path,
    id: ModuleId,
) -> Option<Wanted<'a>> {
    let module = profile.modules.get(id.index())?;
    let path = profile.strings.get(module.path.index()).map_or("", |text| text);
    is_file(path).then_some(Wanted {
        path,
        build_id: &module.build_id,
        files: profile.files_of(id),
        directory,
        start_unix_ns: profile.run.start_unix_ns,
    })
}

/// A file that was found, with its path for people.
pub(super) struct FoundFile {
    pub(super) path: String,
    pub(super) bytes: FileBytes,
    /// A process of the run has left it, in place of a file that was gone.
    pub(super) is_copy: bool,
}

impl FoundFile {
    const fn new(path: String, bytes: FileBytes) -> Self {
        Self { path, bytes, is_copy: false }
    }
}

/// The state of the module's own file.
pub(super) enum Own {
    /// It is what ran.
    Matches(FoundFile),
    /// It is another build.
    Differs {
        /// Where it is.
        path: String,
    },
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// The files of one module.
pub(super) struct Located {
    /// The module's own file.
    pub(super) own: Own,
    /// A separate debug file.
    pub(super) debug: Option<FoundFile>,
    /// Supplementary DWARF that the debug file, or else the own file, refers to.
    pub(super) alternate: Option<FoundFile>,
    /// Mini debuginfo.
    pub(super) mini: Option<FoundFile>,
    /// What is odd about them, for people.
    pub(super) warnings: Vec<String>,
}

impl Wanted<'_> {
    /// Whether files that match are what ran, for certain: of profiles that do not tell of files,
    /// and modules without a build id, it is likely.
    pub(super) const fn is_certain(&self) -> bool {
        !self.build_id.is_empty() || !self.files.is_empty()
    }

    /// Why a file cannot be shown to be the module, which has no build id; `None` if it is. `now`
    /// is what it is, if that is known.
    fn stranger(&self, now: Option<FileIdentity>) -> Option<&'static str> {
        let Some(now) = now else {
            return (!self.files.is_empty()).then_some("which file it is cannot be asked");
        };
        let [ModuleFile { file: ran, .. }] = self.files else {
            let is_newer = now.modified_ns.max(now.changed_ns) > self.start_unix_ns;
            return match self.files {
                [] if is_newer => Some("it was changed, or put there, after the run began"),
                [] => None,
                _ => Some("it was not the same file in all the runs"),
            };
        };
        if now == *ran {
            return None;
        }
        Some(if (now.device, now.inode) != (ran.device, ran.inode) {
            "the file that was loaded is gone, and another one is there"
        } else if ran.size == 0 {
            "the file that was loaded was gone when it was first seen"
        } else if (now.size, now.modified_ns) != (ran.size, ran.modified_ns) {
            "it was written to, or replaced, since it was loaded"
        } else {
            "its inode was changed since it was loaded, as by chmod, mv, ln, or by writing to it"
        })
    }
}

impl Located {
    /// Whether a file was changed since it was opened, so that nothing of it can be believed.
    pub(super) fn is_changed(&self) -> bool {
        self.all().into_iter().flatten().any(|found| found.bytes.is_changed())
    }

    /// Whether the module's own file is a copy that a process has left.
    pub(super) const fn is_copy(&self) -> bool {
        matches!(&self.own, Own::Matches(found) if found.is_copy)
    }

    /// Which files they are: a text that differs if one does.
    pub(super) fn identity(&self) -> String {
        let identity = |found: Option<&FoundFile>| match found {
            Some(found) => format!("{} {}\n", found.path, found.bytes.identity()),
            None => "-\n".to_owned(),
        };
        self.all().into_iter().map(identity).collect()
    }

    /// The module's own file, if there is no other one with symbols.
    pub(super) const fn only_file(&self) -> Option<&FileBytes> {
        match (&self.own, &self.debug, &self.mini) {
            (Own::Matches(found), None, None) => Some(&found.bytes),
            _ => None,
        }
    }

    /// Whether no file was changed for so long when it was opened.
    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        self.all().into_iter().flatten().all(|found| found.bytes.is_older_than(age))
    }

    fn all(&self) -> [Option<&FoundFile>; 4] {
        let own = match &self.own {
            Own::Matches(found) => Some(found),
            Own::Differs { .. } | Own::Unreadable(_) => None,
        };
        [own, self.debug.as_ref(), self.alternate.as_ref(), self.mini.as_ref()]
    }
}

/// Why nothing is told of a file that was changed.
pub(super) const CHANGED: &str =
    "a file was changed while it was read; csprof symbolize reads it again";

/// Finds the files of a module.
pub(super) fn locate(wanted: &Wanted<'_>, files: &dyn FileSource) -> Located {
    let mut warnings = Vec::new();
    let own = open_own(wanted, files);

    let mut debug = None;
    let mut mini = None;
    let mut own_has_dwarf = false;
    if let Own::Matches(found) = &own {
        if let Ok(elf) = Elf::parse(&found.bytes) {
            own_has_dwarf = elf.has_dwarf();
            if !own_has_dwarf {
                debug = find_debug_file(wanted, Some((found, &elf)), files, &mut warnings);
            }
            if debug.is_none() && !elf.has_symbol_table() {
                mini = mini_debuginfo(found, &elf, &mut warnings);
            }
        }
    } else {
        debug = find_debug_file(wanted, None, files, &mut warnings);
    }

    let alternate = match (&debug, &own) {
        (Some(found), _) => find_alternate(found, files, &mut warnings),
        (None, Own::Matches(found)) if own_has_dwarf => find_alternate(found, files, &mut warnings),
        _ => None,
    };
    Located { own, debug, alternate, mini, warnings }
}

/// Opens the module's own file, if that is what ran, else the copy that a process has left of it.
pub(super) fn open_own(wanted: &Wanted<'_>, files: &dyn FileSource) -> Own {
    let own = open_at_path(wanted, files);
    if let Own::Matches(_) = own {
        return own;
    }
    open_copy(wanted, files).map_or(own, Own::Matches)
}

/// Opens the copy that a process of the run has left of a module whose file was gone.
fn open_copy(wanted: &Wanted<'_>, files: &dyn FileSource) -> Option<FoundFile> {
    let file = match wanted.files {
        [only] => Some(&only.file),
        _ => None,
    };
    let name = copy_name(wanted.build_id, file)?;
    let bytes = files.open(&FileRequest::Copy(name)).ok()?;
    let is_it = Elf::parse(&bytes).is_ok_and(|elf| elf.build_id() == wanted.build_id);
    let path = format!("{} (its copy, as it was gone while it was in use)", wanted.path);
    is_it.then_some(FoundFile { path, bytes, is_copy: true })
}

/// Opens the file at the module's path, if that is what ran.
fn open_at_path(wanted: &Wanted<'_>, files: &dyn FileSource) -> Own {
    let request = match wanted.path {
        "[vdso]" => FileRequest::Vdso,
        "" => return Own::Unreadable("the loader gave it no path".to_owned()),
        path if path.starts_with('[') => return Own::Unreadable("it is no file".to_owned()),
        path => FileRequest::Path(wanted.directory.join(path)),
    };
    let file = match files.open(&request) {
        Ok(file) => file,
        Err(error) => return Own::Unreadable(cannot_open(&error)),
    };
    let found = FoundFile::new(wanted.path.to_owned(), file);
    let build_id = Elf::parse(&found.bytes).map(|elf| elf.build_id());
    // What looks like another build may be this one while it is written.
    if found.bytes.is_changed() {
        return Own::Unreadable(CHANGED.to_owned());
    }
    let build_id = match build_id {
        Ok(build_id) => build_id,
        Err(reason) => return Own::Unreadable(reason),
    };
    if wanted.build_id.is_empty() {
        if let Some(why) = wanted.stranger(files.identity(&request)) {
            return Own::Unreadable(format!(
                "it has no build id, and {why}; record again, or link it with --build-id"
            ));
        }
    } else if build_id != wanted.build_id {
        return Own::Differs { path: found.path };
    }
    Own::Matches(found)
}

/// Why a file cannot be opened, for people: without the number of the error.
fn cannot_open(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        return "there is no such file".to_owned();
    }
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

/// Finds the separate debug file of a module; `own` is its own file if that could be used.
fn find_debug_file(
    wanted: &Wanted<'_>,
    own: Option<(&FoundFile, &Elf<'_>)>,
    files: &dyn FileSource,
    warnings: &mut Vec<String>,
) -> Option<FoundFile> {
    for path in build_id_paths(wanted.build_id, files) {
        if let Some(found) = open_matching(&path, wanted.build_id, files) {
            return Some(found);
        }
    }
    let (own, elf) = own?;
    let (name, crc) = elf.debug_link()?;
    let build_id = elf.build_id();
    for path in debug_link_paths(&wanted.directory.join(wanted.path), name, files) {
        if path == Path::new(&own.path) {
            continue;
        }
        let Ok(file) = files.open(&FileRequest::Path(path.clone())) else { continue };
        let found = FoundFile::new(path.display().to_string(), file);
        let Ok(candidate) = Elf::parse(&found.bytes) else {
            warnings.push(format!("{}: not a readable ELF file", found.path));
            continue;
        };
        let same_build = !build_id.is_empty() && candidate.build_id() == build_id;
        let other_build = !build_id.is_empty() && !candidate.build_id().is_empty() && !same_build;
        if other_build {
            warnings.push(format!("{}: debug file of another build of {}", found.path, own.path));
        } else if !same_build && found.bytes.crc32().ok() != Some(crc) {
            warnings.push(format!(
                "{}: its checksum is not the one that {} asks for",
                found.path, own.path
            ));
        } else if candidate.has_dwarf() || candidate.has_symbol_table() {
            return Some(found);
        }
    }
    None
}

/// Opens a file if it has this build id and something that the module's own file may lack.
fn open_matching(path: &Path, build_id: &[u8], files: &dyn FileSource) -> Option<FoundFile> {
    let file = files.open(&FileRequest::Path(path.to_owned())).ok()?;
    let found = FoundFile::new(path.display().to_string(), file);
    let useful = Elf::parse(&found.bytes)
        .is_ok_and(|elf| elf.build_id() == build_id && (elf.has_dwarf() || elf.has_symbol_table()));
    useful.then_some(found)
}

/// Where a debug file with this build id could be.
fn build_id_paths(build_id: &[u8], files: &dyn FileSource) -> Vec<PathBuf> {
    // The first byte names a folder, so a debug file needs at least two.
    let [first, rest @ ..] = build_id else { return Vec::new() };
    if rest.is_empty() {
        return Vec::new();
    }
    let name = format!(".build-id/{first:02x}/{}.debug", hex(rest));
    let folders = files.debug_folders().into_iter().map(|folder| folder.join(&name));
    let whole = hex(build_id);
    let caches =
        files.debuginfod_caches().into_iter().map(|cache| cache.join(&whole).join("debuginfo"));
    folders.chain(caches).collect()
}

/// Where the debug file that a debug link names could be.
fn debug_link_paths(module: &Path, name: &[u8], files: &dyn FileSource) -> Vec<PathBuf> {
    let name = Path::new(OsStr::from_bytes(name));
    // A plain file name by definition; anything else could lead out of the folders.
    let [Component::Normal(_)] = name.components().collect::<Vec<_>>()[..] else {
        return Vec::new();
    };
    let Some(folder) = module.parent() else { return Vec::new() };
    let mut paths = vec![folder.join(name), folder.join(".debug").join(name)];
    let below: PathBuf =
        folder.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    paths.extend(files.debug_folders().into_iter().map(|debug| debug.join(&below).join(name)));
    paths
}

/// Finds the supplementary file of a file with DWARF.
fn find_alternate(
    debug: &FoundFile,
    files: &dyn FileSource,
    warnings: &mut Vec<String>,
) -> Option<FoundFile> {
    let elf = Elf::parse(&debug.bytes).ok()?;
    let (name, build_id) = elf.debug_alt_link()?;
    let name = Path::new(OsStr::from_bytes(name));
    let mut paths = Vec::new();
    if let Some(folder) = Path::new(&debug.path).parent() {
        paths.push(folder.join(name)); // an absolute name replaces the folder
    }
    paths.extend(build_id_paths(build_id, files));
    for path in paths {
        let Ok(file) = files.open(&FileRequest::Path(path.clone())) else { continue };
        let found = FoundFile::new(path.display().to_string(), file);
        if Elf::parse(&found.bytes).is_ok_and(|elf| elf.build_id() == build_id) {
            return Some(found);
        }
    }
    warnings.push(format!(
        "{}: the debug information it shares with other files ('{}') was not found, so some names \
         are missing",
        debug.path,
        name.display()
    ));
    None
}

/// Unpacks the symbol table that some distributions leave in stripped files.
fn mini_debuginfo(own: &FoundFile, elf: &Elf<'_>, warnings: &mut Vec<String>) -> Option<FoundFile> {
    let section = elf.section(".gnu_debugdata").ok().flatten()?;
    match unpack(&section.bytes) {
        Ok(bytes) => Some(FoundFile::new(
            format!("{} (.gnu_debugdata)", own.path),
            FileBytes::of_memory(bytes),
        )),
        Err(error) => {
            warnings.push(format!("{}: section '.gnu_debugdata': {error}", own.path));
            None
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Memory for unpacking mini debuginfo, in KiB; `xz -9` needs 65 MiB.
const UNPACK_MEMORY_KIB: u32 = 128 << 10;

/// Largest mini debuginfo that is believed, in bytes. It holds nothing but a symbol table.
const UNPACKED_LIMIT: u64 = 1 << 30;

fn unpack(compressed: &[u8]) -> Result<Vec<u8>, String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    lzma_rust2::XzReader::new_mem_limit(compressed, false, UNPACK_MEMORY_KIB)
        .take(UNPACKED_LIMIT)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be unpacked: {error}"))?;
    Ok(bytes)
}
