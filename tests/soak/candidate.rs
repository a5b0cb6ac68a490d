//! What the soak runs: hazards, whose answers are known, and scripts of real programs and random
//! hazards, which must say what they said alone.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use csprof_tests::generator::Generated;
use csprof_tests::hazard::{Hazard, Program, quietly};
use csprof_tests::hazards;
use csprof_tests::recording::Recording;
use csprof_tests::script::{Alone, Script, Skipped};
use csprof_tests::workshop::Workshop;

/// One program.
pub(crate) enum Candidate {
    /// A variant of a hazard, and the program once it was built.
    Hazard(&'static Hazard, usize, Option<Program>),
    /// A script, and what it said alone.
    Script(Script, Option<Alone>),
    /// A random hazard, by its seed, and the program once it was built.
    Generated(u64, Option<Generated>),
}

impl Candidate {
    /// All of them.
    pub(crate) fn all() -> Vec<Self> {
        let hazards = hazards::all().flat_map(|hazard| {
            (0..hazard.variants.len()).map(move |number| Self::Hazard(hazard, number, None))
        });
        let scripts = Script::all().into_iter().map(|script| Self::Script(script, None));
        hazards.chain(scripts).collect()
    }

    /// For people, and for the table.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Hazard(hazard, ..) => hazard.name,
            Self::Script(script, _) => &script.name,
            Self::Generated(..) => "generated",
        }
    }

    /// Whether its paths can be whole.
    pub(crate) fn is_native(&self) -> bool {
        match self {
            Self::Hazard(..) => true,
            Self::Script(script, _) => script.is_native(),
            // It has code of its own, without call frame information.
            Self::Generated(..) => false,
        }
    }

    /// Whether it is run again, when it has been run with every setting.
    pub(crate) fn stays(&self) -> bool {
        !matches!(self, Self::Generated(..))
    }

    /// Runs it once under csprof with this source, or with several, separated by spaces. Before the
    /// first time it is built and run alone.
    ///
    /// # Panics
    ///
    /// If something is not as it should be.
    pub(crate) fn run(&mut self, source: &str) -> Result<Recording, Skipped> {
        match self {
            Self::Hazard(hazard, number, program) => {
                if program.is_none() {
                    *program = hazard.build("soak", *number);
                    program.iter().for_each(Program::run_alone);
                }
                let program = program.as_ref().ok_or_else(|| {
                    Skipped(format!("variant {:?}: not built", hazard.variants[*number]))
                })?;
                Ok(program.record(source))
            }
            Self::Script(script, alone) => {
                if alone.is_none() {
                    *alone = Some(script.run_alone("soak")?);
                }
                Ok(script.record(alone.as_ref().unwrap(), source))
            }
            Self::Generated(seed, program) => {
                Ok(program.get_or_insert_with(|| Generated::new("soak", *seed)).record(source))
            }
        }
    }

    /// Keeps what a failed run left, and how to repeat it; returns where.
    pub(crate) fn keep(&self, source: &str, why: &str, number: usize) -> PathBuf {
        let place = Workshop::new(&format!("soak-failures/{number}-{}", self.name()));
        let (workshop, command) = match self {
            Self::Hazard(hazard, _, program) => {
                (program.as_ref().map(|program| &program.workshop), hazard.command.join(" "))
            }
            Self::Script(script, alone) => {
                let command = format!("sh {} run", script.path.display());
                (alone.as_ref().map(|alone| &alone.workshop), command)
            }
            Self::Generated(_, program) => {
                (program.as_ref().map(|program| &program.workshop), "./program".to_owned())
            }
        };
        let text = format!("csprof record {} -- {command}\n\n{why}\n", quietly(source).join(" "));
        fs::write(place.path("why"), text).unwrap();
        if let Some(workshop) = workshop {
            // Best effort: a file that cannot be copied is not what failed.
            let _ =
                Command::new("cp").arg("-r").args([workshop.path("."), place.path(".")]).status();
        }
        place.path("why")
    }
}
