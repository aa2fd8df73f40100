//! What a run file promises, tested from outside: what is written is read, whatever happens to the recorder or to the file.

mod damage;
mod hosts;
mod live;
mod round_trip;
mod sample;
mod size;
mod survival;
