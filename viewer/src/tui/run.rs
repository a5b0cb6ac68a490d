//! The shell of the viewer: waits for events, performs effects, paints.
//!
//! Keys, signals and the worker's answers arrive on one channel, each from a thread of its own, so
//! an idle viewer wakes up for nothing. Everything that has arrived is taken in before the screen
//! is painted: a held key never falls behind.

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgid, getpgrp, getppid, getsid};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::effect::{Effect, Request};
use super::export;
use super::forest::Forest;
use super::key::{Code, Key};
use super::keymap::Keymap;
use super::message::{Message, Notice, ViewId};
use super::model::Model;
use super::reader::Reader;
use super::stages::Stages;
use super::terminal::{Screen, give_back, give_back_modes};
use super::theme::{ColorChoice, Colors, Theme};
use super::update::update;
use super::worker::{self, Requests};
use crate::print;
use crate::profile::{MetricRef, Profile};
use crate::refine::{Refined, unwatched};
use crate::set_files::SetFiles;
use crate::sources::Sources;
use crate::views::columns::Id;
use crate::views::difference::unrelated;

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
        }
    }
}

/// Two clicks on one cell within this time are a double click.
const DOUBLE_CLICK: Duration = Duration::from_millis(400);

/// How long a signal that ends the viewer waits for the shell to end it, and then for the terminal
/// to take what gives it back. The shell may be at work, or wait for a terminal that is held
/// (Ctrl-S).
const GRACE: Duration = Duration::from_secs(1);

/// Whether an editor has the terminal, whose keys may be signals for all of the process group.
static IN_EDITOR: AtomicBool = AtomicBool::new(false);

/// What wakes the shell up.
enum Arrival {
    Terminal(Event),
    TerminalFailed(io::Error),
    Signal(i32),
    /// The worker has sent an answer on the channel of answers.
    Answered,
    WorkerEnded,
    /// A thread that reads or writes a file has panicked.
    Panicked,
}

/// What is shown, and how it was opened.
#[derive(Clone, Copy, Debug)]
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
    /// What else is wrong, for people.
    pub problems: &'o [String],
}

/// What a command line of `:repro` or `:export` gives of a profile; an error is for people.
pub type Writer = Arc<dyn Fn(&Profile, &[String]) -> anyhow::Result<Vec<u8>> + Send + Sync>;

/// Reads the profile again from where it was read; an error is for people.
pub type ProfileReader = Arc<dyn Fn() -> anyhow::Result<Profile> + Send + Sync>;

