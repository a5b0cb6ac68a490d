//! Chains of rows in which nothing happens, each as one line: start-up code, and functions that
//! have no cost of their own and call one function.
//!
//! This is about what is seen and nothing else: the rows stay as they are, and so do their numbers,
//! what is open, and whatever was refined. A row that costs anything itself is never folded, nor is
//! one below which there are several, but for the last one of start-up code. So what is known of a
//! fold, its inclusive cost, is that of each of its rows.

use std::collections::HashSet;

use super::row::Row;
use super::tree::{Direction, RowId, RowTree};
use super::visible::{Line, Visible};
use crate::profile::FrameKind;
use crate::refine::Refined;

/// Rows of a chain that are worth a fold.
const LEAST_CHAIN: usize = 3;

/// The same of start-up code, whose names say nothing.
const LEAST_START: usize = 2;

/// Rows that are opened at once to be folded, and nodes that may be looked at for it.
const MOST_OPENED: usize = 4_000;
const MOST_MADE: usize = 1 << 16;

/// The lines that are seen where chains are folded.
#[derive(Clone, Debug)]
pub struct Folds {
    /// Whether chains are folded.
    pub is_on: bool,
    /// The first rows of chains that are shown all the same.
    unfolded: HashSet<RowId>,
    lines: Vec<Line>,
    /// The place of each line among those that are open; a fold covers all up to the next one.
    places: Vec<usize>,
    /// How many lines are open.
    all: usize,
}

impl Default for Folds {
    fn default() -> Self {
        let unfolded = HashSet::new();
        Self { is_on: true, unfolded, lines: Vec::new(), places: Vec::new(), all: 0 }
    }
}

impl Folds {
    /// What is seen. A fold has the row of its first one.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The place of a line among those that are open.
    #[must_use]
    pub fn place(&self, at: usize) -> usize {
        self.places.get(at).copied().unwrap_or(self.all)
    }

    /// The line that has, or covers, the open line at this place.
    #[must_use]
    pub fn line_of(&self, place: usize) -> usize {
        self.places.partition_point(|&start| start <= place).saturating_sub(1)
    }

    /// How many rows a line stands for: 1, or those of a fold.
    #[must_use]
    pub fn rows(&self, at: usize) -> usize {
        self.place(at + 1) - self.place(at)
    }

    /// The first rows of chains that are shown all the same, in their order.
    #[must_use]
    pub fn unfolded(&self) -> Vec<RowId> {
        let mut rows: Vec<_> = self.unfolded.iter().copied().collect();
        rows.sort_unstable();
        rows
    }

    /// Shows the chain that begins with a row.
    pub fn unfold(&mut self, first: RowId) {
        self.unfolded.insert(first);
    }

    /// Folds all chains but those that begin with these rows.
    pub fn fold_but(&mut self, unfolded: impl IntoIterator<Item = RowId>) {
        self.unfolded = unfolded.into_iter().collect();
    }

    /// Makes the lines again: after other rows are open, or in another order. Costs what is open.
    pub fn rebuild<D: Direction>(
        &mut self,
        tree: &RowTree<D>,
        refined: &Refined,
        visible: &Visible,
    ) {
        let open = visible.lines();
        self.lines.clear();
        self.places.clear();
        self.all = open.len();
        let chains = Chains { tree, refined, visible };
        // For each level, how many rows above it are folded away, and whether the row above it, on
        // that level, is start-up code with nothing else above.
        let mut hidden: Vec<u32> = vec![0];
        let mut starts: Vec<bool> = vec![true];
        // And whether that row passes on all it has to the one below it, as inner ones of a chain
        // do. Both are asked of rows with others below them: most have none, and are many.
        let above = open.first().and_then(|line| tree.parent(line.row));
        let mut leads: Vec<bool> = vec![above.is_some_and(|above| chains.leads_on(above))];
        let mut at = 0;
        while let Some(&line) = open.get(at) {
            let level = line.depth as usize;
            hidden.truncate(level + 1);
            starts.truncate(level + 1);
            leads.truncate(level + 1);
            let above = hidden.get(level).copied().unwrap_or(0);
            let is_start = starts.get(level).copied().unwrap_or(false);
            let is_led_to = leads.get(level).copied().unwrap_or(false);
            let rows = match self.is_on {
                true => chains.chain(&open[at..], is_start, is_led_to),
                false => 1,
            };
            let is_fold = rows > 1 && !self.unfolded.contains(&line.row);
            let mut more = above;
            let next = open[at + 1..].iter().map(|next| next.depth).chain([0]);
            for ((step, open), next) in open[at..at + rows].iter().enumerate().zip(next) {
                if step == 0 || !is_fold {
                    self.lines.push(Line { depth: open.depth - above, ..*open });
                    self.places.push(at + step);
                } else {
                    more += 1;
                }
                hidden.push(more);
                let is_above = self.is_on && next > open.depth;
                let is_start = starts.last() == Some(&true);
                starts.push(is_above && is_start && chains.leads_from_start(open.row));
                leads.push(is_above && chains.leads_on(open.row));
            }
            at += rows;
        }
    }
}

