//! `minLength`, `maxLength` (2020-12 Validation 6.3): characters as RFC 8259 defines them, code points.

use super::Keyword;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, Kind};
use crate::issue::Detail;
use crate::plan::StringRule;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// The count that a keyword's value is: a whole number from 0, also written 2.0.
pub(crate) fn count<'a, I: Instance<'a>>(
    scope: &Scope<'_, I>,
    keyword: Keyword,
    value: I,
) -> Result<usize, SchemaError> {
    let number = matches!(value.kind(), Kind::Integer | Kind::Float).then(|| value.number());
    match number {
        Some(number) if number.is_integer() && !number.compare(&crate::number::Number::Int(0)).is_lt() => {
            // A count beyond the machine's words is never reached.
            Ok(number.to_i64().and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX))
        }
        _ => Err(scope.error(keyword, "Expected a non-negative integer")),
    }
}

/// Compiles `minLength`.
pub(crate) fn min_length<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    draft.string().min = count(scope, Keyword::MinLength, value)?;
    Ok(())
}

/// Compiles `maxLength`.
pub(crate) fn max_length<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    draft.string().max = count(scope, Keyword::MaxLength, value)?;
    Ok(())
}

/// Says that a string is too short or too long.
pub(crate) fn explain<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    rule: &StringRule,
    value: I,
) {
    let chars = value.chars();
    if chars < rule.min {
        run.issue(at, Some(Keyword::MinLength), value, Detail::Count(rule.min, chars));
    }
    if chars > rule.max {
        run.issue(at, Some(Keyword::MaxLength), value, Detail::Count(rule.max, chars));
    }
}
