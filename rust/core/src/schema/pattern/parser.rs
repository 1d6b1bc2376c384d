//! Reads a pattern of ECMA-262 (section 22.2.1, the grammar of the `u` flag) into a tree.
//!
//! Of Annex B it takes what is unambiguous and common in published schemas: identity escapes of punctuation (`\-`,
//! `\_`), braces and brackets that stand for themselves, a class escape at the end of a range (`[\w-.]`). Escapes of
//! letters and digits that mean nothing (`\Z`, `\a`, `\1` without a group) are errors, since other dialects give them
//! a meaning.

use regex_syntax::hir::ClassUnicode;
use unicode_general_category::{GeneralCategory, get_general_category};

use super::PatternError;
use super::charset::{anything, line_terminators, negate};
use super::property;

/// Nesting deeper than this is refused, so that no pattern can exhaust the stack of what walks the tree.
const MAX_DEPTH: usize = 100;

/// Names are compared one by one.
const MAX_NAMES: usize = 1_000;

/// A property escape of six characters may stand for hundreds of ranges.
const MAX_PROPERTIES: usize = 1_000;

/// A part of a pattern.
#[derive(Debug)]
pub(super) enum Node {
    Empty,
    Char(char),
    Set(ClassUnicode),
    Start,
    End,
    WordBoundary {
        negated: bool,
    },
    Concat(Vec<Node>),
    Alternation(Vec<Node>),
    Repeat(Box<Repeat>),
    /// A capturing group with its number; groups that capture nothing leave no node.
    Group(u32, Box<Node>),
    Look {
        behind: bool,
        negated: bool,
        node: Box<Node>,
    },
    /// The numbers of the groups with that name; at most one of them took part.
    Backreference(Vec<u32>),
}

#[derive(Debug)]
pub(super) struct Repeat {
    pub(super) node: Node,
    pub(super) min: u32,
    pub(super) max: Option<u32>,
    pub(super) is_greedy: bool,
    /// The groups inside, which every turn empties.
    pub(super) groups: std::ops::Range<u32>,
}

/// A pattern as a tree, and what decides about the engine.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) node: Node,
    pub(super) groups: u32,
    /// Look-around or backreferences: not a regular language for a linear engine. Or `\B`, which the linear engine also
    /// finds between the bytes of a character, and then misses what it should find.
    pub(super) needs_backtracking: bool,
}

impl Node {
    fn needs_backtracking(&self) -> bool {
        match self {
            Self::Look { .. } | Self::Backreference(_) | Self::WordBoundary { negated: true } => true,
            Self::Concat(nodes) | Self::Alternation(nodes) => nodes.iter().any(Self::needs_backtracking),
            Self::Repeat(repeat) => repeat.node.needs_backtracking(),
            Self::Group(_, node) => node.needs_backtracking(),
            Self::Empty
            | Self::Char(_)
            | Self::Set(_)
            | Self::Start
            | Self::End
            | Self::WordBoundary { negated: false } => false,
        }
    }
}

impl Parsed {
    /// `^(?=A)(?!B)C` as `^A` found, `^B` not found, `^C` found; unchanged where that is not its form, or where a part
    /// is not regular itself and could refer to another.
    pub(super) fn into_conjunction(self) -> Result<Vec<(Self, bool)>, Self> {
        let Node::Concat(nodes) = &self.node else { return Err(self) };
        let looks =
            nodes.iter().skip(1).take_while(|node| matches!(node, Node::Look { behind: false, .. })).count();
        let regular = |node: &Node| match node {
            Node::Look { node, .. } => !node.needs_backtracking(),
            node => !node.needs_backtracking(),
        };
        if looks == 0 || !matches!(nodes[0], Node::Start) || !nodes.iter().all(regular) {
            return Err(self);
        }
        let Node::Concat(nodes) = self.node else { return Ok(Vec::new()) };
        let groups = self.groups;
        let part = |nodes: Vec<Node>| Self {
            node: Node::Concat(std::iter::once(Node::Start).chain(nodes).collect()),
            groups,
            needs_backtracking: false,
        };
        let mut parts = Vec::with_capacity(looks + 1);
        let mut rest = Vec::new();
        for node in nodes.into_iter().skip(1) {
            match node {
                Node::Look { negated, node, .. } => {
                    let nodes = if let Node::Concat(nodes) = *node { nodes } else { vec![*node] };
                    parts.push((part(nodes), negated));
                }
                node => rest.push(node),
            }
        }
        parts.push((part(rest), false));
        Ok(parts)
    }
}

