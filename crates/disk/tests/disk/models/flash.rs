//! Solid-state drives: dies, address tables, and flash translation layers.

use super::*;

#[test]
fn ssd_random_reads_cost_more_than_sequential_ones() {
    let ssd = model("ssd-sata");
    for (kib, range) in [(4, 2.5..=4.0), (16, 2.0..=3.5), (128, 1.1..=1.6)] {
        let bytes = kib * 1024;
        let stream: Vec<_> = (0..2000).map(|n| read(n * bytes, bytes)).collect();
        let jumps: Vec<_> = scattered(2000, 4 * GIB).map(|byte| read(byte, bytes)).collect();
        within(seconds(&ssd, &jumps) / seconds(&ssd, &stream), range);
    }
}

#[test]
fn concurrent_requests_use_ssd_dies_in_parallel() {
    let ssd = model("ssd-nvme");
    let deep = |queue| {
        let reads: Vec<_> =
            scattered(4000, 4 * GIB).map(|byte| Request { queue, ..read(byte, 4096) }).collect();
        seconds(&ssd, &reads)
    };
    within(deep(1) / deep(8), 3.0..=8.0);
    within(deep(1) / deep(32), 8.0..=32.0);
}

#[test]
fn address_table_miss_costs_a_page_read() {
    let small = other("ssd-nvme", "map_cache_bytes = 67108864", "map_cache_bytes = 65536");
    let reads: Vec<_> = (0..4).flat_map(|_| scattered(2000, 20 * GIB)).map(|byte| read(byte, 4096)).collect();
    within(seconds(&small, &reads) / seconds(&model("ssd-nvme"), &reads), 1.3..=2.2);
}

#[test]
fn drive_with_flash_translation_layer_has_the_rates_of_its_data_sheet() {
    let m4 = model("ssd-crucial-m4");
    let rate = |requests: Vec<Request>| {
        let bytes: u64 = requests.iter().map(|request| u64::from(request.sectors) * 512).sum();
        bytes as f64 / price(&m4, 4 * GIB, &requests).total_s()
    };
    let deep = |request| Request { queue: 32, ..request };
    within(rate((0..1000).map(|n| write(n * MIB, MIB)).chain([flush()]).collect()), 90e6..=100e6);
    within(rate((0..1000).map(|n| read(n * MIB, MIB)).collect()), 400e6..=415e6);
    within(
        rate(scattered(20_000, 4 * GIB).map(|byte| deep(read(byte, 4096))).collect()) / 4096.0,
        35e3..=40e3,
    );
    within(
        rate(scattered(20_000, 4 * GIB).map(|byte| deep(write(byte, 4096))).collect()) / 4096.0,
        20e3..=32e3,
    );
}

/// Seconds for `requests` on a drive with a translation layer in this state, and the number of bytes programmed for each byte written.
fn on_flash(model: &Model, size_bytes: u64, state: FlashState, requests: &[Request]) -> (f64, f64) {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    Store::create(dir.path(), &DiskSettings::new(size_bytes, model.name(), Clock::Model)).unwrap();
    let before = Store::precondition(dir.path(), state).unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut clock = ModelClock::new(model.device_with(size_bytes, store.flash().cloned()));
    requests.iter().for_each(|request| _ = clock.issue(request));
    let after = store.flash().unwrap().lock().unwrap().status();
    let priced = price_on(model, size_bytes, saved_flash(dir.path()).unwrap().as_ref(), requests);
    assert_eq!(priced.total_ns, clock.now_ns(), "the served disk and the price of its log agree");
    let host = (after.host_bytes - before.host_bytes).max(1);
    (clock.now_ns() as f64 / 1e9, (after.programmed_bytes - before.programmed_bytes) as f64 / host as f64)
}

#[test]
fn full_drive_collects_garbage_and_discards_help() {
    let (m4, size) = (model("ssd-crucial-m4"), 256 * MIB);
    let writes: Vec<_> = scattered(60_000, size).map(|byte| write(byte, 4096)).chain([flush()]).collect();
    let (fresh_s, fresh) = on_flash(&m4, size, FlashState::Fresh, &writes[40_000..]);
    let (filled_s, filled) = on_flash(&m4, size, FlashState::Filled, &writes);
    let aged_state = FlashState::Aged { overwrites: 2.0, seed: 1 };
    let (aged_s, aged) = on_flash(&m4, size, aged_state, &writes[40_000..]);
    within(fresh, 1.0..=1.05);
    assert!(filled > 2.0 && aged > 3.0, "{filled} {aged}");
    // Time is nearly all programming, so it grows as the programmed bytes do.
    within(aged_s / fresh_s / aged, 0.8..=1.3);
    assert!(filled_s > fresh_s);
    let discard = Request { kind: RequestKind::Discard, ..read(0, size) };
    let trimmed: Vec<_> = [&[discard], &writes[40_000..]].concat();
    within(on_flash(&m4, size, aged_state, &trimmed).1, 1.0..=1.3);
}

