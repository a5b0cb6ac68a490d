//! The command line: one file per subcommand, definitions by clap, from which help, completions
//! and manual pages are made.
//!
//! Conventions: data on standard output, messages on standard error; `--help` everywhere, with an
//! example; exit codes in [`exit_code`].

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::settings::Settings;
use crate::launch::keeper;

mod amount_of_time;
mod appearance;
mod attach;
mod cache;
mod closing;
mod completions;
mod config;
mod control;
mod demo;
mod derive;
mod diff;
mod event;
mod events;
pub mod exit_code;
mod export;
mod header;
mod help;
mod info;
mod keep;
mod kept_sources;
mod ledger;
mod live;
mod man;
mod memory;
mod merge;
mod named_view;
mod notes;
mod open;
mod outside;
mod phase_at;
mod prepare;
mod progress;
mod record;
mod report;
mod rows;
mod salvage;
mod saved_stages;
pub mod screen;
mod settings;
mod size;
mod snapshot;
mod sort;
mod source_paths;
mod suggest;
mod symbolize;
mod top;
mod view;

pub use appearance::Appearance;
pub use attach::Attach;
pub use cache::CacheOf;
pub use completions::Completions;
pub use config::Config;
pub use control::Control;
pub use demo::{Demo, DemoProgram};
pub use diff::Diff;
pub use events::Events;
pub use export::Export;
pub use header::Header;
pub use help::Help;
pub use info::Info;
pub use keep::KeepRun;
pub use ledger::Ledger;
pub use man::ManPages;
pub use merge::Merge;
pub use open::{ProfileFile, ProfileFiles, Selection};
pub use prepare::Prepare;
pub use record::{Record, Sampling};
pub use report::Report;
pub use salvage::Salvage;
pub use suggest::Suggest;
pub use symbolize::Symbolize;
pub use top::Top;
pub use view::View;

const EXAMPLES: &str = "\
Examples:
  csprof record ./prog input      profile a program
  csprof view prog.csprof         look at what was measured
  csprof demo                     see how that looks
  csprof help refine              how to choose call paths; also sets, coming-from";

/// Call path profiler for unmodified, optimized programs on Linux
#[derive(Debug, Parser)]
#[command(name = "csprof", version, after_help = EXAMPLES, propagate_version = true)]
#[command(disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    appearance: Appearance,
    /// Read no configuration file
    #[arg(long, help_heading = "Global options", global = true)]
    no_config: bool,
    #[arg(skip)]
    settings: Settings,
    /// Those settings that the subcommand was run with.
    #[arg(skip)]
    defaults: Settings,
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(Record),
    Events(Events),
    Control(Control),
    Prepare(Prepare),
    Attach(Attach),
    View(View),
    Top(Top),
    Report(Report),
    Info(Info),
    Export(Export),
    Diff(Diff),
    Suggest(Suggest),
    Ledger(Ledger),
    Merge(Merge),
    Demo(Demo),
    #[command(name = demo::PROGRAM, hide = true)]
    DemoProgram(DemoProgram),
    #[command(name = keeper::SUBCOMMAND, hide = true)]
    KeepRun(KeepRun),
    Symbolize(Symbolize),
    Salvage(Salvage),
    Cache(CacheOf),
    Config(Config),
    Header(Header),
    Help(Help),
    Completions(Completions),
    #[command(name = "man")]
    ManPages(ManPages),
}

impl Cli {
    /// Reads the command line.
    ///
    /// # Errors
    ///
    /// What is wrong with it, or the answer where it asks for help or the version.
    pub fn from_command_line() -> Result<Self, clap::Error> {
        let read = |command: clap::Command| command.try_get_matches().map_err(with_fitting_tip);
        let given = match read(Self::command()) {
            // The file may say what is missing.
            Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
                read(Self::command().mut_subcommands(|of| of.mut_args(|arg| arg.required(false))))?
            }
            read => read?,
        };
        // What has to do with neither profiles nor programs works whatever the file says.
        let needs_none = [
            "events",
            "header",
            "help",
            "completions",
            "man",
            "cache",
            demo::PROGRAM,
            keeper::SUBCOMMAND,
        ];
        if given.subcommand_name().is_some_and(|name| needs_none.contains(&name)) {
            return Self::from_arg_matches(&read(Self::command())?);
        }
        let mut root = Self::command();
        root.build();
        let settings = Settings::load(given.get_flag("no_config"), &root)
            .map_err(|cause| clap::Error::raw(ErrorKind::ValueValidation, cause))?;
        let defaults = settings.suiting(&given, &root, |defaults| {
            let matches = defaults.apply(Self::command()).try_get_matches().ok();
            let cli = matches.and_then(|matches| Self::from_arg_matches(&matches).ok());
            cli.is_none_or(|cli| cli.command.check().is_ok())
        });
        let mut cli = Self::from_arg_matches(&read(defaults.apply(Self::command()))?)?;
        if let (Command::View(view), Some((_, own))) = (&mut cli.command, given.subcommand()) {
            view.note_given(own);
        }
        let defaults = defaults.counting(&given, &root);
        Ok(Self { settings, defaults, ..cli })
    }

    /// Runs the subcommand and returns its exit code.
    ///
    /// # Errors
    ///
    /// One chain of causes, whose first line names file, cause and remedy.
    pub fn run(&self) -> Result<ExitCode> {
        self.run_command().map_err(|error| match error.downcast::<exit_code::WrongUsage>() {
            Ok(wrong) => {
                let hint = self.defaults.hint(&wrong.0);
                wrong.with_hint(hint).into()
            }
            Err(error) => error,
        })
    }

    fn run_command(&self) -> Result<ExitCode> {
        match &self.command {
            Command::Record(record) => record.run(),
            Command::Events(events) => events.run(),
            Command::Control(control) => control.run(),
            Command::Prepare(prepare) => prepare.run(),
            Command::Attach(attach) => attach.run(),
            Command::View(view) => view.run(self.appearance, &self.settings),
            Command::Top(top) => top.run(self.appearance, &self.settings),
            Command::Report(report) => report.run(self.appearance),
            Command::Info(info) => info.run(self.appearance),
            Command::Export(export) => export.run(),
            Command::Diff(diff) => diff.run(self.appearance),
            Command::Suggest(suggest) => suggest.run(self.appearance),
            Command::Ledger(ledger) => ledger.run(self.appearance),
            Command::Merge(merge) => merge.run(),
            Command::Demo(demo) => demo.run(self.appearance, &self.settings),
            Command::DemoProgram(program) => program.run(),
            Command::KeepRun(keep) => keep.run(),
            Command::Symbolize(symbolize) => symbolize.run(),
            Command::Salvage(salvage) => salvage.run(),
            Command::Cache(cache) => cache.run(),
            Command::Config(config) => config.run(&self.settings, Self::command()),
            Command::Header(header) => header.run(),
            Command::Help(help) => help.run(Self::command()),
            Command::Completions(completions) => completions.run(Self::command()),
            Command::ManPages(pages) => pages.run(Self::command()),
        }
    }
}

