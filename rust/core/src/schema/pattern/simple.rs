//! Patterns that need no engine: literals, one set anywhere, and anchored runs of sets (`^[a-z]+-\d{4}$`).
//!
//! A run may be matched greedily without ever going back because it is taken only if what may follow it shares no
//! character with it.

use super::charset::{CharSet, from_ranges};
use super::parser::{Node, Repeat};
use super::{Begun, Prefix};

/// More parts than this are left to an engine.
const MAX_ITEMS: usize = 64;

/// A pattern matched by looking at each byte about once.
#[derive(Debug)]
pub(super) enum Simple {
    /// Matches every text.
    Always,
    Equals(Box<str>),
    StartsWith(Box<str>),
    EndsWith(Box<str>),
    Contains(Box<str>),
    /// One of several literals, sorted, between the anchors that stand there.
    OneOf {
        start: bool,
        end: bool,
        literals: Box<[Box<str>]>,
    },
    /// Somewhere that many characters of the set in a row.
    Holds(Box<Item>),
    /// Runs from the start of the text, one behind the other.
    Runs {
        items: Box<[Item]>,
        to_end: bool,
    },
}

/// `min` to `max` characters of a set.
#[derive(Debug)]
pub(super) struct Item {
    set: CharSet,
    min: u32,
    max: u32,
}

impl Simple {
    /// The simple form of a pattern, if it has one.
    pub(super) fn recognise(node: &Node) -> Option<Self> {
        let mut parts = Vec::new();
        flatten(node, &mut parts);
        let start = matches!(parts.first(), Some(Node::Start));
        let end = parts.len() > usize::from(start) && matches!(parts.last(), Some(Node::End));
        let body = &parts[usize::from(start)..parts.len() - usize::from(end)];
        if let [Node::Alternation(alternatives)] = body {
            let mut literals: Box<[_]> =
                alternatives.iter().map(|node| literal(&[node])).collect::<Option<_>>()?;
            literals.sort_unstable();
            return Some(Self::OneOf { start, end, literals });
        }
        if let Some(literal) = literal(body) {
            return Some(match (start, end) {
                (true, true) => Self::Equals(literal),
                _ if literal.is_empty() => Self::Always,
                (true, false) => Self::StartsWith(literal),
                (false, true) => Self::EndsWith(literal),
                (false, false) => Self::Contains(literal),
            });
        }
        let mut items = Vec::new();
        for part in body {
            push_items(part, &mut items)?;
        }
        if start {
            return Self::runs(items, end);
        }
        match <[Item; 1]>::try_from(items) {
            Ok([item]) if !end && item.min == 0 => Some(Self::Always),
            Ok([item]) if !end => Some(Self::Holds(Box::new(item))),
            _ => None,
        }
    }

    fn runs(mut items: Vec<Item>, to_end: bool) -> Option<Self> {
        if !to_end {
            while items.pop_if(|last| last.min == 0).is_some() {}
            if let Some(last) = items.last_mut() {
                last.max = last.min;
            }
        }
        let is_deterministic = items.iter().enumerate().all(|(at, item)| {
            let after = &items[at + 1..];
            let reach = after.iter().position(|next| next.min > 0).map_or(after.len(), |last| last + 1);
            item.min == item.max || !after[..reach].iter().any(|next| next.set.meets(&item.set))
        });
        is_deterministic.then(|| Self::Runs { items: items.into(), to_end })
    }

    #[inline]
    pub(super) fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Always => true,
            Self::Equals(literal) => text == &**literal,
            Self::StartsWith(literal) => text.starts_with(&**literal),
            Self::EndsWith(literal) => text.ends_with(&**literal),
            Self::Contains(literal) => memchr::memmem::find(text.as_bytes(), literal.as_bytes()).is_some(),
            Self::OneOf { start: true, end: true, literals } => {
                literals.binary_search_by(|literal| (**literal).cmp(text)).is_ok()
            }
            Self::OneOf { start, end, literals } => literals.iter().any(|literal| match (start, end) {
                (true, _) => text.starts_with(&**literal),
                (_, true) => text.ends_with(&**literal),
                _ => text.contains(&**literal),
            }),
            Self::Holds(item) => item.is_in(text),
            Self::Runs { items, to_end } => {
                let mut rest = text;
                items.iter().all(|item| item.eat(&mut rest)) && (rest.is_empty() || !to_end)
            }
        }
    }
}

impl Simple {
    /// Says the beginning of a text more than that the rest must come?
    pub(super) fn can_step(&self) -> bool {
        match self {
            Self::Always | Self::Equals(_) | Self::StartsWith(_) | Self::Holds(_) | Self::Runs { .. } => true,
            Self::EndsWith(_) | Self::Contains(_) | Self::OneOf { .. } => false,
        }
    }

