//! Views of rows: what text, CSV and JSON can list. What one is in particular, its
//! [`ViewDefinition`] says; how its rows are found, `report/listing.rs`.

use super::row::Cost;

/// Which rows there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Calling contexts from the root.
    #[default]
    TopDown,
    /// Functions by exclusive cost, and their callers.
    Callers,
    /// Functions by exclusive cost.
    Flat,
    /// A table of a [path](super::hall).
    Tables,
    /// The callers of a function, the function, and what it [calls](super::hall::ButterflyTables).
    Butterfly,
    /// Places: load modules, files, functions, lines; the forest is one of
    /// [`places`](super::places::places).
    Places,
}

/// What a view is.
#[derive(Clone, Copy, Debug)]
pub struct ViewDefinition {
    /// Which cost of a row counts: what orders rows, and what thresholds and limits go by.
    pub cost: Cost,
    /// What stands above the names of rows. A table has a title of its own.
    pub heading: &'static str,
    /// What one row is.
    pub row: &'static str,
    /// How rows lie.
    pub arrangement: Arrangement,
    /// Whether siblings have no cost in common, so that their sum says something.
    pub adds_up: bool,
    /// Whether rows stand for activations, which return.
    pub has_edges: bool,
}

/// How the rows of a view lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Rows can be opened.
    Tree,
    /// One after the other.
    List,
    /// Around one function: callers above it, callees below it.
    Around,
}

impl View {
    /// What the view is.
    #[must_use]
    pub const fn definition(self) -> ViewDefinition {
        let tree = ViewDefinition {
            cost: Cost::Inclusive,
            heading: "call path",
            row: "call path",
            arrangement: Arrangement::Tree,
            adds_up: true,
            has_edges: true,
        };
        match self {
            Self::TopDown => tree,
            Self::Callers => ViewDefinition {
                cost: Cost::Exclusive,
                heading: "function, callers below it",
                row: "function",
                ..tree
            },
            Self::Flat => ViewDefinition {
                cost: Cost::Exclusive,
                heading: "function",
                row: "function",
                arrangement: Arrangement::List,
                ..tree
            },
            Self::Tables => ViewDefinition {
                heading: "",
                row: "function",
                arrangement: Arrangement::List,
                adds_up: false,
                ..tree
            },
            Self::Butterfly => ViewDefinition {
                heading: "callers, function below them, callees below it",
                row: "function",
                arrangement: Arrangement::Around,
                adds_up: false,
                ..tree
            },
            Self::Places => ViewDefinition {
                heading: "place",
                row: "place",
                adds_up: false,
                has_edges: false,
                ..tree
            },
        }
    }

    /// Which cost of a row counts.
    #[must_use]
    pub const fn cost(self) -> Cost {
        self.definition().cost
    }
}
