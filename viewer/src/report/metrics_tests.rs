//! Reports of several metrics on a small tree, as written.

use super::tests::{json_of, profile, table, text_of};
use super::{Measure, Options, View, contexts, csv};
use crate::profile::derived::{DerivedRef, Wanted};
use crate::profile::{MetricRef, Profile};
use crate::refine::{Grain, Refined, Sets, Stopped, apply, parse, unwatched};
use crate::views::columns::Column;
use crate::views::hall::{HallTable, Reach, Way, title};
use crate::views::places::places;
use crate::views::{Cost, Sort};

/// A program that computes, and waits for longer.
const WAITS: &str = "\
# thread=1 epoch=0 name=main
main 2
  compute 600 realtime:290 e=20
  read 300 realtime:290 e=15
    decode 10 realtime:4 e=10
  sleep 400 realtime:400 e=4
  log 5 realtime:3 e=5
# thread=2 epoch=0 name=waiter
wait 900 realtime:900
";

const REALTIME: MetricRef = MetricRef(1);

/// The heading says that there are none.
#[test]
fn text_has_no_columns_of_another_metric_without_samples() {
    let waits = WAITS.split("# thread=2").next().unwrap();
    let computes = waits.lines().filter(|line| !line.contains("realtime"));
    let computes = format!(
        "{}\n# thread=2 epoch=0 name=waiter\nwait 900 realtime:900\n",
        computes.collect::<Vec<_>>().join("\n")
    );
    let profile = profile(&computes);
    let heads = |refined: &Refined| {
        let table = table(refined, &Options::default());
        table
            .trim_start()
            .lines()
            .next()
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert!(heads(&Refined::base(&profile)).contains(&"realtime".to_owned()));
    let refined = apply(&profile, &parse("thread = 1").unwrap()).unwrap();
    assert!(!heads(&refined).contains(&"realtime".to_owned()));
}

#[test]
fn text_has_the_metric_looked_at_and_then_the_others() {
    let profile = profile(WAITS);
    let refined = Refined::base(&profile);
    assert_eq!(
        text_of(&refined, &Options::default()),
        "\
outline
2 217 samples on 2 threads of 1 process
no samples lost
330 samples of cputime, 5.00 ms each: 1.65 s; shown 100% + out 0% = 100%
1 887 samples of realtime, 5.00 ms each: 9.44 s; shown 100% + out 0% = 100%

incl cputime     %  excl %    edges  time/edge       calls  realtime     %  excl %  call path
      1.65 s   100     0.6  running                           4.93 s  52.3       .  main
      1.55 s  93.9    93.9       20    77.5 ms    few long    1.45 s  15.4    15.4   compute
     80.0 ms   4.8     3.0       15    5.33 ms    few long    1.47 s  15.6    15.4   read
     30.0 ms   1.8     1.8       10    3.00 ms  many short   20.0 ms   0.2     0.2    decode
        0 ns     0       .        4       0 ns    few long    2.00 s  21.2    21.2   sleep
        0 ns     0       .  running                           4.50 s  47.7    47.7  wait

Left out: rows below 1% of every metric (--threshold).
Edges are returns of calls that a sample of any metric met, not calls; time/edge is of cputime.
Where no metric has much more than its period for each edge, calls are short and more than
the edges; where one has well above it, long and about as many.
"
    );
    let by_realtime = Sort::by(Column::cost_of(REALTIME, Cost::Inclusive));
    let options = Options { view: View::Flat, sort: Some(by_realtime), ..Options::default() };
    assert_eq!(
        table(&refined, &options),
        "
incl cputime     %  excl %    edges  time/edge       calls  realtime     %  excl %  function
        0 ns     0       .  running                           4.50 s  47.7    47.7  wait
        0 ns     0       .        4       0 ns    few long    2.00 s  21.2    21.2  sleep
     80.0 ms   4.8     3.0       15    5.33 ms    few long    1.47 s  15.6    15.4  read
      1.55 s  93.9    93.9       20    77.5 ms    few long    1.45 s  15.4    15.4  compute
     30.0 ms   1.8     1.8       10    3.00 ms  many short   20.0 ms   0.2     0.2  decode
"
    );
    let options = Options { measure: Some(Measure::Samples), limit: Some(2), ..Options::default() };
    assert_eq!(
        table(&refined.looking_at(REALTIME), &options),
        "
incl realtime samples     %  excl %    edges  time/edge     calls  cputime     %  excl %  call path
                  987  52.3       .  running                           330   100     0.6  main
                  290  15.4    15.4       20    72.5 ms  few long      310  93.9    93.9   compute
                                                                                           ... 3 \
         more, together 5.5% of cputime, 36.9% of realtime
                                                                                          ... 1 \
         more, together 47.7% of realtime
"
    );
}

#[test]
fn the_path_of_a_table_has_every_metric() {
    let profile = profile(WAITS);
    let refined = Refined::base(&profile).looking_at(REALTIME);
    let path = Sets::default().parse_path("read").unwrap();
    let (way, reach) = (Way::Down, Reach::Immediate);
    let table = unwatched(|watch| {
        Stopped::nested(HallTable::new(&refined, path.as_ref(), way, reach, watch))
    })
    .unwrap();
    let table = Some((table, title(path.as_ref(), way, reach)));
    let text = text_of(&refined, &Options { view: View::Tables, table, ..Options::default() });
    let line = "\npath: read: 1.47 s, 15.6% of realtime; 80.0 ms, 4.8% of cputime\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn what_places_cost_is_not_added_up() {
    let profile = profile("f 50 realtime:20 at:f.c:1\n  g 50 at:g.c:1\n    h 50 at:h.c:1\n");
    let forest = unwatched(|watch| places(&Refined::base(&profile), Grain::File, watch));
    let options = Options { view: View::Places, limit: Some(1), ..Options::default() };
    assert_eq!(
        table(&forest, &options),
        "
incl cputime    %  excl %  realtime    %  excl %  place
      650 ms  100    23.1    100 ms  100     100  f.c
                                                   ... 1 more
                                                  ... 2 more
"
    );
}

#[test]
fn machines_get_every_metric() {
    let profile = profile("main 3 realtime:1\n  wait 5 realtime:5 e=2\n  f 2\n");
    let refined = Refined::base(&profile).looking_at(REALTIME);
    assert_eq!(
        json_of(&refined, &Options::default()),
        r#"{"metric":"samples","unit":"samples","period":5000000,"base":6,"shown":6,"out":0,"metrics":[{"name":"cputime","unit":"samples","period":5000000,"base":4,"shown":4,"out":0},{"name":"realtime","unit":"samples","period":5000000,"base":6,"shown":6,"out":0}],"rows":[
{"depth":0,"function":"main","module":null,"file":null,"line":null,"kind":"call","inclusive":6,"exclusive":1,"edges":0,"address":null,"metrics":{"cputime":{"inclusive":4,"exclusive":2},"realtime":{"inclusive":6,"exclusive":1}}},
{"depth":1,"function":"wait","module":null,"file":null,"line":null,"kind":"call","inclusive":5,"exclusive":5,"edges":2,"address":null,"metrics":{"cputime":{"inclusive":0,"exclusive":0},"realtime":{"inclusive":5,"exclusive":5}}},
{"depth":1,"function":"f","module":null,"file":null,"line":null,"kind":"call","inclusive":0,"exclusive":0,"edges":0,"address":null,"metrics":{"cputime":{"inclusive":2,"exclusive":2},"realtime":{"inclusive":0,"exclusive":0}}}
]}
"#
    );
    let options = Options { measure: Some(Measure::Source), ..Options::default() };
    let mut out = Vec::new();
    csv::write(&refined, &options, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "\
depth,function,module,file,line,kind,inclusive,exclusive,edges_low,edges_high,address,cputime_inclusive,cputime_exclusive,realtime_inclusive,realtime_exclusive
0,main,,,,call,30000000,5000000,0,0,,20000000,10000000,30000000,5000000
1,wait,,,,call,25000000,25000000,2,2,,0,0,25000000,25000000
1,f,,,,call,0,0,0,0,,10000000,10000000,0,0
");
}

