//! Names of generated code from the bytes of files, honest and hostile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use csprof_format::arena::{ArenaHeader, LogRecord};

use super::super::arena_bytes::{ArenaBytes, epoch};
use super::super::arena_read::{Arena, read};
use super::entries::MOST_NAME;
use super::{Content, NameFile, NameFiles, Names, Symbol};

/// Files by the process that wrote them.
struct Given(Vec<(u32, Content)>);

impl NameFiles for Given {
    fn of(
        &mut self,
        process: &ArenaHeader,
        _: &[(u64, LogRecord)],
    ) -> (Arc<[NameFile]>, Vec<String>) {
        let own = self.0.iter().filter(|(pid, _)| *pid == process.pid);
        let file = |(_, content): &(u32, Content)| NameFile {
            path: "map".into(),
            content: content.clone(),
        };
        (own.map(file).collect(), Vec::new())
    }
}

fn arena(bytes: ArenaBytes) -> Arena {
    let length = bytes.bytes.len() as u64;
    read(&mut std::io::Cursor::new(bytes.bytes), length).unwrap()
}

fn find(family: &[&Arena], asked: &[(u32, u64)], files: &[(u32, Content)]) -> Names {
    let mut addresses: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    for &(epoch, address) in asked {
        addresses.entry(epoch).or_default().insert(address);
    }
    Names::find(addresses, family, &mut Given(files.to_vec()))
}

/// `name` at each of the addresses, in epoch 0 of a process with this file; `-` without one.
fn named(content: Content, addresses: &[u64]) -> (String, Names) {
    let own = arena(ArenaBytes::new(7, 500, 0).log(&[epoch(0)]));
    let asked: Vec<_> = addresses.iter().map(|&address| (0, address)).collect();
    let names = find(&[&own], &asked, &[(7, content)]);
    let name = |&address: &u64| match names.at(0, address) {
        Some((symbol, Some((file, line)))) => format!("{} {file}:{line}", symbol.name),
        Some((symbol, None)) => symbol.name.clone(),
        None => "-".to_owned(),
    };
    (addresses.iter().map(name).collect::<Vec<_>>().join(", "), names)
}

fn map(text: &str) -> Content {
    Content::PerfMap(text.as_bytes().to_vec())
}

#[test]
fn lines_of_a_perf_map_name_their_code() {
    let text = "1000 10 first\n0x2000 0x10 void Main.run(int)\n1010\t8\tby tabs\r\n\n2010 1 last";
    let (names, found) = named(map(text), &[0xfff, 0x1000, 0x100f, 0x1010, 0x200f, 0x2010, 0x2011]);
    assert_eq!(names, "-, first, first, by tabs, void Main.run(int), last, -");
    assert_eq!(found.warnings, [""; 0]);
    assert_eq!(found.sources, ["map (4 symbols)"]);
}

/// A sample may have met either, as long as both were written in its epoch.
#[test]
fn what_is_written_later_has_the_address_and_shares_it_within_an_epoch() {
    let text = "1000 100 outer\n1010 10 inner\n1018 4 innermost\n1010 4 inner\n2000 10 old\n1ff0 20 old\n\
                3000 8 JS:~f /a.js:1:2\n3000 8 JS:*f /a.js:1:2\n4000 8 JS:*g /a.js:9:2\n4004 4 JS:~f /a.js:1:2\n";
    let asked =
        [0x1000, 0x1010, 0x1014, 0x1018, 0x101c, 0x1020, 0x10ff, 0x2000, 0x3000, 0x4000, 0x4004];
    let (names, _) = named(map(text), &asked);
    assert_eq!(
        names,
        "outer, inner or outer, inner or outer, inner or innermost, inner or outer, outer, outer, old, \
         f, g, f or g"
    );
    // In another epoch, what was written in that one alone.
    let own = with_epochs([15, text.len() as u64]);
    let names = find(&[&own], &[(0, 0x1010), (1, 0x1010), (2, 0x1010)], &[(7, map(text))]);
    let name = |epoch| names.at(epoch, 0x1010).unwrap().0.name.as_str();
    assert_eq!([name(0), name(1), name(2)], ["outer", "inner", "inner"]);
}

