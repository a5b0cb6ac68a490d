//! Names of D, by the grammar of its ABI ("Name Mangling", dlang.org/spec/abi.html), in the scheme
//! with back references that compilers write since 2018.
//!
//! ```text
//!   _D3app4work__T6MatrixTdZQl3rowMFiZAd        app.work.Matrix!(double).Matrix.row(int)
//! ```
//!
//! The text is that of c++filt(1), without the attributes and the result of the function. No crate
//! reads this grammar.
//!
//! Invariant: a name costs a bounded time, memory and stack: nesting ends at [`DEPTH`], the parts
//! and what is read again, through references or as something else, at [`STEPS`], and the text at
//! [`OUTPUT_LIMIT`].

/// Longest text, in bytes.
const OUTPUT_LIMIT: usize = 1 << 16;

/// Nesting of a name.
const DEPTH: usize = 96;

/// What is read at most: bytes that were read before, and parts, each as [`PART`] of them.
/// References can make a short name expand exponentially, and have a long one read often.
const STEPS: usize = 1 << 17;
const PART: usize = 8;

/// The text for people; `None` if it is no name of D, or has a part that is not understood.
pub(super) fn demangle(mangled: &str) -> Option<String> {
    if mangled == "_Dmain" {
        return Some("D main".to_owned());
    }
    let name = mangled.strip_prefix("_D").filter(|name| name.is_ascii())?;
    let mut reader = Reader { name, at: 0, depth: 0, steps: STEPS };
    let mut text = String::new();
    reader.mangled(&mut text)?;
    (reader.rest().is_empty() && text.len() <= OUTPUT_LIMIT).then_some(text)
}

struct Reader<'n> {
    name: &'n str,
    at: usize,
    depth: usize,
    steps: usize,
}

/// Types of one letter.
const BASIC: [(u8, &str); 23] = [
    (b'v', "void"),
    (b'g', "byte"),
    (b'h', "ubyte"),
    (b's', "short"),
    (b't', "ushort"),
    (b'i', "int"),
    (b'k', "uint"),
    (b'l', "long"),
    (b'm', "ulong"),
    (b'f', "float"),
    (b'd', "double"),
    (b'e', "real"),
    (b'o', "ifloat"),
    (b'p', "idouble"),
    (b'j', "ireal"),
    (b'q', "cfloat"),
    (b'r', "cdouble"),
    (b'c', "creal"),
    (b'b', "bool"),
    (b'a', "char"),
    (b'u', "wchar"),
    (b'w', "dchar"),
    (b'n', "typeof(null)"),
];

/// Attributes of functions, behind `N`.
const ATTRIBUTES: [(u8, &str); 10] = [
    (b'a', "pure "),
    (b'b', "nothrow "),
    (b'c', "ref "),
    (b'd', "@property "),
    (b'e', "@trusted "),
    (b'f', "@safe "),
    (b'i', "@nogc "),
    (b'j', "return "),
    (b'l', "scope "),
    (b'm', "@live "),
];

