//! `dependentRequired`, `dependentSchemas` (2020-12 Validation 6.5.4, Core 10.2.2.4) and the older `dependencies`.

use std::collections::HashSet;

use super::required::names;
use super::{Behaviour, Check, Early, Keyword, Rule};
use crate::drivers::check::Checker;
use crate::drivers::evaluated::Evaluated;
use crate::drivers::explain::{At, Explainer, Token};
use crate::instance::{Instance, Key, Kind, kinds};
use crate::issue::Name;
use crate::plan::NodeId;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// A name, and the names that it asks for.
pub type Needed = (Box<str>, Box<[Box<str>]>);

/// Names that a present name asks for.
#[derive(Clone, Debug)]
pub struct DependentRequired {
    keyword: Keyword,
    rows: Box<[Needed]>,
}

/// Schemas that a present name asks for.
#[derive(Clone, Debug)]
pub struct DependentSchemas {
    keyword: Keyword,
    rows: Box<[(Box<str>, NodeId)]>,
}

fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    keyword: Keyword,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if value.kind() != Kind::Object {
        return Err(scope.error(keyword, format!("Expected an object, got {}", value.kind().word())));
    }
    let place = scope.place.then(keyword.name());
    let (mut required, mut schemas) = (Vec::new(), Vec::new());
    let mut failed = None;
    value.members(|key, item| {
        let list = match keyword {
            Keyword::DependentRequired => true,
            Keyword::DependentSchemas => false,
            _ => item.kind() == Kind::Array,
        };
        let result = if list {
            names(scope, keyword, item).map(|names| {
                required.push((key.text().into(), names.into_iter().map(Into::into).collect()));
            })
        } else {
            compiler.subschema(scope, &place.then(key.text()), item).map(|node| {
                schemas.push((key.text().into(), node));
            })
        };
        failed = result.err();
        failed.is_none()
    });
    if let Some(error) = failed {
        return Err(error);
    }
    if !required.is_empty() {
        let rule = Rule::DependentRequired(DependentRequired { keyword, rows: required.into() });
        draft.checks.push(Check { kinds: kinds::OBJECT, keyword, rule });
    }
    if !schemas.is_empty() {
        let rule = Rule::DependentSchemas(DependentSchemas { keyword, rows: schemas.into() });
        draft.checks.push(Check { kinds: kinds::OBJECT, keyword, rule });
    }
    Ok(())
}

/// Compiles `dependentRequired`.
pub(crate) fn required<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    compile(compiler, scope, draft, Keyword::DependentRequired, value)
}

/// Compiles `dependentSchemas`.
pub(crate) fn schemas<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    compile(compiler, scope, draft, Keyword::DependentSchemas, value)
}

/// Compiles `dependencies`: each member is a list of names or a schema.
pub(crate) fn dependencies<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    compile(compiler, scope, draft, Keyword::Dependencies, value)
}

/// Which names an object has: asked one by one, or from a set where there are many rows.
enum Present<'a, I> {
    Object(I),
    Names(HashSet<&'a str>),
}

impl<'a, I: Instance<'a>> Present<'a, I> {
    fn of(object: I, rows: usize) -> Self {
        const FEW: usize = 8;
        if rows <= FEW {
            return Self::Object(object);
        }
        let mut names = HashSet::with_capacity(object.len());
        object.members(|key, _| {
            names.insert(key.text());
            true
        });
        Self::Names(names)
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::Object(object) => object.member(0, name).is_some(),
            Self::Names(names) => names.contains(name),
        }
    }
}

impl Behaviour for DependentRequired {
    #[inline(never)]
    fn check<'a, I: Instance<'a>>(&self, _: &mut Checker<'_>, value: I) -> bool {
        if value.kind() != Kind::Object {
            return true;
        }
        let present = Present::of(value, self.rows.len());
        self.rows
            .iter()
            .all(|(trigger, names)| !present.has(trigger) || names.iter().all(|name| present.has(name)))
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let present = Present::of(value, self.rows.len());
        for (trigger, names) in &self.rows {
            if present.has(trigger) {
                for name in names.iter().filter(|name| !present.has(name)) {
                    run.missing(at, self.keyword, Name::Text(name.clone()), Some(trigger), value);
                }
            }
        }
    }

    fn heap_size(&self) -> usize {
        let names =
            |names: &[Box<str>]| names.iter().map(|name| size_of::<Box<str>>() + name.len()).sum::<usize>();
        self.rows.iter().map(|(trigger, row)| size_of_val(row) + trigger.len() + 16 + names(row)).sum()
    }

    fn early(&self) -> Early<'_> {
        Early::Needs(&self.rows)
    }
}

impl Behaviour for DependentSchemas {
    #[inline(never)]
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        if value.kind() != Kind::Object {
            return true;
        }
        let present = Present::of(value, self.rows.len());
        self.rows.iter().all(|(trigger, node)| !present.has(trigger) || run.branch(*node, value))
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let present = Present::of(value, self.rows.len());
        for (trigger, node) in &self.rows {
            if present.has(trigger) {
                run.node(&at.under(self.keyword.name(), Token::Text(trigger)), *node, value);
            }
        }
    }

    fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        let present = Present::of(value, self.rows.len());
        for (trigger, node) in &self.rows {
            if present.has(trigger) {
                found.node(*node, value);
            }
        }
    }

    fn in_place(&self, visit: &mut dyn FnMut(NodeId)) {
        self.rows.iter().for_each(|(_, node)| visit(*node));
    }

    fn applied<'a, I: Instance<'a>>(&self, _: &mut Checker<'_>, value: I, visit: &mut dyn FnMut(NodeId)) {
        let present = Present::of(value, self.rows.len());
        self.rows.iter().filter(|(trigger, _)| present.has(trigger)).for_each(|(_, node)| visit(*node));
    }

    fn heap_size(&self) -> usize {
        self.rows.iter().map(|row| size_of_val(row) + row.0.len()).sum()
    }

    fn early(&self) -> Early<'_> {
        Early::Rows(&self.rows)
    }
}
