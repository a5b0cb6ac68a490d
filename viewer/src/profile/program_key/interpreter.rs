//! What an interpreter runs: its words up to the script, read by the options that it knows.
//!
//! An option that is not in its table may have a word behind it or none, so what stands further
//! behind is not guessed at.

use crate::profile::name_of_file;

/// A program that runs a script.
pub(super) struct Interpreter {
    /// Its names without a version.
    names: &'static [&'static str],
    /// Letters of options behind which nothing stands. `-ab` is `-a -b`.
    flags: &'static str,
    /// Letters of options that own the rest of their word, which may be empty.
    rest: &'static str,
    /// Letters of options that own those of these characters that follow.
    some: &'static [(char, &'static str)],
    /// Letters of options with a word: the rest of theirs, or the next one.
    word: &'static str,
    /// Letters and long options with code, which stands like such a word.
    code: &'static str,
    long_code: &'static [&'static str],
    /// Those with the name of a module.
    module: &'static str,
    long_module: &'static [&'static str],
    /// Those with the script.
    file: &'static str,
    long_file: &'static [&'static str],
    /// Long options with a word behind them.
    long_word: &'static [&'static str],
    /// Long options without one.
    long: &'static [&'static str],
    /// What options begin with that are one word.
    begins: &'static [&'static str],
    kind: Kind,
}

/// What is particular to an interpreter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What follows code is read by the code.
    Plain,
    /// There may be more code, which belongs to it.
    Repeats,
    /// A script may follow the code.
    ThenScript,
    /// `-c` says that the first word that is no option is code; options may begin with `+`.
    Shell,
    /// The first word that is no option names a class, unless it is a source file.
    Classes,
}

const NONE: Interpreter = Interpreter {
    names: &[],
    flags: "",
    rest: "",
    some: &[],
    word: "",
    code: "",
    long_code: &[],
    module: "",
    long_module: &[],
    file: "",
    long_file: &[],
    long_word: &[],
    long: &[],
    begins: &[],
    kind: Kind::Plain,
};

