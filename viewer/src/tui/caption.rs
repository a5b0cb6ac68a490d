//! The full name of the selected row, above the last line: rows have little room for names.

use std::collections::HashMap;
use std::ptr;

use super::name::{cells_from, cut, head, paintable, width};
use super::scene::Scene;
use super::view::View;
use crate::profile::{FrameKind, name_of_file, short_place};
use crate::views::Row;
use crate::views::tree::RowId;

/// The text between the names of a fold.
const ARROW: &str = " > ";

/// Name of a row of a view. The row of the root may stand for the ends of paths.
#[must_use]
pub(super) fn row_name<'v>(view: &'v dyn View, scene: &'v Scene, row: &Row) -> &'v str {
    match (row.kind, view.sheet().root) {
        (FrameKind::Root, Some(ends)) => ends,
        _ => {
            let functions = &view.forest(&scene.refined).functions;
            functions.get(row.function.index()).map_or("", |function| &*function.name)
        }
    }
}

/// Where the code of a row is, source line or else load module, and how it was called; empty where
/// its name says it, or nothing is known.
#[must_use]
pub(super) fn where_it_is(view: &dyn View, scene: &Scene, row: &Row) -> String {
    let functions = &view.forest(&scene.refined).functions;
    let Some(function) = functions.get(row.function.index()) else { return String::new() };
    if row.kind == FrameKind::Context {
        return String::new();
    }
    let base = |path: &str| head(name_of_file(path)).to_owned();
    let profile = &scene.profile;
    let mut text = match (function.file, function.module) {
        (Some(file), _) if function.line > 0 => {
            format!("{}:{}", base(profile.string(file)), function.line)
        }
        (Some(file), _) => head(&short_place(profile.string(file), 0)).to_owned(),
        (None, Some(module)) => base(profile.module_path(module)),
        (None, None) => String::new(),
    };
    // Lines and loops have it in their names, and so has code without a name: `libz.so.1+0x40`.
    let is_address = |name: &str| name.starts_with("+0x");
    if function.name.ends_with(name_of_file(&text))
        || function.name.strip_prefix(&*text).is_some_and(is_address)
    {
        text.clear();
    }
    format!("{} {text}", row.kind.shown_label()).trim().to_owned()
}

/// Cells that are left to the name of a row beside what tells it from others of that name.
pub(super) const LEAST_NAME: usize = 6;

/// Tells rows of one screen from others beside them that have their names. The rows below one row
/// are sorted out by name once for all of them.
pub(super) struct Namesakes<'v> {
    view: &'v dyn View,
    scene: &'v Scene,
    by_name: HashMap<RowId, HashMap<&'v str, Vec<&'v Row>>>,
}

impl<'v> Namesakes<'v> {
    pub(super) fn new(view: &'v dyn View, scene: &'v Scene) -> Self {
        Self { view, scene, by_name: HashMap::new() }
    }

    /// What tells a row from those of its name among `below`, the rows below the one above it: how
    /// it was called, with where its code is if that alone does not tell. Empty if it needs nothing
    /// more than its name.
    #[must_use]
    pub(super) fn telling<I: Iterator<Item = &'v Row>>(
        &mut self,
        row: &'v Row,
        above: RowId,
        below: impl FnOnce() -> I,
    ) -> String {
        let (view, scene) = (self.view, self.scene);
        let by_name = self.by_name.entry(above).or_insert_with(|| {
            let mut by_name = HashMap::<_, Vec<_>>::new();
            below()
                .for_each(|row| by_name.entry(row_name(view, scene, row)).or_default().push(row));
            by_name
        });
        let of_name = by_name.get(row_name(view, scene, row)).into_iter().flatten().copied();
        let mut others = of_name.filter(|other| !ptr::eq(*other, row)).peekable();
        if others.peek().is_none() {
            return String::new();
        }
        let label = row.kind.shown_label();
        let place = where_it_is(view, scene, row);
        let of_code = |of: &Row| {
            let function = view.forest(&scene.refined).functions.get(of.function.index());
            function.map(|function| (function.file, function.line, function.module))
        };
        let is_elsewhere = |other: &Row| {
            other.kind.shown_label() == label
                && of_code(other) != of_code(row)
                && where_it_is(view, scene, other) != place
        };
        if others.any(is_elsewhere) { place } else { label.to_owned() }
    }
}