pub(super) fn parse(source: &str) -> Result<Parsed, PatternError> {
    let mut parser = Parser {
        source,
        at: 0,
        depth: 0,
        flags: Flags::default(),
        groups: 0,
        names: Vec::new(),
        scope: Vec::new(),
        references: Vec::new(),
        properties: 0,
        needs_backtracking: false,
    };
    let mut node = parser.disjunction()?;
    if parser.at < source.len() {
        return Err(parser.error("an unmatched ')'"));
    }
    let Parser { names, groups, references, needs_backtracking, .. } = parser;
    for reference in &references {
        let is_known = match &reference.target {
            Target::Number(number) => *number <= groups,
            Target::Name(name) => names.iter().any(|(known, _)| known == name),
        };
        if !is_known {
            return Err(PatternError::at("a reference to a group that does not exist", reference.offset));
        }
    }
    if !references.is_empty() {
        resolve(&mut node, &references, &names);
    }
    Ok(Parsed { node, groups, needs_backtracking })
}

/// Names may be used before their group, so references hold the index of their [`Reference`] until the end.
fn resolve(node: &mut Node, references: &[Reference], names: &[(String, u32)]) {
    match node {
        Node::Backreference(groups) => {
            let index = groups.first().map_or(0, |index| *index as usize);
            *groups = match &references[index].target {
                Target::Number(number) => vec![*number],
                Target::Name(name) => {
                    names.iter().filter(|(known, _)| known == name).map(|(_, group)| *group).collect()
                }
            };
        }
        Node::Concat(nodes) | Node::Alternation(nodes) => {
            for node in nodes {
                resolve(node, references, names);
            }
        }
        Node::Repeat(repeat) => resolve(&mut repeat.node, references, names),
        Node::Group(_, node) | Node::Look { node, .. } => resolve(node, references, names),
        Node::Empty | Node::Char(_) | Node::Set(_) | Node::Start | Node::End | Node::WordBoundary { .. } => {}
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) ignore_case: bool,
    multiline: bool,
    dot_all: bool,
}

pub(super) struct Reference {
    pub(super) target: Target,
    pub(super) offset: usize,
}

pub(super) enum Target {
    Number(u32),
    Name(String),
}

pub(super) struct Parser<'s> {
    source: &'s str,
    pub(super) at: usize,
    depth: usize,
    pub(super) flags: Flags,
    groups: u32,
    names: Vec<(String, u32)>,
    /// Names that a new group must not take: those of this alternative and of what encloses it.
    scope: Vec<String>,
    pub(super) references: Vec<Reference>,
    properties: usize,
    pub(super) needs_backtracking: bool,
}

