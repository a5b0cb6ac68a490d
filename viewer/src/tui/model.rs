//! The state of the viewer, as plain data.
//!
//! Everything on the screen is a function of the model; everything that happens is a message that
//! changes it. The model holds no terminal, no file and no thread, so a test can drive it by keys
//! and compare what is painted.

mod keys;
mod metric;
mod screen;

use std::collections::{BTreeSet, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::profile::{FunctionRef, Profile};
use crate::refine::{Refined, Sets};
use crate::sources::Sources;
use crate::views::Row;
use crate::views::columns::{Choice, Id};
use crate::views::hot_path;
use crate::views::notes::{Change, Estimate, Note, Notes, State, Then};
use crate::views::path::Path;
use crate::views::search::{NamePattern, Search};
use crate::views::summary::clustered;
use crate::views::visible::Line;

use super::caption;
use super::forest::Forest;
use super::history::{History, Moment};
use super::info;
use super::key::Key;
use super::keymap::Keymap;
use super::live::Live;
use super::made::{Made, Wanted};
use super::message::{Notice, ViewId};
use super::page::Page;
use super::prompt::Prompt;
use super::scene::Scene;
use super::stages::Stages;
use super::table::Rows;
use super::theme::Theme;
use super::view::{BoxedView, Finds, RowsMut, Sheet, View};
use super::views;

/// What lies over the view and has the focus.
#[derive(Clone, Debug)]
pub enum Over {
    /// A page of text.
    Page(Page),
    /// The action menu, with the selected item.
    Menu(usize),
    /// The list of stages, with the selected stage.
    Stages(usize),
    /// The columns to choose from, with the selected one.
    Columns(usize),
    /// A view that lies over another one.
    View(ViewId),
    /// A prompt.
    Prompt(Prompt),
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

/// The state of the viewer. What it is about is the [`Scene`], which views know, too.
#[derive(Clone, Debug)]
pub struct Model {
    /// What the screen is about, and how it is written.
    pub scene: Scene,
    /// What it is called: its file, as the user wrote it.
    pub path: String,
    /// The files it was read from, as the user wrote them.
    pub files: Vec<String>,
    /// Whether what is left of damaged files was read.
    pub salvage: bool,
    /// The metric by which two profiles are compared, if the user named it.
    pub compared_by: Option<String>,
    /// How a program is looked at that runs, if this is one.
    pub live: Option<Live>,
    /// The sets of frames that refinements can name.
    pub sets: Arc<Sets>,
    /// The views, in the order of their digits.
    pub views: Vec<BoxedView>,
    /// The view that is looked at.
    pub view: ViewId,
    /// The path that was selected last where rows are paths, and in which view.
    pub selected_path: Option<(ViewId, Path)>,
    /// What lies over it, the focus last.
    pub over: Vec<Over>,
    /// The stages that made what is shown: those asked for, unless a refinement is pending.
    pub shown_stages: Stages,
    /// What views want that was asked for and is not there yet, and the numbers of the requests.
    pub asked: Vec<(u64, Wanted)>,
    /// Number under which the meaning of the sets of frames was asked for.
    pub listing: Option<u64>,
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
    /// Where what is searched for is in the view, once that was asked for.
    pub found: Option<Search>,
    /// What of it is found in a view without rows, while a message is dealt with.
    pub finds: Option<Finds>,
    /// Which of the rows or lines found was gone to last.
    pub hit: Option<usize>,
    /// The request for that, and where to go then, if the shell was asked: the next row, the
    /// previous, or where typing goes.
    pub searching: Option<(u64, Option<bool>)>,
    /// Nodes of a tree that is searched at once; in larger ones the shell marks what is found.
    pub search_at_once: usize,
    /// Lines that were accepted at prompts, the newest last, and what stood before each.
    pub typed: Vec<(&'static str, String)>,
    /// Cells at the beginning of names that are scrolled out of sight.
    pub sideways: usize,
    /// Which columns views of rows have, where the user chose in the viewer.
    pub choices: Option<Vec<Choice>>,
    /// The columns that the user named before; empty for the usual ones.
    pub named_columns: Vec<Id>,
    /// Cells that the call path has at least, where the user dragged the line beside it.
    pub path_width: Option<usize>,
    /// Whether nobody has pressed a key yet.
    pub is_new: bool,
    /// Keys with another meaning elsewhere of which that was said; `None` if it never is.
    pub told: Option<BTreeSet<&'static str>>,
    /// Whether the line between call path and numbers is being dragged.
    pub dragged: bool,
    /// Whether a configuration file changes what other commands print.
    pub configured: bool,
    /// What keys mean.
    pub keymap: Arc<Keymap>,
    /// Keys that were pressed and after which others may follow.
    pub begun: Vec<Key>,
    /// The keys by which the next message comes, those before the last one among them; none if it
    /// comes by something else.
    pub pressed: Vec<Key>,
    /// How often the next key is meant, as far as it was typed.
    pub count: Option<usize>,
    /// What was said of call paths, also what is still being kept.
    pub notes: Arc<Notes>,
    /// What is known to be kept of that.
    pub kept_notes: Arc<Notes>,
    /// Changes of it that are still being kept, in the order in which they were asked for.
    pub notes_under_way: VecDeque<Change>,
    /// The path that a prompt is about, as it was when the prompt opened.
    pub noting: Noting,
    /// What happened.
    pub notice: Option<Notice>,
    /// Number of the last request to the shell.
    pub ticket: u64,
}

impl Deref for Model {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}

impl DerefMut for Model {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.scene
    }
}

/// What a prompt for a note or an estimate is about. All of it is of the moment at which the prompt
/// opened: what is shown may change while somebody types.
#[derive(Clone, Debug, Default)]
pub struct Noting {
    /// The path.
    pub path: Path,
    /// The text that there was.
    pub text: String,
    /// What the entry of the ledger said.
    pub entered: Option<(State, Estimate)>,
    /// What was measured.
    pub then: Then,
}

/// The row with the focus and what is needed to talk about it.
#[derive(Clone, Copy, Debug)]
pub struct Selected<'m> {
    /// Its line.
    pub line: crate::views::visible::Line,
    /// The row.
    pub row: &'m Row,
}

impl Model {
    /// The first screen of a profile.
    #[must_use]
    pub fn new(forest: Forest, path: &str, theme: Theme, size: (u16, u16)) -> Self {
        let Forest { refined, top_down } = forest;
        let scene = Scene::new(refined, theme, size);
        let why_empty = info::why_empty(&scene.profile, scene.form());
        let mut model = Self {
            views: views::all(&scene),
            scene,
            path: path.to_owned(),
            files: vec![path.to_owned()],
            salvage: false,
            compared_by: None,
            live: None,
            sets: Arc::default(),
            view: ViewId::HOME,
            selected_path: None,
            over: Vec::new(),
            shown_stages: Stages::default(),
            asked: Vec::new(),
            listing: None,
            why_empty: why_empty.map(|items| Page::new("", items)),
            stages: Stages::default(),
            history: History::default(),
            pending: None,
            progress: None,
            found: None,
            finds: None,
            hit: None,
            searching: None,
            search_at_once: 1 << 17,
            typed: Vec::new(),
            sideways: 0,
            choices: None,
            named_columns: Vec::new(),
            path_width: None,
            is_new: true,
            told: Some(BTreeSet::new()),
            dragged: false,
            configured: false,
            keymap: Arc::default(),
            begun: Vec::new(),
            pressed: Vec::new(),
            count: None,
            notes: Arc::default(),
            kept_notes: Arc::default(),
            notes_under_way: VecDeque::new(),
            noting: Noting::default(),
            notice: None,
            ticket: 0,
        };
        model.hand_out(Made::default().with(top_down));
        model
    }

    /// Names the stages that the first screen was made by.
    pub fn begin_with(&mut self, stages: Stages) {
        self.shown_stages = stages.clone();
        self.stages = stages;
    }

    /// Looks for source files there.
    pub fn look_in(&mut self, sources: &Sources) {
        self.scene.sources = sources.clone();
        self.views.iter_mut().for_each(|view| view.look_in(sources));
    }

    /// This was said of call paths, and is kept.
    pub fn take_notes(&mut self, notes: Arc<Notes>) {
        self.kept_notes = Arc::clone(&notes);
        self.show_notes(notes);
    }

    /// This is said of call paths, with changes that may yet be refused.
    pub(super) fn show_notes(&mut self, notes: Arc<Notes>) {
        self.views.iter_mut().for_each(|view| view.noted(&notes));
        self.notes = notes;
    }

    /// What was said of the path of a line, where rows are paths.
    #[must_use]
    pub fn note(&self, rows: &dyn Rows, line: Line) -> Option<&Note> {
        let row = rows.row(line);
        let name = self.name(row.function);
        // Most rows have none, and paths may be long.
        let depth = rows.depth(line);
        let may_be = self.notes.list.iter().filter(|note| note.may_be_of(name, depth));
        let mut may_be = may_be.peekable();
        if self.seen() != ViewId::HOME || may_be.peek().is_none() {
            return None;
        }
        let path = rows.path(&self.scene.refined, line);
        may_be.find(|note| note.is_on(&path))
    }

    /// Puts another refinement in the place of the present one.
    pub fn show(&mut self, forest: Forest, stages: Stages) {
        let Forest { refined, top_down } = forest;
        for view in &mut self.views {
            view.forget(&self.scene.refined);
        }
        self.scene.replace(refined);
        self.asked.clear();
        self.hand_out(Made::default().with(top_down));
        self.forget_found();
        // Where a search began was a place in the old rows.
        let place = self.rows().map(Rows::place);
        for over in &mut self.over {
            if let Over::Prompt(prompt) = over {
                prompt.from.clone_from(&place);
            }
        }
        self.shown_stages = stages;
    }

    /// Puts another reading of the file in the place of the profile, refined by the stages that are
    /// wanted. Returns whether it has the same metrics; what named others is forgotten else.
    pub fn reload(&mut self, forest: Forest) -> bool {
        let profile = forest.refined.profile.clone();
        let sources = |profile: &Profile| {
            profile.metrics().map(|(_, metric)| metric.source.clone()).collect::<Vec<_>>()
        };
        let is_compared = profile.comparison.is_some();
        let is_alike = sources(&profile) == sources(&self.profile)
            && is_compared == self.profile.comparison.is_some();
        self.scene.clustered = clustered(&profile);
        let why_empty = info::why_empty(&profile, self.form());
        self.why_empty = why_empty.map(|items| Page::new("", items));
        self.scene.profile = profile;
        // They are of the profile before.
        self.over.retain(|over| is_alike && !matches!(over, Over::Page(_)));
        self.listing = None;
        let forest = match is_alike {
            // Another one may have been chosen meanwhile.
            true => forest.looking_at(self.scene.refined.metric),
            false => forest,
        };
        if !is_alike {
            self.scene.refined = forest.refined.clone();
            self.views = views::all(&self.scene);
            self.show_notes(Arc::clone(&self.notes));
            self.history = History::default();
            self.choices = None;
        }
        self.show(forest, self.stages.clone());
        self.views.iter_mut().for_each(|view| view.reloaded());
        is_alike
    }

    /// Lets each view take what is its own of what was made.
    pub(super) fn hand_out(&mut self, mut made: Made) {
        for view in &mut self.views {
            view.take(&mut made, &self.scene.refined);
        }
    }

    /// Which view is seen: the last one that lies over another, or else the one that is looked at.
    #[must_use]
    pub fn seen(&self) -> ViewId {
        let over = self.over.iter().rev().find_map(|over| match over {
            Over::View(view) => Some(*view),
            _ => None,
        });
        over.unwrap_or(self.view)
    }

    /// The view that is seen.
    #[must_use]
    pub fn view(&self) -> &dyn View {
        &*self.views[self.seen().0]
    }

    /// The same, to change it.
    pub(super) fn view_mut(&mut self) -> &mut BoxedView {
        let seen = self.seen();
        &mut self.views[seen.0]
    }

    /// What is constant about the view, for the rows that it shows now.
    #[must_use]
    pub fn sheet(&self) -> &'static Sheet {
        self.view().sheet()
    }

    /// What the rows of the view were made from.
    #[must_use]
    pub fn of_rows(&self) -> &Refined {
        self.view().forest(&self.scene.refined)
    }

    /// The present screen, to go back to it. Costs what is open, if that has changed.
    pub(super) fn moment(&mut self) -> Moment {
        let refined = &self.scene.refined;
        Moment {
            stages: self.stages.clone(),
            view: self.view,
            metric: refined.metric,
            percent_of: self.scene.percent_of,
            search: self.scene.search.clone(),
            views: self.views.iter_mut().map(|view| view.memory(refined)).collect(),
        }
    }

    /// Lets the views look as they did at another moment, under the same stages.
    pub(super) fn look_like(&mut self, moment: &Moment) {
        for (view, memory) in self.views.iter_mut().zip(&moment.views) {
            view.recall(memory, &self.scene.refined);
        }
    }

    /// Searches for something else, or for nothing.
    pub fn search_for(&mut self, pattern: Option<NamePattern>) {
        self.search = pattern;
        self.forget_found();
    }

    /// Forgets what a search found: it may be other rows now.
    pub(super) fn forget_found(&mut self) {
        (self.found, self.finds) = (None, None);
        (self.hit, self.searching) = (None, None);
    }

    /// The page of text that is seen, if one is, perhaps with a prompt below it.
    #[must_use]
    pub fn page(&self) -> Option<&Page> {
        match self.over.iter().rev().find(|over| !matches!(over, Over::Prompt(_)))? {
            Over::Page(page) => Some(page),
            _ => None,
        }
    }

    /// The same, to change it.
    pub(super) fn page_mut(&mut self) -> Option<&mut Page> {
        match self.over.iter_mut().rev().find(|over| !matches!(over, Over::Prompt(_)))? {
            Over::Page(page) => Some(page),
            _ => None,
        }
    }

    /// The number of the request that the screen waits for, if it does.
    #[must_use]
    pub fn waits_for(&self) -> Option<u64> {
        let refining = self.pending.as_ref().map(|pending| pending.ticket);
        refining.or_else(|| {
            let wanted = self.view().wanted()?;
            self.asked.iter().find(|(_, asked)| *asked == wanted).map(|(ticket, _)| *ticket)
        })
    }

    /// How much of what the screen waits for is done, from 0 to 1, once that takes its time.
    #[must_use]
    pub fn done(&self) -> Option<f64> {
        let ticket = self.waits_for()?;
        self.progress.filter(|(of, _)| *of == ticket).map(|(_, done)| done)
    }

    /// Lays the view that is seen out for so many cells and lines.
    pub(super) fn lay_out(&mut self, width: usize, height: usize) {
        let seen = self.seen();
        self.views[seen.0].lay_out(&self.scene.refined, width, height);
    }

    /// Selects what a picture has at this cell and line; `false` if there is nothing.
    pub(super) fn select_at(&mut self, x: usize, line: usize) -> bool {
        let seen = self.seen();
        self.views[seen.0].select_at(x, line, &self.scene.refined)
    }

    /// The rows of the view; `None` where it has none, and while they are being made.
    #[must_use]
    pub fn rows(&self) -> Option<&dyn Rows> {
        self.view().rows()
    }

    /// The rows of the view to change, and what they were made from.
    pub fn rows_mut(&mut self) -> Option<RowsMut<'_>> {
        let seen = self.seen();
        self.views[seen.0].rows_mut(&self.scene.refined)
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
        self.of_rows().functions.get(function.index()).map_or("", |f| &*f.name)
    }

    /// Name of a row.
    #[must_use]
    pub fn row_name(&self, row: &Row) -> &str {
        caption::row_name(self.view(), self, row)
    }
}

/// The share of its parent that keeps a child on the hot path, in percent.
pub const HOT_SHARE: u32 = hot_path::USUAL_SHARE;
