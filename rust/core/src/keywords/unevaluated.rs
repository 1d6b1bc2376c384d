//! `unevaluatedItems`, `unevaluatedProperties` (2020-12 Core 11).

use super::{Behaviour, Check, Keyword, Rule};
use crate::drivers::check::Checker;
use crate::drivers::evaluated::Evaluated;
use crate::drivers::explain::{At, Explainer, Token};
use crate::instance::{Instance, Key, Kind, kinds};
use crate::issue::Detail;
use crate::plan::{FALSE, NONE, NodeId};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// What items must satisfy that no other keyword evaluated.
#[derive(Clone, Debug)]
pub struct UnevaluatedItems {
    node: NodeId,
    owner: NodeId,
}

/// What members must satisfy that no other keyword evaluated.
#[derive(Clone, Debug)]
pub struct UnevaluatedProperties {
    node: NodeId,
    owner: NodeId,
}

/// Compiles `unevaluatedItems`.
pub(crate) fn items<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let keyword = Keyword::UnevaluatedItems;
    let node = compiler.subschema(scope, &scope.place.then(keyword.name()), value)?;
    let rule = Rule::UnevaluatedItems(UnevaluatedItems { node, owner: NONE });
    draft.checks.push(Check { kinds: kinds::ARRAY, keyword, rule });
    Ok(())
}

/// Compiles `unevaluatedProperties`.
pub(crate) fn properties<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let keyword = Keyword::UnevaluatedProperties;
    let node = compiler.subschema(scope, &scope.place.then(keyword.name()), value)?;
    let rule = Rule::UnevaluatedProperties(UnevaluatedProperties { node, owner: NONE });
    draft.checks.push(Check { kinds: kinds::OBJECT, keyword, rule });
    Ok(())
}

impl Behaviour for UnevaluatedItems {
    #[inline(never)]
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        if value.kind() != Kind::Array {
            return true;
        }
        let mut found = Evaluated::new(run);
        found.siblings(self.owner, value);
        let marks = found.into_marks();
        run.deeper(|run| value.items(|index, item| marks.has_item(index) || run.aside(self.node, item)))
            .unwrap_or(false)
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let mut found = Evaluated::new(&mut run.run);
        found.siblings(self.owner, value);
        let marks = found.into_marks();
        value.items(|index, item| {
            if !marks.has_item(index) && !run.accepts(self.node, item) {
                if self.node == FALSE {
                    run.issue(&at.item(index), Some(Keyword::UnevaluatedItems), item, Detail::Never);
                } else {
                    let child = at.item(index);
                    run.node(&child.under(Keyword::UnevaluatedItems.name(), Token::None), self.node, item);
                }
            }
            run.wants_more()
        });
    }

    fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        if value.kind() == Kind::Array {
            found.all_items();
        }
    }

    fn bind(&mut self, node: NodeId) {
        if self.owner == NONE {
            self.owner = node;
        }
    }

    fn is_portable(&self) -> bool {
        false
    }
}

impl Behaviour for UnevaluatedProperties {
    #[inline(never)]
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        if value.kind() != Kind::Object {
            return true;
        }
        let mut found = Evaluated::new(run);
        found.siblings(self.owner, value);
        let marks = found.into_marks();
        run.deeper(|run| {
            value.members(|key, item| marks.has_member(key.text()) || run.aside(self.node, item))
        })
        .unwrap_or(false)
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let mut found = Evaluated::new(&mut run.run);
        found.siblings(self.owner, value);
        let marks = found.into_marks();
        let keyword = Keyword::UnevaluatedProperties;
        value.members(|key, item| {
            let name = key.text();
            if !marks.has_member(name) && !run.accepts(self.node, item) {
                if self.node == FALSE {
                    run.issue(at, Some(keyword), value, Detail::Unexpected(name.into()));
                } else {
                    let child = at.member(name);
                    run.node(&child.under(keyword.name(), Token::None), self.node, item);
                }
            }
            run.wants_more()
        });
    }

    fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        if value.kind() == Kind::Object {
            found.all_members();
        }
    }

    fn bind(&mut self, node: NodeId) {
        if self.owner == NONE {
            self.owner = node;
        }
    }

    fn is_portable(&self) -> bool {
        false
    }
}
