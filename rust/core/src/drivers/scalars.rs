//! The decoder's values without parts: literals, numbers, strings. What they may be is asked before they are made.

use super::builder::{Builder, Text};
use super::check::{Checker, is_int_within, is_number_within};
use super::decode::{Decoder, Stop};
use crate::instance::kinds;
use crate::json::number::{self, Scanned};
use crate::json::string;
use crate::number::Number;
use crate::plan::{NONE, Node, first_word_of};

impl<B: Builder> Decoder<'_, '_, '_, B> {
    pub(super) fn literal(&mut self) -> Result<B::Value, Stop<B::Error>> {
        let rest = &self.text[self.at..];
        let (length, value) = if rest.starts_with(b"true") {
            (4, self.builder.boolean(true))
        } else if rest.starts_with(b"false") {
            (5, self.builder.boolean(false))
        } else if rest.starts_with(b"null") {
            (4, self.builder.null())
        } else {
            return Err(Stop::Syntax);
        };
        self.at += length;
        Ok(value)
    }

    #[inline]
    pub(super) fn number(&mut self, types: u8, rule: u32) -> Result<B::Value, Stop<B::Error>> {
        let start = self.at;
        let (scanned, end) =
            number::scan(self.text, start, self.plan.limits.number_digits).ok_or(Stop::Syntax)?;
        self.at = end;
        let rule = (rule != NONE).then(|| &self.plan.numbers[rule as usize]);
        let (kind, verdict) = match scanned {
            Scanned::Int(int) => (kinds::INTEGER, rule.is_none_or(|rule| is_int_within(rule, int))),
            Scanned::Float(float) => {
                (kinds::FLOAT, rule.is_none_or(|rule| is_number_within(rule, &Number::Float(float))))
            }
            Scanned::Big => {
                let exact = || std::str::from_utf8(&self.text[start..end]).ok().and_then(Number::parse_exact);
                (
                    kinds::INTEGER,
                    rule.is_none_or(|rule| exact().is_some_and(|big| is_number_within(rule, &big))),
                )
            }
        };
        if types & kind == 0 || !verdict {
            return Err(Stop::Refused);
        }
        Ok(match scanned {
            Scanned::Int(int) => self.builder.int(int)?,
            Scanned::Float(float) => self.builder.float(float)?,
            Scanned::Big => self.builder.big(&self.text[start..end])?,
        })
    }

    /// A string of which nothing is asked.
    #[inline]
    pub(super) fn free_string(&mut self) -> Result<B::Value, Stop<B::Error>> {
        let scanned = string::scan(self.text, self.at + 1, &mut self.scratch).ok_or(Stop::Syntax)?;
        self.at = scanned.end;
        let content = scanned.content(self.text, &self.scratch);
        let text = Text::of(content, scanned.ascii).ok_or(Stop::Syntax)?;
        Ok(self.builder.string(text)?)
    }

    pub(super) fn string(&mut self, node: &Node) -> Result<B::Value, Stop<B::Error>> {
        let scanned = string::scan(self.text, self.at + 1, &mut self.scratch).ok_or(Stop::Syntax)?;
        self.at = scanned.end;
        let content = scanned.content(self.text, &self.scratch);
        if node.string != NONE {
            let rule = &self.plan.strings[node.string as usize];
            let chars = || content.len() - if scanned.ascii { 0 } else { string::census(content).1 };
            if !rule.has_length(chars) {
                return Err(Stop::Refused);
            }
            if rule.set != NONE {
                let (onwards, len) = scanned.onwards(self.text, &self.scratch);
                let word = first_word_of(onwards, len);
                let set = &self.plan.sets[rule.set as usize];
                let token = set.find_word(word, content).ok_or(Stop::Refused)?;
                if rule.is_only_a_set()
                    && let Some(shared) = self.builder.shared(token)
                {
                    return Ok(shared);
                }
            }
            if !rule.is_only_a_set() {
                let text = std::str::from_utf8(content).map_err(|_| Stop::Syntax)?;
                if !Checker::new(self.plan, self.depth).text(rule, text) {
                    return Err(Stop::Refused);
                }
            }
        }
        let text = Text::of(content, scanned.ascii).ok_or(Stop::Syntax)?;
        Ok(self.builder.string(text)?)
    }
}
