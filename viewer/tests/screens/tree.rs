//! The tree and its columns.

use insta::assert_snapshot;

use super::{screen, solver};

#[test]
fn first_screen() {
    assert_snapshot!(screen(&solver(), "80x24", ""));
}
