//! Why a sample is not in a tree, and why a path is not whole.
//!
//! Every sample delivered to a thread ends in one of two ways: its weight is added to a node, or
//! to the counter of one [`LossReason`]. `delivered = recorded + Σ losses` holds in every arena,
//! every saved profile and on the viewer's information screen. A recorded sample whose outer
//! callers could not be found is *partial*: it stays in the tree, below a root that names the
//! [`PartialReason`].
//!
//! What was *due* is more than what was delivered, and what is missing has a name, too. Where the
//! time or the sample goes, where it is counted, and what a user can do:
//!
//! | what happens | counted as | where | remedy |
//! |---|---|---|---|
//! | the pc is where the return trampoline looks for the way back | loss `in-trampoline` | handler | `--no-trampoline` |
//! | no state for the thread: before its start, after its end, no load map yet | loss `no-thread-state` | handler, in the process | – |
//! | no room for a node | loss `arena-full` | handler | space in /dev/shm, `--memory` |
//! | a file that cannot be read back | loss `unreadable` | gathering | – |
//! | killed, or replaced by exec, in the handler | loss `cut-short` | gathering | – |
//! | the program closed the event's file | loss `source-closed` | thread's end | `-e cputime` |
//! | after a seccomp filter | loss `sealed`, and a message | handler | – |
//! | the signal is blocked, the machine stands still | recorded, and `late` | handler, by overruns; the thread's end takes what is pending | – |
//! | CPU time after the kernel's last tick of a thread | `undelivered` CPU time | thread's CPU clock at its end, at exit and exec, less delivered × period | `-e task-clock` |
//! | loading, csprof's own start | CPU time `before` | CPU clocks when sampling begins | – |
//! | static, set-user-id, cleared environment, raw clone; after `_exit` or a kill | CPU time `elsewhere`, processes left out | the kernel's count of the run, less all above | – |
//! | memory or a timer for a thread is refused | `unsampled-threads`, and a message | thread's start | limits |
//! | a thread made by clone(2), unknown to the C library | `unsampled-threads`, and a message; its CPU time `elsewhere` | before the call | – |
//! | no tick meets the thread (a busy machine) | recorded, and `late`; after a kill, CPU time `elsewhere` | handler, by overruns; the kernel's count | `-e task-clock` |
//! | a sampled block of memory finds no room among those that are followed | loss `not-followed` | wrapper | `-e leak@SIZE`, longer |
//! | a call is counted while its thread forks | loss `collector-busy` | wrapper, in the process | – |
//! | a call is counted by a thread without a state, or after a seccomp filter | not at all | – | – |
//! | SIGPROF from elsewhere, without a handler | `foreign-signals` | handler | – |
//! | SIGPROF, or SIGTRAP on loan, taken by a raw system call | a message | exit, exec | – |
//! | an unwinder, a signal frame, another stack | recorded; only the trampoline waits | handler | – |
//! | code of no module, without CFI, a stack that ends | recorded, and partial | handler | – |
//! | a library nobody has looked at yet | recorded whole, by its CFI in place | handler | – |
//! | from outside: csprof reads the kernel's buffer too late | loss `ring-full` | the kernel | a longer period, `--stack-copy` |
//! | from outside: the thread is not in its program, for it ends or executes another one | loss `no-thread-state` | reading | – |
//! | from outside: csprof cannot read a record of the kernel's | loss `unreadable` | reading | – |
//! | from outside: the stack is deeper than its copy | recorded, and partial | reading | `--stack-copy` |
//!
//! Time that was not delivered is not given to the next sample: that would be of another path, and
//! in a run of many short processes the long ones would get the time of all the others.
//! `path-too-long` is not used by this version: a path that is too long is partial.

macro_rules! reasons {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $n:literal, $key:literal, $text:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $variant = $n,)* }

        impl $name {
            /// All reasons, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant),*];
            /// How many reasons there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The stable name used in files, `info --format json` and messages.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)* }
            }

            /// One sentence for people: what happened and what it means for the numbers.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The reason with this number, if there is one.
            #[must_use]
            pub fn from_index(index: usize) -> Option<Self> {
                Self::ALL.get(index).copied()
            }
        }
    };
}

