//! `format` (2020-12 Validation 7). Formats that are not known are annotations.

use super::Keyword;
use crate::drivers::explain::{At, Explainer};
use crate::formats;
use crate::instance::{Instance, Kind};
use crate::issue::Detail;
use crate::plan::StringRule;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// Compiles a format's name.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if value.kind() != Kind::String {
        return Err(scope.error(Keyword::Format, format!("Expected a string, got {}", value.kind().word())));
    }
    if compiler.asserts_format(scope.dialect)
        && let Some(format) = formats::lookup(value.text(), scope.dialect.draft)
    {
        draft.string().format = Some(format);
    }
    Ok(())
}

/// Says that a string is not in the format.
pub(crate) fn explain<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    rule: &StringRule,
    value: I,
) {
    if let Some(format) = rule.format.filter(|format| !format.is_valid(value.text())) {
        run.issue(at, Some(Keyword::Format), value, Detail::Format(format.name()));
    }
}
