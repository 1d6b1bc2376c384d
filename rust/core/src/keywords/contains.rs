//! `contains`, `minContains`, `maxContains` (2020-12 Core 10.3.1.3, Validation 6.4.4 and 6.4.5).

use super::length::count as count_of;
use super::{Behaviour, Check, Early, Keyword, Rule};
use crate::drivers::check::Checker;
use crate::drivers::evaluated::Evaluated;
use crate::drivers::explain::{At, Explainer, Token};
use crate::instance::{Instance, Kind, kinds};
use crate::issue::Detail;
use crate::plan::NodeId;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::dialect::Draft as DraftName;
use crate::schema::draft::Draft;

/// Items that are explained where too few match.
const MOST_EXPLAINED: usize = 3;

/// How many items must match a schema.
#[derive(Clone, Debug)]
pub struct Contains {
    node: NodeId,
    min: usize,
    max: usize,
    /// 2020-12 counts matching items as evaluated, 2019-09 does not.
    evaluates: bool,
}

/// Compiles `contains` with its counts.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let node = compiler.subschema(scope, &scope.place.then(Keyword::Contains.name()), value)?;
    let bound = |keyword: Keyword, default: usize| {
        scope.get(keyword).map_or(Ok(default), |value| count_of(scope, keyword, value))
    };
    let (min, max) = (bound(Keyword::MinContains, 1)?, bound(Keyword::MaxContains, usize::MAX)?);
    let rule =
        Rule::Contains(Contains { node, min, max, evaluates: scope.dialect.draft >= DraftName::D2020 });
    draft.checks.push(Check { kinds: kinds::ARRAY, keyword: Keyword::Contains, rule });
    Ok(())
}

/// `minContains` and `maxContains` count only beside `contains`, which reads them.
pub(crate) fn count<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    _: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    let own = scope.get(Keyword::MinContains).is_some_and(|min| min.identity() == value.identity());
    count_of(scope, if own { Keyword::MinContains } else { Keyword::MaxContains }, value).map(|_| ())
}

impl Contains {
    fn matches<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I, enough: usize) -> usize {
        let mut matches = 0;
        run.deeper(|run| {
            value.items(|_, item| {
                matches += usize::from(run.aside(self.node, item));
                matches < enough
            })
        });
        matches
    }
}

impl Behaviour for Contains {
    #[inline(never)]
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        let enough = if self.max == usize::MAX { self.min } else { self.max.saturating_add(1) };
        value.kind() != Kind::Array
            || (self.min..=self.max).contains(&self.matches(run, value, enough.max(1)))
            || (self.min == 0 && self.max == usize::MAX)
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let matches = self.matches(&mut run.run, value, usize::MAX);
        let keyword = match (matches < self.min, matches > self.max) {
            (true, _) if self.min == 1 => Keyword::Contains,
            (true, _) => Keyword::MinContains,
            (_, true) => Keyword::MaxContains,
            _ => return,
        };
        run.issue(at, Some(keyword), value, Detail::Matches(matches));
        if matches < self.min {
            // Why the first items do not match: a model corrects an item more easily than a count.
            value.items(|index, item| {
                let child = at.item(index);
                run.node(&child.under(Keyword::Contains.name(), Token::None), self.node, item);
                run.wants_more() && index + 1 < MOST_EXPLAINED
            });
        }
    }

    fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        if self.evaluates {
            value.items(|index, item| {
                if found.accepts(self.node, item) {
                    found.item(index);
                }
                true
            });
        }
    }

    fn early(&self) -> Early<'_> {
        Early::Contains(self.node, self.min..=self.max)
    }
}
