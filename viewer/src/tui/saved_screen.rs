//! A screen in words that outlive the viewer, so that a profile opens where it was left.
//!
//! It is made of the [moment](super::history::Moment) that undo keeps, and shown again in the way
//! that `:reload` shows one: what is not there any more is passed over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::Model;
use super::saved_rows::{Names, Reader, SavedLook, SavedStep, Writer};
use super::stages::{Stage, Stages};
use super::view::Memory;
use super::views::{TABS, VIEWS};
use crate::profile::derived::DerivedRef;
use crate::profile::program_key::{program_key, short};
use crate::profile::{FunctionKey, Profile};
use crate::sources::Sources;
use crate::views::columns::{Choice, Id, PercentOf, Unit};
use crate::views::path::Path;

/// The version of this form. Another one is read as nothing.
const VERSION: u32 = 1;

/// Most stages that are kept, and bytes of each.
const MOST_STAGES: usize = 100;
const MOST_STAGE_BYTES: usize = 4096;

/// Most folders of source files that are kept.
const MOST_FOLDERS: usize = 16;

/// Cells that a column may have.
const CELLS: core::ops::RangeInclusive<usize> = 3..=60;

/// Cells of a terminal at most.
const MOST_CELLS: usize = 1000;

/// What was shown, of which profile.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedScreen {
    version: u32,
    /// The runs of the profile and their programs.
    about: About,
    /// Text of each stage, and whether it is on. `None`: those that the profile begins with.
    pub stages: Option<Vec<(String, bool)>>,
    /// The view, by its command.
    view: Option<String>,
    /// The sample source.
    pub(super) metric: Option<String>,
    percent_of: PercentOf,
    /// The columns, where the user chose them.
    columns: Option<Vec<SavedChoice>>,
    path_width: Option<usize>,
    names: Names,
    looks: BTreeMap<String, Vec<Option<SavedLook>>>,
    /// The row that is selected in a view that keeps no look.
    #[serde(default)]
    selected: Option<Vec<SavedStep>>,
    /// The function that the view is about: name, load module, line.
    #[serde(default)]
    function: Option<(String, Option<String>, Option<u32>)>,
    /// File and line of its definition.
    #[serde(default)]
    definition: Option<(String, u32)>,
    /// Folders below which source files are looked for, the first one first.
    #[serde(default)]
    folders: Vec<String>,
}

/// A column by names: a profile that is opened again may have other derived metrics.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedChoice {
    #[serde(flatten)]
    choice: Choice,
    /// The derived metric, where it is of one.
    #[serde(default)]
    derived_name: Option<String>,
}

impl SavedChoice {
    fn of(choice: &Choice, profile: &Profile) -> Self {
        let derived = profile.derived.get(choice.derived.index());
        let derived = derived.filter(|_| is_derived(choice));
        Self { choice: *choice, derived_name: derived.map(|derived| derived.name.clone()) }
    }

    /// The column of a profile, if it has it.
    fn choice(&self, profile: &Profile) -> Option<Choice> {
        let derived = match is_derived(&self.choice) {
            true => profile.derived_of(self.derived_name.as_deref()?)?,
            false => DerivedRef::default(),
        };
        Some(Choice { derived, ..self.choice })
    }
}

fn is_derived(choice: &Choice) -> bool {
    choice.id.definition().unit == Unit::Derived
}

/// What a screen was about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct About {
    runs: Vec<String>,
    programs: Vec<String>,
}

impl About {
    fn of(profile: &Profile) -> Self {
        let runs: Vec<_> = match profile.comparison.as_deref() {
            Some(comparison) => comparison.sides.iter().map(|side| &side.run).collect(),
            None => vec![&profile.info.run],
        };
        let processes = &profile.info.processes[..];
        // Those of BASE come first.
        let of_base = profile.comparison.as_deref().map_or(processes.len(), |comparison| {
            comparison.first_other.index().min(processes.len())
        });
        let (base, other) = processes.split_at(of_base);
        let program = |(run, processes)| short(&program_key(run, processes)).to_owned();
        Self {
            runs: runs.iter().map(|run| format!("{:032x}", run.id())).collect(),
            programs: runs.iter().copied().zip([base, other]).map(program).collect(),
        }
    }
}

/// Why a text is not the screen to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is damaged, or of another version.
    Unreadable,
    /// Another program was recorded to the file since.
    OtherProgram,
}

