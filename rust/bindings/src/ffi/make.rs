//! Making Python objects from scanned text: one C call each.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pyo3::{Borrowed, ffi};

use super::new_str;

/// A C function failed; its exception is set in the interpreter. As small as an error can be, since every value that a
/// decoder makes, and every step of a call, travels in a `Result`: with `PyErr` inside, returning the values of a text
/// took a third of its time.
#[derive(Debug)]
pub(crate) struct Raised;

/// What was made, or the note that an exception is set.
pub(crate) type Made<T> = Result<T, Raised>;

impl From<Raised> for PyErr {
    #[cold]
    fn from(_: Raised) -> Self {
        Python::attach(PyErr::fetch)
    }
}

impl From<PyErr> for Raised {
    #[cold]
    fn from(error: PyErr) -> Self {
        Python::attach(|py| error.restore(py));
        Self
    }
}

/// Takes over a new reference, or the exception that was set instead.
#[inline]
fn owned(py: Python<'_>, pointer: *mut ffi::PyObject) -> Made<Bound<'_, PyAny>> {
    // SAFETY: the C API returned a new reference, or null with an exception.
    unsafe { Bound::from_owned_ptr_or_opt(py, pointer) }.ok_or(Raised)
}

/// An int.
#[inline]
pub(crate) fn int(py: Python<'_>, value: i64) -> Made<Bound<'_, PyAny>> {
    // SAFETY: the interpreter is attached.
    owned(py, unsafe { ffi::PyLong_FromLongLong(value) })
}

/// An int from its decimal digits.
pub(crate) fn big_int<'py>(py: Python<'py>, digits: &std::ffi::CStr) -> Made<Bound<'py, PyAny>> {
    // SAFETY: the text ends in a zero byte.
    owned(py, unsafe { ffi::PyLong_FromString(digits.as_ptr(), std::ptr::null_mut(), 10) })
}

/// A float.
#[inline]
pub(crate) fn float(py: Python<'_>, value: f64) -> Made<Bound<'_, PyAny>> {
    // SAFETY: the interpreter is attached.
    owned(py, unsafe { ffi::PyFloat_FromDouble(value) })
}

/// A str from ASCII bytes.
#[inline]
pub(crate) fn ascii<'py>(py: Python<'py>, text: &[u8]) -> Made<Bound<'py, PyAny>> {
    debug_assert!(text.is_ascii());
    if text.len() <= 1 {
        // One-character strs are shared by the interpreter.
        // SAFETY: the bytes are as many as said.
        let made = unsafe {
            ffi::PyUnicode_FromKindAndData(
                ffi::PyUnicode_1BYTE_KIND.cast_signed(),
                text.as_ptr().cast(),
                text.len().cast_signed(),
            )
        };
        return owned(py, made);
    }
    new_str::ascii(py, text).unwrap_or_else(|| new_ascii(py, text))
}

/// A new str from ASCII bytes, by the documented interface.
pub(super) fn new_ascii<'py>(py: Python<'py>, text: &[u8]) -> Made<Bound<'py, PyAny>> {
    // SAFETY: the interpreter is attached.
    let made = owned(py, unsafe { ffi::PyUnicode_New(text.len().cast_signed(), 127) })?;
    // SAFETY: a new str is compact; its data follows its header.
    let data = unsafe { ffi::PyUnicode_DATA(made.as_ptr()) };
    // SAFETY: the new str has room for as many bytes, and nobody else has seen it.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), data.cast::<u8>(), text.len()) };
    Ok(made)
}

/// Are these the characters of a str that [`ascii`] made? The first word of both is known to be the same.
#[inline]
pub(crate) fn holds_ascii(made: Borrowed<'_, '_, PyAny>, text: &[u8]) -> bool {
    // SAFETY: the object is a str of this file, complete from the start.
    let length = unsafe { ffi::PyUnicode_GET_LENGTH(made.as_ptr()) };
    if length != text.len().cast_signed() {
        return false;
    }
    if text.len() <= size_of::<u64>() {
        return true;
    }
    // SAFETY: the same; its data is in the object.
    let data = unsafe { ffi::PyUnicode_DATA(made.as_ptr()) };
    // SAFETY: an ASCII str has one byte a character, and lives longer than this call.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), text.len()) };
    toolhead_core::plan::same(bytes, text)
}

/// A str from UTF-8 that is not all ASCII. The interpreter's own decoder reads byte by byte and guesses the width.
pub(crate) fn utf8<'py>(py: Python<'py>, text: &str) -> Made<Bound<'py, PyAny>> {
    // The widest character is the one with the highest first byte, but for those below U+0800, told by two bytes.
    let bytes = text.as_bytes();
    let (highest, continued) = toolhead_core::json::string::census(bytes);
    let length = bytes.len() - continued;
    let widest: u32 = match highest {
        0xF0.. => 0x10_FFFF,
        0xC4.. => 0xFFFF,
        _ => 0xFF,
    };
    // SAFETY: the interpreter is attached.
    let made = owned(py, unsafe { ffi::PyUnicode_New(length.cast_signed(), widest) })?;
    // SAFETY: a new str is compact; its data follows its header.
    let data = unsafe { ffi::PyUnicode_DATA(made.as_ptr()) };
    match widest {
        0xFF => {
            // SAFETY: the new str has `length` units of one byte, and nobody else has seen it.
            let units = unsafe { std::slice::from_raw_parts_mut(data.cast::<u8>(), length) };
            fill(units, text);
        }
        0xFFFF => {
            // SAFETY: the new str has `length` units of two bytes, aligned, and nobody else has seen it.
            let units = unsafe { std::slice::from_raw_parts_mut(data.cast::<u16>(), length) };
            fill(units, text);
        }
        _ => {
            // SAFETY: the new str has `length` units of four bytes, aligned, and nobody else has seen it.
            let units = unsafe { std::slice::from_raw_parts_mut(data.cast::<u32>(), length) };
            fill(units, text);
        }
    }
    Ok(made)
}

