//! `items`, `prefixItems`, `additionalItems` (2020-12 Core 10.3.1; 2019-09 Core 9.3.1).

use super::{Keyword, all_of};
use crate::drivers::explain::{At, Explainer, Token};
use crate::instance::{Instance, Kind};
use crate::issue::Detail;
use crate::plan::{ArrayRule, FALSE, NodeId};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::dialect::Draft as DraftName;
use crate::schema::draft::Draft;

/// Compiles `prefixItems`.
pub(crate) fn prefix_items<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    draft.array().prefix = all_of::schemas(compiler, scope, Keyword::PrefixItems, value)?;
    Ok(())
}

/// Compiles `items`: one schema for the rest; up to 2019-09 also a list, by position.
pub(crate) fn items<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let array = value.kind() == Kind::Array;
    if array && scope.dialect.draft < DraftName::D2020 {
        let prefix: Box<[NodeId]> = if value.is_empty() {
            Box::new([])
        } else {
            all_of::schemas(compiler, scope, Keyword::Items, value)?
        };
        draft.array().prefix = prefix;
        draft.array().words = ("additionalItems", "items");
        return Ok(());
    }
    if array {
        return Err(scope.error(Keyword::Items, "Expected a schema; use prefixItems for a list of schemas"));
    }
    draft.array().rest = compiler.subschema(scope, &scope.place.then(Keyword::Items.name()), value)?;
    draft.array().has_rest = true;
    Ok(())
}

/// Compiles `additionalItems`: it counts only beside the list form of `items`.
pub(crate) fn additional_items<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let place = scope.place.then(Keyword::AdditionalItems.name());
    let node = compiler.subschema_or_boolean(scope, &place, value)?;
    if scope.get(Keyword::Items).is_some_and(|items| items.kind() == Kind::Array) {
        draft.array().rest = node;
        draft.array().has_rest = true;
    }
    Ok(())
}

/// Lists what is wrong with an array's items.
pub(crate) fn explain<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    rule: &ArrayRule,
    value: I,
) {
    let (rest_word, prefix_word) = rule.words;
    if rule.rest == FALSE && value.len() > rule.prefix.len() {
        let keyword = Keyword::lookup(rest_word);
        run.issue(at, keyword, value, Detail::Beyond(rule.prefix.len()));
    }
    value.items(|index, item| {
        let child = at.item(index);
        match rule.prefix.get(index) {
            Some(node) => run.node(&child.under(prefix_word, Token::Index(index)), *node, item),
            None if rule.rest != FALSE => run.node(&child.under(rest_word, Token::None), rule.rest, item),
            None => run.unseen = true,
        }
        run.wants_more()
    });
}