impl SavedScreen {
    /// The screen as it is.
    #[must_use]
    pub fn of(model: &mut Model) -> Self {
        let stages = model.shown_stages.0.iter();
        let kept = stages.map(|Stage { text, on }| (text.clone(), *on)).collect::<Vec<_>>();
        let fits = kept.len() <= MOST_STAGES
            && kept.iter().all(|(text, _)| text.len() <= MOST_STAGE_BYTES);
        let moment = model.moment();
        let mut writer = Writer::default();
        let mut looks = BTreeMap::new();
        // Under stages that are not kept there are other rows. What is looked at comes first, for
        // the sake of what has no room.
        let mut places: Vec<usize> = if fits { (0..TABS).collect() } else { Vec::new() };
        places.sort_by_key(|&place| place != model.view.0);
        for place in places {
            let own: Vec<_> = { moment.views[place].looks.iter() }
                .map(|look| writer.look(look.as_ref()?, &model.profile))
                .collect();
            if own.iter().any(Option::is_some) {
                looks.insert(VIEWS[place].command.to_owned(), own);
            }
        }
        let view = model.view;
        let has_looks = looks.contains_key(VIEWS[view.0].command);
        let selected = model.views[view.0].selected_path(&model.scene.refined);
        let selected = selected.filter(|_| fits && !has_looks);
        let is_short = |text: &str| text.len() <= MOST_STAGE_BYTES;
        let about = model.views[view.0].about_function();
        let about =
            about.filter(|(key, _)| is_short(key.name()) && key.module().is_none_or(is_short));
        let definition = about.as_ref().and_then(|(key, _)| key.definition());
        let definition = definition.filter(|(file, _)| is_short(file));
        let function = about
            .as_ref()
            .map(|(key, line)| (key.name().to_owned(), key.module().map(str::to_owned), *line));
        Self {
            version: VERSION,
            about: About::of(&model.profile),
            selected: selected.and_then(|path| writer.path(&path)),
            function,
            definition: definition.map(|(file, line)| (file.to_owned(), line)),
            folders: model
                .sources
                .folders()
                .filter(|folder| is_short(folder))
                .take(MOST_FOLDERS)
                .collect(),
            stages: fits.then_some(kept),
            view: Some(VIEWS[model.view.0].command.to_owned()),
            metric: Some(model.metric().source.clone()),
            percent_of: model.percent_of,
            columns: model.choices.as_ref().map(|choices| {
                choices.iter().map(|of| SavedChoice::of(of, &model.profile)).collect()
            }),
            path_width: model.path_width,
            names: writer.names,
            looks,
        }
    }

