//! The macro that builds the registry from one line per controller.

/// Declares the controllers from lines `Type = place module`: the modules, the
/// statically dispatched `AnyController`, and the list of all controllers. `INFO` holds the
/// transport features that a controller needs. If they depend on the parameters,
/// `Type = place module: needs` names a function of the type that returns them, and
/// `Type = place module: needs + start` also one that builds it, in another controller perhaps.
///
/// The place is an optimisation. Every connection reserves the size of the largest
/// controller that is not `boxed`. The sender inlines calls to `hot` controllers; calls to
/// `cold` and `boxed` ones are out of line, because inlining them would slow the hot ones
/// down.
macro_rules! controllers {
    (@needs $controller:ty) => { |_| <$controller>::INFO.needs };
    (@needs $controller:ty, $needs:ident) => { <$controller>::$needs };
    (@build $any:ident $variant:ident $controller:ty) => {
        |setup| $any::$variant(<$controller>::new(setup).into())
    };
    (@build $any:ident $variant:ident $controller:ty, $start:ident) => { <$controller>::$start };
    (@room boxed $controller:ty) => { Box<$controller> };
    (@room $place:ident $controller:ty) => { $controller };
    (@hot hot $any:ident $variant:ident $c:ident $call:expr) => {
        if let Self::$variant($c) = $any { return $call; }
    };
    (@hot $place:ident $any:ident $variant:ident $c:ident $call:expr) => {};
    ($($variant:ident = $place:ident $module:ident $(: $needs:ident $(+ $start:ident)?)?),+ $(,)?) => {
        $(mod $module;)+

        /// Any built-in controller, with static dispatch and boxed only if large, or a boxed one:
        /// user-defined, or one that Careful Resume starts.
        #[allow(missing_docs)]
        pub enum AnyController {
            $($variant($crate::registry::controllers!(@room $place $module::$variant)),)+
            User(Box<dyn Controller>),
        }

        const ALL: &[Algorithm] = &[$(Algorithm {
            info: &$module::$variant::INFO,
            build: $crate::registry::controllers!(
                @build AnyController $variant $module::$variant $($(, $start)?)?
            ),
            needs: $crate::registry::controllers!(@needs $module::$variant $(, $needs)?),
        }),+];

        impl AnyController {
            #[inline(never)]
            fn on_sent_cold(&mut self, now: Instant, sent: &Sent) {
                match self { $(Self::$variant(c) => c.on_sent(now, sent),)+ Self::User(c) => c.on_sent(now, sent) }
            }
            #[inline(never)]
            fn on_feedback_cold(&mut self, now: Instant, feedback: &Feedback<'_>) {
                match self { $(Self::$variant(c) => c.on_feedback(now, feedback),)+ Self::User(c) => c.on_feedback(now, feedback) }
            }
            #[inline(never)]
            fn limits_cold(&self) -> Limits {
                match self { $(Self::$variant(c) => c.limits(),)+ Self::User(c) => c.limits() }
            }
        }

        impl Controller for AnyController {
            #[inline]
            fn on_sent(&mut self, now: Instant, sent: &Sent) {
                $($crate::registry::controllers!(@hot $place self $variant c c.on_sent(now, sent));)+
                self.on_sent_cold(now, sent);
            }
            #[inline]
            fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
                $($crate::registry::controllers!(@hot $place self $variant c c.on_feedback(now, feedback));)+
                self.on_feedback_cold(now, feedback);
            }
            fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
                match self { $(Self::$variant(c) => c.on_timeout(now, in_flight),)+ Self::User(c) => c.on_timeout(now, in_flight) }
            }
            fn on_handshake(&mut self, now: Instant, rtt: Duration) {
                match self { $(Self::$variant(c) => c.on_handshake(now, rtt),)+ Self::User(c) => c.on_handshake(now, rtt) }
            }
            fn paces_initial_window(&self) -> bool {
                match self { $(Self::$variant(c) => c.paces_initial_window(),)+ Self::User(c) => c.paces_initial_window() }
            }
            fn on_validation(&mut self, now: Instant, cwnd: Bytes, ends_recovery: bool) {
                match self { $(Self::$variant(c) => c.on_validation(now, cwnd, ends_recovery),)+ Self::User(c) => c.on_validation(now, cwnd, ends_recovery) }
            }
            fn reduces_at_once(&self) -> bool {
                match self { $(Self::$variant(c) => c.reduces_at_once(),)+ Self::User(c) => c.reduces_at_once() }
            }
            fn on_signal(&mut self, now: Instant, signal: Signal) {
                match self { $(Self::$variant(c) => c.on_signal(now, signal),)+ Self::User(c) => c.on_signal(now, signal) }
            }
            fn on_frame(&mut self, now: Instant, frame: &Frame) {
                match self { $(Self::$variant(c) => c.on_frame(now, frame),)+ Self::User(c) => c.on_frame(now, frame) }
            }
            fn target(&self) -> Option<Rate> {
                match self { $(Self::$variant(c) => c.target(),)+ Self::User(c) => c.target() }
            }
            #[inline]
            fn limits(&self) -> Limits {
                $($crate::registry::controllers!(@hot $place self $variant c c.limits());)+
                self.limits_cold()
            }
            fn probe(&self) -> Probe {
                match self { $(Self::$variant(c) => c.probe(),)+ Self::User(c) => c.probe() }
            }
        }
    };
}
pub(crate) use controllers;
