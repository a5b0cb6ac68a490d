//! The shell of the viewer: waits for events, performs effects, paints.
//!
//! Keys, signals and the worker's answers arrive on one channel, each from a thread of its own, so
//! an idle viewer wakes up for nothing. Everything that has arrived is taken in before the screen
//! is painted: a held key never falls behind.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use crossterm::event::{Event, KeyEvent, KeyEventKind};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};
use signal_hook::low_level::emulate_default_handler;

use super::arrivals::{Arrival, OnDrop, is_orphaned, read_keys, to_key, watch_signals};
use super::beside::Beside;
use super::editor;
use super::effect::{Effect, Request};
use super::export;
use super::forest::Forest;
use super::key::{Code, Key};
use super::keymap::Keymap;
use super::live::{INTERVAL, Live};
use super::message::{Message, Notice, ViewId};
use super::model::Model;
use super::mouse::Mouse;
use super::reader::Reader;
use super::reading::LiveReader;
use super::refresh::refreshed;
use super::saved_screen::SavedScreen;
use super::stages::Stages;
use super::terminal::{Screen, give_back};
use super::theme::{ColorChoice, Colors, Theme};
use super::update::{resume, update};
use super::worker::{self, Requests};
use crate::print;
use crate::profile::{MetricRef, Profile};
use crate::refine::{Refined, unwatched};
use crate::set_files::SetFiles;
use crate::sources::Sources;
use crate::views::columns::Id;
use crate::views::difference::unrelated;
use crate::views::notes::{Change, Notes};

/// How the user wants the viewer to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--color`.
    pub color: ColorChoice,
    /// `--ascii`: pictures without Unicode.
    pub ascii: bool,
    /// Whether the mouse is used; `--no-mouse` leaves it to the terminal, for selecting text.
    pub mouse: bool,
    /// The view that is shown first.
    pub start: ViewId,
    /// The columns that are shown; empty for the usual ones.
    pub columns: Vec<Id>,
    /// Whether a configuration file changes what other commands print.
    pub configured: bool,
    /// What keys mean.
    pub keymap: Keymap,
    /// The colors.
    pub colors: Colors,
    /// The screen to begin with, as it was left.
    pub resumed: Option<SavedScreen>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            color: ColorChoice::Auto,
            ascii: false,
            mouse: true,
            start: ViewId::HOME,
            columns: Vec::new(),
            configured: false,
            keymap: Keymap::default(),
            colors: Colors::default(),
            resumed: None,
        }
    }
}

/// What is shown, and how it was opened.
#[derive(Clone)]
pub struct Opened<'o> {
    /// The profile.
    pub profile: &'o Profile,
    /// What it is called.
    pub name: &'o str,
    /// The files it was read from, as the user wrote them.
    pub files: &'o [String],
    /// Whether what is left of damaged files was read.
    pub salvage: bool,
    /// The metric that is looked at first.
    pub metric: MetricRef,
    /// The metric by which two profiles are compared, if the user named it.
    pub compared_by: Option<&'o str>,
    /// Where source files are looked for.
    pub sources: &'o Sources,
    /// The files of sets of frames that belong to it.
    pub sets: &'o SetFiles,
    /// What was said of call paths.
    pub notes: Notes,
    /// Says something of one.
    pub note: NoteKeeper,
    /// What else is wrong, for people.
    pub problems: &'o [String],
    /// Where the profile is of a program that runs: how it is looked at, and who reads it.
    pub live: Option<(Live, LiveReader)>,
    /// What became of the screen to begin with, for people.
    pub remark: Option<&'o str>,
    /// Takes the screen as it is left.
    pub left: &'o dyn Fn(&SavedScreen),
}

/// Says something of a call path; returns all that is said then, as far as that is known, and why
/// the change could not be kept.
pub type NoteKeeper = Arc<dyn Fn(&Change) -> (Option<Notes>, Option<String>) + Send + Sync>;

/// What a command line of `:repro` or `:export` gives of a profile; an error is for people.
pub type Writer = Arc<dyn Fn(&Profile, &[String]) -> anyhow::Result<Vec<u8>> + Send + Sync>;

/// Reads the profile again from where it was read; an error is for people.
pub type ProfileReader = Arc<dyn Fn() -> anyhow::Result<Profile> + Send + Sync>;

