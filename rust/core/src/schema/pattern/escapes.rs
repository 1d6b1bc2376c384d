//! Escapes and character classes of a pattern: the part of the grammar that ends in a set of code points.

use regex_syntax::hir::ClassUnicode;

use super::PatternError;
use super::charset::{add_range, from_ranges, negate, single, white_space};
use super::parser::{Node, Parser, Reference, Target};

impl Parser<'_> {
    /// What follows a backslash outside a class.
    pub(super) fn escape(&mut self) -> Result<(Node, bool), PatternError> {
        let offset = self.at - 1;
        let node = match self.peek() {
            Some('b' | 'B') => {
                let negated = self.next() == Some('B');
                self.needs_backtracking |= negated;
                return Ok((Node::WordBoundary { negated }, false));
            }
            Some('1'..='9') => {
                let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
                let number = self.rest()[..digits].parse().unwrap_or(u32::MAX);
                self.at += digits;
                self.reference(Target::Number(number), offset)?
            }
            Some('k') => {
                self.at += 1;
                if !self.eat("<") {
                    return Err(PatternError::at("a bad group name", offset));
                }
                let name = self.group_name()?;
                self.reference(Target::Name(name), offset)?
            }
            _ => {
                if let Some(class) = self.class_escape()? {
                    Node::Set(self.folded(class)?)
                } else {
                    let c = self.character_escape()?;
                    self.character(c)?
                }
            }
        };
        Ok((node, true))
    }

    fn reference(&mut self, target: Target, offset: usize) -> Result<Node, PatternError> {
        if self.flags.ignore_case {
            return Err(PatternError::at("a reference under the i modifier is not supported", offset));
        }
        self.needs_backtracking = true;
        let index = u32::try_from(self.references.len()).unwrap_or(u32::MAX);
        self.references.push(Reference { target, offset });
        Ok(Node::Backreference(vec![index]))
    }

    /// `None` is a lone surrogate: no text holds one.
    pub(super) fn character(&self, c: Option<char>) -> Result<Node, PatternError> {
        Ok(match c {
            Some(c) if !self.flags.ignore_case => Node::Char(c),
            Some(c) => Node::Set(self.folded(single(c))?),
            None => Node::Set(ClassUnicode::empty()),
        })
    }

    fn folded(&self, mut class: ClassUnicode) -> Result<ClassUnicode, PatternError> {
        if self.flags.ignore_case && class.try_case_fold_simple().is_err() {
            return Err(self.error("the i modifier is not supported here"));
        }
        Ok(class)
    }

    /// What follows the opening bracket of a class, the closing one included.
    pub(super) fn class(&mut self) -> Result<ClassUnicode, PatternError> {
        let offset = self.at - 1;
        let is_negated = self.eat("^");
        let mut class = ClassUnicode::empty();
        loop {
            if self.eat("]") {
                let class = self.folded(class)?;
                return Ok(if is_negated { negate(class) } else { class });
            }
            let low_offset = self.at;
            let low = self.class_atom(offset)?;
            if !self.rest().starts_with('-') || self.rest().starts_with("-]") {
                low.add_to(&mut class);
                continue;
            }
            self.at += 1;
            let high = self.class_atom(offset)?;
            match (&low, &high) {
                (Atom::Code(low), Atom::Code(high)) if low <= high => add_range(&mut class, *low, *high),
                (Atom::Code(_), Atom::Code(_)) => {
                    return Err(PatternError::at("a range out of order", low_offset));
                }
                // Annex B: the hyphen stands for itself.
                _ => {
                    low.add_to(&mut class);
                    add_range(&mut class, u32::from('-'), u32::from('-'));
                    high.add_to(&mut class);
                }
            }
        }
    }

    fn class_atom(&mut self, offset: usize) -> Result<Atom, PatternError> {
        let Some(c) = self.next() else { return Err(PatternError::at("an unclosed '['", offset)) };
        if c != '\\' {
            return Ok(Atom::Code(u32::from(c)));
        }
        if self.eat("b") {
            return Ok(Atom::Code(8));
        }
        if let Some(class) = self.class_escape()? {
            return Ok(Atom::Class(class));
        }
        if self.eat("u") {
            return self.unicode_code().map(Atom::Code);
        }
        // Only `\u` can give a lone surrogate.
        self.character_escape().map(|c| Atom::Code(c.map_or(0xD800, u32::from)))
    }

    /// `\d \D \s \S \w \W \p{..} \P{..}`, or nothing consumed.
    fn class_escape(&mut self) -> Result<Option<ClassUnicode>, PatternError> {
        let offset = self.at - 1;
        let Some(c) = self.peek() else { return Ok(None) };
        let class = match c.to_ascii_lowercase() {
            'd' => from_ranges(&[('0', '9')]),
            's' => white_space(),
            'w' => self.folded(from_ranges(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]))?,
            'p' => {
                let body = self.rest()[1..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
                let Some((body, _)) = body else {
                    return Err(PatternError::at("a property escape without a name in braces", offset));
                };
                let class = self.property(body, offset)?;
                self.at += body.len() + 2;
                class
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(if c.is_ascii_uppercase() { negate(class) } else { class }))
    }

    /// The character of any other escape; `None` is a lone surrogate.
    fn character_escape(&mut self) -> Result<Option<char>, PatternError> {
        let offset = self.at - 1;
        let invalid = PatternError::at("an escape that ECMA-262 does not know", offset);
        let Some(c) = self.next() else {
            return Err(PatternError::at("a backslash at the end", offset));
        };
        Ok(Some(match c {
            't' => '\t',
            'n' => '\n',
            'v' => '\x0B',
            'f' => '\x0C',
            'r' => '\r',
            '0' if !self.rest().starts_with(|c: char| c.is_ascii_digit()) => '\0',
            'c' => match self.next() {
                Some(letter) if letter.is_ascii_alphabetic() => char::from(letter as u8 & 31),
                _ => return Err(invalid),
            },
            'x' => match self.hexadecimal(2) {
                Some(code) => char::from_u32(code).ok_or(invalid)?,
                None => return Err(invalid),
            },
            'u' => return self.unicode_escape(),
            c if c.is_ascii_alphanumeric() || !c.is_ascii() => return Err(invalid),
            c => c,
        }))
    }

    /// What follows `\u`, a pair of surrogate escapes taken together; `None` is a lone surrogate.
    pub(super) fn unicode_escape(&mut self) -> Result<Option<char>, PatternError> {
        self.unicode_code().map(char::from_u32)
    }

    fn unicode_code(&mut self) -> Result<u32, PatternError> {
        let offset = self.at;
        let invalid = PatternError::at("a malformed \\u escape", offset.saturating_sub(2));
        if self.eat("{") {
            let Some(end) = self.rest().find('}') else { return Err(invalid) };
            let digits = &self.rest()[..end];
            let is_hexadecimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits.trim_start_matches('0'), 16);
            self.at += end + 1;
            return match code {
                _ if !is_hexadecimal => Err(invalid),
                Ok(code) if code <= 0x10_FFFF => Ok(code),
                Err(_) if digits.bytes().all(|byte| byte == b'0') => Ok(0),
                _ => Err(invalid),
            };
        }
        let Some(high) = self.hexadecimal(4) else { return Err(invalid) };
        if (0xD800..0xDC00).contains(&high) && self.rest().starts_with("\\u") {
            let after_high = self.at;
            self.at += 2;
            match self.hexadecimal(4) {
                Some(low) if (0xDC00..0xE000).contains(&low) => {
                    return Ok(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
                }
                _ => self.at = after_high,
            }
        }
        Ok(high)
    }

    fn hexadecimal(&mut self, length: usize) -> Option<u32> {
        let digits = self.rest().get(..length)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += length;
        u32::from_str_radix(digits, 16).ok()
    }
}

/// A member of a class: a code point (a surrogate too, for it may bound a range) or a set.
enum Atom {
    Code(u32),
    Class(ClassUnicode),
}

impl Atom {
    fn add_to(&self, class: &mut ClassUnicode) {
        match self {
            Self::Code(code) => add_range(class, *code, *code),
            Self::Class(other) => class.union(other),
        }
    }
}
