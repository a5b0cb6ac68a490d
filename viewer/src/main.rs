//! csprof
fn main() {}
