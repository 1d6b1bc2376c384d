//! Where explain stands while it looks: a list on the stack, turned into data only when an issue is kept.

use crate::issue::{Mark, Name, Place, Step};
use crate::plan::NodeId;

/// A place: in the instance and in the schema.
#[derive(Clone, Copy)]
pub struct At<'p> {
    parent: Option<&'p At<'p>>,
    step: AtStep<'p>,
}

#[derive(Clone, Copy)]
enum AtStep<'p> {
    Start,
    /// A member, under the name that `properties` declares for it.
    Declared(u32),
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

impl AtStep<'_> {
    /// How many marks it becomes.
    fn marks(&self) -> usize {
        match self {
            Self::Start => 0,
            Self::Schema(_, token) => 1 + usize::from(!matches!(token, Token::None)),
            _ => 1,
        }
    }
}

impl At<'_> {
    /// The instance and the schema themselves.
    pub fn start() -> Self {
        Self { parent: None, step: AtStep::Start }
    }
    /// A member of the instance, and its schema under `properties`.
    pub fn declared(&self, property: u32) -> At<'_> {
        At { parent: Some(self), step: AtStep::Declared(property) }
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
    /// A reference was followed to a node.
    pub(super) fn target(&self, node: NodeId) -> At<'_> {
        At { parent: Some(self), step: AtStep::Target(node) }
    }

    /// Nothing was stepped into yet.
    pub(super) fn is_start(&self) -> bool {
        matches!(self.step, AtStep::Start)
    }

    /// As data.
    #[inline]
    pub(super) fn place(&self) -> Place {
        if let (AtStep::Declared(property), Some(At { step: AtStep::Start, .. })) = (self.step, self.parent) {
            return Place::one(Mark::Declared(property));
        }
        Place::of(self.marks(0))
    }

    /// The place of a member that is missing here.
    pub(super) fn missing(&self, name: Name) -> Place {
        let missing = Mark::from(Step::Key(name));
        if self.is_start() {
            return Place::one(missing);
        }
        let mut marks = self.marks(1);
        marks.push(missing);
        Place::of(marks)
    }

    /// The steps from the root, with room for more.
    #[inline(never)]
    fn marks(&self, more: usize) -> Vec<Mark> {
        let mut count = more;
        let mut at = self;
        while let Some(parent) = at.parent {
            count += at.step.marks();
            at = parent;
        }
        let mut marks = Vec::with_capacity(count);
        let mut at = self;
        while let Some(parent) = at.parent {
            // The last step of a pair first: the list is turned round.
            match at.step {
                AtStep::Start => {}
                AtStep::Declared(property) => marks.push(Mark::Declared(property)),
                AtStep::Known(property) => marks.push(Mark::Known(property)),
                AtStep::Member(name) => marks.push(Mark::Member(name.into())),
                AtStep::Item(index) => marks.push(Mark::Item(index)),
                AtStep::Schema(word, token) => {
                    marks.extend(token.mark());
                    marks.push(Mark::Word(word));
                }
                AtStep::Target(node) => marks.push(Mark::Target(node)),
            }
            at = parent;
        }
        marks.reverse();
        marks
    }

    /// How many steps of the instance path there are.
    pub(super) fn depth(&self) -> usize {
        let own = match self.step {
            AtStep::Declared(_) | AtStep::Known(_) | AtStep::Member(_) | AtStep::Item(_) => 1,
            AtStep::Start | AtStep::Schema(..) | AtStep::Target(_) => 0,
        };
        own + self.parent.map_or(0, At::depth)
    }
}

impl Token<'_> {
    fn mark(self) -> Option<Mark> {
        match self {
            Self::None => None,
            Self::Index(index) => Some(Mark::Index(index)),
            Self::Known(property) => Some(Mark::Name(property)),
            Self::Pattern(pattern) => Some(Mark::Pattern(pattern)),
            Self::Text(text) => Some(Mark::Text(text.into())),
        }
    }
}
