//! Expressions in names: template arguments, sizes of arrays, `decltype`. Each function takes the
//! production of the grammar that its doc comment names.

use super::nodes::{Id, Node};
use super::parse::{Facts, Parser};
use super::tables::OPERATORS;

impl<'n> Parser<'n> {
    /// `<expression>`
    pub(super) fn expression(&mut self) -> Option<Id> {
        self.deeper(Self::any_expression)
    }

    fn any_expression(&mut self) -> Option<Id> {
        let is_global = self.take("gs");
        match (self.peek(), self.second()) {
            (b'L', _) => return self.literal(),
            (b'T', _) => return self.template_parameter(),
            (b'f', b'p') => {
                self.at += 2;
                return self.parameter();
            }
            (b'f', b'L')
                if self.name.as_bytes().get(self.at + 2).is_some_and(u8::is_ascii_digit) =>
            {
                self.at += 2;
                self.number()?;
                self.expect("p")?;
                return self.parameter();
            }
            (b'f', b'l' | b'r' | b'L' | b'R') => return self.fold(),
            (b'u', _) => {
                self.at += 1;
                let name = self.source_name()?;
                let arguments = self.until_end(Self::argument)?;
                return Some(self.make(Node::Call(name, arguments)));
            }
            (b'1'..=b'9', _) => return self.unresolved(),
            _ => {}
        }
        let mark = self.rest().get(..2)?;
        match mark {
            "sr" | "on" | "dn" => return self.unresolved(),
            _ => self.at += 2,
        }
        let found = match mark {
            "cv" => {
                let to = self.type_()?;
                let operands = if self.take("_") {
                    self.until_end(Self::expression)?
                } else {
                    vec![self.expression()?]
                };
                Node::Cast(to, operands)
            }
            "tl" => {
                let of = self.type_()?;
                Node::Braced(Some(of), self.until_end(Self::braced)?)
            }
            "il" => Node::Braced(None, self.until_end(Self::braced)?),
            "cl" => {
                let of = self.expression()?;
                Node::Call(of, self.until_end(Self::expression)?)
            }
            "cp" => {
                let of = self.unresolved()?;
                Node::Call(of, self.until_end(Self::expression)?)
            }
            "dc" | "sc" | "cc" | "rc" => {
                let words = match mark {
                    "dc" => "dynamic_cast",
                    "sc" => "static_cast",
                    "cc" => "const_cast",
                    _ => "reinterpret_cast",
                };
                let to = self.type_()?;
                Node::NamedCast(words, to, self.expression()?)
            }
            "dt" | "pt" => {
                let of = self.expression()?;
                let member = self.unresolved()?;
                Node::Member(of, if mark == "dt" { "." } else { "->" }, member)
            }
            "ds" | "pm" => {
                let of = self.expression()?;
                Node::Member(of, if mark == "ds" { ".*" } else { "->*" }, self.expression()?)
            }
            "ix" => {
                let of = self.expression()?;
                Node::Subscript(of, self.expression()?)
            }
            "qu" => {
                let test = self.expression()?;
                let one = self.expression()?;
                Node::Conditional(test, one, self.expression()?)
            }
            "st" => Node::Enclosed("sizeof ", self.type_()?),
            "sz" => Node::Enclosed("sizeof ", self.expression()?),
            "at" => Node::Enclosed("alignof ", self.type_()?),
            "az" => Node::Enclosed("alignof ", self.expression()?),
            "nx" => Node::Enclosed("noexcept ", self.expression()?),
            "ti" => Node::Enclosed("typeid ", self.type_()?),
            "te" => Node::Enclosed("typeid ", self.expression()?),
            "sZ" => Node::SizeOfPack(if self.peek() == b'T' {
                self.template_parameter()?
            } else {
                self.expression()?
            }),
            "sP" => {
                let several = self.until_end(Self::argument)?;
                Node::SizeOfPack(self.make(Node::Arguments(several)))
            }
            "sp" => Node::Expansion(self.expression()?),
            "tr" => Node::Text("throw"),
            "tw" => Node::Prefix("throw ", self.expression()?),
            "pp" | "mm" => {
                let symbol = if mark == "pp" { "++" } else { "--" };
                if self.take("_") {
                    Node::Prefix(symbol, self.expression()?)
                } else {
                    Node::Postfix(self.expression()?, symbol)
                }
            }
            "dl" | "da" => {
                let words = match (mark, is_global) {
                    ("dl", false) => "delete ",
                    ("dl", true) => "::delete ",
                    (_, false) => "delete[] ",
                    (_, true) => "::delete[] ",
                };
                Node::Prefix(words, self.expression()?)
            }
            "nw" | "na" => {
                let words = match (mark, is_global) {
                    ("nw", false) => "new",
                    ("nw", true) => "::new",
                    (_, false) => "new[]",
                    (_, true) => "::new[]",
                };
                let mut placement = Vec::new();
                while !self.take("_") {
                    placement.push(self.expression()?);
                }
                let of = self.type_()?;
                let with = if self.take("E") {
                    None
                } else if self.take("pi") {
                    Some(self.until_end(Self::expression)?)
                } else {
                    return None;
                };
                Node::New { words, placement, of, with }
            }
            _ => {
                let &(_, symbol, operands) = OPERATORS.iter().find(|(code, ..)| *code == mark)?;
                match operands {
                    1 => Node::Prefix(symbol, self.expression()?),
                    2 => {
                        let left = self.expression()?;
                        Node::Binary(left, symbol, self.expression()?)
                    }
                    _ => return None,
                }
            }
        };
        Some(self.make(found))
    }

