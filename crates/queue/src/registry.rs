//! The macro that makes the registry out of one line a queue.

/// Declares the queues, `Type = module` for each: the modules, the statically
/// dispatched `AnyQueue`, and the list of all.
macro_rules! queues {
    ($($variant:ident = $module:ident),+ $(,)?) => {
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

            /// Like [`Queue::dequeue`], into the packet's place: each
            /// discipline's own code writes there, without a copy between.
            #[inline(always)]
            pub fn dequeue_into(&mut self, now: Instant, place: &mut Option<P>, drops: &mut dyn FnMut(P, DropReason)) {
                match self { $(Self::$variant(q) => *place = q.dequeue(now, drops),)+ Self::User(q) => *place = q.dequeue(now, drops) }
            }
        }

        impl<P: Packet + Send> Queue<P> for AnyQueue<P> {
            #[inline(always)]
            fn enqueue(&mut self, now: Instant, packet: P, drops: &mut dyn FnMut(P, DropReason)) {
                match self { $(Self::$variant(q) => q.enqueue(now, packet, drops),)+ Self::User(q) => crate::apart::enqueue(q.as_mut(), now, &crate::apart::Apart(packet), drops) }
            }
            // One copy for all queues that hold others and for rings: the disciplines' code
            // stays within the one hot place, `dequeue_into`.
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
