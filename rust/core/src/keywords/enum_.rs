//! `enum` (2020-12 Validation 6.1.2).

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::{Behaviour, Check, Early, Keyword, Rule};
use crate::drivers::check::Checker;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, Kind, equal, hash_value, kinds};
use crate::issue::Detail;
use crate::plan::{NONE, StringRule, StringSet};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;
use crate::schema::tables::push;
use crate::value::Value;

/// The allowed values, where some are neither strings nor null.
#[derive(Clone, Debug)]
pub struct Enum {
    values: Box<[Value]>,
    /// Where they are many.
    index: Option<Box<Index>>,
}

/// The positions of many values by their hash, which has a key of its own.
#[derive(Clone, Debug)]
struct Index {
    keys: RandomState,
    by_hash: HashMap<u64, Vec<u32>>,
}

/// Up to this many values are compared one by one.
const FEW: usize = 16;

impl Index {
    fn of(values: &[Value]) -> Option<Box<Self>> {
        if values.len() <= FEW {
            return None;
        }
        let mut index = Self { keys: RandomState::new(), by_hash: HashMap::with_capacity(values.len()) };
        for (at, value) in (0u32..).zip(values) {
            index.by_hash.entry(index.hash(value)).or_default().push(at);
        }
        Some(Box::new(index))
    }

    fn hash<'a, I: Instance<'a>>(&self, value: I) -> u64 {
        let mut state = self.keys.build_hasher();
        hash_value(value, &mut state, &self.keys);
        state.finish()
    }
}

/// The kinds of value that may equal a literal: a whole number may come as either kind of number.
pub(crate) fn kinds_of(value: &Value) -> u8 {
    match value.kind() {
        Kind::Integer | Kind::Float => kinds::NUMBER,
        kind => kind.bit(),
    }
}

/// A literal of the schema as JSON text for a message, shortened.
pub(crate) fn literal_text(value: &Value) -> Box<str> {
    fn write(value: &Value, out: &mut String) {
        if out.len() > 80 {
            return;
        }
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(number) => out.push_str(&number.to_string()),
            Value::String(text) => out.push_str(&crate::issue::quoted(text)),
            Value::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    write(item, out);
                }
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                for (index, (key, item)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    out.push_str(&crate::issue::quoted(key));
                    out.push_str(": ");
                    write(item, out);
                }
                out.push('}');
            }
        }
    }
    let mut out = String::new();
    write(value, &mut out);
    crate::issue::shortened(&out, 100).into()
}

/// Compiles a list of values. Strings join the rule for strings; null is a matter of kind.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if value.kind() != Kind::Array {
        return Err(scope.error(Keyword::Enum, format!("Expected an array, got {}", value.kind().word())));
    }
    compiler.literal_depth(scope, Keyword::Enum, value)?;
    let mut simple = draft.string.as_ref().is_none_or(|rule| rule.set == NONE);
    let mut types = 0;
    value.items(|_, item| {
        let kind = item.kind();
        types |= if matches!(kind, Kind::Integer | Kind::Float) { kinds::NUMBER } else { kind.bit() };
        simple &= matches!(kind, Kind::String | Kind::Null);
        true
    });
    if simple {
        let mut members = Vec::with_capacity(value.len());
        value.items(|_, item| {
            if item.kind() == Kind::String {
                members.push((item.text().into(), compiler.host.intern(item.text())));
            }
            true
        });
        let narrows = draft.types & !types != 0;
        draft.string().set = push(&mut compiler.tables.sets, StringSet::new(members.into(), false, narrows));
    } else {
        let mut values = Vec::with_capacity(value.len());
        value.items(|_, item| {
            values.push(Value::copy_of(item));
            true
        });
        let index = Index::of(&values);
        let rule = Rule::Enum(Enum { values: values.into(), index });
        draft.checks.push(Check { kinds: kinds::ANY, keyword: Keyword::Enum, rule });
    }
    draft.types &= types;
    Ok(())
}

/// Says that a string is none of the allowed ones.
pub(crate) fn explain<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    rule: &StringRule,
    value: I,
) {
    if rule.set != NONE && run.plan().sets[rule.set as usize].find(value.text().as_bytes()).is_none() {
        not_in_set(run, at, rule.set, 0, value);
    }
}

/// Says that a value of another kind is none of the allowed strings; false where `type` speaks of it.
pub(crate) fn explain_kind<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    node: &crate::plan::Node,
    value: I,
) -> bool {
    let plan = run.plan();
    let set = plan.strings.get(node.string as usize).map_or(NONE, |rule| rule.set);
    let narrows = plan.sets.get(set as usize).is_some_and(|set| set.narrows);
    if narrows {
        not_in_set(run, at, set, node.types, value);
    }
    narrows
}

fn not_in_set<'a, I: Instance<'a>>(run: &mut Explainer<'_, I>, at: &At<'_>, set: u32, types: u8, value: I) {
    let constant = run.plan().sets[set as usize].constant;
    let keyword = if constant { Keyword::Const } else { Keyword::Enum };
    run.issue(at, Some(keyword), value, Detail::Set(set, types));
}

impl Enum {
    /// The values, if all are machine integers.
    pub(crate) fn integers(&self) -> Option<Vec<i64>> {
        let integer = |value: &Value| if let Value::Number(number) = value { number.to_i64() } else { None };
        self.values.iter().map(integer).collect()
    }
}

impl Behaviour for Enum {
    #[inline(never)]
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        let Some(index) = &self.index else { return self.values.iter().any(|allowed| equal(allowed, value)) };
        run.is_bounded(value)
            && index.by_hash.get(&index.hash(value)).is_some_and(|found| {
                found
                    .iter()
                    .any(|at| self.values.get(*at as usize).is_some_and(|allowed| equal(allowed, value)))
            })
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let allowed = self.values.iter().map(literal_text).collect();
        run.issue(at, Some(Keyword::Enum), value, Detail::OneOf(allowed));
    }

    fn accepted_kinds(&self, _: &[crate::plan::Node]) -> u8 {
        self.values.iter().fold(0, |types, value| types | kinds_of(value))
    }

    fn heap_size(&self) -> usize {
        let index = self.index.as_ref().map_or(0, |index| index.by_hash.len() * 48);
        index + self.values.iter().map(|value| size_of::<Value>() + value.heap_size()).sum::<usize>()
    }

    fn early(&self) -> Early<'_> {
        Early::Literals(&self.values)
    }
}
