//! The smallest latency spike after a drop of capacity, with and without a limit of the queue.

use std::error::Error;

use sojourn_theory::spike::spike;

fn main() -> Result<(), Box<dyn Error>> {
    let (before, after, delay) = ("60Mbit".parse()?, "20Mbit".parse()?, "50ms".parse()?);
    let bound = spike(before, after, delay, None)?;
    println!("no sender that fills the link has a spike below {}", bound.spike);

    let limited = spike(before, after, delay, Some("20ms".parse()?))?;
    println!(
        "a queue of 20 ms loses {:.0} % of the excess data instead",
        100.0 * limited.lost_fraction
    );
    Ok(())
}