impl Command {
    /// Whether the options go together, as far as it shows without a profile.
    fn check(&self) -> Result<(), exit_code::WrongUsage> {
        match self {
            Self::View(view) => view.check(),
            Self::Report(report) => report.check(),
            Self::Export(export) => export.check(),
            Self::Diff(diff) => diff.check(),
            Self::Record(record) => record.check(),
            Self::Salvage(salvage) => salvage.check(),
            _ => Ok(()),
        }
    }
}

/// An unknown option is a mistake, or another profiler's: that it could be passed on as a value
/// behind `--`, which clap suggests, helps nobody.
fn with_fitting_tip(mut error: clap::Error) -> clap::Error {
    if let Some(tip) = tip_for_file(&error) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    error.remove(ContextKind::Suggested);
    let option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => option.as_str(),
        _ => return error,
    };
    let tip = match option {
        "-F" | "--freq" | "--frequency" | "--rate" | "-c" | "--count" | "-i" | "--interval" => {
            "the rate stands behind the source: csprof record -e task-clock@1000 PROG"
        }
        "-g" | "--call-graph" | "-G" => "call paths are always recorded, without an option",
        "-p" | "--pid" => "csprof record -p PID samples a process that runs already",
        "-a" | "--all-cpus" => "csprof profiles what it starts, and all processes of that",
        _ => return error,
    };
    let tip = ContextValue::StyledStrs(vec![tip.into()]);
    error.insert(ContextKind::Suggested, tip);
    error
}

/// What is done with a file that stands where a subcommand is expected.
fn tip_for_file(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let file = std::fs::metadata(word).ok().filter(std::fs::Metadata::is_file)?;
    let is_program = file.permissions().mode() & 0o111 != 0 && !word.ends_with(".csprof");
    // A program without a folder is looked for in PATH.
    let folder = if word.contains('/') { "" } else { "./" };
    Some(match is_program {
        true => format!("csprof record {folder}{word} profiles a program"),
        false => format!("csprof view {word} shows a profile"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_place_of_a_subcommand_has_a_tip() {
        let told = |word: &str| {
            with_fitting_tip(Cli::try_parse_from(["csprof", word]).unwrap_err()).to_string()
        };
        let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/exchange.csprof");
        assert!(
            told(profile).contains(&format!("tip: csprof view {profile}")),
            "{}",
            told(profile)
        );
        assert!(told("/bin/ls").contains("tip: csprof record /bin/ls"), "{}", told("/bin/ls"));
        // A near miss is still told what was meant.
        assert!(told("recrod").contains("'record'"));
    }

    #[test]
    fn the_definitions_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_of_other_profilers_have_a_tip_that_helps() {
        let told = |words: &[&str]| {
            let error = Cli::try_parse_from([&["csprof"], words].concat()).unwrap_err();
            with_fitting_tip(error).to_string()
        };
        let rate = told(&["record", "-F", "99", "prog"]);
        assert!(rate.contains("tip: the rate stands behind the source"), "{rate}");
        for words in [&["record", "-F99", "-g", "prog"][..], &["view", "--foo", "x"]] {
            let text = told(words);
            assert!(!text.contains("'-- -"), "{text}");
        }
        assert!(!told(&["view", "--foo", "x"]).contains("tip"));
        // A near miss is still told what was meant.
        assert!(told(&["report", "--treshold", "1", "x"]).contains("'--threshold'"));
    }

    #[test]
    fn every_subcommand_shows_an_example() {
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("csprof {}", command.get_name())), "{command}");
        }
    }
}
