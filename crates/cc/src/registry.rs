//! The macro that makes the registry out of one line a controller.

/// Declares the controllers, `Type = module` for each: the modules, the
/// statically dispatched `AnyController`, and the list of all. What a controller needs
/// of the transport stands in its `INFO`; where it depends on the parameters,
/// `Type = module: needs` names the type's function that says so.
macro_rules! controllers {
    (@needs $controller:ty) => { |_| <$controller>::INFO.needs };
    (@needs $controller:ty, $needs:ident) => { <$controller>::$needs };
    ($($variant:ident = $module:ident $(: $needs:ident)?),+ $(,)?) => {
        $(mod $module;)+

        /// Any controller that ships, dispatched without a pointer; or a
        /// user's own behind one.
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum AnyController {
            $($variant($module::$variant),)+
            User(Box<dyn Controller>),
        }

        const ALL: &[Algorithm] = &[$(Algorithm {
            info: &$module::$variant::INFO,
            build: |setup| AnyController::$variant($module::$variant::new(setup)),
            needs: $crate::registry::controllers!(@needs $module::$variant $(, $needs)?),
        }),+];

        impl Controller for AnyController {
            #[inline]
            fn on_sent(&mut self, now: Instant, sent: &Sent) {
                match self { $(Self::$variant(c) => c.on_sent(now, sent),)+ Self::User(c) => c.on_sent(now, sent) }
            }
            #[inline]
            fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
                match self { $(Self::$variant(c) => c.on_feedback(now, feedback),)+ Self::User(c) => c.on_feedback(now, feedback) }
            }
            fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
                match self { $(Self::$variant(c) => c.on_timeout(now, in_flight),)+ Self::User(c) => c.on_timeout(now, in_flight) }
            }
            fn on_signal(&mut self, now: Instant, signal: Signal) {
                match self { $(Self::$variant(c) => c.on_signal(now, signal),)+ Self::User(c) => c.on_signal(now, signal) }
            }
            #[inline]
            fn limits(&self) -> Limits {
                match self { $(Self::$variant(c) => c.limits(),)+ Self::User(c) => c.limits() }
            }
            fn probe(&self) -> Probe {
                match self { $(Self::$variant(c) => c.probe(),)+ Self::User(c) => c.probe() }
            }
        }
    };
}
pub(crate) use controllers;
