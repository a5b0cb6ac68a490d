//! From any bytes to every report and to painted screens: what the viewer does with a file, without
//! files and terminals. Shared by the tests and the fuzz target `screens`.
//!
//! Nothing panics, and nothing that is written or painted has a character that a terminal obeys.

use std::io::{self, Write};

use csprof::export::folded;
use csprof::print::{Form, Printable, printable};
use csprof::profile::merge::{Agreement, Merger};
use csprof::profile::{MetricRef, Profile};
use csprof::refine::{Refined, Sets, parse};
use csprof::report::{self, View, diff};
use csprof::tui::draw::draw;
use csprof::tui::effect::Effect;
use csprof::tui::forest::Forest;
use csprof::tui::key::Key;
use csprof::tui::message::Message;
use csprof::tui::model::Model;
use csprof::tui::stages::Stages;
use csprof::tui::theme::Theme;
use csprof::tui::update::update;
use csprof::tui::worker::perform;
use csprof::views::places::{Level, places};
use csprof_format::{profile as saved, read, write};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// Takes bytes as they are and as they ought to be; `step` is told the name of each step.
pub(crate) fn drive(bytes: &[u8], step: &mut dyn FnMut(&'static str)) {
    step("read");
    if let Ok(profile) = read::read(bytes) {
        show(profile, step);
    } else if let Ok(salvaged) = read::salvage(bytes) {
        drop(salvaged.to_string());
        show(salvaged.profile, step);
    }
}

/// Does everything with a valid profile.
pub(crate) fn show(saved: saved::Profile, step: &mut dyn FnMut(&'static str)) {
    step("load");
    let total = saved.nodes.total_samples();
    let other = saved.clone();
    let profile = Profile::from_saved(saved);
    assert_eq!(profile.total(), total, "samples are neither made nor lost");
    step("info");
    text(|out| report::info::text::write(&profile, &[], false, out));
    json(|out| report::info::json::write(&profile, &[], out));
    for (metric, _) in profile.metrics() {
        reports(&profile, metric, step);
    }
    screens(&profile, &["80x24", "20x5", "200x60"], step);
    step("merge");
    let mut merger = Merger::new(Agreement::SameMetrics);
    let mut second = other.clone();
    second.run.start_unix_ns = second.run.start_unix_ns.wrapping_add(1);
    second.run.command.push(b"again".to_vec());
    let merged = merger.add("one", other.clone()).and_then(|_| merger.add("two", second));
    match merged {
        Ok(_) => drop(write::write(&merger.finish(), &mut io::sink())),
        Err(refused) => drop(refused.to_string()),
    }
    step("compare");
    let other = Profile::from_saved(other);
    let sides = (("base", profile), ("other", other));
    match Profile::compared(sides.0, sides.1, &[]) {
        Ok(profile) => {
            let refined = Refined::base(&profile);
            for view in [View::TopDown, View::Flat] {
                step("diff");
                let options = diff::Options { view, ..diff::Options::default() };
                text(|out| diff::text::write(&refined, &options, out));
                json(|out| diff::json::write(&refined, &options, out));
                csv(|out| diff::csv::write(&refined, &options, out));
            }
            screens(&profile, &["80x24"], step);
        }
        Err(refused) => drop(refused.to_string()),
    }
}

fn reports(profile: &Profile, metric: MetricRef, step: &mut dyn FnMut(&'static str)) {
    let refined = Refined::base(profile).looking_at(metric);
    let by_module = places(&refined, Level::Module);
    let views = [(View::TopDown, &refined), (View::Flat, &refined), (View::Callers, &refined)];
    for (view, refined) in views.into_iter().chain([(View::Places, &by_module)]) {
        step("report");
        let options = report::Options { view, ..report::Options::default() };
        text(|out| report::text::write(refined, &options, out));
        json(|out| report::json::write(refined, &options, out));
        csv(|out| report::csv::write(refined, &options, out));
    }
    step("threads");
    let options = report::Options::default();
    text(|out| report::contexts::text(&refined, &options, out));
    json(|out| report::contexts::json(&refined, &options, out));
    csv(|out| report::contexts::csv(&refined, &options, out));
    step("export");
    let options = folded::Options::default();
    text(|mut out| folded::write(&refined, options, &mut out));
    step("refine");
    for stages in ["by module", "split thread", "collapse", "hide *a* | small incl(time) < 1%"] {
        let Ok(refinement) = parse(stages) else { continue };
        let mut now = refined.clone();
        for stage in &refinement.stages {
            let Ok(next) = now.then(stage) else { break };
            now = next;
            assert_eq!(now.shown + now.out, refined.base, "{stages}");
        }
    }
}

/// Takes output, and fails at what a terminal obeys.
struct Sink {
    form: Form,
    bytes: Vec<u8>,
}

impl Sink {
    fn check(&mut self) {
        // Pieces of characters may be cut here, so only whole lines are looked at.
        let end = self.bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let text = std::str::from_utf8(&self.bytes[..end]).expect("UTF-8 is written");
        for line in text.lines() {
            assert_eq!(printable(line), line, "{:?}", self.form);
        }
        self.bytes.drain(..end);
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 1 << 16 {
            self.check();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(form: Form, write: impl FnOnce(&mut Printable<Sink>) -> io::Result<()>) {
    let mut out = Printable::new(Sink { form, bytes: Vec::new() }, form);
    write(&mut out).expect("a sink takes everything");
    writeln!(out).expect("a sink takes everything");
    out.into_inner().check();
}

fn text(write: impl FnOnce(&mut Printable<Sink>) -> io::Result<()>) {
    written(Form::Text, write);
}

fn json(write: impl FnOnce(&mut Printable<Sink>) -> io::Result<()>) {
    written(Form::Json, write);
}

/// No cell of a name is a formula; those of numbers may begin with a sign.
fn csv(write: impl FnOnce(&mut Printable<Sink>) -> io::Result<()>) {
    written(Form::Text, write);
}

/// Keys that open every view, page and prompt, and go to the ends.
const KEYS: &str = "j l l e j G k H = q ? j q s S % 2 j l < > 3 j = q 4 5 q 1 /a<enter> n N <esc> \
                    t u x u d u z u <enter> <esc> F q m M w <esc> f in<tab><esc> :<tab><esc> 1 G l l";

fn screens(profile: &Profile, sizes: &[&str], step: &mut dyn FnMut(&'static str)) {
    let keys: Vec<Vec<Key>> = KEYS.split(' ').filter_map(Key::parse_all).collect();
    for size in sizes {
        let (width, height) = size.split_once('x').expect("a size");
        let size = (width.parse().expect("a number"), height.parse().expect("a number"));
        let Ok(forest) = Forest::new(profile, &Stages::default(), &Sets::default()) else {
            return;
        };
        let theme = Theme::new(true, size.0 == 20);
        let mut model = Model::new(forest, "runs/\u{1b}[31m\u{202e}.csprof", theme, size);
        step("paint");
        paint(&model);
        for key in keys.iter().flatten() {
            let Some(message) = model.message(*key) else { continue };
            step("key");
            send(&mut model, message);
            step("paint");
            paint(&model);
        }
    }
}

fn send<'p>(model: &mut Model<'p>, message: Message<'p>) {
    for effect in update(model, message) {
        if let Effect::Refine(request) = effect {
            let answer = perform(&Refined::base(model.profile), request);
            send(model, answer);
        }
    }
}

fn paint(model: &Model<'_>) {
    let (width, height) = model.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen of cells");
    terminal.draw(|frame| draw(model, frame)).expect("cells take everything");
    for cell in terminal.backend().buffer().content() {
        let symbol = cell.symbol();
        assert!(printable(symbol) == symbol && symbol.len() <= 32, "{symbol:?}");
    }
}
