//! Names that stand twice in one object of a text (RFC 8259 section 4): a decoder keeps one of the values, a person who
//! approves a call may have read the other. The text is known to be JSON.

use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::Range;

use super::Number;
use super::partial::Tokenizer;
use super::repair::Repairs;
use super::sink::{Literal, Sink};
use crate::issue::Step;
use crate::limits::Limits;

enum Frame {
    Object(HashSet<Box<str>>, Box<str>),
    Array(usize),
}

struct Names {
    frames: Vec<Frame>,
    found: Vec<Vec<Step>>,
    most: usize,
}

impl Names {
    fn value(&mut self) {
        if let Some(Frame::Array(next)) = self.frames.last_mut() {
            *next += 1;
        }
    }

    fn path(&self) -> Vec<Step> {
        self.frames
            .iter()
            .map(|frame| match frame {
                Frame::Object(_, name) => Step::key(name),
                Frame::Array(next) => Step::Index(next.saturating_sub(1)),
            })
            .collect()
    }
}

impl Sink for Names {
    type Stop = Infallible;

    fn object_begin(&mut self) -> Result<(), Infallible> {
        self.value();
        self.frames.push(Frame::Object(HashSet::new(), "".into()));
        Ok(())
    }
    fn key(&mut self, key: &str, _: usize) -> Result<(), Infallible> {
        let mut repeated = false;
        if let Some(Frame::Object(names, name)) = self.frames.last_mut() {
            *name = key.into();
            repeated = !names.insert(key.into());
        }
        if repeated && self.found.len() < self.most {
            self.found.push(self.path());
        }
        Ok(())
    }
    fn object_end(&mut self, _: usize) -> Result<(), Infallible> {
        self.frames.pop();
        Ok(())
    }
    fn array_begin(&mut self) -> Result<(), Infallible> {
        self.value();
        self.frames.push(Frame::Array(0));
        Ok(())
    }
    fn array_end(&mut self, _: usize) -> Result<(), Infallible> {
        self.frames.pop();
        Ok(())
    }
    fn string_begin(&mut self) -> Result<(), Infallible> {
        self.value();
        Ok(())
    }
    fn string_text(&mut self, _: &str, _: Range<usize>) -> Result<(), Infallible> {
        Ok(())
    }
    fn string_end(&mut self, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
    fn number(&mut self, _: Number<'_>, _: usize) -> Result<(), Infallible> {
        self.value();
        Ok(())
    }
    fn literal(&mut self, _: Literal, _: usize) -> Result<(), Infallible> {
        self.value();
        Ok(())
    }
}

/// The paths of up to `most` repeated names.
pub fn names(text: &[u8], limits: Limits, most: usize) -> Vec<Vec<Step>> {
    let mut sink = Names { frames: Vec::new(), found: Vec::new(), most };
    let mut tokenizer = Tokenizer::new(limits, Repairs::default());
    // The text was decoded before: there is no fault to report.
    let _ = tokenizer.push_bytes(text, &mut sink);
    sink.found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_the_name() {
        let found = names(br#"{"a":[1,{"b":1,"b":2}],"c":1,"a":[]}"#, Limits::default(), 10);
        let key = Step::key;
        assert_eq!(found, vec![vec![key("a"), Step::Index(1), key("b")], vec![key("a")]]);
    }
}
