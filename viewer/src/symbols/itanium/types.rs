//! Types and literals in names. Each function takes the production of the grammar that its doc
//! comment names.

use super::nodes::{Id, Node};
use super::parse::{Facts, Parser};
use super::tables::{BUILTIN, BUILTIN_D};

impl<'n> Parser<'n> {
    /// `<type>`
    pub(super) fn type_(&mut self) -> Option<Id> {
        self.deeper(Self::any_type)
    }

    pub(super) fn any_type(&mut self) -> Option<Id> {
        let byte = self.peek();
        if let Some(&(_, name)) = BUILTIN.iter().find(|(mark, _)| *mark == byte) {
            self.at += 1;
            return Some(self.text(name));
        }
        let found = match (byte, self.second()) {
            (b'r' | b'V' | b'K', _) => {
                let before = self.at;
                let behind = self.qualifiers();
                if self.is_function_type() {
                    self.at = before;
                    self.function_type()?
                } else {
                    let of = self.type_()?;
                    self.make(Node::Qualified(of, behind))
                }
            }
            (b'U', b'l' | b't') => self.name(&mut Facts::default())?,
            (b'U', _) => {
                self.at += 1;
                let word = self.source_name()?;
                let word = match self.peek() {
                    b'I' => {
                        let arguments = self.arguments()?;
                        self.make(Node::Template(word, arguments))
                    }
                    _ => word,
                };
                let of = self.type_()?;
                self.make(Node::Vendor(of, word))
            }
            (b'u', _) => {
                self.at += 1;
                let name = self.source_name()?;
                if self.peek() == b'I' {
                    let arguments = self.arguments()?;
                    self.make(Node::Template(name, arguments))
                } else {
                    name
                }
            }
            (b'P', _) => {
                self.at += 1;
                let to = self.type_()?;
                self.make(Node::Pointer(to))
            }
            (b'R', _) => {
                self.at += 1;
                let to = self.type_()?;
                self.make(Node::Reference(to))
            }
            (b'O', _) => {
                self.at += 1;
                let to = self.type_()?;
                self.make(Node::RvalueReference(to))
            }
            (b'C', _) => {
                self.at += 1;
                let of = self.type_()?;
                self.make(Node::Suffixed(of, " _Complex"))
            }
            (b'G', _) => {
                self.at += 1;
                let of = self.type_()?;
                self.make(Node::Suffixed(of, " _Imaginary"))
            }
            (b'F', _) => self.function_type()?,
            (b'A', _) => self.array()?,
            (b'M', _) => {
                self.at += 1;
                let class = self.type_()?;
                let member = self.type_()?;
                self.make(Node::MemberPointer(class, member))
            }
            (b'T', b's' | b'u' | b'e') => {
                self.at += 2;
                self.name(&mut Facts::default())?
            }
            (b'T', _) => {
                let parameter = self.template_parameter()?;
                if self.peek() == b'I' && !self.in_conversion {
                    self.keep(parameter);
                    let arguments = self.arguments()?;
                    self.make(Node::Template(parameter, arguments))
                } else {
                    parameter
                }
            }
            (b'D', second) => match second {
                b't' | b'T' => self.decltype()?,
                b'p' => {
                    self.at += 2;
                    let of = self.type_()?;
                    self.make(Node::Expansion(of))
                }
                b'v' => {
                    self.at += 2;
                    let size = if self.take("_") {
                        self.expression()?
                    } else {
                        let start = self.at;
                        self.number()?;
                        self.text(&self.name[start..self.at])
                    };
                    self.expect("_")?;
                    let of = self.type_()?;
                    self.make(Node::Vector(of, size))
                }
                b'o' | b'O' | b'w' | b'x' => self.function_type()?,
                b'F' => {
                    self.at += 2;
                    let bits = self.number()?;
                    let is_extended = self.take("x");
                    let is_brain = self.take("b");
                    if !is_extended && !is_brain {
                        self.expect("_")?;
                    }
                    let name = match (bits, is_extended, is_brain) {
                        (16, false, false) => "_Float16",
                        (32, false, false) => "_Float32",
                        (32, true, false) => "_Float32x",
                        (64, false, false) => "_Float64",
                        (64, true, false) => "_Float64x",
                        (128, false, false) => "_Float128",
                        (16, false, true) => "std::bfloat16_t",
                        _ => return None,
                    };
                    return Some(self.text(name));
                }
                _ => {
                    let (_, name) = BUILTIN_D.iter().find(|(mark, _)| *mark == second)?;
                    self.at += 2;
                    return Some(self.text(name));
                }
            },
            (b'S', second) if second != b't' => {
                let found = self.substitution()?;
                if self.peek() != b'I' {
                    return Some(found);
                }
                let arguments = self.arguments()?;
                self.make(Node::Template(found, arguments))
            }
            _ => self.name(&mut Facts::default())?,
        };
        Some(self.keep(found))
    }

