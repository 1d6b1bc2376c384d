//! `multipleOf` (2020-12 Validation 6.2.1), in exact decimal arithmetic.

use super::Keyword;
use super::bounds::number;
use crate::drivers::explain::{At, Explainer};
use crate::instance::Instance;
use crate::issue::Detail;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// Compiles a positive number.
pub(crate) fn compile<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let step = number(scope, Keyword::MultipleOf, value)?;
    if !step.is_positive() {
        return Err(scope.error(Keyword::MultipleOf, "Expected a number greater than 0"));
    }
    draft.number().multiple_of = Some(step);
    Ok(())
}

/// Says that a number is no multiple.
pub(crate) fn explain<'a, I: Instance<'a>>(run: &mut Explainer<'_, I>, at: &At<'_>, rule: u32, value: I) {
    let step = run.plan().numbers[rule as usize].multiple_of.as_ref();
    if step.is_some_and(|step| !value.number().is_multiple_of(step)) {
        run.issue(at, Some(Keyword::MultipleOf), value, Detail::Number(rule));
    }
}
