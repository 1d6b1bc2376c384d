//! Fills in the defaults of missing members, at every depth, in a copy of what changes (public API, section 1).
//!
//! The value is known to be valid. A default applies where the schema that declares it applies: through `allOf`,
//! `$ref`, the branch of `anyOf` or `oneOf` that accepts the value, and the arm of `if` that counts. A default is
//! the author's value: it is copied as written and nothing is filled into it, else a recursive schema would have no end.

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
        let behind = waiting.len();
        for check in plan.checks_of(plan.node(written)) {
            check.rule.applied(run, value, &mut |next| waiting.push(next));
        }
        waiting[behind..].reverse();
    }
    all
}

/// The same, but only those that lead to a default: branches that do not are never asked.
fn applied_with_defaults<'a, I: Instance<'a>>(
    run: &mut Checker<'_>,
    nodes: &[NodeId],
    value: I,
) -> Vec<NodeId> {
    let plan = run.plan;
    run.forget();
    let mut all: Vec<NodeId> = Vec::new();
    let mut waiting: Vec<NodeId> = nodes.iter().rev().copied().collect();
    while let Some(id) = waiting.pop() {
        let written = plan.node(id).written;
        if all.contains(&written) || !plan.leads_to_default(written) {
            continue;
        }
        all.push(written);
        let behind = waiting.len();
        for check in plan.checks_of(plan.node(written)) {
            let mut leads = false;
            check.rule.in_place(&mut |next| leads |= plan.leads_to_default(next));
            if leads {
                check.rule.applied(run, value, &mut |next| waiting.push(next));
            }
        }
        waiting[behind..].reverse();
    }
    all
}

/// The nodes that apply to a member.
pub(crate) fn of_member(plan: &Plan, nodes: &[NodeId], name: &str) -> Vec<NodeId> {
    let mut found = Vec::new();
    each_of_member(plan, nodes, name, &mut |node| found.push(node));
    found
}

fn each_of_member(plan: &Plan, nodes: &[NodeId], name: &str, visit: &mut dyn FnMut(NodeId)) {
    for node in nodes.iter().map(|id| plan.node(*id)).filter(|node| node.object != NONE) {
        let rule = &plan.objects[node.object as usize];
        let properties = plan.properties_of(rule);
        let declared = plan.find_name(rule, properties, name.as_bytes()).map(|at| properties[at].declared);
        let mut named = false;
        if let Some(declared) = declared.filter(|declared| *declared != NONE) {
            named = true;
            visit(declared);
        }
        for (pattern, node) in &rule.patterns {
            if plan.patterns[*pattern as usize].is_match(name).is_ok_and(|matched| matched) {
                named = true;
                visit(*node);
            }
        }
        if !named {
            visit(rule.additional);
        }
    }
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
    if plan.plain_defaults {
        return fill_plain(plan, edit, plan.root, value);
    }
    let mut run = Checker::new(plan, 0);
    fill_value(&mut run, edit, &[plan.root], value)
}

/// The same where no default stands behind a keyword that applies in place: one walk, no lists of nodes.
fn fill_plain<E: Edit>(
    plan: &Plan,
    edit: &mut E,
    id: NodeId,
    value: &E::Value,
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
                    Some(property) if key.token() == property.token => Some(next),
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
            for (_, property) in plan.defaults_of(rule).filter(|(at, _)| !seen.has(*at)) {
                let copy = copied(edit, &mut changed, value)?;
                let filled = edit.literal(&plan.defaults[property.default as usize].0)?;
                edit.set_member(&copy, plan.name(property), filled)?;
            }
            for (name, node) in below {
                let Some(member) = edit.member(value, &name) else { continue };
                if let Some(filled) = fill_plain(plan, edit, node, &member)? {
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
                if let Some(filled) = fill_plain(plan, edit, node, &item)? {
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
) -> Result<Option<E::Value>, E::Error> {
    let plan = run.plan;
    if !nodes.iter().any(|node| plan.leads_to_default(*node)) {
        return Ok(None);
    }
    let mut changed: Option<E::Value> = None;
    match E::instance(value).kind() {
        Kind::Object => {
            let nodes = applied_with_defaults(run, nodes, E::instance(value));
            let mut below: Vec<(String, Vec<NodeId>)> = Vec::new();
            E::instance(value).members(|key, _| {
                let mut leads = false;
                each_of_member(plan, &nodes, key.text(), &mut |node| leads |= plan.leads_to_default(node));
                if leads {
                    below.push((key.text().to_owned(), of_member(plan, &nodes, key.text())));
                }
                true
            });
            for (name, nodes) in below {
                let Some(member) = edit.member(value, &name) else { continue };
                if let Some(filled) = fill_value(run, edit, &nodes, &member)? {
                    let copy = copied(edit, &mut changed, value)?;
                    edit.set_member(&copy, &name, filled)?;
                }
            }
            let rules = nodes.iter().filter_map(|node| plan.objects.get(plan.node(*node).object as usize));
            for rule in rules.filter(|rule| rule.has_defaults()) {
                let properties = plan.properties_of(rule);
                let mut seen = Seen::default();
                E::instance(changed.as_ref().unwrap_or(value)).members(|key, _| {
                    if let Some(at) = plan.find_name(rule, properties, key.text().as_bytes()) {
                        seen.mark(at);
                    }
                    true
                });
                for (_, property) in plan.defaults_of(rule).filter(|(at, _)| !seen.has(*at)) {
                    let name = plan.name(property);
                    let filled = edit.literal(&plan.defaults[property.default as usize].0)?;
                    let copy = copied(edit, &mut changed, value)?;
                    edit.set_member(&copy, name, filled)?;
                }
            }
        }
        Kind::Array => {
            let nodes = applied_with_defaults(run, nodes, E::instance(value));
            for index in 0..E::instance(value).len() {
                let Some(item) = edit.item(value, index) else { continue };
                if let Some(filled) = fill_value(run, edit, &of_item(plan, &nodes, index), &item)? {
                    let copy = copied(edit, &mut changed, value)?;
                    edit.set_item(&copy, index, filled)?;
                }
            }
        }
        _ => {}
    }
    Ok(changed)
}
