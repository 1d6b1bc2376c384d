//! `$id`, `id`, `$anchor`, `$dynamicAnchor`, `$recursiveAnchor` (2020-12 Core 8.2.1, 8.2.2).
//!
//! What they name is read by [`crate::schema::reference`]; here only their form is checked.

use super::Keyword;
use crate::instance::{Instance, Kind};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::dialect::Draft as DraftName;
use crate::schema::draft::Draft;

/// Compiles `$id` and draft 4's `id`: a URI reference.
pub(crate) fn id<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    _: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let keyword = if scope.dialect.draft == DraftName::D4 { Keyword::OldId } else { Keyword::Id };
    if value.kind() != Kind::String {
        return Err(scope.error(keyword, format!("Expected a URI string, got {}", value.kind().word())));
    }
    let fragment = value.text().split_once('#').map_or("", |(_, fragment)| fragment);
    if scope.dialect.draft >= DraftName::D2019 && !fragment.is_empty() {
        return Err(scope.error(keyword, "Expected $id without a fragment; use $anchor"));
    }
    Ok(())
}

/// Compiles `$anchor` and `$dynamicAnchor`: a plain name.
pub(crate) fn anchor<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    _: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let text = value.text();
    let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let rest = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if value.kind() == Kind::String && starts && rest {
        return Ok(());
    }
    let keyword = if scope.get(Keyword::Anchor).is_some_and(|own| own.identity() == value.identity()) {
        Keyword::Anchor
    } else {
        Keyword::DynamicAnchor
    };
    Err(scope.error(keyword, "Expected an anchor name: a letter or _, then letters, digits, -, _ and ."))
}

/// Compiles `$recursiveAnchor`: a boolean (2019-09 Core 8.2.4.2.2).
pub(crate) fn recursive_anchor<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    _: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if value.kind() == Kind::Bool {
        return Ok(());
    }
    Err(scope.error(Keyword::RecursiveAnchor, format!("Expected a boolean, got {}", value.kind().word())))
}
