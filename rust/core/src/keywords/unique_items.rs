//! `uniqueItems` (2020-12 Validation 6.4.3): equality of JSON values, 1 and 1.0 being the same.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;

use super::{Behaviour, Check, Early, Keyword, Rule};
use crate::drivers::check::Checker;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, Kind, equal, hash_value, kinds};
use crate::issue::Detail;
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;

/// No two items are equal.
#[derive(Clone, Debug)]
pub struct UniqueItems;

/// Up to this many items are compared pair by pair.
const FEW: usize = 16;

/// Compiles a boolean.
pub(crate) fn compile<'a, H: Host<'a>>(
    _: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    if value.kind() != Kind::Bool {
        return Err(
            scope.error(Keyword::UniqueItems, format!("Expected a boolean, got {}", value.kind().word()))
        );
    }
    if value.boolean() {
        let rule = Rule::UniqueItems(UniqueItems);
        draft.checks.push(Check { kinds: kinds::ARRAY, keyword: Keyword::UniqueItems, rule });
    }
    Ok(())
}

/// The positions of the first two equal items. The array's depth is known to be bounded.
fn repeated<'a, I: Instance<'a>>(value: I) -> Option<(usize, usize)> {
    let mut found = None;
    if value.len() <= FEW {
        value.items(|index, item| {
            found = (0..index)
                .find(|before| value.item(*before).is_some_and(|other| equal(other, item)))
                .map(|before| (before, index));
            found.is_none()
        });
        return found;
    }
    // A key of its own for each run: items chosen to collide do not.
    let keys = RandomState::default();
    let mut found: Vec<(u64, usize)> = Vec::with_capacity(value.len());
    value.items(|index, item| {
        let mut hasher = keys.build_hasher();
        hash_value(item, &mut hasher, &keys);
        found.push((hasher.finish(), index));
        true
    });
    found.sort_unstable();
    let are_equal = |before: usize, index: usize| {
        value.item(before).zip(value.item(index)).is_some_and(|(before, item)| equal(before, item))
    };
    let same_hash = found.chunk_by(|before, after| before.0 == after.0).filter(|same| same.len() > 1);
    same_hash
        .filter_map(|same| {
            let mut pairs =
                (1..same.len()).flat_map(|at| same[..at].iter().map(move |before| (before.1, same[at].1)));
            pairs.find(|(before, index)| are_equal(*before, *index))
        })
        .min_by_key(|(_, index)| *index)
}

impl Behaviour for UniqueItems {
    #[inline(never)]
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        value.kind() != Kind::Array || value.len() < 2 || (run.is_bounded(value) && repeated(value).is_none())
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        if let Some((first, second)) = run.run.is_bounded(value).then(|| repeated(value)).flatten() {
            run.issue(at, Some(Keyword::UniqueItems), value, Detail::Repeated(first, second));
        }
    }

    fn early(&self) -> Early<'_> {
        Early::Unique
    }
}
