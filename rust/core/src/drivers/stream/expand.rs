//! A value begins: the cells of its schemas, and of all schemas that they apply to it in place.

use super::cell::{Cell, Fault, NOBODY, Part, Status, Via};
use super::choice::Choice;
use super::facts::Literal;
use super::{Context, MOST_CELLS, MOST_HERE, Next, Run};
use crate::drivers::check::Checker;
use crate::instance::{Instance, Kind, kinds};
use crate::keywords::Early;
use crate::plan::{NONE, Node};
use crate::value::Value;

/// The schema's node as it is written.
pub(super) fn written(x: Context<'_>, id: u32) -> &Node {
    x.plan.node(x.plan.node(id).written)
}

impl Run {
    /// Puts a cell on the stack, if there is room; else its parent stays undecided.
    pub(super) fn push(&mut self, part: Part, parent: u32, via: Via, slot: u8, told: bool) {
        if parent != NOBODY {
            self.cells[parent as usize].pending += 1;
        }
        if self.cells.len() < MOST_CELLS && self.cells.len() < self.value_start + MOST_HERE {
            self.cells.push(Cell { slot, ..Cell::new(part, parent, via, told) });
        }
    }

    /// Makes the cells of a value of one of these kinds that begins at `at`.
    pub(super) fn begin(&mut self, x: Context<'_>, bits: u8, literal: Option<&Value>, at: usize) {
        self.value_start = self.cells.len();
        for index in 0..self.next.len() {
            let Next { part, parent, via } = self.next[index];
            if let (Part::Node(id), Part::Node(_)) = (part, self.cells[parent as usize].part)
                && accepts_at_once(x, id, bits)
            {
                continue;
            }
            let told =
                self.cells[parent as usize].told && matches!(self.cells[parent as usize].part, Part::Node(_));
            self.push(part, parent, via, 0, told);
        }
        self.next.clear();
        self.expand_from(x, self.value_start, bits, literal, at);
    }

    /// Applies the cells from `start` on to a value that begins, and the cells that they make.
    pub(super) fn expand_from(
        &mut self,
        x: Context<'_>,
        start: usize,
        bits: u8,
        literal: Option<&Value>,
        at: usize,
    ) {
        let mut index = start;
        while index < self.cells.len() {
            self.expand(x, u32::try_from(index).unwrap_or(NOBODY), bits, literal, at);
            index += 1;
        }
    }

    fn expand(&mut self, x: Context<'_>, cell: u32, bits: u8, literal: Option<&Value>, at: usize) {
        match self.cells[cell as usize].part {
            Part::Node(id) => self.expand_node(x, cell, id, bits, at),
            Part::Literal(id) => match &x.facts.literals[id as usize] {
                Literal::Scalar(value) => match literal {
                    Some(found) if crate::instance::equal(value, found) => self.pass(x, cell, at),
                    None if super::kinds_of(value) & bits != 0 => {}
                    _ => self.fail(x, cell, Fault::Literal, at),
                },
                Literal::Array(_) if bits == kinds::ARRAY => {}
                Literal::Object(_) if bits == kinds::OBJECT => {}
                _ => self.fail(x, cell, Fault::Literal, at),
            },
            Part::Values(check) => {
                let Some(allowed) = x.facts.allowed.get(&check) else { return };
                let able = match literal {
                    Some(found) => is_allowed(x, check, found),
                    None => allowed.kinds & bits != 0,
                };
                if !able {
                    self.fail(x, cell, Fault::Literal, at);
                } else if literal.is_some() {
                    self.pass(x, cell, at);
                } else if bits & kinds::CONTAINER != 0 {
                    let of_kind = |id: &&u32| match &x.facts.literals[**id as usize] {
                        Literal::Scalar(_) => false,
                        Literal::Array(_) => bits == kinds::ARRAY,
                        Literal::Object(_) => bits == kinds::OBJECT,
                    };
                    for id in allowed.all.iter().filter(of_kind) {
                        self.push(Part::Literal(*id), cell, Via::Here, 0, false);
                    }
                }
            }
            Part::Any(check) | Part::One(check)
                if bits == kinds::OBJECT && x.facts.choice(check).is_some() =>
            {
                let last = x.facts.choice(check).map_or(0, Choice::last_of_all);
                let via = Via::Branch(x.plan.checks[check as usize].keyword, last);
                self.push(Part::Later(check), cell, via, 0, false);
            }
            Part::Any(check) | Part::One(check) => {
                let rule = &x.plan.checks[check as usize];
                if let Early::Any(branches) | Early::One(branches) = rule.rule.early() {
                    for (index, branch) in (0..).zip(branches) {
                        self.push(Part::Node(*branch), cell, Via::Branch(rule.keyword, index), 0, false);
                    }
                }
            }
            Part::Not(check) => {
                if let Early::Not(node) = x.plan.checks[check as usize].rule.early() {
                    self.push(Part::Node(node), cell, Via::Under(crate::keywords::Keyword::Not), 0, false);
                }
            }
            Part::If(check) => {
                use crate::keywords::Keyword::{Else, If, Then};
                if let Early::If(nodes) = x.plan.checks[check as usize].rule.early() {
                    for (slot, (node, keyword)) in (0..).zip(nodes.into_iter().zip([If, Then, Else])) {
                        self.push(Part::Node(node), cell, Via::Under(keyword), slot, false);
                    }
                }
            }
            Part::Row(check, row) => {
                if let Early::Rows(rows) = x.plan.checks[check as usize].rule.early() {
                    self.push(Part::Node(rows[row as usize].1), cell, Via::Row, 0, false);
                }
            }
            Part::Contains(check) => {
                if let Early::Contains(_, count) = x.plan.checks[check as usize].rule.early()
                    && *count.start() == 0
                    && *count.end() == usize::MAX
                {
                    self.pass(x, cell, at);
                }
            }
            Part::Tag(_) if bits != kinds::STRING => {
                self.tag_of_another_kind(x, cell, at);
                if let Part::Node(id) = self.cells[cell as usize].part {
                    self.expand_node(x, cell, id, bits, at);
                }
            }
            Part::Later(_)
            | Part::Tag(_)
            | Part::Unique(_)
            | Part::Names(_)
            | Part::Needs(_)
            | Part::Whole(_) => {}
        }
    }

