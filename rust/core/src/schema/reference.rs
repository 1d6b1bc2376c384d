//! Schema resources and references: `$id`, `$anchor`, `$dynamicAnchor`, and where a `$ref` leads
//! (2020-12 Core 8.2, 9.2). Nothing is fetched: documents come from the caller, the registry, or are built in.

use std::collections::{HashMap, HashSet};

use super::compile::Host;
use super::dialect::{Dialect, Draft};
use super::{SchemaError, uri};
use crate::instance::{Instance, Key, Kind, equal, is_bounded};
use crate::keywords::{Keyword, Subschemas};

/// Index of a schema resource.
pub type ResourceId = u16;

/// The anchor name under which 2019-09's `$recursiveAnchor: true` is kept. No `$anchor` may have it.
pub const RECURSIVE: &str = "\0recursive";

/// A schema resource: a document, or a subschema with its own `$id`.
#[derive(Clone, Debug)]
pub struct Resource<I> {
    /// Its absolute URI without fragment; empty for a document without one.
    pub uri: String,
    /// Its root schema.
    pub root: I,
    /// Its dialect.
    pub dialect: Dialect,
    /// JSON Pointer of its root in the document.
    pub place: String,
}

/// A place that a reference leads to.
#[derive(Clone, Debug)]
pub struct Target<I> {
    /// The subschema.
    pub schema: I,
    /// The resource it belongs to.
    pub resource: ResourceId,
    /// Its JSON Pointer in the document.
    pub place: String,
}

/// All resources known while compiling.
pub struct References<I> {
    resources: Vec<Resource<I>>,
    by_uri: HashMap<String, ResourceId>,
    by_root: HashMap<usize, ResourceId>,
    anchors: HashMap<(ResourceId, String), Target<I>>,
    /// Dynamic anchors in the order found.
    dynamic: Vec<(ResourceId, String)>,
    indexed: Vec<usize>,
    /// Schemas whose anchors are known, by the resource that they stand in.
    seen: HashSet<(usize, ResourceId)>,
    /// Members of large objects that references lead through.
    members: HashMap<usize, HashMap<String, I>>,
    depth_limit: usize,
}

impl<'a, I: Instance<'a>> References<I> {
    /// No resources yet.
    pub fn new(depth_limit: usize) -> Self {
        Self {
            resources: Vec::new(),
            by_uri: HashMap::new(),
            by_root: HashMap::new(),
            anchors: HashMap::new(),
            dynamic: Vec::new(),
            indexed: Vec::new(),
            seen: HashSet::new(),
            members: HashMap::new(),
            depth_limit,
        }
    }

    /// A resource.
    pub fn resource(&self, id: ResourceId) -> &Resource<I> {
        &self.resources[usize::from(id)]
    }

    fn add(
        &mut self,
        uri: String,
        root: I,
        dialect: Dialect,
        place: String,
    ) -> Result<ResourceId, SchemaError> {
        let id = ResourceId::try_from(self.resources.len()).map_err(|_| SchemaError {
            message: "The schema has more than 65535 resources with their own $id".to_owned(),
            schema_path: place.clone(),
            keyword: Some("$id"),
        })?;
        if !uri.is_empty() {
            let first = *self.by_uri.entry(uri.clone()).or_insert(id);
            if first != id && !self.is_same(self.resource(first).root, root) {
                return Err(Self::named_twice(&uri, dialect.id_keyword(), &place));
            }
        }
        self.by_root.insert(root.identity(), id);
        self.resources.push(Resource { uri, root, dialect, place });
        Ok(id)
    }

