//! A dict made of its members at once, its table written where the interpreter will look for it, on the one version of
//! CPython whose layout [`dict_table`](super::dict_table) writes down.
//!
//! Adding members one by one looks each of them up, grows the table and tells the collector each time. Without that an
//! array of objects decodes in 0.8 of the time, the configuration files in 0.92. What is made here is compared with dicts
//! that were made so when the module is imported; where any differs, and on other versions, members are added one by one.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::make::{self, Made};

#[cfg(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED)))]
pub(super) use table::is_right;

/// A member: its name, an exact str, and its value.
pub(crate) type Member<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// A dict of these members; of several with one name the last counts, in the place of the first.
#[inline]
pub(crate) fn dict<'py>(
    py: Python<'py>,
    members: impl ExactSizeIterator<Item = Member<'py>>,
) -> Made<Bound<'py, PyDict>> {
    #[cfg(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED)))]
    if let Some(log2_size) = table::log2_size(members.len()) {
        return table::filled(py, log2_size, members);
    }
    added(py, members)
}

fn added<'py>(py: Python<'py>, members: impl Iterator<Item = Member<'py>>) -> Made<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in members {
        make::dict_set(&dict, &name, &value)?;
    }
    Ok(dict)
}

#[cfg(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED)))]
mod table {
    use pyo3::ffi;
    use pyo3::prelude::*;
    use pyo3::types::{PyDict, PyList, PyString};

    use super::super::dict_table::{Entry, Keys, UNICODE, is_enabled, track};
    use super::super::make::{Made, Raised};
    use super::{Member, added};

    /// The interpreter's `PERTURB_SHIFT`.
    const PERTURB_SHIFT: usize = 5;

    /// The logarithm of the size of the smallest table.
    const SMALLEST: u8 = 3;

    /// The index table: where the entry of a name stands, by its hash; a byte a place.
    trait Index {
        /// The table of so many places, all free, to be written behind a header.
        ///
        /// # Safety
        /// There is room for them.
        unsafe fn new(start: *mut u8, places: usize) -> Self;
        /// The position of an entry, or a negative number for a free place.
        ///
        /// # Safety
        /// The place is below their number.
        unsafe fn get(&self, place: usize) -> i8;
        /// Takes a place.
        ///
        /// # Safety
        /// See [`Index::get`].
        unsafe fn set(&mut self, place: usize, position: u8);
        /// Writes what was not yet written.
        ///
        /// # Safety
        /// The room is still there.
        unsafe fn finish(&self);
    }

    /// A byte that says that a place is free.
    const FREE: u8 = 0xFF;

    /// The smallest table, which most dicts have, in a register.
    struct Word {
        start: *mut u64,
        places: u64,
    }

    impl Index for Word {
        #[inline]
        unsafe fn new(start: *mut u8, _: usize) -> Self {
            Self { start: start.cast(), places: u64::MAX }
        }
        #[inline]
        unsafe fn get(&self, place: usize) -> i8 {
            (self.places >> (place * 8)).to_le_bytes()[0].cast_signed()
        }
        #[inline]
        unsafe fn set(&mut self, place: usize, position: u8) {
            self.places ^= u64::from(position ^ FREE) << (place * 8);
        }
        #[inline]
        unsafe fn finish(&self) {
            // SAFETY: the table is of eight bytes, behind a header whose size is a multiple of that.
            unsafe { self.start.write(self.places.to_le()) };
        }
    }

    /// A larger table, where it will be.
    struct Bytes(*mut u8);

    impl Index for Bytes {
        #[inline]
        unsafe fn new(start: *mut u8, places: usize) -> Self {
            // SAFETY: the caller has made room.
            unsafe { std::ptr::write_bytes(start, FREE, places) };
            Self(start)
        }
        #[inline]
        unsafe fn get(&self, place: usize) -> i8 {
            // SAFETY: the caller passes a place of the table.
            let at = unsafe { self.0.add(place) };
            // SAFETY: the table is initialised.
            unsafe { at.read() }.cast_signed()
        }
        #[inline]
        unsafe fn set(&mut self, place: usize, position: u8) {
            // SAFETY: the caller passes a place of the table.
            let at = unsafe { self.0.add(place) };
            // SAFETY: it is within the table.
            unsafe { at.write(position) };
        }
        #[inline]
        unsafe fn finish(&self) {}
    }

