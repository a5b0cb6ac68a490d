//! Link options of the preloaded library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Never unloaded: threads may be inside the handler or the trampoline at any time. Bound at
    // load time: a lazy binding would enter the loader from the handler.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete,-z,now,-z,initfirst");
    // What the library defines and uses itself is bound here: a program that defines `sigaction`
    // is not called by the collector, and does not come back to itself through it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    // The start files name five symbols of the program's, and do nothing that is needed here.
    println!("cargo:rustc-cdylib-link-arg=-nostartfiles");
}
