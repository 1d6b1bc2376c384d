//! The engine for regular patterns: `regex-automata`, in time linear in the text.

use regex_automata::meta;
use regex_syntax::hir::{Class, Hir, Look, Repetition};

use super::PatternError;
use super::parser::Node;

/// Bytes that the automaton of one pattern may take.
const SIZE_LIMIT: usize = 16 << 20;

/// Bytes that each thread's table of lazily found states may take.
const CACHE_LIMIT: usize = 1 << 20;

pub(super) fn build(node: &Node) -> Result<meta::Regex, PatternError> {
    let config = meta::Config::new().nfa_size_limit(Some(SIZE_LIMIT)).hybrid_cache_capacity(CACHE_LIMIT);
    meta::Builder::new()
        .configure(config)
        .build_from_hir(&to_hir(node))
        .map_err(|_| PatternError::new("the pattern is too large once its repetitions are written out"))
}

fn to_hir(node: &Node) -> Hir {
    match node {
        Node::Empty => Hir::empty(),
        Node::Char(c) => Hir::literal(c.encode_utf8(&mut [0; 4]).as_bytes()),
        Node::Set(class) => Hir::class(Class::Unicode(class.clone())),
        Node::Start => Hir::look(Look::Start),
        Node::End => Hir::look(Look::End),
        Node::WordBoundary { negated: false } => Hir::look(Look::WordAscii),
        Node::WordBoundary { negated: true } => Hir::look(Look::WordAsciiNegate),
        Node::Concat(nodes) => Hir::concat(nodes.iter().map(to_hir).collect()),
        Node::Alternation(nodes) => Hir::alternation(nodes.iter().map(to_hir).collect()),
        Node::Repeat(repeat) => Hir::repetition(Repetition {
            min: repeat.min,
            max: repeat.max,
            greedy: repeat.is_greedy,
            sub: Box::new(to_hir(&repeat.node)),
        }),
        Node::Group(_, node) => to_hir(node),
        // The parser sends these to the backtracking engine.
        Node::Look { .. } | Node::Backreference(_) => Hir::fail(),
    }
}