reasons! {
    /// Why a delivered sample was not recorded.
    LossReason {
        /// The pc was in the return trampoline, which had met a return that is not the one it
        /// armed.
        InTrampoline = 0, "in-trampoline",
            "the thread was inside csprof's return trampoline, which was still looking for the way back";
        /// The thread had no sampling state: not started yet, already ended, or made by raw clone.
        NoThreadState = 1, "no-thread-state",
            "the signal arrived before the thread's start-up or after its end";
        /// The arena could not grow: disk, shared memory or a resource limit is exhausted.
        ArenaFull = 2, "arena-full",
            "shared memory for the calling context tree could not grow (full /dev/shm, a limit, or --memory)";
        /// The path was longer than the buffer for it could be made.
        PathTooLong = 3, "path-too-long",
            "the call path was longer than csprof can hold, or memory for it was refused";
        /// csprof's own code was under way in this thread, which a sample of a call must not enter.
        CollectorBusy = 4, "collector-busy",
            "the thread was inside csprof's own code, as while it forks";
        /// Found when arenas were gathered: nodes that could not be read back.
        Unreadable = 5, "unreadable",
            "part of the arena or of the profile was damaged or cut off, so these samples could not be placed";
        /// Found when arenas were gathered: counted as delivered, and then neither recorded nor
        /// lost.
        CutShort = 6, "cut-short",
            "the process was killed, or replaced by exec, while the sample was being taken";
        /// CPU time that passed after the program had closed the file of the thread's event, or
        /// after the kernel had refused to open one with a longer interval in its place.
        SourceClosed = 7, "source-closed",
            "the program closed, by a system call of its own, the file that the samples come from; or the kernel refused a new one in its place";
        /// A signal that was on its way when the process gave up system calls.
        Sealed = 8, "sealed",
            "the signal arrived after the program had restricted its system calls (seccomp)";
        /// A fault in the handler would end the process.
        StackFull = 9, "stack-full",
            "the thread's stack was about to overflow, and had no room left for csprof's handler";
        /// Of a block of memory that is not followed to its end, nobody knows whether it was given
        /// back.
        NotFollowed = 10, "not-followed",
            "too many sampled blocks of memory were in use to follow one more to its end (-e leak with a longer period)";
        /// Of a process that was sampled from outside: records of the kernel's for which its buffer
        /// had no room.
        RingFull = 11, "ring-full",
            "csprof read the kernel's buffer too late, which had no room for more (a longer period, or a smaller --stack-copy)";
    }
}

reasons! {
    /// Why a recorded path lacks its outer callers.
    PartialReason {
        /// No load module covers the program counter.
        UnknownModule = 0, "unknown-module",
            "code outside every load module (generated at run time, or loaded behind csprof's back)";
        /// The module has no call frame information at this address.
        NoCfi = 1, "no-cfi",
            "code without call frame information, and no valid frame pointer to follow";
        /// The next frame would lie outside the thread's stack, or not above the present one.
        BadStack = 2, "bad-stack",
            "the next frame would lie outside the stack";
        /// The recipe for this address is of a kind csprof does not evaluate.
        UnsupportedCfi = 3, "unsupported-cfi",
            "call frame information of a kind that csprof does not evaluate";
        /// To follow the path to its end would have taken too long, or it was longer than csprof
        /// holds.
        TooDeep = 4, "too-deep",
            "the stack was too deep to be followed to its end in each sample; the innermost calls are recorded";
        /// Of a process that was sampled from outside: the stack goes on behind what the kernel
        /// copied of it.
        StackCopy = 5, "stack-copy",
            "the stack was deeper than the part of it that the kernel copied (--stack-copy); the innermost calls are recorded";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_positions() {
        for (index, reason) in LossReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
            assert_eq!(LossReason::from_index(index), Some(*reason));
        }
        for (index, reason) in PartialReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
        }
        assert_eq!(LossReason::from_index(LossReason::COUNT), None);
    }
}
