//! Why a connection was lost, found out on a thread of its own: the thread that serves other clients goes on.
//!
//! In: questions that may wait for a server. Out: the failure that each finds, if it finds one. Limits: one is asked after the other. If a question
//! finds nothing, the server did not answer or was started again: all that were asked before that are not asked any more, and find nothing either.

use super::OpFailure;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Instant;

/// Finds out what a loss is; `None` if it is what it seemed to be. It may wait.
pub type Inquiry = Box<dyn FnOnce() -> Option<OpFailure> + Send>;

struct Asked {
    at: Instant,
    inquiry: Inquiry,
    answer: Sender<OpFailure>,
}

/// The inquiries of one thread. What performs them begins with the first one, and ends when this is dropped.
#[derive(Default)]
pub struct Inquiries(Option<Sender<Asked>>);

impl Inquiries {
    /// Where what `inquiry` finds will arrive. The other end is gone when it has found nothing.
    pub fn ask(&mut self, inquiry: Inquiry) -> Receiver<OpFailure> {
        let (answer, found) = mpsc::channel();
        let asked = Asked { at: Instant::now(), inquiry, answer };
        // If no thread could be started, the inquiry is dropped here, which is how one ends that finds nothing.
        let _ = self.0.get_or_insert_with(start).send(asked);
        found
    }
}

fn start() -> Sender<Asked> {
    let (ask, asked) = mpsc::channel();
    let _ = thread::Builder::new().name("losses".into()).spawn(move || perform(&asked));
    ask
}

fn perform(all: &Receiver<Asked>) {
    let mut nothing_until: Option<Instant> = None;
    for Asked { at, inquiry, answer } in all {
        if nothing_until.is_some_and(|until| at < until) {
            continue;
        }
        match inquiry() {
            Some(found) => {
                let _ = answer.send(found);
            }
            None => nothing_until = Some(Instant::now()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::FailureClass;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    fn killed() -> OpFailure {
        OpFailure { class: FailureClass::Killed, text: "killed".into() }
    }

    #[test]
    fn what_is_found_arrives_and_the_end_is_gone_if_nothing_is() {
        let mut inquiries = Inquiries::default();
        let found = inquiries.ask(Box::new(|| Some(killed())));
        assert_eq!(found.iter().map(|failure| failure.class).collect::<Vec<_>>(), [FailureClass::Killed]);
        assert_eq!(inquiries.ask(Box::new(|| None)).iter().count(), 0);
    }

    #[test]
    fn a_server_that_does_not_answer_is_asked_once_for_all_that_it_has_closed() {
        let (ask, asked) = mpsc::channel();
        let times = Arc::new(AtomicU32::new(0));
        let (answer, found) = mpsc::channel();
        for _ in 0..100 {
            let times = times.clone();
            let inquiry: Inquiry = Box::new(move || {
                times.fetch_add(1, Relaxed);
                None
            });
            ask.send(Asked { at: Instant::now(), inquiry, answer: answer.clone() }).unwrap();
        }
        drop((ask, answer));
        perform(&asked);
        assert_eq!((times.load(Relaxed), found.iter().count()), (1, 0));
    }
}
