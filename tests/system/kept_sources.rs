//! Lines of source files that a profile keeps.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use csprof_format::read;
use csprof_tests::workshop::Workshop;

/// It does not need the kernel's ticks: the program works for a tenth of a second.
const SOURCE: &str = "task-clock@1000";

const WORK: &str = "double work(double *v, int n)
{
\tdouble sum = 0;
\tfor (int k = 0; k < 4000; k++)
\t\tfor (int i = 0; i < n; i++)
\t\t\tsum += v[i] / (k + 1.0); /* \u{202e}\u{1b}[31m */
\treturn sum;
}
";

const MAIN: &str = "#include <vector>
extern \"C\" double work(double *v, int n);
int main()
{
\tstd::vector<double> v(20000, 1.5);
\treturn work(v.data(), (int)v.size()) < 0;
}
";

fn program(workshop: &Workshop) -> [std::path::PathBuf; 2] {
    let filler: String = (0..20_000).map(|line| format!("/* line {line} */\n")).collect();
    let files = [workshop.path("work.c"), workshop.path("main.cpp")];
    fs::write(&files[0], format!("{filler}{WORK}")).unwrap();
    fs::write(&files[1], MAIN).unwrap();
    workshop.compile("cc -O2 -g -c work.c");
    workshop.compile("c++ -O2 -g -o program main.cpp work.o");
    files
}

/// What csprof symbolize says with an option.
fn symbolized(workshop: &Workshop, option: &str) -> String {
    workshop.csprof(&["symbolize", option, "run.csprof"]).complained()
}

fn kept(path: &Path) -> Vec<String> {
    let profile = read::open(path).unwrap();
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    profile.sources.iter().map(|file| name(&profile.strings[file.path.index()])).collect()
}

/// A program in C and C++, whose files are gone when it is looked at.
#[test]
fn sources_are_shown_where_their_files_are_not() {
    let workshop = Workshop::new("kept-sources");
    let files = program(&workshop);
    let recording = workshop.record(&["-e", SOURCE, "--sources"], &["./program"]);
    let said = recording.outcome.complained();
    assert!(said.contains("kept in the profile, "), "{said}");
    files.iter().for_each(|file| fs::remove_file(file).unwrap());
    let work = recording.output(&["report", "--source", "work"]);
    assert!(work.contains("of 20008 lines"), "{work}");
    assert!(work.contains("20006") && work.contains("sum += v[i] / (k + 1.0)"), "{work}");
    assert!(!work.contains('\u{202e}') && !work.contains('\u{1b}'), "{work}");
    let main = recording.output(&["report", "--source", "main"]);
    assert!(main.contains("main.cpp: kept in the profile\n"), "{main}");
    assert!(main.contains("return work(v.data(), (int)v.size()) < 0;"), "{main}");
    let info = recording.output(&["info"]);
    assert!(info.contains("kept in the profile, ") && info.contains("source files"), "{info}");
    let json = recording.output(&["info", "--format", "json"]);
    assert!(json.contains("\"is_of_run\": true") && json.contains("\"digest\""), "{json}");
    let mode = fs::metadata(recording.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it is for its owner alone");

    // Another file at the path of a kept one is passed over, but not if that was added later.
    fs::write(&files[1], MAIN.replace("1.5", "2.5")).unwrap();
    let main = recording.output(&["report", "--source", "main"]);
    assert!(main.contains("the file here is another version") && main.contains("1.5"), "{main}");
    fs::remove_file(&files[1]).unwrap();

    // What was asked for can be taken back; without the files nothing comes again.
    let path = recording.path();
    let said = symbolized(&workshop, "--no-sources");
    assert!(said.contains("removed"), "{said}");
    assert!(kept(path).is_empty());
    let main = recording.output(&["report", "--source", "main"]);
    assert!(main.contains("there is no such file") && !main.contains("v.data()"), "{main}");
    let bytes = fs::read(path).unwrap();
    assert!(!bytes.windows(12).any(|part| part == b"v.data(), (i"));
    let said = symbolized(&workshop, "--sources");
    assert!(said.contains("not found here"), "{said}");
    assert!(!kept(path).contains(&"main.cpp".to_owned()));
}

#[test]
fn sources_are_kept_when_asked_for_and_as_far_as_they_fit() {
    let workshop = Workshop::new("kept-sources-later");
    program(&workshop);
    let recording = workshop.record(&["-e", SOURCE], &["./program"]);
    let path = recording.path();
    assert!(kept(path).is_empty(), "nobody asked");
    let before = read::open(path).unwrap();
    let said = symbolized(&workshop, "--sources");
    assert!(said.contains("kept in the profile"), "{said}");
    let added: Vec<&str> = said.lines().filter(|line| line.contains("added /")).collect();
    assert!(added.iter().any(|line| line.ends_with("/main.cpp")), "{said}");
    let names = kept(path);
    assert!(names.contains(&"work.c".to_owned()) && names.contains(&"main.cpp".to_owned()));
    let mut after = read::open(path).unwrap();
    after.sources.clear();
    assert_eq!(after, before);
    let again = symbolized(&workshop, "--sources");
    assert!(again.ends_with("the file is unchanged\n") && !again.contains("added"), "{again}");
    let main = workshop.path("main.cpp");
    fs::write(&main, MAIN.replace("1.5", "2.5")).unwrap();
    let shown = recording.output(&["report", "--source", "main"]);
    assert!(shown.contains("another version than is kept") && shown.contains("2.5"), "{shown}");
    fs::write(&main, MAIN).unwrap();
    let refused = workshop.csprof(&["symbolize", "--sources=65M", "run.csprof"]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.complained());
    let refused = workshop.csprof(&["record", "--sources", "--no-symbols", "./program"]);
    assert!(refused.complained().contains("--sources needs symbols"), "{}", refused.complained());
}
