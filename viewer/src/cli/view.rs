//! `csprof view`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args};

use super::appearance::Appearance;
use super::derive::Derive;
use super::exit_code::{self, WrongUsage};
use super::live::LiveRun;
use super::memory::{self, Memory, Resumed};
use super::notes::NotesFile;
use super::open::{Compare, ProfileFiles, RunsOptions, applied, joined};
use super::saved_stages::SavedStages;
use super::screen;
use super::settings::Settings;
use super::source_paths::SourcePaths;
use crate::profile::comparison::Scale;
use crate::profile::{MetricRef, Profile};
use crate::refine::Refined;
use crate::set_files::SetFiles;
use crate::tui::live::{Live, Since, compared};
use crate::tui::message::ViewId;
use crate::tui::saved_screen::SavedScreen;
use crate::tui::stages::Stages;
use crate::tui::views::{TABS, VIEWS};
use crate::tui::{Opened, Options, ProfileReader, run};
use crate::views::columns::{DEFINITIONS, Id};
use crate::views::notes::Change;

const EXAMPLES: &str = "\
Examples:
  csprof view run.csprof                    ? in the viewer shows its keys
  csprof view --metric realtime run.csprof  of several metrics, this one first; m shows the next
  csprof view before.csprof after.csprof    compares two runs
  csprof view a1.csprof a2.csprof --with b1.csprof b2.csprof  compares several with several
  csprof view rank*.csprof                  shows three or more together
  csprof view --start flame run.csprof      begins with the flame view
  csprof view --live 4711                   a program that runs, by one of its processes
  csprof view --fresh run.csprof            as at first, not as it was left
  csprof view --path-map /build/app=/home/me/app run.csprof  finds source files elsewhere

How a profile was left, and bookmarks and notes, are kept in $XDG_STATE_HOME/csprof, or \
~/.local/state/csprof. CSPROF_STATE names another folder, or none where it is empty.";

/// Look at a profile in the terminal
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("files", |arg| arg.required(false).required_unless_present("live")))]
pub struct View {
    #[command(flatten)]
    files: ProfileFiles,
    /// Look at a program while it runs: FILE is its run folder or a process [default: the only one]
    #[arg(long, conflicts_with_all = ["merge", "with", "normalize", "salvage"])]
    live: bool,
    /// Show two files as one profile instead of comparing them (three or more always are)
    #[arg(long, conflicts_with = "with")]
    merge: bool,
    #[command(flatten)]
    runs: RunsOptions,
    /// Compare shares of what each of two files measured instead of amounts
    #[arg(long, conflicts_with = "merge")]
    normalize: bool,
    /// Begin with this refinement: `through MPI_* | hide module:libomp*`, or `@NAME` that was
    /// saved; several are applied one after the other
    #[arg(long, value_name = "TEXT")]
    refine: Vec<String>,
    #[command(flatten)]
    saved: SavedStages,
    /// Begin with this metric, a sample source such as `realtime`; compare two files by it
    /// [default: the first; of two, the first that both have]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    #[command(flatten)]
    derive: Derive,
    #[command(flatten)]
    paths: SourcePaths,
    /// Begin with this view
    #[arg(long, value_name = "VIEW", value_parser = start(), default_value = "tree")]
    start: ViewId,
    /// What digits do: show a view, or count, as in 5j; 3 and Tab then show the third view
    #[arg(long, value_name = "WHAT", value_parser = ["views", "counts"], default_value = "views")]
    digits: String,
    /// Show these columns, from left to right, as far as they fit
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = column())]
    columns: Vec<Id>,
    /// Leave the mouse to the terminal, for selecting text
    #[arg(long)]
    no_mouse: bool,
    /// Open as at first, not as it was left
    #[arg(long)]
    fresh: bool,
    /// Whether the viewer opens a profile where it was left, and keeps where that is
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        value_parser = clap::value_parser!(bool),
        default_value = "true"
    )]
    remember: bool,
    /// Options that stand on the command line, not in a configuration file.
    #[arg(skip)]
    given: Vec<String>,
}

/// The columns of screens, by name.
fn column() -> impl TypedValueParser<Value = Id> {
    let named = |name: String| DEFINITIONS.iter().find(|column| column.name == Some(&*name));
    PossibleValuesParser::new(DEFINITIONS.iter().filter_map(|column| column.name))
        .map(move |name| named(name).map_or(Id::Inclusive, |column| column.id))
}

/// The views that have a digit, by their commands.
fn start() -> impl TypedValueParser<Value = ViewId> {
    let views = VIEWS[..TABS].iter();
    let values = views.clone().map(|view| PossibleValue::new(view.command).help(view.help));
    PossibleValuesParser::new(values)
        .map(move |name| ViewId(views.clone().position(|view| view.command == name).unwrap_or(0)))
}

