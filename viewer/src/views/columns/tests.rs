//! What every column has, whoever adds it.

use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, StringId};
use csprof_format::profile::{Frame, RankSums, SymbolSource};

use super::{
    About, AnyRow, Basis, Cell, Column, DEFINITIONS, Definition, Id, Lines, Medium, Order, Plain,
    Unit,
};
use crate::profile::comparison::{Scaling, ScalingKind};
use crate::profile::derived::{DerivedRef, Wanted};
use crate::profile::reduce::tests::job::Job;
use crate::profile::reduce::{Keep, Reduction};
use crate::profile::{self, FrameRef, MetricRef, Profile, Spreads, from_outline};
use crate::refine::{Axis, Refined, Watch, apply, parse};
use crate::views::contexts::contexts;
use crate::views::flat::flat;
use crate::views::measure::Measure;
use crate::views::number::Form;
use crate::views::row::{RowStrips, Strip, StripOfMetric};
use crate::views::{Cost, Edges, Row, Sort};

const BASE: &str = "main 2\n  solve 200 e=9 inline\n  dot 90 e=30 module:/lib/libblas.so\n";
const RANKS: &str = "\
# rank=0 thread=10 epoch=0 name=main
main 30
# rank=0 thread=11 epoch=0 name=worker
main 20
";
const OTHER: &str = "main 2\n  solve 100 e=9\n  dot 150 e=50 module:/lib/libblas.so\n";

/// Calls `check` with each column, a profile that has it, and rows.
fn each(mut check: impl FnMut(Column, Basis<'_>, &[AnyRow<'_>])) {
    let [base, other, mut one, mut ranks] =
        [BASE, OTHER, BASE, RANKS].map(|outline| from_outline(outline).unwrap());
    let module = one.functions.iter().find_map(|function| function.module);
    one.info.frames.push(Frame { kind: FrameKind::Leaf, module, offset: 0x4a30 });
    one.info.modules[0].build_id = vec![0xab, 0xcd];
    let file = StringId::from_index(one.info.strings.len());
    one.info.strings.push("dot.c".into());
    let at = profile::Frame { site: Some(FrameId(0)), file: Some(file), line: 7, ..one.frames[1] };
    one.frames[1] = at;
    one.derive(&Wanted::parse("twice = 2 * cputime").unwrap()).unwrap();
    ranks.info.run.host = "node7".into();
    // Others are of sums.
    one.spreads = Spreads::alike(3, one.nodes.len(), RankSums::of_rank(7, 90)).into();
    let mut both = Profile::compared(("base", base), ("other", other), &[]).unwrap();
    // Some columns are of runs on more threads alone.
    both.comparison.as_mut().unwrap().scaling =
        Some(Scaling { kind: ScalingKind::Weak, workers: [1, 2] });
    both.derive(&Wanted::parse("twice = 2 * cputime").unwrap()).unwrap();
    let profiles = [&one, &both, &ranks].map(Refined::base);
    let [mut one, both, _] = profiles.each_ref().map(|one| flat(one, Sort::by(Column::EXCLUSIVE)));
    one[0].frame = Some(FrameRef(1));
    let of_metric = StripOfMetric { parts: [1, 2].into(), is_noise: true };
    let of_metrics: Box<[_]> = [of_metric].into();
    let strip = |axis| Some(Strip { of: (axis, 2), process: None, of_metrics: of_metrics.clone() });
    one[0].strips = Some(RowStrips([Axis::Rank, Axis::Phase].map(strip)).into());
    let (list, _) = contexts(&profiles[2], &Watch::none()).unwrap();
    let [one, both] = [&one, &both].map(|rows| rows.iter().map(AnyRow::from).collect());
    let rows: [Vec<_>; 3] = [one, both, list.iter().map(AnyRow::from).collect()];
    for definition in DEFINITIONS {
        let table = definition.lines as usize;
        let basis = Basis::new(&profiles[table]);
        check(Column::comparing(definition.id, Cost::Exclusive), basis, &rows[table]);
    }
}