/// Shows a profile, given without stages and refined to begin with, by these stages, until the
/// user leaves. It can be read again by `read`, if it is in files, and what is on the screen is
/// written by `write`.
///
/// # Errors
/// If standard output is no terminal, or the terminal fails.
pub fn run(
    opened: Opened<'_>,
    read: Option<ProfileReader>,
    write: Writer,
    [base, refined]: [Refined; 2],
    stages: Stages,
    options: Options,
) -> anyhow::Result<()> {
    let Opened { profile, name, files, salvage, metric, compared_by, .. } = opened;
    let (set_files, problems) = (opened.sets, opened.problems);
    let sets = Arc::new(set_files.load());
    let forest = unwatched(|watch| Forest::of(refined, watch)).looking_at(metric);
    let variable = |name| std::env::var(name).ok();
    let color = options.color.decide(variable("NO_COLOR").as_deref(), variable("TERM").as_deref());
    // crossterm has an opinion of its own about NO_COLOR; the decision is made here.
    crossterm::style::force_color_output(color);

    let (sender, arrivals) = channel();
    // Before the terminal is taken: from then on a signal must give it back.
    watch_signals(&sender)?;
    let screen = Screen::take(options.mouse)?;
    // The first look for events sets up the handler of SIGWINCH; a change of size before that would
    // go unseen, so the size is asked for after it.
    crossterm::event::poll(Duration::ZERO).context("the terminal cannot be read")?;
    let size = screen.size().context("the size of the terminal is not known")?;
    let theme = Theme::new(color, options.ascii).with_colors(options.colors);
    let mut model = Model::new(forest, name, theme, size);
    model.keymap = Arc::new(options.keymap);
    model.named_columns = options.columns;
    model.configured = options.configured;
    let of_sets = sets.problems().iter().map(ToString::to_string);
    let said = unrelated(profile).into_iter().chain(problems.iter().cloned()).chain(of_sets);
    let failed = noticed(&said.collect::<Vec<_>>()).map(Notice::Failed);
    model.notice = failed.or_else(|| Some(Notice::Said(opened.remark?.to_owned())));
    (model.files, model.salvage) = (files.to_vec(), salvage);
    model.compared_by = compared_by.map(str::to_owned);
    let (live, live_reader) = opened.live.unzip();
    model.live = live;
    model.look_in(opened.sources);
    model.sets = sets;
    model.take_notes(Arc::new(opened.notes));
    model.begin_with(stages);
    let requests = Requests::default();
    let (answer, answers) = channel();
    let reader = read_keys(&sender).context("the terminal cannot be read")?;
    let mut shell = Shell {
        base: base.clone(),
        read,
        write,
        live: live_reader,
        waits: sender.clone(),
        files: Beside::new(answer.clone(), sender.clone()),
        model,
        screen,
        requests: &requests,
        arrivals,
        answers,
        reader,
        mouse: Mouse::default(),
        print_at_end: Vec::new(),
        set_files,
        note: opened.note,
        ended_by: None,
    };
    let work = || {
        // Told even if the worker panics, so that nobody waits for it.
        let _told = OnDrop(|| drop(sender.send(Arrival::WorkerEnded)));
        worker::work(&base, &requests, worker::TELL_EVERY, |message| {
            // If nobody listens any more, the viewer is ending.
            drop(answer.send(message));
            drop(sender.send(Arrival::Answered));
        });
    };
    let shown = beside(work, &requests, || {
        if let Some(screen) = &options.resumed {
            for effect in resume(&mut shell.model, screen) {
                shell.perform(effect)?;
            }
        }
        if shell.model.live.is_some() {
            shell.perform(Effect::Wait { pause: INTERVAL, wait: 0 })?;
        }
        let (width, height) = size;
        // What the first view lacks is asked for.
        shell.update(match options.start {
            ViewId::HOME => Message::Resized { width, height },
            other => Message::Show(other),
        })?;
        shell.run()
    });
    if shown.is_ok() {
        (opened.left)(&SavedScreen::of(&mut shell.model));
    }
    let Shell { screen, print_at_end, files, answers, ended_by, .. } = shell;
    drop(screen);
    let outcome = match shown {
        Ok(()) if ended_by.is_none() => files.finish(&answers),
        shown => {
            files.finish_soon();
            shown
        }
    };
    for line in print_at_end {
        print::line(&line).context("standard output: cannot be written")?;
    }
    if let Some(signal) = ended_by {
        // Ends the process in the way the signal would have.
        emulate_default_handler(signal)?;
    }
    outcome
}

