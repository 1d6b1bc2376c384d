//! The compiler: one pass over a schema document, straight to the plan's tables.
//!
//! Each keyword checks its own value while it compiles (that is the meta-schema check), so a broken schema is refused
//! with the place of the keyword. Targets of references are compiled once; everything else where it stands.

use std::collections::HashMap;

use super::SchemaError;
use super::dialect::{Dialect, Draft as DraftName};
use super::draft::Draft;
use super::reference::{References, ResourceId};
pub use super::scope::{Place, Scope};
use super::tables::{Mark, Tables, push};
use crate::instance::{Instance, Key, Kind, is_bounded, kinds};
use crate::keywords::{self, Keyword};
use crate::limits::Limits;
use crate::plan::{FALSE, Node, NodeId, Plan, TRUE};

/// What the compiler asks of the host whose data holds the schema.
pub trait Host<'a> {
    /// The host's values.
    type Instance: Instance<'a>;
    /// A token of a name or string: equal tokens of one plan mean equal texts. Never 0 if the host has tokens.
    fn intern(&mut self, text: &str) -> usize;
    /// The same for a key of the schema. A host that can keeps the key itself: whoever made it may hand it out again.
    fn keep(&mut self, key: <Self::Instance as Instance<'a>>::Key) -> usize {
        self.intern(key.text())
    }
    /// The document of a built-in meta-schema.
    fn builtin(&mut self, uri: &str) -> Option<Self::Instance>;
    /// A document of the caller's registry.
    ///
    /// # Errors
    /// When the registry itself failed.
    fn retrieve(&mut self, uri: &str) -> Result<Option<Self::Instance>, SchemaError>;
}

/// Options of a compilation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Used where the schema has no `$schema`.
    pub dialect: Dialect,
    /// Does `format` assert?
    pub formats: bool,
    /// Limits for compiler and drivers.
    pub limits: Limits,
}

struct Pending<I> {
    node: NodeId,
    schema: I,
    resource: ResourceId,
    place: String,
}

/// The compiler's state.
pub struct Compiler<'h, 'a, H: Host<'a>> {
    /// The host.
    pub host: &'h mut H,
    /// The options.
    pub options: Options,
    /// The plan so far.
    pub tables: Tables,
    /// The documents.
    pub references: References<H::Instance>,
    targets: HashMap<(usize, ResourceId), NodeId>,
    /// Schemas that were compiled when there were many already, for places that share them: node, and levels below it.
    shared: HashMap<(usize, ResourceId), (NodeId, usize)>,
    compiled: usize,
    /// The greatest depth since the schema in hand was begun.
    deepest: usize,
    target_order: Vec<(usize, ResourceId)>,
    resolving: Vec<(usize, ResourceId)>,
    pending: Vec<Pending<H::Instance>>,
    /// Nodes whose compilation has begun and not ended.
    open: Vec<NodeId>,
    kind_nodes: Vec<(u8, NodeId)>,
    definitions: Vec<(H::Instance, ResourceId, String)>,
    anchor_names: Vec<String>,
    depth: usize,
    /// Checks and names that may still be copied into merged nodes: schemas that share others would multiply them.
    pub(super) merge_budget: usize,
}

/// See [`Compiler::merge_budget`].
const MERGE_BUDGET: usize = 500_000;

/// From so many object schemas on, one that stands at several places is compiled once: objects of the host that share
/// others are small, and the schema that they spell out may not be.
const MANY_SCHEMAS: usize = 2_000;

/// Below this depth a reference's target is compiled at once, so that it can be merged; deeper, it waits its turn.
const EAGER_DEPTH: usize = 40;

