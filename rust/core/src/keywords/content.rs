//! `contentEncoding`, `contentMediaType`, `contentSchema` (draft 7 Validation 8; annotations from 2019-09 on).

use super::Keyword;
use crate::drivers::explain::{At, Explainer};
use crate::formats::content as codec;
use crate::instance::{Instance, Kind};
use crate::issue::Detail;
use crate::plan::{Content, StringRule};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

fn text<'a, I: Instance<'a>>(
    scope: &Scope<'_, I>,
    keyword: Keyword,
    value: I,
) -> Result<&'a str, SchemaError> {
    match value.kind() {
        Kind::String => Ok(value.text()),
        kind => Err(scope.error(keyword, format!("Expected a string, got {}", kind.word()))),
    }
}

/// Compiles `contentEncoding`.
pub(crate) fn encoding<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let name = text(scope, Keyword::ContentEncoding, value)?;
    if Compiler::<H>::asserts_content(scope.dialect) && name.eq_ignore_ascii_case("base64") {
        draft.string().content.base64 = true;
    }
    Ok(())
}

/// Compiles `contentMediaType`.
pub(crate) fn media_type<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let name = text(scope, Keyword::ContentMediaType, value)?;
    if Compiler::<H>::asserts_content(scope.dialect) && name == "application/json" {
        draft.string().content.json = true;
    }
    Ok(())
}

/// Checks the form of `contentSchema`; it is an annotation.
pub(crate) fn schema<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    _: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    compiler.subschema(scope, &scope.place.then(Keyword::ContentSchema.name()), value).map(|_| ())
}

/// Is a text what `contentEncoding` and `contentMediaType` say?
#[inline]
pub(crate) fn is_valid(content: Content, text: &str) -> bool {
    content == Content::default() || is_content(content, text)
}

fn is_content(content: Content, text: &str) -> bool {
    let json = |bytes: &[u8]| crate::drivers::decode::is_json(bytes);
    if !content.base64 {
        return json(text.as_bytes());
    }
    codec::decode_base64(text).is_some_and(|bytes| !content.json || json(&bytes))
}

/// Says that a string's content is not what it should be.
pub(crate) fn explain<'a, I: Instance<'a>>(
    run: &mut Explainer<'_, I>,
    at: &At<'_>,
    rule: &StringRule,
    value: I,
) {
    if is_valid(rule.content, value.text()) {
        return;
    }
    let (keyword, detail) = if rule.content.base64 {
        (Keyword::ContentEncoding, Detail::Text(&("base64 content", "other text")))
    } else {
        (Keyword::ContentMediaType, Detail::Text(&("JSON content", "other text")))
    };
    run.issue(at, Some(keyword), value, detail);
}
