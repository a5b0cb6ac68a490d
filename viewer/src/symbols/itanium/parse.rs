//! From the bytes of a mangled name to its nodes. Each function takes the production of the grammar
//! that its doc comment names.

use super::nodes::{Behind, DEPTH, Id, Node};
use super::tables::OPERATORS;

/// Parses what follows `_Z`. Returns the nodes, the one of the whole name, and what is left: what a
/// compiler appended. `types_have_members` is how gcc writes `T::member` in expressions: behind
/// `sr` is a whole type.
pub(super) fn parse(name: &str, types_have_members: bool) -> Option<(Vec<Node<'_>>, Id, &str)> {
    if !name.is_ascii() {
        return None;
    }
    let (nodes, seen) = (Vec::new(), Vec::new());
    let mut parser =
        Parser { name, at: 0, nodes, seen, in_conversion: false, types_have_members, depth: 0 };
    let root = parser.encoding()?;
    let rest = parser.rest();
    (rest.is_empty() || rest.starts_with('.')).then_some((parser.nodes, root, rest))
}

pub(super) struct Parser<'n> {
    pub(super) name: &'n str,
    pub(super) at: usize,
    nodes: Vec<Node<'n>>,
    /// What substitutions refer to.
    seen: Vec<Id>,
    /// Whether arguments that come next are those of a conversion function, not of its type.
    pub(super) in_conversion: bool,
    pub(super) types_have_members: bool,
    depth: usize,
}

/// What a name tells about the function that has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    behind: Behind,
    ends_with_arguments: bool,
    has_no_result: bool,
}

