//! How things look: glyphs and styles.
//!
//! Nothing depends on color: what a color says is also said by a number, a glyph or reverse video.
//! Unless the user chooses others, only named colors are used, so that the terminal's palette stays
//! in charge; and of those only two for text, since yellow, green and cyan are hard to read on
//! white, and blue is on black. Boxes have black text on colors of their own.

use std::borrow::Cow;

use ratatui::style::{Color, Modifier, Style};

use crate::print::printable;

/// The user's answer to `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// Color unless `NO_COLOR` is set or `TERM` names a terminal without: dumb, of the VT series,
    /// or with `-m` or `-mono` behind its name.
    #[default]
    Auto,
    /// Color whatever the environment says.
    Always,
    /// No color.
    Never,
}

impl ColorChoice {
    /// Whether to use color, given `$NO_COLOR` and `$TERM` (<https://no-color.org>: set and not
    /// empty means no).
    #[must_use]
    pub fn decide(self, no_color: Option<&str>, term: Option<&str>) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                no_color.is_none_or(str::is_empty)
                    && term.is_none_or(|term| {
                        let is_vt = term.strip_prefix("vt").is_some_and(|of| {
                            of.starts_with(|number: char| number.is_ascii_digit())
                        });
                        let is_mono = term.ends_with("-m") || term.ends_with("-mono");
                        term != "dumb" && !is_vt && !is_mono
                    })
            }
        }
    }
}

/// The characters of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Before a row whose children are shown.
    pub open: &'static str,
    /// Before a row whose children are not shown.
    pub closed: &'static str,
    /// Before a row without children.
    pub leaf: &'static str,
    /// One level of a tree.
    pub guide: &'static str,
    /// In the heading of the column that rows are sorted by, descending.
    pub descending: &'static str,
    /// The same, ascending.
    pub ascending: &'static str,
    /// In place of what was left out.
    pub ellipsis: &'static str,
    /// Between the stages of a refinement.
    pub stage: &'static str,
    /// Beside rows of the hot path.
    pub hot: &'static str,
    /// Beside rows of which something was said.
    pub note: &'static str,
    /// Horizontal line.
    pub horizontal: &'static str,
    /// Vertical line between columns.
    pub vertical: &'static str,
    /// Where a column line leaves a horizontal line downward.
    pub tee: &'static str,
    /// Corners of a box: top left, top right, bottom left, bottom right.
    pub corners: [&'static str; 4],
    /// Bars from empty to full.
    pub bars: &'static [&'static str],
    /// Under the place of an error.
    pub caret: &'static str,
    /// Left edge of a box of a picture.
    pub box_side: &'static str,
}

impl Glyphs {
    /// A bar that fills this part of so many cells, from 0 to 1; the last one is one of the partial
    /// bars. What is not a number, as a part of nothing, is empty.
    #[must_use]
    pub fn bar(&self, part: f64, cells: usize) -> String {
        let bars = self.bars;
        let steps = bars.len().saturating_sub(1).max(1);
        // Up, so that what is not nothing is seen; at most cells × steps: a part is at most 1.
        let filled = (part.clamp(0.0, 1.0) * (cells * steps) as f64).ceil() as usize;
        let mut text = bars[steps].repeat(filled / steps);
        if !filled.is_multiple_of(steps) {
            text.push_str(bars[filled % steps]);
        }
        text
    }
}

