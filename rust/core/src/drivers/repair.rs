//! Repairs a value that was refused, where models are known to err (public API, section 2): an empty root, a null
//! for an optional member, JSON text in place of an object or array. On a copy, guided by the schema, cumulative.
//!
//! Never a coercion of numbers or booleans, never a name changed. A null that the schema accepts is left alone.

use super::check::Checker;
use super::defaults::{applied, copied, names, of_item, of_member};
use super::edit::Edit;
use crate::instance::{Instance, Kind, kinds};
use crate::plan::{NONE, NodeId, Plan, Property};
use crate::schema::uri;
use crate::value::Value;

/// A repaired value, and what was done to it: `removed null at /a`, `parsed JSON text at /b`.
pub type Repaired<V> = (V, Vec<String>);

/// Repairs tried in one value.
const MOST_REPAIRS: usize = 1_000;
/// Branches tried in one value: branches of branches multiply.
const MOST_TRIES: usize = 1_000;

struct Repair<'p, 'e, E: Edit> {
    run: Checker<'p>,
    edit: &'e mut E,
    done: Vec<String>,
    place: String,
    depth: usize,
    tries: usize,
}

/// The value repaired so that the plan accepts it; None where that does not succeed.
///
/// # Errors
/// When the host fails.
pub fn repair<E: Edit>(
    plan: &Plan,
    edit: &mut E,
    value: &E::Value,
) -> Result<Option<Repaired<E::Value>>, E::Error> {
    let run = Checker::new(plan, 0);
    let mut repair = Repair { run, edit, done: Vec::new(), place: String::new(), depth: 0, tries: 0 };
    let root = plan.node(plan.root);
    // Which of several schemas an empty root was meant for, nobody can say.
    let is_choice = plan.checks_of(root).iter().any(|check| check.rule.branches().is_some());
    let types = if is_choice { 0 } else { root.types };
    let start = match E::instance(value).kind() {
        // Nothing given where an object or array is wanted.
        Kind::Null if root.types & kinds::NULL == 0 => repair.empty_root(types)?,
        Kind::String if root.types & kinds::STRING == 0 && E::instance(value).text().trim().is_empty() => {
            repair.empty_root(types)?
        }
        _ => None,
    };
    let start = start.unwrap_or_else(|| value.clone());
    let fixed = repair.value(&[plan.root], &start)?.unwrap_or(start);
    let valid = super::check::is_valid_data(plan, E::instance(&fixed));
    Ok((valid && !repair.done.is_empty()).then_some((fixed, repair.done)))
}

impl<E: Edit> Repair<'_, '_, E> {
    fn empty_root(&mut self, types: u8) -> Result<Option<E::Value>, E::Error> {
        let (made, name) = if types & kinds::OBJECT != 0 {
            (Value::Object(Box::new([])), "{}")
        } else if types & kinds::ARRAY != 0 {
            (Value::Array(Box::new([])), "[]")
        } else {
            return Ok(None);
        };
        self.done.push(format!("took an empty input as {name}"));
        self.edit.literal(&made).map(Some)
    }

    fn note(&mut self, what: &str) {
        let place = if self.place.is_empty() { "the root" } else { &self.place };
        self.done.push(format!("{what} at {place}"));
    }

    fn accepts(&mut self, nodes: &[NodeId], value: &E::Value) -> bool {
        nodes.iter().all(|node| self.run.passing(*node, E::instance(value)))
    }

    /// The value with what can be repaired repaired; None where nothing was.
    fn value(&mut self, nodes: &[NodeId], value: &E::Value) -> Result<Option<E::Value>, E::Error> {
        let most = self.run.plan.limits.depth;
        if self.depth >= most || self.done.len() >= MOST_REPAIRS || self.accepts(nodes, value) {
            return Ok(None);
        }
        self.depth += 1;
        let repaired = self.refused(nodes, value);
        self.depth -= 1;
        repaired
    }

