//! Formulas against a reference that computes while it makes them up, and problems by place.

use proptest::prelude::*;

use super::*;
use crate::profile::Profile;
use crate::profile::from_outline;

/// A formula, its text and its value for a = 3, b = 0, c-d = 0.5; no value where it divides by 0.
fn any_formula() -> impl Strategy<Value = (String, Option<f64>)> {
    let leaf = prop_oneof![
        (0_u32..2000).prop_map(|n| (n.to_string(), Some(f64::from(n)))),
        (0_u32..2000).prop_map(|n| (format!("{n}e-2"), format!("{n}e-2").parse().ok())),
        Just(("a".to_owned(), Some(3.0))),
        Just(("b".to_owned(), Some(0.0))),
        Just(("c-d".to_owned(), Some(0.5))),
        Just(("\"c-d\"".to_owned(), Some(0.5))),
        Just(("incl( a )".to_owned(), Some(3.0))),
        Just(("excl(a)".to_owned(), Some(-1.0))),
    ];
    leaf.prop_recursive(5, 40, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(text, value)| (format!("-({text})"), value.map(|of| -of))),
            (inner.clone(), inner, 0..4_usize).prop_map(|((a, x), (b, y), which)| {
                let text = format!("({a}) {}({b})", ["+", "- ", "*", "/"][which]);
                let value = x.zip(y).and_then(|(x, y)| match which {
                    0 => Some(x + y),
                    1 => Some(x - y),
                    2 => Some(x * y),
                    _ => (y != 0.0).then(|| x / y),
                });
                (text, value.filter(|value| value.is_finite()))
            }),
        ]
    })
}

fn value_of(text: &str) -> Option<Value> {
    let formula = Formula::parse(text).unwrap();
    computed(&formula.steps, |name| {
        Some(Value::exact(match (name.name.as_str(), name.of) {
            ("a", Of::Exclusive) => -1.0,
            ("a", _) => 3.0,
            ("b", _) => 0.0,
            ("c-d", _) => 0.5,
            ("x", _) => return Some(Value { low: 1.0, high: 4.0 }),
            ("none", _) => return None,
            other => panic!("{other:?}"),
        }))
    })
}

proptest! {
    #[test]
    fn formulas_compute_what_they_say((text, expected) in any_formula()) {
        prop_assume!(text.chars().count() <= MOST_CHARACTERS);
        let value = value_of(&text);
        prop_assert_eq!(value.map(|value| value.low), expected, "{}", text);
        prop_assert!(value.is_none_or(Value::is_exact));
    }

    /// Each number between the bounds of what goes in gives one between those of what comes out.
    #[test]
    fn bounds_hold_what_may_be(
        [a, b, c, d] in prop::array::uniform4(-20_i32..20),
        which in 0..4_usize,
        [s, t] in prop::array::uniform2(0.0..=1.0_f64),
    ) {
        use Operation::{Add, Divide, Multiply, Subtract};
        let of = |a: i32, b: i32| Value { low: a.min(b).into(), high: a.max(b).into() };
        let within = |of: Value, part: f64| of.low + (of.high - of.low) * part;
        let (x, y) = (of(a, b), of(c, d));
        let (p, q) = (within(x, s), within(y, t));
        let operation = [Add, Subtract, Multiply, Divide][which];
        let exact = [p + q, p - q, p * q, p / q][which];
        match x.with(operation, y) {
            Some(value) => {
                let near = 1e-9 * (1.0 + exact.abs());
                prop_assert!(value.low - near <= exact && exact <= value.high + near);
            }
            None => prop_assert!(which == 3 && y.low <= 0.0 && y.high >= 0.0),
        }
    }

    #[test]
    fn no_text_is_too_hard(text in "[-+*/() 0-9a-e.\"'=]{0,60}") {
        if let Err(problem) = Formula::parse(&text) {
            prop_assert!(problem.at <= text.chars().count(), "{:?}", problem);
        }
    }
}

#[test]
fn precedence_and_names_are_as_one_expects() {
    for (text, expected) in [
        ("1 + 2 * a", Some(7.0)),
        ("8 / 2 / 2", Some(2.0)),
        ("8 - 2 - 2", Some(4.0)),
        ("-a * 2", Some(-6.0)),
        ("a - c-d", Some(2.5)),
        ("2 - -a", Some(5.0)),
        ("excl(a)+incl(a)", Some(2.0)),
        (" ( ( a ) ) ", Some(3.0)),
        ("1 / b", None),
        ("none", None),
        ("0 * none", None),
        ("1e200 * 1e200", None),
    ] {
        assert_eq!(value_of(text).map(|value| value.low), expected, "{text}");
    }
    assert_eq!(value_of("2 / x"), Some(Value { low: 0.5, high: 2.0 }));
    assert_eq!(value_of("1 / (x - 2)"), None);
    assert!(Formula::parse("a / c-d as percent").unwrap().is_percent);
    let long = format!("1{}", "+1".repeat(499));
    assert_eq!(value_of(&long).map(|value| value.low), Some(500.0));
    let deep = format!("{}1{}", "(".repeat(499), ")".repeat(499));
    assert_eq!(value_of(&deep), Some(Value::exact(1.0)));
}

