//! The rules of ARCHITECTURE.md that a compiler does not check, read off the sources.

use std::fs;
use std::path::{Path, PathBuf};

use csprof_tests::modules::{Modules, circles};
use csprof_tests::sources::{
    alternatives, code, files_below, is_below, paths_in, root, rust_files, words,
};
use csprof_tests::workshop::Workshop;

/// What the code below a path must not name. Lower layers know nothing of higher ones; what is
/// pure makes no system calls; what runs in a signal handler neither allocates nor formats.
const ARROWS: &[(&str, &[&str])] = &[
    ("format/src", &["csprof::", "csprof_collector", "libc", "gimli", "object"]),
    ("collector/src", &["csprof::", "ratatui", "serde", "std::{fs,io,env,process}"]),
    ("collector/src/arch/x86_64/unwind", &["libc", "asm", "unsafe"]),
    ("collector/src/eh_frame.rs", &["libc", "asm", "unsafe"]),
    ("collector/src/unwind", &["libc", "asm", "unsafe", "crate::{c_library,sys}"]),
    ("collector/src/cct", &["libc", "asm", "unsafe", "crate::{c_library,sys}"]),
    // What runs in handlers.
    ("collector/src/sampling", &["crate::c_library", SETUP_ONLY]),
    ("collector/src/sampler/effort.rs", &["crate::c_library", SETUP_ONLY]),
    ("collector/src/sampler/interrupted.rs", &["crate::c_library", SETUP_ONLY]),
    ("collector/src/sampler/sample.rs", &["crate::c_library", SETUP_ONLY]),
    ("collector/src/sampler/suspect.rs", &["crate::c_library", SETUP_ONLY]),
    ("collector/src/trampoline/path.rs", &["crate::c_library", SETUP_ONLY]),
    ("collector/src/trampoline/walked.rs", &["crate::c_library", SETUP_ONLY]),
    ("viewer/src/profile", &[TERMINAL]),
    (
        "viewer/src/structure",
        &["crate::{print,profile}", "std::{fs,io,env,time}", "object", TERMINAL],
    ),
    ("viewer/src/symbols", &[TERMINAL]),
    ("viewer/src/refine", &[TERMINAL, "std::fs"]),
    ("viewer/src/refine/pattern", &["crate::refine::{forest,select,stages,apply}"]),
    ("viewer/src/refine/lang", &["crate::refine::{forest,select,stages,apply}"]),
    ("viewer/src/refine/forest", &["crate::refine::{select,stages}"]),
    ("viewer/src/refine/select", &["crate::refine::stages"]),
    ("viewer/src/views", &[TERMINAL, "std::fs"]),
    // What records knows nothing of what was recorded.
    ("viewer/src/launch", &[NOT_PRINT, TERMINAL]),
    ("viewer/src/report", &[TERMINAL]),
    ("viewer/src/export", &[TERMINAL]),
    // What the screens are made of is drawn from values alone.
    ("viewer/src/tui/draw", &["crossterm", "std::{fs,io,env,time}"]),
    ("viewer/src/tui/update", &["ratatui", "crossterm", "std::{fs,io,env,time}"]),
    ("viewer/src/tui/views", &["ratatui", "crossterm", "std::{fs,io,env,time}"]),
    // What comes out of files reaches a terminal through `print` alone.
    ("viewer/src/main.rs", &[STREAMS, STREAMS_OF_IO]),
    ("viewer/src/cli", &[STREAMS, STREAMS_OF_IO]),
    ("viewer/src/launch", &[STREAMS, STREAMS_OF_IO]),
    ("viewer/src/profile", &[STREAMS, STREAMS_OF_IO]),
    ("viewer/src/symbols", &[STREAMS, STREAMS_OF_IO]),
    ("viewer/src/refine", &[STREAMS, STREAMS_OF_IO]),
    ("viewer/src/views", &[STREAMS, STREAMS_OF_IO]),
    ("viewer/src/report", &[STREAMS, STREAMS_OF_IO]),
    ("viewer/src/export", &[STREAMS, STREAMS_OF_IO]),
    ("viewer/src/tui/run.rs", &[STREAMS, STREAMS_OF_IO]),
    ("viewer/src/tui/update", &[STREAMS, STREAMS_OF_IO]),
    // The collector is run as a library of other programs, never as a part of a test.
    ("tests", &["csprof_collector::"]),
];
const SETUP_ONLY: &str = "alloc::{boxed,collections,fmt,format,string,sync,vec}";
/// What reads profiles.
const NOT_PRINT: &str = "crate::{profile,structure,symbols,refine,set_files,state,sources,views,\
                         report,export,tui}";