/// Shows a profile, refined to begin with, by the stages of this text, until the user leaves. It
/// can be read again by `read`, if it is in files, and what is on the screen is written by `write`.
///
/// # Errors
/// If standard output is no terminal, or the terminal fails.
pub fn run(
    opened: Opened<'_>,
    read: Option<ProfileReader>,
    write: Writer,
    refined: Refined,
    refinement: &str,
    options: Options,
) -> anyhow::Result<()> {
    let Opened { profile, name, files, salvage, metric, compared_by, .. } = opened;
    let (set_files, problems) = (opened.sets, opened.problems);
    let sets = Arc::new(set_files.load());
    let stages = Stages::read(refinement, &sets)?;
    let base = Refined::base(profile);
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
    model.notice = noticed(&said.collect::<Vec<_>>()).map(Notice::Failed);
    (model.files, model.salvage) = (files.to_vec(), salvage);
    model.compared_by = compared_by.map(str::to_owned);
    model.look_in(opened.sources);
    model.sets = sets;
    model.begin_with(stages);
    let requests = Requests::default();
    let (answer, answers) = channel();
    let reader = read_keys(&sender).context("the terminal cannot be read")?;
    let mut shell = Shell {
        base: base.clone(),
        read,
        write,
        to_self: (answer.clone(), sender.clone()),
        model,
        screen,
        requests: &requests,
        arrivals,
        answers,
        reader,
        last_click: None,
        print_at_end: Vec::new(),
        writing: Vec::new(),
        set_files,
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
    let outcome = beside(work, &requests, || {
        if options.start != ViewId::HOME {
            shell.update(Message::Show(options.start))?;
        }
        shell.run()
    });
    let Shell { screen, print_at_end, writing, answers, ended_by, .. } = shell;
    drop(screen);
    if ended_by.is_none() {
        // What was asked for before the user left. A panic was told.
        writing.into_iter().for_each(|writing| drop(writing.join()));
        for message in answers.try_iter() {
            if let Message::Exported { notice: Notice::Failed(why), .. } = message {
                print::message(why)?;
            }
        }
    }
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

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Starts the thread that waits for signals. Like the one that waits for keys it waits in the
/// kernel and cannot be told to stop, so it is not joined; it ends with the process.
fn watch_signals(sender: &Sender<Arrival>) -> anyhow::Result<()> {
    let watched = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH];
    let mut signals = Signals::new(watched).context("signals cannot be watched")?;
    let to_shell = sender.clone();
    thread::spawn(move || {
        for signal in &mut signals {
            // Relaxed: nothing else is told by it.
            if matches!(signal, SIGINT | SIGQUIT) && IN_EDITOR.load(Ordering::Relaxed) {
                continue;
            }
            if !matches!(signal, SIGTSTP | SIGCONT | SIGWINCH) {
                thread::spawn(move || end_by(signal));
            }
            if to_shell.send(Arrival::Signal(signal)).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// Starts the thread that waits for the terminal.
fn read_keys(sender: &Sender<Arrival>) -> io::Result<Reader> {
    let to_shell = sender.clone();
    // Without keys nobody could end the viewer.
    let told = OnDrop({
        let to_shell = sender.clone();
        move || {
            let cause = "the thread that reads keys has ended";
            drop(to_shell.send(Arrival::TerminalFailed(io::Error::other(cause))));
        }
    });
    Reader::start(move |event| {
        let _told = &told;
        let arrival = match event {
            Ok(event) => Arrival::Terminal(event),
            Err(error) => Arrival::TerminalFailed(error),
        };
        to_shell.send(arrival).is_ok()
    })
}

/// What opens a file at a line: the user's editor, with what else stands in its variable.
fn editor(path: &Path, line: u32) -> Command {
    let set = |name| std::env::var(name).ok().filter(|text: &String| !text.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    // A shell, as for others who start editors (git, crontab): the variable may have arguments.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{editor} \"$@\""), &editor, &format!("+{line}")]);
    // Begins with no sign of an option.
    command.arg(Path::new(".").join(path));
    command
}

/// Waits for the end of an editor. If it is stopped, so is the viewer, until both go on.
fn wait_for(editor: Pid) -> anyhow::Result<WaitStatus> {
    loop {
        match waitpid(editor, Some(WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Stopped(..)) => emulate_default_handler(SIGTSTP)?,
            Err(Errno::EINTR) => {}
            other => return Ok(other?),
        }
    }
}

/// Ends the process by a signal, unless the shell does so in time.
fn end_by(signal: i32) {
    thread::sleep(GRACE);
    let (given, gave) = channel();
    // Waits for the shell where that is in the middle of writing.
    thread::spawn(move || {
        give_back();
        let _ = given.send(());
    });
    if gave.recv_timeout(GRACE).is_err() {
        give_back_modes();
    }
    // Fails for no signal that is watched.
    let _ = emulate_default_handler(signal);
}

/// Whether nobody would continue this process group if it stopped: none of its processes, as far as
/// this one descends from them, has a parent in another group of the session. The kernel does not
/// stop such a group for the terminal's sake (POSIX, "Orphaned Process Group").
fn is_orphaned() -> bool {
    let (group, session) = (getpgrp(), getsid(None));
    let mut parent = Some(getppid());
    while let Some(process) = parent.filter(|process| process.as_raw() > 0) {
        if getsid(Some(process)) != session {
            return true;
        }
        if getpgid(Some(process)) != Ok(group) {
            return false;
        }
        parent = parent_of(process);
    }
    true
}

/// The parent of a process, by proc_pid_stat(5): the second field behind the name in parentheses.
fn parent_of(process: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok().map(Pid::from_raw)
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
    /// Where a thread sends its answer, and that it has.
    to_self: (Sender<Message>, Sender<Arrival>),
    model: Model,
    screen: Screen,
    requests: &'r Requests,
    arrivals: Receiver<Arrival>,
    answers: Receiver<Message>,
    reader: Reader,
    last_click: Option<(u16, u16, Instant)>,
    print_at_end: Vec<String>,
    /// Threads that write files.
    writing: Vec<JoinHandle<()>>,
    set_files: &'r SetFiles,
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
                if self.take_in(arrival)? == Flow::End {
                    return Ok(());
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
                self.last_click = None;
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
                    self.last_click = None;
                }
                self.update(message)
            }
            // Only a panic ends the worker before the viewer; joining it passes the panic on.
            Arrival::WorkerEnded => Ok(Flow::End),
            Arrival::Panicked => bail!("csprof failed while it read or wrote a file"),
        }
    }

    fn key(&mut self, event: KeyEvent) -> anyhow::Result<Flow> {
        // What was clicked may not be there any more.
        self.last_click = None;
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
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Paste(text) => Some(Message::Pasted(text)),
            Event::Resize(width, height) => {
                self.last_click = None;
                Some(Message::Resized { width, height })
            }
            _ => None,
        }
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Option<Message> {
        let (x, y) = (mouse.column, mouse.row);
        let last = self.last_click.take();
        match mouse.kind {
            MouseEventKind::Drag(MouseButton::Left) => Some(Message::Drag { x, y }),
            MouseEventKind::Down(MouseButton::Right) => Some(Message::RightClick { x, y }),
            MouseEventKind::Down(MouseButton::Left) => {
                let now = Instant::now();
                let is_double = last.is_some_and(|(last_x, last_y, then)| {
                    (last_x, last_y) == (x, y) && now.duration_since(then) < DOUBLE_CLICK
                });
                if is_double {
                    // A third click is a first one again.
                    return Some(Message::DoubleClick { x, y });
                }
                self.last_click = Some((x, y, now));
                Some(Message::Click { x, y })
            }
            MouseEventKind::ScrollUp => Some(Message::Wheel(-1)),
            MouseEventKind::ScrollDown => Some(Message::Wheel(1)),
            // The button comes up between two clicks, and the mouse may tremble.
            _ => {
                self.last_click = last;
                None
            }
        }
    }

    fn update(&mut self, message: Message) -> anyhow::Result<Flow> {
        if let Message::Reloaded { ticket, base, .. } = &message
            && self.model.waits_for() == Some(*ticket)
        {
            self.base = Refined::clone(base);
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
            Effect::Cancel(only) => self.requests.cancel(only),
            Effect::SaveSet { file, name, pattern } => {
                let notice = match self.set_files.save(file, &name, &pattern) {
                    Ok(place) => Notice::Said(format!("@{name} is saved in {}", place.display())),
                    Err(error) => Notice::Failed(format!("@{name} is not saved: {error}")),
                };
                let sets = Arc::new(self.set_files.load());
                return self.update(Message::SetsLoaded { sets, notice });
            }
            Effect::Export { words, form, target } => {
                let (write, profile) = (Arc::clone(&self.write), self.model.profile.clone());
                let writing = self.beside(move || {
                    let written = write(&profile, &words).map_err(|error| format!("{error:#}"));
                    let (copied, notice) = export::put(written, &target, form);
                    Message::Exported { copied, notice }
                });
                self.writing.push(writing);
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

    /// Lets the user's editor have the terminal until it ends.
    fn edit(&mut self, path: &Path, line: u32) -> anyhow::Result<Flow> {
        let mut command = editor(path, line);
        let status = self.reader.while_stopped(|| {
            give_back();
            IN_EDITOR.store(true, Ordering::Relaxed);
            let started = command.spawn();
            let status = started.map_err(anyhow::Error::from).and_then(|editor| {
                wait_for(Pid::from_raw(i32::try_from(editor.id()).unwrap_or(0)))
            });
            IN_EDITOR.store(false, Ordering::Relaxed);
            status
        });
        let failed = match status.context("the terminal cannot be given to an editor")? {
            Ok(WaitStatus::Exited(_, 0)) => None,
            Ok(WaitStatus::Exited(_, 127)) => {
                Some("there is no such editor; VISUAL or EDITOR names one".to_owned())
            }
            Ok(WaitStatus::Exited(_, status)) => Some(format!("the editor ended with {status}")),
            Ok(_) => Some("the editor was killed".to_owned()),
            Err(error) => Some(format!("no editor was started: {error:#}")),
        };
        self.model.notice = failed.map(Notice::Failed);
        self.stopped()
    }

    /// Reads the profile again.
    fn reload(&self, request: Request) {
        let (read, base) = (self.read.clone(), self.base.clone());
        // Nobody waits for it.
        let _ = self.beside(move || {
            let read = match read {
                Some(read) => read().map_err(|error| format!("{error:#}")),
                None => Err("it was read from standard input".to_owned()),
            };
            worker::replace(&base, read, request)
        });
    }

    /// Works on a thread of its own, which nobody waits for: a file may be on a disk that is far
    /// away. The message is the answer.
    fn beside(&self, work: impl FnOnce() -> Message + Send + 'static) -> JoinHandle<()> {
        let (answer, sender) = self.to_self.clone();
        thread::spawn(move || {
            // A panic gives the terminal back, so nobody may go on painting.
            let _told = OnDrop(|| {
                if thread::panicking() {
                    drop(sender.send(Arrival::Panicked));
                }
            });
            print::mute();
            drop(answer.send(work()));
            drop(sender.send(Arrival::Answered));
        })
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

/// A key of the terminal as the viewer knows keys; `None` if it has no meaning here.
fn to_key(event: KeyEvent) -> Option<Key> {
    let code = match event.code {
        KeyCode::Char(c) => Code::Char(c),
        KeyCode::Enter => Code::Enter,
        KeyCode::Esc => Code::Esc,
        KeyCode::Tab => Code::Tab,
        KeyCode::BackTab => Code::BackTab,
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Delete => Code::Delete,
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        _ => return None,
    };
    Some(Key {
        code,
        control: event.modifiers.contains(KeyModifiers::CONTROL),
        alt: event.modifiers.contains(KeyModifiers::ALT),
    })
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
