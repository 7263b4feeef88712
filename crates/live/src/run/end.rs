//! The end of a run's threads, also after a panic.

use std::sync::atomic::Ordering;
use std::thread;

use crate::endpoints::open::Flows;
use crate::observers::logs::RunLogs;
use crate::order::signals::Signals;

/// Ends the threads beside those of the flows when it is dropped. After a panic it ends the others
/// too: the scope of the threads would wait for them forever.
pub(crate) struct EndOfRun<'a> {
    pub(crate) flows: &'a Flows,
    pub(crate) signals: &'a Signals<'a>,
    pub(crate) logs: Option<&'a RunLogs>,
}

impl Drop for EndOfRun<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.signals.end_all();
            self.flows.iter().flatten().for_each(|flow| flow.end());
        }
        self.signals.has_ended.store(true, Ordering::Release);
        self.logs.inspect(|logs| logs.finish());
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use sojourn_units::Instant;

    use super::*;
    use crate::endpoints::live_flow::{LiveFlow, Start};
    use crate::endpoints::shared::Shared;
    use crate::error::Error;
    use crate::run::threads::HEAD_START;
    use sojourn_udp::io::Clock;

    /// A flow that lasts until its end is asked for.
    #[derive(Default)]
    struct Endless(AtomicBool);

    impl LiveFlow for Endless {
        fn shared(&self) -> &Arc<Shared> {
            unreachable!("the flow is not recorded")
        }

        fn run(&self, _: Start<'_>) -> Result<(), Error> {
            wait_for(&self.0);
            Ok(())
        }

        fn end(&self) {
            self.0.store(true, Ordering::Release);
        }
    }

    fn wait_for(flag: &AtomicBool) {
        while !flag.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn panic_in_a_run() {
        let flows: Flows = vec![Some(Box::new(Endless::default()))];
        let (logs, writer) = RunLogs::new("unused", "it");
        let stop = AtomicBool::new(false);
        let (signals, flows) = (&Signals::new(&stop), &flows);
        let clock = Clock::start_in(HEAD_START);
        thread::scope(|scope| {
            let _end = EndOfRun { flows, signals, logs: Some(&logs) };
            scope.spawn(|| writer.run(|| {}));
            let start = Start { clock, opens: Instant(0), is_ending: &|| false };
            scope.spawn(move || flows[0].as_ref().map(|flow| flow.run(start)));
            scope.spawn(|| {
                let Signals { stop, is_over, are_ended, has_ended } = signals;
                [*stop, is_over, are_ended, has_ended].map(wait_for)
            });
            panic!("a part of the run is broken");
        });
    }

    #[test]
    fn a_panic_ends_all_threads() {
        let (done, is_done) = channel();
        thread::spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(panic_in_a_run));
            done.send(outcome.is_err()).expect("the test waits");
        });
        let has_panicked = is_done.recv_timeout(Duration::from_secs(20));
        assert_eq!(has_panicked, Ok(true), "no thread waits forever");
    }
}
