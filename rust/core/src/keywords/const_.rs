//! `const` (2020-12 Validation 6.1.3).

use super::enum_::literal_text;
use super::{Behaviour, Check, Early, Keyword, Rule};
use crate::drivers::check::Checker;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, Kind, equal, kinds};
use crate::issue::Detail;
use crate::plan::{NONE, StringSet};
use crate::schema::SchemaError;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::draft::Draft;
use crate::schema::tables::push;
use crate::value::Value;

/// The one value allowed, where it is no string.
#[derive(Clone, Debug)]
pub struct Const {
    value: Value,
}

/// Compiles a value of any kind. A string joins the rule for strings.
pub(crate) fn compile<'a, H: Host<'a>>(
    compiler: &mut Compiler<'_, 'a, H>,
    scope: &Scope<'_, H::Instance>,
    draft: &mut Draft,
    value: H::Instance,
) -> Result<(), SchemaError> {
    compiler.literal_depth(scope, Keyword::Const, value)?;
    if value.kind() == Kind::String && draft.string.as_ref().is_none_or(|rule| rule.set == NONE) {
        let token = compiler.host.intern(value.text());
        let set =
            StringSet::new(Box::new([(value.text().into(), token)]), true, draft.types & !kinds::STRING != 0);
        draft.string().set = push(&mut compiler.tables.sets, set);
        draft.types &= kinds::STRING;
        return Ok(());
    }
    let rule = Rule::Const(Const { value: Value::copy_of(value) });
    draft.checks.push(Check { kinds: kinds::ANY, keyword: Keyword::Const, rule });
    Ok(())
}

impl Const {
    /// The value, if it is a machine integer.
    pub(crate) fn integer(&self) -> Option<i64> {
        if let Value::Number(number) = &self.value { number.to_i64() } else { None }
    }
}

impl Behaviour for Const {
    #[inline(never)]
    fn check<'a, I: Instance<'a>>(&self, _: &mut Checker<'_>, value: I) -> bool {
        equal(&self.value, value)
    }

    #[inline(never)]
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
        let allowed = Box::new([literal_text(&self.value)]);
        run.issue(at, Some(Keyword::Const), value, Detail::OneOf(allowed));
    }

    fn accepted_kinds(&self, _: &[crate::plan::Node]) -> u8 {
        super::enum_::kinds_of(&self.value)
    }

    fn heap_size(&self) -> usize {
        self.value.heap_size()
    }

    fn early(&self) -> Early<'_> {
        Early::Literals(std::slice::from_ref(&self.value))
    }
}