/// Compiles a schema.
///
/// # Errors
/// When a keyword's value is malformed, a reference leads nowhere or in a circle, or a pattern is no ECMA-262 pattern.
pub fn compile<'a, H: Host<'a>>(
    schema: H::Instance,
    host: &mut H,
    options: Options,
) -> Result<Plan, SchemaError> {
    let depth_limit = options.limits.depth;
    let mut compiler = Compiler {
        host,
        options,
        tables: Tables::default(),
        references: References::new(depth_limit),
        targets: HashMap::new(),
        shared: HashMap::new(),
        compiled: 0,
        deepest: 0,
        target_order: Vec::new(),
        resolving: Vec::new(),
        pending: Vec::new(),
        open: Vec::new(),
        kind_nodes: Vec::new(),
        definitions: Vec::new(),
        anchor_names: Vec::new(),
        depth: 0,
        merge_budget: MERGE_BUDGET,
    };
    compiler.tables.nodes.reserve(8);
    compiler.tables.nodes.push(Node { written: TRUE, ..Node::of_kinds(kinds::ANY) });
    compiler.tables.nodes.push(Node { written: FALSE, ..Node::of_kinds(0) });
    let default = compiler.options.dialect;
    let resource = compiler.references.add_document(compiler.host, "", schema, default)?;
    let root = compiler.target(schema, resource, String::new())?;
    compiler.drain()?;
    compiler.compile_anchors()?;
    compiler.check_definitions()?;
    compiler.link(root)
}

impl<'a, H: Host<'a>> Compiler<'_, 'a, H> {
    /// The node of a subschema at a step from `scope`'s place.
    ///
    /// # Errors
    /// When the subschema is no schema, or is refused itself.
    pub fn subschema(
        &mut self,
        scope: &Scope<'_, H::Instance>,
        place: &Place<'_>,
        schema: H::Instance,
    ) -> Result<NodeId, SchemaError> {
        Self::refuse_boolean(scope, place, schema)?;
        self.subschema_or_boolean(scope, place, schema)
    }

    /// Refuses a boolean as a schema in draft 4.
    ///
    /// # Errors
    /// When it is one.
    pub fn refuse_boolean(
        scope: &Scope<'_, H::Instance>,
        place: &Place<'_>,
        schema: H::Instance,
    ) -> Result<(), SchemaError> {
        if scope.dialect.draft > DraftName::D4 || schema.kind() != Kind::Bool {
            return Ok(());
        }
        let message = "Expected a schema (an object in draft 4), got boolean".to_owned();
        Err(SchemaError { message, schema_path: place.pointer(), keyword: None })
    }

    /// The node of a subschema that may be a boolean in every draft: `additionalItems` and `additionalProperties`.
    ///
    /// # Errors
    /// When the subschema is no schema, or is refused itself.
    pub fn subschema_or_boolean(
        &mut self,
        scope: &Scope<'_, H::Instance>,
        place: &Place<'_>,
        schema: H::Instance,
    ) -> Result<NodeId, SchemaError> {
        self.schema(place, schema, scope.resource, None)
    }

    fn schema(
        &mut self,
        place: &Place<'_>,
        schema: H::Instance,
        resource: ResourceId,
        reserved: Option<NodeId>,
    ) -> Result<NodeId, SchemaError> {
        match schema.kind() {
            Kind::Bool => Ok(self.constant(if schema.boolean() { TRUE } else { FALSE }, reserved)),
            Kind::Object => {
                self.depth += 1;
                if self.depth > self.options.limits.depth {
                    let message =
                        format!("The schema is nested deeper than {} levels", self.options.limits.depth);
                    return Err(SchemaError { message, schema_path: place.pointer(), keyword: None });
                }
                self.compiled += 1;
                let key = (schema.identity(), resource);
                let may_share = self.compiled > MANY_SCHEMAS && reserved.is_none();
                // The depth of the whole stays bounded.
                let room = self.options.limits.depth - self.depth;
                let known = self.shared.get(&key).filter(|(_, levels)| may_share && *levels <= room);
                if let Some((node, levels)) = known {
                    self.deepest = self.deepest.max(self.depth + levels);
                    self.depth -= 1;
                    return Ok(*node);
                }
                let outside = std::mem::replace(&mut self.deepest, self.depth);
                let node = self.object_schema(place, schema, resource, reserved);
                if let (true, Ok(node)) = (may_share, &node) {
                    self.shared.entry(key).or_insert((*node, self.deepest.saturating_sub(self.depth)));
                }
                self.deepest = self.deepest.max(outside);
                self.depth -= 1;
                node
            }
            other => Err(SchemaError {
                message: format!("Expected a schema (an object or a boolean), got {}", other.word()),
                schema_path: place.pointer(),
                keyword: None,
            }),
        }
    }

