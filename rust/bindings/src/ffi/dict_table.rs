//! The entries of a dict read where they lie, on the one version of CPython whose layout is written down here.
//!
//! Measured over the tool and configuration corpora this takes the verdict on objects to between 0.75 and 0.87 of the
//! time that `PyDict_Next` needs. It is checked against `PyDict_Next` when the module is imported, and switched off for
//! good where any answer differs; on other versions and on free-threaded builds it does not exist.

#[cfg(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED)))]
pub(super) use table::{Keys, UNICODE, is_enabled, track};
#[cfg(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED)))]
pub(crate) use table::{enable, entries, fetch};

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
    pub(crate) fn fetch(_: *mut pyo3::ffi::PyObject) {}

    /// The layout is not known.
    #[inline]
    pub(crate) fn entries<'a>(_: *mut pyo3::ffi::PyObject) -> Option<&'a [super::Entry]> {
        None
    }
}
#[cfg(not(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED))))]
pub(crate) use other::{enable, entries, fetch};

#[cfg(all(Py_3_11, not(Py_3_12), not(Py_GIL_DISABLED)))]
mod table {
    use std::sync::atomic::{AtomicBool, Ordering};

    use pyo3::ffi;
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    use super::Entry;

    static ENABLED: AtomicBool = AtomicBool::new(false);

    /// `struct _dictkeysobject` of CPython 3.11, up to its index table.
    #[repr(C)]
    pub(crate) struct Keys {
        pub(crate) refcnt: isize,
        pub(crate) log2_size: u8,
        pub(crate) log2_index_bytes: u8,
        pub(crate) kind: u8,
        pub(crate) version: u32,
        pub(crate) usable: isize,
        pub(crate) nentries: isize,
    }

    /// Every key is an exact str, and the values stand beside the keys.
    pub(crate) const UNICODE: u8 = 1;

    /// Did the layout stand the comparison with the documented interface?
    #[inline]
    pub(crate) fn is_enabled() -> bool {
        ENABLED.load(Ordering::Relaxed)
    }

    /// The entries of a dict whose keys are all exact strs; None for any other dict.
    #[inline]
    pub(crate) fn entries<'a>(dict: *mut ffi::PyObject) -> Option<&'a [Entry]> {
        if is_enabled() { read(dict) } else { None }
    }

    /// Asks for the first line of a dict's keys.
    #[inline]
    pub(crate) fn fetch(dict: *mut ffi::PyObject) {
        // SAFETY: the caller passes a live dict, whose structure PyO3 declares for this version.
        let keys = unsafe { (*dict.cast::<ffi::PyDictObject>()).ma_keys }.cast::<u8>();
        // SAFETY: a dict always has keys.
        std::hint::black_box(unsafe { *keys });
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

    #[cold]
    pub(crate) fn track(dict: &Bound<'_, PyDict>) {
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
        agreed &= super::super::dict_fill::is_right(py)?;
        ENABLED.store(agreed && readable > 0, Ordering::Relaxed);
        Ok(())
    }
}
