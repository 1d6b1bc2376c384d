//! A dict made of its members at once, its table written where the interpreter will look for it, on the one version of
//! CPython whose layout [`dict_table`](super::dict_table) writes down.
//!
//! Adding members one by one looks each of them up, grows the table and tells the collector each time. What is made here is
//! compared with dicts that were made so when the module is imported; where any differs, and on other versions, members
//! are added one by one.

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

    /// A place of the index table that is free.
    const FREE: i8 = -1;

    /// The logarithm of the size of a table for so many members, as the interpreter would choose it. None for no member, for
    /// so many that the index needs two bytes a place, and where the layout is not the known one.
    #[inline]
    pub(super) fn log2_size(count: usize) -> Option<u8> {
        if count > 0 && is_enabled() { fitting(count) } else { None }
    }

    #[inline]
    fn fitting(count: usize) -> Option<u8> {
        (3..8).find(|log2_size| count <= usable(*log2_size))
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
        members: impl ExactSizeIterator<Item = Member<'py>>,
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
        let indices = unsafe { keys.add(1) }.cast::<i8>();
        // SAFETY: it has so many places of one byte.
        unsafe { std::ptr::write_bytes(indices, FREE.cast_unsigned(), 1 << log2_size) };
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
            let mut index;
            let repeated = loop {
                // SAFETY: `place` is below the size of the index table.
                index = unsafe { indices.add(place) };
                // SAFETY: the same, and the table is initialised.
                let at = unsafe { index.read() };
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
            // SAFETY: it is the place that was found free.
            unsafe { index.write(count.to_le_bytes()[0].cast_signed()) };
            // SAFETY: there are at most `usable` members.
            let entry = unsafe { first.add(count) };
            // SAFETY: the entry lies in the allocation; the table takes over both references.
            unsafe { entry.write(Entry { key: name.into_ptr(), value: value.into_ptr() }) };
            count += 1;
        }
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
