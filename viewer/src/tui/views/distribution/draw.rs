//! Painting the distribution of a row.

use std::borrow::Cow;
use std::ops::Range;

use super::super::super::canvas::Canvas;
use super::super::super::name::{cut, cut_start, width};
use super::super::super::scene::Scene;
use super::{COST, Distributed, ENTRY, FACT, SHARE, Shown};
use crate::tui::view::View;
use crate::views::Cost;
use crate::views::distribution::{LACKS_TIMES, RowSubject, UNKNOWN, why_no_peers};
use crate::views::measure::Measure;
use crate::views::number::{amount, percent};
use crate::views::strip::{character, greatest, what_each_shows};

impl Distributed {
    /// Paints all of it on these lines, and the heading on the line above.
    pub(super) fn draw_all(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let theme = scene.theme;
        let glyphs = theme.glyphs;
        let (across, top) = (canvas.width(), lines.start);
        canvas.titled_rule(top - 1, ENTRY.title);
        self.draw_subject(canvas, scene, top);
        let (Some(shown), Some(over)) = (&self.shown, self.over()) else {
            let text = self.why_empty(scene);
            let room = across.saturating_sub(2);
            let text = wrapped(&theme.plain(&text), room, lines.len().saturating_sub(1));
            for (line, y) in text.iter().zip(top + 1..) {
                canvas.text(1, y, line, room, theme.faint());
            }
            return;
        };
        self.draw_above(canvas, scene, shown, top + 1);
        let first = top + self.above.lines();
        let cost_end = across - 1;
        let share_end = cost_end - COST;
        let bar = across / 5;
        let bar_start = share_end.saturating_sub(SHARE + bar);
        let is_in_order = self.is_in_order();
        let mark = if self.reversed { glyphs.ascending } else { glyphs.descending };
        let [of_number, of_cost] = match is_in_order {
            true => [format!(" {} {mark} ", over.dimension.noun()), String::new()],
            false => [String::new(), mark.to_owned()],
        };
        let cost = match self.cost {
            Cost::Inclusive => "incl",
            Cost::Exclusive => "excl",
        };
        canvas.text(17, top - 1, &of_number, COST, theme.current());
        canvas.text_right(cost_end, top - 1, &format!(" {cost}{of_cost}"), COST, theme.strong());
        canvas.text_right(share_end, top - 1, " % row", SHARE, theme.strong());
        let whole = self.distribution().map_or(0, |of| of.samples(self.metric, self.cost));
        let most = shown.statistics.balance.most;
        let lacks_times = self.lacks_times();
        let listed = shown.order.iter().enumerate().skip(self.scroll);
        for ((place, &peer), y) in listed.zip(first..lines.end) {
            let part = shown.parts[peer];
            let heat = theme.heat(part, scene.whole_of(None));
            let room = bar_start.saturating_sub(2);
            let label = cut(&over.dimension.peers[peer].label.text, room, glyphs.ellipsis);
            canvas.text(1, y, &label, room, theme.text());
            canvas.mark(1, y, &label, room, scene.search.as_ref());
            let length = glyphs.bar(part as f64 / most as f64, bar);
            canvas.text(bar_start, y, &length, bar, heat);
            let [share, cost] = match part {
                0 if lacks_times => [UNKNOWN.to_string(), UNKNOWN.to_string()],
                _ => [percent(part, whole), amount(part, scene.metric(), scene.form())],
            };
            canvas.text_right(share_end, y, &share, SHARE, theme.text());
            canvas.text_right(cost_end, y, &cost, COST, heat);
            if place == self.selected {
                canvas.restyle(0, y, across, theme.selected());
            }
        }
    }

