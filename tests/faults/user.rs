//! The user makes a mistake, presses Ctrl-C, or names what is not his to change.

use crate::fault::Family;

pub const USER: Family = Family {
    name: "user",
    about: "The user makes a mistake, presses Ctrl-C, or names what is not his to change.",
    faults: &[],
};
