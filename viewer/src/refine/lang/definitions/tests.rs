//! Sets by example: files of them, circles, limits.

use super::*;
use crate::refine::lang::sets::SetLookup;

fn read(text: &str) -> Sets {
    Sets::read(&[SetText { place: "sets", text }])
}

/// What a set stands for, or what is wrong with it.
fn pattern(sets: &Sets, name: &str) -> String {
    match sets.find(name) {
        SetLookup::Named(set) => format!("{}: {}", set.place(), set.pattern()),
        SetLookup::Broken(problem) => problem.to_string(),
        SetLookup::Shipped(preset) => preset.definition().to_owned(),
        SetLookup::Unknown => "unknown".to_owned(),
    }
}

#[test]
fn definitions_may_have_any_order_and_several_lines() {
    let sets = read(
        "# Waiting.\n@wait = {@lock, @mine,\n   MPI_Wait*}\n\n@mine={poll}\n@größe = f & !g\n",
    );
    assert_eq!(sets.problems(), []);
    assert_eq!(pattern(&sets, "wait"), "sets:2: {@lock, @mine, MPI_Wait*}");
    assert_eq!(pattern(&sets, "mine"), "sets:5: {poll}");
    assert_eq!(pattern(&sets, "größe"), "sets:6: f & !g");
    let parsed = sets.parse("through @wait and not under @mpi").unwrap();
    assert_eq!(parsed.to_string(), "through @wait and not under @mpi");
    assert_eq!(sets.parse(&parsed.to_string()), Ok(parsed));
}

#[test]
fn what_is_wrong_names_its_line_and_leaves_the_rest() {
    let sets = read(
        "@a = {x, y\n@b = {p,\n  modul:q}\n@c = @nothing\nhide x\n@d d\n@ = x\n@e = ok\n@e = ok2\n@f =\n",
    );
    let mut said: Vec<_> = sets.problems().iter().map(ToString::to_string).collect();
    said.sort();
    assert_eq!(
        said,
        [
            "sets:10: @f: a frame is missing here, at the end",
            "sets:1: @a: `}` is missing here, at the end",
            "sets:2: @b: frames have no property `modul`, only: function, module, file, line, kind, \
             loop, at `modul:q`",
            "sets:4: @c: there is no such set; sets are: @mpi, @openmp, @alloc, \
             @memcpy, @lock, @io, @rust-std, @cxx-std, @libc, @user, @start, @python, at `@nothing`",
            "sets:5: a definition is written @name = frames, not `hide x`",
            "sets:6: `=` is missing here: @name = frames, not `@d d`",
            "sets:7: the name of the set is missing here",
            "sets:9: @e: replaces sets:8",
        ]
    );
    assert_eq!(pattern(&sets, "e"), "sets:9: ok2");
    let error = sets.parse("hide @a").unwrap_err();
    assert_eq!(
        error.to_string(),
        "hide @a\n     ^^\nthis set cannot be used: sets:1: @a: `}` is missing here, at the end"
    );
}

#[test]
fn later_files_and_own_sets_count_more() {
    let user = SetText { place: "user", text: "@user = {app}\n@x = @y\n@y = one\n" };
    let beside = SetText { place: "run.sets", text: "@y = two\n" };
    let sets = Sets::read(&[user, beside]);
    assert_eq!(sets.problems(), []);
    assert_eq!(pattern(&sets, "user"), "user:1: {app}");
    assert_eq!(pattern(&sets, "y"), "run.sets:1: two");
    let names: Vec<_> = sets.names().collect();
    assert_eq!(names.iter().filter(|name| **name == "user").count(), 1);
    assert_eq!(names[..3], ["user", "x", "y"]);
}

#[test]
fn circles_are_found() {
    let sets = read("@a = {x, @b}\n@b = !@c\n@c = @a\n@d = @c\n@e = @e\n@f = y\n");
    assert_eq!(pattern(&sets, "a"), "sets:1: @a: sets go round in a circle: @a in @b in @c in @a");
    assert_eq!(pattern(&sets, "d"), "sets:4: @d: sets go round in a circle: @a in @b in @c in @a");
    assert_eq!(pattern(&sets, "e"), "sets:5: @e: sets go round in a circle: @e in @e");
    assert_eq!(pattern(&sets, "f"), "sets:6: y");
    assert!(Sets::default().parse_definition("@x = {a, @x}").is_err());
    let chained = read("@a = @b\n@b = x\n");
    assert!(chained.parse_definition("@b = !@a").is_err());
    assert!(chained.parse_definition("@c = !@a").is_ok());
}

