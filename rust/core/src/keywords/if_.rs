//! `if`, `then`, `else` (2020-12 Core 10.2.2).

use super::{Behaviour, Check, Early, Keyword, Rule};
use crate::drivers::check::Checker;
use crate::drivers::evaluated::Evaluated;
use crate::drivers::explain::{At, Explainer, Token};
use crate::instance::{Instance, kinds};
use crate::plan::{NodeId, TRUE};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;
use crate::schema::tables::Tables;

/// A condition and what follows from it.
#[derive(Clone, Debug)]
pub struct If {
    condition: NodeId,
    then: NodeId,
    otherwise: NodeId,
}

/// Compiles `if` with its `then` and `else`.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let condition = compiler.subschema(scope, &scope.place.then(Keyword::If.name()), value)?;
    let mut branch = |keyword: Keyword| match scope.get(keyword) {
        Some(schema) => compiler.subschema(scope, &scope.place.then(keyword.name()), schema),
        None => Ok(TRUE),
    };
    let rule = Rule::If(If { condition, then: branch(Keyword::Then)?, otherwise: branch(Keyword::Else)? });
    draft.checks.push(Check { kinds: kinds::ANY, keyword: Keyword::If, rule });
    Ok(())
}

/// `then` and `else` count only beside `if`, which compiles them; alone they are only checked.
pub(crate) fn branch<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    _: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if scope.get(Keyword::If).is_none() {
        let own = scope.get(Keyword::Then).is_some_and(|then| then.identity() == value.identity());
        let keyword = if own { Keyword::Then } else { Keyword::Else };
        compiler.subschema(scope, &scope.place.then(keyword.name()), value)?;
    }
    Ok(())
}

/// The condition of a schema that is nothing but `if` and `then`: where it refuses, nothing is asked.
pub(crate) fn sole_condition(id: NodeId, tables: &Tables) -> Option<NodeId> {
    let node = &tables.nodes[id as usize];
    let alone = node.types == kinds::ANY && node.has_no_rules() && node.check_count == 1;
    match &tables.checks.get(node.checks as usize)?.rule {
        Rule::If(rule) if alone && rule.otherwise == TRUE => Some(rule.condition),
        _ => None,
    }
}

impl If {
    fn chosen(&self, condition: bool) -> (NodeId, Keyword) {
        if condition { (self.then, Keyword::Then) } else { (self.otherwise, Keyword::Else) }
    }
}

impl Behaviour for If {
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        let condition = run.aside(self.condition, value);
        run.branch(self.chosen(condition).0, value)
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let (node, keyword) = self.chosen(run.accepts(self.condition, value));
        run.node(&at.under(keyword.name(), Token::None), node, value);
    }

    fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        let condition = found.accepts(self.condition, value);
        if condition {
            found.node(self.condition, value);
        }
        found.node(self.chosen(condition).0, value);
    }

    fn in_place(&self, visit: &mut dyn FnMut(NodeId)) {
        [self.condition, self.then, self.otherwise].into_iter().for_each(visit);
    }

    fn applied<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I, visit: &mut dyn FnMut(NodeId)) {
        let condition = run.aside(self.condition, value);
        visit(self.chosen(condition).0);
    }

    fn early(&self) -> Early<'_> {
        Early::If([self.condition, self.then, self.otherwise])
    }
}
