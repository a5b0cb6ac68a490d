//! The help page: the keys of the mode, from the key table, and what the numbers mean.

use super::habits::HABITS;
use super::key::Key;
use super::keymap::{Keymap, Meaning};
use super::mode::{Group, Mode, PAGE, PROMPT};
use super::page::{Item, Page};
use crate::views::columns::{Basis, Column};
use crate::views::verdict::Verdict;

/// The help for a mode; over a page of text, for the view below it.
#[must_use]
pub fn page(keymap: &Keymap, mode: &'static Mode, view: &'static Mode) -> Page {
    let mode = if *mode == PAGE { view } else { mode };
    let mut keys = Vec::new();
    for group in Group::ALL {
        let mut of_group = pairs(keymap, mode, group).peekable();
        if of_group.peek().is_none() {
            continue;
        }
        keys.push(Item::Heading(group.title().to_owned()));
        keys.extend(of_group);
        keys.push(Item::Gap);
    }
    keys.extend(habits(keymap, mode));
    keys.extend(prompt_keys(keymap));
    keys.extend(mouse());
    let mut words = glossary();
    words.extend(numbers());
    words.extend(language());
    Page::new(format!("Help for {}", mode.title), words).with_beside(keys)
}

fn pair(name: &str, text: &str) -> Item {
    Item::Pair(name.to_owned(), text.to_owned())
}

/// What a new user is to know of the first screen: what the columns are, and what to press.
#[must_use]
pub fn legend(keymap: &Keymap, mode: &'static Mode, columns: &[Column], basis: &Basis<'_>) -> Page {
    let columns = columns.iter().filter(|column| column.metric.is_none());
    let told = columns.filter_map(|column| {
        let heading = column.heading(basis);
        let definition = column.definition();
        (!heading.is_empty()).then(|| pair(&heading, definition.help))
    });
    let keys = [
        (&["open", "close"][..], "open a row, close it"),
        (&["hot"], "follow the hot path"),
        (&["folds"], "show what is folded"),
        (&["search"], "search a name"),
        (&["through", "exclude"], "only paths through it, or without"),
        (&["explain"], "explain the numbers of a row"),
        (&["help"], "words and all keys"),
        (&["back"], "quit"),
    ];
    let first = |command: &&str| Some(keymap.keys_of(mode, command).split(' ').next()?.to_owned());
    let keys = keys.into_iter().filter_map(|(commands, does)| {
        let keys: Vec<_> =
            commands.iter().filter_map(first).filter(|key| !key.is_empty()).collect();
        (!keys.is_empty()).then(|| Item::Pair(keys.join(" "), does.to_owned()))
    });
    Page::new("What is what; any key closes it", told.collect()).with_beside(keys.collect())
}

/// The words of the screens, for who sees them for the first time.
fn glossary() -> Vec<Item> {
    vec![
        Item::Heading("Words".to_owned()),
        pair("sample", "what a thread was doing at one moment; a moment comes once a period"),
        pair("call path", "a function, its caller, and so on up to the start of the program"),
        pair("inclusive", "cost of a row and of all that it called"),
        pair("exclusive", "cost of its own code: where something can be done. Color is for it"),
        pair("bar", "the numbers that rows are ordered by; the longest has all of the width"),
        pair("edge", "the return of a call that a sample met; at most as many as calls"),
        pair("many short", "calls shorter than the period: call it less often"),
        pair("few long", "calls longer than the period: make it quicker"),
        pair("running", "no return was seen: it runs still, or was left by a jump"),
        pair("hot path", "◆ goes where most of the cost goes; H follows it"),
        pair("folded", "start-up code, and chains of rows that cost nothing themselves; . shows"),
        pair("12 before a name", "how many frames deep it is, where guides would take all room"),
        pair(
            "inlined, tail call",
            "how the function was called; its source line or module stands right of it. Rows of \
            one name below one row show what tells them apart, even if names are cut for it",
        ),
        pair("peers", "ranks, processes or threads that do the same work at one time"),
        pair("imbalance", "(most - mean) × number of peers: what all wait for the slowest one"),
        pair(
            "noise",
            "how far equal runs differ: by sampling, or as measured between several runs",
        ),
        pair("spread", "a strip of peers in their order, as high as their cost; D shows more"),
        pair("stage", "one step of a refinement: through, not through, hide, ..."),
        pair("shown + out", "all samples: those on the screen, and those that stages took out"),
        pair("[partial]", "paths whose outer callers could not be found"),
        Item::Gap,
    ]
}

/// The keys of a group that have some.
fn pairs(keymap: &Keymap, mode: &'static Mode, group: Group) -> impl Iterator<Item = Item> {
    let keys = keymap.bindings_of_group(mode, group).filter(|binding| !binding.keys.is_empty());
    keys.map(|binding| Item::Pair(binding.keys.to_string(), binding.help.to_owned()))
}

