//! `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum` (2020-12 Validation 6.2; draft 4 Validation 5.1).

use super::Keyword;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, Kind};
use crate::issue::Detail;
use crate::number::Number;
use crate::plan::Bound;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::dialect::Draft as DraftName;
use crate::schema::draft::Draft;

/// The number that a keyword's value is.
pub(crate) fn number<'a, I: Instance<'a>>(
    scope: &Scope<'_, I>,
    keyword: Keyword,
    value: I,
) -> Result<Number, SchemaError> {
    match value.kind() {
        Kind::Integer | Kind::Float => Ok(value.number()),
        kind => Err(scope.error(keyword, format!("Expected a number, got {}", kind.word()))),
    }
}

/// In draft 4 the exclusive keywords are booleans beside the limit.
fn exclusive_flag<'a, I: Instance<'a>>(scope: &Scope<'_, I>, keyword: Keyword) -> bool {
    scope.dialect.draft == DraftName::D4 && scope.get(keyword).is_some_and(Instance::boolean)
}

/// The bound of an exclusive keyword, which in draft 4 only speaks of the limit that must stand beside it.
fn exclusive<'a, I: Instance<'a>>(
    scope: &Scope<'_, I>,
    keyword: Keyword,
    limit: Keyword,
    value: I,
) -> Result<Option<Bound>, SchemaError> {
    if scope.dialect.draft == DraftName::D4 {
        return match value.kind() {
            Kind::Bool if scope.get(limit).is_some() => Ok(None),
            Kind::Bool => Err(scope.error(keyword, format!("Expected {} beside it", limit.name()))),
            kind => Err(scope.error(keyword, format!("Expected a boolean, got {}", kind.word()))),
        };
    }
    Ok(Some(Bound { limit: number(scope, keyword, value)?, exclusive: true }))
}

/// Compiles `minimum`.
pub(crate) fn minimum<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let limit = number(scope, Keyword::Minimum, value)?;
    draft.number().raise(Bound { limit, exclusive: exclusive_flag(scope, Keyword::ExclusiveMinimum) });
    Ok(())
}

/// Compiles `maximum`.
pub(crate) fn maximum<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let limit = number(scope, Keyword::Maximum, value)?;
    draft.number().lower(Bound { limit, exclusive: exclusive_flag(scope, Keyword::ExclusiveMaximum) });
    Ok(())
}

/// Compiles `exclusiveMinimum`.
pub(crate) fn exclusive_minimum<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if let Some(bound) = exclusive(scope, Keyword::ExclusiveMinimum, Keyword::Minimum, value)? {
        draft.number().raise(bound);
    }
    Ok(())
}

/// Compiles `exclusiveMaximum`.
pub(crate) fn exclusive_maximum<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if let Some(bound) = exclusive(scope, Keyword::ExclusiveMaximum, Keyword::Maximum, value)? {
        draft.number().lower(bound);
    }
    Ok(())
}

/// Says that a number is outside its bounds.
pub(crate) fn explain<'a, I: Instance<'a>>(run: &mut Explainer<'_, I>, at: &At<'_>, rule: u32, value: I) {
    let bounds = &run.plan().numbers[rule as usize];
    let number = value.number();
    if let Some(Bound { limit, exclusive }) = &bounds.min {
        let order = number.compare(limit);
        if order.is_lt() || (order.is_eq() && *exclusive) {
            let keyword = if *exclusive { Keyword::ExclusiveMinimum } else { Keyword::Minimum };
            run.issue(at, Some(keyword), value, Detail::Number(rule));
        }
    }
    if let Some(Bound { limit, exclusive }) = &bounds.max {
        let order = number.compare(limit);
        if order.is_gt() || (order.is_eq() && *exclusive) {
            let keyword = if *exclusive { Keyword::ExclusiveMaximum } else { Keyword::Maximum };
            run.issue(at, Some(keyword), value, Detail::Number(rule));
        }
    }
}
