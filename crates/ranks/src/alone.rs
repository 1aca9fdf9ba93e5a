//! A group of one rank.

use crate::{Error, Group};

/// The only rank of a job that is not shared.
pub struct Alone;

impl Group for Alone {
    fn rank(&self) -> u32 {
        0
    }

    fn ranks(&self) -> u32 {
        1
    }

    fn gather(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        Ok(vec![message])
    }

    fn broadcast(&mut self, message: Vec<u8>) -> Result<Vec<u8>, Error> {
        Ok(message)
    }

    fn is_over(&self) -> bool {
        false
    }
}
