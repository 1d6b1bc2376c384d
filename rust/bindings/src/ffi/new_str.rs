//! An ASCII str that is written as the interpreter would write it, on the one version of CPython that this was compared on.
//!
//! `PyUnicode_New` does it in three calls. A list of short strs decodes in 0.85 of the time without them, the
//! configuration files in 0.97. Nothing of a str's structure is written down here: the header is copied from a str that the
//! interpreter made. At import strs made so are compared with others, byte by byte; where any differs, and on other
//! versions and free-threaded builds, all are made by `PyUnicode_New`.

#[cfg(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED)))]
pub(crate) use header::{ascii, enable};

#[cfg(not(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED))))]
mod other {
    use pyo3::prelude::*;

    use super::super::make::Made;

    /// There is nothing to check.
    pub(crate) fn enable(_: Python<'_>) {}

    /// The structure is not known.
    #[inline]
    pub(crate) fn ascii<'py>(_: Python<'py>, _: &[u8]) -> Option<Made<Bound<'py, PyAny>>> {
        None
    }
}
#[cfg(not(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED))))]
pub(crate) use other::{ascii, enable};

#[cfg(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED)))]
mod header {
    use std::sync::OnceLock;

    use pyo3::ffi;
    use pyo3::prelude::*;

    use super::super::make::{self, Made, Raised};

    type Word = usize;
    const WORDS: usize = size_of::<ffi::PyASCIIObject>() / size_of::<Word>();

    /// What the structure of an ASCII str begins with, before it has a length and a hash.
    type Header = [Word; WORDS];

    /// None while it is not known, or known to be different.
    static HEADER: OnceLock<Header> = OnceLock::new();

    /// A str of ASCII bytes, two at least: shorter ones are shared. None where the structure is not known.
    #[inline]
    pub(crate) fn ascii<'py>(py: Python<'py>, text: &[u8]) -> Option<Made<Bound<'py, PyAny>>> {
        HEADER.get().map(|header| written(py, header, text))
    }

    #[inline]
    fn written<'py>(py: Python<'py>, header: &Header, text: &[u8]) -> Made<Bound<'py, PyAny>> {
        let size = size_of::<Header>() + text.len() + 1;
        // SAFETY: the interpreter is attached; it frees a str by `PyObject_Free`.
        let object = unsafe { ffi::PyObject_Malloc(size) }.cast::<Header>();
        if object.is_null() {
            // SAFETY: the interpreter is attached.
            unsafe { ffi::PyErr_NoMemory() };
            return Err(Raised);
        }
        // SAFETY: the allocation begins with a header, aligned as all are.
        unsafe { object.write(*header) };
        // SAFETY: the header is that of a `PyASCIIObject`, its reference the one that is handed out here.
        unsafe { (*object.cast::<ffi::PyASCIIObject>()).length = text.len().cast_signed() };
        // SAFETY: the text lies behind the header in the allocation.
        let data = unsafe { object.add(1) }.cast::<u8>();
        // SAFETY: there is room for all of it.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), data, text.len()) };
        // SAFETY: and for a zero behind it.
        let end = unsafe { data.add(text.len()) };
        // SAFETY: the same.
        unsafe { end.write(0) };
        // SAFETY: the object is complete, and nobody else has seen it.
        Ok(unsafe { Bound::from_owned_ptr(py, object.cast()) })
    }

    /// Learns the header, and keeps it where strs made with it are those that the interpreter makes.
    pub(crate) fn enable(py: Python<'_>) {
        let Ok(first) = make::new_ascii(py, b"ab") else { return };
        let header = bytes_of(&first, size_of::<Header>());
        let mut words: Header = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(header.chunks_exact(size_of::<Word>())) {
            *word = bytes.try_into().map_or(0, Word::from_ne_bytes);
        }
        let agreed = [2usize, 3, 7, 8, 15, 16, 100, 511, 512, 513, 5_000].into_iter().all(|length| {
            let text = vec![b'x'; length];
            let (Ok(made), Ok(expected)) = (written(py, &words, &text), make::new_ascii(py, &text)) else {
                return false;
            };
            are_alike(&made, &expected, length) && made.eq(expected).is_ok_and(|same| same)
        });
        if agreed {
            // Whoever was first knew the same.
            let _ = HEADER.set(words);
        }
    }

    /// Do two strs begin alike, and hold the same? Of the word with the flags only they count: the rest is never written.
    fn are_alike(made: &Bound<'_, PyAny>, expected: &Bound<'_, PyAny>, length: usize) -> bool {
        const UNUSED: std::ops::Range<usize> = {
            let start = std::mem::offset_of!(ffi::PyASCIIObject, state);
            start + 1..start + size_of::<Word>()
        };
        let size = size_of::<Header>() + length + 1;
        let pairs = bytes_of(made, size).iter().zip(bytes_of(expected, size)).enumerate();
        pairs.filter(|(at, _)| !UNUSED.contains(at)).all(|(_, (one, other))| one == other)
    }

    /// The first bytes of an object.
    fn bytes_of<'a>(object: &'a Bound<'_, PyAny>, size: usize) -> &'a [u8] {
        // SAFETY: the object is a str of at least so many bytes, initialised by whoever made it.
        unsafe { std::slice::from_raw_parts(object.as_ptr().cast::<u8>(), size) }
    }
}
