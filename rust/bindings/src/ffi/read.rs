//! Reading plain Python data without running user code: exact and inherited layouts of the built-in types only.
//!
//! All of it relies on one fact: the interpreter is attached for the whole life of a [`Raw`], and nothing that is
//! done with one runs Python code. So no object can die or change while it is looked at.

use std::ffi::{c_int, c_longlong};
use std::marker::PhantomData;
use std::ptr::NonNull;

use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::{Borrowed, ffi};
use toolhead_core::plan::first_word;

use super::dict_table;

/// A borrowed object.
#[derive(Clone, Copy)]
pub(crate) struct Raw<'a>(NonNull<ffi::PyObject>, PhantomData<&'a ()>);

/// The built-in types whose layout is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    Str,
    Int,
    Dict,
    List,
    Bool,
    None,
    Float,
    Tuple,
    Other,
}

impl<'a> Raw<'a> {
    /// Borrows an object.
    #[inline]
    pub(crate) fn of<'py>(object: &'a Bound<'py, PyAny>) -> Self {
        Self::borrowed(object.as_borrowed())
    }

    /// Borrows an object that is borrowed already.
    #[inline]
    pub(crate) fn borrowed<'py>(object: Borrowed<'a, 'py, PyAny>) -> Self {
        // SAFETY: a Borrowed is never null.
        Self(unsafe { NonNull::new_unchecked(object.as_ptr()) }, PhantomData)
    }

    /// Borrows a member or item that its container keeps alive.
    ///
    /// # Safety
    /// `pointer` is a valid object that lives for `'a`.
    #[inline]
    unsafe fn from_pointer(pointer: *mut ffi::PyObject) -> Self {
        // SAFETY: the caller passes a valid object.
        Self(unsafe { NonNull::new_unchecked(pointer) }, PhantomData)
    }

    /// The object with its interpreter.
    #[inline]
    pub(crate) fn to_bound(self, py: Python<'_>) -> Bound<'_, PyAny> {
        // SAFETY: the object is alive for 'a, which ends within the attachment that `py` proves.
        unsafe { Bound::from_borrowed_ptr(py, self.0.as_ptr()) }
    }

    /// The object's address.
    #[inline]
    pub(crate) fn address(self) -> usize {
        self.0.as_ptr().addr()
    }

    /// Which built-in type the object has, exactly.
    #[inline]
    pub(crate) fn exact(self) -> Builtin {
        // SAFETY: the object is alive.
        let class = unsafe { ffi::Py_TYPE(self.0.as_ptr()) };
        if class == &raw mut ffi::PyUnicode_Type {
            Builtin::Str
        } else if class == &raw mut ffi::PyLong_Type {
            Builtin::Int
        } else if class == &raw mut ffi::PyDict_Type {
            Builtin::Dict
        } else if class == &raw mut ffi::PyList_Type {
            Builtin::List
        } else if class == &raw mut ffi::PyBool_Type {
            Builtin::Bool
        } else if class == &raw mut ffi::PyFloat_Type {
            Builtin::Float
        } else if self.is_none() {
            Builtin::None
        } else {
            Builtin::Other
        }
    }

    /// Is it a dict, or of a class that inherits from it?
    #[inline]
    pub(crate) fn is_dict(self) -> bool {
        self.is_exactly(&raw mut ffi::PyDict_Type) || self.inherited() == Builtin::Dict
    }

    /// Is it a list, or of a class that inherits from it?
    #[inline]
    pub(crate) fn is_list(self) -> bool {
        self.is_exactly(&raw mut ffi::PyList_Type) || self.inherited() == Builtin::List
    }

    /// Is it a str, or of a class that inherits from it?
    #[inline]
    pub(crate) fn is_str(self) -> bool {
        self.is_exactly(&raw mut ffi::PyUnicode_Type) || self.inherited() == Builtin::Str
    }

    #[inline]
    fn is_exactly(self, class: *mut ffi::PyTypeObject) -> bool {
        // SAFETY: the object is alive.
        unsafe { ffi::Py_TYPE(self.0.as_ptr()) == class }
    }

    fn is_none(self) -> bool {
        // SAFETY: the singleton lives as long as the interpreter.
        self.0.as_ptr() == unsafe { ffi::Py_None() }
    }

    /// Which built-in type the object's class inherits from; bool cannot be inherited.
    #[cold]
    pub(crate) fn inherited(self) -> Builtin {
        let has = |flag: std::ffi::c_ulong| {
            // SAFETY: the object is alive, and so is its type.
            let class = unsafe { ffi::Py_TYPE(self.0.as_ptr()) };
            // SAFETY: the type is alive.
            unsafe { ffi::PyType_HasFeature(class, flag) != 0 }
        };
        if has(ffi::Py_TPFLAGS_UNICODE_SUBCLASS) {
            Builtin::Str
        } else if has(ffi::Py_TPFLAGS_LONG_SUBCLASS) {
            Builtin::Int
        } else if has(ffi::Py_TPFLAGS_DICT_SUBCLASS) {
            Builtin::Dict
        } else if has(ffi::Py_TPFLAGS_LIST_SUBCLASS) {
            Builtin::List
        } else if has(ffi::Py_TPFLAGS_TUPLE_SUBCLASS) {
            Builtin::Tuple
        } else if self.is_float() {
            Builtin::Float
        } else {
            Builtin::Other
        }
    }

    fn is_float(self) -> bool {
        // SAFETY: the object is alive.
        unsafe { ffi::PyFloat_Check(self.0.as_ptr()) != 0 }
    }

    /// Is the object `True`?
    #[inline]
    pub(crate) fn is_true(self) -> bool {
        // SAFETY: the singleton lives as long as the interpreter.
        self.0.as_ptr() == unsafe { ffi::Py_True() }
    }

    /// A float's value.
    #[inline]
    pub(crate) fn float(self) -> f64 {
        // SAFETY: the caller knows that the object is a float; the macro reads its one field.
        unsafe { ffi::PyFloat_AS_DOUBLE(self.0.as_ptr()) }
    }

    /// An int's value, where it fits.
    #[inline]
    pub(crate) fn int(self) -> Option<i64> {
        let mut overflow: c_int = 0;
        // SAFETY: the object is an int or inherits from it, so no conversion runs and no exception is set.
        let value: c_longlong =
            unsafe { ffi::PyLong_AsLongLongAndOverflow(self.0.as_ptr(), &raw mut overflow) };
        (overflow == 0).then_some(value)
    }

    /// Is a str made of ASCII bytes in the compact layout?
    #[inline]
    pub(crate) fn is_compact_ascii(self) -> bool {
        // SAFETY: the object is a str or inherits from it.
        unsafe { ffi::PyUnicode_IS_COMPACT_ASCII(self.0.as_ptr()) != 0 }
    }

    /// Holds a str half of a surrogate pair? Asked of strs that are not compact ASCII.
    pub(crate) fn has_surrogate(self) -> bool {
        // SAFETY: the object is a str or inherits from it; this makes its data ready where an old API left it undone.
        if unsafe { ffi::PyUnicode_READY(self.0.as_ptr()) } != 0 {
            // SAFETY: the interpreter is attached; the answer says no more than the error does.
            unsafe { ffi::PyErr_Clear() };
            return true;
        }
        // SAFETY: the object is a str whose data is ready.
        let kind = unsafe { ffi::PyUnicode_KIND(self.0.as_ptr()) };
        // SAFETY: as above.
        let data = unsafe { ffi::PyUnicode_DATA(self.0.as_ptr()) };
        let length = self.chars();
        if kind == ffi::PyUnicode_1BYTE_KIND {
            false
        } else if kind == ffi::PyUnicode_2BYTE_KIND {
            // SAFETY: a str of this kind holds `length` units of two bytes.
            let units = unsafe { std::slice::from_raw_parts(data.cast::<u16>(), length) };
            units.iter().fold(0, |found, unit| found | u8::from(*unit & 0xF800 == 0xD800)) != 0
        } else {
            // SAFETY: a str of this kind holds `length` units of four bytes.
            let units = unsafe { std::slice::from_raw_parts(data.cast::<u32>(), length) };
            units.iter().fold(0, |found, unit| found | u8::from(*unit & 0xFFFF_F800 == 0xD800)) != 0
        }
    }

    /// The number of code points of a str.
    #[inline]
    pub(crate) fn chars(self) -> usize {
        // SAFETY: the object is a str or inherits from it.
        let length = unsafe { ffi::PyUnicode_GetLength(self.0.as_ptr()) };
        usize::try_from(length).unwrap_or(0)
    }

    /// The text of a str; None where it holds a lone surrogate.
    #[inline]
    pub(crate) fn text(self) -> Option<&'a str> {
        if self.is_compact_ascii() {
            // SAFETY: the object is a str.
            let length = unsafe { ffi::PyUnicode_GET_LENGTH(self.0.as_ptr()) };
            // SAFETY: a compact str keeps its data behind its header.
            let data = unsafe { ffi::PyUnicode_DATA(self.0.as_ptr()) };
            // SAFETY: a compact ASCII str holds `length` bytes there, and lives for 'a.
            let bytes = unsafe {
                std::slice::from_raw_parts(data.cast::<u8>(), usize::try_from(length).unwrap_or(0))
            };
            // SAFETY: ASCII is UTF-8.
            return Some(unsafe { std::str::from_utf8_unchecked(bytes) });
        }
        self.encoded_text()
    }

    /// The text of a str with its first eight bytes as one word, zeros behind a shorter one; None where it holds a lone
    /// surrogate.
    #[inline]
    pub(crate) fn word_and_text(self) -> Option<(u64, &'a [u8])> {
        const WORD: usize = size_of::<u64>();
        let text = self.text()?.as_bytes();
        if !self.is_compact_ascii() {
            return Some((first_word(text), text));
        }
        // Names differ in length, which no branch should depend on: the word ends where the text does.
        let len = text.len().min(WORD);
        // SAFETY: a compact str keeps its data behind its header.
        let data = unsafe { ffi::PyUnicode_DATA(self.0.as_ptr()) };
        // SAFETY: at most the end of the text.
        let end = unsafe { data.cast::<u8>().add(len) };
        // SAFETY: before the data of a compact str lies its header, which is longer than a word.
        let first = unsafe { end.sub(WORD) };
        // SAFETY: these eight bytes belong to the header and to the text of the str, which is alive.
        let word = u64::from_le_bytes(unsafe { first.cast::<[u8; WORD]>().read() });
        // In two steps, since none of eight bytes may count.
        let half = 4 * (WORD - len);
        Some((word >> half >> half, text))
    }

    #[cold]
    fn encoded_text(self) -> Option<&'a str> {
        let mut length = 0;
        // SAFETY: the object is a str; the text is cached in it and lives as long.
        let data = unsafe { ffi::PyUnicode_AsUTF8AndSize(self.0.as_ptr(), &raw mut length) };
        if data.is_null() {
            // SAFETY: the interpreter is attached; the error says no more than None does.
            unsafe { ffi::PyErr_Clear() };
            return None;
        }
        // SAFETY: the C API returned that many bytes, which live for 'a.
        let bytes =
            unsafe { std::slice::from_raw_parts(data.cast::<u8>(), usize::try_from(length).unwrap_or(0)) };
        // SAFETY: the C API returned UTF-8.
        Some(unsafe { std::str::from_utf8_unchecked(bytes) })
    }

    /// The number of items of a list.
    #[inline]
    pub(crate) fn list_len(self) -> usize {
        // SAFETY: the object is a list or inherits from it.
        let length = unsafe { ffi::PyList_GET_SIZE(self.0.as_ptr()) };
        usize::try_from(length).unwrap_or(0)
    }

    /// An item of a list.
    #[inline]
    pub(crate) fn list_item(self, index: usize) -> Option<Self> {
        if index >= self.list_len() {
            return None;
        }
        // SAFETY: the object is a list and the index is below its length.
        let item = unsafe { ffi::PyList_GET_ITEM(self.0.as_ptr(), index.cast_signed()) };
        // SAFETY: the list keeps its item alive.
        Some(unsafe { Self::from_pointer(item) })
    }

    /// Calls `visit` for each item of a list until it answers false; the last answer.
    #[inline]
    pub(crate) fn list_items(self, mut visit: impl FnMut(usize, Self) -> bool) -> bool {
        // No Python code runs meanwhile, so the length stays.
        for index in 0..self.list_len() {
            // SAFETY: the object is a list and the index is below its length.
            let item = unsafe { ffi::PyList_GET_ITEM(self.0.as_ptr(), index.cast_signed()) };
            // SAFETY: the list keeps its item alive.
            if !visit(index, unsafe { Self::from_pointer(item) }) {
                return false;
            }
        }
        true
    }

    /// The number of items of a tuple.
    pub(crate) fn tuple_len(self) -> usize {
        // SAFETY: the object is a tuple or inherits from it.
        let length = unsafe { ffi::PyTuple_GET_SIZE(self.0.as_ptr()) };
        usize::try_from(length).unwrap_or(0)
    }

    /// An item of a tuple.
    pub(crate) fn tuple_item(self, index: usize) -> Option<Self> {
        if index >= self.tuple_len() {
            return None;
        }
        // SAFETY: the object is a tuple and the index is below its length.
        let item = unsafe { ffi::PyTuple_GET_ITEM(self.0.as_ptr(), index.cast_signed()) };
        // SAFETY: the tuple keeps its item alive.
        Some(unsafe { Self::from_pointer(item) })
    }

    /// The number of members of a dict.
    #[inline]
    pub(crate) fn dict_len(self) -> usize {
        // SAFETY: the object is a dict or inherits from it.
        unsafe { dict_table::len(self.0.as_ptr()) }
    }

    /// Asks for the memory of a dict's members.
    #[inline]
    pub(crate) fn dict_fetch(self) {
        dict_table::fetch(self.0.as_ptr());
    }

    /// Calls `visit` for each member of a dict until it answers false; the last answer.
    #[inline]
    pub(crate) fn dict_members(self, mut visit: impl FnMut(Self, Self) -> bool) -> bool {
        let table = dict_table::entries(self.0.as_ptr());
        let (mut entries, mut position) = (table.unwrap_or_default().iter(), 0);
        // One place that calls, so that the visitor becomes part of the loop.
        loop {
            let (key, value) = match entries.next() {
                Some(entry) if entry.value.is_null() => continue,
                Some(entry) => {
                    // SAFETY: the dict keeps its key alive.
                    let key = unsafe { Self::from_pointer(entry.key) };
                    // SAFETY: the dict keeps its value alive.
                    (key, unsafe { Self::from_pointer(entry.value) })
                }
                None if table.is_some() => return true,
                None => match self.dict_next(&mut position) {
                    Some(member) => member,
                    None => return true,
                },
            };
            if !visit(key, value) {
                return false;
            }
        }
    }

    /// Is a dict so large that the interpreter's own lookup is quicker than a walk, and safe: are all its keys exact strs, so
    /// that no other code is run to compare them?
    pub(crate) fn is_searchable(self) -> bool {
        const MANY: usize = 16;
        self.dict_len() > MANY && dict_table::entries(self.0.as_ptr()).is_some()
    }

    /// The member of a name, of a dict that [`is_searchable`](Self::is_searchable).
    pub(crate) fn dict_find(self, name: &str) -> Option<Self> {
        // SAFETY: the interpreter is attached as long as there is a Raw.
        let py = unsafe { Python::assume_attached() };
        let key = PyString::new(py, name);
        // SAFETY: the object is a dict whose keys are all exact strs, and so is the key: no other code runs, nothing fails.
        let found = unsafe { ffi::PyDict_GetItemWithError(self.0.as_ptr(), key.as_ptr()) };
        // SAFETY: the dict keeps its value alive.
        (!found.is_null()).then(|| unsafe { Self::from_pointer(found) })
    }

    /// The member after a position of a dict; positions start at 0.
    #[inline(never)]
    pub(crate) fn dict_next(self, position: &mut isize) -> Option<(Self, Self)> {
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the object is a dict that does not change while it is walked: no Python code runs.
        let more = unsafe { ffi::PyDict_Next(self.0.as_ptr(), position, &raw mut key, &raw mut value) };
        if more == 0 {
            return None;
        }
        // SAFETY: the dict keeps its key alive.
        let key = unsafe { Self::from_pointer(key) };
        // SAFETY: the dict keeps its value alive.
        Some((key, unsafe { Self::from_pointer(value) }))
    }
}

impl<'a> Raw<'a> {
    /// Keeps an object alive in a list of its own, and borrows it from there.
    pub(crate) fn kept(
        keeper: &'a Bound<'_, pyo3::types::PyList>,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        keeper.append(object)?;
        // SAFETY: the keeper holds a reference, and nobody but this function touches the keeper.
        Ok(unsafe { Self::from_pointer(object.as_ptr()) })
    }

    /// The hexadecimal digits of an int, without running code of its class.
    pub(crate) fn hexadecimal(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        // SAFETY: the object is an int or inherits from it, which this call uses as it is.
        let text = unsafe { ffi::PyNumber_ToBase(self.0.as_ptr(), 16) };
        // SAFETY: a new reference, or null with an exception.
        unsafe { Bound::from_owned_ptr_or_err(py, text) }
    }
}
