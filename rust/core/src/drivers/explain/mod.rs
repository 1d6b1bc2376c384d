//! Lists what is wrong, once a verdict was no: the cold path.
//!
//! It runs the schema as written (a merged node's original), so that each issue names the keyword that the author
//! wrote. Paths are linked on the stack and turned into data only when an issue is kept. Everything it looks into is
//! bounded by the same limits as the verdict.

mod at;
mod choice;

pub use at::{At, Token};

use smallvec::SmallVec;

use super::check::{Checker, Exceeded};
use crate::instance::{Instance, Key, Kind, kinds};
use crate::issue::{Detail, Issue, Name};
use crate::keywords::{
    Keyword, bounds, content, enum_, format, item_count, items, length, multiple_of, pattern, properties,
    property_count, type_,
};
use crate::plan::{NONE, Node, NodeId, Plan, Property};

/// Issues of one value. Mostly there is one, which needs no allocation.
pub type Issues<I> = SmallVec<[Issue<I>; 1]>;

/// A run that lists issues.
pub struct Explainer<'p, I> {
    /// Decides on branches.
    pub run: Checker<'p>,
    found: Issues<I>,
    /// There are items or members that no schema was shown: what is not JSON may hide there.
    pub unseen: bool,
    limit: usize,
    depth: usize,
    levels: usize,
    /// Branches explained so far, and choices within choices at this place.
    branches: usize,
    choices: usize,
}

/// Nested schemas that are explained; beyond, the issue of the depth is all that is said.
const MOST_LEVELS: usize = 500;

/// Lists up to `limit` issues of a value; none where the plan accepts it.
pub fn issues<'a, I: Instance<'a>>(plan: &Plan, value: I, limit: usize) -> Issues<I> {
    plan.fetch();
    value.fetch();
    let mut run = Explainer {
        run: Checker::new(plan, 0),
        found: Issues::new(),
        unseen: false,
        limit,
        depth: 0,
        levels: 0,
        branches: 0,
        choices: 0,
    };
    // The root is explained without asking for its verdict first: most values that come here are refused.
    run.explain_node(&At::start(), plan.root, value, false);
    if run.unseen && run.wants_more() && !run.run.is_bounded(value) {
        run.foreign(&At::start(), value);
    }
    // A limit was passed where the answer did not show it, as under `not`.
    if run.found.is_empty()
        && run.wants_more()
        && let Some(exceeded) = run.run.exceeded()
    {
        let detail = match exceeded {
            Exceeded::Levels => Detail::Depth(plan.limits.depth),
            Exceeded::Steps => Detail::Steps(plan.limits.regex_steps),
        };
        run.issue(&At::start(), None, value, detail);
    }
    run.found
}

impl<'p, I> Explainer<'p, I> {
    /// The plan.
    pub fn plan(&self) -> &'p Plan {
        self.run.plan
    }

    /// Are more issues wanted?
    pub fn wants_more(&self) -> bool {
        self.found.len() < self.limit
    }
}

