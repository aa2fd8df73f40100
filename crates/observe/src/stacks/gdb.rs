//! What `gdb` prints of the stacks of all threads.
//!
//! In: the text of `thread apply all backtrace`. Out: one stack for each thread. Limits: the values of arguments must not be in it
//! (`print frame-arguments none`): a text in one could look like a frame. What is no frame and no thread is passed over.

use super::frame::function_name;
use model::FoldedStack;
use model::stacks::UNKNOWN_FRAME;

/// The settings with which gdb reads nothing but the process: no files of the user or the project, no scripts of libraries, no server for
/// symbols; and with which its text can be read.
pub(super) const SETTINGS: [&str; 7] = [
    "set auto-load no",
    "set debuginfod enabled off",
    "set pagination off",
    "set width 0",
    "set print frame-arguments none",
    "set print entry-values no",
    "set print thread-events off",
];

/// The stacks in `text`; `name_of` is the name of a thread by its number, for a gdb that does not print it.
pub(super) fn parse(text: &str, name_of: impl Fn(u32) -> Option<String>) -> Vec<FoldedStack> {
    let mut threads: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = thread_name(line, &name_of) {
            threads.push((name, Vec::new()));
        } else if let (Some((_, frames)), Some(frame)) = (threads.last_mut(), frame(line)) {
            frames.push(frame);
        }
    }
    let with_frames = threads.into_iter().filter(|(_, frames)| !frames.is_empty());
    with_frames.map(|(name, frames)| FoldedStack::new(&name, frames.into_iter().rev())).collect()
}

/// The name in a heading: `Thread 3 (Thread 0x7f2a (LWP 4711) "mariadbd"):`, `Thread 1 (LWP 4711 "postgres"):` or, of an older gdb,
/// `Thread 1 (process 4711):`.
fn thread_name(line: &str, name_of: impl Fn(u32) -> Option<String>) -> Option<String> {
    let heading = line.strip_prefix("Thread ")?.trim_end().strip_suffix(':')?;
    if let Some((_, quoted)) = heading.split_once('"') {
        return Some(quoted.rsplit_once('"')?.0.to_owned());
    }
    let number = ["LWP ", "process "].iter().find_map(|word| heading.split_once(word)).map(|(_, rest)| rest);
    let digits: String = number?.chars().take_while(char::is_ascii_digit).collect();
    let known = digits.parse().ok().and_then(name_of);
    Some(known.unwrap_or_else(|| "thread".to_owned()))
}

/// The function in `#1  0x00007f21 in log_write_up_to(unsigned long, bool) () from /usr/sbin/mariadbd`.
fn frame(line: &str) -> Option<String> {
    let rest = line.strip_prefix('#')?.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.strip_prefix(' ')?.trim_start();
    let symbol = match rest.strip_prefix("0x") {
        Some(address) => address.split_once(" in ").map_or("", |(_, symbol)| symbol),
        None => rest,
    };
    if symbol.starts_with('<') {
        return Some(symbol.trim_end().to_owned()); // `<signal handler called>`
    }
    let name = function_name(&symbol[..arguments_at(symbol).unwrap_or(symbol.len())]);
    if !matches!(name, "??" | "") {
        return Some(name.to_owned());
    }
    let library = symbol.rsplit_once(" from ").and_then(|(_, path)| path.trim_end().rsplit('/').next());
    Some(library.map_or_else(|| UNKNOWN_FRAME.to_owned(), |library| format!("[{library}]")))
}

/// Where the arguments of a function begin: ` ()`, ` (...)` or ` (fd=..., size=...)`. What follows them is the place: ` at file.c:12` or
/// ` from /lib/libc.so.6`.
fn arguments_at(symbol: &str) -> Option<usize> {
    let is_arguments = |(at, _): &(usize, &str)| {
        let inside = symbol[at + 2..].split_once(')').map(|(inside, _)| inside);
        inside.is_some_and(|inside| {
            inside.is_empty()
                || inside.contains("...") && inside.chars().all(|c| c.is_alphanumeric() || "_=., @".contains(c))
        })
    };
    symbol.match_indices(" (").find(is_arguments).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<String> {
        parse(text, |number| (number == 7).then(|| "by number".to_owned()))
            .iter()
            .map(|it| it.frames.join(";"))
            .collect()
    }

    #[test]
    fn each_thread_is_a_stack_from_its_outermost_function_to_the_innermost() {
        let text = "\
[New LWP 11]
warning: something
Thread 2 (LWP 11 \"io; pump\"):
#0  0x00007f21 in poll () from /lib/x86_64-linux-gnu/libc.so.6
#1  0x000055aa in wait_for(net*, long) ()
#2  0x000055ab in ?? () from /usr/lib/libfoo.so.1
#3  0x000055ac in ?? ()

Thread 1 (Thread 0x7f (LWP 7)):
#0  inner<int> (...) at /src/a b.c:12
        x = 5
#1  <signal handler called>
#2  0x000055ae in main (...) at /src/main (old).c:3
[Inferior 1 (process 7) detached]
";
        assert_eq!(
            parsed(text),
            ["io: pump;[unknown];[libfoo.so.1];wait_for;poll", "by number;main;<signal handler called>;inner<int>"]
        );
    }

    /// The beginning of what gdb 13 printed of MariaDB 10.11 without symbols for debugging.
    #[test]
    fn the_text_of_a_real_server_is_read() {
        let all = parse(include_str!("samples/gdb-13-mariadb-10.11.txt"), |_| None);
        assert_eq!(all.len(), 4);
        assert!(all.iter().all(|stack| stack.frames[0] == "mariadbd" && stack.count == 1), "{all:?}");
        let commit: Vec<&str> = all[0].frames[1..].iter().map(String::as_str).take(4).collect();
        assert_eq!(commit, ["clone3", "start_thread", UNKNOWN_FRAME, "handle_one_connection"]);
        assert_eq!(all[0].frames.last().map(String::as_str), Some("syscall"));
        assert!(all[2].frames.contains(&"[libstdc++.so.6]".to_owned()), "{:?}", all[2]);
        assert!(all[3].frames.ends_with(&["vio_io_wait".to_owned(), "__GI___poll".to_owned()]), "{:?}", all[3]);
    }

    #[test]
    fn text_without_a_thread_has_no_stack() {
        assert!(parsed("").is_empty());
        assert!(parsed("ptrace: Operation not permitted.\nNo threads.\n#0  poll ()\n").is_empty());
        assert!(parsed("Thread 1 (LWP 7):\n").is_empty());
    }
}
