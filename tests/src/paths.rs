//! Call paths as `csprof report --format json` shows them, and what their numbers should be.

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
}

/// One row: a function under one call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Names of the functions from the root to this one, this one included.
    pub path: Vec<String>,
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
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut path: Vec<String> = Vec::new();
        let rows = report["rows"].as_array().unwrap().iter().map(|row| {
            path.truncate(row["depth"].as_u64().unwrap() as usize);
            path.push(text(&row["function"]).unwrap());
            Row {
                path: path.clone(),
                module: text(&row["module"]),
                kind: text(&row["kind"]).unwrap(),
                inclusive: row["inclusive"].as_u64().unwrap(),
                exclusive: row["exclusive"].as_u64().unwrap(),
                edges: row["edges"].as_u64(),
            }
        });
        let rows: Vec<Row> = rows.collect();
        let (base, shown, out) = (number("base"), number("shown"), number("out"));
        assert_eq!(shown + out, base, "shown + out = base");
        let exclusive: u128 = rows.iter().map(|row| u128::from(row.exclusive)).sum();
        assert_eq!(exclusive, shown, "exclusive samples of all rows are what is shown");
        Self { base, shown, out, rows }
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
        let found: Vec<&Row> = self.iter().filter(|row| row.ends_in(names)).collect();
        assert_eq!(found.len(), 1, "{names:?} in {:#?}", self.rows);
        found[0]
    }

    /// Inclusive samples of all rows of a function that are not below another row of it.
    #[must_use]
    pub fn inclusive_of(&self, function: &str) -> u64 {
        self.iter().filter(|row| row.is_outermost(function)).map(|row| row.inclusive).sum()
    }
}

impl Row {
    fn ends_in(&self, names: &[&str]) -> bool {
        self.path.len() >= names.len()
            && self.path[self.path.len() - names.len()..].iter().eq(names.iter())
    }

    fn is_outermost(&self, function: &str) -> bool {
        let (last, above) = self.path.split_last().unwrap();
        last == function && above.iter().all(|name| name != function)
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
