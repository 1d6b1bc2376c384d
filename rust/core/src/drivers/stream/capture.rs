//! Values kept while they arrive, for the keywords that compare or judge them whole.

use crate::value::Value;

#[derive(Debug)]
enum Part {
    Items(Vec<Value>),
    Members(Vec<(Box<str>, Value)>, Box<str>),
}

/// The containers being kept, outermost first.
#[derive(Debug, Default)]
pub(super) struct Capture {
    parts: Vec<Part>,
}

impl Capture {
    pub(super) fn is_active(&self) -> bool {
        !self.parts.is_empty()
    }

    pub(super) fn begin(&mut self, is_object: bool) {
        self.parts.push(if is_object {
            Part::Members(Vec::new(), "".into())
        } else {
            Part::Items(Vec::new())
        });
    }

    pub(super) fn key(&mut self, key: &str) {
        if let Some(Part::Members(_, name)) = self.parts.last_mut() {
            *name = key.into();
        }
    }

    pub(super) fn add(&mut self, value: Value) {
        match self.parts.last_mut() {
            Some(Part::Items(items)) => items.push(value),
            Some(Part::Members(members, name)) => members.push((std::mem::take(name), value)),
            None => {}
        }
    }

    /// The innermost container, which is whole now.
    pub(super) fn end(&mut self) -> Option<Value> {
        Some(match self.parts.pop()? {
            Part::Items(items) => Value::Array(items.into()),
            Part::Members(members, _) => Value::Object(members.into()),
        })
    }

    /// The items of the innermost array so far.
    pub(super) fn items(&self) -> &[Value] {
        match self.parts.last() {
            Some(Part::Items(items)) => items,
            _ => &[],
        }
    }
}
