//! Names of code that programs generate while they run, from the files that they write.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use csprof_tests::installed::{are_installed, find};
use csprof_tests::notes::note;
use csprof_tests::paths::is_share;
use csprof_tests::recording::{Recording, in_one_of_three};
use csprof_tests::workshop::Workshop;

const MODULE: &str = "[generated code]";

/// It does not need the kernel's tick, which on a busy machine may not meet the first code at all:
/// that works for 50 ms.
const SOURCE: [&str; 2] = ["-e", "task-clock@200"];

/// The same for interpreters, whose programs work for a tenth of a second.
const OFTEN: [&str; 2] = ["-e", "task-clock@1000"];

/// Records it with an epoch for each load.
fn record_epochs(workshop: &Workshop, words: &[&str]) -> Recording {
    workshop.record(&[&SOURCE[..], &["--epoch-per-load"]].concat(), words)
}

fn workshop(test: &str) -> Workshop {
    let workshop = Workshop::new(test);
    workshop.compile("cc -O2 -o program @generated_names.c");
    workshop
        .compile("cc -O2 -shared -fPIC -Dwork=work -DANSWER=1 -o one.so @load_libraries/work.c");
    workshop
}

/// Samples of the two pieces of code; nearly all of the program's work is in them.
fn first_and_second(recording: &Recording) -> (u64, u64) {
    let rows = recording.rows();
    for name in ["made::first", "made.second"] {
        let row = rows.iter().find(|row| row.function == name);
        assert_eq!(row.and_then(|row| row.module.as_deref()), Some(MODULE), "{name}");
    }
    let (first, second) = (rows.inclusive_of("made::first"), rows.inclusive_of("made.second"));
    let named = first + second;
    // The rest is the library's, and the loader's.
    assert!(named * 100 >= recording.samples().recorded * 80, "{named}");
    (first, second)
}

/// However the program ends, and wherever it says what it generates: one address, two names.
#[test]
fn an_address_has_the_name_of_its_epoch() {
    let workshop = workshop("generated_epochs");
    let remove = "./program ./one.so map & own=$!; wait $own; rm /tmp/perf-$own.map";
    for words in [
        &["./program", "./one.so", "map"][..],
        &["./program", "./one.so", "dump"],
        &["./program", "./one.so", "child"],
        &["./program", "./one.so", "killed"],
        // What is left is the collector's copy.
        &["sh", "-c", remove],
    ] {
        let recording = record_epochs(&workshop, words);
        let (first, second) = first_and_second(&recording);
        assert!(is_share(first, first + second, 25), "{words:?}: {first} {second}");
        // Where a line is known, its file counts.
        let file = if words.contains(&"dump") { "made.x" } else { "/made/*" };
        let of_file = recording.refined(&format!("through file:{file}"));
        assert_eq!(of_file.inclusive_of("made.second"), second, "{words:?}");
        let module = recording.info["modules"].as_array().unwrap().iter();
        let text = module.map(ToString::to_string).find(|text| text.contains(MODULE)).unwrap();
        assert!(text.contains("symbols)"), "{text}");
    }
    // Lines of the jitdump: the loop's, not the entry's.
    let recording = record_epochs(&workshop, &["./program", "./one.so", "dump"]);
    let of_loop = recording.refined("through line:12");
    assert!(of_loop.inclusive_of("made::first") > 0);
}

/// Somebody may have put it there.
#[test]
fn a_map_that_may_be_of_somebody_else_names_nothing() {
    let workshop = workshop("generated_others");
    for how in ["link", "old"] {
        let recording = workshop.record(&SOURCE, &["./program", "./one.so", how]);
        assert!(recording.samples().recorded > 0, "{how}");
        let rows = recording.rows();
        assert!(!rows.iter().any(|row| row.module.as_deref() == Some(MODULE)), "{how}");
    }
}

