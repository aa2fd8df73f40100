//! What a sleeping thread waits for, by the system call that it is in and the function of the kernel that it sleeps in.
//!
//! In: the texts of `/proc/PID/task/TID/syscall` and `wchan`. Out: a [`Sleep`]. Limits: Linux on any CPU whose system calls `libc`
//! names. A futex is the same call for a lock, a condition and an idle pool: who waits in it decides what it means, and that is not
//! decided here. A wait at a futex with a limit of time is one for that time if it is near: engines wait for locks with limits, too. The format of `syscall` is in proc(5): number, six arguments, stack and instruction pointer; `-1` outside of a call.

use model::ThreadState;
use std::time::Duration;

/// What a sleeping thread waits for, as far as the kernel shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleep {
    /// This, whoever it is.
    In(ThreadState),
    /// Another thread, or work: a futex, a semaphore, or a set of descriptors without a socket.
    Thread,
    /// Reads or writes that were submitted before; the call does not show which.
    AsyncIo,
    /// Room for reads or writes that it submits; the call does not show which.
    Submission,
    /// The end of a pause that the thread made by itself, as programs do between two tries.
    Pause,
    /// A moment: a statement that sleeps for a time, or a timer. Whoever waits for a lock may wait for a second and longer.
    Timer,
    /// To be continued: it was stopped or frozen.
    Stopped,
}

/// What the kernel shows of a thread that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// It runs, or could run.
    Running,
    /// It sleeps outside of a system call: in a page fault, or it belongs to the kernel.
    None,
    /// It sleeps in this call.
    In {
        /// The number of the call.
        number: libc::c_long,
        /// Its first four arguments.
        args: [u64; 4],
    },
}

impl Call {
    /// The call in the text of `syscall`; `None` if it has another form.
    pub fn parse(text: &str) -> Option<Call> {
        let mut fields = text.split_ascii_whitespace();
        let first = fields.next()?;
        if first == "running" {
            return Some(Call::Running);
        }
        let number: libc::c_long = first.parse().ok()?;
        if number < 0 {
            return Some(Call::None);
        }
        let mut hex = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
        Some(Call::In { number, args: [hex()?, hex()?, hex()?, hex()?] })
    }
}

/// What else has to be asked about a thread to know what it waits for.
pub(super) trait Asked {
    /// Whether the set of descriptors behind a descriptor has a socket.
    fn has_socket(&mut self, set: u64) -> bool;

    /// Whether a wait at a futex that has a limit of time is over within [`TIMER_MAX`], if nobody wakes the thread before. `operation` and
    /// `limit` are arguments of the call: what it does, and where the time is.
    fn ends_soon(&mut self, operation: u64, limit: u64) -> bool;
}

/// What a thread in `call` waits for, which sleeps in the kernel's function `wchan` (`0` if it is hidden).
pub(super) fn classify(call: Call, wchan: &str, asked: &mut dyn Asked) -> Option<Sleep> {
    if is_one_of(wchan, STOPS) {
        return Some(Sleep::Stopped);
    }
    match call {
        Call::Running => None,
        Call::None => Some(Sleep::In(by_function(wchan))),
        Call::In { number, args } => Some(by_call(number, args, wchan, asked)),
    }
}

