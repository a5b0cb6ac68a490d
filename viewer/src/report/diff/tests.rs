//! Reports of small comparisons, as written.

use super::{Options, csv, json, text};
use crate::profile::comparison::{Rename, Scale};
use crate::profile::{Profile, from_outline};
use crate::refine::{Refined, apply, parse};
use crate::views::View;

const BASE: &str = "\
main 2
  solve 20 e=10
    dot 300 e=250 module:/usr/lib/libblas.so.3
  exchange 1 e=100
    MPI_Send 593 e=100 module:/usr/lib/libmpi.so
  log 84 e=3
";

const OTHER: &str = "\
main 2
  solve 22 e=10
    dot 150 e=130 module:/opt/lib/libblas.so.4
    axpy 70 inline
  exchange 1 e=200
    MPI_Send 655 e=200 module:/usr/lib/libmpi.so
";

fn compared(base: &str, other: &str, renames: &[&str]) -> Profile {
    let [base, other] = [base, other].map(|text| from_outline(text).unwrap());
    let renames: Vec<_> = renames.iter().map(|rule| Rename::parse(rule).unwrap()).collect();
    Profile::compared(("old.csprof", base), ("new.csprof", other), &renames).unwrap()
}

fn text_of(refined: &Refined, options: &Options) -> String {
    let mut out = Vec::new();
    text::write(refined, options, &mut out).unwrap();
    format!("\n{}", String::from_utf8(out).unwrap())
}

#[test]
fn text() {
    let profile = compared(BASE, OTHER, &[]);
    assert_eq!(
        text_of(&Refined::base(&profile), &Options::default()),
        r#"
base   old.csprof  1 000 × 5.00 ms of cputime = 5.00 s  outline
other  new.csprof  900 × 5.00 ms of cputime = 4.50 s  outline
shown + out: base 1 000 + 0 = 1 000 samples, other 900 + 0 = 900 samples
difference: -500 ms (-10.0%), ±436 ms: more than noise

     base   other        Δ     Δ%       ±2σ  call path
▼  5.00 s  4.50 s  -500 ms  -10.0   ±436 ms  main
▼  420 ms       .  -420 ms   gone  ±93.5 ms   log
▼  1.60 s  1.21 s  -390 ms  -24.4   ±237 ms   solve
▼  1.50 s  750 ms  -750 ms  -50.0   ±212 ms    dot
▲       .  350 ms  +350 ms    new  ±85.7 ms    axpy (inlined)
   2.97 s  3.28 s  +310 ms  +10.4   ±354 ms   exchange
   2.96 s  3.27 s  +310 ms  +10.5   ±353 ms    MPI_Send

▲ ▼ mark what differs by more than ±2σ, the noise of sampling; runs may vary by more.
"#
    );
}

#[test]
fn text_of_functions_in_ascii_with_edges() {
    let profile = compared(BASE, OTHER, &[]);
    let options = Options { view: View::Flat, edges: true, ascii: true, ..Options::default() };
    assert_eq!(
        text_of(&Refined::base(&profile), &options),
        r#"
base   old.csprof  1 000 x 5.00 ms of cputime = 5.00 s  outline
other  new.csprof  900 x 5.00 ms of cputime = 4.50 s  outline
shown + out: base 1 000 + 0 = 1 000 samples, other 900 + 0 = 900 samples
difference: -500 ms (-10.0%), +-436 ms: more than noise

   excl base  excl other    delta  delta%      +-2sd     edges  function
-     1.50 s      750 ms  -750 ms   -50.0   +-212 ms  250->130  dot
-     420 ms           .  -420 ms    gone  +-93.5 ms      3->.  log
+          .      350 ms  +350 ms     new  +-85.7 ms            axpy (inlined)
      2.96 s      3.27 s  +310 ms   +10.5   +-353 ms  100->200  MPI_Send

Left out: 3 rows with smaller differences (--threshold).
+ - mark what differs by more than +-2sd, the noise of sampling; runs may vary by more.
"#
    );
}

#[test]
fn text_of_shares_after_refinement() {
    let mut profile = compared(BASE, OTHER, &[]);
    profile.comparison.as_mut().unwrap().scale = Scale::Share;
    let refined = apply(&profile, &parse("through solve").unwrap()).unwrap();
    let refinement = Some("through solve".to_owned());
    assert_eq!(
        text_of(&refined, &Options { refinement, ..Options::default() }),
        r#"
base   old.csprof  1 000 × 5.00 ms of cputime = 5.00 s  outline
other  new.csprof  900 × 5.00 ms of cputime = 4.50 s  outline
refined: through solve
shown + out: base 320 + 680 = 1 000 samples, other 242 + 658 = 900 samples
difference: -5.1 percentage points (-16.0%), ±5.0: more than noise

   base %  other %   Δ pp     Δ%   ±2σ  call path
▼    32.0     26.9   -5.1  -16.0  ±5.0  main
▼    32.0     26.9   -5.1  -16.0  ±5.0   solve
▼    30.0     16.7  -13.3  -44.4  ±4.4    dot
▲       .      7.8   +7.8    new  ±1.9    axpy (inlined)

▲ ▼ mark what differs by more than ±2σ, the noise of sampling; runs may vary by more.
"#
    );
}

