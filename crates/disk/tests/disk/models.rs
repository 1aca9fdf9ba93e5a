//! Compares the device models with published measurements and with manually computed cases.

mod flash;

use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use senesce_disk::model::{
    Device, FlashState, Model, ModelClock, Pricing, price, price_expected, price_extents, price_on,
    transfer_curve,
};
use senesce_disk::modelled::{Clock, DiskSettings, Store, saved_flash};
use senesce_disk::{Extent, Request, RequestKind};
use std::path::Path;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

fn model(name: &str) -> Model {
    Model::find(name).unwrap()
}

fn read(byte: u64, bytes: u64) -> Request {
    Request::read(byte / 512, (bytes / 512) as u32)
}

fn write(byte: u64, bytes: u64) -> Request {
    Request { kind: RequestKind::Write, ..read(byte, bytes) }
}

fn flush() -> Request {
    Request { kind: RequestKind::Flush, ..read(0, 0) }
}

/// Blocks of 4 KiB in random order, the same on every run.
fn scattered(count: u64, size_bytes: u64) -> impl Iterator<Item = u64> + Clone {
    (0..count).map(move |n| ChaCha8Rng::seed_from_u64(n).next_u64() % (size_bytes / 4096) * 4096)
}

/// A built-in model with one parameter changed.
fn other(name: &str, from: &str, to: &str) -> Model {
    let text = model(name).to_toml();
    let other = text.replace(from, to);
    assert_ne!(other, text, "{from}");
    let named = other.replacen(&format!("name = {name:?}"), "name = \"other\"", 1);
    Model::parse(&named, Path::new("other.toml")).unwrap()
}

fn seconds(model: &Model, requests: &[Request]) -> f64 {
    price(model, 20 * GIB, requests).total_s()
}

fn within(value: f64, range: std::ops::RangeInclusive<f64>) {
    assert!(range.contains(&value), "{value} is not within {range:?}");
}

/// The seconds of reads that arrive as one command.
fn seconds_as_one(name: &str, reads: &[Request]) -> f64 {
    let mut pricing = Pricing::new(&model(name), 20 * GIB);
    pricing.add_as_one(reads);
    pricing.finish().total_s()
}

#[test]
fn one_command_for_several_ranges_saves_commands_only() {
    for name in ["ideal", "hdd-7200", "smr", "ssd-sata", "ssd-crucial-m4"] {
        let reads: Vec<Request> = (0..8).map(|n| read((n * 37 % 8) * GIB, 64 << 10)).collect();
        assert_eq!(
            seconds_as_one(name, &reads[..1]),
            price_expected(&model(name), 20 * GIB, &reads[..1]).total_s()
        );
        let at_once: Vec<Request> =
            (1..).zip(&reads).map(|(queue, read)| Request { queue, ..*read }).collect();
        let apart = price_expected(&model(name), 20 * GIB, &at_once).total_s();
        let as_one = seconds_as_one(name, &reads);
        assert!(0.9 * apart <= as_one && as_one <= apart, "{name}: {apart} s apart, {as_one} s as one");
    }
}

#[test]
fn reads_that_take_dies_in_turn_do_not_collide() {
    let turns = |name: &str, reads: &[Request]| {
        let mut pricing = Pricing::new(&model(name), 20 * GIB).taking_dies_in_turn();
        pricing.add(reads);
        pricing.finish().total_s() / price_expected(&model(name), 20 * GIB, reads).total_s()
    };
    // Pages of one die, and one large range.
    let on_one_die: Vec<Request> =
        (0..256).map(|n| Request { queue: 32.min(n as u32 + 1), ..read(n * 4 * MIB, 4096) }).collect();
    let whole = [read(0, 64 * MIB)];
    for name in ["ssd-sata", "ssd-nvme", "ssd-crucial-m4"] {
        within(turns(name, &on_one_die), 0.0..=0.7);
        within(turns(name, &whole), 0.95..=1.05);
    }
    assert_eq!(turns("hdd-7200", &on_one_die), 1.0);
}

