//! Which program a run was of, to know the next run of it again.
//!
//! What was started says that, unless it is there to run something else:
//!
//! | what was started | the program is |
//! |---|---|
//! | `./solver big`, `xz -9 file` | `/folder/solver`, `xz` |
//! | an interpreter: `python3 -X dev x.py 5` | its script, `/folder/x.py`, as for `./x.py` |
//! | … of a module or of code: `python3 -m http.server`, `sh -c TEXT` | `python -m http.server`, `sh -c TEXT` |
//! | a launcher: `mpirun -n 4 ./solver big` | what it ran: the program of the words `./solver big` |
//!
//! What a launcher ran is told by the processes of the run: one of them had the last words of the
//! command line as its own. Where none had, as with a program that could not be profiled, the whole
//! command line is the program: then two runs may be told apart that are of one program, and never
//! the other way round.

use std::path::{Component, Path, PathBuf};

use csprof_format::profile::{Process, RunInfo};

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

/// A program that runs a script.
struct Interpreter {
    /// Its names without a version.
    names: &'static [&'static str],
    /// Options behind which code stands.
    code: &'static [&'static str],
    /// Options behind which the name of a module stands.
    module: &'static [&'static str],
    /// Options behind which a word of theirs stands.
    with_word: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["python", "pypy"],
        code: &["-c"],
        module: &["-m"],
        with_word: &["-W", "-X", "--check-hash-based-pycs"],
    },
    Interpreter {
        names: &["sh", "bash", "dash", "ksh", "zsh"],
        code: &["-c"],
        module: &[],
        with_word: &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"],
    },
    Interpreter { names: &["perl"], code: &["-e", "-E"], module: &[], with_word: &["-I"] },
    Interpreter { names: &["ruby"], code: &["-e"], module: &[], with_word: &["-I", "-r", "-C"] },
    Interpreter {
        names: &["node", "nodejs"],
        code: &["-e", "-p", "--eval", "--print"],
        module: &[],
        with_word: &["-r", "--require", "--import", "--loader"],
    },
    Interpreter {
        names: &["java"],
        code: &[],
        module: &["-jar", "-m", "--module"],
        with_word: &["-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"],
    },
    Interpreter { names: &["php"], code: &["-r"], module: &[], with_word: &["-c", "-d"] },
    Interpreter { names: &["lua", "luajit"], code: &["-e"], module: &[], with_word: &["-l"] },
    Interpreter { names: &["Rscript"], code: &["-e"], module: &[], with_word: &[] },
    Interpreter { names: &["julia"], code: &["-e", "-E"], module: &[], with_word: &["-J", "-L"] },
    Interpreter { names: &["guile"], code: &["-c"], module: &[], with_word: &["-l", "-L", "-e"] },
    Interpreter { names: &["tclsh", "wish"], code: &[], module: &[], with_word: &[] },
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

/// What people call a program: of a file, its name.
#[must_use]
pub fn short(program: &str) -> &str {
    if program.starts_with('/') { file_name(program) } else { program }
}

/// Whether a command line may be of a program, of which nothing else is known: it names it.
#[must_use]
pub fn may_be_of(command: &[String], program: &str) -> bool {
    let name = short(program);
    let joined = bounded(&command.join(" "));
    let names = |word: &String| file_name(word) == name || program.ends_with(&*bounded(word));
    joined == program || command.iter().any(names)
}

