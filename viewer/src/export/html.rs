//! A page for a browser: the call tree to click through, and the flame picture to zoom and to
//! search. One file that asks no network for anything.
//!
//! The script and the styles are `page.html`; the profile is put into it as JSON. All that comes
//! out of a profile is in strings there, in which no `<` is left, and the script makes text of
//! them, never markup.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use super::format::{Format, Options};
use super::picture::{FINE, MOST_BOXES, Picture, Tint, cut};
use crate::refine::Refined;
use crate::views::flame::Extent;
use crate::views::tree::RowId;

/// The page without a profile.
const PAGE: &str = include_str!("page.html");

/// What stands in the page where the profile is to be.
const PLACE: &str = "@PROFILE@";

/// As much as there is room for.
const EXTENT: Extent = Extent { width: FINE, least: 1, levels: MOST_BOXES / 2 };

/// Characters for all names together, and for each of them at least and at most.
const NAMES: usize = 4_000_000;
const SHORTEST: usize = 60;
const LONGEST: usize = 2000;

/// What the script reads.
#[derive(Serialize)]
struct Page {
    /// What was run, and the account of all samples.
    heading: Vec<String>,
    /// What is left out.
    lacks: Vec<String>,
    columns: Vec<String>,
    /// Width of the picture.
    width: usize,
    /// Names, files, load modules, each once.
    texts: Vec<String>,
    rows: Vec<PageRow>,
}

/// A row: that of its caller, its name, source file and load module in `texts`, how it is called,
/// its color, the start and width of its box, its columns. A box without columns stands for
/// siblings that have none. Callers come before callees, and siblings in the order of their boxes.
type PageRow = (usize, usize, usize, usize, &'static str, String, usize, usize, Vec<String>);

/// The page.
pub static FORMAT: Format = Format {
    name: "html",
    help: "The call tree to click through and its picture to zoom and search: one file, no network",
    is_picture: true,
    write,
    size: None,
};

/// Writes the page.
///
/// # Errors
/// Those of `out`.
fn write(refined: &Refined, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let refinement = options.refinement.clone();
    let picture = Picture::new(refined, EXTENT, MOST_BOXES);
    let json = serde_json::to_string(&page(&picture, refinement))?;
    let (before, after) = PAGE.split_once(PLACE).unwrap_or((PAGE, ""));
    out.write_all(before.as_bytes())?;
    // `<` begins markup (`</script>`, `<!--`) also where a string is meant.
    out.write_all(json.replace('<', "\\u003c").as_bytes())?;
    out.write_all(after.as_bytes())
}

fn page(picture: &Picture<'_>, refinement: Option<String>) -> Page {
    let mut texts = Texts::default();
    let mut places: HashMap<RowId, usize> = HashMap::new();
    let mut rows = Vec::new();
    for of in picture.lines.iter().flatten() {
        let caller = places.get(&of.above).copied().unwrap_or_default();
        let empty = texts.number(String::new());
        rows.push(match of.row {
            Some(row) => {
                places.insert(row, rows.len());
                let [file, module] = picture.place(row).map(|text| texts.number(text));
                let name = texts.number(picture.name(row));
                let (kind, tint) = (picture.kind(row), picture.tint(row).name());
                (caller, name, file, module, kind, tint, of.start, of.width, picture.cells(row))
            }
            None => {
                let name = texts.number(picture.left_out_below(of.above));
                let tint = Tint::Plain.name();
                (caller, name, empty, empty, "", tint, of.start, of.width, Vec::new())
            }
        });
    }
    let mut lacks = picture.lacks();
    lacks.extend(texts.shorten());
    Page {
        heading: picture.heading(refinement),
        lacks,
        columns: picture.headings(),
        width: picture.extent.width,
        texts: texts.texts,
        rows,
    }
}

/// Texts, each once.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Texts {
    fn number(&mut self, text: String) -> usize {
        // One that would be cut at any rate is kept so.
        let text = cut(&text, LONGEST + 1);
        let Self { texts, numbers } = self;
        *numbers.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            texts.len() - 1
        })
    }

    /// Cuts texts so that all have room; says so if any was cut.
    fn shorten(&mut self) -> Option<String> {
        let most = (NAMES / self.texts.len().max(1)).clamp(SHORTEST, LONGEST);
        let is_long = |text: &&mut String| text.chars().nth(most).is_some();
        let mut cuts = 0;
        for text in self.texts.iter_mut().filter(is_long) {
            *text = cut(text, most);
            cuts += 1;
        }
        (cuts > 0).then(|| format!("names are cut after {most} characters"))
    }
}
