//! The pictures in the README and the guide: the screen as SVG, in the colors that xterm has.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use csprof::profile::Profile;
use csprof::sources::Sources;
use csprof::tui::theme::Theme;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::Viewer;

const PROFILE: &str = "tests/fixtures/exchange.csprof";

/// Files in `docs`, and the keys that lead to what they show.
const PICTURES: [(&str, &str); 3] = [
    ("screen.svg", "fthrough MPI_*<enter>fthrough memcpy<enter>H"),
    ("flame.svg", "6H"),
    ("source.svg", "/exchange<enter>7"),
];

/// A cell, in pixels.
const WIDTH: usize = 8;
const HEIGHT: usize = 17;

const PAPER: &str = "#ffffff";
const INK: &str = "#000000";

/// `INSTA_UPDATE=always` paints it anew, as it does for the other screens.
#[test]
fn the_documents_show_what_the_viewer_paints() {
    let saved = csprof_format::read::open(Path::new(PROFILE)).unwrap();
    let profile = Profile::from_saved(saved);
    for (file, keys) in PICTURES {
        let theme = Theme::new(true, false);
        let mut viewer = Viewer::named("exchange.csprof", &profile, "96x20", theme);
        viewer.model.look_in(&Sources::new(vec!["/exchange=../tests/workloads".parse().unwrap()]));
        viewer.press(keys);
        let picture = svg(viewer.terminal().backend().buffer());
        let file = format!("../docs/{file}");
        if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            fs::write(&file, &picture).unwrap();
        }
        let painted = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(painted, picture, "{file}:\n{}", viewer.screen());
    }
}

fn svg(buffer: &Buffer) -> String {
    let (columns, lines) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    let (width, height) = (columns * WIDTH, lines * HEIGHT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{PAPER}\"/>\n"
    );
    for (line, cells) in buffer.content().chunks(columns).enumerate() {
        let mut column = 0;
        for run in cells.chunk_by(|a, b| look(a) == look(b)) {
            paint(&mut svg, line, column, run);
            column += run.len();
        }
    }
    svg + "</svg>\n"
}

/// Cells of one look that follow each other.
fn paint(svg: &mut String, line: usize, column: usize, run: &[Cell]) {
    let (color, behind, modifier) = look(&run[0]);
    let (x, y) = (column * WIDTH, line * HEIGHT);
    let paper = if behind == Color::Reset { PAPER } else { hex(behind) };
    let (mut ink, mut paper) = (hex(color), paper);
    if modifier.contains(Modifier::REVERSED) {
        (ink, paper) = (paper, ink);
    }
    if paper != PAPER {
        let width = run.len() * WIDTH;
        writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" fill=\"{paper}\"/>"
        )
        .unwrap();
    }
    let mut style = format!("fill=\"{ink}\"");
    for (part, attribute) in [
        (Modifier::BOLD, "font-weight=\"bold\""),
        (Modifier::DIM, "opacity=\"0.6\""),
        (Modifier::UNDERLINED, "text-decoration=\"underline\""),
    ] {
        if modifier.contains(part) {
            style += " ";
            style += attribute;
        }
    }
    let baseline = y + HEIGHT - 4;
    let text: String = run.iter().map(Cell::symbol).collect();
    let mut before = 0;
    // Spaces that follow each other would be shown as one.
    for words in text.split("  ") {
        let indent = words.len() - words.trim_start().len();
        let x = x + (before + indent) * WIDTH;
        before += words.chars().count() + 2;
        let words = words.trim();
        if !words.is_empty() {
            // Fonts differ in width; the grid does not.
            let width = words.chars().count() * WIDTH;
            let words = words.replace('&', "&amp;").replace('<', "&lt;");
            writeln!(
                svg,
                "<text x=\"{x}\" y=\"{baseline}\" textLength=\"{width}\" {style}>{words}</text>"
            )
            .unwrap();
        }
    }
}

/// Ink, paper and style.
fn look(cell: &Cell) -> (Color, Color, Modifier) {
    (cell.fg, cell.bg, cell.modifier)
}

fn hex(color: Color) -> &'static str {
    match color {
        Color::Reset => INK,
        // The ink on boxes, and what boxes are filled with.
        Color::Black => INK,
        Color::Gray => "#e5e5e5",
        Color::Yellow => "#cdcd00",
        Color::Green => "#00cd00",
        Color::Cyan => "#00cdcd",
        Color::LightYellow => "#ffff00",
        Color::LightGreen => "#00ff00",
        Color::LightCyan => "#00ffff",
        Color::Red => "#cd0000",
        Color::Magenta => "#a000a0",
        other => panic!("{other} is not a color of the theme"),
    }
}
