//! What is wrong with a value: where, by which keyword, and in words that a model can act on.
//!
//! A message states what was expected, then what was found. It never holds a value of the instance; names of
//! members appear, shortened. Texts are made when they are read: finding an issue costs no formatting.

use std::fmt::Write;

use crate::instance::{Kind, kinds};
use crate::keywords::Keyword;
use crate::number::Number;
use crate::plan::{NONE, Plan};

/// One step of an instance path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A member.
    Key(Box<str>),
    /// An item.
    Index(usize),
}

/// What a keyword wanted and what it found, as data.
#[derive(Clone, Debug)]
pub enum Detail {
    /// `type`: accepted kinds, whether floats must be integral, the kind found.
    Type(u8, bool, Kind),
    /// A count of characters, items or members: the limit, the count.
    Count(usize, usize),
    /// A bound or `multipleOf` of a number rule.
    Number(u32),
    /// A pattern of the plan.
    Pattern(u32),
    /// The format's name.
    Format(&'static str),
    /// `enum` or `const`: the allowed values as JSON texts.
    OneOf(Box<[Box<str>]>),
    /// A required name that is missing; with `dependentRequired`, the name that asks for it.
    Missing(Box<str>, Option<Box<str>>),
    /// A member that is not allowed.
    Unexpected(Box<str>),
    /// Items beyond this position are not allowed.
    Beyond(usize),
    /// How many branches or items matched.
    Matches(usize),
    /// Two positions with equal items.
    Repeated(usize, usize),
    /// Nothing is allowed here.
    Never,
    /// Not JSON data: what it is.
    Foreign(Box<str>),
    /// The data is nested deeper than this, or contains itself.
    Depth(usize),
    /// A pattern took more than this many steps.
    Steps(usize),
    /// Any other text: expected, found.
    Text(&'static str, &'static str),
}

/// One issue of an instance.
#[derive(Clone, Debug)]
pub struct Issue<I> {
    /// Where in the instance.
    pub path: Vec<Step>,
    /// Where in the schema document.
    pub schema_path: String,
    /// The keyword; None where no keyword spoke (not JSON data, depth).
    pub keyword: Option<Keyword>,
    /// The value that failed; for a missing member the object.
    pub value: I,
    /// What was wanted and found.
    pub detail: Detail,
    /// The issues of each branch, for `anyOf` and `oneOf`.
    pub causes: Vec<Vec<Issue<I>>>,
}

/// A parameter of a message, as data.
#[derive(Clone, Debug)]
pub enum Param {
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
}

/// The longest message, in bytes.
const LONGEST: usize = 300;
/// The longest name in a message, in characters.
const LONGEST_NAME: usize = 60;

/// The JSON Schema type words of a set of kinds.
pub fn type_words(types: u8, integral: bool) -> Vec<&'static str> {
    let mut words = Vec::new();
    for (bit, word) in [
        (kinds::STRING, "string"),
        (kinds::FLOAT, "number"),
        (kinds::INTEGER, "integer"),
        (kinds::BOOL, "boolean"),
        (kinds::OBJECT, "object"),
        (kinds::ARRAY, "array"),
        (kinds::NULL, "null"),
    ] {
        let hidden = match bit {
            kinds::FLOAT => integral,
            kinds::INTEGER => types & kinds::FLOAT != 0 && !integral,
            _ => false,
        };
        if types & bit != 0 && !hidden {
            words.push(word);
        }
    }
    words
}

fn listed(words: &[impl AsRef<str>], last: &str) -> String {
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push_str(if index + 1 == words.len() { last } else { ", " });
        }
        out.push_str(word.as_ref());
        if out.len() > LONGEST - 60 && index + 1 < words.len() {
            let _ = write!(out, " or one of {} more", words.len() - index - 1);
            break;
        }
    }
    out
}

/// A name, quoted and shortened.
pub fn quoted(name: &str) -> String {
    let short: String = name.chars().take(LONGEST_NAME).flat_map(char::escape_debug).collect();
    if name.chars().nth(LONGEST_NAME).is_some() { format!("\"{short}...\"") } else { format!("\"{short}\"") }
}

fn plural(count: usize, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "property") => format!("{count} properties"),
        _ => format!("{count} {noun}s"),
    }
}

impl Detail {
    /// What was expected, in words.
    pub fn expected(&self, keyword: Option<Keyword>, plan: &Plan) -> String {
        let word = keyword.map_or("", Keyword::name);
        let mut text = match self {
            Self::Type(types, integral, _) => listed(&type_words(*types, *integral), " or "),
            Self::Count(limit, _) => {
                let noun = match word {
                    "minLength" | "maxLength" => "character",
                    "minProperties" | "maxProperties" => "property",
                    _ => "item",
                };
                let bound = if word.starts_with("min") { "at least" } else { "at most" };
                format!("{bound} {}", plural(*limit, noun))
            }
            Self::Number(rule) => number_expected(word, *rule, plan),
            Self::Pattern(pattern) if *pattern != NONE => {
                format!("a string matching {}", shortened(plan.patterns[*pattern as usize].source(), 120))
            }
            Self::Pattern(_) => "a name matching the pattern".to_owned(),
            Self::Format(name) => format!("a string in format {name}"),
            Self::OneOf(values) if values.len() == 1 => values[0].to_string(),
            Self::OneOf(values) => format!("one of {}", listed(values, ", ")),
            Self::Missing(name, None) => format!("required property {}", quoted(name)),
            Self::Missing(name, Some(by)) => {
                format!("property {} because {} is present", quoted(name), quoted(by))
            }
            Self::Unexpected(_) => "only the declared properties".to_owned(),
            Self::Beyond(count) => format!("at most {}", plural(*count, "item")),
            Self::Matches(_) => match word {
                "oneOf" => "exactly one of the schemas in oneOf to match".to_owned(),
                "anyOf" => "at least one of the schemas in anyOf to match".to_owned(),
                "minContains" | "contains" => "more items that match contains".to_owned(),
                "maxContains" => "fewer items that match contains".to_owned(),
                _ => "a match".to_owned(),
            },
            Self::Repeated(..) => "unique items".to_owned(),
            Self::Never => "no value here".to_owned(),
            Self::Foreign(_) => "JSON data".to_owned(),
            Self::Depth(limit) => format!("at most {limit} levels of nesting"),
            Self::Steps(limit) => format!("a pattern decided within {limit} steps"),
            Self::Text(expected, _) => (*expected).to_owned(),
        };
        if text.len() > LONGEST {
            text = shortened(&text, LONGEST - 3);
        }
        text
    }

