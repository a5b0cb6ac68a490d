//! Where the profile goes: a name that is free, in a folder that can be written to; known before
//! the program runs, because nobody likes to hear afterwards that an hour was in vain.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::bail;
use csprof_format::error::{Error, ErrorKind};
use csprof_format::ids::ThreadId;
use csprof_format::profile::{Metric, Profile};
use csprof_format::whole_file::Temporary;
use csprof_format::{read, write};

use super::file_name::{self, FileName, SUFFIX};

/// Where a profile will be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Absolute: the program may change what `.` means only for itself, but csprof may be asked to
    /// name the file anywhere.
    path: PathBuf,
    /// Whether another name may be taken if this one is in use by then.
    numbered: bool,
    /// Whether an existing file is replaced.
    overwrite: bool,
}

impl Output {
    /// Decides the name: `asked`, or the program's with `.csprof`.
    ///
    /// # Errors
    ///
    /// When the folder does not exist or cannot be written to, the file asked for exists and
    /// `overwrite` is not set, or it is `-`, which is no file.
    pub fn new(asked: Option<&Path>, program: &OsStr, overwrite: bool) -> anyhow::Result<Self> {
        if asked.is_some_and(|path| path.as_os_str() == "-") {
            bail!("-: standard output is the program's; name a file (./- is one of that name)");
        }
        let name = match asked {
            Some(path) => path.to_path_buf(),
            None => PathBuf::from(file_name::of_program(program)),
        };
        Self::at(&name, asked.is_none(), overwrite)
    }

    /// The same of `record`: what is asked may be a pattern, or a folder.
    ///
    /// # Errors
    ///
    /// Those of [`Output::new`] and of [`file_name`](file_name::file_name).
    pub fn of_run(asked: Option<&Path>, program: &OsStr, overwrite: bool) -> anyhow::Result<Self> {
        let Some(asked) = asked.filter(|path| path.as_os_str() != "-") else {
            return Self::new(asked, program, overwrite);
        };
        let FileName { path, is_chosen_here } = file_name::file_name(asked, program)?;
        Self::at(&path, is_chosen_here, overwrite)
    }

    fn at(name: &Path, numbered: bool, overwrite: bool) -> anyhow::Result<Self> {
        let output = Self { path: std::path::absolute(name)?, numbered, overwrite };
        if output.path.is_dir() {
            bail!("{}: is a folder; name a file in it", name.display());
        }
        output.check_folder()?;
        if !numbered && !overwrite && output.path.symlink_metadata().is_ok() {
            bail!("{}: exists already; -f replaces it, or choose another name", name.display());
        }
        Ok(output)
    }

    /// The same as another csprof has decided it.
    #[must_use]
    pub fn decided(path: PathBuf, numbered: bool, overwrite: bool) -> Self {
        Self { path, numbered, overwrite }
    }