    /// Adds a document found at `location` (empty for the schema itself).
    ///
    /// # Errors
    /// When its `$schema` is not known, or a resource in it is malformed.
    pub fn add_document<H: Host<'a, Instance = I>>(
        &mut self,
        host: &mut H,
        location: &str,
        root: I,
        default: Dialect,
    ) -> Result<ResourceId, SchemaError> {
        let dialect = Self::dialect_of(host, root, default, "")?;
        // Also beside a $ref of draft 7: there is no base around the document that could hold in its place.
        let own =
            text_of(root, dialect.id_keyword()).map(|id| uri::resolve(location, uri::split_fragment(id).0));
        let id = self.add(own.unwrap_or_else(|| location.to_owned()), root, dialect, String::new())?;
        if !location.is_empty() {
            self.by_uri.entry(location.to_owned()).or_insert(id);
        }
        Ok(id)
    }

    /// The dialect that `$schema` names, with the vocabularies of its meta-schema.
    fn dialect_of<H: Host<'a, Instance = I>>(
        host: &mut H,
        schema: I,
        default: Dialect,
        place: &str,
    ) -> Result<Dialect, SchemaError> {
        let Some(value) = schema.member(0, "$schema") else { return Ok(default) };
        let error = |message: String| SchemaError {
            message,
            schema_path: format!("{place}/$schema"),
            keyword: Some("$schema"),
        };
        if value.kind() != Kind::String {
            return Err(error("Expected $schema to be a URI string".to_owned()));
        }
        let mut name = value.text().to_owned();
        let mut chain = Vec::new();
        // A custom meta-schema may be written in another custom one: follow to a known dialect.
        let (base, meta) = loop {
            if let Some(known) = Dialect::named(&name).filter(|_| name.contains(':')) {
                break (known, chain.last().copied());
            }
            let unknown = || error(format!("Unknown meta-schema {}", crate::issue::quoted(&name)));
            if chain.len() > 8 {
                return Err(unknown());
            }
            let document = host.retrieve(uri::split_fragment(&name).0)?.ok_or_else(unknown)?;
            chain.push(document);
            match document.member(0, "$schema") {
                Some(next) if next.kind() == Kind::String && next.text() != name => {
                    next.text().clone_into(&mut name);
                }
                _ => break (default, Some(document)),
            }
        };
        let vocabulary =
            chain.first().copied().or(meta).and_then(|document| document.member(0, "$vocabulary"));
        let Some(vocabulary) = vocabulary.filter(|value| value.kind() == Kind::Object) else {
            return Ok(base);
        };
        let mut dialect = base.bare();
        let mut refused = None;
        vocabulary.members(|key, required| {
            if !dialect.add_vocabulary(key.text()) && required.boolean() {
                refused = Some(key.text().to_owned());
            }
            true
        });
        match refused {
            Some(uri) => Err(error(format!("The meta-schema requires an unknown vocabulary {uri}"))),
            None => Ok(dialect),
        }
    }

    /// The resource whose root this subschema is, once its document is indexed.
    ///
    /// # Errors
    /// When the document is malformed where it is read for the first time.
    pub fn resource_at<H: Host<'a, Instance = I>>(
        &mut self,
        host: &mut H,
        schema: I,
        inside: ResourceId,
    ) -> Result<ResourceId, SchemaError> {
        if let Some(id) = self.by_root.get(&schema.identity()) {
            return Ok(*id);
        }
        self.index_all(host)?;
        Ok(self.by_root.get(&schema.identity()).copied().unwrap_or(inside))
    }

    /// Reads the identifiers of every document that was added and not yet read.
    fn index_all<H: Host<'a, Instance = I>>(&mut self, host: &mut H) -> Result<(), SchemaError> {
        let mut at = 0;
        while at < self.resources.len() {
            let Resource { root, place, .. } = &self.resources[at];
            let (root, place) = (*root, place.clone());
            if place.is_empty() && !self.indexed.contains(&root.identity()) {
                self.indexed.push(root.identity());
                let id = ResourceId::try_from(at).unwrap_or(0);
                self.index(host, root, id, &mut String::new(), 0)?;
            }
            at += 1;
        }
        Ok(())
    }

    fn index<H: Host<'a, Instance = I>>(
        &mut self,
        host: &mut H,
        schema: I,
        inside: ResourceId,
        place: &mut String,
        depth: usize,
    ) -> Result<(), SchemaError> {
        if schema.kind() != Kind::Object {
            return Ok(());
        }
        if depth > self.depth_limit {
            return Err(SchemaError {
                message: format!("The schema is nested deeper than {} levels", self.depth_limit),
                schema_path: place.clone(),
                keyword: None,
            });
        }
        if !self.seen.insert((schema.identity(), inside)) {
            return Ok(()); // one object at several places: its anchors name the first
        }
        let mut inside = inside;
        let mut dialect = self.resource(inside).dialect;
        if depth > 0 && schema.member(0, "$schema").is_some() {
            dialect = Self::dialect_of(host, schema, dialect, place)?;
        }
        let plain_ref = is_plain_ref(schema, dialect);
        if let Some(id) = id_of(schema, dialect) {
            let (absolute, fragment) = uri::split_fragment(id);
            if dialect.draft <= Draft::D7 && absolute.is_empty() && !fragment.is_empty() {
                self.anchor(inside, fragment, dialect.id_keyword(), schema, place)?;
            } else if depth > 0 {
                let resolved = uri::resolve(&self.resource(inside).uri, absolute);
                inside = self.add(resolved, schema, dialect, place.clone())?;
                if dialect.draft <= Draft::D7 && !fragment.is_empty() {
                    self.anchor(inside, fragment, dialect.id_keyword(), schema, place)?;
                }
            }
        }
        if dialect.draft >= Draft::D2019 {
            if let Some(anchor) = text_of(schema, "$anchor") {
                self.anchor(inside, anchor, "$anchor", schema, place)?;
            }
            if dialect.draft >= Draft::D2020 {
                if let Some(anchor) = text_of(schema, "$dynamicAnchor") {
                    self.anchor(inside, anchor, "$dynamicAnchor", schema, place)?;
                    self.dynamic.push((inside, anchor.to_owned()));
                }
            } else if schema.member(0, "$recursiveAnchor").is_some_and(Instance::boolean) {
                self.anchor(inside, RECURSIVE, "$recursiveAnchor", schema, place)?;
                self.dynamic.push((inside, RECURSIVE.to_owned()));
            }
        }
        let mut found = Vec::new();
        schema.members(|key, value| {
            // Beside a plain $ref only definitions may be referred to.
            if let Some(keyword) = Keyword::lookup(key.text())
                && (!plain_ref || keyword == Keyword::Definitions)
            {
                found.push((keyword, value));
            }
            true
        });
        for (keyword, value) in found {
            let length = place.len();
            uri::push_token(place, keyword.name());
            self.index_subschemas(host, keyword.subschemas(), value, inside, place, depth)?;
            place.truncate(length);
        }
        Ok(())
    }

    fn index_subschemas<H: Host<'a, Instance = I>>(
        &mut self,
        host: &mut H,
        subschemas: Subschemas,
        value: I,
        inside: ResourceId,
        place: &mut String,
        depth: usize,
    ) -> Result<(), SchemaError> {
        let mut children: Vec<(String, I)> = Vec::new();
        match (subschemas, value.kind()) {
            (Subschemas::One | Subschemas::OneOrList, Kind::Object) => {
                return self.index(host, value, inside, place, depth + 1);
            }
            (Subschemas::List | Subschemas::OneOrList, Kind::Array) => {
                value.items(|index, item| {
                    children.push((index.to_string(), item));
                    true
                });
            }
            (Subschemas::Map, Kind::Object) => {
                value.members(|key, item| {
                    children.push((key.text().to_owned(), item));
                    true
                });
            }
            _ => return Ok(()),
        }
        for (token, child) in children {
            let length = place.len();
            uri::push_token(place, &token);
            self.index(host, child, inside, place, depth + 1)?;
            place.truncate(length);
        }
        Ok(())
    }

    /// Is a schema that has the name of another the same one, written out again?
    fn is_same(&self, one: I, other: I) -> bool {
        one.identity() == other.identity()
            || (is_bounded(one, self.depth_limit) && is_bounded(other, self.depth_limit) && equal(one, other))
    }

    fn anchor(
        &mut self,
        resource: ResourceId,
        name: &str,
        keyword: &'static str,
        schema: I,
        place: &str,
    ) -> Result<(), SchemaError> {
        let target = Target { schema, resource, place: place.to_owned() };
        let first = self.anchors.entry((resource, name.to_owned())).or_insert(target).schema;
        // A pointer as the fragment of an $id, which some generators write, names nothing.
        if name == RECURSIVE || name.starts_with('/') || self.is_same(first, schema) {
            return Ok(());
        }
        Err(Self::named_twice(name, keyword, place))
    }

    /// A URI cannot identify two schemas (2020-12 Core 9.1.2).
    fn named_twice(name: &str, keyword: &'static str, place: &str) -> SchemaError {
        let message = format!("Another schema has the name {} already", crate::issue::quoted(name));
        SchemaError { message, schema_path: format!("{place}/{keyword}"), keyword: Some(keyword) }
    }

    /// Where a reference leads, seen from a resource. None where it leads nowhere.
    ///
    /// # Errors
    /// When the document it leads to is malformed, or the registry failed.
    pub fn resolve<H: Host<'a, Instance = I>>(
        &mut self,
        host: &mut H,
        reference: &str,
        from: ResourceId,
    ) -> Result<Option<Target<I>>, SchemaError> {
        let (relative, fragment) = uri::split_fragment(reference);
        let resource = if relative.is_empty() {
            from
        } else {
            self.index_all(host)?;
            let absolute = uri::resolve(&self.resource(from).uri, relative);
            match self.find(host, &absolute, from)? {
                Some(id) => id,
                None => return Ok(None),
            }
        };
        let fragment = uri::percent_decoded(fragment);
        if fragment.is_empty() {
            let Resource { root, place, .. } = self.resource(resource);
            return Ok(Some(Target { schema: *root, resource, place: place.clone() }));
        }
        if !fragment.starts_with('/') {
            self.index_all(host)?;
            return Ok(self.anchors.get(&(resource, fragment.into_owned())).cloned());
        }
        self.walk(host, resource, &fragment)
    }

    fn find<H: Host<'a, Instance = I>>(
        &mut self,
        host: &mut H,
        absolute: &str,
        from: ResourceId,
    ) -> Result<Option<ResourceId>, SchemaError> {
        if let Some(id) = self.by_uri.get(absolute) {
            return Ok(Some(*id));
        }
        let document = match host.builtin(absolute) {
            Some(document) => document,
            None => match host.retrieve(absolute)? {
                Some(document) => document,
                None => return Ok(None),
            },
        };
        let dialect = self.resource(from).dialect;
        let id = self.add_document(host, absolute, document, dialect)?;
        self.index_all(host)?;
        Ok(Some(id))
    }

    fn walk<H: Host<'a, Instance = I>>(
        &mut self,
        host: &mut H,
        resource: ResourceId,
        pointer: &str,
    ) -> Result<Option<Target<I>>, SchemaError> {
        let Resource { root, place, .. } = self.resource(resource);
        let (mut schema, mut place, mut resource) = (*root, place.clone(), resource);
        for token in uri::pointer_tokens(pointer) {
            let next = match schema.kind() {
                Kind::Object => self.member(schema, &token),
                Kind::Array => uri::array_index(&token).and_then(|index| schema.item(index)),
                _ => None,
            };
            let Some(next) = next else { return Ok(None) };
            schema = next;
            uri::push_token(&mut place, &token);
            let has_id = schema.kind() == Kind::Object
                && (self.member(schema, "$id").is_some() || self.member(schema, "id").is_some());
            if has_id && id_of(schema, self.resource(resource).dialect).is_some() {
                resource = self.resource_at(host, schema, resource)?;
            }
        }
        Ok(Some(Target { schema, resource, place }))
    }

    /// The member of a name; many of one object are found by a table, not by a walk each.
    fn member(&mut self, object: I, name: &str) -> Option<I> {
        const FEW: usize = 32;
        if object.len() <= FEW {
            return object.member(0, name);
        }
        let table = self.members.entry(object.identity()).or_insert_with(|| {
            let mut table = HashMap::with_capacity(object.len());
            object.members(|key, item| {
                table.insert(key.text().to_owned(), item);
                true
            });
            table
        });
        table.get(name).copied()
    }

    /// Is the target of a `$dynamicRef` itself a dynamic anchor of that name (2020-12 Core 8.2.3.2)?
    pub fn is_dynamic(&self, resource: ResourceId, anchor: &str) -> bool {
        self.dynamic.iter().any(|(id, name)| *id == resource && name == anchor)
    }

    /// All dynamic anchors of a name, over every resource known by now.
    pub fn dynamic_targets(&self, anchor: &str) -> Vec<Target<I>> {
        self.dynamic
            .iter()
            .filter(|(_, name)| name == anchor)
            .filter_map(|key| self.anchors.get(key).cloned())
            .collect()
    }
}

/// The `$id` of a schema, where it names a resource or (up to draft 7) an anchor.
fn id_of<'a, I: Instance<'a>>(schema: I, dialect: Dialect) -> Option<&'a str> {
    if is_plain_ref(schema, dialect) { None } else { text_of(schema, dialect.id_keyword()) }
}

/// Is it a reference beside which nothing counts (draft 7 Core 8.3)?
fn is_plain_ref<'a, I: Instance<'a>>(schema: I, dialect: Dialect) -> bool {
    !dialect.ref_has_siblings() && text_of(schema, "$ref").is_some()
}

/// The text of a schema's member, where it is a string.
fn text_of<'a, I: Instance<'a>>(schema: I, word: &str) -> Option<&'a str> {
    if schema.kind() != Kind::Object {
        return None;
    }
    schema.member(0, word).filter(|value| value.kind() == Kind::String).map(Instance::text)
}
