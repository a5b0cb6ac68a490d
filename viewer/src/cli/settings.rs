//! The configuration file: defaults of options, keys and colors.
//!
//! `$XDG_CONFIG_HOME/csprof/config.toml`, or `~/.config/csprof/config.toml`; `CSPROF_CONFIG` names
//! another one, or none where it is empty, and `--no-config` reads none.
//!
//! A table of the file is a subcommand, and its keys are the long options of that, so that every
//! option has a default in the file without being named here; options of every subcommand stand
//! above the tables. What the command line says counts more. Values are checked by the option's own
//! parser, and all that is wrong with the file is told at once.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use nix::unistd::getuid;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::derive::CONFIGURED;
use crate::print::printable;
use crate::profile::derived::Wanted;
use crate::refine::meant;
use crate::set_files::config_folder;
use crate::tui::keymap::Keymap;
use crate::tui::theme::Colors;

/// Names the file, or none where it is empty.
pub(super) const VARIABLE: &str = "CSPROF_CONFIG";

/// The option that reads no file.
pub(super) const NO_CONFIG: &str = "no-config";

/// Files beyond this size are something else.
const MAX_BYTES: u64 = 1 << 20;

/// Problems that are told: a file with more is none of ours.
const MOST_PROBLEMS: usize = 20;

/// Settings that are looked at: more than there are, or one of them would be wrong.
const MOST_SETTINGS: usize = 2000;

/// The tables that are no subcommands.
pub(super) const KEYS: &str = "keys";
pub(super) const COLORS: &str = "colors";
pub(super) const DERIVED: &str = "derived";

/// One value of the file.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// The table; empty above all tables.
    pub(super) table: String,
    pub(super) key: String,
    /// The values, as on a command line: one, or those of a list.
    pub(super) values: Vec<String>,
    /// As it is written in the file.
    pub(super) text: String,
    /// Its line, from 1.
    pub(super) line: usize,
    is_flag: Option<bool>,
}

/// What the file says, checked.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// The file, whether it exists or not; `None` where none is read.
    pub(super) file: Option<PathBuf>,
    pub(super) list: Vec<Setting>,
    pub(super) colors: Colors,
}

/// All that is wrong with the file, a line each.
type Problems = Vec<String>;

impl Settings {
    /// Reads and checks the file that there is, unless none is to be read.
    ///
    /// # Errors
    ///
    /// All that is wrong with it: file, line, cause and remedy.
    pub(super) fn load(no_config: bool, root: &Command) -> Result<Self, String> {
        let named = std::env::var_os(VARIABLE);
        let file = match &named {
            _ if no_config => None,
            Some(name) if name.is_empty() => None,
            Some(name) => Some(PathBuf::from(name)),
            None => config_folder().map(|folder| folder.join("config.toml")),
        };
        let Some(path) = &file else { return Ok(Self::default()) };
        let text = match text_of(path, named.is_some()) {
            Ok(text) => text,
            // Nobody has written one where there is no such folder, or it is another user's.
            Err(error) if named.is_none() && is_none(path, &error) => {
                return Ok(Self { file, ..Self::default() });
            }
            Err(error) => return Err(format!("{}: {error}{}", place_of(path), remedy())),
        };
        let read = Self::read(&text, root);
        let settings = read.map_err(|problems| {
            let lines = problems.iter().map(|problem| format!("{}:{problem}", place_of(path)));
            format!("{}{}", lines.collect::<Vec<_>>().join("\n"), remedy())
        })?;
        Ok(Self { file, ..settings })
    }

