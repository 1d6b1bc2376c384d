//! Lists what is wrong, once a verdict was no: the cold path.
//!
//! It runs the schema as written (a merged node's original), so that each issue names the keyword that the author
//! wrote. Paths are linked on the stack and turned into data only when an issue is kept. Everything it looks into is
//! bounded by the same limits as the verdict.

use super::check::{Checker, Exceeded};
use crate::instance::{Instance, Key, Kind, kinds};
use crate::issue::{Detail, Issue, Name, SchemaStep, Step};
use crate::keywords::{
    Keyword, bounds, content, enum_, format, item_count, items, length, multiple_of, pattern, properties,
    property_count, type_,
};
use crate::plan::{NONE, Node, NodeId, Plan};
use crate::schema::discriminator::{Choice, Tags};

/// A place: in the instance and in the schema.
#[derive(Clone, Copy)]
pub struct At<'p> {
    parent: Option<&'p At<'p>>,
    step: AtStep<'p>,
}

#[derive(Clone, Copy)]
enum AtStep<'p> {
    Start,
    Known(u32),
    Member(&'p str),
    Item(usize),
    Schema(&'static str, Token<'p>),
    /// A reference was followed: the schema's place starts anew.
    Target(NodeId),
}

/// What stands under a keyword in a schema document.
#[derive(Clone, Copy)]
pub enum Token<'p> {
    /// The subschema itself.
    None,
    /// A list of subschemas.
    Index(usize),
    /// A known name.
    Known(u32),
    /// A pattern of the plan.
    Pattern(u32),
    /// Any other name.
    Text(&'p str),
}

impl At<'_> {
    /// The instance and the schema themselves.
    pub fn start() -> Self {
        Self { parent: None, step: AtStep::Start }
    }
    /// A member of the instance.
    pub fn member<'q>(&'q self, name: &'q str) -> At<'q> {
        At { parent: Some(self), step: AtStep::Member(name) }
    }
    /// A member of the instance whose name the plan knows.
    pub fn known(&self, property: u32) -> At<'_> {
        At { parent: Some(self), step: AtStep::Known(property) }
    }
    /// An item of the instance.
    pub fn item(&self, index: usize) -> At<'_> {
        At { parent: Some(self), step: AtStep::Item(index) }
    }
    /// A subschema under a keyword.
    pub fn under<'q>(&'q self, keyword: &'static str, token: Token<'q>) -> At<'q> {
        At { parent: Some(self), step: AtStep::Schema(keyword, token) }
    }
    fn target(&self, node: NodeId) -> At<'_> {
        At { parent: Some(self), step: AtStep::Target(node) }
    }

    fn path(&self) -> Vec<Step> {
        let mut path = Vec::new();
        let mut at = Some(self);
        while let Some(here) = at {
            match here.step {
                AtStep::Known(property) => path.push(Step::Key(Name::Known(property))),
                AtStep::Member(name) => path.push(Step::key(name)),
                AtStep::Item(index) => path.push(Step::Index(index)),
                _ => {}
            }
            at = here.parent;
        }
        path.reverse();
        path
    }

    /// How many steps of the instance path there are.
    fn depth(&self) -> usize {
        let own = usize::from(matches!(self.step, AtStep::Known(_) | AtStep::Member(_) | AtStep::Item(_)));
        own + self.parent.map_or(0, At::depth)
    }

    fn schema_path(&self, keyword: Option<Keyword>) -> Vec<SchemaStep> {
        let mut steps = Vec::with_capacity(4);
        steps.extend(keyword.map(|keyword| SchemaStep::Word(keyword.name())));
        let mut at = Some(self);
        while let Some(here) = at {
            match here.step {
                AtStep::Schema(word, token) => {
                    steps.extend(match token {
                        Token::None => None,
                        Token::Index(index) => Some(SchemaStep::Index(index)),
                        Token::Known(property) => Some(SchemaStep::Name(Name::Known(property))),
                        Token::Pattern(pattern) => Some(SchemaStep::Pattern(pattern)),
                        Token::Text(text) => Some(SchemaStep::Name(Name::Text(text.into()))),
                    });
                    steps.push(SchemaStep::Word(word));
                }
                AtStep::Target(node) => {
                    steps.push(SchemaStep::Target(node));
                    break;
                }
                _ => {}
            }
            at = here.parent;
        }
        steps.reverse();
        steps
    }
}

