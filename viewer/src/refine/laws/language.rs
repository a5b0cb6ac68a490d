//! Random values of the language, and random text.

use proptest::prelude::*;
use proptest::sample::select;

use super::execution::NAMES;
use crate::refine::lang::syntax::kind_words;
use crate::refine::{
    Axis, Chain, Comparison, Field, FramePattern, Grain, Link, Metric, MetricTest, Period,
    Predicate, Preset, Quantity, SetText, Sets, Sides, Stage, Unit, Value, Whole,
};

/// Patterns over the functions of the executions.
pub(super) fn patterns() -> impl Strategy<Value = FramePattern> {
    let name = select(NAMES.as_slice()).prop_map(str::to_owned);
    let leaf = prop_oneof![
        8 => name.clone().prop_map(FramePattern::Exact),
        2 => name.prop_map(FramePattern::Glob),
        1 => select(vec!["call", "inline", "partial", "unknown", "handover"])
            .prop_map(|kind| FramePattern::Field(Field::Kind, kind.to_owned())),
        1 => (1_u32..4).prop_map(|line| FramePattern::Field(Field::Line, line.to_string())),
        1 => Just(FramePattern::Preset(Preset::Start)),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(FramePattern::Any),
            1 => inner.clone().prop_filter("`!` binds closer than `&`", |inner| {
                !matches!(inner, FramePattern::All(_))
            }).prop_map(|inner| FramePattern::Not(Box::new(inner))),
            1 => prop::collection::vec(inner.prop_filter("flat", |inner| {
                !matches!(inner, FramePattern::All(_))
            }), 2..3).prop_map(FramePattern::All),
        ]
    })
}

pub(crate) fn chains() -> impl Strategy<Value = Chain> {
    chains_of(patterns().boxed())
}

fn chains_of(pattern: BoxedStrategy<FramePattern>) -> impl Strategy<Value = Chain> {
    let link = select(vec![Link::Direct, Link::Below]);
    (
        prop::bool::weighted(0.2),
        pattern.clone(),
        prop::collection::vec((link, pattern), 0..5),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(from_root, first, rest, to_leaf)| Chain {
            from_root,
            first,
            rest,
            to_leaf,
        })
}

/// Predicates over the executions.
pub(super) fn predicates() -> impl Strategy<Value = Predicate> {
    let comparison = select(Comparison::ALL.map(|(comparison, _)| comparison).to_vec());
    let atom = prop_oneof![
        5 => chains().prop_map(Predicate::Through),
        1 => patterns().prop_map(Predicate::Under),
        1 => patterns().prop_map(Predicate::In),
        1 => patterns().prop_map(Predicate::Leaf),
        1 => (patterns(), comparison.clone(), 0_u32..4).prop_map(|(pattern, comparison, count)| {
            Predicate::Times { pattern, comparison, count }
        }),
        1 => (comparison, 0_u32..6)
            .prop_map(|(comparison, count)| Predicate::Depth { comparison, count }),
        1 => (0_u32..3, 0_u32..2).prop_map(|(first, more)| Predicate::Numbered {
            axis: Axis::Thread,
            ranges: vec![(first, first + more)],
        }),
        1 => (0_u32..3, 0_u32..2).prop_map(|(first, more)| Predicate::Numbered {
            axis: Axis::Epoch,
            ranges: vec![(first, first + more)],
        }),
    ];
    combined(atom.boxed())
}

fn combined(atom: BoxedStrategy<Predicate>) -> impl Strategy<Value = Predicate> {
    atom.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Predicate::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Predicate::Or),
            inner.prop_map(|inner| Predicate::Not(Box::new(inner))),
        ]
    })
}

/// Stages over the executions.
pub(crate) fn stages() -> impl Strategy<Value = Stage> {
    let predicate = prop_oneof![
        4 => predicates(),
        1 => metric_tests().prop_map(Predicate::Node),
        1 => (predicates(), metric_tests()).prop_map(|(predicate, test)| {
            Predicate::Or(vec![Predicate::Not(Box::new(Predicate::Node(test))), predicate])
        }),
    ];
    prop_oneof![
        6 => path_stages_of(predicate.boxed()),
        1 => metric_tests().prop_map(Stage::Small),
    ]
}

/// Stages that look at one path at a time.
pub(crate) fn path_stages() -> impl Strategy<Value = Stage> {
    path_stages_of(predicates().boxed())
}

fn path_stages_of(predicate: BoxedStrategy<Predicate>) -> impl Strategy<Value = Stage> {
    prop_oneof![
        12 => stages_of(predicate, patterns().boxed(), select(vec!["G", "H"]).boxed()),
        1 => patterns().prop_map(Stage::CallersOf),
        // Processes of a comparison have other numbers than those of its sides.
        1 => contexts_but(&[Axis::Process]).prop_map(Stage::Split),
        1 => select(vec![Grain::Line, Grain::File]).prop_map(Stage::By),
        1 => periods().prop_map(Stage::During),
    ]
}

