//! Violations that became certain, as issues: where, by which keyword, and at which byte.

use super::cell::{Fault, NOBODY, Part, Via, Why};
use super::expand::written;
use super::{Context, Run};
use crate::instance::{Kind, kinds};
use crate::issue::{Detail, Issue, Name, Place, SchemaStep, Step};
use crate::keywords::enum_::literal_text;
use crate::keywords::{Early, Keyword};
use crate::plan::NONE;

/// A violation that is certain.
#[derive(Clone, Debug)]
pub struct Found {
    /// The byte with which it became certain.
    pub offset: usize,
    /// The kind of the value.
    pub kind: Kind,
    /// The repair of the finished value may make it good.
    pub mends: bool,
    /// What is wrong.
    pub issue: Issue<()>,
}

impl Run {
    /// How many containers enclose the value of a cell.
    pub(super) fn depth_of(&self, cell: u32) -> usize {
        self.frames
            .iter()
            .position(|frame| (frame.start..frame.end).contains(&cell))
            .unwrap_or(self.frames.len())
    }

    fn path_to(&self, depth: usize) -> Vec<Step> {
        (0..depth.min(self.frames.len())).map(|at| self.step(at)).collect()
    }

    pub(super) fn schema_path(&self, x: Context<'_>, cell: u32, keyword: Option<Keyword>) -> Vec<SchemaStep> {
        let mut steps: Vec<_> = keyword.into_iter().map(|keyword| SchemaStep::Word(keyword.name())).collect();
        let mut at = cell;
        while at != NOBODY {
            let this = &self.cells[at as usize];
            if let Some(id) = Self::node_of(x, this.part)
                && x.plan.place_of(id).is_some()
            {
                steps.push(SchemaStep::Target(id));
                break;
            }
            let words = || {
                let Some(Part::Node(id)) = self.cells.get(this.parent as usize).map(|parent| parent.part)
                else {
                    return ("items", "prefixItems");
                };
                x.plan
                    .arrays
                    .get(written(x, id).array as usize)
                    .map_or(("items", "prefixItems"), |rule| rule.words)
            };
            match this.via {
                Via::Here => {}
                Via::Known(property) => {
                    steps.push(SchemaStep::Name(Name::Known(property)));
                    steps.push(SchemaStep::Word(Keyword::Properties.name()));
                }
                Via::Pattern(pattern) => {
                    steps.push(SchemaStep::Pattern(pattern));
                    steps.push(SchemaStep::Word(Keyword::PatternProperties.name()));
                }
                Via::Additional => steps.push(SchemaStep::Word(Keyword::AdditionalProperties.name())),
                Via::Prefix(index) => {
                    steps.push(SchemaStep::Index(index as usize));
                    steps.push(SchemaStep::Word(words().1));
                }
                Via::Rest => steps.push(SchemaStep::Word(words().0)),
                Via::Under(keyword) => steps.push(SchemaStep::Word(keyword.name())),
                Via::Branch(keyword, index) => {
                    steps.push(SchemaStep::Index(index as usize));
                    steps.push(SchemaStep::Word(keyword.name()));
                }
                Via::Row => {
                    if let Some(Part::Row(check, row)) =
                        self.cells.get(this.parent as usize).map(|cell| cell.part)
                        && let Early::Rows(rows) = x.plan.checks[check as usize].rule.early()
                    {
                        steps.push(SchemaStep::Name(Name::Text(rows[row as usize].0.clone())));
                        steps.push(SchemaStep::Word(x.plan.checks[check as usize].keyword.name()));
                    }
                }
            }
            at = this.parent;
        }
        steps.reverse();
        steps
    }

