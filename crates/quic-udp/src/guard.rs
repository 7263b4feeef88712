//! Panics of the stack: each ends one connection, without output.
//!
//! noq-proto 1.4.0 panics at an illegal packet after CONNECTION_CLOSE (studies/fuzzing), and one
//! peer must not end the connections of the others.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// This thread runs a guarded call.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
    /// The panic of that call, in words.
    static FAULT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A part of the stack that is called by [`Guarded::call`] alone.
pub(crate) struct Guarded<T> {
    value: T,
    fault: Option<String>,
}

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Guarded<T> {
        Guarded { value, fault: None }
    }

    /// Calls the part; `None` once a call has panicked, since its state may be broken.
    #[inline]
    pub(crate) fn call<R>(&mut self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.fault.is_some() {
            return None;
        }
        guard(|| act(&mut self.value)).map_err(|fault| self.fault = Some(fault)).ok()
    }

    /// The panic in words, with its place.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}

/// Calls `act`, whose panic does not reach the panic hook.
///
/// # Errors
/// The place and the words of the panic, in one line.
#[inline]
pub fn guard<R>(act: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let other = take_hook();
        set_hook(Box::new(move |info| {
            if IS_GUARDED.get() {
                FAULT.set(described(info));
            } else {
                other(info);
            }
        }));
    });
    let was_guarded = IS_GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(act));
    IS_GUARDED.set(was_guarded);
    done.map_err(|_| FAULT.take())
}

/// A panic in one line: `noq-proto-1.4.0/src/connection/mod.rs:12: the words`.
fn described(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let words = text.unwrap_or("a panic without words");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    info.location()
        .map_or(words.clone(), |at| format!("{}:{}: {words}", crate_path(at.file()), at.line()))
}

/// The path of a source from its crate's folder on. Paths of cargo's registry begin on the machine
/// that compiled it.
fn crate_path(file: &str) -> &str {
    let Some(src) = file.rfind("/src/") else { return file };
    let folder = file[..src].rfind('/').map_or(0, |slash| slash + 1);
    &file[folder..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_kept_in_words_and_ends_the_calls() {
        let mut guarded = Guarded::new(1);
        assert_eq!(guarded.call(|value| *value + 1), Some(2));
        assert_eq!(guarded.call(|_| -> u32 { panic!("a fault\n  of {}", "the stack") }), None);
        let fault = guarded.fault().expect("a fault").to_owned();
        let place = "src/guard.rs:";
        assert!(fault.contains(place) && fault.ends_with(": a fault of the stack"), "{fault}");
        assert_eq!(guarded.call(|value| *value), None, "its state may be broken");
        assert_eq!(guard(|| 3), Ok(3), "other calls go on");
    }

    #[test]
    fn a_place_begins_at_its_crate() {
        let path = "/home/one/.cargo/registry/src/index-0/noq-proto-1.4.0/src/connection/mod.rs";
        assert_eq!(crate_path(path), "noq-proto-1.4.0/src/connection/mod.rs");
        assert_eq!(crate_path("crates/cc/src/reno.rs"), "cc/src/reno.rs");
        assert_eq!(crate_path("main.rs"), "main.rs");
    }
}