fn by_call(number: libc::c_long, args: [u64; 4], wchan: &str, asked: &mut dyn Asked) -> Sleep {
    let is_in = |calls: &[libc::c_long]| calls.contains(&number);
    if is_in(WRITES) {
        return Sleep::In(ThreadState::Sync);
    }
    if is_in(READS) {
        return Sleep::In(ThreadState::Read);
    }
    if is_in(&[libc::SYS_read, libc::SYS_readv]) {
        return Sleep::In(if is_one_of(wchan, STREAMS) { ThreadState::Client } else { ThreadState::Read });
    }
    if is_in(&[libc::SYS_write, libc::SYS_writev]) {
        return Sleep::In(if is_one_of(wchan, STREAMS) { ThreadState::Client } else { ThreadState::Sync });
    }
    if is_in(SOCKETS) {
        return Sleep::In(ThreadState::Client);
    }
    if is_in(SETS) {
        return match asked.has_socket(args[0]) {
            true => Sleep::In(ThreadState::Client),
            // The time in milliseconds, or -1: PostgreSQL waits for locks without one, and sleeps with one.
            false if args[3] as i32 >= 0 => Sleep::Timer,
            false => Sleep::Thread,
        };
    }
    if is_in(&[libc::SYS_futex]) && args[3] != 0 && asked.ends_soon(args[1], args[3]) {
        return Sleep::Timer;
    }
    if is_in(THREADS) {
        return Sleep::Thread;
    }
    if is_in(ASYNC_IO) {
        return Sleep::AsyncIo;
    }
    if is_in(&[libc::SYS_io_submit]) {
        return Sleep::Submission;
    }
    if is_in(&[libc::SYS_flock]) || is_in(&[libc::SYS_fcntl]) && is_lock_command(args[1]) {
        return Sleep::In(ThreadState::Lock);
    }
    // A wait until a moment is a schedule, and one for a time is a pause.
    if is_in(&[libc::SYS_nanosleep]) || is_in(&[libc::SYS_clock_nanosleep]) && args[1] & TIMER_ABSTIME == 0 {
        return Sleep::Pause;
    }
    Sleep::In(by_function(wchan))
}

fn is_lock_command(command: u64) -> bool {
    [libc::F_SETLKW, libc::F_OFD_SETLKW].iter().any(|lock| *lock as u64 == command)
}

/// What a thread waits for in a function of the kernel: pages that are read, or a journal and pages that are written.
fn by_function(wchan: &str) -> ThreadState {
    match wchan {
        wchan if is_one_of(wchan, WRITING) => ThreadState::Sync,
        wchan if is_one_of(wchan, READING) => ThreadState::Read,
        _ => ThreadState::Other,
    }
}

fn is_one_of(wchan: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| wchan.contains(part))
}

const TIMER_ABSTIME: u64 = libc::TIMER_ABSTIME as u64;
/// A wait that ends within this time by itself is for that time, and for no lock: engines let transactions wait for locks for a second and more
/// (`innodb_lock_wait_timeout`, `rocksdb_lock_wait_timeout`).
const TIMER_MAX: Duration = Duration::from_millis(250);

/// Whether a wait at a futex ends within [`TIMER_MAX`]: by its `operation` its `limit` is a time from its beginning on, or a moment, which
/// is compared with now by the monotonic and the wall clock.
pub(super) fn is_soon(operation: u64, limit: Duration, [monotonic, wall]: [Duration; 2]) -> bool {
    match operation as libc::c_int {
        operation if operation & FUTEX_COMMAND == libc::FUTEX_WAIT => limit <= TIMER_MAX,
        operation if operation & libc::FUTEX_CLOCK_REALTIME != 0 => limit.saturating_sub(wall) <= TIMER_MAX,
        _ => limit.saturating_sub(monotonic) <= TIMER_MAX,
    }
}

/// The command in an operation of a futex, without its flags.
const FUTEX_COMMAND: libc::c_int = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);

// Parts of the names of functions of the kernel.
const STOPS: &[&str] = &["do_signal_stop", "ptrace_stop", "refrigerator", "freezer_trap"];
const STREAMS: &[&str] = &["sock", "unix_", "tcp_", "sk_", "inet_", "pipe_"];
const WRITING: &[&str] = &["jbd2", "writeback", "xlog_", "balance_dirty", "blkdev_issue_flush", "submit_bio_wait"];
const READING: &[&str] = &["folio_wait", "filemap", "wait_on_page", "swap"];

/// Calls that sleep in writes and syncs of files, and in their journals.
const WRITES: &[libc::c_long] = &[
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_sync_file_range,
    libc::SYS_msync,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_fallocate,
    libc::SYS_ftruncate,
    libc::SYS_truncate,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_copy_file_range,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
];

