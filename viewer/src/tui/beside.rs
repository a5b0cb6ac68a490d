//! Work beside the screen, which it does not wait for: files that are read or written.

use std::sync::mpsc::{Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::bail;

use super::arrivals::{Arrival, OnDrop};
use super::message::{Message, Notice, not_kept};
use crate::print;

/// How long a viewer that must end waits for its notes: longer than these wait for a lock.
const MOMENT: Duration = Duration::from_secs(3);
/// Between two looks at whether they are written.
const PAUSE: Duration = Duration::from_millis(10);

/// Threads that read or write files, which may be on a disk that is far away. The answer of each is
/// a message.
pub(super) struct Beside {
    answer: Sender<Message>,
    told: Sender<Arrival>,
    /// Those that write.
    writing: Vec<JoinHandle<()>>,
    /// The last one of those that write one after the other.
    in_turn: Option<JoinHandle<()>>,
}

impl Beside {
    /// None yet; answers go to the first, and that there is one to the second.
    pub(super) const fn new(answer: Sender<Message>, told: Sender<Arrival>) -> Self {
        Self { answer, told, writing: Vec::new(), in_turn: None }
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

    /// The same, when all of these that were asked for before have ended.
    pub(super) fn write_in_turn(&mut self, work: impl FnOnce() -> Message + Send + 'static) {
        let before = self.in_turn.take();
        self.in_turn = Some(self.start(move || {
            // A panic was told.
            before.into_iter().for_each(|before| drop(before.join()));
            work()
        }));
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

    /// Waits a moment for what is written in turn, where the viewer must end: it is small.
    pub(super) fn finish_soon(self) {
        let end = Instant::now() + MOMENT;
        while self.in_turn.as_ref().is_some_and(|writing| !writing.is_finished())
            && Instant::now() < end
        {
            thread::sleep(PAUSE);
        }
    }

    /// Waits for what was to be written before the user left.
    ///
    /// The error says what was not written.
    pub(super) fn finish(self, answers: &Receiver<Message>) -> anyhow::Result<()> {
        let writing: Vec<_> = self.writing.into_iter().chain(self.in_turn).collect();
        if writing.iter().any(|writing| !writing.is_finished()) {
            print::message("waiting until all is written; Ctrl-C gives up")?;
        }
        // A panic was told.
        writing.into_iter().for_each(|writing| drop(writing.join()));
        let mut failed = Vec::new();
        for message in answers.try_iter() {
            match message {
                Message::Exported { notice: Notice::Failed(why), .. } => failed.push(why),
                Message::Exported { copied: Some(_), .. } => {
                    failed.push("nothing was copied: the viewer had ended".to_owned());
                }
                Message::Noted { said: Err(why), .. } => failed.push(not_kept(&why)),
                _ => {}
            }
        }
        if failed.is_empty() { Ok(()) } else { bail!(failed.join("\n")) }
    }
}
