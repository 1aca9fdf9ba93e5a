//! So many at once, and no more.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Slots that are taken and given back.
#[derive(Clone)]
pub struct Slots(Arc<(Mutex<usize>, Condvar)>);

/// A slot; it is given back when this is dropped, even by a thread that panics.
pub struct Slot(Slots);

impl Slots {
    pub fn new(free: usize) -> Slots {
        Slots(Arc::new((Mutex::new(free), Condvar::new())))
    }

    /// Takes one as soon as one is free.
    pub fn take(&self) -> Slot {
        let mut free = self.free();
        while *free == 0 {
            free = self.0.1.wait(free).expect("nothing panics with the lock");
        }
        *free -= 1;
        Slot(self.clone())
    }

    /// Takes one, if one is free within that time.
    pub fn take_within(&self, time: Duration) -> Option<Slot> {
        let (mut free, _) = self
            .0
            .1
            .wait_timeout_while(self.free(), time, |free| *free == 0)
            .expect("nothing panics with the lock");
        (*free > 0).then(|| {
            *free -= 1;
            Slot(self.clone())
        })
    }

    fn free(&self) -> MutexGuard<'_, usize> {
        self.0.0.lock().expect("nothing panics with the lock")
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *self.0.free() += 1;
        self.0.0.1.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_taken_than_there_are() {
        let slots = Slots::new(2);
        let (a, b) = (slots.take(), slots.take());
        assert!(slots.take_within(Duration::from_millis(1)).is_none());
        let waiting = std::thread::spawn({
            let slots = slots.clone();
            move || drop(slots.take())
        });
        drop(a);
        waiting.join().unwrap();
        assert!(slots.take_within(Duration::ZERO).is_some());
        drop(b);
    }
}