/// The rows below one that are to be opened with it, so that there is a fold: the chain that it
/// leads to, if that is worth one.
pub fn chain_below<D: Direction>(
    tree: &mut RowTree<D>,
    refined: &Refined,
    row: RowId,
) -> Vec<RowId> {
    let most_made = tree.made().saturating_add(MOST_MADE);
    let mut chain = Vec::new();
    let mut at = row;
    while chain.len() < MOST_OPENED && tree.made() < most_made {
        let &[child] = tree.children(refined, at) else { break };
        if !tree.row(child).has_children {
            break;
        }
        tree.children(refined, child);
        if !passes_on(tree, at) || !passes_on(tree, child) || !is_foldable(tree, refined, child) {
            break;
        }
        chain.push(child);
        at = child;
    }
    if chain.len() < LEAST_CHAIN { Vec::new() } else { chain }
}

struct Chains<'t, D: Direction> {
    tree: &'t RowTree<D>,
    refined: &'t Refined,
    visible: &'t Visible,
}

impl<D: Direction> Chains<'_, D> {
    /// How many lines from the first one on are one fold; 1 if it is not folded.
    fn chain(&self, lines: &[Line], is_start: bool, is_led_to: bool) -> usize {
        if is_start && self.is_start(lines[0].row) {
            // Below the last one there may be several; then what comes next is not below it alone.
            let mut is_alone = true;
            let starts = lines.iter().take_while(|line| {
                is_alone && self.is_start(line.row) && {
                    is_alone = self.has_one(line.row);
                    true
                }
            });
            let rows = starts.count();
            return if rows < LEAST_START { 1 } else { rows };
        }
        if !is_led_to {
            return 1;
        }
        let rows = lines.iter().take_while(|line| self.is_inner(line.row)).count();
        if rows < LEAST_CHAIN { 1 } else { rows }
    }

    /// Whether what is below a row may be an inner row of a chain.
    fn leads_on(&self, row: RowId) -> bool {
        row != RowId::ROOT && passes_on(self.tree, row) && !self.is_start(row)
    }

    fn has_one(&self, row: RowId) -> bool {
        self.tree.opened_children(row).len() == 1
    }

    /// Whether a row is an open one of a chain, with what is below it.
    fn is_inner(&self, row: RowId) -> bool {
        self.visible.is_open(row)
            && passes_on(self.tree, row)
            && is_foldable(self.tree, self.refined, row)
    }

    /// Whether what is below a row may be start-up code, if the row may be.
    fn leads_from_start(&self, row: RowId) -> bool {
        self.tree.row(row).kind == FrameKind::Context || self.is_start(row)
    }

    /// Whether a row is open start-up code without cost of its own.
    fn is_start(&self, row: RowId) -> bool {
        if !self.visible.is_open(row) {
            return false;
        }
        let start = self.tree.row(row);
        let is_starter = |row: RowId| is_starter(self.name(row));
        // Rust has a `main` of C's before its own.
        let leads_to_start = || {
            self.name(row) == "main"
                && matches!(self.tree.opened_children(row), [only] if is_starter(*only))
        };
        let children = self.tree.opened_children(row);
        let has_all_below = || {
            start.weights.iter().enumerate().all(|(column, weight)| {
                let below = |child: &RowId| self.tree.row(*child).weights[column].inclusive;
                weight.inclusive == children.iter().map(below).fold(0, u64::saturating_add)
            })
        };
        start.kind.is_function()
            && !children.is_empty()
            && start.weights.iter().all(|weight| weight.exclusive == 0)
            && (is_starter(row) || leads_to_start())
            && has_all_below()
    }

    fn name(&self, row: RowId) -> &str {
        name(self.tree, self.refined, row)
    }
}

fn name<'r, D: Direction>(tree: &RowTree<D>, refined: &'r Refined, row: RowId) -> &'r str {
    refined.functions.get(tree.row(row).function.index()).map_or("", |function| &*function.name)
}

/// Whether a row that was made has one child, and hands all it has to it.
fn passes_on<D: Direction>(tree: &RowTree<D>, row: RowId) -> bool {
    let &[child] = tree.opened_children(row) else { return false };
    let [above, below] = [row, child].map(|row| &tree.row(row).weights);
    above
        .iter()
        .zip(below.iter())
        .all(|(above, below)| above.exclusive == 0 && above.inclusive == below.inclusive)
}

/// Whether a row may stand in a fold. What is looked for first may not: `main`.
fn is_foldable<D: Direction>(tree: &RowTree<D>, refined: &Refined, row: RowId) -> bool {
    let Row { kind, .. } = *tree.row(row);
    let name = name(tree, refined, row);
    kind.is_function() && name != "main" && !name.ends_with("::main")
}