    /// This decision as arguments of a command line: see [`decided`](Self::decided).
    #[must_use]
    pub fn arguments(&self) -> Vec<OsString> {
        let flags = [(self.numbered, "--numbered"), (self.overwrite, "--overwrite")];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.into());
        flags.chain(["--".into(), self.path.clone().into()]).collect()
    }

    /// The file, among those that this names, which has all of this profile. A snapshot of a run
    /// that went on has fewer samples.
    #[must_use]
    pub fn has(&self, profile: &Profile) -> Option<PathBuf> {
        let further = (1..).map(|number| numbered(&self.path, number));
        let names = std::iter::once(self.path.clone()).chain(further);
        let most = if self.numbered { usize::MAX } else { 1 };
        // Who opens a pipe may wait for ever.
        let mut names = names.take(most).take_while(|path| path.is_file());
        names.find(|path| part_of(path, profile).is_some_and(|saved| has_all(&saved, profile)))
    }

    /// A name in a folder, which is made, or the next name if a file has that.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made or written to.
    pub fn numbered_in(folder: &Path, name: &Path) -> anyhow::Result<Self> {
        file_name::make_folder(folder)?;
        Self::at(&folder.join(name), true, false)
    }

    fn check_folder(&self) -> anyhow::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        if !folder.is_dir() {
            bail!("{}: there is no such folder to save the profile in", folder.display());
        }
        // Permission alone does not tell: the file system may be read-only, full, or /proc.
        if let Err(error) = Temporary::beside(&self.path) {
            bail!(
                "{}: the profile cannot be saved in this folder: {error}; name another with -o FILE",
                folder.display()
            );
        }
        Ok(())
    }

    /// Whether this is a name of the file at `path`, which need not be there yet.
    #[must_use]
    pub fn is_same_file(&self, path: &Path) -> bool {
        let place = |path: &Path| {
            let folder = path.parent()?.canonicalize().ok()?;
            Some(folder.join(path.file_name()?))
        };
        self.path == path || place(&self.path).is_some_and(|own| Some(own) == place(path))
    }

    /// Whether saving makes a file, or replaces one; what stands there may be a pipe.
    #[must_use]
    pub fn makes_a_file(&self) -> bool {
        self.path.metadata().map_or(true, |there| there.is_file())
    }

    /// Saves the profile and returns its path.
    ///
    /// # Errors
    ///
    /// Those of [`write::save`] and [`write::save_new`].
    pub fn save(&self, profile: &Profile) -> Result<PathBuf, Error> {
        self.save_over(profile, |_| false)
    }

    /// Saves the profile of a run that may have been saved in part already, under the name that it
    /// would have now: then this takes its place.
    ///
    /// # Errors
    ///
    /// Those of [`save`](Self::save).
    pub fn save_whole(&self, profile: &Profile) -> Result<PathBuf, Error> {
        self.save_over(profile, |path| {
            part_of(path, profile).is_some_and(|part| {
                let ([before, _], [now, _]) = (samples(&part), samples(profile));
                before <= now
            })
        })
    }

    fn save_over(
        &self,
        profile: &Profile,
        is_replaced: impl Fn(&Path) -> bool,
    ) -> Result<PathBuf, Error> {
        if self.overwrite {
            write::save(profile, &self.path)?;
            return Ok(self.path.clone());
        }
        let mut path = self.path.clone();
        let mut number = 0u32;
        loop {
            match write::save_new(profile, &path) {
                Ok(()) => return Ok(path),
                Err(error) if !matches!(error.kind(), ErrorKind::Exists) => return Err(error),
                Err(_) if is_replaced(&path) => {
                    write::save(profile, &path)?;
                    return Ok(path);
                }
                Err(error) if !self.numbered => return Err(error),
                Err(_) => {
                    number += 1;
                    path = numbered(&self.path, number);
                }
            }
        }
    }
}

/// What a file has of the same run. One of another run is not read for that.
fn part_of(path: &Path, profile: &Profile) -> Option<Profile> {
    let is_of_run = read::run_id(path) == Some(profile.run.id());
    is_of_run.then(|| read::open(path).ok()).flatten()
}

/// Samples that were delivered in all threads: those of sources that follow no blocks, which only
/// grow while a run goes on, and those of `leak` and its kind, of which those are gone whose blocks
/// were freed.
fn samples(profile: &Profile) -> [u64; 2] {
    let mut all = [0_u64; 2];
    for (metric, place) in profile.metrics().zip(0..) {
        let sum = &mut all[usize::from(metric.follows_blocks())];
        let threads = (0..profile.threads.len()).map(ThreadId::from_index);
        let delivered = threads.map(|thread| profile.share(thread, place).delivered);
        *sum = delivered.fold(*sum, u64::saturating_add);
    }
    all
}

