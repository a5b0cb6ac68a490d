//! The flame picture as SVG: one file for a browser, a document or a pull request.
//!
//! It has no script. Each box has a title, which browsers show where the pointer rests.

use std::borrow::Cow;
use std::io::{self, Write};

use super::format::{Format, Options};
use super::picture::{FINE, HUES, MOST_BOXES, Picture, Tint, cut};
use crate::refine::Refined;
use crate::views::flame::{Extent, FlameBox};

/// Pixels across.
const WIDTH: f64 = 1200.0;

/// Pixels of a line of boxes, and of a character in it.
const LINE: usize = 17;
const CHARACTER: f64 = 7.2;

/// Narrower boxes than half a pixel are not seen.
const EXTENT: Extent = Extent { width: FINE, least: FINE / 2400, levels: 500 };

/// Most characters of a name in a title.
const LONG_NAME: usize = 300;

/// Most characters of a line above the picture.
const LONG_LINE: usize = 160;

/// The picture.
pub static FORMAT: Format =
    Format { name: "svg", help: "The call tree as a picture", is_picture: true, write, size: None };

/// Writes the picture.
///
/// # Errors
/// Those of `out`.
fn write(refined: &Refined, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let refinement = options.refinement.clone();
    let picture = Picture::new(refined, EXTENT, MOST_BOXES);
    let lines = [picture.heading(refinement), picture.lacks()].concat();
    let top = (lines.len() + 1) * LINE;
    let height = top + (picture.lines.len() + 1) * LINE;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" font-family=\"monospace\" font-size=\"12\">"
    )?;
    writeln!(out, "<style>\n{}</style>", styles())?;
    writeln!(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>")?;
    for (line, text) in (1..).zip(&lines) {
        let text = escaped(&cut(text, LONG_LINE)).into_owned();
        writeln!(out, "<text x=\"4\" y=\"{}\">{text}</text>", line * LINE)?;
    }
    for (level, line) in picture.lines.iter().enumerate() {
        for of in line {
            draw(&picture, *of, top + level * LINE, out)?;
        }
    }
    writeln!(out, "</svg>")
}

/// Draws a box.
fn draw(picture: &Picture<'_>, of: FlameBox, y: usize, out: &mut dyn Write) -> io::Result<()> {
    let pixels = |parts: usize| parts as f64 / FINE as f64 * WIDTH;
    let (x, width) = (pixels(of.start), pixels(of.width));
    let (tint, title, name) = match of.row {
        None => (Tint::Plain, picture.left_out_below(of.above), String::new()),
        Some(row) => (picture.tint(row), title(picture, row), picture.short_name(row)),
    };
    let class = tint.name();
    let height = LINE - 1;
    write!(
        out,
        "<g><title>{}</title><rect class=\"{class}\" x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" \
         height=\"{height}\"/>",
        escaped(&title)
    )?;
    // Whole characters, in what the sides leave.
    let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    if room >= 3 && !name.is_empty() {
        let (x, y) = (x + 3.0, y + 12);
        write!(out, "<text x=\"{x:.2}\" y=\"{y}\">{}</text>", escaped(&cut(&name, room)))?;
    }
    writeln!(out, "</g>")
}

/// Name, place and numbers of a row.
fn title(picture: &Picture<'_>, row: crate::views::tree::RowId) -> String {
    let mut lines = vec![cut(&picture.name(row), LONG_NAME)];
    let place: Vec<_> = picture.place(row).into_iter().filter(|text| !text.is_empty()).collect();
    lines.extend((!place.is_empty()).then(|| cut(&place.join("  "), LONG_NAME)));
    lines.extend(Some(picture.kind(row)).filter(|kind| !kind.is_empty()).map(str::to_owned));
    let cells = picture.headings().into_iter().zip(picture.cells(row));
    let cells = cells.filter(|(_, cell)| !cell.is_empty() && cell != ".");
    lines.push(
        cells.map(|(heading, cell)| format!("{heading} {cell}")).collect::<Vec<_>>().join("  "),
    );
    lines.extend(Some(picture.left_out_below(row)).filter(|text| !text.is_empty()));
    lines.join("\n")
}

/// Colors that can be read in light and in the dark.
fn styles() -> String {
    let rules = |saturation: u32, light: u32, plain: &str| {
        let hue = |at: usize| at * 360 / HUES;
        let modules = (0..HUES).map(|at| {
            let class = Tint::Module(at).name();
            format!(".{class}{{fill:hsl({},{saturation}%,{light}%)}}\n", hue(at))
        });
        let others = [(Tint::More, "12"), (Tint::Less, "215")].map(|(tint, hue)| {
            format!(".{}{{fill:hsl({hue},{saturation}%,{light}%)}}\n", tint.name())
        });
        let plain = format!(".{}{{fill:{plain}}}\n", Tint::Plain.name());
        modules.chain(others).chain([plain]).collect::<String>()
    };
    format!(
        "rect{{stroke:#fff;stroke-width:.5}}\n.page{{fill:#fff}}\ntext{{fill:#111}}\n{}\
         @media (prefers-color-scheme:dark){{\nrect{{stroke:#16181c}}\n.page{{fill:#16181c}}\ntext{{fill:#eee}}\n{}}}\n",
        rules(60, 80, "#ddd"),
        rules(35, 30, "#3a3d44"),
    )
}

/// Text as XML has it. What it has no place for at all (XML 1.0, production 2) and no escape shows
/// is replaced.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    const SPECIAL: [char; 7] = ['&', '<', '>', '"', '\'', '\u{fffe}', '\u{ffff}'];
    if !text.contains(SPECIAL) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}
