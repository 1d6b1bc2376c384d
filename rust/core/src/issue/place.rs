//! Where an issue stands, in the instance and in the schema: one list of steps, from which both are read.

use crate::keywords::Keyword;
use crate::plan::Plan;
use crate::schema::uri::push_token;

/// A name: one that the plan knows by its number, or a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// Into [`Plan::properties`].
    Known(u32),
    /// Any other.
    Text(Box<str>),
}

impl Name {
    /// The name's text.
    pub fn text<'n>(&'n self, plan: &'n Plan) -> &'n str {
        match self {
            Self::Known(at) => plan.name(&plan.properties[*at as usize]),
            Self::Text(text) => text,
        }
    }
}

/// One step of an instance path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A member.
    Key(Name),
    /// An item.
    Index(usize),
}

impl Step {
    /// A member by its name's text.
    pub fn key(text: &str) -> Self {
        Self::Key(Name::Text(text.into()))
    }
}

/// One step of a place in the schema document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaStep {
    /// The place of a reference's target; what stood before counts no more.
    Target(u32),
    /// A keyword.
    Word(&'static str),
    /// A position in a keyword's list.
    Index(usize),
    /// A pattern of the plan.
    Pattern(u32),
    /// A name.
    Name(Name),
}

/// A step in the instance, in the schema, or in both at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A member of the instance by the name that `properties` declares for it.
    Declared(u32),
    /// A member of the instance whose name the plan knows.
    Known(u32),
    /// A member of the instance by any other name.
    Member(Box<str>),
    /// An item of the instance.
    Item(usize),
    /// The place of a reference's target; what stood before in the schema counts no more.
    Target(u32),
    /// A keyword.
    Word(&'static str),
    /// A position in a keyword's list.
    Index(usize),
    /// A pattern of the plan.
    Pattern(u32),
    /// A name under a keyword that the plan knows.
    Name(u32),
    /// Any other name under a keyword.
    Text(Box<str>),
}

impl From<Step> for Mark {
    fn from(step: Step) -> Self {
        match step {
            Step::Key(Name::Known(property)) => Self::Known(property),
            Step::Key(Name::Text(text)) => Self::Member(text),
            Step::Index(index) => Self::Item(index),
        }
    }
}

impl From<SchemaStep> for Mark {
    fn from(step: SchemaStep) -> Self {
        match step {
            SchemaStep::Target(node) => Self::Target(node),
            SchemaStep::Word(word) => Self::Word(word),
            SchemaStep::Index(index) => Self::Index(index),
            SchemaStep::Pattern(pattern) => Self::Pattern(pattern),
            SchemaStep::Name(Name::Known(property)) => Self::Name(property),
            SchemaStep::Name(Name::Text(text)) => Self::Text(text),
        }
    }
}

/// A step of an instance path, as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop<'a> {
    /// A member by a name that the plan knows.
    Known(u32),
    /// A member by any other name.
    Text(&'a str),
    /// An item.
    Index(usize),
}

impl<'a> Hop<'a> {
    fn of(mark: &'a Mark) -> Option<Self> {
        match mark {
            Mark::Declared(property) | Mark::Known(property) => Some(Self::Known(*property)),
            Mark::Member(name) => Some(Self::Text(name)),
            Mark::Item(index) => Some(Self::Index(*index)),
            _ => None,
        }
    }

    /// The member's name; none for an item.
    pub fn name(self, plan: &'a Plan) -> Option<&'a str> {
        match self {
            Self::Known(property) => Some(plan.name(&plan.properties[property as usize])),
            Self::Text(text) => Some(text),
            Self::Index(_) => None,
        }
    }

    /// Is it the same step?
    pub fn is_same(self, other: Hop<'a>, plan: &'a Plan) -> bool {
        self == other || (self.name(plan).is_some() && self.name(plan) == other.name(plan))
    }
}

/// Where an issue stands. Most stand at the value itself or at a member of it, which takes no list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place(Marks);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Marks {
    One([Mark; 1]),
    Some(Box<[Mark]>),
}

impl Place {
    /// A place with one step.
    pub fn one(mark: Mark) -> Self {
        Self(Marks::One([mark]))
    }

    /// The steps in order, from the root.
    pub fn of(marks: Vec<Mark>) -> Self {
        Self(Marks::Some(marks.into()))
    }

    /// From a path in the instance and one in the schema, without the keyword that spoke.
    pub fn from_paths(path: Vec<Step>, schema: Vec<SchemaStep>) -> Self {
        Self::of(path.into_iter().map(Mark::from).chain(schema.into_iter().map(Mark::from)).collect())
    }

    fn marks(&self) -> &[Mark] {
        match &self.0 {
            Marks::One(mark) => mark,
            Marks::Some(marks) => marks,
        }
    }

    /// The path in the instance.
    pub fn hops(&self) -> impl Iterator<Item = Hop<'_>> + Clone {
        self.marks().iter().filter_map(Hop::of)
    }

    /// How many steps the path in the instance has.
    pub fn depth(&self) -> usize {
        self.hops().count()
    }

    /// The JSON Pointer to the keyword in the schema document.
    pub fn schema_pointer(&self, keyword: Option<Keyword>, plan: &Plan) -> String {
        let mut pointer = String::new();
        for mark in self.marks() {
            push_mark(&mut pointer, mark, plan);
        }
        if let Some(keyword) = keyword {
            push_token(&mut pointer, keyword.name());
        }
        pointer
    }
}

/// The JSON Pointer of a place in the schema document.
pub fn schema_pointer(steps: Vec<SchemaStep>, plan: &Plan) -> String {
    let mut pointer = String::new();
    for step in steps {
        push_mark(&mut pointer, &step.into(), plan);
    }
    pointer
}

fn push_mark(pointer: &mut String, mark: &Mark, plan: &Plan) {
    let name = |property: u32| plan.name(&plan.properties[property as usize]);
    match mark {
        Mark::Known(_) | Mark::Member(_) | Mark::Item(_) => {}
        Mark::Declared(property) => {
            push_token(pointer, Keyword::Properties.name());
            push_token(pointer, name(*property));
        }
        Mark::Target(node) => plan.place_of(*node).unwrap_or("").clone_into(pointer),
        Mark::Word(word) => push_token(pointer, word),
        Mark::Index(index) => push_token(pointer, &index.to_string()),
        Mark::Pattern(pattern) => push_token(pointer, plan.patterns[*pattern as usize].source()),
        Mark::Name(property) => push_token(pointer, name(*property)),
        Mark::Text(text) => push_token(pointer, text),
    }
}
