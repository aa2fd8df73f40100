//! A file that a command writes again each time: it replaces its own earlier one, and nothing else.

use crate::exit::Fault;
use crate::output;
use host::error::{IoContext, TargetError};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// Writes `head` and `rest` into `file`, which `flag` names. A file that is there must begin with `head`.
pub fn replace(file: &Path, flag: &str, head: &str, rest: &str) -> Result<(), Fault> {
    host::safety::check_links(file)?;
    let mut begins = Vec::new();
    match model::open_regular(file) {
        Ok(found) => _ = found.take(head.len() as u64).read_to_end(&mut begins).trying("read", file)?,
        Err(error) if error.kind() == ErrorKind::NotFound => begins = head.into(),
        Err(error) => return Err(TargetError::io("read", file, &error).into()),
    }
    if begins != head.as_bytes() {
        let shown = output::shown(file);
        return Err(Fault::usage(format!(
            "{flag}: `{shown}` is there and not of `plimsoll compare`; use another name"
        )));
    }
    let dir = model::folder_of(file);
    let mut whole = NamedTempFile::new_in(dir).trying("create a file in", dir)?;
    whole.write_all(head.as_bytes()).and_then(|()| whole.write_all(rest.as_bytes())).trying("write", file)?;
    whole.persist(file).map_err(|failed| failed.error).trying("write", file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_same_kind_is_replaced_and_any_other_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("compare.md");
        for rest in ["one", "two"] {
            replace(&file, "--markdown", "<!-- mine -->\n", rest).expect("it is new, or its own");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "<!-- mine -->\ntwo");
        std::fs::write(&file, "# README").unwrap();
        let refused = replace(&file, "--markdown", "<!-- mine -->\n", "three").expect_err("somebody wrote it").text;
        assert!(refused.starts_with("--markdown: ") && refused.contains("use another name"), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "# README");
    }
}
