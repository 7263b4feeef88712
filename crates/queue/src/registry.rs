//! The macro that makes the registry out of one line a queue.

/// Declares the queues, `Type = place module` for each: the modules, the statically
/// dispatched `AnyQueue`, and the list of all.
///
/// The place is a matter of speed. The link's code has that of the `hot` in it; that of
/// the `cold` is apart, or packets could no longer stay in registers on the way to the
/// hot: see `apart.rs`.
macro_rules! queues {
    (@hot hot $any:ident $variant:ident $q:ident $call:expr) => {
        if let Self::$variant($q) = $any { return $call; }
    };
    (@hot cold $any:ident $variant:ident $q:ident $call:expr) => {};
    ($($variant:ident = $place:ident $module:ident),+ $(,)?) => {
        $(mod $module;)+

        /// Any queue that ships, dispatched without a pointer; or a user's own
        /// behind one.
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum AnyQueue<P: Packet> {
            $($variant($module::$variant<P>),)+
            User(Box<dyn Queue<P>>),
        }

        const INFOS: &[&Info] = &[$(&$module::INFO),+];

        impl<P: Packet + Send> AnyQueue<P> {
            /// Builds the queue of this name; none where there is no such queue.
            pub fn build(name: &str, setup: &Setup) -> Option<AnyQueue<P>> {
                $(if name == $module::INFO.name {
                    return Some(AnyQueue::$variant($module::$variant::new(setup)));
                })+
                None
            }

            /// Like [`Queue::dequeue`], with what is done with the packet: each hot
            /// discipline's own code does it, without a copy between.
            #[inline(always)]
            pub fn dequeue_to<R>(&mut self, now: Instant, drops: &mut dyn FnMut(P, DropReason), to: impl FnOnce(P) -> R) -> Option<R> {
                $($crate::registry::queues!(@hot $place self $variant q q.dequeue(now, drops).map(to));)+
                self.dequeue(now, drops).map(to)
            }

            #[inline(never)]
            fn enqueue_apart(&mut self, now: Instant, packet: &Apart<P>, drops: &mut dyn FnMut(P, DropReason)) {
                match self { $(Self::$variant(q) => q.enqueue(now, packet.0, drops),)+ Self::User(q) => q.enqueue(now, packet.0, drops) }
            }
        }

        impl<P: Packet + Send> Queue<P> for AnyQueue<P> {
            #[inline(always)]
            fn enqueue(&mut self, now: Instant, packet: P, drops: &mut dyn FnMut(P, DropReason)) {
                $($crate::registry::queues!(@hot $place self $variant q q.enqueue(now, packet, drops));)+
                self.enqueue_apart(now, &Apart(packet), drops);
            }
            // One copy for all queues that hold others, for rings, and for the cold.
            #[inline(never)]
            fn dequeue(&mut self, now: Instant, drops: &mut dyn FnMut(P, DropReason)) -> Option<P> {
                match self { $(Self::$variant(q) => q.dequeue(now, drops),)+ Self::User(q) => q.dequeue(now, drops) }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $(Self::$variant(q) => q.backlog(),)+ Self::User(q) => q.backlog() }
            }
            fn set_limit(&mut self, limit: Limit) {
                match self { $(Self::$variant(q) => q.set_limit(limit),)+ Self::User(q) => q.set_limit(limit) }
            }
            fn make_room(&mut self, now: Instant, drops: &mut dyn FnMut(P, DropReason)) {
                match self { $(Self::$variant(q) => q.make_room(now, drops),)+ Self::User(q) => q.make_room(now, drops) }
            }
            fn head_size(&self) -> Option<Bytes> {
                match self { $(Self::$variant(q) => q.head_size(),)+ Self::User(q) => q.head_size() }
            }
            fn ready_at(&self) -> Option<Instant> {
                match self { $(Self::$variant(q) => q.ready_at(),)+ Self::User(q) => q.ready_at() }
            }
        }
    };
}
pub(crate) use queues;
