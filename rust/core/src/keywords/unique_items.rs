//! `uniqueItems` (2020-12 Validation 6.4.3): equality of JSON values, 1 and 1.0 being the same.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

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
    let keys = RandomState::new();
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::with_capacity(value.len());
    value.items(|index, item| {
        let mut hasher = keys.build_hasher();
        hash_value(item, &mut hasher, &keys);
        let bucket = seen.entry(hasher.finish()).or_default();
        found = bucket
            .iter()
            .find(|before| value.item(**before).is_some_and(|other| equal(other, item)))
            .map(|before| (*before, index));
        bucket.push(index);
        found.is_none()
    });
    found
}

impl Behaviour for UniqueItems {
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
        value.kind() != Kind::Array || value.len() < 2 || (run.is_bounded(value) && repeated(value).is_none())
    }

    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        if let Some((first, second)) = run.run.is_bounded(value).then(|| repeated(value)).flatten() {
            run.issue(at, Some(Keyword::UniqueItems), value, Detail::Repeated(first, second));
        }
    }

    fn early(&self) -> Early<'_> {
        Early::Unique
    }
}