#[test]
fn processes_and_threads_have_every_metric() {
    let profile = profile(WAITS);
    let refined = Refined::base(&profile);
    let written = |write: fn(&Refined, &Options, &mut Vec<u8>) -> std::io::Result<()>| {
        let mut out = Vec::new();
        write(&refined, &Options { ascii: true, ..Options::default() }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let text = written(contexts::text);
    let (_, text) = text.split_once("\n\n").unwrap();
    assert_eq!(
        text,
        "\
cputime    %  imbalance  realtime     %  processes and their threads
 1.65 s  100               9.44 s   100  pid 1000 
 1.65 s  100               4.93 s  52.3   1 main
   0 ns    0               4.50 s  47.7   2 waiter

"
    );
    assert_eq!(
        written(contexts::json),
        r#"{"metric":"samples","unit":"samples","period":5000000,"base":330,"shown":330,"out":0,"imbalance":0,"peers":0,"metrics":[{"name":"cputime","unit":"samples","period":5000000,"base":330,"shown":330,"out":0},{"name":"realtime","unit":"samples","period":5000000,"base":1887,"shown":1887,"out":0}],"clusters":null,"rows":[
{"depth":0,"kind":"process","name":"","rank":null,"host":null,"pid":1000,"tid":null,"threads":2,"stage":"process = 1000","inclusive":330,"imbalance":0,"peer":false,"metrics":{"cputime":{"inclusive":330,"imbalance":0},"realtime":{"inclusive":1887,"imbalance":0}}},
{"depth":1,"kind":"thread","name":"main","rank":null,"host":null,"pid":1000,"tid":1,"threads":1,"stage":"thread = 1","inclusive":330,"imbalance":null,"peer":false,"metrics":{"cputime":{"inclusive":330,"imbalance":null},"realtime":{"inclusive":987,"imbalance":null}}},
{"depth":1,"kind":"thread","name":"waiter","rank":null,"host":null,"pid":1000,"tid":2,"threads":1,"stage":"thread = 2","inclusive":0,"imbalance":null,"peer":false,"metrics":{"cputime":{"inclusive":0,"imbalance":null},"realtime":{"inclusive":900,"imbalance":null}}}
]}
"#
    );
    assert_eq!(written(contexts::csv), "\
depth,kind,name,rank,host,pid,tid,threads,stage,inclusive,imbalance,peer,cputime_inclusive,cputime_imbalance,realtime_inclusive,realtime_imbalance
0,process,,,,1000,,2,process = 1000,330,0,false,330,0,1887,0
1,thread,main,,,1000,1,1,thread = 1,330,,false,330,,987,
1,thread,waiter,,,1000,2,1,thread = 2,0,,false,0,,900,
");
}

#[test]
fn a_metric_that_has_no_samples_is_there() {
    let profile = profile("wait 5 realtime:5\n");
    assert_eq!(
        text_of(&Refined::base(&profile), &Options::default()),
        "\
outline
5 samples on 1 thread of 1 process
no samples lost
0 samples of cputime, 5.00 ms each: 0 ns
5 samples of realtime, 5.00 ms each: 25.0 ms; shown 100% + out 0% = 100%

incl cputime  %  excl %    edges  time/edge  calls  realtime    %  excl %  call path
        0 ns  0       .  running                     25.0 ms  100     100  wait

Edges are returns of calls that a sample of any metric met, not calls; time/edge is of cputime.
Where no metric has much more than its period for each edge, calls are short and more than
the edges; where one has well above it, long and about as many.
"
    );
}

#[test]
fn the_metrics_there_are_are_named() {
    let profile = profile("f 3 realtime:1 task-clock:1\n");
    assert_eq!(Measure::named("realtime", &profile), Ok((Measure::Source, REALTIME)));
    assert_eq!(
        Measure::named("misses", &profile),
        Err("no metric `misses` in this profile; it has `samples`, `cputime`, `realtime` and \
             `task-clock`"
            .to_owned())
    );
}

/// A formula that divides by nothing here and there, one of a single metric, and one of edges.
fn with_derived() -> Profile {
    let mut profile = profile(WAITS);
    profile.derive_ready();
    for text in ["rest = realtime - cputime", "=x each = cputime / edges"] {
        let (name, formula) = text.rsplit_once(" = ").unwrap();
        profile.derive(&Wanted::new(name, formula).unwrap()).unwrap();
    }
    profile
}

#[test]
fn derived_metrics_have_columns_in_every_form() {
    let profile = with_derived();
    let refined = Refined::base(&profile);
    let cpu = Sort::by(Column::derived_of(DerivedRef(0), Cost::Exclusive));
    let options = Options { view: View::Flat, sort: Some(cpu), ..Options::default() };
    let text = table(&refined, &options);
    // Behind the columns of the metrics.
    let derived = text.lines().map(|line| line.get(82..).unwrap_or("")).collect::<Vec<_>>();
    assert_eq!(
        derived.join("\n"),
        "
    cpu  excl cpu      rest  excl rest  =x each  excl =x each  function
   150%      150%  -10.0 ms   -10.0 ms  3.00 ms       3.00 ms  decode
   107%      107%   -100 ms    -100 ms  77.5 ms       77.5 ms  compute
  5.44%     3.45%    1.39 s     1.40 s  5.33 ms       3.33 ms  read
     0%        0%    4.50 s     4.50 s                         wait
     0%        0%    2.00 s     2.00 s     0 ns          0 ns  sleep"
    );
    let json: serde_json::Value = serde_json::from_str(&json_of(&refined, &options)).unwrap();
    assert_eq!(json["derived"][0]["name"], "cpu");
    assert_eq!(json["derived"][0]["formula"], "cputime / realtime as percent");
    assert_eq!(json["derived"][1]["unit"], "ns");
    let row = |name: &str| {
        let rows = json["rows"].as_array().unwrap();
        rows.iter().find(|row| row["function"] == name).unwrap()["derived"].clone()
    };
    assert_eq!(row("sleep")["cpu"]["inclusive"], 0.0);
    assert_eq!(row("sleep")["rest"]["exclusive"], 2_000_000_000.0);
    assert_eq!(row("compute")["cpu"]["exclusive"], 310.0 / 290.0);
    assert_eq!(row("compute")["=x each"]["exclusive"], 310.0 * 5e6 / 20.0);
    assert!(row("main")["cpu"]["exclusive"].is_null(), "main has no realtime of its own");
    assert!(row("wait")["=x each"]["inclusive"].is_null(), "nothing has returned");
    let mut out = Vec::new();
    csv::write(&refined, &options, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let head = text.lines().next().unwrap();
    assert!(
        head.ends_with(
            ",cpu_inclusive,cpu_exclusive,rest_inclusive,rest_exclusive,'=x each_inclusive_low,\
             '=x each_inclusive_high,'=x each_exclusive_low,'=x each_exclusive_high"
        ),
        "{head}"
    );
    let line = text.lines().find(|line| line.contains(",sleep,")).unwrap();
    assert!(line.ends_with(",0,0,2000000000,2000000000,0,0,0,0"), "{line}");
    let fields = |line: &str| line.split(',').count();
    assert!(text.lines().all(|line| fields(line) == fields(head)), "{text}");
}

#[test]
fn processes_and_threads_have_derived_metrics() {
    let profile = with_derived();
    let refined = Refined::base(&profile);
    let mut out = Vec::new();
    contexts::csv(&refined, &Options::default(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let head = text.lines().next().unwrap();
    assert!(head.contains(",cpu_inclusive,rest_inclusive,"), "{head}");
}