    /// What was found, in words; empty where that would repeat a value.
    pub fn found(&self, kind: Kind) -> String {
        match self {
            Self::Type(_, true, Kind::Float) => "a number with a fraction".to_owned(),
            Self::Type(_, _, kind) => kind.word().to_owned(),
            Self::Count(_, actual) => actual.to_string(),
            Self::Number(_) | Self::Pattern(_) | Self::Format(_) => String::new(),
            Self::OneOf(_) => match kind {
                Kind::Null | Kind::Array | Kind::Object => kind.word().to_owned(),
                _ => format!("another {}", kind.word()),
            },
            Self::Missing(..) => String::new(),
            Self::Unexpected(name) => format!("unexpected {}", quoted(name)),
            Self::Beyond(_) | Self::Never => kind.word().to_owned(),
            Self::Matches(count) => format!("{count} matches"),
            Self::Repeated(first, second) => format!("equal items at positions {first} and {second}"),
            Self::Foreign(name) => name.to_string(),
            Self::Depth(_) => "deeper data, or data that contains itself".to_owned(),
            Self::Steps(_) => "more".to_owned(),
            Self::Text(_, found) => (*found).to_owned(),
        }
    }

    /// The message: `Expected <what>, got <what>`.
    pub fn message(&self, keyword: Option<Keyword>, kind: Kind, plan: &Plan) -> String {
        if let Self::Missing(name, None) = self {
            return format!("Missing required property {}", quoted(name));
        }
        let expected = self.expected(keyword, plan);
        let found = self.found(kind);
        if found.is_empty() { format!("Expected {expected}") } else { format!("Expected {expected}, got {found}") }
    }

    /// The numbers and names of the message as data.
    pub fn params(&self, keyword: Option<Keyword>, plan: &Plan) -> Vec<(&'static str, Param)> {
        let int = |value: usize| Param::Number(Number::Int(i64::try_from(value).unwrap_or(i64::MAX)));
        match self {
            Self::Type(types, integral, kind) => vec![
                ("types", Param::Texts(type_words(*types, *integral).iter().map(ToString::to_string).collect())),
                ("actual", Param::Text(kind.word().to_owned())),
            ],
            Self::Count(limit, actual) => vec![("limit", int(*limit)), ("actual", int(*actual))],
            Self::Number(rule) => number_limit(keyword.map_or("", Keyword::name), *rule, plan)
                .map(|limit| ("limit", Param::Number(limit)))
                .into_iter()
                .collect(),
            Self::Pattern(pattern) if *pattern != NONE => {
                vec![("pattern", Param::Text(plan.patterns[*pattern as usize].source().to_owned()))]
            }
            Self::Format(name) => vec![("format", Param::Text((*name).to_owned()))],
            Self::OneOf(values) => {
                vec![("allowed", Param::Texts(values.iter().map(ToString::to_string).collect()))]
            }
            Self::Missing(name, None) => vec![("property", Param::Text(name.to_string()))],
            Self::Missing(name, Some(by)) => {
                vec![("property", Param::Text(name.to_string())), ("because", Param::Text(by.to_string()))]
            }
            Self::Unexpected(name) => vec![("property", Param::Text(name.to_string()))],
            Self::Beyond(limit) | Self::Depth(limit) | Self::Steps(limit) => vec![("limit", int(*limit))],
            Self::Matches(count) => vec![("matches", int(*count))],
            Self::Repeated(first, second) => vec![("first", int(*first)), ("second", int(*second))],
            Self::Pattern(_) | Self::Never | Self::Foreign(_) | Self::Text(..) => Vec::new(),
        }
    }
}

fn number_limit(word: &str, rule: u32, plan: &Plan) -> Option<Number> {
    let rule = &plan.numbers[rule as usize];
    match word {
        "multipleOf" => rule.multiple_of.clone(),
        "minimum" | "exclusiveMinimum" => rule.min.as_ref().map(|bound| bound.limit.clone()),
        _ => rule.max.as_ref().map(|bound| bound.limit.clone()),
    }
}

fn number_expected(word: &str, rule: u32, plan: &Plan) -> String {
    let Some(limit) = number_limit(word, rule, plan) else { return "another number".to_owned() };
    let rule = &plan.numbers[rule as usize];
    let exclusive = |bound: &Option<crate::plan::Bound>| bound.as_ref().is_some_and(|bound| bound.exclusive);
    match word {
        "multipleOf" => format!("a multiple of {limit}"),
        "minimum" | "exclusiveMinimum" if exclusive(&rule.min) => format!("more than {limit}"),
        "minimum" | "exclusiveMinimum" => format!("at least {limit}"),
        _ if exclusive(&rule.max) => format!("less than {limit}"),
        _ => format!("at most {limit}"),
    }
}

/// Cuts a text at a number of bytes, at a character, and marks the cut.
pub fn shortened(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!("{}...", &text[..text.floor_char_boundary(bytes)])
}
