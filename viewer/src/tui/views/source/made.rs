//! What the source view shows, as the worker makes it: the file of a function with the cost of its
//! lines, and its instructions with theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use csprof_format::ids::ModuleId;

use super::super::super::page::Item;
use crate::profile::FunctionKey;
use crate::refine::{Cancelled, Refined, Watch};
use crate::sources::{Missing, Source, Sources, doubt};
use crate::symbols::code::{CodeLine, code_of, written_ns};
use crate::symbols::files::DiskFiles;
use crate::views::Row;
use crate::views::instructions::{InstructionCosts, Jump, addresses, arrows};
use crate::views::source::{SourceLines, file_of, modules_of};

/// Cells of the arrows of jumps, besides that of their heads.
pub(super) const ARROWS: usize = 4;

/// Characters of a line of source that stand above instructions.
pub(super) const LONGEST: usize = 400;

/// The function whose source is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) key: FunctionKey,
    pub(super) name: Arc<str>,
}

impl Shown {
    /// Tells it from others, also where names have megabytes.
    pub(super) fn text(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.key.hash(&mut hasher);
        format!("{:x}", hasher.finish())
    }
}

/// Its file, and what its lines cost.
#[derive(Clone, Debug)]
pub(super) struct FileOf {
    /// The recorded path; empty if it is not known.
    pub(super) path: Arc<str>,
    pub(super) lines: SourceLines,
    pub(super) found: Result<Source, Missing>,
    /// What is to be said of it.
    pub(super) notes: Vec<Item>,
    /// The line to begin with.
    pub(super) first: u32,
}

/// Its instructions, and what they cost.
#[derive(Clone, Debug)]
pub(super) struct CodeOf {
    pub(super) code: Vec<CodeLine>,
    pub(super) costs: InstructionCosts,
    pub(super) arrows: Vec<Jump>,
    /// Beginnings of the lines that they were made of, as far as their files are there.
    pub(super) texts: BTreeMap<(Arc<str>, u32), String>,
}

/// The same, once that is known, or why there are none.
pub(super) type MadeCode = Result<Arc<CodeOf>, String>;

pub(super) fn shown_function(shown: &Refined, row: &Row) -> Shown {
    let name =
        shown.functions.get(row.function.index()).map_or_else(|| "".into(), |of| of.name.clone());
    Shown { key: shown.key(row.function), name }
}

/// Lists the instructions of a function, and counts what they cost.
pub(super) fn disassemble(
    refined: &Refined,
    shown: &Shown,
    sources: &Sources,
    watch: &Watch<'_>,
) -> Result<MadeCode, Cancelled> {
    let info = &refined.profile.info;
    let found =
        refined.function_of(&shown.key).ok_or_else(|| "the stages left nothing of it".to_owned());
    let found = found.and_then(|function| addresses(refined, function));
    let code = found.and_then(|(module, addresses)| {
        let code = code_of(info, module, &addresses, &DiskFiles::from_environment(&[]))?;
        Ok((module, code))
    });
    let (module, code) = match code {
        Ok(found) => found,
        Err(why) => return Ok(Err(why)),
    };
    let end = |of: &CodeLine| of.listed.address.saturating_add(of.listed.length);
    let ranges: Vec<_> = code.iter().map(|of| of.listed.address..end(of)).collect();
    let costs = InstructionCosts::new(refined, module, &ranges, watch)?;
    let jump = |(from, of): (usize, &CodeLine)| {
        let to = of.listed.target.filter(|_| of.listed.is_jump)?;
        Some((from, ranges.binary_search_by_key(&to, |range| range.start).ok()?))
    };
    let arrows = arrows(code.iter().enumerate().filter_map(jump), ARROWS);
    let mut lines: BTreeMap<Arc<str>, BTreeSet<u32>> = BTreeMap::new();
    for (path, line) in code.iter().filter_map(|of| of.line.clone()) {
        lines.entry(path).or_default().insert(line);
    }
    let mut texts = BTreeMap::new();
    for (path, numbers) in lines {
        // The instructions are of one module.
        let Ok(source) = sources.show(info, &path, &BTreeSet::from([module])) else {
            continue;
        };
        for line in numbers {
            let text = source.text.line(line).map(|text| text.chars().take(LONGEST).collect());
            texts.extend(text.map(|text: String| ((Arc::clone(&path), line), text)));
        }
    }
    Ok(Ok(Arc::new(CodeOf { code, costs, arrows, texts })))
}

/// Finds the file of a function, and counts what its lines cost.
pub(super) fn read(
    refined: &Refined,
    shown: &Shown,
    sources: &Sources,
    watch: &Watch<'_>,
) -> Result<FileOf, Cancelled> {
    let info = &refined.profile.info;
    let number = refined.function_of(&shown.key);
    let path = number.and_then(|number| file_of(refined, number));
    let path: Arc<str> = path.map_or_else(|| "".into(), |path| refined.profile.string(path).into());
    let lines = SourceLines::new(refined, &path, number, watch)?;
    let module = number.and_then(|number| refined.functions[number.index()].module);
    let found = match &*path {
        "" => Err(Missing::default()),
        path => sources.show(info, path, &modules_of(&refined.profile, path)),
    };
    let own = lines.lines.iter().filter(|line| line.is_of_function);
    let heat = |row: &Row| {
        let of = row.of(refined.metric);
        (of.exclusive, of.inclusive)
    };
    let hottest = own.max_by_key(|line| (heat(&line.row), std::cmp::Reverse(line.number)));
    let declared = number.map_or(0, |number| refined.functions[number.index()].line);
    let first = hottest.map_or(declared, |line| line.number).max(1);
    let notes = notes(refined, (shown, module), &path, &lines, &found);
    Ok(FileOf { path, lines, found, notes, first })
}

/// What is to be said of a file, with the remedy.
pub(super) fn notes(
    refined: &Refined,
    (shown, module): (&Shown, Option<ModuleId>),
    path: &str,
    lines: &SourceLines,
    found: &Result<Source, Missing>,
) -> Vec<Item> {
    let text = |text: String| Item::Text(text);
    if path.is_empty() {
        return vec![
            text(format!("Nothing is known of the source of {}.", shown.name)),
            Item::Gap,
            text(
                "Its module has no line information, or none was found: compile it with -g, or \
                 install its debug symbols and run csprof symbolize on the profile. Stages such \
                 as by module leave no lines, either."
                    .to_owned(),
            ),
        ];
    }
    match found {
        Ok(source) => {
            let last = lines.lines.last().map_or(0, |line| line.number);
            let built = module.and_then(|module| {
                written_ns(&refined.profile.info, module, &DiskFiles::from_environment(&[]))
            });
            let doubt = doubt(&refined.profile.info, source, last, built);
            let place = source.path.display();
            let kept = source.told_of_kept().map(|kept| text(format!("{place}: {kept}")));
            let said = |doubt| Item::Warning(String::new(), format!("{place}: {doubt}"));
            let tried = source.tried.iter();
            let tried = tried.map(|(path, why)| text(format!("{}: {why}", path.display())));
            tried.chain(kept).chain(doubt.map(said)).collect()
        }
        Err(missing) => {
            let mut items = vec![Item::Warning(
                String::new(),
                "The source file is not there; these are its lines with samples.".to_owned(),
            )];
            let tried = missing.tried.iter();
            items.extend(tried.map(|(path, why)| text(format!("{}: {why}", path.display()))));
            items.push(text(
                "p asks for a folder below which it is; csprof view --path-map OLD=NEW replaces \
                 the beginnings of paths."
                    .to_owned(),
            ));
            items.push(Item::Gap);
            items
        }
    }
}