const TERMINAL: &str = "{crossterm,ratatui}";
const STREAMS: &str = "std::io::{stdout,stderr}";
const STREAMS_OF_IO: &str = "io::{stdout,stderr}";

#[test]
fn no_layer_names_what_is_above_it() {
    let mut wrong = Vec::new();
    for (place, forbidden) in ARROWS {
        let files = rust_files(&root().join(place));
        assert!(!files.is_empty(), "{place} is gone; the table is out of date");
        for file in files {
            let named = paths_in(&code(&fs::read_to_string(&file).unwrap()));
            for word in forbidden.iter().flat_map(|words| alternatives(words)) {
                if named.iter().any(|path| is_below(path, &word)) {
                    wrong.push(format!("{} names {word}", file.display()));
                }
            }
        }
    }
    nothing(&wrong);
}

/// Roots of crates: what is compiled as one, with its file.
const CRATES: &[(&str, &str)] = &[
    ("format/src", "lib.rs"),
    ("collector/src", "lib.rs"),
    ("viewer/src", "lib.rs"),
    ("viewer/src", "main.rs"),
    ("tests/src", "lib.rs"),
    ("tests/system", "main.rs"),
];

/// Who changes a module looks at those that name it, and at theirs; in a circle, at all of them.
#[test]
fn no_modules_know_each_other() {
    let mut wrong = Vec::new();
    for &(folder, head) in CRATES {
        let arrows = Modules::read(&root().join(folder), head).arrows();
        for circle in circles(&arrows) {
            let files: Vec<&str> = circle.iter().map(|file| file.to_str().unwrap()).collect();
            wrong.push(format!("\n{folder}: these modules know each other: {files:?}"));
            wrong.push("by these names:".to_owned());
            for ((from, to), paths) in &arrows {
                if circle.contains(from) && circle.contains(to) {
                    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
                    let (from, to) = (from.display(), to.display());
                    wrong.push(format!("  {from} -> {to}: {}", paths.join(", ")));
                }
            }
        }
    }
    nothing(&wrong);
}

/// Modules of crates in layers, from the lowest up: none names one behind it.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "viewer/src",
        &[
            "demo",
            "print",
            "job_place",
            "left_out",
            "profile",
            "structure",
            "symbols",
            "refine",
            "set_files",
            "state",
            "sources",
            "views",
            "report",
            "export",
            "tui",
            "launch",
            "cli",
            "lib",
        ],
    ),
    (
        "collector/src",
        &[
            "eh_frame",
            "arch",
            "gathered",
            "sys",
            "c_library",
            "panic",
            "occupancy",
            "sealed",
            "allocator",
            "setup_lock",
            "try_lock",
            "config",
            "control",
            "unwind",
            "cct",
            "arena",
            "process",
            "messages",
            "phases",
            "generated",
            "modules",
            "trampoline",
            "sampler",
            "sources",
            "thread",
            "sampling",
            "lifecycle",
            "preload",
            "lib",
        ],
    ),
];

#[test]
fn no_module_names_one_above_its_layer() {
    let mut wrong = Vec::new();
    for &(folder, layers) in LAYERS {
        let modules = Modules::read(&root().join(folder), "lib.rs");
        let layer = |file: &Path| {
            let name = file.components().next().unwrap().as_os_str();
            layers.iter().position(|layer| name == *layer || name == format!("{layer}.rs").as_str())
        };
        let unknown = modules.files().filter(|file| layer(file).is_none());
        wrong.extend(unknown.map(|file| format!("{folder}/{} is in no layer", file.display())));
        for ((from, to), paths) in modules.arrows() {
            if layer(&from) < layer(&to) {
                wrong.push(format!("{folder}/{} names {paths:?}", from.display()));
            }
        }
    }
    nothing(&wrong);
}

