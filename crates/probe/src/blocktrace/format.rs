//! Decodes trace events with the field offsets from the kernel's format descriptions.

use disk::{Request, RequestKind};

/// The location of a field in an event or page.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Field {
    /// Offset in bytes.
    pub(super) offset: usize,
    /// Length in bytes.
    pub(super) size: usize,
}

impl Field {
    /// Finds a field in a description, whose lines are `field:TYPE NAME;  offset:N;  size:N;  signed:N;`.
    pub(super) fn find(description: &str, name: &str) -> Option<Field> {
        description.lines().find_map(|line| {
            let mut parts = line.trim().split(';').map(str::trim);
            let declaration = parts.next()?.strip_prefix("field:")?;
            let declared = declaration.split_whitespace().last()?.split('[').next()?;
            let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
            let size = parts.next()?.strip_prefix("size:")?.parse().ok()?;
            // No field is beyond 64 KiB; the bound prevents overflow of the sum.
            let sane = offset < 1 << 16 && size < 1 << 24;
            (declared == name && sane).then_some(Field { offset, size })
        })
    }

    /// Whether its size is that of an integer.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.size, 1 | 2 | 4 | 8)
    }

    /// Its bytes; `None` if the event is too short.
    fn bytes<'a>(&self, event: &'a [u8]) -> Option<&'a [u8]> {
        event.get(self.offset..self.offset + self.size)
    }

    /// Its value as an integer.
    pub(super) fn number(&self, event: &[u8]) -> Option<u64> {
        let bytes = self.bytes(event)?;
        match bytes.len() {
            1 => Some(u64::from(bytes[0])),
            2 => Some(u64::from(u16::from_ne_bytes(bytes.try_into().ok()?))),
            4 => Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?))),
            8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }
}

/// The locations of the fields of `block_rq_issue` or `block_rq_complete` that describe a request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct EventFormat {
    id: u64,
    common_type: Field,
    sector: Field,
    sectors: Field,
    rwbs: Field,
}

impl EventFormat {
    /// Parses the event's `format` file.
    pub(super) fn parse(text: &str) -> Option<EventFormat> {
        let number = |name| Field::find(text, name).filter(Field::is_number);
        Some(EventFormat {
            id: text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?,
            common_type: number("common_type")?,
            sector: number("sector")?,
            sectors: number("nr_sector")?,
            rwbs: Field::find(text, "rwbs")?,
        })
    }

    /// The request of an event; `None` for other events and for commands that transfer no data.
    pub(super) fn decode(&self, time_ns: u64, event: &[u8]) -> Result<Option<Request>, String> {
        self.try_decode(time_ns, event)
            .ok_or_else(|| format!("an event of {} bytes is shorter than its format says", event.len()))
    }

    fn try_decode(&self, time_ns: u64, event: &[u8]) -> Option<Option<Request>> {
        if self.common_type.number(event)? != self.id {
            return Some(None);
        }
        let rwbs = self.rwbs.bytes(event)?.split(|&byte| byte == 0).next()?;
        let sectors = self.sectors.number(event)? as u32;
        let sector = self.sector.number(event)?;
        Some(kind(rwbs, sectors).map(|kind| Request {
            time_ns,
            kind,
            metadata: rwbs.contains(&b'M'),
            readahead: rwbs.contains(&b'A') && kind == RequestKind::Read,
            sector: if sectors == 0 { 0 } else { sector },
            sectors,
            queue: 1,
            service_ns: 0,
        }))
    }
}

/// Decodes the kernel's letters for a request: `F` for a preceding flush, then the operation, then flags.
fn kind(rwbs: &[u8], sectors: u32) -> Option<RequestKind> {
    match rwbs {
        [b'F', rest @ ..] if !rest.is_empty() => kind(rest, sectors),
        [b'F'] => Some(RequestKind::Flush),
        [b'R', ..] => Some(RequestKind::Read),
        // The kernel marks zeroing as a write with flag `Z`, but it transfers no data.
        [b'W', b'Z', ..] => Some(RequestKind::Discard),
        [b'W', ..] | [b'Z', b'A', ..] => Some(RequestKind::Write),
        [b'D', ..] => Some(RequestKind::Discard),
        // Kernels before 6.17 have no letter for zeroing; other commands without a letter have no sectors.
        [b'N', ..] if sectors > 0 => Some(RequestKind::Discard),
        _ => None,
    }
}

