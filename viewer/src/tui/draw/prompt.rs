//! A prompt: the line, what is known about it, and what its last word could become.

use super::super::canvas::Canvas;
use super::super::comparison::account_text;
use super::super::message::PromptKind;
use super::super::model::Model;
use super::super::name::{cut, width};
use super::super::prompt::{COMPLETIONS, Prompt, Trial};
use crate::views::number::account;

/// Paints the prompt from line `y` on; returns the cell of the cursor.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    model: &Model,
    prompt: &Prompt,
    y: usize,
) -> (u16, u16) {
    let theme = model.theme;
    let cells = canvas.width();
    let bottom = y + model.bottom_height();
    canvas.clear_lines(y..bottom);
    let label = prompt.label();
    let start = canvas.text(1, y, label, cells, theme.strong());
    // A line longer than the screen is shown around its cursor.
    let room = cells.saturating_sub(start + 1).max(1);
    let skipped = skipped_bytes(prompt.line.text(), prompt.line.cursor(), room);
    let text = &prompt.line.text()[skipped..];
    canvas.text(start, y, &cut(text, room, ""), room, theme.text());
    let cursor = start + width(&prompt.line.text()[skipped..prompt.line.cursor()]);

    if y + 1 < bottom {
        knowledge(canvas, model, prompt, y + 1, start, skipped);
    } else if text.is_empty() && prompt.kind == PromptKind::Search {
        let room = room.saturating_sub(2);
        let searched = searched(model);
        let searched = cut(&searched, room, theme.glyphs.ellipsis);
        canvas.text(start + 2, y, &searched, room, theme.faint());
    } else if prompt.trial == Trial::NotFound {
        canvas.text_right(cells - 1, y, "not found", room, theme.error());
    } else if let Trial::Found(said) = &prompt.trial {
        // What was found costs counts less than how much was found.
        let said = theme.plain(said);
        let short = said.split(", ").next().unwrap_or_default();
        let fits = |said: &&str| start + width(text) + 2 + width(said) < cells;
        if let Some(said) = [&*said, short].into_iter().find(fits) {
            canvas.text_right(cells - 1, y, said, room, theme.faint());
        }
    }
    let offered = prompt.completions.iter().enumerate();
    // The window of completions follows the one that was taken.
    let first = prompt.taken.map_or(0, |taken| (taken + 1).saturating_sub(COMPLETIONS));
    let widest = prompt.completions.iter().map(|c| width(&c.text)).max().unwrap_or(0);
    for (line, (place, completion)) in (y + 2..bottom).zip(offered.skip(first)) {
        let end = canvas.text(start, line, &completion.text, cells - start - 1, theme.text());
        let note = start + widest + 2;
        let room = cells.saturating_sub(note + 1);
        let noted = cut(&completion.note, room, theme.glyphs.ellipsis);
        canvas.text(note, line, &noted, room, theme.faint());
        // What enter runs.
        let is_first = prompt.kind == PromptKind::Command && !prompt.line.text().is_empty();
        if prompt.taken == Some(place) || prompt.taken.is_none() && is_first && place == 0 {
            canvas.restyle(start, line, end - start, theme.selected());
        }
    }
    let cell = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
    (cell(cursor), cell(y))
}

/// The line below: an error with a mark under its place, or what would be shown.
fn knowledge(
    canvas: &mut Canvas<'_>,
    model: &Model,
    prompt: &Prompt,
    y: usize,
    start: usize,
    skipped: usize,
) {
    let theme = model.theme;
    let cells = canvas.width();
    let room = cells.saturating_sub(start + 1);
    match &prompt.trial {
        Trial::Wrong { at, cause } => {
            let before = prompt.line.text().get(skipped..(*at).max(skipped)).map_or(0, width);
            let mark = theme.glyphs.caret;
            // The cause stands behind its mark where it fits, else before it.
            let x = start + before.min(room.saturating_sub(1));
            let fits = x + 2 + width(cause) < cells;
            canvas.text(x, y, mark, 1, theme.error());
            if fits {
                canvas.text(x + 2, y, cause, room, theme.error());
            } else {
                let cause = cut(cause, cells.saturating_sub(2), theme.glyphs.ellipsis);
                // Not so near that the mark seems to be a part of it.
                let near = x + 1 == cells.saturating_sub(1 + width(&cause));
                let start = cells.saturating_sub(1 + width(&cause) - usize::from(near));
                canvas.text(start.max(1), y, &cause, cells, theme.error());
            }
        }
        Trial::Counted { shown, out, of_sides } => {
            let style = if *shown == 0 { theme.warning() } else { theme.text() };
            let text = match model.comparison() {
                Some(comparison) => account_text(comparison, *of_sides),
                None => account(*shown, *out) + &model.of_metric(),
            };
            canvas.text(start, y, &text, room, style);
        }
        Trial::Waiting(_) => {
            canvas.text(start, y, theme.glyphs.ellipsis, room, theme.faint());
        }
        Trial::Nothing | Trial::Found(_) | Trial::NotFound => {
            let mut text = hint(model, prompt).to_owned();
            if let Some(more @ 1..) = prompt.completions.len().checked_sub(COMPLETIONS) {
                text.push_str(&format!(" ({more} more)"));
            }
            canvas.text(start, y, &text, room, theme.faint());
        }
    }
}

/// What a search looks at.
fn searched(model: &Model) -> String {
    if model.page().is_some() {
        return "text of this page".to_owned();
    }
    let sheet = model.sheet();
    let has_sides = sheet.finds_one_sided && model.comparison().is_some();
    let of_sides = if has_sides { "; is:new, is:gone" } else { "" };
    format!("{}{of_sides}", sheet.searched)
}

fn hint(model: &Model, prompt: &Prompt) -> &'static str {
    match prompt.kind {
        PromptKind::Refine => "through MPI_Send >> memcpy*, hide module:libomp*; tab completes",
        PromptKind::Stage(_) => "nothing here deletes the stage; tab completes",
        PromptKind::Set(_) => "@name = {f, module:libx*, @mpi}; then @name stands for them",
        PromptKind::Group => "the group's name; {a, b} or module:libmpi* groups more than one",
        PromptKind::Context(_) => "one of those below, or a pattern such as io-*; tab completes",
        PromptKind::Apply => "@name of a refinement that was saved; tab completes",
        PromptKind::SaveRefinement => "a name; name! puts the stages in place of those it has",
        PromptKind::Export => "a file, by its ending, or the clipboard; tab completes",
        PromptKind::Note => "a line about this path; it is kept for the next runs of the program",
        PromptKind::Fix if model.metric().is_time() => {
            "50%, 120 ms, all (or an empty line); none takes it back"
        }
        PromptKind::Fix => "50%, 5000, all (or an empty line); none takes it back",
        PromptKind::Folder => "files are looked for by the ends of their paths below it",
        PromptKind::Command => "enter runs what is marked; tab completes",
        PromptKind::Search => "",
    }
}

/// Bytes to leave out at the start so that the cursor is in sight.
fn skipped_bytes(text: &str, cursor: usize, room: usize) -> usize {
    let before = &text[..cursor];
    let too_many = (width(before) + 1).saturating_sub(room);
    let mut left_out = 0;
    let first = before.char_indices().find(|(_, c)| {
        let enough = left_out >= too_many;
        left_out += width(c.encode_utf8(&mut [0; 4]));
        enough
    });
    first.map_or(cursor, |(at, _)| if too_many == 0 { 0 } else { at })
}
