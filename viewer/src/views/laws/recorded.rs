//! The laws of the flat view on profiles of real runs: an MPI program of two ranks, and a compiler,
//! deep and recursive (`tests/fixtures/README.md`).

use std::collections::{BTreeMap, HashMap};

use crate::profile::{FrameKind, Profile};
use crate::refine::{FramePattern, Refined, Stage, apply, parse};
use crate::views::flat::flat;
use crate::views::{Row, Sort};

const MPI: &[u8] = include_bytes!("../../../tests/fixtures/mpi_exchange.csprof");
const COMPILER: &[u8] = include_bytes!("../../../tests/fixtures/cc1plus.csprof");

fn recorded(bytes: &[u8]) -> Profile {
    Profile::from_saved(csprof_format::read::read(bytes).unwrap())
}

fn rows(refined: &Refined) -> Vec<Row> {
    flat(refined, Sort::default())
}

/// A function costs what the paths through it cost, and hiding it changes no other.
#[test]
fn inclusive_cost_has_one_value() {
    for bytes in [MPI, COMPILER] {
        let profile = recorded(bytes);
        let base = Refined::base(&profile);
        let all = rows(&base);
        assert_eq!(all.iter().map(|row| row.first().exclusive).sum::<u64>(), base.base);
        let name = |row: &Row| base.functions[row.function.index()].name.to_string();
        // A pattern means all functions of a name, so those of several modules are left out.
        let mut count: HashMap<&str, u32> = HashMap::new();
        for function in &profile.functions {
            *count.entry(&function.name).or_default() += 1;
        }
        let unique: Vec<&Row> =
            all.iter().filter(|row| count[name(row).as_str()] == 1 && row.has_children).collect();
        for row in unique.iter().step_by(unique.len() / 12 + 1) {
            let name = name(row);
            let pattern = FramePattern::Exact(name.clone());
            let root = Stage::RootAt { pattern: pattern.clone(), last: false };
            assert_eq!(base.then(&root).unwrap().shown, row.first().inclusive, "root at {name}");
            let callers = base.then(&Stage::CallersOf(pattern.clone())).unwrap();
            assert_eq!(callers.shown, row.first().inclusive, "callers of {name}");

            // Addresses without a name may be those of one activation: then less is known of edges.
            if row.kind == FrameKind::Unknown {
                continue;
            }
            let hidden = base.then(&Stage::Hide(pattern)).unwrap();
            let others = |rows: Vec<Row>| -> BTreeMap<_, _> {
                let kept = rows
                    .into_iter()
                    .filter(|other| other.function != row.function && other.function.index() != 0);
                kept.map(|row| {
                    ((row.function, row.kind), (row.first().inclusive, row.first().edges))
                })
                .collect()
            };
            assert_eq!(others(all.clone()), others(rows(&hidden)), "hide {name}");
        }
    }
}

/// The ranks together are the whole.
#[test]
fn ranks_add_up() {
    let profile = recorded(MPI);
    let split = apply(&profile, &parse("split rank").unwrap()).unwrap();
    let shown = |text: &str| apply(&profile, &parse(text).unwrap()).unwrap().shown;
    let (mut sum, mut ranks) = (0, 0);
    for row in rows(&split).iter().filter(|row| row.kind == FrameKind::Context) {
        let name = &*split.functions[row.function.index()].name;
        if let Some(rank) = name.strip_prefix("rank=").filter(|rank| *rank != "none") {
            assert_eq!(row.first().inclusive, shown(&format!("rank = {rank}")), "{name}");
            ranks += 1;
        }
        sum += row.first().inclusive;
    }
    assert_eq!((ranks, sum, split.shown), (2, split.base, split.base));
}