/// Whether a function of this name starts programs or threads, and does nothing that is theirs.
fn is_starter(name: &str) -> bool {
    const NAMES: [&str; 13] = [
        "_start",
        "(below main)",
        "_init",
        "__libc_start_main",
        "__libc_start_call_main",
        "__libc_start_main_impl",
        "generic_start_main",
        "clone",
        "__clone",
        "clone3",
        "__clone3",
        "start_thread",
        "execute_native_thread_routine",
    ];
    /// Bytes of a name that are looked at: one from a hostile file may have megabytes.
    const LONGEST: usize = 1 << 10;
    // What Rust has between the entry of the program, or of a thread, and its own code.
    const RUST: [&str; 10] = [
        "std::rt::lang_start",
        "std::panicking::try",
        "std::panicking::catch_unwind",
        "std::panic::catch_unwind",
        "std::sys::backtrace::__rust_begin_short_backtrace",
        "std::sys_common::backtrace::__rust_begin_short_backtrace",
        "std::thread::Builder::spawn_unchecked",
        "std::thread::lifecycle::spawn_unchecked",
        "core::ops::function::FnOnce::call_once",
        "core::ops::function::impls::",
    ];
    let name = &name[..name.floor_char_boundary(LONGEST)];
    // Versions of symbols, and what compilers add to their names.
    let plain = name.split(['@', '.']).next().unwrap_or_default();
    NAMES.contains(&plain)
        || RUST.iter().any(|beginning| name.starts_with(beginning))
        || name.starts_with('<') && name.contains(" as core::ops::function::Fn")
        || name.starts_with("std::sys::") && name.contains("thread_start")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::unwatched;
    use crate::views::top_down::TopDown;

    /// The lines of an outline, all of whose rows are open: levels, names, and how many rows.
    fn folded(outline: &str) -> Vec<String> {
        let profile = from_outline(outline).unwrap();
        let refined = Refined::base(&profile);
        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        let mut visible = Visible::new(&mut tree, &refined, RowId::ROOT);
        for at in 0..visible.lines().len() {
            visible.open_subtree(&mut tree, &refined, at, usize::MAX);
        }
        let mut folds = Folds::default();
        folds.rebuild(&tree, &refined, &visible);
        let all: usize = (0..folds.lines().len()).map(|at| folds.rows(at)).sum();
        assert_eq!(all, visible.lines().len());
        let line = |(at, line): (usize, &Line)| {
            assert_eq!(folds.line_of(folds.place(at) + folds.rows(at) - 1), at);
            let rows = folds.rows(at);
            format!("{} {} {rows}", line.depth, name(&tree, &refined, line.row))
        };
        folds.lines().iter().enumerate().map(line).collect()
    }

    #[test]
    fn start_up_code_is_one_line() {
        let linear = "_start\n  __libc_start_main_impl\n    __libc_start_call_main\n      main 3\n";
        assert_eq!(folded(linear), ["0 _start 3", "1 main 1"]);
        // Where it leads to several, all of them are below it.
        let branching =
            "_start\n  __libc_start_main_impl\n    call_init 1\n    main 3\n      f 1\n";
        let expected = ["0 _start 2", "1 main 1", "2 f 1", "1 call_init 1"];
        assert_eq!(folded(branching), expected);
        let thread = "clone3\n  start_thread\n    work 5\n";
        assert_eq!(folded(thread), ["0 clone3 2", "1 work 1"]);
    }

    #[test]
    fn what_starts_rust_programs_is_start_up_code() {
        let rust = "_start\n  __libc_start_main\n    main\n      std::rt::lang_start_internal\n        \
                    core::ops::function::FnOnce::call_once\n          app::main\n            f 1\n";
        assert_eq!(folded(rust), ["0 _start 5", "1 app::main 1", "2 f 1"]);
        // Further down the same functions are the program's.
        let below = "main 1\n  clone\n    start_thread\n      f 1\n";
        assert_eq!(folded(below), ["0 main 1", "1 clone 1", "2 start_thread 1", "3 f 1"]);
    }

    #[test]
    fn what_costs_anything_itself_is_shown() {
        let own = "_start\n  __libc_start_main_impl 1\n    main 3\n";
        assert_eq!(folded(own), ["0 _start 1", "1 __libc_start_main_impl 1", "2 main 1"]);
        let own = "m 1\n  a\n    b\n      c 1\n        d\n          e 1\n";
        assert_eq!(folded(own).len(), 6);
    }

    #[test]
    fn the_inner_rows_of_a_chain_are_one_line() {
        let chain =
            "m 1\n  a\n    b\n      c\n        d\n          e\n            f 1\n            g 1\n";
        assert_eq!(folded(chain), ["0 m 1", "1 a 1", "2 b 3", "3 e 1", "4 f 1", "4 g 1"]);
        // Two are not worth it, and `main` is what is looked for.
        assert_eq!(folded("m 1\n  a\n    b\n      c\n        d 1\n").len(), 5);
        assert_eq!(folded("m 1\n  a\n    b\n      main\n        c\n          d 1\n").len(), 6);
    }

    #[test]
    fn of_another_metric_it_may_have_cost() {
        let plain = "m 1\n  a\n    b\n      c\n        d\n          e 1 realtime:1\n";
        assert_eq!(folded(plain).len(), 4);
        let other = "m 1\n  a\n    b\n      c 1 realtime:1\n        d\n          e 1\n";
        assert_eq!(folded(other).len(), 6);
    }
}
