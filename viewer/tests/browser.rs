//! The page of `csprof export --format html` and the picture of `--format svg` in a browser.
//!
//! A script that stands behind the page's own clicks, types and looks at what is there. Without a
//! Chromium the tests say that they are skipped.

#![expect(clippy::unwrap_used, reason = "a harness of tests: a panic is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use csprof::export::format::Options;
use csprof::export::{html, svg};
use csprof::profile::{Profile, from_outline};
use csprof::refine::{Refined, apply, parse};

#[path = "../../tests/src/notes.rs"]
#[expect(unreachable_pub, reason = "it is public where it is at home")]
mod notes;

/// Programs that are one, the smallest first.
const BROWSERS: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"];

/// A browser, if one is installed.
fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&folders).collect();
    let mut programs =
        BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = programs.find(|program| program.is_file());
    if found.is_none() {
        notes::skip("pages in a browser", &format!("none of {} installed", BROWSERS.join(", ")));
    }
    found
}

/// The document that a browser makes of a file, written as markup.
fn document(browser: &Path, file: &Path, link: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--window-size=1200,900", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}{link}", file.display()))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn page(refined: &Refined) -> String {
    let mut page = Vec::new();
    html::FORMAT.write(refined, &Options::default(), &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// Opens the page of a profile and holds these checks, `name: expression;` in JavaScript.
fn check(refined: &Refined, link: &str, checks: &str) {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let script = format!(
        "<script>\n{{\nconst failed = [];\nlet passed = 0;\n\
         const check = (name, holds) => {{ if (holds) passed += 1; else failed.push(name); }};\n\
         const shownRows = () => [...document.querySelectorAll('#tree .row')];\n\
         const rowOfName = (name) => shownRows().find((row) =>\n  \
           row.firstChild.childNodes[1].textContent === name);\n\
         const boxOf = (name) => [...document.querySelectorAll('#flame .box')].find((box) =>\n  \
           box.textContent === name);\n\
         const press = (key, on = document.body) =>\n  \
           on.dispatchEvent(new KeyboardEvent('keydown', {{key, bubbles: true}}));\n\
         const type = (text) => {{ element('query').value = text;\n  \
           element('query').dispatchEvent(new Event('input')); }};\n\
         try {{\n{checks}\n}} catch (error) {{ failed.push(String(error)); }}\n\
         const told = document.createElement('pre');\n\
         told.textContent = `passed ${{passed}}, failed [${{failed}}]`;\n\
         document.body.append(told);\n}}\n</script>\n"
    );
    fs::write(&file, page(refined) + &script).unwrap();
    let document = document(&browser, &file, link);
    let wanted = format!("passed {}, failed []", checks.matches("check(").count());
    let told = document.rsplit_once("<pre>").map_or("no script was run", |(_, told)| told);
    assert!(told.starts_with(&wanted), "{wanted}: {told}");
}

const SOLVER: &str = "
main 2 at:solver.c:20 module:solver
  read_input 8 e=1
    fread 6 e=20 module:libc.so.6
  solve 10 e=2
    dot_product 30 inline at:vector.h:12
    exchange 1 e=40
      MPI_Sendrecv 4 e=40 module:libmpi.so.40
        memcpy 60 e=55 module:libc.so.6
        poll 30 e=9 module:libc.so.6
    solve 9
      memcpy 40
";

fn solver() -> Profile {
    from_outline(SOLVER).unwrap()
}

#[test]
fn rows_open_boxes_zoom_and_names_are_found() {
    check(
        &Refined::base(&solver()),
        "",
        r##"
        check("heading", element("heading").textContent.includes("200 samples of cputime"));
        check("hot path", rowOfName("main") && rowOfName("solve") && !rowOfName("fread"));
        const cells = [...rowOfName("solve").children].map((cell) => cell.textContent);
        check("time", cells[1] === "920 ms");
        check("share", cells[2] === "92.0");
        rowOfName("read_input").click();
        check("opened", rowOfName("fread"));
        check("chosen", rowOfName("read_input").classList.contains("chosen"));
        check("told", element("told").textContent.startsWith("read_input"));
        rowOfName("read_input").click();
        check("closed", !rowOfName("fread"));
        const wide = boxOf("solve").offsetWidth / boxOf("main").offsetWidth;
        check("as wide as it costs", Math.abs(wide - 0.92) < 0.01);
        boxOf("exchange").dispatchEvent(new MouseEvent("dblclick", {bubbles: true}));
        check("zoomed", boxOf("exchange").offsetWidth === boxOf("main").offsetWidth);
        check("chosen in both", rowOfName("exchange").classList.contains("chosen"));
        check("others are gone", !boxOf("read_input"));
        check("linked", location.hash.includes("zoom="));
        element("out").click();
        check("out", boxOf("dot_product") && !boxOf("read_input"));
        type("MEMCPY");
        check("found", element("matches").textContent === "2 rows here, 50.0% of what is shown");
        press("Enter", element("query"));
        check("first", element("matches").textContent.startsWith("1 of 2 rows"));
        check("heaviest", element("told").textContent.includes("300 ms"));
        press("Enter", element("query"));
        check("second", element("matches").textContent.startsWith("2 of 2 rows"));
        type("solve");
        check("recursion once", element("matches").textContent.startsWith("2 rows here, 92.0%"));
        type("");
        press("ArrowLeft");
        check("to the caller", element("told").textContent.startsWith("solve"));
        "##,
    );
}

#[test]
fn a_link_leads_to_a_row() {
    // Rows are numbered line by line: all, main, solve, read_input, …
    check(
        &Refined::base(&solver()),
        "#zoom=2&row=2&query=poll",
        r##"
        check("zoom", boxOf("solve").offsetWidth === boxOf("main").offsetWidth);
        check("row", element("told").textContent.startsWith("solve"));
        check("query", element("matches").textContent.startsWith("1 row here, 15.0%"));
        "##,
    );
    check(
        &Refined::base(&solver()),
        "#zoom=99999&row=-1&query=%3Cb%3E",
        r##"
        check("nothing", element("told").textContent.startsWith("all call paths"));
        check("query", element("query").value === "<b>");
        "##,
    );
}

/// What would be markup, code, or an order to whoever shows it.
const HOSTILE: [&str; 12] = [
    "</script><script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title = 'owned'\">",
    "<!--<script>",
    "\"&amp;'`${document.title = 'owned'}\\",
    "\u{202e}gnp.exe\u{2066}",
    "\u{1b}[31m\u{7}\u{0}\r\n\u{9b}",
    "\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}",
    "@PROFILE@",
    "__proto__",
    "]]>",
    "javascript:document.title='owned'//",
    "名前🦀",
];

fn hostile(names: &[&str]) -> Profile {
    let mut outline = "main 1\n".to_owned();
    for at in 0..names.len() {
        outline.push_str(&format!("  f{at} 5\n"));
    }
    let mut profile = from_outline(&outline).unwrap();
    for function in profile.functions.iter_mut() {
        let at = function.name.strip_prefix('f').and_then(|at| at.parse::<usize>().ok());
        if let Some(at) = at {
            function.name = names[at].into();
        }
    }
    profile
}

#[test]
fn names_are_text_whatever_is_in_them() {
    check(
        &Refined::base(&hostile(&HOSTILE)),
        "",
        r##"
        check("no code", document.title.startsWith("csprof"));
        check("no markup", !document.querySelector("img"));
        check("every row", shownRows().length === 14);
        check("a name", rowOfName(`<${"/"}script><script>document.title = 'owned'<${"/"}script>`));
        check("markup", rowOfName("<img src=x onerror=\"document.title = 'owned'\">"));
        check("bidi", rowOfName("\\u{202e}gnp.exe\\u{2066}"));
        check("controls", rowOfName("\\u{1b}[31m\\u{7}\\u{0}\\r\\n\\u{9b}"));
        check("place", rowOfName("@PROFILE@") && rowOfName("__proto__") && rowOfName("名前🦀"));
        check("none raw", !/[\u202a-\u202e\u2066-\u2069\u0000-\u0008]/.test(document.body.innerText));
        type("__PROTO__");
        check("found", element("matches").textContent.startsWith("1 row here"));
        "##,
    );
}

/// Together they may make up for each other: a comment that a name begins hides the end of the
/// script that another one has.
#[test]
fn no_name_alone_is_markup() {
    for name in HOSTILE {
        check(
            &Refined::base(&hostile(&[name])),
            "",
            r##"check("no code", document.title.startsWith("csprof"));
            check("the rows", shownRows().length === 3);"##,
        );
    }
}

#[test]
fn a_profile_without_samples_is_a_page() {
    check(
        &Refined::base(&from_outline("main 0\n").unwrap()),
        "",
        r##"check("row", rowOfName("all call paths"));
        press("z"); press("ArrowRight"); press("ArrowDown"); press("ArrowUp");
        check("alone", shownRows().length === 1);"##,
    );
}

#[test]
fn a_deep_path_is_a_page() {
    let mut outline = String::new();
    for depth in 0..3000 {
        outline.push_str(&format!("{}f{depth} 1\n", "  ".repeat(depth)));
    }
    check(
        &Refined::base(&from_outline(&outline).unwrap()),
        "",
        r##"type("f2999");
        press("Enter", element("query"));
        check("reached", element("told").textContent.startsWith("f2999"));
        check("in sight", rowOfName("f2999"));
        check("few elements", document.querySelectorAll(".row, .box").length < 200);"##,
    );
}

#[test]
fn the_picture_is_well_formed() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("picture.svg");
    let stages = parse("through solve").unwrap();
    for (refined, rects) in [
        // Two for the page itself and all paths.
        (Refined::base(&hostile(&HOSTILE)), HOSTILE.len() + 3),
        (apply(&solver(), &stages).unwrap(), 2 + 9),
    ] {
        let mut picture = Vec::new();
        let refinement = Some("through \"a\" & <b>".to_owned());
        let options = Options { refinement, ..Options::default() };
        svg::FORMAT.write(&refined, &options, &mut picture).unwrap();
        fs::write(&file, picture).unwrap();
        let document = document(&browser, &file, "");
        assert!(!document.contains("parsererror"), "{document}");
        assert_eq!(document.matches("<rect").count(), rects, "{document}");
        assert!(!document.contains("<script"), "{document}");
    }
}
