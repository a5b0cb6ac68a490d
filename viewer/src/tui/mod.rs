//! The terminal viewer.
//!
//! In the life of a sample this is the last step: rows become lines on a screen.
//!
//! ```text
//!   key, mouse ──keymap──► Message ──update──► Model ──draw──► cells
//!                             ▲        │
//!                             └─ run ◄─┴─ Effect
//! ```
//!
//! The state is a plain `Model`; every event becomes a closed `Message`; a pure `update` changes
//! the model and names the `Effect`s it wants; a pure `draw` paints the model; only `run` touches
//! the terminal, threads and signals. So a test drives the viewer by keys and compares screens.
//!
//! Invariant: nothing that a key does costs more than what is on the screen, except refining and
//! marking what a search finds, which the shell does (on a worker where the profile is large).

mod aborts;
mod arrivals;
mod beside;
pub mod canvas;
mod caption;
pub mod columns;
pub mod commands;
mod comparison;
pub mod draw;
mod editor;
pub mod effect;
pub mod explain;
pub mod export;
pub mod forest;
pub mod habits;
pub mod header;
pub mod help;
pub mod history;
pub mod info;
pub mod key;
pub mod keymap;
mod language;
pub mod line;
pub mod live;
pub mod made;
pub mod message;
pub mod mode;
pub mod model;
mod mouse;
pub mod name;
pub mod offers;
pub mod page;
pub mod prompt;
mod reader;
pub mod reading;
pub mod refresh;
mod run;
mod saved_rows;
pub mod saved_screen;
pub mod scene;
mod sets;
pub mod stages;
pub mod table;
mod terminal;
pub mod theme;
pub mod update;
pub mod view;
pub mod views;
pub mod wire;
pub mod worker;

pub use run::{NoteKeeper, Opened, Options, ProfileReader, Writer, run};
pub use terminal::is_screen;