    fn expand_node(&mut self, x: Context<'_>, cell: u32, id: u32, bits: u8, at: usize) {
        let node = written(x, id);
        if node.types & bits == 0 {
            let fault = if node.types == 0 { Fault::Never } else { Fault::Type(kind_of(bits)) };
            return self.fail(x, cell, fault, at);
        }
        self.apply(x, cell, node, bits);
        let settled = match bits {
            kinds::STRING => node.string == NONE,
            kinds::NUMBER => node.number == NONE && node.types & bits == bits,
            kinds::ARRAY => node.array == NONE || self.array_is_settled(x, cell, 0),
            kinds::OBJECT => node.object == NONE || self.object_is_settled(x, cell, 0),
            _ => true,
        };
        if settled {
            self.own(x, cell, at);
        }
    }

    /// Makes the cells of the node's checks.
    fn apply(&mut self, x: Context<'_>, cell: u32, node: &Node, bits: u8) {
        let told = self.cells[cell as usize].told;
        for (at, check) in (node.checks..).zip(x.plan.checks_of(node)) {
            if check.kinds & bits == 0 {
                continue;
            }
            let keyword = check.keyword;
            let part = match check.rule.early() {
                Early::Every(nodes) => {
                    let alone = keyword != crate::keywords::Keyword::AllOf;
                    for (index, branch) in (0..).zip(nodes) {
                        let via = if alone { Via::Under(keyword) } else { Via::Branch(keyword, index) };
                        if !accepts_at_once(x, *branch, bits) {
                            self.push(Part::Node(*branch), cell, via, 0, told);
                        }
                    }
                    continue;
                }
                Early::Dynamic(reference) => {
                    let target = reference.target(x.plan, &self.scope_of(x, cell));
                    self.push(Part::Node(target), cell, Via::Under(keyword), 0, told);
                    continue;
                }
                Early::Rows(rows) => {
                    for row in 0..u32::try_from(rows.len()).unwrap_or(0) {
                        self.push(Part::Row(at, row), cell, Via::Here, 0, told);
                    }
                    continue;
                }
                Early::Any(_) => Part::Any(at),
                Early::One(_) => Part::One(at),
                Early::Not(_) => Part::Not(at),
                Early::If(_) => Part::If(at),
                Early::Contains(..) => Part::Contains(at),
                Early::Unique => {
                    self.uniques.push(super::Seen::default());
                    Part::Unique(u32::try_from(self.uniques.len() - 1).unwrap_or(0))
                }
                Early::Names(_) => Part::Names(at),
                Early::Needs(_) => Part::Needs(at),
                Early::Literals(_) => Part::Values(at),
                Early::Whole => Part::Whole(at),
            };
            self.push(part, cell, Via::Here, 0, told);
        }
    }