#[test]
fn lines_that_are_none_are_counted_and_the_others_stay() {
    let text = "1000 10 good\nxyz 10 a\n1000\n1000 10\n1000 10  \n-1 2 a\n+1 2 a\n11111111111111111 1 a\n\
                1000 g a\n\u{fffd}\n2000 ffffffffffffffff huge\n3000 0 nothing\n4000 10 cut";
    let (names, found) = named(map(text), &[0x1000, 0x1fff, 0x3000, u64::MAX - 1]);
    assert_eq!(names, "good, -, huge, huge");
    assert_eq!(found.warnings, ["map: 9 lines that are no entry, the first at line 2"]);
    assert_eq!(found.sources, ["map (4 symbols)"]);
}

#[test]
fn names_that_are_too_long_are_refused_and_any_bytes_are_a_name() {
    let long = "x".repeat(MOST_NAME + 1);
    let mut text = format!("1000 10 {long}\n1010 10 ").into_bytes();
    text.extend(b"a\xff\x1b[31mb\n1020 10 ");
    text.extend("y".repeat(MOST_NAME).into_bytes());
    let (names, found) = named(Content::PerfMap(text), &[0x1000, 0x1010, 0x1020]);
    assert_eq!(names, format!("-, a\u{fffd}\u{1b}[31mb, {}", "y".repeat(MOST_NAME)));
    assert_eq!(found.warnings, ["map: 1 names that are too long, the first at line 1"]);
}

/// Every line covers every address: the work must not be their product.
#[test]
fn many_entries_over_many_addresses_end() {
    let addresses: Vec<u64> = (0..50_000).map(|number| 0x1000 + 2 * number).collect();
    let mut text: String = (0..100_000).map(|_| "0 ffffffff all\n").collect();
    text.extend((0..50_000).map(|number| format!("{:x} 1 own\n", 0x1000 + 4 * number)));
    let (names, _) = named(map(&text), &addresses);
    assert!(names.starts_with("all or own, all, all or own, all, "), "{}", &names[..40]);
}

/// The process has epochs 0 to 2; its map is so long at the end of each.
fn with_epochs(lengths: [u64; 2]) -> Arena {
    let [first, second] = lengths.map(|length| LogRecord::PerfMap { pid: 7, length });
    arena(ArenaBytes::new(7, 500, 0).log(&[epoch(0), first, epoch(1), second, epoch(2)]))
}

#[test]
fn an_epoch_is_named_by_what_was_written_by_its_end() {
    let lines = ["1000 10 one\n", "1000 10 two\n", "1000 10 three\n", "2000 10 late\n"];
    let own = with_epochs([12, 24]);
    let asked = [0, 1, 2].map(|epoch| [(epoch, 0x1000), (epoch, 0x2000)]).concat();
    let names = find(&[&own], &asked, &[(7, map(&lines.concat()))]);
    let name = |epoch, address| names.at(epoch, address).unwrap().0.name.as_str();
    assert_eq!([name(0, 0x1000), name(1, 0x1000), name(2, 0x1000)], ["one", "two", "three"]);
    // Nothing else was ever said of it: a runtime may write late, or at its end alone.
    assert_eq!([name(0, 0x2000), name(2, 0x2000)], ["late", "late"]);
}

#[test]
fn a_forked_child_has_the_code_of_its_parent_up_to_the_fork() {
    let parent = arena(ArenaBytes::new(7, 500, 0).log(&[epoch(0)]));
    let mut child = arena(
        ArenaBytes::new(8, 700, 0)
            .forked()
            .log(&[LogRecord::PerfMap { pid: 7, length: 23 }, epoch(0)]),
    );
    child.header.parent_pid = 7;
    let files = [(7, map("1000 8 x\n1000 20 before\n1000 20 after\n")), (8, map("1010 10 own\n"))];
    let asked = [(0, 0x1000), (0, 0x1010), (0, 0x3000)];
    let names = find(&[&child, &parent], &asked, &files);
    let name = |address| names.at(0, address).map(|(symbol, _)| symbol.name.as_str());
    assert_eq!(
        [name(0x1000), name(0x1010), name(0x3000)],
        [Some("x"), Some("own"), None],
        "cut off"
    );
    child.log[0].1 = LogRecord::PerfMap { pid: 7, length: 24 };
    let names = find(&[&child, &parent], &asked, &files);
    assert_eq!(names.at(0, 0x1000).map(|(symbol, _)| symbol.name.as_str()), Some("before"));
}

