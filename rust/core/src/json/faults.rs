//! The exact fault of a text that a whole-text decoder gave up on: the tokenizer reads it again, for nobody.

use std::convert::Infallible;
use std::ops::Range;

use super::Number;
use super::fault::Fault;
use super::partial::{Refusal, Tokenizer};
use super::repair::Repairs;
use super::sink::{Literal, Sink};
use crate::limits::Limits;

struct Nobody;

impl Sink for Nobody {
    type Stop = Infallible;

    fn object_begin(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
    fn key(&mut self, _: &str, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
    fn object_end(&mut self, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
    fn array_begin(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
    fn array_end(&mut self, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
    fn string_begin(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
    fn string_text(&mut self, _: &str, _: Range<usize>) -> Result<(), Infallible> {
        Ok(())
    }
    fn string_end(&mut self, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
    fn number(&mut self, _: Number<'_>, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
    fn literal(&mut self, _: Literal, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The first fault of a text; None where it is JSON within the limits.
pub fn first(text: &[u8], limits: Limits) -> Option<Fault> {
    let mut tokenizer = Tokenizer::new(limits, Repairs::default());
    let outcome = tokenizer.push_bytes(text, &mut Nobody).and_then(|()| tokenizer.finish(&mut Nobody));
    match outcome {
        Ok(()) => None,
        Err(Refusal::Fault(fault)) => Some(fault),
        Err(Refusal::Stop(never)) => match never {},
    }
}
