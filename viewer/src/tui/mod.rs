//! The terminal viewer.
//!
//! In the life of a sample this is the last step: rows become lines on a screen. The state is a
//! plain `Model`; every event becomes a closed message; a pure `update` changes the
//! model and names the effects it wants; a pure `draw` paints the model; one shell performs the
//! effects and owns the terminal.

pub mod key;
pub mod line;
pub mod name;
pub mod theme;
