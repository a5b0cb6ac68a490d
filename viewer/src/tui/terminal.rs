//! The user's terminal: taken over on entry, given back on every way out.
//!
//! Ways out are: leaving normally, an error, a panic in any thread, signals that others send
//! (SIGTERM, SIGHUP, SIGABRT and their kind), an [abort](super::aborts) of the viewer's own,
//! SIGTSTP, and Ctrl-Z. What was changed is changed back
//! in the opposite order; giving back twice is harmless.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::sync::atomic::Ordering;

use anyhow::{Context, bail};
use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};

use super::aborts::{TAKEN, remember_modes};
use super::draw::draw;
use super::model::Model;
use super::wire::Thrifty;

/// Press, release and wheel (1000) in the form without limits on coordinates (1006). Motion is
/// not asked for: over ssh, every report is a packet. XTerm Control Sequences, "Mouse Tracking".
const MOUSE_ON: &str = "\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l";

/// Whether this can be a screen: standard input and output are a terminal that does more than
/// print lines.
#[must_use]
pub fn is_screen() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb()
}

/// Shells inside editors and some build consoles say so; see term(7).
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// A terminal that was taken over.
pub(super) struct Screen {
    terminal: Terminal<Thrifty<CrosstermBackend<BufWriter<Stdout>>>>,
    mouse: bool,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// If standard output is no terminal, or does not do what it is told.
    pub(super) fn take(mouse: bool) -> anyhow::Result<Self> {
        if !io::stdout().is_terminal() {
            bail!(
                "the viewer needs a terminal, and standard output is none; \
                 csprof report prints the same as text"
            );
        }
        if is_dumb() {
            bail!(
                "the viewer needs a terminal that can place the cursor, and this one cannot \
                 (TERM=dumb); csprof report prints the same as text"
            );
        }
        give_back_on_panic();
        take_over(mouse).context("the terminal cannot be prepared")?;
        // One write for each screen: a terminal over ssh then gets it in few packets.
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        match Terminal::new(Thrifty::new(backend)) {
            Ok(terminal) => Ok(Self { terminal, mouse }),
            Err(error) => {
                give_back();
                Err(error).context("the size of the terminal is not known")
            }
        }
    }

    /// Columns and lines.
    ///
    /// # Errors
    /// If the terminal does not say.
    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
    }

    /// Paints the model; only what has changed is sent.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(super) fn draw(&mut self, model: &Model) -> io::Result<()> {
        // Terminals that know it show the update as a whole; others ignore it.
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| draw(model, frame))?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        io::Write::flush(self.terminal.backend_mut())
    }

    /// Forgets what is on the screen, so that the next `draw` sends all of it.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        // `Terminal::clear` would ask the terminal where its cursor is, and the thread that waits
        // for keys would take the answer. A new size of the same size clears without asking.
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }

    /// Puts text on the user's clipboard by OSC 52, which also works over ssh (XTerm Control
    /// Sequences, "Operating System Commands", Ps = 52).
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Takes the terminal over again after it was given back.
    ///
    /// # Errors
    /// If the terminal does not do what it is told.
    pub(super) fn retake(&mut self) -> io::Result<()> {
        take_over(self.mouse)?;
        self.forget()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take_over(mouse: bool) -> io::Result<()> {
    remember_modes();
    enable_raw_mode()?;
    // From here on there is something to change back. Only the flag itself is shared: Relaxed.
    TAKEN.store(true, Ordering::Relaxed);
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
    if mouse {
        execute!(io::stdout(), Print(MOUSE_ON))?;
    }
    Ok(())
}

/// Gives the terminal back, if it was taken.
pub(super) fn give_back() {
    if !TAKEN.swap(false, Ordering::Relaxed) {
        return;
    }
    // If the terminal is gone, there is nothing to restore and nobody to tell.
    let _ = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        Print(MOUSE_OFF),
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
    let _ = io::stdout().flush();
}

/// Gives back what can be without writing: lines, echo and signals by keys.
pub(super) fn give_back_modes() {
    let _ = disable_raw_mode();
}

/// A panic message must not end in the alternate screen, where it is lost.
fn give_back_on_panic() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        hook(panic);
    }));
}
