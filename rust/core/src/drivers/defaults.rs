//! Fills in the defaults of missing members, at every depth, in a copy of what changes (public API, section 1).
//!
//! The value is known to be valid. A default applies where the schema that declares it applies: through `allOf`,
//! `$ref`, the branch of `anyOf` or `oneOf` that accepts the value, and the arm of `if` that counts. What was filled in
//! is filled in turn, but a default never inside itself: a recursive schema would have no end.

use std::collections::HashMap;

use super::check::Checker;
use super::edit::Edit;
use crate::instance::{Instance, Key, Kind};
use crate::plan::{NONE, NodeId, Plan};

/// The nodes that apply to a valid value beside the given ones, themselves included.
pub(crate) fn applied<'a, I: Instance<'a>>(run: &mut Checker<'_>, nodes: &[NodeId], value: I) -> Vec<NodeId> {
    let plan = run.plan;
    run.forget();
    let mut all: Vec<NodeId> = Vec::new();
    let mut waiting: Vec<NodeId> = nodes.iter().rev().copied().collect();
    while let Some(id) = waiting.pop() {
        let written = plan.node(id).written;
        if all.contains(&written) {
            continue;
        }
        all.push(written);
        for check in plan.checks_of(plan.node(written)) {
            check.rule.applied(run, value, &mut |next| waiting.push(next));
        }
    }
    all
}

/// The nodes that apply to a member.
pub(crate) fn of_member(plan: &Plan, nodes: &[NodeId], name: &str) -> Vec<NodeId> {
    let mut found = Vec::new();
    for node in nodes.iter().map(|id| plan.node(*id)).filter(|node| node.object != NONE) {
        let rule = &plan.objects[node.object as usize];
        let properties = plan.properties_of(rule);
        let declared = plan.find_name(rule, properties, name.as_bytes()).map(|at| properties[at].declared);
        let mut named = false;
        if let Some(declared) = declared.filter(|declared| *declared != NONE) {
            named = true;
            found.push(declared);
        }
        for (pattern, node) in &rule.patterns {
            if plan.patterns[*pattern as usize].is_match(name).is_ok_and(|matched| matched) {
                named = true;
                found.push(*node);
            }
        }
        if !named {
            found.push(rule.additional);
        }
    }
    found
}

/// The nodes that apply to an item.
pub(crate) fn of_item(plan: &Plan, nodes: &[NodeId], index: usize) -> Vec<NodeId> {
    let rules = nodes.iter().map(|id| plan.node(*id)).filter(|node| node.array != NONE);
    rules
        .map(|node| {
            let rule = &plan.arrays[node.array as usize];
            rule.prefix.get(index).copied().unwrap_or(rule.rest)
        })
        .collect()
}

/// The names of an object's members.
pub(crate) fn names<'a, I: Instance<'a>>(value: I) -> Vec<String> {
    let mut names = Vec::with_capacity(value.len());
    value.members(|key, _| {
        names.push(key.text().to_owned());
        true
    });
    names
}

/// The value with defaults, where it lacks some; None where nothing changes.
///
/// # Errors
/// When the host fails.
pub fn fill<E: Edit>(plan: &Plan, edit: &mut E, value: &E::Value) -> Result<Option<E::Value>, E::Error> {
    let mut filling = Vec::new();
    if plan.plain_defaults {
        return fill_plain(plan, edit, plan.root, value, &mut filling);
    }
    let mut run = Checker::new(plan, 0);
    fill_value(&mut run, edit, &[plan.root], value, &mut filling)
}

/// The same where no default stands behind a keyword that applies in place: one walk, no lists of nodes.
fn fill_plain<E: Edit>(
    plan: &Plan,
    edit: &mut E,
    id: NodeId,
    value: &E::Value,
    filling: &mut Vec<u32>,
) -> Result<Option<E::Value>, E::Error> {
    let node = plan.node(id);
    let mut changed: Option<E::Value> = None;
    match E::instance(value).kind() {
        Kind::Object if node.object != NONE => {
            let rule = &plan.objects[node.object as usize];
            let properties = plan.properties_of(rule);
            let mut seen = Seen::default();
            let mut below: Vec<(String, NodeId)> = Vec::new();
            let mut next = 0;
            E::instance(value).members(|key, _| {
                let at = match properties.get(next) {
                    Some(property) if key.token() == property.token && property.token != 0 => Some(next),
                    _ => plan.find_name(rule, properties, key.text().as_bytes()),
                };
                let node = at.map_or(rule.additional, |at| properties[at].node);
                if let Some(at) = at {
                    seen.mark(at);
                    next = at + 1;
                }
                if plan.leads_to_default(node) {
                    below.push((key.text().to_owned(), node));
                }
                true
            });
            if rule.has_defaults {
                for (at, property) in properties.iter().enumerate() {
                    if property.default != NONE && !seen.has(at) && !filling.contains(&property.default) {
                        let copy = copied(edit, &mut changed, value)?;
                        let filled = edit.literal(&plan.defaults[property.default as usize].0)?;
                        filling.push(property.default);
                        let deeper = fill_plain(plan, edit, property.node, &filled, filling)?;
                        filling.pop();
                        edit.set_member(&copy, plan.name(property), deeper.unwrap_or(filled))?;
                    }
                }
            }
            for (name, node) in below {
                let Some(member) = edit.member(value, &name) else { continue };
                if let Some(filled) = fill_plain(plan, edit, node, &member, filling)? {
                    let copy = copied(edit, &mut changed, value)?;
                    edit.set_member(&copy, &name, filled)?;
                }
            }
        }
        Kind::Array if node.array != NONE => {
            let rule = &plan.arrays[node.array as usize];
            for index in 0..E::instance(value).len() {
                let node = rule.prefix.get(index).copied().unwrap_or(rule.rest);
                if !plan.leads_to_default(node) {
                    continue;
                }
                let Some(item) = edit.item(value, index) else { continue };
                if let Some(filled) = fill_plain(plan, edit, node, &item, filling)? {
                    let copy = copied(edit, &mut changed, value)?;
                    edit.set_item(&copy, index, filled)?;
                }
            }
        }
        _ => {}
    }
    Ok(changed)
}

