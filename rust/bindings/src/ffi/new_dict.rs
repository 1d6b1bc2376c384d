//! A dict that a decoder makes: until it is finished nobody else has seen it.
//!
//! Mostly its members wait, those of an inner object behind those of the outer, until the dict is made of all of them at once
//! ([`dict_fill`]). Where it starts as a copy of a dict with the defaults of its schema, they are added as they come.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;

use super::dict_fill::{self, Member};
use super::make::{self, Made, Raised};

/// Members of dicts in the making; so many wait without an allocation.
pub(crate) type Waiting<'py> = SmallVec<[Member<'py>; 16]>;

/// A dict in the making.
pub(crate) enum NewDict<'py> {
    /// Its members wait from here on.
    Waiting(usize),
    /// A copy of another dict.
    Copy(Bound<'py, PyDict>),
}

impl<'py> NewDict<'py> {
    /// An empty one.
    #[inline]
    pub(crate) fn empty(waiting: &Waiting<'py>) -> Self {
        Self::Waiting(waiting.len())
    }

    /// One with the same members.
    #[inline]
    pub(crate) fn copy_of(dict: &Bound<'py, PyDict>) -> Made<Self> {
        // SAFETY: the object is a dict, and alive.
        let copy = unsafe { ffi::PyDict_Copy(dict.as_ptr()) };
        // SAFETY: the C API returned a new reference, or null with an exception.
        let copy = unsafe { Bound::from_owned_ptr_or_opt(dict.py(), copy) }.ok_or(Raised)?;
        // SAFETY: a copy of a dict is an exact dict.
        Ok(Self::Copy(unsafe { copy.cast_into_unchecked() }))
    }

    /// Adds a member; the name is an exact str.
    #[allow(clippy::inline_always, reason = "mostly it moves two pointers, and the compiler sees the rest")]
    #[inline(always)]
    pub(crate) fn insert(
        &mut self,
        waiting: &mut Waiting<'py>,
        name: Bound<'py, PyAny>,
        value: Bound<'py, PyAny>,
    ) -> Made<()> {
        match self {
            Self::Waiting(_) => waiting.push((name, value)),
            Self::Copy(dict) => make::dict_set(dict, &name, &value)?,
        }
        Ok(())
    }

    /// The finished dict.
    #[inline]
    pub(crate) fn finish(self, py: Python<'py>, waiting: &mut Waiting<'py>) -> Made<Bound<'py, PyDict>> {
        match self {
            Self::Waiting(start) => dict_fill::dict(py, waiting.drain(start..)),
            Self::Copy(dict) => Ok(dict),
        }
    }
}
