//! Which lines of source files a profile keeps, and reading them.
//!
//! Files are read where they were compiled, by the reader of the source view. A profile may come
//! from somebody else and name any file, and what it keeps is passed on: only files that are called
//! like source, also by the name that a symbolic link leads to, are kept, and only text. Any file
//! of such a name may be among them, so whoever adds some to a profile is told which.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use csprof_format::ids::{FrameId, FunctionId, ModuleId, StringId};
use csprof_format::profile::{self as saved, SourceFile};

use super::taken::Taken;
use super::{LARGEST, Missing, NO_FILE, SourceText, Sources, TOO_MANY_LINES, by_time, directory};

/// Bytes of a file up to which all of its lines are kept.
const SMALL: u64 = 128 << 10;

/// Most bytes that are kept of one file.
const OF_FILE: u64 = 1 << 20;

/// Lines before and behind those of sampled functions that are kept, too.
const AROUND: u32 = 30;

/// Lines around each with samples, where not all lines of their function find room.
const LEAST_AROUND: u32 = 3;

/// Most files that are looked at.
const MOST_FILES: usize = 1 << 14;

/// Most bytes of files that are read.
const MOST_READ: u64 = 1 << 30;

/// Endings of names of source files, in lower case. Files of other names are kept only if they
/// have no ending and are among the headers of the system or of a compiler, as those of C++ are.
const ENDINGS: &[&str] = &[
    "ada", "adb", "ads", "asm", "c", "c++", "cc", "cl", "cpp", "cppm", "cr", "cs", "cu", "cuf",
    "cuh", "cxx", "d", "def", "di", "erl", "ex", "f", "f03", "f08", "f77", "f90", "f95", "for",
    "fpp", "fs", "go", "h", "h++", "hh", "hip", "hpp", "hrl", "hs", "hxx", "i", "icc", "ii", "inc",
    "inl", "ipp", "ispc", "ixx", "java", "jl", "js", "jsx", "kt", "l", "lhs", "ll", "lua", "m",
    "md", "mjs", "ml", "mli", "mm", "nim", "pas", "pd", "php", "pl", "pm", "pp", "py", "pyx", "r",
    "rb", "rs", "s", "scala", "scm", "swift", "sx", "tcc", "tcl", "td", "tpp", "ts", "tsx", "txx",
    "v", "vala", "x", "xs", "y", "yy", "zig",
];
const HEADERS: &[&str] = &["/usr/include", "/usr/local/include", "/usr/lib/gcc"];

/// Headers of a compiler are below these two folders, wherever it is installed.
const HEADERS_OF_COMPILERS: [&str; 2] = ["include", "c++"];

/// When source files are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When the run has ended, on its machine.
    OfRun,
    /// Later, maybe on another machine.
    Later,
}

/// What became of the files whose functions have samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// Files of which lines are kept now and no lines were kept before, by their recorded paths.
    pub added: Vec<String>,
    /// Files that are not here.
    pub missing: usize,
    /// Files that are here and cannot be read, each with the cause.
    pub unreadable: Vec<String>,
    /// Files that are no text, or not called like source.
    pub no_source: usize,
    /// Files with fewer lines than were sampled, and those of which another version is kept.
    pub other_versions: usize,
    /// Files that found no room, or not with all lines of their sampled functions; what costs most
    /// comes first.
    pub unfit: Vec<String>,
    /// Files of which a function has more lines than are kept of one file, whatever room there is.
    pub too_long: Vec<String>,
    /// Whether it was ended before all files were looked at.
    pub is_stopped: bool,
}

