//! `anyOf` (2020-12 Core 10.2.1.2).

use super::{Behaviour, Check, Early, Keyword, Rule, all_of};
use crate::drivers::check::Checker;
use crate::drivers::evaluated::Evaluated;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, Kind, kinds};
use crate::plan::{NONE, Node, NodeId, TRUE};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope, Tables};
use crate::schema::discriminator::{Choice, Tags};
use crate::schema::draft::Draft;

/// Schemas of which one at least must accept the value.
#[derive(Clone, Debug)]
pub struct AnyOf {
    branches: Box<[NodeId]>,
    by_kind: ByKind,
    tags: Option<Box<Tags>>,
}

/// For each kind the only branch that may accept it, [`NONE`] where several may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByKind([NodeId; 8]);

impl Default for ByKind {
    fn default() -> Self {
        Self([NONE; 8])
    }
}

impl ByKind {
    /// Sorts branches by the kinds they accept.
    pub(crate) fn of(branches: &[NodeId], nodes: &[Node]) -> Self {
        let mut table = Self::default();
        for (kind, slot) in table.0.iter_mut().enumerate().take(7) {
            let mut able = branches.iter().filter(|branch| nodes[**branch as usize].types & (1 << kind) != 0);
            if let (Some(only), None) = (able.next(), able.next()) {
                *slot = *only;
            }
        }
        table
    }

    /// The only branch for a kind.
    pub(crate) fn get(self, kind: Kind) -> Option<NodeId> {
        let branch = self.0[kind as usize];
        (branch != NONE).then_some(branch)
    }
}

/// The kinds that one of the branches at least accepts.
pub(crate) fn kinds_of(branches: &[NodeId], nodes: &[Node]) -> u8 {
    branches.iter().fold(0, |types, branch| types | nodes[*branch as usize].types)
}

/// Compiles a list of schemas.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let branches = all_of::schemas(compiler, scope, Keyword::AnyOf, value)?;
    let rule = Rule::AnyOf(AnyOf { branches, by_kind: ByKind::default(), tags: None });
    draft.checks.push(Check { kinds: kinds::ANY, keyword: Keyword::AnyOf, rule });
    Ok(())
}

impl Behaviour for AnyOf {
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        let kind = value.kind();
        if let Some(only) = self.by_kind.get(kind) {
            return run.branch(only, value);
        }
        if kind == Kind::Object
            && let Some(tags) = &self.tags
        {
            match tags.choose(value) {
                Choice::Branch(at) => return run.branch(self.branches[at], value),
                Choice::NoBranch => return false,
                Choice::Unknown => {}
            }
        }
        self.branches.iter().any(|branch| *branch == TRUE || run.branch(*branch, value))
    }

    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        run.branches(at, Keyword::AnyOf, &self.branches, self.tags.as_deref(), value);
    }

    fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        for branch in &self.branches {
            if found.accepts(*branch, value) {
                found.node(*branch, value);
            }
        }
    }

    fn in_place(&self, visit: &mut dyn FnMut(NodeId)) {
        self.branches.iter().for_each(|branch| visit(*branch));
    }

    fn applied<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I, visit: &mut dyn FnMut(NodeId)) {
        // The first branch that accepts the value is the one that was meant; often its kind or its tag tells.
        let chosen = match (self.by_kind.get(value.kind()), &self.tags) {
            (Some(only), _) => Some(only),
            (None, Some(tags)) if value.kind() == Kind::Object => match tags.choose(value) {
                Choice::Branch(at) => Some(self.branches[at]),
                Choice::NoBranch => return,
                Choice::Unknown => None,
            },
            _ => None,
        };
        match chosen {
            Some(branch) if run.branch(branch, value) => visit(branch),
            Some(_) => {}
            None => {
                if let Some(branch) = self.branches.iter().find(|branch| run.branch(**branch, value)) {
                    visit(*branch);
                }
            }
        }
    }

    fn alternatives(&self) -> Option<&[NodeId]> {
        Some(&self.branches)
    }

    fn sole(&self, kind: Kind) -> Option<NodeId> {
        self.by_kind.get(kind)
    }

    fn sort_branches(&mut self, tables: &Tables) {
        self.by_kind = ByKind::of(&self.branches, &tables.nodes);
        self.tags = Tags::of(&self.branches, tables);
    }

    fn accepted_kinds(&self, nodes: &[Node]) -> u8 {
        kinds_of(&self.branches, nodes)
    }

    fn heap_size(&self) -> usize {
        size_of_val(&*self.branches) + self.tags.as_ref().map_or(0, |tags| tags.size())
    }

    fn early(&self) -> Early<'_> {
        Early::Any(&self.branches)
    }
}
