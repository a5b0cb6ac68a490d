//! How frames of x86-64 are unwound: registers, recipes, the step, and the reading of CFI rows.
//!
//! Pure, as the unwinder is that uses it.

#![forbid(unsafe_code)]

mod expression;
pub mod inference;
pub mod instruction;
pub mod landing;
pub(crate) mod linkage;
mod list;
pub mod recipe;
pub mod registers;
pub(crate) mod rows;
pub(crate) mod startup;
pub mod step;
pub mod switch;
pub mod text;