impl<'n> Reader<'n> {
    fn rest(&self) -> &'n str {
        &self.name[self.at..]
    }

    fn peek(&self) -> u8 {
        self.rest().as_bytes().first().copied().unwrap_or(0)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn next(&mut self) -> Option<u8> {
        let byte = *self.rest().as_bytes().first()?;
        self.at += 1;
        Some(byte)
    }

    /// Pays for what is read. Where it is not enough, nothing more is read.
    fn spend(&mut self, steps: usize) -> Option<()> {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(0);
        left.map(drop)
    }

    /// Runs a part one level deeper.
    fn deeper(
        &mut self,
        out: &mut String,
        part: impl FnOnce(&mut Self, &mut String) -> Option<()>,
    ) -> Option<()> {
        self.spend(PART)?;
        if self.depth >= DEPTH {
            return None;
        }
        self.depth += 1;
        let done = part(self, out);
        self.depth -= 1;
        // No other way to read the name is tried then.
        if out.len() > OUTPUT_LIMIT {
            self.steps = 0;
            return None;
        }
        done
    }

    fn digits(&mut self) -> Option<&'n str> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let digits = &self.rest()[..count];
        self.at += count;
        (count > 0).then_some(digits)
    }

    fn number(&mut self) -> Option<usize> {
        self.digits()?.parse().ok()
    }

    /// Behind `Q`, which stands here: the place that it refers to. Base 26, the last digit a small
    /// letter, the first not zero.
    fn reference(&mut self) -> Option<usize> {
        let here = self.at;
        self.at += 1;
        let mut back = 0_usize;
        loop {
            let byte = self.next()?;
            let digit = match byte {
                b'A' if back == 0 => return None,
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a',
                _ => return None,
            };
            back = back.checked_mul(26)?.checked_add(usize::from(digit))?;
            if byte.is_ascii_lowercase() {
                return here.checked_sub(back).filter(|_| back > 0);
            }
        }
    }

    /// Reads a part at the place that a reference here leads to.
    fn referred(
        &mut self,
        out: &mut String,
        part: impl FnOnce(&mut Self, &mut String) -> Option<()>,
    ) -> Option<()> {
        let place = self.reference()?;
        let behind = std::mem::replace(&mut self.at, place);
        let done = self.deeper(out, part);
        self.spend(self.at.saturating_sub(place))?;
        self.at = behind;
        done
    }

    /// A name and its type, behind `_D`.
    fn mangled(&mut self, out: &mut String) -> Option<()> {
        self.qualified(out, true)?;
        // What the compiler made has no type.
        if self.take("Z") { Some(()) } else { self.type_(&mut String::new()) }
    }

    fn at_name(&self) -> bool {
        match self.peek() {
            b'0'..=b'9' => true,
            b'_' => self.rest().starts_with("__T") || self.rest().starts_with("__U"),
            b'Q' => {
                let mut there = Reader { name: self.name, at: self.at, depth: 0, steps: 0 };
                let place = there.reference();
                place.is_some_and(|at| self.name.as_bytes()[at].is_ascii_digit())
            }
            _ => false,
        }
    }

    fn at_function(&self) -> bool {
        matches!(self.peek(), b'F' | b'U' | b'W' | b'V' | b'R' | b'Y')
    }

    /// Names with dots; `says_const` is whether what member functions promise is shown, too.
    fn qualified(&mut self, out: &mut String, says_const: bool) -> Option<()> {
        let mut is_first = true;
        loop {
            // Scopes without a name.
            while self.take("0") {}
            if !self.at_name() {
                return (!is_first).then_some(());
            }
            if !std::mem::replace(&mut is_first, false) {
                out.push('.');
            }
            self.identifier(out)?;
            if self.peek() != b'M' && !self.at_function() {
                continue;
            }
            // The parameters of a function, which is what is named, or has more in it. If it is
            // neither, this is the type of something else.
            let (start, length) = (self.at, out.len());
            let mut behind = String::new();
            if self.take("M") {
                self.modifiers(&mut behind);
            }
            let is_function = self.function(&mut String::new(), out).is_some();
            if is_function && !self.rest().is_empty() {
                out.push_str(if says_const { &behind } else { "" });
            } else {
                self.spend(self.at.saturating_sub(start))?;
                self.at = start;
                out.truncate(length);
                return Some(());
            }
        }
    }

    /// What a member function promises of its object.
    fn modifiers(&mut self, behind: &mut String) {
        for (mark, word) in
            [("O", " shared"), ("Ng", " inout"), ("x", " const"), ("y", " immutable")]
        {
            if self.take(mark) {
                behind.push_str(word);
            }
        }
    }

    fn identifier(&mut self, out: &mut String) -> Option<()> {
        self.deeper(out, Self::any_identifier)
    }

    fn any_identifier(&mut self, out: &mut String) -> Option<()> {
        if self.peek() == b'Q' {
            return self.referred(out, Self::any_identifier);
        }
        if self.take("__T") || self.take("__U") {
            return self.template(out);
        }
        let length = self.number()?;
        let name = self.rest().get(..length).filter(|name| !name.is_empty())?;
        if name.starts_with("__T") || name.starts_with("__U") {
            let end = self.at + length;
            self.at += 3;
            self.template(out)?;
            return (self.at == end).then_some(());
        }
        self.at += length;
        // Tells apart declarations of one name in one function.
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if name.strip_prefix("__S").is_some_and(is_number) && self.at_name() {
            return self.identifier(out);
        }
        out.push_str(match name {
            "__ctor" => "this",
            "__dtor" => "~this",
            name => name,
        });
        Some(())
    }

    /// The name of a template and its arguments, behind `__T`.
    fn template(&mut self, out: &mut String) -> Option<()> {
        self.identifier(out)?;
        out.push_str("!(");
        let mut is_first = true;
        while !self.take("Z") {
            if !std::mem::replace(&mut is_first, false) {
                out.push_str(", ");
            }
            self.take("H");
            match self.next()? {
                b'T' => self.type_(out)?,
                b'S' if self.take("_D") => self.deeper(out, Self::mangled)?,
                b'S' => {
                    self.deeper(out, |reader, out| reader.qualified(out, false))?;
                }
                b'V' => {
                    let kind = self.kind()?;
                    let mut of = String::new();
                    self.type_(&mut of)?;
                    self.value(kind, &of, out)?;
                }
                b'X' => {
                    let length = self.number()?;
                    out.push_str(self.rest().get(..length)?);
                    self.at += length;
                }
                _ => return None,
            }
        }
        out.push(')');
        Some(())
    }

    /// The letter of the type that begins here.
    fn kind(&mut self) -> Option<u8> {
        if self.peek() != b'Q' {
            return Some(self.peek());
        }
        let here = self.at;
        let place = self.reference();
        self.at = here;
        self.name.as_bytes().get(place?).copied()
    }

    fn type_(&mut self, out: &mut String) -> Option<()> {
        self.deeper(out, Self::any_type)
    }

    fn in_parentheses(&mut self, word: &str, out: &mut String) -> Option<()> {
        out.push_str(word);
        out.push('(');
        self.type_(out)?;
        out.push(')');
        Some(())
    }

    fn any_type(&mut self, out: &mut String) -> Option<()> {
        if self.peek() == b'Q' {
            return self.referred(out, Self::type_);
        }
        if self.at_function() {
            return self.function_type("function", "", out);
        }
        match self.next()? {
            b'O' => self.in_parentheses("shared", out),
            b'x' => self.in_parentheses("const", out),
            b'y' => self.in_parentheses("immutable", out),
            b'N' => match self.next()? {
                b'g' => self.in_parentheses("inout", out),
                b'h' => self.in_parentheses("__vector", out),
                b'n' => {
                    out.push_str("typeof(*null)");
                    Some(())
                }
                _ => None,
            },
            b'A' => {
                self.type_(out)?;
                out.push_str("[]");
                Some(())
            }
            b'G' => {
                let size = self.digits()?;
                self.type_(out)?;
                out.push_str(&format!("[{size}]"));
                Some(())
            }
            b'H' => {
                let mut key = String::new();
                self.type_(&mut key)?;
                self.type_(out)?;
                out.push_str(&format!("[{key}]"));
                Some(())
            }
            b'P' if self.at_function() => self.function_type("function", "", out),
            b'P' => {
                self.type_(out)?;
                out.push('*');
                Some(())
            }
            b'I' | b'C' | b'S' | b'E' | b'T' => self.qualified(out, false),
            b'D' => {
                let mut behind = String::new();
                self.modifiers(&mut behind);
                if self.peek() == b'Q' {
                    return self.referred(out, |reader, out| {
                        reader.function_type("delegate", &behind, out)
                    });
                }
                self.function_type("delegate", &behind, out)
            }
            b'B' => {
                out.push_str("Tuple!(");
                let count = self.number()?;
                for index in 0..count {
                    out.push_str(if index > 0 { ", " } else { "" });
                    self.type_(out)?;
                }
                out.push(')');
                Some(())
            }
            b'z' => {
                out.push_str(match self.next()? {
                    b'i' => "cent",
                    b'k' => "ucent",
                    _ => return None,
                });
                Some(())
            }
            mark => {
                let (_, name) = BASIC.iter().find(|(of, _)| *of == mark)?;
                out.push_str(name);
                Some(())
            }
        }
    }

    /// `int(char) pure function`
    fn function_type(&mut self, word: &str, behind: &str, out: &mut String) -> Option<()> {
        let (mut before, mut parameters) = (String::new(), String::new());
        let convention = self.function(&mut before, &mut parameters)?;
        out.push_str(convention);
        self.type_(out)?;
        out.push_str(&format!("{parameters} {before}{word}{behind}"));
        Some(())
    }

    /// A calling convention, attributes and parameters. Returns the first.
    fn function(&mut self, attributes: &mut String, out: &mut String) -> Option<&'static str> {
        let convention = match self.next()? {
            b'F' => "",
            b'U' => "extern(C) ",
            b'W' => "extern(Windows) ",
            b'V' => "extern(Pascal) ",
            b'R' => "extern(C++) ",
            b'Y' => "extern(Objective-C) ",
            _ => return None,
        };
        while self.peek() == b'N' {
            let mark = *self.rest().as_bytes().get(1)?;
            let Some((_, word)) = ATTRIBUTES.iter().find(|(of, _)| *of == mark) else { break };
            attributes.push_str(word);
            self.at += 2;
        }
        out.push('(');
        let mut is_first = true;
        loop {
            match self.peek() {
                b'X' => out.push_str("..."),
                b'Y' => out.push_str(if is_first { "..." } else { ", ..." }),
                b'Z' => {}
                _ => {
                    if !std::mem::replace(&mut is_first, false) {
                        out.push_str(", ");
                    }
                    self.parameter(out)?;
                    continue;
                }
            }
            self.at += 1;
            out.push(')');
            return Some(convention);
        }
    }

    fn parameter(&mut self, out: &mut String) -> Option<()> {
        const STORAGE: [(&str, &str); 6] = [
            ("M", "scope "),
            ("Nk", "return "),
            ("I", "in "),
            ("J", "out "),
            ("K", "ref "),
            ("L", "lazy "),
        ];
        for (mark, word) in STORAGE {
            // `I` is a type, too, before a name.
            let is_type = mark == "I"
                && self.rest()[1.min(self.rest().len())..]
                    .starts_with(|c: char| c.is_ascii_digit());
            if !is_type && self.take(mark) {
                out.push_str(word);
            }
        }
        self.type_(out)
    }

    /// A value of a type, whose letter is `kind`.
    fn value(&mut self, kind: u8, of: &str, out: &mut String) -> Option<()> {
        self.deeper(out, |reader, out| reader.any_value(kind, of, out))
    }

    fn any_value(&mut self, kind: u8, of: &str, out: &mut String) -> Option<()> {
        match self.peek() {
            b'0'..=b'9' => return self.integer(kind, out),
            b'_' => return None,
            _ => {}
        }
        match self.next()? {
            b'n' => out.push_str("null"),
            b'N' => {
                out.push('-');
                self.integer(kind, out)?;
            }
            b'i' => self.integer(kind, out)?,
            b'e' => self.real(out)?,
            width @ (b'a' | b'w' | b'd') => self.string(width, out)?,
            b'A' => {
                let count = self.number()?;
                out.push('[');
                for index in 0..count {
                    out.push_str(if index > 0 { ", " } else { "" });
                    self.value(0, "", out)?;
                    if kind == b'H' {
                        out.push(':');
                        self.value(0, "", out)?;
                    }
                }
                out.push(']');
            }
            b'S' => {
                let count = self.number()?;
                out.push_str(of);
                out.push('(');
                for index in 0..count {
                    out.push_str(if index > 0 { ", " } else { "" });
                    self.value(0, "", out)?;
                }
                out.push(')');
            }
            b'f' if self.take("_D") => self.mangled(out)?,
            _ => return None,
        }
        Some(())
    }

    fn integer(&mut self, kind: u8, out: &mut String) -> Option<()> {
        let digits = self.digits()?;
        match kind {
            b'a' | b'u' | b'w' => {
                let code: u32 = digits.parse().ok()?;
                let shown =
                    char::from_u32(code).filter(|c| kind == b'a' && (' '..='~').contains(c));
                out.push_str(&match (shown, kind) {
                    (Some(letter), _) => format!("'{letter}'"),
                    (None, b'a') => format!("'\\x{code:02x}'"),
                    (None, b'u') => format!("'\\u{code:04x}'"),
                    (None, _) => format!("'\\U{code:08x}'"),
                });
            }
            b'b' => out.push_str(if digits == "0" { "false" } else { "true" }),
            _ => {
                out.push_str(digits);
                out.push_str(match kind {
                    b'h' | b't' | b'k' => "u",
                    b'l' => "L",
                    b'm' => "uL",
                    _ => "",
                });
            }
        }
        Some(())
    }

    /// A real number, in hexadecimal.
    fn real(&mut self, out: &mut String) -> Option<()> {
        for (mark, word) in [("NAN", "NaN"), ("INF", "Inf"), ("NINF", "-Inf")] {
            if self.take(mark) {
                out.push_str(word);
                return Some(());
            }
        }
        if self.take("N") {
            out.push('-');
        }
        let count = self.rest().bytes().take_while(u8::is_ascii_hexdigit).count();
        let digits = &self.rest()[..count];
        let (first, others) = digits.split_at_checked(1)?;
        self.at += count;
        if !self.take("P") {
            return None;
        }
        let sign = if self.take("N") { "-" } else { "" };
        out.push_str(&format!("0x{first}.{others}p{sign}{}", self.digits()?));
        Some(())
    }

    /// Characters as hexadecimal bytes.
    fn string(&mut self, width: u8, out: &mut String) -> Option<()> {
        let count = self.number()?;
        if !self.take("_") {
            return None;
        }
        let digits = self.rest().get(..count.checked_mul(2)?)?;
        self.at += digits.len();
        out.push('"');
        for pair in digits.as_bytes().chunks(2) {
            let code = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
            match code {
                b'\t' => out.push_str("\\t"),
                b'\n' => out.push_str("\\n"),
                b'\r' => out.push_str("\\r"),
                b' '..=b'~' => out.push(char::from(code)),
                _ => out.push_str(&format!("\\x{code:02x}")),
            }
        }
        out.push('"');
        if width != b'a' {
            out.push(char::from(width));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, STEPS, demangle};
    use crate::surroundings::skip;
    use crate::symbols::itanium::tests::run;

    #[test]
    fn names_are_those_of_cxxfilt() {
        for (name, shown) in [
            ("_Dmain", "D main"),
            ("_D3app4work5wordsFiZi", "app.work.words(int)"),
            (
                "_D3app4work__T6MatrixTdZQk6__ctorMFNaNbNcNfmZSQBsQBr__TQBpTdZQBv",
                "app.work.Matrix!(double).Matrix.this(ulong)",
            ),
            (
                "_D3app4work__T6MatrixTdZQk__T8opBinaryHVAyaa1_2aZQuMFNaNbNfKSQChQCg__TQCeTdZQCkZQu",
                "app.work.Matrix!(double).Matrix.opBinary!(\"*\").opBinary(ref app.work.Matrix!(double).Matrix)",
            ),
            (
                "_D3app4work__T6MatrixTdZQk11__xopEqualsMxFKxSQBrQBq__TQBoTdZQBuZb",
                "app.work.Matrix!(double).Matrix.__xopEquals(ref const(app.work.Matrix!(double).Matrix)) const",
            ),
            (
                "_D6object16TypeInfo_Pointer8toStringMxFNbNfZAya",
                "object.TypeInfo_Pointer.toString() const",
            ),
            (
                "_D3std8internal4math12biguintnoasm12multibyteShlFNaNbNiNfAkAxkkZk",
                "std.internal.math.biguintnoasm.multibyteShl(uint[], const(uint)[], uint)",
            ),
            (
                "_D3std4conv__T2toTAyaZ__TQlTtZQqFNaNbNftZQx",
                "std.conv.to!(immutable(char)[]).to!(ushort).to(ushort)",
            ),
            (
                "_D6object__T10RTInfoImplVAmA2i32i11ZQyyG2m",
                "object.RTInfoImpl!([32, 11]).RTInfoImpl",
            ),
            (
                "_D1a1fFDFiZvPFNaZiMAyaKHiAaXv",
                "a.f(void(int) delegate, int() pure function, scope immutable(char)[], ref char[][int]...)",
            ),
            (
                "_D1a1gFG3NgiOxbJfLdYv",
                "a.g(inout(int)[3], shared(const(bool)), out float, lazy double, ...)",
            ),
            ("_D1a3runFZ5innerMFNaiZv", "a.run().inner(int)"),
            ("_D1a__T1fVai97Vbi1VlN5Vde18P3ZQxFZv", "a.f!('a', true, -5L, 0x1.8p3).f()"),
            ("_D1a__T1fVai97Vbi1VlN5Vde18PN3ZQyFZv", "a.f!('a', true, -5L, 0x1.8p-3).f()"),
        ] {
            assert_eq!(demangle(name).unwrap_or_default(), shown, "{name}");
        }
        for name in
            ["", "_D", "_D1", "_D9a", "_D1aFZ", "_D1aFQaZv", "_DThn16_1aFZv", "_D1é", "_Z1fv"]
        {
            assert_eq!(demangle(name), None, "{name}");
        }
    }

    #[test]
    fn damaged_names_end() {
        let name = "_D3std4conv__T2toTAyaZ__TQlTtZVAmA2i32i11QqFNaNbNftZQx";
        for end in 0..name.len() {
            let _ = demangle(&name[..end]);
            for byte in (b'!'..b'~').map(char::from) {
                let _ = demangle(&format!("{}{byte}{}", &name[..end], &name[end + 1..]));
            }
        }
    }

    #[test]
    fn names_that_are_too_deep_are_none() {
        for part in ["P", "S1a__T", "C4__S1"] {
            let deep = format!("_D1aF{}iZv", part.repeat(20_000));
            assert_eq!(demangle(&deep), None, "{part}");
        }
        for part in ["__T", "4__S1"] {
            assert_eq!(demangle(&format!("_D{}1aFZv", part.repeat(20_000))), None, "{part}");
        }
        let nested = |depth| format!("_D1aF{}iZv", "P".repeat(depth));
        assert_eq!(demangle(&nested(90)), Some(format!("a(int{})", "*".repeat(90))));
    }

    #[test]
    fn names_that_expand_beyond_all_bounds_are_none() {
        let long = "x".repeat(1000);
        // Each parameter is a class whose name is that of the first one.
        let names = |count: usize| {
            let mut name = format!("_D1aFC1000{long}");
            for _ in 0..count {
                let back = name.len() + 1 - "_D1aFC".len();
                let digits = [back / 676, back / 26 % 26, back % 26];
                name.push_str("CQ");
                let begins = digits.iter().position(|&digit| digit > 0).unwrap_or(2);
                for (at, &digit) in digits.iter().enumerate().skip(begins) {
                    let first = if at == 2 { b'a' } else { b'A' };
                    name.push(char::from(first + u8::try_from(digit).unwrap()));
                }
            }
            name + "Zv"
        };
        assert_eq!(
            demangle(&names(60)).map(|name| name.len()),
            Some("a()".len() + 61 * 1000 + 120)
        );
        assert_eq!(demangle(&names(70)), None);
        // Each argument has the one before it twice.
        let doubling = |levels: usize| format!("_D1aFHii{}Zv", "HQgQi".repeat(levels));
        assert!(demangle(&doubling(5)).is_some_and(|name| name.len() > 100));
        assert_eq!(demangle(&doubling(60)), None);
    }

    /// What a name refers to may be long, and of no length in the text.
    #[test]
    fn names_that_are_read_again_and_again_are_none() {
        let digits = |mut number: usize| {
            let mut digits = vec![b'a' + (number % 26) as u8];
            while number >= 26 {
                number /= 26;
                digits.insert(0, b'A' + (number % 26) as u8);
            }
            String::from_utf8(digits).unwrap()
        };
        let referring = |begin: &str, place: usize, each: &str, times: usize| {
            let mut name = begin.to_owned();
            for _ in 0..times {
                name.push_str(each);
                name.push_str(&digits(name.len() - 1 - place));
            }
            name + "Zv"
        };
        let zeros = format!("_D1aFC{}1b", "0".repeat(4000));
        let name = |times| referring(&zeros, "_D1aF".len(), "Q", times);
        assert!(demangle(&name(20)).is_some());
        assert_eq!(demangle(&name(40)), None);
        // A digit that is none.
        assert!(demangle("_D1aFPiQcZv").is_some());
        assert_eq!(demangle("_D1aFPiQAcZv"), None);
        // What is no function is read as the type of something, on each level.
        let nested = format!("1a{}FC{}1bF!", "FC1b".repeat(8), "0".repeat(4000));
        let mut reader = Reader { name: &nested, at: 0, depth: 0, steps: STEPS };
        assert_eq!((reader.mangled(&mut String::new()), reader.steps), (None, 0));
    }

    #[test]
    fn names_of_libraries_are_those_of_binutils() {
        for library in ["libgphobos.so.3", "libphobos2-ldc-shared.so.100"] {
            let path = format!("/usr/lib/x86_64-linux-gnu/{library}");
            if !std::path::Path::new(&path).exists() {
                skip("names of D as c++filt writes them", &format!("no {path}"));
                continue;
            }
            let Some(symbols) = run("nm", &["-D", &path], String::new()) else { return };
            let code = symbols.lines().filter_map(|line| {
                line.split_once(" T ").or_else(|| line.split_once(" W ")).map(|(_, name)| name)
            });
            let names: Vec<&str> = code.filter(|name| name.starts_with("_D")).collect();
            let Some(expected) = run("c++filt", &["--format=dlang"], names.join("\n")) else {
                return;
            };
            let pairs = names.iter().zip(expected.lines()).filter(|(name, shown)| *name != shown);
            let differ: Vec<_> = pairs
                .filter_map(|(name, shown)| {
                    let found = demangle(name).unwrap_or_default();
                    (found != shown).then(|| format!("{name}\n  {found}\n  {shown}"))
                })
                .collect();
            assert!(differ.len() * 1000 <= names.len(), "{:#?}", &differ[..differ.len().min(20)]);
        }
    }
}