/// A CPython that can name functions: on the path, or of pyenv.
fn python() -> Option<PathBuf> {
    let versions = ["3.12", "3.13", "3.14"];
    let on_path = versions.iter().find_map(|version| find(&format!("python{version}")));
    let of_pyenv = || {
        let versions_of_pyenv = std::env::home_dir()?.join(".pyenv/versions");
        let folders = fs::read_dir(versions_of_pyenv).ok()?.filter_map(Result::ok);
        let mut programs = folders.flat_map(|folder| {
            versions.map(|version| folder.path().join(format!("bin/python{version}")))
        });
        programs.find(|program| program.exists())
    };
    // What pyenv has on the path is a script that may choose another version.
    on_path.filter(|path| !path.to_string_lossy().contains("/shims/")).or_else(of_pyenv)
}

#[test]
fn functions_in_python_stand_between_those_of_the_interpreter() {
    let test = "functions_in_python_stand_between_those_of_the_interpreter";
    let Some(python) = python() else {
        assert!(!are_installed(test, &["python3.12"]));
        return;
    };
    let workshop = Workshop::new("generated_python");
    let source = "
def burn(n):
    s = 0
    for i in range(n): s += i * i
    return s
class Work:
    def run(self): return sum(burn(100000) for _ in range(40)) % 1000
print(Work().run(), sum(sorted(range(300000), key=lambda x: -x)) % 7)
";
    fs::write(workshop.path("work.py"), source).unwrap();
    let words = [python.to_str().unwrap(), "work.py"];
    let alone = workshop.run(&words);
    let recording = workshop.record(&[&OFTEN[..], &["--python"]].concat(), &words);
    assert_eq!(recording.outcome.said(), alone.said());
    assert!(recording.outcome.complained().contains("--no-saved-stages"));
    // So the profile begins, and a stage that comes after it does not take it away.
    let rows = recording.rows();
    let report = recording.output(&["report"]);
    let saved = report.lines().find_map(|line| line.strip_prefix("refined: "));
    let saved = saved.unwrap_or_else(|| panic!("{report}"));
    assert!(saved.starts_with("hide ") && saved.contains("module:python3.1?"), "{saved}");
    let interpreter = |arguments: &[&str]| {
        let report = recording.output(&[&["report", "--view", "flat"], arguments].concat());
        report.contains("_PyEval_EvalFrameDefault")
    };
    assert!(interpreter(&["--no-saved-stages"]));
    let twice = format!("{saved} | through burn");
    let by_set = "hide @python | through burn";
    for refinement in ["through burn", saved, &twice, "hide @python", by_set] {
        assert!(!interpreter(&["--refine", refinement]), "{refinement}");
    }
    let folded = |arguments: &[&str]| {
        let words = [&["export", "--format", "folded"], arguments].concat();
        recording.output(&words).contains("_PyEval_EvalFrameDefault")
    };
    assert!(!folded(&[]) && folded(&["--no-saved-stages"]));
    // Whoever reads the output of any kind can know.
    for (words, is_in_output) in [
        (&["export", "--format", "folded"][..], false),
        (&["report", "--format", "csv"], false),
        (&["report", "--format", "csv", "--view", "threads"], false),
        (&["report", "--sets"], false),
        (&["report", "--format", "json"], true),
        (&["report", "--format", "json", "--view", "threads"], true),
    ] {
        let outcome = workshop.csprof(&[&words[..1], &["run.csprof"], &words[1..]].concat());
        let text = if is_in_output { outcome.said() } else { outcome.complained() };
        assert!(outcome.status.success() && text.contains(saved), "{words:?}: {text}");
    }
    let row = rows.iter().find(|row| row.function == "burn").unwrap();
    assert_eq!(row.module.as_deref(), Some(MODULE));
    // Compiled, not measured: what the interpreter's start takes is little beside it.
    assert!(rows.inclusive_of("burn") * 2 > recording.samples().recorded, "{row:?}");
    let in_file = recording.refined("through file:work.py");
    assert!(in_file.inclusive_of("burn") == recording.rows().inclusive_of("burn"));
}

