//! The resumable tokenizer: its events, their offsets, and its faults are the same however the text is cut.

use std::ops::Range;

use toolhead_core::json::Number;
use toolhead_core::json::fault::{Fault, FaultKind, Open};
use toolhead_core::json::partial::{Refusal, Tokenizer};
use toolhead_core::json::repair::{Repair, Repairs};
use toolhead_core::json::scan::plain_run;
use toolhead_core::json::sink::{Containers, Kind, Literal, Sink};
use toolhead_core::limits::Limits;

/// Writes every event down; the pieces of one string or key are joined, since they depend on the cuts.
#[derive(Default)]
struct Log {
    events: Vec<String>,
    text: String,
    key_text: String,
    stop_at_key: bool,
}

impl Log {
    #[expect(clippy::unnecessary_wraps, reason = "what every method of the sink returns")]
    fn note(&mut self, event: String) -> Result<(), &'static str> {
        self.events.push(event);
        Ok(())
    }
}

impl Sink for Log {
    type Stop = &'static str;

    fn value_begin(&mut self, kind: Kind, at: usize) -> Result<(), Self::Stop> {
        self.note(format!("{kind:?}@{at}"))
    }
    fn instead_of_string(&mut self, _at: usize) -> Result<Containers, Self::Stop> {
        Ok(Containers { object: true, array: true })
    }
    fn comma(&mut self, at: usize) -> Result<(), Self::Stop> {
        self.note(format!(",@{at}"))
    }
    fn escape_begin(&mut self, at: usize) -> Result<(), Self::Stop> {
        self.note(format!("escape@{at}"))
    }
    fn key_text(&mut self, piece: &str, from: Range<usize>) -> Result<(), Self::Stop> {
        assert!(from.len() >= piece.len());
        self.key_text.push_str(piece);
        Ok(())
    }
    fn object_begin(&mut self) -> Result<(), Self::Stop> {
        self.note("{".into())
    }
    fn key(&mut self, key: &str, end: usize) -> Result<(), Self::Stop> {
        assert_eq!(key, std::mem::take(&mut self.key_text));
        if self.stop_at_key {
            return Err("enough");
        }
        self.note(format!("key {key} ..{end}"))
    }
    fn object_end(&mut self, end: usize) -> Result<(), Self::Stop> {
        self.note(format!("}} ..{end}"))
    }
    fn array_begin(&mut self) -> Result<(), Self::Stop> {
        self.note("[".into())
    }
    fn array_end(&mut self, end: usize) -> Result<(), Self::Stop> {
        self.note(format!("] ..{end}"))
    }
    fn string_begin(&mut self) -> Result<(), Self::Stop> {
        self.text.clear();
        Ok(())
    }
    fn string_text(&mut self, piece: &str, from: Range<usize>) -> Result<(), Self::Stop> {
        assert!(from.len() >= piece.len());
        self.text.push_str(piece);
        Ok(())
    }
    fn string_end(&mut self, end: usize) -> Result<(), Self::Stop> {
        let text = std::mem::take(&mut self.text);
        self.note(format!("string {text} ..{end}"))
    }
    fn number(&mut self, number: Number<'_>, end: usize) -> Result<(), Self::Stop> {
        self.note(format!("{number:?} ..{end}"))
    }
    fn literal(&mut self, literal: Literal, end: usize) -> Result<(), Self::Stop> {
        self.note(format!("{literal:?} ..{end}"))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "reads as the end of a call")]
fn fault(result: Result<(), Refusal<&'static str>>) -> Option<Fault> {
    match result {
        Ok(()) => None,
        Err(Refusal::Fault(fault)) => Some(fault),
        Err(Refusal::Stop(stop)) => panic!("the log never stops: {stop}"),
    }
}

/// Events and fault of a text whose bytes come in these pieces.
fn read(pieces: &[&[u8]], repairs: &Repairs) -> (Vec<String>, Option<Fault>) {
    let mut tokenizer = Tokenizer::new(Limits::default(), repairs.clone());
    let mut log = Log::default();
    let mut first = None;
    for piece in pieces {
        first = fault(tokenizer.push_bytes(piece, &mut log));
        if first.is_some() {
            assert_eq!(fault(tokenizer.push("ignored", &mut log)), first);
            break;
        }
    }
    let last = fault(tokenizer.finish(&mut log));
    assert!(first.is_none() || first == last);
    assert_eq!(tokenizer.fault(), last);
    assert_eq!(tokenizer.is_complete(), last.is_none());
    (log.events, last)
}