/// All contexts, but for some.
fn contexts_but(left_out: &[Axis]) -> impl Strategy<Value = Axis> + use<> {
    let all = Axis::ALL.into_iter().map(|(axis, _)| axis);
    select(all.filter(|axis| !left_out.contains(axis)).collect::<Vec<_>>())
}

/// Parts of runs of a tenth of a second.
fn periods() -> impl Strategy<Value = Period> {
    let value = |unit: Unit| {
        let digits = prop_oneof![0_u64..100, (0_u64..20).prop_map(|n| 5 * n)];
        digits.prop_map(move |digits| Value { negative: false, digits, decimals: 0, unit })
    };
    let value = select(vec![Unit::Milliseconds, Unit::Percent(Whole::Base)]).prop_flat_map(value);
    let end = || prop::option::weighted(0.7, value.clone());
    (end(), end())
        .prop_filter("one of them at least", |(from, to)| from.is_some() || to.is_some())
        .prop_map(|(from, to)| Period { from, to })
        .prop_filter("something may be in it", |period| !period.is_empty())
}

/// Tests that some rows of an execution pass and others do not.
pub(super) fn metric_tests() -> impl Strategy<Value = MetricTest> {
    use Quantity::{CostPerEdge, Edges, Exclusive, Inclusive, SamplesPerEdge};
    let source = || Metric::Source("realtime".to_owned());
    let quantity = select(vec![
        Inclusive(Metric::Samples),
        Inclusive(Metric::Time),
        Exclusive(Metric::Samples),
        Exclusive(Metric::Time),
        Inclusive(source()),
        Exclusive(source()),
        Inclusive(Metric::Source("cputime".to_owned())),
        Edges,
        CostPerEdge,
        SamplesPerEdge,
    ]);
    let comparison = select(Comparison::ALL.map(|(comparison, _)| comparison).to_vec());
    let percent = select(vec![Unit::Percent(Whole::Base), Unit::Percent(Whole::View)]);
    let time =
        select(vec![Unit::Nanoseconds, Unit::Microseconds, Unit::Milliseconds, Unit::Seconds]);
    let unit = (prop::option::weighted(0.4, percent), time);
    let halves = prop_oneof![3 => (0_u64..6).prop_map(|count| 2 * count), 1 => 0_u64..12];
    (quantity, comparison, halves, unit).prop_map(|(quantity, comparison, halves, unit)| {
        let (percent, time) = unit;
        let number = if quantity.allows(Unit::One) { Unit::One } else { time };
        let unit = percent.filter(|unit| quantity.allows(*unit)).unwrap_or(number);
        // Samples of outlines stand for 5 ms.
        let (mut digits, mut decimals) = match unit {
            Unit::One => (5 * halves, 1),
            Unit::Percent(_) => (50 * halves + halves % 2, 1),
            Unit::Nanoseconds => (2_500_000 * halves, 0),
            Unit::Microseconds => (2_500 * halves, 0),
            Unit::Milliseconds => (25 * halves, 1),
            Unit::Seconds => (25 * halves, 4),
            other => unreachable!("{other:?} is not among them"),
        };
        while decimals > 0 && digits % 10 == 0 {
            (digits, decimals) = (digits / 10, decimals - 1);
        }
        let value = Value { negative: false, digits, decimals, unit };
        MetricTest { of: Sides::Both, quantity, comparison, value }
    })
}

/// Stages of every kind, made of these chains and patterns; with tests of rows, if so
/// asked.
pub(super) fn stages_by(
    chain: BoxedStrategy<Chain>,
    pattern: BoxedStrategy<FramePattern>,
    rows: bool,
) -> impl Strategy<Value = Stage> {
    let comparison = select(Comparison::ALL.map(|(comparison, _)| comparison).to_vec());
    let atom = prop_oneof![
        4 => chain.prop_map(Predicate::Through),
        1 => pattern.clone().prop_map(Predicate::Under),
        1 => pattern.clone().prop_map(Predicate::In),
        1 => pattern.clone().prop_map(Predicate::Leaf),
        1 => (pattern.clone(), comparison.clone(), 0_u32..4).prop_map(
            |(pattern, comparison, count)| Predicate::Times { pattern, comparison, count }
        ),
        1 => (comparison, 0_u32..60)
            .prop_map(|(comparison, count)| Predicate::Depth { comparison, count }),
        u32::from(rows) => metric_tests().prop_map(Predicate::Node),
    ];
    let predicate = combined(atom.boxed()).boxed();
    prop_oneof![
        12 => stages_of(predicate, pattern.clone(), select(vec!["G", "H"]).boxed()),
        2 => pattern.prop_map(Stage::CallersOf),
        // The reference has no names of these.
        1 => contexts_but(&[Axis::Thread, Axis::Epoch, Axis::Phase]).prop_map(Stage::Split),
        u32::from(rows) => metric_tests().prop_map(Stage::Small),
    ]
}

