//! Captures and their round-trip times: real ones compared with tshark, generated ones with
//! known results, malformed ones for errors.

mod compressed;
mod copies;
mod damage;
mod delivery;
mod files;
mod links;
mod made;
mod pairs;
mod recovery;
mod tshark;