    /// The resources entered on the way to a cell, outermost first.
    pub(super) fn scope_of(&self, x: Context<'_>, cell: u32) -> Vec<u16> {
        let mut scope = Vec::new();
        let mut at = cell;
        while at != NOBODY {
            let this = &self.cells[at as usize];
            if let Part::Node(id) = this.part {
                scope.push(written(x, id).resource);
            }
            at = this.parent;
        }
        scope.reverse();
        scope.dedup();
        scope
    }

    /// A number or a literal is whole: the cells of scalars that wait for it.
    pub(super) fn scalar(&mut self, x: Context<'_>, value: &Value, at: usize) {
        let kind = value.kind();
        for index in self.value_start..self.cells.len() {
            let cell = u32::try_from(index).unwrap_or(NOBODY);
            if !self.cells[index].looks() {
                continue;
            }
            match self.cells[index].part {
                Part::Node(id) => {
                    let node = written(x, id);
                    if self.cells[index].own || self.cells[index].status != Status::Open {
                        continue;
                    }
                    if node.types & kind.bit() == 0 {
                        self.fail(x, cell, Fault::Type(kind), at);
                    } else if node.number == NONE {
                        self.own(x, cell, at);
                    } else if let Some(fault) = number_fault(x, node.number, value) {
                        self.fail(x, cell, fault, at);
                    } else {
                        self.own(x, cell, at);
                    }
                }
                Part::Literal(id) => {
                    let equal = matches!(&x.facts.literals[id as usize], Literal::Scalar(literal) if crate::instance::equal(literal, value));
                    if equal { self.pass(x, cell, at) } else { self.fail(x, cell, Fault::Literal, at) }
                }
                Part::Values(check) => {
                    if is_allowed(x, check, value) {
                        self.pass(x, cell, at);
                    } else {
                        self.fail(x, cell, Fault::Literal, at);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Does the `enum` or `const` of a check allow a scalar? Asked of the keyword itself, which has an index.
fn is_allowed(x: Context<'_>, check: u32, value: &Value) -> bool {
    x.plan.checks[check as usize].rule.check(&mut Checker::new(x.plan, 0), value)
}

/// The keyword of a number rule that refuses the number.
fn number_fault(x: Context<'_>, rule: u32, value: &Value) -> Option<Fault> {
    use crate::keywords::Keyword::{ExclusiveMaximum, ExclusiveMinimum, Maximum, Minimum, MultipleOf};
    let bounds = &x.plan.numbers[rule as usize];
    let accepts = match value.integer() {
        Some(int) => crate::drivers::check::is_int_within(bounds, int),
        None => crate::drivers::check::is_number_within(bounds, &value.number()),
    };
    if accepts {
        return None;
    }
    let number = value.number();
    if bounds.integral && !number.is_integer() {
        return Some(Fault::Type(value.kind()));
    }
    if let Some(bound) = &bounds.min {
        let order = number.compare(&bound.limit);
        if order.is_lt() || (order.is_eq() && bound.exclusive) {
            return Some(Fault::Number(if bound.exclusive { ExclusiveMinimum } else { Minimum }));
        }
    }
    if let Some(bound) = &bounds.max {
        let order = number.compare(&bound.limit);
        if order.is_gt() || (order.is_eq() && bound.exclusive) {
            return Some(Fault::Number(if bound.exclusive { ExclusiveMaximum } else { Maximum }));
        }
    }
    Some(Fault::Number(MultipleOf))
}

/// Does the schema accept every value of these kinds?
#[inline]
pub(super) fn accepts_at_once(x: Context<'_>, id: u32, bits: u8) -> bool {
    let node = x.plan.node(id);
    if node.types & bits != bits {
        return false;
    }
    if bits & kinds::CONTAINER == 0 {
        return node.more & bits == 0;
    }
    let rule = if bits == kinds::OBJECT { node.object } else { node.array };
    rule == NONE && x.plan.checks_of(node).iter().all(|check| check.kinds & bits == 0)
}

fn kind_of(bits: u8) -> Kind {
    match bits {
        kinds::NULL => Kind::Null,
        kinds::BOOL => Kind::Bool,
        kinds::STRING => Kind::String,
        kinds::ARRAY => Kind::Array,
        kinds::OBJECT => Kind::Object,
        _ => Kind::Float,
    }
}