    /// A screen of which no more is known than the stages, for tests.
    #[cfg(test)]
    pub(crate) fn begun(profile: &Profile, stages: &[(&str, bool)]) -> Self {
        let stage = |(text, on): &(&str, bool)| ((*text).to_owned(), *on);
        Self {
            version: VERSION,
            about: About::of(profile),
            stages: Some(stages.iter().map(stage).collect()),
            view: None,
            metric: None,
            percent_of: PercentOf::default(),
            columns: None,
            path_width: None,
            names: Names::default(),
            looks: BTreeMap::new(),
            selected: None,
            function: None,
            definition: None,
            folders: Vec::new(),
        }
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        // Nothing in it can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The screen that a text is of, if it is for this profile, or for another run of the same
    /// program.
    ///
    /// # Errors
    /// It is none, or for another program.
    pub fn read(text: &str, profile: &Profile) -> Result<Self, Unfit> {
        let read: Self = serde_json::from_str(text).map_err(|_| Unfit::Unreadable)?;
        if read.version != VERSION {
            return Err(Unfit::Unreadable);
        }
        let about = About::of(profile);
        // Another csprof may have called the program of this very run otherwise.
        match read.about.programs == about.programs || read.about.runs == about.runs {
            true => Ok(read),
            false => Err(Unfit::OtherProgram),
        }
    }

    /// The stages as the viewer has them.
    #[must_use]
    pub fn stages(&self) -> Option<Stages> {
        let stage = |(text, on): &(String, bool)| Stage { text: text.clone(), on: *on };
        Some(Stages(self.stages.as_ref()?.iter().map(stage).collect()))
    }

    /// Leaves out what is given otherwise, by the name of its option.
    pub fn leave_out(&mut self, is_given: impl Fn(&str) -> bool) {
        self.view = self.view.take().filter(|_| !is_given("start"));
        self.metric = self.metric.take().filter(|_| !is_given("metric"));
        if is_given("columns") {
            (self.columns, self.path_width) = (None, None);
        }
    }

    /// The place of the view that was looked at.
    pub(super) fn place_of_view(&self) -> Option<usize> {
        let name = self.view.as_deref()?;
        VIEWS[..TABS].iter().position(|view| view.command == name)
    }

    /// The row that was selected in a view that keeps no look.
    pub(super) fn selected(&self) -> Option<Path> {
        Reader::of(&self.names).path(self.selected.as_ref()?)
    }

    /// The function that the view was about, and the line.
    pub(super) fn function(&self) -> Option<(FunctionKey, Option<u32>)> {
        let (name, module, line) = self.function.as_ref()?;
        let definition = self.definition.as_ref().map(|(file, line)| (file.as_str(), *line));
        Some((FunctionKey::named(name, module.as_deref()).defined_at(definition), *line))
    }

    /// These places, and the folders in which source files were looked for.
    pub(super) fn sources(&self, given: &Sources) -> Sources {
        let mut sources = given.clone();
        let folders = self.folders.iter().take(MOST_FOLDERS).rev();
        folders.for_each(|folder| sources.add_folder(folder));
        sources
    }

    /// What percentages were of.
    pub(super) fn percent_of(&self) -> PercentOf {
        self.percent_of
    }

    /// What each view looked like.
    pub(super) fn memories(&self, profile: &Profile) -> Vec<Memory> {
        let reader = Reader::of(&self.names);
        let memory = |command| {
            let saved = self.looks.get(command).map_or(&[][..], Vec::as_slice);
            let looks = saved.iter().map(|look| reader.look(look.as_ref()?, profile)).collect();
            Memory { looks, ..Memory::default() }
        };
        VIEWS.iter().map(|view| memory(view.command)).collect()
    }

    /// Which columns there were, as far as there are such, and cells of the call path.
    pub(super) fn columns(
        &self,
        there: &[Choice],
        profile: &Profile,
    ) -> (Option<Vec<Choice>>, Option<usize>) {
        // No terminal is wider; on a narrower one there is room for a column beside the path.
        let path_width = self.path_width.filter(|&cells| cells <= MOST_CELLS);
        let Some(saved) = &self.columns else { return (None, path_width) };
        let key = |choice: &Choice| (choice.id, choice.is_of_others, choice.derived);
        let mut choices: Vec<Choice> = Vec::new();
        for choice in saved.iter().filter_map(|saved| saved.choice(profile)) {
            let is_there = there.iter().any(|other| key(other) == key(&choice));
            if is_there && !choices.iter().any(|other| key(other) == key(&choice)) {
                let width = choice.width.map(|width| width.clamp(*CELLS.start(), *CELLS.end()));
                choices.push(Choice { width, ..choice });
            }
        }
        let others: Vec<_> =
            there.iter().filter(|of| !choices.iter().any(|own| key(own) == key(of))).collect();
        choices.extend(others.into_iter().map(|choice| Choice { is_shown: false, ..*choice }));
        let shows_one = |of: &Choice| of.is_shown && !of.is_of_others && of.id != Id::Bar;
        (choices.iter().any(shows_one).then_some(choices), path_width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::derived::Wanted;
    use crate::profile::from_outline;
    use crate::refine::Refined;
    use crate::views::columns::Basis;

    /// A file may say anything; on a narrower terminal a column stays beside the path.
    #[test]
    fn a_width_that_no_terminal_has_is_left_out() {
        let profile = from_outline("main 3\n").unwrap();
        for (kept, shown) in
            [(None, None), (Some(60), Some(60)), (Some(MOST_CELLS), Some(MOST_CELLS))]
                .into_iter()
                .chain([(Some(MOST_CELLS + 1), None), (Some(usize::MAX), None)])
        {
            let screen = SavedScreen { path_width: kept, ..SavedScreen::begun(&profile, &[]) };
            let read = SavedScreen::read(&screen.text(), &profile).unwrap();
            assert_eq!(read.columns(&[], &profile).1, shown, "{kept:?}");
        }
    }

    /// What `--derive` asks for the next time may be something else, or in another order.
    #[test]
    fn columns_of_derived_metrics_are_known_by_name() {
        let with = |formulas: &[&str]| {
            let mut profile = from_outline("main 3 realtime:1\n").unwrap();
            for formula in formulas {
                profile.derive(&Wanted::parse(formula).unwrap()).unwrap();
            }
            profile
        };
        let before = with(&["a = 2 * cputime", "b = 3 * cputime"]);
        let there = |profile: &Profile| Basis::new(&Refined::base(profile)).choices();
        let choice = there(&before).into_iter().rfind(is_derived).unwrap();
        assert_eq!(choice.derived, DerivedRef(1));
        let saved = SavedChoice::of(&Choice { is_shown: true, ..choice }, &before);
        let screen = SavedScreen { columns: Some(vec![saved]), ..SavedScreen::begun(&before, &[]) };
        let shown = |profile: &Profile| {
            let read = SavedScreen::read(&screen.text(), profile).unwrap();
            let (choices, _) = read.columns(&there(profile), profile);
            let shown = choices.into_iter().flatten().filter(|choice| choice.is_shown);
            shown.map(|choice| choice.derived).collect::<Vec<_>>()
        };
        assert_eq!(shown(&before), [DerivedRef(1)]);
        assert_eq!(shown(&with(&["b = 3 * cputime", "a = cputime"])), [DerivedRef(0)]);
        assert_eq!(shown(&with(&["a = cputime", "c = cputime"])), []);
    }

    #[test]
    fn another_script_of_one_interpreter_is_another_program() {
        let mut profile = from_outline("main 3\n").unwrap();
        let command = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect();
        profile.info.run.command = command(&["python3", "x.py", "1"]);
        let text = SavedScreen::begun(&profile, &[]).text();
        profile.info.run.command = command(&["/usr/bin/python3.12", "./x.py", "2"]);
        assert!(SavedScreen::read(&text, &profile).is_ok());
        profile.info.run.command = command(&["python3", "y.py", "1"]);
        assert_eq!(SavedScreen::read(&text, &profile).unwrap_err(), Unfit::OtherProgram);
    }
}
