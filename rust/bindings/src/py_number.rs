//! Python numbers beyond a machine word: big ints and `decimal.Decimal`, and the names of other types.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAnyMethods, PyType};
use toolhead_core::instance::Kind;
use toolhead_core::number::Number;

use crate::ffi::read::Raw;

static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();

fn with_object<R>(object: Raw<'_>, ask: impl FnOnce(&Bound<'_, PyAny>) -> R) -> R {
    Python::attach(|py| ask(&object.to_bound(py)))
}

/// An int of any size. Hexadecimal digits are made and read in linear time, whatever the interpreter's digit limit.
#[cold]
pub(crate) fn big(object: Raw<'_>) -> Number {
    let text = Python::attach(|py| {
        object.hexadecimal(py).and_then(|text| text.extract::<String>()).unwrap_or_default()
    });
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    Number::from_hexadecimal(&format!("{sign}{}", digits.strip_prefix("0x").unwrap_or(digits)))
}

fn is_decimal(object: &Bound<'_, PyAny>) -> bool {
    // `decimal` is not imported for a value that cannot be one. The name alone would let a class of the same name run
    // its own code while data is looked at.
    let class = object.get_type();
    class.name().is_ok_and(|name| name == "Decimal")
        && DECIMAL.import(object.py(), "decimal", "Decimal").is_ok_and(|decimal| class.is(decimal))
}

/// The kind of an object of an unknown class: a number if it is a finite `Decimal`.
#[cold]
pub(crate) fn decimal_kind(object: Raw<'_>) -> Kind {
    with_object(object, |object| {
        let finite = || object.call_method0("is_finite").and_then(|answer| answer.extract()).unwrap_or(false);
        if is_decimal(object) && finite() { Kind::Float } else { Kind::Foreign }
    })
}

/// The value of a `Decimal`.
#[cold]
pub(crate) fn decimal(object: Raw<'_>) -> Number {
    let text = with_object(object, |object| object.str().map(|text| text.to_string()).unwrap_or_default());
    Number::parse_exact(&text).unwrap_or(Number::Int(0))
}

/// The name of an object's class, for a message.
pub(crate) fn type_name(object: Raw<'_>) -> String {
    with_object(object, |object| {
        object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
    })
}
