//! Work beside the screen, which it does not wait for: files that are read or written.

use std::sync::mpsc::{Receiver, Sender};
use std::thread::{self, JoinHandle};

use anyhow::bail;

use super::arrivals::{Arrival, OnDrop};
use super::message::{Message, Notice};
use crate::print;

/// Threads that read or write files, which may be on a disk that is far away. The answer of each is
/// a message.
pub(super) struct Beside {
    answer: Sender<Message>,
    told: Sender<Arrival>,
    /// Those that write.
    writing: Vec<JoinHandle<()>>,
}

impl Beside {
    /// None yet; answers go to the first, and that there is one to the second.
    pub(super) const fn new(answer: Sender<Message>, told: Sender<Arrival>) -> Self {
        Self { answer, told, writing: Vec::new() }
    }

    /// Reads something. Nobody waits for it at the end.
    pub(super) fn read(&self, work: impl FnOnce() -> Message + Send + 'static) {
        drop(self.start(work));
    }

    /// Writes something, which is waited for before the viewer ends.
    pub(super) fn write(&mut self, work: impl FnOnce() -> Message + Send + 'static) {
        self.writing.retain(|writing| !writing.is_finished());
        self.writing.push(self.start(work));
    }

    fn start(&self, work: impl FnOnce() -> Message + Send + 'static) -> JoinHandle<()> {
        let (answer, told) = (self.answer.clone(), self.told.clone());
        thread::spawn(move || {
            // A panic gives the terminal back, so nobody may go on painting.
            let _told = OnDrop(|| {
                if thread::panicking() {
                    drop(told.send(Arrival::Panicked));
                }
            });
            print::mute();
            drop(answer.send(work()));
            drop(told.send(Arrival::Answered));
        })
    }

    /// Waits for what was to be written before the user left.
    ///
    /// The error says what was not written.
    pub(super) fn finish(self, answers: &Receiver<Message>) -> anyhow::Result<()> {
        if self.writing.iter().any(|writing| !writing.is_finished()) {
            print::message("waiting until all is written; Ctrl-C gives up")?;
        }
        // A panic was told.
        self.writing.into_iter().for_each(|writing| drop(writing.join()));
        let mut failed = Vec::new();
        for message in answers.try_iter() {
            match message {
                Message::Exported { notice: Notice::Failed(why), .. } => failed.push(why),
                Message::Exported { copied: Some(_), .. } => {
                    failed.push("nothing was copied: the viewer had ended".to_owned());
                }
                _ => {}
            }
        }
        if failed.is_empty() { Ok(()) } else { bail!(failed.join("\n")) }
    }
}