/// The number of lost events in a CPU's `stats` file.
pub(super) fn lost_events(stats: &str) -> u64 {
    let counts = ["overrun", "commit overrun", "dropped events"];
    let lines = stats.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(name, _)| counts.contains(&name.trim()))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORMAT: &str = "name: block_rq_issue
ID: 2104
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";

    fn event(id: u16, sector: u64, sectors: u32, rwbs: &[u8]) -> Vec<u8> {
        let mut event = vec![0; 64];
        event[..2].copy_from_slice(&id.to_ne_bytes());
        event[16..24].copy_from_slice(&sector.to_ne_bytes());
        event[24..28].copy_from_slice(&sectors.to_ne_bytes());
        event[34..34 + rwbs.len()].copy_from_slice(rwbs);
        event
    }

    fn decode(event: &[u8]) -> Option<Request> {
        EventFormat::parse(FORMAT).unwrap().decode(9, event).unwrap()
    }

    #[test]
    fn read_request_is_decoded() {
        let expected = Request {
            time_ns: 9,
            kind: RequestKind::Read,
            metadata: true,
            readahead: true,
            sector: 1 << 40,
            sectors: 64,
            ..Request::read(0, 0)
        };
        assert_eq!(decode(&event(2104, 1 << 40, 64, b"RAM")), Some(expected));
        assert_eq!(decode(&event(2105, 1 << 40, 64, b"RAM")), None);
    }

    #[test]
    fn letters_select_request_kind() {
        use RequestKind::{Discard, Flush, Read, Write};
        for (rwbs, expected) in [
            ("R", Some(Read)),
            ("WS", Some(Write)),
            ("FWFS", Some(Write)),
            ("FF", Some(Flush)),
            ("F", Some(Flush)),
            ("DS", Some(Discard)),
            ("DE", Some(Discard)),
            ("WZ", Some(Discard)),
            ("N", Some(Discard)),
            ("ZR", None),
        ] {
            assert_eq!(kind(rwbs.as_bytes(), 8), expected, "{rwbs}");
        }
        assert_eq!(kind(b"N", 0), None);
    }

    #[test]
    fn format_with_missing_field_is_rejected() {
        for field in ["common_type", "sector", "nr_sector", "rwbs", "ID"] {
            let without = FORMAT.replace(field, "x");
            assert_eq!(EventFormat::parse(&without), None, "{field}");
        }
    }

    #[test]
    fn lost_events_are_summed() {
        let stats =
            "entries: 5\noverrun: 3\ncommit overrun: 2\nbytes: 7\ndropped events: 1\nread events: 9\n";
        assert_eq!(lost_events(stats), 6);
        assert_eq!(lost_events("entries: 5\noverrun: 0\n"), 0);
    }

    proptest! {
        #[test]
        fn arbitrary_description_does_not_panic(text in "(field:|ID:|offset:|size:|[a-z0-9_ ;:\\[\\]]|\n){0,60}") {
            let _ = EventFormat::parse(&text);
            let _ = Field::find(&text, "sector");
            let _ = lost_events(&text);
        }

        #[test]
        fn arbitrary_event_does_not_panic(event in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = EventFormat::parse(FORMAT).unwrap().decode(0, &event);
        }

        #[test]
        fn field_offsets_come_from_description(shift in 0usize..40, sector: u64) {
            let mut text = String::new();
            for line in FORMAT.lines() {
                let moved = Field::find(line, "sector").map(|field| field.offset + shift + 64);
                match moved {
                    Some(offset) => text += &line.replace("offset:16", &format!("offset:{offset}")),
                    None => text += line,
                }
                text.push('\n');
            }
            let mut event = event(2104, 1, 8, b"R");
            event.resize(200, 0);
            event[80 + shift..88 + shift].copy_from_slice(&sector.to_ne_bytes());
            let decoded = EventFormat::parse(&text).unwrap().decode(0, &event).unwrap().unwrap();
            prop_assert_eq!(decoded.sector, sector);
        }
    }
}
