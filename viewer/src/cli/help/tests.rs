use clap::{CommandFactory as _, Parser as _};
use csprof_format::profile::SampleTime;

use super::*;
use crate::cli::Cli;
use crate::profile::{Times, from_outline};
use crate::refine::{SetText, Sets, apply, is_definition};
use crate::tui::keymap;

/// Everything that the pages speak of.
const PROGRAM: &str = "\
# rank=0 thread=70 epoch=0 name=main
_start
  main 9 at:main.c:3 module:/opt/solver
    MPI_Init 100 e=20 module:/usr/lib/libmpi.so.40
    solve 1500 e=3 at:solve.c:20 loop:solve.c:18 module:/opt/solver
      dgemm_ 2000 e=400 module:/usr/lib/libblas.so.3
      dot 50 inline at:dot.h:12 module:/opt/solver
      memcpy 30 e=30 module:/usr/lib/libc.so.6
      MPI_Send 10 e=50 realtime:9 module:/usr/lib/libmpi.so.40
        opal_progress 20 e=40 module:/usr/lib/libopen-pal.so.40
          memcpy 40 e=40 module:/usr/lib/libc.so.6
          malloc 3 e=3 module:/usr/lib/libc.so.6
    visit 5 e=1 module:/opt/solver
      visit 5 e=2 module:/opt/solver
        visit 5 e=3 module:/opt/solver
# rank=1 thread=80 epoch=0 name=io-1
clone3
  worker 7 e=1 module:/opt/solver
";

/// What a refinement of the program lets through, or why it cannot.
fn tried(text: &str) -> Result<(u64, u64), String> {
    let mut profile = from_outline(PROGRAM).unwrap();
    for (process, name) in profile.info.processes.iter_mut().zip(["solver", "helper"]) {
        process.command = vec![name.into()];
    }
    // A sample of each node, one after the other.
    let row = |node: u32| {
        let time_us = u64::from(node) * 1000;
        (profile.nodes.samples.at(node as usize) > 0).then_some(SampleTime {
            time_us,
            node,
            metric: 0,
            samples: 1,
        })
    };
    let rows: Vec<_> = (1..profile.nodes.len() as u32).filter_map(row).collect();
    profile.times = Times::loaded(&profile.info, &rows, |node| node).into();
    let refinement = Sets::default().parse(text).map_err(|error| error.to_string())?;
    let refined = apply(&profile, &refinement).map_err(|error| error.to_string())?;
    assert_eq!(refined.shown + refined.out, refined.base);
    // Some stages change names only; what a page offers changes something.
    let base = crate::refine::Refined::base(&profile);
    let changes =
        refined.out > 0 || crate::refine::to_outline(&refined) != crate::refine::to_outline(&base);
    if refined.shown == 0 || !changes {
        return Err(format!("shows {} of {}", refined.shown, refined.base));
    }
    Ok((refined.shown, refined.out))
}

#[test]
fn every_intent_works() {
    let failed: Vec<_> = INTENTS
        .iter()
        .filter_map(|(_, text)| tried(text).err().map(|error| format!("{text}: {error}")))
        .collect();
    assert_eq!(failed, Vec::<String>::new());
}

/// What the page says that people type finds what stands beside it.
#[test]
fn names_on_the_page_are_found() {
    for (typed, name) in [
        (
            "multiply, Matrix::*, ns::Matrix<double>::multiply(*)",
            "void ns::Matrix<double>::multiply(int) const",
        ),
        (
            "std::string::append, basic_string::append",
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(int)",
        ),
        (
            "vector<int>::at, std::vector<int>::at",
            "std::vector<int, std::allocator<int> >::at(unsigned long) const",
        ),
        (
            "find(Key*), find(app::Key const&)",
            "std::map<app::Key, int, std::less<app::Key> >::find(app::Key const&)",
        ),
        (
            "fmt::vformat",
            "fmt::v9::vformat[abi:cxx11](fmt::v9::basic_string_view<char>, fmt::v9::format_args)",
        ),
        ("Circle::area, Shape::area, area", "<app::Circle as app::Shape>::area"),
        ("Vec::push", "<alloc::vec::Vec<T>>::push"),
        ("run::{closure#0}", "app::run::{closure#0}"),
        ("hidden, (anonymous namespace)::hidden", "(anonymous namespace)::hidden(int)"),
        ("write", "__write"),
        ("tan", "tan [clone __tan_fma]"),
        ("memcpy, memmove", "memcpy [also memmove]"),
        ("List.map, map", "Stdlib.List.map"),
        ("scan", "scan.part.0"),
        ("dgemm", "dgemm_"),
        ("step", "grid::step"),
    ] {
        assert!(refine().contains(typed.split(", ").next().unwrap()), "{typed}");
        let profile = from_outline(&format!("main 1\n  \"{name}\" 2\n")).unwrap();
        for typed in typed.split(", ") {
            let refinement = Sets::default().parse(typed).unwrap();
            assert_eq!(apply(&profile, &refinement).map(|refined| refined.shown), Ok(2), "{typed}");
        }
    }
}

