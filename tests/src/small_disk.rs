//! A disk that is full soon.

use std::fs;

use crate::deadline;
use crate::workshop::Workshop;

/// A disk of a few kilobytes in memory, at `disk` in a workshop; gone when it is dropped.
#[derive(Debug)]
pub struct SmallDisk<'w> {
    workshop: &'w Workshop,
}

impl<'w> SmallDisk<'w> {
    /// Mounts one of a size such as `8k`; `None` without the right to.
    #[must_use]
    pub fn mount(workshop: &'w Workshop, size: &str) -> Option<Self> {
        fs::create_dir(workshop.path("disk")).unwrap();
        let size = format!("size={size}");
        let words = ["mount", "-t", "tmpfs", "-o", &size, "tmpfs", "disk"];
        workshop.run(&words).status.success().then_some(Self { workshop })
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = deadline::run(self.workshop.command("umount").arg("disk"));
    }
}
