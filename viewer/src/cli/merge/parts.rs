//! The profiles of a merge so far: apart, or summed.

use std::collections::BTreeSet;

use anyhow::Result;
use csprof_format::profile::{self as saved, SymbolSource};

use crate::profile::merge::{Agreement, Merger};
use crate::profile::reduce::{Keep, Reduction, ranks_of, repeated_rank};
use crate::symbols;

/// Ranks that are kept apart unless something else is asked for.
pub(super) const FEW_RANKS: usize = 8;

/// The parts so far.
pub(super) enum Parts {
    /// What is to become of them is not known yet: profiles with few ranks, and any without.
    Held(Vec<(String, saved::Profile)>),
    Apart(Box<Merger>),
    Sum(Box<Reduction>),
}

/// Whether somebody has looked for the names of a profile's functions.
pub(super) fn names_were_sought(part: &saved::Profile) -> bool {
    let mut modules = part.frames.iter().filter_map(|frame| frame.module);
    modules.all(|module| {
        let module = &part.modules[module.index()];
        module.symbols != SymbolSource::NotAsked
            || !symbols::is_file(&part.strings[module.path.index()])
    })
}

impl Parts {
    pub(super) fn apart() -> Self {
        Self::Apart(Box::new(Merger::new(Agreement::SameMetrics)))
    }

    /// Adds a profile.
    pub(super) fn add(&mut self, name: String, part: saved::Profile) -> Result<()> {
        match self {
            Self::Apart(merger) => drop(merger.add(&name, part)?),
            Self::Sum(reduction) => reduction.add(&name, &part)?,
            Self::Held(held) => {
                let ranks: Vec<BTreeSet<u32>> =
                    held.iter().map(|(_, part)| part).chain([&part]).map(ranks_of).collect();
                let count: usize = ranks.iter().map(BTreeSet::len).sum();
                let all: BTreeSet<u32> = ranks.iter().flatten().copied().collect();
                let is_sum = part.is_sum();
                let is_of_one_job = all.len() == count && repeated_rank(&part).is_none();
                // What has no ranks, such as the launcher, goes with any job, wherever it stands.
                let with_ranks = ranks.iter().filter(|ranks| !ranks.is_empty()).count();
                held.push((name, part));
                if is_sum || (is_of_one_job && count > FEW_RANKS && with_ranks > 1) {
                    self.settle(Self::Sum(Box::new(Reduction::new(Keep::Top))))?;
                } else if !is_of_one_job {
                    self.settle(Self::apart())?;
                }
            }
        }
        Ok(())
    }

    /// Makes of the parts that are held what they are to become.
    fn settle(&mut self, parts: Self) -> Result<()> {
        if let Self::Held(held) = std::mem::replace(self, parts) {
            for (name, part) in held {
                self.add(name, part)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(saved::Profile, usize)> {
        if let Self::Held(held) = &self {
            let ranks: usize = held.iter().map(|(_, part)| ranks_of(part).len()).sum();
            self.settle(match ranks > FEW_RANKS {
                true => Self::Sum(Box::new(Reduction::new(Keep::Top))),
                false => Self::apart(),
            })?;
        }
        Ok(match self {
            Self::Apart(merger) => (merger.finish(), 0),
            Self::Sum(reduction) => {
                let kept = reduction.kept();
                (reduction.finish(), kept)
            }
            Self::Held(_) => unreachable!("they were settled"),
        })
    }
}

#[cfg(test)]
mod tests {
    use csprof_format::address::FrameKind;
    use csprof_format::ids::{ModuleId, StringId};
    use csprof_format::profile::{Frame, GENERATED_CODE, HANDOVERS, KERNEL, Module, WAITS};

    use super::*;

    /// A profile of some ranks.
    fn of_ranks(start: u64, ranks: &[u32]) -> saved::Profile {
        let process = |&rank: &u32| saved::Process { rank: Some(rank), ..Default::default() };
        let mut profile = saved::Profile {
            processes: ranks.iter().map(process).collect(),
            ..saved::Profile::default()
        };
        profile.run.start_unix_ns = start;
        profile.metric.period = 1;
        profile
    }

    fn is_summed(parts: &[&[u32]]) -> bool {
        let mut all = Parts::Held(Vec::new());
        for (number, ranks) in (0..).zip(parts) {
            all.add(format!("{number}"), of_ranks(number, ranks)).unwrap();
        }
        all.finish().unwrap().0.is_sum()
    }

    /// Whoever merges a few runs, or repetitions, keeps all that they had.
    #[test]
    fn only_many_ranks_of_one_job_are_summed() {
        let ranks: Vec<[u32; 1]> = (0..9).map(|rank| [rank]).collect();
        let each: Vec<&[u32]> = ranks.iter().map(|rank| &rank[..]).collect();
        assert!(is_summed(&each));
        assert!(!is_summed(&each[1..]));
        let many: Vec<u32> = (0..64).collect();
        assert!(is_summed(&[&many]));
        assert!(is_summed(&[&many[..32], &many[32..]]));
        // Repetitions of one job, and runs without ranks.
        assert!(!is_summed(&[&many, &many]));
        let mut merged = of_ranks(0, &[&many[..], &many[..]].concat());
        let run = || saved::MergedRun { processes: 64, ..Default::default() };
        merged.runs = vec![run(), run()];
        let mut parts = Parts::Held(Vec::new());
        parts.add("both".to_owned(), merged).unwrap();
        assert!(!parts.finish().unwrap().0.is_sum());
        assert!(!is_summed(&[&[], &[], &[], &[], &[], &[], &[], &[], &[], &[]]));
        assert!(!is_summed(&[&[0, 1], &[0, 1], &[0, 1]]));
    }

    /// A run without ranks, as of the launcher, decides nothing, wherever it stands.
    #[test]
    fn what_has_no_ranks_is_summed_in_any_order() {
        let many: Vec<u32> = (0..64).collect();
        let [first, second] = [&many[..32], &many[32..]];
        for parts in [[&[], first, second], [first, &[], second], [first, second, &[]]] {
            assert!(is_summed(&parts), "{parts:?}");
        }
        assert!(is_summed(&[&[], &many]) && is_summed(&[&many, &[]]));
        let few = &many[..8];
        assert!(!is_summed(&[&[], few]) && !is_summed(&[few, &[]]));
        assert!(!is_summed(&[&[], first, first]) && !is_summed(&[first, first, &[]]));
    }

    #[test]
    fn a_second_run_of_a_rank_is_refused_once_others_are_summed() {
        let mut parts = Parts::Held(Vec::new());
        let many: Vec<u32> = (0..64).collect();
        parts.add("a".to_owned(), of_ranks(1, &many[..32])).unwrap();
        parts.add("b".to_owned(), of_ranks(2, &many[32..])).unwrap();
        let error = parts.add("c".to_owned(), of_ranks(3, &[5])).unwrap_err().to_string();
        assert!(
            error.contains("c: has rank 5, and so has a") && error.contains("--concat"),
            "{error}"
        );
    }

    #[test]
    fn names_are_sought_of_what_has_them_in_a_file() {
        let sought = |path: &str| {
            let mut part = saved::Profile::default();
            part.strings.push(path.into());
            part.modules.push(Module { path: StringId(0), ..Module::default() });
            let module = Some(ModuleId(0));
            part.frames.push(Frame { kind: FrameKind::Leaf, module, offset: 1 });
            names_were_sought(&part)
        };
        assert_eq!([WAITS, HANDOVERS, GENERATED_CODE, KERNEL].map(sought), [true; 4]);
        assert!(!sought("/bin/xz"));
    }
}