/// The child says of the same address what it has there after its only epoch.
#[test]
fn what_a_parent_wrote_in_time_is_before_what_a_child_writes_late() {
    let parent = arena(ArenaBytes::new(7, 500, 0).log(&[epoch(0)]));
    let at_fork = LogRecord::PerfMap { pid: 7, length: 15 };
    let none_yet = LogRecord::PerfMap { pid: 8, length: 0 };
    let log = [at_fork, epoch(0), none_yet, epoch(1)];
    let mut child = arena(ArenaBytes::new(8, 700, 0).forked().log(&log));
    child.header.parent_pid = 7;
    let files = [(7, map("1000 20 parent\n")), (8, map("1000 20 child\n2000 20 late\n"))];
    let names = find(&[&child, &parent], &[(0, 0x1000), (1, 0x1000), (0, 0x2000)], &files);
    let name = |epoch, address| names.at(epoch, address).unwrap().0.name.as_str();
    assert_eq!([name(0, 0x1000), name(1, 0x1000), name(0, 0x2000)], ["parent", "child", "late"]);
    assert_eq!(names.sources.len(), 2, "each once");
}

#[test]
fn names_of_runtimes_are_functions_of_files() {
    for (written, name, file, line) in [
        ("py::Pool.run:/app/pool.py", "Pool.run", "/app/pool.py", 0),
        ("py::<lambda>:C:/x:y.py", "<lambda>", "C:/x:y.py", 0),
        ("py::f.<locals>.g:<string>", "f.<locals>.g", "<string>", 0),
        ("JS:*fib file:///app/fib.mjs:3:14", "fib", "/app/fib.mjs", 3),
        ("JS:~ node:path:94:25", "(anonymous)", "node:path", 94),
        ("JS:^get size /app/a b.js:9:1", "get size", "/app/a b.js", 9),
        ("JS:*a b c file:///app/x.js:9:1", "a b c", "/app/x.js", 9),
        ("JS:~run [eval]:1:2", "run", "[eval]", 1),
        ("JS:*f /a /b.js:9:1", "JS:*f /a /b.js:9:1", "", 0),
        ("JS:*a b evalmachine.<anonymous>:9:1", "JS:*a b evalmachine.<anonymous>:9:1", "", 0),
        ("JS:~get node:internal/bootstrap/node:100:8", "get", "node:internal/bootstrap/node", 100),
        ("LazyCompile:+run /app/x.js:1:2", "run", "/app/x.js", 1),
        ("Script:~ /app/x.js:1:1", "(script)", "/app/x.js", 1),
        // Nothing that csprof knows: as it is.
        ("JS:*fib", "JS:*fib", "", 0),
        ("JS:*fib /app/fib.js:x:1", "JS:*fib /app/fib.js:x:1", "", 0),
        ("JS:*fib :1:1", "JS:*fib :1:1", "", 0),
        ("py::", "py::", "", 0),
        ("py::f:", "py::f:", "", 0),
        ("py:::/a.py", "py:::/a.py", "", 0),
        ("py::detail::f(int)", "py::detail::f(int)", "", 0),
        ("Builtin:ArrayMap", "Builtin:ArrayMap", "", 0),
        ("int F.fib(int)", "int F.fib(int)", "", 0),
    ] {
        let file = (!file.is_empty()).then(|| file.to_owned());
        let expected = Symbol { name: name.to_owned(), file, line };
        assert_eq!(Symbol::parse(written.as_bytes()), expected, "{written}");
    }
}

/// A jitdump, record by record.
struct Dump(Vec<u8>);

impl Dump {
    fn new(flags: u64) -> Self {
        let mut bytes = Vec::new();
        for field in [0x4A69_5444_u32, 1, 40, 62, 0, 7] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        Self(bytes)
    }

    fn record(mut self, kind: u32, time_ns: u64, body: &[u8]) -> Self {
        self.0.extend(kind.to_le_bytes());
        self.0.extend((16 + body.len() as u32).to_le_bytes());
        self.0.extend(time_ns.to_le_bytes());
        self.0.extend(body);
        self
    }

    fn load(self, time_ns: u64, index: u64, start: u64, size: u64, name: &str) -> Self {
        let mut body = [0; 8].to_vec();
        [start, start, size, index].iter().for_each(|field| body.extend(field.to_le_bytes()));
        body.extend(name.as_bytes());
        body.extend([0, 0x90, 0xc3]);
        self.record(0, time_ns, &body)
    }