    /// `<braced-expression>`, without designators.
    fn braced(&mut self) -> Option<Id> {
        if self.peek() == b'd' && matches!(self.second(), b'i' | b'x' | b'X') {
            return None;
        }
        self.expression()
    }

    /// `<function-param>`, behind its level.
    pub(super) fn parameter(&mut self) -> Option<Id> {
        if self.take("T") {
            return Some(self.text("this"));
        }
        self.qualifiers();
        let number = self.index()? + 1;
        Some(self.make(Node::FunctionParameter(number)))
    }

    /// `<fold-expr>`
    pub(super) fn fold(&mut self) -> Option<Id> {
        let kind = self.second();
        self.at += 2;
        let mark = self.rest().get(..2)?;
        let &(_, symbol, _) = OPERATORS.iter().find(|(code, ..)| *code == mark)?;
        self.at += 2;
        let first = self.expression()?;
        Some(match kind {
            b'l' => self.make(Node::Fold(None, symbol, Some(first))),
            b'r' => self.make(Node::Fold(Some(first), symbol, None)),
            _ => {
                let last = self.expression()?;
                self.make(Node::Fold(Some(first), symbol, Some(last)))
            }
        })
    }

    /// `<unresolved-name>`
    pub(super) fn unresolved(&mut self) -> Option<Id> {
        self.deeper(|parser| {
            if !parser.take("sr") {
                return parser.base_name();
            }
            if parser.types_have_members {
                let of = parser.type_()?;
                let base = parser.base_name()?;
                return Some(parser.make(Node::Nested(of, base)));
            }
            if parser.take("N") {
                let mut found = parser.unresolved_type()?;
                while !parser.take("E") {
                    let level = parser.simple_id()?;
                    found = parser.make(Node::Nested(found, level));
                }
                let base = parser.base_name()?;
                return Some(parser.make(Node::Nested(found, base)));
            }
            let mut found;
            if parser.peek().is_ascii_digit() {
                found = parser.simple_id()?;
                while !parser.take("E") {
                    let level = parser.simple_id()?;
                    found = parser.make(Node::Nested(found, level));
                }
            } else {
                found = parser.unresolved_type()?;
                if parser.peek() == b'I' {
                    let arguments = parser.arguments()?;
                    found = parser.make(Node::Template(found, arguments));
                }
            }
            let base = parser.base_name()?;
            Some(parser.make(Node::Nested(found, base)))
        })
    }

    /// `<unresolved-type>`
    fn unresolved_type(&mut self) -> Option<Id> {
        match (self.peek(), self.second()) {
            (b'T', _) => {
                let found = self.template_parameter()?;
                Some(self.keep(found))
            }
            (b'D', b't' | b'T') => {
                let found = self.decltype()?;
                Some(self.keep(found))
            }
            (b'S', second) if second != b't' => self.substitution(),
            // Not in the ABI, but made by compilers: any type.
            _ => self.type_(),
        }
    }

    /// `<base-unresolved-name>`
    pub(super) fn base_name(&mut self) -> Option<Id> {
        if self.take("dn") {
            let of = if self.peek().is_ascii_digit() {
                self.simple_id()?
            } else {
                self.unresolved_type()?
            };
            return Some(self.make(Node::Prefix("~", of)));
        }
        if self.peek().is_ascii_digit() {
            return self.simple_id();
        }
        self.take("on");
        let name = self.operator_name(&mut Facts::default())?;
        if self.peek() != b'I' {
            return Some(name);
        }
        let arguments = self.arguments()?;
        Some(self.make(Node::Template(name, arguments)))
    }

    /// `<simple-id>`
    pub(super) fn simple_id(&mut self) -> Option<Id> {
        let name = self.source_name()?;
        if self.peek() != b'I' {
            return Some(name);
        }
        let arguments = self.arguments()?;
        Some(self.make(Node::Template(name, arguments)))
    }
}
