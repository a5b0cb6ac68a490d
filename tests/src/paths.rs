//! Call paths as `csprof report --format json` shows them, and what their numbers should be.

use std::fmt;

use serde_json::Value;

/// The rows of a top-down tree.
#[derive(Clone, Debug)]
pub struct Rows {
    /// All that was measured, in samples.
    pub base: u128,
    /// What the rows show.
    pub shown: u128,
    /// What a refinement left out.
    pub out: u128,
    rows: Vec<Row>,
    /// Row of the caller of each row.
    caller: Vec<Option<usize>>,
}

/// One row: a function under one call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Callers above it.
    pub depth: usize,
    /// Name of the function.
    pub function: String,
    /// Load module, if known.
    pub module: Option<String>,
    /// `call`, `inline` or `partial`.
    pub kind: String,
    /// Samples with this call path as their beginning.
    pub inclusive: u64,
    /// Samples with this call path as their whole.
    pub exclusive: u64,
    /// Edges, where they are exact.
    pub edges: Option<u64>,
}

impl Rows {
    /// Reads the report. Samples that it shows and leaves out must add up to those measured.
    ///
    /// # Panics
    ///
    /// If they do not.
    #[must_use]
    pub fn new(report: &str) -> Self {
        let report: Value = serde_json::from_str(report).unwrap();
        let number = |key: &str| u128::from(report[key].as_u64().unwrap());
        let rows: Vec<Row> = report["rows"].as_array().unwrap().iter().map(Row::new).collect();
        let (base, shown, out) = (number("base"), number("shown"), number("out"));
        assert_eq!(shown + out, base, "shown + out = base");
        let exclusive: u128 = rows.iter().map(|row| u128::from(row.exclusive)).sum();
        assert_eq!(exclusive, shown, "exclusive samples of all rows are what is shown");
        let mut open: Vec<usize> = Vec::new();
        let caller = rows.iter().enumerate().map(|(number, row)| {
            open.truncate(row.depth);
            let caller = open.last().copied();
            open.push(number);
            caller
        });
        let caller = caller.collect();
        Self { base, shown, out, rows, caller }
    }

    /// All rows, in the order of display.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    /// The one row whose call path ends in `names`.
    ///
    /// # Panics
    ///
    /// If there is none, or more than one.
    #[must_use]
    pub fn at(&self, names: &[&str]) -> &Row {
        self.get(names).unwrap_or_else(|| panic!("no row ends in {names:?}:\n{self}"))
    }

    /// As [`Self::at`], where ticks of the kernel may have missed it.
    ///
    /// # Panics
    ///
    /// If several rows end so.
    #[must_use]
    pub fn get(&self, names: &[&str]) -> Option<&Row> {
        let mut found = (0..self.rows.len()).filter(|&row| self.ends_in(row, names));
        let row = found.next()?;
        assert_eq!(found.next(), None, "several rows end in {names:?}:\n{self}");
        Some(&self.rows[row])
    }

    /// Inclusive samples of all rows of a function that are not below another row of it.
    #[must_use]
    pub fn inclusive_of(&self, function: &str) -> u64 {
        let is_it = |row: usize| self.rows[row].function == function;
        (0..self.rows.len())
            .filter(|&row| is_it(row) && !self.callers(row).any(is_it))
            .map(|row| self.rows[row].inclusive)
            .sum()
    }

    /// The caller of a row, its caller, and so on to the root.
    fn callers(&self, row: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.caller[row], |&row| self.caller[row])
    }

    fn ends_in(&self, row: usize, names: &[&str]) -> bool {
        let (last, callers) = names.split_last().unwrap();
        let mut above = self.callers(row).map(|row| self.rows[row].function.as_str());
        self.rows[row].function == *last
            && callers.iter().rev().all(|name| above.next() == Some(*name))
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Row { depth, function, inclusive, exclusive, edges, .. } in self.rows.iter().take(500) {
            writeln!(f, "{:depth$}{function} {inclusive} {exclusive} {edges:?}", "")?;
        }
        Ok(())
    }
}

impl Row {
    fn new(row: &Value) -> Self {
        let text = |key: &str| row[key].as_str().map(str::to_owned);
        let number = |key: &str| row[key].as_u64().unwrap();
        Self {
            depth: number("depth") as usize,
            function: text("function").unwrap(),
            module: text("module"),
            kind: text("kind").unwrap(),
            inclusive: number("inclusive"),
            exclusive: number("exclusive"),
            edges: row["edges"].as_u64(),
        }
    }
}

/// Whether `part` of `whole` samples is what a share of `percent` gives: within 5 standard
/// deviations of the binomial distribution, σ² = n p (1 − p). Samples that are spread evenly over
/// time vary less than that; what varies is the speed of the machine. A right answer is outside
/// less than once in a million runs.
#[must_use]
pub fn is_share(part: u64, whole: u64, percent: u32) -> bool {
    let (part, whole, share) = (part as f64, whole as f64, f64::from(percent) / 100.0);
    (part - whole * share).abs() <= 5.0 * (whole * share * (1.0 - share)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::is_share;

    #[test]
    fn five_standard_deviations_of_a_hundred_samples_are_25() {
        let accepted: Vec<u64> = (0..=100).filter(|&part| is_share(part, 100, 50)).collect();
        assert_eq!((accepted[0], accepted[accepted.len() - 1]), (25, 75));
    }
}
