//! Which of many schemas may accept an object at all, by one of its members: branches of `anyOf` and `oneOf`, and the
//! conditions of `if` in a list of `allOf`.
//!
//! A discriminator wants constants that no two branches share. Many choices come close: a branch is itself a choice, two
//! branches share a constant, one does not mention the member. For those a set of schemas is kept for each constant, and
//! the others are not tried. Found when a plan is linked; it only leaves out schemas that would refuse.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::instance::{Instance, Kind, kinds};
use crate::keywords::Early;
use crate::plan::{Node, NodeId, Property, StringSet};
use crate::schema::tables::Tables;

/// They are bits of a word.
const MOST_SCHEMAS: usize = 64;
/// Schemas and names that are looked at for one choice, and how deep schemas may refer to each other.
const MOST_LOOKS: usize = 512;
const DEEPEST: usize = 4;

/// The schemas that are left by a member's value, as bits by their position.
#[derive(Clone, Debug)]
pub(crate) struct Sieve {
    name: Box<str>,
    token: usize,
    /// The constants, each with its place among the masks.
    set: StringSet,
    masks: Box<[u64]>,
    /// For any other string.
    string: u64,
    /// For a value that is no string.
    other: u64,
    /// Where the member is missing.
    missing: u64,
}

/// What a schema asks of one member.
#[derive(Default)]
struct Asked<'t> {
    /// The only strings that it allows, where it allows certain strings alone.
    constants: Option<Vec<&'t str>>,
    required: bool,
}

/// Looks into schemas that are not yet sorted.
struct Search<'t> {
    tables: &'t Tables,
    looks: usize,
}

impl<'t> Search<'t> {
    fn node(&mut self, id: NodeId) -> Option<&'t Node> {
        let node = &self.tables.nodes[id as usize];
        self.looks += 1 + self.properties(node).len();
        (self.looks <= MOST_LOOKS).then_some(node)
    }

    fn properties(&self, node: &Node) -> &'t [Property] {
        let rule = self.tables.objects.get(node.object as usize);
        rule.map_or(&[], |rule| {
            &self.tables.properties[rule.first as usize..(rule.first + rule.count) as usize]
        })
    }

    fn name(&self, property: &Property) -> &'t str {
        &self.tables.names[property.start as usize..(property.start + property.len) as usize]
    }

    fn constants(&self, property: &Property) -> Option<&'t StringSet> {
        let node = &self.tables.nodes[property.node as usize];
        let rule = self.tables.strings.get(node.string as usize)?;
        if node.types & !kinds::STRING != 0 {
            return None;
        }
        self.tables.sets.get(rule.set as usize)
    }

    /// The schemas that apply to the same value: all of them, or one of them at least.
    fn in_place(&self, node: &Node) -> impl Iterator<Item = (bool, &'t [NodeId])> + use<'t> {
        let checks = &self.tables.checks[node.checks as usize..(node.checks + node.check_count) as usize];
        checks.iter().filter_map(|check| match check.rule.early() {
            Early::Every(nodes) => Some((true, nodes)),
            Early::Any(nodes) | Early::One(nodes) => Some((false, nodes)),
            _ => None,
        })
    }

    fn takes_objects(&self, id: NodeId) -> bool {
        self.tables.nodes[id as usize].types & kinds::OBJECT != 0
    }

    /// Counts the names for which a schema allows certain strings alone.
    fn tagged(&mut self, id: NodeId, depth: usize, visit: &mut dyn FnMut(&'t str, usize)) {
        let Some(node) = self.node(id) else { return };
        for property in self.properties(node) {
            if self.constants(property).is_some() {
                visit(self.name(property), property.token);
            }
        }
        if depth > 0 {
            for (_, nodes) in self.in_place(node) {
                for node in nodes {
                    self.tagged(*node, depth - 1, visit);
                }
            }
        }
    }

    fn asked(&mut self, id: NodeId, name: &str, depth: usize) -> Asked<'t> {
        let mut asked = Asked::default();
        let Some(node) = self.node(id) else { return asked };
        if let Some(property) = self.properties(node).iter().find(|property| self.name(property) == name) {
            asked.required = property.required;
            asked.constants =
                self.constants(property).map(|set| set.members.iter().map(|(text, _)| &**text).collect());
        }
        if depth == 0 {
            return asked;
        }
        for (every, nodes) in self.in_place(node) {
            let mut each = Vec::new();
            for node in nodes {
                if every || self.takes_objects(*node) {
                    each.push(self.asked(*node, name, depth - 1));
                }
            }
            if every {
                for one in each {
                    asked.required |= one.required;
                    asked.constants = asked.constants.or(one.constants);
                }
            } else {
                asked.required |= each.iter().all(|one| one.required);
                let all: Option<Vec<_>> = each.into_iter().map(|one| one.constants).collect();
                asked.constants = asked.constants.or(all.map(|all| all.concat()));
            }
        }
        asked
    }
}

