//! Laws of `by loop`: it puts loops in, and nothing else.

use std::sync::LazyLock;

use csprof_format::ids::{FrameId, ModuleId};
use csprof_format::profile::{InLoop, Loop};
use proptest::prelude::*;
use proptest::sample::select;

use super::{applied, assert_sound, language, show_the_same};
use crate::profile::{FrameKind, Profile};
use crate::refine::lang::syntax::Field;
use crate::refine::{Chain, FramePattern, Grain, Link, Stage};

/// A recorded MPI program in which every other address is in some of five loops.
static LOOPED: LazyLock<Profile> = LazyLock::new(|| {
    let bytes = include_bytes!("../../../tests/fixtures/mpi_exchange.csprof");
    let mut saved = csprof_format::read::read(bytes).unwrap();
    let structure = &mut saved.structure;
    let found = |line| Loop { module: ModuleId(0), offset: line, line: 0, ..Loop::default() };
    structure.loops = (0..5).map(found).collect();
    for frame in 0..saved.frames.len() {
        let rows = saved.sites.rows(FrameId::from_index(frame)).len().max(1);
        for row in 0..rows {
            // A few bits that look like chance (Knuth, multiplicative hashing).
            let mut bits = ((frame * 7 + row) as u32).wrapping_mul(2_654_435_769) >> 24;
            while bits & 1 == 1 {
                bits >>= 1;
                let (frame, row) = (FrameId::from_index(frame), row as u32);
                structure.in_loops.push(InLoop { frame, row, number: bits % 5 });
            }
        }
    }
    csprof_format::validate::validate(&saved).unwrap();
    Profile::from_saved(saved)
});

fn stages() -> impl Strategy<Value = Vec<Stage>> {
    let functions = LOOPED.functions.iter().skip(1).map(|function| function.name.to_string());
    let name = prop_oneof![
        4 => select(functions.collect::<Vec<_>>()).prop_map(FramePattern::Exact),
        1 => Just(loops()),
        1 => (0..5).prop_map(|number| FramePattern::Field(Field::Loop, format!("*+0x{number}"))),
    ];
    let chain = (name.clone(), prop::collection::vec((Just(Link::Below), name.clone()), 0..2))
        .prop_map(|(first, rest)| Chain { from_root: false, first, rest, to_leaf: false });
    let stage = language::stages_by(chain.boxed(), name.boxed(), true)
        .prop_filter("callers have no loops", |stage| !matches!(stage, Stage::CallersOf(_)));
    prop::collection::vec(stage, 0..3)
}

fn loops() -> FramePattern {
    FramePattern::Field(Field::Kind, "loop".to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: (ProptestConfig::default().cases / 16).max(3), failure_persistence: None, max_shrink_iters: 64, ..Default::default()
    })]

    /// Loops that are put in and hidden again leave every path, cost and edge count as it was.
    #[test]
    fn hidden_loops_leave_what_was_there(stages in stages()) {
        let with = |more: &[Stage]| [&stages[..], more].concat();
        let (by_loop, hide) = (Stage::By(Grain::Loop), Stage::Hide(loops()));
        let looped = applied(&LOOPED, &with(std::slice::from_ref(&by_loop)));
        assert_sound(&looped);
        show_the_same(&LOOPED, [&with(&[by_loop, hide]), &stages])?;
    }

    /// What refinement does after loops were put in is sound as well.
    #[test]
    fn forests_with_loops_are_sound(stages in stages()) {
        let stages = [&[Stage::By(Grain::Loop)], &stages[..]].concat();
        assert_sound(&applied(&LOOPED, &stages));
    }
}

/// What has the samples of a function in a loop is the loop.
#[test]
fn own_samples_are_the_innermost_loops() {
    let looped = applied(&LOOPED, &[Stage::By(Grain::Loop)]);
    let kind = |node: usize| looped.frames[looped.frame[node].index()].kind;
    let in_loops = (1..looped.node_count()).filter(|&node| kind(node) == FrameKind::Loop);
    assert!(in_loops.clone().any(|node| looped.exclusive(node) > 0));
    for node in in_loops {
        let above = looped.parent[node] as usize;
        assert_eq!((looped.exclusive(above), looped.inclusive(above)), (0, looped.inclusive(node)));
        assert_eq!(looped.edges(node as u32), None);
    }
}
