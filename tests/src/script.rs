//! Real programs, as they are installed: scripts of `tests/programs`, which must say under csprof
//! what they say alone.

use std::fs;
use std::path::{Path, PathBuf};

use csprof_format::loss::PartialReason;

use crate::deadline::Outcome;
use crate::hazard::{SOURCES, quietly};
use crate::installed::find;
use crate::recording::{Allowed, Recording};
use crate::workshop::Workshop;

/// A file with the functions `prepare` and `run`. Its first lines say what it is, which tools it
/// `needs`, and, by `# jit`, that its code is made at run time or by Go. `# partial: no-cfi 5` says
/// that five in a thousand samples may be partial for that reason: the processor chooses among
/// kernels in assembly, in whatever version of a library, and not all were seen.
pub struct Script {
    /// The name of the file, without `.sh`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    text: String,
}

/// What a script said alone, and the folder in which it did.
pub struct Alone {
    /// Where it runs.
    pub workshop: Workshop,
    outcome: Outcome,
}

/// It cannot run here, and why.
pub struct Skipped(pub String);

impl Script {
    /// All of them, by name.
    ///
    /// # Panics
    ///
    /// If they cannot be read.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        let mut scripts: Vec<Self> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                let text = fs::read_to_string(&path).unwrap();
                Self { name, path, text }
            })
            .collect();
        scripts.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        scripts
    }

    /// Whether its paths can be whole.
    #[must_use]
    pub fn is_native(&self) -> bool {
        !self.text.contains("\n# jit\n")
    }

    /// Partial samples that it may have besides those that any program may have.
    ///
    /// # Panics
    ///
    /// If there is no such reason.
    #[must_use]
    pub fn allowed(&self) -> Vec<Allowed> {
        let line = self.text.lines().find_map(|line| line.strip_prefix("# partial: "));
        let words = line.into_iter().flat_map(|line| line.split(", "));
        words
            .map(|words| {
                let (key, share) = words.split_once(' ').unwrap();
                let mut reasons = PartialReason::ALL.iter().copied();
                let reason = reasons.find(|reason| reason.key() == key);
                Allowed { reason: reason.unwrap(), per_thousand: share.parse().unwrap() }
            })
            .collect()
    }

    /// Prepares it in a folder `place` of its own and runs it twice: what differs from itself
    /// cannot be compared with.
    ///
    /// # Errors
    ///
    /// Why it cannot run here.
    ///
    /// # Panics
    ///
    /// If it does not say what it needs, hangs, or fails.
    pub fn run_alone(&self, place: &str) -> Result<Alone, Skipped> {
        let needs = self.text.lines().find_map(|line| line.strip_prefix("# needs: ")).unwrap();
        let missing: Vec<&str> = needs.split(' ').filter(|tool| find(tool).is_none()).collect();
        if !missing.is_empty() {
            return Err(Skipped(format!("{} not installed", missing.join(", "))));
        }
        let workshop = Workshop::new(&format!("{place}/{}", self.name));
        if self.text.contains("\nprepare() {") {
            let prepared = workshop.run(&self.words("prepare"));
            if !prepared.status.success() {
                return Err(Skipped(format!("cannot be prepared: {}", prepared.complained())));
            }
        }
        let outcome = workshop.run(&self.words("run"));
        assert!(outcome.status.success(), "{} alone: {}", self.name, outcome.complained());
        let again = workshop.run(&self.words("run"));
        if outcome != again {
            let words = |outcome: &Outcome| {
                let Outcome { status, .. } = outcome;
                format!("{status}, {:?}, {:?}", outcome.said(), outcome.complained())
            };
            let (one, two) = (words(&outcome), words(&again));
            return Err(Skipped(format!("differs from itself: {one}; then {two}")));
        }
        Ok(Alone { workshop, outcome })
    }

    /// Runs it under csprof, and finds names with the first of [`SOURCES`] alone.
    ///
    /// # Panics
    ///
    /// If it says or does something else than alone, or the recording breaks a law.
    #[must_use]
    pub fn record(&self, alone: &Alone, source: &str) -> Recording {
        let (options, words) = (quietly(source), self.words("run"));
        let recording = if source == SOURCES[0] {
            alone.workshop.record(&options, &words)
        } else {
            alone.workshop.record_without_names(&options, &words)
        };
        let (found, expected) = (&recording.outcome, &alone.outcome);
        assert_eq!(found.said(), expected.said(), "output");
        assert_eq!(found.complained(), expected.complained(), "errors");
        assert_eq!(found.status, expected.status);
        recording
    }

    fn words(&self, function: &'static str) -> [&str; 3] {
        ["sh", self.path.to_str().unwrap(), function]
    }
}