fn stages_of(
    predicate: BoxedStrategy<Predicate>,
    pattern: BoxedStrategy<FramePattern>,
    name: BoxedStrategy<&'static str>,
) -> impl Strategy<Value = Stage> {
    prop_oneof![
        4 => predicate.prop_map(Stage::Where),
        2 => pattern.clone().prop_map(Stage::Hide),
        1 => pattern.clone().prop_map(Stage::StopAt),
        1 => pattern.clone().prop_map(Stage::Cut),
        2 => (pattern.clone(), name)
            .prop_map(|(pattern, name)| Stage::Group { pattern, name: name.to_owned() }),
        2 => (pattern.clone(), any::<bool>())
            .prop_map(|(pattern, last)| Stage::RootAt { pattern, last }),
        1 => pattern.clone().prop_map(Stage::Collapse),
        1 => pattern.clone().prop_map(Stage::CollapseRun),
        1 => pattern.prop_map(Stage::Fold),
        1 => select(vec![Grain::Function, Grain::Module]).prop_map(Stage::By),
    ]
}

/// Sets with names as people give them: one of another, and one in the place of a shipped one.
pub(super) fn sets() -> Sets {
    let text = "\
@wait = {@lock, MPI_Wait*, \"a b\"}
@solver-2 = module:libsolver* & !@wait
@mpi = {MPI_*, @my.io_3}
@my.io_3 = /read|write/
@and = x
";
    let sets = Sets::read(&[SetText { place: "sets", text }]);
    assert_eq!((sets.problems(), sets.named().len()), (&[][..], 5));
    sets
}

/// Stages with anything a user may write in them, the names of [`sets`] among it.
pub(super) fn any_stages() -> impl Strategy<Value = Stage> {
    // Names with signs, keywords and escapes. In globs `\` stands before `*`, `?` or `\` only.
    let glob = prop_oneof![
        select(vec![
            "MPI_*",
            "and",
            "last",
            "in",
            "@x",
            "a$",
            "$",
            "/x",
            "x/y",
            "function:a",
            "ns::f",
            r"a\*b",
            r"\?",
            r"\\",
            "operator()",
            "f<int>(a, b)",
            "{lambda}",
            "a b",
            "^",
            "[vdso]",
            "é*ü?",
            "\"q\"",
            "node[",
            "by",
            "a=b",
            "callers",
        ])
        .prop_map(str::to_owned),
        "[a-zA-Z_:*?.$@/|><(){},&!^\"= -]{1,8}",
    ];
    let name = prop_oneof![glob.clone(), "\\PC{0,8}"];
    let regex = select(vec!["a|b", "^x.*y$", r"a\\b", r"\d+", "x y", r"\(\)", "a/b", r"\["]);
    let field = select(Field::ALL.map(|(field, _)| field).to_vec());
    // The sets have one in the place of `@mpi`.
    let presets = Preset::ALL.iter().map(|&(preset, ..)| preset);
    let preset = select(presets.filter(|preset| *preset != Preset::Mpi).collect::<Vec<_>>());
    let named = select(sets().named().to_vec());
    let leaf = prop_oneof![
        glob.clone().prop_map(FramePattern::Glob),
        name.prop_map(FramePattern::Exact),
        regex.prop_map(|source| FramePattern::Regex(source.to_owned())),
        select(kind_words())
            .prop_map(|kind| FramePattern::Field(Field::Kind, format!("{}*", &kind[..2]))),
        (field, glob.clone())
            .prop_filter("`function::f` is a name, and `kind:f` an error", |(field, glob)| {
                !glob.starts_with(':') && *field != Field::Kind
            })
            .prop_map(|(field, glob)| FramePattern::Field(field, glob)),
        preset.prop_map(FramePattern::Preset),
        named.prop_map(FramePattern::Named),
    ];
    let pattern = leaf
        .prop_recursive(2, 6, 3, |inner| {
            let no_all =
                inner.clone().prop_filter("flat", |inner| !matches!(inner, FramePattern::All(_)));
            prop_oneof![
                prop::collection::vec(inner, 1..4).prop_map(FramePattern::Any),
                no_all.clone().prop_map(|inner| FramePattern::Not(Box::new(inner))),
                prop::collection::vec(no_all, 2..4).prop_map(FramePattern::All),
            ]
        })
        .boxed();
    let comparison = select(Comparison::ALL.map(|(comparison, _)| comparison).to_vec());
    let axis = select(Axis::ALL.map(|(axis, _)| axis).to_vec());
    let range = (0_u32..9, prop_oneof![Just(0_u32), Just(3), Just(u32::MAX)])
        .prop_map(|(first, more)| (first, first.saturating_add(more)));
    let atom = prop_oneof![
        3 => chains_of(pattern.clone()).prop_map(Predicate::Through),
        1 => pattern.clone().prop_map(Predicate::Under),
        1 => pattern.clone().prop_map(Predicate::In),
        1 => pattern.clone().prop_map(Predicate::Leaf),
        1 => (pattern.clone(), comparison.clone(), any::<u32>()).prop_map(
            |(pattern, comparison, count)| Predicate::Times { pattern, comparison, count }
        ),
        1 => (comparison, any::<u32>())
            .prop_map(|(comparison, count)| Predicate::Depth { comparison, count }),
        1 => (axis.clone(), prop::collection::vec(range, 1..3))
            .prop_map(|(axis, ranges)| Predicate::Numbered { axis, ranges }),
        1 => (axis, glob).prop_map(|(axis, glob)| Predicate::Named { axis, glob }),
        1 => any_metric_tests().prop_map(Predicate::Node),
    ];
    let group = select(vec!["G", "as", "a b", "\"", "MPI library", "3", "é", "a\\"]);
    let axis = select(Axis::ALL.map(|(axis, _)| axis).to_vec());
    prop_oneof![
        8 => stages_of(combined(atom.boxed()).boxed(), pattern.clone(), group.boxed()),
        1 => pattern.prop_map(Stage::CallersOf),
        1 => axis.prop_map(Stage::Split),
        1 => select(vec![Grain::Line, Grain::File]).prop_map(Stage::By),
        1 => any_metric_tests().prop_map(Stage::Small),
        1 => periods().prop_map(Stage::During),
    ]
}

