//! What the tokenizer does where strict JSON has no rule: a repair that was asked for, or the fault.

use super::fault::FaultKind;
use super::partial::{Container, Halt, Run, State, Tokenizer};
use super::repair::Repair;
use super::sink::{Kind, Literal, Sink};

/// Back-ticks of a code fence.
const FENCE: u8 = 3;

impl Tokenizer {
    /// A byte between tokens that no JSON text has here; returns where reading goes on.
    #[cold]
    pub(super) fn repair<S: Sink>(
        &mut self,
        byte: u8,
        text: &str,
        at: usize,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        let place = self.offset + at;
        match (self.state, byte) {
            (State::Value | State::ItemOrEnd, b'\'') if self.repairs.make(Repair::SingleQuotes, place) => {
                self.promised(sink)?;
                return self.string(byte, text, at, sink);
            }
            (State::Key | State::KeyOrEnd, b'\'') if self.repairs.make(Repair::SingleQuotes, place) => {
                self.promised(sink)?;
                return self.key(byte, text, at + 1, sink);
            }
            (State::Value | State::ItemOrEnd, b'T' | b'F' | b'N')
                if self.repairs.make(Repair::PythonLiterals, place) =>
            {
                self.promised(sink)?;
                let (word, literal) = match byte {
                    b'T' => ("True", Literal::True),
                    b'F' => ("False", Literal::False),
                    _ => ("None", Literal::Null),
                };
                sink.value_begin(Kind::Literal(literal), place)?;
                return self.word(word, literal, 1, text.as_bytes(), at + 1, sink);
            }
            (State::Key | State::KeyOrEnd, b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$')
                if self.repairs.make(Repair::UnquotedKeys, place) =>
            {
                self.promised(sink)?;
                self.state = State::BareKey;
                return Ok(at);
            }
            (State::Key, b'}') if self.repairs.make(Repair::TrailingCommas, self.token_start) => {
                return self.end_object(at, sink);
            }
            (State::Value, b']')
                if self.is_after_comma() && self.repairs.make(Repair::TrailingCommas, self.token_start) =>
            {
                return self.end_array(at, sink);
            }
            (State::Value, b'`')
                if self.stack.is_empty() && !self.fenced && self.repairs.make(Repair::Fences, place) =>
            {
                self.state = State::Fence { closing: false, ticks: 1 };
            }
            (State::End, b'`') if self.fenced => self.state = State::Fence { closing: true, ticks: 1 },
            (State::Fence { closing, ticks }, b'`') => self.state = self.fence(closing, ticks + 1),
            (state, _) => return Err(Halt::Bad(expected(state), place)),
        }
        Ok(at + 1)
    }

    /// After this many back-ticks.
    fn fence(&mut self, closing: bool, ticks: u8) -> State {
        match (closing, ticks == FENCE) {
            (_, false) => State::Fence { closing, ticks },
            (true, true) => State::FenceEnd,
            (false, true) => {
                self.fenced = true;
                State::FenceWord
            }
        }
    }

    /// A comma promises one more value, unless commas may trail: then the value itself keeps the promise.
    #[inline]
    pub(super) fn promised<S: Sink>(&mut self, sink: &mut S) -> Run<(), S::Stop> {
        if self.repairs.asks(Repair::TrailingCommas) && self.is_after_comma() {
            sink.comma(self.token_start)?;
        }
        Ok(())
    }

    fn is_after_comma(&self) -> bool {
        match self.state {
            State::Key => true,
            State::Value => self.stack.last() == Some(&Container::Array),
            _ => false,
        }
    }
}

/// What strict JSON has in this state.
fn expected(state: State) -> FaultKind {
    match state {
        State::Key | State::KeyOrEnd => FaultKind::ExpectedKey,
        State::Colon => FaultKind::ExpectedColon,
        State::CommaOrEnd => FaultKind::ExpectedCommaOrEnd,
        State::End | State::FenceEnd | State::Fence { closing: true, .. } => FaultKind::TrailingData,
        _ => FaultKind::ExpectedValue,
    }
}
