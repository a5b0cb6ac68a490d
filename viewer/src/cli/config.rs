//! `csprof config`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Arg, ArgAction, Args, Command};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

use super::exit_code;
use super::settings::{COLORS, DERIVED, KEYS, Settings, is_switch, key_of, options_of};
use crate::print;
use crate::profile::derived::READY;
use crate::tui::commands;
use crate::tui::keymap;
use crate::tui::theme::Colors;

const EXAMPLES: &str = "\
Examples:
  csprof config                    every setting, its value, and where that comes from
  csprof config >my.toml           a file to begin with: what it does not set is commented out
  csprof config | grep -v '^#'     what the file sets

The file is $XDG_CONFIG_HOME/csprof/config.toml, or ~/.config/csprof/config.toml. CSPROF_CONFIG \
names another one, or none where it is empty; --no-config reads none. Options on the command line \
count more.";

/// Print the configuration, and where each value comes from
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Config {}

impl Config {
    /// Prints it.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(super) fn run(self, settings: &Settings, mut root: Command) -> Result<ExitCode> {
        root.build();
        let mut out = print::output(print::Escaping::Text);
        out.write_all(text(settings, &root).as_bytes())?;
        out.flush()?;
        Ok(exit_code::DONE)
    }
}

/// All settings as such a file, those that it does not set commented out.
fn text(settings: &Settings, root: &Command) -> String {
    let (mut text, place) = match &settings.file {
        None => ("# no configuration file is read\n".to_owned(), String::new()),
        Some(file) => {
            let place = file.display().to_string();
            let is_there = match access(file, AccessFlags::R_OK) {
                Ok(()) => String::new(),
                Err(Errno::ENOENT) => " (there is none)".to_owned(),
                Err(errno) => format!(" (not read: {})", errno.desc()),
            };
            (format!("# {place}{is_there}\n"), place)
        }
    };
    let visible = root.get_subcommands().filter(|command| !command.is_hide_set());
    let tables = std::iter::once("").chain(visible.map(Command::get_name));
    let mut lines: Vec<(String, String, Option<String>)> = Vec::new();
    for table in tables {
        for arg in options_of(root, table).unwrap_or_default() {
            lines.push((table.to_owned(), key_of(arg), usual(arg)));
        }
    }
    for name in keymap::command_names() {
        lines.push((KEYS.to_owned(), name.clone(), Some(quoted(&usual_keys(&name)))));
    }
    for (name, value) in Colors::default().shown() {
        lines.push((COLORS.to_owned(), name.to_owned(), Some(value)));
    }
    for (name, formula) in READY {
        lines.push((DERIVED.to_owned(), name.to_owned(), Some(quoted(formula))));
    }
    let own = settings.list.iter().filter(|of| of.table == DERIVED);
    for of in own.filter(|of| READY.iter().all(|(name, _)| *name != of.key)) {
        lines.push((DERIVED.to_owned(), of.key.clone(), None));
    }
    let mut before = String::new();
    for (table, key, usual) in lines {
        if table != before {
            text.push_str(&format!("\n[{table}]\n"));
            before.clone_from(&table);
        }
        let set = settings.list.iter().find(|of| of.table == table && of.key == key);
        // Names of derived metrics may have any characters.
        let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let key = if key.chars().all(is_bare) { key } else { quoted(&key) };
        text.push_str(&match (set, usual) {
            (Some(set), _) => format!("{key} = {}  # {place}:{}\n", set.text, set.line),
            (None, Some(usual)) => format!("# {key} = {usual}  # default\n"),
            (None, None) => format!("# {key} =  # not set\n"),
        });
    }
    text
}

/// The value of an option that neither file nor command line sets.
fn usual(arg: &Arg) -> Option<String> {
    let values = arg.get_default_values();
    match (arg.get_action(), values) {
        (ArgAction::SetTrue, _) => Some("false".to_owned()),
        (_, []) => None,
        (_, [one]) if one.is_empty() => None,
        (_, [one]) if is_switch(arg) => Some(one.to_string_lossy().into_owned()),
        (_, [one]) => Some(quoted(&one.to_string_lossy())),
        (_, all) => {
            let all: Vec<_> = all.iter().map(|one| quoted(&one.to_string_lossy())).collect();
            Some(format!("[{}]", all.join(", ")))
        }
    }
}

/// The keys that a command has in any mode.
fn usual_keys(name: &str) -> String {
    let of_keys = keymap::modes().flat_map(keymap::bindings);
    let own = of_keys.filter(|of| commands::name(&of.message).as_deref() == Some(name));
    let mut keys: Vec<&str> = Vec::new();
    for key in own.flat_map(|binding| binding.keys.split(' ')) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.join(" ")
}

/// Text as TOML has it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn what_is_printed_is_a_file_that_can_be_read() {
        let mut root = Cli::command();
        root.build();
        let file = "color = \"never\"\n[report]\nlimit = 7\n[keys]\nhot = \"X\"\n[derived]\n\"a b\" = \"2 * c\"\n";
        let settings = Settings::read(file, &root).unwrap();
        let printed = text(&settings, &root);
        assert!(printed.contains("\nlimit = 7  # :3\n"), "{printed}");
        assert!(printed.contains("\n# depth =  # not set\n"), "{printed}");
        assert!(printed.contains("\n# down = \"j <down>\"  # default\n"), "{printed}");
        let again = Settings::read(&printed, &root).unwrap();
        assert!(printed.contains("\n\"a b\" = \"2 * c\"  # :7\n"), "{printed}");
        assert_eq!(again.list.len(), 4);
        // Each line that is commented out can be a setting, too.
        for line in printed.lines().filter(|line| line.ends_with("# default")) {
            let before = &printed[..printed.find(line).unwrap()];
            let table = before.lines().rev().find(|line| line.starts_with('[')).unwrap_or("");
            let own = format!("{table}\n{}", &line[2..]);
            assert!(
                Settings::read(&own, &root).is_ok(),
                "{own}: {:?}",
                Settings::read(&own, &root)
            );
        }
    }
}