#[test]
fn hdd_curve_matches_publication() {
    let sizes: Vec<_> = (12..=26).map(|power| 1 << power).collect();
    let curve = transfer_curve(&model("hdd-7200"), 20 * GIB, &sizes, 7);
    within(curve.best_bytes_per_s, 140e6..=146e6);
    // 4 KiB reads: two to three orders of magnitude below the best; 4 MiB reads: between 50 % and 90 % of it.
    let ratio = |n: usize| curve.best_bytes_per_s / curve.points[n].bytes_per_s;
    within(ratio(0), 100.0..=1000.0);
    within(4096e3 / curve.points[0].bytes_per_s, 5.0..=12.0);
    assert!(
        curve.natural_50_bytes.unwrap() <= 4 * MIB && curve.natural_90_bytes.unwrap() >= 4 * MIB,
        "{curve:?}"
    );
    assert!(curve.points.is_sorted_by(|a, b| a.bytes_per_s < b.bytes_per_s), "{curve:?}");
}

#[test]
fn sata_ssd_curve_matches_publication() {
    let sizes: Vec<_> = (12..=26).map(|power| 1 << power).collect();
    let curve = transfer_curve(&model("ssd-sata"), 20 * GIB, &sizes, 7);
    within(curve.best_bytes_per_s, 530e6..=550e6);
    // 4 KiB reads: about one order of magnitude below the best; flat from 4 MiB on.
    within(curve.best_bytes_per_s / curve.points[0].bytes_per_s, 8.0..=20.0);
    within(curve.best_bytes_per_s / curve.points[10].bytes_per_s, 0.97..=1.05);
    assert!(curve.natural_90_bytes.unwrap() <= 4 * MIB, "{curve:?}");
    // The best bandwidth is the maximum of all points.
    assert!(curve.points.iter().all(|point| point.bytes_per_s <= curve.best_bytes_per_s), "{curve:?}");
}

/// The disk of 7200 rpm if it forgot what passes under the head before the first byte.
fn without_read_on_arrival() -> Model {
    other("hdd-7200", "read_on_arrival = true", "read_on_arrival = false")
}

#[test]
fn stream_costs_no_rotations_and_reverse_read_does() {
    let hdd = model("hdd-7200");
    let stream: Vec<_> = (0..1000).map(|n| read(n * 128 * 1024, 128 * 1024)).collect();
    within(1000.0 * 131_072.0 / seconds(&hdd, &stream), 138e6..=145e6);
    // Backwards: a rotation minus the two blocks that the head is ahead, then the block.
    let back: Vec<_> = stream.iter().rev().copied().collect();
    within(seconds(&without_read_on_arrival(), &back) / 1000.0, 0.0072..=0.0078);
    // A drive that reads on arrival gets several blocks of a track in one rotation.
    within(seconds(&hdd, &back) / 1000.0, 0.0012..=0.002);
    // A gap of a few blocks is read through.
    let gaps: Vec<_> = (0..1000).map(|n| read(n * 144 * 1024, 128 * 1024)).collect();
    within(seconds(&hdd, &gaps) / seconds(&hdd, &stream), 1.1..=1.15);
}

#[test]
fn drive_rotates_while_idle() {
    // Reads two blocks with a gap of one 4 KiB block between them, and with an increasing pause between the requests. The head reads ahead
    // into the buffer meanwhile, so the second read never costs a rotation.
    for pause_ns in [0, 1_000_000, 20_000_000] {
        let mut device = model("hdd-7200").device(20 * GIB);
        let first_ns = device.serve(&read(GIB, 4096), 0);
        let second_ns = device.serve(&read(GIB + 8192, 4096), first_ns + pause_ns) - first_ns - pause_ns;
        assert!(second_ns < 150_000, "{second_ns} ns after {pause_ns}");
    }
    // An earlier block is under the head again only after a rotation, minus the pause.
    let wait_ms = |model: &Model, pause_ns| {
        let mut device = model.device(20 * GIB);
        let first_ns = device.serve(&read(GIB, 4096), 0);
        (device.serve(&read(GIB - 4096, 4096), first_ns + pause_ns) - first_ns - pause_ns) as f64 / 1e6
    };
    let forgetful = without_read_on_arrival();
    within(wait_ms(&forgetful, 0), 8.2..=8.4);
    within(wait_ms(&forgetful, 4_000_000), 4.2..=4.4);
    // A drive that reads on arrival already has it.
    within(wait_ms(&model("hdd-7200"), 0), 0.0..=0.1);
}

