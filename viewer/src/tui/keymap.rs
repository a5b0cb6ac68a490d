//! What keys mean in a mode, and which keys a mode has: those of its lists, or the user's.

use std::collections::{BTreeMap, BTreeSet};

use super::commands;
use super::key::{Code, Key};
use super::message::Message;
use super::mode::{Binding, Group, Keys, Mode, OVER_VIEWS, PROMPT};
use super::view::ViewEntry;
use super::views::{self, TABS, VIEWS};
use crate::refine::meant;

/// The keys of a mode as its lists have them, each with what it does.
pub fn bindings(mode: &'static Mode) -> impl Iterator<Item = &'static Binding> {
    mode.keys.iter().copied().flatten().flat_map(|keys| match keys {
        Keys::Of(list) => list,
        Keys::Views => &views::keys()[..TABS],
        Keys::ViewsOver => &views::keys()[TABS..],
    })
}

/// The names of all commands, of every mode.
#[must_use]
pub fn command_names() -> BTreeSet<String> {
    let of_keys = modes().flat_map(bindings).map(|binding| &binding.message);
    let messages = commands::all().map(|command| &command.message).chain(of_keys);
    messages.filter_map(|message| Some(commands::name(message)?.into_owned())).collect()
}

/// All modes, those of the views first.
pub fn modes() -> impl Iterator<Item = &'static Mode> {
    views::modes(&VIEWS).chain(OVER_VIEWS)
}

/// The keys of all modes, as the user wants them.
#[derive(Clone, Debug)]
pub struct Keymap {
    modes: BTreeMap<&'static str, Vec<Binding>>,
}

/// What keys mean that were pressed one after the other.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// This.
    Message(Message),
    /// Nothing yet: further keys may follow.
    Beginning,
    /// Nothing.
    Nothing,
}

impl Default for Keymap {
    fn default() -> Self {
        let own = |mode: &'static Mode| (mode.title, bindings(mode).cloned().collect());
        Self { modes: modes().map(own).collect() }
    }
}

impl Keymap {
    /// The usual keys but for some commands, each with all its keys, with blanks between them. A
    /// key that another command had is taken from it. Where digits are to be counts, views have
    /// none.
    ///
    /// # Errors
    /// Which of the changes cannot be made, and why.
    pub fn changed(
        changes: &[(String, String)],
        has_counts: bool,
    ) -> Result<Self, (usize, String)> {
        let mut map = Self::default();
        let digits = |binding: &Binding| {
            let is_digit = |c: char| c.is_ascii_digit();
            binding.keys.chars().count() == 1 && binding.keys.starts_with(is_digit)
        };
        let all: Vec<String> = command_names().into_iter().collect();
        for (place, (name, keys)) in changes.iter().enumerate() {
            if !all.contains(name) {
                let near = meant(name, all.iter().map(String::as_str));
                return Err((place, format!("no command is called `{name}`{near}")));
            }
            let wrong = |word: &&str| Key::parse_all(word).is_none();
            if let Some(word) = keys.split_whitespace().find(wrong) {
                return Err((
                    place,
                    format!("`{word}` is no key; keys are as j, <C-d>, <enter>, zz"),
                ));
            }
        }
        let change = |binding: &Binding| {
            let name = commands::name(&binding.message)?;
            changes.iter().position(|(changed, _)| *changed == name)
        };
        for (mode, bindings) in &mut map.modes {
            if has_counts {
                let numbers = bindings.iter_mut().filter(|binding| digits(binding));
                numbers.for_each(|binding| binding.keys = String::new().into());
            }
            let mut taken: Vec<(usize, Vec<Key>)> = Vec::new();
            for binding in &mut *bindings {
                let Some(place) = change(binding) else { continue };
                // In prompts letters are text.
                let is_text = |word: &&str| *mode == PROMPT.title && word.chars().count() == 1;
                let words = changes[place].1.split_whitespace();
                let words: Vec<&str> = words.filter(|word| !is_text(word)).collect();
                binding.keys = words.join(" ").into();
                for keys in binding.keys() {
                    let is_in_the_way = |(other, taken): &&(usize, Vec<Key>)| {
                        *other != place && (taken.starts_with(&keys) || keys.starts_with(taken))
                    };
                    if let Some((other, _)) = taken.iter().find(is_in_the_way) {
                        let (first, place) = (place.min(*other), place.max(*other));
                        let other = &changes[first].0;
                        return Err((
                            place,
                            format!("`{other}` has these keys, or their beginning"),
                        ));
                    }
                    taken.push((place, keys));
                }
            }
            for binding in bindings.iter_mut() {
                if change(binding).is_some() {
                    continue;
                }
                let is_left = |word: &&str| {
                    let keys = Key::parse_all(word).unwrap_or_default();
                    let mut others = taken.iter().map(|(_, taken)| taken);
                    !others.any(|taken| taken.starts_with(&keys) || keys.starts_with(taken))
                };
                let left: Vec<&str> = binding.keys.split(' ').filter(is_left).collect();
                binding.keys = left.join(" ").into();
            }
        }
        Ok(map)
    }

