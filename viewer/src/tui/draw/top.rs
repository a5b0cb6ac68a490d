//! The title, the stages and the account of all samples.

use super::super::canvas::Canvas;
use super::super::header;
use super::super::model::Model;
use super::super::name::width;

pub(super) fn draw(canvas: &mut Canvas<'_>, model: &Model) {
    let theme = model.theme;
    let tabs = header::tabs(model);
    let room = tabs.first().map_or(canvas.width(), |(.., at)| *at).saturating_sub(1);
    canvas.text(0, 0, &header::title(model, room), room, theme.strong());
    for (view, label, at) in tabs {
        let style = if view == model.view { theme.current() } else { theme.text() };
        canvas.text(at, 0, &label, width(&label), style);
    }

    let account = header::account_text(model);
    let cells = width(&account);
    let start = canvas.width().saturating_sub(cells);
    let room = start.saturating_sub(1);
    canvas.text(0, 1, &header::breadcrumb(model, room), room, theme.stage());
    let style = if model.refined.out > 0 { theme.strong() } else { theme.text() };
    canvas.text(start, 1, &account, cells, style);
}
