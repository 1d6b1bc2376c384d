//! The stream driver: each vector is decided at its byte, and the cuts of a text change nothing.
#![expect(clippy::unwrap_used, reason = "a fault in the data fails the test")]

#[path = "shared/mod.rs"]
mod shared;

use std::convert::Infallible;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use toolhead_core::drivers::stream::{Follower, Status};
use toolhead_core::json::Number as Written;
use toolhead_core::json::partial::Tokenizer;
use toolhead_core::json::repair::Repairs;
use toolhead_core::json::sink::{Kind, Literal, Sink};
use toolhead_core::limits::Limits;
use toolhead_core::number::Number;
use toolhead_core::plan::Plan;
use toolhead_core::schema::SchemaError;
use toolhead_core::schema::compile::{Host, Options, compile};
use toolhead_core::schema::dialect::Dialect;
use toolhead_core::value::Value;

struct Alone;

impl<'a> Host<'a> for Alone {
    type Instance = &'a Value;

    fn intern(&mut self, _: &str) -> usize {
        0
    }
    fn builtin(&mut self, _: &str) -> Option<Self::Instance> {
        None
    }
    fn retrieve(&mut self, _: &str) -> Result<Option<Self::Instance>, SchemaError> {
        Ok(None)
    }
}

fn value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(*value),
        serde_json::Value::Number(number) => Value::Number(Number::parse_exact(&number.to_string()).unwrap()),
        serde_json::Value::String(text) => Value::String(text.as_str().into()),
        serde_json::Value::Array(items) => Value::Array(items.iter().map(value).collect()),
        serde_json::Value::Object(members) => {
            Value::Object(members.iter().map(|(key, item)| (key.as_str().into(), value(item))).collect())
        }
    }
}

fn plan(schema: &serde_json::Value) -> Arc<Plan> {
    let options = Options {
        dialect: Dialect::named("draft2020-12").unwrap(),
        formats: true,
        limits: Limits::default(),
    };
    Arc::new(compile(&value(schema), &mut Alone, options).unwrap())
}

/// A follower alone, without anybody who builds the value.
struct Judge(Follower<Plan>);

impl Sink for Judge {
    type Stop = Infallible;

    fn value_begin(&mut self, kind: Kind, at: usize) -> Result<(), Infallible> {
        self.0.value_begin(kind, at);
        Ok(())
    }
    fn comma(&mut self, at: usize) -> Result<(), Infallible> {
        self.0.comma(at);
        Ok(())
    }
    fn escape_begin(&mut self, at: usize) -> Result<(), Infallible> {
        self.0.escape_begin(at);
        Ok(())
    }
    fn escape_narrowed(&mut self, characters: RangeInclusive<u32>, at: usize) -> Result<(), Infallible> {
        self.0.escape_narrowed(&characters, at);
        Ok(())
    }
    fn key_text(&mut self, piece: &str, from: Range<usize>) -> Result<(), Infallible> {
        self.0.key_text(piece, &from);
        Ok(())
    }
    fn object_begin(&mut self) -> Result<(), Infallible> {
        self.0.container_begin(true);
        Ok(())
    }
    fn key(&mut self, key: &str, end: usize) -> Result<(), Infallible> {
        if self.0.key(key, end) == Some(true) {
            self.0.repeated_key(key, end);
        }
        Ok(())
    }
    fn object_end(&mut self, end: usize) -> Result<(), Infallible> {
        self.0.container_end(end);
        Ok(())
    }
    fn array_begin(&mut self) -> Result<(), Infallible> {
        self.0.container_begin(false);
        Ok(())
    }
    fn array_end(&mut self, end: usize) -> Result<(), Infallible> {
        self.0.container_end(end);
        Ok(())
    }
    fn string_begin(&mut self) -> Result<(), Infallible> {
        self.0.string_begin();
        Ok(())
    }
    fn string_text(&mut self, piece: &str, from: Range<usize>) -> Result<(), Infallible> {
        self.0.string_text(piece, &from);
        Ok(())
    }
    fn string_end(&mut self, end: usize) -> Result<(), Infallible> {
        self.0.string_end(end);
        Ok(())
    }
    fn string(&mut self, text: &str, from: Range<usize>) -> Result<(), Infallible> {
        self.0.string(text, &from);
        Ok(())
    }
    fn number(&mut self, number: Written<'_>, end: usize) -> Result<(), Infallible> {
        self.0.number(number, end);
        Ok(())
    }
    fn literal(&mut self, literal: Literal, end: usize) -> Result<(), Infallible> {
        self.0.literal(literal, end);
        Ok(())
    }
}