#[test]
fn every_column_has_a_heading_and_help() {
    each(|column, basis, _| {
        let definition = column.definition();
        assert!(!definition.key.is_empty() && !definition.help.is_empty(), "{column:?}");
        for medium in [Medium::Page, Medium::Screen] {
            for form in [Form::Unicode, Form::Ascii] {
                let basis = Basis { medium, form, ..basis };
                let heading = column.heading(&basis).into_owned();
                let is_bar = column.definition().unit == Unit::Bar;
                assert_eq!(heading.is_empty(), is_bar, "{column:?}");
                assert!(form == Form::Unicode || heading.is_ascii(), "{heading}");
            }
        }
    });
}

/// The name is the title of the page, and so is what tells a process or a thread.
#[test]
fn every_column_is_explained_or_repeats_one_that_is() {
    let about = About { inclusive: "all", exclusive: "own", ..About::default() };
    let is_explained = |column: Column, basis: &Basis<'_>, row: AnyRow<'_>| {
        let texts = column.explain(basis, row, about);
        texts.iter().any(|(name, text)| !name.is_empty() && !text.is_empty())
    };
    each(|column, basis, rows| {
        let Definition { key, lines, unit, .. } = column.definition();
        if *key == "function" || (*lines == Lines::Contexts && *unit != Unit::Cost) {
            return;
        }
        let repeated = column.definition().repeats.map(|id| Column::comparing(id, Cost::Exclusive));
        let mut told = [Some(column), repeated].into_iter().flatten();
        let is_told = told.any(|one| rows.iter().any(|row| is_explained(one, &basis, *row)));
        assert!(is_told, "{column:?}");
    });
}

/// Whether costs are times or not.
#[test]
fn explanations_call_columns_what_their_headings_say() {
    for (unit, names) in
        [("ns", ["time", "excl time", "time/edge"]), ("calls", ["cost", "excl cost", "cost/edge"])]
    {
        let mut profile = from_outline(BASE).unwrap();
        profile.info.metric.unit = unit.to_owned();
        let refined = Refined::base(&profile);
        let basis = Basis { medium: Medium::Screen, ..Basis::new(&refined) };
        let rows = flat(&refined, Sort::default());
        let row = rows.iter().find(|row| row.first().edges == Edges::exact(30)).unwrap();
        let columns = [Id::Inclusive, Id::Exclusive, Id::PerEdge].map(|id| Column::of(id, None));
        let explained =
            columns.map(|column| column.explain(&basis, row, About::default())[0].0.clone());
        assert_eq!(explained, names);
        assert_eq!(columns.map(|column| column.heading(&basis).into_owned()), names);
    }
}