const DIGITS: &str = "0123456789";

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["python", "pypy"],
        flags: "bBdEhiIOPqRsStuvVx?",
        word: "WX",
        code: "c",
        module: "m",
        long_word: &["--check-hash-based-pycs", "--jit"],
        ..NONE
    },
    Interpreter {
        names: &["sh", "bash", "dash", "ksh", "zsh"],
        flags: "abdefghiklmnprtuvwxyBCDEHPT",
        word: "oO",
        long_word: &["--rcfile", "--init-file"],
        long: &["--login", "--noprofile", "--norc", "--posix", "--restricted", "--verbose"],
        kind: Kind::Shell,
        ..NONE
    },
    Interpreter {
        names: &["perl"],
        flags: "acdfghnpsStTuUvwWX",
        rest: "DFiMmVx",
        some: &[('0', "xX0123456789abcdefABCDEF"), ('C', "IOESioDALa0123456789"), ('l', DIGITS)],
        word: "I",
        code: "eE",
        kind: Kind::Repeats,
        ..NONE
    },
    Interpreter {
        names: &["ruby"],
        flags: "acdhlnpsSUvwy",
        rest: "FiKTWx",
        some: &[('0', DIGITS)],
        word: "EIr",
        code: "e",
        long_word: &["--disable", "--enable", "--encoding", "--external-encoding"],
        long: &["--jit", "--rjit", "--yjit", "--verbose"],
        kind: Kind::Repeats,
        ..NONE
    },
    Interpreter {
        names: &["node", "nodejs"],
        flags: "chiv",
        word: "rC",
        long_code: &["--eval", "--print", "-e", "-p", "-pe"],
        long_word: &["--conditions", "--env-file", "--import", "--loader", "--require"],
        long: &[
            "--cpu-prof",
            "--enable-source-maps",
            "--expose-gc",
            "--heap-prof",
            "--inspect",
            "--inspect-brk",
            "--interpreted-frames-native-stack",
            "--jitless",
            "--perf-basic-prof",
            "--perf-basic-prof-only-functions",
            "--perf-prof",
            "--prof",
            "--use-strict",
        ],
        begins: &["--no-", "--trace-"],
        ..NONE
    },
    Interpreter {
        names: &["java"],
        long_module: &["-m", "--module"],
        long_file: &["-jar"],
        long_word: &[
            "-classpath",
            "-cp",
            "-p",
            "--add-exports",
            "--add-modules",
            "--add-opens",
            "--add-reads",
            "--class-path",
            "--enable-native-access",
            "--limit-modules",
            "--module-path",
            "--patch-module",
            "--source",
            "--upgrade-module-path",
        ],
        long: &["--enable-preview", "--show-version", "-client", "-server", "-showversion"],
        begins: &["-X", "-D", "-agent", "-da", "-dsa", "-ea", "-esa", "-javaagent:", "-verbose"],
        kind: Kind::Classes,
        ..NONE
    },
    Interpreter {
        names: &["php"],
        flags: "aCehHilmnqsvw",
        word: "cdz",
        code: "BERr",
        file: "Ff",
        ..NONE
    },
    Interpreter {
        names: &["lua"],
        flags: "iEvW",
        word: "l",
        code: "e",
        kind: Kind::ThenScript,
        ..NONE
    },
    Interpreter {
        names: &["luajit"],
        flags: "iEv",
        rest: "O",
        word: "jl",
        code: "e",
        kind: Kind::ThenScript,
        ..NONE
    },
    Interpreter {
        names: &["Rscript"],
        code: "e",
        long: &["--quiet", "--slave", "--vanilla", "--verbose"],
        begins: &["--no-"],
        kind: Kind::Repeats,
        ..NONE
    },
    Interpreter {
        names: &["julia"],
        flags: "hiqv",
        some: &[('g', DIGITS), ('O', DIGITS)],
        word: "CHJLptP",
        code: "eE",
        module: "m",
        long_word: &["--load", "--procs", "--sysimage", "--threads"],
        long: &["--project"],
        ..NONE
    },
    Interpreter {
        names: &["guile"],
        flags: "hqv",
        word: "CeLlx",
        code: "c",
        file: "s",
        long: &["--auto-compile", "--debug", "--fresh-auto-compile", "--no-auto-compile"],
        ..NONE
    },
    Interpreter { names: &["tclsh", "wish"], ..NONE },
];

/// What the words of an interpreter have it run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// The script in this place of its words.
    Script(usize),
    /// Code, a module or a class: its name, the option that says so, and what stands behind that.
    Text(String),
    /// What is not in its words, such as what it reads from standard input.
    Input,
    /// It has an option of which nothing is known.
    Unknown,
}

/// What stands behind an option, or in its word.
enum Takes {
    Nothing,
    Word,
    Code,
    Module,
    Script,
}

/// What words have an interpreter run; `None` if the first of them is not one by its name, which
/// may end in a version.
pub(super) fn runs(words: &[String]) -> Option<Runs> {
    let name = name_of_file(words.first()?);
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    INTERPRETERS.iter().find_map(|interpreter| {
        let name = interpreter.names.iter().find(|known| **known == plain)?;
        Some(interpreter.runs(name, words))
    })
}

