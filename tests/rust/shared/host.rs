//! The core over its own values: a host without registry, and what the drivers say of one instance.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::HashMap;

use serde_json::Value as Json;
use toolhead_core::drivers::decode::{Stop, decode};
use toolhead_core::drivers::{check, explain};
use toolhead_core::limits::Limits;
use toolhead_core::number::Number;
use toolhead_core::plan::Plan;
use toolhead_core::schema::SchemaError;
use toolhead_core::schema::compile::{Host, Options, compile};
use toolhead_core::schema::dialect::Dialect;
use toolhead_core::value::{Value, Values};

/// A host whose tokens are the order of first use, and which knows no other document.
#[derive(Default)]
pub(crate) struct Alone {
    tokens: HashMap<String, usize>,
}

impl<'a> Host<'a> for Alone {
    type Instance = &'a Value;

    fn intern(&mut self, text: &str) -> usize {
        let next = self.tokens.len() + 1;
        *self.tokens.entry(text.to_owned()).or_insert(next)
    }
    fn builtin(&mut self, _: &str) -> Option<Self::Instance> {
        None
    }
    fn retrieve(&mut self, _: &str) -> Result<Option<Self::Instance>, SchemaError> {
        Ok(None)
    }
}

/// A JSON document as the core's value.
pub(crate) fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Number(read_number(&number.to_string())),
        Json::String(text) => Value::String(text.as_str().into()),
        Json::Array(items) => Value::Array(items.iter().map(value).collect()),
        Json::Object(members) => {
            Value::Object(members.iter().map(|(key, item)| (key.as_str().into(), value(item))).collect())
        }
    }
}

/// A number as a JSON decoder holds it: integers exact, the others as doubles.
fn read_number(text: &str) -> Number {
    if text.contains(['.', 'e', 'E']) {
        return Number::Float(text.parse().unwrap_or(f64::NAN));
    }
    Number::parse_exact(text).unwrap_or(Number::Int(0))
}

/// Compiles a schema of a dialect; `formats` says whether `format` asserts.
pub(crate) fn plan(schema: &Value, dialect: &str, formats: bool) -> Result<Plan, SchemaError> {
    let dialect = Dialect::named(dialect).unwrap_or_else(|| panic!("no dialect {dialect}"));
    compile(schema, &mut Alone::default(), Options { dialect, formats, limits: Limits::default() })
}

/// The verdict that all drivers share.
///
/// # Panics
/// When they do not.
pub(crate) fn verdict(plan: &Plan, instance: &Value, text: &str) -> bool {
    let checked = check::is_valid(plan, instance);
    let issues = explain::issues(plan, instance, 100);
    assert_eq!(checked, issues.is_empty(), "check says {checked}, explain says {issues:?} of {text}");
    let decoded = decode(plan, text.as_bytes(), &mut Values);
    match decoded {
        Ok(_) => assert!(checked, "check refuses, decode accepts {text}"),
        Err(Stop::Refused) => assert!(!checked, "check accepts, decode refuses {text}"),
        Err(Stop::Syntax) => panic!("decode finds no JSON in {text}"),
        Err(Stop::Host(never)) => match never {},
    }
    checked
}
