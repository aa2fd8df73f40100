//! The folder that a path leads into.

use std::path::Path;

/// The folder of the file at `path`: the working directory, if the path is a name alone.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_is_in_the_working_directory() {
        let of = |path: &'static str| folder_of(Path::new(path));
        assert_eq!([of("run.md"), of("a/run.md"), of("/run.md")], [".", "a", "/"].map(Path::new));
    }
}
