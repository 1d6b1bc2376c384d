//! The defaults of a schema, made once: their values, which are shared where they cannot be changed, and dicts of many of
//! them, which objects start as.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toolhead_core::drivers::decode::Start;
use toolhead_core::plan::{NONE, ObjectRule, Plan, Property};
use toolhead_core::value::Value;

use crate::compiled::Compiled;
use crate::ffi::make;
use crate::to_python;

/// Objects with at least so many defaults start as a copy of a dict that has them all: a block of memory is copied, where
/// each of many names would have to find its place. Below that the members stay in the order in which they came.
const MANY_DEFAULTS: usize = 32;

/// What an object starts as.
enum Template {
    Empty,
    /// The defaults, so many; None in place of those that are to be copied, and where those stand among the rule's names.
    Defaults(Py<PyDict>, usize, Box<[u32]>),
}

/// The value of a default.
enum Default {
    /// It cannot be changed: all objects have the same.
    Shared(Py<PyAny>),
    /// Every object needs its own, of the same items or members, which cannot be changed.
    List(Py<PyList>),
    Dict(Py<PyDict>),
    /// Every object needs its own, with all that is in it.
    Nested,
}

impl Default {
    fn new(py: Python<'_>, compiled: &Compiled, (value, token): &(Value, usize)) -> PyResult<Self> {
        let is_leaf = |value: &Value| !matches!(value, Value::Array(_) | Value::Object(_));
        let is_flat = match value {
            Value::Array(items) => items.iter().all(is_leaf),
            Value::Object(members) => members.iter().all(|(_, value)| is_leaf(value)),
            _ if *token != 0 => {
                return Ok(Self::Shared(make::known(&compiled.keys, py, *token).to_owned().unbind()));
            }
            _ => true,
        };
        if !is_flat {
            return Ok(Self::Nested);
        }
        Ok(match to_python::from_value(py, value)?.cast_into::<PyList>() {
            Ok(list) => Self::List(list.unbind()),
            Err(other) => match other.into_inner().cast_into::<PyDict>() {
                Ok(dict) => Self::Dict(dict.unbind()),
                Err(leaf) => Self::Shared(leaf.into_inner().unbind()),
            },
        })
    }

    /// The value, where it is shared.
    #[inline]
    fn shared(&self) -> Option<&Py<PyAny>> {
        if let Self::Shared(value) = self { Some(value) } else { None }
    }
}

/// The objects of a plan's defaults.
pub(crate) struct Defaults {
    /// By index in [`Plan::defaults`].
    values: Box<[Default]>,
    /// By index in [`Plan::objects`].
    templates: Box<[Template]>,
}

impl Defaults {
    pub(crate) fn new(py: Python<'_>, compiled: &Compiled) -> PyResult<Self> {
        let plan = &compiled.plan;
        let values: Box<[Default]> =
            plan.defaults.iter().map(|value| Default::new(py, compiled, value)).collect::<PyResult<_>>()?;
        let templates = plan
            .objects
            .iter()
            .map(|rule| {
                let defaults = rule.default_count as usize;
                if defaults >= MANY_DEFAULTS {
                    let copied = plan
                        .defaults_of(rule)
                        .filter(|(_, property)| values[property.default as usize].shared().is_none())
                        .map(|(at, _)| u32::try_from(at).unwrap_or(NONE))
                        .collect();
                    return template(py, compiled, rule, &values)
                        .map(|dict| Template::Defaults(dict, defaults, copied));
                }
                Ok(Template::Empty)
            })
            .collect::<PyResult<_>>()?;
        Ok(Self { values, templates })
    }

    /// The value of a default.
    #[inline]
    pub(crate) fn value<'py>(
        &self,
        py: Python<'py>,
        plan: &Plan,
        default: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        match &self.values[default as usize] {
            Default::Shared(value) => Ok(value.bind(py).clone()),
            Default::List(list) => Ok(list.bind(py).get_slice(0, usize::MAX).into_any()),
            Default::Dict(dict) => Ok(dict.bind(py).copy()?.into_any()),
            Default::Nested => to_python::from_value(py, &plan.defaults[default as usize].0),
        }
    }

    /// What an object of a rule starts with whose defaults are to be filled in.
    #[inline]
    pub(crate) fn start(&self, rule: u32) -> Start {
        match &self.templates[rule as usize] {
            Template::Defaults(_, count, _) => Start::Defaults(*count),
            Template::Empty => Start::Empty,
        }
    }

    /// The dict that an object of a rule starts as, unless it starts empty.
    #[inline]
    pub(crate) fn template(&self, rule: u32) -> Option<&Py<PyDict>> {
        match &self.templates[rule as usize] {
            Template::Defaults(dict, ..) => Some(dict),
            Template::Empty => None,
        }
    }

    /// Of the names of a rule with many defaults, those with one that every object needs its own copy of.
    pub(crate) fn copied(&self, rule: u32) -> &[u32] {
        match &self.templates[rule as usize] {
            Template::Defaults(.., copied) => copied,
            Template::Empty => &[],
        }
    }

    /// Adds the defaults that a finished object lacks.
    pub(crate) fn complete(
        &self,
        compiled: &Compiled,
        rule: u32,
        object: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let (py, plan) = (object.py(), &compiled.plan);
        let of_rule = &plan.objects[rule as usize];
        let add = |lacking: &Bound<'_, PyDict>, property: &Property| {
            let name = make::known(&compiled.keys, py, property.token);
            match self.values[property.default as usize].shared() {
                Some(shared) => Ok(make::dict_set_default(object, &name, shared.bind(py))?),
                None if lacking.contains(name)? => Ok(()),
                None => object.set_item(name, self.value(py, plan, property.default)?),
            }
        };
        let Template::Defaults(defaults, _, copied) = &self.templates[rule as usize] else {
            return plan.defaults_of(of_rule).try_for_each(|(_, property)| add(object, property));
        };
        // As if it had started with them. Into an empty dict the interpreter copies the table as it is.
        let members = object.copy()?;
        object.clear();
        make::dict_add(object, defaults.bind(py), false)?;
        make::dict_add(object, &members, true)?;
        let properties = plan.properties_of(of_rule);
        copied.iter().try_for_each(|at| add(&members, &properties[*at as usize]))
    }
}

fn template(
    py: Python<'_>,
    compiled: &Compiled,
    rule: &ObjectRule,
    values: &[Default],
) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    for (_, property) in compiled.plan.defaults_of(rule) {
        let name = make::known(&compiled.keys, py, property.token);
        match values.get(property.default as usize).and_then(Default::shared) {
            Some(shared) => dict.set_item(name, shared)?,
            None => dict.set_item(name, py.None())?,
        }
    }
    // A copy of a copy is the quick one: its table has no room to spare.
    Ok(dict.copy()?.unbind())
}
