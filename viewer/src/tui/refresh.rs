//! Reading a program that runs again, and making what is to be shown of it.

use std::time::Instant;

use super::effect::Request;
use super::forest::Refusal;
use super::live::{INTERVAL, compared};
use super::made::Wanted;
use super::message::Message;
use super::reading::{LiveReader, Reading, Refreshed, Shown};
use super::worker;
use crate::refine::{Refined, Watch};

/// Reads once, and makes what is to be shown.
pub fn refreshed(
    read: &LiveReader,
    before: Option<Reading>,
    shown: &Refined,
    request: Request,
    wanted: Option<Wanted>,
) -> Message {
    let (begin, ticket) = (Instant::now(), request.ticket);
    let outcome = read().map_err(|error| format!("{error:#}")).and_then(|reading| {
        let now = reading.clone();
        let profile = match before {
            Some(before) => {
                let source = &shown.source_of(request.metric).source;
                compared(before, now, Some(source))?
            }
            None => now.profile,
        };
        Ok((reading, profile))
    });
    let outcome = match outcome {
        Err(cause) => Err(Refusal { cause, part: None }),
        Ok((reading, profile)) => match worker::replace(shown, Ok(profile), request) {
            Message::Reloaded { base, forest, .. } => {
                let made = wanted.and_then(|wanted| {
                    let made = wanted.make(&forest.refined, &Watch::none()).ok()?;
                    Some((wanted, made))
                });
                Ok(Shown { reading, base: *base, forest: *forest, made })
            }
            Message::Refused { refusal, .. } => Err(refusal),
            other => Err(Refusal { cause: format!("{other:?}"), part: None }),
        },
    };
    let took = begin.elapsed();
    let pause = if took * 2 <= INTERVAL { INTERVAL - took } else { took.max(INTERVAL / 2) };
    Message::Refreshed(Box::new(Refreshed { ticket, pause, outcome }))
}
