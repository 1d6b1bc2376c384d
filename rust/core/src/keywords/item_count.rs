//! `minItems`, `maxItems` (2020-12 Validation 6.4).

use super::Keyword;
use super::length::count;
use crate::drivers::explain::{At, Explainer};
use crate::instance::Instance;
use crate::issue::Detail;
use crate::plan::ArrayRule;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// Compiles `minItems`.
pub(crate) fn min_items<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    draft.array().min = count(scope, Keyword::MinItems, value)?;
    Ok(())
}

/// Compiles `maxItems`.
pub(crate) fn max_items<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    draft.array().max = count(scope, Keyword::MaxItems, value)?;
    Ok(())
}

/// Says that an array has too few or too many items.
pub(crate) fn explain<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    rule: &ArrayRule,
    value: I,
) {
    let len = value.len();
    if len < rule.min {
        run.issue(at, Some(Keyword::MinItems), value, Detail::Count(rule.min, len));
    }
    if len > rule.max {
        run.issue(at, Some(Keyword::MaxItems), value, Detail::Count(rule.max, len));
    }
}