    /// Whether a function type is next, behind qualifiers that are its own.
    pub(super) fn is_function_type(&self) -> bool {
        match (self.peek(), self.second()) {
            (b'F', _) => true,
            (b'D', second) => matches!(second, b'o' | b'O' | b'w' | b'x'),
            _ => false,
        }
    }

    /// `<function-type>`
    pub(super) fn function_type(&mut self) -> Option<Id> {
        let mut behind = self.qualifiers();
        if self.take("Do") {
            behind.noexcept = true;
        } else if self.take("DO") {
            self.expression()?;
            self.expect("E")?;
            behind.noexcept = true;
        } else if self.take("Dw") {
            self.until_end(Self::type_)?;
        }
        self.take("Dx");
        self.expect("F")?;
        self.take("Y");
        let result = self.type_()?;
        let mut parameters = Vec::new();
        while !self.take("E") {
            if self.take("v") {
                continue;
            }
            if self.take("RE") {
                behind.reference = "&";
                break;
            }
            if self.take("OE") {
                behind.reference = "&&";
                break;
            }
            parameters.push(self.type_()?);
        }
        Some(self.make(Node::FunctionType { result, parameters, behind }))
    }

    /// `<array-type>`
    pub(super) fn array(&mut self) -> Option<Id> {
        self.expect("A")?;
        let size = match self.peek() {
            b'_' => None,
            b'0'..=b'9' => {
                let start = self.at;
                self.number()?;
                Some(self.text(&self.name[start..self.at]))
            }
            _ => Some(self.expression()?),
        };
        self.expect("_")?;
        let of = self.type_()?;
        Some(self.make(Node::Array(of, size)))
    }

    /// `<decltype>`
    pub(super) fn decltype(&mut self) -> Option<Id> {
        self.at += 2;
        let of = self.expression()?;
        self.expect("E")?;
        Some(self.make(Node::Decltype(of)))
    }

    /// `<expr-primary>`
    pub(super) fn literal(&mut self) -> Option<Id> {
        self.expect("L")?;
        if self.take("_Z") {
            let found = self.encoding()?;
            self.expect("E")?;
            return Some(found);
        }
        if self.take("Z") {
            let found = self.encoding()?;
            self.expect("E")?;
            return Some(found);
        }
        if self.take("b0E") {
            return Some(self.text("false"));
        }
        if self.take("b1E") {
            return Some(self.text("true"));
        }
        if self.take("DnE") || self.take("Dn0E") {
            return Some(self.text("nullptr"));
        }
        let kind = self.peek();
        let of = self.type_()?;
        let end = self.rest().find('E')?;
        let value = &self.rest()[..end];
        self.at += end + 1;
        if matches!(self.node(of), Node::Lambda { .. }) || value.is_empty() {
            return Some(if value.is_empty() {
                self.make(Node::Braced(Some(of), Vec::new()))
            } else {
                of
            });
        }
        let digits = value.strip_prefix('n').unwrap_or(value);
        let is_negative = digits.len() < value.len();
        let is_float = matches!(kind, b'f' | b'd' | b'e' | b'g');
        if is_float || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(self.make(Node::TypedLiteral(of, value)));
        }
        // How C++ writes a number of the type: `3`, `3u`; of an enumeration or `short`,
        // `(Kind)3`.
        let suffix = match kind {
            b'i' => Some(""),
            b'j' => Some("u"),
            b'l' => Some("l"),
            b'm' => Some("ul"),
            b'x' => Some("ll"),
            b'y' => Some("ull"),
            _ => None,
        };
        Some(match suffix {
            Some(suffix) => self.make(Node::Literal(digits, is_negative, suffix)),
            None => self.make(Node::CastLiteral(of, digits, is_negative)),
        })
    }
}
