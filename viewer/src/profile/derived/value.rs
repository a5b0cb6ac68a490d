//! What a formula makes of values, each of which is known exactly or between two bounds.

use super::formula::{Operation, Step};

/// A number that is known between two bounds, both inclusive and finite; they are equal where it
/// is known exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The least that it may be.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Value {
    /// A number that is known.
    #[must_use]
    pub const fn exact(number: f64) -> Self {
        Self { low: number, high: number }
    }

    /// Whether it is known exactly.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.low.total_cmp(&self.high).is_eq()
    }

    /// The value between the least and the greatest of these; `None` where one of them is not
    /// finite. Of two zeros both are the positive one.
    fn around(numbers: [f64; 4]) -> Option<Self> {
        if !numbers.iter().all(|number| number.is_finite()) {
            return None;
        }
        let least = numbers.into_iter().fold(f64::INFINITY, f64::min);
        let most = numbers.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { low: least + 0.0, high: most + 0.0 })
    }

    /// What an operation makes of two: `None` where that is not known, because the second may be 0
    /// and divides, or it is beyond all numbers.
    #[must_use]
    pub fn with(self, operation: Operation, other: Self) -> Option<Self> {
        let (a, b) = (self, other);
        let each = |apply: fn(f64, f64) -> f64| {
            [apply(a.low, b.low), apply(a.low, b.high), apply(a.high, b.low), apply(a.high, b.high)]
        };
        Self::around(match operation {
            Operation::Add => each(|a, b| a + b),
            Operation::Subtract => each(|a, b| a - b),
            Operation::Multiply => each(|a, b| a * b),
            Operation::Divide if b.low <= 0.0 && b.high >= 0.0 => return None,
            Operation::Divide => each(|a, b| a / b),
        })
    }

    /// OTHER minus BASE.
    #[must_use]
    pub fn less(self, other: Self) -> Option<Self> {
        self.with(Operation::Subtract, other)
    }
}

/// What steps make of the values of their terms: `None` where one that is needed is not known.
pub fn computed<T>(steps: &[Step<T>], term: impl Fn(&T) -> Option<Value>) -> Option<Value> {
    let mut stack: Vec<Value> = Vec::new();
    for step in steps {
        let value = match step {
            Step::Number(number) => Value::exact(*number),
            Step::Term(of) => term(of)?,
            Step::Negated => {
                let Value { low, high } = stack.pop()?;
                Value { low: 0.0 - high, high: 0.0 - low }
            }
            Step::Two(operation) => {
                let (other, value) = (stack.pop()?, stack.pop()?);
                value.with(*operation, other)?
            }
        };
        stack.push(value);
    }
    stack.pop()
}
