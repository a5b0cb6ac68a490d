//! Which program a run was of, to know the next run of it again.
//!
//! What was started says that, unless it is there to run something else:
//!
//! | what was started | the program is |
//! |---|---|
//! | `./solver big`, `xz -9 file` | `/folder/solver`, `xz` |
//! | an interpreter: `python3 -X dev x.py 5` | its script, `/folder/x.py`, as for `./x.py` |
//! | … of a module: `python3 -m app` | `python -m app (in /folder)` |
//! | … of code: `sh -c TEXT` | `sh -c TEXT (in /folder)` |
//! | a launcher: `mpirun -n 4 ./solver big` | what it ran: the program of the words `./solver big` |
//!
//! What a launcher ran is told by the processes of the run: one of them had the last words of the
//! command line as its own. Where none had, as with a program that could not be profiled, and where
//! an interpreter has an option that is not known, the whole command line and its folder are the
//! program: then two runs may be told apart that are of one program, and never the other way round.

mod interpreter;

use std::path::{Component, Path, PathBuf};

use interpreter::{Runs, runs};

use csprof_format::profile::{Process, RunInfo};

use super::name_of_file;

/// Programs that run another one, whose command line ends theirs.
const LAUNCHERS: &[&str] = &[
    "aprun",
    "catchsegv",
    "chrt",
    "env",
    "ibrun",
    "ionice",
    "jsrun",
    "ltrace",
    "mpiexec",
    "mpiexec.hydra",
    "mpirun",
    "nice",
    "nohup",
    "numactl",
    "orterun",
    "prlimit",
    "prterun",
    "setarch",
    "setsid",
    "srun",
    "stdbuf",
    "strace",
    "taskset",
    "time",
    "timeout",
    "unshare",
    "xvfb-run",
];

/// Most characters of code, or of a command line, that are part of what a program is called; of the
/// rest a number stands for it.
const LONGEST: usize = 200;

/// The program of a run, whose processes these are.
#[must_use]
pub fn program_key(run: &RunInfo, processes: &[Process]) -> String {
    let words = texts(&run.command);
    let processes: Vec<_> = processes.iter().map(|process| texts(&process.command)).collect();
    let directory = String::from_utf8_lossy(&run.directory);
    known_by(&words, Path::new(&*directory), &processes)
}

/// What an earlier csprof took for it: what was started.
#[must_use]
pub fn started(run: &RunInfo) -> String {
    let words = texts(&run.command);
    let directory = String::from_utf8_lossy(&run.directory);
    words.first().map_or_else(String::new, |word| found_in_path(word, Path::new(&*directory)))
}

/// What people call a program: of a file its name, of a text what stands before its folder.
#[must_use]
pub fn short(program: &str) -> &str {
    if program.starts_with('/') { name_of_file(program) } else { without_folder(program) }
}

/// Whether a command line may be of a program, of which nothing else is known: it names it.
#[must_use]
pub fn may_be_of(command: &[String], program: &str) -> bool {
    let text = without_folder(program);
    let names = |word: &String| {
        let word = bounded(word);
        let is_file = program.starts_with('/') && name_of_file(&word) == name_of_file(program);
        is_file
            || text.strip_suffix(&*word).is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
    };
    bounded(&command.join(" ")) == text
        || command.iter().any(|word| !word.is_empty() && names(word))
}

