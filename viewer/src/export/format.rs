//! What the forms of exports have in common.

use std::fmt;
use std::io::{self, BufWriter, Write};

use crate::print::{self, Printable};
use crate::refine::Refined;
use crate::views::measure::Measure;

/// What an export has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// What numbers of paths count, of the metric that is looked at.
    pub measure: Measure,
    /// Leaves inlined frames out; their samples go to the function they are inlined into.
    pub no_inline: bool,
    /// Stacks end above what has less than this share of what is shown, in percent; its samples go
    /// to what is above.
    pub threshold_percent: f64,
    /// What the profile is refined by, to be shown.
    pub refinement: Option<String>,
}

/// A form in which the call paths of a profile are written.
pub struct Format {
    /// What `--format` calls it, and how names of its files end.
    pub name: &'static str,
    /// What it is, for the help.
    pub help: &'static str,
    /// Whether it is drawn: then it shows comparisons, too, and says what it is refined by.
    pub is_picture: bool,
    /// Writes it.
    pub(super) write: fn(&Refined, &Options, &mut dyn Write) -> io::Result<()>,
    /// How many bytes that writes, of a form that may have far more of them than the profile.
    pub(super) size: Option<fn(&Refined, &Options) -> u64>,
}

impl Format {
    /// How many bytes an export has, of a form that may have far more of them than the profile.
    #[must_use]
    pub fn size(&self, refined: &Refined, options: &Options) -> Option<u64> {
        self.size.map(|size| size(refined, options))
    }

    /// Writes what is refined.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(
        &self,
        refined: &Refined,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut out = Printable::new(BufWriter::new(out), print::Escaping::Text);
        (self.write)(refined, options, &mut out)?;
        out.flush()
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
