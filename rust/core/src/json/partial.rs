//! The resumable JSON tokenizer (RFC 8259): text arrives in pieces cut anywhere, events leave as soon as they
//! are certain, and no byte is looked at twice.
//!
//! Everything that a cut can interrupt is in the state: a number, a word, an escape, a surrogate pair, the tail
//! of a UTF-8 sequence, the stack of open containers. Hence any cut gives the same events, faults and offsets,
//! except that a string's text comes in other pieces.

use super::escape::{Escape, Step};
use super::fault::{Fault, FaultKind, Open};
use super::scan;
use super::scan_number::{Number, Place, Stopped};
use super::sink::{Kind, Literal, Sink};
use crate::limits::Limits;

/// Where between or inside tokens the text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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
    Word(Literal, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
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
enum Halt<E> {
    Bad(FaultKind, usize),
    Stop(E),
}

impl<E> From<E> for Halt<E> {
    fn from(stop: E) -> Self {
        Self::Stop(stop)
    }
}

type Run<T, E> = Result<T, Halt<E>>;

/// One text being read.
#[derive(Debug)]
pub struct Tokenizer {
    state: State,
    stack: Vec<Container>,
    /// The part of an unfinished key or number that came with earlier pushes.
    token: String,
    /// Where the unfinished number or escape began.
    token_start: usize,
    /// Bytes of whole characters taken so far.
    offset: usize,
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
    limits: Limits,
}

impl Tokenizer {
    /// A tokenizer before the first byte.
    pub fn new(limits: Limits) -> Self {
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
        }
    }

    /// The whole value has been read (a number at the top ends only with the text, or white space).
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.state == State::End
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
        matches!(self.state, State::Text { .. })
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
        if self.state == State::End {
            return Ok(());
        }
        Err(self.fail(FaultKind::UnexpectedEnd(self.open()), self.received(), &[]))
    }

    /// What is unfinished.
    pub fn open(&self) -> Open {
        match self.state {
            State::Text { key: true } | State::Escape { key: true, .. } => Open::Key,
            State::Text { .. } | State::Escape { .. } => Open::String,
            State::Colon => Open::Colon,
            State::Number(_) => Open::Number,
            State::Word(..) => Open::Literal,
            State::Value | State::End if self.stack.is_empty() => Open::Value,
            _ if self.stack.last() == Some(&Container::Array) => Open::Array,
            _ => Open::Object,
        }
    }

    fn take<S: Sink>(&mut self, text: &str, sink: &mut S) -> Result<(), Refusal<S::Stop>> {
        let room = self.limits.text_length - self.offset;
        if text.len() > room {
            let fits = text.floor_char_boundary(room);
            self.take(&text[..fits], sink)?;
            return Err(self.fail(FaultKind::TextTooLong, self.limits.text_length, &[]));
        }
        self.piece_line_start = 0;
        let run = self.run(text, sink);
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
        let base = self.offset;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                State::Text { key } => {
                    at = self.text(text, at, key, sink)?;
                    continue;
                }
                State::Escape { key, escape } => {
                    self.escape(escape, byte, base + at, key, sink)?;
                    at += 1;
                    continue;
                }
                State::Number(place) => {
                    at = self.number(place, text, at, at, sink)?;
                    continue;
                }
                State::Word(word, read) => {
                    at = self.word(word, read, bytes, at, sink)?;
                    continue;
                }
                _ => {}
            }
            if matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                at += 1;
                if byte == b'\n' {
                    self.line += 1;
                    self.line_start = base + at;
                    self.piece_line_start = at;
                    self.wide = 0;
                }
                continue;
            }
            match (self.state, byte) {
                (State::CommaOrEnd, b',') => {
                    sink.comma(base + at)?;
                    self.state = match self.stack.last() {
                        Some(Container::Object) => State::Key,
                        _ => State::Value,
                    };
                }
                (State::KeyOrEnd | State::Key, b'"') => {
                    at = self.key(text, at + 1, sink)?;
                    continue;
                }
                (State::Colon, b':') => self.state = State::Value,
                (State::CommaOrEnd | State::KeyOrEnd, b'}') if self.stack.last() == Some(&Container::Object) => {
                    sink.object_end(base + at + 1)?;
                    self.stack.pop();
                    self.state = self.after_value();
                }
                (State::CommaOrEnd | State::ItemOrEnd, b']') if self.stack.last() == Some(&Container::Array) => {
                    sink.array_end(base + at + 1)?;
                    self.stack.pop();
                    self.state = self.after_value();
                }
                (State::Value | State::ItemOrEnd, _) => {
                    at = self.value(byte, text, at, sink)?;
                    continue;
                }
                (state, _) => return Err(Halt::Bad(Self::expected(state), base + at)),
            }
            at += 1;
        }
        Ok(())
    }

    fn expected(state: State) -> FaultKind {
        match state {
            State::Key | State::KeyOrEnd => FaultKind::ExpectedKey,
            State::Colon => FaultKind::ExpectedColon,
            State::CommaOrEnd => FaultKind::ExpectedCommaOrEnd,
            State::End => FaultKind::TrailingData,
            _ => FaultKind::ExpectedValue,
        }
    }

    #[inline]
    fn after_value(&self) -> State {
        if self.stack.is_empty() { State::End } else { State::CommaOrEnd }
    }

    /// A value whose first byte stands at `at`; returns where reading goes on.
    #[inline]
    fn value<S: Sink>(&mut self, byte: u8, text: &str, at: usize, sink: &mut S) -> Run<usize, S::Stop> {
        let begin = self.offset + at;
        match byte {
            b'"' => {
                sink.value_begin(Kind::String, begin)?;
                let start = at + 1;
                let end = scan::plain_run(text.as_bytes(), start, b'"');
                if text.as_bytes().get(end) == Some(&b'"') {
                    sink.string(&text[start..end], begin + 1..self.offset + end)?;
                    self.state = self.after_value();
                    return Ok(end + 1);
                }
                sink.string_begin()?;
                self.state = State::Text { key: false };
                self.text_from(text, start, end, false, sink)
            }
            b'{' => {
                sink.value_begin(Kind::Object, begin)?;
                self.descend(Container::Object, begin)?;
                sink.object_begin()?;
                self.state = State::KeyOrEnd;
                Ok(at + 1)
            }
            b'[' => {
                sink.value_begin(Kind::Array, begin)?;
                self.descend(Container::Array, begin)?;
                sink.array_begin()?;
                self.state = State::ItemOrEnd;
                Ok(at + 1)
            }
            b't' | b'f' | b'n' => {
                let word = match byte {
                    b't' => Literal::True,
                    b'f' => Literal::False,
                    _ => Literal::Null,
                };
                sink.value_begin(Kind::Literal(word), begin)?;
                self.word(word, 1, text.as_bytes(), at + 1, sink)
            }
            _ => {
                let Some(place) = Place::first(byte) else {
                    return Err(Halt::Bad(FaultKind::ExpectedValue, begin));
                };
                sink.value_begin(Kind::Number, begin)?;
                self.token_start = begin;
                self.number(place, text, at, at + 1, sink)
            }
        }
    }

    #[inline]
    fn descend<E>(&mut self, container: Container, begin: usize) -> Run<(), E> {
        if self.stack.len() >= self.limits.depth {
            return Err(Halt::Bad(FaultKind::TooDeep, begin));
        }
        self.stack.push(container);
        Ok(())
    }

    /// A key whose text begins at `start`.
    #[inline]
    fn key<S: Sink>(&mut self, text: &str, start: usize, sink: &mut S) -> Run<usize, S::Stop> {
        let end = scan::plain_run(text.as_bytes(), start, b'"');
        if text.as_bytes().get(end) == Some(&b'"') {
            let key = &text[start..end];
            sink.key_text(key, self.offset + start..self.offset + end)?;
            sink.key(key, self.offset + end + 1)?;
            self.state = State::Colon;
            return Ok(end + 1);
        }
        self.state = State::Text { key: true };
        self.text_from(text, start, end, true, sink)
    }

    #[inline]
    fn text<S: Sink>(&mut self, text: &str, at: usize, key: bool, sink: &mut S) -> Run<usize, S::Stop> {
        let end = scan::plain_run(text.as_bytes(), at, b'"');
        self.text_from(text, at, end, key, sink)
    }

    /// The plain run `at..end` of a key or string, and what stands behind it.
    #[inline]
    fn text_from<S: Sink>(
        &mut self,
        text: &str,
        at: usize,
        end: usize,
        key: bool,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        if end > at {
            self.piece(&text[at..end], self.offset + at..self.offset + end, key, sink)?;
        }
        let place = self.offset + end;
        match text.as_bytes().get(end) {
            None => return Ok(end),
            Some(b'"') if key => {
                let name = std::mem::take(&mut self.token);
                let told = sink.key(&name, place + 1);
                self.token = name;
                self.token.clear();
                told?;
                self.state = State::Colon;
            }
            Some(b'"') => {
                sink.string_end(place + 1)?;
                self.state = self.after_value();
            }
            Some(b'\\') => {
                sink.escape_begin(place)?;
                self.token_start = place;
                self.state = State::Escape { key, escape: Escape::Backslash };
            }
            Some(_) => return Err(Halt::Bad(FaultKind::ControlCharacter, place)),
        }
        Ok(end + 1)
    }

    /// One decoded piece of a key or string.
    #[inline]
    fn piece<S: Sink>(
        &mut self,
        piece: &str,
        from: std::ops::Range<usize>,
        key: bool,
        sink: &mut S,
    ) -> Run<(), S::Stop> {
        if key {
            self.token.push_str(piece);
            sink.key_text(piece, from)?;
        } else {
            sink.string_text(piece, from)?;
        }
        Ok(())
    }

    #[inline]
    fn escape<S: Sink>(
        &mut self,
        escape: Escape,
        byte: u8,
        place: usize,
        key: bool,
        sink: &mut S,
    ) -> Run<(), S::Stop> {
        match escape.step(byte) {
            Step::More(escape) => self.state = State::Escape { key, escape },
            Step::Done(character) => {
                let mut utf8 = [0; 4];
                self.piece(character.encode_utf8(&mut utf8), self.token_start..place + 1, key, sink)?;
                self.state = State::Text { key };
            }
            Step::Bad(kind, back) => return Err(Halt::Bad(kind, place - back)),
        }
        Ok(())
    }

    /// Reads a number on from `at`; its part in this text begins at `start`.
    #[inline]
    fn number<S: Sink>(
        &mut self,
        place: Place,
        text: &str,
        start: usize,
        at: usize,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        match place.advance(text.as_bytes(), at) {
            Stopped::Bad(bad) => Err(Halt::Bad(FaultKind::BadNumber, self.offset + bad)),
            Stopped::Open(place) => {
                self.token.push_str(&text[start..]);
                self.check_digits(&self.token)?;
                self.state = State::Number(place);
                Ok(text.len())
            }
            Stopped::Ended(end) => {
                let place = self.offset + end;
                self.end_number(&text[start..end], place, sink)?;
                Ok(end)
            }
        }
    }

    #[inline]
    fn end_number<S: Sink>(&mut self, part: &str, end: usize, sink: &mut S) -> Run<(), S::Stop> {
        let whole = if self.token.is_empty() {
            part
        } else {
            self.token.push_str(part);
            &self.token
        };
        self.check_digits(whole)?;
        let Some(number) = Number::read(whole) else {
            return Err(Halt::Bad(FaultKind::NumberOutOfRange, self.token_start));
        };
        sink.number(number, end)?;
        self.token.clear();
        self.state = self.after_value();
        Ok(())
    }

    #[inline]
    fn check_digits<E>(&self, number: &str) -> Run<(), E> {
        if number.len() > self.limits.number_digits
            && number.bytes().filter(u8::is_ascii_digit).count() > self.limits.number_digits
        {
            return Err(Halt::Bad(FaultKind::NumberTooLong, self.token_start));
        }
        Ok(())
    }

    #[inline]
    fn word<S: Sink>(
        &mut self,
        word: Literal,
        read: u8,
        bytes: &[u8],
        mut at: usize,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        let rest = &word.text().as_bytes()[usize::from(read)..];
        for (read, &expected) in (read..).zip(rest) {
            match bytes.get(at) {
                Some(&byte) if byte == expected => at += 1,
                Some(_) => return Err(Halt::Bad(FaultKind::BadLiteral, self.offset + at)),
                None => {
                    self.state = State::Word(word, read);
                    return Ok(at);
                }
            }
        }
        sink.literal(word, self.offset + at)?;
        self.state = self.after_value();
        Ok(at)
    }
}

impl Literal {
    /// The word itself.
    pub fn text(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Null => "null",
        }
    }
}