/// The first of several things that are wrong, in the one line there is, and how many more are.
fn noticed(problems: &[String]) -> Option<String> {
    let (first, others) = problems.split_first()?;
    Some(match others.len() {
        0 => first.clone(),
        more => format!("({more} more) {first}"),
    })
}

/// Runs the shell beside the worker, which ends when the shell does, also by a panic: nobody would
/// ever end it otherwise, and its end is waited for.
fn beside<T>(work: impl FnOnce() + Send, requests: &Requests, shell: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        scope.spawn(work);
        let _closed = OnDrop(|| requests.close());
        shell()
    })
}

/// Whether the viewer goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    GoOn,
    End,
}

struct Shell<'r> {
    /// The profile without stages: what every refinement begins with.
    base: Refined,
    read: Option<ProfileReader>,
    write: Writer,
    live: Option<LiveReader>,
    /// Takes the ends of waits.
    waits: Sender<Arrival>,
    files: Beside,
    model: Model,
    screen: Screen,
    requests: &'r Requests,
    arrivals: Receiver<Arrival>,
    answers: Receiver<Message>,
    reader: Reader,
    mouse: Mouse,
    print_at_end: Vec<String>,
    set_files: &'r SetFiles,
    note: NoteKeeper,
    /// The signal that ended the viewer.
    ended_by: Option<i32>,
}