/// The names of a fold, as far as so many cells have room: `3 folded: a > b > c`.
#[must_use]
pub(super) fn of_fold(names: &[&str], cells: usize, ellipsis: &str) -> String {
    let count = format!("{} folded", names.len());
    let (Some(first), Some(last)) = (names.first(), names.last()) else { return count };
    // Of a long chain, what comes after the end of the line is not put together.
    let mut all = format!("{count}: ");
    let mut used = width(&all);
    for (place, name) in names.iter().enumerate() {
        let name = paintable(name);
        let arrow = if place > 0 { ARROW } else { "" };
        used += width(arrow) + width(&name);
        all.push_str(arrow);
        all.push_str(&name);
        if used > cells {
            break;
        }
    }
    if used <= cells {
        return paintable(&all).into_owned();
    }
    let ends = format!("{count}: {}{ARROW}{ellipsis}{ARROW}{}", head(first), head(last));
    if width(&ends) <= cells {
        return paintable(&ends).into_owned();
    }
    cut(&all, cells, ellipsis).into_owned()
}

/// The lines that name the selected row in full, with what is known of where it is: one, or as many
/// as a long name needs, up to a sixth of the screen. None where nothing is selected.
#[must_use]
pub(super) fn lines(view: &dyn View, scene: &Scene, sideways: usize) -> Vec<String> {
    let Some(rows) = view.rows() else { return Vec::new() };
    let Some(line) = rows.line(rows.selected()) else { return Vec::new() };
    let cells = usize::from(scene.size.0).saturating_sub(2).max(1);
    let ellipsis = scene.theme.glyphs.ellipsis;
    let most = usize::from(scene.size.1 / 6).clamp(1, 4);
    if let Some(folded) = rows.folded(rows.selected()) {
        let names: Vec<_> = folded.iter().map(|row| row_name(view, scene, row)).collect();
        let text = of_fold(&names, cells * most, ellipsis);
        return wrapped(&text, cells, most, ellipsis);
    }
    let row = rows.row(line);
    let name = row_name(view, scene, row);
    let place = where_it_is(view, scene, row);
    let name = paintable(name);
    if width(&name) + 2 + width(&place) <= cells {
        return vec![format!("{name}  {place}").trim_end().to_owned()];
    }
    let told = format!("{name}  {}", row.kind.shown_label());
    if width(told.trim_end()) <= cells * most {
        return wrapped(told.trim_end(), cells, most, ellipsis);
    }
    wrapped(&cells_from(&name, sideways), cells, most, ellipsis)
}

/// The first lines of a text, the last one cut if there are more.
fn wrapped(text: &str, cells: usize, most: usize, ellipsis: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    while lines.len() + 1 < most && width(rest) > cells {
        let line = cut(rest, cells, "");
        // What is painted is as long as what it came from: the text is paintable already.
        let Some(left) = rest.get(line.len()..).filter(|_| !line.is_empty()) else { break };
        lines.push(line.into_owned());
        rest = left;
    }
    lines.push(cut(rest, cells, ellipsis).into_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_name_as_much_as_there_is_room_for() {
        let names = ["_start", "__libc_start_main_impl", "main"];
        let all = "3 folded: _start > __libc_start_main_impl > main";
        assert_eq!(of_fold(&names, 80, "…"), all);
        assert_eq!(of_fold(&names, 32, "…"), "3 folded: _start > … > main");
        assert_eq!(of_fold(&names, 16, "…"), "3 folded: _star…");
        assert_eq!(of_fold(&["x"; 4000], 20, "…"), "4000 folded: x > x …");
    }

    #[test]
    fn long_names_are_wrapped_and_then_cut() {
        assert_eq!(wrapped("abcdefgh", 3, 4, "…"), ["abc", "def", "gh"]);
        assert_eq!(wrapped("abcdefgh", 3, 2, "…"), ["abc", "de…"]);
        assert_eq!(wrapped("漢字漢字", 5, 4, "…"), ["漢字", "漢字"]);
        assert_eq!(wrapped("abc", 3, 1, "…"), ["abc"]);
        assert_eq!(wrapped(&"x".repeat(1 << 20), 80, 4, "…").len(), 4);
    }
}