    /// Takes the next character of a text.
    pub(super) fn step(&self, begun: &mut Begun, c: char) -> Prefix {
        match self {
            Self::Always => Prefix::Matched,
            Self::Equals(literal) | Self::StartsWith(literal) => {
                let rest = literal.get(begun.at as usize..).unwrap_or_default();
                if !rest.starts_with(c) {
                    return Prefix::Dead;
                }
                begun.at += u32::try_from(c.len_utf8()).unwrap_or(0);
                let starts = matches!(self, Self::StartsWith(_)) && rest.len() == c.len_utf8();
                if starts { Prefix::Matched } else { Prefix::Open }
            }
            Self::Holds(item) => {
                begun.count = if item.set.holds(c) { begun.count + 1 } else { 0 };
                if begun.count == item.min { Prefix::Matched } else { Prefix::Open }
            }
            Self::Runs { items, to_end } => {
                while let Some(item) = items.get(begun.at as usize) {
                    if begun.count < item.max && item.set.holds(c) {
                        begun.count += 1;
                        let last = begun.at as usize + 1 == items.len();
                        return if last && !to_end && begun.count == item.min {
                            Prefix::Matched
                        } else {
                            Prefix::Open
                        };
                    }
                    if begun.count < item.min {
                        return Prefix::Dead;
                    }
                    (begun.at, begun.count) = (begun.at + 1, 0);
                }
                if *to_end { Prefix::Dead } else { Prefix::Matched }
            }
            Self::EndsWith(_) | Self::Contains(_) | Self::OneOf { .. } => Prefix::Open,
        }
    }
}

impl Item {
    /// Takes what it can from the front; false when that is too little.
    #[inline]
    fn eat(&self, text: &mut &str) -> bool {
        let bytes = text.as_bytes();
        let ascii =
            bytes.iter().take(self.max as usize).take_while(|byte| self.set.holds_ascii(**byte)).count();
        let (mut at, mut count) = (ascii, u32::try_from(ascii).unwrap_or(u32::MAX));
        while count < self.max {
            match bytes.get(at) {
                Some(&byte) if self.set.holds_ascii(byte) => at += 1,
                Some(128..) => match text[at..].chars().next() {
                    Some(c) if self.set.holds(c) => at += c.len_utf8(),
                    _ => break,
                },
                _ => break,
            }
            count += 1;
        }
        *text = &text[at..];
        count >= self.min
    }

    /// Whether `min` characters of the set stand somewhere in a row; more of them change nothing.
    fn is_in(&self, text: &str) -> bool {
        let mut count = 0;
        text.chars().any(|c| {
            count = if self.set.holds(c) { count + 1 } else { 0 };
            count == self.min
        })
    }
}

/// The parts of a concatenation, groups opened: what they capture is of no use without a reference.
fn flatten<'n>(node: &'n Node, parts: &mut Vec<&'n Node>) {
    match node {
        Node::Concat(nodes) => nodes.iter().for_each(|node| flatten(node, parts)),
        Node::Group(_, node) => flatten(node, parts),
        Node::Empty => {}
        _ => parts.push(node),
    }
}

fn literal(nodes: &[&Node]) -> Option<Box<str>> {
    let mut parts = Vec::new();
    for node in nodes {
        flatten(node, &mut parts);
    }
    let text: Option<String> =
        parts.iter().map(|part| if let Node::Char(c) = part { Some(*c) } else { None }).collect();
    text.map(String::into_boxed_str)
}

/// The items of a character, a set, a repeated set, or a group repeated a fixed number of times.
fn push_items(node: &Node, items: &mut Vec<Item>) -> Option<()> {
    if items.len() == MAX_ITEMS {
        return None;
    }
    match node {
        Node::Repeat(repeat) => {
            let Repeat { node, min, max, .. } = &**repeat;
            if let Some(set) = set_of(node) {
                items.push(Item { set, min: *min, max: max.unwrap_or(u32::MAX) });
            } else if Some(*min) == *max {
                let mut parts = Vec::new();
                flatten(node, &mut parts);
                if parts.is_empty() {
                    return None;
                }
                for _ in 0..*min {
                    parts.iter().try_for_each(|part| push_items(part, items))?;
                }
            } else {
                return None;
            }
        }
        _ => items.push(Item { set: set_of(node)?, min: 1, max: 1 }),
    }
    Some(())
}

fn set_of(node: &Node) -> Option<CharSet> {
    match node {
        Node::Char(c) => Some(CharSet::new(&from_ranges(&[(*c, *c)]))),
        Node::Set(class) => Some(CharSet::new(class)),
        Node::Group(_, node) => set_of(node),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parser;
    use super::*;

    fn recognise(source: &str) -> Option<Simple> {
        Simple::recognise(&parser::parse(source).unwrap().node)
    }

    #[test]
    fn a_run_that_would_have_to_give_back_is_left_to_an_engine() {
        for source in
            ["^[a-z]*a$", "^a?ab$", "^[a-z]{1,3}[a-z]$", "^.*x", "^a*b*a*c$", "^(ab)*$", "a[bc]", "^a|b$"]
        {
            assert!(recognise(source).is_none(), "{source}");
        }
        for source in ["^[a-z]*$", "^a?b?c?$", "^a*b+a*$", "^[a-z]{2}[a-z]*$", "^a*", "^[a-z]+[a-z]*"] {
            assert!(recognise(source).is_some(), "{source}");
        }
    }

    #[test]
    fn many_literals_are_found_in_any_order() {
        let simple = recognise("^(?:zeta|alpha||mu)$").unwrap();
        for (text, expected) in [("zeta", true), ("alpha", true), ("", true), ("mu", true), ("al", false)] {
            assert_eq!(simple.is_match(text), expected, "{text}");
        }
    }
}