impl Sieve {
    /// The sieve of schemas, if one member tells some of them apart. None of them: what stands there is always left.
    pub(crate) fn of(schemas: &[Option<NodeId>], tables: &Tables) -> Option<Box<Self>> {
        let mut search = Search { tables, looks: 0 };
        let for_objects: Vec<(usize, NodeId)> = schemas
            .iter()
            .enumerate()
            .filter_map(|(at, schema)| Some((at, (*schema)?)))
            .filter(|(_, schema)| search.takes_objects(*schema))
            .collect();
        if for_objects.len() < 2 || schemas.len() > MOST_SCHEMAS {
            return None;
        }
        // How many branches ask for a name, which name came first, its token, and the last of the branches.
        let mut names: HashMap<&str, (usize, Reverse<usize>, usize, usize)> = HashMap::new();
        for (at, branch) in &for_objects {
            search.tagged(*branch, DEEPEST, &mut |name, token| {
                let first = Reverse(names.len());
                let (count, .., last) = names.entry(name).or_insert((0, first, token, usize::MAX));
                if last != at {
                    (*count, *last) = (*count + 1, *at);
                }
            });
        }
        let (name, (.., token, _)) =
            names.into_iter().max_by_key(|(_, (count, first, ..))| (*count, *first))?;
        let always = (0u64..).zip(schemas).filter(|(_, schema)| schema.is_none());
        let always = always.fold(0, |mask, (at, _)| mask | 1 << at);
        let mut sieve = Self {
            name: name.into(),
            token,
            set: StringSet::new(Box::default(), false, false),
            masks: Box::default(),
            string: always,
            other: always,
            missing: always,
        };
        let mut masks: HashMap<&str, u64> = HashMap::new();
        let mut order = Vec::new();
        for (at, branch) in &for_objects {
            let bit = 1u64 << at;
            let asked = search.asked(*branch, name, DEEPEST);
            if !asked.required {
                sieve.missing |= bit;
            }
            match asked.constants {
                None => {
                    sieve.string |= bit;
                    sieve.other |= bit;
                }
                Some(constants) => {
                    for constant in constants {
                        *masks.entry(constant).or_insert_with(|| {
                            order.push(constant);
                            0
                        }) |= bit;
                    }
                }
            }
        }
        if search.looks > MOST_LOOKS {
            return None;
        }
        sieve.masks = order.iter().map(|constant| masks[constant] | sieve.string).collect();
        let members = order.iter().enumerate().map(|(place, constant)| ((*constant).into(), place)).collect();
        sieve.set = StringSet::new(members, false, false);
        Some(Box::new(sieve))
    }

    /// The schemas that may accept a value, as bits by their position.
    #[inline]
    pub(crate) fn mask<'a, I: Instance<'a>>(&self, value: I) -> u64 {
        if value.kind() != Kind::Object {
            return u64::MAX;
        }
        match value.member(self.token, &self.name) {
            None => self.missing,
            Some(tag) if tag.kind() == Kind::String => self.mask_of(tag.text().as_bytes()),
            Some(_) => self.other,
        }
    }

    /// The name of the member.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The position of the only schema that a string leaves.
    pub(crate) fn told(&self, text: &[u8]) -> Option<usize> {
        let mask = self.mask_of(text);
        mask.is_power_of_two().then(|| mask.trailing_zeros() as usize)
    }

    #[inline]
    fn mask_of(&self, text: &[u8]) -> u64 {
        self.set.find(text).map_or(self.string, |place| self.masks[place])
    }

    /// Memory of the sieve.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.name.len() + size_of_val(&*self.masks) + self.set.heap_size()
    }
}

/// Those of the schemas that are to be tried.
#[inline]
pub(crate) fn left<'a, 's, I: Instance<'a>>(
    sieve: Option<&Sieve>,
    schemas: &'s [NodeId],
    value: I,
) -> impl Iterator<Item = NodeId> + use<'a, 's, I> {
    let mask = sieve.map_or(u64::MAX, |sieve| sieve.mask(value));
    // Without a sieve there may be more schemas than bits.
    let is_left = move |at: usize| mask == u64::MAX || mask >> at & 1 != 0;
    schemas.iter().enumerate().filter(move |(at, _)| is_left(*at)).map(|(_, schema)| *schema)
}
