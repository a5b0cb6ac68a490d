//! The documents show reports of the profile that is in the repository as csprof prints them.

use std::collections::BTreeSet;
use std::fs;

use csprof_format::launch::job::LAUNCHERS;
use csprof_format::launch::{Details, Properties, SourceKind, Unit};
use csprof_tests::binary::csprof;
use csprof_tests::sources::root;
use csprof_tests::workshop::Workshop;
use serde_json::Value;

/// Stands for lines that are left out.
const LEFT_OUT: &str = "…";

/// A command of a document, and the lines below it.
struct Example<'a> {
    command: &'a str,
    output: Vec<&'a str>,
}

/// Examples whose command begins so.
fn examples<'a>(document: &'a str, command: &str) -> Vec<Example<'a>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    let mut is_open = false;
    for line in document.lines() {
        if let Some(found) = line.strip_prefix("$ ") {
            is_open = found.starts_with(command);
            if is_open {
                examples.push(Example { command: found, output: Vec::new() });
            }
        } else if line.starts_with("```") {
            is_open = false;
        } else if is_open {
            examples.last_mut().unwrap().output.push(line.trim_end());
        }
    }
    examples
}

/// The first part that a document shows and a program does not print, if there is one.
fn not_printed<'a>(shown: &'a [&'a str], printed: &[&str]) -> Option<&'a [&'a str]> {
    let mut rest = printed;
    shown.split(|&line| line == LEFT_OUT).filter(|part| !part.is_empty()).find(|part| {
        let Some(at) = rest.windows(part.len()).position(|lines| lines == *part) else {
            return true;
        };
        rest = &rest[at + part.len()..];
        false
    })
}

/// The profile of the two ranks is in the repository.
#[test]
fn reports_are_shown_as_they_are_printed() {
    let workshop = Workshop::new("reports_are_shown_as_they_are_printed");
    let profile = root().join("viewer/tests/fixtures/exchange.csprof");
    fs::copy(profile, workshop.path("exchange.csprof")).unwrap();
    for (document, count) in [("README.md", 2), ("docs/guide.md", 5)] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let examples = examples(&text, "csprof report exchange.csprof");
        assert_eq!(examples.len(), count, "{document}");
        for Example { command, output } in examples {
            let script = format!("csprof() {{ \"$0\" \"$@\"; }}; {command}");
            let printed = workshop.run(&["sh", "-c", &script, csprof().to_str().unwrap()]);
            let printed = printed.said();
            let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
            assert!(output.iter().any(|&line| line != LEFT_OUT), "{document}: {command}");
            let missing = not_printed(&output, &printed).map(|part| part.join("\n"));
            assert_eq!(missing, None, "{document}: {command}\n{}", printed.join("\n"));
        }
    }
}