    fn moved(self, time_ns: u64, index: u64, from: u64, to: u64, size: u64) -> Self {
        let mut body = [0; 8].to_vec();
        [to, from, to, size, index].iter().for_each(|field| body.extend(field.to_le_bytes()));
        self.record(1, time_ns, &body)
    }

    fn lines(self, start: u64, lines: &[(u64, u32, &str)]) -> Self {
        let mut body = start.to_le_bytes().to_vec();
        body.extend((lines.len() as u64).to_le_bytes());
        for (address, line, file) in lines {
            body.extend(address.to_le_bytes());
            body.extend(line.to_le_bytes());
            body.extend(0_u32.to_le_bytes());
            body.extend(if *file == "=" { b"\xff" } else { file.as_bytes() });
            body.push(0);
        }
        self.record(2, 0, &body)
    }

    fn content(self) -> Content {
        Content::Jitdump(self.0)
    }
}

#[test]
fn records_of_a_jitdump_name_code_and_lines() {
    let dump = Dump::new(0)
        .lines(0x1000, &[(0x1000, 3, "/a.c"), (0x1008, 4, "="), (0x100c, 9, "/b.h")])
        .load(100, 1, 0x1000, 0x10, "walk")
        .load(100, 2, 0x2000, 0x10, "other")
        .record(4, 0, &[0; 24])
        .record(77, 0, b"of a later version")
        .moved(200, 1, 0x1000, 0x3000, 0x10);
    let (names, found) = named(dump.content(), &[0x1007, 0x1008, 0x100f, 0x2000, 0x300d, 0x3010]);
    assert_eq!(names, "walk /a.c:3, walk /a.c:4, walk /b.h:9, other, walk /b.h:9, -");
    assert_eq!(found.warnings, [""; 0]);
}

#[test]
fn lines_of_v8_lie_64_bytes_too_far() {
    let lines = [(0x1040, 3, "/a.js"), (0x1048, 4, "=")];
    let dump = Dump::new(0).lines(0x1000, &lines).load(1, 1, 0x1000, 0x80, "JS:*f /a.js:2:1");
    let (names, _) = named(dump.moved(2, 1, 0x1000, 0x3000, 0x80).content(), &[0x1000, 0x300f]);
    assert_eq!(names, "f /a.js:3, f /a.js:4");
}

#[test]
fn an_epoch_is_named_by_the_records_up_to_its_end() {
    let mut own = with_epochs([0, 0]);
    for (record, time) in own.log.iter_mut().zip([10, 100, 100, 200, 200]) {
        record.0 = time;
    }
    let dump = |flags| {
        let dump = Dump::new(flags).load(50, 1, 0x1000, 16, "one").load(150, 2, 0x1000, 16, "two");
        (7, dump.load(250, 3, 0x1000, 16, "three").content())
    };
    let asked = [(0, 0x1000), (1, 0x1000), (2, 0x1000)];
    let name = |names: &Names, epoch| names.at(epoch, 0x1000).unwrap().0.name.clone();
    let names = find(&[&own], &asked, &[dump(0)]);
    assert_eq!([0, 1, 2].map(|epoch| name(&names, epoch)), ["one", "two", "three"]);
    // Times of another clock say nothing: what came last.
    let names = find(&[&own], &asked, &[dump(1)]);
    assert_eq!(
        [0, 1, 2].map(|epoch| name(&names, epoch)),
        ["three or two", "three or two", "three or two"]
    );
}

#[test]
fn a_jitdump_that_is_cut_off_or_damaged_keeps_what_can_be_read() {
    let whole = || {
        let lines = [(0x1000, 3, "/a.c"), (0x1008, 4, "=")];
        Dump::new(0)
            .lines(0x1000, &lines)
            .load(1, 1, 0x1000, 0x10, "first")
            .moved(2, 9, 0x1000, 0x3000, 16)
    };
    let (names, found) = named(whole().content(), &[0x1000, 0x3000]);
    assert_eq!(names, "first /a.c:3, -");
    let odd = "map: 1 moves of code that is not known, the first at byte 0xaf";
    assert_eq!(found.warnings, [odd]);
    let bytes = whole().0;
    for cut in 0..bytes.len() {
        let _ = named(Content::Jitdump(bytes[..cut].to_vec()), &[0x1000, 0x3000]);
        for value in [0, 0xff] {
            let mut damaged = bytes.clone();
            damaged[cut] = value;
            let _ = named(Content::Jitdump(damaged), &[0x1000, 0x3000]);
        }
    }
    // A size of 0 is no way to go on for ever.
    let mut endless = Dump::new(0).0;
    endless.extend([0; 64]);
    let (_, found) = named(Content::Jitdump(endless), &[0x1000]);
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
}