    /// A reserved node becomes a copy of a constant one.
    fn constant(&mut self, constant: NodeId, reserved: Option<NodeId>) -> NodeId {
        match reserved {
            None => constant,
            Some(id) => {
                let copy = Node { written: id, ..self.tables.nodes[constant as usize].clone() };
                self.tables.nodes[id as usize] = copy;
                id
            }
        }
    }

    fn find_keywords(schema: H::Instance, dialect: Dialect, found: &mut [Option<H::Instance>]) -> u64 {
        let mut present = 0u64;
        schema.members(|key, value| {
            if let Some(keyword) = Keyword::lookup(key.text()).filter(|keyword| keyword.is_in(dialect)) {
                found[keyword as usize] = Some(value);
                present |= 1 << keyword as u8;
            }
            true
        });
        present
    }

    fn object_schema(
        &mut self,
        place: &Place<'_>,
        schema: H::Instance,
        resource: ResourceId,
        reserved: Option<NodeId>,
    ) -> Result<NodeId, SchemaError> {
        if let Some(name) = schema.foreign_key() {
            let message = format!("Expected string keys in a schema, got {name}");
            return Err(SchemaError { message, schema_path: place.pointer(), keyword: None });
        }
        let mut found = [None; Keyword::COUNT];
        let mut resource = resource;
        let mut dialect = self.references.resource(resource).dialect;
        let mut present = Self::find_keywords(schema, dialect, &mut found);
        let has = |present: u64, keyword: Keyword| present & (1 << keyword as u8) != 0;
        if has(present, Keyword::Id) || has(present, Keyword::OldId) {
            resource = self.references.resource_at(self.host, schema, resource)?;
            let own = self.references.resource(resource).dialect;
            if own != dialect {
                dialect = own;
                found = [None; Keyword::COUNT];
                present = Self::find_keywords(schema, dialect, &mut found);
            }
        }
        if has(present, Keyword::Ref) && !dialect.ref_has_siblings() {
            // Draft 7 Core 8.3: everything beside a $ref is ignored, but what may be referred to.
            present &= (1 << Keyword::Ref as u8) | (1 << Keyword::Definitions as u8);
        }
        let scope = Scope { schema, found: &found, resource, dialect, place };
        // A reference alone is its target, unless it starts a resource that dynamic references must see entered.
        let starts_resource = has(present, Keyword::Id) || has(present, Keyword::OldId);
        if !starts_resource && present & keywords::asserting() == 1 << Keyword::Ref as u8 {
            return self.reference_alone(&scope, present, reserved);
        }
        // Only references to references can lead back without end; a schema between them is seen by `refuse_circles`.
        let resolving = std::mem::take(&mut self.resolving);
        if let Some(id) = reserved {
            self.open.push(id);
        }
        let mut draft = Draft::default();
        let mut rest = present;
        while rest != 0 {
            let keyword = Keyword::from_bit(rest.trailing_zeros());
            rest &= rest - 1;
            if let Some(value) = scope.get(keyword) {
                if let Some(name) = value.foreign_key().filter(|_| value.kind() == Kind::Object) {
                    return Err(scope.error(keyword, format!("Expected string keys, got {name}")));
                }
                keywords::compile(keyword, self, &scope, &mut draft, value)?;
            }
        }
        // Open until it is put into the plan: a node that refers to itself must not be merged into itself.
        let node = self.finish(draft, reserved, resource);
        if reserved.is_some() {
            self.open.pop();
        }
        self.resolving = resolving;
        Ok(node)
    }

    /// A schema that is nothing but a reference, and definitions. Not inlined: its drafts would lie in the frame of every schema
    /// around it.
    #[inline(never)]
    fn reference_alone(
        &mut self,
        scope: &Scope<'_, H::Instance>,
        present: u64,
        reserved: Option<NodeId>,
    ) -> Result<NodeId, SchemaError> {
        for keyword in [Keyword::Definitions, Keyword::Defs] {
            if let Some(value) = scope.get(keyword).filter(|_| present & (1 << keyword as u8) != 0) {
                keywords::compile(keyword, self, scope, &mut Draft::default(), value)?;
            }
        }
        let key = (scope.schema.identity(), scope.resource);
        if self.resolving.contains(&key) {
            return Err(scope.error(Keyword::Ref, "The reference leads back to itself"));
        }
        self.resolving.push(key);
        let target = keywords::ref_::target(self, scope);
        self.resolving.pop();
        let target = target?;
        Ok(match reserved {
            None => target,
            Some(id) => {
                let mut draft = Draft::default();
                draft.checks.push(keywords::ref_::to(target));
                self.finish(draft, Some(id), scope.resource)
            }
        })
    }

