//! The last line: what happened, or what can be done.

use super::super::canvas::Canvas;
use super::super::key::{Code, Key};
use super::super::live::Since;
use super::super::message::Notice;
use super::super::mode::Binding;
use super::super::model::{Model, Over};
use super::super::name::{cut, width};

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
    if !model.begun.is_empty() || model.count.is_some() {
        begun(canvas, model, y);
        return;
    }
    let hints = shown(model);
    let texts: Vec<_> = hints.iter().map(|hint| (hint.text.as_str(), hint.what.as_str())).collect();
    canvas.key_hints(y, &texts);
}

/// What was pressed, and what may follow.
fn begun(canvas: &mut Canvas<'_>, model: &Model, y: usize) {
    let count = model.count.map_or_else(String::new, |count| count.to_string());
    let keys: String = model.begun.iter().map(ToString::to_string).collect();
    let x = canvas.text(1, y, &format!("{count}{keys}"), canvas.width(), model.theme.strong());
    let follows = |binding: &Binding| {
        let keys = binding.keys().find(|keys| keys.starts_with(&model.begun))?;
        let rest = keys[model.begun.len()..].iter().map(ToString::to_string).collect::<String>();
        Some(format!("{rest} {}", binding.help))
    };
    let what = match model.begun.is_empty() {
        true => "times what follows".to_owned(),
        false => {
            model.keymap.bindings(model.mode()).filter_map(follows).collect::<Vec<_>>().join("   ")
        }
    };
    let room = canvas.width().saturating_sub(x + 3);
    canvas.text(
        x + 2,
        y,
        &cut(&what, room, model.theme.glyphs.ellipsis),
        room,
        model.theme.faint(),
    );
}

/// A hint as it is shown.
pub(in crate::tui) struct Hint {
    /// The keys.
    pub(in crate::tui) text: String,
    /// What they do.
    pub(in crate::tui) what: String,
    /// Each key with the cell of the text at which it begins.
    pub(in crate::tui) keys: Vec<(usize, Vec<Key>)>,
}

/// The hints of what has the focus, with the user's keys. Keys that do nothing any more are left
/// out.
pub(in crate::tui) fn shown(model: &Model) -> Vec<Hint> {
    let mut hints = hints_for(model).to_vec();
    let explains = hints.iter().position(|(key, _)| *key == "=");
    if let (Some(place), Some((_, next))) = (explains, model.metric_after(1)) {
        hints.insert(place + 1, ("m", &next.source));
    }
    if let Some(live) = model.live.as_ref().filter(|live| !live.is_over)
        && model.over.iter().all(|over| matches!(over, Over::View(_)))
    {
        let place = hints.len().min(2);
        let marks = if matches!(live.since, Since::Start) { "mark" } else { "all" };
        hints.insert(place, ("R", if live.is_frozen { "go on" } else { "freeze" }));
        hints.insert(place + 1, ("W", marks));
    }
    hints.into_iter().filter_map(|(text, what)| hint(model, text, what)).collect()
}

/// The hint of keys that are written as in a hint: a name, or one letter for each key.
fn hint(model: &Model, text: &str, what: &str) -> Option<Hint> {
    let named = if text == "bksp" { "<backspace>" } else { &format!("<{text}>") };
    let usual = match Key::parse_all(named) {
        Some(keys) if text.len() > 1 => vec![(0, keys[0])],
        _ => text
            .char_indices()
            .filter(|(_, c)| *c != ' ')
            .map(|(at, c)| (at, Key::plain(Code::Char(c))))
            .collect(),
    };
    let mut keys = Vec::new();
    let mut is_usual = true;
    for (at, key) in usual {
        let now = model.keymap.instead_of(model.mode(), key);
        is_usual &= now.as_deref() == Some(&[key]);
        keys.extend(now.map(|now| (at, now)));
    }
    let mut shown = text.to_owned();
    if !is_usual {
        shown.clear();
        for (at, keys) in &mut keys {
            *at = if shown.is_empty() { 0 } else { width(&shown) + 1 };
            let written: String = keys.iter().map(ToString::to_string).collect();
            shown = if shown.is_empty() { written } else { format!("{shown} {written}") };
        }
    }
    (!keys.is_empty()).then(|| Hint { text: shown, what: what.to_owned(), keys })
}

/// The keys of the hint at this cell of the last line: those that are clicked, or the first ones of
/// what is clicked.
pub(in crate::tui) fn keys_at(model: &Model, x: usize) -> Option<Vec<Key>> {
    let is_free = model.notice.is_none() && model.done().is_none();
    if !is_free || !model.begun.is_empty() || model.count.is_some() {
        return None;
    }
    let mut start = 1;
    for hint in shown(model) {
        let end = start + width(&hint.text) + 1 + width(&hint.what);
        if end >= usize::from(model.size.0) {
            return None;
        }
        if (start..end).contains(&x) {
            let key = hint.keys.iter().rev().find(|(at, _)| start + at <= x);
            let is_key = x < start + width(&hint.text);
            return key.filter(|_| is_key).or(hint.keys.first()).map(|(_, keys)| keys.clone());
        }
        start = end + 2;
    }
    None
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
        (Some(Over::Columns(_)), _) => &[
            ("space", "show/hide"),
            ("J K", "move"),
            ("+ -", "width"),
            ("%", "percent of"),
            ("r", "reset"),
            ("q", "back"),
        ],
        (Some(Over::View(_)) | None, view) => view.hints,
        (Some(_), _) => &[("j k", "scroll"), ("q", "back")],
    }
}
