//! From the nodes of a name to its text. Types are printed around what they declare: a pointer to
//! an array of `int` is `int (*) [3]`, so each has a left and a right half.

use super::nodes::{Behind, DEPTH, Id, Node, STEPS};

/// The text of a node, of at most `longest` bytes.
pub(super) fn print(nodes: &[Node<'_>], root: Id, longest: usize) -> Option<String> {
    let mut printer = Printer {
        nodes,
        out: String::new(),
        longest,
        steps: STEPS,
        depth: 0,
        scopes: Vec::new(),
        element: None,
        lambda: None,
    };
    printer.whole(root)?;
    Some(printer.out).filter(|out| !out.is_empty())
}

struct Printer<'p, 'n> {
    nodes: &'p [Node<'n>],
    out: String,
    longest: usize,
    /// How many more nodes may be printed.
    steps: usize,
    depth: usize,
    /// The template arguments of the functions around, the innermost last.
    scopes: Vec<&'p [Id]>,
    /// The element of packs that is printed now.
    element: Option<usize>,
    /// What the lambda declares whose parameters are printed.
    lambda: Option<&'p [(Id, Id)]>,
}

/// What a node stands for.
struct Meant<'p, 'n> {
    node: &'p Node<'n>,
    id: Id,
    /// How many scopes are around it.
    scopes: usize,
}

/// What was around a part.
struct Around<'p> {
    scopes: Vec<&'p [Id]>,
    element: Option<usize>,
    lambda: Option<&'p [(Id, Id)]>,
}

impl<'p, 'n> Printer<'p, 'n> {
    fn push(&mut self, text: &str) -> Option<()> {
        if self.out.len() + text.len() > self.longest {
            return None;
        }
        self.out.push_str(text);
        Some(())
    }

    /// A node; a template parameter is replaced by what it stands for. `Some(None)` is an element
    /// that a pack does not have.
    fn meant(&self, id: Id) -> Option<Option<Meant<'p, 'n>>> {
        let (mut id, mut scopes, mut element) = (id, self.scopes.len(), self.element);
        for _ in 0..DEPTH {
            let node = self.nodes.get(id as usize)?;
            let Node::Parameter(number) = node else {
                return Some(Some(Meant { node, id, scopes }));
            };
            if self.lambda.is_some() && scopes == self.scopes.len() {
                return Some(Some(Meant { node, id, scopes }));
            }
            scopes = scopes.checked_sub(1)?;
            id = *self.scopes.get(scopes)?.get(*number)?;
            if let (Some(Node::Arguments(several)), Some(of)) =
                (self.nodes.get(id as usize), element)
            {
                match several.get(of) {
                    Some(&one) => id = one,
                    None => return Some(None),
                }
            }
            element = None;
        }
        None
    }