#[test]
fn scattered_data_collides_on_dies() {
    // Blocks that were written in order lie on as many dies as possible, after random writes on some dies twice (Jun et al., FAST 2024).
    let (m4, size) = (model("ssd-crucial-m4"), 256 * MIB);
    let reads: Vec<_> = scattered(5000, size).map(|byte| read(byte / 65_536 * 65_536, 65_536)).collect();
    let (in_order_s, _) = on_flash(&m4, size, FlashState::Filled, &reads);
    let (scattered_s, _) = on_flash(&m4, size, FlashState::Aged { overwrites: 3.0, seed: 1 }, &reads);
    within(scattered_s / in_order_s, 1.05..=2.0);
}

#[test]
fn small_disk_is_a_scale_model_of_the_drive() {
    // What a byte costs hardly depends on the size. Superblocks of fewer pages differ more in what they hold, so they are a little cheaper.
    let m4 = model("ssd-crucial-m4");
    let amplification = |size: u64| {
        let writes: Vec<_> = scattered(size / 4096 / 4, size).map(|byte| write(byte, 4096)).collect();
        on_flash(&m4, size, FlashState::Aged { overwrites: 2.0, seed: 1 }, &writes).1
    };
    within(amplification(GIB) / amplification(2 * GIB), 0.9..=1.02);
}

#[test]
fn flash_of_any_size_works() {
    for size in [4096, MIB + 512, 60 * GIB, 1 << 46] {
        let mut device = model("ssd-crucial-m4").device(size);
        let end = size / 4096 * 4096 - 4096;
        let discard = Request { kind: RequestKind::Discard, ..read(end, 4096) };
        let requests = [write(end, 4096), read(end, 4096), flush(), read(end, 4096), discard, read(0, 4096)];
        requests.iter().fold(0, |now_ns, request| device.serve(request, now_ns));
        // A stream that ends at the end of the disk.
        (0..8).rev().fold(0, |now_ns, n| device.serve(&read(end.saturating_sub(n * 4096), 4096), now_ns));
    }
}

#[test]
fn invalid_flash_translation_layer_is_refused() {
    for (from, to, said) in [
        ("planes_per_die = 2", "planes_per_die = 0", "ftl.planes_per_die is 0"),
        ("over_provisioning = 0.0733", "over_provisioning = -1.0", "ftl.over_provisioning is -1"),
        ("drive_bytes = 64023257088", "drive_bytes = 1048576", "ftl.drive_bytes is 1048576"),
        ("victim = \"oldest\"", "victim = \"best\"", "unknown variant"),
    ] {
        let text = model("ssd-crucial-m4").to_toml();
        let other = text.replacen(from, to, 1).replacen("ssd-crucial-m4", "other", 1);
        assert_ne!(other, text.replacen("ssd-crucial-m4", "other", 1), "{from}");
        let error = Model::parse(&other, Path::new("other.toml")).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let text = model("ssd-crucial-m4").to_toml().replacen("ssd-crucial-m4", "other", 1);
    let (ssd, ftl) = (text.find("[ssd]").unwrap(), text.find("[ftl]").unwrap());
    let error = Model::parse(&format!("{}{}", &text[..ssd], &text[ftl..]), Path::new("other.toml"));
    assert!(error.unwrap_err().to_string().contains("[ftl] needs [ssd]"));
}

#[test]
fn large_address_table_uses_memory_on_demand() {
    let text = model("ssd-nvme").to_toml().replacen("ssd-nvme", "huge", 1);
    let lines = text.lines().map(|line| match line.split(' ').next() {
        Some("page_bytes") => "page_bytes = 512",
        Some("map_cache_bytes") => "map_cache_bytes = 1099511627776",
        Some("read_ahead_bytes") => "read_ahead_bytes = 1073741824",
        Some("read_streams") => "read_streams = 64",
        _ => line,
    });
    let huge = Model::parse(&lines.collect::<Vec<_>>().join("\n"), Path::new("huge.toml")).unwrap();
    assert!(seconds(&huge, &[read(0, 4096), read(GIB, 4096)]) > 0.0);
}
