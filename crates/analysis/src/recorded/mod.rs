//! What a recorded point says before any number is computed: its settings and label, the part of a phase that counts, its counters, its
//! steps, rounds and sequence.

pub mod ceiling;
pub(crate) mod counters;
pub mod data_load;
pub mod dimensions;
pub mod engine_names;
pub(crate) mod exact_text;
pub(crate) mod facts;
pub(crate) mod full_label;
pub mod io_shape;
pub mod rounds;
pub mod run_time;
pub(crate) mod sequence;
pub mod window;
