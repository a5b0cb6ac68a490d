//! Writing what is on the screen, where a person says.

use super::super::effect::Effect;
use super::super::export::parse;
use super::super::message::Notice;
use super::super::model::Model;
use super::ask::Effects;
use super::repro;

/// Has what is on the screen written to the file that the text names, or copied.
///
/// The error is a byte of the text and what is wrong there.
pub(super) fn to(model: &mut Model, text: &str) -> Result<Effects, (usize, String)> {
    let (form, target) = parse(text)?;
    let words = repro::words(model, Some(form)).map_err(|cause| (0, cause))?;
    model.notice = Some(Notice::Said("writing\u{2026}".to_owned()));
    Ok(vec![Effect::Export { words, form, target }])
}
