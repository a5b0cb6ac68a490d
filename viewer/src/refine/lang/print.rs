//! From stages to text: the one way to write each of them. Parsing it gives the same stages.

use std::fmt::{self, Display, Formatter};

use super::keywords::is_keyword;
use super::lexer::{self, is_sign, property};
use super::stage::{Operand, Refinement, Stage};
use super::syntax::{Chain, FramePattern, Link, Predicate};

impl Display for Refinement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        separated(f, &self.stages, " | ")
    }
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (words, operand) = self.written();
        match operand {
            Operand::Predicate(predicate) => write!(f, "{predicate}"),
            Operand::Frames(pattern) => write!(f, "{words} {pattern}"),
            Operand::Place(pattern, false) => write!(f, "{words} {pattern}"),
            Operand::Place(pattern, true) => write!(f, "{words} last {pattern}"),
            Operand::Named(pattern, name) => write!(f, "{words} {pattern} as {}", group_name(name)),
            Operand::Grain(grain) => write!(f, "{words} {}", grain.name()),
            Operand::Axis(axis) => write!(f, "{words} {}", axis.name()),
            Operand::Period(period) => write!(f, "{words} {period}"),
            Operand::Test(test) => write!(f, "{words} {test}"),
        }
    }
}

impl Display for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(all) => operands(f, all, " and "),
            Self::Or(any) => operands(f, any, " or "),
            Self::Not(inner) if inner.is_compound() => write!(f, "not ({inner})"),
            Self::Not(inner) => write!(f, "not {inner}"),
            Self::Through(chain) => write!(f, "through {chain}"),
            Self::Under(pattern) => write!(f, "under {pattern}"),
            Self::In(pattern) => write!(f, "in {pattern}"),
            Self::Leaf(pattern) => write!(f, "leaf {pattern}"),
            Self::Times { pattern, comparison, count } => {
                write!(f, "times({pattern}) {} {count}", comparison.sign())
            }
            Self::Depth { comparison, count } => write!(f, "depth {} {count}", comparison.sign()),
            Self::Node(test) => write!(f, "node[{test}]"),
            Self::Numbered { axis, ranges } => {
                write!(f, "{} in ", axis.name())?;
                for (index, &(first, last)) in ranges.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    match (first, last) {
                        (first, last) if first == last => write!(f, "{first}")?,
                        (first, u32::MAX) => write!(f, "{first}..")?,
                        (first, last) => write!(f, "{first}..{last}")?,
                    }
                }
                Ok(())
            }
            Self::Named { axis, glob } => {
                write!(f, "{} = ", axis.name())?;
                word(f, glob)
            }
        }
    }
}

impl Predicate {
    /// Whether it needs parentheses inside another predicate.
    fn is_compound(&self) -> bool {
        matches!(self, Self::And(_) | Self::Or(_))
    }
}

impl Display for Chain {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.from_root { "^" } else { "" })?;
        write!(f, "{}", self.first)?;
        for (link, pattern) in &self.rest {
            f.write_str(match link {
                Link::Direct => " > ",
                Link::Below => " >> ",
            })?;
            write!(f, "{pattern}")?;
        }
        f.write_str(if self.to_leaf { "$" } else { "" })
    }
}

impl Display for FramePattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glob(glob) => word(f, glob),
            Self::Regex(source) => regex(f, source),
            Self::Exact(name) => quoted(f, name),
            Self::Field(field, glob) => {
                write!(f, "{}:", field.name())?;
                escaped(f, glob)
            }
            Self::Any(any) => {
                f.write_str("{")?;
                separated(f, any, ", ")?;
                f.write_str("}")
            }
            Self::Not(inner) if matches!(**inner, Self::All(_)) => write!(f, "!{{{inner}}}"),
            Self::Not(inner) => write!(f, "!{inner}"),
            Self::All(all) => separated(f, all, " & "),
            Self::Preset(preset) => write!(f, "@{}", preset.name()),
            Self::Named(set) => write!(f, "@{}", set.name()),
        }
    }
}

fn separated<T: Display>(f: &mut Formatter<'_>, parts: &[T], separator: &str) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { separator })?;
        write!(f, "{part}")?;
    }
    Ok(())
}

fn operands(f: &mut Formatter<'_>, parts: &[Predicate], separator: &str) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { separator })?;
        if part.is_compound() {
            write!(f, "({part})")?;
        } else {
            write!(f, "{part}")?;
        }
    }
    Ok(())
}

/// A glob as a word, such that it is no keyword, set, property, regular expression or sign.
fn word(f: &mut Formatter<'_>, glob: &str) -> fmt::Result {
    if is_keyword(glob)
        || glob.starts_with(['@', '/'])
        || glob.starts_with("node[")
        || property(glob).is_some()
    {
        f.write_str("\\")?;
    } else if lexer::is_one_word(glob) {
        return f.write_str(glob);
    }
    escaped(f, glob)
}

/// A glob with `\` before what would end the word. Pairs that begin with `\` stay as they are.
fn escaped(f: &mut Formatter<'_>, glob: &str) -> fmt::Result {
    let mut characters = glob.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\\' {
            write!(f, "\\{}", characters.next().unwrap_or('\\'))?;
        } else if is_sign(character) || (character == '$' && characters.peek().is_none()) {
            write!(f, "\\{character}")?;
        } else {
            write!(f, "{character}")?;
        }
    }
    Ok(())
}

/// A regular expression with `\` before `/`, unless that `/` is escaped already.
fn regex(f: &mut Formatter<'_>, source: &str) -> fmt::Result {
    f.write_str("/")?;
    let mut characters = source.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => write!(f, "\\{}", characters.next().unwrap_or('\\'))?,
            '/' => f.write_str("\\/")?,
            _ => write!(f, "{character}")?,
        }
    }
    f.write_str("/")
}

fn quoted(f: &mut Formatter<'_>, name: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in name.chars() {
        if matches!(character, '"' | '\\') {
            f.write_str("\\")?;
        }
        write!(f, "{character}")?;
    }
    f.write_str("\"")
}

/// A group's name: bare if it is a simple word.
fn group_name(name: &str) -> String {
    let simple = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    if simple { name.to_owned() } else { format!("{}", FramePattern::Exact(name.to_owned())) }
}
