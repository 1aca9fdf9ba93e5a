//! Prints the example page: `cargo run -p senesce-report --example page > page.html`.

#[path = "../tests/page/example/mod.rs"]
mod example;

fn main() {
    print!("{}", senesce_report::render(&example::page()));
}