    /// Goes to where the meant node is, if that is elsewhere.
    fn enter(&mut self, meant: &Meant<'p, 'n>) -> Option<Around<'p>> {
        if meant.scopes == self.scopes.len() {
            return None;
        }
        let scopes = self.scopes.split_off(meant.scopes);
        Some(Around { scopes, element: self.element.take(), lambda: self.lambda.take() })
    }

    /// Goes back; whatever was done between has left the scopes as they were.
    fn leave(&mut self, around: Option<Around<'p>>) {
        if let Some(around) = around {
            self.scopes.extend(around.scopes);
            self.element = around.element;
            self.lambda = around.lambda;
        }
    }

    /// Does something with what a node means, where it is.
    fn at(
        &mut self,
        id: Id,
        part: impl FnOnce(&mut Self, Id, &'p Node<'n>) -> Option<()>,
    ) -> Option<()> {
        let Some(meant) = self.meant(id)? else { return Some(()) };
        let around = self.enter(&meant);
        let done = part(self, meant.id, meant.node);
        self.leave(around);
        done
    }

    /// Runs a part one level deeper.
    fn deeper(&mut self, part: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        // Nodes that stand for others make the text deeper than the name.
        if self.depth >= 2 * DEPTH || self.steps == 0 {
            return None;
        }
        self.steps -= 1;
        self.depth += 1;
        let done = part(self);
        self.depth -= 1;
        done
    }

    /// Both halves.
    fn whole(&mut self, id: Id) -> Option<()> {
        self.left(id)?;
        self.right(id)
    }

    /// What is separated by commas; an element without text, such as an empty pack, is none.
    fn list(&mut self, several: &[Id]) -> Option<()> {
        let mut is_first = true;
        for &id in several {
            let before = self.out.len();
            if !is_first {
                self.push(", ")?;
            }
            let start = self.out.len();
            self.whole(id)?;
            if self.out.len() == start {
                self.out.truncate(before);
            } else {
                is_first = false;
            }
        }
        Some(())
    }

    /// `<…>`
    fn arguments(&mut self, arguments: &[Id]) -> Option<()> {
        if self.out.ends_with('<') {
            self.push(" ")?;
        }
        self.push("<")?;
        self.list(arguments)?;
        // As people had to write it before C++11, and c++filt(1) does.
        self.push(if self.out.ends_with('>') { " >" } else { ">" })
    }

    fn behind(&mut self, behind: Behind) -> Option<()> {
        for (is_there, word) in [
            (behind.is_const, " const"),
            (behind.is_volatile, " volatile"),
            (behind.is_restrict, " restrict"),
        ] {
            if is_there {
                self.push(word)?;
            }
        }
        if !behind.reference.is_empty() {
            self.push(" ")?;
            self.push(behind.reference)?;
        }
        if behind.noexcept { self.push(" noexcept") } else { Some(()) }
    }

    /// The mark of a pointer or reference, where references to references are one, and what it
    /// leads to; that is elsewhere if the middle is a template parameter.
    fn collapse(&mut self, node: &'p Node<'n>) -> Option<(&'static str, Id, Vec<Around<'p>>)> {
        let mut arounds = Vec::new();
        let (mut mark, mut to) = match node {
            Node::Pointer(to) => return Some(("*", *to, arounds)),
            Node::Reference(to) => ("&", *to),
            Node::RvalueReference(to) => ("&&", *to),
            _ => return None,
        };
        for _ in 0..DEPTH {
            let Some(meant) = self.meant(to)? else { return Some((mark, to, arounds)) };
            let next = match meant.node {
                Node::Reference(next) => {
                    mark = "&";
                    *next
                }
                Node::RvalueReference(next) => *next,
                _ => return Some((mark, to, arounds)),
            };
            arounds.extend(self.enter(&meant));
            to = next;
        }
        None
    }

    /// Whether a type is around what it declares: a function, or an array.
    fn is_around(&mut self, id: Id) -> Option<(bool, bool)> {
        let Some(meant) = self.meant(id)? else { return Some((false, false)) };
        match meant.node {
            Node::Qualified(of, _) => {
                let around = self.enter(&meant);
                let mut found = Some((false, false));
                let done = self.deeper(|printer| {
                    found = printer.is_around(*of);
                    found.map(|_| ())
                });
                self.leave(around);
                done.and(found)
            }
            node => {
                Some((matches!(node, Node::FunctionType { .. }), matches!(node, Node::Array(..))))
            }
        }
    }

    fn left(&mut self, id: Id) -> Option<()> {
        self.deeper(|printer| printer.at(id, |printer, _, node| printer.left_half(node)))
    }

    fn left_half(&mut self, node: &'p Node<'n>) -> Option<()> {
        match node {
            Node::Pointer(_) | Node::Reference(_) | Node::RvalueReference(_) => {
                let (mark, to, arounds) = self.collapse(node)?;
                let done = self.left(to).and_then(|()| match self.is_around(to)? {
                    (true, _) => self.push("("),
                    (_, true) => self.push(" ("),
                    _ => Some(()),
                });
                arounds.into_iter().rev().for_each(|around| self.leave(Some(around)));
                done?;
                self.push(mark)
            }
            Node::MemberPointer(class, to) => {
                self.left(*to)?;
                match self.is_around(*to)? {
                    (true, _) => self.push("(")?,
                    (_, true) => self.push(" (")?,
                    _ => self.push(" ")?,
                }
                self.whole(*class)?;
                self.push("::*")
            }
            Node::Qualified(of, behind) => {
                self.left(*of)?;
                self.behind(*behind)
            }
            Node::FunctionType { result, .. } => {
                self.left(*result)?;
                self.push(" ")
            }
            Node::Array(of, _) => self.left(*of),
            _ => self.unhalved(node),
        }
    }

    fn right(&mut self, id: Id) -> Option<()> {
        self.deeper(|printer| printer.at(id, |printer, _, node| printer.right_half(node)))
    }

    fn right_half(&mut self, node: &'p Node<'n>) -> Option<()> {
        match node {
            Node::Pointer(_) | Node::Reference(_) | Node::RvalueReference(_) => {
                let (_, to, arounds) = self.collapse(node)?;
                let done = self.is_around(to).and_then(|around| {
                    if around != (false, false) {
                        self.push(")")?;
                    }
                    self.right(to)
                });
                arounds.into_iter().rev().for_each(|around| self.leave(Some(around)));
                done
            }
            Node::MemberPointer(_, to) => {
                if self.is_around(*to)? != (false, false) {
                    self.push(")")?;
                }
                self.right(*to)
            }
            Node::Qualified(of, _) => self.right(*of),
            Node::FunctionType { result, parameters, behind } => {
                self.push("(")?;
                self.list(parameters)?;
                self.push(")")?;
                self.behind(*behind)?;
                self.right(*result)
            }
            Node::Array(of, size) => {
                if !self.out.ends_with(']') {
                    self.push(" ")?;
                }
                self.push("[")?;
                if let Some(size) = size {
                    self.whole(*size)?;
                }
                self.push("]")?;
                self.right(*of)
            }
            _ => Some(()),
        }
    }

    /// What is in one piece.
    fn unhalved(&mut self, node: &'p Node<'n>) -> Option<()> {
        match node {
            Node::Text(text) => self.push(text),
            Node::Nested(outer, name) | Node::Local(outer, name) => {
                self.whole(*outer)?;
                self.push("::")?;
                self.whole(*name)
            }
            Node::Template(name, arguments) => {
                self.whole(*name)?;
                self.arguments(arguments)
            }
            Node::Arguments(several) => self.list(several),
            Node::Parameter(number) => match self.lambda?.get(*number) {
                Some(&(parameter, _)) => self.whole(parameter),
                None => self.push(&format!("auto:{}", number + 1)),
            },
            Node::Declared(mark, number) => {
                let end = if mark.starts_with('{') { "}" } else { "" };
                self.push(&format!("{mark}{number}{end}"))
            }
            Node::Lambda { declared, parameters, number } => {
                self.push("{lambda")?;
                let outer = self.lambda.replace(declared);
                if !declared.is_empty() {
                    let shown: Vec<Id> = declared.iter().map(|&(_, shown)| shown).collect();
                    self.arguments(&shown)?;
                }
                self.push("(")?;
                self.list(parameters)?;
                self.lambda = outer;
                self.push(&format!(")#{number}}}"))
            }
            Node::Unnamed(number) => self.push(&format!("{{unnamed type#{number}}}")),
            Node::Constructor(mark, class) => {
                self.push(mark)?;
                self.class_name(*class)
            }
            Node::Operator(symbol) => {
                self.push("operator")?;
                self.push(symbol)
            }
            Node::Conversion(to) => {
                self.push("operator ")?;
                self.whole(*to)
            }
            Node::LiteralOperator(name) => {
                self.push("operator\"\" ")?;
                self.whole(*name)
            }
            Node::Tagged(name, tag) => {
                self.whole(*name)?;
                self.push("[abi:")?;
                self.push(tag)?;
                self.push("]")
            }
            Node::Binding(names) => {
                self.push("[")?;
                self.list(names)?;
                self.push("]")
            }
            Node::About(words, of) => {
                self.push(words)?;
                self.whole(*of)
            }
            Node::AboutTwo(words, of, between, other) => {
                self.push(words)?;
                self.whole(*of)?;
                self.push(between)?;
                self.whole(*other)
            }
            Node::Function(name, parameters, behind) => {
                let lambda = self.lambda.take();
                let element = self.element.take();
                let count = self.scopes.len();
                self.scopes.extend(self.arguments_of(*name));
                self.whole(*name)?;
                self.push("(")?;
                self.list(parameters)?;
                self.push(")")?;
                self.scopes.truncate(count);
                self.element = element;
                self.lambda = lambda;
                self.behind(*behind)
            }
            Node::Suffixed(of, words) => {
                self.whole(*of)?;
                self.push(words)
            }
            Node::Vendor(of, word) => {
                self.whole(*of)?;
                self.push(" ")?;
                self.whole(*word)
            }
            Node::Vector(of, size) => {
                self.whole(*of)?;
                self.push(" __vector(")?;
                self.whole(*size)?;
                self.push(")")
            }
            Node::Expansion(of) => self.expansion(*of),
            Node::Decltype(of) => {
                self.push("decltype (")?;
                self.whole(*of)?;
                self.push(")")
            }
            _ => self.expression(node),
        }
    }

    /// The template arguments of the function with this name.
    fn arguments_of(&self, mut name: Id) -> Option<&'p [Id]> {
        for _ in 0..DEPTH {
            match self.nodes.get(name as usize)? {
                Node::Template(_, arguments) => return Some(arguments),
                Node::Local(_, inner) => name = *inner,
                _ => return None,
            }
        }
        None
    }

    /// The name of a class without what it is in and without its arguments.
    fn class_name(&mut self, id: Id) -> Option<()> {
        self.deeper(|printer| {
            printer.at(id, |printer, id, node| match node {
                Node::Nested(_, name) | Node::Local(_, name) | Node::Template(name, _) => {
                    printer.class_name(*name)
                }
                Node::Tagged(name, _) => printer.class_name(*name),
                Node::Text(text) => printer.push(text.rsplit("::").next()?),
                _ => printer.whole(id),
            })
        })
    }

    fn expansion(&mut self, of: Id) -> Option<()> {
        let mut budget = STEPS.min(self.steps);
        match self.length(of, 0, &mut budget)? {
            None => {
                self.operand(of)?;
                self.push("...")
            }
            Some(length) => {
                let outer = self.element;
                let start = self.out.len();
                for element in 0..length {
                    self.element = Some(element);
                    if self.out.len() > start {
                        self.push(", ")?;
                    }
                    self.whole(of)?;
                }
                self.element = outer;
                Some(())
            }
        }
    }

    /// How many elements the first pack below a node has; `Some(None)` if there is none.
    fn length(&mut self, id: Id, depth: usize, budget: &mut usize) -> Option<Option<usize>> {
        if depth > 2 * DEPTH || *budget == 0 {
            return None;
        }
        *budget -= 1;
        self.steps = self.steps.checked_sub(1)?;
        let below: Vec<Id> = match self.nodes.get(id as usize)? {
            Node::Parameter(number) if self.lambda.is_none() => {
                let argument = *self.scopes.last()?.get(*number)?;
                return Some(match self.nodes.get(argument as usize)? {
                    Node::Arguments(several) => Some(several.len()),
                    _ => None,
                });
            }
            Node::Nested(a, b) | Node::Local(a, b) | Node::MemberPointer(a, b) => vec![*a, *b],
            Node::Vendor(a, b) | Node::Vector(a, b) | Node::Subscript(a, b) => vec![*a, *b],
            Node::Binary(a, _, b) | Node::Member(a, _, b) | Node::NamedCast(_, a, b) => {
                vec![*a, *b]
            }
            Node::AboutTwo(_, a, _, b) => vec![*a, *b],
            Node::Conditional(a, b, c) => vec![*a, *b, *c],
            Node::Template(a, more) | Node::Call(a, more) | Node::Cast(a, more) => {
                core::iter::once(a).chain(more).copied().collect()
            }
            Node::Function(a, more, _) => core::iter::once(a).chain(more).copied().collect(),
            Node::FunctionType { result, parameters, .. } => {
                core::iter::once(result).chain(parameters).copied().collect()
            }
            Node::Arguments(more) => more.clone(),
            Node::Braced(a, more) => a.iter().chain(more).copied().collect(),
            Node::Array(a, b) => core::iter::once(a).chain(b).copied().collect(),
            Node::Pointer(a) | Node::Reference(a) | Node::RvalueReference(a) => vec![*a],
            Node::Qualified(a, _) | Node::Suffixed(a, _) | Node::Decltype(a) => vec![*a],
            Node::Prefix(_, a) | Node::Postfix(a, _) | Node::Enclosed(_, a) => vec![*a],
            Node::Conversion(a) | Node::Tagged(a, _) | Node::About(_, a) => vec![*a],
            Node::TypedLiteral(a, _) | Node::CastLiteral(a, ..) | Node::Constructor(_, a) => {
                vec![*a]
            }
            _ => Vec::new(),
        };
        for id in below {
            if let Some(length) = self.length(id, depth + 1, budget)? {
                return Some(Some(length));
            }
        }
        Some(None)
    }

    /// An operand, in parentheses unless it is one word.
    fn operand(&mut self, id: Id) -> Option<()> {
        let Some(meant) = self.meant(id)? else { return Some(()) };
        let is_plain = matches!(
            meant.node,
            Node::Text(_)
                | Node::Nested(..)
                | Node::Template(..)
                | Node::FunctionParameter(_)
                | Node::Literal(..)
                | Node::Braced(..)
                | Node::Parameter(_)
                | Node::Declared(..)
        );
        if is_plain {
            return self.whole(id);
        }
        self.push("(")?;
        self.whole(id)?;
        self.push(")")
    }

    fn expression(&mut self, node: &'p Node<'n>) -> Option<()> {
        match node {
            Node::Literal(digits, is_negative, suffix) => {
                self.push(if *is_negative { "-" } else { "" })?;
                self.push(digits)?;
                self.push(suffix)
            }
            Node::CastLiteral(of, digits, is_negative) => {
                self.push("(")?;
                self.whole(*of)?;
                self.push(if *is_negative { ")-" } else { ")" })?;
                self.push(digits)
            }
            Node::TypedLiteral(of, value) => {
                self.push("(")?;
                self.whole(*of)?;
                self.push(")[")?;
                self.push(value)?;
                self.push("]")
            }
            Node::Prefix(symbol, of) => {
                self.push(symbol)?;
                self.operand(*of)
            }
            Node::Postfix(of, symbol) => {
                self.operand(*of)?;
                self.push(symbol)
            }
            Node::Binary(left, symbol, right) => {
                // The bracket would end the arguments.
                let in_brackets = symbol.contains('>');
                if in_brackets {
                    self.push("(")?;
                }
                self.operand(*left)?;
                self.push(symbol)?;
                self.operand(*right)?;
                if in_brackets { self.push(")") } else { Some(()) }
            }
            Node::Conditional(test, one, other) => {
                self.operand(*test)?;
                self.push("?")?;
                self.operand(*one)?;
                self.push(" : ")?;
                self.operand(*other)
            }
            Node::Member(of, symbol, member) => {
                self.operand(*of)?;
                self.push(symbol)?;
                self.whole(*member)
            }
            Node::Subscript(of, index) => {
                self.operand(*of)?;
                self.push("[")?;
                self.whole(*index)?;
                self.push("]")
            }
            Node::Call(of, operands) => {
                self.operand(*of)?;
                self.push("(")?;
                self.list(operands)?;
                self.push(")")
            }
            Node::Cast(to, operands) => {
                self.push("(")?;
                self.whole(*to)?;
                self.push(")(")?;
                self.list(operands)?;
                self.push(")")
            }
            Node::NamedCast(words, to, of) => {
                self.push(words)?;
                self.arguments(&[*to])?;
                self.push("(")?;
                self.whole(*of)?;
                self.push(")")
            }
            Node::Enclosed(words, of) => {
                self.push(words)?;
                self.push("(")?;
                self.whole(*of)?;
                self.push(")")
            }
            Node::Braced(of, elements) => {
                if let Some(of) = of {
                    self.whole(*of)?;
                }
                self.push("{")?;
                self.list(elements)?;
                self.push("}")
            }
            Node::SizeOfPack(of) => {
                let mut budget = STEPS.min(self.steps);
                match self.length(*of, 0, &mut budget)? {
                    Some(length) => self.push(&length.to_string()),
                    None => {
                        self.push("sizeof...(")?;
                        self.whole(*of)?;
                        self.push(")")
                    }
                }
            }
            Node::Fold(first, symbol, last) => {
                self.push("(")?;
                match first {
                    Some(first) => self.operand(*first)?,
                    None => self.push("...")?,
                }
                self.push(symbol)?;
                if first.is_some() && last.is_some() {
                    self.push("...")?;
                    self.push(symbol)?;
                }
                match last {
                    Some(last) => self.operand(*last)?,
                    None => self.push("...")?,
                }
                self.push(")")
            }
            Node::FunctionParameter(number) => self.push(&format!("{{parm#{number}}}")),
            Node::New { words, placement, of, with } => {
                self.push(words)?;
                if !placement.is_empty() {
                    self.push("(")?;
                    self.list(placement)?;
                    self.push(")")?;
                }
                self.push(" ")?;
                self.whole(*of)?;
                let Some(with) = with else { return Some(()) };
                self.push("(")?;
                self.list(with)?;
                self.push(")")
            }
            // All others were printed before.
            _ => None,
        }
    }
}
