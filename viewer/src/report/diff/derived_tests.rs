//! Formulas of comparisons, held against those of each side alone.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{Options, csv, json, text};
use crate::profile::derived::{Unfit, Wanted};
use crate::profile::{Profile, from_outline};
use crate::refine::{apply, parse};
use crate::report;
use crate::views::View;

const BASE: &str = "\
main 2 realtime:1
  solve 300 realtime:100
    dot 40 realtime:7
  wait 80 realtime:80
  exchange 1
    MPI_Send 93 realtime:60
";

const OTHER: &str = "\
main 4 realtime:2
  solve 200 realtime:120
    dot 70 realtime:9
    axpy 5
  exchange 1
    MPI_Send 193 realtime:160
      poll 6 realtime:5
";

/// A ratio, which may have nothing to divide by, a sum of unlike costs, and a named cost.
const FORMULAS: [&str; 3] = [
    "cpu = cputime / realtime as percent",
    "all = cputime + 2 * realtime",
    "rest = incl(cputime) - excl(realtime)",
];

fn run(outline: &str, start: u64) -> Profile {
    let mut run = from_outline(outline).unwrap();
    run.info.run.start_unix_ns = start;
    run
}

fn with_formulas(mut profile: Profile) -> Profile {
    for formula in FORMULAS {
        profile.derive(&Wanted::parse(formula).unwrap()).unwrap();
    }
    profile
}

fn compared(base: Vec<Profile>, other: Vec<Profile>, beside: &[&str]) -> Profile {
    let named = |side: &str, runs: Vec<Profile>| {
        let name = |(number, run)| (format!("{side}{number}"), run);
        (0..).zip(runs).map(name).collect::<Vec<(String, Profile)>>()
    };
    let sides = [named("base", base), named("other", other)];
    Profile::compared_beside(sides, None, beside, &[]).unwrap()
}