impl Shell<'_> {
    fn run(&mut self) -> anyhow::Result<()> {
        loop {
            self.screen.draw(&self.model).context("the terminal cannot be written to")?;
            // Fails only when all senders are gone, and the worker's tells before it goes.
            let Ok(arrival) = self.arrivals.recv() else { return Ok(()) };
            let mut next = Some(arrival);
            while let Some(arrival) = next {
                let is_answer = matches!(arrival, Arrival::Answered);
                if self.take_in(arrival)? == Flow::End {
                    return Ok(());
                }
                // A key after it would wipe a refusal that nobody has seen.
                if is_answer && matches!(self.model.notice, Some(Notice::Failed(_))) {
                    break;
                }
                next = self.arrivals.try_recv().ok();
            }
        }
    }

    fn take_in(&mut self, arrival: Arrival) -> anyhow::Result<Flow> {
        match arrival {
            Arrival::Terminal(Event::Key(event)) => self.key(event),
            Arrival::Terminal(event) => match self.message(event) {
                Some(message) => self.update(message),
                None => Ok(Flow::GoOn),
            },
            Arrival::TerminalFailed(error) => Err(error).context("the terminal cannot be read"),
            Arrival::Signal(SIGCONT) => {
                self.resume()?;
                Ok(Flow::GoOn)
            }
            // The thread that reads keys learns of it only with the next key.
            Arrival::Signal(SIGWINCH) => {
                let (width, height) =
                    self.screen.size().context("the terminal's size is not known")?;
                self.mouse.forget_click();
                self.update(Message::Resized { width, height })
            }
            Arrival::Signal(SIGTSTP) => {
                if is_orphaned() {
                    return Ok(Flow::GoOn);
                }
                give_back();
                emulate_default_handler(SIGTSTP).context("the viewer cannot be stopped")?;
                self.stopped()
            }
            Arrival::Signal(signal) => {
                self.ended_by = Some(signal);
                Ok(Flow::End)
            }
            Arrival::Answered => {
                let Ok(message) = self.answers.try_recv() else { return Ok(Flow::GoOn) };
                if !matches!(message, Message::Progress { .. }) {
                    self.mouse.forget_click();
                }
                self.update(message)
            }
            // Only a panic ends the worker before the viewer; joining it passes the panic on.
            Arrival::WorkerEnded => Ok(Flow::End),
            Arrival::Waited(wait) => self.update(Message::Tick { wait }),
            Arrival::Panicked => bail!("csprof failed while it read or wrote a file"),
        }
    }

    fn key(&mut self, event: KeyEvent) -> anyhow::Result<Flow> {
        // What was clicked may not be there any more.
        self.mouse.forget_click();
        let Some(key) = to_key(event).filter(|_| event.kind != KeyEventKind::Release) else {
            return Ok(Flow::GoOn);
        };
        // Terminals send alt as an escape before the key, so an escape and a key in one packet
        // look the same. No key here has alt, so they are taken as two.
        let escape = Key::plain(Code::Esc);
        let keys = [key.alt.then_some(escape), Some(Key { alt: false, ..key })];
        for key in keys.into_iter().flatten() {
            if let Some(message) = self.model.message(key)
                && self.update(message)? == Flow::End
            {
                return Ok(Flow::End);
            }
        }
        Ok(Flow::GoOn)
    }

    fn message(&mut self, event: Event) -> Option<Message> {
        match event {
            Event::Mouse(mouse) => self.mouse.message(mouse),
            Event::Paste(text) => Some(Message::Pasted(text)),
            Event::Resize(width, height) => {
                self.mouse.forget_click();
                Some(Message::Resized { width, height })
            }
            _ => None,
        }
    }

    fn update(&mut self, message: Message) -> anyhow::Result<Flow> {
        if let Message::Reloaded { ticket, base, .. } = &message
            && self.model.waits_for() == Some(*ticket)
        {
            self.base = Refined::clone(base);
            self.requests.rebase(self.base.clone());
        }
        if let Message::Refreshed(refreshed) = &message
            && let Ok(shown) = &refreshed.outcome
            && self.model.takes(refreshed)
        {
            self.base = shown.base.clone();
            self.requests.rebase(self.base.clone());
        }
        for effect in update(&mut self.model, message) {
            if self.perform(effect)? == Flow::End {
                return Ok(Flow::End);
            }
        }
        Ok(Flow::GoOn)
    }

    fn perform(&mut self, effect: Effect) -> anyhow::Result<Flow> {
        const TERMINAL: &str = "the terminal cannot be written to";
        match effect {
            Effect::Refine(request) => return self.refine(request),
            Effect::Reload(request) => self.reload(request),
            Effect::Refresh { request, wanted } => {
                let Some(read) = self.live.clone() else { return Ok(Flow::GoOn) };
                let before = self.model.live.as_ref().and_then(Live::before);
                let base = self.base.clone();
                self.files.read(move || refreshed(&read, before, &base, request, wanted));
            }
            Effect::Wait { pause, wait } => {
                let waits = self.waits.clone();
                thread::spawn(move || {
                    thread::sleep(pause);
                    // If nobody listens any more, the viewer has ended.
                    drop(waits.send(Arrival::Waited(wait)));
                });
            }
            Effect::Cancel(only) => self.requests.cancel(only),
            Effect::SaveSet { file, name, pattern } => {
                let saved = self.set_files.save(file, &name, &pattern);
                return self.tell_saved(&name, saved);
            }
            Effect::SaveRefinement { name, refinement, replaces } => {
                let saved = self.set_files.save_refinement(&name, &refinement, replaces);
                return self.tell_saved(&name, saved);
            }
            Effect::Export { words, form, target } => {
                let (write, profile) = (Arc::clone(&self.write), self.model.profile.clone());
                let read = self.model.files.clone();
                self.files.write(move || {
                    let written = write(&profile, &words).map_err(|error| format!("{error:#}"));
                    let (copied, notice) = export::put(written, &target, form.help(), &read);
                    Message::Exported { copied, notice }
                });
            }
            Effect::ExportTable { table, form, target } => {
                let read = self.model.files.clone();
                self.files.write(move || {
                    let (written, what) = (form.of(&table), form.help_of_table());
                    let (copied, notice) = export::put(written, &target, what, &read);
                    Message::Exported { copied, notice }
                });
            }
            Effect::Note(change) => {
                let note = Arc::clone(&self.note);
                // It waits for other viewers, and for the disk.
                self.files.write_in_turn(move || {
                    let (notes, failed) = note(&change);
                    let said = failed.map_or_else(|| Ok(change.what.said()), Err);
                    Message::Noted { notes: notes.map(Arc::new), said }
                });
            }
            Effect::Edit { path, line } => return self.edit(&path, line),
            Effect::Copy(text) => self.screen.copy(&text).context(TERMINAL)?,
            Effect::PrintAtEnd(line) => self.print_at_end.push(line),
            // The whole process group, as Ctrl-Z in a shell does: a program that started the viewer
            // stops with it, and the shell sees the job stop. The viewer is told like all others.
            Effect::Suspend => {
                kill(Pid::from_raw(0), Signal::SIGTSTP)
                    .context("the viewer cannot be suspended")?;
            }
            Effect::Repaint => self.screen.forget().context(TERMINAL)?,
            Effect::Quit => return Ok(Flow::End),
        }
        Ok(Flow::GoOn)
    }

    /// Tells the model in which file a name was saved, or why it was not, and which names there
    /// are now.
    fn tell_saved(&mut self, name: &str, saved: io::Result<PathBuf>) -> anyhow::Result<Flow> {
        let notice = match saved {
            Ok(place) => Notice::Said(format!("@{name} is saved in {}", place.display())),
            Err(error) => Notice::Failed(format!("@{name} is not saved: {error}")),
        };
        let sets = Arc::new(self.set_files.load());
        self.update(Message::SetsLoaded { sets, notice })
    }

    /// Lets the user's editor have the terminal until it ends.
    fn edit(&mut self, path: &Path, line: u32) -> anyhow::Result<Flow> {
        let edited = self.reader.while_stopped(|| editor::edit(path, line));
        let edited = edited.context("the terminal cannot be given to an editor")?;
        self.model.notice = edited.err().map(Notice::Failed);
        self.stopped()
    }

    /// Reads the profile again.
    fn reload(&self, request: Request) {
        let (read, base) = (self.read.clone(), self.base.clone());
        self.files.read(move || {
            let read = match read {
                Some(read) => read().map_err(|error| format!("{error:#}")),
                None => Err("it was read from standard input".to_owned()),
            };
            worker::replace(&base, read, request)
        });
    }

    /// Refines at once where that takes less than a frame, else on the worker.
    fn refine(&mut self, request: Request) -> anyhow::Result<Flow> {
        if self.model.profile.nodes.len() < worker::AT_ONCE && !request.reads_files() {
            let message = worker::perform(&self.base, request);
            return self.update(message);
        }
        self.requests.ask(request);
        Ok(Flow::GoOn)
    }

    /// The job goes on after it was stopped: what arrived meanwhile comes before anything is
    /// painted.
    fn stopped(&mut self) -> anyhow::Result<Flow> {
        // A signal that ends the viewer does so before it takes the terminal again.
        for arrival in self.arrivals.try_iter().collect::<Vec<_>>() {
            // Keys that arrive while the terminal is not ours were meant for the shell; the others
            // that stop or continue the job have had their effect.
            let is_over = matches!(
                arrival,
                Arrival::Terminal(_) | Arrival::Signal(SIGCONT | SIGTSTP | SIGWINCH)
            );
            if !is_over && self.take_in(arrival)? == Flow::End {
                return Ok(Flow::End);
            }
        }
        self.resume()?;
        Ok(Flow::GoOn)
    }

    /// The job goes on: the terminal is taken over again, and may have another size.
    fn resume(&mut self) -> anyhow::Result<()> {
        self.screen.retake().context("the terminal cannot be prepared")?;
        let (width, height) = self.screen.size().context("the terminal's size is not known")?;
        update(&mut self.model, Message::Resized { width, height });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Long enough for the slowest machine; the test waits as long only if it fails.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn all_that_is_wrong_is_counted() {
        let noticed = |problems: &[&str]| {
            let problems: Vec<String> = problems.iter().copied().map(str::to_owned).collect();
            super::noticed(&problems)
        };
        assert_eq!(noticed(&[]), None);
        assert_eq!(noticed(&["a"]).as_deref(), Some("a"));
        assert_eq!(noticed(&["a", "b", "c"]).as_deref(), Some("(2 more) a"));
    }

    #[test]
    fn a_shell_that_panics_ends_the_worker() {
        let (sender, ended) = channel();
        thread::spawn(move || {
            let profile = crate::profile::from_outline("main 1\n").unwrap();
            let base = Refined::base(&profile);
            let requests = Requests::default();
            let work = || worker::work(&base, &requests, worker::TELL_EVERY, |_| {});
            let shell = || beside(work, &requests, || panic!("an error in the shell"));
            let panicked = catch_unwind(AssertUnwindSafe(shell)).is_err();
            sender.send(panicked).unwrap();
        });
        assert_eq!(ended.recv_timeout(PATIENCE), Ok(true));
    }
}
