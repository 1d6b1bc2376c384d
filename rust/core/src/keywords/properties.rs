//! `properties`, `patternProperties`, `additionalProperties` (2020-12 Core 10.3.2): one rule, one walk.

use super::Keyword;
use crate::drivers::defaults::Seen;
use crate::drivers::explain::{At, Explainer, Token};
use crate::instance::{Instance, Key, Kind};
use crate::issue::Detail;
use crate::plan::{FALSE, NONE, ObjectRule, Property, first_word};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Place, Scope};
use crate::schema::draft::{Draft, ObjectDraft};
use crate::schema::tables::push;
use crate::value::Value;

/// Adds a name that an object's keywords mention, with its token; its position.
pub(crate) fn add<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    object: &mut ObjectDraft,
    name: &str,
    token: usize,
) -> usize {
    let (start, len) = compiler.name(name);
    object.properties.push(Property {
        token,
        word: first_word(name.as_bytes()),
        start,
        len,
        node: NONE,
        declared: NONE,
        types: 0,
        more: 0,
        default: NONE,
        required: false,
        plain: name.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\'),
    });
    object.properties.len() - 1
}

/// The position of a name, added if it is new. For objects of few names.
pub(crate) fn mention<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    object: &mut ObjectDraft,
    name: &str,
) -> usize {
    let names = &compiler.tables.names;
    let is = |property: &Property| {
        names[property.start as usize..(property.start + property.len) as usize] == *name
    };
    if let Some(at) = object.properties.iter().position(is) {
        return at;
    }
    let token = compiler.host.intern(name);
    add(compiler, object, name, token)
}

/// The positions of all names.
pub(crate) fn positions<'a, H: Host<'a>>(
    compiler: &Compiler<'_, 'a, H>,
    object: &ObjectDraft,
) -> std::collections::HashMap<String, usize> {
    let name = |property: &Property| {
        compiler.tables.names[property.start as usize..(property.start + property.len) as usize].to_owned()
    };
    object.properties.iter().enumerate().map(|(at, property)| (name(property), at)).collect()
}

fn wanted_object<I: Copy>(scope: &Scope<'_, I>, keyword: Keyword, kind: Kind) -> Result<(), SchemaError> {
    if kind == Kind::Object {
        return Ok(());
    }
    Err(scope.error(keyword, format!("Expected an object of schemas, got {}", kind.word())))
}

/// Compiles `properties`, and keeps the members' defaults.
pub(crate) fn properties<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    wanted_object(scope, Keyword::Properties, value.kind())?;
    let place = scope.place.then(Keyword::Properties.name());
    let mut failed = None;
    draft.object().properties.reserve(value.len());
    value.members(|key, schema| {
        failed = property(compiler, scope, draft, &place.then(key.text()), key, schema).err();
        failed.is_none()
    });
    failed.map_or(Ok(()), Err)
}

fn property<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    place: &Place<'_>,
    key: <H::Instance as Instance<'a>>::Key,
    schema: H::Instance,
) -> Result<(), SchemaError> {
    let node = compiler.subschema(scope, place, schema)?;
    let token = compiler.host.keep(key);
    let at = add(compiler, draft.object(), key.text(), token);
    draft.object().properties[at].declared = node;
    let Some(default) = default_of(compiler, scope, schema)? else { return Ok(()) };
    if !compiler.is_literal(default) {
        return Err(SchemaError {
            message: "Expected JSON data of bounded depth".to_owned(),
            schema_path: place.then("default").pointer(),
            keyword: Some("default"),
        });
    }
    let token = if default.kind() == Kind::String { compiler.host.intern(default.text()) } else { 0 };
    let row = (Value::copy_of(default), token);
    draft.object().properties[at].default = push(&mut compiler.tables.defaults, row);
    Ok(())
}