fn texts(words: &[Vec<u8>]) -> Vec<String> {
    words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn known_by(words: &[String], directory: &Path, processes: &[Vec<String>]) -> String {
    let Some(first) = words.first() else { return String::new() };
    let name = file_name(first);
    if let Some((name, interpreter)) = interpreter(name) {
        return script(name, interpreter, &words[1..], directory)
            .unwrap_or_else(|| found_in_path(first, directory));
    }
    if !LAUNCHERS.contains(&name) {
        return found_in_path(first, directory);
    }
    // Several programs at once: `mpirun -n 1 ./a : -n 3 ./b`.
    let is_one = !words.iter().any(|word| word == ":");
    let mut ends = (1..words.len()).map(|at| &words[at..]).filter(|_| is_one);
    let run = ends.find(|end| processes.iter().any(|process| is_run_of(process, end)));
    match run {
        Some(words) => known_by(words, directory, processes),
        None => bounded(&words.join(" ")),
    }
}

/// Whether a process ran these words: as they are, found in a folder, or by the interpreter that a
/// script names in its first line.
fn is_run_of(process: &[String], words: &[String]) -> bool {
    let [program, arguments @ ..] = words else { return false };
    let Some(at) = process.len().checked_sub(words.len()) else { return false };
    // `#!/usr/bin/env -S python3 -u` is as much as there is before the script.
    let is_near = at == 0 || at <= 4 && program.contains('/');
    is_near && file_name(&process[at]) == file_name(program) && process[at + 1..] == *arguments
}

/// An interpreter by the name of its file, which may end in a version.
fn interpreter(name: &str) -> Option<(&'static str, &'static Interpreter)> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    INTERPRETERS.iter().find_map(|interpreter| {
        let name = interpreter.names.iter().find(|known| **known == plain)?;
        Some((*name, interpreter))
    })
}

/// What an interpreter runs; `None` if that is not in its words, such as what it reads from
/// standard input.
fn script(
    name: &str,
    interpreter: &Interpreter,
    words: &[String],
    directory: &Path,
) -> Option<String> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let is_of = |options: &[&str]| options.contains(&&**word);
        match &**word {
            "-" => return None,
            "--" => return words.next().map(|script| in_folder(script, directory)),
            "-jar" => return words.next().map(|script| in_folder(script, directory)),
            _ if is_code(word, interpreter.code) => {
                return words.next().map(|code| format!("{name} -c {}", bounded(code)));
            }
            _ if is_of(interpreter.module) => {
                return words.next().map(|module| format!("{name} -m {module}"));
            }
            _ if is_of(interpreter.with_word) => drop(words.next()),
            option if option.starts_with(['-', '+']) => {}
            // The name of a class, not a file.
            class if name == "java" && !class.ends_with(".java") => {
                return Some(format!("java {class}"));
            }
            script => return Some(in_folder(script, directory)),
        }
    }
    None
}

/// Whether code stands behind this option: `-c`, and `-xc` and `-lne` with others before it.
fn is_code(word: &str, options: &[&str]) -> bool {
    let short = word.strip_prefix('-').filter(|letters| {
        letters.bytes().all(|letter| letter.is_ascii_alphabetic())
            && !letters.starts_with(['I', 'M', 'm', 'W', 'X'])
    });
    options.iter().any(|option| {
        let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
        word == *option || letter.zip(short).is_some_and(|(letter, all)| all.ends_with(letter))
    })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
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
            ("python3 -m http.server 80", "python -m http.server"),
            ("python3.12 -c 'print(1)'", "python -c print(1)"),
            ("sh -c './a | ./b'", "sh -c ./a | ./b"),
            ("bash -xc true", "bash -c true"),
            ("bash -o pipefail run.sh 5", "/home/me/run.sh"),
            ("perl -lne print file", "perl -c print"),
            ("perl -MList::Util -I lib x.pl", "/home/me/x.pl"),
            ("node --require a.js b.js", "/home/me/b.js"),
            ("java -Xmx1g -cp a.jar:b.jar org.Main 5", "java org.Main"),
            ("java -jar ../app.jar", "/home/app.jar"),
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
        assert_eq!(of("timeout 5 ./static", &[]), "timeout 5 ./static");
        let several = "mpirun ./a : ./b";
        assert_eq!(of(several, &["./a", "./b"]), several);
    }

    #[test]
    fn an_entry_tells_what_it_is_of() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(may_be_of(&words("python3 x.py 5"), "/home/me/x.py"));
        assert!(!may_be_of(&words("python3 y.py 5"), "/home/me/x.py"));
        assert!(may_be_of(&words("sh -c true"), "sh -c true"));
        assert!(!may_be_of(&words("sh -c false"), "sh -c true"));
        assert!(may_be_of(&words("timeout 5 ./static"), "timeout 5 ./static"));
    }
}
