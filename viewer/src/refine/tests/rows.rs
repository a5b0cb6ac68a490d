//! Metrics, tests of rows, and counts of frames, by example.

use super::*;
use crate::profile::{MetricRef, Profile};

/// `solve` computes, `wait` waits, `lock` does both; realtime is a further metric.
const WAITS: &str = "\
main 2 e=1 realtime:1
  wait 5 e=4 realtime:5
  solve 9 e=2
    lock 4 e=3 realtime:3
";

#[test]
fn stages_do_to_every_metric_what_they_do_to_the_first() {
    for (stages, outline) in [
        (
            "not through wait",
            "main 2 realtime:1 e=0..1\n  solve 9 e=2\n    lock 4 realtime:3 e=3\n= 11 + 0, 4 + 5\n",
        ),
        (
            "hide solve",
            "main 11 realtime:1 e=1\n  wait 5 realtime:5 e=4\n  lock 4 realtime:3 e=3\n= 11 + 0, 9 + 0\n",
        ),
        (
            "hide main",
            "<root> 2 realtime:1\nwait 5 realtime:5 e=4\nsolve 9 e=2\n  lock 4 realtime:3 e=3\n= 11 + 0, 9 + 0\n",
        ),
        (
            "fold {main, lock}",
            "main 6 realtime:4 e=1\n  wait 5 realtime:5 e=4\n  solve 9 e=0..2\n= 11 + 0, 9 + 0\n",
        ),
        ("root at solve", "solve 9 e=2\n  lock 4 realtime:3 e=3\n= 10 + 1, 3 + 6\n"),
        ("callers of lock", "lock e=3\n  solve e=3\n    main 4 realtime:3 e=3\n= 1 + 10, 3 + 6\n"),
        ("split thread | cut main", "thread=0 20 realtime:9\n= 11 + 0, 9 + 0\n"),
        (
            "small incl(realtime) < 20ms",
            "main 2 realtime:1 e=1\n  wait 5 realtime:5 e=4\n  \"(1 small)\" 13 realtime:3 e=2\n= 11 + 0, 9 + 0\n",
        ),
    ] {
        let profile = from_outline(WAITS).unwrap();
        let first = apply(&profile, &parse(stages).unwrap()).unwrap();
        let second = first.clone().looking_at(MetricRef(1));
        let sums = [&first, &second].map(|of| format!("{} + {}", of.shown, of.out));
        let shown = format!("{}= {}\n", to_outline(&first), sums.join(", "));
        assert_eq!(shown, outline, "{stages}");
    }
}

