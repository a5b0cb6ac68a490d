//! From key to painted screen on a profile with a million nodes.
//!
//! The targets: first screen below 150 ms, a key to paint below 16 ms, a refinement below 16 ms or
//! on the worker. Painting goes to a buffer of 80×24 cells; the terminal is not measured.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use csprof::profile::{Frame, FrameKind, FrameRef, Function, FunctionRef, Nodes, Profile, Stream};
use csprof::refine::Sets;
use csprof::tui::draw::draw;
use csprof::tui::effect::Effect;
use csprof::tui::forest::Forest;
use csprof::tui::key::Key;
use csprof::tui::model::Model;
use csprof::tui::stages::Stages;
use csprof::tui::theme::Theme;
use csprof::tui::update::update;
use csprof::tui::worker::perform;
use csprof_format::ids::{EpochId, ProcessId, ThreadId};
use csprof_format::profile::{Metric, RunInfo};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// Nodes of the profile, unless `CSPROF_BENCH_NODES` says otherwise.
const NODES: u32 = 1_000_000;

fn nodes_wanted() -> u32 {
    std::env::var("CSPROF_BENCH_NODES").ok().and_then(|text| text.parse().ok()).unwrap_or(NODES)
}

const FUNCTIONS: u32 = 20_000;

/// Call paths of up to 60 frames, of 20 000 functions with C++ names.
fn profile() -> Profile {
    // Numbers that look random and are always the same (Knuth's MMIX generator).
    let mut state = 7_u64;
    let mut below = |limit: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((state >> 33) % u64::from(limit)).unwrap_or(0)
    };
    let named = |name| Function { name, module: None, file: None, line: 0 };
    let mut functions = vec![named("<root>".to_owned())];
    functions.extend((1..=FUNCTIONS).map(|f| {
        named(format!("library{}::Type{}<int, double>::method{f}(char const*)", f % 40, f % 900))
    }));
    let frame = |f| {
        let kind = match f {
            0 => FrameKind::Root,
            f if f % 10 == 0 => FrameKind::Inline,
            _ => FrameKind::Call,
        };
        Frame { function: FunctionRef(f), kind, file: None, line: 0 }
    };
    let frames = (0..=FUNCTIONS).map(frame).collect();
    let mut nodes = Nodes::default();
    nodes.push(0, FrameRef::ROOT, 0, 0);
    let mut path = vec![0];
    let wanted = nodes_wanted();
    while nodes.len() < wanted as usize {
        // The product of two numbers prefers small ones: few functions are everywhere.
        let skewed = u64::from(below(FUNCTIONS)) * u64::from(below(FUNCTIONS));
        let function = 1 + u32::try_from(skewed / u64::from(FUNCTIONS)).unwrap_or(0);
        let samples = u64::from(below(5));
        let parent = path.last().copied().unwrap_or(0);
        path.push(u32::try_from(nodes.len()).unwrap_or(0));
        nodes.parent.push(parent);
        nodes.frame.push(FrameRef(function));
        nodes.samples.push(samples);
        nodes.edges.push(samples / 2);
        if path.len() > 60 || (path.len() > 10 && below(3) == 0) {
            path.truncate(1 + below(u32::try_from(path.len()).unwrap_or(1)) as usize);
        }
    }
    let stream =
        Stream { process: ProcessId(0), thread: ThreadId(0), epoch: EpochId(0), nodes: 1..wanted };
    let info = csprof_format::profile::Profile {
        run: RunInfo { trampoline: true, ..RunInfo::default() },
        metric: Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 },
        ..Default::default()
    };
    Profile { info, functions, frames, nodes, streams: vec![stream], comparison: None }
}

/// Presses keys and paints after each, as the shell does.
fn press(model: &mut Model<'_>, terminal: &mut Terminal<TestBackend>, keys: &[Key]) {
    for &key in keys {
        if let Some(message) = model.message(key) {
            for effect in update(model, message) {
                if let Effect::Refine(request) = effect {
                    let answer = perform(model.profile, request);
                    update(model, answer);
                }
            }
        }
        terminal.draw(|frame| draw(black_box(model), frame)).expect("a buffer takes everything");
    }
}

fn first_screen(profile: &Profile) -> Model<'_> {
    let forest =
        Forest::new(profile, &Stages::default(), &Sets::default()).expect("no stages, no error");
    Model::new(forest, "large.csprof", Theme::new(true, false), (80, 24))
}

fn screens(c: &mut Criterion) {
    let profile = profile();
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a buffer");
    let mut group = c.benchmark_group(format!("{} nodes", profile.nodes.len()));
    group.sample_size(20);
    group.bench_function("first screen", |b| {
        b.iter(|| {
            let mut model = first_screen(&profile);
            press(&mut model, &mut terminal, &[]);
            terminal.draw(|frame| draw(&model, frame)).expect("a buffer takes everything");
        });
    });
    // What each is measured on, and the keys: an even number of them comes back to where it was.
    for (before, keys, what) in [
        ("HeHe", "kj", "up and down among a few thousand open rows"),
        ("HeHe", "gG", "to the top and to the bottom"),
        ("He", "<pageup><pagedown>", "a screen up and down"),
        ("H", "hl", "close and open"),
        ("H", "hu", "close and undo that"),
        ("g", "<space><space>", "close and open the first row"),
        ("He", "ss<S><S>", "another order, twice, and reversed, twice"),
        ("2", "jl", "the callers of a function"),
        ("H", "/method7<esc>", "seven letters of a search, and back"),
        ("H", "fmethod7<esc>", "seven letters of a refinement, each tried out, and back"),
        ("H/method77<enter>", "nN", "next and previous found"),
    ] {
        let keys = keys.replace("<S>", "S");
        let keys = Key::parse_all(&keys).expect("keys");
        let mut model = first_screen(&profile);
        press(&mut model, &mut terminal, &Key::parse_all(before).expect("keys"));
        group.bench_function(format!("{what} ({} keys)", keys.len()), |b| {
            b.iter(|| press(&mut model, &mut terminal, &keys));
        });
    }
    for (keys, what) in [
        ("Ht", "hot path, then only paths through its end"),
        ("Hd", "hot path, then its end hidden"),
        ("Hz", "hot path, then its end as the root"),
    ] {
        let keys = Key::parse_all(keys).expect("keys");
        let model = first_screen(&profile);
        group.bench_function(what, |b| {
            b.iter_batched(
                || model.clone(),
                |mut model| press(&mut model, &mut terminal, &keys),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, screens);
criterion_main!(benches);
