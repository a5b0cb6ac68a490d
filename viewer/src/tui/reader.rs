//! The thread that waits for the terminal. It can be told to leave the terminal to another program,
//! such as an editor: two that read would each get some of the keys.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossterm::event::Event;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How long a terminal that is gone has for its signal to arrive, which says so in a better way.
const GONE: Duration = Duration::from_millis(200);

/// How long to look for what is there already: without any time nothing is looked for.
const LOOK: Duration = Duration::from_millis(1);

/// Whether the thread reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reads,
    IsToStop,
    Stopped,
}

/// Tells the thread when to read.
#[derive(Debug)]
pub(super) struct Reader {
    state: Arc<(Mutex<State>, Condvar)>,
    wake: UnixStream,
}

impl Reader {
    /// Starts the thread, which hands over what it reads until `take` returns `false`, or reading
    /// fails. It waits in the kernel and is not joined; it ends with the process.
    ///
    /// # Errors
    /// If there is no terminal.
    pub(super) fn start(
        take: impl Fn(io::Result<Event>) -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        // The one that crossterm reads.
        let terminal: OwnedFd = match io::stdin() {
            stdin if stdin.is_terminal() => stdin.as_fd().try_clone_to_owned()?,
            _ => File::open("/dev/tty")?.into(),
        };
        let state = Arc::new((Mutex::new(State::Reads), Condvar::new()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            loop {
                let is_gone = match wait(terminal.as_fd(), &woken) {
                    Ok(is_gone) => is_gone,
                    Err(error) => {
                        take(Err(error));
                        return;
                    }
                };
                stop_if_told(&shared, &woken);
                let mut has_read = false;
                loop {
                    match crossterm::event::poll(LOOK) {
                        Ok(false) => break,
                        Ok(true) => {}
                        Err(error) => {
                            take(Err(error));
                            return;
                        }
                    }
                    has_read = true;
                    let event = crossterm::event::read();
                    let failed = event.is_err();
                    if !take(event) || failed {
                        return;
                    }
                }
                if is_gone && !has_read {
                    thread::sleep(GONE);
                    take(Err(io::ErrorKind::UnexpectedEof.into()));
                    return;
                }
            }
        });
        Ok(Self { state, wake })
    }

    /// Does something while nobody reads the terminal.
    pub(super) fn while_stopped<T>(&mut self, act: impl FnOnce() -> T) -> io::Result<T> {
        let (state, changed) = &*self.state;
        *state.lock().unwrap_or_else(PoisonError::into_inner) = State::IsToStop;
        self.wake.write_all(&[0])?;
        let stopped = state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_to_stop = |state: &mut State| *state == State::IsToStop;
        drop(changed.wait_while(stopped, is_to_stop).unwrap_or_else(PoisonError::into_inner));
        let done = act();
        *state.lock().unwrap_or_else(PoisonError::into_inner) = State::Reads;
        changed.notify_all();
        Ok(done)
    }
}

/// Stops for as long as that is asked for.
fn stop_if_told((state, changed): &(Mutex<State>, Condvar), mut woken: &UnixStream) {
    // Nothing is there, mostly.
    let _ = woken.read(&mut [0; 16]);
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    if *state == State::IsToStop {
        *state = State::Stopped;
        changed.notify_all();
        let is_stopped = |state: &mut State| *state == State::Stopped;
        drop(changed.wait_while(state, is_stopped).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Waits until the terminal or the wake-up has something; returns whether the terminal is gone.
fn wait(terminal: BorrowedFd<'_>, woken: &UnixStream) -> io::Result<bool> {
    let mut fds = [terminal, woken.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    loop {
        match poll(&mut fds, PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => break,
        }
    }
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    Ok(fds[0].revents().is_some_and(|events| events.intersects(gone)))
}
