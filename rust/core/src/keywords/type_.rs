//! `type` (2020-12 Validation 6.1.1).

use super::Keyword;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, Kind, kinds};
use crate::issue::Detail;
use crate::plan::{NONE, Node};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::dialect::Draft as DraftName;
use crate::schema::draft::Draft;

const WORDS: [(&str, u8); 7] = [
    ("string", kinds::STRING),
    ("object", kinds::OBJECT),
    ("integer", kinds::INTEGER),
    ("number", kinds::NUMBER),
    ("boolean", kinds::BOOL),
    ("array", kinds::ARRAY),
    ("null", kinds::NULL),
];

fn word<'a, I: Instance<'a>>(value: I) -> Option<u8> {
    let text = value.text();
    WORDS.iter().find(|(word, _)| *word == text && value.kind() == Kind::String).map(|(_, bits)| *bits)
}

/// Compiles a type word, or a list of them.
pub(crate) fn compile<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let unknown = |value: H::Instance| {
        let words = WORDS.map(|(word, _)| word).join(", ");
        let got = match value.kind() {
            Kind::String => crate::issue::quoted(value.text()),
            kind => kind.word().to_owned(),
        };
        scope.error(Keyword::Type, format!("Expected one of {words}, got {got}"))
    };
    let mut types = 0;
    match value.kind() {
        Kind::String => types = word(value).ok_or_else(|| unknown(value))?,
        Kind::Array if !value.is_empty() => {
            let mut seen = 0u8;
            let mut refused = None;
            value.items(|_, item| {
                let position =
                    WORDS.iter().position(|(text, _)| item.kind() == Kind::String && *text == item.text());
                refused = match position {
                    None => Some(unknown(item)),
                    Some(at) if seen & (1 << at) != 0 => {
                        Some(scope.error(Keyword::Type, "Expected each type once"))
                    }
                    Some(at) => {
                        seen |= 1 << at;
                        types |= WORDS[at].1;
                        None
                    }
                };
                refused.is_none()
            });
            if let Some(error) = refused {
                return Err(error);
            }
        }
        _ => return Err(unknown(value)),
    }
    if types & kinds::NUMBER == kinds::INTEGER && scope.dialect.draft > DraftName::D4 {
        // From draft 6 on 1.0 is an integer: floats are let in and then asked for their fraction.
        types |= kinds::FLOAT;
        draft.integral = true;
    }
    draft.types &= types;
    Ok(())
}

/// Says that the value has the wrong kind, or is a number with a fraction.
pub(crate) fn explain<'a, I: Instance<'a>>(run: &mut Explainer<'_, I>, at: &At<'_>, node: &Node, value: I) {
    let kind = value.kind();
    let integral = node.number != NONE && run.plan().numbers[node.number as usize].integral;
    if node.types & kind.bit() == 0 {
        if node.types == 0 {
            run.issue(at, None, value, Detail::Never);
        } else if kind == Kind::Foreign {
            run.issue(at, None, value, Detail::Foreign(value.foreign_name().into()));
        } else if !super::enum_::explain_kind(run, at, node, value) {
            run.issue(at, Some(Keyword::Type), value, Detail::Type(node.types, integral, kind));
        }
    } else if kind == Kind::Integer && is_bounded(run.plan(), node) && value.number().is_beyond() {
        run.issue(at, None, value, Detail::Text(&("a number within the digit limit", "a longer one")));
    } else if integral && kind == Kind::Float && !value.number().is_integer() {
        run.issue(at, Some(Keyword::Type), value, Detail::Type(node.types, true, kind));
    }
}

/// Does a keyword compare the node's numbers? Integers that none does are never read.
fn is_bounded(plan: &crate::plan::Plan, node: &Node) -> bool {
    plan.numbers
        .get(node.number as usize)
        .is_some_and(|rule| rule.min.is_some() || rule.max.is_some() || rule.multiple_of.is_some())
}