/// The same at every cut in two, and byte by byte.
fn read_any(text: &[u8], repairs: &Repairs) -> (Vec<String>, Option<Fault>) {
    let whole = read(&[text], repairs);
    for cut in 0..=text.len() {
        let (head, tail) = text.split_at(cut);
        assert_eq!(read(&[head, tail], repairs), whole, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(read(&bytes, repairs), whole);
    whole
}

fn strict(text: &str) -> (Vec<String>, Option<Fault>) {
    read_any(text.as_bytes(), &Repairs::default())
}

fn kind(text: &str) -> Option<(FaultKind, usize)> {
    strict(text).1.map(|fault| (fault.kind, fault.offset))
}

#[test]
fn events_in_document_order_with_their_offsets() {
    let (events, fault) = strict(r#" {"k": [1, -2.5e1, "a\ud83d\ude00é", true], "": {}, "n": null} "#);
    assert_eq!(fault, None);
    let expected = [
        "Object@1",
        "{",
        "key k ..5",
        "Array@7",
        "[",
        "Number@8",
        "Integer(1) ..9",
        ",@9",
        "Number@11",
        "Float(-25.0) ..17",
        ",@17",
        "String@19",
        "escape@21",
        "string a😀é ..36",
        ",@36",
        "Literal(True)@38",
        "True ..42",
        "] ..43",
        ",@43",
        "key  ..47",
        "Object@49",
        "{",
        "} ..51",
        ",@51",
        "key n ..56",
        "Literal(Null)@58",
        "Null ..62",
        "} ..63",
    ];
    assert_eq!(events, expected);
}

#[test]
fn numbers_end_where_they_must() {
    assert_eq!(strict("0").0, ["Number@0", "Integer(0) ..1"]);
    assert_eq!(strict("[9223372036854775808]").0[3], "BigInteger(\"9223372036854775808\") ..20");
    assert_eq!(strict("-9223372036854775808 ").0[1], "Integer(-9223372036854775808) ..20");
    for (text, offset) in
        [("01", 1), ("-", 1), ("1.", 2), ("1.e", 2), ("-x", 1), ("1e+", 3), ("1e+x", 3), ("+1", 0)]
    {
        let found = kind(text).map(|(_, offset)| offset);
        assert_eq!(found, Some(offset), "{text}");
    }
    assert_eq!(kind("[1e999]"), Some((FaultKind::NumberOutOfRange, 1)));
    assert_eq!(kind("[1e999"), Some((FaultKind::NumberOutOfRange, 1)));
    let long = format!("[0.{}", "1".repeat(4300));
    assert_eq!(kind(&long), Some((FaultKind::NumberTooLong, 1)));
}

#[test]
fn faults_name_the_first_byte_that_cannot_be() {
    let cases = [
        ("[1 2]", FaultKind::ExpectedCommaOrEnd, 3),
        ("[1,]", FaultKind::ExpectedValue, 3),
        ("{1:2}", FaultKind::ExpectedKey, 1),
        ("{\"a\":1,}", FaultKind::ExpectedKey, 7),
        ("{\"a\" 1}", FaultKind::ExpectedColon, 5),
        ("[}", FaultKind::ExpectedValue, 1),
        ("{\"a\":1]", FaultKind::ExpectedCommaOrEnd, 6),
        ("nulk", FaultKind::BadLiteral, 3),
        ("\"\\x\"", FaultKind::BadEscape, 2),
        ("\"\\u12g4\"", FaultKind::BadEscape, 5),
        ("\"\\udc00\"", FaultKind::LoneSurrogate, 1),
        ("\"\\ud800\\u0041\"", FaultKind::LoneSurrogate, 7),
        ("\"\\ud800x\"", FaultKind::LoneSurrogate, 7),
        ("\"a\nb\"", FaultKind::ControlCharacter, 2),
        ("{} x", FaultKind::TrailingData, 3),
        ("'a'", FaultKind::ExpectedValue, 0),
        ("é", FaultKind::ExpectedValue, 0),
    ];
    for (text, expected, offset) in cases {
        assert_eq!(kind(text), Some((expected, offset)), "{text}");
    }
    let deep = "[".repeat(201);
    assert_eq!(kind(&deep), Some((FaultKind::TooDeep, 200)));
}

#[test]
fn what_is_open_at_the_end() {
    let cases = [
        ("", Open::Value),
        (" ", Open::Value),
        ("[", Open::Array),
        ("[1", Open::Array),
        ("[1,", Open::Array),
        ("[-", Open::Number),
        ("{", Open::Object),
        ("{\"a", Open::Key),
        ("{\"a\"", Open::Colon),
        ("{\"a\":", Open::Object),
        ("{\"a\":\"b\\", Open::String),
        ("{\"a\":fal", Open::Literal),
    ];
    for (text, open) in cases {
        let (_, fault) = strict(text);
        let fault = fault.expect("no text here is whole");
        assert!(fault.is_incomplete());
        assert_eq!((fault.kind, fault.offset), (FaultKind::UnexpectedEnd(open), text.len()), "{text}");
    }
}

#[test]
fn bytes_that_are_not_utf8() {
    for (text, offset) in
        [(&b"\"\xFF"[..], 1), (b"\"\xC3(", 2), (b"\"\xF0\x9F\x98x", 4), (b"\"\xED\xA0\x80", 2)]
    {
        let (_, fault) = read_any(text, &Repairs::default());
        let fault = fault.expect("not UTF-8");
        assert_eq!((fault.kind, fault.offset), (FaultKind::InvalidUtf8, offset));
    }
    let (_, fault) = read_any(b"[1\xC3", &Repairs::default());
    assert_eq!(fault.map(|fault| fault.kind), Some(FaultKind::ExpectedCommaOrEnd));
    let (_, fault) = read_any(b"[\"\xC3", &Repairs::default());
    assert_eq!(
        fault.map(|fault| (fault.kind, fault.offset)),
        Some((FaultKind::UnexpectedEnd(Open::String), 3))
    );
}

#[test]
fn lines_and_columns_count_characters() {
    let (_, fault) = strict("{\"é\":\n\n  \"漢字\" x");
    let fault = fault.expect("an x");
    assert_eq!((fault.line, fault.column), (3, 8));
    assert_eq!(fault.to_string(), "Expected ',' or the closing bracket at line 3, column 8 (byte 19)");
}

#[test]
fn limits_are_the_callers() {
    let limits = Limits { depth: 1, text_length: 6, number_digits: 2, ..Limits::default() };
    for (text, expected, offset) in [
        ("[[", FaultKind::TooDeep, 1),
        ("[123", FaultKind::NumberTooLong, 1),
        ("[     ]", FaultKind::TextTooLong, 6),
        ("[\"éé", FaultKind::UnexpectedEnd(Open::String), 6),
        ("[\"ééé", FaultKind::TextTooLong, 6),
    ] {
        let mut tokenizer = Tokenizer::new(limits, Repairs::default());
        let mut log = Log::default();
        let found = fault(tokenizer.push(text, &mut log)).or_else(|| fault(tokenizer.finish(&mut log)));
        assert_eq!(found.map(|fault| (fault.kind, fault.offset)), Some((expected, offset)), "{text}");
    }
}

#[test]
fn a_sink_can_stop_the_text() {
    let mut tokenizer = Tokenizer::new(Limits::default(), Repairs::default());
    let mut log = Log { stop_at_key: true, ..Log::default() };
    assert_eq!(tokenizer.push("{\"a\": 1}", &mut log), Err(Refusal::Stop("enough")));
}

#[test]
fn repairs_are_made_at_any_cut_and_only_when_asked_for() {
    let text = "```json\n{a: 'it\\'s\n', \"b\": [True, \"\\d\\u1g\", None,], }\n```";
    assert!(strict(text).1.is_some());
    let mut repairs = Repairs::default();
    for repair in Repair::ALL {
        repairs.ask(repair);
    }
    let (events, fault) = read_any(text.as_bytes(), &repairs);
    assert_eq!(fault, None);
    assert!(events.contains(&"string it's\n ..20".to_owned()), "{events:?}");
    assert!(events.contains(&"string \\d\\u1g ..42".to_owned()), "{events:?}");
    // A trailing comma promises nothing.
    let commas = events.iter().filter(|event| event.starts_with(',')).count();
    assert_eq!(commas, 3);
}

#[test]
fn a_character_cut_behind_an_unknown_escape_is_kept() {
    let mut repairs = Repairs::default();
    repairs.ask(Repair::UnknownEscapes);
    let (events, fault) = read_any("\"\\é\"".as_bytes(), &repairs);
    assert_eq!(fault, None);
    assert_eq!(events[2], "string \\é ..5");
}

#[test]
fn a_run_ends_at_the_first_byte_that_ends_it() {
    for length in 0..70 {
        for end in [b'"', b'\\', 0, 0x1F] {
            for plain in [b' ', b'a', b'\'', b'!', 0x7F, 0x80, 0xFF] {
                let mut bytes = vec![plain; length];
                assert_eq!(plain_run(&bytes, 0, b'"'), length);
                bytes.push(end);
                bytes.extend([b'"', plain, 0, b'\\']);
                for from in 0..=length {
                    assert_eq!(plain_run(&bytes, from, b'"'), length);
                }
            }
        }
    }
    assert_eq!(plain_run(b"it's", 0, b'\''), 2);
}

#[test]
fn text_inside_a_string_is_read_in_bytes_of_the_text_around_it() {
    let mut repairs = Repairs::default();
    repairs.ask(Repair::DoubleEncoding);
    let (events, fault) = read_any(br#"[" {\"k\": [1, \"x\\n\"]}", "text"]"#, &repairs);
    assert_eq!(fault, None);
    let expected = [
        "Array@0",
        "[",
        "Object@3",
        "{",
        "key k ..9",
        "Array@11",
        "[",
        "Number@12",
        "Integer(1) ..13",
        ",@13",
        "String@16",
        "escape@19",
        "string x\n ..23",
        "] ..24",
        "} ..25",
        ",@26",
        "String@29",
        "string text ..34",
        "] ..35",
    ];
    assert_eq!(events, expected);
    let place = |text: &str| read_any(text.as_bytes(), &repairs).1.map(|fault| (fault.kind, fault.offset));
    assert_eq!(place(r#""[1, 2""#), Some((FaultKind::EncodedEnd, 6)));
    assert_eq!(place(r#""[1, 2"#), Some((FaultKind::UnexpectedEnd(Open::String), 6)));
    assert_eq!(place(r#""[1] 2""#), Some((FaultKind::TrailingData, 5)));
    assert_eq!(place(r#""[\u00e9]""#), Some((FaultKind::ExpectedValue, 6)));
}