/// Lets a profile keep the source of functions with samples: what costs most first, until all that
/// it keeps has `most` bytes. `built` says when modules were built, in nanoseconds since 1970-01-01
/// UTC, as far as that is known. What the profile keeps already stays. Ends when `stops` says so.
/// O(nodes + rows of sites + bytes of files); O(log lines) for each sampled line of a file.
pub fn keep(
    profile: &mut saved::Profile,
    sources: &Sources,
    when: When,
    most: u64,
    built: &HashMap<ModuleId, u64>,
    stops: &dyn Fn() -> bool,
) -> Keeping {
    let directory = directory(profile);
    let mut kept: BTreeMap<(StringId, u64, u32), SourceFile> =
        std::mem::take(&mut profile.sources).into_iter().map(|file| (place(&file), file)).collect();
    let mut left =
        kept.values().fold(most, |left, file| left.saturating_sub(file.text.len() as u64));
    let mut keeping = Keeping::default();
    let mut unread = MOST_READ;
    let wanted = wanted(profile);
    for (number, (path, wanted)) in wanted.into_iter().enumerate() {
        let recorded = &*profile.strings[path.index()];
        if number >= MOST_FILES || unread == 0 || stops() {
            keeping.is_stopped = true;
            break;
        }
        if !is_called_source(Path::new(recorded)) {
            keeping.no_source += 1;
            continue;
        }
        let source = match sources.find(recorded, &directory) {
            Ok(source) => source,
            Err(missing) => {
                match why_unreadable(&missing) {
                    Some(why) => {
                        // It was read before its lines were counted; others were not.
                        if why.contains(TOO_MANY_LINES) {
                            unread = unread.saturating_sub(LARGEST);
                        }
                        keeping.unreadable.push(format!("{recorded}: {why}"));
                    }
                    None => keeping.missing += 1,
                }
                continue;
            }
        };
        unread = unread.saturating_sub(source.text.bytes().len() as u64);
        let is_source = fs::canonicalize(&source.path).is_ok_and(|path| is_called_source(&path));
        if !is_source || source.text.bytes().contains(&0) {
            keeping.no_source += 1;
            continue;
        }
        let mut file = SourceFile {
            path,
            lines: u32::try_from(source.text.len()).unwrap_or(u32::MAX),
            digest: source.text.digest(),
            modules: wanted.modules.iter().copied().collect(),
            is_of_run: when == When::OfRun,
            ..SourceFile::default()
        };
        let is_other = |other: &SourceFile| {
            !other.is_same_text(&file)
                && other.modules.iter().any(|module| wanted.modules.contains(module))
        };
        let mut versions = kept.range((path, 0, 0)..=(path, u64::MAX, u32::MAX));
        if wanted.last() > file.lines || versions.any(|(_, of)| is_other(of)) {
            keeping.other_versions += 1;
            continue;
        }
        // Of several modules, none may be older.
        let built = wanted.modules.iter().filter_map(|module| built.get(module)).min();
        file.doubt = by_time(profile, &source, built.copied());
        let before = kept.get(&place(&file));
        // It is that very file: what was known when the run had ended holds.
        if let Some(before) = before {
            file.is_of_run = before.is_of_run;
            if before.is_of_run && file.modules.iter().all(|of| before.modules.contains(of)) {
                file.doubt = before.doubt;
            }
        }
        let is_whole = before.is_some_and(SourceFile::is_whole);
        if !is_whole {
            match wanted.take(&source.text, before, left, &mut file, stops) {
                Fit::All => {}
                Fit::TooLong => keeping.too_long.push(recorded.to_owned()),
                Fit::NoRoom => keeping.unfit.push(recorded.to_owned()),
                Fit::Stopped => keeping.is_stopped = true,
            }
        }
        if file.text.is_empty() && !is_whole {
            continue;
        }
        if before.is_none() {
            keeping.added.push(recorded.to_owned());
        }
        let length = before.map_or(0, |before| before.text.len());
        let file = match kept.remove(&place(&file)) {
            Some(mut known) => {
                known.join(&file);
                known
            }
            None => file,
        };
        left = left.saturating_sub((file.text.len() - length) as u64);
        kept.insert(place(&file), file);
    }
    profile.sources = kept.into_values().collect();
    keeping
}