impl<'s> Parser<'s> {
    fn disjunction(&mut self) -> Result<Node, PatternError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error("groups nested too deeply"));
        }
        self.depth += 1;
        let outer = self.scope.len();
        let mut others = Vec::new();
        let mut alternatives = vec![self.alternative()?];
        while self.eat("|") {
            others.extend(self.scope.drain(outer..));
            alternatives.push(self.alternative()?);
        }
        self.scope.append(&mut others);
        self.depth -= 1;
        Ok(if alternatives.len() == 1 { alternatives.remove(0) } else { Node::Alternation(alternatives) })
    }

    fn alternative(&mut self) -> Result<Node, PatternError> {
        let mut nodes = Vec::new();
        while let Some(c) = self.peek().filter(|c| !matches!(c, '|' | ')')) {
            let first_group = self.groups + 1;
            let (node, is_quantifiable) = self.term(c)?;
            let Some((min, max)) = self.quantifier()? else {
                nodes.push(node);
                continue;
            };
            if !is_quantifiable {
                return Err(self.error("a quantifier on an assertion"));
            }
            let is_greedy = !self.eat("?");
            let groups = first_group..self.groups + 1;
            nodes.push(Node::Repeat(Box::new(Repeat { node, min, max, is_greedy, groups })));
        }
        Ok(match nodes.len() {
            0 => Node::Empty,
            1 => nodes.remove(0),
            _ => Node::Concat(nodes),
        })
    }

    /// An assertion or an atom, and whether a quantifier may follow.
    fn term(&mut self, c: char) -> Result<(Node, bool), PatternError> {
        let node = match c {
            '^' | '$' => {
                self.at += 1;
                return Ok((self.anchor(c == '^'), false));
            }
            '(' => return self.group(),
            '*' | '+' | '?' => return Err(self.error("nothing to repeat")),
            '{' if self.braces().is_some() => return Err(self.error("nothing to repeat")),
            '.' => {
                self.at += 1;
                Node::Set(if self.flags.dot_all { anything() } else { negate(line_terminators()) })
            }
            '[' => {
                self.at += 1;
                Node::Set(self.class()?)
            }
            '\\' => {
                self.at += 1;
                return self.escape();
            }
            _ => {
                self.at += c.len_utf8();
                self.character(Some(c))?
            }
        };
        Ok((node, true))
    }

    fn anchor(&mut self, is_start: bool) -> Node {
        let edge = if is_start { Node::Start } else { Node::End };
        if !self.flags.multiline {
            return edge;
        }
        self.needs_backtracking = true;
        let line =
            Node::Look { behind: is_start, negated: false, node: Box::new(Node::Set(line_terminators())) };
        Node::Alternation(vec![edge, line])
    }

    fn group(&mut self) -> Result<(Node, bool), PatternError> {
        let offset = self.at;
        self.at += 1;
        let look = [("?=", false, false), ("?!", false, true), ("?<=", true, false), ("?<!", true, true)];
        if let Some((_, behind, negated)) = look.into_iter().find(|(mark, ..)| self.eat(mark)) {
            self.needs_backtracking = true;
            let node = Box::new(self.rest_of_group(offset)?);
            return Ok((Node::Look { behind, negated, node }, false));
        }
        if self.eat("?<") {
            let name = self.group_name()?;
            if self.scope.contains(&name) {
                return Err(self.error("a second group of the same name"));
            }
            if self.names.len() == MAX_NAMES {
                return Err(self.error("too many named groups"));
            }
            self.scope.push(name.clone());
            self.names.push((name, self.groups + 1));
        } else if self.eat("?") {
            let outer = self.flags;
            self.modifiers()?;
            let node = self.rest_of_group(offset)?;
            self.flags = outer;
            return Ok((node, true));
        }
        self.groups += 1;
        let number = self.groups;
        Ok((Node::Group(number, Box::new(self.rest_of_group(offset)?)), true))
    }

    fn rest_of_group(&mut self, offset: usize) -> Result<Node, PatternError> {
        let node = self.disjunction()?;
        if self.eat(")") { Ok(node) } else { Err(PatternError::at("an unclosed '('", offset)) }
    }

    /// The set of a property, by what stands between its braces; `offset` is that of the escape.
    pub(super) fn property(&mut self, body: &str, offset: usize) -> Result<ClassUnicode, PatternError> {
        if self.properties == MAX_PROPERTIES {
            return Err(PatternError::at("too many Unicode properties", offset));
        }
        self.properties += 1;
        let unknown = "a Unicode property that ECMA-262 or the tables do not know";
        property::class(body).ok_or_else(|| PatternError::at(unknown, offset))
    }

    /// What stands between `(?` and `:`, the colon included: flags to add, then flags to take away.
    fn modifiers(&mut self) -> Result<(), PatternError> {
        let offset = self.at;
        let Some(end) = self.rest().find(':') else { return Err(self.error("an unknown kind of group")) };
        let text = &self.rest()[..end];
        self.at += end + 1;
        let is_good = text != "-"
            && text.matches('-').count() <= 1
            && text.chars().all(|c| "ims-".contains(c))
            && "ims".chars().all(|flag| text.matches(flag).count() <= 1);
        if !is_good {
            return Err(PatternError::at("an unknown kind of group", offset));
        }
        let mut value = true;
        for c in text.chars() {
            match c {
                'i' => self.flags.ignore_case = value,
                'm' => self.flags.multiline = value,
                's' => self.flags.dot_all = value,
                _ => value = false,
            }
        }
        Ok(())
    }

    pub(super) fn group_name(&mut self) -> Result<String, PatternError> {
        let mut name = String::new();
        loop {
            let c = match self.next() {
                Some('>') if !name.is_empty() => return Ok(name),
                Some('\\') if self.eat("u") => self.unicode_escape()?,
                c => c,
            };
            match c {
                Some(c) if is_identifier_part(c, name.is_empty()) => name.push(c),
                _ => return Err(self.error("a bad group name")),
            }
        }
    }

    /// The bounds of the quantifier that follows, if one does.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let bounds = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let Some((length, min, max)) = self.braces() else { return Ok(None) };
                if max.is_some_and(|max| max < min) {
                    return Err(self.error("a quantifier with its bounds out of order"));
                }
                self.at += length;
                return Ok(Some((min, max)));
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(bounds))
    }

    /// Length and bounds of a `{n}`, `{n,}` or `{n,m}` here; other braces are characters (Annex B).
    fn braces(&self) -> Option<(usize, u32, Option<u32>)> {
        // No text is longer than `u32::MAX` here, so a greater bound is as good as that one.
        let number = |text: &'s str| {
            let length = text.bytes().take_while(u8::is_ascii_digit).count();
            (length > 0).then(|| (text[..length].parse().unwrap_or(u32::MAX), &text[length..]))
        };
        let text = self.rest();
        let (min, rest) = number(text.strip_prefix('{')?)?;
        let (max, rest) = match rest.strip_prefix(',') {
            None => (Some(min), rest),
            Some(rest) => number(rest).map_or((None, rest), |(max, rest)| (Some(max), rest)),
        };
        let rest = rest.strip_prefix('}')?;
        Some((text.len() - rest.len(), min, max))
    }

    pub(super) fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn error(&self, message: &'static str) -> PatternError {
        PatternError::at(message, self.at)
    }
}

