//! Index files, and say how fast: MB for each second of CPU, the best of seven (Linux).

use std::fs::File;

use prefpairs_core::block::Part;
use prefpairs_core::nemo_gym::Reader;
use prefpairs_core::source::{Buffer, Source};
use prefpairs_core::window::Window;

const AT_ONCE: u64 = 1 << 20;

fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0) / 1e9
}

fn main() {
    for path in std::env::args().skip(1) {
        let file = File::open(&path).expect("a file");
        let size = file.metadata().expect("a file").len();
        let window = Window { source: Source::File(&file), lines: 0..size, longest: 4_000_000 };
        let mut best = f64::MAX;
        let (mut rows, mut handed_up) = (0, 0);
        for _ in 0..7 {
            let mut reader = Reader::default();
            let start = cpu();
            let mut buffer = Buffer::default();
            (rows, handed_up) = (0, 0);
            for from in (0..size).step_by(AT_ONCE as usize) {
                let scanned = window.scan(&mut reader, from..from + AT_ONCE, &mut buffer);
                for part in scanned.expect("a file").parts {
                    match part {
                        Part::Columns(columns) => rows += columns.scores.len(),
                        Part::HandedUp(_) => handed_up += 1,
                    }
                }
            }
            best = best.min(cpu() - start);
        }
        let speed = size as f64 / 1e6 / best;
        println!("{path}: {rows} rows, {handed_up} handed up, {speed:.0} MB/s");
    }
}
