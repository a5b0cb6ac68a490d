//! What may be typed next: completion of stage words, sets, properties and names.

use std::collections::BTreeSet;
use std::ops::Range;

use super::forest::refined::Refined;
use super::lang::axis::Axis;
use super::lang::keywords::{beginnings, predicates};
use super::lang::lexer::{is_sign, property};
use super::lang::metric_test::{Quantity, Sides};
use super::lang::sets::Sets;
use super::lang::stage::{STAGES, StageEntry, StageForm};
use super::lang::syntax::{Field, Grain, kind_words};
use super::pattern::glob::Glob;
use super::select::contexts::contexts;
use crate::profile::{Profile, name_of_file};

/// Words offered at most.
const MOST: usize = 40;

/// What can stand in place of the word at the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Bytes of the text that a candidate replaces: the word up to the cursor.
    pub range: Range<usize>,
    /// Likeliest first; ready to be put into the text.
    pub candidates: Vec<String>,
}

/// Completes the word that ends at the cursor, a byte position in `text`, with what the profile of
/// a forest has.
///
/// ```
/// use csprof::profile::from_outline;
/// use csprof::refine::{Refined, Sets, complete};
/// let profile = from_outline("main\n  MPI_Send 5\n  MPI_Recv 2\n").unwrap();
/// let completion = complete("through mpi", 11, &Refined::base(&profile), &Sets::default());
/// assert_eq!(completion.range, 8..11);
/// assert_eq!(completion.candidates, ["MPI_Recv", "MPI_Send"]);
/// ```
#[must_use]
pub fn complete(text: &str, cursor: usize, refined: &Refined, sets: &Sets) -> Completion {
    completed(text, cursor, &refined.profile, sets, |typed, quoted| names(refined, typed, quoted))
}

/// The same without names of functions: costs nothing, however many of them there are.
#[must_use]
pub fn complete_words(text: &str, cursor: usize, profile: &Profile, sets: &Sets) -> Completion {
    completed(text, cursor, profile, sets, |_, _| Vec::new())
}

fn completed(
    text: &str,
    cursor: usize,
    profile: &Profile,
    sets: &Sets,
    names: impl Fn(&str, bool) -> Vec<String>,
) -> Completion {
    let typed = text.get(..cursor).unwrap_or(text);
    let quotes = typed.bytes().filter(|&byte| byte == b'"').count();
    if quotes % 2 == 1 {
        let start = typed.rfind('"').unwrap_or(0);
        let candidates = names(&typed[start + 1..], true);
        return Completion { range: start..typed.len(), candidates };
    }
    let start = typed
        .char_indices()
        .rev()
        .take_while(|&(_, character)| !is_sign(character))
        .last()
        .map_or(typed.len(), |(at, _)| at);
    let (before, word) = typed.split_at(start);
    let mut candidates = Vec::new();
    let field = property(word).and_then(|(name, typed)| {
        let field = Field::ALL.iter().find(|(_, known)| *known == name)?;
        Some((name, values(profile, field.0, typed)?))
    });
    if let Some((field, values)) = field {
        candidates.extend(values.into_iter().map(|value| format!("{field}:{value}")));
    } else if let Some(name) = word.strip_prefix('@') {
        let saved = sets.refinements().iter().map(|saved| &*saved.name);
        let saved = saved.filter(|_| begins_stage_only(before));
        let known = saved.chain(sets.names()).filter(|known| known.starts_with(name));
        candidates.extend(known.map(|known| format!("@{known}")));
    } else if before.ends_with("incl(") || before.ends_with("excl(") {
        let sources = profile.metrics().map(|(_, metric)| metric.source.as_str());
        let names = ["samples", "time"].into_iter().chain(sources);
        let fitting = names.filter(|name| name.starts_with(word));
        candidates.extend(fitting.map(|name| format!("{name})")));
    } else if let Some((axis, numbers)) = context(before) {
        let contexts = contexts(profile, axis, numbers);
        candidates.extend(contexts.into_iter().filter(|name| name.starts_with(word)));
    } else {
        candidates.extend(keywords(before, word));
        let is_grain = is_grain(before);
        if !word.is_empty() && !begins_stage_only(before) && !is_grain {
            let fields = Field::ALL.iter().map(|(_, name)| format!("{name}:"));
            candidates.extend(fields.filter(|field| field.starts_with(word)));
        }
        if !is_grain {
            candidates.extend(names(word, false));
        }
    }
    candidates.truncate(MOST);
    Completion { range: start..typed.len(), candidates }
}

/// The part of the context that is being named, and whether by its number: after `rank =` by what
/// it is called, after `rank in` by number.
fn context(before: &str) -> Option<(Axis, bool)> {
    let before = before.trim_end();
    // `0..3, ` goes on with the same list of numbers.
    let list =
        before.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '.' | ' '));
    let (head, numbers) = match before.strip_suffix('=') {
        Some(head) => (head, false),
        None if list == before || before.ends_with(',') => (list.strip_suffix(" in")?, true),
        None => return None,
    };
    Some((Axis::named(previous(head))?, numbers))
}

