//! Starts the program with the collector preloaded: the environment contract of
//! [`csprof_format::launch`], from the side of `record`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use serde::{Deserialize, Serialize};

use super::inherited::{Environment, Inherited, give_environment};
use csprof_format::launch::{
    EPOCH_PER_LOAD, GENERATED, LD_PRELOAD, MEMORY, NO_REGIONS, NO_TRAMPOLINE, QUIET, RUN_DIR,
    SOURCE, SampleSources, TIMES,
};

/// How the collector is to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What triggers samples.
    pub sources: SampleSources,
    /// Whether returns are counted by the trampoline.
    pub trampoline: bool,
    /// Whether work in parallel regions is below the code that opened them.
    pub regions: bool,
    /// Whether every load of a module begins an epoch.
    pub epoch_per_load: bool,
    /// Whether paths lead through code generated at run time.
    pub generated: bool,
    /// Most bytes of shared memory for each process; `None` for as much as there is.
    pub memory: Option<u64>,
    /// Most bytes of it for the times of samples; `None` if they are not kept.
    pub times: Option<u64>,
    /// Whether the collector keeps its messages to itself.
    pub quiet: bool,
    /// Which runtimes are told to name the code that they generate.
    pub naming: Naming,
}

/// Runtimes that name the code that they generate if their environment says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Naming {
    /// CPython from 3.12 on.
    pub python: bool,
    /// Node.js.
    pub node: bool,
    /// OpenJDK from 17 on.
    pub java: bool,
    /// Erlang/OTP from 25 on.
    #[serde(default)]
    pub erlang: bool,
}

impl Naming {
    /// Whether any is asked for.
    #[must_use]
    pub const fn is_asked(self) -> bool {
        self.python || self.node || self.java || self.erlang
    }

    /// The variables, given those around csprof.
    fn environment(
        self,
        given: impl Fn(&str) -> Option<OsString>,
    ) -> impl Iterator<Item = (&'static str, OsString)> {
        let given = &given;
        // Options are added to those of the user. Functions that V8 interprets have frames of their
        // own by the second; `--perf-basic-prof` alone leaves a log in the working folder. The JVM
        // prints a note of its variable; of the two that there are, only `java` itself heeds this
        // one, and not each of its tools. One before 17 would not start with an option that it does
        // not know.
        const PYTHON: &str = "PYTHONPERFSUPPORT";
        const NODE: &str = "NODE_OPTIONS";
        const JAVA: &str = "JDK_JAVA_OPTIONS";
        const ERLANG: &str = "ERL_FLAGS";
        let added = move |name, options: &str| {
            let mut text = given(name).unwrap_or_default();
            if !text.is_empty() {
                text.push(" ");
            }
            text.push(options);
            (name, text)
        };
        // What follows `-extra` there is the program's.
        let before = move |name, options: &str| {
            let mut text = OsString::from(options);
            if let Some(given) = given(name).filter(|given| !given.is_empty()) {
                text.push(" ");
                text.push(given);
            }
            (name, text)
        };
        let node = "--perf-basic-prof-only-functions --interpreted-frames-native-stack";
        let java = "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions \
                    -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer";
        let python = self.python.then(|| (PYTHON, OsString::from("1")));
        let node = self.node.then(|| added(NODE, node));
        let java = self.java.then(|| added(JAVA, java));
        let erlang = self.erlang.then(|| before(ERLANG, "+JPperf true"));
        [python, node, java, erlang].into_iter().flatten()
    }
}

/// A program that is about to be started.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// Its arguments, the name as which it was called first.
    pub command: &'a [OsString],
    /// What is preloaded, if it can be.
    pub collector: Option<&'a Path>,
    /// Where its processes are to keep their arenas.
    pub arenas: &'a Path,
    /// How the collector is to work.
    pub settings: Settings,
    /// What it inherits.
    pub inherited: Inherited,
}

impl Program<'_> {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn spawn(self) -> io::Result<Child> {
        self.started().spawn()
    }

    /// Starts it in place of this process. Returns if the kernel refuses, with the reason.
    #[must_use]
    pub fn exec(self) -> io::Error {
        let mut program = self.started();
        let refused = program.exec();
        // The environment of this process is now the program's, which is part of it.
        std::mem::forget(program);
        refused
    }

    fn started(self) -> Command {
        let Self { path, command, collector, arenas, settings, inherited } = self;
        let given = |name: &str| std::env::var_os(name);
        let mut program = Command::new(path);
        if let Some((name, arguments)) = command.split_first() {
            program.arg0(name).args(arguments);
        }
        let mut changes = environment(collector, arenas, settings, given).to_vec();
        let naming = settings.naming.environment(given);
        changes.extend(naming.map(|(name, value)| (name, Some(value))));
        give_environment(&mut program, Environment::changed(&changes));
        inherited.give_to(&mut program);
        program
    }
}

