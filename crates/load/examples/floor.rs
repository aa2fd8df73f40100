//! The least that a client can do: the system calls of a load, in a loop that counts them and does nothing else.
//!
//! In: what to repeat, and how often: `pread FILE OPS`, `uring FILE DEPTH OPS` or `exchange ADDRESS MESSAGE ANSWER_BYTES OPS`. Out: one line
//! with the seconds from the first operation to the last, and the thread's CPU in ns, in all and outside of the kernel. Limits: nothing is
//! timed, kept or looked at but the length of what came back, so there is nothing to learn of the operations; any error ends it. The ring
//! needs Linux 6.6. `cargo xtask bench floor` runs it next to plimsoll.

use io_uring::{IoUring, opcode, squeue, types};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags, open};
use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

const BLOCK: usize = 4096;

/// A block of memory at the beginning of a page, where the kernel's copy is cheapest.
#[repr(align(4096))]
#[derive(Clone)]
struct Block([u8; BLOCK]);

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["pread", path, ops] => read_one_by_one(path, ops.parse()?)?,
        ["uring", path, depth, ops] => read_by_ring(path, depth.parse()?, ops.parse()?)?,
        ["exchange", address, message, answer, ops] => {
            let (message, answer, ops) = (std::fs::read(message)?, answer.parse()?, ops.parse()?);
            match address.strip_prefix("tcp:") {
                Some(address) => {
                    let stream = TcpStream::connect(address)?;
                    stream.set_nodelay(true)?;
                    exchange(stream, &message, answer, ops)?;
                }
                None => exchange(PolledSocket(UnixStream::connect(address)?), &message, answer, ops)?,
            }
        }
        _ => {
            return Err(
                "use `pread FILE OPS`, `uring FILE DEPTH OPS` or `exchange ADDRESS MESSAGE ANSWER_BYTES OPS`".into()
            );
        }
    }
    Ok(())
}

/// Reads a block at random with each call.
fn read_one_by_one(path: &str, ops: u64) -> io::Result<()> {
    let (file, mut blocks) = open_blocks(path)?;
    let mut memory = Block([0; BLOCK]);
    in_all(|| {
        for _ in 0..ops {
            if rustix::io::pread(&file, &mut memory.0, blocks.next_offset())? != BLOCK {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    })
}

/// Reads blocks at random with `depth` in flight: a block that has come makes place for the next, and one call submits and waits.
fn read_by_ring(path: &str, depth: u32, ops: u64) -> io::Result<()> {
    let (file, mut blocks) = open_blocks(path)?;
    let builder = &mut IoUring::builder();
    let mut ring: IoUring =
        builder.setup_single_issuer().setup_defer_taskrun().setup_no_sqarray().build(depth.next_power_of_two())?;
    let mut memory = vec![Block([0; BLOCK]); depth as usize];
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    let whole = libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: memory.len() * BLOCK };
    // SAFETY: the memory outlives the ring's last operation, which is waited for below, and an error ends the process.
    unsafe { ring.submitter().register_buffers(&[whole]) }?;
    let mut entry = |slot: u64| {
        let to = memory[slot as usize].0.as_mut_ptr();
        opcode::ReadFixed::new(types::Fixed(0), to, BLOCK as u32, 0)
            .offset(blocks.next_offset())
            .build()
            .user_data(slot)
    };
    let (submitter, mut queue, mut done) = ring.split();
    in_all(|| {
        let (mut started, mut ended) = (u64::from(depth).min(ops), 0);
        (0..started).for_each(|slot| push(&mut queue, &entry(slot)));
        while ended < ops {
            queue.sync();
            submitter.submit_and_wait(1)?;
            // There is room again for as many as were submitted.
            queue.sync();
            done.sync();
            for completion in &mut done {
                if completion.result() != BLOCK as i32 {
                    return Err(io::Error::from_raw_os_error(-completion.result()));
                }
                ended += 1;
                if started < ops {
                    started += 1;
                    push(&mut queue, &entry(completion.user_data()));
                }
            }
        }
        Ok(())
    })
}

fn push(queue: &mut squeue::SubmissionQueue<'_>, entry: &squeue::Entry) {
    // SAFETY: the entry names the registered file and the registered block of its slot, which has no other operation in flight.
    unsafe { queue.push(entry) }.expect("the ring has an entry for every slot")
}

/// A unix socket whose answers are waited for by a poll: a read that waits is woken a second time, when the server takes the message.
struct PolledSocket(UnixStream);

impl Read for PolledSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        rustix::event::poll(&mut [PollFd::new(&self.0, PollFlags::IN)], None)?;
        self.0.read(buffer)
    }
}

impl Write for PolledSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends the same message and reads an answer of as many bytes, one after the other.
fn exchange(mut stream: impl Read + Write, message: &[u8], answer: usize, ops: u64) -> io::Result<()> {
    let mut memory = vec![0; 16 << 10];
    in_all(|| {
        for _ in 0..ops {
            stream.write_all(message)?;
            let mut got = 0;
            while got < answer {
                match stream.read(&mut memory[got..])? {
                    0 => return Err(ErrorKind::UnexpectedEof.into()),
                    bytes => got += bytes,
                }
            }
        }
        Ok(())
    })
}

/// Prints what `repeat` takes in all.
fn in_all(repeat: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let (began, [user_before, system_before]) = (Instant::now(), thread_ns());
    repeat()?;
    let ([user, system], took) = (thread_ns(), began.elapsed());
    let user = user - user_before;
    println!("{}\t{}\t{user}", took.as_secs_f64(), user + system - system_before);
    Ok(())
}

/// The thread's CPU outside of the kernel and in it.
fn thread_ns() -> [u64; 2] {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage, and all-zero bytes are a valid rusage if the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    [usage.ru_utime, usage.ru_stime].map(|time| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000)
}

/// Chooses blocks of a file at random.
struct Blocks {
    count: u64,
    state: u64,
}

impl Blocks {
    /// The least that chooses at random: a linear congruential generator (Knuth, MMIX), of which the upper half is good enough.
    #[inline]
    fn next_offset(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.state >> 32) * self.count) >> 32) * BLOCK as u64
    }
}

/// Opens the file as plimsoll does, without a new time of access at each read.
fn open_blocks(path: &str) -> io::Result<(OwnedFd, Blocks)> {
    let file = open(path, OFlags::RDONLY | OFlags::NOATIME, Mode::empty())?;
    let count = rustix::fs::fstat(&file)?.st_size as u64 / BLOCK as u64;
    Ok((file, Blocks { count, state: 1 }))
}