/// The word before the present one, or the sign.
fn previous(before: &str) -> &str {
    let before = before.trim_end();
    let start = before
        .char_indices()
        .rev()
        .take_while(|&(_, character)| !is_sign(character))
        .last()
        .map_or(before.len().saturating_sub(1), |(at, _)| at);
    before.get(start..).unwrap_or("")
}

/// The stage that is being written.
fn last_stage(before: &str) -> &str {
    before.rsplit('|').next().unwrap_or(before).trim()
}

/// Whether what rows stand for is being named: after `by` at the beginning of a stage.
fn is_grain(before: &str) -> bool {
    let stage = STAGES.iter().find(|stage| stage.words == last_stage(before));
    stage.is_some_and(|stage| matches!(stage.form, StageForm::Grain(_)))
}

fn begins_stage_only(before: &str) -> bool {
    matches!(previous(before), "" | "|")
}

/// Words of the language that may stand here and begin with what is typed.
fn keywords(before: &str, word: &str) -> Vec<String> {
    let expected: Vec<&str> = match previous(before) {
        "" | "|" => beginnings().map(|(name, _)| name).collect(),
        "where" | "and" | "or" | "not" | "(" => predicates().map(|(name, _)| name).collect(),
        "[" => quantities_and_sides(),
        "base" | "other" => names_of(&Quantity::ALL),
        "delta" => {
            let with_delta = Quantity::ALL.into_iter().filter(|(quantity, _)| quantity.has_delta());
            with_delta.map(|(_, name)| name).collect()
        }
        name if Axis::named(name).is_some() => vec!["in"],
        previous => match STAGES.iter().find_map(|stage| operands(stage, before, previous)) {
            Some(operands) => operands,
            // After a frame.
            None if !matches!(previous, ">" | "{" | "," | "&" | "!" | "^" | "<" | "=")
                && !beginnings().any(|(name, _)| name.ends_with(previous)) =>
            {
                let is_named = STAGES.iter().any(|stage| {
                    matches!(stage.form, StageForm::Named(_))
                        && last_stage(before).starts_with(stage.words)
                });
                if is_named { vec!["as"] } else { vec!["and", "or"] }
            }
            None => Vec::new(),
        },
    };
    let begins = |keyword: &&str| keyword.starts_with(word) && *keyword != word;
    expected.into_iter().filter(begins).map(str::to_owned).collect()
}

/// What may stand behind the words of a stage, of which the previous word is one.
fn operands(stage: &StageEntry, before: &str, previous: &str) -> Option<Vec<&'static str>> {
    let (first, last) = stage.words.split_once(' ').unwrap_or(("", stage.words));
    if previous == first {
        return Some(vec![last]);
    }
    match stage.form {
        StageForm::Axis(_) if previous == last => Some(names_of(&Axis::ALL)),
        StageForm::Test(_) if previous == last => Some(quantities_and_sides()),
        StageForm::Period(_) if previous == last => Some(vec!["..50%", "50%.."]),
        StageForm::Grain(_) if is_grain(before) => Some(names_of(&Grain::ALL)),
        StageForm::Place(_) if before.trim_end().ends_with(stage.words) => Some(vec!["last"]),
        _ => None,
    }
}