    /// Reads and checks a text. Each problem begins with its line.
    pub(super) fn read(text: &str, root: &Command) -> Result<Self, Problems> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = line_of(text, error.span().map_or(0, |span| span.start));
            vec![format!("{line}: {}", error.message().replace('\n', ", "))]
        })?;
        let mut settings = Self::default();
        let mut problems = Vec::new();
        for (key, value) in table.get_ref() {
            match value.get_ref() {
                DeValue::Table(below) => {
                    for (name, value) in below {
                        let table = key.get_ref().as_ref();
                        settings.add(text, table, name, value, &mut problems);
                    }
                    if settings.list.iter().all(|of| of.table != key.get_ref().as_ref())
                        && let Err(problem) = options_of(root, key.get_ref().as_ref())
                    {
                        problems.push(format!("{}: {problem}", line_of(text, key.span().start)));
                    }
                }
                _ => settings.add(text, "", key, value, &mut problems),
            }
        }
        settings.list.sort_by_key(|setting| setting.line);
        for setting in &settings.list {
            if problems.len() >= MOST_PROBLEMS {
                break;
            }
            let checked = match setting.table.as_str() {
                KEYS => Ok(()),
                COLORS => settings.colors.set(&setting.key, &setting.values),
                DERIVED => derived(setting),
                table => check(root, table, setting),
            };
            problems.extend(checked.err().map(|cause| format!("{}: {cause}", setting.line)));
        }
        if let Err((place, cause)) = Keymap::changed(&settings.changed_keys(), false) {
            let keys = settings.list.iter().filter(|setting| setting.table == KEYS);
            let line = { keys }.nth(place).map_or(1, |setting| setting.line);
            problems.push(format!("{line}: {cause}"));
        }
        problems.truncate(MOST_PROBLEMS);
        if problems.is_empty() { Ok(settings) } else { Err(problems) }
    }

    fn changed_keys(&self) -> Vec<(String, String)> {
        let keys = self.list.iter().filter(|setting| setting.table == KEYS);
        keys.map(|of| (of.key.clone(), of.values.join(" "))).collect()
    }

    /// Whether subcommands that print rows have other defaults.
    pub(super) fn change_reports(&self) -> bool {
        self.list.iter().any(|of| ["report", "diff", "info", "export"].contains(&&*of.table))
    }

    /// What keys mean; digits may be counts.
    pub(super) fn keymap(&self, has_counts: bool) -> Keymap {
        // What cannot be was refused when it was read.
        Keymap::changed(&self.changed_keys(), has_counts).unwrap_or_default()
    }

    fn add(
        &mut self,
        text: &str,
        table: &str,
        key: &Spanned<impl AsRef<str>>,
        value: &Spanned<DeValue<'_>>,
        problems: &mut Problems,
    ) {
        if self.list.len() + problems.len() >= MOST_SETTINGS {
            return;
        }
        let line = line_of(text, key.span().start);
        let key = key.get_ref().as_ref().to_owned();
        let list = match value.get_ref() {
            DeValue::Array(list) => list.iter().map(Spanned::get_ref).collect(),
            one => vec![one],
        };
        let Some(values) = list.into_iter().map(word).collect::<Option<Vec<_>>>() else {
            let kind = value.get_ref().type_str();
            let cause = format!(
                "`{}` is a {kind}; it can be text, a number, true, false, or a list of them",
                printable(&key)
            );
            problems.push(format!("{line}: {cause}"));
            return;
        };
        let is_flag = value.get_ref().as_bool();
        let Range { start, end } = value.span();
        let text = text.get(start..end).unwrap_or_default().to_owned();
        self.list.push(Setting { table: table.to_owned(), key, values, text, line, is_flag });
    }

    /// These without the defaults that contradict what the command line asks for: of a subcommand
    /// that can do several things, an option may suit one of them. Of two defaults that contradict
    /// each other, the first in the file counts.
    ///
    /// `suits` says whether some of them go with the command line. If none do, all are returned:
    /// the mistake is then the command line's, or cannot be told from it.
    pub(super) fn suiting(
        &self,
        given: &ArgMatches,
        root: &Command,
        suits: impl Fn(&Self) -> bool,
    ) -> Self {
        let Some((name, given)) = given.subcommand() else { return self.clone() };
        let Some(command) = root.find_subcommand(name) else { return self.clone() };
        let (own, others): (Vec<_>, Vec<_>) =
            self.list.iter().cloned().partition(|setting| setting.table == name);
        let mut kept = Self { list: others, ..self.clone() };
        let mut rest: Vec<Setting> =
            own.into_iter().filter(|setting| !is_excluded(setting, given, command)).collect();
        // One may suit only with another that comes later: `by` with `view`.
        loop {
            let before = rest.len();
            rest.retain(|setting| {
                kept.list.push(setting.clone());
                let is_kept = suits(&kept);
                if !is_kept {
                    kept.list.pop();
                }
                !is_kept
            });
            if rest.len() == before {
                break;
            }
        }
        if suits(&kept) { kept } else { self.clone() }
    }

    /// Those of the subcommand that count, since the command line says nothing else.
    pub(super) fn counting(mut self, given: &ArgMatches, root: &Command) -> Self {
        let asked = given
            .subcommand()
            .and_then(|(name, given)| Some((name, given, root.find_subcommand(name)?)));
        self.list.retain(|setting| {
            asked.is_some_and(|(name, given, command)| {
                let arg = option(command, &setting.key).map(|arg| arg.get_id().as_str());
                let source = arg.and_then(|id| given.value_source(id));
                setting.table == name && source != Some(ValueSource::CommandLine)
            })
        });
        self
    }

    /// Where the file sets what an error is about, which quotes it: a metric, a column. Of the
    /// options that were given, none is meant.
    pub(super) fn hint(&self, error: &str) -> Option<String> {
        let is_quoted = |value: &String| error.contains(&format!("`{value}`"));
        let named = self.list.iter().find(|of| of.values.iter().any(is_quoted))?;
        let file = place_of(self.file.as_deref()?);
        let Setting { table, key, line, .. } = named;
        Some(format!(
            "({file}:{line} sets `{key}` of [{table}]; csprof --no-config … runs without)"
        ))
    }

    /// The command line with these defaults.
    pub(super) fn apply(&self, mut root: Command) -> Command {
        for setting in &self.list {
            let id = |of: &Command| option(of, &setting.key).map(|arg| arg.get_id().clone());
            let values = setting.values.clone();
            let set = move |arg: Arg| arg.required(false).default_values(values);
            root = match setting.table.as_str() {
                KEYS | COLORS | DERIVED => root,
                "" => match id(&root) {
                    Some(id) => root.mut_arg(id, set),
                    None => root,
                },
                table => root.mut_subcommand(table, |command| match id(&command) {
                    Some(id) => command.mut_arg(id, set),
                    None => command,
                }),
            };
        }
        let derived = self.list.iter().filter(|setting| setting.table == DERIVED);
        let derived: Vec<String> =
            derived.map(|of| format!("{} = {}", of.key, of.values.join(" "))).collect();
        if derived.is_empty() {
            return root;
        }
        root.mut_subcommands(|command| {
            let has = command.get_arguments().any(|arg| arg.get_long() == Some(CONFIGURED));
            let derived = derived.clone();
            let set = |arg: Arg| match arg.get_long() == Some(CONFIGURED) {
                true => arg.default_values(derived.clone()),
                false => arg,
            };
            if has { command.mut_args(set) } else { command }
        })
    }
}

