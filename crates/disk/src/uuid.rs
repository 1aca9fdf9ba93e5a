//! UUIDs that identify the file systems created by this program. A label is not sufficient, because others may choose the same label.

/// The common prefix: "senesc" in ASCII, and version 8, for UUIDs with custom contents (RFC 9562).
const PREFIX: &str = "73656e65-7363-8e65-";

/// Creates a UUID for a new file system: the remaining 62 bits are random, because mounted file systems must have different UUIDs.
pub fn new_uuid() -> String {
    let random = std::fs::read_to_string("/proc/sys/kernel/random/uuid").expect("Linux gives random UUIDs");
    format!("{PREFIX}{}", &random.trim()[PREFIX.len()..])
}

/// Whether a UUID has the prefix.
pub fn is_our_uuid(uuid: &str) -> bool {
    uuid.to_ascii_lowercase().starts_with(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_prefix_and_differ() {
        let [a, b] = [new_uuid(), new_uuid()];
        assert!(is_our_uuid(&a) && is_our_uuid(&b.to_uppercase()) && a != b);
        assert_eq!(a.len(), 36);
        assert!("89ab".contains(&a[19..20]), "{a}: the variant of RFC 9562");
        assert!(!is_our_uuid("d7820223-cd4a-4f89-8844-564ec4ebdbb8") && !is_our_uuid(""));
    }
}