impl<'n> Parser<'n> {
    pub(super) fn rest(&self) -> &'n str {
        &self.name[self.at..]
    }

    pub(super) fn peek(&self) -> u8 {
        self.name.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    pub(super) fn second(&self) -> u8 {
        self.name.as_bytes().get(self.at + 1).copied().unwrap_or(0)
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn expect(&mut self, text: &str) -> Option<()> {
        self.take(text).then_some(())
    }

    pub(super) fn make(&mut self, node: Node<'n>) -> Id {
        // Fewer than bytes of the name, of which there are 65 536 at most.
        let id = Id::try_from(self.nodes.len()).unwrap_or(Id::MAX);
        self.nodes.push(node);
        id
    }

    pub(super) fn node(&self, id: Id) -> &Node<'n> {
        &self.nodes[id as usize]
    }

    pub(super) fn text(&mut self, text: &'n str) -> Id {
        self.make(Node::Text(text))
    }

    /// Keeps a node for substitutions.
    pub(super) fn keep(&mut self, id: Id) -> Id {
        self.seen.push(id);
        id
    }

    /// Runs a part one level deeper.
    pub(super) fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= DEPTH {
            return None;
        }
        self.depth += 1;
        let found = part(self);
        self.depth -= 1;
        found
    }

    pub(super) fn until_end(
        &mut self,
        mut part: impl FnMut(&mut Self) -> Option<Id>,
    ) -> Option<Vec<Id>> {
        let mut found = Vec::new();
        while !self.take("E") {
            found.push(part(self)?);
        }
        Some(found)
    }

    /// A decimal number without sign, of nine digits at most.
    pub(super) fn number(&mut self) -> Option<usize> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if digits > 9 {
            return None;
        }
        let number = self.rest()[..digits].parse().ok()?;
        self.at += digits;
        Some(number)
    }

    /// `<seq-id>` and `_`: 0 for `_`, 1 for `0_`, in base 36.
    pub(super) fn sequence(&mut self) -> Option<usize> {
        let end = self.rest().find('_')?;
        let digits = &self.rest()[..end];
        let is_digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        if !digits.bytes().all(is_digit) {
            return None;
        }
        self.at += end + 1;
        if digits.is_empty() {
            return Some(0);
        }
        usize::from_str_radix(digits, 36).ok()?.checked_add(1)
    }

    /// 0 for `_`, 1 for `0_`, in base 10.
    pub(super) fn index(&mut self) -> Option<usize> {
        if self.take("_") {
            return Some(0);
        }
        let number = self.number()?;
        self.expect("_")?;
        number.checked_add(1)
    }

    /// `<encoding>`
    pub(super) fn encoding(&mut self) -> Option<Id> {
        self.deeper(|parser| {
            if matches!(parser.peek(), b'G' | b'T') {
                return parser.special();
            }
            parser.function()
        })
    }

    pub(super) fn at_end(&self) -> bool {
        matches!(self.peek(), 0 | b'E' | b'.' | b'_')
    }

    pub(super) fn function(&mut self) -> Option<Id> {
        let mut facts = Facts::default();
        let name = self.name(&mut facts)?;
        if self.at_end() {
            return Some(name);
        }
        // `enable_if` of clang.
        if self.take("Ua9enable_ifI") {
            self.until_end(Self::argument)?;
        }
        if facts.ends_with_arguments && !facts.has_no_result {
            self.type_()?;
        }
        let mut parameters = Vec::new();
        if !self.take("v") {
            while !self.at_end() && self.peek() != b'Q' {
                parameters.push(self.type_()?);
            }
        }
        if self.take("Q") {
            self.expression()?;
        }
        Some(self.make(Node::Function(name, parameters, facts.behind)))
    }

    /// `<special-name>`
    pub(super) fn special(&mut self) -> Option<Id> {
        const OF_TYPE: [(&str, &str); 5] = [
            ("TV", "vtable for "),
            ("TT", "VTT for "),
            ("TI", "typeinfo for "),
            ("TS", "typeinfo name for "),
            ("TA", "template parameter object for "),
        ];
        for (mark, words) in OF_TYPE {
            if self.take(mark) {
                let of = if mark == "TA" { self.argument()? } else { self.type_()? };
                return Some(self.make(Node::About(words, of)));
            }
        }
        const OF_NAME: [(&str, &str); 3] = [
            ("TW", "TLS wrapper function for "),
            ("TH", "TLS init function for "),
            ("GV", "guard variable for "),
        ];
        for (mark, words) in OF_NAME {
            if self.take(mark) {
                let of = self.name(&mut Facts::default())?;
                return Some(self.make(Node::About(words, of)));
            }
        }
        if self.take("Tc") {
            self.offset()?;
            self.offset()?;
            let of = self.encoding()?;
            return Some(self.make(Node::About("covariant return thunk to ", of)));
        }
        if self.take("TC") {
            let inner = self.type_()?;
            self.number()?;
            self.expect("_")?;
            let outer = self.type_()?;
            let words = "construction vtable for ";
            return Some(self.make(Node::AboutTwo(words, inner, "-in-", outer)));
        }
        if self.rest().starts_with("Th") || self.rest().starts_with("Tv") {
            let words =
                if self.second() == b'v' { "virtual thunk to " } else { "non-virtual thunk to " };
            self.at += 1;
            self.offset()?;
            let of = self.encoding()?;
            return Some(self.make(Node::About(words, of)));
        }
        if self.take("GR") {
            let of = self.name(&mut Facts::default())?;
            self.sequence()?;
            return Some(self.make(Node::About("reference temporary for ", of)));
        }
        if self.take("GTt") {
            let of = self.encoding()?;
            return Some(self.make(Node::About("transaction clone for ", of)));
        }
        None
    }

    /// `<call-offset>`
    pub(super) fn offset(&mut self) -> Option<()> {
        let count = if self.take("h") {
            1
        } else {
            self.expect("v")?;
            2
        };
        for _ in 0..count {
            self.take("n");
            self.number()?;
            self.expect("_")?;
        }
        Some(())
    }

    /// `<name>`
    pub(super) fn name(&mut self, facts: &mut Facts) -> Option<Id> {
        self.deeper(|parser| match parser.peek() {
            b'N' => parser.nested(facts),
            b'Z' => parser.local(facts),
            b'S' if parser.second() != b't' => {
                let template = parser.substitution()?;
                if parser.peek() != b'I' {
                    return None;
                }
                parser.with_arguments(template, facts)
            }
            _ => {
                let outer = parser.take("St").then(|| parser.text("std"));
                let name = parser.unqualified(outer, facts)?;
                if parser.peek() == b'I' {
                    parser.keep(name);
                    return parser.with_arguments(name, facts);
                }
                Some(name)
            }
        })
    }

    pub(super) fn with_arguments(&mut self, of: Id, facts: &mut Facts) -> Option<Id> {
        let arguments = self.arguments()?;
        facts.ends_with_arguments = true;
        Some(self.make(Node::Template(of, arguments)))
    }

    /// `<nested-name>`
    pub(super) fn nested(&mut self, facts: &mut Facts) -> Option<Id> {
        self.expect("N")?;
        if !self.take("H") {
            facts.behind = self.qualifiers();
            facts.behind.reference = if self.take("O") {
                "&&"
            } else if self.take("R") {
                "&"
            } else {
                ""
            };
        }
        let mut found: Option<Id> = None;
        let mut kept = false;
        while !self.take("E") {
            // The data member whose initializer has a lambda; it is a prefix like others.
            if found.is_some() && self.take("M") {
                continue;
            }
            kept = true;
            let part = match (self.peek(), self.second()) {
                (b'T', _) if found.is_none() => self.template_parameter()?,
                (b'D', b't' | b'T') if found.is_none() => self.decltype()?,
                (b'I', _) => {
                    let of = found?;
                    if matches!(self.node(of), Node::Template(..)) {
                        return None;
                    }
                    self.with_arguments(of, facts)?
                }
                (b'S', second) if found.is_none() && second != b't' => {
                    found = Some(self.substitution()?);
                    kept = false;
                    continue;
                }
                _ => {
                    let outer = match found {
                        None if self.take("St") => Some(self.text("std")),
                        found => found,
                    };
                    facts.ends_with_arguments = false;
                    self.unqualified(outer, facts)?
                }
            };
            found = Some(self.keep(part));
        }
        if kept {
            self.seen.pop();
        }
        found
    }

    /// `<local-name>`
    pub(super) fn local(&mut self, facts: &mut Facts) -> Option<Id> {
        self.expect("Z")?;
        let function = self.encoding()?;
        self.expect("E")?;
        if self.take("s") {
            self.discriminator();
            let text = self.text("string literal");
            return Some(self.make(Node::Local(function, text)));
        }
        let mut outer = function;
        if self.take("d") {
            let number = self.index()?;
            let argument = self.make(Node::Declared("{default arg#", number + 1));
            outer = self.make(Node::Local(function, argument));
        }
        let entity = self.name(facts)?;
        self.discriminator();
        Some(self.make(Node::Local(outer, entity)))
    }

    /// `<discriminator>`, if there is one.
    pub(super) fn discriminator(&mut self) {
        let rest = self.rest().as_bytes();
        match rest {
            [b'_', b'_', digits @ ..] => {
                let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if count > 0 && digits.get(count) == Some(&b'_') {
                    self.at += count + 3;
                }
            }
            [b'_', digit, ..] if digit.is_ascii_digit() => self.at += 2,
            _ => {}
        }
    }

    /// `<unqualified-name>`, behind what it is in.
    pub(super) fn unqualified(&mut self, outer: Option<Id>, facts: &mut Facts) -> Option<Id> {
        while self.take("W") {
            self.take("P");
            self.source_name()?;
        }
        self.take("F");
        self.take("L");
        facts.has_no_result = false;
        let name = match (self.peek(), self.second()) {
            (b'1'..=b'9', _) => self.source_name()?,
            (b'U', b't') => {
                self.at += 2;
                let number = self.index()? + 1;
                self.make(Node::Unnamed(number))
            }
            (b'U', b'l') => self.closure()?,
            (b'D', b'C') => {
                self.at += 2;
                let names = self.until_end(Self::source_name)?;
                self.make(Node::Binding(names))
            }
            (b'C', _) => {
                self.at += 1;
                let inherits = self.take("I");
                if !matches!(self.peek(), b'1'..=b'5') {
                    return None;
                }
                self.at += 1;
                if inherits {
                    self.name(&mut Facts::default())?;
                }
                facts.has_no_result = true;
                self.make(Node::Constructor("", outer?))
            }
            (b'D', b'0'..=b'5') => {
                self.at += 2;
                facts.has_no_result = true;
                self.make(Node::Constructor("~", outer?))
            }
            _ => self.operator_name(facts)?,
        };
        let mut name = name;
        while self.take("B") {
            let length = self.number()?;
            let tag = self.rest().get(..length)?;
            self.at += length;
            name = self.make(Node::Tagged(name, tag));
        }
        Some(match outer {
            Some(outer) => self.make(Node::Nested(outer, name)),
            None => name,
        })
    }

    /// `<source-name>`
    pub(super) fn source_name(&mut self) -> Option<Id> {
        let length = self.number().filter(|&length| length > 0)?;
        let name = self.rest().get(..length)?;
        self.at += length;
        let is_anonymous = name
            .strip_prefix("_GLOBAL_")
            .is_some_and(|rest| rest.starts_with(['_', '.', '$']) && rest[1..].starts_with('N'));
        Some(self.text(if is_anonymous { "(anonymous namespace)" } else { name }))
    }

    /// `<closure-type-name>`
    pub(super) fn closure(&mut self) -> Option<Id> {
        self.expect("Ul")?;
        let mut declared = Vec::new();
        while self.peek() == b'T' && matches!(self.second(), b'y' | b'p' | b't' | b'k' | b'n') {
            declared.push(self.declaration(declared.len())?);
        }
        if self.take("Q") {
            self.expression()?;
        }
        let mut parameters = Vec::new();
        if self.take("v") {
            self.take("Q").then(|| self.expression());
            self.expect("E")?;
        } else {
            while !self.take("E") {
                if self.take("Q") {
                    self.expression()?;
                } else {
                    parameters.push(self.type_()?);
                }
            }
        }
        let number = self.index()? + 1;
        Some(self.make(Node::Lambda { declared, parameters, number }))
    }

    /// `<template-param-decl>`: the parameter, and the text that declares it.
    pub(super) fn declaration(&mut self, number: usize) -> Option<(Id, Id)> {
        self.deeper(|parser| {
            if parser.take("Ty") {
                let parameter = parser.make(Node::Declared("$T", number));
                return Some((parameter, parser.make(Node::About("typename ", parameter))));
            }
            if parser.take("Tk") {
                let concept = parser.name(&mut Facts::default())?;
                let parameter = parser.make(Node::Declared("$T", number));
                return Some((parameter, parser.make(Node::AboutTwo("", concept, " ", parameter))));
            }
            if parser.take("Tn") {
                let of = parser.type_()?;
                let parameter = parser.make(Node::Declared("$N", number));
                return Some((parameter, parser.make(Node::AboutTwo("", of, " ", parameter))));
            }
            if parser.take("Tt") {
                while !parser.take("E") {
                    if parser.take("Q") {
                        parser.expression()?;
                    } else {
                        parser.declaration(0)?;
                    }
                }
                let parameter = parser.make(Node::Declared("$TT", number));
                let words = "template<typename> typename ";
                return Some((parameter, parser.make(Node::About(words, parameter))));
            }
            parser.expect("Tp")?;
            let (parameter, shown) = parser.declaration(number)?;
            Some((parameter, parser.make(Node::Postfix(shown, "..."))))
        })
    }

    /// `<operator-name>`
    pub(super) fn operator_name(&mut self, facts: &mut Facts) -> Option<Id> {
        if self.take("cv") {
            let outer = core::mem::replace(&mut self.in_conversion, true);
            let to = self.type_();
            self.in_conversion = outer;
            facts.has_no_result = true;
            return Some(self.make(Node::Conversion(to?)));
        }
        if self.take("li") {
            let name = self.source_name()?;
            return Some(self.make(Node::LiteralOperator(name)));
        }
        let mark = self.rest().get(..2)?;
        let &(_, symbol, _) = OPERATORS.iter().find(|(code, ..)| *code == mark)?;
        self.at += 2;
        Some(self.make(Node::Operator(symbol)))
    }

    /// `<CV-qualifiers>`
    pub(super) fn qualifiers(&mut self) -> Behind {
        let is_restrict = self.take("r");
        let is_volatile = self.take("V");
        let is_const = self.take("K");
        Behind { is_const, is_volatile, is_restrict, ..Behind::default() }
    }

    /// `<template-args>`
    pub(super) fn arguments(&mut self) -> Option<Vec<Id>> {
        self.expect("I")?;
        let outer = core::mem::take(&mut self.in_conversion);
        let found = self.deeper(|parser| {
            let mut arguments = Vec::new();
            while !parser.take("E") {
                if parser.take("Q") {
                    parser.expression()?;
                    parser.expect("E")?;
                    break;
                }
                arguments.push(parser.argument()?);
            }
            Some(arguments)
        });
        self.in_conversion = outer;
        found
    }

    /// `<template-arg>`
    pub(super) fn argument(&mut self) -> Option<Id> {
        self.deeper(|parser| match (parser.peek(), parser.second()) {
            (b'X', _) => {
                parser.at += 1;
                let found = parser.expression()?;
                parser.expect("E")?;
                Some(found)
            }
            (b'J', _) => {
                parser.at += 1;
                let several = parser.until_end(Self::argument)?;
                Some(parser.make(Node::Arguments(several)))
            }
            (b'L', _) => parser.literal(),
            (b'T', b'y' | b'n' | b'p' | b't' | b'k') => {
                parser.declaration(0)?;
                parser.argument()
            }
            _ => parser.type_(),
        })
    }

    /// `<template-param>`
    pub(super) fn template_parameter(&mut self) -> Option<Id> {
        self.expect("T")?;
        // A level is that of a lambda's parameters.
        if self.take("L") {
            self.index()?;
        }
        let index = self.index()?;
        Some(self.make(Node::Parameter(index)))
    }

    /// `<substitution>`
    pub(super) fn substitution(&mut self) -> Option<Id> {
        const STANDARD: [(&str, &str); 6] = [
            ("Sa", "std::allocator"),
            ("Sb", "std::basic_string"),
            ("Ss", "std::string"),
            ("Si", "std::istream"),
            ("So", "std::ostream"),
            ("Sd", "std::iostream"),
        ];
        if let Some((mark, text)) = STANDARD.iter().find(|(mark, _)| self.rest().starts_with(mark))
        {
            self.at += mark.len();
            let mut found = self.text(text);
            while self.take("B") {
                let length = self.number()?;
                let tag = self.rest().get(..length)?;
                self.at += length;
                let tagged = self.make(Node::Tagged(found, tag));
                found = self.keep(tagged);
            }
            return Some(found);
        }
        self.expect("S")?;
        let number = self.sequence()?;
        self.seen.get(number).copied()
    }
}