    /// The logarithm of the size of a table for so many members, as the interpreter would choose it. None for no member, for
    /// so many that the index needs two bytes a place, and where the layout is not the known one.
    #[inline]
    pub(super) fn log2_size(count: usize) -> Option<u8> {
        if count > 0 && is_enabled() { fitting(count) } else { None }
    }

    #[inline]
    fn fitting(count: usize) -> Option<u8> {
        (SMALLEST..8).find(|log2_size| count <= usable(*log2_size))
    }

    /// How many members a table holds: the interpreter's `USABLE_FRACTION`.
    #[inline]
    const fn usable(log2_size: u8) -> usize {
        (2 << log2_size) / 3
    }

    /// A dict of at least one member.
    #[inline]
    pub(super) fn filled<'py>(
        py: Python<'py>,
        log2_size: u8,
        members: impl Iterator<Item = Member<'py>>,
    ) -> Made<Bound<'py, PyDict>> {
        if log2_size == SMALLEST {
            filled_by::<Word>(py, SMALLEST, members)
        } else {
            filled_by::<Bytes>(py, log2_size, members)
        }
    }

    #[inline]
    fn filled_by<'py, I: Index>(
        py: Python<'py>,
        log2_size: u8,
        members: impl Iterator<Item = Member<'py>>,
    ) -> Made<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let usable = usable(log2_size);
        let size = size_of::<Keys>() + (1 << log2_size) + usable * size_of::<Entry>();
        // SAFETY: the interpreter is attached; it frees the table of a dict by `PyObject_Free`.
        let keys = unsafe { ffi::PyObject_Malloc(size) }.cast::<Keys>();
        if keys.is_null() {
            // SAFETY: the interpreter is attached.
            unsafe { ffi::PyErr_NoMemory() };
            return Err(Raised);
        }
        // SAFETY: the index table follows the header in the allocation.
        let indices = unsafe { keys.add(1) }.cast::<u8>();
        // SAFETY: the allocation has room for so many places of one byte.
        let mut index = unsafe { I::new(indices, 1 << log2_size) };
        // SAFETY: the entries follow the index table in the allocation.
        let first = unsafe { indices.add(1 << log2_size) };
        #[allow(
            clippy::cast_ptr_alignment,
            reason = "the index table is a power of two of at least eight bytes"
        )]
        let first = first.cast::<Entry>();
        let mask = (1usize << log2_size) - 1;
        let (mut count, mut holds_containers) = (0usize, false);
        for (name, value) in members {
            holds_containers |=
                value.is_exact_instance_of::<PyDict>() || value.is_exact_instance_of::<PyList>();
            let hash = hash_of(name.as_ptr());
            let mut perturbed = hash.cast_unsigned();
            let mut place = perturbed & mask;
            let repeated = loop {
                // SAFETY: `place` is below the size of the index table.
                let at = unsafe { index.get(place) };
                let Ok(at) = usize::try_from(at) else { break None };
                // SAFETY: the index table names entries that were written.
                let entry = unsafe { first.add(at) };
                // SAFETY: the same.
                let key = unsafe { (*entry).key };
                if key == name.as_ptr() || (hash_of(key) == hash && is_same(key, name.as_ptr())) {
                    break Some(entry);
                }
                perturbed >>= PERTURB_SHIFT;
                place = (place * 5 + perturbed + 1) & mask;
            };
            if let Some(entry) = repeated {
                // SAFETY: the entry was written, and holds a reference to its value.
                let old = unsafe { std::mem::replace(&mut (*entry).value, value.into_ptr()) };
                // SAFETY: the reference was the table's.
                drop(unsafe { Bound::from_owned_ptr(py, old) });
                continue;
            }
            // SAFETY: the same.
            unsafe { index.set(place, count.to_le_bytes()[0]) };
            // SAFETY: there are at most `usable` members.
            let entry = unsafe { first.add(count) };
            // SAFETY: the entry lies in the allocation; the table takes over both references.
            unsafe { entry.write(Entry { key: name.into_ptr(), value: value.into_ptr() }) };
            count += 1;
        }
        // SAFETY: the allocation is as it was.
        unsafe { index.finish() };
        // SAFETY: the entries behind those written are part of the allocation.
        let rest = unsafe { first.add(count) };
        // SAFETY: they are `usable` less those written.
        unsafe { std::ptr::write_bytes(rest, 0, usable - count) };
        let header = Keys {
            refcnt: 1,
            log2_size,
            log2_index_bytes: log2_size,
            kind: UNICODE,
            version: 0,
            usable: (usable - count).cast_signed(),
            nentries: count.cast_signed(),
        };
        // SAFETY: the allocation begins with the header.
        unsafe { keys.write(header) };
        give(&dict, keys, count);
        if holds_containers {
            track(&dict);
        }
        Ok(dict)
    }

    /// Gives a new, empty dict its table.
    #[inline]
    fn give(dict: &Bound<'_, PyDict>, keys: *mut Keys, count: usize) {
        let object = dict.as_ptr().cast::<ffi::PyDictObject>();
        // SAFETY: the dict is alive, and PyO3 declares its structure for this version.
        let empty = unsafe { std::mem::replace(&mut (*object).ma_keys, keys.cast()) }.cast::<Keys>();
        // SAFETY: an empty dict holds a reference to the interpreter's one empty table, which lives for ever.
        unsafe { (*empty).refcnt -= 1 };
        // SAFETY: as the first.
        unsafe { (*object).ma_used = count.cast_signed() };
    }

    /// The hash of an exact str, which keeps it once asked for.
    #[inline]
    fn hash_of(text: *mut ffi::PyObject) -> isize {
        // SAFETY: the object is an exact str, and alive.
        let known = unsafe { (*text.cast::<ffi::PyASCIIObject>()).hash };
        if known != -1 {
            return known;
        }
        // SAFETY: the same; hashing a str cannot fail.
        unsafe { ffi::PyObject_Hash(text) }
    }

    #[inline]
    fn is_same(one: *mut ffi::PyObject, other: *mut ffi::PyObject) -> bool {
        // SAFETY: both are exact strs, and alive; comparing them cannot fail.
        unsafe { ffi::PyUnicode_Compare(one, other) == 0 }
    }

    /// Are dicts of every table, made so, like those that the documented interface makes, also when they change afterwards?
    pub(in super::super) fn is_right(py: Python<'_>) -> PyResult<bool> {
        let mut agreed = true;
        for count in [1, 2, 5, 6, 10, 11, 21, 22, 42, 43, 85] {
            let mut members = Vec::new();
            for index in 0..count {
                let name = PyString::new(py, &format!("name {index}")).into_any();
                let value = if index == 0 { PyList::empty(py).into_any() } else { name.clone() };
                members.push((name, value));
            }
            // A name that comes again, as another object.
            members.push((PyString::new(py, "name 0").into_any(), py.None().into_bound(py)));
            agreed &= are_alike(py, &members[..count])?;
            if fitting(count + 1).is_some() {
                agreed &= are_alike(py, &members)?;
            }
        }
        Ok(agreed)
    }

    fn are_alike<'py>(py: Python<'py>, members: &[Member<'py>]) -> PyResult<bool> {
        let Some(log2_size) = fitting(members.len()) else { return Ok(false) };
        let made = filled(py, log2_size, members.iter().cloned())?;
        let expected = added(py, members.iter().cloned())?;
        // SAFETY: the object is a dict. One of the values is or was a list, so the collector has to know it.
        let mut agreed = unsafe { ffi::PyObject_GC_IsTracked(made.as_ptr()) } != 0;
        agreed &= made.items().eq(expected.items())? && made.eq(&expected)? && made.copy()?.eq(&expected)?;
        agreed &= !made.contains("no name")?;
        for dict in [&made, &expected] {
            dict.set_item("one more", 1)?;
            dict.del_item(&members[0].0)?;
            dict.set_item(&members[0].0, 2)?;
        }
        Ok(agreed && made.items().eq(expected.items())? && made.eq(&expected)?)
    }
}
