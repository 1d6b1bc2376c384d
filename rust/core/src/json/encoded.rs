//! JSON text inside a string, read as the value itself where the schema leaves the string no way to be right: the
//! double-encoded arguments that models send.
//!
//! What the string stands for is decided by the first character of its text that is not white space, and not taken
//! back. A second tokenizer reads the decoded text; it counts in bytes of the text around it, so what it finds needs no
//! translation. A character that was an escape ends where its escape ends.

use std::ops::Range;

use super::fault::FaultKind;
use super::partial::{Halt, Refusal, Run, State, Tokenizer, is_white};
use super::repair::Repair;
use super::sink::{Containers, Kind, Sink};

/// A string whose text may be read as a value.
#[derive(Debug)]
pub(super) enum Encoded {
    /// Only white space has come: this.
    Blank { begin: usize, wanted: Containers, text: String },
    /// The text is a value.
    Value(Box<Tokenizer>),
}

impl Tokenizer {
    /// Whether the string that begins at `begin` may turn out to be text of a value.
    #[cold]
    pub(super) fn begins_encoded<S: Sink>(&mut self, begin: usize, sink: &mut S) -> Run<bool, S::Stop> {
        let wanted = if self.is_inner { Containers::default() } else { sink.instead_of_string(begin)? };
        if wanted.object || wanted.array {
            self.encoded = Some(Encoded::Blank { begin, wanted, text: String::new() });
        }
        Ok(self.encoded.is_some())
    }

    /// A decoded piece of such a string.
    #[cold]
    pub(super) fn encoded_piece<S: Sink>(
        &mut self,
        piece: &str,
        from: Range<usize>,
        sink: &mut S,
    ) -> Run<(), S::Stop> {
        let (Some(Encoded::Blank { begin, wanted, text }), Some(at)) =
            (&mut self.encoded, piece.bytes().position(|byte| !is_white(byte)))
        else {
            return match &mut self.encoded {
                Some(Encoded::Blank { text, .. }) => {
                    text.push_str(piece);
                    Ok(())
                }
                _ => self.inner_piece(piece, from.end, sink),
            };
        };
        let begin = *begin;
        let is_wanted = match piece.as_bytes()[at] {
            b'{' => wanted.object,
            b'[' => wanted.array,
            _ => false,
        };
        if is_wanted {
            self.repairs.make(Repair::DoubleEncoding, begin);
            self.encoded = Some(Encoded::Value(Box::new(self.inner())));
            return self.inner_piece(piece, from.end, sink);
        }
        // Where the deciding character ends: the byte at which the string became one.
        let end = if piece.len() == from.len() { from.start + at + 1 } else { from.end };
        let blank = std::mem::take(text);
        self.encoded = None;
        sink.value_begin(Kind::String, end - 1)?;
        sink.string_begin()?;
        if !blank.is_empty() {
            sink.string_text(&blank, begin + 1..from.start)?;
        }
        Ok(sink.string_text(piece, from)?)
    }

    /// Such a string ends; its closing quote ends before `end`.
    #[cold]
    pub(super) fn encoded_end<S: Sink>(&mut self, end: usize, sink: &mut S) -> Run<(), S::Stop> {
        match self.encoded.take() {
            Some(Encoded::Blank { begin, text, .. }) => {
                sink.value_begin(Kind::String, end - 1)?;
                Ok(sink.string(&text, begin + 1..end - 1)?)
            }
            Some(Encoded::Value(inner)) if !inner.is_complete() => {
                Err(Halt::Bad(FaultKind::EncodedEnd, end - 1))
            }
            _ => Ok(()),
        }
    }

    /// A tokenizer for the text inside the string at hand.
    fn inner(&self) -> Self {
        let mut limits = self.limits;
        limits.depth -= self.stack.len();
        let mut inner = Self::new(limits, self.repairs.clone());
        inner.is_inner = true;
        inner
    }

    /// Decoded text that ends where the text around it stands at `end`.
    fn inner_piece<S: Sink>(&mut self, piece: &str, end: usize, sink: &mut S) -> Run<(), S::Stop> {
        let Some(Encoded::Value(inner)) = &mut self.encoded else { return Ok(()) };
        // Repairs inside are repairs of this text.
        std::mem::swap(&mut inner.repairs, &mut self.repairs);
        inner.offset = end - piece.len();
        let outcome = inner.push(piece, sink);
        std::mem::swap(&mut inner.repairs, &mut self.repairs);
        match outcome {
            Ok(()) => Ok(()),
            Err(Refusal::Fault(fault)) => Err(Halt::Bad(fault.kind, fault.offset)),
            Err(Refusal::Stop(stop)) => Err(Halt::Stop(stop)),
        }
    }

    /// Any character may follow in the string at hand.
    pub(super) fn takes_any(&self) -> bool {
        match (&self.encoded, self.state) {
            (Some(Encoded::Value(inner)), State::Text { .. }) => inner.is_in_text(),
            _ => true,
        }
    }
}
