//! Reports on small trees, as written.

use super::{Options, contexts, csv, json, text};
use crate::profile::{MetricRef, Profile, from_outline};
use crate::refine::{Refined, apply, parse};
use crate::views::columns::Column;
use crate::views::measure::Measure;
use crate::views::{Sort, View};

pub(super) fn profile(outline: &str) -> Profile {
    from_outline(outline).unwrap()
}

/// The text without its heading and notes.
pub(super) fn table(refined: &Refined, options: &Options) -> String {
    let text = text_of(refined, options);
    let mut parts = text.split("\n\n");
    format!("\n{}\n", parts.nth(1).unwrap_or_default().trim_end())
}

pub(super) fn text_of(refined: &Refined, options: &Options) -> String {
    let mut out = Vec::new();
    let options = Options { ascii: true, ..options.clone() };
    text::write(refined, &options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(super) fn json_of(refined: &Refined, options: &Options) -> String {
    let mut out = Vec::new();
    json::write(refined, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const OUTLINE: &str = "\
main 2
  solve 20 e=90
    dot 300 e=250 module:/usr/lib/libblas.so
    axpy 70 inline
    norm 4 e=4
    scale 7 e=7
  exchange 1 e=100
    MPI_Send 593 e=100 module:/usr/lib/libmpi.so
  log 3 e=3
";

#[test]
fn text_has_a_heading_the_hot_rows_and_notes() {
    let profile = profile(OUTLINE);
    assert_eq!(
        text_of(&Refined::base(&profile), &Options::default()),
        "\
outline
1 000 samples of cputime, 5.00 ms each: 5.00 s on 1 thread of 1 process
no samples lost
shown 100% + out 0% = 100%

incl time     %  excl %    edges  time/edge     calls  call path
   5.00 s   100     0.2  running                       main
   2.97 s  59.4     0.1      100    29.7 ms  few long   exchange
   2.96 s  59.3    59.3      100    29.6 ms  few long    MPI_Send
   2.00 s  40.1     2.0       90    22.3 ms  few long   solve
   1.50 s  30.0    30.0      250    6.00 ms     mixed    dot
   350 ms   7.0     7.0                                  axpy (inlined)

Left out: rows below 1% (--threshold).
Edges are returns of calls that a sample met, not calls. Near one period (5.00 ms) per edge,
calls are short and more than the edges; well above it, long and about as many.
"
    );
}

#[test]
fn small_rows_are_mentioned_where_they_are_not_small_together() {
    let profile = profile(
        "\
main 902
  a 8
  b 8
  c 8
  d 8
  solve 61
    e 5
",
    );
    assert_eq!(
        table(&Refined::base(&profile), &Options::default()),
        "
incl time    %  excl %    edges  time/edge  calls  call path
   5.00 s  100    90.2  running                    main
   330 ms  6.6     6.1  running                     solve
                                                    ... 4 more, together 3.2%
"
    );
}

#[test]
fn a_limit_keeps_the_costliest_rows() {
    let profile = profile(OUTLINE);
    let options = Options { limit: Some(3), ..Options::default() };
    assert_eq!(
        table(&Refined::base(&profile), &options),
        "
incl time     %  excl %    edges  time/edge     calls  call path
   5.00 s   100     0.2  running                       main
   2.97 s  59.4     0.1      100    29.7 ms  few long   exchange
   2.96 s  59.3    59.3      100    29.6 ms  few long    MPI_Send
                                                        ... 2 more, together 40.4%
"
    );
}

#[test]
fn a_list_in_another_order_is_cut_in_that_order_and_says_so() {
    let profile = profile(OUTLINE);
    let refined = Refined::base(&profile);
    let text = |sort| {
        let options = Options { view: View::Flat, limit: Some(1), sort, ..Options::default() };
        let mut out = Vec::new();
        text::write(&refined, &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert!(text(None).contains("after the costliest 1 row (--limit)"), "{}", text(None));
    let by_name = text(Some(Sort { key: Column::NAME, reversed: false }));
    assert!(by_name.contains("after the first 1 row (--limit)"), "{by_name}");
}

#[test]
fn depth_is_a_number_of_levels() {
    let profile = profile(OUTLINE);
    let options = Options { depth: Some(2), threshold: Some(0.0), ..Options::default() };
    assert_eq!(
        table(&Refined::base(&profile), &options),
        "
incl time     %  excl %    edges  time/edge     calls  call path
   5.00 s   100     0.2  running                       main
   2.97 s  59.4     0.1      100    29.7 ms  few long   exchange ...
   2.00 s  40.1     2.0       90    22.3 ms  few long   solve ...
  15.0 ms   0.3     0.3        3    5.00 ms             log
"
    );
}

#[test]
fn callers_stand_below_functions() {
    let profile = profile(OUTLINE);
    let options = Options { view: View::Callers, threshold: Some(5.0), ..Options::default() };
    assert_eq!(
        table(&Refined::base(&profile), &options),
        "
incl time     %  excl %  edges  time/edge     calls  function, callers below it
   2.96 s  59.3    59.3    100    29.6 ms  few long  MPI_Send
   2.96 s  59.3    59.3    100    29.6 ms  few long   exchange
   2.96 s  59.3    59.3    100    29.6 ms  few long    main
   1.50 s  30.0    30.0    250    6.00 ms     mixed  dot
   1.50 s  30.0    30.0    250    6.00 ms     mixed   solve
   1.50 s  30.0    30.0    250    6.00 ms     mixed    main
   350 ms   7.0     7.0                              axpy (inlined)
   350 ms   7.0     7.0                               solve
   350 ms   7.0     7.0                                main
"
    );
}

#[test]
fn flat_rows_come_by_exclusive_cost() {
    let profile = profile(OUTLINE);
    let options = Options {
        view: View::Flat,
        measure: Some(Measure::Samples),
        threshold: Some(0.3),
        ..Options::default()
    };
    assert_eq!(
        table(&Refined::base(&profile), &options),
        "
incl samples     %  excl %  edges  time/edge       calls  function
         593  59.3    59.3    100    29.6 ms    few long  MPI_Send
         300  30.0    30.0    250    6.00 ms       mixed  dot
          70   7.0     7.0                                axpy (inlined)
         401  40.1     2.0     90    22.3 ms    few long  solve
           7   0.7     0.7      7    5.00 ms  many short  scale
           4   0.4     0.4      4    5.00 ms              norm
           3   0.3     0.3      3    5.00 ms              log
"
    );
}

#[test]
fn a_refinement_is_named_and_accounted_for() {
    let profile = profile(OUTLINE);
    let refined = apply(&profile, &parse("through MPI_*").unwrap()).unwrap();
    let options = Options { refinement: Some("through MPI_*".to_owned()), ..Options::default() };
    assert_eq!(
        text_of(&refined, &options),
        "\
outline
1 000 samples of cputime, 5.00 ms each: 5.00 s on 1 thread of 1 process
no samples lost
refined: through MPI_*
shown 59.3% + out 40.7% = 100%

incl time     %  excl %    edges  time/edge     calls  call path
   2.96 s  59.3       .  running                       main
   2.96 s  59.3       .  99..100             few long   exchange
   2.96 s  59.3    59.3      100    29.6 ms  few long    MPI_Send

Percentages are of all that was measured.
Edges are returns of calls that a sample met, not calls. Near one period (5.00 ms) per edge,
calls are short and more than the edges; well above it, long and about as many.
"
    );
    assert_eq!(
        json_of(&refined, &options),
        r#"{"metric":"samples","unit":"samples","period":5000000,"refined":"through MPI_*","base":1000,"shown":593,"out":407,"rows":[
{"depth":0,"function":"main","module":null,"file":null,"line":null,"kind":"call","inclusive":593,"exclusive":0,"edges":0,"address":null},
{"depth":1,"function":"exchange","module":null,"file":null,"line":null,"kind":"call","inclusive":593,"exclusive":0,"edges":[99,100],"address":null},
{"depth":2,"function":"MPI_Send","module":"/usr/lib/libmpi.so","file":null,"line":null,"kind":"call","inclusive":593,"exclusive":593,"edges":100,"address":null}
]}
"#
    );
}

#[test]
fn json_has_every_row_of_the_callers_view_two_levels_deep() {
    let profile = profile("main 1\n  f 2 e=1\n    g 4 inline\n  g 8 e=8\n");
    let options = Options { view: View::Callers, ..Options::default() };
    assert_eq!(
        json_of(&Refined::base(&profile), &options),
        r#"{"metric":"samples","unit":"samples","period":5000000,"base":15,"shown":15,"out":0,"rows":[
{"depth":0,"function":"g","module":null,"file":null,"line":null,"kind":"call","inclusive":12,"exclusive":12,"edges":8,"address":null},
{"depth":1,"function":"main","module":null,"file":null,"line":null,"kind":"call","inclusive":8,"exclusive":8,"edges":8,"address":null},
{"depth":1,"function":"f","module":null,"file":null,"line":null,"kind":"call","inclusive":4,"exclusive":4,"edges":null,"address":null},
{"depth":0,"function":"f","module":null,"file":null,"line":null,"kind":"call","inclusive":6,"exclusive":2,"edges":1,"address":null},
{"depth":1,"function":"main","module":null,"file":null,"line":null,"kind":"call","inclusive":6,"exclusive":2,"edges":1,"address":null},
{"depth":0,"function":"main","module":null,"file":null,"line":null,"kind":"call","inclusive":15,"exclusive":1,"edges":0,"address":null}
]}
"#
    );
}

#[test]
fn csv_quotes_names_and_splits_bounds() {
    let profile =
        profile("main 1\n  \"f(int, char)\" 2 e=4\n    k 3 e=3 module:/lib/k.so\n    l inline\n");
    let refined = apply(&profile, &parse("through k").unwrap()).unwrap();
    let options = Options { measure: Some(Measure::Source), ..Options::default() };
    let mut out = Vec::new();
    csv::write(&refined, &options, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"depth,function,module,file,line,kind,inclusive,exclusive,edges_low,edges_high,address
0,main,,,,call,15000000,0,0,0,
1,"f(int, char)",,,,call,15000000,0,2,3,
2,k,/lib/k.so,,,call,15000000,15000000,3,3,
"#
    );
}

#[test]
fn addresses_have_build_ids_and_the_lines_of_calls() {
    let mut profile = profile(
        "main\n  mm 2 e=1 module:/opt/mm at:mm.c:12 loop:mm.c:10\n  mm 4 module:/opt/mm at:mm.c:15 \
         loop:mm.c:10\n",
    );
    profile.info.modules[0].build_id = vec![0x0a, 0xcd];
    let refined = apply(&profile, &parse("by address").unwrap()).unwrap();
    let options = Options { addresses: true, ..Options::default() };
    assert_eq!(
        json_of(&refined, &options).lines().skip(1).collect::<Vec<_>>(),
        [
            r#"{"depth":0,"function":"main","module":null,"file":null,"line":null,"kind":"call","inclusive":6,"exclusive":0,"edges":0,"address":null,"build_id":null,"call_file":null,"call_line":null},"#,
            r#"{"depth":1,"function":"mm","module":"/opt/mm","file":null,"line":null,"kind":"call","inclusive":4,"exclusive":4,"edges":[0,1],"address":1,"build_id":"0acd","call_file":"mm.c","call_line":15},"#,
            r#"{"depth":1,"function":"mm","module":"/opt/mm","file":null,"line":null,"kind":"call","inclusive":2,"exclusive":2,"edges":1,"address":0,"build_id":"0acd","call_file":"mm.c","call_line":12}"#,
            "]}",
        ]
    );
    let mut out = Vec::new();
    csv::write(&refined, &options, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "depth,function,module,file,line,kind,inclusive,exclusive,edges_low,edges_high,address,\
         build_id,call_file,call_line\n\
         0,main,,,,call,6,0,0,0,,,,\n\
         1,mm,/opt/mm,,,call,4,4,0,1,1,0acd,mm.c,15\n\
         1,mm,/opt/mm,,,call,2,2,1,1,0,0acd,mm.c,12\n"
    );
}

#[test]
fn a_place_is_said_once() {
    let mut profile = profile("main 1\n  mm 2 at:src/mm.c:12 loop:src/mm.c:10\n");
    for function in profile.functions.iter_mut().skip(2) {
        (function.file, function.line) = (profile.frames[2].file, 9);
    }
    let shown = |stages: &str| {
        let refined = apply(&profile, &parse(stages).unwrap()).unwrap();
        let text = table(&refined, &Options::default());
        text.lines()
            .skip(3)
            .map(|line| line.split_once("  mm").unwrap_or_default().1.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(""), ["  mm.c:9"]);
    assert_eq!(shown("by line"), [" mm.c:12"]);
}

const RANKS: &str = "\
# rank=0 thread=10 epoch=0 name=main
main 300
# rank=0 thread=11 epoch=0 name=worker
work 100
  main 190
# rank=0 thread=12 epoch=0 name=idle
wait 2
# rank=1 thread=20 epoch=0 name=main
main 408
";

fn ranks() -> Profile {
    let mut profile = profile(RANKS);
    for process in &mut profile.info.processes {
        process.command = vec![b"./solver".to_vec(), b"in.txt".to_vec()];
    }
    profile
}

#[test]
fn processes_and_threads_are_listed_with_their_imbalance() {
    let profile = ranks();
    let refined = Refined::base(&profile);
    let table = |options: &Options| {
        let mut out = Vec::new();
        contexts::text(&refined, &Options { ascii: true, ..options.clone() }, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (_, table) = text.split_once("= 100%\n").unwrap();
        table.to_owned()
    };
    assert_eq!(
        table(&Options::default()),
        "
  time     %  imbalance  processes and their threads
2.96 s  59.2    50.0 ms  rank 0, pid 1000 ./solver in.txt
1.50 s  30.0              10 main
1.45 s  29.0              11 worker
2.04 s  40.8             rank 1, pid 1001 ./solver in.txt

... 1 row more (--threshold)
Imbalance of the 2 ranks: 920 ms.
Imbalance is what peers together wait for the one with most, if they wait for each other:
(most - mean) x number. Peers are ranks; without ranks, processes of one program and parent;
of a process, threads: those that run at one time and do the same work.
"
    );
    let options = Options { depth: Some(1), measure: Some(Measure::Samples), ..Options::default() };
    assert!(table(&options).contains(
        "
samples     %  imbalance  processes and their threads
    592  59.2         10  rank 0, pid 1000 ./solver in.txt
    408  40.8             rank 1, pid 1001 ./solver in.txt

Imbalance of the 2 ranks: 184.
"
    ));
    assert!(!table(&options).contains("programs"));
    let options = Options { limit: Some(2), threshold: Some(0.0), ..Options::default() };
    let few = table(&options);
    assert!(few.contains("... 3 rows more (--limit)") && !few.contains("11 worker"), "{few}");
}

/// Above a hundred ranks each has less than one percent.
#[test]
fn many_ranks_are_listed_worst_first() {
    let rank = |rank: usize| {
        let samples = 1000 + rank % 7;
        format!("# rank={rank} thread={rank} epoch=0\nmain\n  solve {samples}\n")
    };
    let outline: String = (0..200).map(rank).collect();
    let profile = profile(&outline);
    let of = |refinement: &str, write: &dyn Fn(&Refined, &Options, &mut Vec<u8>)| {
        let refined = apply(&profile, &parse(refinement).unwrap()).unwrap();
        let mut out = Vec::new();
        write(&refined, &Options::default(), &mut out);
        String::from_utf8(out).unwrap()
    };
    let list = of("", &|refined, options, out| contexts::text(refined, options, out).unwrap());
    let ranks: Vec<&str> = list.lines().filter(|line| line.contains(", pid ")).collect();
    assert_eq!(ranks.len(), 60, "{list}");
    assert!(ranks[0].contains("rank 6,") && ranks[1].contains("rank 13,"), "{list}");
    assert!(list.contains("140 rows more (--limit)"), "{list}");
    let split =
        of("split rank", &|refined, options, out| text::write(refined, options, out).unwrap());
    assert_eq!(split.lines().filter(|line| line.contains("rank=")).count(), 60, "{split}");
    let text = |options: &Options| {
        let mut out = Vec::new();
        contexts::text(&Refined::base(&profile), options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let one = text(&Options { threshold: Some(1.0), ..Options::default() });
    assert!(one.contains("200 rows more (--threshold)"), "{one}");
}

#[test]
fn processes_of_one_program_are_added_up() {
    let third = format!("{RANKS}# rank=2 thread=30 epoch=0 name=main\nlaunch 900\n");
    let mut profile = profile(&third);
    let commands = ["/opt/bin/solver", "./solver", "mpirun"];
    for (process, command) in profile.info.processes.iter_mut().zip(commands) {
        process.command = vec![command.into(), b"in.txt".to_vec()];
    }
    let mut out = Vec::new();
    let options = Options { depth: Some(1), ..Options::default() };
    contexts::text(&Refined::base(&profile), &options, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let programs = "
  time     %  processes  programs (process = NAME)
5.00 s  52.6          2  solver
4.50 s  47.4          1  mpirun
";
    assert!(text.contains(programs), "{text}");
    let of_solver = apply(&profile, &parse("process = solver").unwrap()).unwrap();
    assert_eq!(of_solver.shown, 1000);
}

#[test]
fn machines_get_every_thread() {
    let profile = ranks();
    let refined = apply(&profile, &parse("not through work").unwrap()).unwrap();
    let mut out = Vec::new();
    contexts::json(&refined, &Options::default(), &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"{"metric":"samples","unit":"samples","period":5000000,"base":1000,"shown":710,"out":290,"imbalance":106,"peers":2,"clusters":null,"rows":[
{"depth":0,"kind":"process","name":"./solver in.txt","rank":1,"host":null,"pid":1001,"tid":null,"threads":1,"stage":"rank = 1","inclusive":408,"imbalance":0,"peer":true},
{"depth":1,"kind":"thread","name":"main","rank":1,"host":null,"pid":1001,"tid":20,"threads":1,"stage":"thread = 20","inclusive":408,"imbalance":null,"peer":false},
{"depth":0,"kind":"process","name":"./solver in.txt","rank":0,"host":null,"pid":1000,"tid":null,"threads":3,"stage":"rank = 0","inclusive":302,"imbalance":300,"peer":true},
{"depth":1,"kind":"thread","name":"main","rank":0,"host":null,"pid":1000,"tid":10,"threads":1,"stage":"thread = 10","inclusive":300,"imbalance":null,"peer":true},
{"depth":1,"kind":"thread","name":"idle","rank":0,"host":null,"pid":1000,"tid":12,"threads":1,"stage":"thread = 12","inclusive":2,"imbalance":null,"peer":false},
{"depth":1,"kind":"thread","name":"worker","rank":0,"host":null,"pid":1000,"tid":11,"threads":1,"stage":"thread = 11","inclusive":0,"imbalance":null,"peer":true}
]}
"#
    );
    let mut out = Vec::new();
    let options = Options { depth: Some(1), measure: Some(Measure::Source), ..Options::default() };
    contexts::csv(&refined, &options, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "\
depth,kind,name,rank,host,pid,tid,threads,stage,inclusive,imbalance,peer
0,process,./solver in.txt,1,,1001,,1,rank = 1,2040000000,0,true
0,process,./solver in.txt,0,,1000,,3,rank = 0,1510000000,1500000000,true
"
    );
}

#[test]
fn a_report_without_samples_says_why() {
    let mut profile = profile("");
    profile.info.processes.push(csprof_format::profile::Process::default());
    profile.info.run.cpu_ns = 3_000_000;
    assert_eq!(
        text_of(&Refined::base(&profile), &Options::default()),
        "\
outline
0 samples of cputime, 5.00 ms each: 0 ns on 0 threads of 1 process
no samples lost

No samples: the program used 3.00 ms of CPU time, less than one sampling period (5.00 ms); a \
             shorter one gives samples, for instance `-e task-clock@10000`.
"
    );
}

#[test]
fn samples_that_come_several_at_a_time_do_not_tell_how_long_calls_are() {
    let mut profile = profile("main 90\n  work 110 e=1\n");
    profile.info.run.trampoline = true;
    let report = |profile: &Profile| text_of(&Refined::base(profile), &Options::default());
    (profile.info.threads[0].delivered, profile.info.threads[0].signals) = (200, 160);
    assert!(report(&profile).contains("550 ms  few long"), "{}", report(&profile));
    profile.info.threads[0].signals = 40;
    let told = report(&profile);
    assert!(told.contains("  550 ms  "), "{told}");
    assert!(!told.contains("550 ms  few long"), "{told}");
    assert!(told.contains("200 samples came in 40 signals"), "{told}");
    assert!(told.contains("(-e task-clock sees finer detail)"), "{told}");
    profile.info.metric.source = "task-clock".to_owned();
    let told = report(&profile);
    assert!(told.contains("40 signals, several periods at a time.\n"), "{told}");
    // A sample of elapsed time stands for all of a wait.
    profile.info.metric.source = "realtime".to_owned();
    assert!(report(&profile).contains("550 ms  few long"), "{}", report(&profile));
}

#[test]
fn a_short_wait_without_samples_has_two_remedies() {
    let mut profile = profile("");
    profile.info.processes.push(csprof_format::profile::Process::default());
    (profile.info.run.cpu_ns, profile.info.run.duration_ns) = (2_640_000, 57_200_000);
    let said = text_of(&Refined::base(&profile), &Options::default());
    let remedies = "`-e realtime@200` samples it while it waits, `-e task-clock@10000` while it \
                    works.\n";
    assert!(said.ends_with(remedies), "{said}");
}

#[test]
fn a_report_says_that_most_of_the_run_is_not_in_it() {
    use csprof_format::profile::{Account, ThreadAccount};
    let ms = |ms: u64| ms * 1_000_000;
    let mut profile = profile("main 8\n");
    profile.info.threads[0].delivered = 8;
    profile.info.threads[0].cpu_ns = ms(44);
    profile.info.accounts = vec![Account {
        cpu_ns: ms(45),
        cpu_before_ns: ms(4),
        threads: vec![ThreadAccount { cpu_before_ns: ms(4), late: 0 }],
        ..Account::default()
    }];
    let report = |profile: &Profile| text_of(&Refined::base(profile), &Options::default());
    profile.info.run.cpu_ns = ms(49);
    assert!(!report(&profile).contains("stand for"), "{}", report(&profile));
    profile.info.run.cpu_ns = ms(1340);
    assert!(
        report(&profile).contains(
            "\nno samples lost\nsamples stand for 3.0% of the CPU time; most of the rest was used in \
             programs that csprof is not in (statically linked, set-user-id, without its \
             environment), in threads that it was not told of (of timers, or of libraries opened with \
             RTLD_DEEPBIND), or by threads and processes as they ended: csprof info\n"
        ),
        "{}",
        report(&profile)
    );
    // The same, in a program that is half as long as its loading.
    profile.info.accounts[0].cpu_before_ns = ms(1295);
    profile.info.accounts[0].cpu_ns = ms(1335);
    assert!(report(&profile).contains("before sampling began"), "{}", report(&profile));
}

#[test]
fn a_refinement_that_shows_nothing_says_so() {
    let profile = profile("main 1\n  f 2\n");
    let refined = apply(&profile, &parse("not through main").unwrap()).unwrap();
    let options = Options { refinement: Some("not through main".to_owned()), ..Options::default() };
    assert_eq!(
        text_of(&refined, &options),
        "\
outline
3 samples of cputime, 5.00 ms each: 15.0 ms on 1 thread of 1 process
no samples lost
refined: not through main
shown 0% + out 100% = 100%

Nothing is shown: the refinement takes out every sample.
"
    );
}

#[test]
fn metrics_are_asked_for_by_name() {
    let profile = profile("main 1\n");
    assert_eq!(Measure::named("samples", &profile), Ok((Measure::Samples, MetricRef::FIRST)));
    assert_eq!(Measure::named("cputime", &profile), Ok((Measure::Source, MetricRef::FIRST)));
    assert_eq!(
        Measure::named("misses", &profile),
        Err("no metric `misses` in this profile; it has `samples` and `cputime`".to_owned())
    );
}

/// A pipe whose reader has gone.
struct Closed;

impl std::io::Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_has_gone_is_told_apart_from_other_trouble() {
    // More than the buffers of the writers hold.
    let functions: String = (0..2000).map(|number| format!("function_{number} 1\n")).collect();
    let profile = profile(&functions);
    let refined = Refined::base(&profile);
    let options = Options::default();
    let errors = [
        super::text::write(&refined, &options, &mut Closed),
        super::json::write(&refined, &options, &mut Closed),
        super::csv::write(&refined, &options, &mut Closed),
    ];
    for error in errors {
        assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
    }
}
