//! The keys and short values of the rows of one stream: a small table that makes each repeated string once.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::ffi::growing_str;

/// Places of the table; rows rarely have more keys.
const PLACES: usize = 64;
/// Longer strings are not worth keeping.
const LONGEST: usize = 31;

struct Entry {
    length: u8,
    bytes: [u8; LONGEST],
    object: Py<PyString>,
}

/// Strings seen, each at the one place that its bytes name; a newer one replaces an older one.
#[derive(Default)]
pub(super) struct Strings {
    places: Vec<Option<Entry>>,
}

impl Strings {
    /// The `str` for this text.
    #[inline]
    pub(super) fn get<'py>(&mut self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
        let bytes = text.as_bytes();
        if bytes.len() > LONGEST {
            return growing_str::whole(py, text);
        }
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        let place = &mut self.places[place(bytes)];
        if let Some(entry) = place
            && entry.bytes.get(..usize::from(entry.length)) == Some(bytes)
        {
            return Ok(entry.object.bind(py).clone());
        }
        let object = growing_str::whole(py, text)?;
        let mut kept = [0; LONGEST];
        kept[..bytes.len()].copy_from_slice(bytes);
        // The length is at most `LONGEST`.
        let length = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
        *place = Some(Entry { length, bytes: kept, object: object.clone().unbind() });
        Ok(object)
    }
}

#[inline]
fn place(text: &[u8]) -> usize {
    let at = |index: usize| text.get(index).copied().map_or(0, usize::from);
    let last = text.len().saturating_sub(1);
    (text.len() + at(0) * 3 + at(text.len() / 2) * 7 + at(last) * 13) % PLACES
}
