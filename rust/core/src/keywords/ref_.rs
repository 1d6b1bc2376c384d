//! `$ref` (2020-12 Core 8.2.3.1).

use super::{Behaviour, Check, Early, Keyword, Rule};
use crate::drivers::check::Checker;
use crate::drivers::evaluated::Evaluated;
use crate::drivers::explain::{At, Explainer, Token};
use crate::instance::{Instance, Kind, kinds};
use crate::plan::{Node, NodeId};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// A reference with keywords beside it. One that stands alone is its target's node.
#[derive(Clone, Debug)]
pub struct Ref {
    node: NodeId,
}

/// The check that a target's node accepts the value.
pub(crate) fn to(node: NodeId) -> Check {
    Check { kinds: kinds::ANY, keyword: Keyword::Ref, rule: Rule::Ref(Ref { node }) }
}

/// The node that a reference keyword of the schema leads to.
pub(crate) fn resolved<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    keyword: Keyword,
    reference: &str,
) -> Result<(NodeId, u16), SchemaError> {
    let target = compiler.references.resolve(compiler.host, reference, scope.resource)?;
    let Some(target) = target else {
        let quoted = crate::issue::quoted(reference);
        return Err(
            scope.error(keyword, format!("The reference {quoted} leads to no schema; nothing is fetched"))
        );
    };
    let resource = target.resource;
    Ok((compiler.target(target.schema, resource, target.place)?, resource))
}

/// The node of the schema's `$ref`.
pub(crate) fn target<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
) -> Result<NodeId, SchemaError> {
    match scope.get(Keyword::Ref) {
        Some(value) if value.kind() == Kind::String => {
            Ok(resolved(compiler, scope, Keyword::Ref, value.text())?.0)
        }
        _ => Err(scope.error(Keyword::Ref, "Expected a URI reference string")),
    }
}

/// Compiles a reference with siblings.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    _: H::Instance,
) -> Result<(), SchemaError> {
    let node = target(compiler, scope)?;
    draft.merge.push(node);
    draft.checks.push(to(node));
    Ok(())
}

impl Behaviour for Ref {
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        run.branch(self.node, value)
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        run.node(&at.under(Keyword::Ref.name(), Token::None), self.node, value);
    }

    fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        found.node(self.node, value);
    }

    fn in_place(&self, visit: &mut dyn FnMut(NodeId)) {
        visit(self.node);
    }

    fn applied<'a, I: Instance<'a>>(&self, _: &mut Checker<'_>, _: I, visit: &mut dyn FnMut(NodeId)) {
        visit(self.node);
    }

    fn sole(&self, _: Kind) -> Option<NodeId> {
        Some(self.node)
    }

    fn without(&mut self, merged: &[NodeId]) -> bool {
        merged.binary_search(&self.node).is_err()
    }

    fn accepted_kinds(&self, nodes: &[Node]) -> u8 {
        nodes[self.node as usize].types
    }

    fn early(&self) -> Early<'_> {
        Early::Every(std::slice::from_ref(&self.node))
    }
}