#[test]
fn every_translation_works() {
    for (tool, lines) in ELSEWHERE {
        for (theirs, ours) in lines {
            if ours.starts_with('<') {
                for key in ours.split(' ') {
                    let key = key.trim_start_matches('<').trim_end_matches('>');
                    let mut bound = keymap::modes().flat_map(keymap::bindings);
                    assert!(bound.any(|of| of.keys.split(' ').any(|k| k == key)), "{ours}");
                }
            } else if ours.starts_with("csprof ") {
                Cli::try_parse_from(ours.split(' ')).unwrap();
            } else if let Err(error) = tried(ours) {
                panic!("{tool}, {theirs}: {ours}: {error}");
            }
        }
    }
}

/// A line of a table of the document as [`ELSEWHERE`] has it.
fn translation(line: &str) -> Option<(String, String)> {
    let line = line.replace("\\|", "¦");
    let mut cells = line.split('|').skip(1).map(|cell| cell.trim().replace('¦', "|"));
    let (theirs, ours) = (cells.next()?.replace('`', ""), cells.next()?);
    let keys = |ours: &str| Some(ours.strip_prefix("key `")?.strip_suffix('`')?.to_owned());
    let ours = match keys(&ours) {
        Some(keys) => format!("<{}>", keys.replace("`, then `", "> <")),
        None => ours.replace('`', ""),
    };
    Some((theirs, ours))
}

#[test]
fn the_document_has_the_same_tables() {
    let document = include_str!("../../../../docs/coming-from.md");
    for (tool, lines) in ELSEWHERE {
        let heading = format!("| {tool} | csprof |");
        let mut told = document.lines().skip_while(|line| *line != heading).skip(2);
        for (theirs, ours) in lines {
            let told = told.next().and_then(translation);
            assert_eq!(told, Some(((*theirs).to_owned(), (*ours).to_owned())), "{tool}");
        }
        assert_eq!(told.next().filter(|line| line.starts_with('|')), None, "{tool}");
    }
    assert_eq!(document.matches("| csprof |").count(), ELSEWHERE.len());
}

#[test]
fn pages_are_complete_and_fit_a_hundred_columns() {
    for (name, _, page) in TOPICS {
        let page = page();
        assert!(!page.contains("@INTENTS@") && !page.contains("@PRESETS@"), "{name}");
        assert!(!page.contains("@TABLE@") && page.ends_with('\n'), "{name}");
        for line in page.lines().filter(|line| line.chars().count() > 104) {
            // A regular expression has no blanks to break at.
            assert!(line.contains('/') && name == "sets", "{name}: {line}");
        }
    }
    for word in ["through", "callers of", "split", "small", "node[", "collapse-run"] {
        assert!(refine().contains(word), "{word}");
    }
    assert!(overview(Cli::command()).contains("coming-from"));
    assert!(page("report", Cli::command()).unwrap().contains("--threshold"));
    assert!(page("nonsense", Cli::command()).is_err());
}

/// Lines are broken for the width of the terminal, so paragraphs are not broken here.
#[test]
fn paragraphs_of_help_are_one_line() {
    let is_prose = |line: &&str| !line.is_empty() && !line.starts_with(' ') && *line != "Examples:";
    for command in Cli::command().get_subcommands() {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        let broken = lines.windows(2).find(|lines| lines.iter().all(is_prose));
        assert_eq!(broken, None, "{}", command.get_name());
    }
}

#[test]
fn the_example_of_a_file_of_sets_can_be_read() {
    let page = sets();
    let from = page.find("    # What waits").unwrap();
    let end = from + page[from..].find("\n\n").unwrap();
    let file: String = page[from..end].lines().map(|line| format!("{}\n", &line[4..])).collect();
    let sets = Sets::read(&[SetText { place: "page", text: &file }]);
    assert_eq!(sets.problems(), []);
    assert_eq!(sets.named().len(), 2);
    assert!(is_definition("@name = …"));
}

/// The tables of the documents that say what to type: their second column.
#[test]
fn what_the_documents_say_to_type_can_be_read() {
    let readme = include_str!("../../../../README.md");
    let guide = include_str!("../../../../docs/refinement.md");
    let mut read = 0;
    let rows = [readme, guide].into_iter().flat_map(|document| {
        let begin = document.find("| you want | type |").unwrap();
        document[begin..].lines().take_while(|line| line.starts_with('|'))
    });
    for row in rows {
        let row = row.replace("\\|", "│");
        let Some(typed) = row.split('|').nth(2) else { continue };
        for (at, text) in typed.split('`').enumerate() {
            let text = text.replace('│', "|");
            // A set that shows what sets are like, and other commands, are no refinements.
            if at % 2 == 1 && !text.starts_with("csprof") {
                Sets::default().parse(&text).unwrap_or_else(|error| panic!("{error}"));
                read += 1;
            }
        }
    }
    assert!(read > 40, "{read}");
}
