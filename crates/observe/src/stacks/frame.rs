//! The name of a function as people write it.
//!
//! In: what a tool prints of a frame. Out: its name without the types of its arguments. Limits: names of Rust and C++ are not parsed: what
//! a pair of round brackets at the end holds is cut off.

/// `buf_page_get_gen` of `buf_page_get_gen(page_id_t, unsigned long) const`. The brackets of `operator()` are part of its name.
pub(super) fn function_name(symbol: &str) -> &str {
    // The version of a symbol of a library: `pthread_cond_wait@@GLIBC_2.3.2`.
    let symbol = symbol.split('@').next().unwrap_or_default().trim();
    let without = symbol.strip_suffix(" const").unwrap_or(symbol);
    let Some(begin) = without.ends_with(')').then(|| opening_bracket(without)).flatten() else { return symbol };
    let name = without[..begin].trim_end();
    if name.is_empty() || name.ends_with("operator") { without } else { name }
}

/// Where the round bracket opens that closes at the end of `text`.
fn opening_bracket(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_left_out_and_the_brackets_of_names_are_not() {
        for (symbol, name) in [
            ("poll", "poll"),
            ("pthread_cond_wait@@GLIBC_2.3.2", "pthread_cond_wait"),
            ("log_write_up_to(unsigned long, bool)", "log_write_up_to"),
            ("Foo<void (*)(int)>::bar(void (*)(int)) const", "Foo<void (*)(int)>::bar"),
            ("a::operator()", "a::operator()"),
            ("a::operator()(int) const", "a::operator()"),
            ("f(int)::{lambda()#1}::run()", "f(int)::{lambda()#1}::run"),
            ("(anonymous namespace)::work()", "(anonymous namespace)::work"),
            ("(anonymous)", "(anonymous)"),
            ("", ""),
            (")", ")"),
        ] {
            assert_eq!(function_name(symbol), name, "{symbol}");
        }
    }
}