/// A run that lists issues.
pub struct Explainer<'p, I> {
    /// Decides on branches.
    pub run: Checker<'p>,
    found: Vec<Issue<I>>,
    limit: usize,
    depth: usize,
    levels: usize,
    /// Branches explained so far, and choices within choices at this place.
    branches: usize,
    choices: usize,
}

/// Nested schemas that are explained; beyond, the issue of the depth is all that is said.
const MOST_LEVELS: usize = 500;

/// Lists up to `limit` issues of a value; none where the plan accepts it.
pub fn issues<'a, I: Instance<'a>>(plan: &Plan, value: I, limit: usize) -> Vec<Issue<I>> {
    let run = Checker::new(plan, 0);
    let mut run = Explainer { run, found: Vec::new(), limit, depth: 0, levels: 0, branches: 0, choices: 0 };
    // The root is explained without asking for its verdict first: most values that come here are refused.
    run.explain_node(&At::start(), plan.root, value, false);
    // What is not JSON may hide where the schema looks at nothing.
    if run.wants_more() && !run.run.is_bounded(value) {
        run.foreign(&At::start(), value);
    }
    // A limit was passed where the answer did not show it, as under `not`.
    if run.found.is_empty()
        && run.wants_more()
        && let Some(exceeded) = run.run.exceeded()
    {
        let detail = match exceeded {
            Exceeded::Levels => Detail::Depth(plan.limits.depth),
            Exceeded::Steps => Detail::Steps(plan.limits.regex_steps),
        };
        run.issue(&At::start(), None, value, detail);
    }
    run.found
}

impl<'p, I> Explainer<'p, I> {
    /// The plan.
    pub fn plan(&self) -> &'p Plan {
        self.run.plan
    }

    /// Are more issues wanted?
    pub fn wants_more(&self) -> bool {
        self.found.len() < self.limit
    }
}

