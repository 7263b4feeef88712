//! A queue of a million packets, which pass through it in order.

use sojourn_units::ring::RingBuffer;

/// Number and size of a packet.
type Packet = (u64, u32);

fn main() {
    let mut queue = RingBuffer::<Packet, 1024>::default();
    for number in 0..1_000_000 {
        queue.push((number, 1500));
    }
    println!("{} packets wait; the first is {:?}", queue.len(), queue.first());
    let mut bytes = 0;
    while let Some((_, size)) = queue.pop() {
        bytes += u64::from(size);
    }
    println!("{bytes} bytes left, and {} packets wait", queue.len());
}