/// Any damage to files of both kinds: what is named then is named by what stands there. Goes on for
/// `CSPROF_FUZZ_MINUTES`, if that is set.
#[test]
fn damaged_files_give_no_names_that_do_not_stand_in_them() {
    let text =
        "1000 10 first\n1008 10 int Main.run(int)\n2000 8 JS:~f /a.js:1:2\n3000 20 py::g:/b.py\n";
    let lines = [(0x1000, 3, "/a.c"), (0x1008, 4, "="), (0x2000, 5, "/b.c")];
    let dump = Dump::new(0)
        .lines(0x1000, &lines)
        .load(1, 1, 0x1000, 0x10, "first")
        .load(2, 2, 0x2000, 0x10, "second")
        .moved(2, 2, 0x2000, 0x3000, 16);
    let minutes = std::env::var("CSPROF_FUZZ_MINUTES").ok().map(|text| text.parse().unwrap());
    let until = minutes.map(|minutes: u64| {
        std::time::Instant::now() + std::time::Duration::from_secs(60 * minutes)
    });
    let asked = [0x0, 0x1000, 0x1008, 0x1010, 0x2000, 0x3000, 0x3008, u64::MAX];
    for seed in 0_u64.. {
        if until.map_or(seed == 2000, |until| std::time::Instant::now() > until) {
            break;
        }
        // SplitMix64.
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        let is_map = random() % 2 == 0;
        let mut bytes = if is_map { text.as_bytes().to_vec() } else { dump.0.clone() };
        for _ in 0..=random() % 6 {
            let at = random() as usize % bytes.len().max(1);
            let end = (at + random() as usize % 64).min(bytes.len());
            match random() % 6 {
                0 => bytes.truncate(end),
                1 => bytes.extend_from_within(at.min(end)..end),
                2 => drop(bytes.drain(at.min(end)..end)),
                3 => bytes[at.min(end)..end].fill([0, 0xff, b'f', b'\n'][random() as usize % 4]),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random() as u8),
            }
        }
        let there = String::from_utf8_lossy(&bytes).into_owned();
        let content = if is_map { Content::PerfMap(bytes) } else { Content::Jitdump(bytes) };
        let (_, names) = named(content, &asked);
        for address in asked {
            let name = names.at(0, address).map(|(symbol, _)| symbol.name.as_str());
            let parts = name.unwrap_or_default().split(" or ");
            for part in parts {
                assert!(there.contains(part), "seed {seed}: {part:?} in {there:?}");
            }
        }
    }
}

/// Each address asks for the lines of its code: the work and the names must not be their product.
#[test]
fn long_file_names_of_a_jitdump_are_refused_and_others_are_kept_once() {
    let addresses: Vec<u64> = (0..1_000).map(|number| 0x1000 + number).collect();
    let dump = |name: &str| {
        let lines = [(0x1000, 3, name), (0x1001, 4, "=")];
        Dump::new(0).lines(0x1000, &lines).load(1, 1, 0x1000, 1_000, "f").content()
    };
    let (names, _) = named(dump(&"x".repeat(MOST_NAME + 1)), &addresses);
    assert!(names.split(", ").all(|name| name == "f"));
    let own = arena(ArenaBytes::new(7, 500, 0).log(&[epoch(0)]));
    let asked: Vec<_> = addresses.iter().map(|&address| (0, address)).collect();
    let names = find(&[&own], &asked, &[(7, dump(&"x".repeat(MOST_NAME)))]);
    let file = |address| names.at(0, address).and_then(|(_, line)| Some(line?.0.clone())).unwrap();
    assert!(Arc::ptr_eq(&file(0x1000), &file(0x1000 + 999)));
    let mut steps = 1 << 10;
    let bytes = vec![0; 1 << 20];
    let meaning = super::entries::Meaning { lines: 0..1 << 20, ..Default::default() };
    let mut endless = bytes.clone();
    endless[8..16].fill(0xff);
    assert_eq!(super::jitdump::line_at(&endless, &meaning, 0x1000, &mut steps), None);
    assert_eq!(steps, 0);
}