fn names_of<T>(named: &[(T, &'static str)]) -> Vec<&'static str> {
    named.iter().map(|&(_, name)| name).collect()
}

fn quantities_and_sides() -> Vec<&'static str> {
    [names_of(&Quantity::ALL), names_of(&Sides::NAMED)].concat()
}

/// Functions that the word means, if it is the beginning of a pattern: the shortest names.
fn names(refined: &Refined, typed: &str, quoted: bool) -> Vec<String> {
    if typed.is_empty() {
        return Vec::new();
    }
    let mut pattern = String::new();
    for character in typed.chars() {
        if matches!(character, '*' | '?' | '\\') && quoted {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('*');
    // The best so far, by length.
    let mut found: BTreeSet<(usize, &str)> = BTreeSet::new();
    for name in refined.names_that_match(&pattern) {
        let name = (name.chars().count(), name);
        if found.len() < MOST || found.last() > Some(&name) {
            found.insert(name);
        }
        if found.len() > MOST {
            found.pop_last();
        }
    }
    found
        .into_iter()
        .map(|(_, name)| {
            let needs_quotes = quoted
                || name.starts_with(['@', '/', '\\'])
                || name.contains(|character: char| {
                    is_sign(character) || matches!(character, '*' | '?' | '\\' | '$')
                });
            if needs_quotes {
                format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
            } else {
                name.to_owned()
            }
        })
        .collect()
}

/// What properties of frames may be, as far as it begins with what is typed; `None` of those of
/// which there are too many to choose from.
fn values(profile: &Profile, field: Field, typed: &str) -> Option<Vec<String>> {
    let begins = Glob::new(&format!("{typed}*"));
    let info = &profile.info;
    let mut values: Vec<String> = match field {
        Field::Module => {
            let paths = info.modules.iter().map(|module| profile.string(module.path));
            paths.map(|path| name_of_file(path).to_owned()).collect()
        }
        Field::Loop => {
            (0..info.structure.loops.len()).map(|number| profile.place_of_loop(number)).collect()
        }
        Field::Kind => kind_words().into_iter().map(str::to_owned).collect(),
        Field::Function | Field::File | Field::Line => return None,
    };
    // Others would need a pattern that avoids their signs.
    values.retain(|value| begins.matches(value) && !value.contains(|c| is_sign(c) || c == '"'));
    if field != Field::Kind {
        values.sort_by_cached_key(|value| in_order(value));
        values.dedup();
    }
    Some(values)
}

/// Files by name, and lines by number.
fn in_order(place: &str) -> (String, u64) {
    let line = place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    line.map_or((place.to_owned(), 0), |(file, line)| (file.to_owned(), line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;

    /// Candidates where `_` marks the cursor.
    fn candidates(marked: &str) -> Vec<String> {
        let profile = from_outline(
            "main module:/opt/app\n  solve 1 module:/opt/libsolve.so\n    \"ns::sort<int>(int*)\" 3\n    MPI_Send 1\n    \"std::vector<int>::push_back(int const&)\" 1\n",
        )
        .unwrap();
        let cursor = marked.find('_').unwrap();
        let refined = Refined::base(&profile);
        complete(&marked.replacen('_', "", 1), cursor, &refined, &Sets::default()).candidates
    }

    #[test]
    fn words_that_fit_are_offered() {
        assert_eq!(candidates("h_"), ["host", "hide"]);
        assert_eq!(candidates("hide so_"), ["solve", "\"ns::sort<int>(int*)\""]);
        assert_eq!(candidates("hide \"so_"), ["\"solve\"", "\"ns::sort<int>(int*)\""]);
        assert_eq!(candidates("ma_"), ["main"]);
        // As the pattern, from any namespace on.
        assert_eq!(candidates("hide vec_"), ["\"std::vector<int>::push_back(int const&)\""]);
        assert_eq!(candidates("through main > mp_"), ["MPI_Send"]);
        assert_eq!(candidates("not t_"), ["through", "times", "thread"]);
        assert_eq!(candidates("root _"), ["at"]);
        assert_eq!(candidates("root at _"), ["last"]);
        assert_eq!(candidates("group solve _"), ["as"]);
        assert_eq!(candidates("hide module:lib_"), ["module:libsolve.so"]);
        let kinds = kind_words().into_iter().map(|word| format!("kind:{word}"));
        assert_eq!(candidates("hide kind:_"), kinds.collect::<Vec<_>>());
        assert_eq!(candidates("not through kind:t_"), ["kind:tail"]);
        assert_eq!(candidates("hide @m_"), ["@mpi", "@memcpy"]);
        assert_eq!(candidates("through solve a_"), ["and"]);
        assert_eq!(candidates("rank _"), ["in"]);
    }

    #[test]
    fn loops_of_the_profile_are_offered() {
        let profile = from_outline(
            "main\n  mm 1 at:mm.c:12 loop:src/mm.c:10\n  mm 2 at:mm.c:9 loop:src/mm.c:9\n",
        )
        .unwrap();
        let offered =
            |text: &str| complete_words(text, text.len(), &profile, &Sets::default()).candidates;
        assert_eq!(offered("hide loop:"), ["loop:mm.c:9", "loop:mm.c:10"]);
        assert_eq!(offered("hide {f, loop:mm.c:1"), ["loop:mm.c:10"]);
        assert!(offered("hide loop:none").is_empty());
    }

    #[test]
    fn metrics_of_the_profile_are_offered() {
        let profile = from_outline("main 3 realtime:1\n").unwrap();
        let refined = Refined::base(&profile);
        let offered =
            |text: &str| complete(text, text.len(), &refined, &Sets::default()).candidates;
        assert_eq!(offered("small incl("), ["samples)", "time)", "cputime)", "realtime)"]);
        assert_eq!(offered("node[excl(real"), ["realtime)"]);
        assert_eq!(candidates("node[incl(_"), ["samples)", "time)", "cputime)"]);
    }

    #[test]
    fn ranks_and_threads_of_the_run_are_offered() {
        let profile = from_outline(
            "# rank=1 thread=70 epoch=0 name=main
main 3
# rank=1 thread=71 epoch=0 name=worker
work 5
# rank=0 thread=80 epoch=0 name=main
main 2
# rank=0 thread=81 epoch=0 name=idle
idle 0
",
        )
        .unwrap();
        let refined = Refined::base(&profile);
        let offered =
            |text: &str| complete(text, text.len(), &refined, &Sets::default()).candidates;
        assert_eq!(offered("rank = "), ["0", "1"]);
        assert_eq!(offered("through main and rank in 0, "), ["0", "1"]);
        assert_eq!(offered("thread = "), ["main", "worker", "70", "71", "80"]);
        assert_eq!(offered("thread = w"), ["worker"]);
        assert_eq!(offered("thread in "), ["0", "1"]);
        assert_eq!(offered("rank in 0..1 "), ["and", "or"]);
    }
}
