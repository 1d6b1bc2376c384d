//! A JSON document in memory: the literals of a plan (`enum`, `const`, `default`), and the host of the core's tests.

use crate::drivers::decode::Text;
use crate::instance::{Instance, Key, Kind};
use crate::number::Number;

/// A JSON value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(Box<str>),
    /// An array.
    Array(Box<[Value]>),
    /// An object, in the order of its members.
    Object(Box<[(Box<str>, Value)]>),
}

impl Value {
    /// Copies an instance of bounded depth. [`Kind::Foreign`] becomes null.
    pub fn copy_of<'a, I: Instance<'a>>(instance: I) -> Self {
        match instance.kind() {
            Kind::Null | Kind::Foreign => Self::Null,
            Kind::Bool => Self::Bool(instance.boolean()),
            Kind::Integer | Kind::Float => Self::Number(instance.number()),
            Kind::String => Self::String(instance.text().into()),
            Kind::Array => {
                let mut items = Vec::with_capacity(instance.len());
                instance.items(|_, item| {
                    items.push(Self::copy_of(item));
                    true
                });
                Self::Array(items.into())
            }
            Kind::Object => {
                let mut members = Vec::with_capacity(instance.len());
                instance.members(|key, item| {
                    members.push((key.text().into(), Self::copy_of(item)));
                    true
                });
                Self::Object(members.into())
            }
        }
    }

    /// Memory behind the value, in bytes.
    pub fn heap_size(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => 0,
            Self::String(text) => text.len(),
            Self::Array(items) => items.iter().map(|item| size_of::<Self>() + item.heap_size()).sum(),
            Self::Object(members) => members
                .iter()
                .map(|(key, item)| size_of::<(Box<str>, Self)>() + key.len() + item.heap_size())
                .sum(),
        }
    }
}

impl<'a> Key<'a> for &'a str {
    fn token(self) -> usize {
        crate::instance::NO_TOKEN
    }
    fn text(self) -> &'a str {
        self
    }
}

impl<'a> Instance<'a> for &'a Value {
    type Key = &'a str;

    fn kind(self) -> Kind {
        match self {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Number(Number::Int(_)) => Kind::Integer,
            Value::Number(number @ Number::Big(_)) if number.is_integer() => Kind::Integer,
            Value::Number(Number::Float(_) | Number::Big(_)) => Kind::Float,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::Array,
            Value::Object(_) => Kind::Object,
        }
    }
    fn identity(self) -> usize {
        std::ptr::from_ref(self).addr()
    }
    fn boolean(self) -> bool {
        matches!(self, Value::Bool(true))
    }
    fn integer(self) -> Option<i64> {
        if let Value::Number(Number::Int(value)) = self { Some(*value) } else { None }
    }
    fn number(self) -> Number {
        if let Value::Number(number) = self { number.clone() } else { Number::Int(0) }
    }
    fn text(self) -> &'a str {
        if let Value::String(text) = self { text } else { "" }
    }
    fn len(self) -> usize {
        match self {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        }
    }
    fn item(self, index: usize) -> Option<Self> {
        if let Value::Array(items) = self { items.get(index) } else { None }
    }
    fn member(self, _token: usize, name: &str) -> Option<Self> {
        let Value::Object(members) = self else { return None };
        members.iter().find(|(key, _)| **key == *name).map(|(_, item)| item)
    }
    fn items(self, mut visit: impl FnMut(usize, Self) -> bool) -> bool {
        let Value::Array(items) = self else { return true };
        items.iter().enumerate().all(|(index, item)| visit(index, item))
    }
    fn members(self, mut visit: impl FnMut(Self::Key, Self) -> bool) -> bool {
        let Value::Object(members) = self else { return true };
        members.iter().all(|(key, item)| visit(key, item))
    }
}

/// Makes [`Value`]s.
#[derive(Debug)]
pub struct Values;

impl crate::drivers::decode::Builder for Values {
    type Value = Value;
    type Object = Vec<(Box<str>, Value)>;
    type Instance<'v> = &'v Value;
    type Error = std::convert::Infallible;
    const SHARES: bool = false;

    fn instance<'v>(value: &'v Value) -> &'v Value
    where
        Self: 'v,
    {
        value
    }
    fn null(&mut self) -> Value {
        Value::Null
    }
    fn boolean(&mut self, value: bool) -> Value {
        Value::Bool(value)
    }
    fn int(&mut self, value: i64) -> Result<Value, Self::Error> {
        Ok(Value::Number(Number::Int(value)))
    }
    fn big(&mut self, digits: &[u8]) -> Result<Value, Self::Error> {
        let number = Number::parse_exact(&String::from_utf8_lossy(digits)).unwrap_or(Number::Int(0));
        Ok(Value::Number(number))
    }
    fn float(&mut self, value: f64) -> Result<Value, Self::Error> {
        Ok(Value::Number(Number::Float(value)))
    }
    fn string(&mut self, text: Text<'_>) -> Result<Value, Self::Error> {
        Ok(Value::String(match text {
            Text::Ascii(bytes) => String::from_utf8_lossy(bytes).into(),
            Text::Unicode(text) => text.into(),
        }))
    }
    fn shared(&mut self, _token: usize) -> Option<Value> {
        None
    }
    fn array(&mut self, items: impl ExactSizeIterator<Item = Value>) -> Result<Value, Self::Error> {
        Ok(Value::Array(items.collect()))
    }
    fn object(&mut self, _: u32, _: crate::drivers::decode::Start) -> Result<Self::Object, Self::Error> {
        Ok(Vec::new())
    }
    fn insert_known(
        &mut self,
        object: &mut Self::Object,
        plan: &crate::plan::Plan,
        property: &crate::plan::Property,
        value: Value,
    ) -> Result<(), Self::Error> {
        self.insert(object, Value::String(plan.name(property).into()), value)
    }
    fn name(&mut self, _: u64, text: Text<'_>) -> Result<Value, Self::Error> {
        self.string(text)
    }
    fn insert(&mut self, object: &mut Self::Object, name: Value, value: Value) -> Result<(), Self::Error> {
        let Value::String(name) = name else { return Ok(()) };
        match object.iter_mut().find(|(key, _)| *key == name) {
            Some((_, old)) => *old = value,
            None => object.push((name, value)),
        }
        Ok(())
    }
    fn default_value(&self, plan: &crate::plan::Plan, default: u32) -> Result<Value, Self::Error> {
        Ok(plan.defaults[default as usize].0.clone())
    }
    fn complete(&mut self, _: &crate::plan::Plan, _: u32, _: &Value) -> Result<(), Self::Error> {
        Ok(())
    }
    fn finish(&mut self, object: Self::Object) -> Result<(Value, usize), Self::Error> {
        let members = object.len();
        Ok((Value::Object(object.into()), members))
    }
}