/// Who adds a source is told here where else it is to be found.
#[test]
fn sources_are_in_help_and_documents() {
    let workshop = Workshop::new("sources_are_in_help_and_documents");
    let said = |arguments: &[&str]| workshop.csprof(arguments).said().to_owned();
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let format = read("format/FORMAT.md");
    let row = |start: &str| format.lines().find(|line| line.starts_with(start)).unwrap();
    let (names, units) = (row("| source | text |"), row("| unit | text |"));
    let numbers = row("| 0x1c8 |");
    let guide = read("docs/guide.md");
    assert!(workshop.csprof(&["man", "--all", "pages"]).status.success());
    let manual = fs::read_to_string(workshop.path("pages/csprof-record.1")).unwrap();
    let manual = manual.replace("\\-", "-");
    let (help, events) = (said(&["record", "--help"]), said(&["events"]));
    let mut missing = Vec::new();
    for (number, kind) in SourceKind::ALL.into_iter().enumerate() {
        let Properties { name, unit, group, is_offered, details, .. } = *kind.properties();
        let quoted = format!("`{name}`");
        let mut look = |is_there: bool, place: &str| {
            if !is_there {
                missing.push(format!("{name} is not in {place}"));
            }
        };
        let of_number = format!("{number} {name}");
        look(
            numbers.split([',', ':', ';']).any(|entry| entry.trim() == of_number),
            "FORMAT.md's numbers",
        );
        if details == Details::None {
            look(names.contains(&quoted), "FORMAT.md's names");
            let has_unit = unit == Unit::Nanoseconds || units.contains(&quoted);
            look(has_unit, "FORMAT.md's units");
        }
        if is_offered {
            look(words_of(&help).any(|word| word == name), "record --help");
            look(events.lines().any(|line| line.trim().starts_with(&format!("{name} "))), "events");
            let asked = [Some(name), group].into_iter().flatten();
            let mut asked = asked.flat_map(|name| [format!("`-e {name}`"), format!("`-e {name}@")]);
            look(asked.any(|asked| guide.contains(&asked)), "the guide's table of sources");
            look(words_of(&manual).any(|word| word == name), "csprof-record.1");
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// What stands between blanks and punctuation: `io-read` is one word.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|of: char| !of.is_ascii_alphanumeric() && of != '-')
}

/// Keys of an object and of those in it; what has a name of its own for each reason is one key.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                if !["losses", "partial_reasons"].contains(&key.as_str()) {
                    keys(value, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn scripts_are_told_of_each_key_and_column() {
    let workshop = Workshop::new("scripts_are_told_of_each_key_and_column");
    let profile = root().join("viewer/tests/fixtures/exchange.csprof");
    let profile = profile.to_str().unwrap();
    let guide = fs::read_to_string(root().join("docs/guide.md")).unwrap();
    let (_, section) = guide.split_once("### For scripts\n").unwrap();
    let (_, section) = section.split_once("```text\n").unwrap();
    let (section, _) = section.split_once("```").unwrap();
    for command in ["report", "info", "suggest", "ledger"] {
        let begin = section.find(&format!("{command} ")).unwrap();
        let end = section[begin..].find("\n").unwrap();
        let rest = section[begin + end..].split('\n');
        let lines = rest.skip(1).take_while(|line| line.starts_with(' '));
        let told: String = section[begin..begin + end].lines().chain(lines).collect();
        let is_of_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let told: BTreeSet<&str> = told.split(|c| !is_of_key(c)).collect();
        let options: &[&[&str]] = match command {
            "report" => &[
                &[],
                &["--addresses"],
                &["--spread"],
                &["--sets"],
                &["--view", "threads"],
                &["--view", "distribution"],
                &["--view", "waits"],
            ],
            _ => &[&[]],
        };
        for options in options {
            for format in ["json", "csv"] {
                let is_csv = format == "csv";
                if is_csv && (command != "report" || options.contains(&"--sets")) {
                    continue;
                }
                let given = [&[command, profile, "--format", format], *options].concat();
                let printed = workshop.csprof(&given);
                let printed = printed.said();
                let mut found = BTreeSet::new();
                if is_csv {
                    let head = printed.lines().next().unwrap_or_default();
                    found.extend(head.split(',').map(str::to_owned));
                } else {
                    keys(&serde_json::from_str(&printed).unwrap(), &mut found);
                }
                let missing: Vec<_> =
                    found.iter().filter(|key| !told.contains(key.as_str())).collect();
                assert!(missing.is_empty() && !found.is_empty(), "{given:?}: {missing:?}");
            }
        }
    }
}

#[test]
fn the_guide_names_the_variables_of_all_launchers() {
    let guide = fs::read_to_string(root().join("docs/guide.md")).unwrap();
    let (_, section) = guide.split_once("### Jobs\n").unwrap();
    for launcher in LAUNCHERS {
        let name = format!("`{}`", launcher.rank);
        assert!(section.contains(&name), "{name}");
    }
}

#[test]
fn a_line_that_is_not_printed_is_found() {
    let printed = ["a", "b", "c", "d"];
    assert_eq!(not_printed(&["a", "b", "…", "d"], &printed), None);
    assert_eq!(not_printed(&["…", "c", "d"], &printed), None);
    assert_eq!(not_printed(&["a", "c"], &printed), Some(&["a", "c"][..]));
    assert_eq!(not_printed(&["b", "…", "a"], &printed), Some(&["a"][..]));
}
