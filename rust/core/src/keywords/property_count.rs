//! `minProperties`, `maxProperties` (2020-12 Validation 6.5).

use super::Keyword;
use super::length::count;
use crate::drivers::explain::{At, Explainer};
use crate::instance::Instance;
use crate::issue::Detail;
use crate::plan::ObjectRule;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// Compiles `minProperties`.
pub(crate) fn min_properties<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    draft.object().min = count(scope, Keyword::MinProperties, value)?;
    Ok(())
}

/// Compiles `maxProperties`.
pub(crate) fn max_properties<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    draft.object().max = count(scope, Keyword::MaxProperties, value)?;
    Ok(())
}

/// Says that an object has too few or too many members.
pub(crate) fn explain<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    rule: &ObjectRule,
    value: I,
) {
    let len = value.len();
    if len < rule.min {
        run.issue(at, Some(Keyword::MinProperties), value, Detail::Count(rule.min, len));
    }
    if len > rule.max {
        run.issue(at, Some(Keyword::MaxProperties), value, Detail::Count(rule.max, len));
    }
}
