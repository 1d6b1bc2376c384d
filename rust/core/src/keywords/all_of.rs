//! `allOf` (2020-12 Core 10.2.1.1). Branches that can be merged into their node are; see `schema::link`.

use super::{Behaviour, Check, Early, Keyword, Rule, if_};
use crate::drivers::check::Checker;
use crate::drivers::evaluated::Evaluated;
use crate::drivers::explain::{At, Explainer, Token};
use crate::instance::{Instance, Kind, kinds};
use crate::plan::{Node, NodeId};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;
use crate::schema::sieve::{self, Sieve};
use crate::schema::tables::Tables;

/// Schemas that all must accept the value.
#[derive(Clone, Debug)]
pub struct AllOf {
    branches: Box<[NodeId]>,
    /// Leaves out those that are an `if` whose condition refuses the value.
    sieve: Option<Box<Sieve>>,
}

/// The nodes of a keyword's list of schemas, which is not empty.
pub(crate) fn schemas<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    keyword: Keyword,
    value: H::Instance,
) -> Result<Box<[NodeId]>, SchemaError> {
    if value.kind() != Kind::Array || value.is_empty() {
        return Err(scope.error(keyword, "Expected a list of at least one schema"));
    }
    let place = scope.place.then(keyword.name());
    let mut nodes = Vec::with_capacity(value.len());
    let mut failed = None;
    value.items(|index, schema| {
        match compiler.subschema(scope, &place.then(&index.to_string()), schema) {
            Ok(node) => nodes.push(node),
            Err(error) => failed = Some(error),
        }
        failed.is_none()
    });
    failed.map_or(Ok(nodes.into()), Err)
}

/// The check that all of these nodes accept a value.
pub(crate) fn of(branches: Box<[NodeId]>) -> Check {
    Check { kinds: kinds::ANY, keyword: Keyword::AllOf, rule: Rule::AllOf(AllOf { branches, sieve: None }) }
}

/// Compiles a list of schemas.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let branches = schemas(compiler, scope, Keyword::AllOf, value)?;
    draft.merge.extend(&branches);
    draft.checks.push(of(branches));
    Ok(())
}

impl Behaviour for AllOf {
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        sieve::left(self.sieve.as_deref(), &self.branches, value).all(|branch| run.branch(branch, value))
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        for (index, branch) in self.branches.iter().enumerate() {
            run.node(&at.under(Keyword::AllOf.name(), Token::Index(index)), *branch, value);
        }
    }

    fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        for branch in &self.branches {
            found.node(*branch, value);
        }
    }

    fn in_place(&self, visit: &mut dyn FnMut(NodeId)) {
        self.branches.iter().for_each(|branch| visit(*branch));
    }

    fn applied<'a, I: Instance<'a>>(&self, _: &mut Checker<'_>, _: I, visit: &mut dyn FnMut(NodeId)) {
        self.in_place(visit);
    }

    fn without(&mut self, merged: &[NodeId]) -> bool {
        self.branches =
            self.branches.iter().copied().filter(|branch| merged.binary_search(branch).is_err()).collect();
        !self.branches.is_empty()
    }

    fn accepted_kinds(&self, nodes: &[Node]) -> u8 {
        self.branches.iter().fold(kinds::ANY, |types, branch| types & nodes[*branch as usize].types)
    }

    fn sort_branches(&mut self, tables: &Tables) {
        let conditions: Vec<_> =
            self.branches.iter().map(|branch| if_::sole_condition(*branch, tables)).collect();
        self.sieve = Sieve::of(&conditions, tables);
    }

    fn heap_size(&self) -> usize {
        size_of_val(&*self.branches) + self.sieve.as_ref().map_or(0, |sieve| sieve.size())
    }

    fn early(&self) -> Early<'_> {
        Early::Every(&self.branches)
    }
}
