//! One delta into the tokenizer, whichever of the two types it has and wherever a pair of surrogates was cut.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use toolhead_core::json::partial::{Refusal, Tokenizer};
use toolhead_core::json::sink::Sink;

/// Reads one delta: text, or UTF-8 bytes.
#[inline]
pub(super) fn feed<S: Sink<Stop = PyErr>>(
    tokenizer: &mut Tokenizer,
    half: &mut Option<u16>,
    delta: &Bound<'_, PyAny>,
    sink: &mut S,
) -> Result<(), Refusal<PyErr>> {
    if let Ok(text) = delta.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) if half.is_none() => tokenizer.push(text, sink),
            _ => take_units(tokenizer, half, text, sink),
        };
    }
    if half.is_some() {
        return tokenizer.push_half(sink);
    }
    let bytes = delta.cast::<PyBytes>().map_err(|error| Refusal::Stop(error.into()))?;
    tokenizer.push_bytes(bytes.as_bytes(), sink)
}

/// Text with surrogates in it, as decoders of UTF-16 leave them when they cut a pair in two: the halves of two
/// deltas are joined, a half alone is refused.
#[cold]
fn take_units<S: Sink<Stop = PyErr>>(
    tokenizer: &mut Tokenizer,
    half: &mut Option<u16>,
    text: &Bound<'_, PyString>,
    sink: &mut S,
) -> Result<(), Refusal<PyErr>> {
    let units = utf16(text).map_err(Refusal::Stop)?;
    let mut units = half.take().into_iter().chain(units).peekable();
    while let Some(unit) = units.next() {
        if matches!(unit, 0xD800..=0xDBFF) && units.peek().is_none() && tokenizer.is_in_text() {
            *half = Some(unit);
            break;
        }
        let low = units.next_if(|low| matches!((unit, low), (0xD800..=0xDBFF, 0xDC00..=0xDFFF)));
        match char::decode_utf16(std::iter::once(unit).chain(low)).next() {
            Some(Ok(character)) => {
                tokenizer.push(character.encode_utf8(&mut [0; 4]), sink)?;
            }
            _ => return tokenizer.push_half(sink),
        }
    }
    Ok(())
}

fn utf16(text: &Bound<'_, PyString>) -> PyResult<Vec<u16>> {
    let encoded = text.call_method1(intern!(text.py(), "encode"), ("utf-16-le", "surrogatepass"))?;
    let (pairs, _) = encoded.cast::<PyBytes>()?.as_bytes().as_chunks::<2>();
    Ok(pairs.iter().map(|&pair| u16::from_le_bytes(pair)).collect())
}
