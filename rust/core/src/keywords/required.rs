//! `required` (2020-12 Validation 6.5.3).

use super::Keyword;
use super::properties::mention;
use crate::drivers::defaults::Seen;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, Kind};
use crate::issue::Name;
use crate::plan::ObjectRule;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::dialect::Draft as DraftName;
use crate::schema::draft::Draft;

/// The names of a list of unique strings.
pub(crate) fn names<'a, I: Instance<'a>>(
    scope: &Scope<'_, I>,
    keyword: Keyword,
    value: I,
) -> Result<Vec<&'a str>, SchemaError> {
    let mut names = Vec::with_capacity(value.len());
    let strings = value.kind() == Kind::Array
        && value.items(|_, item| {
            names.push(item.text());
            item.kind() == Kind::String
        });
    if !strings {
        return Err(scope.error(keyword, "Expected an array of strings"));
    }
    let unique = if names.len() <= 16 {
        names.iter().enumerate().all(|(at, name)| !names[..at].contains(name))
    } else {
        names.iter().collect::<std::collections::HashSet<_>>().len() == names.len()
    };
    if unique { Ok(names) } else { Err(scope.error(keyword, "Expected each name once")) }
}

/// Compiles a list of names.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let names = names(scope, Keyword::Required, value)?;
    if names.is_empty() && scope.dialect.draft == DraftName::D4 {
        return Err(scope.error(Keyword::Required, "Expected at least one name"));
    }
    if names.len() <= 16 {
        for name in names {
            let at = mention(compiler, draft.object(), name);
            draft.object().properties[at].required = true;
        }
        return Ok(());
    }
    let positions: std::collections::HashMap<String, usize> =
        super::properties::positions(compiler, draft.object());
    for name in names {
        let at = if let Some(at) = positions.get(name) {
            *at
        } else {
            let token = compiler.host.intern(name);
            super::properties::add(compiler, draft.object(), name, token)
        };
        draft.object().properties[at].required = true;
    }
    Ok(())
}

/// Says which required members are missing, each at its own path. `seen` are the positions of the names present.
pub(crate) fn explain<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    rule: &ObjectRule,
    seen: &Seen,
    value: I,
) {
    for (position, property) in (0u32..).zip(run.plan().properties_of(rule)) {
        if property.required && !seen.has(position as usize) {
            run.missing(at, Keyword::Required, Name::Known(rule.first + position), None, value);
        }
    }
}
