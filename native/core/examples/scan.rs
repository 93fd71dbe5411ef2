//! Index files, and say how fast: MB for each second of CPU, the best of seven (Linux).

use prefpairs_core::block::{scan, Segment};
use prefpairs_core::nemo_gym::Reader;

fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0) / 1e9
}

fn main() {
    for path in std::env::args().skip(1) {
        let data = std::fs::read(&path).expect("a file");
        let offsets = vec![0; memchr::memchr_iter(b'\n', &data).count() + 1];
        let mut best = f64::MAX;
        let (mut rows, mut handed_up) = (0, 0);
        for _ in 0..7 {
            let mut reader = Reader::default();
            let start = cpu();
            let lines = data.split_inclusive(|byte| *byte == b'\n');
            let segments = scan(&mut reader, lines, &offsets, 4_000_000);
            best = best.min(cpu() - start);
            (rows, handed_up) = (0, 0);
            for segment in segments {
                match segment {
                    Segment::Columns(columns) => rows += columns.scores.len(),
                    Segment::HandedUp(_) => handed_up += 1,
                }
            }
        }
        let speed = data.len() as f64 / 1e6 / best;
        println!("{path}: {rows} rows, {handed_up} handed up, {speed:.0} MB/s");
    }
}
