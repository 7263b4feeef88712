//! Sets `cfg(live)` if the module has live runs.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(live)");
    let on_linux = var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if on_linux && var("CARGO_FEATURE_LIVE").is_ok() {
        println!("cargo::rustc-cfg=live");
    }
}