    fn refused(&mut self, nodes: &[NodeId], value: &E::Value) -> Result<Option<E::Value>, E::Error> {
        let plan = self.run.plan;
        let kind = E::instance(value).kind();
        if kind == Kind::String {
            let wanted = nodes.iter().fold(kinds::ANY, |types, node| types & plan.node(*node).types);
            if wanted & kinds::STRING != 0 || wanted & kinds::CONTAINER == 0 {
                return Ok(None);
            }
            let text = E::instance(value).text().to_owned();
            let Some(parsed) = self.edit.parsed(&text)? else { return Ok(None) };
            if E::instance(&parsed).kind().bit() & wanted & kinds::CONTAINER == 0 {
                return Ok(None);
            }
            self.note("parsed JSON text");
            return Ok(Some(self.value(nodes, &parsed)?.unwrap_or(parsed)));
        }
        if kind.bit() & kinds::CONTAINER == 0 {
            return Ok(None);
        }
        let (all, choices) = self.nodes_of_refused(nodes, value);
        let mut now = self.children(&all, value)?;
        for branches in choices {
            let before = self.done.len();
            for branch in branches {
                if self.tries >= MOST_TRIES {
                    break;
                }
                self.tries += 1;
                let start = now.clone().unwrap_or_else(|| value.clone());
                let (inner, _) = self.nodes_of_refused(&[branch], &start);
                let tried = self.children(&inner, &start)?.unwrap_or(start);
                if self.accepts(&[branch], &tried) {
                    now = Some(tried);
                    break;
                }
                self.done.truncate(before);
            }
        }
        Ok(now)
    }

    /// The nodes that apply for sure, and the branches of which one is meant but none accepts the value yet.
    fn nodes_of_refused(&mut self, nodes: &[NodeId], value: &E::Value) -> (Vec<NodeId>, Vec<Vec<NodeId>>) {
        let plan = self.run.plan;
        let instance = E::instance(value);
        let mut all = applied(&mut self.run, nodes, instance);
        let mut choices = Vec::new();
        let mut at = 0;
        while at < all.len() {
            for check in plan.checks_of(plan.node(all[at])) {
                let Some(branches) = check.rule.branches() else { continue };
                let branches = &branches.nodes;
                if branches.iter().any(|branch| self.run.branch(*branch, instance)) {
                    continue;
                }
                if let Some(sole) = check.rule.sole(instance.kind()) {
                    for node in applied(&mut self.run, &[sole], instance) {
                        if !all.contains(&node) {
                            all.push(node);
                        }
                    }
                } else {
                    let able =
                        branches.iter().filter(|id| plan.node(**id).types & instance.kind().bit() != 0);
                    choices.push(able.copied().collect());
                }
            }
            at += 1;
        }
        (all, choices)
    }

    fn children(&mut self, nodes: &[NodeId], value: &E::Value) -> Result<Option<E::Value>, E::Error> {
        if E::instance(value).kind() == Kind::Array {
            self.items(nodes, value)
        } else {
            self.members(nodes, value)
        }
    }

    /// The mentions of a name by the objects' keywords of the nodes.
    fn mentions(&self, nodes: &[NodeId], name: &str) -> Vec<&Property> {
        let plan = self.run.plan;
        let objects = nodes.iter().map(|id| plan.node(*id)).filter(|node| node.object != NONE);
        objects
            .filter_map(|node| {
                let rule = &plan.objects[node.object as usize];
                let properties = plan.properties_of(rule);
                plan.find_name(rule, properties, name.as_bytes()).map(|at| &properties[at])
            })
            .collect()
    }

    fn members(&mut self, nodes: &[NodeId], value: &E::Value) -> Result<Option<E::Value>, E::Error> {
        let plan = self.run.plan;
        let mut changed: Option<E::Value> = None;
        for name in names(E::instance(value)) {
            let Some(member) = self.edit.member(value, &name) else { continue };
            let wanted = of_member(plan, nodes, &name);
            if self.accepts(&wanted, &member) {
                continue;
            }
            let length = self.place.len();
            uri::push_token(&mut self.place, &name);
            let mentions = self.mentions(nodes, &name);
            // A name that no schema mentions stays: the author closed the object, and the model must be told.
            let optional = !mentions.is_empty() && mentions.iter().all(|property| !property.required);
            if optional && E::instance(&member).kind() == Kind::Null {
                let copy = copied(self.edit, &mut changed, value)?;
                self.edit.remove_member(&copy, &name)?;
                self.note("removed null");
            } else if let Some(fixed) = self.value(&wanted, &member)? {
                let copy = copied(self.edit, &mut changed, value)?;
                self.edit.set_member(&copy, &name, fixed)?;
            }
            self.place.truncate(length);
        }
        Ok(changed)
    }

    fn items(&mut self, nodes: &[NodeId], value: &E::Value) -> Result<Option<E::Value>, E::Error> {
        let plan = self.run.plan;
        let mut changed: Option<E::Value> = None;
        for index in 0..E::instance(value).len() {
            let Some(item) = self.edit.item(value, index) else { continue };
            let length = self.place.len();
            uri::push_token(&mut self.place, &index.to_string());
            if let Some(fixed) = self.value(&of_item(plan, nodes, index), &item)? {
                let copy = copied(self.edit, &mut changed, value)?;
                self.edit.set_item(&copy, index, fixed)?;
            }
            self.place.truncate(length);
        }
        Ok(changed)
    }
}
