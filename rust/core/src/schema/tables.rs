//! The growing tables of a plan, and how to take back what was added to them.

use crate::keywords::Check;
use crate::plan::{ArrayRule, Node, NodeId, NumberRule, ObjectRule, Property, StringRule, StringSet};
use crate::schema::pattern::Pattern;
use crate::value::Value;

/// The growing tables of a plan.
#[derive(Default)]
pub struct Tables {
    /// See [`Plan`] for all of them.
    pub nodes: Vec<Node>,
    /// Rules for strings.
    pub strings: Vec<StringRule>,
    /// Rules for numbers.
    pub numbers: Vec<NumberRule>,
    /// Rules for arrays.
    pub arrays: Vec<ArrayRule>,
    /// Rules for objects.
    pub objects: Vec<ObjectRule>,
    /// Names of objects.
    pub properties: Vec<Property>,
    /// Hash tables of objects.
    pub slots: Vec<u32>,
    /// Text of names.
    pub names: String,
    /// Checks.
    pub checks: Vec<Check>,
    /// Patterns.
    pub patterns: Vec<Pattern>,
    /// String sets.
    pub sets: Vec<StringSet>,
    /// Places of reference targets.
    pub places: Vec<(NodeId, Box<str>)>,
    /// See [`Plan::with_default`].
    pub with_default: Vec<u32>,
    /// Defaults.
    pub defaults: Vec<(Value, usize)>,
}

/// Appends to a table; the position.
pub(crate) fn push<T>(table: &mut Vec<T>, item: T) -> u32 {
    table.push(item);
    u32::try_from(table.len() - 1).unwrap_or(u32::MAX)
}

/// How far the tables had grown.
pub(super) struct Mark {
    lengths: [usize; 11],
    names: usize,
    pub(super) targets: usize,
    pub(super) kind_nodes: usize,
}

impl Mark {
    pub(super) fn of(tables: &Tables, targets: usize, kind_nodes: usize) -> Self {
        let lengths = [
            tables.nodes.len(),
            tables.strings.len(),
            tables.numbers.len(),
            tables.arrays.len(),
            tables.objects.len(),
            tables.properties.len(),
            tables.slots.len(),
            tables.checks.len(),
            tables.patterns.len(),
            tables.sets.len(),
            tables.defaults.len(),
        ];
        Self { lengths, names: tables.names.len(), targets, kind_nodes }
    }

    pub(super) fn rewind(&self, tables: &mut Tables) {
        let [nodes, strings, numbers, arrays, objects, properties, slots, checks, patterns, sets, defaults] =
            self.lengths;
        tables.nodes.truncate(nodes);
        tables.strings.truncate(strings);
        tables.numbers.truncate(numbers);
        tables.arrays.truncate(arrays);
        tables.objects.truncate(objects);
        tables.properties.truncate(properties);
        tables.slots.truncate(slots);
        tables.checks.truncate(checks);
        tables.patterns.truncate(patterns);
        tables.sets.truncate(sets);
        tables.names.truncate(self.names);
        tables.places.retain(|(node, _)| (*node as usize) < nodes);
        tables.defaults.truncate(defaults);
    }
}
