//! The names that texts repeat: strs of object keys, each made once while it lasts.
//!
//! A table a thread, which a builder takes when it meets its first name and gives back at its end. So it needs no lock,
//! and a decoder that runs inside another (none does today) would only find an empty one. What it keeps alive is bounded:
//! [`SLOTS`] strs of [`LONGEST`] bytes. Nobody can tell whether a str comes from it: it only saves the making, and the
//! hash, which a str keeps.

use std::cell::Cell;

use pyo3::prelude::*;
use toolhead_core::plan::hash_from;

use crate::ffi::make::{self, Made};

const SLOTS: usize = 1024;
/// Longer names are seldom repeated.
const LONGEST: usize = 64;

/// A name and its first word; a new name takes the place of the old one.
type Slot = Option<(u64, Py<PyAny>)>;

thread_local! {
    static KEPT: Cell<Option<Box<[Slot]>>> = const { Cell::new(None) };
}

/// The names of a thread, while one builder has them.
#[derive(Default)]
pub(crate) struct Names(Option<Box<[Slot]>>);

impl Names {
    /// The str of a name of ASCII bytes, whose first word is known.
    #[inline]
    pub(crate) fn name<'py>(&mut self, py: Python<'py>, word: u64, text: &[u8]) -> Made<Bound<'py, PyAny>> {
        if text.len() > LONGEST || text.len() < 2 {
            return make::ascii(py, text);
        }
        let slots = self.0.get_or_insert_with(taken);
        let slot = &mut slots[hash_from(word, text) as usize % SLOTS];
        if let Some((kept, name)) = slot
            && *kept == word
            && make::holds_ascii(name.bind_borrowed(py), text)
        {
            return Ok(name.bind(py).clone());
        }
        let made = make::ascii(py, text)?;
        if let Some((_, old)) = slot.replace((word, made.clone().unbind())) {
            // Not left to `Drop`: outside PyO3's own doors it would keep the str until one of them is passed.
            old.drop_ref(py);
        }
        Ok(made)
    }
}

#[cold]
fn taken() -> Box<[Slot]> {
    KEPT.take().unwrap_or_else(|| std::iter::repeat_with(|| None).take(SLOTS).collect())
}

impl Drop for Names {
    #[inline]
    fn drop(&mut self) {
        if let Some(slots) = self.0.take() {
            KEPT.set(Some(slots));
        }
    }
}
