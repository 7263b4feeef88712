//! The macro that builds the registry from one line per queue.

/// Declares the queues from lines `Type = place module`: the modules, the statically
/// dispatched `AnyQueue`, and the list of all queues.
///
/// The place is an optimisation. The link inlines the code of `hot` queues. `cold`
/// queues are called out of line: if they were inlined too, packets could no longer stay in
/// registers on the path to the hot queues (see `slow_path.rs`).
macro_rules! queues {
    (@hot hot $any:ident $variant:ident $q:ident $call:expr) => {
        if let Self::$variant($q) = $any { return $call; }
    };
    (@hot cold $any:ident $variant:ident $q:ident $call:expr) => {};
    ($($variant:ident = $place:ident $module:ident),+ $(,)?) => {
        $(mod $module;)+

        /// Any built-in queue, with static dispatch, or a boxed user-defined queue.
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum AnyQueue<P: Packet> {
            $($variant($module::$variant<P>),)+
            User(Box<dyn Queue<P>>),
        }

        const INFOS: &[&Info] = &[$(&$module::INFO),+];

        impl<P: Packet + Send> AnyQueue<P> {
            /// Builds the queue of this name, or returns `None` if the name is unknown.
            pub fn build(name: &str, setup: &Setup) -> Option<AnyQueue<P>> {
                $(if name == $module::INFO.name {
                    return Some(AnyQueue::$variant($module::$variant::new(setup)));
                })+
                None
            }

            /// [`Queue::dequeue`], then `to` on the packet. `to` is inlined into each hot
            /// queue's code, which saves a copy of the packet.
            #[inline(always)]
            pub fn dequeue_to<R>(&mut self, now: Instant, drops: Drops<'_, P>, to: impl FnOnce(P) -> R) -> Option<R> {
                $($crate::registry::queues!(@hot $place self $variant q q.dequeue(now, drops).map(to));)+
                self.dequeue(now, drops).map(to)
            }

            #[inline(never)]
            fn enqueue_cold(&mut self, now: Instant, packet: &SlowPath<P>, drops: Drops<'_, P>) {
                match self { $(Self::$variant(q) => q.enqueue(now, packet.0, drops),)+ Self::User(q) => q.enqueue(now, packet.0, drops) }
            }
        }

        impl<P: Packet + Send> Queue<P> for AnyQueue<P> {
            #[inline(always)]
            fn enqueue(&mut self, now: Instant, packet: P, drops: Drops<'_, P>) {
                $($crate::registry::queues!(@hot $place self $variant q q.enqueue(now, packet, drops));)+
                self.enqueue_cold(now, &SlowPath(packet), drops);
            }
            // One copy for queues with inner queues, for device rings, and for cold queues.
            #[inline(never)]
            fn dequeue(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P> {
                match self { $(Self::$variant(q) => q.dequeue(now, drops),)+ Self::User(q) => q.dequeue(now, drops) }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $(Self::$variant(q) => q.backlog(),)+ Self::User(q) => q.backlog() }
            }
            fn set_limit(&mut self, limit: Limit) {
                match self { $(Self::$variant(q) => q.set_limit(limit),)+ Self::User(q) => q.set_limit(limit) }
            }
            fn set_rate(&mut self, rate: Rate) {
                match self { $(Self::$variant(q) => q.set_rate(rate),)+ Self::User(q) => q.set_rate(rate) }
            }
            fn make_room(&mut self, now: Instant, drops: Drops<'_, P>) {
                match self { $(Self::$variant(q) => q.make_room(now, drops),)+ Self::User(q) => q.make_room(now, drops) }
            }
            fn head_size(&self) -> Option<Bytes> {
                match self { $(Self::$variant(q) => q.head_size(),)+ Self::User(q) => q.head_size() }
            }
            fn label_flow(&mut self, flow_hash: u64, labels: FlowLabels) {
                match self { $(Self::$variant(q) => q.label_flow(flow_hash, labels),)+ Self::User(q) => q.label_flow(flow_hash, labels) }
            }
            fn ready_at(&self) -> Option<Instant> {
                match self { $(Self::$variant(q) => q.ready_at(),)+ Self::User(q) => q.ready_at() }
            }
        }
    };
}
pub(crate) use queues;
