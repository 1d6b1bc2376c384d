//! The keys of the rows of one stream: a small table that makes each repeated key once.

use pyo3::prelude::*;
use pyo3::types::PyString;

/// Places of the table; rows rarely have more keys.
const PLACES: usize = 64;
/// Longer keys are not worth keeping.
const LONGEST: usize = 64;

/// Keys seen, each at the one place that its bytes name; a newer one replaces an older one.
#[derive(Default)]
pub(super) struct Keys {
    places: Vec<Option<(Box<str>, Py<PyString>)>>,
}

impl Keys {
    /// The `str` for this key.
    #[inline]
    pub(super) fn get(&mut self, py: Python<'_>, key: &str) -> Py<PyString> {
        if key.len() > LONGEST {
            return PyString::new(py, key).unbind();
        }
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        let place = &mut self.places[place(key.as_bytes())];
        if let Some((text, object)) = place
            && **text == *key
        {
            return object.clone_ref(py);
        }
        let object = PyString::new(py, key).unbind();
        *place = Some((key.into(), object.clone_ref(py)));
        object
    }
}

#[inline]
fn place(key: &[u8]) -> usize {
    let at = |index: usize| key.get(index).copied().map_or(0, usize::from);
    let last = key.len().saturating_sub(1);
    (key.len() + at(0) * 3 + at(key.len() / 2) * 7 + at(last) * 13) % PLACES
}
