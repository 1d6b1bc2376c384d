//! A `str` that grows: readers always see an ordinary string, and appending costs the piece, not the whole.
//!
//! A string object is allocated with spare room and its length says how much of it counts. That is a private
//! layout, so it is used only where nobody can tell: exactly the two references of this module's caller (its own
//! and the live container's) exist, the hash was never asked for (so nothing interned it either), no encoded form
//! is cached, and [`in_place`] has checked this interpreter. Otherwise the text is copied to a new object.

use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// References while a string lies in its container and here, and nowhere else.
const OWN_REFERENCES: isize = 2;
/// Characters of room for a string that has just begun.
const FIRST_ROOM: usize = 48;
/// Unused characters that a finished string may keep.
const TOLERATED_ROOM: usize = 64;

/// The narrowest of CPython's four layouts that holds a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    Ascii,
    Latin,
    Two,
    Four,
}

impl Width {
    fn of(text: &str) -> Self {
        // In UTF-8 the lead byte tells the width: from C4 on it is past U+00FF, from F0 on past U+FFFF.
        match text.bytes().fold(0, u8::max) {
            0xF0.. => Self::Four,
            0xC4.. => Self::Two,
            0x80.. => Self::Latin,
            _ => Self::Ascii,
        }
    }

    fn maximum(self) -> u32 {
        match self {
            Self::Ascii => 0x7F,
            Self::Latin => 0xFF,
            Self::Two => 0xFFFF,
            Self::Four => 0x0010_FFFF,
        }
    }
}

/// A string under construction, and the reference to it that is not the container's.
pub(crate) struct GrowingStr {
    text: Py<PyString>,
    length: usize,
    room: usize,
    width: Width,
}

impl GrowingStr {
    /// An empty string with room.
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let text = allocate(py, FIRST_ROOM, Width::Ascii)?;
        set_length(&text, 0, Width::Ascii);
        Ok(Self { text: text.unbind(), length: 0, room: FIRST_ROOM, width: Width::Ascii })
    }

    /// The string as it is now.
    pub(crate) fn text<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        self.text.bind(py)
    }

    /// Characters so far.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The characters from `start` on, as an independent string.
    pub(crate) fn text_from<'py>(&self, py: Python<'py>, start: usize) -> PyResult<Bound<'py, PyString>> {
        substring(self.text.bind(py), start, self.length)
    }

    /// Appends. When the string has to move, `put` puts what it is given where the string stands in its container.
    #[inline]
    pub(crate) fn append(
        &mut self,
        py: Python<'_>,
        piece: &str,
        put: impl FnMut(&Bound<'_, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        let (width, characters) = if piece.is_ascii() {
            (Width::Ascii, piece.len())
        } else {
            (Width::of(piece), piece.chars().count())
        };
        let length = self.length + characters;
        let text = self.text.bind(py);
        if width <= self.width && length <= self.room && in_place(py) && is_private(text, self.width) {
            write(text, self.length, self.width, piece);
            set_length(text, length, self.width);
            self.length = length;
            return Ok(());
        }
        self.move_with(py, piece, length, width.max(self.width), put)
    }

    /// Continues with more room, or in a new object of this width.
    #[cold]
    fn move_with(
        &mut self,
        py: Python<'_>,
        piece: &str,
        length: usize,
        width: Width,
        mut put: impl FnMut(&Bound<'_, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        let room = length + length / 2 + FIRST_ROOM;
        if width == self.width && self.is_alone(py, &mut put)? {
            self.resize(py, room)?;
        } else {
            let moved = allocate(py, room, width)?;
            copy(&moved, self.text.bind(py), self.length)?;
            *self = Self { text: moved.unbind(), length: self.length, room, width };
        }
        let text = self.text.bind(py);
        write(text, self.length, width, piece);
        set_length(text, length, width);
        self.length = length;
        put(text.as_any())
    }

    /// The finished string, without much spare room; `put` as for `append`.
    pub(crate) fn finish(
        mut self,
        py: Python<'_>,
        mut put: impl FnMut(&Bound<'_, PyAny>) -> PyResult<()>,
    ) -> PyResult<Bound<'_, PyString>> {
        if self.room - self.length <= TOLERATED_ROOM {
            return Ok(self.text.into_bound(py));
        }
        if self.is_alone(py, &mut put)? {
            let length = self.length;
            self.resize(py, length)?;
        } else {
            let exact = allocate(py, self.length, self.width)?;
            copy(&exact, self.text.bind(py), self.length)?;
            self.text = exact.unbind();
        }
        let text = self.text.into_bound(py);
        put(text.as_any())?;
        Ok(text)
    }

    /// Takes the string out of its container if nobody else has it: then it can be resized where it lies.
    fn is_alone(
        &self,
        py: Python<'_>,
        mut put: impl FnMut(&Bound<'_, PyAny>) -> PyResult<()>,
    ) -> PyResult<bool> {
        let text = self.text.bind(py);
        if !in_place(py) || !is_private(text, self.width) {
            return Ok(false);
        }
        put(py.None().bind(py))?;
        Ok(is_private_with(text, self.width, 1))
    }

    /// Gives the string other room, for which the interpreter may move it. Only this module refers to it.
    fn resize(&mut self, py: Python<'_>, room: usize) -> PyResult<()> {
        // The interpreter is told the truth about the room it is to change.
        set_length(self.text.bind(py), self.room, self.width);
        let mut object = self.text.as_ptr();
        // SAFETY: the pointer owns the one reference to the string, which nobody else sees; the new length is at most
        // that of a text in memory. On failure it stays as it was.
        let failed = unsafe { ffi::PyUnicode_Resize(&raw mut object, room.cast_signed()) } != 0;
        // SAFETY: the pointer still owns the one reference, to the string where it now lies.
        let resized = unsafe { Bound::from_owned_ptr(py, object) }.cast_into::<PyString>()?;
        std::mem::forget(std::mem::replace(&mut self.text, resized.unbind()));
        if failed {
            set_length(self.text.bind(py), self.length, self.width);
            return Err(PyErr::fetch(py));
        }
        self.room = room;
        Ok(())
    }
}

/// A string that is whole from the start.
#[inline]
pub(crate) fn whole<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    if text.len() < 2 || !text.is_ascii() {
        // Shared one-character strings, and the interpreter's own choice of width.
        return Ok(PyString::new(py, text));
    }
    let string = allocate(py, text.len(), Width::Ascii)?;
    write_bytes(&string, 0, text.as_bytes());
    Ok(string)
}

