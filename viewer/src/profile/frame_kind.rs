//! Kinds of frames, and all that differs from one kind to another: the table to which a new kind
//! adds an entry.
//!
//! The rest of the viewer asks the table ([`FrameKind::definition`] and the methods of
//! [`FrameKind`]) and names a kind only to make frames of it, or for what that kind alone does.

/// What is the same for all frames of one kind.
#[derive(Debug)]
pub struct KindDefinition {
    /// The word for it in the refinement language (`kind:inline`) and in outlines.
    pub word: &'static str,
    /// The word for it in the column `kind` of CSV and JSON.
    pub reported: &'static str,
    /// How a picture names it; empty if frames of this kind need no remark.
    pub label: &'static str,
    /// Whether a row says the label beside the name. Other names say it themselves, as `[waits:
    /// read]` does.
    pub is_label_shown: bool,
    /// What text reports put behind the name, in parentheses; empty for nothing.
    pub remark: &'static str,
    /// What the key `=` says of it; empty if nothing is to be said, or if the view says it.
    pub explanation: &'static str,
    /// How the name of a frame is painted.
    pub look: Look,
    /// What a frame of this kind is.
    pub nature: Nature,
    /// Which activation it is on the stack for.
    pub activation: Activation,
    /// A function with frames of several kinds is shown as the one with the lowest precedence here.
    pub precedence: u8,
}

/// How the name of a frame is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// As text.
    Plain,
    /// Slanted: no call of its own.
    Slanted,
    /// Fainter than text.
    Faint,
    /// As a warning.
    Warning,
}

/// What a frame is. Each one is all that the later ones are, and more: a function is code, and code
/// is what the program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nature {
    /// A function.
    Function,
    /// Code within a function.
    Code,
    /// What the program does, without code of its own.
    Doing,
    /// A part of call paths.
    Path,
    /// A group of call paths.
    Group,
}

/// Which activation a frame is on the stack for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// One of its own: it was called, and its returns are counted as edges.
    Own,
    /// That of the frame above it.
    OfCaller,
    /// One that has ended.
    Ended,
    /// None.
    None,
}

/// Makes the kinds and their table of the same entries.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $definition:tt)*) => {
        /// What kind of thing a frame is. Its number is in files of the viewer's state: new kinds
        /// come last.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum FrameKind {
            $($(#[$doc])* $kind,)*
        }

        impl FrameKind {
            /// All kinds, by number.
            pub const ALL: [Self; [$(Self::$kind),*].len()] = [$(Self::$kind),*];
        }

        static DEFINITIONS: [KindDefinition; FrameKind::ALL.len()] = [$(KindDefinition $definition),*];
    };
}

kinds! {
    /// A function that was called.
    Call: {
        word: "call",
        reported: "call",
        label: "",
        is_label_shown: false,
        remark: "",
        explanation: "",
        look: Look::Plain,
        nature: Nature::Function,
        activation: Activation::Own,
        precedence: 0,
    }
    /// A function inlined into its caller.
    Inline: {
        word: "inline",
        reported: "inline",
        label: "inlined",
        is_label_shown: true,
        remark: "inlined",
        explanation: "inlined into its caller: it has cost, but nothing returns",
        look: Look::Slanted,
        nature: Nature::Function,
        activation: Activation::OfCaller,
        precedence: 8,
    }
    /// A function that left by a tail call: it is known to have been called, and is not on the
    /// stack.
    Tail: {
        word: "tail",
        reported: "tail",
        label: "tail call",
        is_label_shown: true,
        remark: "tail",
        explanation: "left by a tail call: it was called, and jumped to what was sampled; it was not on the stack, so \
                      nothing is seen to return",
        look: Look::Slanted,
        nature: Nature::Function,
        activation: Activation::Ended,
        precedence: 6,
    }
    /// A loop in the code of the function above it: what the stage `by loop` puts there.
    Loop: {
        word: "loop",
        reported: "loop",
        label: "loop",
        is_label_shown: false,
        remark: "",
        explanation: "a loop in the code of a function: all cost inside it, and no call",
        look: Look::Slanted,
        nature: Nature::Code,
        activation: Activation::OfCaller,
        precedence: 7,
    }
    /// Code without a name.
    Unknown: {
        word: "unknown",
        // Code without a name was called like any other.
        reported: "call",
        label: "unknown",
        is_label_shown: false,
        remark: "",
        explanation: "code without a name; Info says why its module has none",
        look: Look::Faint,
        nature: Nature::Function,
        activation: Activation::Own,
        precedence: 1,
    }
    /// The root of paths whose outer callers could not be found.
    Partial: {
        word: "partial",
        reported: "partial",
        label: "partial",
        is_label_shown: false,
        remark: "",
        explanation: "not a function: the outer callers of these paths could not be found",
        look: Look::Warning,
        nature: Nature::Path,
        activation: Activation::None,
        precedence: 2,
    }
    /// The root of everything.
    Root: {
        word: "root",
        reported: "root",
        label: "",
        is_label_shown: false,
        remark: "",
        explanation: "the ends of paths",
        look: Look::Faint,
        nature: Nature::Group,
        activation: Activation::None,
        precedence: 4,
    }
    /// A rank or another context, above all its paths: what the stage `split` puts there. Views
    /// explain it.
    Context: {
        word: "context",
        reported: "context",
        label: "",
        is_label_shown: false,
        remark: "",
        explanation: "",
        look: Look::Plain,
        nature: Nature::Group,
        activation: Activation::None,
        precedence: 3,
    }
    /// What a thread waited for, below the function that called the kernel.
    Wait: {
        word: "wait",
        reported: "wait",
        label: "wait",
        is_label_shown: false,
        remark: "",
        explanation: "not a function: the system call in which the thread waited when it was sampled",
        look: Look::Slanted,
        nature: Nature::Doing,
        activation: Activation::OfCaller,
        precedence: 5,
    }
    /// Where the code above had the code below run by other threads.
    Handover: {
        word: "handover",
        reported: "handover",
        label: "handed to threads",
        is_label_shown: false,
        remark: "",
        explanation: "not a function: the code above had other threads run the code below, so nothing is seen to return",
        look: Look::Slanted,
        nature: Nature::Doing,
        activation: Activation::OfCaller,
        precedence: 9,
    }
    /// Where the kernel was on the program's behalf, below the function that entered it.
    Kernel: {
        word: "kernel",
        reported: "kernel",
        label: "kernel",
        is_label_shown: false,
        remark: "",
        explanation: "a function of the kernel's: it was at work for the function above when the event was counted, \
                      and nothing is seen to return",
        look: Look::Slanted,
        nature: Nature::Doing,
        activation: Activation::OfCaller,
        precedence: 10,
    }
}

