//! Each stage and each error once, by example.

use csprof_format::ids::StringId;
use csprof_format::profile::GENERATED_CODE;

use super::{Refined, Sets, apply, parse, to_outline};
use crate::profile::{Profile, from_outline};

mod loops;
mod rows;

/// What is shown of a profile after a refinement, and `shown + out`.
pub(super) fn refined(outline: &str, refinement: &str) -> String {
    let profile = from_outline(outline).unwrap();
    match apply(&profile, &parse(refinement).unwrap()) {
        Ok(refined) => {
            format!("{}= {} + {}\n", to_outline(&refined), refined.shown, refined.out)
        }
        Err(error) => error.to_string(),
    }
}

/// Thread 1 works, and has thread 2 work for it; `own` is what thread 2 has of calls of the same
/// function that are its own: samples and edges.
pub(crate) fn handed_over(own: &str) -> String {
    format!(
        "\
# thread=1 epoch=0
main e=1
  solve e=9
    work 40 e=20
# thread=2 epoch=0
main
  solve{own}
    \"[parallel region]\" handover
      work 50 e=25
"
    )
}

fn parse_error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

const MPI: &str = "\
main 1
  solve 2 e=3
    MPI_Send 1 e=10 module:libmpi.so
      opal_progress 3 e=4 module:libopen-pal.so
        memcpy 6 e=2 module:libc.so.6
    dot 4 e=9
  MPI_Finalize e=1 module:libmpi.so
    memcpy 2 module:libc.so.6
";

#[test]
fn no_stage_shows_everything() {
    assert_eq!(
        refined(MPI, ""),
        "\
main 1
  solve 2 e=3
    MPI_Send 1 e=10
      opal_progress 3 e=4
        memcpy 6 e=2
    dot 4 e=9
  MPI_Finalize e=1
    memcpy 2
= 19 + 0
"
    );
}

/// `resolver` may be a compiler's word for what chooses a copy of a function of C.
#[test]
fn functions_of_other_languages_have_no_marks_of_compilers() {
    let outline = "f 1\n  main.resolver 4 module:x\n  main 2\n";
    let shown = |change: &dyn Fn(&mut Profile, usize)| {
        let mut profile = from_outline(outline).unwrap();
        let number = profile.functions.iter().position(|f| &*f.name == "main.resolver").unwrap();
        change(&mut profile, number);
        ["leaf main", "leaf resolver"]
            .map(|text| apply(&profile, &parse(text).unwrap()).map_or(0, |refined| refined.shown))
    };
    let of_file = |profile: &mut Profile, number: usize, file: &str| {
        profile.info.strings.push(file.into());
        let file = StringId::from_index(profile.info.strings.len() - 1);
        profile.functions[number].file = Some(file);
    };
    assert_eq!(shown(&|_, _| {}), [6, 4], "either, for it is not known");
    assert_eq!(shown(&|profile, number| of_file(profile, number, "/src/main.go")), [2, 4]);
    assert_eq!(shown(&|profile, number| of_file(profile, number, "/src/main.c")), [6, 4]);
    let generated = |profile: &mut Profile, number: usize| {
        let module = profile.functions[number].module.unwrap();
        let path = profile.info.modules[module.index()].path;
        profile.info.strings[path.index()] = GENERATED_CODE.into();
    };
    assert_eq!(shown(&generated), [2, 4]);
}

#[test]
fn a_further_split_has_the_samples_that_an_earlier_one_was_left_with() {
    assert_eq!(
        refined("f 3 e=1\n", "split thread | cut f | split thread"),
        "\
thread=0
  thread=0 3
= 3 + 0
"
    );
}

#[test]
fn callers_end_below_what_split_put_there() {
    // Both calls of f by a are one row.
    assert_eq!(
        refined("a 1\n  f 2 e=1\n  f 4 e=3\n", "split thread | callers of f"),
        "thread=0\n  f e=4\n    a 6 e=4\n= 6 + 1\n"
    );
    assert_eq!(
        refined("a\n  f 3 e=1\n", "split thread | split thread | root at f"),
        "thread=0\n  thread=0\n    f 3 e=1\n= 3 + 0\n"
    );
}

