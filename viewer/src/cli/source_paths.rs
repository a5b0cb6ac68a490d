//! Where source files are looked for: an option of what shows them.

use clap::Args;

use crate::sources::{PathMap, Sources};

/// Where source files are looked for.
#[derive(Clone, Debug, Args)]
pub(super) struct SourcePaths {
    /// Look for source files that were compiled below OLD below NEW; may be given more than once
    #[arg(long, value_name = "OLD=NEW")]
    path_map: Vec<PathMap>,
}

impl SourcePaths {
    pub(super) fn sources(&self) -> Sources {
        Sources::new(self.path_map.clone())
    }
}
