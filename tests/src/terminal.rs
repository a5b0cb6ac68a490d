//! A terminal for csprof: a pseudoterminal on one side, an emulator's idea of its screen on the
//! other. Waiting is for what the screen shows, up to a deadline that only a failing test meets.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use vt100::{Parser, Screen};

use crate::binary::csprof;
use crate::deadline::DEADLINE;

/// A csprof on a terminal.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    emulator: Parser,
}

impl Terminal {
    /// Starts csprof in `folder` on a terminal of 80×24, the size that has to do.
    #[must_use]
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, &[])
    }

    /// The same with these variables in its environment.
    #[must_use]
    pub fn start_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        const ROWS: u16 = 24;
        const COLUMNS: u16 = 80;
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(csprof());
        command.args(arguments);
        command.cwd(folder);
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        variables.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).unwrap();
        // Only the child has the terminal open now, so reading ends when it does.
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let cells = |n| NonZeroU16::new(n).unwrap();
        let emulator = Parser::new(cells(ROWS), cells(COLUMNS), 0);
        Self { child, keys: pair.master.take_writer().unwrap(), output, emulator }
    }

    /// Types.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until all of `texts` are on the screen.
    ///
    /// # Panics
    ///
    /// If that does not happen.
    pub fn wait_for(&mut self, texts: &[&str]) {
        loop {
            let contents = self.emulator.screen().contents();
            if texts.iter().all(|text| contents.contains(text)) {
                return;
            }
            match self.output.recv_timeout(DEADLINE) {
                Ok(bytes) => self.emulator.process(&bytes),
                Err(_) => panic!("no {texts:?} on:\n{contents}"),
            }
        }
    }

    /// The screen as it is.
    #[must_use]
    pub fn screen(&self) -> &Screen {
        self.emulator.screen()
    }

    /// Waits until csprof has ended and all it wrote is on the screen. Returns its exit code and
    /// the screen that it left.
    ///
    /// # Panics
    ///
    /// If it does not end.
    #[must_use]
    pub fn end(mut self) -> (u32, Screen) {
        loop {
            match self.output.recv_timeout(DEADLINE) {
                Ok(bytes) => self.emulator.process(&bytes),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    panic!("does not end:\n{}", self.emulator.screen().contents());
                }
            }
        }
        let status = self.child.wait().unwrap();
        (status.exit_code(), self.emulator.screen().clone())
    }
}