#[test]
fn functions_in_javascript_have_file_and_line() {
    let test = "functions_in_javascript_have_file_and_line";
    if !are_installed(test, &["node"]) {
        return;
    }
    let workshop = Workshop::new("generated_javascript");
    let source = "
function burn(n) { return n < 2 ? n : burn(n - 1) + burn(n - 2); }
console.log(burn(34));
";
    fs::write(workshop.path("work.js"), source).unwrap();
    let files = || fs::read_dir(workshop.path(".")).unwrap().map(|entry| entry.unwrap().path());
    let before: BTreeSet<_> = files().collect();
    let recording = workshop.record(&[&OFTEN[..], &["--node"]].concat(), &["node", "work.js"]);
    let new: Vec<_> = files().filter(|path| !before.contains(path)).collect();
    assert!(!new.iter().any(|path| path.extension().is_some_and(|end| end == "log")), "{new:?}");
    assert_eq!(recording.outcome.said(), "5702887\n");
    let rows = recording.refined("through file:*/work.js");
    assert!(rows.inclusive_of("burn") > 0);
    let report = recording.output(&["report", "--view", "flat"]);
    assert!(report.contains("burn  work.js:2"), "{report}");
}

/// Samples by what is known of generated code in their paths, without those of paths that were too
/// deep.
#[derive(Debug, Default)]
struct Shares {
    all: u64,
    /// The innermost generated frame has a name, and has none.
    named: u64,
    unnamed: u64,
    partial: u64,
}

impl Shares {
    fn of(recording: &Recording) -> Self {
        let words = ["report", "--view", "tree", "--format", "json", "--no-saved-stages"];
        let all = ["--threshold", "0", "--limit", "10000000", "--depth", "1000000"];
        let text = recording.output(&[&words[..], &all].concat());
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut shares = Self::default();
        let mut path: Vec<(&str, Option<&str>)> = Vec::new();
        for row in report["rows"].as_array().unwrap() {
            path.truncate(usize::try_from(row["depth"].as_u64().unwrap()).unwrap());
            path.push((row["function"].as_str().unwrap(), row["module"].as_str()));
            let samples = row["exclusive"].as_u64().unwrap();
            // How deep walks go depends on what they take on this machine.
            if path[0].0 == "[partial: too-deep]" {
                continue;
            }
            shares.all += samples;
            if path[0].0.starts_with("[partial") {
                shares.partial += samples;
            }
            let generated = path.iter().rev().find_map(|(function, module)| match module {
                Some(MODULE) => Some(true),
                None if function.starts_with("[unknown code at ") => Some(false),
                _ => None,
            });
            match generated {
                Some(true) => shares.named += samples,
                Some(false) => shares.unnamed += samples,
                None => {}
            }
        }
        shares
    }

    /// Whether at least 99 % have names; a start of the runtime aside, most have some.
    fn have_names(&self) -> bool {
        self.named * 3 > self.all && self.named * 100 >= (self.named + self.unnamed) * 99
    }

    /// Whether no more than so many percent are partial.
    fn are_whole(&self, percent: u64) -> bool {
        self.all > 100 && self.partial * 100 <= self.all * percent
    }
}