    /// The node of a reference's target, compiled now or later.
    ///
    /// # Errors
    /// When the target is no schema, or is refused itself.
    pub fn target(
        &mut self,
        schema: H::Instance,
        resource: ResourceId,
        place: String,
    ) -> Result<NodeId, SchemaError> {
        let key = (schema.identity(), resource);
        if let Some(node) = self.targets.get(&key) {
            return Ok(*node);
        }
        let node = self.reserve();
        self.targets.insert(key, node);
        self.target_order.push(key);
        self.tables.places.push((node, place.as_str().into()));
        if self.depth < EAGER_DEPTH {
            self.schema(&Place::root(&place), schema, resource, Some(node))?;
        } else {
            self.pending.push(Pending { node, schema, resource, place });
        }
        Ok(node)
    }

    fn drain(&mut self) -> Result<(), SchemaError> {
        while let Some(Pending { node, schema, resource, place }) = self.pending.pop() {
            self.depth = 0;
            self.schema(&Place::root(&place), schema, resource, Some(node))?;
        }
        Ok(())
    }

    /// Remembers the subschemas under `$defs`, to be checked if no reference leads to them.
    pub fn remember_definition(&mut self, schema: H::Instance, resource: ResourceId, place: String) {
        self.definitions.push((schema, resource, place));
    }

    /// Definitions that nothing refers to are compiled for their errors alone: all as targets, so that each is read once
    /// whatever they refer to, and then out of the plan again.
    fn check_definitions(&mut self) -> Result<(), SchemaError> {
        let mark = Mark::of(&self.tables, self.target_order.len(), self.kind_nodes.len());
        let mut at = 0;
        while at < self.definitions.len() {
            let (schema, resource, place) = self.definitions[at].clone();
            at += 1;
            self.depth = 1;
            self.target(schema, resource, place)?;
            self.drain()?;
        }
        if self.target_order.len() > mark.targets {
            self.refuse_circles()?;
        }
        mark.rewind(&mut self.tables);
        self.shared.clear();
        for key in self.target_order.drain(mark.targets..) {
            self.targets.remove(&key);
        }
        self.kind_nodes.truncate(mark.kind_nodes);
        Ok(())
    }

