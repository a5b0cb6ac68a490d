//! The state of the viewer, as plain data.
//!
//! Everything on the screen is a function of the model; everything that happens is a message that
//! changes it. The model holds no terminal, no file and no thread, so a test can drive it by keys
//! and compare what is painted.

mod keys;
mod made;
mod metric;
mod screen;

use std::sync::Arc;

use crate::profile::comparison::Comparison;
use crate::profile::{FrameKind, FunctionRef, Profile};
use crate::refine::{Grain, Refined, Sets};
use crate::views::contexts::Context;
use crate::views::hot_path;
use crate::views::search::{NamePattern, Search};
use crate::views::summary::clustered;
use crate::views::top_down::Downward;
use crate::views::{Cost, Row, Sort, SortKey, shown_of_sides};

use super::forest::Forest;
use super::history::{History, Looks, Moment};
use super::info;
use super::message::View;
use super::page::Page;
use super::prompt::Prompt;
use super::stages::Stages;
use super::table::{Rows, Table};
use super::tables::Tables;
use super::theme::Theme;

pub use self::made::{Inverted, Places};
use self::screen::form;
pub use self::screen::{SMALLEST, TOP};

/// What percentages are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PercentOf {
    /// All samples of the profile.
    #[default]
    Base,
    /// The samples that are shown.
    View,
}

/// What lies over the view and has the focus.
#[derive(Clone, Debug)]
pub enum Over {
    /// A page of text.
    Page(Page),
    /// The action menu, with the selected item.
    Menu(usize),
    /// The list of stages, with the selected stage.
    Stages(usize),
    /// The list of processes and threads, with the selected one.
    Contexts(Vec<Context>, usize),
    /// A prompt.
    Prompt(Prompt),
}

/// A line at the bottom of the screen that says what happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// For information.
    Said(String),
    /// What was asked for could not be done.
    Failed(String),
}

/// A refinement that is being made.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Its number.
    pub ticket: u64,
    /// Whether it is a change of the stages, to be forgotten if it is refused.
    pub is_change: bool,
    /// What the rows are to look like then.
    pub look: Option<Box<Moment>>,
}

/// The state of the viewer.
#[derive(Clone, Debug)]
pub struct Model<'p> {
    /// The profile.
    pub profile: &'p Profile,
    /// What it is called: its file, as the user wrote it.
    pub path: String,
    /// The files it was read from, as the user wrote them.
    pub files: Vec<String>,
    /// Whether what is left of damaged files was read.
    pub salvage: bool,
    /// The metric by which two profiles are compared, if the user named it.
    pub compared_by: Option<String>,
    /// Signals and samples, where samples do not tell how long calls are.
    pub clustered: Option<(u64, u64)>,
    /// The sets of frames that refinements can name.
    pub sets: Arc<Sets>,
    /// Glyphs and styles.
    pub theme: Theme,
    /// Columns and lines of the terminal.
    pub size: (u16, u16),
    /// The view.
    pub view: View,
    /// What lies over it, the focus last.
    pub over: Vec<Over>,
    /// The refined profile that is shown.
    pub refined: Refined<'p>,
    /// The stages that made it: those asked for, unless a refinement is pending.
    pub shown_stages: Stages,
    /// The top-down tree.
    pub tree: Table<Downward>,
    /// The callers and flat views, once they were asked for and made.
    pub inverted: Option<Inverted>,
    /// Number under which they were asked for.
    pub inverting: Option<u64>,
    /// What the rows of the flat view are: functions in a list, or the tree of what is in load
    /// modules, in files, or in functions (lines).
    pub grain: Grain,
    /// That tree, once it was asked for and made.
    pub places: Option<Places<'p>>,
    /// Number under which it was asked for.
    pub placing: Option<u64>,
    /// What the views besides the tree are to look like when they are there.
    pub looks: Looks,
    /// The path and its table.
    pub tables: Tables,
    /// Number under which the meaning of the sets of frames was asked for.
    pub listing: Option<u64>,
    /// The function to select when the callers view is there.
    pub follow: Option<FunctionRef>,
    /// The information page.
    pub info: Page,
    /// What to say in place of rows where the profile has no samples.
    pub why_empty: Option<Page>,
    /// The stages that were asked for.
    pub stages: Stages,
    /// What the screen was before.
    pub history: History,
    /// A refinement that is being made.
    pub pending: Option<Pending>,
    /// How far a request is, by its number, from 0 to 1. Only of those that take their time.
    pub progress: Option<(u64, f64)>,
    /// What percentages are of.
    pub percent_of: PercentOf,
    /// Samples shown of BASE and of OTHER, where two profiles are compared.
    pub shown_of_sides: [u64; 2],
    /// What is searched for; changed by `search_for`.
    pub search: Option<NamePattern>,
    /// Where it is in the tree, once that was asked for.
    pub found: Option<Search>,
    /// The request for that, and where to go then, if the shell was asked: the next row, the previous,
    /// or where typing goes.
    pub searching: Option<(u64, Option<bool>)>,
    /// Nodes of a tree that is searched at once; in larger ones the shell marks what is found.
    pub search_at_once: usize,
    /// Lines that were accepted at prompts, the newest last, and what stood before each.
    pub typed: Vec<(&'static str, String)>,
    /// What happened.
    pub notice: Option<Notice>,
    /// Number of the last request to the shell.
    pub ticket: u64,
}