fn texts(words: &[Vec<u8>]) -> Vec<String> {
    words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn known_by(words: &[String], directory: &Path, processes: &[Vec<String>]) -> String {
    let Some(first) = words.first() else { return String::new() };
    match runs(words) {
        Some(Runs::Script(place)) => return in_folder(&words[place], directory),
        Some(Runs::Text(text)) => return with_folder(&text, directory),
        Some(Runs::Input) => return found_in_path(first, directory),
        Some(Runs::Unknown) => return with_folder(&words.join(" "), directory),
        None if !LAUNCHERS.contains(&name_of_file(first)) => {
            return found_in_path(first, directory);
        }
        None => {}
    }
    // Several programs at once: `mpirun -n 1 ./a : -n 3 ./b`.
    let is_one = !words.iter().any(|word| word == ":");
    let mut ends = (1..words.len()).map(|at| &words[at..]).filter(|_| is_one);
    let run = ends.find(|end| processes.iter().any(|process| is_run_of(process, end)));
    match run {
        Some(words) => known_by(words, directory, processes),
        None => with_folder(&words.join(" "), directory),
    }
}

/// Whether a process ran these words: as they are, found in a folder, or by the interpreter that a
/// script names in its first line. The launcher has them as well, behind words of its own.
fn is_run_of(process: &[String], words: &[String]) -> bool {
    let [program, arguments @ ..] = words else { return false };
    let Some(at) = process.len().checked_sub(words.len()) else { return false };
    (at == 0 || program.contains('/') && runs(process) == Some(Runs::Script(at)))
        && name_of_file(&process[at]) == name_of_file(program)
        && process[at + 1..] == *arguments
}

/// A name without a folder was looked for in `PATH`.
fn found_in_path(word: &str, directory: &Path) -> String {
    if word.contains('/') { in_folder(word, directory) } else { word.to_owned() }
}

/// A file as it is from everywhere, without `.` and `..`.
fn in_folder(file: &str, directory: &Path) -> String {
    let mut plain = PathBuf::new();
    for part in directory.join(file).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain.to_string_lossy().into_owned()
}

/// A text that may mean something else in another folder: files are named from there, and modules
/// and classes are looked for in it.
fn with_folder(text: &str, directory: &Path) -> String {
    let text = bounded(text);
    match directory.as_os_str().is_empty() {
        true => text,
        false => format!("{text}{FOLDER}{})", directory.display()),
    }
}

/// What stands between a text and its folder.
const FOLDER: &str = " (in ";

fn without_folder(program: &str) -> &str {
    let text = program.strip_suffix(')').and_then(|program| program.rsplit_once(FOLDER));
    text.filter(|(_, folder)| folder.starts_with('/')).map_or(program, |(text, _)| text)
}

/// A text, or its beginning and a number for all of it.
fn bounded(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((at, _)) => {
            format!("{}… {:032x}", &text[..at], csprof_format::fnv_1a(text.bytes()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str, processes: &[&str]) -> String {
        let words = |text: &str| -> Vec<Vec<u8>> {
            // A word may be quoted.
            let parts = text.split('\'').enumerate();
            let split = parts.flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().map(|word| word.as_bytes().to_vec()).collect(),
                _ => vec![part.as_bytes().to_vec()],
            });
            split.collect()
        };
        let run = RunInfo {
            command: words(command),
            directory: b"/home/me".to_vec(),
            ..RunInfo::default()
        };
        let process = |command: &&str| Process { command: words(command), ..Process::default() };
        program_key(&run, &processes.iter().map(process).collect::<Vec<_>>())
    }

    #[test]
    fn a_program_is_what_was_started() {
        assert_eq!(of("./solver big", &["./solver big"]), "/home/me/solver");
        assert_eq!(of("../you/solver", &[]), "/home/you/solver");
        assert_eq!(of("xz -9 python3", &["xz -9 python3"]), "xz");
        assert_eq!(of("", &[]), "");
        // What it starts is a part of it.
        assert_eq!(of("make gcc", &["make gcc", "gcc"]), "make");
    }

    #[test]
    fn an_interpreter_is_known_by_its_script() {
        for (command, program) in [
            ("python3 x.py 5", "/home/me/x.py"),
            ("/usr/bin/python3.11 -X dev -B ./x.py 7", "/home/me/x.py"),
            ("./x.py 5", "/home/me/x.py"),
            ("python3 y.py", "/home/me/y.py"),
            ("python3 -m http.server 80", "python -m http.server (in /home/me)"),
            ("python3 -Im timeit x", "python -m timeit (in /home/me)"),
            ("python3 -Wdefault -bmapp", "python -m app (in /home/me)"),
            ("python3.12 -c 'print(1)'", "python -c print(1) (in /home/me)"),
            ("sh -c './a | ./b'", "sh -c ./a | ./b (in /home/me)"),
            ("bash -xc true", "bash -c true (in /home/me)"),
            ("sh -ce ./a", "sh -c ./a (in /home/me)"),
            ("bash -o pipefail run.sh 5", "/home/me/run.sh"),
            ("bash -euo pipefail t.sh", "/home/me/t.sh"),
            ("bash -euo pipefail -c true", "bash -c true (in /home/me)"),
            ("bash --norc +x t.sh -c 5", "/home/me/t.sh"),
            ("perl -lne print file", "perl -lne print (in /home/me)"),
            ("perl -e a -e b file", "perl -e a -e b (in /home/me)"),
            ("perl -i.bak -0777 -F: -CSDne 's/a/b/' file", "perl -CSDne s/a/b/ (in /home/me)"),
            ("perl -MList::Util -I lib x.pl", "/home/me/x.pl"),
            ("ruby -rdate x.rb", "/home/me/x.rb"),
            ("ruby -r date -W2 x.rb", "/home/me/x.rb"),
            // It would be looked for in that folder.
            ("ruby -C a x.rb", "ruby -C a x.rb (in /home/me)"),
            ("node -pe 6*7", "node -pe 6*7 (in /home/me)"),
            ("node -e f()", "node -e f() (in /home/me)"),
            ("php -R f();", "php -R f(); (in /home/me)"),
            ("php -S localhost:80 -t a", "php -S localhost:80 -t a (in /home/me)"),
            ("node --require a.js b.js", "/home/me/b.js"),
            ("node --perf-basic-prof --max-old-space-size=4096 b.js", "/home/me/b.js"),
            ("node --eval=f()", "node --eval= f() (in /home/me)"),
            ("java -Xmx1g -cp a.jar:b.jar org.Main 5", "java org.Main (in /home/me)"),
            ("java -jar ../app.jar", "/home/app.jar"),
            ("java --add-opens java.base/java.lang=ALL-UNNAMED -jar a.jar", "/home/me/a.jar"),
            ("java -m app/org.Main 5", "java -m app/org.Main (in /home/me)"),
            ("php -d a=1 -f x.php", "/home/me/x.php"),
            ("lua -e N=5 x.lua", "/home/me/x.lua"),
            ("lua -e N=5", "lua -e N=5 (in /home/me)"),
            ("Rscript --vanilla x.R", "/home/me/x.R"),
            ("tclsh x.tcl 5", "/home/me/x.tcl"),
            // What stands behind an option that is not known may be its word.
            ("node --new-option x y.js", "node --new-option x y.js (in /home/me)"),
            ("python3 -Z x y.py", "python3 -Z x y.py (in /home/me)"),
            ("java @options Main", "java @options Main (in /home/me)"),
            ("python3", "python3"),
            ("python3 -", "python3"),
            ("/usr/bin/python3", "/usr/bin/python3"),
        ] {
            assert_eq!(of(command, &[]), program, "{command}");
        }
        let code = |end: &str| of(&format!("python3 -c '{}{end}'", "x".repeat(500)), &[]);
        assert!(code("1") != code("2") && code("1").chars().count() < 300);
    }

    #[test]
    fn a_launcher_is_known_by_what_it_ran() {
        let ranks = ["./solver big", "./solver big"];
        assert_eq!(of("mpirun -n 4 ./solver big", &ranks), "/home/me/solver");
        assert_eq!(of("mpirun -n 8 ./solver big", &["/home/me/solver big"]), "/home/me/solver");
        let python = ["python3 x.py 5"];
        assert_eq!(of("mpirun -n 2 env A=1 python3 x.py 5", &python), "/home/me/x.py");
        assert_eq!(of("timeout 5 ./x.py 5", &["/usr/bin/python3 ./x.py 5"]), "/home/me/x.py");
        assert_eq!(of("nice -n 5 xz file", &["xz file"]), "xz");
        // Which of them is not known, or there are several.
        assert_eq!(of("timeout 5 ./static", &[]), "timeout 5 ./static (in /home/me)");
        let several = "mpirun ./a : ./b";
        assert_eq!(of(several, &["./a", "./b"]), "mpirun ./a : ./b (in /home/me)");
        // The launcher is a process, too, and files among its words are not what was run.
        for launcher in [
            "env LD_LIBRARY_PATH=/opt/lib ./a",
            "time -o /tmp/tm ./a",
            "mpirun --hostfile /x/hosts ./a",
            "strace -o /t ./a",
        ] {
            assert_eq!(of(launcher, &[launcher, "./a"]), "/home/me/a", "{launcher}");
            let interpreted = format!("/usr/bin/python3 {launcher}");
            assert_eq!(of(launcher, &[&interpreted, "./a"]), "/home/me/a", "{launcher}");
            assert_eq!(of(launcher, &[launcher]), format!("{launcher} (in /home/me)"));
        }
    }

    #[test]
    fn people_read_no_folder() {
        for (program, name) in [
            ("/home/me/x.py", "x.py"),
            ("xz", "xz"),
            ("sh -c ./a (in /home/me)", "sh -c ./a"),
            ("sh -c f (in a)", "sh -c f (in a)"),
        ] {
            assert_eq!(short(program), name);
        }
    }

    #[test]
    fn an_entry_tells_what_it_is_of() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(may_be_of(&words("python3 x.py 5"), "/home/me/x.py"));
        assert!(!may_be_of(&words("python3 y.py 5"), "/home/me/x.py"));
        assert!(may_be_of(&words("sh -c true"), "sh -c true"));
        assert!(!may_be_of(&words("sh -c false"), "sh -c true"));
        assert!(may_be_of(&words("timeout 5 ./static"), "timeout 5 ./static (in /home/me)"));
        assert!(may_be_of(&words("python3 -m app"), "python -m app (in /home/me)"));
        // The end of another name, and no name at all.
        assert!(!may_be_of(&words("python3 run.py"), "/home/me/other_run.py"));
        assert!(!may_be_of(&words("python3 pp"), "python -m app (in /home/me)"));
        assert!(!may_be_of(&["sh".to_owned(), String::new()], "/home/me/x.py"));
    }
}