#[test]
fn callers_of_what_lost_samples_have_bounds() {
    // f keeps 2 of its 5 samples, so that 1 of its 4 returns is certain.
    assert_eq!(
        refined("a\n  f 3 e=4\n    g 2 e=1\n", "through g | callers of f"),
        "f e=1..2\n  a 2 e=1..2\n= 2 + 3\n"
    );
}

#[test]
fn more_edges_than_samples_are_found() {
    // No program makes them, but a file may have them.
    let outline = format!("main 20\n  f 1 e=7\n{}", "  g 1 e=1\n".repeat(30));
    assert_eq!(refined(&outline, "node[edges >= 7] and leaf f"), "main\n  f 1 e=7\n= 1 + 50\n");
}

#[test]
fn modules_are_called_whatever_their_code_is() {
    assert_eq!(
        refined("main\n  f 1 e=1 unknown module:m\n  g 2 e=3 module:m\n", "by module"),
        "\"[no module]\"\n  m 3 e=4\n= 3 + 0\n"
    );
}

#[test]
fn stages_of_one_pattern_name_it() {
    let pattern = |text: &str| parse(text).unwrap().stages[0].pattern().map(ToString::to_string);
    for text in ["hide f", "through f", "not under f", "leaf f", "callers of f"] {
        assert_eq!(pattern(text).as_deref(), Some("f"), "{text}");
    }
    for text in ["through f > g", "f and g", "split thread", "by module"] {
        assert_eq!(pattern(text), None, "{text}");
    }
}

#[test]
fn through_keeps_paths_and_bounds_the_edges_of_their_callers() {
    // solve loses 6 of its 16 samples, so up to 6 of its 3 returns: none is certain any more.
    assert_eq!(
        refined(MPI, "through MPI_Send"),
        "\
main
  solve e=0..3
    MPI_Send 1 e=10
      opal_progress 3 e=4
        memcpy 6 e=2
= 10 + 9
"
    );
    assert_eq!(
        refined("main\n  f 1 e=7\n    g 9 e=2\n", "through g"),
        "main\n  f e=6..7\n    g 9 e=2\n= 9 + 1\n"
    );
}

#[test]
fn chains_are_direct_or_not_and_may_be_anchored() {
    let main_solve = |chain: &str| refined(MPI, chain).lines().last().map(str::to_owned);
    assert_eq!(main_solve("through MPI_Send > memcpy").unwrap(), "= 0 + 19");
    assert_eq!(main_solve("through MPI_Send >> memcpy").unwrap(), "= 6 + 13");
    assert_eq!(main_solve("MPI_* >> memcpy").unwrap(), "= 8 + 11");
    assert_eq!(main_solve("through MPI_* > memcpy").unwrap(), "= 2 + 17");
    assert_eq!(main_solve("through ^main > solve >> memcpy").unwrap(), "= 6 + 13");
    assert_eq!(main_solve("through ^solve").unwrap(), "= 0 + 19");
    assert_eq!(main_solve("through solve$").unwrap(), "= 2 + 17");
    assert_eq!(main_solve("through main > solve > MPI_Send$").unwrap(), "= 1 + 18");
}

#[test]
fn a_chain_is_not_pieced_together() {
    // A matcher that restarts with the rest of the chain would accept this.
    let outline = "a\n  b\n    x\n      b\n        c 1\n";
    assert!(refined(outline, "through a > b > c").ends_with("= 0 + 1\n"));
    assert!(refined(outline, "through b > c").ends_with("= 1 + 0\n"));
    assert!(refined(outline, "through a > b >> b > c").ends_with("= 1 + 0\n"));
}

#[test]
fn the_root_of_a_path_comes_after_start_up_code() {
    let outline = "\
_start
  __libc_start_main_impl
    main 1
      main 2
# thread=2 epoch=0
clone3
  start_thread
    worker 4
";
    assert!(refined(outline, "through ^main").ends_with("= 3 + 4\n"));
    assert!(refined(outline, "through ^main > main").ends_with("= 2 + 5\n"));
    assert!(refined(outline, "through ^worker").ends_with("= 4 + 3\n"));
    assert!(refined(outline, "through ^_start > __libc_*").ends_with("= 3 + 4\n"));
}

