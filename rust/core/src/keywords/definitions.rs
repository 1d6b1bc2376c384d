//! `$defs` and `definitions` (2020-12 Core 8.2.4): schemas to refer to. Nothing is asserted.

use super::Keyword;
use crate::instance::{Instance, Key, Kind};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// Remembers each definition: one that no reference leads to is still checked.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    _: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let own = scope.get(Keyword::Definitions).is_some_and(|v| v.identity() == value.identity());
    let keyword = if own { Keyword::Definitions } else { Keyword::Defs };
    if value.kind() != Kind::Object {
        return Err(
            scope.error(keyword, format!("Expected an object of schemas, got {}", value.kind().word()))
        );
    }
    let place = scope.place.then(keyword.name());
    let mut refused = Ok(());
    value.members(|key, schema| {
        let place = place.then(key.text());
        refused = Compiler::<H>::refuse_boolean(scope, &place, schema);
        compiler.remember_definition(schema, scope.resource, place.pointer());
        refused.is_ok()
    });
    refused
}
