//! The flash of a drive: dies behind channels, and the times at which they are free.

use super::ftl::FlashOp;
use super::parameters::SsdParameters;

/// The dies and channels of a drive. Times are in nanoseconds.
pub(super) struct FlashArray {
    page_read_ns: f64,
    page_program_ns: f64,
    erase_ns: f64,
    bus_bytes_per_ns: f64,
    /// Bytes of the page of a die.
    page_bytes: u64,
    channels_free_ns: Vec<f64>,
    dies_free_ns: Vec<f64>,
}

impl FlashArray {
    /// The flash of a drive with pages of `page_bytes` on a die, over all its planes, and blocks that take `erase_ns` to erase.
    pub fn new(ssd: &SsdParameters, page_bytes: u64, erase_ns: f64) -> FlashArray {
        FlashArray {
            page_read_ns: ssd.page_read_us * 1e3,
            page_program_ns: ssd.page_program_us * 1e3,
            erase_ns,
            bus_bytes_per_ns: ssd.bus_mb_per_s / 1e3,
            page_bytes,
            channels_free_ns: vec![0.0; ssd.channels as usize],
            dies_free_ns: vec![0.0; ssd.channels as usize * ssd.dies_per_channel as usize],
        }
    }

    /// Number of dies.
    pub fn dies(&self) -> usize {
        self.dies_free_ns.len()
    }

    /// Bytes of the page of a die.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Senses a page of a die and transfers `bytes` of it. Returns the time at which the controller has them.
    pub fn read(&mut self, die: usize, bytes: u64, now_ns: f64) -> f64 {
        let channel = die % self.channels_free_ns.len();
        let sensed_ns = self.dies_free_ns[die].max(now_ns) + self.page_read_ns;
        let sent_ns = self.channels_free_ns[channel].max(sensed_ns) + bytes as f64 / self.bus_bytes_per_ns;
        // The page occupies the register of the die until it is transferred.
        self.channels_free_ns[channel] = sent_ns;
        self.dies_free_ns[die] = sent_ns;
        sent_ns
    }

    /// Transfers and programs a page of a die. Returns the time at which it is done.
    pub fn program(&mut self, die: usize, now_ns: f64) -> f64 {
        let channel = die % self.channels_free_ns.len();
        let begun_ns = self.channels_free_ns[channel].max(self.dies_free_ns[die]).max(now_ns);
        let sent_ns = begun_ns + self.page_bytes as f64 / self.bus_bytes_per_ns;
        self.channels_free_ns[channel] = sent_ns;
        self.dies_free_ns[die] = sent_ns + self.page_program_ns;
        self.dies_free_ns[die]
    }

    /// Does an operation of the translation layer. Returns the time at which it is done.
    pub fn execute(&mut self, op: FlashOp, now_ns: f64) -> f64 {
        match op {
            FlashOp::Read { die, bytes } => self.read(die as usize, bytes, now_ns),
            FlashOp::Program { die } => self.program(die as usize, now_ns),
            FlashOp::Erase => {
                let erase = |free_ns: &mut f64| *free_ns = free_ns.max(now_ns) + self.erase_ns;
                self.dies_free_ns.iter_mut().for_each(erase);
                now_ns
            }
        }
    }
}
