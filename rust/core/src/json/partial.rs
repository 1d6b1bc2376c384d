//! The resumable JSON tokenizer (RFC 8259): text arrives in pieces cut anywhere, events leave as soon as they
//! are certain, and no byte is looked at twice.
//!
//! Everything that a cut can interrupt is in the state: a number, a word, an escape, a surrogate pair, the tail
//! of a UTF-8 sequence, the stack of open containers. Hence any cut gives the same events, faults and offsets,
//! except that a string's text comes in other pieces.

use super::encoded::Encoded;
use super::escape::Escape;
use super::fault::{Fault, FaultKind, Open};
use super::repair::{Repair, Repairs};
use super::scan;
use super::scan_number::Place;
use super::sink::{Literal, Sink};
use crate::limits::Limits;

/// Where between or inside tokens the text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A value must begin.
    Value,
    /// Just after `[`.
    ItemOrEnd,
    /// Just after `{`.
    KeyOrEnd,
    /// After a comma in an object.
    Key,
    /// After a key.
    Colon,
    /// After a value inside a container.
    CommaOrEnd,
    /// After the whole value.
    End,
    /// In the text of a key or a string.
    Text { key: bool },
    /// In an escape of a key or a string.
    Escape { key: bool, escape: Escape },
    /// In a number.
    Number(Place),
    /// In a word, this many bytes of it read.
    Word(&'static str, Literal, u8),
    /// In a key without quotes.
    BareKey,
    /// In a code fence, this many of its back-ticks read.
    Fence { closing: bool, ticks: u8 },
    /// Behind the opening fence, in its word.
    FenceWord,
    /// Behind the closing fence.
    FenceEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Object,
    Array,
}

/// Why a push did not take the whole text.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal<E> {
    /// No JSON text goes on like this.
    Fault(Fault),
    /// The sink wanted no more.
    Stop(E),
}

/// What the state machine reports; the place of a fault is still an offset only.
pub(super) enum Halt<E> {
    Bad(FaultKind, usize),
    Stop(E),
}

impl<E> From<E> for Halt<E> {
    fn from(stop: E) -> Self {
        Self::Stop(stop)
    }
}

pub(super) type Run<T, E> = Result<T, Halt<E>>;

/// One text being read.
#[derive(Debug)]
pub struct Tokenizer {
    pub(super) state: State,
    pub(super) stack: Vec<Container>,
    /// The part of an unfinished key or number that came with earlier pushes.
    pub(super) token: String,
    /// Where the unfinished number or escape began; between tokens, the last comma.
    pub(super) token_start: usize,
    /// Bytes of whole characters taken so far.
    pub(super) offset: usize,
    /// The first bytes of a character whose rest has not come.
    tail: [u8; 4],
    tail_length: usize,
    line: usize,
    line_start: usize,
    /// Continuation bytes on the present line, so that columns count characters.
    wide: usize,
    /// Start of the present line inside the piece at hand.
    piece_line_start: usize,
    fault: Option<Fault>,
    pub(super) limits: Limits,
    /// What ends the string or key at hand.
    pub(super) quote: u8,
    /// The digits of an unfinished `\u`.
    pub(super) hex: [u8; 4],
    /// The text began with a code fence.
    pub(super) fenced: bool,
    /// The string at hand, where it may be text of a value.
    pub(super) encoded: Option<Encoded>,
    /// The text is that of a string in another text.
    pub(super) is_inner: bool,
    pub(super) repairs: Repairs,
}

impl Tokenizer {
    /// A tokenizer before the first byte.
    pub fn new(limits: Limits, repairs: Repairs) -> Self {
        Self {
            state: State::Value,
            stack: Vec::new(),
            token: String::new(),
            token_start: 0,
            offset: 0,
            tail: [0; 4],
            tail_length: 0,
            line: 1,
            line_start: 0,
            wide: 0,
            piece_line_start: 0,
            fault: None,
            limits,
            quote: b'"',
            hex: [0; 4],
            fenced: false,
            encoded: None,
            is_inner: false,
            repairs,
        }
    }

    /// The whole value has been read (a number at the top ends only with the text, or white space).
    #[inline]
    pub fn is_complete(&self) -> bool {
        match self.state {
            State::End => !self.fenced && self.fault.is_none(),
            State::FenceEnd => self.fault.is_none(),
            _ => false,
        }
    }

    /// The repairs asked for and made.
    pub fn repairs(&self) -> &Repairs {
        &self.repairs
    }

    /// Nothing but white space has come.
    pub fn is_blank(&self) -> bool {
        self.state == State::Value && self.stack.is_empty() && self.tail_length == 0 && self.fault.is_none()
    }

    /// Bytes received, those of an unfinished character included.
    pub fn received(&self) -> usize {
        self.offset + self.tail_length
    }

