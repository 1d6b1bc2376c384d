//! The entries of a dict read and replaced where they lie, on the one version of CPython whose layout is written down here.
//!
//! Measured over the tool and configuration corpora this takes the verdict on objects to between 0.75 and 0.87 of the
//! time that `PyDict_Next` needs. It is checked against `PyDict_Next` when the module is imported, and switched off for
//! good where any answer differs; on other versions and on free-threaded builds it does not exist.

#[cfg(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED)))]
pub(crate) use table::{Table, enable, entries, table_of};

/// A member as it lies in the table; the value is null where it was deleted.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) key: *mut pyo3::ffi::PyObject,
    pub(crate) value: *mut pyo3::ffi::PyObject,
}

/// How many members a dict has: what the macro `PyDict_GET_SIZE` of the C API reads.
///
/// # Safety
/// The object is alive, and a dict or inherits from it.
#[inline]
pub(crate) unsafe fn len(dict: *mut pyo3::ffi::PyObject) -> usize {
    #[cfg(not(Py_GIL_DISABLED))]
    // SAFETY: the caller passes a live dict, whose structure PyO3 declares.
    let length = unsafe { (*dict.cast::<pyo3::ffi::PyDictObject>()).ma_used };
    #[cfg(Py_GIL_DISABLED)]
    // SAFETY: the caller passes a live dict.
    let length = unsafe { pyo3::ffi::PyDict_Size(dict) };
    length.cast_unsigned()
}

#[cfg(not(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED))))]
mod other {
    use pyo3::prelude::*;

    /// There is nothing to check.
    pub(crate) fn enable(_: Python<'_>) -> PyResult<()> {
        Ok(())
    }

    /// The layout is not known.
    #[inline]
    pub(crate) fn entries<'a>(_: *mut pyo3::ffi::PyObject) -> Option<&'a [super::Entry]> {
        None
    }

    /// No table.
    pub(crate) struct Table;

    impl Table {
        pub(crate) const NONE: Self = Self;

        /// The value comes back.
        ///
        /// # Safety
        /// None is asked.
        #[inline]
        pub(crate) unsafe fn replace<'py>(
            &self,
            _: &Bound<'py, pyo3::types::PyDict>,
            _: usize,
            _: &Bound<'_, PyAny>,
            value: Bound<'py, PyAny>,
        ) -> Result<(), Bound<'py, PyAny>> {
            Err(value)
        }
    }

    /// The layout is not known.
    #[inline]
    pub(crate) fn table_of(_: &Bound<'_, pyo3::types::PyDict>) -> Table {
        Table
    }
}
#[cfg(not(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED))))]
pub(crate) use other::{Table, enable, entries, table_of};

#[cfg(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED)))]
mod table {
    use std::sync::atomic::{AtomicBool, Ordering};

    use pyo3::ffi;
    use pyo3::prelude::*;
    use pyo3::types::{PyDict, PyList, PyString};

    use super::Entry;

    static ENABLED: AtomicBool = AtomicBool::new(false);

    /// `struct _dictkeysobject` of CPython 3.11, up to its index table.
    #[repr(C)]
    struct Keys {
        refcnt: isize,
        log2_size: u8,
        log2_index_bytes: u8,
        kind: u8,
        version: u32,
        usable: isize,
        nentries: isize,
    }

    /// Every key is an exact str, and the values stand beside the keys.
    const UNICODE: u8 = 1;

    /// The entries of a dict whose keys are all exact strs; None for any other dict.
    #[inline]
    pub(crate) fn entries<'a>(dict: *mut ffi::PyObject) -> Option<&'a [Entry]> {
        if ENABLED.load(Ordering::Relaxed) { read(dict) } else { None }
    }

    #[inline]
    fn read<'a>(dict: *mut ffi::PyObject) -> Option<&'a [Entry]> {
        let (first, count) = table(dict)?;
        if count == 0 {
            return Some(&[]);
        }
        // SAFETY: so many entries are in use; the dict does not change while they are looked at.
        Some(unsafe { std::slice::from_raw_parts(first, count) })
    }