    /// Writes a violation down.
    #[allow(clippy::too_many_lines, reason = "one arm a kind of fault, none of them long")]
    pub(super) fn report(&mut self, x: Context<'_>, why: Why, at: usize) {
        if self.found.len() >= x.plan.limits.issues {
            return;
        }
        let Why { cell, fault } = why;
        let depth = self.depth_of(cell);
        let part = self.cells[cell as usize].part;
        let node = if let Part::Node(id) = part { Some(written(x, id)) } else { None };
        let check = match part {
            Part::Values(check)
            | Part::Any(check)
            | Part::One(check)
            | Part::Later(check)
            | Part::Tag(check)
            | Part::Not(check)
            | Part::If(check)
            | Part::Contains(check)
            | Part::Names(check)
            | Part::Row(check, _)
            | Part::Needs(check)
            | Part::Whole(check) => check,
            Part::Node(_) | Part::Literal(_) | Part::Unique(_) => NONE,
        };
        let checked = x.plan.checks.get(check as usize);
        let keyword = checked.map(|check| check.keyword);
        let mut kind = match self.frames.get(depth) {
            Some(frame) if frame.is_object => Kind::Object,
            Some(_) => Kind::Array,
            None if self.in_key => Kind::String,
            None => self.kind,
        };
        if let Fault::Missing = fault {
            return self.missing(x, cell, depth, at);
        }
        let (keyword, detail) = match fault {
            Fault::Type(found) => {
                kind = found;
                let node = node.map_or(x.plan.node(0), |node| node);
                let integral = x.plan.numbers.get(node.number as usize).is_some_and(|rule| rule.integral);
                // The kinds of a node with branches are narrowed to theirs: then the choice speaks.
                let choice = match x.plan.checks_of(node) {
                    [check]
                        if node.string == NONE
                            && matches!(check.rule.early(), Early::Any(_) | Early::One(_)) =>
                    {
                        (check.rule.accepted_kinds(&x.plan.nodes) == node.types).then_some(check.keyword)
                    }
                    _ => None,
                };
                (Some(choice.unwrap_or(Keyword::Type)), Detail::Type(node.types, integral, found))
            }
            Fault::Never | Fault::Missing => (None, Detail::Never),
            Fault::Literal => self.literal(x, cell),
            Fault::Count(keyword, count) => (Some(keyword), Detail::Count(limit(x, part, keyword), count)),
            Fault::Pattern => {
                let rule = node.and_then(|node| x.plan.strings.get(node.string as usize));
                (Some(Keyword::Pattern), Detail::Pattern(rule.map_or(NONE, |rule| rule.pattern)))
            }
            Fault::Format => {
                let rule = node.and_then(|node| x.plan.strings.get(node.string as usize));
                let format = rule.and_then(|rule| rule.format);
                (Some(Keyword::Format), Detail::Format(format.map_or("", |format| format.name())))
            }
            Fault::Content => (
                Some(Keyword::ContentMediaType),
                Detail::Text(&("text of the content's media type", "other text")),
            ),
            Fault::Number(keyword) => {
                kind = Kind::Float;
                (Some(keyword), Detail::Number(node.map_or(NONE, |node| node.number)))
            }
            Fault::Beyond(most) => {
                let rule = node.and_then(|node| x.plan.arrays.get(node.array as usize));
                (rule.and_then(|rule| Keyword::lookup(rule.words.0)), Detail::Beyond(most))
            }
            Fault::Unexpected => {
                self.cut_names.push(self.found.len());
                let keyword = if let Part::Names(_) = part {
                    Keyword::PropertyNames
                } else {
                    Keyword::AdditionalProperties
                };
                (Some(keyword), Detail::Unexpected(self.key.as_str().into()))
            }
            Fault::NoBranch => (keyword, Detail::Matches(0)),
            Fault::Branches(count) => {
                let keyword = match checked.map(|check| check.rule.early()) {
                    Some(Early::Contains(_, wanted)) if count > *wanted.end() => Some(Keyword::MaxContains),
                    Some(Early::Contains(_, wanted)) if *wanted.start() != 1 => Some(Keyword::MinContains),
                    _ => keyword,
                };
                let detail = if let Part::Not(_) = part {
                    Detail::Text(&("a value that the schema in not refuses", "one that it accepts"))
                } else {
                    Detail::Matches(count)
                };
                (keyword, detail)
            }
            Fault::Repeated(first, second) => (Some(Keyword::UniqueItems), Detail::Repeated(first, second)),
            Fault::Needs => return self.needs(x, cell, depth, at),
            Fault::Whole => (keyword, Detail::Never),
        };
        let schema_path = self.schema_path(x, cell, None);
        let place = Place::from_paths(self.path_to(depth.min(self.value_depth())), schema_path);
        let mends = self.cells[cell as usize].mends;
        self.keep(at, kind, mends, Issue { place, keyword, value: (), detail, causes: Vec::new() });
    }

    /// A name is judged before it stands in the path.
    fn value_depth(&self) -> usize {
        if self.in_key && !self.named { self.frames.len() - 1 } else { self.frames.len() }
    }

    fn keep(&mut self, offset: usize, kind: Kind, mends: bool, issue: Issue<()>) {
        self.found.push(Found { offset, kind, mends, issue });
    }

    fn literal(&self, x: Context<'_>, cell: u32) -> (Option<Keyword>, Detail) {
        match self.cells[cell as usize].part {
            Part::Values(check) => {
                let check = &x.plan.checks[check as usize];
                let Early::Literals(values) = check.rule.early() else {
                    return (Some(check.keyword), Detail::Never);
                };
                (Some(check.keyword), Detail::OneOf(values.iter().map(literal_text).collect()))
            }
            Part::Node(id) => {
                let Some(rule) = x.plan.strings.get(written(x, id).string as usize) else {
                    return (None, Detail::Never);
                };
                let set = &x.plan.sets[rule.set as usize];
                let keyword = if set.constant { Keyword::Const } else { Keyword::Enum };
                let allowed = set.members.iter().map(|(text, _)| crate::issue::quoted(text).into()).collect();
                (Some(keyword), Detail::OneOf(allowed))
            }
            _ => (None, Detail::Never),
        }
    }

