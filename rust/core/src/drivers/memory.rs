//! Verdicts that a run remembers, so that schemas which share others cost linear time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

use super::check::Checker;
use crate::instance::{Instance, kinds};
use crate::plan::NodeId;

/// Verdicts by node, value, and the resources entered on the way where those matter.
pub(super) type Memo = HashMap<(NodeId, usize, u64), bool, BuildHasherDefault<Mixed>>;

/// A hash of the keys of [`Memo`]. They are numbers and addresses, which nobody outside chooses.
#[derive(Default)]
pub(super) struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }
    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Checker<'_> {
    /// The verdict of a schema that applies to a value which other schemas see too. Remembered once there were many:
    /// else schemas that share others would cost as much as there are ways to them.
    #[inline]
    pub(crate) fn branch<'a, I: Instance<'a>>(&mut self, id: NodeId, value: I) -> bool {
        self.applied += 1;
        let noted = self.trail.as_ref().map_or(0, |trail| trail.found.len());
        let verdict = if self.applied <= self.allowance {
            self.node::<I, false>(id, value)
        } else {
            self.remembered(id, value)
        };
        if !verdict && let Some(trail) = &mut self.trail {
            trail.found.truncate(noted);
        }
        verdict
    }

    /// The verdict of a schema that only asks: nothing in it is filled in.
    #[inline]
    pub(crate) fn aside<'a, I: Instance<'a>>(&mut self, id: NodeId, value: I) -> bool {
        let trail = self.trail.take();
        let verdict = self.branch(id, value);
        self.trail = trail;
        verdict
    }

    #[cold]
    fn remembered<'a, I: Instance<'a>>(&mut self, id: NodeId, value: I) -> bool {
        // A leaf is quicker asked than looked up.
        if self.plan.node(id).check_count == 0 && value.kind().bit() & kinds::CONTAINER == 0 {
            return self.node::<I, false>(id, value);
        }
        if let Some(trail) = &mut self.trail {
            trail.lost = true;
        }
        let key = (id, value.identity(), self.scope_key());
        if let Some(verdict) = self.memo.as_ref().and_then(|memo| memo.get(&key)) {
            return *verdict;
        }
        let verdict = self.node::<I, false>(id, value);
        self.memo.get_or_insert_default().insert(key, verdict);
        verdict
    }

    /// Equal for equal ways through the resources; always 0 where no dynamic reference asks for them.
    pub(crate) fn scope_key(&self) -> u64 {
        if self.scope.is_empty() {
            return 0;
        }
        let mut hasher = DefaultHasher::new();
        self.scope.hash(&mut hasher);
        hasher.finish()
    }

    /// Forgets verdicts: values that they were about may be gone.
    pub(crate) fn forget(&mut self) {
        self.memo = None;
        self.named = 0;
    }

    /// The verdict on a value that lives no longer than the question: its identity may come back.
    pub(crate) fn passing<'a, I: Instance<'a>>(&mut self, id: NodeId, value: I) -> bool {
        let (memo, trail) = (self.memo.take(), self.trail.take());
        let verdict = self.node::<I, false>(id, value);
        (self.memo, self.trail, self.named) = (memo, trail, 0);
        verdict
    }
}