/// The variables that start the collector, given those around csprof; `None` for those that must
/// not be there, for instance from a `csprof record` around this one.
fn environment(
    collector: Option<&Path>,
    arenas: &Path,
    settings: Settings,
    given: impl Fn(&str) -> Option<OsString>,
) -> [(&'static str, Option<OsString>); 11] {
    let flag = |is_set: bool| is_set.then(|| OsString::from("1"));
    [
        (LD_PRELOAD, preload_list(collector, given(LD_PRELOAD))),
        (ASAN_OPTIONS, Some(sanitizer_options(given(ASAN_OPTIONS)))),
        (RUN_DIR, Some(arenas.into())),
        (SOURCE, Some(settings.sources.to_string().into())),
        (NO_TRAMPOLINE, flag(!settings.trampoline)),
        (NO_REGIONS, flag(!settings.regions)),
        (EPOCH_PER_LOAD, flag(settings.epoch_per_load)),
        (GENERATED, flag(settings.generated)),
        (MEMORY, settings.memory.map(|bytes| bytes.to_string().into())),
        (TIMES, settings.times.map(|bytes| bytes.to_string().into())),
        (QUIET, flag(settings.quiet)),
    ]
}

/// The collector, then what the user preloads: its wrappers must come first to see every call. No
/// empty part is between the two, by which the collector knows that it was added later.
fn preload_list(collector: Option<&Path>, preloaded: Option<OsString>) -> Option<OsString> {
    let Some(collector) = collector else { return preloaded };
    let mut list = collector.as_os_str().to_owned();
    let preloaded = preloaded.unwrap_or_default().into_vec();
    let is_separator = |byte: &u8| matches!(byte, b':' | b' ');
    let start = preloaded.iter().position(|byte| !is_separator(byte));
    if let Some(preloaded) = start.and_then(|start| preloaded.get(start..)) {
        list.push(":");
        list.push(OsStr::from_bytes(preloaded));
    }
    Some(list)
}

/// Options of AddressSanitizer, separated by colons.
const ASAN_OPTIONS: &str = "ASAN_OPTIONS";

/// The user's options, and that another library may come before the sanitizer's. Where it is a
/// shared library (gcc's is), it would end the program at once. Other programs do not look at them.
fn sanitizer_options(given: Option<OsString>) -> OsString {
    let mut options = given.unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    options.push("verify_asan_link_order=0");
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collector_is_preloaded_before_what_the_user_preloads() {
        let collector = Some(Path::new("/c.so"));
        for (collector, given, expected) in [
            (collector, None, Some("/c.so")),
            (collector, Some(""), Some("/c.so")),
            (collector, Some("libfoo.so bar.so"), Some("/c.so:libfoo.so bar.so")),
            (None, Some("libfoo.so"), Some("libfoo.so")),
            (None, None, None),
        ] {
            let list = preload_list(collector, given.map(OsString::from));
            assert_eq!(list, expected.map(OsString::from));
        }
    }

    #[test]
    fn runtimes_are_told_beside_what_the_user_tells_them() {
        let variables = |naming: Naming| {
            let given = |name: &str| match name {
                "NODE_OPTIONS" => Some("--no-warnings".into()),
                "ERL_FLAGS" => Some("-extra x".into()),
                _ => None,
            };
            let text = |(name, value): (&str, OsString)| format!("{name}={}", value.display());
            naming.environment(given).map(text).collect::<Vec<_>>()
        };
        assert_eq!(variables(Naming::default()), [""; 0]);
        assert_eq!(
            variables(Naming { python: true, node: true, java: true, erlang: true }),
            [
                "PYTHONPERFSUPPORT=1",
                "NODE_OPTIONS=--no-warnings --perf-basic-prof-only-functions \
                 --interpreted-frames-native-stack",
                "JDK_JAVA_OPTIONS=-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions \
                 -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer",
                "ERL_FLAGS=+JPperf true -extra x",
            ]
        );
    }

    /// Programs see these variables, so people are told of them.
    #[test]
    fn the_documents_name_each_variable_and_option() {
        let changes = include_str!("../../../docs/what-csprof-changes.md");
        let settings = Settings {
            sources: SampleSources::DEFAULT,
            trampoline: true,
            regions: true,
            epoch_per_load: false,
            generated: false,
            memory: None,
            times: None,
            quiet: false,
            naming: Naming::default(),
        };
        for (name, _) in environment(None, Path::new("/run"), settings, |_| None) {
            assert!(changes.contains(&format!("`{name}`")), "{name}");
        }
        let guide = include_str!("../../../docs/guide.md");
        let naming = Naming { python: true, node: true, java: true, erlang: true };
        for (name, value) in naming.environment(|_| None) {
            let value = value.to_string_lossy();
            assert!(guide.contains(name) && guide.contains(&*value), "{name}: {value}");
        }
    }

    #[test]
    fn the_environment_is_the_launch_contract() {
        let settings = Settings {
            sources: SampleSources::DEFAULT,
            trampoline: false,
            regions: false,
            epoch_per_load: false,
            generated: true,
            memory: Some(1 << 20),
            times: Some(1 << 19),
            quiet: true,
            naming: Naming::default(),
        };
        let given = |name: &str| (name == ASAN_OPTIONS).then(|| OsString::from("symbolize=0"));
        let variables = environment(Some(Path::new("/c.so")), Path::new("/run"), settings, given);
        let text: Vec<String> = variables
            .iter()
            .map(|(name, value)| match value {
                Some(value) => format!("{name}={}", value.display()),
                None => format!("{name} unset"),
            })
            .collect();
        assert_eq!(
            text,
            [
                "LD_PRELOAD=/c.so",
                "ASAN_OPTIONS=symbolize=0:verify_asan_link_order=0",
                "CSPROF_RUN_DIR=/run",
                "CSPROF_SOURCE=cputime:5000000",
                "CSPROF_NO_TRAMPOLINE=1",
                "CSPROF_NO_REGIONS=1",
                "CSPROF_EPOCH_PER_LOAD unset",
                "CSPROF_GENERATED=1",
                "CSPROF_MEMORY=1048576",
                "CSPROF_TIMES=524288",
                "CSPROF_QUIET=1",
            ]
        );
    }
}
