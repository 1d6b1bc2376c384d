//! Patterns of `pattern`, `patternProperties` and `format: regex`: ECMA-262 with the semantics of its `u` flag, searched
//! for anywhere in the text (JSON Schema Core, section 6.4).
//!
//! A pattern runs on the cheapest of three machines: `simple` byte matchers for most patterns in real schemas, a
//! `linear` automaton for other regular ones, `backtrack`ing with a budget of steps for look-around and
//! backreferences. Engines are built at their first use; every error is found at once.

mod backtrack;
mod charset;
mod escapes;
mod linear;
mod parser;
mod property;
mod simple;

use std::fmt;
use std::sync::OnceLock;

use self::parser::{Node, Parsed};
use self::simple::Simple;

/// States that a pattern may have with its repetitions written out.
const MAX_STATES: u64 = 200_000;

/// An automaton with fewer states is small enough to be built late and run on any text.
const SMALL: u64 = 500;

/// Visits of a state that count as one step.
const VISITS_PER_STEP: u64 = 256;

/// A compiled pattern: immutable, to be shared between threads.
#[derive(Debug)]
pub struct Pattern {
    machine: Machine,
    source: Box<str>,
}

#[derive(Debug)]
enum Machine {
    Simple(Simple),
    Engine(Box<Engine>),
    /// Look-aheads at the start of the text and what follows them: each is a pattern of its own, and a negated one
    /// must not be found. No part needs to backtrack then.
    All(Box<[(Self, bool)]>),
}

#[derive(Debug)]
struct Engine {
    parsed: Parsed,
    states: u64,
    step_limit: usize,
    built: OnceLock<Result<Built, PatternError>>,
}

#[derive(Debug)]
enum Built {
    Linear(regex_automata::meta::Regex),
    Backtracking(backtrack::Program),
}

impl Pattern {
    /// Compiles a pattern of ECMA-262.
    ///
    /// `step_limit` bounds the work of one [`is_match`](Self::is_match) where it is not linear in the text alone.
    ///
    /// # Errors
    ///
    /// A syntax error, or a pattern too large once its repetitions are written out.
    pub fn compile(source: &str, step_limit: usize) -> Result<Self, PatternError> {
        let machine = Machine::of(parser::parse(source)?, step_limit)?;
        Ok(Self { machine, source: source.into() })
    }

    /// The pattern as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the pattern is found somewhere in `text`.
    ///
    /// # Errors
    ///
    /// The answer would take more steps than the limit allows.
    #[inline]
    pub fn is_match(&self, text: &str) -> Result<bool, StepLimitExceeded> {
        self.machine.is_match(text)
    }
}

impl Machine {
    fn of(parsed: Parsed, step_limit: usize) -> Result<Self, PatternError> {
        if !parsed.needs_backtracking
            && let Some(simple) = Simple::recognise(&parsed.node)
        {
            return Ok(Self::Simple(simple));
        }
        let parsed = match parsed.into_conjunction() {
            Ok(parts) => {
                let part = |(parsed, negated)| Ok((Self::of(parsed, step_limit)?, negated));
                return Ok(Self::All(parts.into_iter().map(part).collect::<Result<_, _>>()?));
            }
            Err(parsed) => parsed,
        };
        let states = states(&parsed.node, !parsed.needs_backtracking);
        if states > MAX_STATES {
            return Err(PatternError::new("the pattern is too large once its repetitions are written out"));
        }
        let engine = Engine { parsed, states, step_limit, built: OnceLock::new() };
        if states > SMALL
            && let Err(error) = engine.built()
        {
            return Err(error.clone());
        }
        Ok(Self::Engine(Box::new(engine)))
    }

    #[inline]
    fn is_match(&self, text: &str) -> Result<bool, StepLimitExceeded> {
        match self {
            Self::Simple(simple) => Ok(simple.is_match(text)),
            Self::Engine(engine) => engine.is_match(text),
            Self::All(parts) => {
                for (part, negated) in parts {
                    if part.is_match(text)? == *negated {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }
}

/// What the beginning of a text says about the whole of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// It depends on what comes.
    Open,
    /// The pattern is found, whatever comes.
    Matched,
    /// The pattern will not be found, whatever comes.
    Dead,
}

/// A place in a pattern that is matched character by character.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begun {
    pub(crate) at: u32,
    pub(crate) count: u32,
}

impl Pattern {
    /// Can it be matched with [`step`](Self::step)?
    pub fn can_step(&self) -> bool {
        matches!(&self.machine, Machine::Simple(simple) if simple.can_step())
    }

    /// Takes the next character of a text, from the first on.
    pub fn step(&self, begun: &mut Begun, character: char) -> Prefix {
        match &self.machine {
            Machine::Simple(simple) => simple.step(begun, character),
            Machine::All(_) | Machine::Engine(_) => Prefix::Open,
        }
    }
}

impl Engine {
    fn built(&self) -> Result<&Built, &PatternError> {
        let build = || {
            let Parsed { node, groups, needs_backtracking } = &self.parsed;
            Ok(if *needs_backtracking {
                Built::Backtracking(backtrack::Program::new(node, *groups))
            } else {
                Built::Linear(linear::build(node)?)
            })
        };
        self.built.get_or_init(build).as_ref()
    }

    fn is_match(&self, text: &str) -> Result<bool, StepLimitExceeded> {
        match self.built() {
            Ok(Built::Linear(regex)) => {
                // Linear in the text, but each byte may cost a visit of every state.
                let visits = self.states.saturating_mul(text.len() as u64);
                if self.states > SMALL && visits / VISITS_PER_STEP > self.step_limit as u64 {
                    return Err(StepLimitExceeded);
                }
                Ok(regex.is_match(text))
            }
            Ok(Built::Backtracking(program)) => program.is_match(text, self.step_limit),
            // Small patterns always fit; this verdict is the one that never lets a text pass unseen.
            Err(_) => Err(StepLimitExceeded),
        }
    }
}

/// Whether `source` is a pattern of ECMA-262, nothing built.
///
/// # Errors
///
/// What is wrong, and where.
pub fn check_syntax(source: &str) -> Result<(), PatternError> {
    parser::parse(source).map(drop)
}

/// The states of the pattern's automaton, roughly; a counting loop needs none for its turns.
fn states(node: &Node, writes_out_repetitions: bool) -> u64 {
    let all = |nodes: &[Node]| {
        nodes.iter().fold(1u64, |sum, node| sum.saturating_add(states(node, writes_out_repetitions)))
    };
    match node {
        Node::Empty | Node::Start | Node::End | Node::WordBoundary { .. } | Node::Backreference(_) => 1,
        Node::Char(c) => c.len_utf8() as u64,
        Node::Set(class) if class.is_ascii() => 1,
        Node::Set(class) => 4 + 2 * class.ranges().len() as u64,
        Node::Concat(nodes) | Node::Alternation(nodes) => all(nodes),
        Node::Repeat(repeat) => {
            let turns = if writes_out_repetitions { repeat.max.unwrap_or(repeat.min).max(1) } else { 1 };
            states(&repeat.node, writes_out_repetitions).saturating_mul(turns.into()).saturating_add(1)
        }
        Node::Group(_, node) | Node::Look { node, .. } => states(node, writes_out_repetitions),
    }
}

/// A pattern that is not one of ECMA-262, or is too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// What is wrong.
    pub message: &'static str,
    /// Where, in bytes from the start of the pattern; `None` where it is the whole.
    pub offset: Option<usize>,
}

impl PatternError {
    fn new(message: &'static str) -> Self {
        Self { message, offset: None }
    }

