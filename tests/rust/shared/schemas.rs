//! Generated schemas and instances. Few names, few values and few patterns, so that keywords meet on the same data.
#![allow(dead_code, reason = "each test binary uses its part")]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value as Json, json};

/// The dialects, and where their keywords differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dialect {
    Draft4,
    Draft6,
    Draft7,
    Draft2019,
    Draft2020,
}

impl Dialect {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Draft4 => "draft4",
            Self::Draft6 => "draft6",
            Self::Draft7 => "draft7",
            Self::Draft2019 => "draft2019-09",
            Self::Draft2020 => "draft2020-12",
        }
    }
    fn definitions(self) -> &'static str {
        if self >= Self::Draft2019 { "$defs" } else { "definitions" }
    }
}

pub(crate) fn dialects() -> impl Strategy<Value = Dialect> {
    use Dialect::{Draft4, Draft6, Draft7, Draft2019, Draft2020};
    select(vec![Draft4, Draft6, Draft7, Draft2019, Draft2020, Draft2020, Draft2020])
}

const NAMES: [&str; 7] = ["a", "b", "c", "ab", "longer_than_eight", "é", "q\"\\\n\0"];
const PATTERNS: [&str; 7] = ["^a", "b", "^.$", "é|𝒳", "^[a-c]*$", "\\d+", "(a|b)+c?"];
const FORMATS: [&str; 5] = ["date", "ipv4", "uuid", "json-pointer", "no-such-format"];

fn texts() -> impl Strategy<Value = String> {
    select(vec![
        "",
        "a",
        "b",
        "abc",
        "ab",
        "é",
        "𝒳",
        "1",
        "2024-02-30",
        "2024-02-29",
        "127.0.0.1",
        "/a~1b",
        "\u{7f}\u{2028}",
        "0123456789abcdef0123456789abcdef",
        "q\"\\\n\0",
    ])
    .prop_map(str::to_owned)
}

fn numbers() -> impl Strategy<Value = Json> {
    select(vec![
        "0",
        "1",
        "2",
        "3",
        "-1",
        "1.0",
        "2.5",
        "-0.0",
        "0.1",
        "0.3",
        "1e2",
        "100",
        "9007199254740993",
        "9007199254740992.0",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "1e300",
        "1.5e-7",
    ])
    .prop_map(|text| serde_json::from_str(text).unwrap_or(Json::Null))
}

fn names() -> impl Strategy<Value = String> {
    select(NAMES.as_slice()).prop_map(str::to_owned)
}

/// Instances: any JSON, mostly small objects and arrays over the names and values that schemas speak of.
pub(crate) fn instances() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        1 => Just(Json::Null),
        1 => any::<bool>().prop_map(Json::Bool),
        4 => numbers(),
        4 => texts().prop_map(Json::String),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            2 => vec(inner.clone(), 0..5).prop_map(Json::Array),
            3 => vec((names(), inner), 0..5).prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

fn literals() -> impl Strategy<Value = Json> {
    prop_oneof![
        3 => numbers(),
        3 => texts().prop_map(Json::String),
        2 => instances(),
    ]
}

fn positive() -> impl Strategy<Value = Json> {
    select(vec!["1", "2", "0.1", "0.5", "1.0", "1e-8", "3", "9007199254740993", "1e10"])
        .prop_map(|text| serde_json::from_str(text).unwrap_or(Json::Null))
}

fn counts(dialect: Dialect) -> impl Strategy<Value = Json> {
    let mut all = vec![json!(0), json!(1), json!(2), json!(3)];
    if dialect > Dialect::Draft4 {
        all.push(json!(2.0));
    }
    select(all)
}

fn types(dialect: Dialect) -> impl Strategy<Value = Json> {
    let word = select(vec!["null", "boolean", "integer", "number", "string", "array", "object"]);
    let words = proptest::sample::subsequence(
        vec!["null", "boolean", "integer", "number", "string", "array", "object"],
        1..4,
    );
    let _ = dialect;
    prop_oneof![word.prop_map(|word| json!(word)), words.prop_map(|words| json!(words))]
}

fn unique_names() -> impl Strategy<Value = Json> {
    proptest::sample::subsequence(NAMES.to_vec(), 1..3).prop_map(|names| json!(names))
}

