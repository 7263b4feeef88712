//! Captures and the round-trip times in them: real ones against tshark, made ones
//! against the truth, malformed ones against whatever may happen.

mod damage;
mod files;
mod links;
mod made;
mod pairs;
mod tshark;
