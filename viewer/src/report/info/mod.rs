//! What a profile holds: the run, the rates, every loss, epochs, modules and missing symbols.
//!
//! In JSON, `samples.delivered = samples.recorded + Σ losses` over the whole run, and keys are only
//! ever added. The text says the same for people, with reasons.

pub mod json;
mod sets;
pub mod text;

#[cfg(test)]
mod tests;

pub use sets::{Places, RefinementPlace, SetPlace};

use csprof_format::profile::EpochReason;

fn epoch_reason(reason: EpochReason) -> &'static str {
    match reason {
        EpochReason::Start => "start",
        EpochReason::AddressReuse => "address-reuse",
        EpochReason::Load => "load",
        EpochReason::Request => "request",
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