impl<'a, I: Instance<'a>> Explainer<'_, I> {
    /// Keeps an issue.
    #[inline]
    pub fn issue(&mut self, at: &At<'_>, keyword: Option<Keyword>, value: I, detail: Detail) {
        if !self.wants_more() {
            return;
        }
        self.keep(Issue { place: at.place(), keyword, value, detail, causes: Vec::new() });
    }

    /// Keeps the issue of a missing member, at the member's own path.
    pub fn missing(&mut self, at: &At<'_>, keyword: Keyword, name: Name, because: Option<&str>, object: I) {
        if !self.wants_more() {
            return;
        }
        let place = at.missing(name.clone());
        let detail = match because {
            None => Detail::Missing(name),
            Some(because) => Detail::Needed(Box::new((name, because.into()))),
        };
        self.keep(Issue { place, keyword: Some(keyword), value: object, detail, causes: Vec::new() });
    }

    #[inline]
    fn keep(&mut self, issue: Issue<I>) {
        self.found.push(issue);
    }

    /// Does a node accept the value?
    pub fn accepts(&mut self, id: NodeId, value: I) -> bool {
        self.run.branch(id, value)
    }

    /// Does a member satisfy all that its object asks of it?
    #[inline]
    pub fn accepts_member(&mut self, property: &Property, value: I) -> bool {
        let bit = value.kind().bit();
        if property.types & bit == 0 {
            return false;
        }
        if property.more & bit == 0 {
            return true;
        }
        let is_container = bit & kinds::CONTAINER != 0;
        // Where more than the first issue is asked for, all of the value is looked at while it is at hand.
        if is_container && self.limit > 1 && self.run.whole(property.node, value, self.depth) {
            return true;
        }
        let accepted = self.accepts(property.node, value);
        self.unseen |= accepted && is_container;
        accepted
    }

    /// Lists the issues of a value that a node refuses.
    pub fn refused(&mut self, at: &At<'_>, id: NodeId, value: I) {
        self.explain_node(at, id, value, true);
    }

    /// Lists the issues of a value, if a node refuses it.
    pub fn node(&mut self, at: &At<'_>, id: NodeId, value: I) {
        let node = self.plan().node(id);
        let bit = value.kind().bit();
        if node.types & bit != 0 && (node.more & bit == 0 || self.accepts(id, value)) {
            self.unseen |= bit & kinds::CONTAINER != 0;
        } else {
            self.explain_node(at, id, value, true);
        }
    }

    /// Lists the issues of a value that a node refuses (`refused`), or may refuse.
    fn explain_node(&mut self, at: &At<'_>, id: NodeId, value: I, refused: bool) {
        if !self.wants_more() {
            return;
        }
        let plan = self.plan();
        if self.levels >= MOST_LEVELS {
            self.unseen = true;
            return self.issue(at, None, value, Detail::Depth(plan.limits.depth));
        }
        self.levels += 1;
        let before = self.found.len();
        let written = plan.node(plan.node(id).written);
        // A plan without references knows the place of its root alone.
        let is_target = !at.is_start() && (plan.places.len() > 1 || id == plan.root);
        if is_target && plan.place_of(id).is_some() {
            self.written(&at.target(id), written, value);
        } else {
            self.written(at, written, value);
        }
        if self.found.len() == before && self.wants_more() && (refused || !self.accepts(id, value)) {
            // The verdict is no and no keyword spoke: a limit of the run stopped it.
            self.issue(at, None, value, Detail::Depth(plan.limits.depth));
        }
        self.levels -= 1;
    }

    fn written(&mut self, at: &At<'_>, node: &Node, value: I) {
        let plan = self.plan();
        let entered = self.run.enter(node);
        let before = self.found.len();
        let kind = value.kind();
        type_::explain(self, at, node, value);
        if node.types & kind.bit() != 0 {
            match kind {
                Kind::String if node.string != NONE => {
                    let rule = &plan.strings[node.string as usize];
                    enum_::explain(self, at, rule, value);
                    length::explain(self, at, rule, value);
                    pattern::explain(self, at, rule, value);
                    format::explain(self, at, rule, value);
                    content::explain(self, at, rule, value);
                }
                Kind::Integer | Kind::Float if node.number != NONE => {
                    bounds::explain(self, at, node.number, value);
                    multiple_of::explain(self, at, node.number, value);
                }
                Kind::Array if node.array != NONE => {
                    let rule = &plan.arrays[node.array as usize];
                    item_count::explain(self, at, rule, value);
                    self.deeper(at, value, |run| items::explain(run, at, rule, value));
                }
                Kind::Object if node.object != NONE => {
                    let rule = &plan.objects[node.object as usize];
                    property_count::explain(self, at, rule, value);
                    self.deeper(at, value, |run| properties::explain(run, at, rule, value));
                }
                _ => self.unseen |= kind.bit() & kinds::CONTAINER != 0,
            }
            for check in plan.checks_of(node) {
                if check.kinds & kind.bit() != 0
                    && self.wants_more()
                    && !check.rule.check(&mut self.run, value)
                {
                    check.rule.explain(self, at, value);
                }
            }
        } else {
            self.unseen |= kind.bit() & kinds::CONTAINER != 0;
            // The kinds of a node with branches are narrowed to theirs: let the branches speak.
            if let [check] = plan.checks_of(node)
                && node.types != 0
                && node.string == NONE
                && check.rule.accepted_kinds(&plan.nodes) == node.types
            {
                self.found.truncate(before);
                check.rule.explain(self, at, value);
            }
        }
        if entered {
            self.run.scope.pop();
        }
    }

    fn deeper(&mut self, at: &At<'_>, value: I, visit: impl FnOnce(&mut Self)) {
        let limit = self.plan().limits.depth;
        if self.depth >= limit {
            self.unseen = true;
            self.issue(at, None, value, Detail::Depth(limit));
            return;
        }
        self.depth += 1;
        visit(self);
        self.depth -= 1;
    }

    /// Lists what is not JSON data in a value: foreign kinds, keys that are no strings, too deep nesting.
    fn foreign(&mut self, at: &At<'_>, value: I) {
        if !self.wants_more() {
            return;
        }
        match value.kind() {
            Kind::Foreign => {
                // Where a keyword looked at the value, it was reported there.
                let (place, plan) = (at.place(), self.plan());
                let is_here = |issue: &Issue<I>| {
                    issue.place.depth() == place.depth()
                        && issue.place.hops().zip(place.hops()).all(|(a, b)| a.is_same(b, plan))
                };
                if !self.found.iter().any(is_here) {
                    self.issue(at, None, value, Detail::Foreign(value.foreign_name().into()));
                }
            }
            Kind::Array => self.deeper(at, value, |run| {
                value.items(|index, item| {
                    if item.kind().bit() & kinds::CONTAINER != 0 || item.kind() == Kind::Foreign {
                        run.foreign(&at.item(index), item);
                    }
                    run.wants_more()
                });
            }),
            Kind::Object => {
                if let Some(name) = value.foreign_key() {
                    self.issue(
                        at,
                        None,
                        value,
                        Detail::Foreign(format!("an object with a key that is {name}").into()),
                    );
                    return;
                }
                self.deeper(at, value, |run| {
                    value.members(|key, item| {
                        if item.kind().bit() & kinds::CONTAINER != 0 || item.kind() == Kind::Foreign {
                            run.foreign(&at.member(key.text()), item);
                        }
                        run.wants_more()
                    });
                });
            }
            _ => {}
        }
    }
}
