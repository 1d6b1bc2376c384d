//! A dict that a decoder makes: until it is finished nobody else has seen it.
//!
//! Where it starts as a copy of a dict with all names of its schema, values are put into its table where they lie (on the
//! version of CPython that [`dict_table`] knows); the place of the table is read once an object.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::dict_table::{self, Table};
use super::make::{Made, Raised};

/// A dict in the making.
pub(crate) struct NewDict<'py> {
    dict: Bound<'py, PyDict>,
    /// The table of the copy, until a member is added: then it may move.
    table: Table,
}

impl<'py> NewDict<'py> {
    /// An empty one.
    #[inline]
    pub(crate) fn empty(py: Python<'py>) -> Self {
        Self { dict: PyDict::new(py), table: Table::NONE }
    }

    /// One with the same members.
    #[inline]
    pub(crate) fn copy_of(dict: &Bound<'py, PyDict>) -> Made<Self> {
        // SAFETY: the object is a dict, and alive.
        let copy = unsafe { ffi::PyDict_Copy(dict.as_ptr()) };
        // SAFETY: the C API returned a new reference, or null with an exception.
        let copy = unsafe { Bound::from_owned_ptr_or_opt(dict.py(), copy) }.ok_or(Raised)?;
        // SAFETY: a copy of a dict is an exact dict.
        let dict: Bound<'py, PyDict> = unsafe { copy.cast_into_unchecked() };
        let table = dict_table::table_of(&dict);
        Ok(Self { dict, table })
    }

    /// One with its first `count` members.
    #[cold]
    pub(crate) fn first(&self, count: usize) -> Made<Self> {
        let mut first = Self::empty(self.dict.py());
        for (name, value) in self.dict.iter().take(count) {
            first.insert(&name, &value)?;
        }
        Ok(first)
    }

    /// Adds a member; the name is an exact str.
    #[inline]
    pub(crate) fn insert(&mut self, name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Made<()> {
        self.table = Table::NONE;
        // SAFETY: all three are alive; the key is an exact str, so no user code hashes or compares it.
        let result = unsafe { ffi::PyDict_SetItem(self.dict.as_ptr(), name.as_ptr(), value.as_ptr()) };
        if result == 0 { Ok(()) } else { Err(Raised) }
    }

    /// Puts a value under a name that the dict began with, at that position of its members.
    #[inline]
    pub(crate) fn place(&mut self, at: usize, name: &Bound<'_, PyAny>, value: Bound<'py, PyAny>) -> Made<()> {
        // SAFETY: the table is the dict's own: it was read from it, and forgotten before anything was added; the dict was
        // made here and nobody looks at it.
        match unsafe { self.table.replace(&self.dict, at, name, value) } {
            Ok(()) => Ok(()),
            Err(value) => self.insert(name, &value),
        }
    }

    /// How many members it has.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // SAFETY: the object is a dict.
        unsafe { dict_table::len(self.dict.as_ptr()) }
    }

    /// The finished dict.
    #[inline]
    pub(crate) fn finish(self) -> Bound<'py, PyDict> {
        self.dict
    }
}
