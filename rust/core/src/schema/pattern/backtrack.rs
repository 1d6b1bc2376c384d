//! The engine for look-around and backreferences: the matcher of ECMA-262 section 22.2.2 as a program on an explicit
//! stack, with a budget of steps.
//!
//! Exact where other engines differ: a group that took no part matches empty, every turn of a quantifier empties the
//! groups inside, a look-behind of any length is matched from right to left.

use super::StepLimitExceeded;
use super::charset::CharSet;
use super::parser::{Node, Repeat};

/// A register that holds no position.
const UNSET: usize = usize::MAX;

#[derive(Debug)]
enum Instruction {
    Char {
        c: char,
        back: bool,
    },
    Set {
        set: CharSet,
        back: bool,
    },
    /// As many characters of the set as there are, up to `max`, given back one by one.
    Run {
        set: CharSet,
        min: u32,
        max: u32,
    },
    Start,
    End,
    WordBoundary {
        negated: bool,
    },
    /// The text of the one group that took part.
    Backreference {
        groups: Box<[u32]>,
        back: bool,
    },
    Split {
        other: usize,
    },
    Jump {
        to: usize,
    },
    Save {
        register: usize,
    },
    Clear {
        first: usize,
        last: usize,
    },
    /// The head of a loop, its entry behind it: another turn, or on to `exit`.
    Loop {
        counter: usize,
        min: usize,
        max: usize,
        is_greedy: bool,
        exit: usize,
    },
    /// The end of a turn: a turn that was not asked for and took nothing fails.
    Turn {
        counter: usize,
        min: usize,
        head: usize,
    },
    Look {
        negated: bool,
        exit: usize,
    },
    LookEnd,
    Match,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
    /// Two for each group, then two for each loop: its count, and where the turn began.
    registers: usize,
    is_anchored: bool,
}

impl Program {
    pub(super) fn new(node: &Node, groups: u32) -> Self {
        let mut program = Self {
            instructions: Vec::new(),
            registers: 2 * groups as usize,
            is_anchored: starts_at_start(node),
        };
        program.compile(node, false);
        program.instructions.push(Instruction::Match);
        program
    }

    fn compile(&mut self, node: &Node, back: bool) {
        match node {
            Node::Empty => {}
            Node::Char(c) => self.instructions.push(Instruction::Char { c: *c, back }),
            Node::Set(class) => self.instructions.push(Instruction::Set { set: CharSet::new(class), back }),
            Node::Start => self.instructions.push(Instruction::Start),
            Node::End => self.instructions.push(Instruction::End),
            Node::WordBoundary { negated } => {
                self.instructions.push(Instruction::WordBoundary { negated: *negated });
            }
            Node::Concat(nodes) if back => nodes.iter().rev().for_each(|node| self.compile(node, back)),
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.compile(node, back)),
            Node::Alternation(nodes) => self.compile_alternation(nodes, back),
            Node::Repeat(repeat) => self.compile_repeat(repeat, back),
            Node::Group(number, node) => {
                let first = 2 * (*number as usize - 1);
                self.instructions.push(Instruction::Save { register: first + usize::from(back) });
                self.compile(node, back);
                self.instructions.push(Instruction::Save { register: first + usize::from(!back) });
            }
            Node::Look { behind, negated, node } => {
                let look = self.hole();
                self.compile(node, *behind);
                self.instructions.push(Instruction::LookEnd);
                let exit = self.instructions.len();
                self.instructions[look] = Instruction::Look { negated: *negated, exit };
            }
            Node::Backreference(groups) => {
                self.instructions.push(Instruction::Backreference { groups: groups.as_slice().into(), back });
            }
        }
    }

    fn compile_alternation(&mut self, nodes: &[Node], back: bool) {
        let mut jumps = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            let is_last = at + 1 == nodes.len();
            let split = (!is_last).then(|| self.hole());
            self.compile(node, back);
            if let Some(split) = split {
                jumps.push(self.hole());
                self.instructions[split] = Instruction::Split { other: self.instructions.len() };
            }
        }
        let to = self.instructions.len();
        for jump in jumps {
            self.instructions[jump] = Instruction::Jump { to };
        }
    }

    fn compile_repeat(&mut self, repeat: &Repeat, back: bool) {
        if let (Node::Set(class), true, false) = (&repeat.node, repeat.is_greedy, back) {
            let set = CharSet::new(class);
            self.instructions.push(Instruction::Run {
                set,
                min: repeat.min,
                max: repeat.max.unwrap_or(u32::MAX),
            });
            return;
        }
        let counter = self.registers;
        self.registers += 2;
        self.instructions.push(Instruction::Clear { first: counter, last: counter + 1 });
        let head = self.hole();
        self.instructions.push(Instruction::Save { register: counter + 1 });
        if !repeat.groups.is_empty() {
            let (first, last) = (repeat.groups.start as usize - 1, repeat.groups.end as usize - 1);
            self.instructions.push(Instruction::Clear { first: 2 * first, last: 2 * last });
        }
        self.compile(&repeat.node, back);
        let min = repeat.min as usize;
        self.instructions.push(Instruction::Turn { counter, min, head });
        let exit = self.instructions.len();
        let max = repeat.max.map_or(UNSET, |max| max as usize);
        self.instructions[head] = Instruction::Loop { counter, min, max, is_greedy: repeat.is_greedy, exit };
    }

    /// A place to be filled once the code behind it is there.
    fn hole(&mut self) -> usize {
        self.instructions.push(Instruction::Match);
        self.instructions.len() - 1
    }

    /// Whether the pattern is found somewhere in `text`.
    pub(super) fn is_match(&self, text: &str, step_limit: usize) -> Result<bool, StepLimitExceeded> {
        let mut run = Run {
            program: self,
            text,
            at: 0,
            registers: vec![UNSET; self.registers],
            frames: Vec::new(),
            steps_left: step_limit,
        };
        for (at, _) in text.char_indices() {
            if run.starts_at(at)? {
                return Ok(true);
            }
            if self.is_anchored {
                return Ok(false);
            }
        }
        run.starts_at(text.len())
    }
}