/// Whether an option that was given on the command line excludes the setting's.
fn is_excluded(setting: &Setting, given: &ArgMatches, command: &Command) -> bool {
    let Some(arg) = option(command, &setting.key) else { return false };
    let names = |of: &Arg, other: &Arg| {
        let excluded = command.get_arg_conflicts_with(of);
        excluded.iter().any(|arg| arg.get_id() == other.get_id())
    };
    command.get_arguments().any(|other| {
        let is_given =
            given.value_source(other.get_id().as_str()) == Some(ValueSource::CommandLine);
        is_given && (names(arg, other) || names(other, arg))
    })
}

/// A value as a word of a command line; `None` for tables, lists and dates.
fn word(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(is) => is.to_string(),
        _ => return None,
    })
}

/// The options of a table that the file may set.
pub(super) fn options_of<'c>(root: &'c Command, table: &str) -> Result<Vec<&'c Arg>, String> {
    let visible = || root.get_subcommands().filter(|command| !command.is_hide_set());
    let command = match table {
        KEYS | COLORS | DERIVED => return Ok(Vec::new()),
        "" => root,
        _ => match visible().find(|command| command.get_name() == table) {
            Some(command) => command,
            None => {
                let names = visible().map(Command::get_name).chain([KEYS, COLORS, DERIVED]);
                let near = meant(table, names);
                return Err(format!("there is no table [{}]{near}", printable(table)));
            }
        },
    };
    let may = |arg: &&Arg| {
        let is_option = arg.get_long().is_some() || arg.get_short().is_some();
        let is_ours = !matches!(arg.get_long(), Some(NO_CONFIG | "help" | "version"));
        is_option && is_ours && !arg.is_hide_set() && (table.is_empty() || !arg.is_global_set())
    };
    Ok(command.get_arguments().filter(may).collect())
}