fn place(file: &SourceFile) -> (StringId, u64, u32) {
    (file.path, file.digest, file.lines)
}

/// Why a file that is somewhere cannot be read.
fn why_unreadable(missing: &Missing) -> Option<&str> {
    missing.tried.iter().map(|(_, why)| &**why).find(|why| *why != NO_FILE)
}

/// Whether a file is called like source.
fn is_called_source(path: &Path) -> bool {
    if path.file_name().is_none_or(|name| name.as_bytes().starts_with(b".")) {
        return false;
    }
    match path.extension() {
        Some(ending) => {
            let ending = ending.to_string_lossy().to_ascii_lowercase();
            ENDINGS.contains(&&*ending)
        }
        None => {
            let Some(folder) = path.parent() else { return false };
            let parts: Vec<&OsStr> = folder.iter().collect();
            HEADERS.iter().any(|headers| folder.starts_with(headers))
                || parts.windows(2).any(|parts| parts == HEADERS_OF_COMPILERS)
        }
    }
}

/// What is wanted of a file.
#[derive(Debug, Default)]
struct Wanted {
    /// Samples that ended in its lines, and those below them, once for each of its frames there.
    samples: (u64, u64),
    modules: BTreeSet<ModuleId>,
    functions: BTreeMap<FunctionId, Lines>,
}

/// The lines of a function.
#[derive(Debug, Default)]
struct Lines {
    samples: (u64, u64),
    /// Where it is declared, if that is known.
    declared: Option<u32>,
    sampled: BTreeSet<u32>,
}

impl Lines {
    /// From its declaration, or its first sampled line, to its last one.
    fn ends(&self) -> Option<(u32, u32)> {
        let (first, last) = (self.sampled.first().copied(), self.sampled.last().copied());
        let (first, last) = (first.or(self.declared)?, last.or(self.declared)?);
        Some((self.declared.filter(|line| *line <= first).unwrap_or(first), last))
    }
}

impl Wanted {
    fn last(&self) -> u32 {
        let lasts = self.functions.values().filter_map(|lines| lines.sampled.last().copied());
        lasts.max().unwrap_or(0)
    }

    /// Takes what is wanted of a text into a file, at most so many bytes besides those that are
    /// kept of it already.
    fn take(
        &self,
        text: &SourceText,
        before: Option<&SourceFile>,
        left: u64,
        file: &mut SourceFile,
        stops: &dyn Fn() -> bool,
    ) -> Fit {
        let length = |number| text.line(number).map_or(0, |line| line.len() as u64 + 1);
        let mut taken = Taken::none_of((1..=file.lines).map(length));
        for stretch in before.iter().flat_map(|before| &before.stretches) {
            taken.take(&(stretch.first..=stretch.end() - 1));
        }
        let known = before.map_or(0, |before| before.text.len() as u64);
        let mut room = Room { left, of_file: OF_FILE.saturating_sub(known) };
        let lines = 1..=file.lines;
        let is_small = text.bytes().len() as u64 <= SMALL && !text.is_empty();
        let mut fit = Fit::All;
        if !(is_small && room.take(&mut taken, &lines) == Fit::All) {
            let mut functions: Vec<&Lines> = self.functions.values().collect();
            functions.sort_by_key(|lines| std::cmp::Reverse(lines.samples));
            for lines in functions {
                if stops() {
                    fit = fit.max(Fit::Stopped);
                    break;
                }
                let Some((first, last)) = lines.ends() else { continue };
                let around = |first: u32, last: u32, around: u32| {
                    let last = last.saturating_add(around).min(file.lines);
                    first.saturating_sub(around).clamp(1, last.max(1))..=last
                };
                let whole = room.take(&mut taken, &around(first, last, AROUND));
                fit = fit.max(whole);
                if whole != Fit::All {
                    for line in &lines.sampled {
                        room.take(&mut taken, &around(*line, *line, LEAST_AROUND));
                    }
                }
            }
        }
        for number in taken.lines() {
            if let Some(line) = text.line(number) {
                file.push(number, &line);
            }
        }
        fit
    }
}