/// Unicode pictures.
pub const UNICODE: Glyphs = Glyphs {
    open: "▾",
    closed: "▸",
    leaf: "·",
    guide: "│",
    descending: "▼",
    ascending: "▲",
    ellipsis: "…",
    stage: "▸",
    hot: "◆",
    note: "●",
    horizontal: "─",
    vertical: "│",
    tee: "┬",
    corners: ["┌", "┐", "└", "┘"],
    bars: &[" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
    caret: "^",
    box_side: "▏",
};

/// Pictures for terminals and fonts without Unicode.
pub const ASCII: Glyphs = Glyphs {
    open: "v",
    closed: ">",
    leaf: "-",
    guide: "|",
    descending: "v",
    ascending: "^",
    ellipsis: "..",
    stage: ">",
    hot: "*",
    note: "o",
    horizontal: "-",
    vertical: "|",
    tee: "+",
    corners: ["+", "+", "+", "+"],
    bars: &[" ", "#"],
    caret: "^",
    box_side: "|",
};

/// What the color of a box of a picture tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Nothing: it is of no kind, or its cost has not changed by more than noise.
    Nothing,
    /// It is of the kind that has this number.
    Kind(usize),
    /// It costs more than before.
    More,
    /// It costs less than before.
    Less,
}

/// The colors that the user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colors {
    /// What is current, found, a stage, or costs a good deal.
    accent: Color,
    /// What went wrong, or costs most.
    alarm: Color,
    /// Colors of boxes, on which black is readable.
    boxes: [Color; 6],
}

impl Default for Colors {
    fn default() -> Self {
        Self::USUAL
    }
}

impl Colors {
    const USUAL: Self = Self {
        accent: Color::Magenta,
        alarm: Color::Red,
        boxes: [
            Color::Yellow,
            Color::Green,
            Color::Cyan,
            Color::LightYellow,
            Color::LightGreen,
            Color::LightCyan,
        ],
    };

    /// Each name with its value as a configuration file has it.
    #[must_use]
    pub fn shown(&self) -> [(&'static str, String); 3] {
        let text = |color: Color| format!("\"{}\"", color.to_string().to_lowercase());
        let boxes = self.boxes.map(text).join(", ");
        [
            ("accent", text(self.accent)),
            ("alarm", text(self.alarm)),
            ("boxes", format!("[{boxes}]")),
        ]
    }

    /// Chooses a color, or those of boxes, of which the last one stands for those that are missing.
    ///
    /// # Errors
    /// What is wrong with the name or with a color.
    pub fn set(&mut self, name: &str, colors: &[String]) -> Result<(), String> {
        let read = |color: &String| {
            // A sign is no digit.
            let is_hex = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let is_right = color.strip_prefix('#').is_none_or(is_hex);
            color.parse().ok().filter(|_| is_right).ok_or_else(|| {
                let color = printable(color);
                format!(
                    "`{color}` is no color; it is a name such as red or lightblue, a number from 0 \
                     to 255, or #rrggbb"
                )
            })
        };
        let colors = colors.iter().map(read).collect::<Result<Vec<Color>, _>>()?;
        let is_black = |color: &Color| {
            matches!(color, Color::Black | Color::Indexed(0 | 16) | Color::Rgb(0, 0, 0))
        };
        match (name, &colors[..]) {
            ("boxes", colors) if colors.iter().any(is_black) => {
                return Err("`boxes` cannot be black, as their text is".to_owned());
            }
            ("accent", &[color]) => self.accent = color,
            ("alarm", &[color]) => self.alarm = color,
            ("boxes", [.., last]) if colors.len() <= self.boxes.len() => {
                self.boxes = std::array::from_fn(|at| colors.get(at).copied().unwrap_or(*last));
            }
            ("boxes", _) => return Err("`boxes` takes one to six colors".to_owned()),
            ("accent" | "alarm", _) => return Err(format!("`{name}` takes one color")),
            _ => {
                let name = printable(name);
                return Err(format!(
                    "`{name}` is no color of the viewer; there are accent, alarm, boxes"
                ));
            }
        }
        Ok(())
    }
}

/// Glyphs and styles of this session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    color: bool,
    colors: Colors,
    /// The characters of pictures.
    pub glyphs: &'static Glyphs,
}

impl Theme {
    /// A theme with or without color, in Unicode or ASCII.
    #[must_use]
    pub const fn new(color: bool, ascii: bool) -> Self {
        let glyphs = if ascii { &ASCII } else { &UNICODE };
        Self { color, colors: Colors::USUAL, glyphs }
    }