impl View {
    /// Whether the options go together.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if they do not.
    pub(super) fn check(&self) -> Result<(), WrongUsage> {
        if self.live && self.files.files.len() > 1 {
            return Err(WrongUsage("--live looks at one program".to_owned()));
        }
        if self.live && self.derive.is_asked() {
            return Err(WrongUsage("--derive is for saved profiles, not for --live".to_owned()));
        }
        let asked = [(self.normalize, "--normalize"), (self.runs.scaling.is_some(), "--scaling")];
        match asked.iter().find(|(is_asked, _)| *is_asked && !self.is_compared()) {
            Some((_, option)) => Err(WrongUsage(format!("{option} compares two files"))),
            None => Ok(()),
        }
    }

    /// Shows the profile until the user leaves.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read, or there is no terminal.
    pub(super) fn run(&self, appearance: Appearance, settings: &Settings) -> Result<ExitCode> {
        self.check()?;
        if self.live {
            let name = self.files.files.first().map(|name| name.display().to_string());
            let run = Arc::new(LiveRun::find(name.as_deref())?);
            let live = Live::new([run.read()?], Since::Start);
            return self.show_live(&run, live, appearance, settings);
        }
        self.show(self.open()?, None, appearance, settings)
    }

    /// Shows a program while it runs, until the user leaves.
    ///
    /// # Errors
    ///
    /// When the options do not fit it, or there is no terminal.
    pub(super) fn show_live(
        &self,
        run: &Arc<LiveRun>,
        live: Live,
        appearance: Appearance,
        settings: &Settings,
    ) -> Result<ExitCode> {
        let now = live.now().cloned().context("nothing was read")?;
        let profile = match live.before() {
            Some(before) => {
                compared(before, now, self.metric.as_deref()).map_err(|cause| anyhow!(cause))?
            }
            None => now.profile,
        };
        self.show(profile, Some((live, Arc::clone(run))), appearance, settings)
    }

    fn show(
        &self,
        profile: Profile,
        live: Option<(Live, Arc<LiveRun>)>,
        appearance: Appearance,
        settings: &Settings,
    ) -> Result<ExitCode> {
        let two = self.is_compared();
        // Of two, BASE is what is there from one comparison to the next, as in `csprof diff`.
        let sets = match &self.files.files[..] {
            [base, ..] if two => SetFiles::of(Some(base)),
            _ => self.files.set_files(),
        };
        let loaded = sets.load();
        let text = joined(&self.refine);
        let asked = loaded.parse(&text);
        let asked = asked.map_err(|error| WrongUsage(format!("--refine:\n{error}")))?;
        // Another run of the program may be as it was left.
        let memory = self.memory().filter(|_| live.is_none());
        let left = memory.as_ref().filter(|_| !self.fresh).map(|memory| memory.screen(&profile));
        let (mut screen, mut remark) = match left {
            Some(Ok(screen)) => (screen, None),
            Some(Err(cause)) => (None, Some(cause)),
            None => (None, None),
        };
        let names_stages = self.is_given("refine") || self.is_given("no_saved_stages");
        if let Some(screen) = screen.as_mut().filter(|_| names_stages) {
            screen.stages = None;
        }
        // Once: of a large profile it takes a tenth of opening.
        let base = Refined::base(&profile);
        let resumed = screen.as_ref().and_then(|screen| memory::resumed(screen, &base, &loaded));
        let (refined, stages, problems) = match resumed {
            Some(Resumed { refined, stages, unfit }) => {
                remark = memory::remark(&unfit);
                (refined, stages, Vec::new())
            }
            None => {
                let (begun, refined) = self.saved.before(asked, &base, &loaded);
                let refined = applied(refined, &begun, &text)?;
                let stages = Stages::read(&begun.refinement.to_string(), &loaded)?;
                (refined, stages, begun.left_out)
            }
        };
        let is_compared = profile.comparison.is_some();
        let metric = match self.metric.as_deref().filter(|_| !is_compared) {
            Some(name) => profile.metric_named(name).map_err(WrongUsage)?,
            None => MetricRef::FIRST,
        };
        let begins_with_view = screen.is_none() || self.is_given("start");
        if let Some(screen) = &mut screen {
            screen.leave_out(|what| self.is_given(what));
        }
        let compared_by = self.metric.as_deref().filter(|_| two);
        let options = Options {
            start: if begins_with_view { self.start } else { ViewId::HOME },
            resumed: screen,
            columns: self.columns.clone(),
            keymap: settings.keymap(self.digits == "counts"),
            ..appearance.viewer(!self.no_mouse, settings)
        };
        let of_live = live.as_ref().map(|(_, run)| run.name());
        let files: Vec<String> = match &of_live {
            Some(name) => vec![name.clone()],
            None => self.all_files().map(|file| file.display().to_string()).collect(),
        };
        let (name, salvage) = (of_live.unwrap_or_else(|| self.files.name()), self.files.salvage);
        let (profile, sets) = (&profile, &sets);
        let (name, files) = (&name, &files);
        let notes_file = NotesFile::of(profile);
        let (notes, unreadable) = notes_file.load();
        let problems: Vec<String> = problems.into_iter().chain(unreadable).collect();
        let left = |screen: &SavedScreen| {
            if let Some(memory) = &memory {
                memory.keep(screen);
            }
        };
        let (problems, remark, left) = (&problems[..], remark.as_deref(), &left);
        let sources = &self.paths.sources();
        let opened = Opened {
            profile,
            name,
            files,
            salvage,
            metric,
            compared_by,
            sources,
            sets,
            notes,
            note: Arc::new(move |change: &Change| notes_file.change(change)),
            problems,
            live: live.as_ref().map(|(live, run)| (live.clone(), run.reader())),
            remark,
            left,
        };
        let again = self.clone();
        let is_file = live.is_none() && self.all_files().all(|file| file.as_os_str() != "-");
        let read = match live {
            Some((_, run)) => Some(Arc::new(move || Ok(run.read()?.profile)) as ProfileReader),
            None => is_file.then(|| Arc::new(move || again.open()) as ProfileReader),
        };
        let write = screen::writer(appearance, sets.clone());
        run(opened, read, write, [base, refined], stages, options)?;
        Ok(exit_code::DONE)
    }

