//! The last line: what happened, or what can be done.

use super::super::canvas::Canvas;
use super::super::message::Notice;
use super::super::model::{Model, Over};
use super::super::name::cut;

/// The last line: what happened, or what can be done.
pub(super) fn draw(canvas: &mut Canvas<'_>, model: &Model, y: usize) {
    let (text, style) = match &model.notice {
        Some(Notice::Said(text)) => (text.as_str(), model.theme.text()),
        Some(Notice::Failed(text)) => (text.as_str(), model.theme.error()),
        None => ("", model.theme.text()),
    };
    if let Some(done) = model.done() {
        progress(canvas, model, y, done);
        return;
    }
    if !text.is_empty() {
        let room = canvas.width().saturating_sub(2);
        let text = model.theme.plain(text);
        canvas.text(1, y, &cut(&text, room, model.theme.glyphs.ellipsis), room, style);
        return;
    }
    let mut hints = hints_for(model).to_vec();
    let explains = hints.iter().position(|(key, _)| *key == "=");
    if let (Some(place), Some((_, next))) = (explains, model.metric_after(1)) {
        hints.insert(place + 1, ("m", &next.source));
    }
    canvas.key_hints(y, &hints);
}

/// How far the shell is with what the screen waits for, and the key that ends it.
fn progress(canvas: &mut Canvas<'_>, model: &Model, y: usize, done: f64) {
    /// Cells of the bar.
    const BAR: usize = 20;
    let theme = model.theme;
    let what = if model.pending.is_some() { "refining" } else { "counting" };
    // From 0 to 100 and to `BAR`.
    let (percent, full) = ((done * 100.0) as u64, (done * BAR as f64) as usize);
    let glyphs = theme.glyphs.bars;
    let bar = glyphs.last().unwrap_or(&"").repeat(full.min(BAR));
    let room = canvas.width();
    let x = canvas.text(1, y, &format!("{what} {percent:>3} % "), room, theme.text());
    canvas.text(x, y, &bar, BAR, theme.strong());
    let x = x + BAR + 2;
    if x + "esc ends it".len() < room {
        let x = canvas.text(x, y, "esc", 3, theme.strong());
        canvas.text(x + 1, y, "ends it", 7, theme.faint());
    }
}

fn hints_for(model: &Model) -> &'static [(&'static str, &'static str)] {
    match (model.over.last(), model.sheet()) {
        (Some(Over::Menu(_)), _) => &[("enter", "do it"), ("q", "back")],
        (Some(Over::Stages(_)), _) => &[
            ("e", "edit"),
            ("d", "delete"),
            ("space", "on/off"),
            ("J K", "move"),
            ("f", "add"),
            ("=", "explain"),
            ("q", "back"),
            ("u", "undo"),
            ("w", "save as set"),
        ],
        (Some(Over::View(_)) | None, view) => view.hints,
        (Some(_), _) => &[("j k", "scroll"), ("q", "back")],
    }
}