#[test]
fn expected_cost_does_not_depend_on_track_position() {
    let disk = model("hdd-7200");
    let turn_s = 60.0 / 7200.0;
    let costs = |cost: &dyn Fn(&[Request]) -> f64| -> Vec<f64> {
        (0..40).map(|n| cost(&[read(64 * MIB + n * 32_768, 4096)])).collect()
    };
    let spread = |costs: Vec<f64>| {
        costs.iter().copied().fold(0.0, f64::max) - costs.iter().copied().fold(f64::MAX, f64::min)
    };
    // With a single initial angle the costs differ by up to a rotation.
    within(spread(costs(&|requests| seconds(&disk, requests))), 0.8 * turn_s..=1.05 * turn_s);
    within(
        spread(costs(&|requests| price_expected(&disk, 20 * GIB, requests).total_s())),
        0.0..=0.15 * turn_s,
    );
    let ssd = model("ssd-sata");
    assert_eq!(price_expected(&ssd, 20 * GIB, &[read(0, 4096)]), price(&ssd, 20 * GIB, &[read(0, 4096)]));
}

#[test]
fn buffer_holds_one_segment_of_a_stream() {
    for (name, segment_bytes) in [("hdd-7200", MIB), ("smr", 2 * MIB)] {
        let after_stream = |byte: u64| {
            let mut device = model(name).device(20 * GIB);
            let read_ns =
                (0..512).fold(0, |now_ns, n| device.serve(&read(n * 128 * 1024, 128 * 1024), now_ns));
            device.serve(&read(byte, 4096), read_ns) - read_ns
        };
        // The end of the stream is in the buffer and costs only a command; its start is not and costs a seek.
        assert!(after_stream(64 * MIB - segment_bytes / 2) < 100_000, "{name}");
        assert!(after_stream(0) > 1_000_000, "{name}");
        assert!(after_stream(64 * MIB - 3 * segment_bytes) > 1_000_000, "{name}");
    }
    // Reading a stream a second time is not nearly free, nor is reading random blocks after a stream.
    let hdd = model("hdd-7200");
    let stream: Vec<_> = (0..512).map(|n| read(n * 128 * 1024, 128 * 1024)).collect();
    within(seconds(&hdd, &stream.repeat(2)) / seconds(&hdd, &stream), 1.95..=2.1);
    let blocks: Vec<_> = scattered(1000, 64 * MIB).map(|byte| read(byte, 4096)).collect();
    let behind = [&stream[..], &blocks[..]].concat();
    within((seconds(&hdd, &behind) - seconds(&hdd, &stream)) / seconds(&hdd, &blocks), 0.9..=1.1);
}

#[test]
fn stream_after_pause_is_not_faster() {
    let mut device = model("hdd-7200").device(20 * GIB);
    let mut now_ns = device.serve(&read(0, MIB), 0) + 5_000_000_000;
    let begin_ns = now_ns;
    for n in 1..=64 {
        now_ns = device.serve(&read(n * MIB, MIB), now_ns);
    }
    within(64.0 * MIB as f64 / ((now_ns - begin_ns) as f64 / 1e9), 130e6..=150e6);
}

#[test]
fn outer_edge_is_faster_and_long_seek_is_slower() {
    let hdd = model("hdd-7200");
    let stream = |from: u64| {
        let reads: Vec<_> = (0..256).map(|n| read(from + n * MIB, MIB)).collect();
        256.0 * MIB as f64 / price(&hdd, 500 * GIB, &reads).total_s()
    };
    within(stream(0) / stream(460 * GIB), 1.8..=2.0);
    let apart = |distance: u64| {
        let reads: Vec<_> = (0..1000).map(|n| read(n % 2 * distance + n * 12_288, 4096)).collect();
        price(&hdd, 500 * GIB, &reads).total_s()
    };
    assert!(apart(GIB) < apart(50 * GIB) && apart(50 * GIB) < apart(400 * GIB));
    within(apart(400 * GIB) / 1000.0, 0.012..=0.026);
}

