//! A list of few values without a heap. SIGNAL side: cannot panic.

/// A list of at most `N` values.
#[derive(Clone, Copy)]
pub(super) struct List<T: Copy, const N: usize> {
    values: [T; N],
    length: usize,
}

impl<T: Copy + PartialEq, const N: usize> List<T, N> {
    pub(super) const fn new(nothing: T) -> Self {
        Self { values: [nothing; N], length: 0 }
    }

    pub(super) fn as_slice(&self) -> &[T] {
        self.values.get(..self.length).unwrap_or_default()
    }

    /// `None` if there is no room.
    pub(super) fn push(&mut self, value: T) -> Option<()> {
        *self.values.get_mut(self.length)? = value;
        self.length += 1;
        Some(())
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.length = self.length.checked_sub(1)?;
        self.values.get(self.length).copied()
    }

    pub(super) fn update(&mut self, change: impl Fn(T) -> T) {
        for value in self.values.iter_mut().take(self.length) {
            *value = change(*value);
        }
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        let mut kept = 0;
        for index in 0..self.length {
            let Some(value) = self.values.get(index).copied().filter(&keep) else { continue };
            if let Some(place) = self.values.get_mut(kept) {
                *place = value;
                kept += 1;
            }
        }
        self.length = kept;
    }
}