const _: () = assert!(FrameKind::ALL.len() <= 1 << FrameKind::BITS);

impl FrameKind {
    /// Bits that hold the number of a kind.
    pub(super) const BITS: u32 = 4;

    /// What is the same for all frames of this kind.
    #[inline]
    #[must_use]
    pub fn definition(self) -> &'static KindDefinition {
        &DEFINITIONS[self as usize]
    }

    /// The kind with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The kind with this word in the language.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.definition().word == word)
    }

    /// Whether such frames were called and return, so that they have edges.
    #[inline]
    #[must_use]
    pub fn is_called(self) -> bool {
        self.definition().activation == Activation::Own
    }

    /// Whether such frames belong to the activation of the frame above them.
    #[must_use]
    pub fn is_within_caller(self) -> bool {
        self.definition().activation == Activation::OfCaller
    }

    /// Whether such frames are functions, in whichever way they came to be in a path.
    #[must_use]
    pub fn is_function(self) -> bool {
        self.definition().nature <= Nature::Function
    }

    /// Whether such frames are code: functions, or parts of them. Only code has a place in modules
    /// and files.
    #[must_use]
    pub fn is_code(self) -> bool {
        self.definition().nature <= Nature::Code
    }

    /// Whether such frames say what the program did.
    #[must_use]
    pub fn is_of_program(self) -> bool {
        self.definition().nature <= Nature::Doing
    }

    /// Whether such frames are parts of call paths. Others are groups of them, which no pattern of
    /// frames means.
    #[must_use]
    pub fn is_in_paths(self) -> bool {
        self.definition().nature <= Nature::Path
    }

    /// The kind of such a frame after a stage has given it a new name: what has no call of its own
    /// has none then.
    #[must_use]
    pub fn renamed(self) -> Self {
        match self.definition().activation {
            Activation::OfCaller | Activation::Ended => self,
            Activation::Own | Activation::None => Self::Call,
        }
    }

    /// What a row says beside the name; empty for nothing.
    #[must_use]
    pub fn shown_label(self) -> &'static str {
        let definition = self.definition();
        if definition.is_label_shown { definition.label } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a guide or a help page says the kinds are: all that patterns can mean.
    fn words() -> Vec<&'static str> {
        let in_paths = FrameKind::ALL.into_iter().filter(|kind| kind.is_in_paths());
        in_paths.map(|kind| kind.definition().word).collect()
    }

    #[test]
    fn words_and_precedences_are_each_of_one_kind() {
        for (number, kind) in FrameKind::ALL.into_iter().enumerate() {
            let others = || FrameKind::ALL.into_iter().filter(|other| *other != kind);
            let definition = kind.definition();
            assert!(others().all(|other| other.definition().word != definition.word), "{kind:?}");
            assert!(
                others().all(|other| other.definition().precedence != definition.precedence),
                "{kind:?}"
            );
            assert_eq!(FrameKind::from_word(definition.word), Some(kind));
            assert_eq!(FrameKind::from_number(u8::try_from(number).unwrap()), Some(kind));
        }
        assert_eq!(FrameKind::from_word("inlined"), None);
        assert_eq!(FrameKind::from_number(FrameKind::ALL.len() as u8), None);
    }

    #[test]
    fn the_guide_and_the_help_name_all_kinds() {
        let mut words = words();
        assert!(
            include_str!("../cli/help/refine.txt").contains(&format!("({})", words.join(", ")))
        );
        let last = words.pop().unwrap();
        let listed = format!("`{}` or `{last}` |", words.join("`, `"));
        assert!(include_str!("../../../docs/refinement.md").contains(&listed), "{listed}");
    }
}