    /// The same in other colors.
    #[must_use]
    pub const fn with_colors(self, colors: Colors) -> Self {
        Self { colors, ..self }
    }

    /// Whether pictures are in ASCII.
    #[must_use]
    pub fn is_ascii(self) -> bool {
        *self.glyphs == ASCII
    }

    /// Text of the viewer's own, in the characters that may be used.
    #[must_use]
    pub fn plain(self, text: &str) -> Cow<'_, str> {
        const SPELLED: [(char, &str); 6] =
            [('×', "x"), ('≤', "<="), ('…', ".."), ('“', "\""), ('”', "\""), ('µ', "u")];
        if !self.is_ascii() || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let spelled = |text: String, &(c, plain): &(char, &str)| text.replace(c, plain);
        Cow::Owned(SPELLED.iter().fold(text.to_owned(), spelled))
    }

    fn colored(self, color: Color, style: Style) -> Style {
        if self.color { style.fg(color) } else { style }
    }

    /// Ordinary text.
    #[must_use]
    pub fn text(self) -> Style {
        Style::new()
    }

    /// What is there for orientation: guides, units, hints.
    #[must_use]
    pub fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Headings and the names of keys.
    #[must_use]
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The selected row. Reverse video is visible on every terminal.
    #[must_use]
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The view that is open, among the names of views.
    #[must_use]
    pub fn current(self) -> Style {
        self.colored(self.colors.accent, self.strong())
    }

    /// Text that a search found.
    #[must_use]
    pub fn found(self) -> Style {
        self.colored(self.colors.accent, Style::new().add_modifier(Modifier::UNDERLINED))
    }

    /// A refinement stage.
    #[must_use]
    pub fn stage(self) -> Style {
        self.colored(self.colors.accent, Style::new())
    }

    /// Something that went wrong.
    #[must_use]
    pub fn error(self) -> Style {
        self.colored(self.colors.alarm, self.strong())
    }

    /// What became cheaper.
    #[must_use]
    pub fn better(self) -> Style {
        self.strong()
    }

    /// Something to be aware of: losses, partial unwinds.
    #[must_use]
    pub fn warning(self) -> Style {
        self.colored(self.colors.accent, Style::new())
    }

    /// A box of a picture.
    #[must_use]
    pub fn fill(self, fill: Fill) -> Style {
        let color = match fill {
            Fill::Nothing => Color::Gray,
            Fill::Kind(number) => self.colors.boxes[number % self.colors.boxes.len()],
            Fill::More => Color::LightRed,
            Fill::Less => Color::Cyan,
        };
        if self.color { Style::new().fg(Color::Black).bg(color) } else { Style::new() }
    }

    /// A box whose name a search found, over its own style.
    #[must_use]
    pub fn found_box(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD)
    }

    /// What is hardly anything of the cost is there for orientation.
    #[must_use]
    pub fn size(self, part: u64, whole: u64) -> Style {
        match u128::from(part) * 200 < u128::from(whole) {
            true => self.faint(),
            false => self.text(),
        }
    }

    /// A share of the cost, `part` of `whole`; the number itself stands beside it.
    #[must_use]
    pub fn heat(self, part: u64, whole: u64) -> Style {
        let (part, whole) = (u128::from(part), u128::from(whole));
        if whole > 0 && part * 2 >= whole {
            self.colored(self.colors.alarm, self.strong())
        } else if whole > 0 && part * 10 >= whole {
            self.colored(self.colors.accent, Style::new())
        } else if part * 200 < whole {
            self.faint()
        } else {
            Style::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_is_decided_once() {
        for (choice, no_color, term, expected) in [
            (ColorChoice::Auto, None, Some("xterm-256color"), true),
            (ColorChoice::Auto, Some(""), Some("xterm"), true),
            (ColorChoice::Auto, Some("1"), Some("xterm"), false),
            (ColorChoice::Auto, None, Some("dumb"), false),
            (ColorChoice::Auto, None, Some("vt100"), false),
            (ColorChoice::Always, Some("1"), Some("dumb"), true),
            (ColorChoice::Never, None, Some("xterm"), false),
        ] {
            assert_eq!(choice.decide(no_color, term), expected);
        }
    }

    /// Red, green and blue of named colors from 0 to 255, as xterm has them (`XTerm-col.ad`): the
    /// most glaring ones in use.
    fn in_xterm(color: Color) -> [f64; 3] {
        match color {
            Color::Red => [205.0, 0.0, 0.0],
            Color::Green => [0.0, 205.0, 0.0],
            Color::Yellow => [205.0, 205.0, 0.0],
            Color::Blue => [0.0, 0.0, 238.0],
            Color::Magenta => [205.0, 0.0, 205.0],
            Color::Cyan => [0.0, 205.0, 205.0],
            Color::White => [255.0; 3],
            Color::Gray => [229.0; 3],
            Color::LightRed => [255.0, 0.0, 0.0],
            Color::LightGreen => [0.0, 255.0, 0.0],
            Color::LightYellow => [255.0, 255.0, 0.0],
            Color::LightCyan => [0.0, 255.0, 255.0],
            Color::Black => [0.0; 3],
            other => panic!("{other} is not a color of this theme"),
        }
    }

    /// Contrast of two colors, from 1 to 21 (WCAG 2.2, "contrast ratio").
    fn contrast(a: Color, b: Color) -> f64 {
        let luminance = |color| {
            let linear = |value: f64| match value / 255.0 {
                dark if dark <= 0.04045 => dark / 12.92,
                light => ((light + 0.055) / 1.055).powf(2.4),
            };
            let [red, green, blue] = in_xterm(color).map(linear);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_color_is_readable_on_black_and_on_white() {
        // What WCAG 2.2 asks of large text; no other named color comes up to it on both.
        const LEAST: f64 = 3.0;
        let is_readable = |color| {
            contrast(color, Color::White) >= LEAST && contrast(color, Color::Black) >= LEAST
        };
        let theme = Theme::new(true, false);
        let heats = [(9, 10), (1, 5), (1, 50), (1, 500)].map(|(part, all)| theme.heat(part, all));
        let others = [
            theme.text(),
            theme.faint(),
            theme.strong(),
            theme.selected(),
            theme.current(),
            theme.found(),
            theme.stage(),
            theme.error(),
            theme.better(),
            theme.warning(),
        ];
        for style in heats.into_iter().chain(others) {
            assert_eq!(style.bg, None);
            assert!(style.fg.is_none_or(is_readable), "{style:?}");
        }
        assert!(
            ![Color::Yellow, Color::Cyan, Color::Green, Color::Blue].into_iter().any(is_readable)
        );
    }

    #[test]
    fn black_is_readable_on_every_box() {
        // What WCAG 2.2 asks of text.
        const LEAST: f64 = 4.5;
        let theme = Theme::new(true, false);
        let kinds = (0..theme.colors.boxes.len()).map(Fill::Kind);
        for fill in kinds.chain([Fill::Nothing, Fill::More, Fill::Less]) {
            let style = theme.fill(fill);
            let (text, fill) = style.fg.zip(style.bg).unwrap();
            assert!(contrast(text, fill) >= LEAST, "{style:?}");
        }
    }

    #[test]
    fn without_color_there_is_none() {
        let theme = Theme::new(false, false);
        let styles = [theme.heat(9, 10), theme.heat(1, 10), theme.error(), theme.selected()];
        for style in styles.into_iter().chain([theme.fill(Fill::Kind(1))]) {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }

    #[test]
    fn bars_fill_by_share() {
        for (part, expected) in
            [(0.0, ""), (1.0, "████"), (0.5, "██"), (0.001, "▏"), (f64::NAN, ""), (9.0, "████")]
        {
            assert_eq!(UNICODE.bar(part, 4), expected);
        }
        assert_eq!(ASCII.bar(0.5, 4), "##");
    }
}