#[test]
fn predicates_combine() {
    let kept = |predicate: &str| refined(MPI, predicate).lines().last().map(str::to_owned);
    assert_eq!(kept("through MPI_* and not through solve").unwrap(), "= 2 + 17");
    assert_eq!(kept("not (through dot or leaf memcpy)").unwrap(), "= 7 + 12");
    assert_eq!(kept("through dot or leaf memcpy and under solve").unwrap(), "= 10 + 9");
    assert_eq!(kept("under solve").unwrap(), "= 14 + 5");
    assert_eq!(kept("leaf module:libmpi*").unwrap(), "= 1 + 18");
    assert_eq!(kept("depth <= 2").unwrap(), "= 3 + 16");
    assert_eq!(kept("times({solve, memcpy}) >= 2").unwrap(), "= 6 + 13");
    assert_eq!(kept("through {dot, MPI_F*}").unwrap(), "= 6 + 13");
    assert_eq!(kept("through !{main, solve} & !module:libc*").unwrap(), "= 16 + 3");
    assert_eq!(kept("through /^MPI.*ze$/").unwrap(), "= 2 + 17");
    assert_eq!(kept("through @mpi").unwrap(), "= 12 + 7");
    assert_eq!(kept("leaf @memcpy").unwrap(), "= 8 + 11");
}

#[test]
fn code_of_a_function_includes_what_was_inlined_into_it() {
    let outline = "f 1\n  g 2 inline\n    h 4 inline\n      k 8\n";
    assert!(refined(outline, "in f").ends_with("= 7 + 8\n"));
    assert!(refined(outline, "in g").ends_with("= 6 + 9\n"));
    assert!(refined(outline, "leaf f").ends_with("= 1 + 14\n"));
}

#[test]
fn contexts_select_whole_threads() {
    let outline = "\
# rank=0 thread=100 epoch=0 name=main
main 1
# rank=0 thread=101 epoch=0 name=worker-1
work 2
# rank=0 thread=101 epoch=1 name=worker-1
work 4
# rank=1 thread=100 epoch=0 name=main
main 8
";
    assert!(refined(outline, "rank in 1").ends_with("= 8 + 7\n"));
    assert!(refined(outline, "not rank in 0, 3..").ends_with("= 8 + 7\n"));
    assert!(refined(outline, "thread in 1").ends_with("= 6 + 9\n"));
    assert!(refined(outline, "thread = worker*").ends_with("= 6 + 9\n"));
    assert!(refined(outline, "epoch in 0").ends_with("= 11 + 4\n"));
    assert_eq!(
        refined(outline, "rank in 7"),
        "no rank with samples matches rank in 7; there is 0, 1"
    );
    assert_eq!(
        refined(outline, "thread = io*"),
        "no thread with samples matches thread = io*; there is main, worker-1"
    );
}

#[test]
fn hiding_moves_cost_to_the_nearest_frame_kept() {
    assert_eq!(
        refined(MPI, "hide {opal_*, MPI_*}"),
        "\
main 1
  solve 6 e=3
    memcpy 6 e=2
    dot 4 e=9
  memcpy 2
= 19 + 0
"
    );
}

#[test]
fn equal_siblings_become_one_row_and_their_edges_add_up() {
    assert_eq!(
        refined("a\n  x 1 e=1\n    f 2 e=5\n  y\n    f 3 e=1\n", "hide {x, y}"),
        "a 1\n  f 5 e=6\n= 6 + 0\n"
    );
}

#[test]
fn what_has_no_frame_left_stays_with_the_root() {
    assert_eq!(
        refined(MPI, "hide {main, solve, dot}"),
        "\
<root> 7
MPI_Send 1 e=10
  opal_progress 3 e=4
    memcpy 6 e=2
MPI_Finalize e=1
  memcpy 2
= 19 + 0
"
    );
    let by_thread = "# thread=1 epoch=0\na 1\n# thread=2 epoch=0\na 2\n";
    assert_eq!(refined(by_thread, "hide a"), "<root> 3\n= 3 + 0\n");
    assert_eq!(refined(by_thread, "hide a | thread in 1"), "<root> 2\n= 2 + 1\n");
}

#[test]
fn stopping_and_cutting_end_paths() {
    assert_eq!(
        refined(MPI, "stop at module:libmpi*"),
        "\
main 1
  solve 2 e=3
    MPI_Send 10 e=10
    dot 4 e=9
  MPI_Finalize 2 e=1
= 19 + 0
"
    );
    assert_eq!(
        refined(MPI, "cut module:libmpi*"),
        "main 3\n  solve 12 e=3\n    dot 4 e=9\n= 19 + 0\n"
    );
}