impl<'a, I: Instance<'a>> Explainer<'_, I> {
    /// Keeps an issue.
    pub fn issue(&mut self, at: &At<'_>, keyword: Option<Keyword>, value: I, detail: Detail) {
        if !self.wants_more() {
            return;
        }
        let (path, schema_path) = (at.path(), at.schema_path(keyword));
        self.found.push(Issue { path, schema_path, keyword, value, detail, causes: Vec::new() });
    }

    /// Keeps the issue of a missing member, at the member's own path.
    pub fn missing(&mut self, at: &At<'_>, keyword: Keyword, name: Name, because: Option<&str>, object: I) {
        if !self.wants_more() {
            return;
        }
        let mut path = at.path();
        path.push(Step::Key(name.clone()));
        let detail = Detail::Missing(name, because.map(Into::into));
        let schema_path = at.schema_path(Some(keyword));
        self.found.push(Issue {
            path,
            schema_path,
            keyword: Some(keyword),
            value: object,
            detail,
            causes: Vec::new(),
        });
    }

    /// Does a node accept the value?
    pub fn accepts(&mut self, id: NodeId, value: I) -> bool {
        self.run.branch(id, value)
    }

    /// Lists the issues of a value, if a node refuses it.
    pub fn node(&mut self, at: &At<'_>, id: NodeId, value: I) {
        let node = self.plan().node(id);
        let bit = value.kind().bit();
        let accepted = node.types & bit != 0 && (node.more & bit == 0 || self.accepts(id, value));
        if !accepted {
            self.explain_node(at, id, value, true);
        }
    }

    /// Lists the issues of a value that a node refuses (`refused`), or may refuse.
    fn explain_node(&mut self, at: &At<'_>, id: NodeId, value: I, refused: bool) {
        if !self.wants_more() {
            return;
        }
        let plan = self.plan();
        if self.levels >= MOST_LEVELS {
            return self.issue(at, None, value, Detail::Depth(plan.limits.depth));
        }
        self.levels += 1;
        let before = self.found.len();
        let written = plan.node(plan.node(id).written);
        if plan.place_of(id).is_some() {
            self.written(&at.target(id), written, value);
        } else {
            self.written(at, written, value);
        }
        if self.found.len() == before && self.wants_more() && (refused || !self.accepts(id, value)) {
            // The verdict is no and no keyword spoke: a limit of the run stopped it.
            self.issue(at, None, value, Detail::Depth(plan.limits.depth));
        }
        self.levels -= 1;
    }

    fn written(&mut self, at: &At<'_>, node: &Node, value: I) {
        let plan = self.plan();
        let entered = self.run.enter(node);
        let before = self.found.len();
        let kind = value.kind();
        type_::explain(self, at, node, value);
        if node.types & kind.bit() != 0 {
            match kind {
                Kind::String if node.string != NONE => {
                    let rule = &plan.strings[node.string as usize];
                    enum_::explain(self, at, rule, value);
                    length::explain(self, at, rule, value);
                    pattern::explain(self, at, rule, value);
                    format::explain(self, at, rule, value);
                    content::explain(self, at, rule, value);
                }
                Kind::Integer | Kind::Float if node.number != NONE => {
                    bounds::explain(self, at, node.number, value);
                    multiple_of::explain(self, at, node.number, value);
                }
                Kind::Array if node.array != NONE => {
                    let rule = &plan.arrays[node.array as usize];
                    item_count::explain(self, at, rule, value);
                    self.deeper(at, value, |run| items::explain(run, at, rule, value));
                }
                Kind::Object if node.object != NONE => {
                    let rule = &plan.objects[node.object as usize];
                    property_count::explain(self, at, rule, value);
                    self.deeper(at, value, |run| properties::explain(run, at, rule, value));
                }
                _ => {}
            }
            for check in plan.checks_of(node) {
                if check.kinds & kind.bit() != 0
                    && self.wants_more()
                    && !check.rule.check(&mut self.run, value)
                {
                    check.rule.explain(self, at, value);
                }
            }
        } else if let Some(check) = plan.checks_of(node).iter().find(|_| node.types != 0) {
            // The kinds of a node with branches are narrowed to theirs: let the branches speak.
            if plan.checks_of(node).len() == 1 && node.string == NONE {
                let narrowed = check.rule.accepted_kinds(&plan.nodes) == node.types;
                if narrowed {
                    self.found.truncate(before);
                    check.rule.explain(self, at, value);
                }
            }
        }
        if entered {
            self.run.scope.pop();
        }
    }

    fn deeper(&mut self, at: &At<'_>, value: I, visit: impl FnOnce(&mut Self)) {
        let limit = self.plan().limits.depth;
        if self.depth >= limit {
            self.issue(at, None, value, Detail::Depth(limit));
            return;
        }
        self.depth += 1;
        visit(self);
        self.depth -= 1;
    }

    /// Lists what is not JSON data in a value: foreign kinds, keys that are no strings, too deep nesting.
    fn foreign(&mut self, at: &At<'_>, value: I) {
        if !self.wants_more() {
            return;
        }
        match value.kind() {
            Kind::Foreign => {
                // Where a keyword looked at the value, it was reported there.
                let path = at.path();
                let plan = self.plan();
                let is_here = |issue: &Issue<I>| {
                    issue.path.len() == path.len()
                        && issue.path.iter().zip(&path).all(|(a, b)| a.is_same(b, plan))
                };
                if !self.found.iter().any(is_here) {
                    self.issue(at, None, value, Detail::Foreign(value.foreign_name().into()));
                }
            }
            Kind::Array => self.deeper(at, value, |run| {
                value.items(|index, item| {
                    if item.kind().bit() & kinds::CONTAINER != 0 || item.kind() == Kind::Foreign {
                        run.foreign(&at.item(index), item);
                    }
                    run.wants_more()
                });
            }),
            Kind::Object => {
                if let Some(name) = value.foreign_key() {
                    self.issue(
                        at,
                        None,
                        value,
                        Detail::Foreign(format!("an object with a key that is {name}").into()),
                    );
                    return;
                }
                self.deeper(at, value, |run| {
                    value.members(|key, item| {
                        if item.kind().bit() & kinds::CONTAINER != 0 || item.kind() == Kind::Foreign {
                            run.foreign(&at.member(key.text()), item);
                        }
                        run.wants_more()
                    });
                });
            }
            _ => {}
        }
    }

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
            causes.push(std::mem::take(&mut self.found));
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
            merged_literals(&causes).unwrap_or(Detail::Matches(0))
        };
        let schema_path = at.schema_path(Some(keyword));
        self.found.push(Issue {
            path: at.path(),
            schema_path,
            keyword: Some(keyword),
            value,
            detail,
            causes,
        });
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
        let (path, schema_path) = (at.path(), at.schema_path(Some(keyword)));
        self.found.push(Issue { path, schema_path, keyword: Some(keyword), value: tag, detail, causes });
    }
}