#[test]
fn problems_say_where_and_what() {
    for (text, at, cause) in [
        ("", 0, "expected a number"),
        ("a +", 3, "expected a number"),
        ("a b", 2, "expected one of + - * / or the end"),
        ("(a", 0, "no `)`"),
        ("a)", 1, "no `(`"),
        ("(a 2)", 3, "or `)`"),
        ("2.5.1", 0, "`2.5.1` is no number"),
        ("sum(a)", 0, "no function `sum`"),
        ("incl(2)", 5, "expected a metric"),
        ("\"a", 0, "no end"),
        ("a as ratio", 5, "expected `percent`"),
        ("a $", 2, "expected one of"),
    ] {
        let problem = Formula::parse(text).unwrap_err();
        assert!(problem.at == at && problem.cause.contains(cause), "{text}: {problem:?}");
    }
    assert_eq!(Formula::parse(&"1".repeat(1001)).unwrap_err().at, MOST_CHARACTERS);
    let problem = Wanted::parse("x = a +").unwrap_err();
    assert_eq!(problem.to_string(), format!("column 8: {}", Formula::parse("").unwrap_err().cause));
    for text in ["ipc", " = a", "a\nb = 2"] {
        assert!(Wanted::parse(text).is_err(), "{text}");
    }
}

#[test]
fn profiles_have_those_whose_metrics_they_have() {
    let mut profile = from_outline("main 9 realtime:3 task-clock:4\n").unwrap();
    profile.derive_ready();
    let named = |profile: &Profile| {
        profile.derived.iter().map(|of| of.name.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(named(&profile), "cpu");
    assert_eq!(profile.derived[0].shown, Shown::Percent);
    let derive = |profile: &mut Profile, text: &str| profile.derive(&Wanted::parse(text).unwrap());
    let shown = |profile: &mut Profile, formula: &str| {
        derive(profile, &format!("x = {formula}")).unwrap();
        profile.derived[profile.derived_of("x").unwrap().index()].shown
    };
    assert_eq!(shown(&mut profile, "cputime / edges"), Shown::Time);
    assert_eq!(shown(&mut profile, "cputime - realtime"), Shown::Time);
    assert_eq!(shown(&mut profile, "cputime + 1"), Shown::Number);
    assert_eq!(shown(&mut profile, "cputime * cputime / realtime"), Shown::Time);
    assert_eq!(shown(&mut profile, "1 / cputime"), Shown::Number);
    assert_eq!(shown(&mut profile, "cputime / task-clock"), Shown::Number);
    profile.info.metric.unit = "bytes".to_owned();
    assert_eq!(shown(&mut profile, "cputime / edges"), Shown::Bytes);
    assert_eq!(shown(&mut profile, "realtime / cputime"), Shown::Time);
    assert_eq!(named(&profile), "cpu x");
    assert_eq!(derive(&mut profile, "x = instrs"), Err(Unfit::NoMetric("instrs".into(), 1)));
    assert_eq!(derive(&mut profile, "realtime = 2"), Err(Unfit::IsMetric));
    assert_eq!(derive(&mut profile, "edges = 2"), Err(Unfit::IsMetric));
    derive(&mut profile, "cpu =").unwrap();
    assert_eq!(named(&profile), "x");
    for place in 0..MOST {
        let derived = derive(&mut profile, &format!("y{place} = 1"));
        assert_eq!(derived.is_err(), place == MOST - 1);
    }
}

#[test]
fn the_ready_ones_can_be_read() {
    for (name, formula) in READY {
        assert!(Wanted::new(name, formula).unwrap().formula.is_some(), "{name}");
    }
}

/// Each was counted in another half of the time: instructions per cycle of no time at all.
#[test]
fn no_ready_formula_is_over_events_that_took_turns() {
    let ready = |warning: &str| {
        let outline = "main 9 cycles:3 instructions:4 realtime:1\n";
        let mut profile = from_outline(outline).unwrap();
        profile.info.run.warnings.push(warning.to_owned());
        profile.derive_ready();
        profile.derived.iter().map(|of| of.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ready("something else"), ["ipc", "cpu"]);
    assert_eq!(ready("cycles was counted 50 % of the time"), ["cpu"]);
    assert_eq!(ready("./app: instructions was counted 50 % of the time"), ["cpu"]);
    assert_eq!(ready("L2.cycles was counted 50 % of the time"), ["ipc", "cpu"]);
}