/// Whether a saved profile has all of another one of the same run.
fn has_all(saved: &Profile, profile: &Profile) -> bool {
    let ([others, leaks], now) = (samples(saved), samples(profile));
    let has_leaks = profile.metrics().any(Metric::follows_blocks);
    match has_leaks {
        // As many leaks of another moment are other leaks, perhaps.
        true => [others, leaks] == now && saved.run.duration_ns == profile.run.duration_ns,
        false => others >= now[0],
    }
}

/// `prog.csprof`, then `prog.1.csprof`, `prog.2.csprof`, …
fn numbered(path: &Path, number: u32) -> PathBuf {
    path.with_extension(format!("{number}.{SUFFIX}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use csprof_format::profile::{FurtherMetric, Metric, Thread, ThreadShare};

    use super::*;

    #[test]
    fn the_program_names_the_file() {
        let name = |program: &str| {
            let path = Output::new(None, program.as_ref(), false).unwrap().path;
            path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(name("/usr/bin/xz"), "xz.csprof");
        assert_eq!(name("python3.11"), "python3.11.csprof");
    }

    #[test]
    fn an_existing_file_gets_a_numbered_neighbour() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("python3.11.csprof");
        let output = Output { path: path.clone(), numbered: true, overwrite: false };
        let profile = small_profile();
        let names: Vec<PathBuf> = (0..3).map(|_| output.save(&profile).unwrap()).collect();
        let expected = ["python3.11.csprof", "python3.11.1.csprof", "python3.11.2.csprof"];
        assert_eq!(names, expected.map(|name| folder.path().join(name)));
    }

    #[test]
    fn a_file_that_was_asked_for_is_replaced_only_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csprof");
        fs::write(&path, "precious").unwrap();
        let refused = Output::new(Some(&path), "xz".as_ref(), false).unwrap_err().to_string();
        assert!(
            refused.ends_with("run.csprof: exists already; -f replaces it, or choose another name")
        );
        let output = Output::new(Some(&path), "xz".as_ref(), true).unwrap();
        output.save(&small_profile()).unwrap();
        assert_ne!(fs::read(&path).unwrap(), b"precious");
    }

    /// Ranks on two nodes may have one process id and write to one folder.
    #[test]
    fn what_another_csprof_of_this_number_tries_is_not_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let id = std::process::id();
        for name in [format!(".csprof-{id}"), format!(".csprof-{id}-0")] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let path = folder.path().join("run.csprof");
        Output::new(Some(&path), "xz".as_ref(), false).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn standard_output_is_refused() {
        let error = Output::new(Some("-".as_ref()), "xz".as_ref(), true).unwrap_err().to_string();
        assert!(error.starts_with("-: standard output is the program's; name a file"), "{error}");
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named() {
        let error = Output::new(Some("/no/such/run.csprof".as_ref()), "xz".as_ref(), false);
        let text = error.unwrap_err().to_string();
        assert_eq!(text, "/no/such: there is no such folder to save the profile in");
    }

    #[test]
    fn a_run_that_is_saved_already_is_found_among_the_numbered_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node7.3.csprof");
        let output = Output::decided(path, true, false);
        let named = |host: &str| {
            let mut profile = small_profile();
            profile.run.host = host.to_owned();
            profile
        };
        assert_eq!(output.has(&named("one")), None);
        let saved = ["one", "two"].map(|host| output.save(&named(host)).unwrap());
        assert_eq!(output.has(&named("two")), Some(saved[1].clone()));
        assert_eq!(output.has(&named("three")), None);
        // What was saved of it while it went on is a part.
        let mut whole = named("two");
        whole.threads.push(Thread { delivered: 7, ..Thread::default() });
        assert_eq!(output.has(&whole), None);
        whole.threads[0].delivered = 0;
        assert_eq!(output.has(&whole), Some(saved[1].clone()));
        // Of a name that was asked for, there is one.
        let asked = Output { numbered: false, ..output };
        assert_eq!(asked.has(&named("two")), None);
        assert_eq!(asked.arguments(), ["--".into(), asked.path.clone().into_os_string()]);
    }

    #[test]
    fn the_whole_of_a_run_takes_the_place_of_its_part_and_of_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let of = |host: &str, calls: u64| {
            let mut profile = of_calls("alloc", calls);
            profile.run.host = host.to_owned();
            profile
        };
        for numbered in [false, true] {
            let path = folder.path().join(format!("{numbered}.csprof"));
            let output = Output::decided(path.clone(), numbered, false);
            assert_eq!(output.save(&of("one", 3)).unwrap(), path);
            assert_eq!(output.save_whole(&of("one", 5)).unwrap(), path);
            let saved = |path: &Path| samples(&read::open(path).unwrap())[0];
            assert_eq!(saved(&path), 5);
            // Another run, less of this one, and who does not ask for it.
            for (saving, profile) in [
                (Output::save_whole as fn(&Output, &Profile) -> _, of("two", 9)),
                (Output::save_whole, of("one", 4)),
                (Output::save, of("one", 9)),
            ] {
                let other = saving(&output, &profile);
                assert_eq!(other.is_ok(), numbered);
                assert_ne!(other.ok(), Some(path.clone()));
                assert_eq!(saved(&path), 5);
            }
        }
    }

    /// Samples of calls are no signals, so there is none in these profiles.
    #[test]
    fn a_part_of_a_run_that_counts_calls_is_not_the_whole() {
        for source in ["alloc", "alloc-calls", "io-read", "lock", "mpi", "mpi-bytes"] {
            let folder = tempfile::tempdir().unwrap();
            let output = Output::decided(folder.path().join("run.csprof"), false, false);
            let path = output.save(&of_calls(source, 5)).unwrap();
            assert_eq!(output.has(&of_calls(source, 6)), None, "{source}");
            assert_eq!(output.has(&of_calls(source, 5)), Some(path), "{source}");
        }
    }

    /// Blocks are freed, and others are not: fewer leaks, more, or as many others.
    #[test]
    fn leaks_of_another_moment_are_not_those_of_this_one() {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::decided(folder.path().join("run.csprof"), false, false);
        let path = output.save(&of_calls("leak", 5)).unwrap();
        for leaks in [3, 7] {
            assert_eq!(output.has(&of_calls("leak", leaks)), None);
        }
        assert_eq!(output.has(&of_calls("leak", 5)), Some(path.clone()));
        let mut later = of_calls("leak", 5);
        later.run.duration_ns += 1;
        assert_eq!(output.has(&later), None);
        // What is saved later takes the place of more leaks; of others it has no fewer.
        let with_time = |others: u64, leaks: u64| {
            let mut profile = of_calls("leak", leaks);
            let further = FurtherMetric {
                metric: Metric { source: "cputime".into(), ..profile.metric.clone() },
                threads: vec![ThreadShare { delivered: others, ..ThreadShare::default() }],
                samples: Vec::new(),
            };
            profile.further.push(further);
            profile.threads[0].delivered += others;
            profile.threads[0].losses[0] += others;
            profile
        };
        assert_eq!(output.save_whole(&with_time(8, 3)).unwrap(), path);
        assert_eq!(samples(&read::open(&path).unwrap()), [8, 3]);
        assert_eq!(output.has(&with_time(7, 4)), None);
        assert!(output.save_whole(&with_time(7, 4)).is_err());
        assert!(output.has(&with_time(8, 3)).is_some());
    }

    /// A run of one source of calls, with so many samples.
    fn of_calls(source: &str, delivered: u64) -> Profile {
        let mut profile = small_profile();
        profile.metric.source = source.to_owned();
        profile.processes.push(csprof_format::profile::Process::default());
        let losses = vec![delivered];
        profile.threads.push(Thread { delivered, losses, ..Thread::default() });
        profile
    }

    fn small_profile() -> Profile {
        let mut profile = Profile::default();
        profile.metric.period = 5_000_000;
        profile
    }
}
