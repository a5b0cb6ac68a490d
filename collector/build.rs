//! Link options of the preloaded library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Never unloaded: threads may be inside the handler or the trampoline at any time. Bound at
    // load time: a lazy binding would enter the loader from the handler.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete,-z,now,-z,initfirst");
}
