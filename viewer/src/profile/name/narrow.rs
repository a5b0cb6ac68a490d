//! The forms of a name for a column that is too narrow for it.

use super::scan::{Parts, Pieces, Scanned, group_end, scan};
use super::spelling::{base_component, by_self_type, is_path, is_plain, of_type, split_outside};

/// A name without arguments and return type, to be made shorter where that does not do.
pub(crate) struct NarrowName {
    /// With template arguments, and of a Rust method with its trait.
    pub(crate) whole: String,
    /// A Rust method with its type alone: the trait says less.
    pub(crate) of_type: Option<String>,
    /// The same, or else the whole, with a mark for template arguments.
    pub(crate) marked: String,
    /// Where in `marked` each component begins, up to the function's own name.
    pub(crate) starts: Vec<usize>,
}

impl NarrowName {
    /// `None` of a name that has nothing to leave out.
    pub(crate) fn of(name: &str, mark: &str) -> Option<Self> {
        // `<root>` is a name, not a type.
        let is_word = name.starts_with('<') && group_end(name.as_bytes(), 0) == name.len();
        if is_plain(name) || is_word {
            return None;
        }
        let pieces = of_type(name);
        let (whole, found) = Narrow::of(pieces);
        let of_type = self_type(pieces, &found).map(|pieces| Narrow::of(pieces).0);
        let form = of_type.as_ref().unwrap_or(&whole);
        let (marked, starts) = form.text(Some(mark));
        (!marked.is_empty()).then(|| Self {
            whole: whole.text(None).0,
            of_type: of_type.as_ref().map(|form| form.text(None).0),
            marked,
            starts,
        })
    }
}

/// `<T as Trait>::f` as `T::f`, where `T` is a path and nothing more.
fn self_type<'n>(pieces: Pieces<'n>, found: &Scanned) -> Option<Pieces<'n>> {
    let range = found.self_type.clone().filter(|range| range.start == 1)?;
    let inside = pieces[0].get(range.clone())?;
    let is_method = pieces[0].get(range.end + 1..)?.starts_with("::");
    let (half, _) = split_outside(inside, " as ");
    let is_bare = is_path(half) && split_outside(half, " ").1.is_none();
    by_self_type(pieces, found).next().filter(|_| is_bare && is_method)
}

/// A part of a name.
enum Piece {
    Text(String),
    /// Template arguments, and whether they are Rust's `::<…>`.
    Template(String, bool),
    /// What is inside of `<T as Trait>`, whole and bare.
    SelfType(String),
}

/// A name in pieces, without arguments and return type.
#[derive(Default)]
struct Narrow {
    pieces: Vec<Piece>,
    /// The first piece of each component.
    starts: Vec<usize>,
}

impl Narrow {
    fn of(pieces: Pieces<'_>) -> (Self, Scanned) {
        let mut narrow = Self::default();
        let found = scan(pieces, &mut narrow);
        (narrow, found)
    }

    fn component(&self, component: usize) -> &[Piece] {
        let end = self.starts.get(component + 1).copied().unwrap_or(self.pieces.len());
        &self.pieces[self.starts[component]..end]
    }

    /// The component at which the function's own name begins.
    fn base(&self, texts: &[String]) -> usize {
        base_component(self.starts.len(), |component| &texts[component])
    }

    /// The name with template arguments whole, or as this mark, and where components begin, up to
    /// the function's own name. A closure means nothing without the function that it stands in, so
    /// the two are one component.
    fn text(&self, mark: Option<&str>) -> (String, Vec<usize>) {
        let mut texts = Vec::with_capacity(self.starts.len());
        for component in 0..self.starts.len() {
            let mut text = String::new();
            for piece in self.component(component) {
                piece.add_to(&mut text, mark);
            }
            texts.push(text);
        }
        let base = self.base(&texts);
        let (mut whole, mut starts) = (String::new(), Vec::new());
        for (component, text) in texts.iter().enumerate() {
            if component > 0 {
                whole.push_str("::");
            }
            if component == 0 || component <= base && !text.starts_with(['{', '\'']) {
                starts.push(whole.len());
            }
            whole.push_str(text);
        }
        (whole, starts)
    }
}

impl Piece {
    fn add_to(&self, out: &mut String, mark: Option<&str>) {
        match (self, mark) {
            (Self::Text(text), _) => out.push_str(text),
            // What a Rust function was instantiated for says less than where it is.
            (Self::Template(_, true), Some(_)) => {}
            (Self::Template(text, _), mark) => {
                // The demangler writes `operator< <int>`.
                if out.ends_with('<') {
                    out.push(' ');
                }
                match mark {
                    None => out.push_str(text),
                    Some(mark) if text.starts_with('<') => out.push_str(&format!("<{mark}>")),
                    Some(_) => {}
                }
            }
            (Self::SelfType(inside), mark) => {
                out.push_str(&format!("<{}>", mark.unwrap_or(inside)));
            }
        }
    }
}

impl Parts for Narrow {
    fn begin_component(&mut self) {
        self.starts.push(self.pieces.len());
    }

    fn at_component_start(&self) -> bool {
        self.starts.last() == Some(&self.pieces.len())
    }

    fn restart(&mut self) {
        self.pieces.clear();
        self.starts.clear();
        self.begin_component();
    }

    fn push(&mut self, text: &str) {
        if !text.is_empty() {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
    }

    fn push_self_type(&mut self, inside: &str) {
        self.pieces.push(Piece::SelfType(inside.to_owned()));
    }

    fn push_braces(&mut self, bare: [&str; 2], _whole: &str) {
        bare.into_iter().for_each(|piece| self.push(piece));
    }

    fn push_template(&mut self, text: &str) {
        self.pieces.push(Piece::Template(text.to_owned(), text.starts_with("::")));
    }
}