    /// The keys of a mode, each with what it does.
    pub fn bindings(&self, mode: &'static Mode) -> impl Iterator<Item = &Binding> {
        self.modes.get(mode.title).into_iter().flatten()
    }

    /// Those that the help screen puts into a group.
    pub fn bindings_of_group(
        &self,
        mode: &'static Mode,
        group: Group,
    ) -> impl Iterator<Item = &Binding> {
        self.bindings(mode).filter(move |binding| binding.group == group)
    }

    /// What keys mean in a mode. In prompts, printable characters without a meaning are text.
    #[must_use]
    pub fn meaning(&self, mode: &'static Mode, keys: &[Key]) -> Meaning {
        let mut is_beginning = false;
        for binding in self.bindings(mode) {
            for bound in binding.keys() {
                if bound == keys {
                    return Meaning::Message(binding.message.clone());
                }
                is_beginning |= bound.starts_with(keys);
            }
        }
        match keys {
            _ if is_beginning => Meaning::Beginning,
            [Key { code: Code::Char(c), control: false, alt: false }] if *mode == PROMPT => {
                Meaning::Message(Message::Typed(*c))
            }
            _ => Meaning::Nothing,
        }
    }

    /// The keys in a mode of the command that has a key in the usual table: what a hint is to show.
    #[must_use]
    pub fn instead_of(&self, mode: &'static Mode, usual: Key) -> Option<Vec<Key>> {
        let has_key = |binding: &Binding| binding.keys().any(|keys| keys == [usual]);
        let place = bindings(mode).position(has_key)?;
        let now = self.bindings(mode).nth(place)?;
        if has_key(now) { Some(vec![usual]) } else { now.keys().next() }
    }

    /// All keys of a command in a mode, in written form, with blanks between them.
    #[must_use]
    pub fn keys_of(&self, mode: &'static Mode, name: &str) -> String {
        let is_it = |binding: &&Binding| commands::name(&binding.message).as_deref() == Some(name);
        let keys: Vec<&str> = self.bindings(mode).filter(is_it).map(|own| &*own.keys).collect();
        keys.join(" ").trim().to_owned()
    }