type Pair = (&'static str, Json);

fn pair(
    keyword: &'static str,
    value: impl Strategy<Value = Json> + 'static,
) -> BoxedStrategy<(&'static str, Json)> {
    value.prop_map(move |value| (keyword, value)).boxed()
}

/// A keyword that applies no other schema.
fn assertion(dialect: Dialect) -> BoxedStrategy<Pair> {
    let exclusive = || {
        if dialect == Dialect::Draft4 {
            any::<bool>().prop_map(Json::Bool).boxed()
        } else {
            numbers().boxed()
        }
    };
    let enumeration = || {
        vec(literals(), 1..4).prop_map(|mut values| {
            let mut kept: Vec<Json> = Vec::new();
            for value in values.drain(..) {
                if !kept.contains(&value) {
                    kept.push(value);
                }
            }
            Json::Array(kept)
        })
    };
    let mut all = vec![
        pair("type", types(dialect)),
        pair("type", types(dialect)),
        pair("enum", enumeration()),
        pair("multipleOf", positive()),
        pair("minimum", numbers()),
        pair("maximum", numbers()),
        pair("minLength", counts(dialect)),
        pair("maxLength", counts(dialect)),
        pair("pattern", select(PATTERNS.as_slice()).prop_map(|pattern| json!(pattern))),
        pair("format", select(FORMATS.as_slice()).prop_map(|format| json!(format))),
        pair("minItems", counts(dialect)),
        pair("maxItems", counts(dialect)),
        pair("uniqueItems", any::<bool>().prop_map(Json::Bool)),
        pair("required", unique_names()),
        pair("required", unique_names()),
        pair("minProperties", counts(dialect)),
        pair("maxProperties", counts(dialect)),
        pair("exclusiveMinimum", exclusive()),
        pair("exclusiveMaximum", exclusive()),
    ];
    if dialect >= Dialect::Draft6 {
        all.push(pair("const", literals()));
    }
    if dialect >= Dialect::Draft2019 {
        let rows = vec((names(), unique_names()), 1..3);
        all.push(pair("dependentRequired", rows.prop_map(|rows| Json::Object(rows.into_iter().collect()))));
    }
    proptest::strategy::Union::new(all).boxed()
}

/// A schema for objects that a constant of one member tells from others of its kind, or nearly so.
fn tagged() -> BoxedStrategy<Json> {
    let tags = proptest::sample::subsequence(vec!["", "a", "b", "abc", "ab"], 1..4);
    let tag = prop_oneof![
        5 => tags.prop_map(|tags| json!({"enum": tags})),
        1 => Just(json!({"type": "string"})),
        1 => Just(json!({"enum": ["a", 1, null]})),
    ];
    let rest = (any::<bool>(), any::<bool>(), proptest::option::of(unique_names()));
    let object = (tag, rest).prop_map(|(tag, (typed, required, names))| {
        let mut schema = json!({"properties": {"a": tag}});
        if typed {
            schema["type"] = json!("object");
        }
        match (required, names) {
            (_, Some(names)) => schema["required"] = names,
            (true, None) => schema["required"] = json!(["a"]),
            (false, None) => {}
        }
        schema
    });
    let other =
        select(vec![json!({"type": "string"}), json!({"required": ["b"]}), json!({"minProperties": 2})]);
    prop_oneof![5 => object, 1 => other].boxed()
}

/// A list of such schemas, some of them lists again.
fn choice() -> BoxedStrategy<Pair> {
    let word = || select(vec!["anyOf", "oneOf", "allOf"]);
    let inner = (word(), vec(tagged(), 1..4)).prop_map(|(word, list)| json!({word: list}));
    let branch = prop_oneof![4 => tagged(), 1 => inner];
    (select(vec!["anyOf", "oneOf"]), vec(branch, 2..5))
        .prop_map(|(word, list)| (word, Json::Array(list)))
        .boxed()
}

/// A list of conditions of that kind.
fn conditions(then: impl Strategy<Value = Json> + 'static) -> BoxedStrategy<Pair> {
    let row = (tagged(), then, any::<bool>()).prop_map(|(test, then, other)| {
        let mut row = json!({"if": test, "then": then});
        if other {
            row["else"] = json!({"maxProperties": 2});
        }
        row
    });
    vec(prop_oneof![6 => row, 1 => tagged()], 2..6).prop_map(|rows| ("allOf", Json::Array(rows))).boxed()
}

/// A keyword that applies schemas.
fn applicator(dialect: Dialect, depth: u32) -> BoxedStrategy<Vec<Pair>> {
    let one = move || schema(dialect, depth - 1);
    let list = move || vec(one(), 1..4).prop_map(Json::Array);
    let map = move || vec((names(), one()), 1..4).prop_map(|rows| Json::Object(rows.into_iter().collect()));
    let by_pattern = vec((select(PATTERNS.as_slice()), one()), 1..3).prop_map(|rows| {
        Json::Object(rows.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    });
    let single =
        |keyword, value: BoxedStrategy<Json>| pair(keyword, value).prop_map(|pair| vec![pair]).boxed();
    let closed = move || prop_oneof![1 => bool_schema(dialect, false), 1 => one()].boxed();
    let references = vec!["#", "#/X/x", "#/X/y"];
    let refs =
        select(references).prop_map(move |text| json!(text.replace('X', dialect.definitions()))).boxed();
    let mut all = vec![
        (3, single("properties", map().boxed())),
        (3, single("properties", map().boxed())),
        (2, single("patternProperties", by_pattern.boxed())),
        (3, single("additionalProperties", closed())),
        (2, single("items", one().boxed())),
        (2, single("allOf", list().boxed())),
        (2, single("anyOf", list().boxed())),
        (2, single("oneOf", list().boxed())),
        (1, single("not", one().boxed())),
        (2, single("$ref", refs)),
    ];
    if dialect >= Dialect::Draft6 {
        all.push((2, choice().prop_map(|pair| vec![pair]).boxed()));
    }
    if dialect < Dialect::Draft2020 {
        let both =
            (list(), one()).prop_map(|(items, rest)| vec![("items", items), ("additionalItems", rest)]);
        all.push((2, both.boxed()));
    } else {
        all.push((2, single("prefixItems", list().boxed())));
    }
    if dialect < Dialect::Draft2019 {
        let row = prop_oneof![one(), unique_names()];
        let rows = vec((names(), row), 1..3).prop_map(|rows| Json::Object(rows.into_iter().collect()));
        all.push((1, single("dependencies", rows.boxed())));
    }
    if dialect >= Dialect::Draft6 {
        all.push((1, single("contains", one().boxed())));
        all.push((1, single("propertyNames", one().boxed())));
    }
    if dialect >= Dialect::Draft7 {
        let arms = (one(), one(), one());
        let arms = arms.prop_map(|(test, then, other)| vec![("if", test), ("then", then), ("else", other)]);
        all.push((2, arms.boxed()));
        all.push((2, conditions(one()).prop_map(|pair| vec![pair]).boxed()));
    }
    if dialect >= Dialect::Draft2019 {
        let bounds = (one(), 0u32..3, 0u32..3);
        let bounds = bounds.prop_map(|(schema, min, max)| {
            vec![("contains", schema), ("minContains", json!(min)), ("maxContains", json!(max))]
        });
        all.push((1, bounds.boxed()));
        all.push((1, single("dependentSchemas", map().boxed())));
        all.push((2, single("unevaluatedProperties", closed())));
        all.push((2, single("unevaluatedItems", closed())));
    }
    proptest::strategy::Union::new_weighted(all).boxed()
}

fn bool_schema(dialect: Dialect, value: bool) -> BoxedStrategy<Json> {
    let schema = match (dialect, value) {
        (Dialect::Draft4, true) => json!({}),
        (Dialect::Draft4, false) => json!({"not": {}}),
        _ => Json::Bool(value),
    };
    Just(schema).boxed()
}

/// A schema whose references lead to the two definitions of its document, or to the document.
pub(crate) fn schema(dialect: Dialect, depth: u32) -> BoxedStrategy<Json> {
    let assertions = || vec(assertion(dialect), 0..3);
    let merged = |pairs: Vec<Pair>| -> Json {
        let mut schema: Map<String, Json> =
            pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        // Draft 4 wants the bound beside its boolean.
        for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            if schema.get(flag).is_some_and(Json::is_boolean) && !schema.contains_key(bound) {
                schema.insert(bound.to_owned(), json!(2));
            }
        }
        Json::Object(schema)
    };
    if depth == 0 {
        return prop_oneof![
            6 => assertions().prop_map(merged),
            1 => bool_schema(dialect, true),
            1 => bool_schema(dialect, false),
        ]
        .boxed();
    }
    let whole = (assertions(), vec(applicator(dialect, depth), 0..4)).prop_map(move |(mut pairs, groups)| {
        pairs.extend(groups.into_iter().flatten());
        merged(pairs)
    });
    prop_oneof![8 => whole, 1 => bool_schema(dialect, true), 1 => bool_schema(dialect, false)].boxed()
}

/// A whole document of a dialect.
pub(crate) fn document(dialect: Dialect) -> BoxedStrategy<Json> {
    (schema(dialect, 2), schema(dialect, 1), schema(dialect, 1))
        .prop_map(move |(root, x, y)| {
            let mut root = match root {
                Json::Object(root) => root,
                other => Map::from_iter([("allOf".to_owned(), json!([other]))]),
            };
            root.insert(dialect.definitions().to_owned(), json!({"x": x, "y": y}));
            Json::Object(root)
        })
        .boxed()
}
