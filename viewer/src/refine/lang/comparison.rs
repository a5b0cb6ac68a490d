//! Numbers compared.

/// How a number is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    AtLeast,
    /// `>`
    Greater,
}

impl Comparison {
    /// All comparisons and their signs.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Less, "<"),
        (Self::AtMost, "<="),
        (Self::Equal, "="),
        (Self::NotEqual, "!="),
        (Self::AtLeast, ">="),
        (Self::Greater, ">"),
    ];

    /// The sign used in the language.
    #[must_use]
    pub fn sign(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether `left` compares so with `right`.
    #[must_use]
    pub fn holds<N: Ord>(self, left: &N, right: &N) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::AtLeast => left >= right,
            Self::Greater => left > right,
        }
    }
}
