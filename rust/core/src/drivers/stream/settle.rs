//! How a verdict on a part becomes one on the whole: from a cell to its parents, as far as it decides them.

use super::cell::{Fault, NOBODY, Part, Status, Why};
use super::{Context, Run};
use crate::instance::Kind;
use crate::keywords::Early;
use crate::plan::TRUE;

impl Run {
    /// The cell fails by itself with the byte at `at`.
    pub(super) fn fail(&mut self, x: Context<'_>, cell: u32, fault: Fault, at: usize) {
        let mends = match fault {
            Fault::Type(kind) => matches!(kind, Kind::String | Kind::Null),
            Fault::Literal => !self.in_key && matches!(self.kind, Kind::String | Kind::Null),
            _ => false,
        };
        let this = &mut self.cells[cell as usize];
        if !this.looks() {
            return;
        }
        this.mends |= mends;
        let (told, was_open) = (this.told, this.status == Status::Open);
        this.status = Status::Failed;
        let why = Why { cell, fault };
        if told {
            self.report(x, why, at);
        }
        if was_open {
            self.rise(x, cell, why, at);
        }
    }

    /// The cell is valid whatever comes.
    pub(super) fn pass(&mut self, x: Context<'_>, cell: u32, at: usize) {
        let this = &mut self.cells[cell as usize];
        if this.status == Status::Open {
            this.status = Status::Ok;
            self.rise(x, cell, Why { cell, fault: Fault::Never }, at);
        }
    }

    /// The cell's own rule can fail no more.
    pub(super) fn own(&mut self, x: Context<'_>, cell: u32, at: usize) {
        let this = &mut self.cells[cell as usize];
        this.own = true;
        if this.pending == 0 {
            self.pass(x, cell, at);
        }
    }

    fn rise(&mut self, x: Context<'_>, mut child: u32, why: Why, at: usize) {
        loop {
            let (status, parent, slot, mends) = {
                let cell = &self.cells[child as usize];
                (cell.status, cell.parent, cell.slot, cell.mends)
            };
            if parent == NOBODY {
                return;
            }
            let above = &mut self.cells[parent as usize];
            if above.status != Status::Open {
                return;
            }
            let is_ok = status == Status::Ok;
            // One branch that may be mended may be the one that accepts the value then.
            above.mends |= mends;
            above.pending = above.pending.saturating_sub(1);
            // The verdict, and the fault of a decision between branches; a node's children spoke for themselves.
            let outcome = match above.part {
                Part::Node(_) | Part::Literal(_) if is_ok => {
                    (above.own && above.pending == 0).then_some((Status::Ok, None))
                }
                Part::Later(_) if is_ok => None,
                Part::Node(_) | Part::Literal(_) | Part::Later(_) => Some((Status::Failed, None)),
                Part::Any(_) | Part::Values(_) | Part::Row(..) if is_ok => Some((Status::Ok, None)),
                Part::Any(_) => (above.pending == 0).then_some((Status::Failed, Some(Fault::NoBranch))),
                Part::Values(_) => (above.pending == 0).then_some((Status::Failed, Some(Fault::Literal))),
                Part::One(_) => {
                    above.good += u32::from(is_ok);
                    match (above.good, above.pending) {
                        (2, _) => Some((Status::Failed, Some(Fault::Branches(2)))),
                        (0, 0) => Some((Status::Failed, Some(Fault::NoBranch))),
                        (1, 0) => Some((Status::Ok, None)),
                        _ => None,
                    }
                }
                Part::Not(_) if is_ok => Some((Status::Failed, Some(Fault::Branches(1)))),
                Part::Not(_) => Some((Status::Ok, None)),
                Part::If(_) => {
                    above.bits |= (if is_ok { 1 } else { 2 }) << (2 * slot);
                    let of = |slot: u64| (above.bits >> (2 * slot)) & 3;
                    let follows = match of(0) {
                        1 => of(1),
                        2 => of(2),
                        _ if of(1) == of(2) => of(1),
                        _ => 0,
                    };
                    match follows {
                        1 => Some((Status::Ok, None)),
                        2 => Some((Status::Failed, Some(Fault::NoBranch))),
                        _ => None,
                    }
                }
                Part::Contains(check) if is_ok => {
                    above.good += 1;
                    let good = above.good as usize;
                    match x.plan.checks[check as usize].rule.early() {
                        Early::Contains(_, count) if good > *count.end() => {
                            Some((Status::Failed, Some(Fault::Branches(good))))
                        }
                        Early::Contains(_, count) if good >= *count.start() && *count.end() == usize::MAX => {
                            Some((Status::Ok, None))
                        }
                        _ => None,
                    }
                }
                Part::Names(_) if !is_ok => Some((Status::Failed, Some(Fault::Unexpected))),
                Part::Row(..) if above.own => Some((Status::Failed, Some(Fault::NoBranch))),
                Part::Row(..) => {
                    // Whether that matters depends on the name.
                    above.good = 1;
                    None
                }
                Part::Tag(_)
                | Part::Contains(_)
                | Part::Names(_)
                | Part::Unique(_)
                | Part::Needs(_)
                | Part::Whole(_) => None,
            };
            let Some((status, fault)) = outcome else { return };
            above.status = status;
            let (told, part) = (above.told, above.part);
            if let (Status::Failed, Some(fault), true) = (status, fault, told) {
                let own = Why { cell: parent, fault };
                let deeper = self.depth_of(why.cell) > self.depth_of(parent);
                let speaks = match part {
                    Part::Any(_) | Part::One(_) => matches!(fault, Fault::NoBranch) && deeper,
                    Part::If(_) | Part::Row(..) => !matches!(why.fault, Fault::Never) || deeper,
                    _ => false,
                };
                self.report(x, if speaks { why } else { own }, at);
                let mends = self.cells[parent as usize].mends;
                if let Some(found) = self.found.last_mut() {
                    found.mends |= mends;
                }
            }
            child = parent;
        }
    }

    /// A row's name came.
    pub(super) fn row_came(&mut self, x: Context<'_>, cell: u32, at: usize) {
        let this = &mut self.cells[cell as usize];
        this.own = true;
        if this.good == 1 {
            self.fail(x, cell, Fault::NoBranch, at);
        }
    }

    /// The container of the cell has ended: what is left undecided without an undecided part is right.
    pub(super) fn close(&mut self, x: Context<'_>, cell: u32, at: usize) {
        let (part, pending, good, own) = {
            let this = &self.cells[cell as usize];
            if this.status != Status::Open {
                return;
            }
            (this.part, this.pending, this.good as usize, this.own)
        };
        match part {
            Part::Contains(check) => {
                let Early::Contains(_, count) = x.plan.checks[check as usize].rule.early() else { return };
                if good + (pending as usize) < *count.start() {
                    self.fail(x, cell, Fault::Branches(good), at);
                } else if pending == 0 {
                    self.pass(x, cell, at);
                }
            }
            Part::Unique(_) => self.pass(x, cell, at),
            Part::Names(_) if pending == 0 => self.pass(x, cell, at),
            Part::Row(..) if !own => self.pass(x, cell, at),
            _ => {}
        }
    }

    /// Is the schema one that accepts everything?
    pub(super) fn is_free(x: Context<'_>, node: u32) -> bool {
        node == TRUE || x.plan.node(node).is_free()
    }
}