/// ECMA-262 section 12.7: `IdentifierStartChar` or `IdentifierPartChar`, by what `ID_Start` and `ID_Continue` are
/// derived from (UAX 31 section 2); the dozen characters that Unicode adds by hand are left out.
fn is_identifier_part(c: char, is_first: bool) -> bool {
    use GeneralCategory as Category;
    match get_general_category(c) {
        Category::UppercaseLetter
        | Category::LowercaseLetter
        | Category::TitlecaseLetter
        | Category::ModifierLetter
        | Category::OtherLetter
        | Category::LetterNumber => true,
        Category::NonspacingMark
        | Category::SpacingMark
        | Category::DecimalNumber
        | Category::ConnectorPunctuation => !is_first || c == '_',
        _ => c == '$' || !is_first && matches!(c, '\u{200C}' | '\u{200D}'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_regular_needs_backtracking() {
        for (source, expected) in [("(?<a>b)+", false), ("(?=a)", true), ("(a)\\1", true), ("(?m:a$)", true)]
        {
            assert_eq!(parse(source).unwrap().needs_backtracking, expected, "{source}");
        }
    }

    #[test]
    fn names_are_unique_within_an_alternative() {
        for good in ["(?<a>x)|(?<a>y)", "(?:(?<a>x)|(?<a>y))\\k<a>", "(?<a>x)(?:(?<b>y)|(?<b>z))"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in ["(?<a>x)(?<a>y)", "(?<a>(?<a>x))", "(?<a>x)(?:y|(?<a>z))", "(?:(?<a>x)|y)(?<a>z)"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_bounded() {
        assert!(parse(&format!("{}{}", "(?:".repeat(90), ")".repeat(90))).is_ok());
        assert!(parse(&"(".repeat(1_000_000)).is_err());
        assert!(parse(&"\\p{L}".repeat(MAX_PROPERTIES + 1)).is_err());
        let names: Vec<_> = (0..=MAX_NAMES).map(|number| format!("(?<n{number}>)")).collect();
        assert!(parse(&names.concat()).is_err());
    }
}