/// Whether a match can only begin at the start of the text.
fn starts_at_start(node: &Node) -> bool {
    match node {
        Node::Start => true,
        Node::Concat(nodes) => nodes.first().is_some_and(starts_at_start),
        Node::Alternation(nodes) => nodes.iter().all(starts_at_start),
        Node::Group(_, node) => starts_at_start(node),
        _ => false,
    }
}

/// What going back does, last in, first out.
enum Frame {
    Branch {
        to: usize,
        at: usize,
    },
    /// A run that may still give back characters down to `low`.
    Shrink {
        to: usize,
        low: usize,
        at: usize,
    },
    Restore {
        register: usize,
        value: usize,
    },
    Look {
        negated: bool,
        exit: usize,
        at: usize,
    },
}

struct Run<'p> {
    program: &'p Program,
    text: &'p str,
    at: usize,
    registers: Vec<usize>,
    frames: Vec<Frame>,
    steps_left: usize,
}

impl Run<'_> {
    fn starts_at(&mut self, at: usize) -> Result<bool, StepLimitExceeded> {
        self.at = at;
        let mut next = 0;
        loop {
            self.take_steps(1)?;
            let instruction = &self.program.instructions[next];
            if matches!(instruction, Instruction::Match) {
                return Ok(true);
            }
            next = match self.step(instruction, next)?.or_else(|| self.go_back()) {
                Some(next) => next,
                // Going back has restored every register.
                None => return Ok(false),
            };
        }
    }

    fn take_steps(&mut self, steps: usize) -> Result<(), StepLimitExceeded> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or(StepLimitExceeded)?;
        Ok(())
    }

    /// Runs one instruction; gives the next, or `None` where it fails.
    fn step(&mut self, instruction: &Instruction, this: usize) -> Result<Option<usize>, StepLimitExceeded> {
        let mut next = this + 1;
        let succeeds = match instruction {
            Instruction::Char { c, back } => self.take(*back) == Some(*c),
            Instruction::Set { set, back } => self.take(*back).is_some_and(|c| set.holds(c)),
            Instruction::Run { set, min, max } => self.run(set, *min, *max, next)?,
            Instruction::Start => self.at == 0,
            Instruction::End => self.at == self.text.len(),
            Instruction::WordBoundary { negated } => self.is_word_boundary() != *negated,
            Instruction::Backreference { groups, back } => self.backreference(groups, *back)?,
            Instruction::Split { other } => {
                self.frames.push(Frame::Branch { to: *other, at: self.at });
                true
            }
            Instruction::Jump { to } => {
                next = *to;
                true
            }
            Instruction::Save { register } => {
                self.set(*register, self.at);
                true
            }
            Instruction::Clear { first, last } => {
                self.take_steps(last - first)?;
                (*first..*last).for_each(|register| self.set(register, UNSET));
                true
            }
            Instruction::Loop { counter, min, max, is_greedy, exit } => {
                // An unset counter is the first turn.
                let count = self.registers[*counter].wrapping_add(1);
                if count >= *max {
                    next = *exit;
                } else if count >= *min {
                    let other = if *is_greedy { *exit } else { next };
                    self.frames.push(Frame::Branch { to: other, at: self.at });
                    next = if *is_greedy { next } else { *exit };
                }
                true
            }
            Instruction::Turn { counter, min, head } => {
                let count = self.registers[*counter].wrapping_add(1);
                let is_empty = self.registers[*counter + 1] == self.at;
                // Turns that are asked for and take nothing once will take nothing again.
                let done = if is_empty && count < *min { *min } else { count + 1 };
                self.set(*counter, done - 1);
                next = *head;
                !is_empty || count < *min
            }
            Instruction::Look { negated, exit } => {
                self.frames.push(Frame::Look { negated: *negated, exit: *exit, at: self.at });
                true
            }
            Instruction::LookEnd => return Ok(self.leave_look()),
            Instruction::Match => true,
        };
        Ok(succeeds.then_some(next))
    }

    /// The next character in the direction of the match, gone past.
    fn take(&mut self, back: bool) -> Option<char> {
        if back {
            let c = self.text[..self.at].chars().next_back()?;
            self.at -= c.len_utf8();
            Some(c)
        } else {
            let c = self.text[self.at..].chars().next()?;
            self.at += c.len_utf8();
            Some(c)
        }
    }

    fn run(&mut self, set: &CharSet, min: u32, max: u32, to: usize) -> Result<bool, StepLimitExceeded> {
        let start = self.at;
        let (mut count, mut low) = (0, start);
        for c in self.text[start..].chars() {
            if count == min {
                low = self.at;
            }
            if count == max || !set.holds(c) {
                break;
            }
            self.at += c.len_utf8();
            count += 1;
        }
        if count == min {
            low = self.at;
        }
        self.take_steps((self.at - start) / 16)?;
        if low < self.at && count > min {
            self.frames.push(Frame::Shrink { to, low, at: self.at });
        }
        Ok(count >= min)
    }

    fn backreference(&mut self, groups: &[u32], back: bool) -> Result<bool, StepLimitExceeded> {
        let text = self.text;
        let captured = groups.iter().find_map(|group| {
            let first = 2 * (*group as usize - 1);
            text.get(self.registers[first]..self.registers[first + 1])
        });
        let captured = captured.unwrap_or_default();
        self.take_steps(captured.len() / 16)?;
        if back {
            let found = text[..self.at].ends_with(captured);
            self.at = self.at.saturating_sub(captured.len());
            return Ok(found);
        }
        let found = text[self.at..].starts_with(captured);
        self.at += captured.len();
        Ok(found)
    }

    fn is_word_boundary(&self) -> bool {
        let is_word =
            |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let bytes = self.text.as_bytes();
        is_word(self.at.checked_sub(1).and_then(|before| bytes.get(before))) != is_word(bytes.get(self.at))
    }

    fn set(&mut self, register: usize, value: usize) {
        let old = std::mem::replace(&mut self.registers[register], value);
        if old != value {
            self.frames.push(Frame::Restore { register, value: old });
        }
    }

    /// The body of a look-around has matched: its choices are final.
    fn leave_look(&mut self) -> Option<usize> {
        let look = self.frames.iter().rposition(|frame| matches!(frame, Frame::Look { .. }))?;
        let Frame::Look { negated, exit, at } = self.frames[look] else { return None };
        if negated {
            // It takes its captures back and fails.
            while self.frames.len() > look + 1 {
                if let Some(Frame::Restore { register, value }) = self.frames.pop() {
                    self.registers[register] = value;
                }
            }
            self.frames.pop();
            return None;
        }
        self.at = at;
        let inner = self.frames.split_off(look + 1);
        self.frames.pop();
        self.frames.extend(inner.into_iter().filter(|frame| matches!(frame, Frame::Restore { .. })));
        Some(exit)
    }

    /// Back to the last choice: where to go on, or `None` when there is none left.
    fn go_back(&mut self) -> Option<usize> {
        loop {
            match self.frames.pop()? {
                Frame::Restore { register, value } => self.registers[register] = value,
                Frame::Branch { to, at } => {
                    self.at = at;
                    return Some(to);
                }
                Frame::Shrink { to, low, at } => {
                    self.at = at;
                    self.take(true);
                    if low < self.at {
                        self.frames.push(Frame::Shrink { to, low, at: self.at });
                    }
                    return Some(to);
                }
                Frame::Look { negated: true, exit, at } => {
                    self.at = at;
                    return Some(exit);
                }
                Frame::Look { negated: false, .. } => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parser;
    use super::*;

    fn is_match(source: &str, text: &str, step_limit: usize) -> Result<bool, StepLimitExceeded> {
        let parsed = parser::parse(source).unwrap();
        Program::new(&parsed.node, parsed.groups).is_match(text, step_limit)
    }

    #[test]
    fn the_budget_is_for_the_whole_search() {
        assert_eq!(is_match("(?=b)b", "aaaaab", 100), Ok(true));
        assert_eq!(is_match("(?=b)b", "aaaaab", 10), Err(StepLimitExceeded));
        assert_eq!(is_match("^(?=b)b", &"a".repeat(1_000), 10), Ok(false));
    }

    #[test]
    fn a_look_ahead_keeps_its_captures_and_not_its_choices() {
        assert_eq!(is_match("^(?=(a+))\\1$", "aaa", 1_000), Ok(true));
        assert_eq!(is_match("^(?=(a+))a\\1", "aaa", 1_000), Ok(false));
        assert_eq!(is_match("^(?!(a)b)\\1a$", "a", 1_000), Ok(true));
    }

    #[test]
    fn a_turn_empties_the_groups_inside() {
        assert_eq!(is_match("^(?:(a)|(b))+\\1$", "ab", 1_000), Ok(true));
        assert_eq!(is_match("^(?:(a)|(b))+\\1c$", "bac", 1_000), Ok(false));
    }

    #[test]
    fn empty_turns_end() {
        assert_eq!(is_match("^(?:a*)*$", "b", 1_000), Ok(false));
        assert_eq!(is_match("^(?:){4000000000}$", "", 1_000), Ok(true));
        assert_eq!(is_match("^(?:a??){3,}?$", "aaaa", 1_000), Ok(true));
    }
}
