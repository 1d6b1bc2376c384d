//! `not` (2020-12 Core 10.2.1.4).

use super::{Behaviour, Check, Early, Keyword, Rule};
use crate::drivers::check::Checker;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, kinds};
use crate::issue::Detail;
use crate::plan::NodeId;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// A schema that must refuse the value.
#[derive(Clone, Debug)]
pub struct Not {
    node: NodeId,
}

/// Compiles a schema.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let node = compiler.subschema(scope, &scope.place.then(Keyword::Not.name()), value)?;
    draft.checks.push(Check { kinds: kinds::ANY, keyword: Keyword::Not, rule: Rule::Not(Not { node }) });
    Ok(())
}

impl Behaviour for Not {
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        !run.aside(self.node, value)
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let detail = Detail::Text(&("a value that the schema in not refuses", "one that it accepts"));
        run.issue(at, Some(Keyword::Not), value, detail);
    }

    fn in_place(&self, visit: &mut dyn FnMut(NodeId)) {
        visit(self.node);
    }

    fn early(&self) -> Early<'_> {
        Early::Not(self.node)
    }
}
