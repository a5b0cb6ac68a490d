//! What the soak runs: hazards, whose answers are known, and scripts of real programs, which must
//! say what they said alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use csprof_tests::deadline::Outcome;
use csprof_tests::hazard::{Hazard, Program};
use csprof_tests::hazards;
use csprof_tests::installed::find;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

const SOURCE: &str = "task-clock@5000";

/// It cannot run here, and why.
pub(crate) struct Skipped(pub(crate) String);

/// One program.
pub(crate) enum Candidate {
    /// A variant of a hazard, and the program once it was built.
    Hazard(&'static Hazard, usize, Option<Program>),
    /// A script of `soak/programs`, and what it said alone.
    Script(Script, Option<Alone>),
}

/// A file with the functions `prepare` and `run`. Its first lines say what it is, which tools it
/// `needs`, and, by `# jit`, that its code is made at run time or by Go.
pub(crate) struct Script {
    name: String,
    path: PathBuf,
    text: String,
}

pub(crate) struct Alone {
    workshop: Workshop,
    outcome: Outcome,
}

impl Candidate {
    /// All of them.
    pub(crate) fn all() -> Vec<Self> {
        let hazards = hazards::all().flat_map(|hazard| {
            (0..hazard.variants.len()).map(move |number| Self::Hazard(hazard, number, None))
        });
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("soak/programs");
        let scripts = fs::read_dir(folder).unwrap().map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            Self::Script(Script { name, path, text }, None)
        });
        hazards.chain(scripts).collect()
    }

    /// For people, and for the table.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Hazard(hazard, ..) => hazard.name,
            Self::Script(script, _) => &script.name,
        }
    }

    /// Whether its paths can be whole.
    pub(crate) fn is_native(&self) -> bool {
        match self {
            Self::Hazard(hazard, ..) => hazard.partial <= 1,
            Self::Script(script, _) => !script.text.contains("\n# jit\n"),
        }
    }

    /// Runs it once under csprof. Before the first time it is built and run alone.
    ///
    /// # Panics
    ///
    /// If something is not as it should be.
    pub(crate) fn run(&mut self) -> Result<Recording, Skipped> {
        match self {
            Self::Hazard(hazard, number, program) => {
                if program.is_none() {
                    *program = hazard.build("soak", *number);
                    program.iter().for_each(Program::run_alone);
                }
                let program = program.as_ref().ok_or_else(|| {
                    Skipped(format!("variant {:?}: not built", hazard.variants[*number]))
                })?;
                Ok(program.record(SOURCE))
            }
            Self::Script(script, alone) => {
                if alone.is_none() {
                    *alone = Some(script.run_alone()?);
                }
                Ok(script.record(alone.as_ref().unwrap()))
            }
        }
    }

    /// Keeps what a failed run left, and how to repeat it; returns where.
    pub(crate) fn keep(&self, why: &str, number: usize) -> PathBuf {
        let place = Workshop::new(&format!("soak-failures/{number}-{}", self.name()));
        let (workshop, command) = match self {
            Self::Hazard(hazard, _, program) => {
                (program.as_ref().map(|program| &program.workshop), hazard.command.join(" "))
            }
            Self::Script(script, alone) => {
                let command = format!("sh {} run", script.path.display());
                (alone.as_ref().map(|alone| &alone.workshop), command)
            }
        };
        let text = format!("csprof record --quiet -e {SOURCE} -- {command}\n\n{why}\n");
        fs::write(place.path("why"), text).unwrap();
        if let Some(workshop) = workshop {
            // Best effort: a file that cannot be copied is not what failed.
            let _ =
                Command::new("cp").arg("-r").args([workshop.path("."), place.path(".")]).status();
        }
        place.path("why")
    }
}

impl Script {
    fn words(&self, function: &'static str) -> [&str; 3] {
        ["sh", self.path.to_str().unwrap(), function]
    }

    /// Prepares it and runs it twice: what differs from itself cannot be compared with.
    fn run_alone(&self) -> Result<Alone, Skipped> {
        let needs = self.text.lines().find_map(|line| line.strip_prefix("# needs: ")).unwrap();
        let missing: Vec<&str> = needs.split(' ').filter(|tool| find(tool).is_none()).collect();
        if !missing.is_empty() {
            return Err(Skipped(format!("{} not installed", missing.join(", "))));
        }
        let workshop = Workshop::new(&format!("soak/{}", self.name));
        if self.text.contains("\nprepare() {") {
            let prepared = workshop.run(&self.words("prepare"));
            if !prepared.status.success() {
                return Err(Skipped(format!("cannot be prepared: {}", prepared.complained())));
            }
        }
        let outcome = workshop.run(&self.words("run"));
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

    fn record(&self, alone: &Alone) -> Recording {
        let recording = alone.workshop.record(&["--quiet", "-e", SOURCE], &self.words("run"));
        let (found, expected) = (&recording.outcome, &alone.outcome);
        assert_eq!(found.said(), expected.said(), "output");
        assert_eq!(found.complained(), expected.complained(), "errors");
        assert_eq!(found.status, expected.status);
        recording
    }
}
