//! dev
use std::path::Path;
use std::sync::Arc;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let image = Path::new(&a[2]);
    match a[1].as_str() {
        "mkfs" => {
            let s = betree::FileStorage::create(image, a[3].parse::<u64>().unwrap() << 20).unwrap();
            senesce_betreefs::mkfs(Arc::new(s), (0, 0)).unwrap();
        }
        "mount" => {
            let cache = a.get(4).map(|m| m.parse::<usize>().unwrap() << 20);
            let o = senesce_betreefs::MountOptions { cache_bytes: cache, threads: a.get(5).map(|t| t.parse().unwrap()) };
            senesce_betreefs::mount(image, Path::new(&a[3]), o, || println!("ready")).unwrap();
        }
        "check" => {
            let s = betree::FileStorage::open(image).unwrap();
            let c = senesce_betreefs::check(Arc::new(s)).unwrap();
            println!("{c:#?}");
            if !c.problems.is_empty() { std::process::exit(1) }
        }
        _ => panic!(),
    }
}
