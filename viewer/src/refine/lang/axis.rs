//! Contexts of samples, and the words for each: the table to which a new one adds an entry.
//!
//! What a sample has of each is in `select/contexts.rs`, and over which of them cost is spread in
//! `views/dimension.rs`. The rest of the viewer asks the table, and names a context only for what
//! that one alone has.

/// What is said of one context, and what it is.
#[derive(Debug)]
pub struct AxisDefinition {
    /// What a predicate on it asks for, for help.
    pub(crate) help: &'static str,
    /// How a predicate on it is written.
    pub(crate) usage: &'static str,
    /// What the command of its name does.
    pub only: &'static str,
    /// The stage that splits by it.
    pub split: &'static str,
    /// What that stage does.
    pub split_help: &'static str,
    /// What it is compared with.
    pub(crate) among: &'static str,
    /// Whether it parts the activations of one thread: a thread enters an epoch, or a phase, with
    /// some on its stack.
    pub parts_activations: bool,
    /// Whether they wait for each other, so that there is an imbalance.
    pub has_imbalance: bool,
}

/// The last of several is joined by `or`.
macro_rules! one_of {
    ($one:literal $last:literal) => { concat!($one, " or ", $last) };
    ($one:literal $($more:literal)+) => { concat!($one, ", ", one_of!($($more)+)) };
}

/// Makes the contexts, their table, and sentences with all of them, of the same entries.
macro_rules! axes {
    ($($(#[$doc:meta])* $axis:ident $name:literal {
        $($property:ident: $value:expr,)*
    })*) => {
        /// Part of a sample's context.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Axis {
            $($(#[$doc])* $axis,)*
        }

        impl Axis {
            /// All axes and their names.
            pub const ALL: [(Self, &'static str); [$($name),*].len()] =
                [$((Self::$axis, $name)),*];
        }

        static DEFINITIONS: [AxisDefinition; Axis::ALL.len()] = [$(AxisDefinition {
            split: concat!("split ", $name),
            split_help: concat!("a row for each ", $name, " above all"),
            among: concat!($name, " with samples"),
            $($property: $value,)*
        }),*];

        /// What the stage `split` does.
        pub(crate) const SPLIT: &str =
            concat!("a row for each ", one_of!($($name)*), ": split rank");

        /// What a row of one of them is.
        pub const NO_FUNCTION: &str =
            concat!("no function: all paths of this ", one_of!($($name)*));
    };
}

axes! {
    /// MPI or job rank of the process.
    Rank "rank" {
        help: "samples of ranks: rank in 0..3",
        usage: "`rank in 0..3` or `rank = 0`",
        only: "only the samples of some ranks",
        parts_activations: false,
        has_imbalance: true,
    }
    /// Host that the process ran on; hosts are counted from 0 in the order of their names. One may
    /// have more ranks than another, which is no imbalance.
    Host "host" {
        help: "samples of ranks on hosts: host = node7, host = node*",
        usage: "`host = node7` or `host = node*`",
        only: "only the samples of some hosts",
        parts_activations: false,
        has_imbalance: false,
    }
    /// Process, counted from 0 in the order in which the processes began.
    Process "process" {
        help: "samples of processes: process in 0..3, process = solver*",
        usage: "`process in 0..3` or `process = solver*`",
        only: "only the samples of some processes, by name or id",
        parts_activations: false,
        has_imbalance: true,
    }
    /// Thread, counted from 0 within its process.
    Thread "thread" {
        help: "samples of threads: thread in 0..3, thread = worker*",
        usage: "`thread in 0..3` or `thread = worker*`",
        only: "only the samples of some threads, by name or id",
        parts_activations: false,
        has_imbalance: true,
    }
    /// Epoch, counted from 0 within its process.
    Epoch "epoch" {
        help: "samples of epochs: epoch in 1",
        usage: "`epoch in 0..3` or `epoch = 1`",
        only: "only the samples of some epochs",
        parts_activations: true,
        has_imbalance: false,
    }
    /// What the program said that it was doing; names are counted from 0 in the order in which they
    /// first began, those of which that is not known last.
    Phase "phase" {
        help: "samples of phases: phase = assemble, phase = as*",
        usage: "`phase = assemble` or `phase in 0..3`",
        only: "only the samples of some phases",
        parts_activations: true,
        has_imbalance: false,
    }
}

impl Axis {
    /// The name used in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The one of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(axis, _)| axis)
    }

    /// What is said of it, and what it is.
    #[must_use]
    pub fn definition(self) -> &'static AxisDefinition {
        &DEFINITIONS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_and_the_help_name_all_contexts() {
        let mut names = Axis::ALL.map(|(_, name)| name).to_vec();
        let help = include_str!("../../cli/help/refine.txt");
        // The transforms, which stand beside the predicates.
        let right = help.lines().map(|line| line.chars().skip(63).collect::<String>());
        let right = right.collect::<Vec<_>>().join(" ");
        let right = right.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(right.contains(&format!("split {} during", names.join(", "))), "{right}");
        for name in &names {
            let is_shown = [format!(" {name} in "), format!(" {name} = ")];
            assert!(is_shown.iter().any(|predicate| help.contains(predicate)), "{name}");
        }
        let last = names.pop().unwrap();
        let listed = format!("`split` takes `{}` or `{last}`.", names.join("`, `"));
        let guide = include_str!("../../../../docs/refinement.md");
        let guide = guide.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(guide.contains(&listed), "{listed}");
    }
}
