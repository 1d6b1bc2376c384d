//! What is wrong with a value: where, by which keyword, and in words that a model can act on.
//!
//! A message states what was expected, then what was found. It never holds a value of the instance; names of
//! members appear, shortened. Texts are made when they are read: finding an issue costs no formatting.

mod place;

use std::borrow::Cow;
use std::fmt::Write;

pub use place::{Hop, Mark, Name, Place, SchemaStep, Step, schema_pointer};

use crate::instance::{Kind, kinds};
use crate::keywords::Keyword;
use crate::number::Number;
use crate::plan::{NONE, Plan};

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
    /// The same for a set of strings of the plan: its number, and the kinds that are accepted beside strings.
    Set(u32, u8),
    /// A required name that is missing.
    Missing(Name),
    /// A missing name, and the one that is present and asks for it (`dependentRequired`).
    Needed(Box<(Name, Box<str>)>),
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
    Text(&'static (&'static str, &'static str)),
}

/// One issue of an instance.
#[derive(Clone, Debug)]
pub struct Issue<I> {
    /// Where in the instance and, but for the keyword, in the schema document.
    pub place: Place,
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
pub fn type_words(types: u8, integral: bool) -> impl Iterator<Item = &'static str> {
    const WORDS: [(u8, &str); 7] = [
        (kinds::STRING, "string"),
        (kinds::FLOAT, "number"),
        (kinds::INTEGER, "integer"),
        (kinds::BOOL, "boolean"),
        (kinds::OBJECT, "object"),
        (kinds::ARRAY, "array"),
        (kinds::NULL, "null"),
    ];
    // An integer is a number too: one of the two words says it all.
    let hidden = if integral {
        kinds::FLOAT
    } else if types & kinds::FLOAT != 0 {
        kinds::INTEGER
    } else {
        0
    };
    WORDS.iter().filter(move |(bit, _)| types & !hidden & bit != 0).map(|(_, word)| *word)
}

fn write_list(out: &mut String, words: impl Iterator<Item: AsRef<str>>, count: usize, last: &str) {
    let start = out.len();
    for (index, word) in words.enumerate() {
        if index > 0 {
            out.push_str(if index + 1 == count { last } else { ", " });
        }
        out.push_str(word.as_ref());
        if out.len() - start > LONGEST - 60 && index + 1 < count {
            let _ = write!(out, " or one of {} more", count - index - 1);
            break;
        }
    }
}

/// A name, quoted and shortened.
pub fn quoted(name: &str) -> String {
    let mut out = String::with_capacity(name.len().min(LONGEST_NAME * 4) + 2);
    write_quoted(&mut out, name);
    out
}

fn write_quoted(out: &mut String, name: &str) {
    out.push('"');
    let plain = |byte: u8| (0x20..0x7F).contains(&byte) && byte != b'"' && byte != b'\\';
    if name.len() <= LONGEST_NAME && name.bytes().all(plain) {
        out.push_str(name);
    } else {
        out.extend(name.chars().take(LONGEST_NAME).flat_map(char::escape_debug));
        out.push_str(if name.chars().nth(LONGEST_NAME).is_some() { "..." } else { "" });
    }
    out.push('"');
}

fn write_count(out: &mut String, bound: &str, count: usize, noun: &str) {
    let (noun, plural) = match (count, noun) {
        (1, _) => (noun, ""),
        (_, "property") => ("properties", ""),
        _ => (noun, "s"),
    };
    let _ = write!(out, "{bound} {count} {noun}{plural}");
}

fn write_literals(out: &mut String, literals: impl Iterator<Item: AsRef<str>>, count: usize) {
    out.push_str(if count == 1 { "" } else { "one of " });
    write_list(out, literals, count, ", ");
}

/// The strings of a set as JSON texts, and null where that is accepted beside them; how many they are.
fn set_literals(set: u32, types: u8, plan: &Plan) -> (impl Iterator<Item = Cow<'static, str>>, usize) {
    let members = &plan.sets[set as usize].members;
    let null = (types & kinds::NULL != 0).then_some(Cow::Borrowed("null"));
    let count = members.len() + usize::from(null.is_some());
    (members.iter().map(|(text, _)| Cow::Owned(quoted(text))).chain(null), count)
}

impl Detail {
    /// The values that were wanted, as JSON texts, if certain ones were.
    pub fn literals(&self, plan: &Plan) -> Option<Vec<Box<str>>> {
        match self {
            Self::OneOf(values) => Some(values.to_vec()),
            Self::Set(set, types) => Some(set_literals(*set, *types, plan).0.map(Box::from).collect()),
            _ => None,
        }
    }

    /// What was expected, in words.
    pub fn expected(&self, keyword: Option<Keyword>, plan: &Plan) -> String {
        let mut out = String::with_capacity(48);
        self.write_expected(&mut out, keyword, plan);
        out
    }

