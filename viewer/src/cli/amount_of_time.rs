//! Amounts of time as people write them.

use std::time::Duration;

/// `10`, `10s`, `1.5s`, `500ms`, `2m`, `1h`; a bare number is of seconds.
///
/// # Errors
/// What an amount of time looks like.
pub(super) fn amount_of_time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let each = match &text[digits.len()..] {
        "" | "s" => Some(1.0),
        "ms" => Some(1e-3),
        "m" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds =
        each.filter(|_| is_number).and_then(|each| Some(each * digits.parse::<f64>().ok()?));
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| {
        "an amount of time is a number of seconds, or ends with ms, s, m or h".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        let amounts = ["10", "10s", "1.5s", "500ms", "2m", "1h", "0"].map(amount_of_time);
        let expected = [10_000, 10_000, 1_500, 500, 120_000, 3_600_000, 0];
        assert_eq!(amounts, expected.map(|ms| Ok(Duration::from_millis(ms))));
        for text in ["", "s", "-1", "1d", "inf", "nan", "1e9", "1 s", "9999999999999999999999h"] {
            assert!(amount_of_time(text).is_err(), "{text}");
        }
    }
}
