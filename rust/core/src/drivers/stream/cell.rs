//! A cell: one schema, or one decision between schemas, at work on one value that is still arriving.
//!
//! Cells form a tree by their parents and stand in one stack: those of a value lie together, above those of the
//! containers around it.

use crate::instance::Kind;
use crate::keywords::Keyword;
use crate::plan::{NONE, NodeId};

/// What is known of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It depends on what comes.
    Open,
    /// Valid whatever comes.
    Ok,
    /// Invalid whatever comes.
    Failed,
}

/// What a cell decides. Checks are positions in the plan's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Node(NodeId),
    /// A literal or a part of one, by its number.
    Literal(u32),
    /// One of several literals.
    Values(u32),
    Any(u32),
    One(u32),
    /// All branches of one of these two, before a member tells which is meant.
    Later(u32),
    /// The constant that tells.
    Tag(u32),
    Not(u32),
    If(u32),
    Contains(u32),
    /// With the position of what it has seen.
    Unique(u32),
    Names(u32),
    /// A row of schemas that a name asks for.
    Row(u32, u32),
    Needs(u32),
    Whole(u32),
}

/// How a cell's schema stands under its parent's.
#[derive(Clone, Copy, Debug)]
pub(super) enum Via {
    /// It is the parent's keyword itself, or the schema itself.
    Here,
    Known(u32),
    Pattern(u32),
    Additional,
    Prefix(u32),
    Rest,
    Under(Keyword),
    Branch(Keyword, u32),
    Row,
}

#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Cell {
    pub(super) part: Part,
    pub(super) parent: u32,
    pub(super) via: Via,
    /// Position among its parent's branches, where that matters.
    pub(super) slot: u8,
    pub(super) status: Status,
    /// Its failure is a violation, not only a branch that falls away.
    pub(super) told: bool,
    /// A node's own rule can fail no more; a row's name has come.
    pub(super) own: bool,
    /// Children that are undecided.
    pub(super) pending: u32,
    /// Branches or items that are certainly right.
    pub(super) good: u32,
    /// Where the last name was found; the candidate that a string still matches.
    pub(super) at: u32,
    /// Required names that came; names of a literal that came.
    pub(super) required: u32,
    /// Names that came whose values are constrained.
    pub(super) constrained: u32,
    /// The repair of a value may undo its failure: a string or null stands where something else is wanted.
    pub(super) mends: bool,
    /// The name at hand was refused before it ended.
    pub(super) refused: bool,
    /// The first 64 names, by whether they came; three statuses of an `if`; the place in a pattern.
    pub(super) bits: u64,
}

impl Cell {
    pub(super) fn new(part: Part, parent: u32, via: Via, told: bool) -> Self {
        Self {
            part,
            parent,
            via,
            slot: 0,
            status: Status::Open,
            told,
            own: false,
            pending: 0,
            good: 0,
            at: 0,
            required: 0,
            constrained: 0,
            mends: false,
            refused: false,
            bits: 0,
        }
    }

    /// Does it still look at what comes?
    #[inline]
    pub(super) fn looks(&self) -> bool {
        self.status == Status::Open || (self.told && self.status == Status::Failed)
    }
}

/// Why a cell failed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    Type(Kind),
    /// Nothing is allowed, or no keyword speaks.
    Never,
    /// No literal is like this.
    Literal,
    Count(Keyword, usize),
    Pattern,
    Format,
    Content,
    Number(Keyword),
    Beyond(usize),
    Missing,
    Unexpected,
    NoBranch,
    Branches(usize),
    Repeated(usize, usize),
    Needs,
    Whole,
}

/// The cell that failed by itself, and why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Why {
    pub(super) cell: u32,
    pub(super) fault: Fault,
}

/// No cell.
pub(super) const NOBODY: u32 = NONE;
