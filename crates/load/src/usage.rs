//! What the calling thread has used of the CPU.
//!
//! User time, kernel time and context switches, which only grow. A read costs about 300 ns, so it is done once per interval.

use model::Generator;

/// The calling thread's usage since it began, in the fields of a [`Generator`] (the lag fields are 0).
pub fn of_this_thread() -> Generator {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage, and all-zero bytes are a valid rusage if the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    Generator {
        cpu_user_ns: timeval_ns(usage.ru_utime),
        cpu_system_ns: timeval_ns(usage.ru_stime),
        context_switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        ..Generator::default()
    }
}

fn timeval_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}
