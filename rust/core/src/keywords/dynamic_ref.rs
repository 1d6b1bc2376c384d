//! `$dynamicRef` (2020-12 Core 8.2.3.2) and 2019-09's `$recursiveRef` (2019-09 Core 8.2.4.2.1).

use super::{Behaviour, Check, Early, Keyword, Rule, ref_};
use crate::drivers::check::Checker;
use crate::drivers::evaluated::Evaluated;
use crate::drivers::explain::{At, Explainer, Token};
use crate::instance::{Instance, Kind, kinds};
use crate::plan::{FALSE, NodeId, Plan};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::dialect::Draft as DraftName;
use crate::schema::draft::Draft;
use crate::schema::reference::RECURSIVE;
use crate::schema::uri;

/// A reference whose target depends on the resources entered on the way.
#[derive(Clone, Debug)]
pub struct DynamicRef {
    anchor: u32,
    fallback: NodeId,
}

impl DynamicRef {
    /// The node of the outermost resource that has the anchor.
    pub(crate) fn target(&self, plan: &Plan, scope: &[u16]) -> NodeId {
        let find = |resource: u16| {
            plan.anchors.iter().find(|(id, anchor, _)| *id == resource && *anchor == self.anchor)
        };
        scope.iter().find_map(|resource| find(*resource)).map_or(self.fallback, |(_, _, node)| *node)
    }
}

fn compile_to<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    keyword: Keyword,
    (reference, anchor): (&str, &str),
) -> Result<(), SchemaError> {
    // The first stable version drops the rule that the reference must lead to a dynamic anchor where it stands.
    let free = scope.dialect.draft >= DraftName::V1 && reference.starts_with('#') && !anchor.is_empty();
    let (node, resource) = match ref_::resolved(compiler, scope, keyword, reference) {
        Err(_) if free && !compiler.references.dynamic_targets(anchor).is_empty() => (FALSE, scope.resource),
        resolved => resolved?,
    };
    if !free && !compiler.references.is_dynamic(resource, anchor) {
        draft.checks.push(Check { keyword, ..ref_::to(node) });
        return Ok(());
    }
    let rule = Rule::DynamicRef(DynamicRef { anchor: compiler.anchor_number(anchor), fallback: node });
    draft.checks.push(Check { kinds: kinds::ANY, keyword, rule });
    Ok(())
}

/// Compiles `$dynamicRef`.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if value.kind() != Kind::String {
        return Err(scope.error(Keyword::DynamicRef, "Expected a URI reference string"));
    }
    let reference = value.text();
    let anchor = uri::percent_decoded(uri::split_fragment(reference).1);
    compile_to(compiler, scope, draft, Keyword::DynamicRef, (reference, &anchor))
}

/// Compiles `$recursiveRef`, whose value is always `#`.
pub(crate) fn recursive<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if value.kind() != Kind::String || value.text() != "#" {
        return Err(scope.error(Keyword::RecursiveRef, "Expected \"#\""));
    }
    compile_to(compiler, scope, draft, Keyword::RecursiveRef, ("#", RECURSIVE))
}

impl Behaviour for DynamicRef {
    #[inline(never)]
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        let target = self.target(run.plan, &run.scope);
        run.branch(target, value)
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let target = self.target(run.plan(), &run.run.scope);
        run.node(&at.under(Keyword::DynamicRef.name(), Token::None), target, value);
    }

    fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        let target = self.target(found.run.plan, &found.run.scope);
        found.node(target, value);
    }

    fn in_place(&self, visit: &mut dyn FnMut(NodeId)) {
        visit(self.fallback);
    }

    fn applied<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, _: I, visit: &mut dyn FnMut(NodeId)) {
        visit(self.target(run.plan, &run.scope));
    }

    fn early(&self) -> Early<'_> {
        Early::Dynamic(self)
    }
}