/// Positions of names that were seen: a word for the first ones, more words beyond.
#[derive(Default)]
pub(crate) struct Seen {
    first: u64,
    rest: Vec<u64>,
}

impl Seen {
    #[inline]
    pub(crate) fn mark(&mut self, at: usize) {
        if at < 64 {
            self.first |= 1 << at;
        } else {
            let word = at / 64 - 1;
            if word >= self.rest.len() {
                self.rest.resize(word + 1, 0);
            }
            self.rest[word] |= 1 << (at % 64);
        }
    }

    #[inline]
    pub(crate) fn has(&self, at: usize) -> bool {
        let word = if at < 64 { Some(&self.first) } else { self.rest.get(at / 64 - 1) };
        word.is_some_and(|word| word & (1 << (at % 64)) != 0)
    }
}

/// The copy of a value that is being changed, made at the first change.
pub(crate) fn copied<E: Edit>(
    edit: &mut E,
    changed: &mut Option<E::Value>,
    value: &E::Value,
) -> Result<E::Value, E::Error> {
    if let Some(copy) = changed {
        return Ok(copy.clone());
    }
    let copy = edit.shallow_copy(value)?;
    *changed = Some(copy.clone());
    Ok(copy)
}

fn fill_value<E: Edit>(
    run: &mut Checker<'_>,
    edit: &mut E,
    nodes: &[NodeId],
    value: &E::Value,
    filling: &mut Vec<u32>,
) -> Result<Option<E::Value>, E::Error> {
    let plan = run.plan;
    if !nodes.iter().any(|node| plan.leads_to_default(*node)) {
        return Ok(None);
    }
    let mut changed: Option<E::Value> = None;
    match E::instance(value).kind() {
        Kind::Object => {
            let nodes = applied(run, nodes, E::instance(value));
            let mut fresh: HashMap<&str, u32> = HashMap::new();
            for rule in nodes.iter().filter_map(|node| plan.objects.get(plan.node(*node).object as usize)) {
                for property in plan.properties_of(rule).iter().filter(|property| property.default != NONE) {
                    let name = plan.name(property);
                    let missing = edit.member(changed.as_ref().unwrap_or(value), name).is_none();
                    if missing && !filling.contains(&property.default) {
                        fresh.insert(name, property.default);
                        let copy = copied(edit, &mut changed, value)?;
                        let filled = edit.literal(&plan.defaults[property.default as usize].0)?;
                        edit.set_member(&copy, name, filled)?;
                    }
                }
            }
            let now = changed.clone().unwrap_or_else(|| value.clone());
            for name in names(E::instance(&now)) {
                let Some(member) = edit.member(&now, &name) else { continue };
                let default = fresh.get(&*name).copied();
                filling.extend(default);
                let filled = fill_value(run, edit, &of_member(plan, &nodes, &name), &member, filling)?;
                if default.is_some() {
                    filling.pop();
                }
                if let Some(filled) = filled {
                    let copy = copied(edit, &mut changed, value)?;
                    edit.set_member(&copy, &name, filled)?;
                }
            }
        }
        Kind::Array => {
            let nodes = applied(run, nodes, E::instance(value));
            for index in 0..E::instance(value).len() {
                let Some(item) = edit.item(value, index) else { continue };
                if let Some(filled) = fill_value(run, edit, &of_item(plan, &nodes, index), &item, filling)? {
                    let copy = copied(edit, &mut changed, value)?;
                    edit.set_item(&copy, index, filled)?;
                }
            }
        }
        _ => {}
    }
    Ok(changed)
}
