//! Numbers with a meaning: each table of a saved profile has an index type of its own.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the table that this id indexes.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the entry at `index`, saturating at `u32::MAX`, which no table reaches.
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }

        impl From<u32> for $name {
            fn from(number: u32) -> Self {
                Self(number)
            }
        }
    )*};
}

ids! {
    /// Index into [`Profile::strings`](crate::profile::Profile::strings).
    StringId;
    /// Index into [`Profile::processes`](crate::profile::Profile::processes).
    ProcessId;
    /// Index into [`Profile::threads`](crate::profile::Profile::threads).
    ThreadId;
    /// Index into [`Profile::epochs`](crate::profile::Profile::epochs).
    EpochId;
    /// Index into [`Profile::modules`](crate::profile::Profile::modules).
    ModuleId;
    /// Index into [`Profile::frames`](crate::profile::Profile::frames).
    FrameId;
    /// Index into [`Profile::functions`](crate::profile::Profile::functions).
    FunctionId;
    /// Index into the columns of [`Profile::nodes`](crate::profile::Profile::nodes).
    NodeId;
}
