//! What a key costs on the wire: bytes that a terminal is sent, as it would be over ssh.

use std::io::Write;
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex};

use csprof::profile::Profile;
use csprof::tui::draw::draw;
use csprof::tui::keymap::bindings;
use csprof::tui::mode::Binding;
use csprof::tui::theme::Theme;
use csprof::tui::views::VIEWS;
use csprof::tui::wire::Thrifty;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use vt100::Parser;

use super::Viewer;

/// Takes bytes and keeps them.
#[derive(Clone, Default)]
struct Wire(Arc<Mutex<Vec<u8>>>);

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A viewer whose screens are sent.
struct Sent {
    viewer: Viewer,
    terminal: Terminal<Thrifty<CrosstermBackend<Wire>>>,
    wire: Wire,
    /// What a terminal makes of it.
    emulator: Parser,
}

impl Sent {
    fn new(profile: &Profile, width: u16, height: u16) -> Self {
        let size = format!("{width}x{height}");
        Self::of(Viewer::with_theme(profile, &size, Theme::new(true, false)), width, height)
    }

    fn of(viewer: Viewer, width: u16, height: u16) -> Self {
        // Colors are sent whatever the environment says: that is more.
        crossterm::style::force_color_output(true);
        let wire = Wire::default();
        let viewport = Viewport::Fixed(Rect::new(0, 0, width, height));
        let backend = Thrifty::new(CrosstermBackend::new(wire.clone()));
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
        let cells = |n| NonZeroU16::new(n).unwrap();
        let emulator = Parser::new(cells(height), cells(width), 0);
        Self { viewer, terminal, wire, emulator }
    }

    /// Bytes for the screen after these keys, in place of the one before.
    fn press(&mut self, keys: &str) -> usize {
        self.viewer.press(keys);
        let model = &self.viewer.model;
        self.terminal.draw(|frame| draw(model, frame)).unwrap();
        let sent = std::mem::take(&mut *self.wire.0.lock().unwrap());
        self.emulator.process(&sent);
        let lines = self.emulator.screen().rows(0, self.viewer.model.size.0);
        let received: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
        let painted = self.viewer.screen().replace("  ◀", "");
        assert!(painted.lines().eq(&received), "{keys}: {painted}\n{}", received.join("\n"));
        sent.len()
    }
}

/// A compiler's run: deep paths, long names, many rows.
fn cc1plus() -> Profile {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cc1plus.csprof");
    Profile::from_saved(csprof_format::read::open(Path::new(file)).unwrap())
}

/// Moving the cursor paints two lines, or scrolls; whatever else one key does paints a screen.
#[test]
fn no_key_costs_more_than_4096_bytes_and_moving_less_than_2000() {
    let profile = cc1plus();
    let mut sent = Sent::new(&profile, 80, 24);
    let whole = sent.press("");
    let mut table = vec![format!("{whole:>6} first screen")];
    let mut most = 0;
    for key in [
        "j",
        "j",
        "k",
        "H",
        "k",
        "<pagedown>",
        "<pageup>",
        "e",
        "G",
        "g",
        "<pagedown>",
        "s",
        "S",
        "%",
        "2",
        "j",
        "l",
        "3",
        "<lt>",
        "<lt>",
        "e",
        "j",
        "1",
        "/",
        "g",
        "c",
        "_",
        "<esc>",
        "t",
        "u",
        "x",
        "u",
        "F",
        "<esc>",
        "=",
        "q",
        "?",
        "<pagedown>",
        "q",
        "f",
        "t",
        "h",
        "<esc>",
        "5",
        "<enter>",
        "i",
        "4",
        "q",
    ] {
        let bytes = sent.press(key);
        table.push(format!("{bytes:>6} {key}"));
        most = most.max(bytes);
        if ["j", "k"].contains(&key) {
            assert!(bytes < 2000, "{key}: {bytes} bytes\n{}", table.join("\n"));
        }
    }
    println!("{}", table.join("\n"));
    assert!(most < 4096, "{}", table.join("\n"));
}

/// From the table of keys, so that a new one is measured from the day it exists.
#[test]
fn no_key_of_any_view_costs_more_than_4096_bytes() {
    let profile = cc1plus();
    let first = Viewer::with_theme(&profile, "80x24", Theme::new(true, false));
    let mut table = Vec::new();
    for view in VIEWS {
        let mut before = Viewer { model: first.model.clone(), effects: Vec::new() };
        before.press("HH");
        before.press(view.key);
        let mode = before.model.mode();
        for keys in bindings(mode).flat_map(Binding::keys) {
            let viewer = Viewer { model: before.model.clone(), effects: Vec::new() };
            let mut sent = Sent::of(viewer, 80, 24);
            sent.press("");
            let keys: String = keys.iter().map(ToString::to_string).collect();
            table.push((sent.press(&keys), view.title, keys));
        }
    }
    table.sort();
    let worst: Vec<_> = table.iter().rev().take(40).map(|row| format!("{row:?}")).collect();
    println!("{}", worst.join("\n"));
    let most = table.last().map_or(0, |(bytes, ..)| *bytes);
    assert!(most < 4096, "{}", worst.join("\n"));
}

/// Even a large screen that changes altogether fits into few packets.
#[test]
fn a_large_screen_costs_a_few_bytes_for_each_cell() {
    let profile = cc1plus();
    let mut sent = Sent::new(&profile, 200, 60);
    let whole = sent.press("HHe");
    println!("{whole} bytes for 200x60");
    assert!(whole < 200 * 60 * 2, "{whole}");
    assert_eq!(sent.press(""), sent.press("<C-l>"), "the same screen again sends next to nothing");
    assert!(sent.press("") < 100);
}
