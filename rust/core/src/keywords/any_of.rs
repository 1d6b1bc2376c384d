//! `anyOf` (2020-12 Core 10.2.1.2).

use super::{Behaviour, Check, Early, Keyword, Rule, all_of};
use crate::drivers::check::Checker;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, kinds};
use crate::plan::TRUE;
use crate::schema::SchemaError;
use crate::schema::branches::{Able, Branches};
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// Schemas of which one at least must accept the value.
#[derive(Clone, Debug)]
pub struct AnyOf {
    branches: Branches,
}

/// Compiles a list of schemas.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let branches = Branches::new(all_of::schemas(compiler, scope, Keyword::AnyOf, value)?);
    let rule = Rule::AnyOf(AnyOf { branches });
    draft.checks.push(Check { kinds: kinds::ANY, keyword: Keyword::AnyOf, rule });
    Ok(())
}

impl Behaviour for AnyOf {
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        match self.branches.able(value) {
            Able::Only(branch) => run.branch(branch, value),
            Able::Nothing => false,
            Able::Several => {
                self.branches.several(value).any(|branch| branch == TRUE || run.branch(branch, value))
            }
        }
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        run.branches(at, Keyword::AnyOf, &self.branches.nodes, self.branches.tags.as_deref(), value);
    }

    #[inline]
    fn branches(&self) -> Option<&Branches> {
        Some(&self.branches)
    }

    fn branches_mut(&mut self) -> Option<&mut Branches> {
        Some(&mut self.branches)
    }

    fn early(&self) -> Early<'_> {
        Early::Any(&self.branches.nodes)
    }
}
