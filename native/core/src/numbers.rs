//! Scores, gaps and indexes.

use crate::json::{Cursor, No, Result};

pub const LARGEST_SCORE: f64 = 8e307;
const SIGNIFICANT: usize = 15;
/// Differences of scores whose digits lie further apart are left to Python: 15 digits and these fit
/// into 128 bits.
const WIDEST: i32 = 22;
/// Python rounds differences of more digits.
const MOST_DIGITS: u32 = 28;
/// Represents a missing index.
pub const NO_INDEX: i64 = i64::MIN;

/// The text of a number, and whether it is an integer; anything else is for Python.
pub fn number<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a str, bool)> {
    if matches!(cursor.peek(), b'-' | b'0'..=b'9') {
        cursor.number()
    } else {
        Err(No::Odd)
    }
}

/// A number as a score of 15 significant digits.
pub fn read_score(cursor: &mut Cursor) -> Result<f64> {
    let (text, _) = number(cursor)?;
    let score: f64 = text.parse().map_err(|_| No::Odd)?;
    if score.abs() > LARGEST_SCORE || score.is_nan() {
        return Err(No::Odd);
    }
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let few = digits <= SIGNIFICANT && !text.contains(['e', 'E']);
    Ok(if few { score + 0.0 } else { round_score(score) })
}

/// A finite number with 15 significant digits.
pub fn round_score(score: f64) -> f64 {
    let rounded = format!("{score:.*e}", SIGNIFICANT - 1).parse();
    rounded.unwrap_or(score) + 0.0
}

/// A number as it is; true and false are 1 and 0.
pub fn read_number(cursor: &mut Cursor) -> Result<f64> {
    match cursor.peek() {
        b't' => cursor.word("true").map(|()| 1.0),
        b'f' => cursor.word("false").map(|()| 0.0),
        _ => number(cursor)?.0.parse().map_err(|_| No::Odd),
    }
}

/// A whole number of 64 bits, or null.
pub fn read_index(cursor: &mut Cursor) -> Result<Option<i64>> {
    if cursor.null()? {
        return Ok(None);
    }
    let (text, integer) = number(cursor)?;
    let index: i64 = text.parse().map_err(|_| No::Odd)?;
    if integer && index != NO_INDEX {
        Ok(Some(index))
    } else {
        Err(No::Odd)
    }
}

/// The decimal difference of two scores.
pub fn gap_between(one: f64, other: f64) -> Result<f64> {
    if let Some(gap) = gap_of_few_digits(one, other) {
        return Ok(gap);
    }
    let ((one, high), (other, low)) = (decimal(one)?, decimal(other)?);
    let power = high.min(low);
    if high.max(low) - power > WIDEST {
        return Err(No::Odd);
    }
    let ten = |power: i32| 10_i128.pow(power as u32);
    let difference = one * ten(high - power) - other * ten(low - power);
    if difference.unsigned_abs() >= 10_u128.pow(MOST_DIGITS) {
        return Err(No::Odd);
    }
    format!("{difference}e{power}").parse().map_err(|_| No::Odd)
}

/// The same where both scores are whole numbers of thousandths or the like. Whole numbers below 10^15
/// and their difference are exact, and so is the division rounded as the decimal number would be.
fn gap_of_few_digits(one: f64, other: f64) -> Option<f64> {
    [1.0, 10.0, 100.0, 1000.0, 10_000.0].into_iter().find_map(|scale| {
        let whole = [one, other].map(|score| (score * scale).round());
        let exact = whole[0].abs().max(whole[1].abs()) < 1e15
            && whole[0] / scale == one
            && whole[1] / scale == other;
        exact.then(|| (whole[0] - whole[1]) / scale + 0.0)
    })
}

/// The digits of a score, and the power of ten of the last one; zero has all powers.
fn decimal(score: f64) -> Result<(i128, i32)> {
    let written = format!("{score:e}");
    let (digits, power) = written.split_once('e').ok_or(No::Odd)?;
    let power: i32 = power.parse().map_err(|_| No::Odd)?;
    let behind = digits.split_once('.').map_or(0, |(_, behind)| behind.len() as i32);
    let digits = digits.replace('.', "").parse().map_err(|_| No::Odd)?;
    Ok((digits, power - behind))
}