fn object(write: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> Json {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// The rows by their paths.
fn rows(object: &Json) -> BTreeMap<Vec<String>, Json> {
    let mut path = Vec::new();
    let rows = object["rows"].as_array().unwrap().iter().map(|row| {
        path.truncate(row["depth"].as_u64().unwrap() as usize);
        path.push(format!("{} {}", row["function"], row["kind"]));
        (path.clone(), row.clone())
    });
    rows.collect()
}

#[test]
fn each_side_has_what_its_profile_has_alone() {
    let sides = || [run(BASE, 1), run(OTHER, 2)];
    let [base, other] = sides();
    let both = with_formulas(compared(vec![base], vec![other], &["realtime"]));
    for stages in ["", "hide exchange", "through solve", "not through MPI_*", "callers of MPI_Send"]
    {
        let stages = parse(stages).unwrap();
        for view in [View::TopDown, View::Flat, View::Callers] {
            let options = Options { view, depth: Some(9), ..Options::default() };
            let refined = apply(&both, &stages).unwrap();
            let found = rows(&object(|out| json::write(&refined, &options, out)));
            for (side, alone) in ["base", "other"].into_iter().zip(sides()) {
                let refined = apply(&with_formulas(alone), &stages).unwrap();
                let alone = rows(&object(|out| report::json::write(&refined, &options, out)));
                assert!(view == View::Callers || !alone.is_empty());
                for (path, row) in alone {
                    let Some(same) = found.get(&path) else { panic!("{view:?} {path:?}") };
                    for name in ["cpu", "all", "rest"] {
                        let (own, of) = (&row["derived"][name], &same["derived"][name]);
                        assert_eq!(of[side], own["inclusive"], "{view:?} {path:?} {name}");
                        let exclusive = &of[format!("excl_{side}")];
                        assert_eq!(exclusive, &own["exclusive"], "{view:?} {path:?} {name}");
                    }
                }
            }
        }
    }
}

/// What is compared is not changed by what stands beside it.
#[test]
fn formulas_change_nothing_else() {
    let several = |beside: &[&str]| {
        let base = vec![run(BASE, 1), run(OTHER, 2)];
        compared(base, vec![run(OTHER, 3), run(BASE, 4), run(BASE, 5)], beside)
    };
    let two = |beside: &[&str]| compared(vec![run(BASE, 1)], vec![run(OTHER, 2)], beside);
    let makes: [&dyn Fn(&[&str]) -> Profile; 2] = [&two, &several];
    for make in makes {
        for stages in ["", "hide exchange", "not through solve"] {
            for view in [View::TopDown, View::Flat, View::Callers] {
                let options = Options { view, depth: Some(9), ..Options::default() };
                let object = |profile: &Profile| {
                    let refined = apply(profile, &parse(stages).unwrap()).unwrap();
                    object(|out| json::write(&refined, &options, out))
                };
                let (without, with) =
                    (object(&make(&[])), object(&with_formulas(make(&["realtime"]))));
                for key in ["base", "other", "delta", "noise", "low", "high", "unit"] {
                    assert_eq!(with[key], without[key], "{key}");
                }
                let mut with = rows(&with);
                for (path, row) in rows(&without) {
                    let mut same = with.remove(&path).unwrap();
                    same.as_object_mut().unwrap().remove("derived");
                    assert_eq!(same, row, "{path:?}");
                }
                // Rows that have something of the other metric alone.
                for (path, row) in with {
                    let both = ["base", "other"].map(|side| row[side]["inclusive"].as_f64());
                    assert_eq!(both, [Some(0.0); 2], "{path:?}");
                }
            }
        }
    }
}

#[test]
fn differences_and_means_are_those_of_the_values() {
    let base = vec![run(BASE, 1), run(OTHER, 2)];
    let profile = with_formulas(compared(base, vec![run(BASE, 3)], &["realtime"]));
    let refined = apply(&profile, &parse("").unwrap()).unwrap();
    let options = Options { view: View::Flat, ..Options::default() };
    let found = rows(&object(|out| json::write(&refined, &options, out)));
    let row = |name: &str| {
        let of = found.iter().find(|(path, _)| path[0].contains(name)).unwrap().1;
        of["derived"].clone()
    };
    // 5 ms for each sample of both metrics.
    let all = |cputime: f64, realtime: f64| (cputime + 2.0 * realtime) * 5e6;
    let wait = row("wait");
    assert_eq!(wait["all"]["excl_base"], all(0.0, 40.0));
    assert_eq!(wait["all"]["excl_other"], all(0.0, 80.0));
    assert_eq!(wait["all"]["excl_delta"], all(0.0, 40.0));
    // Of the sums, not a mean of ratios.
    let dot = row("dot");
    assert_eq!(dot["cpu"]["base"], (33.0 + 61.0) / (7.0 + 9.0));
    let axpy = row("axpy");
    assert!(axpy["cpu"]["base"].is_null() && axpy["cpu"]["delta"].is_null(), "{axpy}");

    let mut out = Vec::new();
    csv::write(&refined, &options, &mut out).unwrap();
    let text_of_csv = String::from_utf8(out).unwrap();
    let head = text_of_csv.lines().next().unwrap();
    let names = "cpu_base,cpu_other,cpu_delta,cpu_excl_base,cpu_excl_other,cpu_excl_delta,all_base";
    assert!(head.contains(names), "{head}");
    let fields = |line: &str| line.split(',').count();
    assert!(text_of_csv.lines().all(|line| fields(line) == fields(head)), "{text_of_csv}");

    let mut out = Vec::new();
    let options = Options { ascii: true, threshold: Some(0.0), ..options };
    text::write(&refined, &options, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let line = |name: &str| text.lines().find(|line| line.ends_with(name)).unwrap().to_owned();
    for heading in ["base excl cpu", "other excl cpu", "delta excl cpu", "delta excl all"] {
        assert!(line("function").contains(heading), "{text}");
    }
    assert!(line("wait").contains("+400 ms"), "{text}");
}

/// A metric that a run lacks, or that another run of the side has with another period.
#[test]
fn metrics_that_are_not_alike_are_refused() {
    let formula = Wanted::parse(FORMULAS[0]).unwrap();
    let mut coarse = run(OTHER, 2);
    coarse.info.further[0].metric.period *= 2;
    for base in [vec![run("main 3\n", 1)], vec![run(BASE, 1), coarse]] {
        let mut profile = compared(base, vec![run(BASE, 3)], &["realtime"]);
        let refused = profile.derive(&formula).unwrap_err();
        assert_eq!(refused, Unfit::NoMetric("realtime".to_owned(), 11));
    }
}
