//! Asks the user on the terminal for a secret.
//!
//! In: a question. Out: the answer, which was not shown. Limits: only if this process has a terminal; at most a kilobyte of one line.
//!
//! The terminal is asked itself (`/dev/tty`) and not standard input, which a script may feed. While it is asked it neither echoes nor
//! turns keys into signals, so that no key can end the program before the echo is restored.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, Read, Write};

const ANSWER_MAX: usize = 1 << 10;
const END_OF_FILE: u8 = 4;
const INTERRUPT: u8 = 3;
const BACKSPACE: [u8; 2] = [8, 127];
const KILL_LINE: u8 = 21;

/// The answer to `question`.
pub fn ask_silently(question: &str) -> io::Result<String> {
    ask_on(File::options().read(true).write(true).open("/dev/tty")?, question)
}

fn ask_on(terminal: File, question: &str) -> io::Result<String> {
    let mut silent = SilentTerminal::open(terminal)?;
    write!(silent.terminal, "{question}: ")?;
    let answer = read_line(&mut silent.terminal);
    writeln!(silent.terminal)?;
    answer
}

/// A terminal that shows nothing of what is typed; as it was when dropped.
struct SilentTerminal {
    terminal: File,
    was: Termios,
}

impl SilentTerminal {
    fn open(terminal: File) -> io::Result<SilentTerminal> {
        let was = tcgetattr(&terminal)?;
        let mut silent = was.clone();
        // Without ICANON the keys come one by one; without ISIG Ctrl-C is a key as well, so that the echo is restored first.
        silent.local_modes &= !(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        // What was typed before the question is dropped.
        tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
        Ok(SilentTerminal { terminal, was })
    }
}

impl Drop for SilentTerminal {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.was); // the terminal may be gone
    }
}

/// One line, edited as people do.
fn read_line(terminal: &mut impl Read) -> io::Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    loop {
        let read = terminal.read(&mut byte)?;
        match byte[0] {
            _ if read == 0 => break,
            b'\n' | b'\r' | END_OF_FILE => break,
            INTERRUPT => return Err(io::ErrorKind::Interrupted.into()),
            KILL_LINE => line.clear(),
            key if BACKSPACE.contains(&key) => drop(line.pop()),
            _ if line.len() == ANSWER_MAX => return Err(io::ErrorKind::InvalidInput.into()),
            key => line.push(key),
        }
    }
    String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    /// A terminal, and the text in front of the answer.
    fn terminal() -> (File, File) {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).and_then(|()| unlockpt(&person)).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        (person.into(), rustix::fs::open(name, flags, rustix::fs::Mode::empty()).unwrap().into())
    }

    #[test]
    fn what_is_typed_is_the_answer_and_is_not_shown() {
        let (mut person, tty) = terminal();
        let watched = tty.try_clone().unwrap();
        let echoes = || tcgetattr(&watched).unwrap().local_modes.contains(LocalModes::ECHO);
        assert!(echoes());
        let asked = std::thread::spawn(move || ask_on(tty, "password").unwrap());
        let (mut shown, mut bytes) = (Vec::new(), [0; 64]);
        while !shown.ends_with(b"password: ") {
            let read = person.read(&mut bytes).unwrap();
            shown.extend_from_slice(&bytes[..read]);
        }
        assert!(!echoes(), "while it is asked");
        person.write_all(b"xx\x15canarx\x7fy\n").unwrap();
        assert_eq!(asked.join().unwrap(), "canary");
        assert!(echoes(), "as it was");
        let read = person.read(&mut bytes).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes[..read]).trim(), "", "nothing of it was shown");
    }

    #[test]
    fn an_interrupt_is_no_answer() {
        assert_eq!(read_line(&mut &b"ab\x03"[..]).unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert_eq!(read_line(&mut &b"ab"[..]).unwrap(), "ab");
        assert!(read_line(&mut &[b'a'; ANSWER_MAX + 1][..]).is_err());
    }
}
