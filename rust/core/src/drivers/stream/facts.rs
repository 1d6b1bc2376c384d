//! What the stream driver looks up about a plan: computed once, at its first run.
//!
//! The literals of `enum` and `const` are flattened, so that a part of one is a number like any schema.

use std::collections::HashMap;

use super::choice::Choice;
use crate::instance::{Instance, Kind};
use crate::keywords::Early;
use crate::plan::{FALSE, NONE, NodeId, ObjectRule, Plan, Property};
use crate::value::Value;

/// A literal, or a part of one.
#[derive(Debug)]
pub(super) enum Literal {
    /// Null, a boolean, a number or a string.
    Scalar(Value),
    /// By position.
    Array(Box<[u32]>),
    /// By name, in ascending order.
    Object(Box<[(Box<str>, u32)]>),
}

/// The literals of one keyword.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    /// In ascending order.
    pub(super) strings: Vec<Box<str>>,
    /// Of every kind.
    pub(super) all: Vec<u32>,
    /// Their kinds.
    pub(super) kinds: u8,
}

/// What an object rule allows.
#[derive(Debug)]
pub(super) struct Members {
    /// Members that can fail by their value; [`NONE`] where a name not yet seen may fail by itself.
    pub(super) constrained: u32,
    /// Most members that can stand in it.
    pub(super) most: usize,
    /// Where no other name may come: those that may, in ascending order.
    pub(super) allowed: Box<[u32]>,
    /// Where only so many may come: those that must, in ascending order.
    pub(super) required: Box<[u32]>,
}

/// Tables beside a plan.
#[derive(Debug)]
pub struct Facts {
    pub(super) literals: Vec<Literal>,
    /// By position of the check in [`Plan::checks`].
    pub(super) allowed: HashMap<u32, Allowed>,
    /// The ascending order of each of [`Plan::sets`].
    pub(super) sets: Box<[Box<[u32]>]>,
    /// By position of the rule in [`Plan::objects`].
    pub(super) members: Box<[Members]>,
    /// By position of the check.
    choices: Box<[Option<Choice>]>,
}

impl Facts {
    pub(super) fn of(plan: &Plan) -> Self {
        let sets = plan.sets.iter().map(|set| sorted(set.members.len(), |at| &*set.members[at].0)).collect();
        let mut facts = Self {
            literals: Vec::new(),
            allowed: HashMap::new(),
            sets,
            members: Box::default(),
            choices: Box::default(),
        };
        for (at, check) in (0..).zip(&plan.checks) {
            let Early::Literals(values) = check.rule.early() else { continue };
            let mut allowed = Allowed::default();
            for value in values {
                if value.kind() == Kind::String {
                    allowed.strings.push(value.text().into());
                }
                allowed.kinds |= super::kinds_of(value);
                allowed.all.push(facts.flatten(value));
            }
            allowed.strings.sort_unstable();
            facts.allowed.insert(at, allowed);
        }
        facts.members = plan
            .objects
            .iter()
            .map(|rule| {
                let properties = plan.properties_of(rule);
                let is_free = |node: NodeId| plan.node(node).is_free();
                let open = is_free(rule.additional) && rule.patterns.iter().all(|(_, node)| is_free(*node));
                let constrained =
                    properties.iter().filter(|property| is_constrained(plan, property.declared)).count();
                let names = properties.iter().filter(|property| property.types != 0).count();
                let closed = rule.additional == FALSE && rule.patterns.is_empty();
                Members {
                    constrained: if open { u32::try_from(constrained).unwrap_or(NONE) } else { NONE },
                    most: if closed { names.min(rule.max) } else { rule.max },
                    allowed: if rule.additional == FALSE {
                        named(plan, rule, |property| property.types != 0)
                    } else {
                        Box::default()
                    },
                    required: if rule.max == usize::MAX {
                        Box::default()
                    } else {
                        named(plan, rule, |property| {
                            property.required && (rule.additional != FALSE || property.types != 0)
                        })
                    },
                }
            })
            .collect();
        facts.choices = plan.checks.iter().map(|check| Choice::of(plan, &facts.members, check)).collect();
        facts
    }

    /// The choice of a check whose branches can wait for a constant.
    #[inline]
    pub(super) fn choice(&self, check: u32) -> Option<&Choice> {
        self.choices.get(check as usize)?.as_ref()
    }

    fn flatten(&mut self, value: &Value) -> u32 {
        let literal = match value {
            Value::Array(items) => Literal::Array(items.iter().map(|item| self.flatten(item)).collect()),
            Value::Object(members) => {
                let mut members: Box<[_]> =
                    members.iter().map(|(name, item)| (name.clone(), self.flatten(item))).collect();
                members.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
                Literal::Object(members)
            }
            scalar => Literal::Scalar(scalar.clone()),
        };
        self.literals.push(literal);
        u32::try_from(self.literals.len() - 1).unwrap_or(NONE)
    }
}

/// Can a member fail by its value?
pub(super) fn is_constrained(plan: &Plan, declared: NodeId) -> bool {
    declared != NONE && !plan.node(declared).is_free()
}

/// The numbers up to `count` in the ascending order of their texts.
fn sorted<'a>(count: usize, text: impl Fn(usize) -> &'a str) -> Box<[u32]> {
    let mut order: Box<[u32]> = (0..u32::try_from(count).unwrap_or(NONE)).collect();
    order.sort_unstable_by_key(|at| text(*at as usize));
    order
}

/// Positions of some properties of a rule, in the ascending order of their names.
fn named(plan: &Plan, rule: &ObjectRule, is_meant: impl Fn(&Property) -> bool) -> Box<[u32]> {
    let properties = plan.properties_of(rule);
    let order = sorted(properties.len(), |at| plan.name(&properties[at]));
    order.into_iter().filter(|at| is_meant(&properties[*at as usize])).collect()
}
