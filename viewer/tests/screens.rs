//! Screens of the viewer, driven by keys: `screen(profile, "80x24", "jj<enter>s")` is what a user
//! sees after these keys, and is compared with a picture kept in `snapshots/`.
//!
//! The harness does what the shell does, without a terminal: keys become messages, effects that
//! ask for a refinement are performed at once, all others are collected.

#![expect(clippy::unwrap_used, reason = "a harness of tests: a panic is a failed test")]

use csprof::profile::{Profile, from_outline};
use csprof::refine::{Refined, Sets};
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
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

#[path = "screens/butterfly.rs"]
mod butterfly;
#[path = "screens/bytes.rs"]
mod bytes;
#[path = "screens/compare.rs"]
mod compare;
#[path = "screens/contexts.rs"]
mod contexts;
#[path = "screens/distribution.rs"]
mod distribution;
#[path = "screens/every_view.rs"]
mod every_view;
#[path = "screens/export.rs"]
mod export;
#[path = "screens/flame.rs"]
mod flame;
#[path = "screens/habits.rs"]
mod habits;
#[path = "screens/info.rs"]
mod info;
#[path = "screens/keys.rs"]
mod keys;
#[path = "screens/live.rs"]
mod live;
#[path = "screens/looks.rs"]
mod looks;
#[path = "screens/metrics.rs"]
mod metrics;
#[path = "screens/mouse.rs"]
mod mouse;
#[path = "screens/notes.rs"]
mod notes;
#[path = "screens/picture.rs"]
mod picture;
#[path = "screens/places.rs"]
mod places;
#[path = "screens/refine.rs"]
mod refine;
#[path = "screens/reload.rs"]
mod reload;
#[path = "screens/repro.rs"]
mod repro;
#[path = "screens/rows.rs"]
mod rows;
#[path = "screens/runs.rs"]
mod runs;
#[path = "screens/sets.rs"]
mod sets;
#[path = "screens/source.rs"]
mod source;
#[path = "screens/suggest.rs"]
mod suggest;
#[path = "screens/tables.rs"]
mod tables;
#[path = "screens/tree.rs"]
mod tree;
#[path = "screens/undo.rs"]
mod undo;
#[path = "screens/waits.rs"]
mod waits;

/// A small run of a solver with communication: 200 samples of 5 ms.
const SOLVER: &str = "
_start
  main 2 at:solver.c:20 module:solver
    read_input 8 e=1 at:solver.c:40 module:solver
      fread 6 e=20 module:libc.so.6
    solve 10 e=2 at:solver.c:80 module:solver
      dot_product 30 inline at:vector.h:12 module:solver
      exchange 1 e=40 at:halo.c:33 module:solver
        MPI_Sendrecv 4 e=40 module:libmpi.so.40
          memcpy 60 e=55 module:libc.so.6
          poll 30 e=9 module:libc.so.6
      MPI_Allreduce 1 e=12 module:libmpi.so.40
        poll 40 e=11 module:libc.so.6
    write_output 7 e=1 module:solver
      fwrite 1 e=1 module:libc.so.6
";

fn solver() -> Profile {
    let mut profile = from_outline(SOLVER).unwrap();
    profile.info.run.command = vec![b"./solver".to_vec(), b"input.dat".to_vec()];
    profile.info.metric.source = "cputime".to_owned();
    profile
}

/// A viewer without a terminal.
struct Viewer {
    model: Model,
    /// Effects that a terminal would have seen.
    effects: Vec<Effect>,
}

impl Viewer {
    fn with_theme(profile: &Profile, size: &str, theme: Theme) -> Self {
        Self::named("runs/solver.csprof", profile, size, theme)
    }

    fn named(file: &str, profile: &Profile, size: &str, theme: Theme) -> Self {
        let (width, height) = size.split_once('x').unwrap();
        let size = (width.parse().unwrap(), height.parse().unwrap());
        let forest = Forest::new(profile, &Stages::default(), &Sets::default()).unwrap();
        let mut model = Model::new(forest, file, theme, size);
        // What a first screen says besides is a test of its own.
        model.is_new = false;
        model.told = None;
        Self { model, effects: Vec::new() }
    }

    fn new(profile: &Profile, size: &str) -> Self {
        Self::with_theme(profile, size, Theme::new(false, false))
    }

    /// Presses keys, in the notation of `Key`.
    fn press(&mut self, keys: &str) -> &mut Self {
        for key in Key::parse_all(keys).unwrap() {
            if let Some(message) = self.model.message(key) {
                self.send(message);
            }
        }
        self
    }

    fn send(&mut self, message: Message) -> &mut Self {
        let effects = update(&mut self.model, message);
        self.perform(effects)
    }

    fn perform(&mut self, effects: Vec<Effect>) -> &mut Self {
        for effect in effects {
            match effect {
                Effect::Refine(request) => {
                    let answer = perform(&Refined::base(&self.model.profile), request);
                    self.send(answer);
                }
                other => self.effects.push(other),
            }
        }
        self
    }

    fn terminal(&self) -> Terminal<TestBackend> {
        let (width, height) = self.model.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(&self.model, frame)).unwrap();
        terminal
    }

    /// The screen as text. The line in reverse video, if there is one, is marked at its end.
    fn screen(&self) -> String {
        let terminal = self.terminal();
        let buffer = terminal.backend().buffer();
        let mut text = String::new();
        for y in 0..buffer.area.height {
            let mut line = String::new();
            let mut covered = 0;
            let mut reversed = false;
            for x in 0..buffer.area.width {
                let cell = &buffer[(x, y)];
                reversed |= cell.modifier.contains(Modifier::REVERSED);
                if covered > 0 {
                    // The second cell of a wide character.
                    covered -= 1;
                    continue;
                }
                line.push_str(cell.symbol());
                covered = unicode_width::UnicodeWidthStr::width(cell.symbol()).saturating_sub(1);
            }
            text.push_str(line.trim_end());
            text.push_str(if reversed { "  ◀\n" } else { "\n" });
        }
        text
    }

    /// All colors on the screen besides the terminal's own.
    fn colors(&self) -> Vec<Color> {
        let terminal = self.terminal();
        let cells = terminal.backend().buffer().content();
        let mut colors: Vec<_> =
            cells.iter().flat_map(|c| [c.fg, c.bg]).filter(|c| *c != Color::Reset).collect();
        colors.sort_by_key(ToString::to_string);
        colors.dedup();
        colors
    }
}

/// What a user sees after these keys.
fn screen(profile: &Profile, size: &str, keys: &str) -> String {
    Viewer::new(profile, size).press(keys).screen()
}