#[test]
fn groups_merge_runs() {
    assert_eq!(
        refined(MPI, "group {module:libmpi*, module:libopen-pal*} as MPI"),
        "\
main 1
  solve 2 e=3
    MPI 4 e=10
      memcpy 6 e=2
    dot 4 e=9
  MPI e=1
    memcpy 2
= 19 + 0
"
    );
    assert_eq!(
        refined(
            "m\n  a 1 e=2\n    b 1 e=3\n      x e=4\n        a 1 e=5\n",
            "group {a, b} as \"a or b\""
        ),
        "m\n  \"a or b\" 2 e=2\n    x e=4\n      \"a or b\" 1 e=5\n= 3 + 0\n"
    );
}

#[test]
fn roots_strip_callers() {
    assert_eq!(
        refined(MPI, "root at MPI_*"),
        "\
MPI_Send 1 e=10
  opal_progress 3 e=4
    memcpy 6 e=2
MPI_Finalize e=1
  memcpy 2
= 12 + 7
"
    );
    let recursive = "m 1\n  f 2 e=4\n    g 3 e=2\n      f 5 e=1\n";
    assert_eq!(refined(recursive, "root at f"), "f 2 e=4\n  g 3 e=2\n    f 5 e=1\n= 10 + 1\n");
    assert_eq!(refined(recursive, "root at last f"), "f 7 e=1..5\n  g 3 e=0..2\n= 10 + 1\n");
}

#[test]
fn recursion_collapses_or_folds() {
    let recursive = "m\n  f 1 e=3\n    g 2 e=5\n      f 4 e=6\n        f 8 e=7\n";
    assert_eq!(refined(recursive, "collapse f"), "m\n  f 1 e=3\n    g 14 e=5\n= 15 + 0\n");
    assert_eq!(
        refined(recursive, "collapse-run f"),
        "m\n  f 1 e=3\n    g 2 e=5\n      f 12 e=6\n= 15 + 0\n"
    );
    assert_eq!(refined(recursive, "fold f"), "m\n  f 13 e=3\n    g 2 e=0..2\n= 15 + 0\n");
}

#[test]
fn rows_may_be_modules_files_or_lines() {
    let outline = "\
f 1 e=1 module:/bin/app at:src/a.c:3
  g 2 e=2 module:/bin/app at:src/a.c:9
    h 4 e=4 module:libh.so
      f 8 e=8 module:/bin/app at:src/a.c:4
";
    assert_eq!(
        refined(outline, "by module"),
        "app 3 e=1\n  libh.so 4 e=4\n    app 8 e=8\n= 15 + 0\n"
    );
    assert_eq!(
        refined(outline, "by file"),
        "a.c 3 e=1\n  \"[no source file]\" 4 e=4\n    a.c 8 e=8\n= 15 + 0\n"
    );
    assert_eq!(
        refined(outline, "by line | through f*a.c:4$"),
        "\
\"f a.c:3\" e=0..1
  \"g a.c:9\" e=0..2
    h e=0..4
      \"f a.c:4\" 8 e=8
= 8 + 7
"
    );
    assert_eq!(refined(outline, "by func"), refined(outline, ""));
}

#[test]
fn what_can_be_chosen_from_is_listed() {
    assert_eq!(
        parse_error("by modul"),
        "by modul\n   ^^^^^\nrows can be by: function, file, module, line, address, loop"
    );
    assert_eq!(
        parse_error("split core"),
        "split core\n      ^^^^\nsamples can be split by: rank, host, process, thread, epoch, phase"
    );
    assert_eq!(
        parse_error("small time < 3%"),
        "\
small time < 3%
      ^^^^
rows are tested by: incl(samples), incl(time), excl(samples), excl(time), edges, cost per edge, \
samples per edge"
    );
    assert_eq!(
        parse_error("node[cost per edge > 3%]"),
        "\
node[cost per edge > 3%]
                     ^^
`cost per edge` is compared with values such as: 5ms"
    );
    assert_eq!(
        parse_error("node[edges > 3"),
        "node[edges > 3\n              ^\n`]` is missing here"
    );
    assert_eq!(
        parse_error("small edges > many"),
        "small edges > many\n              ^^^^\na number is expected here: 3"
    );
}

