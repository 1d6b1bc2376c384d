//! Makes Python objects: what the decoder builds, and copies of plain data.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};
use toolhead_core::drivers::decode::{Builder, Start, Text};
use toolhead_core::instance::{Instance, Key, Kind};
use toolhead_core::number::Number;
use toolhead_core::plan::{Plan, Property};
use toolhead_core::value::Value;

use crate::compiled::Compiled;
use crate::defaults::Defaults;
use crate::ffi::make::{self, Made, Raised};
use crate::ffi::new_dict::{NewDict, Waiting};
use crate::ffi::read::Raw;
use crate::names::Names;
use crate::py_instance::PyValue;

/// Makes a text's values as Python objects.
pub(crate) struct PyBuilder<'k, 'py> {
    py: Python<'py>,
    compiled: Option<&'k Compiled>,
    names: Names,
    waiting: Waiting<'py>,
}

impl<'k, 'py> PyBuilder<'k, 'py> {
    /// `compiled` is what the plan belongs to, if it has names or defaults.
    pub(crate) fn new(py: Python<'py>, compiled: Option<&'k Compiled>) -> Self {
        Self { py, compiled, names: Names::default(), waiting: Waiting::new() }
    }
}

impl<'k> PyBuilder<'k, '_> {
    #[inline]
    fn keys(&self) -> &'k [Py<PyString>] {
        self.compiled.map_or(&[], |compiled| &compiled.keys)
    }

    #[inline]
    fn defaults(&self, compiled: &'k Compiled) -> Made<&'k Defaults> {
        compiled.defaults(self.py).map_err(|error| raised(self.py, error))
    }
}

impl<'py> Builder for PyBuilder<'_, 'py> {
    type Value = Bound<'py, PyAny>;
    type Object = NewDict<'py>;
    type Instance<'v>
        = PyValue<'v>
    where
        Self: 'v;
    type Error = Raised;
    const SHARES: bool = true;

    fn instance<'v>(value: &'v Self::Value) -> PyValue<'v>
    where
        Self: 'v,
    {
        PyValue(Raw::of(value))
    }
    #[inline]
    fn null(&mut self) -> Self::Value {
        self.py.None().into_bound(self.py)
    }
    #[inline]
    fn boolean(&mut self, value: bool) -> Self::Value {
        PyBool::new(self.py, value).to_owned().into_any()
    }
    #[inline]
    fn int(&mut self, value: i64) -> Made<Self::Value> {
        make::int(self.py, value)
    }
    fn big(&mut self, digits: &[u8]) -> Made<Self::Value> {
        big_int(self.py, digits.to_vec()).map_err(|error| raised(self.py, error))
    }
    #[inline]
    fn float(&mut self, value: f64) -> Made<Self::Value> {
        make::float(self.py, value)
    }
    #[inline]
    fn string(&mut self, text: Text<'_>) -> Made<Self::Value> {
        match text {
            Text::Ascii(bytes) => make::ascii(self.py, bytes),
            Text::Unicode(text) => make::utf8(self.py, text),
        }
    }
    #[inline]
    fn shared(&mut self, token: usize) -> Option<Self::Value> {
        (token != 0).then(|| make::known(self.keys(), self.py, token).to_owned())
    }
    #[inline]
    fn array(&mut self, items: impl ExactSizeIterator<Item = Self::Value>) -> Made<Self::Value> {
        make::list(self.py, items)
    }
    #[inline]
    fn start(&mut self, _: &Plan, rule: u32) -> Made<Start> {
        self.compiled.map_or(Ok(Start::Empty), |compiled| Ok(self.defaults(compiled)?.start(rule)))
    }
    #[inline]
    fn object(&mut self, rule: u32, start: Start) -> Made<Self::Object> {
        if start != Start::Empty
            && let Some(compiled) = self.compiled
            && let Some(template) = self.defaults(compiled)?.template(rule)
        {
            return NewDict::copy_of(template.bind(self.py));
        }
        Ok(NewDict::empty(&self.waiting))
    }
    #[inline]
    fn insert_known(
        &mut self,
        object: &mut Self::Object,
        _: &Plan,
        property: &Property,
        value: Self::Value,
    ) -> Made<()> {
        let name = make::known(self.keys(), self.py, property.token).to_owned();
        object.insert(&mut self.waiting, name, value)
    }
    #[inline]
    fn name(&mut self, word: u64, text: Text<'_>) -> Made<Self::Value> {
        match text {
            Text::Ascii(bytes) => self.names.name(self.py, word, bytes),
            Text::Unicode(text) => make::utf8(self.py, text),
        }
    }
    #[inline]
    fn insert(&mut self, object: &mut Self::Object, name: Self::Value, value: Self::Value) -> Made<()> {
        object.insert(&mut self.waiting, name, value)
    }
    fn copied(&self, rule: u32) -> &[u32] {
        self.compiled
            .and_then(|compiled| self.defaults(compiled).ok())
            .map_or(&[], |known| known.copied(rule))
    }
    fn default_value(&self, plan: &Plan, default: u32) -> Made<Self::Value> {
        let made = match self.compiled {
            Some(compiled) => self.defaults(compiled)?.value(self.py, plan, default),
            None => from_value(self.py, &plan.defaults[default as usize].0),
        };
        made.map_err(|error| raised(self.py, error))
    }
    fn complete(&mut self, _: &Plan, rule: u32, object: &Self::Value) -> Made<()> {
        let Some(compiled) = self.compiled else { return Ok(()) };
        let defaults = self.defaults(compiled)?;
        let Ok(object) = object.cast::<PyDict>() else { return Ok(()) };
        defaults.complete(compiled, rule, object).map_err(|error| raised(self.py, error))
    }
    #[inline]
    fn finish(&mut self, object: Self::Object) -> Made<(Self::Value, usize)> {
        let dict = object.finish(self.py, &mut self.waiting)?;
        let members = make::dict_len(&dict);
        Ok((dict.into_any(), members))
    }
}

