//! The core without Python: compile, check and explain over the same cases as `benches/python`.
//!
//! What Python adds is the difference. Prints the minimum of many rounds, in nanoseconds a run.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops at broken cases"
)]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use toolhead_core::drivers::{check, explain};
use toolhead_core::limits::Limits;
use toolhead_core::number::Number;
use toolhead_core::plan::Plan;
use toolhead_core::schema::SchemaError;
use toolhead_core::schema::compile::{Host, Options, compile};
use toolhead_core::schema::dialect::Dialect;
use toolhead_core::value::Value;

/// How long one row is measured.
const BUDGET: Duration = Duration::from_millis(400);

/// A host without registry: the cases refer to themselves alone.
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
        serde_json::Value::Number(number) => Value::Number(
            number.as_i64().map_or_else(|| Number::Float(number.as_f64().unwrap()), Number::Int),
        ),
        serde_json::Value::String(text) => Value::String(text.as_str().into()),
        serde_json::Value::Array(items) => Value::Array(items.iter().map(value).collect()),
        serde_json::Value::Object(members) => {
            Value::Object(members.iter().map(|(key, item)| (key.as_str().into(), value(item))).collect())
        }
    }
}

fn plan(schema: &Value) -> Plan {
    let options = Options {
        dialect: Dialect::named("draft2020-12").unwrap(),
        formats: true,
        limits: Limits::default(),
    };
    compile(schema, &mut Alone, options).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Runs `work` over and over for the budget and prints its quickest run.
fn row<T>(name: &str, mut work: impl FnMut() -> T) {
    let started = Instant::now();
    black_box(work());
    let once = started.elapsed().max(Duration::from_nanos(20));
    let runs =
        u32::try_from((Duration::from_micros(200).as_nanos() / once.as_nanos()).clamp(1, 10_000)).unwrap();
    let mut best = Duration::MAX;
    while started.elapsed() < BUDGET {
        let round = Instant::now();
        for _ in 0..runs {
            black_box(work());
        }
        best = best.min(round.elapsed() / runs);
    }
    println!("{name:32} {:>10} ns", best.as_nanos());
}

fn main() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../benches/cases");
    for name in ["weather", "order"] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let case: serde_json::Value = serde_json::from_str(&text).unwrap();
        let (schema, valid, invalid) =
            (value(&case["schema"]), value(&case["valid"]), value(&case["invalid"]));
        let plan_of_case = plan(&schema);
        assert!(check::is_valid(&plan_of_case, &valid) && !check::is_valid(&plan_of_case, &invalid));
        row(&format!("{name}: compile"), || plan(&schema));
        row(&format!("{name}: is_valid"), || check::is_valid(&plan_of_case, &valid));
        row(&format!("{name}: is_valid refuses"), || check::is_valid(&plan_of_case, &invalid));
        row(&format!("{name}: issues"), || explain::issues(&plan_of_case, &invalid, 100));
    }
}
