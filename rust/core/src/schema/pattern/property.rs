//! Property escapes: the names that ECMA-262 section 22.2.1.2 allows in `\p{...}`, with the tables of `regex-syntax`.
//!
//! ECMA compares names exactly where the tables compare them loosely, so general categories and binary properties are
//! listed here; a script is asked for in the tables and must only look like a name.

use regex_syntax::hir::{Class, ClassUnicode, HirKind};

/// Long and short names of the general categories (`PropertyValueAliases.txt`).
const CATEGORIES: &str = " Cased_Letter LC Close_Punctuation Pe Connector_Punctuation Pc Control Cc cntrl \
    Currency_Symbol Sc Dash_Punctuation Pd Decimal_Number Nd digit Enclosing_Mark Me Final_Punctuation Pf Format Cf \
    Initial_Punctuation Pi Letter L Letter_Number Nl Line_Separator Zl Lowercase_Letter Ll Mark M Combining_Mark \
    Math_Symbol Sm Modifier_Letter Lm Modifier_Symbol Sk Nonspacing_Mark Mn Number N Open_Punctuation Ps Other C \
    Other_Letter Lo Other_Number No Other_Punctuation Po Other_Symbol So Paragraph_Separator Zp Private_Use Co \
    Punctuation P punct Separator Z Space_Separator Zs Spacing_Mark Mc Surrogate Cs Symbol S Titlecase_Letter Lt \
    Unassigned Cn Uppercase_Letter Lu ";

/// Binary properties (ECMA-262 table 68) that the tables know.
const PROPERTIES: &str = " ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C \
    Case_Ignorable CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased CWL \
    Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash Default_Ignorable_Code_Point DI Deprecated Dep \
    Diacritic Dia Emoji Emoji_Component EComp Emoji_Modifier EMod Emoji_Modifier_Base EBase Emoji_Presentation EPres \
    Extended_Pictographic ExtPict Extender Ext Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext Hex_Digit Hex \
    IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST ID_Continue IDC ID_Start IDS Ideographic Ideo Join_Control \
    Join_C Logical_Order_Exception LOE Lowercase Lower Math Noncharacter_Code_Point NChar Pattern_Syntax Pat_Syn \
    Pattern_White_Space Pat_WS Quotation_Mark QMark Radical Regional_Indicator RI Sentence_Terminal STerm \
    Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo Uppercase Upper Variation_Selector VS \
    White_Space space XID_Continue XIDC XID_Start XIDS ";

/// The set for what stands between the braces; `None` for a name that ECMA-262 or the tables do not know.
pub(super) fn class(body: &str) -> Option<ClassUnicode> {
    match body.split_once('=') {
        None if is_listed(CATEGORIES, body) => category(body),
        None if is_listed(PROPERTIES, body) => look_up(body),
        Some(("General_Category" | "gc", value)) if is_listed(CATEGORIES, value) => category(value),
        Some(("Script" | "sc", value)) if is_script_name(value) => look_up(&format!("Script={value}")),
        Some(("Script_Extensions" | "scx", value)) if is_script_name(value) => {
            look_up(&format!("scx={value}"))
        }
        _ => None,
    }
}

fn is_listed(list: &str, name: &str) -> bool {
    !name.is_empty() && !name.contains(' ') && list.contains(&format!(" {name} "))
}

fn is_script_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|c| c.is_ascii_alphabetic() || c == b'_')
}

fn category(name: &str) -> Option<ClassUnicode> {
    match name {
        // Surrogates are no characters of a Rust text.
        "Surrogate" | "Cs" => Some(ClassUnicode::empty()),
        _ => look_up(&format!("gc={name}")),
    }
}

fn look_up(name: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(&format!("\\p{{{name}}}")).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            Some(super::charset::from_ranges(&text.chars().map(|c| (c, c)).collect::<Vec<_>>()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_in_the_tables() {
        let missing: Vec<_> = CATEGORIES.split_whitespace().filter(|name| class(name).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let missing: Vec<_> = PROPERTIES.split_whitespace().filter(|name| class(name).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn names_are_compared_exactly() {
        for good in
            ["L", "gc=Lu", "General_Category=Decimal_Number", "Script=Greek", "sc=Grek", "scx=Deva", "digit"]
        {
            assert!(class(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "l",
            "letter",
            "Greek",
            "IsGreek",
            "Script=greek",
            "script=Greek",
            "Any Assigned",
            "sc=",
            "^L",
        ] {
            assert!(class(bad).is_none(), "{bad}");
        }
    }
}