/// The status after each piece, and the offsets of what was found.
fn follow(plan: &Arc<Plan>, pieces: &[&[u8]]) -> (Vec<Status>, Vec<usize>) {
    let mut tokenizer = Tokenizer::new(Limits::default(), Repairs::default());
    let mut judge = Judge(Follower::new(Arc::clone(plan)));
    let mut statuses = Vec::new();
    for piece in pieces {
        assert_eq!(tokenizer.push_bytes(piece, &mut judge), Ok(()));
        statuses.push(judge.0.status());
    }
    (statuses, judge.0.found().iter().map(|found| found.offset).collect())
}

#[test]
fn each_vector_is_decided_at_its_byte() {
    let Some(folder) = shared::folder("vectors/incremental-schema") else { return };
    let vectors = shared::json(&folder.join("earliest.json"));
    let mut count = 0;
    for vector in vectors["vectors"].as_array().unwrap() {
        let plan = plan(&vector["schema"]);
        let text = vector["text"].as_str().unwrap().as_bytes();
        let fails = vector["verdict"] == "fails";
        let byte = vector[if fails { "fail_byte" } else { "success_byte" }].as_u64().unwrap();
        let byte = usize::try_from(byte).unwrap();
        let decided = if fails { Status::Failed } else { Status::Ok };
        let (statuses, offsets) = follow(&plan, &text.chunks(1).collect::<Vec<_>>());
        assert_eq!(
            statuses.iter().position(|status| *status != Status::Open),
            Some(byte),
            "{}",
            vector["id"]
        );
        assert_eq!(statuses.last(), Some(&decided), "{}", vector["id"]);
        for cut in 0..text.len() {
            let (whole, same) = follow(&plan, &[&text[..cut], &text[cut..]]);
            assert_eq!(whole.last(), Some(&decided), "{} cut at {cut}", vector["id"]);
            assert_eq!(same, offsets, "{} cut at {cut}", vector["id"]);
        }
        count += 1;
    }
    assert_eq!(count, 78);
}

#[test]
fn the_earliest_byte_inside_escapes_and_names() {
    for (schema, text, byte) in [
        (r#"{"const": "move"}"#, r#""m\u0070"#, 6),
        (r#"{"const": "a"}"#, r#""a\"#, 2),
        (r#"{"enum": ["é", "😀"]}"#, r#""\ud83e"#, 6),
        (r#"{"additionalProperties": false, "properties": {"né": true}}"#, r#"{"n\u0061"#, 7),
        (r#"{"additionalProperties": false, "properties": {"a": true}}"#, r#"{"a": 1,"#, 7),
        (r#"{"additionalProperties": false, "properties": {"a": true, "b": true}}"#, r#"{"a": 1, "a"#, 10),
        (r#"{"minProperties": 1, "maxProperties": 0}"#, r#"{"a""#, 3),
        (r#"{"required": ["a", "b"], "maxProperties": 2}"#, r#"{"c""#, 2),
        (r#"{"propertyNames": {"enum": ["ab", "ac"]}}"#, r#"{"ad"#, 3),
        (r#"{"items": {"const": [1, {"a": 2}]}}"#, r#"[[1, {"b"#, 7),
    ] {
        let plan = plan(&serde_json::from_str(schema).unwrap());
        let (statuses, offsets) = follow(&plan, &text.as_bytes().chunks(1).collect::<Vec<_>>());
        let failed = statuses.iter().position(|status| *status == Status::Failed);
        assert_eq!(failed, Some(byte), "{schema} on {text}");
        assert_eq!(offsets.first(), Some(&byte), "{schema} on {text}");
    }
}