/// Keys that mean something else than in other programs.
fn habits(keymap: &Keymap, mode: &'static Mode) -> Vec<Item> {
    let mut items = Vec::new();
    for habit in &HABITS {
        let Some(name) = habit.here(keymap, mode).filter(|name| !name.is_empty()) else { continue };
        let instead = habit.instead(keymap, mode);
        let instead = instead.map_or_else(String::new, |own| format!(", which is {own}"));
        let text = format!("{name}; in {}: {}{instead}", habit.program, habit.there);
        items.push(Item::Pair(habit.key.to_owned(), text));
    }
    let digits = Key::parse_all("5").map(|keys| keymap.meaning(mode, &keys));
    if let Some(Meaning::Message(_)) = digits {
        let text = "views; in vim and less: how often the next key is meant, as in 5j, which \
                    digits = \"counts\" makes them in the configuration file";
        items.push(Item::Pair("1-9".to_owned(), text.to_owned()));
    } else {
        let text = "how often the next key is meant, as in 5j; 3<tab> shows the third view";
        items.push(Item::Pair("1-9".to_owned(), text.to_owned()));
    }
    items.insert(0, Item::Heading("Not as elsewhere".to_owned()));
    items.push(Item::Gap);
    items
}

fn prompt_keys(keymap: &Keymap) -> Vec<Item> {
    let mut items = vec![Item::Heading("At prompts".to_owned())];
    items.extend(pairs(keymap, &PROMPT, Group::Typing));
    let reload = "read the file again; view, stages, order, selection and open rows stay";
    items.push(Item::Pair(":reload".to_owned(), reload.to_owned()));
    items.push(Item::Gap);
    items
}

/// What the mouse does. Terminals select text as usual while shift is held.
fn mouse() -> Vec<Item> {
    vec![
        Item::Heading("Mouse".to_owned()),
        pair("click", "select a row; on ▸ or ▾ open or close it; on a heading order by it"),
        pair("", "on the name of a view show it; on the line of stages list them"),
        pair("double click", "open or close a row; edit a stage; refine to a process or thread"),
        pair("", "on a key of the last line do what it does"),
        pair("drag", "the line between call path and numbers: other columns have room"),
        pair("right click", "what can be done with the row"),
        pair("wheel", "scroll"),
        pair("shift", "held, the terminal selects text as usual"),
        Item::Gap,
    ]
}

/// What the numbers mean and where they mislead.
fn numbers() -> Vec<Item> {
    let mut items = vec![
        Item::Heading("What the numbers mean".to_owned()),
        pair("time", "samples × period of everything at or below the row (inclusive)"),
        pair("%", "the same as a share of all, of what is shown, of the row above; % changes it"),
        pair("excl%", "samples whose path ends in the row: its own code"),
        pair(
            "metrics",
            "record -e cputime -e realtime samples with two sources: the columns above are of \
            one, and each other one has a column; m, or a click on its heading, looks at it",
        ),
        pair(
            "edges",
            "returns of calls that a sample met. Never the number of calls: one that no sample \
            met is not counted",
        ),
        pair(
            "",
            "≤9 and 4..9 are bounds: a return is counted where its activation was sampled last, \
            and a refinement took out samples of the row, or that one; or code has no name, and \
            may be of one function with other rows",
        ),
        pair(
            "",
            "blank: inlined code never returns; below [partial] returns are not watched; what opened \
             a region is counted in the tree of the thread that called that code",
        ),
        pair("time/edge", "cost of one such call, of recursive ones the outermost"),
        pair("calls", "what that says of the calls:"),
    ];
    for verdict in [Verdict::Short, Verdict::Mixed, Verdict::Long, Verdict::Live] {
        items.push(pair(&format!("  {}", verdict.word()), verdict.explanation()));
    }
    items.extend([
        Item::Text(
            "Long activations are more likely to be sampled than short ones. Returns by \
            longjmp, exception or stack switch are lost and counted as such on the information \
            page. An edge belongs to the epoch in which it returned. Edge counts are not conserved \
            along a path, and compare only at equal periods."
                .to_owned(),
        ),
        Item::Gap,
    ]);
    items
}

fn language() -> Vec<Item> {
    vec![
        Item::Heading("The refinement language (f)".to_owned()),
        pair("through MPI_*", "paths that go through any such function"),
        pair("through a > b", "a calls b directly;  a >> b  at any depth;  ^main  from the root"),
        pair("not through x", "and, or, not, parentheses"),
        pair("hide module:libomp*", "frames go, their cost moves to the nearest kept caller"),
        pair("group module:libmpi* as MPI", "runs of these frames become one"),
        pair("root at solve", "only what is below solve, with solve as the root"),
        pair("stop at F, collapse F", "fold what is below F into it; fold recursion"),
        pair("callers of F", "who calls F, upside down;  split rank  a row for each rank"),
        pair("small incl(time) < 0.5%", "rows below as one row;  node[incl(time) > 5%]  only above"),
        pair("@mpi, @lock, @user", "sets of frames (:sets); @name = {f, g} defines one"),
        pair("a | b", "stage a, then stage b on what it leaves"),
        Item::Text(
            "Lower case ignores case. Names match with and without arguments, templates \
            and namespaces. Whatever the stages: shown + out = all that was measured. \
            `csprof help refine` has all of it; `csprof help coming-from` translates from other tools."
                .to_owned(),
        ),
    ]
}
