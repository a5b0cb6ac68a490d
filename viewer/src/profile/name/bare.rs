//! The bare forms of many names.

use super::{Form, also_called, is_plain};

/// The bare forms of many names, to be compared with patterns again and again.
#[derive(Debug, Default)]
pub(crate) struct BareNames {
    text: String,
    /// For each name, where its entries begin in `starts`; the last is the end of all.
    first: Vec<u32>,
    /// From where to where in `text` a name is, from each of its components on.
    starts: Vec<(u32, u32)>,
}

/// Bytes for each component of a name, with all it carries: names that have less are rare.
const LEAST_IN_COMPONENT: usize = 8;

impl BareNames {
    /// The bare forms of these names. A name that has nothing to set aside has no components here.
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Self {
        // Room for all there may be: pages that are not written to take no memory.
        let [count, length] =
            names.clone().fold([0, 0], |[count, length], name| [count + 1, length + name.len()]);
        let mut bare = Self {
            text: String::with_capacity(length),
            first: Vec::with_capacity(count + 1),
            starts: Vec::with_capacity(length / LEAST_IN_COMPONENT),
        };
        let mut form = Form::default();
        for name in names {
            bare.first.push(number(bare.starts.len()));
            if is_plain(name) {
                continue;
            }
            form.scan(name);
            bare.add(&form);
            // An inline namespace elsewhere in the name is not in its bare form.
            for name in also_called(name, form.self_type.take().as_ref(), &form.text) {
                form.scan(&name);
                bare.add(&form);
            }
        }
        bare.first.push(number(bare.starts.len()));
        bare
    }

    fn add(&mut self, form: &Form) {
        let base = self.text.len();
        self.text.push_str(&form.text);
        let end = number(self.text.len());
        self.starts.extend(form.starts.iter().map(|start| (number(base + start), end)));
    }

    /// A name from each of its components on; nothing if there is no such name, or it has nothing
    /// to set aside.
    pub(crate) fn components(&self, name: usize) -> impl ExactSizeIterator<Item = &str> {
        let first = self.first.get(name..).and_then(|rest| Some([*rest.first()?, *rest.get(1)?]));
        let [first, end] = first.unwrap_or_default();
        let components = &self.starts[first as usize..end as usize];
        components.iter().map(|&(start, end)| &self.text[start as usize..end as usize])
    }

    /// Whether a name has components, and `matches` holds for those from one of them on. `None`
    /// if there are none.
    pub(crate) fn any(&self, name: usize, matches: impl Fn(&str) -> bool) -> Option<bool> {
        let mut components = self.components(name);
        (components.len() > 0).then(|| components.any(matches))
    }
}

/// A place in the text of all names, which is smaller than a profile can be.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