    fn at(message: &'static str, offset: usize) -> Self {
        Self { message, offset: Some(offset) }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{} at offset {offset}", self.message),
            None => f.write_str(self.message),
        }
    }
}

impl std::error::Error for PatternError {}

/// A text and a pattern that take more steps than the limit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepLimitExceeded;

impl fmt::Display for StepLimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the pattern takes too many steps on this text")
    }
}

impl std::error::Error for StepLimitExceeded {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of patterns: random joins of them are mostly patterns, many of them simple.
    const PIECES: [&str; 36] = [
        "a",
        "b",
        "c",
        "-",
        "é",
        "😀",
        "\\d",
        "\\w",
        "\\s",
        "\\W",
        "[a-c]",
        "[^a]",
        "[^\\s]",
        ".",
        "[é-😀]",
        "1",
        "^",
        "$",
        "^",
        "$",
        "*",
        "+",
        "?",
        "{2}",
        "{1,2}",
        "{0,3}?",
        "|",
        "(",
        ")",
        "(?:",
        ")",
        "[ab]+",
        "\\d{2}",
        "\\b",
        "[]",
        "[^]",
    ];
    const TEXTS: [&str; 16] = [
        "", "a", "b", "ab", "abc", "aab-1", "é", "😀é", "a1 b2", "12", "a\n", "--", "cab", "aaaa", "1a😀",
        " a",
    ];

    #[test]
    fn the_machines_agree() {
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        let (mut compared, mut simple_ones) = (0, 0);
        for _ in 0..20_000 {
            let length = 1 + random(7);
            let source: String = (0..length).map(|_| PIECES[random(PIECES.len())]).collect();
            let Ok(parsed) = parser::parse(&source) else { continue };
            compared += 1;
            let simple = Simple::recognise(&parsed.node);
            simple_ones += usize::from(simple.is_some());
            let linear = linear::build(&parsed.node).unwrap();
            let program = backtrack::Program::new(&parsed.node, parsed.groups);
            for text in TEXTS {
                let verdict = linear.is_match(text);
                assert_eq!(program.is_match(text, 1_000_000), Ok(verdict), "{source:?} on {text:?}");
                if let Some(simple) = &simple {
                    assert_eq!(simple.is_match(text), verdict, "{source:?} on {text:?}, {simple:?}");
                }
            }
        }
        assert!(compared > 4_000 && simple_ones > 1_000, "{compared} patterns, {simple_ones} simple");
    }

    #[test]
    fn common_patterns_need_no_engine() {
        for source in [
            "^x-",
            "^[a-z0-9_-]+$",
            "^[A-Z]{3}$",
            "^\\d{4}-\\d{2}-\\d{2}$",
            "^[^\\s]+$",
            "^.*$",
            "^(a|b|c)$",
            "foo",
            "\\.so$",
            "",
            "^\\S*$",
            "^.{1,65535}$",
            "[0-9]+",
            "^\\p{L}+$",
            "^#[0-9a-fA-F]{6}$",
            "^(?<a>b)(?:c)$",
            "a|b",
        ] {
            let pattern = Pattern::compile(source, 1).unwrap();
            assert!(matches!(pattern.machine, Machine::Simple(_)), "{source}");
        }
        assert!(size_of::<Pattern>() <= 40);
    }

    #[test]
    fn repetitions_are_counted_before_they_are_built() {
        assert!(Pattern::compile("(a{1000}){1000}", 1).is_err());
        assert!(Pattern::compile("(?:ab){1000}", 1).is_ok());
        // The backtracking engine counts its turns instead of writing them out.
        assert_eq!(Pattern::compile("^(a{1000}){1000}(?=b)", 100).unwrap().is_match("a"), Ok(false));
    }
}
