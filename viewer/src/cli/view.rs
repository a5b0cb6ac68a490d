//! `csprof view`

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::appearance::Appearance;
use super::exit_code::{self, WrongUsage};
use super::open::{ProfileFiles, applied, compared};
use super::saved_stages::SavedStages;
use super::screen;
use super::settings::Settings;
use super::source_paths::SourcePaths;
use crate::profile::comparison::Scale;
use crate::profile::{MetricRef, Profile};
use crate::set_files::SetFiles;
use crate::tui::columns::NAMES;
use crate::tui::message::ViewId;
use crate::tui::views::{TABS, VIEWS};
use crate::tui::{Opened, Options, ProfileReader, run};
use crate::views::columns::Id;

const EXAMPLES: &str = "\
Examples:
  csprof view run.csprof                    ? in the viewer shows its keys
  csprof view --metric realtime run.csprof  of several metrics, this one first; m shows the next
  csprof view before.csprof after.csprof    compares two runs
  csprof view rank*.csprof                  shows three or more together
  csprof view --start flame run.csprof      begins with the flame view
  csprof view --path-map /build/app=/home/me/app run.csprof  finds source files elsewhere";

/// Look at a profile in the terminal
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct View {
    #[command(flatten)]
    files: ProfileFiles,
    /// Show two files, or more, as one profile instead of comparing two
    #[arg(long)]
    merge: bool,
    /// Compare shares of what each of two files measured instead of amounts
    #[arg(long, conflicts_with = "merge")]
    normalize: bool,
    /// Begin with this refinement: `through MPI_* | hide module:libomp*`
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    refine: String,
    #[command(flatten)]
    saved: SavedStages,
    /// Begin with this metric, a sample source such as `realtime`; compare two files by it
    /// [default: the first; of two, the first that both have]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
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
}

/// The columns of screens, by name.
fn column() -> impl TypedValueParser<Value = Id> {
    let named = |name: String| NAMES.iter().find(|(known, _)| *known == name);
    PossibleValuesParser::new(NAMES.map(|(name, _)| name))
        .map(move |name| named(name).map_or(Id::Inclusive, |(_, id)| *id))
}

/// The views that have a digit, by their commands.
fn start() -> impl TypedValueParser<Value = ViewId> {
    let views = VIEWS[..TABS].iter();
    let values = views.clone().map(|view| PossibleValue::new(view.command).help(view.help));
    PossibleValuesParser::new(values)
        .map(move |name| ViewId(views.clone().position(|view| view.command == name).unwrap_or(0)))
}

impl View {
    /// Shows the profile until the user leaves.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read, or there is no terminal.
    pub(super) fn run(&self, appearance: Appearance, settings: &Settings) -> Result<ExitCode> {
        let two = self.is_of_two();
        if self.normalize && !two {
            return Err(WrongUsage("--normalize compares two files".to_owned()).into());
        }
        let profile = self.open()?;
        // Of two, BASE is what is there from one comparison to the next, as in `csprof diff`.
        let sets = match &self.files.files[..] {
            [base, _] if two => SetFiles::of(Some(base)),
            _ => self.files.set_files(),
        };
        let loaded = sets.load();
        let asked = loaded.parse(&self.refine);
        let asked = asked.map_err(|error| WrongUsage(format!("--refine:\n{error}")))?;
        let (begun, refined) = self.saved.before(asked, &profile, &loaded);
        let refined = applied(refined, &begun, &self.refine)?;
        let metric = match self.metric.as_deref().filter(|_| !two) {
            Some(name) => profile.metric_named(name).map_err(WrongUsage)?,
            None => MetricRef::FIRST,
        };
        let compared_by = self.metric.as_deref().filter(|_| two);
        let options = Options {
            start: self.start,
            columns: self.columns.clone(),
            keymap: settings.keymap(self.digits == "counts"),
            ..appearance.viewer(!self.no_mouse, settings)
        };
        let files: Vec<String> =
            self.files.files.iter().map(|file| file.display().to_string()).collect();
        let (name, salvage) = (self.files.name(), self.files.salvage);
        let (profile, sets) = (&profile, &sets);
        let (name, files) = (&name, &files);
        let problems = &begun.left_out;
        let sources = &self.paths.sources();
        let opened =
            Opened { profile, name, files, salvage, metric, compared_by, sources, sets, problems };
        let again = self.clone();
        let is_file = self.files.files.iter().all(|file| file.as_os_str() != "-");
        let read = is_file.then(|| Arc::new(move || again.open()) as ProfileReader);
        let write = screen::writer(appearance, sets.clone());
        run(opened, read, write, refined, &begun.refinement.to_string(), options)?;
        Ok(exit_code::DONE)
    }

    /// The profile, or the comparison.
    fn open(&self) -> Result<Profile> {
        if self.is_of_two() { self.compared() } else { self.files.open(self.saved) }
    }

    /// Whether two files are compared.
    fn is_of_two(&self) -> bool {
        self.files.files.len() == 2 && !self.merge
    }

    /// The two files, to be compared.
    fn compared(&self) -> Result<Profile> {
        let scale = if self.normalize { Scale::Share } else { Scale::Amount };
        let [base, other] = [0, 1].map(|at| &self.files.files[at]);
        let (salvage, metric) = (self.files.salvage, self.metric.as_deref());
        compared([base, other], salvage, metric, &[], scale, self.saved)
    }
}