/// The issues without their causes, which stand under the choice already.
fn bare<I: Copy>(issues: &[Issue<I>]) -> Vec<Issue<I>> {
    let bare = |issue: &Issue<I>| Issue {
        path: issue.path.clone(),
        schema_path: issue.schema_path.clone(),
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

/// Issues kept of one branch.
const BRANCH_ISSUES: usize = 16;
/// Branches that are explained.
const MOST_BRANCHES: usize = 64;
/// The same for one value with all that lies in it: branches of branches multiply.
const MOST_BRANCHES_IN_ALL: usize = 5_000;
/// Choices within choices that are explained: deeper causes help nobody.
const MOST_CHOICES: usize = 16;

/// How far a branch got: whether it passed the value's own type, did not fail at a constant, how deep its first
/// issue lies, how few its issues are.
fn rank<I>(issues: &[Issue<I>], here: usize) -> (u8, bool, usize, std::cmp::Reverse<usize>) {
    let Some(first) = issues.first() else { return (0, false, 0, std::cmp::Reverse(usize::MAX)) };
    let at_value =
        |issue: &Issue<I>| issue.path.len() == here && matches!(issue.keyword, Some(Keyword::Type) | None);
    let constant = |issue: &Issue<I>| {
        issue.path.len() == here + 1 && matches!(issue.keyword, Some(Keyword::Const | Keyword::Enum))
    };
    let literal = issues.len() == 1 && first.path.len() == here && matches!(first.detail, Detail::OneOf(_));
    let passed = u8::from(!issues.iter().any(at_value) && !literal);
    let deepest = issues.iter().map(|issue| issue.path.len()).max().unwrap_or(here);
    (passed, !issues.iter().any(constant), deepest, std::cmp::Reverse(issues.len()))
}

/// Where every branch wanted certain values, their union.
fn merged_literals<I>(causes: &[Vec<Issue<I>>]) -> Option<Detail> {
    let mut all = Vec::new();
    for issues in causes {
        match issues.as_slice() {
            [Issue { detail: Detail::OneOf(values), .. }] => all.extend(values.iter().cloned()),
            [Issue { keyword: Some(Keyword::Type), .. }] => {}
            _ => return None,
        }
    }
    (!all.is_empty()).then(|| Detail::OneOf(all.into()))
}
