//! Samples in code without a name: how many, in which load modules, and what would name it.
//!
//! A stripped library still says where its functions begin, so its samples have rows of their own
//! (`libfoo.so.1+0x4a30`), which mean little to people. What matters is how much of the cost is
//! there: one sample in each of twenty libraries is worth a line, half of all samples in one is
//! worth its package of debug symbols.

use core::cmp::Reverse;
use std::collections::HashMap;

use csprof_format::ids::ModuleId;
use csprof_format::profile::{Module, SymbolSource};

use super::number::{Form, counted, percent};
use super::printable::printable;
use super::summary::lacks_symbols;
use crate::profile::{FrameKind, Profile, name_of_file};

/// A module with more than this share of the samples in code without a name is named by itself.
const WORTH_A_LINE_PERCENT: u64 = 5;

/// Less than this share in all other modules together is not worth a line.
const WORTH_MENTIONING_PERCENT: u64 = 1;

/// Samples in code of one module that has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nameless {
    /// The module; `None` for code outside all modules, made at run time.
    pub module: Option<ModuleId>,
    /// Exclusive samples there. Never 0.
    pub samples: u64,
}

/// Samples in code without a name by module, most samples first. O(nodes).
#[must_use]
pub fn nameless(profile: &Profile) -> Vec<Nameless> {
    let mut sums: HashMap<Option<ModuleId>, u64> = HashMap::new();
    for (frame, samples) in profile.nodes.frame.iter().zip(profile.nodes.samples.iter()) {
        let frame = profile.frames[frame.index()];
        if frame.kind == FrameKind::Unknown && samples > 0 {
            let module = profile.functions[frame.function.index()].module;
            let sum = sums.entry(module).or_insert(0);
            *sum = sum.saturating_add(samples);
        }
    }
    let of_module = |(module, samples)| Nameless { module, samples };
    let mut modules: Vec<Nameless> = sums.into_iter().map(of_module).collect();
    modules.sort_by_key(|one| (Reverse(one.samples), one.module));
    modules
}

/// Samples in code without a name, of each module. O(nodes).
#[must_use]
pub fn nameless_of_each(profile: &Profile) -> Vec<u64> {
    let mut of_each = vec![0; profile.info.modules.len()];
    for Nameless { module, samples } in nameless(profile) {
        if let Some(of_module) = module.and_then(|module| of_each.get_mut(module.index())) {
            *of_module = samples;
        }
    }
    of_each
}

/// The modules to list, by their places, each with its samples in code without a name: those with
/// most first, then what lacks symbols. What was never sampled is left out. O(nodes).
#[must_use]
pub fn modules_to_list(profile: &Profile) -> Vec<(usize, u64)> {
    let modules = &profile.info.modules;
    let mut listed: Vec<_> = nameless_of_each(profile).into_iter().enumerate().collect();
    listed.retain(|&(at, samples)| modules[at].symbols != SymbolSource::NotAsked || samples > 0);
    listed.sort_by_key(|&(at, samples)| (Reverse(samples), !lacks_symbols(&modules[at])));
    listed
}

