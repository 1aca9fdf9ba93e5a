//! A counting semaphore.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// A set of slots.
#[derive(Clone)]
pub struct Slots(Arc<(Mutex<usize>, Condvar)>);

/// A taken slot, which is released on drop, also by a panicking thread.
pub struct Slot(Slots);

impl Slots {
    pub fn new(free: usize) -> Slots {
        Slots(Arc::new((Mutex::new(free), Condvar::new())))
    }

    /// Takes a slot; waits until one is free.
    pub fn take(&self) -> Slot {
        let mut free = self.free();
        while *free == 0 {
            free = self.0.1.wait(free).expect("no thread panics while it holds the lock");
        }
        *free -= 1;
        Slot(self.clone())
    }

    /// Takes a slot if one becomes free within `time`.
    pub fn take_within(&self, time: Duration) -> Option<Slot> {
        let (mut free, _) = self
            .0
            .1
            .wait_timeout_while(self.free(), time, |free| *free == 0)
            .expect("no thread panics while it holds the lock");
        (*free > 0).then(|| {
            *free -= 1;
            Slot(self.clone())
        })
    }

    fn free(&self) -> MutexGuard<'_, usize> {
        self.0.0.lock().expect("no thread panics while it holds the lock")
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
    fn slots_are_limited() {
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