    /// What to say of keys that mean nothing in a mode.
    #[must_use]
    pub fn unbound(&self, mode: &'static Mode, keys: &[Key]) -> String {
        let has_keys =
            |mode: &'static Mode| matches!(self.meaning(mode, keys), Meaning::Message(_));
        let keys_of = |view: &&ViewEntry| view.modes.iter().any(|mode| has_keys(mode));
        let views = VIEWS[..TABS].iter().copied().filter(keys_of);
        // The view that is shown has it where it shows other rows.
        let places = views.map(|view| {
            let own = view.modes.iter().any(|of| of.title == mode.title);
            let other = view.modes.iter().find(|mode| has_keys(mode)).filter(|_| own);
            other.map_or(view.key, |other| other.title)
        });
        let places: Vec<&str> = places.collect();
        let keys: String = keys.iter().map(ToString::to_string).collect();
        match places.split_last() {
            None => format!("{keys} is no key of {}; ? lists those that are", mode.title),
            Some((last, [])) => format!("{keys} is for view {last}; ? lists the keys here"),
            Some((last, others)) => {
                let others = others.join(", ");
                format!("{keys} is for views {others} and {last}; ? lists the keys here")
            }
        }
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
                let keys = Key::parse_all(word).unwrap();
                assert_eq!(keys.iter().map(ToString::to_string).collect::<String>(), word);
            }
        }
    }

    fn flat() -> &'static Mode {
        modes().find(|mode| mode.title == "the flat view").unwrap()
    }

    #[test]
    fn a_key_without_a_meaning_says_where_it_has_one() {
        let said = |key: &str| Keymap::default().unbound(flat(), &Key::parse_all(key).unwrap());
        assert_eq!(
            said("H"),
            "H is for views 1, 2, the tree of places, 6 and 7; ? lists the keys here"
        );
        assert_eq!(said("Q"), "Q is no key of the flat view; ? lists those that are");
    }

    #[test]
    fn no_key_has_two_meanings_in_a_mode() {
        for mode in modes() {
            let mut seen = HashMap::new();
            for binding in bindings(mode) {
                for keys in binding.keys() {
                    let other = seen.insert(keys.clone(), binding.help);
                    assert_eq!(other, None, "{keys:?} in {}: also {:?}", mode.title, binding.help);
                }
            }
        }
    }

    #[test]
    fn text_is_typed_only_at_prompts() {
        let keys = Key::parse_all("q").unwrap();
        let map = Keymap::default();
        assert!(matches!(map.meaning(&PROMPT, &keys), Meaning::Message(Message::Typed('q'))));
        assert!(matches!(map.meaning(flat(), &keys), Meaning::Message(Message::Back)));
    }

    #[test]
    fn escape_never_quits() {
        let escape = Key::parse_all("<esc>").unwrap();
        for mode in modes() {
            let does = Keymap::default().meaning(mode, &escape);
            let is_nothing = *mode == TOO_SMALL && matches!(does, Meaning::Nothing);
            let is_cancel = matches!(does, Meaning::Message(Message::Cancel));
            assert!(is_cancel || is_nothing, "{}", mode.title);
        }
    }

    fn changed(changes: &[(&str, &str)]) -> Result<Keymap, (usize, String)> {
        let owned = |(name, keys): &(&str, &str)| ((*name).to_owned(), (*keys).to_owned());
        Keymap::changed(&changes.iter().map(owned).collect::<Vec<_>>(), false)
    }

    #[test]
    fn keys_can_be_given_to_another_command() {
        let map = changed(&[("hide", "h X"), ("exclude", "")]).unwrap();
        let name = |keys: &str| match map.meaning(flat(), &Key::parse_all(keys).unwrap()) {
            Meaning::Message(message) => commands::name(&message).unwrap().into_owned(),
            _ => String::new(),
        };
        assert_eq!([name("h"), name("X"), name("d"), name("x")], ["hide", "hide", "", ""]);
        // The command that had the key has it no more, but its other ones.
        let tree = modes().find(|mode| mode.title == "the call tree").unwrap();
        let close = map.bindings(tree).find(|binding| binding.help.starts_with("close the row"));
        assert_eq!(close.unwrap().keys, "<left>");
    }

    #[test]
    fn changes_that_cannot_be_are_told() {
        let told = |changes: &[(&str, &str)]| changed(changes).unwrap_err();
        assert_eq!(told(&[("hide", "X"), ("hid", "d")]).0, 1);
        assert!(told(&[("hid", "d")]).1.contains("hide"), "{:?}", told(&[("hid", "d")]));
        assert!(told(&[("hide", "<nokey>")]).1.contains("<nokey>"));
        assert!(told(&[("hide", "X"), ("exclude", "X")]).1.contains("hide"));
        // A key that begins another one's keys would never let it come.
        assert!(told(&[("hide", "X"), ("exclude", "Xy")]).1.contains("hide"));
    }
}
