//! Fuzz targets: each passes bytes to one of Sojourn's readers, and panics or aborts if the reader
//! breaks one of its promises. `studies/fuzzing` lists the promises.
#![cfg(test)]

mod choices;
mod connection;
mod document;
mod grammar;
mod heap;
mod known;
mod simulate;
mod summary;

/// Makes a test of the function `check` in each module. Its seeds are in `__fuzz__/NAME/corpus`.
macro_rules! targets {
    ($($name:ident),* $(,)?) => {$(
        mod $name;

        #[test]
        fn $name() {
            let _alone = heap::alone();
            // Seeds alone: a test repeats the same inputs each time.
            bolero::check!().with_iterations(0).for_each(|data: &[u8]| $name::check(data));
        }
    )*};
}

targets!(capacity, capture, explain, files, http3, json, qlog, quic, record, scenario, set, udp,);