/// A unit of a str's data. The character is known to fit.
trait Unit: Copy {
    fn of_byte(byte: u8) -> Self;
    fn of(point: u32) -> Self;
}

impl Unit for u8 {
    fn of_byte(byte: u8) -> Self {
        byte
    }
    fn of(point: u32) -> Self {
        point.to_le_bytes()[0]
    }
}

impl Unit for u16 {
    fn of_byte(byte: u8) -> Self {
        Self::from(byte)
    }
    fn of(point: u32) -> Self {
        let [low, high, ..] = point.to_le_bytes();
        Self::from_le_bytes([low, high])
    }
}

impl Unit for u32 {
    fn of_byte(byte: u8) -> Self {
        Self::from(byte)
    }
    fn of(point: u32) -> Self {
        point
    }
}

/// How many ASCII bytes a text starts with.
#[inline]
fn ascii_run(bytes: &[u8]) -> usize {
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let high = u64::from_le_bytes(*chunk) & HIGHS;
        if high != 0 {
            return at + (high.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + bytes[at..].iter().take_while(|byte| **byte < 0x80).count()
}

/// Writes the code points of a text: runs of ASCII, which the compiler widens by vectors, and single characters between
/// them, from four bytes that are read at once.
#[inline]
fn fill<T: Unit>(units: &mut [T], text: &str) {
    let bytes = text.as_bytes();
    let (mut from, mut to) = (0, 0);
    while let Some(four) = bytes.get(from..).and_then(<[u8]>::first_chunk::<4>) {
        if four[0] < 0x80 {
            let run = ascii_run(&bytes[from..]);
            let slots = units.get_mut(to..to + run).unwrap_or_default();
            for (slot, byte) in slots.iter_mut().zip(&bytes[from..from + run]) {
                *slot = T::of_byte(*byte);
            }
            (from, to) = (from + run, to + run);
            continue;
        }
        let [lead, second, third, fourth] = four.map(|byte| u32::from(byte) & 0x3F);
        let (point, width) = match four[0] {
            0..0xE0 => ((lead & 0x1F) << 6 | second, 2),
            0xE0..0xF0 => ((lead & 0x0F) << 12 | second << 6 | third, 3),
            _ => ((lead & 0x07) << 18 | second << 12 | third << 6 | fourth, 4),
        };
        let Some(slot) = units.get_mut(to) else { return };
        *slot = T::of(point);
        (from, to) = (from + width, to + 1);
    }
    let rest = text.get(from..).unwrap_or_default().chars();
    for (slot, character) in units.iter_mut().skip(to).zip(rest) {
        *slot = T::of(u32::from(character));
    }
}

/// A list that takes over the values.
#[inline]
pub(crate) fn list<'py>(
    py: Python<'py>,
    items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
) -> Made<Bound<'py, PyAny>> {
    // SAFETY: the interpreter is attached.
    let made = owned(py, unsafe { ffi::PyList_New(items.len().cast_signed()) })?;
    for (index, item) in items.enumerate() {
        // SAFETY: the new list has an empty slot at the index and takes over the reference.
        unsafe { ffi::PyList_SET_ITEM(made.as_ptr(), index.cast_signed(), item.into_ptr()) };
    }
    Ok(made)
}

/// Adds the members of another dict; those whose names the dict has already replace them or are left out. The names of
/// both are exact strs.
pub(crate) fn dict_add(dict: &Bound<'_, PyDict>, other: &Bound<'_, PyDict>, replaces: bool) -> Made<()> {
    // SAFETY: both are dicts, and alive.
    let result = unsafe { ffi::PyDict_Merge(dict.as_ptr(), other.as_ptr(), replaces.into()) };
    if result == 0 { Ok(()) } else { Err(Raised) }
}

/// Adds a member; the name is an exact str.
#[inline]
pub(crate) fn dict_set(
    dict: &Bound<'_, PyDict>,
    name: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> Made<()> {
    // SAFETY: all three are alive; the key is an exact str, so no user code hashes or compares it.
    let result = unsafe { ffi::PyDict_SetItem(dict.as_ptr(), name.as_ptr(), value.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(Raised) }
}

/// How many members a dict has.
#[inline]
pub(crate) fn dict_len(dict: &Bound<'_, PyDict>) -> usize {
    // SAFETY: the object is a dict.
    unsafe { super::dict_table::len(dict.as_ptr()) }
}

/// Adds a member unless the name, an exact str, is there.
pub(crate) fn dict_set_default(
    dict: &Bound<'_, PyDict>,
    name: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> Made<()> {
    // SAFETY: all three are alive; the answer is borrowed from the dict, or null with an exception.
    let found = unsafe { ffi::PyDict_SetDefault(dict.as_ptr(), name.as_ptr(), value.as_ptr()) };
    if found.is_null() { Err(Raised) } else { Ok(()) }
}

/// The str of a plan's token.
///
/// Tokens are addresses of strs that the plan's validator keeps alive (`host.rs`).
#[inline]
pub(crate) fn known<'a, 'py>(
    _: &'a [Py<PyString>],
    py: Python<'py>,
    token: usize,
) -> Borrowed<'a, 'py, PyAny> {
    let pointer = std::ptr::with_exposed_provenance_mut(token);
    // SAFETY: the token was made by `expose` from a str of the slice, which keeps it alive for 'a.
    unsafe { Borrowed::from_ptr(py, pointer) }
}

/// The token of a str.
pub(crate) fn expose(text: &Bound<'_, PyString>) -> usize {
    text.as_ptr().expose_provenance()
}
