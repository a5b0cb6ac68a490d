//! `csprof man`

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_mangen::Man;

use super::exit_code;
use super::help::TOPICS;
use crate::print;

const EXAMPLES: &str = "\
Examples:
  csprof man | man -l -
  csprof man --all ~/.local/share/man/man1";

/// Print the manual page, or write the pages of all subcommands and topics to a folder
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ManPages {
    /// Write csprof.1, csprof-record.1, csprof-refine.1 and so on to this folder
    #[arg(long, value_name = "DIR")]
    all: Option<PathBuf>,
}

impl ManPages {
    /// Prints or writes the pages of `command`, which is csprof.
    ///
    /// # Errors
    ///
    /// Those of standard output, or of the folder.
    pub fn run(&self, command: Command) -> Result<ExitCode> {
        match &self.all {
            Some(folder) => {
                write_all(folder, command)
                    .with_context(|| format!("{}: cannot be written", folder.display()))?;
            }
            None => print::as_it_is(page(&Man::new(command))?.as_bytes())?,
        }
        Ok(exit_code::DONE)
    }
}

/// Writes a page for csprof, one for each subcommand, and one for each topic of its help.
fn write_all(folder: &Path, command: Command) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // `help` is a subcommand of csprof's own.
    let mut cli = command.disable_help_subcommand(true);
    // Puts the program's name before those of the subcommands.
    cli.build();
    let shown = cli.get_subcommands().filter(|command| !command.is_hide_set());
    for command in shown.cloned().chain([cli.clone()]) {
        let man = Man::new(command);
        fs::write(folder.join(man.get_filename()), page(&man)?)?;
    }
    for (name, about, text) in TOPICS {
        fs::write(folder.join(format!("csprof-{name}.1")), topic_page(name, about, &text()))?;
    }
    Ok(())
}

/// A page of `csprof help`, line by line.
fn topic_page(name: &str, about: &str, text: &str) -> String {
    let escaped = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    let lines: String = text.lines().map(|line| format!("\\&{}\n", escaped(line))).collect();
    let (name, about) = (escaped(&format!("csprof-{name}")), escaped(about));
    format!(".TH {name} 1\n.SH NAME\n{name} \\- {about}\n.SH DESCRIPTION\n.nf\n{lines}.fi\n")
}

/// A page whose examples stand under a heading of their own, line by line, and whose words are
/// neither hyphenated nor spread: people copy commands from it.
fn page(man: &Man) -> io::Result<String> {
    let mut rendered = Vec::new();
    man.render(&mut rendered)?;
    let rendered = String::from_utf8_lossy(&rendered);
    let mut page = String::with_capacity(rendered.len());
    let mut lines = rendered.lines().peekable();
    let mut in_examples = false;
    while let Some(line) = lines.next() {
        if in_examples && !line.starts_with("  ") {
            in_examples = false;
            page.push_str(".fi\n");
            page.push_str(if line.is_empty() { ".SH NOTES\n" } else { "" });
        }
        match line {
            // What clap knows only as what follows the help.
            ".SH EXTRA" if lines.peek() == Some(&"Examples:") => {}
            ".SH EXTRA" => page.push_str(".SH NOTES\n"),
            "Examples:" => {
                in_examples = true;
                page.push_str(".SH EXAMPLES\n.nf\n");
            }
            _ => {
                page.push_str(line);
                page.push('\n');
            }
        }
        if line.starts_with(".TH ") {
            page.push_str(".ad l\n.nh\n");
        }
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_page_has_its_examples_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path(), Cli::command()).unwrap();
        let mut pages = 0;
        for (name, ..) in TOPICS {
            let path = folder.path().join(format!("csprof-{name}.1"));
            assert!(fs::read_to_string(&path).unwrap().contains(".SH DESCRIPTION\n.nf\n\\&"));
            fs::remove_file(path).unwrap();
        }
        for entry in fs::read_dir(folder.path()).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            let (_, examples) = text.split_once(".SH EXAMPLES\n.nf\n").unwrap();
            let (examples, _) = examples.split_once(".fi\n").unwrap();
            assert!(examples.lines().all(|line| line.starts_with("  ")), "{examples}");
            assert!(!examples.is_empty() && !text.contains(".SH EXTRA"), "{text}");
            pages += 1;
        }
        let cli = Cli::command();
        let shown = cli.get_subcommands().filter(|command| !command.is_hide_set());
        assert_eq!(pages, shown.count() + 1);
    }
}