/// Calls that sleep in reads of files and directories.
const READS: &[libc::c_long] = &[
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_readahead,
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_getdents64,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
];

/// Calls that sleep until the other end of a socket does something.
const SOCKETS: &[libc::c_long] = &[
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
];

/// Calls that sleep until something happens to one of a set of descriptors.
const SETS: &[libc::c_long] = &[
    libc::SYS_epoll_pwait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];

/// Calls that sleep until another thread does something.
const THREADS: &[libc::c_long] = &[libc::SYS_futex, libc::SYS_semop, libc::SYS_semtimedop];

/// Calls that sleep until reads and writes are done that were submitted before.
const ASYNC_IO: &[libc::c_long] = &[libc::SYS_io_getevents, libc::SYS_io_uring_enter];

#[cfg(test)]
mod tests {
    use super::*;

    /// Descriptor 7 is a set with a socket, and a time at address 9 is near.
    struct Known;

    impl Asked for Known {
        fn has_socket(&mut self, set: u64) -> bool {
            set == 7
        }

        fn ends_soon(&mut self, _operation: u64, limit: u64) -> bool {
            limit == 9
        }
    }

    /// A sleeping thread as a kernel shows it.
    fn sleep(call: &str, wchan: &str) -> Option<Sleep> {
        classify(Call::parse(call).expect("it is in a form that is known"), wchan, &mut Known)
    }

    fn in_call(number: libc::c_long, args: &str) -> String {
        format!("{number} {args} 0x7ffc74047420 0x0 0x0 0x0 0x7ffc74047408 0x7f3eeac34503")
    }

    #[test]
    fn the_text_of_a_running_a_faulting_and_a_sleeping_thread_is_read() {
        assert_eq!(Call::parse("running\n"), Some(Call::Running));
        assert_eq!(Call::parse("-1 0x7ffc74047408 0x7f3eeac34503\n"), Some(Call::None));
        let sleeping = "202 0x7f0a 0x89 0x0 0x0 0x0 0xffffffff 0x7ffc74047408 0x7f3eeac34503\n";
        assert_eq!(Call::parse(sleeping), Some(Call::In { number: 202, args: [0x7f0a, 0x89, 0, 0] }));
        assert_eq!((Call::parse(""), Call::parse("202 0x1")), (None, None));
    }

    #[test]
    fn storage_is_known_by_the_call_and_a_fault_by_the_function() {
        for call in [libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_pwrite64] {
            assert_eq!(sleep(&in_call(call, "0x5 0x0"), "jbd2_log_wait_commit"), Some(Sleep::In(ThreadState::Sync)));
        }
        let read = in_call(libc::SYS_pread64, "0x5 0x0");
        assert_eq!(sleep(&read, "folio_wait_bit_common"), Some(Sleep::In(ThreadState::Read)));
        // Kernels up to 5.15 name pages instead of folios.
        assert_eq!(sleep("-1 0x7ff 0x7f3", "wait_on_page_bit_common"), Some(Sleep::In(ThreadState::Read)));
        assert_eq!(sleep("-1 0x7ff 0x7f3", "folio_wait_writeback"), Some(Sleep::In(ThreadState::Sync)));
        assert_eq!(sleep("-1 0x7ff 0x7f3", "0"), Some(Sleep::In(ThreadState::Other)));
    }

    #[test]
    fn the_same_call_on_a_socket_and_on_a_file_differs_by_the_function() {
        let read = in_call(libc::SYS_read, "0x5 0x0");
        assert_eq!(sleep(&read, "unix_stream_read_generic"), Some(Sleep::In(ThreadState::Client)));
        assert_eq!(sleep(&read, "folio_wait_bit_common"), Some(Sleep::In(ThreadState::Read)));
        let write = in_call(libc::SYS_write, "0x5 0x0");
        assert_eq!(sleep(&write, "sk_stream_wait_memory"), Some(Sleep::In(ThreadState::Client)));
        assert_eq!(sleep(&write, "wait_transaction_locked"), Some(Sleep::In(ThreadState::Sync)));
    }