    /// The fault that ended the text, if one did.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Reads more text.
    ///
    /// # Errors
    /// The first byte that no JSON text can have there, now and at every later call; or what the sink returned.
    #[inline]
    pub fn push<S: Sink>(&mut self, text: &str, sink: &mut S) -> Result<(), Refusal<S::Stop>> {
        if let Some(fault) = self.fault {
            return Err(Refusal::Fault(fault));
        }
        if self.tail_length > 0 {
            return self.push_bytes(text.as_bytes(), sink);
        }
        self.take(text, sink)
    }

    /// Reads more text as UTF-8 bytes; a character may be cut between two pushes.
    ///
    /// # Errors
    /// As [`Tokenizer::push`]; bytes that are not UTF-8 are a fault at the first byte that cannot be right.
    pub fn push_bytes<S: Sink>(&mut self, mut bytes: &[u8], sink: &mut S) -> Result<(), Refusal<S::Stop>> {
        if let Some(fault) = self.fault {
            return Err(Refusal::Fault(fault));
        }
        while self.tail_length > 0 {
            let Some((&byte, rest)) = bytes.split_first() else { return Ok(()) };
            let (tail, length) = (self.tail, self.tail_length);
            let mut sequence = tail;
            sequence[length] = byte;
            match std::str::from_utf8(&sequence[..=length]) {
                Ok(character) => {
                    self.tail_length = 0;
                    self.take(character, sink)?;
                }
                Err(error) if error.error_len().is_none() => {
                    self.tail = sequence;
                    self.tail_length += 1;
                }
                Err(_) => return Err(self.fail(FaultKind::InvalidUtf8, self.offset + length, &[])),
            }
            bytes = rest;
        }
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => return self.take(text, sink),
            Err(error) => error,
        };
        let (whole, rest) = bytes.split_at(error.valid_up_to());
        // The split is where the check itself found valid text to end.
        self.take(std::str::from_utf8(whole).unwrap_or_default(), sink)?;
        if !self.is_in_text() {
            // Only a string has room for any such byte; the stand-in draws the fault that belongs here.
            self.take("\u{FFFD}", sink)?;
        }
        if error.error_len().is_none() {
            self.tail[..rest.len()].copy_from_slice(rest);
            self.tail_length = rest.len();
            return Ok(());
        }
        // A byte that may begin a character is right; what follows it then is not.
        let length = error.error_len().unwrap_or(1);
        let good = if matches!(rest[0], 0xC2..=0xF4) { length } else { 0 };
        Err(self.fail(FaultKind::InvalidUtf8, self.offset + good, &[]))
    }

    /// Inside the text of a key or string, where any character may follow.
    pub fn is_in_text(&self) -> bool {
        match self.state {
            State::Text { .. } => self.takes_any(),
            State::Escape { escape, .. } => self.keeps(escape),
            _ => false,
        }
    }

    /// Takes half of a surrogate pair that stands for itself in text of another encoding.
    ///
    /// # Errors
    /// Always: no JSON text has it.
    pub fn push_half<S: Sink>(&mut self, sink: &mut S) -> Result<(), Refusal<S::Stop>> {
        if !self.is_in_text() {
            self.push("\u{FFFD}", sink)?;
        }
        Err(self.fail(FaultKind::LoneSurrogate, self.offset, &[]))
    }

    /// Ends the text.
    ///
    /// # Errors
    /// [`FaultKind::UnexpectedEnd`] if the value is not whole; nothing is ever completed here.
    pub fn finish<S: Sink>(&mut self, sink: &mut S) -> Result<(), Refusal<S::Stop>> {
        if let Some(fault) = self.fault {
            return Err(Refusal::Fault(fault));
        }
        if let State::Number(place) = self.state
            && place.is_whole()
        {
            let number = self.end_number("", self.offset, sink);
            self.settle(number, &[])?;
        }
        if self.is_complete() {
            return Ok(());
        }
        Err(self.fail(FaultKind::UnexpectedEnd(self.open()), self.received(), &[]))
    }

    /// What is unfinished.
    pub fn open(&self) -> Open {
        match self.state {
            State::Text { key: true } | State::Escape { key: true, .. } | State::BareKey => Open::Key,
            State::Text { .. } | State::Escape { .. } => Open::String,
            State::Colon => Open::Colon,
            State::Number(_) => Open::Number,
            State::Word(..) => Open::Literal,
            State::End if self.fenced => Open::Fence,
            State::Fence { .. } | State::FenceWord => Open::Fence,
            State::Value | State::End if self.stack.is_empty() => Open::Value,
            _ if self.stack.last() == Some(&Container::Array) => Open::Array,
            _ => Open::Object,
        }
    }

    fn take<S: Sink>(&mut self, text: &str, sink: &mut S) -> Result<(), Refusal<S::Stop>> {
        let room = self.limits.text_length - self.offset;
        if text.len() > room {
            let fits = (0..=room).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            self.take(&text[..fits], sink)?;
            return Err(self.fail(FaultKind::TextTooLong, self.limits.text_length, &[]));
        }
        self.piece_line_start = 0;
        let run = self.run(text, sink);
        if matches!(run, Err(Halt::Bad(FaultKind::BadEscape, _))) && self.open() == Open::String {
            sink.string_dropped().map_err(Refusal::Stop)?;
        }
        self.settle(run, text.as_bytes())?;
        self.wide += scan::continuation_bytes(&text.as_bytes()[self.piece_line_start..]);
        self.offset += text.len();
        Ok(())
    }

    fn settle<E>(&mut self, run: Run<(), E>, piece: &[u8]) -> Result<(), Refusal<E>> {
        match run {
            Ok(()) => Ok(()),
            Err(Halt::Stop(stop)) => Err(Refusal::Stop(stop)),
            Err(Halt::Bad(kind, offset)) => Err(self.fail(kind, offset, piece)),
        }
    }

    #[cold]
    fn fail<E>(&mut self, kind: FaultKind, offset: usize, piece: &[u8]) -> Refusal<E> {
        let before = piece.get(self.piece_line_start..offset.saturating_sub(self.offset)).unwrap_or_default();
        let wide = self.wide + scan::continuation_bytes(before);
        let fault = Fault { kind, offset, line: self.line, column: offset - self.line_start - wide + 1 };
        self.fault = Some(fault);
        Refusal::Fault(fault)
    }

    fn run<S: Sink>(&mut self, text: &str, sink: &mut S) -> Run<(), S::Stop> {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at = match self.state {
                State::Text { key } if self.encoded.is_none() => {
                    self.text::<S, false>(text, at, key, sink)?
                }
                State::Text { key } => self.text::<S, true>(text, at, key, sink)?,
                State::Escape { key, escape } => {
                    at + usize::from(self.escape(escape, byte, self.offset + at, key, sink)?)
                }
                State::Number(place) => self.number(place, text, at, at, sink)?,
                State::Word(word, literal, read) => self.word(word, literal, read, bytes, at, sink)?,
                State::BareKey => self.bare_key(text, at, sink)?,
                State::FenceWord => {
                    if !is_fence_word(byte) {
                        self.state = State::Value;
                    }
                    at + usize::from(is_fence_word(byte))
                }
                State::Fence { .. } => self.repair(byte, text, at, sink)?,
                _ if is_white(byte) => {
                    if byte == b'\n' {
                        self.new_line(at + 1);
                    }
                    at + 1
                }
                State::CommaOrEnd => self.comma_or_end(byte, text, at, sink)?,
                State::Key | State::KeyOrEnd if byte == b'"' => {
                    self.promised(sink)?;
                    self.key(byte, text, at + 1, sink)?
                }
                State::Colon if byte == b':' => {
                    self.state = State::Value;
                    behind_blank(bytes, at + 1)
                }
                State::Value | State::ItemOrEnd if begins_value(byte) => {
                    self.promised(sink)?;
                    self.value(byte, text, at, sink)?
                }
                State::KeyOrEnd if byte == b'}' => self.end_object(at, sink)?,
                State::ItemOrEnd if byte == b']' => self.end_array(at, sink)?,
                _ => self.repair(byte, text, at, sink)?,
            };
        }
        Ok(())
    }

    #[inline]
    fn comma_or_end<S: Sink>(
        &mut self,
        byte: u8,
        text: &str,
        at: usize,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        let in_object = self.stack.last() == Some(&Container::Object);
        match byte {
            b',' => {
                self.token_start = self.offset + at;
                if !self.repairs.asks(Repair::TrailingCommas) {
                    sink.comma(self.token_start)?;
                }
                self.state = if in_object { State::Key } else { State::Value };
                Ok(behind_blank(text.as_bytes(), at + 1))
            }
            b'}' if in_object => self.end_object(at, sink),
            b']' if !in_object => self.end_array(at, sink),
            _ => self.repair(byte, text, at, sink),
        }
    }

    /// A line begins at this byte of the piece at hand.
    pub(super) fn new_line(&mut self, at: usize) {
        self.line += 1;
        self.line_start = self.offset + at;
        self.piece_line_start = at;
        self.wide = 0;
    }

    /// The innermost object ends with the bracket at `at`.
    #[inline]
    pub(super) fn end_object<S: Sink>(&mut self, at: usize, sink: &mut S) -> Run<usize, S::Stop> {
        sink.object_end(self.offset + at + 1)?;
        self.stack.pop();
        self.state = self.after_value();
        Ok(at + 1)
    }

    /// The innermost array ends with the bracket at `at`.
    #[inline]
    pub(super) fn end_array<S: Sink>(&mut self, at: usize, sink: &mut S) -> Run<usize, S::Stop> {
        sink.array_end(self.offset + at + 1)?;
        self.stack.pop();
        self.state = self.after_value();
        Ok(at + 1)
    }
}

#[inline]
pub(super) fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

#[inline]
fn begins_value(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

/// Behind the one space that nearly always follows a comma or colon.
#[inline]
fn behind_blank(bytes: &[u8], at: usize) -> usize {
    at + usize::from(bytes.get(at) == Some(&b' '))
}

/// The word behind an opening fence names a language.
fn is_fence_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.')
}
