//! Chosen and rejected candidates, read again from where they were found, to the lines of pairs.

use std::collections::HashMap;

use crate::identity::{digest, hexadecimal, Digest, ABSENT};
use crate::json::{escape, write_double, No, Result};
use crate::meta::Meta;
use crate::numbers::{gap_between, NO_INDEX};
use crate::source::{Buffer, Source};

/// Candidates of a group that are kept for its further pairs: their maximum number and bytes.
const MOST_KEPT: usize = 256;
const MOST_BYTES_KEPT: usize = 1 << 22;
/// Room of a candidate that is used again for the next one. More of it would add up: each of them
/// would grow to the longest row that it ever held.
const MOST_ROOM: usize = MOST_BYTES_KEPT / MOST_KEPT;

/// Reads rows again, of which candidates won.
pub trait Winners: Send {
    /// What a pair takes of a row; `No` where Python must read it.
    fn winner(&mut self, line: &str, slot: u32, found: &mut Winner) -> Result<()>;

    /// The same for another candidate of the row that was read last.
    fn again(&mut self, _slot: u32, _found: &mut Winner) -> Result<()> {
        Err(No::Odd)
    }
}

/// Rows of most formats have one candidate.
pub fn only(slot: u32) -> Result<()> {
    if slot == 0 {
        Ok(())
    } else {
        Err(No::Odd)
    }
}

/// What a pair takes of a candidate; contents are JSON as Python writes them.
#[derive(Debug, Default)]
pub struct Winner {
    pub score: f64,
    pub index: i64,
    pub response_digest: Digest,
    /// The digests of the name of its group, its prompt and its tools.
    pub question: [Digest; 3],
    /// The name of its group, as JSON.
    pub group: String,
    pub prompt: String,
    pub prompt_is_text: bool,
    /// Empty where there are none.
    pub tools: String,
    pub response: String,
    pub response_is_text: bool,
    pub meta: Meta,
    /// Where an earlier command found it; empty where that is its line.
    pub origin: String,
    /// Its number among the answers of its row, from 1; 0 for the only one.
    pub number: u32,
}

impl Winner {
    /// Forget what only some formats know.
    pub fn clear(&mut self) {
        self.response.clear();
        self.origin.clear();
        self.meta.clear();
        (self.prompt_is_text, self.response_is_text, self.number) = (false, false, 0);
    }

    /// Where it was found.
    fn write_origin(&self, name: &str, line: u32, out: &mut String) {
        use std::fmt::Write;
        if !self.origin.is_empty() {
            return out.push_str(&self.origin);
        }
        out.push('"');
        escape(name, out);
        let _ = write!(out, ":{line}");
        if self.number > 0 {
            let _ = write!(out, "#{}", self.number);
        }
        out.push('"');
    }

    /// The bytes that its texts take, used or not.
    fn room(&self) -> usize {
        let texts = [&self.group, &self.prompt, &self.tools, &self.response, &self.origin];
        texts.map(String::capacity).iter().sum::<usize>() + self.meta.room()
    }
}

/// A candidate as it was indexed.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The number of the candidate.
    pub number: u32,
    /// The number of its source, of those that were given; beyond them where Python must read it.
    pub source: usize,
    pub offset: u64,
    pub length: u32,
    pub line: u32,
    /// Its place among the candidates of its row.
    pub slot: u32,
    pub score: f64,
    pub response: Digest,
    pub question: [Digest; 3],
}

/// Consecutive pairs.
#[derive(Debug, Default)]
pub struct Written {
    pub lines: Vec<u8>,
    pub gaps: Vec<f64>,
    pub chosen_scores: Vec<f64>,
    pub rejected_scores: Vec<f64>,
}

/// The outcomes of consecutive pairs.
pub enum Segment {
    Written(Written),
    /// The candidates of a pair that Python must make.
    HandedUp([u32; 2]),
}

/// Makes pairs. Candidates that were read are kept as long as pairs of their group come.
pub struct PairWriter<R> {
    reader: R,
    /// The question of the group.
    question: [Digest; 3],
    kept: HashMap<u32, Winner>,
    bytes_kept: usize,
    free: Vec<Winner>,
    buffer: Buffer,
    /// The source and offset of the row that was read last.
    last: Option<(usize, u64)>,
    /// Room for what follows the texts of a pair: memory that grows piece by piece makes threads wait.
    numbers: String,
}

impl<R: Winners> PairWriter<R> {
    pub fn new(reader: R) -> Self {
        let (kept, free, buffer) = (HashMap::new(), Vec::new(), Buffer::default());
        let question = [ABSENT; 3];
        let numbers = String::new();
        PairWriter { reader, question, kept, bytes_kept: 0, free, buffer, last: None, numbers }
    }