/// The row with the focus and what is needed to talk about it.
#[derive(Clone, Copy, Debug)]
pub struct Selected<'m> {
    /// Its line.
    pub line: crate::views::visible::Line,
    /// The row.
    pub row: &'m Row,
}

impl<'p> Model<'p> {
    /// The first screen of a profile. Rows that hold nearly all of the cost are open.
    #[must_use]
    pub fn new(forest: Forest<'p>, path: &str, theme: Theme, size: (u16, u16)) -> Self {
        let Forest { refined, mut top_down } = forest;
        let shown_of_sides = shown_of_sides(&refined);
        if refined.profile.comparison.is_some() {
            top_down.set_sort(Sort { key: SortKey::Delta(Cost::Inclusive), reversed: false });
        }
        let top_down_sort = top_down.sort();
        let mut model = Self {
            profile: refined.profile,
            path: path.to_owned(),
            files: vec![path.to_owned()],
            salvage: false,
            compared_by: None,
            clustered: clustered(refined.profile),
            sets: Arc::default(),
            theme,
            size,
            view: View::default(),
            over: Vec::new(),
            tree: Table::new(top_down, &refined),
            inverted: None,
            inverting: None,
            grain: Grain::Function,
            places: None,
            placing: None,
            looks: Looks::default(),
            tables: Tables::new(top_down_sort),
            listing: None,
            follow: None,
            info: Page::default(),
            why_empty: info::why_empty(refined.profile, form(theme))
                .map(|items| Page::new("", items)),
            refined,
            shown_stages: Stages::default(),
            stages: Stages::default(),
            history: History::default(),
            pending: None,
            progress: None,
            percent_of: PercentOf::default(),
            shown_of_sides,
            search: None,
            found: None,
            searching: None,
            search_at_once: 1 << 18,
            typed: Vec::new(),
            notice: None,
            ticket: 0,
        };
        model.open_what_holds_nearly_all();
        model
    }

    /// Names the stages that the first screen was made by.
    pub fn begin_with(&mut self, stages: Stages) {
        self.shown_stages = stages.clone();
        self.stages = stages;
    }

    /// Opens the rows along which there is hardly any choice: start-up code, `main`.
    fn open_what_holds_nearly_all(&mut self) {
        const NEARLY_ALL: u32 = 95;
        self.tree.follow_hot_path(&self.refined, NEARLY_ALL);
        self.tree.toggle(&self.refined);
        self.tree.select(0);
    }

    /// Puts another refinement in the place of the present one.
    pub fn show(&mut self, forest: Forest<'p>, stages: Stages) {
        let Forest { refined, top_down } = forest;
        let table_row = self.tables.selected_name(&self.refined);
        self.looks = self.looks();
        (self.inverted, self.places) = (None, None);
        let old = std::mem::replace(&mut self.refined, refined);
        self.shown_of_sides = shown_of_sides(&self.refined);
        self.tree.replace(&old, top_down, &self.refined);
        (self.inverting, self.placing) = (None, None);
        self.tables.forget(table_row);
        self.follow = None;
        (self.found, self.searching) = (None, None);
        // Where a search began was a place in the old rows.
        let place = self.rows().map(Rows::place);
        for over in &mut self.over {
            if let Over::Prompt(prompt) = over {
                prompt.from.clone_from(&place);
            }
        }
        self.shown_stages = stages;
    }

    /// Takes the callers of what is shown.
    pub fn invert(&mut self, mut inverted: Inverted) {
        let refined = &self.refined;
        if let Some(look) = self.looks.callers.take() {
            inverted.callers.look_like(refined, &look);
        }
        if let Some(look) = self.looks.flat.take() {
            inverted.flat.look_like(refined, &look);
        }
        if let Some(function) = self.follow.take() {
            inverted.callers.select_function(function);
        }
        self.inverting = None;
        self.inverted = Some(inverted);
    }

    /// Takes the places of what is shown.
    pub fn place(&mut self, forest: Forest<'p>) {
        let mut places = Places::new(forest.looking_at(self.refined.metric));
        if let Some(look) = self.looks.places.take() {
            places.rows.look_like(&places.forest, &look);
        }
        self.placing = None;
        self.places = Some(places);
    }

    /// Lets the rows of the flat view be others.
    pub(super) fn regrain(&mut self, grain: Grain) {
        self.grain = grain;
        (self.places, self.placing, self.looks.places, self.found) = (None, None, None, None);
    }

    /// Whether the flat view is a tree of places.
    #[must_use]
    pub fn has_places(&self) -> bool {
        self.view == View::Flat && self.grain != Grain::Function
    }