    /// Each missing name at its own path.
    fn missing(&mut self, x: Context<'_>, cell: u32, depth: usize, at: usize) {
        let this = &self.cells[cell as usize];
        let Part::Node(id) = this.part else { return };
        let bits = this.bits;
        let Some(rule) = x.plan.objects.get(written(x, id).object as usize) else { return };
        let schema_path = self.schema_path(x, cell, None);
        let path = self.path_to(depth);
        for (position, property) in (0u32..).zip(x.plan.properties_of(rule)) {
            let seen = if position < 64 {
                bits & (1 << position) != 0
            } else {
                let names = self.frames.get(depth).and_then(|frame| frame.names.as_ref());
                names.is_some_and(|names| names.contains(x.plan.name(property)))
            };
            if property.required && !seen && self.found.len() < x.plan.limits.issues {
                let name = Name::Known(rule.first + position);
                let mut path = path.clone();
                path.push(Step::Key(name.clone()));
                let place = Place::from_paths(path, schema_path.clone());
                let (keyword, detail) = (Some(Keyword::Required), Detail::Missing(name));
                let issue = Issue { place, keyword, value: (), detail, causes: Vec::new() };
                self.keep(at, Kind::Object, false, issue);
            }
        }
    }

    fn needs(&mut self, x: Context<'_>, cell: u32, depth: usize, at: usize) {
        let Part::Needs(check) = self.cells[cell as usize].part else { return };
        let keyword = x.plan.checks[check as usize].keyword;
        let Early::Needs(rows) = x.plan.checks[check as usize].rule.early() else { return };
        let names = self.frames.get_mut(depth).and_then(|frame| frame.names.take()).unwrap_or_default();
        let has = |name: &str| names.contains(name);
        let schema_path = self.schema_path(x, cell, None);
        for (trigger, needed) in rows.iter().filter(|(trigger, _)| has(trigger)) {
            for name in needed.iter().filter(|name| !has(name)) {
                let mut path = self.path_to(depth);
                path.push(Step::key(name));
                let detail = Detail::Needed(Box::new((Name::Text(name.clone()), trigger.clone())));
                let place = Place::from_paths(path, schema_path.clone());
                let issue = Issue { place, keyword: Some(keyword), value: (), detail, causes: Vec::new() };
                self.keep(at, Kind::Object, false, issue);
            }
        }
        if let Some(frame) = self.frames.get_mut(depth) {
            frame.names = Some(names);
        }
    }

    /// A name that stands twice in its object.
    pub(super) fn repeated(&mut self, at: usize, name: &str) {
        self.repeats = true;
        let mut path = self.path_to(self.frames.len().saturating_sub(1));
        path.push(Step::key(name));
        let detail = Detail::Text(&("each name once in an object", "the same name twice"));
        let place = Place::from_paths(path, Vec::new());
        self.keep(
            at,
            Kind::Object,
            false,
            Issue { place, keyword: None, value: (), detail, causes: Vec::new() },
        );
    }

    /// The branches of choices that are not excluded at the value inside the `depth` innermost-but containers.
    pub(super) fn live_branches(&self, x: Context<'_>, range: std::ops::Range<u32>) -> Vec<Vec<SchemaStep>> {
        let mut live = Vec::new();
        for index in range {
            let Some(cell) = self.cells.get(index as usize) else { break };
            let Some(parent) = self.cells.get(cell.parent as usize) else { continue };
            if let Part::Later(check) = cell.part
                && cell.looks()
            {
                for branch in
                    x.facts.choice(check).map(|choice| self.branches_left(choice, index)).unwrap_or_default()
                {
                    let mut steps =
                        self.schema_path(x, cell.parent, Some(x.plan.checks[check as usize].keyword));
                    steps.push(SchemaStep::Index(branch as usize));
                    live.push(steps);
                }
                continue;
            }
            if matches!(parent.part, Part::Any(_) | Part::One(_)) && cell.status != super::Status::Failed {
                // The branch's own place, also where it is the target of a reference.
                if let Via::Branch(keyword, branch) = cell.via {
                    let mut steps = self.schema_path(x, cell.parent, Some(keyword));
                    steps.push(SchemaStep::Index(branch as usize));
                    live.push(steps);
                }
            }
        }
        live
    }
}

/// The limit that a count passed.
fn limit(x: Context<'_>, part: Part, keyword: Keyword) -> usize {
    let Part::Node(id) = part else { return 0 };
    let node = written(x, id);
    let (strings, arrays) =
        (x.plan.strings.get(node.string as usize), x.plan.arrays.get(node.array as usize));
    let objects = x.plan.objects.get(node.object as usize);
    match keyword {
        Keyword::MinLength => strings.map_or(0, |rule| rule.min),
        Keyword::MaxLength => strings.map_or(0, |rule| rule.max),
        Keyword::MinItems => arrays.map_or(0, |rule| rule.min),
        Keyword::MaxItems => arrays.map_or(0, |rule| rule.max),
        Keyword::MinProperties => objects.map_or(0, |rule| rule.min),
        _ => objects.map_or(0, |rule| rule.max),
    }
}

/// The bit of a kind of container.
pub(super) const fn bit(is_object: bool) -> u8 {
    if is_object { kinds::OBJECT } else { kinds::ARRAY }
}