#[test]
fn every_column_has_text_values_for_machines_and_an_order() {
    each(|column, basis, rows| {
        // The rate is of one run at two moments.
        let is_known = !matches!(column.definition().key, "file" | "line" | "rate");
        let is_nothing = |row: AnyRow<'_>| matches!(column.value(&basis, row), Cell::Nothing);
        let is_blank = |row: AnyRow<'_>| column.text_of(&basis, row).is_empty();
        let is_null = |row: AnyRow<'_>| column.value(&basis, row).plain() == Plain::Nothing;
        for is_empty in [&is_nothing as &dyn Fn(AnyRow<'_>) -> bool, &is_blank, &is_null] {
            assert_eq!(rows.iter().any(|row| !is_empty(*row)), is_known, "{column:?}");
        }
        if let Order::As(id) = column.definition().order {
            assert!(matches!(id.definition().order, Order::By(_)), "{column:?}");
        }
    });
}

/// What a formula makes is what it makes of the columns beside it.
#[test]
fn derived_metrics_are_those_of_the_columns() {
    let text =
        "main 2 e=1\n  solve 200 realtime:50 e=9\n    dot 90 e=30\n  wait 703 realtime:700 e=2\n";
    let mut profile = from_outline(text).unwrap();
    for text in [
        "share = cputime / realtime as percent",
        "rest = incl(cputime) - cputime - 2 * realtime",
        "each = cputime / edges",
    ] {
        profile.derive(&Wanted::parse(text).unwrap()).unwrap();
    }
    let refined = Refined::base(&profile);
    for basis in [Basis::new(&refined), Basis { measure: Measure::Samples, ..Basis::new(&refined) }]
    {
        // Derived metrics are of amounts, whatever is counted.
        let of_amounts = Basis { measure: Measure::Source, ..basis };
        let mut blanks = 0;
        for row in &flat(&refined, Sort::default()) {
            let number = |column: Column| match column.value(&of_amounts, row).plain() {
                Plain::Natural(n) => n as f64,
                other => panic!("{other:?}"),
            };
            for cost in [Cost::Inclusive, Cost::Exclusive] {
                let value =
                    |at| Column::derived_of(DerivedRef(at), cost).value(&basis, row).plain();
                let [cputime, realtime] =
                    [0, 1].map(|metric| number(Column::cost_of(MetricRef(metric), cost)));
                let expected = match realtime {
                    0.0 => Plain::Nothing,
                    realtime => Plain::Real(cputime / realtime),
                };
                assert_eq!(value(0), expected);
                let inclusive = number(Column::cost_of(MetricRef(0), Cost::Inclusive));
                assert_eq!(value(1), Plain::Real(inclusive - cputime - 2.0 * realtime));
                let expected = match Column::of(Id::Edges, None).value(&basis, row).plain() {
                    Plain::Bounds(low, high) if low == high && low > 0 => {
                        Plain::Real(cputime / low as f64)
                    }
                    Plain::Bounds(low, high) if low > 0 => {
                        Plain::Between(cputime / high as f64, cputime / low as f64)
                    }
                    _ => Plain::Nothing,
                };
                assert_eq!(value(2), expected);
                blanks += usize::from(value(0) == Plain::Nothing);
            }
        }
        assert!(blanks > 0, "dot has no realtime");
    }
}

#[test]
fn a_profile_without_samples_has_empty_derived_columns() {
    let mut profile = from_outline("main 0 realtime:0\n").unwrap();
    profile.derive_ready();
    let refined = Refined::base(&profile);
    let basis = Basis::new(&refined);
    let columns = basis.on_page(Cost::Inclusive);
    assert_eq!(
        columns.iter().filter(|column| column.definition().unit == Unit::Derived).count(),
        2
    );
    for row in &flat(&refined, Sort::default()) {
        assert_eq!(columns.last().unwrap().text_of(&basis, row), "");
    }
}

#[test]
fn no_medium_has_a_column_that_a_profile_lacks() {
    let of = |outline: &str| from_outline(outline).unwrap();
    let mut sum = of(BASE);
    sum.spreads = Spreads::alike(3, sum.nodes.len(), RankSums::of_rank(7, 90)).into();
    let both = Profile::compared(("base", of(BASE)), ("other", of(OTHER)), &[]).unwrap();
    let mut moments = both.clone();
    moments.comparison.as_mut().unwrap().moments = Some(1_000_000_000);
    let mut has_it = [0; Id::COUNT];
    for profile in [of(BASE), sum, both, moments] {
        let refined = Refined::base(&profile);
        for medium in [Medium::Page, Medium::Screen] {
            let basis = Basis { medium, spread: true, addresses: true, ..Basis::new(&refined) };
            let cost = Cost::Inclusive;
            let media = [basis.on_screen(cost), basis.on_page(cost), basis.of_lines()];
            let machines = [basis.for_machines(cost), basis.explained(cost)].concat().concat();
            for column in media.concat().into_iter().chain(machines) {
                assert!(basis.has(column.id), "{column:?}");
                has_it[column.id as usize] += 1;
            }
        }
    }
    // The sum has it in four lists, for each medium; nothing has phases.
    assert_eq!([Id::RankImbalance, Id::OverPhases].map(|id| has_it[id as usize]), [8, 0]);
}

#[test]
fn names_of_columns_tell_them_apart() {
    for is_compared in [false, true] {
        let names: Vec<_> = Column::sortable(is_compared).map(|(name, _)| name).collect();
        assert!(
            names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)),
            "{names:?}"
        );
    }
    each(|_, basis, _| {
        for columns in [basis.for_machines(Cost::Inclusive), basis.of_contexts_for_machines()] {
            let columns = columns.concat();
            let keys: Vec<_> = columns.iter().map(|column| column.key(&basis)).collect();
            assert!(keys.iter().enumerate().all(|(at, key)| !keys[..at].contains(key)), "{keys:?}");
        }
    });
}

