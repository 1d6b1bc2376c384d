//! `pattern` (2020-12 Validation 6.3.3): an ECMA-262 regular expression, not anchored.

use super::Keyword;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, Kind};
use crate::issue::Detail;
use crate::plan::{NONE, StringRule};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;
use crate::schema::pattern::Pattern;
use crate::schema::tables::push;

/// Compiles a pattern's text into the plan.
pub(crate) fn pattern<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    source: &str,
) -> Result<u32, String> {
    let known = compiler.tables.patterns.iter().position(|pattern| pattern.source() == source);
    if let Some(at) = known {
        return Ok(u32::try_from(at).unwrap_or(NONE));
    }
    let limit = compiler.options.limits.regex_steps;
    let pattern =
        Pattern::compile(source, limit).map_err(|error| format!("Expected an ECMA-262 pattern: {error}"))?;
    Ok(push(&mut compiler.tables.patterns, pattern))
}

/// Compiles `pattern`.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if value.kind() != Kind::String {
        return Err(scope.error(Keyword::Pattern, format!("Expected a string, got {}", value.kind().word())));
    }
    draft.string().pattern =
        pattern(compiler, value.text()).map_err(|message| scope.error(Keyword::Pattern, message))?;
    Ok(())
}

/// Says that a string does not match.
pub(crate) fn explain<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    rule: &StringRule,
    value: I,
) {
    if rule.pattern == NONE {
        return;
    }
    match run.plan().patterns[rule.pattern as usize].is_match(value.text()) {
        Ok(true) => {}
        Ok(false) => run.issue(at, Some(Keyword::Pattern), value, Detail::Pattern(rule.pattern)),
        Err(_) => {
            let limit = run.plan().limits.regex_steps;
            run.issue(at, Some(Keyword::Pattern), value, Detail::Steps(limit));
        }
    }
}
