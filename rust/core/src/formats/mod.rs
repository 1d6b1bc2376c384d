//! The registry of formats: one row a name, one small file a format or family of formats.
//!
//! Source: JSON Schema 2020-12 Validation, section 7.3, and the same section of drafts 4, 6, 7, 2019-09 and v1. One table
//! serves every dialect: `relative-json-pointer` alone has changed its meaning, and has a second row at the end. A name
//! that is not in the table is an annotation.

pub mod content;
mod date_time;
mod duration;
mod email;
mod hostname;
mod idn;
mod ip;
mod json_pointer;
mod regex;
mod uri;
mod uri_template;
mod uuid;

use crate::schema::dialect::Draft;

struct Row {
    name: &'static str,
    check: fn(&str) -> bool,
}

const fn row(name: &'static str, check: fn(&str) -> bool) -> Row {
    Row { name, check }
}

/// How many rows are the latest meaning of their name.
const LATEST: usize = 19;

/// The name that had another meaning before 2020-12.
const CHANGED: &str = "relative-json-pointer";

static FORMATS: [Row; LATEST + 1] = [
    row("date", date_time::is_date),
    row("date-time", date_time::is_date_time),
    row("duration", duration::is_duration),
    row("email", email::is_email),
    row("hostname", hostname::is_hostname),
    row("idn-email", email::is_idn_email),
    row("idn-hostname", hostname::is_idn_hostname),
    row("ipv4", ip::is_ipv4),
    row("ipv6", ip::is_ipv6),
    row("iri", uri::is_iri),
    row("iri-reference", uri::is_iri_reference),
    row("json-pointer", json_pointer::is_json_pointer),
    row("regex", regex::is_regex),
    row("relative-json-pointer", json_pointer::is_relative_json_pointer),
    row("time", date_time::is_time),
    row("uri", uri::is_uri),
    row("uri-reference", uri::is_uri_reference),
    row("uri-template", uri_template::is_uri_template),
    row("uuid", uuid::is_uuid),
    row(CHANGED, json_pointer::is_old_relative_json_pointer),
];

/// A format of the registry: a handle that is cheap to copy and to keep in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format(u8);

impl Format {
    /// Whether `text` is in this format. Gives a verdict for every string; never panics, never backtracks.
    #[inline]
    pub fn is_valid(self, text: &str) -> bool {
        (FORMATS[usize::from(self.0)].check)(text)
    }

    /// The name as it stands in a schema.
    pub fn name(self) -> &'static str {
        FORMATS[usize::from(self.0)].name
    }
}

/// The format of that name in a draft, or `None` where the specification knows none (the keyword is then an annotation).
/// Names are compared exactly.
pub fn lookup(name: &str, draft: Draft) -> Option<Format> {
    let latest = FORMATS[..LATEST].binary_search_by(|row| row.name.cmp(name)).ok()?;
    let index = if draft < Draft::D2020 && name == CHANGED { LATEST } else { latest };
    u8::try_from(index).ok().map(Format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_so_that_every_name_is_found() {
        for row in &FORMATS {
            assert_eq!(lookup(row.name, Draft::D2020).map(Format::name), Some(row.name));
        }
        assert_eq!(lookup("Date", Draft::D7), None);
        assert_eq!(lookup("", Draft::D7), None);
    }
}
