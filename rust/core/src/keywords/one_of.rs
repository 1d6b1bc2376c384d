//! `oneOf` (2020-12 Core 10.2.1.3).

use super::{Behaviour, Check, Early, Keyword, Rule, all_of};
use crate::drivers::check::Checker;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, kinds};
use crate::issue::Detail;
use crate::schema::SchemaError;
use crate::schema::branches::{Able, Branches};
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// Schemas of which exactly one must accept the value.
#[derive(Clone, Debug)]
pub struct OneOf {
    branches: Branches,
}

/// Compiles a list of schemas.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let branches = Branches::new(all_of::schemas(compiler, scope, Keyword::OneOf, value)?);
    let rule = Rule::OneOf(OneOf { branches });
    draft.checks.push(Check { kinds: kinds::ANY, keyword: Keyword::OneOf, rule });
    Ok(())
}

impl Behaviour for OneOf {
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        match self.branches.able(value) {
            Able::Only(branch) => run.branch(branch, value),
            Able::Nothing => false,
            Able::Several => {
                let mut matching = self.branches.several(value).filter(|branch| run.branch(*branch, value));
                matching.next().is_some() && matching.next().is_none()
            }
        }
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let matches = self.branches.nodes.iter().filter(|branch| run.accepts(**branch, value)).count();
        if matches > 1 {
            run.issue(at, Some(Keyword::OneOf), value, Detail::Matches(matches));
        } else {
            run.branches(at, Keyword::OneOf, &self.branches.nodes, self.branches.tags.as_deref(), value);
        }
    }

    #[inline]
    fn branches(&self) -> Option<&Branches> {
        Some(&self.branches)
    }

    fn branches_mut(&mut self) -> Option<&mut Branches> {
        Some(&mut self.branches)
    }

    fn early(&self) -> Early<'_> {
        Early::One(&self.branches.nodes)
    }
}