#[test]
fn written_data_stays_in_cache_until_full_or_flushed() {
    let hdd = model("hdd-7200");
    let writes: Vec<_> = scattered(500, 20 * GIB).map(|byte| write(byte, 4096)).collect();
    let cached = seconds(&hdd, &writes);
    let flushed = seconds(&hdd, &[&writes[..], &[flush()]].concat());
    within(cached / 500.0, 0.0..=0.0001);
    // Destaging in one direction is faster than the same reads in random order.
    let reads: Vec<_> = scattered(500, 20 * GIB).map(|byte| read(byte, 4096)).collect();
    within(flushed / 500.0, 0.002..=0.009);
    within(flushed / seconds(&hdd, &reads), 0.2..=0.6);
    // A block that is overwritten before the flush is written once.
    let again: Vec<_> = writes.iter().chain(&writes).copied().chain([flush()]).collect();
    within(seconds(&hdd, &again) / flushed, 0.99..=1.04);
    let stream: Vec<_> = (0..1000).map(|n| write(n * MIB, MIB)).chain([flush()]).collect();
    within(1000.0 * MIB as f64 / seconds(&hdd, &stream), 135e6..=145e6);
}

#[test]
fn scheduling_beats_arrival_order_without_starvation() {
    let hdd = model("hdd-7200");
    let mut arriving = scattered(2000, 20 * GIB).map(|byte| Request { queue: 32, ..read(byte, 4096) });
    let all: Vec<_> = arriving.clone().collect();
    let mut clock = ModelClock::new(hdd.device(20 * GIB));
    let mut pending: Vec<(usize, Request)> = Vec::new();
    let (mut served, mut order) = (0, Vec::new());
    while served < all.len() {
        while pending.len() < 32
            && let Some(request) = arriving.next()
        {
            pending.push((order.len() + pending.len(), request));
        }
        let waiting: Vec<_> = pending.iter().map(|(_, request)| *request).collect();
        let (arrived, request) = pending.remove(clock.choose(&waiting));
        clock.issue(&request);
        order.push(request);
        served += 1;
        // At most 32 requests are ahead of it, and 31 others may be the oldest before it, each passed over 32 times.
        assert!(served <= arrived + 32 * 33, "the request that came {arrived}th is served {served}th");
    }
    let chosen_s = clock.now_ns() as f64 / 1e9;
    within(chosen_s / seconds(&hdd, &all), 0.2..=0.7);
    // Pricing the log of served requests later gives the same cost.
    assert_eq!(price(&hdd, 20 * GIB, &order).total_ns, clock.now_ns());
}

#[test]
fn distant_request_is_served_eventually() {
    let mut device = model("hdd-7200").device(400 * GIB);
    let far = read(399 * GIB, 4096);
    let mut waited = 0;
    for n in 1.. {
        let near = read(n * 4096, 4096);
        let pending = [far, near];
        let index = device.choose(&pending);
        device.serve(&pending[index], n);
        if index == 0 {
            break;
        }
        waited += 1;
    }
    assert_eq!(waited, 32);
}

#[test]
fn smr_writes_are_fast_until_cache_is_full() {
    let tiny = other("smr", "media_cache_bytes = 26843545600", "media_cache_bytes = 67108864");
    let writes: Vec<_> = scattered(20_000, 20 * GIB).map(|byte| write(byte, 4096)).chain([flush()]).collect();
    let (roomy_s, full_s) = (seconds(&model("smr"), &writes), seconds(&tiny, &writes));
    assert!(full_s > 20.0 * roomy_s, "{full_s} and {roomy_s}");
    assert!(seconds(&model("hdd-7200"), &writes) > 5.0 * roomy_s);
    // Data written out of order is stored out of order: reading it sequentially seeks.
    let blocks = (0..2000).map(|n| n * 4096);
    let mixed = scattered(2000, 2000 * 4096).map(|byte| write(byte, 4096));
    let aged: Vec<_> = mixed.chain([flush()]).chain(blocks.map(|byte| read(byte, 4096))).collect();
    let aged = price(&model("smr"), 20 * GIB, &aged);
    let fresh: Vec<_> = (0..2000).map(|n| read(n * 4096, 4096)).collect();
    assert!(aged.reads.ns > 3 * price(&model("smr"), 20 * GIB, &fresh).reads.ns, "{aged:?}");
}

