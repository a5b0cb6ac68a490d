//! Reports on small trees, as written.