    /// What stands in place of the list.
    fn why_empty(&self, scene: &Scene) -> Cow<'static, str> {
        let Some(distribution) = &self.made else {
            return match (&self.subject, &self.refused) {
                (None, _) => {
                    "no row is selected, or one that is counted along a path only, as in Tables \
                               and Butterfly, or of processes; q goes back, and D in the tree, \
                               Callers or Flat shows a row"
                        .into()
                }
                (_, Some(cause)) => cause.clone().into(),
                _ => self.instead_of_rows(),
            };
        };
        match &distribution.0 {
            None => "this row is no function and no call path of what is shown; q goes back".into(),
            Some(_) if scene.comparison().is_some() => {
                "two runs are compared, whose processes do not wait for each other; csprof view \
                 of each run shows its distribution"
                    .into()
            }
            Some(_) => why_no_peers(&scene.refined).into(),
        }
    }

    /// The row, and what it has.
    fn draw_subject(&self, canvas: &mut Canvas<'_>, scene: &Scene, y: usize) {
        let theme = scene.theme;
        let end = canvas.width().saturating_sub(1);
        // Of a comparison the sum of both sides and all runs is the cost of neither.
        let samples = match scene.comparison() {
            Some(_) => None,
            None => self.distribution().map(|of| of.samples(self.metric, self.cost)),
        };
        let cost = samples.map_or_else(String::new, |samples| {
            let all = percent(samples, scene.whole_of(None));
            format!("{}  {all} %", amount(samples, scene.metric(), scene.form()))
        });
        let word = match self.cost {
            Cost::Inclusive => "of ",
            Cost::Exclusive => "own code of ",
        };
        canvas.text_right(end, y, &cost, width(&cost), theme.strong());
        let start = canvas.text(1, y, word, width(word), theme.faint());
        let room = end.saturating_sub(start + width(&cost) + 2);
        let name = match &self.subject {
            Some((_, name)) if name.is_empty() => "all that is shown",
            Some((_, name)) => name,
            None => "",
        };
        let ellipsis = theme.glyphs.ellipsis;
        let name = match &self.subject {
            // The function that its callers stand behind.
            Some((RowSubject::Callers(_), _)) => cut(name, room, ellipsis),
            _ => cut_start(name, room, ellipsis),
        };
        canvas.text(start, y, &theme.plain(&name), room, theme.stage());
    }

    /// Over whom it is spread, and over what else it could be.
    fn whose(&self, scene: &Scene) -> String {
        let Some((distribution, over)) = self.distribution().zip(self.over()) else {
            return String::new();
        };
        let form = scene.form();
        let mut text = format!("over {}", over.dimension.whose(form));
        let sum = self.shown.as_ref().map_or(0, |shown| shown.statistics.balance.sum);
        let elsewhere = distribution.samples(self.metric, self.cost).saturating_sub(sum);
        if elsewhere > 0 {
            let amount = amount(elsewhere, scene.metric(), form);
            let place = if over.dimension.axis.is_none() { "without a time" } else { "in others" };
            text.push_str(&format!("; {amount} {place}"));
        }
        let names = distribution.over.iter().map(|other| other.dimension.name());
        let others: Vec<_> = names.filter(|name| *name != over.dimension.name()).collect();
        if !others.is_empty() {
            text.push_str(&format!(" (d: {})", others.join(", ")));
        }
        text
    }

    /// What a cell of the strip is.
    fn caption(&self, scene: &Scene) -> String {
        let Some((shown, over)) = self.shown.as_ref().zip(self.over()) else {
            return String::new();
        };
        let (peers, noun) = (shown.parts.len(), over.dimension.noun());
        what_each_shows("cell", (peers, self.strip_width()), noun, scene.form())
            .unwrap_or_else(|| format!("each cell is one {noun}, in their order"))
    }

    fn draw_above(&self, canvas: &mut Canvas<'_>, scene: &Scene, shown: &Shown, top: usize) {
        let (theme, form) = (scene.theme, scene.form());
        let room = canvas.width().saturating_sub(2);
        let ellipsis = theme.glyphs.ellipsis;
        let Some(over) = self.over() else { return };
        let whose = self.whose(scene);
        canvas.text(1, top, &cut(&whose, room, ellipsis), room, theme.text());
        let mut y = top + 1;
        let has_imbalance = over.dimension.has_imbalance();
        if self.above.facts > 0 {
            let across = (canvas.width() / FACT).max(1);
            for (place, (name, samples)) in
                shown.statistics.facts(has_imbalance).into_iter().enumerate()
            {
                let (x, y) = (1 + place % across * FACT, y + place / across);
                let x = canvas.text(x, y, name, FACT, theme.faint()) + 1;
                let number = Measure::Source.real(samples, scene.metric(), form);
                canvas.text(x, y, &number, FACT, theme.strong());
            }
            y += self.above.facts;
        }
        let verdict = match self.lacks_times() {
            true => LACKS_TIMES.to_owned(),
            false => {
                shown.statistics.verdict(has_imbalance, Measure::Source, (scene.metric(), form))
            }
        };
        let style = match has_imbalance && shown.statistics.is_noise {
            true => theme.faint(),
            false => theme.text(),
        };
        for line in wrapped(&verdict, room, self.above.verdict) {
            canvas.text(1, y, &cut(&theme.plain(&line), room, ellipsis), room, style);
            y += 1;
        }
        y = top + self.above.lines() - 2 - usize::from(self.above.caption);
        self.draw_strip(canvas, scene, shown, y);
        if self.above.caption {
            let caption = self.caption(scene);
            canvas.text(1, y + 1, &cut(&caption, room, ellipsis), room, theme.faint());
        }
    }

    fn draw_strip(&self, canvas: &mut Canvas<'_>, scene: &Scene, shown: &Shown, y: usize) {
        let theme = scene.theme;
        let most = shown.statistics.balance.most;
        let lacks_times = self.lacks_times();
        let parts = greatest(&shown.parts, self.strip_width());
        for (cell, part) in parts.into_iter().enumerate() {
            let text = match part {
                0 if lacks_times => UNKNOWN,
                _ => character(part, most, scene.form()),
            };
            let text = text.to_string();
            canvas.text(1 + cell, y, &text, 1, theme.heat(part, scene.whole_of(None)));
        }
        if let Some(cell) = self.cell() {
            canvas.restyle(1 + cell, y, 1, theme.selected());
        }
    }
}

/// A text on so many lines, broken between words; the last one may be too long.
fn wrapped(text: &str, cells: usize, lines: usize) -> Vec<String> {
    let mut wrapped: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let count = wrapped.len();
        match wrapped.last_mut() {
            Some(line) if count >= lines || width(line) + 1 + width(word) <= cells => {
                line.push(' ');
                line.push_str(word);
            }
            _ if lines > 0 => wrapped.push(word.to_owned()),
            _ => {}
        }
    }
    wrapped
}
