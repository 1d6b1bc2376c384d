//! The decoder's values that keywords in place judge, and the defaults that wait for their verdict.

use std::collections::HashMap;

use super::builder::Builder;
use super::check::{Checker, Trail};
use super::decode::{Decoder, Stop};
use crate::instance::{Instance, Kind, kinds};
use crate::plan::{NONE, Node, NodeId};

/// Choices that lead to one value, each to its only schema, before it is made first and judged by the rest of them.
const MOST_LINKS: usize = 200;

/// The values that keywords in place are still to be asked about. Defaults are filled in when all of them have spoken:
/// before that, they judge what was sent.
pub(super) struct Region<V> {
    /// The finished objects.
    pub(super) objects: Vec<V>,
    /// Where defaults may be filled in.
    pub(super) trail: Trail,
}

impl<V> Default for Region<V> {
    fn default() -> Self {
        Self { objects: Vec::new(), trail: Trail::default() }
    }
}

impl<B: Builder> Decoder<'_, '_, '_, B> {
    /// A value whose node has keywords that apply in place.
    pub(super) fn checked(
        &mut self,
        id: NodeId,
        node: &Node,
        kind: Kind,
    ) -> Result<B::Value, Stop<B::Error>> {
        let rule = match kind {
            Kind::String => node.string,
            Kind::Object => node.object,
            Kind::Array => node.array,
            Kind::Integer => node.number,
            _ => NONE,
        };
        if rule == NONE && node.check_count == 1 && kind != Kind::Integer {
            let rule = &self.plan.checks[node.checks as usize].rule;
            let told = || if kind == Kind::Object { self.told(rule) } else { None };
            if self.links < MOST_LINKS
                && let Some(only) = rule.sole(kind).or_else(told)
            {
                self.links += 1;
                let value = self.value(only);
                self.links -= 1;
                return value;
            }
        }
        let leads = kind.bit() & kinds::CONTAINER != 0 && self.plan.leads_to_default(id);
        self.open += usize::from(leads);
        let start = self.at;
        let value = self.by_rule(node, kind)?;
        self.judge(leads, start, &value, |checker, value| checker.keywords_in_place(node, value))?;
        Ok(value)
    }

    /// Asks keywords about a value that is made already, and fills in defaults if they are the last to be asked.
    /// `leads`: the region was opened for them; `start`: where the value's text starts.
    #[inline]
    pub(super) fn judge<'v>(
        &mut self,
        leads: bool,
        start: usize,
        value: &'v B::Value,
        verdict: impl FnOnce(&mut Checker<'_>, B::Instance<'v>) -> bool,
    ) -> Result<(), Stop<B::Error>>
    where
        B: 'v,
    {
        let mut checker = Checker::new(self.plan, self.depth).at_level(self.depth + self.links);
        if leads {
            // A value takes two bytes of text at least.
            checker = checker.with_trail((self.at - start) / 2);
        }
        if !verdict(&mut checker, B::instance(value)) || checker.exceeded().is_some() {
            return Err(Stop::Refused);
        }
        if leads {
            self.close_region(checker.into_trail())?;
        }
        Ok(())
    }

    /// A node of the region accepted its value. Behind the last one the defaults are filled in.
    fn close_region(&mut self, trail: Trail) -> Result<(), Stop<B::Error>> {
        const FEW: usize = 8;
        let region = self.region.get_or_insert_default();
        self.open -= 1;
        region.trail.found.extend(trail.found);
        region.trail.lost |= trail.lost || !B::SHARES;
        if self.open > 0 {
            return Ok(());
        }
        let found = std::mem::take(&mut region.trail.found);
        let objects = std::mem::take(&mut region.objects);
        if region.trail.lost || found.is_empty() {
            return Ok(());
        }
        let identity = |object: &B::Value| B::instance(object).identity();
        if objects.len() <= FEW {
            for (wanted, rule) in found {
                if let Some(object) = objects.iter().find(|object| identity(object) == wanted) {
                    self.builder.complete(self.plan, rule, object)?;
                }
            }
            return Ok(());
        }
        let by_identity: HashMap<usize, &B::Value> =
            objects.iter().map(|object| (identity(object), object)).collect();
        for (wanted, rule) in found {
            if let Some(object) = by_identity.get(&wanted) {
                self.builder.complete(self.plan, rule, object)?;
            }
        }
        Ok(())
    }
}