    /// The number of a dynamic anchor's name.
    pub fn anchor_number(&mut self, name: &str) -> u32 {
        let at = self.anchor_names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.anchor_names.push(name.to_owned());
            self.anchor_names.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Compiles every dynamic anchor that a `$dynamicRef` may lead to, until no new one turns up.
    fn compile_anchors(&mut self) -> Result<(), SchemaError> {
        let mut before = 0;
        loop {
            let mut wanted = Vec::new();
            for name in self.anchor_names.clone() {
                wanted.extend(self.references.dynamic_targets(&name));
            }
            if wanted.len() == before {
                return Ok(());
            }
            before = wanted.len();
            for target in wanted {
                self.depth = 0;
                self.target(target.schema, target.resource, target.place)?;
                self.drain()?;
            }
        }
    }

    /// Resource, anchor and node of every dynamic anchor in use, in the order of resources.
    pub fn anchors(&self) -> Vec<(ResourceId, u32, NodeId)> {
        let mut anchors = Vec::new();
        for (number, name) in self.anchor_names.iter().enumerate() {
            for target in self.references.dynamic_targets(name) {
                if let Some(node) = self.targets.get(&(target.schema.identity(), target.resource)) {
                    anchors.push((target.resource, u32::try_from(number).unwrap_or(u32::MAX), *node));
                }
            }
        }
        anchors
    }

    /// A node that will be filled later.
    fn reserve(&mut self) -> NodeId {
        let id = self.next_node();
        self.tables.nodes.push(Node { written: id, ..Node::of_kinds(kinds::ANY) });
        id
    }

    fn next_node(&self) -> NodeId {
        NodeId::try_from(self.tables.nodes.len()).unwrap_or(NodeId::MAX)
    }

    /// Is the node's compilation over?
    pub fn is_finished(&self, node: NodeId) -> bool {
        !self.open.contains(&node) && !self.pending.iter().any(|pending| pending.node == node)
    }

    /// Adds a name to the plan's text: where it starts, and its length.
    pub fn name(&mut self, text: &str) -> (u32, u32) {
        let start = u32::try_from(self.tables.names.len()).unwrap_or(u32::MAX);
        self.tables.names.push_str(text);
        (start, u32::try_from(text.len()).unwrap_or(u32::MAX))
    }

    /// A node that accepts these kinds, shared with others like it.
    fn kind_node(&mut self, types: u8) -> NodeId {
        if types == kinds::ANY {
            return TRUE;
        }
        if let Some((_, id)) = self.kind_nodes.iter().find(|(known, _)| *known == types) {
            return *id;
        }
        let id = self.next_node();
        self.tables.nodes.push(Node { written: id, ..Node::of_kinds(types) });
        self.kind_nodes.push((types, id));
        id
    }

    /// Puts a finished draft into the plan.
    fn finish(&mut self, draft: Draft, reserved: Option<NodeId>, resource: ResourceId) -> NodeId {
        let plain = !draft.integral
            && draft.string.is_none()
            && draft.number.is_none()
            && draft.array.is_none()
            && draft.object.is_none()
            && draft.checks.is_empty();
        if plain && reserved.is_none() {
            return self.kind_node(draft.types);
        }
        let merged = self.merged(&draft, resource);
        let id = reserved.unwrap_or_else(|| self.reserve());
        match merged {
            None => self.put(id, draft, resource),
            Some(merged) => {
                let written = self.reserve();
                self.put(written, draft, resource);
                self.put(id, merged, resource);
                self.tables.nodes[id as usize].written = written;
            }
        }
        id
    }

    fn put(&mut self, id: NodeId, draft: Draft, resource: ResourceId) {
        let mut node = Node { written: id, resource, ..Node::of_kinds(draft.types) };
        if let Some(rule) = draft.string {
            node.string = push(&mut self.tables.strings, rule);
            node.more |= kinds::STRING;
        }
        let mut number = draft.number;
        if draft.integral {
            number.get_or_insert_default().integral = true;
            node.more |= kinds::FLOAT;
        }
        if let Some(rule) = number {
            let bounded = rule.min.is_some() || rule.max.is_some() || rule.multiple_of.is_some();
            node.more |= if bounded { kinds::NUMBER } else { 0 };
            node.number = push(&mut self.tables.numbers, rule);
        }
        if let Some(rule) = draft.array {
            node.array = push(&mut self.tables.arrays, rule);
        }
        if let Some(rule) = draft.object {
            node.object = self.put_object(rule);
        }
        node.checks = u32::try_from(self.tables.checks.len()).unwrap_or(u32::MAX);
        node.check_count = u32::try_from(draft.checks.len()).unwrap_or(u32::MAX);
        for mut check in draft.checks {
            node.more |= check.kinds;
            check.rule.bind(id);
            self.tables.checks.push(check);
        }
        node.more &= node.types;
        self.tables.nodes[id as usize] = node;
    }

    /// Refuses a literal of the schema that is no JSON data, or nested too deep to be compared.
    ///
    /// # Errors
    /// When it is.
    pub fn literal_depth(
        &self,
        scope: &Scope<'_, H::Instance>,
        keyword: Keyword,
        value: H::Instance,
    ) -> Result<(), SchemaError> {
        if self.is_literal(value) {
            return Ok(());
        }
        Err(scope.error(keyword, "Expected JSON data of bounded depth"))
    }

    /// Is a value of the schema JSON data that may be copied and compared?
    pub fn is_literal(&self, value: H::Instance) -> bool {
        is_bounded(value, self.options.limits.depth)
    }

    /// Is the `format` keyword asserted in this dialect?
    pub fn asserts_format(&self, dialect: Dialect) -> bool {
        self.options.formats || dialect.format_assertion
    }

    /// Is `contentEncoding` asserted in this dialect (draft 7 Validation 8)?
    pub fn asserts_content(dialect: Dialect) -> bool {
        dialect.draft == DraftName::D7
    }
}
