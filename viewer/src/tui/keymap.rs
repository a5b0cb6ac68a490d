//! What keys mean in a mode, and which keys a mode has.

use super::key::{Code, Key};
use super::message::Message;
use super::mode::{Binding, Group, Keys, Mode, OVER_VIEWS, PROMPT};
use super::views::{self, TABS, VIEWS};

/// The keys of a mode, each with what it does.
pub fn bindings(mode: &'static Mode) -> impl Iterator<Item = &'static Binding> {
    mode.keys.iter().copied().flatten().flat_map(|keys| match keys {
        Keys::Of(list) => list,
        Keys::Views => &views::keys()[..TABS],
        Keys::ViewsOver => &views::keys()[TABS..],
    })
}

/// Those that the help screen puts into a group.
pub fn bindings_of_group(
    mode: &'static Mode,
    group: Group,
) -> impl Iterator<Item = &'static Binding> {
    bindings(mode).filter(move |binding| binding.group == group)
}

/// All modes, those of the views first.
pub fn modes() -> impl Iterator<Item = &'static Mode> {
    views::modes(&VIEWS).chain(OVER_VIEWS)
}

/// What a key means in a mode. In prompts, printable characters without a meaning are text.
#[must_use]
pub fn message(mode: &'static Mode, key: Key) -> Option<Message> {
    let bound = bindings(mode).find(|binding| binding.keys().any(|k| k == key));
    match (bound, key) {
        (Some(binding), _) => Some(binding.message.clone()),
        (None, Key { code: Code::Char(c), control: false, alt: false }) if *mode == PROMPT => {
            Some(Message::Typed(c))
        }
        _ => None,
    }
}

/// What to say of a key that means nothing in a mode.
#[must_use]
pub fn unbound(mode: &'static Mode, key: Key) -> String {
    let has_key = |mode: &&'static Mode| message(mode, key).is_some();
    let views: Vec<&str> =
        views::modes(&VIEWS[..TABS]).filter(has_key).map(|mode| mode.title).collect();
    if views.is_empty() {
        format!("{key} is no key of {}; ? lists those that are", mode.title)
    } else {
        format!("{key} is for {}; ? lists the keys here", views.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::mode::TOO_SMALL;
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_word_is_a_key() {
        for binding in modes().flat_map(bindings) {
            for word in binding.keys.split(' ') {
                let (key, rest) = Key::parse_first(word).unwrap();
                assert_eq!((key.to_string().as_str(), rest), (word, ""));
            }
        }
    }

    fn flat() -> &'static Mode {
        modes().find(|mode| mode.title == "the flat view").unwrap()
    }

    #[test]
    fn a_key_without_a_meaning_says_where_it_has_one() {
        let said = |key: &str| unbound(flat(), Key::parse_first(key).unwrap().0);
        assert_eq!(
            said("H"),
            "H is for the call tree and the callers view and the tree of places and the flame view and the source view; ? lists the keys here"
        );
        assert_eq!(said("Q"), "Q is no key of the flat view; ? lists those that are");
    }

    #[test]
    fn no_key_has_two_meanings_in_a_mode() {
        for mode in modes() {
            let mut seen = HashMap::new();
            for binding in bindings(mode) {
                for key in binding.keys() {
                    let other = seen.insert(key, binding.help);
                    assert_eq!(other, None, "{key} in {}: also {:?}", mode.title, binding.help);
                }
            }
        }
    }

    #[test]
    fn text_is_typed_only_at_prompts() {
        let key = Key::parse_first("q").unwrap().0;
        assert!(matches!(message(&PROMPT, key), Some(Message::Typed('q'))));
        assert!(matches!(message(flat(), key), Some(Message::Back)));
    }

    #[test]
    fn escape_never_quits() {
        let escape = Key::parse_first("<esc>").unwrap().0;
        for mode in modes() {
            let does = message(mode, escape);
            assert!(
                matches!(does, Some(Message::Cancel)) || (*mode == TOO_SMALL && does.is_none()),
                "{}",
                mode.title
            );
        }
    }
}