/// So that a second architecture is a second folder.
#[test]
fn the_collector_knows_the_processor_in_one_folder() {
    let instructions = ["asm", "global_asm", "naked_asm", "naked"];
    let registers = ["gregs", "fpregs"];
    let is_of_processor = |word: &str| {
        let is_named = instructions.contains(&word) || registers.contains(&word);
        is_named || word.starts_with("REG_") || word.contains("x86") || word.contains("amd64")
    };
    let mut wrong = Vec::new();
    for file in rust_files(&root().join("collector/src")) {
        if !file.starts_with(root().join("collector/src/arch")) {
            let code = code(&fs::read_to_string(&file).unwrap());
            let named = words(&code).filter(|word| is_of_processor(word));
            wrong.extend(named.map(|word| format!("{} names {word}", file.display())));
        }
    }
    nothing(&wrong);
}

#[test]
fn files_are_short_enough_to_be_read() {
    let long = rust_files(&root())
        .into_iter()
        .filter(|file| fs::read_to_string(file).unwrap().lines().count() > 800);
    nothing(&names(long));
}

/// Cargo compiles what modules name, and nothing tells of a file that none does.
#[test]
fn every_file_belongs_to_a_module() {
    let is_named = |file: &PathBuf| {
        let is_head = |name: &str| ["lib.rs", "main.rs", "mod.rs"].contains(&name);
        let folder = file.parent().unwrap();
        // `a/mod.rs` is the module `a`, as `a.rs` is, of the folder that both lie in.
        let (module, place) = match file.file_name().unwrap().to_str().unwrap() {
            "mod.rs" => (folder, folder.parent().unwrap()),
            name if is_head(name) => return true,
            _ => (file.as_path(), folder),
        };
        let declared = format!("mod {};", module.file_stem().unwrap().display());
        let heads = ["lib.rs", "main.rs", "mod.rs"].map(|head| place.join(head));
        let mut heads = heads.into_iter().chain([place.with_extension("rs")]);
        heads.any(|head| fs::read_to_string(head).is_ok_and(|text| text.contains(&declared)))
    };
    let places = ["format/src", "collector/src", "viewer/src", "tests/src", "tests/system"];
    let files = places.iter().flat_map(|place| rust_files(&root().join(place)));
    nothing(&names(files.filter(|file| !is_named(file))));
}

#[test]
fn nothing_is_left_to_do_later() {
    // Put together here, so that this file does not have them.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("HA", "CK:")];
    let files = files_below(&root(), &["rs", "c", "cpp", "md", "toml", "py", "pl", "sql"]);
    let marked = files.into_iter().filter(|file| {
        let text = fs::read_to_string(file).unwrap();
        marks.iter().any(|mark| text.contains(mark))
    });
    nothing(&names(marked));
}

/// The lint against it is on in the whole workspace; who switches it off says why, in the file or
/// at the head of its folder.
#[test]
fn unsafe_code_has_a_reason() {
    let has_reason = |file: &Path| {
        fs::read_to_string(file).is_ok_and(|text| {
            text.lines().any(|line| line.contains("expect(unsafe_code") && line.contains("reason"))
        })
    };
    let without = rust_files(&root()).into_iter().filter(|file| {
        let code = code(&fs::read_to_string(file).unwrap());
        let is_unsafe = words(&code).any(|word| word == "unsafe");
        let heads = ["mod.rs", "main.rs", "lib.rs"].map(|head| file.with_file_name(head));
        is_unsafe && !has_reason(file) && !heads.iter().any(|head| has_reason(head))
    });
    nothing(&names(without));
}