/// As the guide has it: nearly all samples in generated code have names, and few are partial. The
/// shares of those are above what was measured by half, for they depend on when code is compiled.
#[test]
fn shares_of_names_and_of_partial_samples() {
    let workshop = Workshop::new("generated_shares");
    let python = python().map(|path| path.to_string_lossy().into_owned());
    for (name, option, file, source, percent) in [
        ("python", "--python", "mix.py", MIX_PYTHON, 1),
        ("node", "--node", "mix.js", MIX_NODE, 15),
        ("java", "--java", "Mix.java", MIX_JAVA, 12),
    ] {
        let test = format!("shares_of_names_and_of_partial_samples: {name}");
        fs::write(workshop.path(file), source).unwrap();
        let words = match (name, &python) {
            ("python", Some(python)) => [python, file],
            ("python", None) => {
                assert!(!are_installed(&test, &["python3.12"]));
                continue;
            }
            ("java", _) => {
                if !are_installed(&test, &["java", "javac"]) {
                    continue;
                }
                assert!(workshop.run(&["javac", file]).status.success());
                ["java", "Mix"]
            }
            (runtime, _) => {
                if !are_installed(&test, &[runtime]) {
                    continue;
                }
                [runtime, file]
            }
        };
        let are_as_told = || {
            let recording = workshop.record(&[&OFTEN[..], &[option]].concat(), &words);
            let shares = Shares::of(&recording);
            note(&format!("{test}: {shares:?}"));
            shares.have_names() && shares.are_whole(percent)
        };
        assert!(in_one_of_three(&test, are_as_told));
    }
    // Traces have no names unless LuaJIT was built for that, and stay partial: but the rest does
    // not, and they are one row for each region, of which there are few.
    let test = "shares_of_names_and_of_partial_samples: luajit";
    if are_installed(test, &["luajit"]) {
        fs::write(workshop.path("mix.lua"), MIX_LUA).unwrap();
        let words = ["luajit", "mix.lua"];
        let recording = workshop.record(&[&OFTEN[..], &["--generated"]].concat(), &words);
        let shares = Shares::of(&recording);
        assert!(shares.all > 100, "{shares:?}");
        assert!(shares.partial <= shares.unnamed + shares.named, "{shares:?}");
        let rows = recording.rows();
        let unnamed = rows.iter().filter(|row| row.module.is_none());
        let regions = unnamed.filter(|row| row.function.starts_with("[unknown code at "));
        assert!(shares.unnamed == 0 || (1..=4).contains(&regions.count()), "{shares:?}");
        assert!(!rows.iter().any(|row| row.function.starts_with("0x")));
    }
}

const MIX_PYTHON: &str = "
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def words(n):
    found = {}
    for i in range(n): found[i * 7919 % 5003] = found.get(i * 7919 % 5003, 0) + 1
    return len(found)
print(fib(27), sum(words(300000) for _ in range(4)))
";

const MIX_NODE: &str = "
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function words(n) {
  const found = {};
  for (let i = 0; i < n; i++) {
    const word = 'w' + i * 7919 % 5003;
    found[word] = (found[word] || 0) + 1;
  }
  return Object.keys(found).sort().length;
}
class Point { constructor(x) { this.x = x; } get twice() { return this.x * 2; } }
function* points(n) { for (let i = 0; i < n; i++) yield new Point(i); }
let all = 0;
for (let i = 0; i < 6; i++) { all += words(300000); for (const p of points(300000)) all += p.twice; }
console.log(all, fib(38));
";

const MIX_JAVA: &str = "
import java.util.*;
import java.util.stream.*;
public class Mix {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static int words(int n) {
        Map<String, Integer> found = new HashMap<>();
        for (int i = 0; i < n; i++) found.merge(\"w\" + i * 7919L % 5003, 1, Integer::sum);
        return found.size();
    }
    static long sums(int n) {
        return IntStream.range(0, n).mapToLong(i -> (long) i * i % 7).sorted().sum();
    }
    public static void main(String[] given) {
        long all = 0;
        for (int i = 0; i < 6; i++) all += words(300000) + sums(200000);
        System.out.println(all + \" \" + fib(40));
    }
}
";

const MIX_LUA: &str = "
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(34))
local t = {} for i = 1, 30000000 do t[i % 1000 + 1] = (t[i % 1000 + 1] or 0) + i % 7 end
print(#t)
";

#[test]
fn methods_in_java_have_names() {
    let test = "methods_in_java_have_names";
    if !are_installed(test, &["java", "javac"]) {
        return;
    }
    let workshop = Workshop::new("generated_java");
    let source = "
public class Work {
    static int burn(int n) { return n < 2 ? n : burn(n - 1) + burn(n - 2); }
    public static void main(String[] words) { System.out.println(burn(38)); }
}
";
    fs::write(workshop.path("Work.java"), source).unwrap();
    assert!(workshop.run(&["javac", "Work.java"]).status.success());
    let recording = workshop.record(&[&OFTEN[..], &["--java"]].concat(), &["java", "Work"]);
    assert_eq!(recording.outcome.said(), "39088169\n");
    let rows = recording.rows();
    assert!(rows.inclusive_of("int Work.burn(int)") > 0);
}