    /// The lines of pairs, each of a chosen and a rejected candidate. `names` are those of the sources.
    pub fn write(
        &mut self,
        sources: &[Source],
        names: &[String],
        pairs: &[(Place, Place)],
    ) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut written = Written::default();
        self.last = None; // sources have other numbers than before
        for (chosen, rejected) in pairs {
            if self.write_pair(sources, names, chosen, rejected, &mut written).is_err() {
                segments.push(Segment::Written(std::mem::take(&mut written)));
                segments.push(Segment::HandedUp([chosen.number, rejected.number]));
            }
        }
        segments.push(Segment::Written(written));
        segments
    }

    fn write_pair(
        &mut self,
        sources: &[Source],
        names: &[String],
        chosen: &Place,
        rejected: &Place,
        written: &mut Written,
    ) -> Result<()> {
        let full = self.kept.len() >= MOST_KEPT || self.bytes_kept > MOST_BYTES_KEPT;
        if full || self.question != chosen.question {
            (self.question, self.bytes_kept) = (chosen.question, 0);
            let read = self.kept.drain().map(|(_, winner)| winner);
            self.free.extend(read.filter(|winner| winner.room() <= MOST_ROOM));
        }
        for place in [chosen, rejected] {
            self.keep(sources, place)?;
        }
        let sides = [chosen, rejected].map(|place| (place, self.kept.get(&place.number)));
        let [(_, Some(better)), (_, Some(worse))] = sides else { return Err(No::Odd) };
        if better.question != worse.question {
            return Err(No::Odd);
        }
        let gap = gap_between(better.score, worse.score)?;
        let origins = [chosen, rejected].map(|place| (names[place.source].as_str(), place.line));
        write_line([better, worse], origins, gap, &mut written.lines, &mut self.numbers)?;
        written.gaps.push(gap);
        written.chosen_scores.push(better.score);
        written.rejected_scores.push(worse.score);
        Ok(())
    }

    /// Read a candidate, unless it is kept. `No` if it is not the one that was indexed.
    fn keep(&mut self, sources: &[Source], place: &Place) -> Result<()> {
        if self.kept.contains_key(&place.number) {
            return Ok(());
        }
        let mut winner = self.free.pop().unwrap_or_default();
        let row = (place.source, place.offset);
        let mut read = Err(No::Odd);
        if self.last == Some(row) {
            read = self.reader.again(place.slot, &mut winner);
        }
        if read.is_err() {
            self.last = None;
            let source = sources.get(place.source).ok_or(No::Odd)?;
            let range = place.offset..place.offset + u64::from(place.length);
            self.buffer.clear();
            source.append(range, &mut self.buffer).map_err(|_| No::Odd)?;
            let text = simdutf8::basic::from_utf8(self.buffer.bytes()).map_err(|_| No::Odd)?;
            read = self.reader.winner(text, place.slot, &mut winner);
            self.last = Some(row);
        }
        let same = winner.score == place.score
            && winner.response_digest == place.response
            && winner.question == place.question;
        if read.is_err() || !same {
            self.free.push(winner);
            return Err(No::Odd);
        }
        self.bytes_kept += winner.room();
        self.kept.insert(place.number, winner);
        Ok(())
    }
}

/// Write the line of a pair, with all its fields that say something.
fn write_line(
    [chosen, rejected]: [&Winner; 2],
    origins: [(&str, u32); 2],
    gap: f64,
    lines: &mut Vec<u8>,
    numbers: &mut String,
) -> Result<()> {
    let start = lines.len();
    numbers.clear();
    let [_, prompt, tools] = &chosen.question;
    let (better, worse) = (&chosen.response_digest, &rejected.response_digest);
    let id = hexadecimal(&digest(&[b"pair\0", prompt, tools, better, worse]));
    let forms = [chosen.prompt_is_text, chosen.response_is_text, rejected.response_is_text];
    let all_text = forms == [true; 3];
    let texts = [
        ("{\"id\":\"", id.as_str(), None),
        ("\",\"group\":", &chosen.group, None),
        (",\"prompt\":", &chosen.prompt, Some("user").filter(|_| forms[0] && !all_text)),
        (",\"chosen\":", &chosen.response, Some("assistant").filter(|_| forms[1] && !all_text)),
        (",\"rejected\":", &rejected.response, Some("assistant").filter(|_| forms[2] && !all_text)),
    ];
    for (key, text, role) in texts {
        lines.extend_from_slice(key.as_bytes());
        if let Some(role) = role {
            lines.extend_from_slice(format!("[{{\"role\":\"{role}\",\"content\":").as_bytes());
        }
        lines.extend_from_slice(text.as_bytes());
        if role.is_some() {
            lines.extend_from_slice(b"}]");
        }
    }
    let scores = [("chosen_score", chosen.score), ("rejected_score", rejected.score), ("gap", gap)];
    for (key, score) in scores {
        numbers.push_str(",\"");
        numbers.push_str(key);
        numbers.push_str("\":");
        if write_score(score, numbers).is_err() {
            lines.truncate(start);
            return Err(No::Odd);
        }
    }
    for (key, index) in [("chosen_index", chosen.index), ("rejected_index", rejected.index)] {
        use std::fmt::Write;
        let _ = match index {
            NO_INDEX => write!(numbers, ",\"{key}\":null"),
            index => write!(numbers, ",\"{key}\":{index}"),
        };
    }
    let sides = [("chosen_origin", chosen), ("rejected_origin", rejected)];
    for ((key, side), (name, line)) in sides.into_iter().zip(origins) {
        numbers.push_str(",\"");
        numbers.push_str(key);
        numbers.push_str("\":");
        side.write_origin(name, line, numbers);
    }
    if *tools != ABSENT {
        numbers.push_str(",\"tools\":");
        numbers.push_str(&chosen.tools);
    }
    if let Err(no) = Meta::write_joined(&chosen.meta, &rejected.meta, numbers) {
        lines.truncate(start);
        return Err(no);
    }
    numbers.push_str("}\n");
    lines.extend_from_slice(numbers.as_bytes());
    Ok(())
}

fn write_score(score: f64, out: &mut String) -> Result<()> {
    let start = out.len();
    write_double(score, out);
    if out[start..].contains('e') {
        Err(No::Odd) // Python's libraries disagree about exponents
    } else {
        Ok(())
    }
}
