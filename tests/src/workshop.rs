//! A folder for one test, in which workloads are compiled and commands run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::{fs, panic, thread};

use crate::binary::{csprof, profile_folder};
use crate::deadline::{self, Outcome};
use crate::notes::note;
use crate::recording::Recording;

/// A folder that was empty when its test began, below cargo's `target/tmp`. It stays when the test
/// has ended, so that a failure can be looked at.
#[derive(Debug)]
pub struct Workshop {
    folder: PathBuf,
}

impl Workshop {
    /// Makes the folder of a test. Two tests must not have one name.
    #[must_use]
    pub fn new(test: &str) -> Self {
        show_failures();
        // If it is yet to be built, then now: what a test starts would not wait for that.
        let _ = csprof();
        let folder = profile_folder().parent().unwrap().join("tmp/system").join(test);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    /// A path in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Compiles: `compile("cc -O2 -o program @figure1.c")`. A word that begins with `@` names a
    /// source in `tests/workloads`.
    pub fn compile(&self, line: &str) {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
        let mut words = line.split_whitespace();
        let mut command = self.command(words.next().unwrap());
        command.args(words.map(|word| match word.strip_prefix('@') {
            Some(name) => sources.join(name).into_os_string(),
            None => word.into(),
        }));
        let outcome = deadline::run(&mut command);
        assert!(outcome.status.success(), "{line}: {}", outcome.complained());
    }

    /// A command that runs in the folder. Nothing of a profiler around the tests gets in, nor what
    /// csprof remembers of earlier tests.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env_remove("LD_PRELOAD").env("LC_ALL", "C");
        command.env("CSPROF_CACHE_SIZE", "0");
        command
    }

    /// Runs a command as it is, in the folder.
    #[must_use]
    pub fn run(&self, words: &[&str]) -> Outcome {
        deadline::run(self.command(words[0]).args(&words[1..]))
    }

    /// Runs csprof in the folder.
    #[must_use]
    pub fn csprof(&self, arguments: &[&str]) -> Outcome {
        deadline::run(self.csprof_command().args(arguments))
    }

    /// The command that runs csprof in the folder.
    #[must_use]
    pub fn csprof_command(&self) -> Command {
        self.command(csprof().to_str().unwrap())
    }

    /// `csprof record OPTIONS -- WORDS`; the profile must come, and obey the
    /// [laws](crate::recording) of all profiles.
    #[must_use]
    pub fn record(&self, options: &[&str], words: &[&str]) -> Recording {
        let mut arguments = vec!["record", "-f", "-o", "run.csprof"];
        arguments.extend(options);
        arguments.push("--");
        arguments.extend(words);
        Recording::new(self.csprof(&arguments), self.path("run.csprof"))
    }

    /// The same, but names are found only where something that is printed of it is looked at: in
    /// a debug build they cost several times as much as all the rest.
    #[must_use]
    pub fn record_without_names(&self, options: &[&str], words: &[&str]) -> Recording {
        self.record(&[&["--symbols=later"], options].concat(), words).without_names()
    }
}

/// From now on shows at once why a test fails, in short. The test runner tells all of it when every
/// test has ended, where a record of the end alone, or of the lines around a failure, has lost it.
fn show_failures() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let said = info.to_string();
            let short: String = said.chars().take(1000).collect();
            note(&format!("{}: {short}", thread::current().name().unwrap_or("a thread")));
            usual(info);
        }));
    });
}
