//! What is made of the analysis of a whole run: rows of repeats, the survey of devices, and what binds a point.

pub mod repeat_rows;
pub mod survey;
pub mod why;