    #[test]
    fn a_set_of_descriptors_waits_for_a_client_only_if_it_has_a_socket() {
        let wait = |fd: &str, ms: &str| format!("{} {fd} 0x0 0x1 {ms} 0x0 0x8 0x7ffc 0x7f3e", libc::SYS_epoll_pwait);
        assert_eq!(sleep(&wait("0x7", "0xffffffff"), "ep_poll"), Some(Sleep::In(ThreadState::Client)));
        assert_eq!(sleep(&wait("0x8", "0xffffffff"), "ep_poll"), Some(Sleep::Thread));
        assert_eq!(sleep(&wait("0x8", "0x14"), "ep_poll"), Some(Sleep::Timer), "pg_sleep(0.02)");
    }

    #[test]
    fn a_wait_that_is_over_soon_by_itself_is_for_a_time_and_no_other() {
        let wait = |limit: &str| format!("{} 0x5 0x189 0x0 {limit} 0x0 0xffffffff 0x7ffc 0x7f3e", libc::SYS_futex);
        assert_eq!(sleep(&wait("0x9"), "futex_wait_queue"), Some(Sleep::Timer));
        assert_eq!(sleep(&wait("0x4"), "futex_wait_queue"), Some(Sleep::Thread), "the limit of a lock");
        assert_eq!(sleep(&wait("0x0"), "futex_wait_queue"), Some(Sleep::Thread), "it has no limit");
    }

    #[test]
    fn the_limit_of_a_futex_is_a_time_or_a_moment_of_one_of_two_clocks() {
        let [short, long] = [20, 1_000].map(Duration::from_millis);
        let clocks = [1_000, 1_700_000_000].map(Duration::from_secs);
        let private = |command: libc::c_int| (command | libc::FUTEX_PRIVATE_FLAG) as u64;
        let wall = private(libc::FUTEX_WAIT_BITSET | libc::FUTEX_CLOCK_REALTIME);
        for (operation, from) in [
            (private(libc::FUTEX_WAIT), Duration::ZERO),
            (private(libc::FUTEX_WAIT_BITSET), clocks[0]),
            (wall, clocks[1]),
        ] {
            let soon = [short, long].map(|time| is_soon(operation, from + time, clocks));
            assert_eq!(soon, [true, false], "{operation:x}");
        }
    }

    #[test]
    fn a_pause_is_no_schedule() {
        let pause = in_call(libc::SYS_clock_nanosleep, "0x0 0x0");
        assert_eq!(sleep(&pause, "hrtimer_nanosleep"), Some(Sleep::Pause));
        let schedule = in_call(libc::SYS_clock_nanosleep, "0x1 0x1");
        assert_eq!(sleep(&schedule, "hrtimer_nanosleep"), Some(Sleep::In(ThreadState::Other)));
    }

    #[test]
    fn a_thread_that_was_stopped_waits_for_nothing_that_its_call_names() {
        let receive = in_call(libc::SYS_recvfrom, "0x5 0x0");
        assert_eq!(sleep(&receive, "do_signal_stop"), Some(Sleep::Stopped));
        assert_eq!(sleep(&receive, "__refrigerator"), Some(Sleep::Stopped));
    }

    #[test]
    fn who_waits_for_another_thread_or_for_submitted_io_is_left_open() {
        assert_eq!(sleep(&in_call(libc::SYS_futex, "0x5 0x80"), "futex_wait_queue"), Some(Sleep::Thread));
        assert_eq!(sleep(&in_call(libc::SYS_io_uring_enter, "0x5 0x0"), "io_cqring_wait"), Some(Sleep::AsyncIo));
        assert_eq!(sleep(&in_call(libc::SYS_io_submit, "0x5 0x1"), "blk_mq_get_tag"), Some(Sleep::Submission));
        assert_eq!(sleep("running", "0"), None);
    }
}