/// What a whole run grew to is a factor from ten times on, and then no percentage.
#[test]
fn growth_has_its_unit() {
    for (base, other, said) in [
        ("main 10\n", "main 20\n", "(+100%)"),
        ("main 10\n", "main 200\n", "(×20.0)"),
        ("main 10\n", "main 0\n", "(gone)"),
    ] {
        let [base, other] = [base, other].map(|outline| from_outline(outline).unwrap());
        let profile = Profile::compared(("a", base), ("b", other), &[]).unwrap();
        let options = Options::default();
        let text = text_of(&Refined::base(&profile), &options);
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn periods_that_differ_are_said_and_times_compared() {
    let [base, mut other] = ["main 10\n", "main 50\n  f 5 e=2\n"].map(|t| from_outline(t).unwrap());
    other.info.metric.period = 1_000_000;
    let profile = Profile::compared(("a", base), ("b", other), &[]).unwrap();
    let options = Options { edges: true, ..Options::default() };
    assert_eq!(
        text_of(&Refined::base(&profile), &options),
        r#"
base   a  10 × 5.00 ms of cputime = 50.0 ms  outline
other  b  55 × 1.00 ms of cputime = 55.0 ms  outline
sampled differently: times are compared, and edge counts are not
shown + out: base 10 + 0 = 10 samples, other 55 + 0 = 55 samples
difference: +5.00 ms (+10.0%), ±34.9 ms: within noise

   base    other         Δ     Δ%       ±2σ  call path
50.0 ms  55.0 ms  +5.00 ms  +10.0  ±34.9 ms  main
      .  5.00 ms  +5.00 ms    new  ±19.0 ms   f

▲ ▼ mark what differs by more than ±2σ, the noise of sampling; runs may vary by more.
"#
    );
}

#[test]
fn what_is_equal_is_not_listed() {
    let profile = compared(BASE, BASE, &[]);
    assert_eq!(
        text_of(&Refined::base(&profile), &Options::default()),
        r#"
base   old.csprof  1 000 × 5.00 ms of cputime = 5.00 s  outline
other  new.csprof  1 000 × 5.00 ms of cputime = 5.00 s  outline
shown + out: base 1 000 + 0 = 1 000 samples, other 1 000 + 0 = 1 000 samples
difference: none

No call path differs by 1% of the total; --threshold 0 shows all.
"#
    );
}

/// Runs of each side, with the samples of `f` and of `g`.
fn several(sides: [&[[u64; 2]]; 2]) -> Profile {
    let mut start = 0;
    let sides = sides.map(|runs| {
        let run = |[f, g]: &[u64; 2]| {
            let mut run = from_outline(&format!("f {f}\ng {g}\n")).unwrap();
            start += 1;
            run.info.run.start_unix_ns = start;
            (format!("run{start}"), run)
        };
        runs.iter().map(run).collect::<Vec<_>>()
    });
    Profile::compared_runs(sides, None, &[]).unwrap()
}

#[test]
fn means_of_samples_are_no_whole_numbers() {
    let mut profile = several([&[[9, 0], [9, 0]], &[[9, 0], [9, 1], [8, 0]]]);
    profile.comparison.as_mut().unwrap().scale = Scale::Samples;
    let refined = Refined::base(&profile);
    let options = Options { threshold: Some(0.0), ..Options::default() };
    let text = text_of(&refined, &options);
    assert!(text.contains("       9.0  mean"), "{text}");
    assert!(text.contains("new  ±") && text.contains("+0.3"), "{text}");
    assert!(!text.contains("ms  run1"), "runs are listed in samples: {text}");
    assert!(text.contains("difference: none"), "{text}");
    let mut out = Vec::new();
    csv::write(&refined, &options, &mut out).unwrap();
    let csv = String::from_utf8(out).unwrap();
    let of_g = csv.lines().find(|line| line.starts_with("0,g")).unwrap();
    assert!(of_g.starts_with("0,g,,,,call,0,0,0.3,0.3,0.3,0.3,"), "{of_g}");
    let mut out = Vec::new();
    json::write(&refined, &options, &mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["rows"][1]["delta"]["inclusive"], 0.3, "{json}");
    assert_eq!((&json["base"]["shown"], &json["delta"]), (&9.0.into(), &0.0.into()), "{json}");
}

/// What is listed of runs is what their mean is of.
#[test]
fn runs_are_listed_in_what_is_compared_and_shown() {
    let profile = several([&[[8, 2], [6, 4]], &[[5, 5], [5, 15]]]);
    let refined = crate::refine::apply(&profile, &crate::refine::parse("f").unwrap()).unwrap();
    let text = text_of(&refined, &Options::default());
    assert!(text.contains("40.0 ms  run1") && text.contains("25.0 ms  run4"), "{text}");
    let mut profile = profile;
    profile.comparison.as_mut().unwrap().scale = Scale::Share;
    let refined = crate::refine::apply(&profile, &crate::refine::parse("f").unwrap()).unwrap();
    let text = text_of(&refined, &Options::default());
    assert!(text.contains("80.0 %  run1") && text.contains("25.0 %  run4"), "{text}");
    assert!(text.contains("Shares are of all runs together"), "{text}");
    let mut out = Vec::new();
    super::summary::write(&refined, &Options::default(), &mut out).unwrap();
    let summary = String::from_utf8(out).unwrap();
    assert!(summary.starts_with("**`cputime` in % of all: 70.0 before, 33.3 after**"), "{summary}");
    assert!(summary.contains("-36.7 percentage points ("), "{summary}");
}

#[test]
fn a_loss_is_no_share_of_a_run_without_samples() {
    let mut profile = compared("main 1\n  f 9\n", "", &[]);
    let kind = crate::profile::comparison::ScalingKind::Strong;
    let scaling = crate::profile::comparison::Scaling { kind, workers: [1, 2] };
    profile.comparison.as_mut().unwrap().scaling = Some(scaling);
    let text = text_of(&Refined::base(&profile), &Options::default());
    assert!(text.contains("\nloss: -50.0 ms, ±"), "{text}");
}

#[test]
fn functions_that_were_renamed_are_one_row() {
    let profile = compared("main 1\n  parse 9\n", "main 1\n  read 10\n", &["parse=read"]);
    let options = Options { threshold: Some(0.0), ..Options::default() };
    let text = text_of(&Refined::base(&profile), &options);
    assert!(text.contains("read") && !text.contains("parse") && !text.contains("new "), "{text}");
}

#[test]
fn json() {
    let profile = compared(BASE, OTHER, &[]);
    let options = Options { limit: Some(2), depth: Some(2), ..Options::default() };
    let mut out = Vec::new();
    json::write(&Refined::base(&profile), &options, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"{"unit":"ns","base":{"file":"old.csprof","command":"outline","source":"cputime","period":5000000,"period_unit":"ns","lost":0,"total":5000000000,"shown":5000000000,"out":0,"samples":{"total":1000,"shown":1000,"out":0}},"other":{"file":"new.csprof","command":"outline","source":"cputime","period":5000000,"period_unit":"ns","lost":0,"total":4500000000,"shown":4500000000,"out":0,"samples":{"total":900,"shown":900,"out":0}},"delta":-500000000,"noise":435889895,"rows":[
{"depth":0,"function":"main","module":null,"file":null,"line":null,"kind":"call","base":{"inclusive":5000000000,"exclusive":10000000,"edges":0},"other":{"inclusive":4500000000,"exclusive":10000000,"edges":0},"delta":{"inclusive":-500000000,"exclusive":0},"noise":{"inclusive":435889895,"exclusive":20000000},"change":"less","significant":true},
{"depth":1,"function":"log","module":null,"file":null,"line":null,"kind":"call","base":{"inclusive":420000000,"exclusive":420000000,"edges":3},"other":{"inclusive":0,"exclusive":0,"edges":null},"delta":{"inclusive":-420000000,"exclusive":-420000000},"noise":{"inclusive":93489134,"exclusive":93489134},"change":"gone","significant":true}
]}
"#
    );
}

#[test]
fn csv() {
    let profile = compared("f 3\n", "f 1\ng 2\n", &[]);
    let mut out = Vec::new();
    csv::write(&Refined::base(&profile), &Options::default(), &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"depth,function,module,file,line,kind,base_inclusive,base_exclusive,other_inclusive,other_exclusive,delta_inclusive,delta_exclusive,noise_inclusive,noise_exclusive,change,significant
0,f,,,,call,15000000,15000000,5000000,5000000,-10000000,-10000000,20000000,20000000,less,false
0,g,,,,call,0,0,10000000,10000000,10000000,10000000,23242591,23242591,new,false
"#
    );
}
