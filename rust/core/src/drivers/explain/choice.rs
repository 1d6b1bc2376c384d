//! Which branch of `anyOf` and `oneOf` was meant, and what is said of it.

use super::{At, Explainer, Token};
use crate::instance::{Instance, Kind};
use crate::issue::{Detail, Issue, Name};
use crate::keywords::Keyword;
use crate::plan::{NodeId, Plan};
use crate::schema::discriminator::{Choice, Tags};

/// Issues kept of one branch.
const BRANCH_ISSUES: usize = 16;
/// Branches that are explained.
const MOST_BRANCHES: usize = 64;
/// The same for one value with all that lies in it: branches of branches multiply.
const MOST_BRANCHES_IN_ALL: usize = 5_000;
/// Choices within choices that are explained: deeper causes help nobody.
const MOST_CHOICES: usize = 16;

impl<'a, I: Instance<'a>> Explainer<'_, I> {
    /// Explains `anyOf` and `oneOf`: the branch that was meant speaks, all branches stand under the causes.
    ///
    /// A discriminator names the branch that was meant. Without one it is the branch that got furthest; where several
    /// got equally far, the issue is the choice's own.
    pub fn branches(
        &mut self,
        at: &At<'_>,
        keyword: Keyword,
        branches: &[NodeId],
        tags: Option<&Tags>,
        value: I,
    ) {
        let outer = std::mem::take(&mut self.found);
        let limit = std::mem::replace(&mut self.limit, BRANCH_ISSUES);
        let mut causes = Vec::with_capacity(branches.len().min(MOST_BRANCHES));
        for (index, branch) in branches.iter().enumerate().take(MOST_BRANCHES) {
            if self.branches >= MOST_BRANCHES_IN_ALL || self.choices >= MOST_CHOICES {
                break;
            }
            self.branches += 1;
            self.choices += 1;
            self.node(&at.under(keyword.name(), Token::Index(index)), *branch, value);
            self.choices -= 1;
            causes.push(std::mem::take(&mut self.found).into_vec());
        }
        (self.found, self.limit) = (outer, limit);
        if !self.wants_more() {
            return;
        }
        let tags = tags.filter(|_| value.kind() == Kind::Object);
        let meant = match tags.map(|tags| (tags, tags.choose(value))) {
            Some((_, Choice::Branch(meant))) => Some(meant),
            Some((tags, Choice::NoBranch)) => return self.no_branch(at, keyword, tags, value, causes),
            Some((_, Choice::Unknown)) | None => furthest(&causes, at.depth()),
        };
        if let Some(mut issues) = meant
            .and_then(|meant| causes.get(meant))
            .map(|found| bare(found))
            .filter(|found| !found.is_empty())
        {
            issues[0].causes = causes;
            let room = self.limit - self.found.len();
            self.found.extend(issues.into_iter().take(room));
            return;
        }
        let types = branches.iter().fold(0, |types, branch| types | self.plan().node(*branch).types);
        let kind = value.kind();
        let detail = if types & kind.bit() == 0 {
            Detail::Type(types, false, kind)
        } else {
            merged_literals(&causes, self.plan()).unwrap_or(Detail::Matches(0))
        };
        self.keep(Issue { place: at.place(), keyword: Some(keyword), value, detail, causes });
    }

    /// The issue of a discriminator that is missing or names no branch.
    fn no_branch(
        &mut self,
        at: &At<'_>,
        keyword: Keyword,
        tags: &Tags,
        value: I,
        causes: Vec<Vec<Issue<I>>>,
    ) {
        let Some(tag) = value.member(0, &tags.name) else {
            return self.missing(at, keyword, Name::Text(tags.name.clone()), None, value);
        };
        let at = at.member(&tags.name);
        let detail = Detail::OneOf(tags.all().map(Into::into).collect());
        self.keep(Issue { place: at.place(), keyword: Some(keyword), value: tag, detail, causes });
    }
}

/// The issues without their causes, which stand under the choice already.
fn bare<I: Copy>(issues: &[Issue<I>]) -> Vec<Issue<I>> {
    let bare = |issue: &Issue<I>| Issue {
        place: issue.place.clone(),
        keyword: issue.keyword,
        value: issue.value,
        detail: issue.detail.clone(),
        causes: Vec::new(),
    };
    issues.iter().map(bare).collect()
}

/// The one branch that got further than all others.
fn furthest<I>(causes: &[Vec<Issue<I>>], here: usize) -> Option<usize> {
    let ranks: Vec<_> = causes.iter().map(|issues| rank(issues, here)).collect();
    let best = ranks.iter().max()?;
    let mut holders = ranks.iter().enumerate().filter(|(_, rank)| *rank == best);
    match (holders.next(), holders.next()) {
        (Some((index, rank)), None) if rank.0 > 0 => Some(index),
        _ => None,
    }
}

/// How far a branch got: whether it passed the value's own type, did not fail at a constant, how deep its first
/// issue lies, how few its issues are.
fn rank<I>(issues: &[Issue<I>], here: usize) -> (u8, bool, usize, std::cmp::Reverse<usize>) {
    let Some(first) = issues.first() else { return (0, false, 0, std::cmp::Reverse(usize::MAX)) };
    let at_value =
        |issue: &Issue<I>| issue.place.depth() == here && matches!(issue.keyword, Some(Keyword::Type) | None);
    let constant = |issue: &Issue<I>| {
        issue.place.depth() == here + 1 && matches!(issue.keyword, Some(Keyword::Const | Keyword::Enum))
    };
    let literal = issues.len() == 1
        && first.place.depth() == here
        && matches!(first.detail, Detail::OneOf(_) | Detail::Set(..));
    let passed = u8::from(!issues.iter().any(at_value) && !literal);
    let deepest = issues.iter().map(|issue| issue.place.depth()).max().unwrap_or(here);
    (passed, !issues.iter().any(constant), deepest, std::cmp::Reverse(issues.len()))
}

/// Where every branch wanted certain values, their union.
fn merged_literals<I>(causes: &[Vec<Issue<I>>], plan: &Plan) -> Option<Detail> {
    let mut all = Vec::new();
    for issues in causes {
        match issues.as_slice() {
            [Issue { keyword: Some(Keyword::Type), .. }] => {}
            [Issue { detail, .. }] => all.extend(detail.literals(plan)?),
            _ => return None,
        }
    }
    (!all.is_empty()).then(|| Detail::OneOf(all.into()))
}
