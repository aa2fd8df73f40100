//! What `perf script` prints of samples with call chains.
//!
//! In: its text with the fields comm, tid, ip and sym. Out: one stack for each sample. Limits: without frame pointers in the engine a chain
//! has its innermost functions only.

use super::frame::function_name;
use model::FoldedStack;
use model::stacks::UNKNOWN_FRAME;

/// The fields that [`parse`] needs.
pub(super) const FIELDS: &str = "comm,tid,ip,sym";

/// The stacks in `text`: samples are separated by empty lines.
pub(super) fn parse(text: &str) -> Vec<FoldedStack> {
    let mut all = Vec::new();
    let mut lines = text.lines().filter(|line| !line.starts_with("# ")).peekable();
    while let Some(heading) = lines.next() {
        if heading.trim().is_empty() {
            continue;
        }
        let mut frames = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.trim().is_empty()) {
            frames.push(frame(line));
        }
        // `my thread   4711`, of some versions `my thread 4710/4711`
        let name = heading.trim().rsplit_once(char::is_whitespace).map_or("thread", |(name, _)| name);
        if !frames.is_empty() {
            all.push(FoldedStack::new(name, frames.into_iter().rev()));
        }
    }
    all
}

/// The function in `  55d0c1b2aaaa log_write_up_to`, without its address.
fn frame(line: &str) -> &str {
    let symbol = line.trim().split_once(' ').map_or("", |(_, symbol)| symbol);
    match function_name(symbol) {
        "" | "[unknown]" => UNKNOWN_FRAME,
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of what perf 6.1 printed of MariaDB 10.11, as root.
    #[test]
    fn the_text_of_a_real_server_is_read() {
        let all = parse(include_str!("samples/perf-6.1-mariadb-10.11.txt"));
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].frames[..3], ["mariadbd", "start_thread", UNKNOWN_FRAME]);
        assert_eq!(all[0].frames.last().map(String::as_str), Some("finish_task_switch.isra.0"));
        assert_eq!(all[1].frames.last().map(String::as_str), Some("handler::ha_index_next"));
    }

    #[test]
    fn each_sample_is_a_stack() {
        let text = "\
# a comment of perf
my thread  4711 \n\t    7f21aa poll\n\t    55aa01 wait(net*, long)\n\t    55aa02 [unknown]\n
mariadbd  4712 \n\tffffffff81 do_syscall_64\n
lonely 4713 \n\n";
        let parsed: Vec<String> = parse(text).iter().map(|stack| stack.frames.join(";")).collect();
        assert_eq!(parsed, ["my thread;[unknown];wait;poll", "mariadbd;do_syscall_64"]);
        assert!(parse("").is_empty());
    }
}
