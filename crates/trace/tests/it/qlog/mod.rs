//! qlog files of every form, their counts and RTTs, and files that are damaged or try to exhaust
//! memory.

mod bounds;
mod counts;
mod damage;
mod forms;
mod frames;
mod made;
mod paths;
mod samples;