#[test]
fn stages_follow_each_other() {
    assert_eq!(
        refined(MPI, "through memcpy | hide opal_* | group MPI_* as MPI | root at MPI"),
        "MPI e=7\n  memcpy 8 e=2\n= 8 + 11\n"
    );
}

#[test]
fn a_stage_is_kept_beside_what_it_was_made_of() {
    let profile = from_outline(MPI).unwrap();
    let base = Refined::base(&profile);
    let hidden = base.then(&parse("hide solve").unwrap().stages[0]).unwrap();
    assert_eq!(hidden.outcomes[0].moved, 2);
    assert_eq!((hidden.outcomes[0].shown, hidden.outcomes[0].out), (19, 0));
    assert_eq!(to_outline(&base), refined(MPI, "").replace("= 19 + 0\n", ""));
    assert!(hidden.edges_are_exact());
}

#[test]
fn a_pattern_without_a_match_names_what_is_near() {
    assert_eq!(refined(MPI, "through MPI_Sned"), "no function matches MPI_Sned; there is MPI_Send");
    assert_eq!(
        refined(MPI, "hide module:libmpi*x"),
        "no load module matches module:libmpi*x; there is libmpi.so"
    );
    assert_eq!(
        refined(MPI, "hide solve | through solve"),
        "no function that the stages before leave matches solve; they took it out"
    );
    assert_eq!(
        refined(MPI, "through main > main | hide MPI_*"),
        "the stages before MPI_* leave no samples: every one of them was taken out"
    );
    assert_eq!(refined(MPI, "hide kind:inline"), "no frame matches kind:inline; there is call");
    assert_eq!(refined(MPI, "libmpi"), "no function matches libmpi; there is module:libmpi.so");
    assert_eq!(
        refined(MPI, "through MPI.*nd"),
        "no function matches MPI.*nd; there is /MPI.*nd/, which is a regular expression"
    );
    assert_eq!(
        refined(MPI, "split"),
        "no function matches \\split; there is the stage `split`: a row for each rank, host, process, \
         thread, epoch or phase: split rank"
    );
    let places = "main 1 at:main.c:7\n  f 2 at:grid.cpp:12\n";
    assert_eq!(
        refined(places, "file:gird.cpp"),
        "no source file matches file:gird.cpp; there is grid.cpp"
    );
    assert_eq!(refined(places, "line:11"), "no frame matches line:11; there is 12, 7");
}