/// Tests of every quantity with every unit that it can have.
fn any_metric_tests() -> impl Strategy<Value = MetricTest> {
    let mut quantities = Quantity::ALL.map(|(quantity, _)| quantity).to_vec();
    for source in ["cputime", "task-clock", "samples2", "é", "in", "incl", "5ms", "L1-misses:u"] {
        let metric = Metric::Source(source.to_owned());
        quantities.extend([Quantity::Inclusive(metric.clone()), Quantity::Exclusive(metric)]);
    }
    let quantity = select(quantities);
    let comparison = select(Comparison::ALL.map(|(comparison, _)| comparison).to_vec());
    let mut units = Unit::ALL.map(|(unit, _)| unit).to_vec();
    units.push(Unit::Percent(Whole::View));
    let value = (0_u64..1000, 0..=Value::MOST_DECIMALS, select(units))
        .prop_filter("no zeros at the end of a fraction", |(digits, decimals, _)| {
            *decimals == 0 || digits % 10 != 0
        })
        .prop_map(|(digits, decimals, unit)| Value { negative: false, digits, decimals, unit });
    let of = select(vec![Sides::Both, Sides::Base, Sides::Other, Sides::Delta]);
    (of, quantity, comparison, value, any::<bool>())
        .prop_map(|(of, quantity, comparison, value, negative)| {
            let negative = negative && of == Sides::Delta && value.digits > 0;
            MetricTest { of, quantity, comparison, value: Value { negative, ..value } }
        })
        .prop_filter("what the quantity can have", |test| {
            test.quantity.allows(test.value.unit)
                && (test.of != Sides::Delta || test.quantity.has_delta())
        })
}

/// Text that may look like a refinement.
pub(super) fn texts() -> impl Strategy<Value = String> {
    let word = select(vec![
        "through",
        "not",
        "and",
        "or",
        "hide",
        "root at",
        "last",
        "group",
        "as",
        "stop at",
        "cut",
        "collapse",
        "fold",
        "times(",
        "depth",
        "rank",
        "thread",
        "in",
        "0..3",
        "=",
        ">=",
        "3",
        ">",
        ">>",
        "^",
        "$",
        "|",
        "(",
        ")",
        "{",
        "}",
        ",",
        "&",
        "!",
        "a",
        "MPI_*",
        "\"x\"",
        "/y/",
        "module:m",
        "@mpi",
        "@no",
        "where",
        "under",
        "leaf",
        "\"",
        "/",
        "\\",
        "by module",
        "callers of",
        "node[",
        "]",
        "incl(time)",
        "excl(realtime)",
        "cost per edge",
        "0.5%",
        "2ms",
        "of view",
        "split",
        "small",
        "during",
        "..2.5s",
        "process",
    ]);
    prop_oneof![
        2 => prop::collection::vec(word, 0..10).prop_map(|words| words.join(" ")),
        1 => "\\PC{0,24}",
        1 => "[a-z>|(){}!&^$\" /\\\\]{0,24}",
    ]
}