#[test]
fn sets_that_would_take_for_ever_are_refused() {
    let mut doubling = "@s0 = a\n".to_owned();
    let mut nested = "@s0 = a\n".to_owned();
    for n in 1..40 {
        doubling.push_str(&format!("@s{n} = {{@s{0}, @s{0}}}\n", n - 1));
        nested.push_str(&format!("@s{n} = @s{}\n", n - 1));
    }
    let sets = read(&doubling);
    assert_eq!(pattern(&sets, "s13"), "sets:14: {@s12, @s12}");
    assert_eq!(pattern(&sets, "s14"), "sets:15: @s14: this stands for more than 10000 patterns");
    let sets = read(&nested);
    assert_eq!(pattern(&sets, "s32"), "sets:33: @s31");
    assert_eq!(
        pattern(&sets, "s33"),
        "sets:34: @s33: sets lie more than 32 deep inside each other"
    );
}

/// A file beside a profile may come from anywhere. What is wrong with it is told in few words.
#[test]
fn files_of_many_sets_are_read_soon() {
    let mut chain = String::new();
    let mut circle = String::new();
    let mut apart = String::new();
    for n in 0..20_000 {
        chain.push_str(&format!("@c{} = @c{n}\n", n + 1));
        circle.push_str(&format!("@r{n} = @r{}\n", (n + 1) % 10_000));
        apart.push_str(&format!("@a{n} = f{n}\n@a{n} = g{n}\n"));
    }
    let sets = read(&(chain + "@c0 = f\n"));
    assert_eq!(pattern(&sets, "c32"), "sets:32: @c31");
    let deep = "sets lie more than 32 deep inside each other";
    assert_eq!(pattern(&sets, "c33"), format!("sets:33: @c33: {deep}"));
    assert_eq!(
        pattern(&sets, "c20000"),
        "sets:20000: @c20000: it names @c19999, which cannot be used"
    );
    let sets = read(&circle);
    let round = "@r0 in @r1 in @r2 in @r3 in @r4 in @r5 in @r6 in @r7 in 9992 more in @r0";
    for n in [0, 5_000, 15_000] {
        let told = format!("sets:{}: @r{n}: sets go round in a circle: {round}", n + 1);
        assert_eq!(pattern(&sets, &format!("r{n}")), told);
    }
    let unknown: String = (0..5_000).map(|n| format!("@u{n} = @v{n}\n@f{n} = f\n")).collect();
    let sets = read(&unknown);
    assert!(pattern(&sets, "u7").starts_with("sets:15: @u7: there is no such set"));
    assert!(sets.problems().iter().all(|problem| problem.cause.len() < 400));
    let sets = read(&apart);
    assert_eq!(sets.named().len(), 20_000);
    assert_eq!(pattern(&sets, "a7"), "sets:16: g7");
}

#[test]
fn a_file_may_begin_with_the_mark_of_its_encoding() {
    let sets = read("\u{feff}@a = f\r\n@b = {g,\r\n  h}\r\n");
    assert_eq!((sets.problems(), pattern(&sets, "a")), (&[][..], "sets:1: f".to_owned()));
    assert_eq!(pattern(&sets, "b"), "sets:2: {g, h}");
    let f = parser::parse_pattern("f").unwrap();
    assert_eq!(defined_in("\u{feff}@a = x\r\n@b = y\r\n", "a", &f), "@a = f\n@b = y\r\n");
}

#[test]
fn a_set_is_saved_where_it_stood() {
    let pattern = parser::parse_pattern("{f, g}").unwrap();
    let saved = |file: &str| defined_in(file, "x", &pattern);
    assert_eq!(saved(""), "@x = {f, g}\n");
    assert_eq!(saved("# mine\n@y = a"), "# mine\n@y = a\n@x = {f, g}\n");
    assert_eq!(saved("@x = {a,\n  b}\n# about y\n@y = c\n"), "@x = {f, g}\n# about y\n@y = c\n");
    assert_eq!(saved("@xx = a\n@x = b\n@x = c"), "@xx = a\n@x = b\n@x = {f, g}\n");
}

#[test]
fn a_definition_is_told_from_a_stage() {
    for text in ["@a = x", " @a=", "@ ="] {
        assert!(is_definition(text), "{text}");
    }
    for text in ["@a", "@mpi >> f", "rank = 3", "through @a"] {
        assert!(!is_definition(text), "{text}");
    }
}