/// Whether lines found room; the later, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    All,
    /// A file has no more room, whatever the size that was asked for.
    TooLong,
    /// All files together have no more.
    NoRoom,
    /// It was ended before they were looked at.
    Stopped,
}

/// Bytes that may be added: in all, and of one file.
#[derive(Debug)]
struct Room {
    left: u64,
    of_file: u64,
}

impl Room {
    /// Takes lines if all of them find room.
    fn take(&mut self, taken: &mut Taken, lines: &RangeInclusive<u32>) -> Fit {
        if lines.is_empty() {
            return Fit::All;
        }
        let cost = taken.cost(lines);
        if cost > self.of_file {
            return Fit::TooLong;
        }
        if cost > self.left {
            return Fit::NoRoom;
        }
        self.left -= cost;
        self.of_file -= cost;
        taken.take(lines);
        Fit::All
    }
}

/// The files of functions with samples, what costs most first. O(nodes + rows of sites).
fn wanted(profile: &saved::Profile) -> Vec<(StringId, Wanted)> {
    let nodes = &profile.nodes;
    let mut inclusive = nodes.samples.clone();
    // Of each frame that has nodes, also where salvaging left none of their samples.
    let mut of_frame = vec![(0_u64, 0_u64, false); profile.frames.len()];
    for node in (0..nodes.len()).rev() {
        let parent = nodes.parent[node] as usize;
        if parent < node {
            inclusive[parent] = inclusive[parent].saturating_add(inclusive[node]);
        }
        let (own, through, is_met) = &mut of_frame[nodes.frame[node].index()];
        *own = own.saturating_add(nodes.samples[node]);
        *through = through.saturating_add(inclusive[node]);
        *is_met = true;
    }
    let mut files: BTreeMap<StringId, Wanted> = BTreeMap::new();
    let mut add = |function: FunctionId, place: Option<(StringId, u32)>, samples: (u64, u64)| {
        let definition = &profile.functions[function.index()];
        let declared = definition.file.map(|file| (file, definition.line));
        for (file, line) in [place, declared].into_iter().flatten() {
            let wanted = files.entry(file).or_default();
            wanted.modules.insert(definition.module);
            let lines = wanted.functions.entry(function).or_default();
            lines.declared =
                declared.filter(|place| place.0 == file && place.1 > 0).map(|place| place.1);
            if Some((file, line)) == place && line > 0 {
                lines.sampled.insert(line);
            }
        }
        // What a row costs is the cost of where its line is.
        if let Some((file, _)) = place.or(declared)
            && let Some(wanted) = files.get_mut(&file)
        {
            let sum = |cost: &mut (u64, u64)| {
                *cost = (cost.0.saturating_add(samples.0), cost.1.saturating_add(samples.1));
            };
            sum(&mut wanted.samples);
            if let Some(lines) = wanted.functions.get_mut(&function) {
                sum(&mut lines.samples);
            }
        }
    };
    for (frame, (own, through, _)) in of_frame.iter().enumerate().filter(|(_, of)| of.2) {
        let rows = profile.sites.rows(FrameId::from_index(frame));
        let innermost = rows.end;
        for row in rows {
            let place = profile.sites.file[row].map(|file| (file, profile.sites.line[row]));
            let own = if row + 1 == innermost { *own } else { 0 };
            add(profile.sites.function[row], place, (own, *through));
        }
    }
    for call in &profile.structure.tail_calls {
        call.via.iter().for_each(|function| add(*function, None, (0, 0)));
    }
    let mut wanted: Vec<_> = files.into_iter().collect();
    wanted.sort_by_key(|(_, wanted)| std::cmp::Reverse(wanted.samples));
    wanted
}

#[cfg(test)]
mod tests;
