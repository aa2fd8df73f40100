//! Which files are closed enough for a secret.
//!
//! In: the owner and the mode of a file. Out: whether others may open it. Limits: lists of further users (ACLs) are seen as far as they are in
//! the bits of the group, which have their mask.

/// Whether users may open a file who have no business with a secret in it: any but its owner. A group may read a file of root, as libpq has it for
/// keys (<https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-CLIENTCERT>): systemd and Kubernetes hand secrets to processes
/// without privileges in this way.
pub fn is_open_to_others(owner: u32, mode: u32) -> bool {
    const ROOT: u32 = 0;
    let closed_to = if owner == ROOT { 0o037 } else { 0o077 };
    mode & closed_to != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_may_open_a_secret_and_the_group_may_read_that_of_root() {
        assert!([0o600, 0o400, 0o100_600].iter().all(|mode| !is_open_to_others(1000, *mode)));
        assert!([0o640, 0o440, 0o604, 0o620].iter().all(|mode| is_open_to_others(1000, *mode)));
        assert!([0o600, 0o400, 0o440, 0o640].iter().all(|mode| !is_open_to_others(0, *mode)));
        assert!([0o644, 0o660, 0o450, 0o602].iter().all(|mode| is_open_to_others(0, *mode)));
    }
}
