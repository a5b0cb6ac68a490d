//! What all sources have in common.

/// What is done with a [`Handle`](super::Handle).
pub(super) trait Object {
    /// Starts the source, or has it begin again.
    fn start(&self);

    /// Stops the source.
    fn stop(&self);

    /// Stops the source and gives the kernel object back.
    fn close(&self);

    /// In a forked child: lets go of what is the parent's. Timers are not inherited, nor are
    /// mappings of events; files are.
    fn forget(&self) {}

    /// The file number, where the object is one.
    fn file_number(&self) -> Option<i32> {
        None
    }
}