/// What an option is called in the file: as on the command line, or what it is about where it has
/// but a letter there.
pub(super) fn key_of(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_id().as_str().replace('_', "-"), str::to_owned)
}

/// The option of this name.
fn option<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    command.get_arguments().find(|arg| key_of(arg) == name)
}

/// Whether an option is on or off.
pub(super) fn is_switch(arg: &Arg) -> bool {
    let values = arg.get_possible_values();
    let is_bool =
        values.len() == 2 && values.iter().all(|of| ["true", "false"].contains(&of.get_name()));
    is_bool || matches!(arg.get_action(), ArgAction::SetTrue)
}

/// Whether a derived metric can be read.
fn derived(setting: &Setting) -> Result<(), String> {
    let key = printable(&setting.key);
    let [formula] = &setting.values[..] else {
        return Err(format!("`{key}` of [{DERIVED}] takes one formula, not a list"));
    };
    let wanted = Wanted::new(&setting.key, formula);
    wanted.map_err(|problem| format!("`{key}` of [{DERIVED}]: {problem}"))?;
    match setting.key.contains('=') {
        true => Err(format!("`{key}` of [{DERIVED}]: a name has no `=`")),
        false => Ok(()),
    }
}

/// Whether a subcommand would take a value.
fn check(root: &Command, table: &str, setting: &Setting) -> Result<(), String> {
    let options = options_of(root, table)?;
    let names: Vec<String> = options.iter().map(|arg| key_of(arg)).collect();
    let of = if table.is_empty() { String::new() } else { format!(" of [{table}]") };
    let key = printable(&setting.key);
    let Some(arg) = options.iter().find(|arg| key_of(arg) == setting.key) else {
        let near = meant(&setting.key, names.iter().map(String::as_str));
        let other = match near.is_empty() {
            true => format!("; there are {}", names.join(", ")),
            false => near,
        };
        return Err(format!("`{key}` is no setting{of}{other}"));
    };
    let is_switch = is_switch(arg);
    if is_switch != setting.is_flag.is_some() {
        let wanted = if is_switch { "true or false" } else { "a value, not true or false" };
        return Err(format!("`{key}`{of} takes {wanted}"));
    }
    if is_switch {
        return Ok(());
    }
    let takes_many = matches!(arg.get_action(), ArgAction::Append);
    if setting.values.len() != 1 && !takes_many {
        return Err(format!("`{key}`{of} takes one value, not a list"));
    }
    let command = match table {
        "" => root.clone().subcommand_required(false).arg_required_else_help(false),
        _ => root.find_subcommand(table).cloned().unwrap_or_default(),
    };
    let command = command.mut_args(|arg| arg.required(false));
    let option = match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}="),
        (None, short) => short.map_or_else(String::new, |short| format!("-{short}")),
    };
    let words = setting.values.iter().map(|value| format!("{option}{value}"));
    let tried = command.try_get_matches_from(std::iter::once("csprof".to_owned()).chain(words));
    match tried {
        Err(error)
            if !matches!(
                error.kind(),
                ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand
            ) =>
        {
            let text = error.to_string();
            let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
            let cause = lines.collect::<Vec<_>>().join(" ");
            let cause = cause
                .trim_start_matches("error: ")
                .replace(&format!("--{}", setting.key), &setting.key);
            Err(printable(&cause).into_owned())
        }
        _ => Ok(()),
    }
}

/// Whether there is no file of this user's.
fn is_none(path: &Path, error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match error.kind() {
        NotFound | NotADirectory => true,
        // What lies in a folder that is closed to this user is not this user's either.
        PermissionDenied => !fs::metadata(path).is_ok_and(|about| about.uid() == getuid().as_raw()),
        _ => false,
    }
}

/// What was named may be a pipe, which is waited for.
fn text_of(path: &Path, is_named: bool) -> io::Result<String> {
    let mut text = String::new();
    if !is_named && fs::metadata(path)?.file_type().is_fifo() {
        return Err(io::Error::other("it is a pipe, which would be waited for"));
    }
    let file = File::open(path)?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("more than 1 MB is no configuration file"));
    }
    Ok(text)
}

