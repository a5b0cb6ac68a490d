//! What is particular to x86-64: registers, recipes, the step, and the reading of CFI rows.
//!
//! Another architecture is a folder beside this one with the same names.

mod expression;
pub mod inference;
pub mod instruction;
pub mod landing;
pub(super) mod linkage;
mod list;
pub mod recipe;
pub mod registers;
pub(super) mod rows;
pub(super) mod startup;
pub mod step;
pub mod switch;