#[test]
fn tests_of_rows_name_a_metric_or_mean_the_first() {
    let kept = |test: &str| {
        let profile = from_outline(WAITS).unwrap();
        let kept = apply(&profile, &parse(&format!("node[{test}]")).unwrap());
        let rows = to_outline(&kept.unwrap());
        let is_kept = |row: &&str| {
            row.split_whitespace().nth(1).is_some_and(|own| own.parse::<u64>().is_ok())
        };
        let names = rows.lines().filter(is_kept).map(|row| row.split_whitespace().next().unwrap());
        names.map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    // 11 samples are of cputime, 9 of realtime.
    for (test, rows) in [
        ("incl(time) >= 90%", "main solve"),
        ("incl(cputime) >= 90%", "main solve"),
        ("incl(samples) >= 10", "main solve"),
        ("excl(samples) = 0", "wait"),
        ("incl(realtime) > 50%", "main wait"),
        ("excl(realtime) >= 15ms", "wait lock"),
        ("excl(realtime) < 15ms", "main solve"),
        ("excl(realtime) = 0%", "solve"),
        ("excl(cputime) = 1.1ms", ""),
        ("samples per edge > 4", "main solve"),
        ("cost per edge < 2ms", "wait lock"),
        ("edges >= 3", "wait lock"),
    ] {
        assert_eq!(kept(test), rows, "{test}");
    }
}

#[test]
fn what_a_thread_waited_for_is_a_row_of_its_own() {
    // The function of the second row has the number after that of the first one.
    let outline = "main 2\n  \"[waits: read]\" 3 wait\n  send 4\n";
    assert_eq!(
        refined(outline, "node[excl(samples) = 3]"),
        "main\n  \"[waits: read]\" 3 wait\n= 3 + 6\n"
    );
    assert_eq!(refined(outline, "node[excl(samples) = 4]"), "main\n  send 4\n= 4 + 5\n");
}

#[test]
fn a_metric_that_there_is_not_is_refused_with_those_there_are() {
    assert_eq!(
        refined(WAITS, "node[incl(walltime) > 1%]"),
        "no metric is called `walltime`; there is samples, time, cputime, realtime"
    );
    assert_eq!(
        refined(MPI, "small excl(task-clock) < 1ms"),
        "no metric is called `task-clock`; there is samples, time, cputime"
    );
    assert_eq!(
        parse_error("node[incl(realtime) > 5]"),
        "\
node[incl(realtime) > 5]
                      ^
`incl(realtime)` is compared with values such as: 0.5%, 5ms"
    );
    let profile = || from_outline(WAITS).unwrap();
    let compared = Profile::compared(("base", profile()), ("other", profile()), &[]).unwrap();
    let refused = |text: &str| apply(&compared, &parse(text).unwrap()).err().map(|e| e.to_string());
    assert_eq!(refused("node[incl(cputime) > 5%]"), None);
    assert_eq!(
        refused("node[delta incl(realtime) > 5%]").as_deref(),
        Some(
            "`realtime` is not what is compared here, but cputime; another metric is compared by \
             csprof diff --metric"
        )
    );
}

/// Paths have as many frames as counts of one byte go up to, and more.
#[test]
fn counts_of_frames_have_no_end() {
    let mut outline = String::new();
    for depth in 0..300 {
        outline.push_str(&format!("{}f {}\n", "  ".repeat(depth), u8::from(depth == 299)));
    }
    for count in [253, 254, 255, 256, 299] {
        for (test, holds) in [(">", true), (">=", true), ("<=", false), ("=", false)] {
            let shown = refined(&outline, &format!("where depth {test} {count}"));
            assert_eq!(shown.ends_with("= 1 + 0\n"), holds, "depth {test} {count}");
            let shown = refined(&outline, &format!("where times(f) {test} {count}"));
            assert_eq!(shown.ends_with("= 1 + 0\n"), holds, "times(f) {test} {count}");
        }
    }
}

/// Where callers stand below callees, exclusive are the samples that views show so.
#[test]
fn tests_of_exclusive_cost_are_of_what_is_shown() {
    let outline = "main 1\n  f 5\n  g\n    f 4\n";
    let tree = "f\n  main 5\n  g\n    main 4\n= 9 + 1\n";
    assert_eq!(refined(outline, "callers of f"), tree);
    assert_eq!(
        refined(outline, "callers of f | small excl(samples) >= 9"),
        "\"(1 small)\" 9\n= 9 + 1\n"
    );
    for metrics in ["main 1\n  f 5\n  g\n    f 4\n", "main 1\n  f 15 realtime:10\n  g\n    f 4\n"] {
        let shown = refined(metrics, "callers of f | small excl(samples) < 5");
        assert!(shown.contains("(2 small)"), "rows of callers have no own cost: {shown}");
    }
    // What ends on a caller is not its own.
    assert_eq!(refined(outline, "callers of f | small excl(samples) = 4"), tree);
    assert_eq!(refined(outline, "callers of f | where node[excl(samples) = 4]"), "= 0 + 10\n");
}

/// Nobody returns from inlined code, so what it costs says nothing of how long calls took.
#[test]
fn small_rows_of_inlined_code_are_apart() {
    let outline = "main 100\n  axpy 3 inline\n  dot 2 inline\n  log 3 e=3\n  exp 30 e=1\n";
    assert_eq!(
        refined(outline, "small incl(samples) < 5"),
        "\
main 100
  \"(2 small)\" 5 inline
  \"(1 small)\" 3 e=3
  exp 30 e=1
= 138 + 0
"
    );
}

#[test]
fn rows_of_files_and_modules_are_called_by_their_whole_names() {
    let outline = "\
counter.inc 1 module:/usr/lib/libh.so.6 at:src/a.inc:3
  g 2 module:/usr/bin/vim.basic at:src/b.tcc:9
";
    assert_eq!(refined(outline, "by file | through b.tcc"), "a.inc\n  b.tcc 2\n= 2 + 1\n");
    assert_eq!(refined(outline, "by module | hide vim*"), "libh.so.6 3\n= 3 + 0\n");
    for text in [
        "by file | through inc",
        "by file | through tcc",
        "by module | through basic",
        "by module | through so*",
    ] {
        assert!(refined(outline, text).starts_with("no function matches "), "{text}");
    }
    assert_eq!(refined(outline, "leaf inc"), "counter.inc 1\n= 1 + 2\n");
}

/// A sample of `alloc` stands for 512 KiB, one of time for 5 ms.
#[test]
fn values_are_in_units_of_what_a_metric_counts() {
    let outline = "main 30\n  f 6 alloc:4\n  g 4 alloc:2\n  h 1 alloc:1\n";
    let mut profile = from_outline(outline).unwrap();
    let alloc = &mut profile.info.further[0].metric;
    (alloc.unit, alloc.period) = ("bytes".to_owned(), 512 << 10);
    let refined = |text: &str| match apply(&profile, &parse(&format!("small {text}")).unwrap()) {
        Ok(refined) => to_outline(&refined),
        Err(error) => error.to_string(),
    };
    let kept = |text: &str| {
        let shown = refined(text);
        ["f", "g", "h"].into_iter().filter(|name| shown.contains(&format!("  {name} "))).count()
    };
    for (text, shown) in [
        ("incl(alloc) < 1M", 2),
        ("incl(alloc) <= 1MiB", 1),
        ("incl(alloc) < 1025k", 1),
        ("incl(alloc) < 524289B", 2),
        ("incl(alloc) < 0.5G", 0),
        ("incl(alloc) < 1048577", 1),
        ("incl(samples) < 0.002k", 2),
    ] {
        assert_eq!(kept(text), shown, "{text}");
    }
    // Sources that csprof does not know by name.
    for (source, unit, test, told) in [
        ("requests", "bytes", "< 5ms", "counted in bytes; incl(requests) is compared with values"),
        ("waits", "ns", "< 1M", "counted in ns; incl(waits) is compared with values such as 5ms"),
        ("waits", "ns", "< 5", "`incl(waits) < 5` does not fit: waits is counted in ns"),
        ("rows", "rows", "< 1MiB", "counted in rows; incl(rows) is compared with values such as"),
    ] {
        let metric = &mut profile.info.further[0].metric;
        (metric.source, metric.unit) = (source.to_owned(), unit.to_owned());
        let refinement = parse(&format!("small incl({source}) {test}")).unwrap();
        let refused = apply(&profile, &refinement).unwrap_err().to_string();
        assert!(refused.contains(told), "{source} {test}: {refused}");
    }
    // Others are refused where they are read.
    let refused = parse_error("small incl(alloc) < 5ms");
    assert!(refused.ends_with("values such as: 3, 0.5%, 1MiB"), "{refused}");
}
