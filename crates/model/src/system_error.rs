//! The operating system's words for an error, for people.
//!
//! In: an I/O error. Out: its words. Limits: the words are those of the C library, in English.

use std::io;

/// The words of `error` without its number: `No such file or directory`, and not `No such file or directory (os error 2)`.
pub fn system_words(error: &io::Error) -> String {
    without_number(&error.to_string())
}

/// `text` without the numbers that Rust adds to errors of the system. Libraries wrap such an error in a text of their own.
pub fn without_number(text: &str) -> String {
    let (mut words, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once(" (os error ") {
        words.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    words + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_error_is_left_out_and_its_words_stay() {
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(missing.to_string(), "No such file or directory (os error 2)");
        assert_eq!(system_words(&missing), "No such file or directory");
        let wrapped = io::Error::other(format!("cannot open `x`: {missing}; try again"));
        assert_eq!(system_words(&wrapped), "cannot open `x`: No such file or directory; try again");
        assert_eq!(system_words(&io::Error::other("the pipe is closed")), "the pipe is closed");
    }
}