/// Whether strings may be grown in place here: not on free-threaded builds, where a reference count says nothing
/// about other threads, and not where the outcome differs from strings made by the documented API.
fn in_place(py: Python<'_>) -> bool {
    static CHECKED: OnceLock<bool> = OnceLock::new();
    *CHECKED.get_or_init(|| !cfg!(Py_GIL_DISABLED) && self_check(py).unwrap_or(false))
}

/// Grows a string of each width and compares it in every way that reads the layout.
fn self_check(py: Python<'_>) -> PyResult<bool> {
    for sample in ["a", "\u{E9}", "\u{6F22}", "\u{1F600}"] {
        let width = Width::of(sample);
        let grown = allocate(py, 40, width)?;
        set_length(&grown, 0, width);
        for round in 0..3 {
            write(&grown, round, width, sample);
            set_length(&grown, round + 1, width);
            let made = PyString::new(py, &sample.repeat(round + 1));
            let same = grown.len()? == round + 1
                && grown.as_any().eq(&made)?
                && grown.repr()?.as_any().eq(made.repr()?)?
                && grown.call_method0("encode")?.eq(made.call_method0("encode")?)?;
            if !same || !is_private_with(&grown, width, 1) {
                return Ok(false);
            }
        }
        if grown.hash()? != PyString::new(py, &sample.repeat(3)).hash()? || is_private_with(&grown, width, 1)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether nobody could see the string change.
#[inline]
fn is_private(text: &Bound<'_, PyString>, width: Width) -> bool {
    is_private_with(text, width, OWN_REFERENCES)
}

#[inline]
fn is_private_with(text: &Bound<'_, PyString>, width: Width, references: isize) -> bool {
    reference_count(text) == references
        && header(text).hash == -1
        && (width == Width::Ascii || wide_header(text).utf8.is_null())
        && has_no_wide_cache(text, width)
}

#[inline]
fn reference_count(text: &Bound<'_, PyString>) -> isize {
    // SAFETY: the object is alive and this thread is attached.
    unsafe { ffi::Py_REFCNT(text.as_ptr()) }
}

/// Python 3.11 may cache a `wchar_t` form; at width four it is the data itself.
#[cfg(not(Py_3_12))]
#[inline]
fn has_no_wide_cache(text: &Bound<'_, PyString>, width: Width) -> bool {
    width == Width::Four || header(text).wstr.is_null()
}

#[cfg(Py_3_12)]
#[inline]
fn has_no_wide_cache(_text: &Bound<'_, PyString>, _width: Width) -> bool {
    true
}

#[inline]
fn header<'t>(text: &'t Bound<'_, PyString>) -> &'t ffi::PyASCIIObject {
    // SAFETY: every string made by `PyUnicode_New` begins with this header, and every caller passes one.
    unsafe { &*text.as_ptr().cast() }
}

#[inline]
fn wide_header<'t>(text: &'t Bound<'_, PyString>) -> &'t ffi::PyCompactUnicodeObject {
    // SAFETY: a string made by `PyUnicode_New` for more than ASCII has this header; callers know the width.
    unsafe { &*text.as_ptr().cast() }
}

/// A new string with room for this many characters; its text is undefined until written.
fn allocate(py: Python<'_>, room: usize, width: Width) -> PyResult<Bound<'_, PyString>> {
    // SAFETY: no pointers are passed. The length is at most that of a text in memory.
    let object = unsafe { ffi::PyUnicode_New(room.cast_signed(), width.maximum()) };
    // SAFETY: the call returns a new reference, or null with an exception set.
    let object = unsafe { Bound::from_owned_ptr_or_err(py, object) }?;
    Ok(object.cast_into::<PyString>()?)
}

/// Copies the first `length` characters, widening where needed.
fn copy(to: &Bound<'_, PyString>, from: &Bound<'_, PyString>, length: usize) -> PyResult<()> {
    // SAFETY: both are strings and alive, `to` is new and has at least `length` characters of room.
    let copied =
        unsafe { ffi::PyUnicode_CopyCharacters(to.as_ptr(), 0, from.as_ptr(), 0, length.cast_signed()) };
    if copied < 0 { Err(PyErr::fetch(to.py())) } else { Ok(()) }
}

fn substring<'py>(text: &Bound<'py, PyString>, start: usize, end: usize) -> PyResult<Bound<'py, PyString>> {
    // SAFETY: the object is a string and alive; the call checks the bounds.
    let part = unsafe { ffi::PyUnicode_Substring(text.as_ptr(), start.cast_signed(), end.cast_signed()) };
    // SAFETY: the call returns a new reference, or null with an exception set.
    let part = unsafe { Bound::from_owned_ptr_or_err(text.py(), part) }?;
    Ok(part.cast_into::<PyString>()?)
}

/// Sets how many characters count, and the terminator that C readers expect behind them.
#[inline]
fn set_length(text: &Bound<'_, PyString>, length: usize, width: Width) {
    let object: *mut ffi::PyASCIIObject = text.as_ptr().cast();
    // SAFETY: the string is private to this module (new, or checked by `is_private`), and `length` within its room.
    unsafe { (*object).length = length.cast_signed() };
    match width {
        Width::Ascii | Width::Latin => write_units(text, length, std::iter::once(0_u8)),
        Width::Two => write_units(text, length, std::iter::once(0_u16)),
        Width::Four => {
            write_units(text, length, std::iter::once(0_u32));
            set_wide_length(text, length);
        }
    }
}

/// Python 3.11 keeps the length of the `wchar_t` form, which at width four is the data itself.
#[cfg(not(Py_3_12))]
fn set_wide_length(text: &Bound<'_, PyString>, length: usize) {
    let object: *mut ffi::PyCompactUnicodeObject = text.as_ptr().cast();
    // SAFETY: as in `set_length`; a string of width four has this header.
    unsafe { (*object).wstr_length = length.cast_signed() };
}

#[cfg(Py_3_12)]
fn set_wide_length(_text: &Bound<'_, PyString>, _length: usize) {}

/// Writes a piece that fits in room and width.
#[inline]
fn write(text: &Bound<'_, PyString>, at: usize, width: Width, piece: &str) {
    match (width, piece.is_ascii()) {
        (Width::Ascii, _) | (Width::Latin, true) => write_bytes(text, at, piece.as_bytes()),
        (Width::Two, true) => write_units(text, at, piece.bytes().map(u16::from)),
        (Width::Four, true) => write_units(text, at, piece.bytes().map(u32::from)),
        (_, false) => write_wide(text, at, width, piece),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the width is that of the widest character")]
fn write_wide(text: &Bound<'_, PyString>, at: usize, width: Width, piece: &str) {
    let characters = piece.chars().map(u32::from);
    match width {
        Width::Ascii | Width::Latin => write_units(text, at, characters.map(|character| character as u8)),
        Width::Two => write_units(text, at, characters.map(|character| character as u16)),
        Width::Four => write_units(text, at, characters),
    }
}

#[inline]
fn write_bytes(text: &Bound<'_, PyString>, at: usize, bytes: &[u8]) {
    let data: *mut u8 = units(text);
    // SAFETY: the caller made sure that `at + bytes.len()` is within the room, in one-byte units.
    let end = unsafe { data.add(at) };
    // SAFETY: as above; the source is a Rust slice, so the two do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), end, bytes.len()) };
}

#[inline]
fn write_units<Unit>(text: &Bound<'_, PyString>, at: usize, values: impl Iterator<Item = Unit>) {
    let data: *mut Unit = units(text);
    for (index, value) in values.enumerate() {
        // SAFETY: the caller made sure that the values end within the room (the terminator right behind it).
        let place = unsafe { data.add(at + index) };
        // SAFETY: as above; the type is the unit of the string's width.
        unsafe { place.write(value) };
    }
}

#[inline]
fn units<Unit>(text: &Bound<'_, PyString>) -> *mut Unit {
    // SAFETY: the object is a string made by `PyUnicode_New`.
    unsafe { ffi::PyUnicode_DATA(text.as_ptr()) }.cast()
}
