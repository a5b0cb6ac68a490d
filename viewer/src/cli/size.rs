//! Amounts of memory as people write them.

/// `512M`, `64k`, `2G`, or a number of bytes; units of 1024, as for other limits of memory.
///
/// # Errors
/// What a size looks like.
pub(super) fn memory_size(text: &str) -> Result<u64, String> {
    let least = 64 << 10;
    bytes(text)?
        .filter(|size| *size >= least)
        .ok_or_else(|| "a size is at least 64k, for instance 512M".to_owned())
}

/// The same of any size; `None` for what is no number, or too large for one.
///
/// # Errors
/// What a size looks like.
pub(super) fn bytes(text: &str) -> Result<Option<u64>, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit: u64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return Err("a size is a number of bytes, or ends with k, M or G".to_owned()),
    };
    Ok(digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)))
}
