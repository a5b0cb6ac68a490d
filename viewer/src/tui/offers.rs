//! The commands that go with what is typed at `:`, with their keys.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::commands::{all, name};
use super::keymap::Keymap;
use super::message::{Completion, Message};
use super::mode::Mode;

/// A command as it is offered.
#[derive(Clone, Debug)]
pub struct Offer {
    /// What is typed.
    pub name: Cow<'static, str>,
    /// What happens.
    pub message: Message,
    /// The keys that do it, with blanks between them; empty if none does.
    pub keys: String,
    /// What happens, in words.
    pub help: &'static str,
}

/// The commands of a mode that go with a text, best first: those of every view and those that have
/// a key there.
#[must_use]
pub fn offered(keymap: &Keymap, mode: &'static Mode, text: &str) -> Vec<Offer> {
    let of_keys = keymap.bindings(mode).map(|binding| (&binding.message, binding.help));
    let everywhere = all().map(|command| (&command.message, command.help));
    let mut seen = BTreeSet::new();
    let mut offers: Vec<(Rank, Offer)> = Vec::new();
    for (message, help) in everywhere.chain(of_keys) {
        let Some(name) = name(message).filter(|name| seen.insert(name.clone())) else { continue };
        if let Some(rank) = rank(text, &name, help) {
            let keys = keymap.keys_of(mode, &name);
            offers.push((rank, Offer { name, message: message.clone(), keys, help }));
        }
    }
    // Stable: what goes as well stays in order.
    offers.sort_by_key(|(rank, _)| *rank);
    offers.into_iter().map(|(_, offer)| offer).collect()
}

/// What is shown of commands: name, keys, and what they do.
#[must_use]
pub fn completions(offers: Vec<Offer>) -> Vec<Completion> {
    /// Cells for keys; further ones are cut.
    const MOST: usize = 14;
    let widest = offers.iter().map(|offer| offer.keys.len()).max().unwrap_or(0).min(MOST);
    let completion = |offer: Offer| {
        let mut keys = String::new();
        for word in offer.keys.split(' ').filter(|word| !word.is_empty()) {
            if keys.len() + 1 + word.len() <= MOST {
                keys = if keys.is_empty() { word.to_owned() } else { format!("{keys} {word}") };
            }
        }
        Completion {
            text: offer.name.into_owned(),
            note: format!("{keys:widest$}  {}", offer.help),
        }
    };
    offers.into_iter().map(completion).collect()
}

/// How a command goes with what was typed; the least goes best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It is the name, or nothing was typed.
    Name,
    /// The name begins with it.
    Beginning,
    /// A further word of the name begins with it.
    Word,
    /// It is in the name.
    Within,
    /// Its letters are in the name, in their order, with so many others between them.
    Letters(usize),
    /// A word of the help begins with it.
    Help,
}

fn rank(text: &str, name: &str, help: &str) -> Option<Rank> {
    let text = text.trim().to_lowercase();
    let has_word =
        |of: &str| of.split(|c: char| !c.is_alphanumeric()).any(|word| word.starts_with(&text));
    Some(match () {
        () if text.is_empty() || name == text => Rank::Name,
        () if name.starts_with(&text) => Rank::Beginning,
        () if has_word(name) => Rank::Word,
        () if name.contains(&text) => Rank::Within,
        () => match letters_between(&text, name) {
            Some(between) => Rank::Letters(between),
            None if has_word(&help.to_lowercase()) => Rank::Help,
            None => return None,
        },
    })
}

/// How many letters of a name are between those of a text, which are in it in their order.
fn letters_between(text: &str, name: &str) -> Option<usize> {
    let mut places = name.char_indices();
    let mut first = None;
    let mut last = 0;
    for c in text.chars() {
        let (at, _) = places.find(|(_, of_name)| *of_name == c)?;
        first = first.or(Some(at));
        last = at;
    }
    Some((last + 1).saturating_sub(first.unwrap_or(0) + text.len()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::keymap;
    use super::*;

    #[test]
    fn every_key_has_a_command_and_no_name_two() {
        let of_keys = keymap::modes().flat_map(keymap::bindings).map(|binding| &binding.message);
        let mut named = BTreeMap::new();
        for message in of_keys.chain(all().map(|command| &command.message)) {
            let name = name(message).unwrap_or_else(|| panic!("{message:?} has no name"));
            let message = format!("{message:?}");
            assert!(!name.contains(' '), "{name}");
            let before = named.insert(name.clone(), message.clone());
            assert!(before.is_none_or(|before| before == message), "{name}: {message}");
        }
    }

    fn offers(text: &str) -> Vec<Cow<'static, str>> {
        let mode = keymap::modes().next().unwrap();
        offered(&Keymap::default(), mode, text).into_iter().map(|offer| offer.name).collect()
    }

    #[test]
    fn what_is_typed_need_not_be_a_beginning() {
        let all = offers("hot");
        assert_eq!(
            all,
            ["hot", "host", "split-host", "through-path"],
            "its letters are in them, too"
        );
        assert_eq!(offers("bymod")[0], "by-module");
        assert_eq!(offers("rank")[..2], ["rank", "split-rank"]);
        assert_eq!(offers("zoom"), ["root"], "a word of its help");
        assert_eq!(offers("HIDE")[0], "hide");
        assert_eq!(offers("qqq"), [""; 0]);
        assert_eq!(offers("\u{1b}[31m"), [""; 0]);
        // All of them.
        assert!(offers("").len() > 60);
    }

    #[test]
    fn each_offer_has_its_keys() {
        let mode = keymap::modes().next().unwrap();
        let keys = |name: &str| offered(&Keymap::default(), mode, name).swap_remove(0).keys;
        assert_eq!([keys("hot"), keys("down"), keys("small")], ["H", "j <down>", ""]);
    }
}
