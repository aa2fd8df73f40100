//! What `eu-stack` of elfutils prints of the stacks of a process.
//!
//! In: its text. Out: one stack for each thread. Limits: it prints no names of threads, so the caller has to know them.

use super::frame::function_name;
use model::FoldedStack;
use model::stacks::UNKNOWN_FRAME;

/// The stacks in `text`; `name_of` is the name of a thread by its number.
pub(super) fn parse(text: &str, name_of: impl Fn(u32) -> Option<String>) -> Vec<FoldedStack> {
    // `TID 4711:` begins a thread, and what comes before the first is the process.
    let threads = text.split("TID ").skip(1);
    let stack = |text: &str| {
        let (number, frames) = text.split_once(':')?;
        let frames: Vec<&str> = frames.lines().filter_map(frame).collect();
        let name = number.parse().ok().and_then(&name_of).unwrap_or_else(|| "thread".to_owned());
        (!frames.is_empty()).then(|| FoldedStack::new(&name, frames.into_iter().rev()))
    };
    threads.filter_map(stack).collect()
}

/// The function in `#1  0x00007f2b3c4d5e6f - 1 poll`.
fn frame(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('#')?.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let (_address, symbol) = rest.split_once(' ').unwrap_or((rest, ""));
    let symbol = symbol.trim_start();
    let symbol = symbol.strip_prefix("- 1").unwrap_or(symbol);
    let name = function_name(symbol);
    Some(if name.is_empty() { UNKNOWN_FRAME } else { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of what eu-stack 0.188 printed of MariaDB 10.11 without symbols for debugging.
    #[test]
    fn the_text_of_a_real_server_is_read() {
        let all = parse(include_str!("samples/eu-stack-0.188-mariadb-10.11.txt"), |number| Some(number.to_string()));
        let ends: Vec<[&str; 2]> =
            all.iter().map(|it| [&*it.frames[0], it.frames.last().map_or("", |frame| frame)]).collect();
        assert_eq!((ends.len(), ends[0]), (6, ["9992", "__poll"]));
        assert_eq!(ends[1], ["9994", "__futex_abstimed_wait_common"]);
        assert!(all[1].frames.contains(&"pthread_cond_timedwait".to_owned()), "{:?}", all[1]);
    }

    #[test]
    fn each_thread_is_a_stack_with_the_name_that_the_kernel_has() {
        let text = "\
PID 100 - process
TID 100:
#0  0x00007f4a6c7ef5ff     poll
#1  0x000055d0c1b2aaaa - 1 handle_connections_sockets()
#2  0x000055d0c1b2bbbb
#3  0x000055d0c1b2cccc main
TID 101:
eu-stack: dwfl_thread_getframes tid 101 at 0x7f in <unknown>: No DWARF information found
TID 102:
#0  0x00007f4a6c7ef5ff __futex_abstimed_wait_common
";
        let names = |number: u32| (number == 100).then(|| "mariadbd".to_owned());
        let parsed: Vec<String> = parse(text, names).iter().map(|stack| stack.frames.join(";")).collect();
        let expected =
            ["mariadbd;main;[unknown];handle_connections_sockets;poll", "thread;__futex_abstimed_wait_common"];
        assert_eq!(parsed, expected);
        assert!(parse("eu-stack: cannot attach\n", names).is_empty());
    }
}