/// What is worth saying at the end of a recording: a line for each module in which much has no
/// name, and one line for all others.
#[must_use]
pub fn advice(profile: &Profile, form: Form) -> Vec<String> {
    let total = profile.total();
    let share = |samples: u64| percent(samples, total);
    let exceeds = |samples: u64, percent: u64| {
        u128::from(samples) * 100 > u128::from(total) * u128::from(percent)
    };
    let asked = |one: &Nameless| {
        module(profile, one).is_none_or(|module| {
            // Whoever declined symbols knows that there are none.
            module.symbols != SymbolSource::NotAsked
        })
    };
    let asked_for: Vec<Nameless> = nameless(profile).into_iter().filter(asked).collect();
    let few = asked_for.partition_point(|one| exceeds(one.samples, WORTH_A_LINE_PERCENT));
    let (worth_a_line, others) = asked_for.split_at(few);
    let mut lines: Vec<String> = worth_a_line
        .iter()
        .map(|one| {
            let (place, reason) = match module(profile, one) {
                None => (
                    "code outside every load module".to_owned(),
                    "made at run time; its runtime may name it, as by record --python, --node or \
                     --java",
                ),
                Some(module) => {
                    let name = printable(name_of_file(profile.string(module.path)));
                    (format!("functions of {name} without names"), why(module))
                }
            };
            format!("{}% of the samples are in {place}: {reason}", share(one.samples))
        })
        .collect();
    let rest = others.iter().fold(0u64, |sum, one| sum.saturating_add(one.samples));
    if exceeds(rest, WORTH_MENTIONING_PERCENT) {
        let other = if lines.is_empty() { "" } else { "other " };
        let modules = counted(others.len() as u64, &format!("{other}module"), form);
        lines.push(format!(
            "{}% of the samples are in functions without names, of {modules}; csprof info says why",
            share(rest)
        ));
    }
    lines
}

fn module<'p>(profile: &'p Profile, one: &Nameless) -> Option<&'p Module> {
    profile.info.modules.get(one.module?.index())
}

/// Why some functions of a module have no names, and the remedy where there is one.
const fn why(module: &Module) -> &'static str {
    match module.symbols {
        SymbolSource::Exports(_) | SymbolSource::Stripped(_) => {
            "it is stripped; install its debug symbols, then csprof symbolize"
        }
        SymbolSource::Unreadable(_) => {
            "its file could not be read, or is not the one that ran; csprof info says which"
        }
        SymbolSource::BuildIdDiffers(_) => "its file has changed since; record again",
        SymbolSource::NotAsked => "symbols were not asked for",
        SymbolSource::Dwarf(_) | SymbolSource::SymbolTable(_) => "its symbols do not cover them",
    }
}

#[cfg(test)]
mod tests {
    use csprof_format::ids::StringId;

    use super::*;
    use crate::profile::from_outline;

    /// A profile in which every module is stripped.
    fn stripped(outline: &str) -> Profile {
        let mut profile = from_outline(outline).unwrap();
        for module in &mut profile.info.modules {
            module.symbols = SymbolSource::Stripped(StringId(0));
        }
        profile
    }

    #[test]
    fn one_line_for_the_module_that_matters_and_one_for_the_rest() {
        let profile = stripped(
            "main 50 module:/opt/app
  liblzma.so.5+0x40 30 unknown module:/lib/liblzma.so.5
    liblzma.so.5+0x90 16 unknown module:/lib/liblzma.so.5
  libz.so.1+0x40 3 unknown module:/lib/libz.so.1
  libc.so.6+0x7 1 unknown module:/lib/libc.so.6
",
        );
        assert_eq!(
            advice(&profile, Form::Ascii),
            [
                "46.0% of the samples are in functions of liblzma.so.5 without names: \
                 it is stripped; install its debug symbols, then csprof symbolize",
                "4.0% of the samples are in functions without names, of 2 other modules; \
                 csprof info says why",
            ]
        );
    }

    #[test]
    fn a_sample_here_and_there_is_not_worth_a_word() {
        let profile = stripped("main 199\n  libz.so.1+0x40 1 unknown module:/lib/libz.so.1\n");
        assert_eq!(nameless(&profile).len(), 1);
        assert_eq!(advice(&profile, Form::Ascii), [""; 0]);
    }

    #[test]
    fn code_made_at_run_time_is_in_no_module() {
        let profile = stripped("main 1\n  0x7f001000 9 unknown\n");
        assert_eq!(
            advice(&profile, Form::Ascii),
            ["90.0% of the samples are in code outside every load module: made at run time; its \
              runtime may name it, as by record --python, --node or --java"]
        );
    }

    #[test]
    fn symbols_that_were_not_asked_for_are_not_missed() {
        let profile = from_outline("app+0x40 9 unknown module:/opt/app\n").unwrap();
        assert_eq!(advice(&profile, Form::Ascii), [""; 0]);
    }
}