    /// Notes which options stand on the command line: they count more than how the profile was
    /// left, and that counts more than a configuration file.
    pub(super) fn note_given(&mut self, matches: &ArgMatches) {
        let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let ids = matches.ids().map(clap::Id::as_str);
        self.given = ids.filter(is_given).map(str::to_owned).collect();
    }

    fn is_given(&self, id: &str) -> bool {
        self.given.iter().any(|given| given == id)
    }

    /// The place for how these files are left, opened in this way.
    fn memory(&self) -> Option<Memory> {
        let files: Vec<PathBuf> = self.all_files().cloned().collect();
        self.remember.then(|| Memory::of(&files, &self.way()))?
    }

    /// In which way the files are opened, as far as screens differ by it. Screens are kept under
    /// it, so it stays as it is from one csprof to the next.
    fn way(&self) -> String {
        let way = match (self.is_compared(), self.normalize, self.runs.scaling) {
            (false, ..) => "shown".to_owned(),
            (true, true, None) => "shares".to_owned(),
            (true, false, None) => "compared".to_owned(),
            (true, _, Some(scaling)) => scaling.name().to_owned(),
        };
        let way = match self.runs.workers {
            None => way,
            Some([base, other]) => format!("{way} {base},{other}"),
        };
        match self.runs.with.len() {
            0 => way,
            with => format!("{way} with {with}"),
        }
    }

    /// The profile, or the comparison.
    fn open(&self) -> Result<Profile> {
        match self.is_compared() {
            true => self.compared(),
            false => self.derive.begun(self.files.open(self.saved)?),
        }
    }

    /// Whether files are compared: two, or those on both sides of `--with`.
    fn is_compared(&self) -> bool {
        !self.runs.with.is_empty() || self.files.files.len() == 2 && !self.merge
    }

    fn all_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.files.iter().chain(&self.runs.with)
    }

    /// The files, to be compared.
    fn compared(&self) -> Result<Profile> {
        let scale = if self.normalize { Scale::Share } else { Scale::Amount };
        let RunsOptions { with, scaling, workers } = &self.runs;
        let (metric, scaling, workers) = (self.metric.as_deref(), *scaling, *workers);
        let usual = Compare::usual(self.files.salvage, self.saved);
        let files = &self.files.files[..];
        let sides = if with.is_empty() { files.split_at(1).into() } else { [files, with] };
        let derive = Some(&self.derive);
        Compare { metric, scale, scaling, workers, derive, ..usual }.open(sides)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        view: View,
    }

    fn way(line: &str) -> String {
        let words = format!("csprof {line}");
        Line::try_parse_from(words.split(' ')).unwrap().view.way()
    }

    #[test]
    fn formulas_are_for_saved_profiles() {
        let checked = |words: &[&str]| {
            let words = ["csprof"].iter().chain(words);
            Line::try_parse_from(words).unwrap().view.check().is_ok()
        };
        assert!(checked(&["a.csprof", "--derive", "x = cputime"]));
        assert!(!checked(&["--live", "4711", "--derive", "x = cputime"]));
    }

    #[test]
    fn what_is_shown_otherwise_is_kept_otherwise() {
        assert_eq!(way("a.csprof"), "shown");
        assert_eq!(way("a.csprof b.csprof --normalize"), "shares");
        assert_eq!(way("a.csprof b.csprof --scaling strong"), "strong");
        assert_eq!(way("a.csprof b.csprof --scaling strong --workers 2,8"), "strong 2,8");
        assert_eq!(way("a.csprof b.csprof --with c.csprof"), "compared with 1");
    }
}
