//! A panic is a bug of ours. It becomes an error that can be reported.

use std::panic::{catch_unwind, AssertUnwindSafe};

/// The result of work, or what a panic in it said.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("for no known reason").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::caught;

    #[test]
    fn a_panic_is_caught_with_its_words() {
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(caught(|| -> u8 { panic!("no {}", 8) }), Err("no 8".to_owned()));
        assert_eq!(caught(|| -> u8 { panic!("nine") }), Err("nine".to_owned()));
        assert!(caught(|| [1, 2][std::hint::black_box(2)]).is_err());
    }
}
