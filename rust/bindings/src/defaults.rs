//! The defaults of a plan as Python objects, made once: what cannot be changed is shared by all values that get it.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use toolhead_core::plan::{NONE, ObjectRule, Plan};
use toolhead_core::value::Value;

use crate::compiled::Compiled;
use crate::ffi::make::{self, Made};
use crate::to_python;

/// Objects with at least so many defaults start as a copy of a dict that has them all. It costs a copy of a block of
/// memory, where each insertion costs a search; below that the members stay in the order in which they came.
const MANY: usize = 8;

/// The objects of a plan's defaults.
pub(crate) struct Defaults {
    /// By index in [`Plan::defaults`]; None for what every object needs its own copy of.
    values: Box<[Option<Py<PyAny>>]>,
    /// By index in [`Plan::objects`]. A default that is to be copied is None here.
    templates: HashMap<u32, Py<PyDict>>,
}

impl Defaults {
    pub(crate) fn new(py: Python<'_>, compiled: &Compiled) -> PyResult<Self> {
        let plan = &compiled.plan;
        let value = |(value, token): &(Value, usize)| match value {
            Value::Array(_) | Value::Object(_) => Ok(None),
            _ if *token != 0 => Ok(Some(make::known(&compiled.keys, py, *token).to_owned().unbind())),
            _ => to_python::from_value(py, value).map(|made| Some(made.unbind())),
        };
        let values: Box<[Option<Py<PyAny>>]> = plan.defaults.iter().map(value).collect::<PyResult<_>>()?;
        let mut templates = HashMap::new();
        for (rule, at) in plan.objects.iter().zip(0u32..) {
            let count = plan.properties_of(rule).iter().filter(|property| property.default != NONE).count();
            if count >= MANY {
                templates.insert(at, template(py, compiled, rule, &values)?);
            }
        }
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
            Some(shared) => Ok(shared.bind(py).clone()),
            None => to_python::from_value(py, &plan.defaults[default as usize].0),
        }
    }

    /// A new dict with all defaults of a rule, None in place of those to be copied; None where they are few.
    #[inline]
    pub(crate) fn object<'py>(&self, py: Python<'py>, rule: u32) -> Option<Made<Bound<'py, PyDict>>> {
        if self.templates.is_empty() {
            return None;
        }
        self.templates.get(&rule).map(|template| make::dict_copy(template.bind(py)))
    }

    /// Adds the defaults that a finished object lacks.
    pub(crate) fn complete(
        &self,
        compiled: &Compiled,
        rule: u32,
        object: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let (py, plan) = (object.py(), &compiled.plan);
        let template = self.templates.get(&rule);
        for property in plan.properties_of(&plan.objects[rule as usize]) {
            if property.default == NONE
                || (template.is_some() && self.values[property.default as usize].is_some())
            {
                continue;
            }
            let name = make::known(&compiled.keys, py, property.token);
            if !object.contains(name)? {
                object.set_item(name, self.value(py, plan, property.default)?)?;
            }
        }
        // Behind the others, which are there by now.
        template.map_or(Ok(()), |template| Ok(make::dict_add(object, template.bind(py))?))
    }
}

fn template(
    py: Python<'_>,
    compiled: &Compiled,
    rule: &ObjectRule,
    values: &[Option<Py<PyAny>>],
) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    for property in compiled.plan.properties_of(rule).iter().filter(|property| property.default != NONE) {
        let name = make::known(&compiled.keys, py, property.token);
        match &values[property.default as usize] {
            Some(shared) => dict.set_item(name, shared)?,
            None => dict.set_item(name, py.None())?,
        }
    }
    // A copy of a copy is the quick one: its table has no room to spare.
    Ok(dict.copy()?.unbind())
}
