//! The tokens of the tokenizer: strings, keys, numbers and words, whole at once or resumed where a cut left them.

use std::ops::Range;

use super::escape::{Escape, Step};
use super::fault::FaultKind;
use super::partial::{Container, Halt, Run, State, Tokenizer};
use super::repair::Repair;
use super::scan;
use super::scan_number::{Number, Place, Stopped};
use super::sink::{Kind, Literal, Sink};

impl Tokenizer {
    #[inline]
    pub(super) fn after_value(&self) -> State {
        if self.stack.is_empty() { State::End } else { State::CommaOrEnd }
    }

    /// A value whose first byte stands at `at`; returns where reading goes on.
    #[inline]
    pub(super) fn value<S: Sink>(
        &mut self,
        byte: u8,
        text: &str,
        at: usize,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        let begin = self.offset + at;
        match byte {
            b'"' => self.string(byte, text, at, sink),
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
                self.word(word.text(), word, 1, text.as_bytes(), at + 1, sink)
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

    /// A string whose opening quote stands at `at`.
    #[inline]
    pub(super) fn string<S: Sink>(
        &mut self,
        quote: u8,
        text: &str,
        at: usize,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        let begin = self.offset + at;
        let start = at + 1;
        self.quote = quote;
        if self.repairs.asks(Repair::DoubleEncoding) && self.begins_encoded(begin, sink)? {
            self.state = State::Text { key: false };
            return Ok(start);
        }
        sink.value_begin(Kind::String, begin)?;
        let end = scan::plain_run(text.as_bytes(), start, quote);
        if text.as_bytes().get(end) == Some(&quote) {
            sink.string(&text[start..end], begin + 1..self.offset + end)?;
            self.state = self.after_value();
            return Ok(end + 1);
        }
        sink.string_begin()?;
        self.state = State::Text { key: false };
        self.text_from::<S, false>(text, start, end, false, sink)
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
    pub(super) fn key<S: Sink>(
        &mut self,
        quote: u8,
        text: &str,
        start: usize,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        self.quote = quote;
        let end = scan::plain_run(text.as_bytes(), start, quote);
        if text.as_bytes().get(end) == Some(&quote) {
            sink.whole_key(&text[start..end], self.offset + start..self.offset + end)?;
            self.state = State::Colon;
            return Ok(end + 1);
        }
        self.state = State::Text { key: true };
        self.text_from::<S, false>(text, start, end, true, sink)
    }

    #[inline]
    pub(super) fn text<S: Sink, const ENCODED: bool>(
        &mut self,
        text: &str,
        at: usize,
        key: bool,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        let end = scan::plain_run(text.as_bytes(), at, self.quote);
        self.text_from::<S, ENCODED>(text, at, end, key, sink)
    }

    /// The plain run `at..end` of a key or string, and what stands behind it. `ENCODED`: of a string that may be text of a
    /// value; known beforehand, so that other strings do not ask.
    #[inline]
    fn text_from<S: Sink, const ENCODED: bool>(
        &mut self,
        text: &str,
        at: usize,
        end: usize,
        key: bool,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        if end > at {
            let more = text.as_bytes().get(end) == Some(&b'\\');
            self.piece::<S, ENCODED>(&text[at..end], self.offset + at..self.offset + end, key, more, sink)?;
        }
        let place = self.offset + end;
        match text.as_bytes().get(end) {
            None => return Ok(end),
            Some(&quote) if quote == self.quote => {
                if key {
                    self.end_key(place + 1, sink)?;
                } else {
                    if ENCODED && self.encoded.is_some() {
                        self.encoded_end(place + 1, sink)?;
                    } else {
                        sink.string_end(place + 1)?;
                    }
                    self.state = self.after_value();
                }
            }
            Some(b'\\') => {
                if !ENCODED || self.encoded.is_none() {
                    sink.escape_begin(place)?;
                }
                if let Some(&byte) = text.as_bytes().get(end + 1)
                    && let Step::Done(character) = Escape::Backslash.step(byte, self.quote)
                {
                    // Whole already, as nearly all are: one ASCII character.
                    let mut utf8 = [0; 4];
                    let more = text.as_bytes().get(end + 2).is_some_and(|&next| next != self.quote);
                    self.piece::<S, ENCODED>(
                        character.encode_utf8(&mut utf8),
                        place..place + 2,
                        key,
                        more,
                        sink,
                    )?;
                    return Ok(end + 2);
                }
                self.token_start = place;
                self.state = State::Escape { key, escape: Escape::Backslash };
            }
            Some(&control) if self.repairs.make(Repair::ControlCharacters, place) => {
                self.piece::<S, ENCODED>(&text[end..=end], place..place + 1, key, false, sink)?;
                if control == b'\n' {
                    self.new_line(end + 1);
                }
            }
            Some(_) => return Err(Halt::Bad(FaultKind::ControlCharacter, place)),
        }
        Ok(end + 1)
    }

    fn end_key<S: Sink>(&mut self, end: usize, sink: &mut S) -> Run<(), S::Stop> {
        let key = std::mem::take(&mut self.token);
        let told = sink.key(&key, end);
        self.token = key;
        self.token.clear();
        self.state = State::Colon;
        Ok(told?)
    }

    /// Reads a key without quotes on from `at`.
    pub(super) fn bare_key<S: Sink>(&mut self, text: &str, at: usize, sink: &mut S) -> Run<usize, S::Stop> {
        let bytes = text.as_bytes();
        let mut end = at;
        while end < bytes.len() && is_bare(bytes[end]) {
            end += 1;
        }
        self.piece::<S, false>(&text[at..end], self.offset + at..self.offset + end, true, false, sink)?;
        if end < bytes.len() {
            self.end_key(self.offset + end, sink)?;
        }
        Ok(end)
    }

    /// One decoded piece of a key or string; `more`: some of the string stands behind it in this push.
    #[inline]
    fn piece<S: Sink, const ENCODED: bool>(
        &mut self,
        piece: &str,
        from: Range<usize>,
        key: bool,
        more: bool,
        sink: &mut S,
    ) -> Run<(), S::Stop> {
        if key {
            self.token.push_str(piece);
            sink.key_text(piece, from)?;
        } else if ENCODED && self.encoded.is_some() {
            self.encoded_piece(piece, from, sink)?;
        } else if more {
            sink.string_text_more(piece, from)?;
        } else {
            sink.string_text(piece, from)?;
        }
        Ok(())
    }

    /// One byte of an escape; False if the byte is to be read again, as text.
    #[inline]
    pub(super) fn escape<S: Sink>(
        &mut self,
        escape: Escape,
        byte: u8,
        place: usize,
        key: bool,
        sink: &mut S,
    ) -> Run<bool, S::Stop> {
        match escape.step(byte, self.quote) {
            Step::More(next) => {
                if let Escape::Unit { digits, .. } = escape {
                    self.hex[usize::from(digits)] = byte;
                }
                self.state = State::Escape { key, escape: next };
                if !self.keeps(next)
                    && self.encoded.is_none()
                    && let Some(characters) = next.may_become()
                {
                    sink.escape_narrowed(characters, place)?;
                }
            }
            Step::Done(character) => {
                let mut utf8 = [0; 4];
                let from = self.token_start..place + 1;
                self.escaped_piece(character.encode_utf8(&mut utf8), from, key, sink)?;
                self.state = State::Text { key };
            }
            Step::Bad(FaultKind::BadEscape, 0) if self.keeps(escape) => {
                self.repairs.make(Repair::UnknownEscapes, self.token_start);
                self.keep(escape, key, sink)?;
                self.state = State::Text { key };
                return Ok(false);
            }
            Step::Bad(kind, back) => return Err(Halt::Bad(kind, place - back)),
        }
        Ok(true)
    }

    /// Whether an escape that turned out to be none may stay as text.
    pub(super) fn keeps(&self, escape: Escape) -> bool {
        self.repairs.asks(Repair::UnknownEscapes) && matches!(escape, Escape::Backslash | Escape::Unit { .. })
    }

    /// Hands the characters of such an escape on, all but the one that made it none.
    fn keep<S: Sink>(&mut self, escape: Escape, key: bool, sink: &mut S) -> Run<(), S::Stop> {
        let mut kept = String::from("\\");
        if let Escape::Unit { digits, .. } = escape {
            kept.push('u');
            kept.extend(self.hex[..usize::from(digits)].iter().copied().map(char::from));
        }
        let from = self.token_start..self.token_start + kept.len();
        self.escaped_piece(&kept, from, key, sink)
    }

    /// What an escape that was cut stands for.
    fn escaped_piece<S: Sink>(
        &mut self,
        piece: &str,
        from: Range<usize>,
        key: bool,
        sink: &mut S,
    ) -> Run<(), S::Stop> {
        if self.encoded.is_some() {
            self.piece::<S, true>(piece, from, key, false, sink)
        } else {
            self.piece::<S, false>(piece, from, key, false, sink)
        }
    }

    /// Reads a number on from `at`; its part in this text begins at `start`.
    #[inline]
    pub(super) fn number<S: Sink>(
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
    pub(super) fn end_number<S: Sink>(&mut self, part: &str, end: usize, sink: &mut S) -> Run<(), S::Stop> {
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
    pub(super) fn word<S: Sink>(
        &mut self,
        word: &'static str,
        literal: Literal,
        read: u8,
        bytes: &[u8],
        mut at: usize,
        sink: &mut S,
    ) -> Run<usize, S::Stop> {
        let rest = &word.as_bytes()[usize::from(read)..];
        for (read, &expected) in (read..).zip(rest) {
            match bytes.get(at) {
                Some(&byte) if byte == expected => at += 1,
                Some(_) => return Err(Halt::Bad(FaultKind::BadLiteral, self.offset + at)),
                None => {
                    self.state = State::Word(word, literal, read);
                    return Ok(at);
                }
            }
        }
        sink.literal(literal, self.offset + at)?;
        self.state = self.after_value();
        Ok(at)
    }
}

/// The bytes of a key without quotes.
fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}
