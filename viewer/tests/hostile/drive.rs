//! From any bytes to every report and to painted screens: what the viewer does with a file, without
//! files and terminals. Shared by the tests and the fuzz target `screens`.
//!
//! Nothing panics, and nothing that is written or painted has a character that a terminal obeys.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::io::{self, ErrorKind, Write};

use csprof::export::FORMATS;
use csprof::export::format::Options;
use csprof::print::{Escaping, Printable, printable};
use csprof::profile::merge::{Agreement, Merger};
use csprof::profile::{MetricRef, Profile};
use csprof::refine::{Grain, Refined, Sets, parse, unwatched};
use csprof::report::{self, diff};
use csprof::tui::draw::draw;
use csprof::tui::effect::Effect;
use csprof::tui::forest::Forest;
use csprof::tui::key::Key;
use csprof::tui::keymap;
use csprof::tui::message::Message;
use csprof::tui::mode::Binding;
use csprof::tui::model::Model;
use csprof::tui::scene::Scene;
use csprof::tui::stages::Stages;
use csprof::tui::theme::Theme;
use csprof::tui::update::update;
use csprof::tui::worker::perform;
use csprof::views::View;
use csprof::views::places::places;
use csprof_format::{profile as saved, read, salvage, write};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// Takes bytes as they are and as they ought to be; `step` is told the name of each step.
pub(crate) fn drive(bytes: &[u8], step: &mut dyn FnMut(&'static str)) {
    step("read");
    if read::read(bytes).is_ok() {
        show(&|| read::read(bytes).expect("what was read before"), step);
    } else if let Ok(salvaged) = salvage::salvage(bytes) {
        drop(salvaged.to_string());
        drop(salvaged);
        show(&|| salvage::salvage(bytes).expect("what was read before").profile, step);
    }
}

/// Does everything with a valid profile, which is read for each command, so that there are no more
/// copies at a time than the command needs.
pub(crate) fn show(read: &dyn Fn() -> saved::Profile, step: &mut dyn FnMut(&'static str)) {
    step("load");
    let saved = read();
    let total = saved.nodes.total_samples();
    let profile = Profile::from_saved(saved);
    assert_eq!(profile.total(), total, "samples are neither made nor lost");
    note_size(&profile);
    step("info");
    text(|out| report::info::text::write(&profile, &Default::default(), false, out));
    json(|out| report::info::json::write(&profile, &Default::default(), out));
    for (metric, _) in profile.metrics() {
        reports(&profile, metric, step);
    }
    screens(&profile, &["80x24", "20x5", "200x60"], step);
    // Of a large profile a few keys, others of each: every one may take a second.
    let (nodes, _) = size();
    let keys = 1 + (nodes / NODES_PER_KEY) as usize;
    let [pressed, painted] = [keys, PARTS].map(|parts| (total as usize % parts, parts));
    press_all(&profile, (80, 24), pressed, painted, step);
    drop(profile);
    let mut merger = Merger::new(Agreement::SameMetrics);
    step("read");
    let first = read();
    step("merge");
    let merged = merger.add("one", first).and_then(|_| {
        step("read");
        let mut second = read();
        second.run.start_unix_ns = second.run.start_unix_ns.wrapping_add(1);
        second.run.command.push(b"again".to_vec());
        step("merge");
        merger.add("two", second)
    });
    match merged {
        Ok(_) => drop(write::write(&merger.finish(), &mut io::sink())),
        Err(refused) => drop(refused.to_string()),
    }
    step("compare");
    let mut load = |name| {
        step("read");
        let saved = read();
        step("load");
        (name, Profile::from_saved(saved))
    };
    let sides = (load("base"), load("other"));
    step("compare");
    match Profile::compared(sides.0, sides.1, &[]) {
        Ok(profile) => {
            note_size(&profile);
            let refined = Refined::base(&profile);
            for view in [View::TopDown, View::Flat] {
                step("diff");
                let options = report::Options { view, ..report::Options::default() };
                text(|out| diff::text::write(&refined, &options, out));
                step("diff as JSON");
                json(|out| diff::json::write(&refined, &options, out));
                step("diff as CSV");
                csv(|out| diff::csv::write(&refined, &options, out));
            }
            screens(&profile, &["80x24"], step);
        }
        Err(refused) => drop(refused.to_string()),
    }
}

fn reports(profile: &Profile, metric: MetricRef, step: &mut dyn FnMut(&'static str)) {
    let refined = Refined::base(profile).looking_at(metric);
    let by_module = unwatched(|watch| places(&refined, Grain::Module, watch));
    let views = [(View::TopDown, &refined), (View::Flat, &refined), (View::Callers, &refined)];
    for (view, refined) in views.into_iter().chain([(View::Places, &by_module)]) {
        step("report");
        let options = report::Options { view, ..report::Options::default() };
        text(|out| report::text::write(refined, &options, out));
        step("report as JSON");
        json(|out| report::json::write(refined, &options, out));
        step("report as CSV");
        csv(|out| report::csv::write(refined, &options, out));
    }
    step("threads");
    let options = report::Options::default();
    text(|out| report::contexts::text(&refined, &options, out));
    json(|out| report::contexts::json(&refined, &options, out));
    csv(|out| report::contexts::csv(&refined, &options, out));
    step("export");
    for format in FORMATS {
        step(format.name);
        text(|out| format.write(&refined, &Options::default(), out));
    }
    for stages in ["by module", "split thread", "collapse", "hide *a* | small incl(time) < 1%"] {
        let Ok(refinement) = parse(stages) else { continue };
        let mut now = refined.clone();
        for stage in &refinement.stages {
            step("refine");
            let Ok(next) = now.then(stage) else { break };
            now = next;
            assert_eq!(now.shown + now.out, refined.base, "{stages}");
        }
    }
}

/// One key in so many is painted where all are pressed: other ones for another profile.
const PARTS: usize = 8;

/// Nodes of a profile for which one key more is left out.
const NODES_PER_KEY: u64 = 5000;

thread_local! {
    /// How many bytes of output there were in all.
    static WRITTEN: Cell<u64> = const { Cell::new(0) };
    /// How many nodes the profile has that was loaded last, and how many bytes its functions'
    /// names.
    static SIZE: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

fn note_size(profile: &Profile) {
    let names = profile.functions.iter().map(|function| function.name.len() as u64).sum();
    SIZE.set((profile.nodes.len() as u64, names));
}

/// How many bytes of output the thread had in all.
pub(crate) fn written_so_far() -> u64 {
    WRITTEN.get()
}

/// How many nodes the profile has that was loaded last, and how many bytes its functions' names.
pub(crate) fn size() -> (u64, u64) {
    SIZE.get()
}

/// What a sink takes, in bytes: each line of folded stacks has a whole path, and of deep recursion
/// there are more than fit on any disk.
const ROOM: u64 = 64 << 20;

/// Takes output until it is full, and fails at what a terminal obeys.
struct Sink {
    form: Escaping,
    bytes: Vec<u8>,
    room: u64,
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
        if self.room < bytes.len() as u64 {
            return Err(ErrorKind::StorageFull.into());
        }
        self.room -= bytes.len() as u64;
        WRITTEN.with(|written| written.update(|so_far| so_far + bytes.len() as u64));
        self.bytes.extend_from_slice(bytes);
        // A line may be long, and come in many pieces.
        if self.bytes.len() > 1 << 16 && bytes.contains(&b'\n') {
            self.check();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(form: Escaping, write: impl FnOnce(&mut Printable<Sink>) -> io::Result<()>) {
    let mut out = Printable::new(Sink { form, bytes: Vec::new(), room: ROOM }, form);
    if let Err(error) = write(&mut out).and_then(|()| writeln!(out)) {
        assert_eq!(error.kind(), ErrorKind::StorageFull, "it was full");
    }
    out.into_inner().check();
}

fn text(write: impl FnOnce(&mut Printable<Sink>) -> io::Result<()>) {
    written(Escaping::Text, write);
}

fn json(write: impl FnOnce(&mut Printable<Sink>) -> io::Result<()>) {
    written(Escaping::Json, write);
}

/// No cell of a name is a formula; those of numbers may begin with a sign.
fn csv(write: impl FnOnce(&mut Printable<Sink>) -> io::Result<()>) {
    written(Escaping::Text, write);
}

/// Presses each key that each mode has, in the first screen that has the mode; from the table of
/// keys, so that a new key is pressed from the day it exists. Or only the keys of a part of so many
/// parts, and paints the screens of a part of those. Returns the titles of the modes that were met.
pub(crate) fn press_all(
    profile: &Profile,
    size: (u16, u16),
    pressed: (usize, usize),
    painted: (usize, usize),
    step: &mut dyn FnMut(&'static str),
) -> BTreeSet<&'static str> {
    let mut met = BTreeSet::new();
    step("open");
    let Ok(forest) = Forest::new(profile, &Stages::default(), &Sets::default()) else { return met };
    let mut first =
        Model::new(forest, "runs/\u{1b}[31m\u{202e}.csprof", Theme::new(true, false), size);
    let small = Model { scene: Scene { size: (20, 4), ..first.scene.clone() }, ..first.clone() };
    for key in Key::parse_all("jl").into_iter().flatten() {
        first.message(key).into_iter().for_each(|message| send(&mut first, message));
    }
    met.extend([first.mode().title, small.mode().title]);
    let mut models = VecDeque::from([first, small]);
    let mut number = 0;
    while let Some(model) = models.pop_front() {
        for keys in keymap::bindings(model.mode()).flat_map(Binding::keys) {
            number += 1;
            if number % pressed.1 != pressed.0 {
                continue;
            }
            let mut model = model.clone();
            step("key");
            for key in keys {
                model.message(key).into_iter().for_each(|message| send(&mut model, message));
            }
            if number / pressed.1 % painted.1 == painted.0 {
                step("paint");
                paint(&model);
            }
            if met.insert(model.mode().title) {
                models.push_back(model);
            }
        }
    }
    step("close");
    met
}

/// Keys one after the other that open views, pages and prompts, and go to the ends.
const KEYS: &str = "j l l e j G k H = q ? j q s S % 2 j l < > 3 j = q 4 5 q 1 7 j G g l 1 /a<enter> n N <esc> \
                    t u x u d u z u <enter> <esc> F q m M w <esc> f in<tab><esc> :<tab><esc> 1 G l l";

fn screens(profile: &Profile, sizes: &[&str], step: &mut dyn FnMut(&'static str)) {
    let keys: Vec<Vec<Key>> = KEYS.split(' ').filter_map(Key::parse_all).collect();
    for size in sizes {
        let (width, height) = size.split_once('x').expect("a size");
        let size = (width.parse().expect("a number"), height.parse().expect("a number"));
        step("open");
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
        step("close");
    }
}

fn send(model: &mut Model, message: Message) {
    for effect in update(model, message) {
        if let Effect::Refine(request) = effect {
            let answer = perform(&Refined::base(&model.profile), request);
            send(model, answer);
        }
    }
}

fn paint(model: &Model) {
    let (width, height) = model.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen of cells");
    terminal.draw(|frame| draw(model, frame)).expect("cells take everything");
    for cell in terminal.backend().buffer().content() {
        let symbol = cell.symbol();
        assert!(printable(symbol) == symbol && symbol.len() <= 32, "{symbol:?}");
    }
}