#[test]
fn smr_cleans_bands_only_when_space_is_needed() {
    let tiny = other("smr", "media_cache_bytes = 26843545600", "media_cache_bytes = 67108864");
    // The same 32 MiB repeatedly: the circular log wraps around and finds nothing that is still needed.
    let again: Vec<_> = (0..512).map(|n| write(n % 32 * MIB, MIB)).collect();
    within(512.0 * MIB as f64 / seconds(&tiny, &again), 180e6..=220e6);
    // 96 MiB cyclically: each round cleans everything that the previous round wrote.
    let all: Vec<_> = (0..512).map(|n| write(n % 96 * MIB, MIB)).collect();
    assert!(seconds(&tiny, &all) > 2.0 * seconds(&tiny, &again));
}

#[test]
fn built_in_model_names_are_reserved() {
    let text = model("hdd-7200").to_toml();
    let error =
        Model::parse(&text.replace("rpm = 7200.0", "rpm = 5400"), Path::new("mine.toml")).unwrap_err();
    assert!(error.to_string().contains("it is named hdd-7200"), "{error}");
}

#[test]
fn ideal_disk_costs_nothing() {
    let requests: Vec<_> =
        scattered(100, GIB).flat_map(|byte| [read(byte, 4096), write(byte, 4096), flush()]).collect();
    let priced = price(&model("ideal"), GIB, &requests);
    assert_eq!((priced.total_ns, priced.reads.requests, priced.flushes.requests), (0, 100, 100));
}

#[test]
fn extents_cost_as_much_as_their_reads() {
    let hdd = model("hdd-7200");
    let extents = [(0, 8192), (GIB, 4096), (8192, 4096)]
        .map(|(start_bytes, len_bytes)| Extent { start_bytes, len_bytes });
    let reads = [read(0, 8192), read(GIB, 4096), read(8192, 4096)];
    assert_eq!(price_extents(&hdd, 20 * GIB, &extents), price_expected(&hdd, 20 * GIB, &reads));
}

#[test]
fn built_in_models_are_valid_and_round_trip() {
    for model in Model::builtin() {
        assert_eq!(Model::find(model.name()).unwrap(), model, "two models have one name");
        assert_eq!(Model::parse(&model.to_toml(), Path::new("again")).unwrap(), model);
    }
}

#[test]
fn invalid_model_error_names_file_and_key() {
    let hdd = model("hdd-7200").to_toml();
    let ssd = model("ssd-sata").to_toml();
    let smr = model("smr").to_toml();
    for (text, from, to, expected) in [
        (&hdd, "rpm = 7200.0", "rpm = 0", "hdd.rpm is 0;"),
        (&hdd, "rpm = 7200.0", "rpm = nan", "hdd.rpm is NaN;"),
        (&hdd, "seek_short_base_ms = 0.7", "seek_short_base_ms = -1", "hdd.seek_short_base_ms is -1;"),
        (&hdd, "drive_bytes = 500107862016", "drive_bytes = 0", "hdd.drive_bytes is 0;"),
        (&hdd, "drive_bytes = 500107862016", "drive_bytes = -5", "line "),
        (&hdd, "heads = 2", "heads = 0", "hdd.heads is 0;"),
        (&hdd, "inner_mb_per_s = 75.0", "inner_mb_per_s = 750", "hdd.inner_mb_per_s exceeds"),
        (&hdd, "heads = 2", "heads = 2\nlegs = 4", "unknown field `legs`"),
        (&hdd, "heads = 2\n", "", "missing field `heads`"),
        (&hdd, "[hdd]", "[floppy]", "unknown field `floppy`"),
        (&hdd, "name = \"hdd-7200\"", "name = \"\"", "name must be"),
        (&smr, "partition_offset_bytes = 0", "partition_offset_bytes = 1", "must be 0 with [smr]"),
        (&smr, "band_bytes = 31457280", "band_bytes = 0", "smr.band_bytes is 0;"),
        (&ssd, "channels = 8", "channels = 0", "ssd.channels is 0;"),
        (&ssd, "page_bytes = 16384", "page_bytes = 0", "ssd.page_bytes is 0;"),
        (&ssd, "page_read_us = 65.0", "page_read_us = inf", "ssd.page_read_us is inf;"),
        (&ssd, "[ssd]", "[ssd", "line "),
    ] {
        let wrong = text.replacen(from, to, 1);
        assert_ne!(&wrong, text, "{from}");
        let error = Model::parse(&wrong, Path::new("mine.toml")).unwrap_err().to_string();
        assert!(error.starts_with("mine.toml is not a device model: "), "{error}");
        assert!(error.contains(expected) && !error.contains('\n'), "{error} has no {expected}");
    }
    let error = Model::find("no-such-model").unwrap_err().to_string();
    assert!(error.contains("no-such-model") && error.contains("hdd-7200"), "{error}");
}

