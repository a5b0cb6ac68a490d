//! The documents show reports of the profile that is in the repository as csprof prints them.

use std::fs;

use csprof_tests::binary::csprof;
use csprof_tests::sources::root;
use csprof_tests::workshop::Workshop;

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
    for (document, count) in [("README.md", 2), ("docs/guide.md", 4)] {
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

#[test]
fn a_line_that_is_not_printed_is_found() {
    let printed = ["a", "b", "c", "d"];
    assert_eq!(not_printed(&["a", "b", "…", "d"], &printed), None);
    assert_eq!(not_printed(&["…", "c", "d"], &printed), None);
    assert_eq!(not_printed(&["a", "c"], &printed), Some(&["a", "c"][..]));
    assert_eq!(not_printed(&["b", "…", "a"], &printed), Some(&["a"][..]));
}
