//! Parses pages of the kernel's trace ring buffer, as read from `trace_pipe_raw`.
//!
//! A page consists of a timestamp, a word with flags and the length of the events, and the events. An event is a word, whose
//! low 5 bits are a type or length and whose other bits are the nanoseconds since the previous event, and a
//! payload in words. The format is described in the kernel's `include/linux/ring_buffer.h`; the layout of a page
//! is read from `events/header_page`.

use super::format::Field;

/// Padding, with its own length, or up to the end of the page if the time delta is 0.
const PADDING: u32 = 29;
/// The high bits of the time since the previous event.
const TIME_EXTEND: u32 = 30;
/// An absolute timestamp.
const TIME_STAMP: u32 = 31;

/// Time bits in the word of an event.
const TIME_BITS: u32 = 27;
/// Time bits in a `TIME_STAMP`; the higher ones come from the previous time.
const STAMP_BITS: u32 = 59;

/// Flags in the length word of a page: events before it were lost, and their number is stored behind it.
const MISSED: u64 = 0b11 << 30;
/// Mask of the length.
const LENGTH: u64 = (1 << 30) - 1;

/// The layout of a page.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct PageLayout {
    time: Field,
    commit: Field,
    data: Field,
}

impl PageLayout {
    /// Parses `events/header_page`.
    pub(super) fn parse(text: &str) -> Option<PageLayout> {
        let field = |name| Field::find(text, name);
        let layout = PageLayout { time: field("timestamp")?, commit: field("commit")?, data: field("data")? };
        let fits = layout.time.is_number() && layout.commit.is_number() && layout.data.size > 0;
        fits.then_some(layout)
    }

    /// Length of a whole page in bytes.
    pub(super) fn page_bytes(&self) -> usize {
        self.data.offset + self.data.size
    }
}

/// A parsed page.
#[derive(PartialEq, Debug)]
pub(super) struct Page<'a> {
    /// Whether events before it were lost.
    pub(super) missed: bool,
    /// Its events in order.
    pub(super) events: Vec<Event<'a>>,
}

/// An event of a page.
#[derive(PartialEq, Debug)]
pub(super) struct Event<'a> {
    /// Time in nanoseconds of the trace clock.
    pub(super) time_ns: u64,
    /// The fields that its format describes.
    pub(super) payload: &'a [u8],
}

/// Parses a page.
pub(super) fn parse_page<'a>(page: &'a [u8], layout: &PageLayout) -> Result<Page<'a>, String> {
    let commit = layout.commit.number(page).ok_or("a page of the trace is shorter than its header")?;
    let mut time = layout.time.number(page).ok_or("a page of the trace is shorter than its header")?;
    let data = page.get(layout.data.offset..).unwrap_or(&[]);
    let length = (commit & LENGTH) as usize;
    let mut rest = data.get(..length).ok_or_else(|| {
        format!("a page of the trace has {} bytes, but its header says {length}", data.len())
    })?;
    let mut events = Vec::new();
    while !rest.is_empty() {
        let word = word_at(rest, 0)?;
        let (kind, delta) = (word & 31, u64::from(word >> 5));
        let header = match kind {
            0 | TIME_EXTEND | TIME_STAMP => 8,
            PADDING if delta == 0 => break,
            PADDING => 8,
            _ => 4,
        };
        let long = if header == 8 { word_at(rest, 4)? } else { 0 };
        // The stated length of an event includes its own word.
        let length = match kind {
            0 | PADDING => 4 + long as usize,
            TIME_EXTEND | TIME_STAMP => 8,
            words => 4 + 4 * words as usize,
        };
        let event = rest.get(..length).filter(|event| event.len() >= header).ok_or_else(|| {
            format!("an event of the trace has {} bytes, but its header says {length}", rest.len())
        })?;
        let high = u64::from(long) << TIME_BITS;
        match kind {
            TIME_STAMP => time = stamp(time, high | delta),
            TIME_EXTEND => time = time.wrapping_add(high | delta),
            _ => time = time.wrapping_add(delta),
        }
        if !matches!(kind, PADDING | TIME_EXTEND | TIME_STAMP) {
            events.push(Event { time_ns: time, payload: &event[header..] });
        }
        // Events are aligned to words; the length of a long one may not be a multiple.
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(Page { missed: commit & MISSED != 0, events })
}

fn word_at(bytes: &[u8], offset: usize) -> Result<u32, String> {
    let word = bytes.get(offset..offset + 4).ok_or("an event of the trace is truncated")?;
    Ok(u32::from_ne_bytes(word.try_into().expect("a word has 4 bytes")))
}