fn any_request() -> impl Strategy<Value = Request> {
    let kind = prop_oneof![
        4 => Just(RequestKind::Read),
        4 => Just(RequestKind::Write),
        1 => Just(RequestKind::Flush),
        1 => Just(RequestKind::Discard),
    ];
    // Close to each other, anywhere on the disk, and beyond the end of any disk.
    let sector = prop_oneof![0..4096u64, 0..1u64 << 23, any::<u64>()];
    let sectors = prop_oneof![0..64u32, 0..1u32 << 14, Just(1 << 18)];
    (kind, sector, sectors, 0..40u32).prop_map(|(kind, sector, sectors, queue)| Request {
        kind,
        queue,
        ..Request::read(sector, sectors)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn time_is_monotonic_for_arbitrary_requests(
        requests in prop::collection::vec(any_request(), 1..120),
        size_bytes in prop_oneof![Just(0), Just(4096), Just(GIB), Just(600 * GIB)],
    ) {
        for model in Model::builtin() {
            let mut clock = ModelClock::new(model.device(size_bytes));
            let mut before_ns = 0;
            let mut priced_ns = 0;
            for request in &requests {
                let service_ns = clock.issue(request);
                prop_assert!(service_ns < 3_600_000_000_000, "{} takes {service_ns} ns for {request:?}", model.name());
                prop_assert!(clock.now_ns() >= before_ns);
                before_ns = clock.now_ns();
                priced_ns += service_ns;
            }
            let priced = price(&model, size_bytes, &requests);
            prop_assert_eq!(priced.total_ns, clock.now_ns());
            let parts = [priced.reads, priced.writes, priced.flushes, priced.discards];
            prop_assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), priced.total_ns);
            prop_assert!(priced.total_ns <= priced_ns);
        }
    }

    #[test]
    fn choose_returns_a_pending_request(requests in prop::collection::vec(any_request(), 1..40)) {
        for model in Model::builtin() {
            let mut device: Device = model.device(4 * GIB);
            let mut pending = requests.clone();
            let mut now_ns = 0;
            while !pending.is_empty() {
                let index = device.choose(&pending);
                now_ns = device.serve(&pending.remove(index), now_ns);
            }
        }
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in "(name|title|source|hdd|rpm|=|\\[|\\]|\"x\"|[0-9a-z.\n -]){0,40}") {
        let _ = Model::parse(&text, Path::new("any"));
    }

    #[test]
    fn arbitrary_number_is_refused_or_works(which in 0usize..19, value in prop::num::f64::ANY) {
        let text = model("hdd-7200").to_toml().replacen("hdd-7200", "any", 1);
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        let first = lines.iter().position(|line| line == "[hdd]").unwrap() + 1;
        let line = first + which % (lines.len() - first);
        let key = lines[line].split(' ').next().unwrap().to_owned();
        let was_whole = !lines[line].contains('.');
        lines[line] = if was_whole { format!("{key} = {}", value as i64) } else { format!("{key} = {value:?}") };
        if let Ok(model) = Model::parse(&lines.join("\n"), Path::new("any")) {
            let requests = [write(0, MIB), read(GIB, 4096), write(MIB, 4096), flush(), read(0, 4096)];
            price(&model, 4 * GIB, &requests);
        }
    }
}
