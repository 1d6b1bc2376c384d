//! `propertyNames` (2020-12 Core 10.3.2.4): each member's name, as a string, must satisfy a schema.

use super::{Behaviour, Check, Early, Keyword, Rule};
use crate::drivers::check::Checker;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, Key, Kind, kinds};
use crate::issue::Detail;
use crate::plan::NodeId;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;
use crate::value::Value;

/// A schema for the names.
#[derive(Clone, Debug)]
pub struct PropertyNames {
    node: NodeId,
}

/// Compiles a schema.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let node = compiler.subschema(scope, &scope.place.then(Keyword::PropertyNames.name()), value)?;
    let rule = Rule::PropertyNames(PropertyNames { node });
    draft.checks.push(Check { kinds: kinds::OBJECT, keyword: Keyword::PropertyNames, rule });
    Ok(())
}

impl PropertyNames {
    fn accepts(&self, run: &mut Checker<'_>, name: &str) -> bool {
        run.name(self.node, name).unwrap_or_else(|| run.passing(self.node, &Value::String(name.into())))
    }
}

impl Behaviour for PropertyNames {
    #[inline(never)]
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        value.kind() != Kind::Object || value.members(|key, _| self.accepts(run, key.text()))
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        value.members(|key, _| {
            if !self.accepts(&mut run.run, key.text()) {
                let detail = Detail::Unexpected(key.text().into());
                run.issue(at, Some(Keyword::PropertyNames), value, detail);
            }
            run.wants_more()
        });
    }

    fn early(&self) -> Early<'_> {
        Early::Names(self.node)
    }
}