impl Interpreter {
    fn runs(&self, name: &str, words: &[String]) -> Runs {
        let mut code = Vec::new();
        let mut is_code = false;
        let mut at = 1;
        while let Some(word) = words.get(at) {
            at += 1;
            if word == "--" {
                break;
            }
            let is_option = word.starts_with('-') && word != "-"
                || self.kind == Kind::Shell && word.starts_with('+');
            if !is_option {
                at -= 1;
                break;
            }
            // What follows is read by the code, whatever it is.
            let Some((takes, own)) = self.option(word, &mut is_code) else {
                return if code.is_empty() { Runs::Unknown } else { text(name, &code) };
            };
            if matches!(takes, Takes::Nothing) {
                continue;
            }
            let place = if own.is_some() { at - 1 } else { at };
            let value = own.or_else(|| words.get(at).map(String::as_str));
            at = place + 1;
            let Some(value) = value else { return Runs::Input };
            match takes {
                Takes::Nothing | Takes::Word => {}
                Takes::Script if own.is_none() => return Runs::Script(place),
                Takes::Script => return Runs::Unknown,
                Takes::Module => return Runs::Text(format!("{name} -m {value}")),
                Takes::Code => {
                    let option = word.strip_suffix(value).filter(|_| own.is_some());
                    code.push(option.unwrap_or(word).to_owned());
                    code.push(value.to_owned());
                    if self.kind == Kind::Plain {
                        return text(name, &code);
                    }
                }
            }
        }
        let script = words.get(at).filter(|word| *word != "-");
        match script {
            _ if !code.is_empty() && (self.kind != Kind::ThenScript || script.is_none()) => {
                text(name, &code)
            }
            None => Runs::Input,
            Some(code) if is_code => text(name, &["-c".to_owned(), code.clone()]),
            Some(file) if self.kind == Kind::Classes && file.starts_with('@') => Runs::Unknown,
            Some(class) if self.kind == Kind::Classes && !class.ends_with(".java") => {
                Runs::Text(format!("{name} {class}"))
            }
            Some(_) => Runs::Script(at),
        }
    }

    /// What an option takes, and what of that is in its own word; `None` if it is not known.
    fn option<'w>(&self, word: &'w str, is_code: &mut bool) -> Option<(Takes, Option<&'w str>)> {
        let (name, own) = match word.split_once('=') {
            Some((name, own)) => (name, Some(own)),
            None => (word, None),
        };
        let is = |options: &[&str]| options.contains(&name);
        let long = [
            (is(self.long_code), Takes::Code),
            (is(self.long_module), Takes::Module),
            (is(self.long_file), Takes::Script),
            (is(self.long_word), Takes::Word),
            (is(self.long), Takes::Nothing),
            (self.begins.iter().any(|begin| word.starts_with(begin)), Takes::Nothing),
            // It brings its word along.
            (word.starts_with("--") && own.is_some(), Takes::Nothing),
        ];
        if let Some((_, takes)) = long.into_iter().find(|(is, _)| *is) {
            return Some((takes, own));
        }
        let mut letters = word[1..].chars();
        let mut takes = Takes::Nothing;
        while let Some(letter) = letters.next() {
            let behind = letters.as_str();
            takes = match letter {
                'c' if self.kind == Kind::Shell => {
                    *is_code = true;
                    continue;
                }
                // The word of `-euo pipefail` is the next one, whatever else there is.
                _ if self.kind == Kind::Shell && self.word.contains(letter) => {
                    takes = Takes::Word;
                    continue;
                }
                _ if self.flags.contains(letter) => continue,
                _ if self.rest.contains(letter) => return Some((takes, None)),
                _ if self.some.iter().any(|(of, _)| *of == letter) => {
                    let own = self
                        .some
                        .iter()
                        .find(|(option, _)| *option == letter)
                        .map(|option| option.1);
                    let own = own.unwrap_or_default();
                    letters = behind.trim_start_matches(|c| own.contains(c)).chars();
                    continue;
                }
                _ if self.code.contains(letter) => Takes::Code,
                _ if self.module.contains(letter) => Takes::Module,
                _ if self.file.contains(letter) => Takes::Script,
                _ if self.word.contains(letter) => Takes::Word,
                _ => return None,
            };
            return Some((takes, Some(behind).filter(|behind| !behind.is_empty())));
        }
        Some((takes, None))
    }
}

fn text(name: &str, code: &[String]) -> Runs {
    Runs::Text(format!("{name} {}", code.join(" ")))
}