/// The full time of a stamp without its highest bits, given the previous time.
fn stamp(before: u64, stamp: u64) -> u64 {
    let low = (1 << STAMP_BITS) - 1;
    let time = (before & !low) | (stamp & low);
    if time < before && before > low { time.wrapping_add(1 << STAMP_BITS) } else { time }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn layout() -> PageLayout {
        PageLayout::parse(HEADER_PAGE).unwrap()
    }

    fn head(kind: u32, delta: u32) -> Vec<u8> {
        (kind | delta << 5).to_ne_bytes().to_vec()
    }

    fn long(kind: u32, delta: u32, word: u32) -> Vec<u8> {
        [head(kind, delta), word.to_ne_bytes().to_vec()].concat()
    }

    fn page(time: u64, flags: u64, events: &[Vec<u8>]) -> Vec<u8> {
        let data = events.concat();
        let commit = data.len() as u64 | flags;
        let mut page = [time.to_ne_bytes().to_vec(), commit.to_ne_bytes().to_vec(), data].concat();
        page.resize(4096, 0xaa);
        page
    }

    fn times_and_payloads(page: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let parsed = parse_page(page, &layout()).unwrap();
        parsed.events.iter().map(|event| (event.time_ns, event.payload.to_vec())).collect()
    }

    #[test]
    fn page_length_comes_from_header_page() {
        assert_eq!(layout().page_bytes(), 4096);
    }

    #[test]
    fn times_add_up_over_events() {
        let short = |delta, word: u32| [head(1, delta), word.to_ne_bytes().to_vec()].concat();
        let bytes = page(1000, 0, &[short(0, 7), short(5, 8), long(TIME_EXTEND, 3, 2), short(1, 9)]);
        let payload = |word: u32| word.to_ne_bytes().to_vec();
        let late = 1005 + (2 << 27) + 3 + 1;
        assert_eq!(times_and_payloads(&bytes), [(1000, payload(7)), (1005, payload(8)), (late, payload(9))]);
    }

    #[test]
    fn stamp_sets_time_and_keeps_highest_bits() {
        let event = [head(1, 1), vec![0; 4]].concat();
        let bytes = page(1000, 0, &[long(TIME_STAMP, 500, 3), event.clone()]);
        assert_eq!(times_and_payloads(&bytes)[0].0, (3 << 27) + 501);
        let high = 5u64 << 59;
        let bytes = page(high | 1000, 0, &[long(TIME_STAMP, 500, 3), event]);
        assert_eq!(times_and_payloads(&bytes)[0].0, (high | (3 << 27)) + 501);
    }

    #[test]
    fn padding_is_skipped_or_ends_the_page() {
        let event = [head(1, 1), vec![1; 4]].concat();
        let padding = [long(PADDING, 2, 12), vec![0xff; 8]].concat();
        let bytes = page(0, 0, &[padding, event.clone(), head(PADDING, 0), vec![0xff; 100]]);
        assert_eq!(times_and_payloads(&bytes), [(3, vec![1; 4])]);
    }

    #[test]
    fn long_event_has_explicit_length() {
        let event = [long(0, 4, 4 + 120), vec![6; 120]].concat();
        assert_eq!(times_and_payloads(&page(10, 0, &[event])), [(14, vec![6; 120])]);
    }

    #[test]
    fn missed_events_are_reported() {
        for flags in [1 << 31, 3 << 30] {
            assert!(parse_page(&page(0, flags, &[]), &layout()).unwrap().missed);
        }
        assert!(!parse_page(&page(0, 0, &[]), &layout()).unwrap().missed);
    }

    #[test]
    fn truncated_page_is_an_error() {
        assert!(parse_page(&[0; 15], &layout()).is_err());
        assert!(parse_page(&page(0, 0, &[head(3, 1)]), &layout()).is_err());
        assert!(parse_page(&page(0, 0, &[head(0, 1)]), &layout()).is_err());
        assert!(parse_page(&page(0, 0, &[long(0, 1, 0)]), &layout()).is_err());
        assert!(parse_page(&page(0, 5000, &[]), &layout()).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(
            time: u64,
            flags in 0u64..4,
            bytes in proptest::collection::vec(any::<u8>(), 0..4080),
            cut in 0usize..4096,
        ) {
            let page = page(time, flags << 30, &[bytes]);
            let _ = parse_page(&page, &layout());
            let _ = parse_page(&page[..cut], &layout());
        }

        #[test]
        fn events_round_trip(
            events in proptest::collection::vec(
                (1u64..1 << 40, proptest::collection::vec(any::<u32>(), 1..28)), 0..20),
        ) {
            let mut bytes = Vec::new();
            let mut expected = Vec::new();
            let mut time = 77;
            for (delta, words) in &events {
                let payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                let (low, high) = ((delta & ((1 << 27) - 1)) as u32, (delta >> 27) as u32);
                bytes.push(long(TIME_EXTEND, low, high));
                bytes.push([head(words.len() as u32, 0), payload.clone()].concat());
                time += delta;
                expected.push((time, payload));
            }
            prop_assert_eq!(times_and_payloads(&page(77, 0, &bytes)), expected);
        }
    }
}
