//! Reads quantities as `tc` writes them, and computes the time of a packet on a link.

use sojourn_units::{Bytes, Duration, Rate, UnitError};

fn main() -> Result<(), UnitError> {
    let rate: Rate = "60Mbit".parse()?;
    let packet = Bytes(1500);
    println!("{packet} take {} at {rate}", rate.time_for(packet));

    let delay: Duration = "20ms".parse()?;
    println!("a path of {delay} at {rate} holds {}", rate.bytes_in(delay));

    // A wrong unit is refused, with the reason.
    if let Err(error) = "60MB".parse::<Rate>() {
        println!("{error}");
    }
    Ok(())
}