#[test]
fn parse_errors_point_at_the_word() {
    assert_eq!(
        parse_error("trough MPI_*"),
        "\
trough MPI_*
^^^^^^
`trough` is no stage, `through` is; stages are: through, not, under, in, leaf, depth, times, rank, host, process, \
thread, epoch, phase, node[, hide, stop at, cut, group, root at, collapse, collapse-run, fold, by, \
callers of, split, during, small, where"
    );
    assert_eq!(
        parse_error("hide a | group b MPI"),
        "\
hide a | group b MPI
                 ^^^
`as` is missing here"
    );
    assert_eq!(parse_error("hide"), "hide\n    ^\na frame is missing here");
    assert_eq!(parse_error("a > > b"), "a > > b\n    ^\na frame is expected before `>`");
    assert_eq!(parse_error("not (a"), "not (a\n      ^\n`)` is missing here");
    assert_eq!(
        parse_error("hide modul:x"),
        "\
hide modul:x
     ^^^^^^^
frames have no property `modul`, only: function, module, file, line, kind, loop"
    );
    assert_eq!(
        parse_error("hide kind:inlined"),
        "\
hide kind:inlined
     ^^^^^^^^^^^^
there is no such kind of frame; kinds are: call, inline, tail, loop, unknown, partial, wait, handover, kernel"
    );
    assert_eq!(
        parse_error("hide @mpii"),
        "\
hide @mpii
     ^^^^^
there is no such set, but @mpi is; sets are: @mpi, @openmp, @alloc, @memcpy, @lock, @io, \
@rust-std, @cxx-std, @libc, @user, @start, @python"
    );
    assert_eq!(
        parse_error("during 5s"),
        "during 5s\n       ^^\na part of the run is expected here, FROM..TO in s, ms, us, ns or %, \
         FROM before TO: 2.5s..4s, ..10s, 90%.."
    );
    assert_eq!(
        parse_error("rank in 3..1"),
        "rank in 3..1\n        ^^^^\nthis range ends before it begins"
    );
    assert_eq!(
        parse_error("hide /a(/"),
        "hide /a(/\n     ^^^^\nthis regular expression is wrong: unclosed group"
    );
    assert_eq!(parse_error("a | | b"), "a | | b\n    ^\na stage is missing before this `|`");
    assert_eq!(parse_error("|"), "|\n^\na stage is missing before this `|`");
    assert_eq!(parse_error("a |"), "a |\n   ^\na stage is missing behind the last `|`");
    assert_eq!(
        parse_error("a and"),
        "a and\n     ^\na predicate is missing here, such as `through f`"
    );
    assert_eq!(
        parse_error("not (througth foo)"),
        "\
not (througth foo)
     ^^^^^^^^
`througth` is no predicate, `through` is; predicates are: through, not, under, in, leaf, depth, \
times, rank, host, process, thread, epoch, phase, node["
    );
    assert!(parse_error("a and xyzzy foo").ends_with(
        "      ^^^^^\n`xyzzy` is no predicate; predicates are: through, not, under, in, leaf, \
         depth, times, rank, host, process, thread, epoch, phase, node["
    ));
    assert_eq!(
        parse_error("hide a b"),
        "hide a b\n       ^\n`|` is expected here; several frames are written {a, b}"
    );
    let deep = format!("{}a", "not ".repeat(500));
    assert!(parse_error(&deep).ends_with("nested more than 40 deep"));
    let long = format!("a{}", " > a".repeat(31));
    assert!(parse_error(&long).ends_with("a chain can have 31 frames at most"));
}

/// What is written in other languages, and how it is written here.
#[test]
fn parse_errors_say_how_it_is_written() {
    for (text, marked, message) in [
        ("through a; leaf b", ";", "stages are joined by `|`: through a | leaf b"),
        ("a; leaf b", ";", "stages are joined by `|`: a | leaf b"),
        ("; hide f", ";", "stages are joined by `|`: hide f"),
        ("hide f;hide g", ";", "stages are joined by `|`: hide f | hide g"),
        ("split rank; by file", ";", "stages are joined by `|`: split rank | by file"),
        (
            "node[incl(time) > 5%]; hide f; ;by file;",
            ";",
            "stages are joined by `|`: node[incl(time) > 5%] | hide f | by file",
        ),
        ("through a, hide b", ",", "stages are joined by `|`: through a | hide b"),
        ("hide a leaf b", "leaf", "stages are joined by `|`: hide a | leaf b"),
        ("hide a, b", ",", "`|` is expected here; several frames are written {a, b}"),
        ("cut a or b", "or", "`|` is expected here; several frames are written {a, b}"),
        ("through a, b", ",", "`,` stands between frames in braces: {a, b}"),
        ("a && b", "&", "`&` joins properties of one frame; predicates have `and`"),
        ("a || b", "|", "`|` means then; one predicate or another is `or`"),
        ("depth == 3", "=", "`=` alone says that two are equal"),
        ("rank == 0", "=", "`=` alone says that two are equal"),
        ("a -> b", "-", "a direct call is written `>`, one at any depth `>>`"),
        ("a)", ")", "there is no `(` before this `)`"),
        ("{a}}", "}", "there is no `{` before this `}`"),
        ("rank 0", "0", "`rank` is written `rank in 0..3` or `rank = 0`"),
        ("a and thread 1", "1", "`thread` is written `thread in 0..3` or `thread = worker*`"),
        ("a and host 1", "1", "`host` is written `host = node7` or `host = node*`"),
        ("depth 3", "3", "`depth` is written `depth >= 3`"),
        ("times f > 3", "f", "`times` is written `times(f) >= 3`"),
        ("not node incl", "incl", "`node` is written `node[incl(time) > 5%]`"),
        ("small < 0.5%", "<", "`small` is written `small incl(time) < 0.5%`"),
        ("callers f", "f", "`callers` is written `callers of f`"),
        ("!through f", "f", "`!` is for frames; predicates have `not`: not through …"),
        ("node[edges > -3]", "-3", "only a difference can be below zero: delta incl(time) < -5%"),
        ("node[delta edges > 3]", "edges", "there are differences of"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(
            (&text[error.range.clone()], error.message.as_str()),
            (marked, message),
            "{text}"
        );
    }
    for (text, meant) in [
        ("focus f", "`focus` is no stage, `through` is; stages are"),
        ("ignore f", "`ignore` is no stage, `not` is; stages are"),
        ("merge f", "`merge` is no stage, `hide` is; stages are"),
        ("a and only f", "`only` is no predicate, `through` is; predicates are"),
        ("a and merge f", "`merge` is no predicate; predicates are"),
        ("Hide f", "`Hide` is no stage, `hide` is; stages are"),
    ] {
        assert_eq!(parse(text).unwrap_err().message, meant, "{text}");
    }
}

/// Whatever its size, a text is answered at once and in bounded depth.
#[test]
fn huge_texts_are_answered() {
    for part in [
        "(",
        "!",
        "{",
        "not ",
        "a | ",
        "a >> ",
        "{a, ",
        "a & ",
        "\"",
        "/",
        "\\",
        "@a ",
        "é",
        "$",
        "f(",
        "a<",
        "<",
        "node[",
        "node[<a>::",
        "node[(anonymous namespace)",
        "<a>::",
        "operator<",
    ] {
        let text = part.repeat(20_000);
        let answer = parse(&text);
        assert!(answer.is_ok() || !answer.unwrap_err().message.is_empty(), "{part}");
    }
    for number in ["4294967295", "4294967296", "99999999999999999999999", "1e9", "-1", "0x7"] {
        let refused = parse(&format!("depth > {number}")).is_err();
        assert_eq!(refused, number != "4294967295", "{number}");
        assert!(parse(&format!("rank in {number}..")).is_err() == refused, "{number}");
        assert!(parse(&format!("small incl(time) < {number}%")).is_ok() || refused, "{number}");
    }
}

#[test]
fn a_path_is_a_chain_that_begins_and_ends_anywhere() {
    let path = |text: &str| match Sets::default().parse_path(text) {
        Ok(path) => path.map_or("nothing".to_owned(), |path| path.to_string()),
        Err(error) => error.to_string(),
    };
    assert_eq!(path(" "), "nothing");
    assert_eq!(path("a>b >> {c,d}"), "a > b >> {c, d}");
    assert_eq!(path("^a"), "^a\n^\na path begins anywhere, so it has no ^");
    assert_eq!(path("a > b$"), "a > b$\n     ^\na path ends anywhere, so it has no $");
    assert_eq!(path("a b"), "a b\n  ^\n`>` or `>>` is expected here");
}

#[test]
fn printing_is_canonical() {
    for (text, canonical) in [
        ("MPI_*>>memcpy $", "through MPI_* >> memcpy$"),
        ("where (a and b) or not(c)", "(through a and through b) or not through c"),
        ("stop at !@user", "stop at !@user"),
        ("group {a,b} as \"x y\"|hide  fn:f", "group {a, b} as \"x y\" | hide function:f"),
        ("rank in 0..0,4..", "rank in 0, 4.."),
        (r"through operator\(\)", "through operator()"),
        (r"std::vector\<int\>::f > <A as B>::f", "through std::vector<int>::f > <A as B>::f"),
        (r"through \and", r"through \and"),
        ("by func", "by function"),
        ("callers  of {malloc,free}", "callers of {malloc, free}"),
        ("split rank|small time/edge<0.50ms", "split rank | small cost per edge < 0.5ms"),
        ("node[ incl( time )>5.0% of base] and f", "node[incl(time) > 5%] and through f"),
        ("node[incl(samples) > 5% of view]", "node[incl(samples) > 5% of view]"),
        (
            "node[excl(time)>20 ms] and node[incl(time) < 5 % of view]",
            "node[excl(time) > 20ms] and node[incl(time) < 5% of view]",
        ),
        (
            "small base  incl(time)<1%|node[other edges>3]",
            "small base incl(time) < 1% | node[other edges > 3]",
        ),
        ("node[delta excl(samples)<-3]", "node[delta excl(samples) < -3]"),
        ("small delta incl(time) <= -0%", "small delta incl(time) <= 0%"),
        ("small", r"through \small"),
        ("split and node > callers", r"through \split and through \node > \callers"),
        (r"\node[x]", r"through \node[x]"),
    ] {
        assert_eq!(parse(text).unwrap().to_string(), canonical);
    }
}
