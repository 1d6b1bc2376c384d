//! The branches of `anyOf` and `oneOf`, sorted so that most values meet one branch only: by their kind, or by the
//! constant of a discriminating member.

use super::discriminator::{Choice, Tags};
use super::sieve::{self, Sieve};
use super::tables::Tables;
use crate::drivers::check::Checker;
use crate::drivers::evaluated::Evaluated;
use crate::instance::{Instance, Kind};
use crate::plan::{NONE, Node, NodeId};

/// Schemas of which some must accept the value.
#[derive(Clone, Debug)]
pub struct Branches {
    /// The nodes, as written.
    pub nodes: Box<[NodeId]>,
    /// For each kind the only branch that may accept it, [`NONE`] where several may.
    by_kind: [NodeId; 8],
    /// The discriminator, if there is one.
    pub tags: Option<Box<Tags>>,
    /// What leaves some out, where there is no discriminator.
    sieve: Option<Box<Sieve>>,
}

/// How many branches may accept a value.
pub enum Able {
    /// One.
    Only(NodeId),
    /// None.
    Nothing,
    /// Several, or it is not known.
    Several,
}

impl Branches {
    /// Branches in the order of the schema, not yet sorted.
    pub fn new(nodes: Box<[NodeId]>) -> Self {
        Self { nodes, by_kind: [NONE; 8], tags: None, sieve: None }
    }

    /// Sorts the branches, once all nodes are known.
    pub fn sort(&mut self, tables: &Tables) {
        for (kind, slot) in self.by_kind.iter_mut().enumerate().take(7) {
            let mut able =
                self.nodes.iter().filter(|branch| tables.nodes[**branch as usize].types & (1 << kind) != 0);
            if let (Some(only), None) = (able.next(), able.next()) {
                *slot = *only;
            }
        }
        self.tags = Tags::of(&self.nodes, tables);
        if self.tags.is_none() {
            self.sieve = Sieve::of(&self.nodes.iter().copied().map(Some).collect::<Vec<_>>(), tables);
        }
    }

    /// The only branch for a kind.
    #[inline]
    pub fn sole(&self, kind: Kind) -> Option<NodeId> {
        let branch = self.by_kind[kind.index()];
        (branch != NONE).then_some(branch)
    }

    /// The branch that is left for a value, by its kind or its tag.
    #[inline]
    pub fn able<'a, I: Instance<'a>>(&self, value: I) -> Able {
        let kind = value.kind();
        if let Some(only) = self.sole(kind) {
            return Able::Only(only);
        }
        match &self.tags {
            Some(tags) if kind == Kind::Object => match tags.choose(value) {
                Choice::Branch(at) => Able::Only(self.nodes[at]),
                Choice::NoBranch => Able::Nothing,
                Choice::Unknown => Able::Several,
            },
            _ => Able::Several,
        }
    }

    /// What a string under a name tells of an object: the only branch that may accept it, or None within. None where the
    /// name is not the one that tells branches apart.
    pub fn told(&self, name: &[u8], text: &[u8]) -> Option<Option<NodeId>> {
        let at = match (&self.tags, &self.sieve) {
            (Some(tags), _) if name == tags.name.as_bytes() => tags.branch_of_text(text),
            (_, Some(sieve)) if name == sieve.name().as_bytes() => sieve.told(text),
            _ => return None,
        };
        Some(at.map(|at| self.nodes[at]))
    }

    /// The branches to be tried for a value, in the order of the schema, where several are able.
    #[inline]
    pub fn several<'a, I: Instance<'a>>(&self, value: I) -> impl Iterator<Item = NodeId> {
        sieve::left(self.sieve.as_deref(), &self.nodes, value)
    }

    /// Marks what the branches that accept the value evaluated.
    pub fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        for branch in &self.nodes {
            if found.accepts(*branch, value) {
                found.node(*branch, value);
            }
        }
    }

    /// Visits the branch that was meant: the first that accepts the value.
    pub fn applied<'a, I: Instance<'a>>(
        &self,
        run: &mut Checker<'_>,
        value: I,
        visit: &mut dyn FnMut(NodeId),
    ) {
        let meant = match self.able(value) {
            Able::Only(branch) => run.branch(branch, value).then_some(branch),
            Able::Nothing => None,
            Able::Several => self.several(value).find(|branch| run.branch(*branch, value)),
        };
        if let Some(branch) = meant {
            visit(branch);
        }
    }

    /// The kinds that one of the branches at least accepts.
    pub fn accepted_kinds(&self, nodes: &[Node]) -> u8 {
        self.nodes.iter().fold(0, |types, branch| types | nodes[*branch as usize].types)
    }

    /// Memory behind the branches.
    pub fn heap_size(&self) -> usize {
        size_of_val(&*self.nodes)
            + self.tags.as_ref().map_or(0, |tags| tags.size())
            + self.sieve.as_ref().map_or(0, |sieve| sieve.size())
    }
}
