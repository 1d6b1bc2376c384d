//! What may stand where a string begins: asked for the repair of double-encoded arguments, before the string is judged.

use super::cell::{NOBODY, Part, Status};
use super::expand::written;
use super::facts::Literal;
use super::{Context, Next, Run};
use crate::instance::kinds;
use crate::json::sink::Containers;
use crate::keywords::Early;
use crate::plan::NodeId;

/// Schemas looked at to know the kinds that one accepts; beyond them every kind may be.
const MOST_SCHEMAS: usize = 256;

impl Run {
    /// The containers that may stand where a string that begins at `at` can only be wrong.
    pub(super) fn instead_of_string(&mut self, x: Context<'_>, at: usize) -> Containers {
        self.prepare(x, at);
        if !self.refuses(x, kinds::STRING) {
            return Containers::default();
        }
        Containers { object: !self.refuses(x, kinds::OBJECT), array: !self.refuses(x, kinds::ARRAY) }
    }

    /// Would a value of this kind, where the text stands, be a violation whatever comes? A part whose answer needs more
    /// than the kind is taken to accept it.
    fn refuses(&self, x: Context<'_>, kind: u8) -> bool {
        if self.frames.is_empty() {
            return kinds_of(x, x.plan.root, &mut MOST_SCHEMAS.clone()) & kind == 0;
        }
        // Parts that would fall, from those of the value outwards.
        let mut fallen: Vec<u32> = Vec::new();
        for Next { part, parent, .. } in &self.next {
            let kinds = match *part {
                Part::Node(id) => kinds_of(x, id, &mut MOST_SCHEMAS.clone()),
                Part::Literal(id) => kinds_of_literal(x, id),
                Part::Tag(_) => kinds::STRING,
                _ => kinds::ANY,
            };
            if kinds & kind == 0 && self.falls(*parent, &mut fallen) {
                return true;
            }
        }
        false
    }

    /// A child of the part would fail: is that a violation of the whole value?
    fn falls(&self, mut parent: u32, fallen: &mut Vec<u32>) -> bool {
        while parent != NOBODY {
            let cell = &self.cells[parent as usize];
            match cell.part {
                Part::Node(_) | Part::Literal(_) if cell.told => return true,
                Part::Node(_) | Part::Literal(_) if fallen.contains(&parent) => return false,
                Part::Node(_) | Part::Literal(_) | Part::Later(_) => {}
                Part::Any(_) | Part::Values(_) | Part::One(_)
                    if cell.status == Status::Open && cell.good == 0 =>
                {
                    let children =
                        fallen.iter().filter(|child| self.cells[**child as usize].parent == parent);
                    if children.count() < cell.pending as usize {
                        return false;
                    }
                    if cell.told {
                        return true;
                    }
                }
                _ => return false,
            }
            fallen.push(parent);
            parent = cell.parent;
        }
        false
    }
}

/// The kinds that a schema may accept.
fn kinds_of(x: Context<'_>, id: NodeId, left: &mut usize) -> u8 {
    if *left == 0 {
        return kinds::ANY;
    }
    *left -= 1;
    let node = written(x, id);
    let mut accepted = node.types & x.plan.node(id).types;
    for (at, check) in (node.checks..).zip(x.plan.checks_of(node)) {
        if accepted & check.kinds == 0 {
            continue;
        }
        let allowed = match check.rule.early() {
            Early::Every(nodes) => {
                nodes.iter().fold(kinds::ANY, |kinds, node| kinds & kinds_of(x, *node, left))
            }
            Early::Any(nodes) | Early::One(nodes) => {
                nodes.iter().fold(0, |kinds, node| kinds | kinds_of(x, *node, left))
            }
            Early::Literals(_) => x.facts.allowed.get(&at).map_or(kinds::ANY, |allowed| allowed.kinds),
            _ => kinds::ANY,
        };
        accepted &= allowed | !check.kinds;
    }
    accepted
}

fn kinds_of_literal(x: Context<'_>, id: u32) -> u8 {
    match &x.facts.literals[id as usize] {
        Literal::Scalar(value) => super::kinds_of(value),
        Literal::Array(_) => kinds::ARRAY,
        Literal::Object(_) => kinds::OBJECT,
    }
}