    /// Where the entries are, and how many of them are in use.
    #[inline]
    fn table(dict: *mut ffi::PyObject) -> Option<(*mut Entry, usize)> {
        // SAFETY: the caller passes a live dict, whose structure PyO3 declares for this version.
        let keys = unsafe { (*dict.cast::<ffi::PyDictObject>()).ma_keys }.cast::<Keys>();
        // SAFETY: a dict always has keys, laid out as above in this version.
        let Keys { kind, log2_index_bytes, nentries, .. } = unsafe { std::ptr::read(keys) };
        if kind != UNICODE {
            return None;
        }
        if nentries == 0 {
            // The interpreter's one empty table has no room for entries, nor their alignment.
            return Some((std::ptr::null_mut(), 0));
        }
        let offset = size_of::<Keys>() + (1usize << log2_index_bytes);
        // SAFETY: the entries follow the index table in the same allocation.
        let first = unsafe { keys.cast::<u8>().add(offset) };
        #[allow(
            clippy::cast_ptr_alignment,
            reason = "the index table is a power of two of at least eight bytes"
        )]
        let first = first.cast::<Entry>();
        Some((first, usize::try_from(nentries).unwrap_or(0)))
    }

    /// Where the entries of a dict are, and how many of them are in use.
    pub(crate) struct Table {
        first: *mut Entry,
        count: usize,
    }

    /// The table of a dict whose keys are all exact strs.
    #[inline]
    pub(crate) fn table_of(dict: &Bound<'_, PyDict>) -> Table {
        if ENABLED.load(Ordering::Relaxed) { read_table(dict) } else { Table::NONE }
    }

    #[inline]
    fn read_table(dict: &Bound<'_, PyDict>) -> Table {
        table(dict.as_ptr()).map_or(Table::NONE, |(first, count)| Table { first, count })
    }

    impl Table {
        /// None is known.
        pub(crate) const NONE: Self = Self { first: std::ptr::null_mut(), count: 0 };

        /// Replaces the value of a name where it lies; `at` is where the name stands among the members. The value comes back
        /// where that is not so.
        ///
        /// # Safety
        /// The table is that of `dict`, which the caller made and which did not change since but by this function.
        #[inline]
        pub(crate) unsafe fn replace<'py>(
            &self,
            dict: &Bound<'py, PyDict>,
            at: usize,
            name: &Bound<'_, PyAny>,
            value: Bound<'py, PyAny>,
        ) -> Result<(), Bound<'py, PyAny>> {
            if at >= self.count {
                return Err(value);
            }
            // SAFETY: `at` is within the entries.
            let place = unsafe { self.first.add(at) };
            // SAFETY: an entry in use is initialised.
            let entry = unsafe { place.read() };
            if entry.key != name.as_ptr() || entry.value.is_null() {
                return Err(value);
            }
            // A dict of values that the collector does not know is not known to it either. Of what a decoder makes it knows
            // two.
            if value.is_exact_instance_of::<PyDict>() || value.is_exact_instance_of::<PyList>() {
                track(dict);
            }
            let old = entry.value;
            // SAFETY: the entry is part of a table that this dict alone has, and nobody looks at it meanwhile; the table
            // takes over the reference to the value.
            unsafe { place.write(Entry { key: entry.key, value: value.into_ptr() }) };
            // SAFETY: the table held a reference to the old value, which is passed on and ends here.
            drop(unsafe { Bound::from_owned_ptr(dict.py(), old) });
            Ok(())
        }
    }

    #[cold]
    fn track(dict: &Bound<'_, PyDict>) {
        // SAFETY: the object is a dict, which the collector can know.
        if unsafe { ffi::PyObject_GC_IsTracked(dict.as_ptr()) } == 0 {
            // SAFETY: it is complete, and not tracked.
            unsafe { ffi::PyObject_GC_Track(dict.as_ptr().cast()) };
        }
    }

    fn is_read_right(dict: &Bound<'_, PyDict>) -> bool {
        let Some(entries) = read(dict.as_ptr()) else { return true };
        let live = entries.iter().filter(|entry| !entry.value.is_null());
        let ours: Vec<(usize, usize)> = live.map(|entry| (entry.key.addr(), entry.value.addr())).collect();
        let theirs: Vec<(usize, usize)> =
            dict.iter().map(|(key, value)| (key.as_ptr().addr(), value.as_ptr().addr())).collect();
        ours == theirs
    }

    /// Replaces the values of copies, and asks the documented interface what came out.
    fn is_replaced_right(py: Python<'_>) -> PyResult<bool> {
        let mut agreed = true;
        for size in [1usize, 5, 6, 30] {
            let names: Vec<_> =
                (0..size).map(|index| PyString::intern(py, &format!("name {index}")).into_any()).collect();
            let whole = PyDict::new(py);
            for name in &names {
                whole.set_item(name, py.None())?;
            }
            let (copy, expected) = (whole.copy()?, whole.copy()?);
            for (index, name) in names.iter().enumerate() {
                let value = if index % 2 == 0 { PyList::empty(py).into_any() } else { name.clone() };
                expected.set_item(name, &value)?;
                // SAFETY: the table is read anew; the dict is ours.
                agreed &= unsafe { read_table(&copy).replace(&copy, index, name, value) }.is_ok();
            }
            copy.set_item("one more", py.None())?;
            expected.set_item("one more", py.None())?;
            agreed &= copy.eq(&expected)?
                && is_read_right(&copy)
                && whole.values().iter().all(|value| value.is_none());
            // SAFETY: the object is a dict.
            agreed &= unsafe { ffi::PyObject_GC_IsTracked(copy.as_ptr()) } != 0;
        }
        Ok(agreed)
    }

    /// Compares with the documented interface over dicts of every make, and switches the table on where all agree.
    pub(crate) fn enable(py: Python<'_>) -> PyResult<()> {
        let mut agreed = true;
        let mut readable = 0;
        for size in [0usize, 1, 5, 6, 11, 100, 300] {
            let dict = PyDict::new(py);
            for index in 0..size {
                dict.set_item(format!("key {index}"), index)?;
            }
            agreed &= is_read_right(&dict);
            for index in (0..size).step_by(3) {
                dict.del_item(format!("key {index}"))?;
            }
            agreed &= is_read_right(&dict);
            dict.set_item("a new key", "a value")?;
            agreed &= is_read_right(&dict);
            readable += u8::from(read(dict.as_ptr()).is_some());
            dict.set_item(7, "not a str")?;
            agreed &= read(dict.as_ptr()).is_none();
        }
        // An instance's dict may share its keys with others of its class: it must be left to the documented way.
        let module = PyModule::from_code(
            py,
            c"class C:\n    def __init__(self): self.a = 1; self.b = 2\nd = C().__dict__\n",
            c"",
            c"",
        )?;
        agreed &= is_read_right(module.getattr("d")?.cast::<PyDict>()?);
        agreed &= is_replaced_right(py)?;
        ENABLED.store(agreed && readable > 0, Ordering::Relaxed);
        Ok(())
    }
}
