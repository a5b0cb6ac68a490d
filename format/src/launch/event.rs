//! What tells sources of one kind apart: events of the kernel's by their numbers, resources that
//! the program counts by their names.

use core::fmt;

/// Most bytes of a [`Label`].
pub const LABEL_BYTES: usize = 48;

/// The name of a source as its user gave it: 1 to [`LABEL_BYTES`] graphic characters of ASCII.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Label([u8; LABEL_BYTES]);

impl Label {
    /// `None` if the text is empty, too long, or has a character that is not graphic.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_one = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let mut bytes = [0; LABEL_BYTES];
        bytes.get_mut(..text.len()).filter(|_| is_one)?.copy_from_slice(text.as_bytes());
        Some(Self(bytes))
    }

    /// The one that was kept in this form; `None` where there is none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; LABEL_BYTES]) -> Option<Self> {
        let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(LABEL_BYTES);
        Self::new(core::str::from_utf8(bytes.get(..length)?).ok()?)
    }

    /// Whether it is this text.
    #[must_use]
    #[inline]
    pub fn is(&self, text: &[u8]) -> bool {
        self.0.get(..text.len()) == Some(text) && self.0.get(text.len()).is_none_or(|end| *end == 0)
    }

    /// Padded with zeros.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; LABEL_BYTES] {
        &self.0
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap_or(LABEL_BYTES);
        self.0.get(..length).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or("")
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// An event of the kernel's, as perf_event_open(2) takes it.
///
/// In the environment: `4.3c.0.0.1.0:cycles`, its numbers in hexadecimal and its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelEvent {
    /// What it is called.
    pub label: Label,
    /// `type` of `struct perf_event_attr`: which unit counts.
    pub pmu: u32,
    /// `config`, `config1` and `config2`: what it counts.
    pub config: [u64; 3],
    /// Whether what happens in the kernel counts, too.
    pub kernel: bool,
    /// Whether samples of that say where in the kernel. Never without `kernel`.
    pub shows_kernel: bool,
    /// `precise_ip`, from 0 (any skid) to 3 (none).
    pub precise: u8,
}

impl KernelEvent {
    /// Whether it is that a thread gives the processor away, or that it is taken from it
    /// (`PERF_COUNT_SW_CONTEXT_SWITCHES`).
    #[must_use]
    pub const fn is_switch(&self) -> bool {
        self.pmu == 1 && self.config[0] == 3
    }

    /// Reads the form used in the environment. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (numbers, label) = text.split_once(':')?;
        let mut numbers = numbers.split('.').map(|number| u64::from_str_radix(number, 16).ok());
        let mut next = || numbers.next().flatten();
        let pmu = u32::try_from(next()?).ok()?;
        let config = [next()?, next()?, next()?];
        let (kernel, shows_kernel) = match next()? {
            0 => (false, false),
            1 => (true, false),
            2 => (true, true),
            _ => return None,
        };
        let precise = u8::try_from(next()?).ok().filter(|&level| level <= 3)?;
        numbers.next().is_none().then_some(())?;
        Some(Self { label: Label::new(label)?, pmu, config, kernel, shows_kernel, precise })
    }
}

impl fmt::Display for KernelEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, pmu, config: [config, config1, config2], precise, .. } = *self;
        let kernel = u8::from(self.kernel) + u8::from(self.shows_kernel);
        write!(f, "{pmu:x}.{config:x}.{config1:x}.{config2:x}.{kernel}.{precise}:")?;
        f.write_str(label.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_survives_the_environment() {
        let text = "4.53003c.ffffffffffffffff.0.1.2:cpu/event=0x3c,cmask=1/";
        let event = KernelEvent::parse(text).unwrap();
        assert_eq!(event.to_string(), text);
        assert_eq!((event.pmu, event.config[1], event.precise), (4, u64::MAX, 2));
        for (digit, kernel) in [("0", (false, false)), ("1", (true, false)), ("2", (true, true))] {
            let text = format!("1.2.0.0.{digit}.0:page-faults");
            let event = KernelEvent::parse(&text).unwrap();
            assert_eq!((event.kernel, event.shows_kernel), kernel);
            assert_eq!(event.to_string(), text);
        }
        for text in [
            "",
            "4:cycles",
            "4.0.0.0.3.0:cycles",
            "4.0.0.0.0.4:cycles",
            "100000000.0.0.0.0.0:cycles",
            "4.0.0.0.0.0.0:cycles",
            "4.0.0.0.0.0:",
            "4.0.0.0.0.0:two words",
        ] {
            assert_eq!(KernelEvent::parse(text), None, "{text}");
        }
    }

    #[test]
    fn labels_have_a_limit() {
        let longest = "x".repeat(LABEL_BYTES);
        let label = Label::new(&longest).unwrap();
        assert_eq!((label.as_str(), Label::from_bytes(label.bytes())), (&*longest, Some(label)));
        for text in ["", "a b", "é", "a\n", &"x".repeat(LABEL_BYTES + 1)] {
            assert_eq!(Label::new(text), None, "{text:?}");
        }
        assert_eq!(Label::from_bytes(&[0; LABEL_BYTES]), None);
    }
}
