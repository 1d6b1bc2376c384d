//! Python objects as instances: dict, list, tuple, str, int, float, bool, None and their subclasses read as plain
//! data, and `Decimal` as an exact number. Anything else is foreign (public API, section 5).

use pyo3::prelude::*;
use toolhead_core::instance::{Instance, Key, Kind};
use toolhead_core::number::Number;

use crate::ffi::read::{Builtin, Raw};
use crate::py_number;

/// A Python object, while the interpreter is attached.
#[derive(Clone, Copy)]
pub(crate) struct PyValue<'a>(pub(crate) Raw<'a>);

/// A key of a dict that is a str.
#[derive(Clone, Copy)]
pub(crate) struct PyKey<'a>(Raw<'a>);

impl PyKey<'_> {
    /// The key with its interpreter.
    pub(crate) fn object(self, py: Python<'_>) -> Bound<'_, PyAny> {
        self.0.to_bound(py)
    }
}

impl<'a> Key<'a> for PyKey<'a> {
    #[inline]
    fn token(self) -> usize {
        self.0.address()
    }
    #[inline]
    fn text(self) -> &'a str {
        self.0.text().unwrap_or("")
    }
    #[inline]
    fn plain_text(self) -> Option<&'a str> {
        if self.0.is_str() { self.0.text() } else { None }
    }
    #[inline]
    fn name(self) -> Option<(u64, &'a [u8])> {
        if self.0.is_str() { self.0.word_and_text() } else { None }
    }
}

impl PyValue<'_> {
    #[inline]
    fn builtin(self) -> Builtin {
        match self.0.exact() {
            Builtin::Other => self.0.inherited(),
            exact => exact,
        }
    }

    #[cold]
    fn unusual_kind(self) -> Kind {
        match self.0.inherited() {
            Builtin::Str => string_kind(self.0),
            Builtin::Int => Kind::Integer,
            Builtin::Dict => Kind::Object,
            Builtin::List | Builtin::Tuple => Kind::Array,
            Builtin::Float => float_kind(self.0),
            Builtin::Bool => Kind::Bool,
            Builtin::None => Kind::Null,
            Builtin::Other => py_number::decimal_kind(self.0),
        }
    }
}

#[cold]
fn string_kind(text: Raw<'_>) -> Kind {
    if text.has_surrogate() { Kind::Foreign } else { Kind::String }
}

#[inline]
fn float_kind(value: Raw<'_>) -> Kind {
    if value.float().is_finite() { Kind::Float } else { Kind::Foreign }
}

#[inline]
fn is_plain_key(key: Raw<'_>) -> bool {
    key.is_str() && (key.is_compact_ascii() || !key.has_surrogate())
}

impl<'a> Instance<'a> for PyValue<'a> {
    type Key = PyKey<'a>;

    #[inline]
    fn kind(self) -> Kind {
        match self.0.exact() {
            Builtin::Str if self.0.is_compact_ascii() => Kind::String,
            Builtin::Str => string_kind(self.0),
            Builtin::Int => Kind::Integer,
            Builtin::Dict => Kind::Object,
            Builtin::List => Kind::Array,
            Builtin::Bool => Kind::Bool,
            Builtin::None => Kind::Null,
            Builtin::Float => float_kind(self.0),
            Builtin::Tuple | Builtin::Other => self.unusual_kind(),
        }
    }

    #[inline]
    fn fetch(self) {
        if self.0.is_dict() {
            self.0.dict_fetch();
        }
    }

    fn identity(self) -> usize {
        self.0.address()
    }

    fn boolean(self) -> bool {
        self.0.is_true()
    }

    #[inline]
    fn integer(self) -> Option<i64> {
        match self.builtin() {
            Builtin::Int => self.0.int(),
            _ => None,
        }
    }

    fn number(self) -> Number {
        match self.builtin() {
            Builtin::Int => self.0.int().map_or_else(|| py_number::big(self.0), Number::Int),
            Builtin::Float => Number::Float(self.0.float()),
            Builtin::Other => py_number::decimal(self.0),
            _ => Number::Int(0),
        }
    }

    #[inline]
    fn text(self) -> &'a str {
        if self.0.is_str() { self.0.text().unwrap_or("") } else { "" }
    }

    #[inline]
    fn word(self) -> (u64, &'a [u8]) {
        if self.0.is_str() { self.0.word_and_text().unwrap_or_default() } else { (0, &[]) }
    }

    #[inline]
    fn chars(self) -> usize {
        if self.0.is_str() { self.0.chars() } else { 0 }
    }

    #[inline]
    fn len(self) -> usize {
        match self.builtin() {
            Builtin::Dict => self.0.dict_len(),
            Builtin::List => self.0.list_len(),
            Builtin::Tuple => self.0.tuple_len(),
            _ => 0,
        }
    }

    #[inline]
    fn member_count(self) -> usize {
        if self.0.is_dict() { self.0.dict_len() } else { 0 }
    }

    #[inline]
    fn item_count(self) -> usize {
        if self.0.is_list() { self.0.list_len() } else { self.0.tuple_len() }
    }

    #[inline]
    fn item(self, index: usize) -> Option<Self> {
        match self.builtin() {
            Builtin::List => self.0.list_item(index).map(Self),
            Builtin::Tuple => self.0.tuple_item(index).map(Self),
            _ => None,
        }
    }

    fn member(self, token: usize, name: &str) -> Option<Self> {
        if !self.0.is_dict() {
            return None;
        }
        // Members are mostly few where this is asked: they are walked.
        if self.0.is_searchable() {
            return self.0.dict_find(name).map(Self);
        }
        let mut found = None;
        self.0.dict_members(|key, value| {
            let same = key.address() == token && token != 0;
            if same || (is_plain_key(key) && key.text() == Some(name)) {
                found = Some(Self(value));
            }
            found.is_none()
        });
        found
    }

    #[inline]
    fn items(self, mut visit: impl FnMut(usize, Self) -> bool) -> bool {
        if self.0.is_list() {
            return self.0.list_items(|index, item| visit(index, Self(item)));
        }
        (0..self.len()).all(|index| self.item(index).is_none_or(|item| visit(index, item)))
    }

    #[inline]
    fn members(self, mut visit: impl FnMut(Self::Key, Self) -> bool) -> bool {
        if !self.0.is_dict() {
            return true;
        }
        self.0.dict_members(|key, value| is_plain_key(key) && visit(PyKey(key), Self(value)))
    }

    #[inline]
    fn entries(self, mut visit: impl FnMut(Self::Key, Self) -> bool) -> bool {
        if !self.0.is_dict() {
            return true;
        }
        self.0.dict_members(|key, value| visit(PyKey(key), Self(value)))
    }

    fn foreign_key(self) -> Option<String> {
        let mut position = 0;
        while self.0.is_dict()
            && let Some((key, _)) = self.0.dict_next(&mut position)
        {
            if !is_plain_key(key) {
                return Some(PyValue(key).foreign_name());
            }
        }
        None
    }

    fn foreign_name(self) -> String {
        match self.builtin() {
            Builtin::Str => "a string with a lone surrogate".to_owned(),
            Builtin::Float if self.0.float().is_nan() => "NaN".to_owned(),
            Builtin::Float => "an infinite number".to_owned(),
            _ => py_number::type_name(self.0),
        }
    }
}