fn place_of(path: &Path) -> String {
    printable(&OsStr::to_string_lossy(path.as_os_str())).into_owned()
}

fn line_of(text: &str, byte: usize) -> usize {
    1 + text.as_bytes()[..byte.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

fn remedy() -> &'static str {
    "\n(csprof --no-config … runs without the file)"
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, FromArgMatches as _};

    use super::*;
    use crate::cli::Cli;

    fn problems(text: &str) -> Problems {
        Settings::read(text, &built()).unwrap_err()
    }

    fn built() -> Command {
        let mut root = Cli::command();
        root.build();
        root
    }

    #[test]
    fn every_mistake_is_told_with_its_line_and_what_was_meant() {
        for (text, expected) in [
            ("colr = 'never'", "1: `colr` is no setting; the nearest is `color`"),
            ("\n[reprot]\nlimit = 3", "3: there is no table [reprot]; the nearest is `report`"),
            ("[reprot]", "1: there is no table [reprot]; the nearest is `report`"),
            ("[report]\nlimt = 3", "2: `limt` is no setting of [report]; the nearest is `limit`"),
            (
                "[report]\nlimit = 'many'",
                "2: invalid value 'many' for 'limit <N>': invalid digit found in string",
            ),
            ("[view]\nno-mouse = 'yes'", "2: `no-mouse` of [view] takes true or false"),
            ("[report]\nlimit = true", "2: `limit` of [report] takes a value, not true or false"),
            ("[report]\nlimit = [1, 2]", "2: `limit` of [report] takes one value, not a list"),
            (
                "[report]\nlimit = 2020-01-01",
                "2: `limit` is a datetime; it can be text, a number, true, false, or a list of them",
            ),
            ("[keys]\nhidee = 'H'", "2: no command is called `hidee`; the nearest is `hide`"),
            (
                "[keys]\nhot = '<nokey>'",
                "2: `<nokey>` is no key; keys are as j, <C-d>, <enter>, zz",
            ),
            ("[keys]\nhide = 'X'\nexclude = 'X'", "3: `hide` has these keys, or their beginning"),
            (
                "[colors]\nalram = 'red'",
                "2: `alram` is no color of the viewer; there are accent, alarm, boxes",
            ),
            (
                "[colors]\nalarm = 'rde'",
                "2: `rde` is no color; it is a name such as red or lightblue, a number from 0 to 255, or #rrggbb",
            ),
            ("[derived]\nx = 'a +'", "2: `x` of [derived]: column 4: expected a number"),
            ("[derived]\nx = ['a', 'b']", "2: `x` of [derived] takes one formula, not a list"),
            ("[view]\nhelp = true", "2: `help` is no setting of [view]"),
        ] {
            let told = problems(text);
            assert!(told[0].starts_with(expected), "{text}: {told:?}");
            assert_eq!(told.len(), 1, "{told:?}");
        }
        // What is no TOML, and all mistakes at once.
        assert!(problems("color = ")[0].starts_with("1: "), "{:?}", problems("color = "));
        assert!(problems("a = 1\na = 2")[0].starts_with("2: "), "{:?}", problems("a = 1\na = 2"));
        assert_eq!(problems("a = 1\n[report]\nb = 2\n[keys]\nc = 'x'").len(), 3);
        let many: String = (0..5_000).map(|at| format!("x{at} = 1\n")).collect();
        assert_eq!(problems(&many).len(), MOST_PROBLEMS);
        let deep = format!("a = {}", "[".repeat(1_000));
        assert_eq!(problems(&deep).len(), 1);
        let hostile = problems("\"\\u001b[31m\" = 1");
        assert!(!hostile[0].contains('\u{1b}'), "{hostile:?}");
    }

    #[test]
    fn values_are_defaults_and_the_command_line_counts_more() {
        let text = "ascii = true\n[report]\nlimit = 7\nview = 'flat'\n[record]\nevent = ['cputime@99', 'realtime']\n";
        let settings = Settings::read(text, &built()).unwrap();
        let of = |words: &[&str]| {
            let matches = settings.apply(Cli::command()).try_get_matches_from(words).unwrap();
            format!("{:?}", Cli::from_arg_matches(&matches).unwrap())
        };
        let report = of(&["csprof", "report", "x.csprof"]);
        assert!(report.contains("limit: Some(7)") && report.contains("ascii: true"), "{report}");
        assert!(report.contains("view: Flat"), "{report}");
        let report = of(&["csprof", "report", "x.csprof", "--limit", "8", "--view", "callers"]);
        assert!(report.contains("limit: Some(8)") && report.contains("view: Callers"), "{report}");
        // A list is replaced by what the command line has, not added to.
        let record = |words: &[&str]| {
            let matches = settings.apply(Cli::command()).try_get_matches_from(words).unwrap();
            let (_, record) = matches.subcommand().unwrap();
            record
                .get_raw("event")
                .unwrap()
                .map(|of| of.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(record(&["csprof", "record", "ls"]), ["cputime@99", "realtime"]);
        assert_eq!(record(&["csprof", "record", "-e", "realtime@5", "ls"]), ["realtime@5"]);
        settings.apply(Cli::command()).debug_assert();
        // Derived metrics are for all subcommands that have columns.
        let settings = Settings::read("[derived]\n'a b' = '2 * cputime'\n", &built()).unwrap();
        let matches = settings.apply(Cli::command()).try_get_matches_from(["csprof", "view", "x"]);
        let view = format!("{:?}", Cli::from_arg_matches(&matches.unwrap()).unwrap());
        assert!(view.contains("name: \"a b\""), "{view}");
    }

    #[test]
    fn defaults_contradict_no_option_of_the_command_line() {
        let suits = |text: &str, line: &str| {
            let words = || ["csprof"].into_iter().chain(line.split(' '));
            let settings = Settings::read(text, &built()).unwrap();
            let lenient =
                Cli::command().mut_subcommands(|of| of.mut_args(|arg| arg.required(false)));
            let given = lenient.try_get_matches_from(words()).unwrap();
            let is_right = |settings: &Settings| {
                let matches = settings.apply(Cli::command()).try_get_matches_from(words()).ok();
                matches.map(|of| Cli::from_arg_matches(&of).unwrap().command.check().is_ok())
            };
            let kept = settings.suiting(&given, &built(), |kept| is_right(kept).unwrap_or(true));
            assert_eq!(is_right(&kept), Some(true), "{text}: {line}");
            kept.list.len() == settings.list.len()
        };
        for (text, without, with) in [
            ("[view]\nnormalize = true", "view --merge a b", "view a b"),
            ("[view]\nnormalize = true", "view a", "view a b"),
            ("[export]\nno-inline = true", "export a --format svg", "export a --format folded"),
            ("[export]\nformat = 'svg'", "export a -o b.html", "export a -o b.svg"),
            ("[export]\nno-inline = true\nformat = 'svg'", "export a", "export a --format folded"),
            ("[report]\nby = 'file'\nview = 'flat'", "report a --view callers", "report a"),
            (
                "[report]\nview = 'tables'\nby = 'file'",
                "report a --path main",
                "report a --view flat",
            ),
            ("[diff]\nlimit = 3", "diff a b --summary", "diff a b"),
            ("[diff]\nlimit = 3", "diff a b --format html", "diff a b --format csv"),
            ("[report]\nsort = 'edges'", "report a --view threads", "report a --view flat"),
            ("[report]\nby = 'file'", "report a", "report a --view flat"),
            ("[report]\nformat = 'csv'", "report a --source f", "report a"),
            ("[report]\nthreshold = 3", "report a --sets", "report a"),
        ] {
            assert!(!suits(text, without), "{text}: {without}");
            assert!(suits(text, with), "{text}: {with}");
        }
        // What the file says need not be said again.
        assert!(suits("[export]\nformat = 'html'", "export a"));
    }

    #[test]
    fn what_contradicts_itself_on_the_command_line_is_refused_with_all_settings() {
        let settings = Settings::read("[report]\nlimit = 3", &built()).unwrap();
        let given = Cli::command().try_get_matches_from(["csprof", "report", "a"]).unwrap();
        assert_eq!(settings.suiting(&given, &built(), |_| false).list.len(), 1);
    }
}