#[test]
fn documents_point_at_files_that_exist() {
    let documents = files_below(&root(), &["md"]);
    for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "format/FORMAT.md"] {
        assert!(documents.contains(&root().join(name)), "{name} is missing");
    }
    let mut dangling = Vec::new();
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let target = document.with_file_name("").join(link);
            if !link.is_empty() && !link.contains("://") && !target.exists() {
                dangling.push(format!("{}: {link}", document.display()));
            }
        }
    }
    nothing(&dangling);
}

/// Who reads ARCHITECTURE.md finds each part of the collector and of the viewer.
#[test]
fn the_tour_names_each_part() {
    let tour = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut wrong = Vec::new();
    for head in ["collector/src/lib.rs", "viewer/src/lib.rs"] {
        let text = fs::read_to_string(root().join(head)).unwrap();
        let modules = text.lines().filter_map(|line| {
            line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')
        });
        let missing = modules.filter(|module| !tour.contains(&format!("`{module}`")));
        wrong.extend(missing.map(|module| format!("{head}: {module}")));
    }
    nothing(&wrong);
}

/// Who reads ARCHITECTURE.md finds each decision.
#[test]
fn decisions_are_listed() {
    let tour = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let pages = files_below(&root().join("docs/decisions"), &["md"]);
    assert!(!pages.is_empty());
    nothing(&names(pages.into_iter().filter(|page| {
        let name = page.file_name().unwrap().display();
        !tour.contains(&format!("](docs/decisions/{name})"))
    })));
}

/// Rows of tables and what a program printed are as wide as they are.
#[test]
fn prose_fits_a_hundred_and_twenty_columns() {
    let mut wide = Vec::new();
    for document in files_below(&root(), &["md"]) {
        let text = fs::read_to_string(&document).unwrap();
        let mut is_code = false;
        for (number, line) in text.lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            if !is_code && !line.starts_with('|') && line.chars().count() > 120 {
                wide.push(format!("{}:{}", document.display(), number + 1));
            }
        }
    }
    nothing(&wide);
}

/// What is no sentence is as wide as it is: rows of tables, code, addresses of pages.
#[test]
fn comments_fit_a_hundred_columns() {
    let mut wide = Vec::new();
    for source in files_below(&root(), &["rs"]) {
        let text = fs::read_to_string(&source).unwrap();
        let mut is_code = false;
        for (number, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            let comment = comment.trim_start_matches(['/', '!']).trim_start();
            is_code ^= comment.starts_with("```");
            let is_sentence = !is_code && !comment.starts_with('|') && !comment.contains("://");
            if is_sentence && line.chars().count() > 100 {
                wide.push(format!("{}:{}", source.display(), number + 1));
            }
        }
    }
    nothing(&wide);
}

#[test]
fn commands_of_the_documents_exist() {
    let workshop = Workshop::new("commands_of_the_documents_exist");
    let documents = ["README.md", "docs/guide.md", "docs/edge-counts.md", "docs/coming-from.md"];
    let text: String = documents
        .iter()
        .map(|name| fs::read_to_string(root().join(name)).unwrap() + "\n")
        .collect();
    let commands: Vec<&str> = text
        .lines()
        .flat_map(|line| line.split("&&"))
        .map(|command| command.trim().trim_start_matches("$ "))
        .filter_map(|command| {
            command
                .strip_prefix("csprof ")
                .or_else(|| Some(command.strip_prefix("cargo run --release")?.split_once("-- ")?.1))
        })
        .collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        let subcommand = command.split(' ').next().unwrap();
        let help = workshop.csprof(&[subcommand, "--help"]);
        assert!(help.status.success(), "{command}: {}", help.complained());
        // What follows the program that is recorded is its own.
        if subcommand != "record" {
            let options = command.split(' ').filter(|word| word.starts_with("--"));
            let unknown: Vec<_> = options.filter(|option| !help.said().contains(option)).collect();
            assert_eq!(unknown, [""; 0], "{command}");
        }
    }
}

fn names(files: impl Iterator<Item = PathBuf>) -> Vec<String> {
    files.map(|file| file.display().to_string()).collect()
}

/// Fails with a list of what was found.
fn nothing(found: &[String]) {
    assert!(found.is_empty(), "{}", found.join("\n"));
}