/// Columns that repeat others are told by their headings.
#[test]
fn the_legend_of_the_screen_tells_every_column() {
    const README: &str = include_str!("../../../../README.md");
    let profile = from_outline(BASE).unwrap();
    let refined = Refined::base(&profile);
    let basis = Basis { medium: Medium::Screen, ..Basis::new(&refined) };
    for column in basis.on_screen(Cost::Inclusive) {
        let name = format!("`{}`", column.heading(&basis));
        let is_told = README.lines().any(|line| line.starts_with('|') && line.contains(&name));
        assert!(is_told || column.definition().repeats.is_some(), "{name}");
    }
}

/// ld.so's memset is in assembly: its module has lines, and it has none.
#[test]
fn why_the_source_is_not_known() {
    let mut profile = from_outline("dot 90 module:/lib/libblas.so\n").unwrap();
    let why = |profile: &Profile| {
        let refined = Refined::base(profile);
        let rows = flat(&refined, Sort::default());
        let text =
            rows.iter().filter(|row| row.kind != crate::profile::FrameKind::Root).flat_map(|row| {
                let column = Column::of(Id::File, None);
                column.explain(&Basis::new(&refined), row, About::default())
            });
        text.map(|(_, text)| text).collect::<Vec<_>>().join("; ")
    };
    assert!(why(&profile).contains("has no line information"), "{}", why(&profile));
    for module in &mut profile.info.modules {
        module.symbols = SymbolSource::Dwarf(StringId(0));
    }
    assert_eq!(why(&profile), "not known");
    // Lines of its code are: of one address, which the page shows below, and of several.
    for outline in ["dot 90 at:dot.c:7\n", "dot 90 at:dot.c:7\ndot 5 at:dot.c:9\n"] {
        let profile = from_outline(outline).unwrap();
        assert_eq!(why(&profile), "its lines are known, but not where it is declared");
    }
}

/// Over how many ranks a number is, or why there is none.
#[test]
fn columns_over_ranks_say_of_how_many_or_why_not() {
    let job = Job { ranks: 12, common: 18, private: 1, late: vec![(7, 3)], addresses: 1 };
    let summed = |keep: Keep| {
        let mut reduction = Reduction::new(keep);
        for rank in 0..job.ranks {
            reduction.add(&rank.to_string(), &job.rank(rank, job.busiest())).unwrap();
        }
        let mut launcher = job.rank(40, job.busiest() + 9);
        launcher.processes[0].rank = None;
        reduction.add("launcher", &launcher).unwrap();
        Profile::from_saved(reduction.finish())
    };
    let said = |keep: Keep, stages: &str, function: &str, id: Id| {
        let refined = apply(&summed(keep), &parse(stages).unwrap()).unwrap();
        let rows = flat(&refined, Sort::default());
        let is_it = |row: &&Row| *refined.functions[row.function.index()].name == *function;
        let row = rows.iter().find(is_it).unwrap();
        let column = Column::comparing(id, Cost::Inclusive);
        let texts = column.explain(&Basis::new(&refined), row, About::default());
        texts.into_iter().map(|(_, text)| text).collect::<String>()
    };
    for (keep, stages, function, id, expected) in [
        (Keep::Top, "", "kernel_3", Id::MostRank, "7 of 12 ranks"),
        (Keep::All, "rank in 3, 7", "kernel_3", Id::MostRank, "7 of 2 ranks"),
        (Keep::All, "rank = 7", "kernel_3", Id::RankMost, "one at most is shown"),
        (Keep::All, "", "report_40_0", Id::MostRank, "no rank that is shown has samples"),
        (Keep::Top, "", "report_40_0", Id::MostRank, "no rank that is shown has samples"),
        (Keep::Top, "", "report_40_0", Id::RankMean, "no rank that is shown has samples"),
        (Keep::All, "", "report_40_0", Id::RankImbalance, "no rank that is shown has samples"),
        (Keep::All, "split rank", "rank=3", Id::RankImbalance, "this row is of one rank alone"),
        (Keep::All, "", "main", Id::OwnMostRank, "no rank that is shown has samples of its own"),
        (Keep::All, "", "kernel_3", Id::OwnMostRank, "7 of 12 ranks"),
        (Keep::Top, "hide step_0", "kernel_3", Id::RankMost, "stages took a part"),
        (Keep::Top, "through kernel_3", "main", Id::RankMost, "stages took a part"),
    ] {
        let said = said(keep, stages, function, id);
        assert!(said.contains(expected), "{keep:?} {stages} {function}: {said}");
    }
}