    /// What the rows of the view were made from.
    #[must_use]
    pub fn of_rows(&self) -> &Refined<'p> {
        let places = self.places.as_ref().filter(|_| self.has_places());
        places.map_or(&self.refined, |places| &places.forest)
    }

    /// What the views besides the tree look like, or are to look like.
    pub(super) fn looks(&mut self) -> Looks {
        let mut looks = self.looks.clone();
        if let Some(Inverted { callers, flat }) = &mut self.inverted {
            let refined = &self.refined;
            (looks.callers, looks.flat) = (Some(callers.look(refined)), Some(flat.look(refined)));
        }
        if let Some(Places { forest, rows }) = &mut self.places {
            looks.places = Some(rows.look(forest));
        }
        looks
    }

    /// Lets the rows look as they did at another moment, under the same stages.
    pub(super) fn look_like(&mut self, moment: &Moment) {
        let refined = &self.refined;
        self.tree.look_like(refined, &moment.tree);
        self.tables.look_like(refined, &moment.tables);
        // What is there looks so at once, what is not when it comes.
        let mut looks = moment.others.clone();
        if let Some(inverted) = &mut self.inverted {
            if let Some(look) = looks.callers.take() {
                inverted.callers.look_like(refined, &look);
            }
            if let Some(look) = looks.flat.take() {
                inverted.flat.look_like(refined, &look);
            }
        }
        if let Some(Places { forest, rows }) = &mut self.places
            && let Some(look) = looks.places.take()
        {
            rows.look_like(forest, &look);
        }
        self.looks = looks;
    }

    /// The information page, made when it is first looked at. O(nodes) then.
    pub fn make_info(&mut self) {
        if self.info.items.is_empty() {
            self.info = Page::new("", info::items(self.profile, form(self.theme)));
        }
    }

    /// Searches for something else, or for nothing.
    pub fn search_for(&mut self, pattern: Option<NamePattern>) {
        self.search = pattern;
        (self.found, self.searching) = (None, None);
    }

    /// The number of the request that the screen waits for, if it does.
    #[must_use]
    pub fn waits_for(&self) -> Option<u64> {
        let refining = self.pending.as_ref().map(|pending| pending.ticket);
        refining.or(match self.view {
            View::Flat if self.grain != Grain::Function => self.placing,
            View::Callers | View::Flat => self.inverting,
            View::Tables => self.tables.asked,
            View::Tree | View::Info => None,
        })
    }

    /// How much of what the screen waits for is done, from 0 to 1, once that takes its time.
    #[must_use]
    pub fn done(&self) -> Option<f64> {
        let ticket = self.waits_for()?;
        self.progress.filter(|(of, _)| *of == ticket).map(|(_, done)| done)
    }

    /// The rows of the view; `None` on the information page, and while they are being made.
    #[must_use]
    pub fn rows(&self) -> Option<&dyn Rows> {
        match self.view {
            View::Tree => Some(&self.tree),
            View::Callers => self.inverted.as_ref().map(|inverted| &inverted.callers as _),
            View::Flat if self.has_places() => self.places.as_ref().map(|places| &places.rows as _),
            View::Flat => self.inverted.as_ref().map(|inverted| &inverted.flat as _),
            View::Tables => self.tables.list.as_ref().map(|list| list as _),
            View::Info => None,
        }
    }

    /// The rows of the view to change, and what they were made from.
    pub fn rows_mut(&mut self) -> Option<(&mut dyn Rows, &Refined<'p>)> {
        if self.has_places() {
            let Places { forest, rows } = self.places.as_mut()?;
            return Some((rows, forest));
        }
        let rows: &mut dyn Rows = match self.view {
            View::Tree => &mut self.tree,
            View::Callers => &mut self.inverted.as_mut()?.callers,
            View::Flat => &mut self.inverted.as_mut()?.flat,
            View::Tables => self.tables.list.as_mut()?,
            View::Info => return None,
        };
        Some((rows, &self.refined))
    }

    /// The selected row.
    #[must_use]
    pub fn selected(&self) -> Option<Selected<'_>> {
        let rows = self.rows()?;
        let line = rows.line(rows.selected())?;
        Some(Selected { line, row: rows.row(line) })
    }

    /// Name of a function.
    #[must_use]
    pub fn name(&self, function: FunctionRef) -> &str {
        self.of_rows().functions.get(function.index()).map_or("", |f| f.name.as_str())
    }

    /// Name of a row. The row of the root stands for the ends of paths.
    #[must_use]
    pub fn row_name(&self, row: &Row) -> &str {
        match (row.kind, self.view) {
            (FrameKind::Root, View::Callers | View::Tables) => "(no caller)",
            _ => self.name(row.function),
        }
    }

    /// What is compared, where two profiles are.
    #[must_use]
    pub fn comparison(&self) -> Option<&'p Comparison> {
        self.profile.comparison.as_deref()
    }
}

/// The share of its parent that keeps a child on the hot path, in percent.
pub const HOT_SHARE: u32 = hot_path::USUAL_SHARE;