/// A copy of plain data, its containers new. Objects that are not JSON data are taken over as they are, and so is
/// what lies deeper than a compilation would look.
pub(crate) fn copy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    const DEEPEST: usize = 2_000;
    copy_within(object, DEEPEST)
}

fn copy_within<'py>(object: &Bound<'py, PyAny>, left: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let value = PyValue(Raw::of(object));
    let mut failed = None;
    let copied = match value.kind() {
        Kind::Array if left > 0 => {
            let list = PyList::empty(py);
            value.items(|_, item| {
                failed = copy_within(&item.0.to_bound(py), left - 1).and_then(|item| list.append(item)).err();
                failed.is_none()
            });
            list.into_any()
        }
        Kind::Object if left > 0 && value.foreign_key().is_none() => {
            let dict = PyDict::new(py);
            value.members(|key, item| {
                let name = PyString::new(py, key.text());
                failed = copy_within(&item.0.to_bound(py), left - 1)
                    .and_then(|item| dict.set_item(name, item))
                    .err();
                failed.is_none()
            });
            dict.into_any()
        }
        _ => object.clone(),
    };
    failed.map_or(Ok(copied), Err)
}

/// A new dict or list with the same members or items; any other object as it is.
pub(crate) fn shallow_copy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let value = PyValue(Raw::of(object));
    let mut failed = None;
    match value.kind() {
        Kind::Array => {
            let list = PyList::empty(py);
            value.items(|_, item| {
                failed = list.append(item.0.to_bound(py)).err();
                failed.is_none()
            });
            failed.map_or(Ok(list.into_any()), Err)
        }
        Kind::Object => {
            let dict = PyDict::new(py);
            value.members(|key, item| {
                failed = dict.set_item(key.text(), item.0.to_bound(py)).err();
                failed.is_none()
            });
            failed.map_or(Ok(dict.into_any()), Err)
        }
        _ => Ok(object.clone()),
    }
}

/// Leaves an exception to the interpreter.
fn raised(py: Python<'_>, error: PyErr) -> Raised {
    error.restore(py);
    Raised
}

fn big_int(py: Python<'_>, digits: Vec<u8>) -> PyResult<Bound<'_, PyAny>> {
    Ok(make::big_int(py, &std::ffi::CString::new(digits)?)?)
}

/// A core value as Python objects.
pub(crate) fn from_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::Number(number) => from_number(py, number)?,
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(from_value(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(members) => {
            let dict = PyDict::new(py);
            for (name, item) in members {
                dict.set_item(&**name, from_value(py, item)?)?;
            }
            dict.into_any()
        }
    })
}

/// A number as a Python int or float; a decimal beyond both as a float.
pub(crate) fn from_number<'py>(py: Python<'py>, number: &Number) -> PyResult<Bound<'py, PyAny>> {
    match number {
        Number::Int(value) => Ok(make::int(py, *value)?),
        Number::Float(value) => Ok(make::float(py, *value)?),
        Number::Big(_) => {
            let text = number.to_string();
            let whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            if whole {
                big_int(py, text.into_bytes())
            } else {
                Ok(make::float(py, text.parse().unwrap_or(f64::NAN))?)
            }
        }
    }
}