    fn write_expected(&self, out: &mut String, keyword: Option<Keyword>, plan: &Plan) {
        let word = keyword.map_or("", Keyword::name);
        let start = out.len();
        match self {
            Self::Type(types, integral, _) => {
                let count = type_words(*types, *integral).count();
                write_list(out, type_words(*types, *integral), count, " or ");
            }
            Self::Count(limit, _) => {
                let noun = match word {
                    "minLength" | "maxLength" => "character",
                    "minProperties" | "maxProperties" => "property",
                    _ => "item",
                };
                write_count(out, if word.starts_with("min") { "at least" } else { "at most" }, *limit, noun);
            }
            Self::Number(rule) => out.push_str(&number_expected(word, *rule, plan)),
            Self::Pattern(pattern) if *pattern != NONE => {
                out.push_str("a string matching ");
                out.push_str(&shortened(plan.patterns[*pattern as usize].source(), 120));
            }
            Self::Pattern(_) => out.push_str("a name matching the pattern"),
            Self::Format(name) => {
                out.push_str("a string in format ");
                out.push_str(name);
            }
            Self::OneOf(values) => write_literals(out, values.iter().map(|value| &**value), values.len()),
            Self::Set(set, types) => {
                let (literals, count) = set_literals(*set, *types, plan);
                write_literals(out, literals, count);
            }
            Self::Missing(name) => {
                out.push_str("required property ");
                write_quoted(out, name.text(plan));
            }
            Self::Needed(needed) => {
                out.push_str("property ");
                write_quoted(out, needed.0.text(plan));
                out.push_str(" because ");
                write_quoted(out, &needed.1);
                out.push_str(" is present");
            }
            Self::Unexpected(_) => out.push_str("only the declared properties"),
            Self::Beyond(count) => write_count(out, "at most", *count, "item"),
            Self::Matches(_) => out.push_str(match word {
                "oneOf" => "exactly one of the schemas in oneOf to match",
                "anyOf" => "at least one of the schemas in anyOf to match",
                "minContains" | "contains" => "more items that match contains",
                "maxContains" => "fewer items that match contains",
                _ => "a match",
            }),
            Self::Repeated(..) => out.push_str("unique items"),
            Self::Never => out.push_str("no value here"),
            Self::Foreign(_) => out.push_str("JSON data"),
            Self::Depth(limit) => {
                let _ = write!(out, "at most {limit} levels of nesting");
            }
            Self::Steps(limit) => {
                let _ = write!(out, "a pattern decided within {limit} steps");
            }
            Self::Text((expected, _)) => out.push_str(expected),
        }
        if out.len() - start > LONGEST {
            out.truncate(out.floor_char_boundary(start + LONGEST - 3));
            out.push_str("...");
        }
    }

    /// What was found, in words; nothing where that would repeat a value.
    fn write_found(&self, out: &mut String, kind: Kind) {
        let start = out.len();
        out.push_str(", got ");
        let before = out.len();
        match self {
            Self::Type(_, true, Kind::Float) => out.push_str("a number with a fraction"),
            Self::Type(_, _, kind) => out.push_str(kind.word()),
            Self::Count(_, actual) => {
                let _ = write!(out, "{actual}");
            }
            Self::Number(_) | Self::Pattern(_) | Self::Format(_) | Self::Missing(_) | Self::Needed(_) => {}
            Self::OneOf(_) | Self::Set(..) => {
                let container = matches!(kind, Kind::Null | Kind::Array | Kind::Object);
                out.push_str(if container { "" } else { "another " });
                out.push_str(kind.word());
            }
            Self::Unexpected(name) => {
                out.push_str("unexpected ");
                write_quoted(out, name);
            }
            Self::Beyond(_) | Self::Never => out.push_str(kind.word()),
            Self::Matches(count) => {
                let _ = write!(out, "{count} matches");
            }
            Self::Repeated(first, second) => {
                let _ = write!(out, "equal items at positions {first} and {second}");
            }
            Self::Foreign(name) => out.push_str(name),
            Self::Depth(_) => out.push_str("deeper data, or data that contains itself"),
            Self::Steps(_) => out.push_str("more"),
            Self::Text((_, found)) => out.push_str(found),
        }
        if out.len() == before {
            out.truncate(start);
        }
    }

    /// The message: `Expected <what>, got <what>`.
    pub fn message(&self, keyword: Option<Keyword>, kind: Kind, plan: &Plan) -> String {
        let mut out = String::with_capacity(64);
        if let Self::Missing(name) = self {
            out.push_str("Missing required property ");
            write_quoted(&mut out, name.text(plan));
            return out;
        }
        out.push_str("Expected ");
        self.write_expected(&mut out, keyword, plan);
        self.write_found(&mut out, kind);
        out
    }

    /// The numbers and names of the message as data.
    pub fn params(&self, keyword: Option<Keyword>, plan: &Plan) -> Vec<(&'static str, Param)> {
        let int = |value: usize| Param::Number(Number::Int(i64::try_from(value).unwrap_or(i64::MAX)));
        match self {
            Self::Type(types, integral, kind) => vec![
                ("types", Param::Texts(type_words(*types, *integral).map(ToOwned::to_owned).collect())),
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
            Self::OneOf(_) | Self::Set(..) => {
                let allowed = self.literals(plan).into_iter().flatten().map(String::from).collect();
                vec![("allowed", Param::Texts(allowed))]
            }
            Self::Missing(name) => vec![("property", Param::Text(name.text(plan).to_owned()))],
            Self::Needed(needed) => vec![
                ("property", Param::Text(needed.0.text(plan).to_owned())),
                ("because", Param::Text(needed.1.to_string())),
            ],
            Self::Unexpected(name) => vec![("property", Param::Text(name.to_string()))],
            Self::Beyond(limit) | Self::Depth(limit) | Self::Steps(limit) => vec![("limit", int(*limit))],
            Self::Matches(count) => vec![("matches", int(*count))],
            Self::Repeated(first, second) => vec![("first", int(*first)), ("second", int(*second))],
            Self::Pattern(_) | Self::Never | Self::Foreign(_) | Self::Text(_) => Vec::new(),
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