/// A member's default: its schema's own, or that of the schema that its `$ref` leads to.
fn default_of<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    schema: H::Instance,
) -> Result<Option<H::Instance>, SchemaError> {
    /// More references one behind the other than anybody writes; a circle of them has been refused.
    const HOPS: usize = 32;
    let (mut schema, mut resource) = (schema, scope.resource);
    for _ in 0..HOPS {
        if let Some(default) = schema.member(0, "default") {
            return Ok(Some(default));
        }
        let Some(reference) = schema.member(0, "$ref").filter(|value| value.kind() == Kind::String) else {
            break;
        };
        resource = compiler.references.resource_at(compiler.host, schema, resource)?;
        let Some(target) = compiler.references.resolve(compiler.host, reference.text(), resource)? else {
            break;
        };
        (schema, resource) = (target.schema, target.resource);
    }
    Ok(None)
}

/// Compiles `patternProperties`.
pub(crate) fn pattern_properties<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let keyword = Keyword::PatternProperties;
    wanted_object(scope, keyword, value.kind())?;
    let place = scope.place.then(keyword.name());
    let mut failed = None;
    value.members(|key, schema| {
        let step = place.then(key.text());
        let pattern = super::pattern::pattern(compiler, key.text()).map_err(|message| SchemaError {
            message,
            schema_path: step.pointer(),
            keyword: Some(keyword.name()),
        });
        match pattern.and_then(|pattern| Ok((pattern, compiler.subschema(scope, &step, schema)?))) {
            Ok(row) => draft.object().patterns.push(row),
            Err(error) => failed = Some(error),
        }
        failed.is_none()
    });
    failed.map_or(Ok(()), Err)
}

/// Compiles `additionalProperties`.
pub(crate) fn additional_properties<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let place = scope.place.then(Keyword::AdditionalProperties.name());
    draft.object().additional = compiler.subschema_or_boolean(scope, &place, value)?;
    draft.object().has_additional = true;
    Ok(())
}

/// Lists what is wrong with an object's members.
pub(crate) fn explain<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    rule: &ObjectRule,
    value: I,
) {
    let plan = run.plan();
    let properties = plan.properties_of(rule);
    let mut seen = Seen::default();
    let (mut next, mut required) = (0, 0);
    let mut all = true;
    value.entries(|key, item| {
        let found = match properties.get(next) {
            Some(property) if key.token() == property.token => Some(next),
            expected => {
                let Some((word, text)) = key.name() else {
                    all = false;
                    return false;
                };
                match expected {
                    Some(property) if plan.is_name(property, word, text) => Some(next),
                    _ => plan.find_word(rule, properties, word, text),
                }
            }
        };
        if let Some(found) = found {
            seen.mark(found);
            next = found + 1;
            let property = &properties[found];
            required += u32::from(property.required);
            if run.accepts_member(property, item) {
                return true;
            }
            if property.declared == property.node
                && let Ok(found) = u32::try_from(found)
            {
                run.refused(&at.declared(rule.first + found), property.node, item);
                return run.wants_more();
            }
        }
        let name = key.text();
        let known = found.and_then(|at| u32::try_from(at).ok()).map(|at| rule.first + at);
        let child = known.map_or_else(|| at.member(name), |property| at.known(property));
        let mut named = false;
        if let (Some(found), Some(known)) = (found, known)
            && properties[found].declared != NONE
        {
            named = true;
            run.node(
                &child.under(Keyword::Properties.name(), Token::Known(known)),
                properties[found].declared,
                item,
            );
        }
        for (pattern, node) in &rule.patterns {
            match plan.patterns[*pattern as usize].is_match(name) {
                Ok(true) => {
                    named = true;
                    let word = Keyword::PatternProperties.name();
                    run.node(&child.under(word, Token::Pattern(*pattern)), *node, item);
                }
                Ok(false) => {}
                Err(_) => {
                    let limit = plan.limits.regex_steps;
                    run.issue(at, Some(Keyword::PatternProperties), value, Detail::Steps(limit));
                }
            }
        }
        if !named {
            if rule.additional == FALSE {
                run.unseen = true;
                run.issue(at, Some(Keyword::AdditionalProperties), value, Detail::Unexpected(name.into()));
            } else {
                run.node(
                    &child.under(Keyword::AdditionalProperties.name(), Token::None),
                    rule.additional,
                    item,
                );
            }
        }
        run.wants_more()
    });
    run.unseen |= !all;
    if required < rule.required && run.wants_more() {
        super::required::explain(run, at, rule, &seen, value);
    }
}
