//! The last steps of a compilation: objects' names bound to their nodes, merged nodes, circles refused, tables packed.

use std::collections::HashSet;

use super::SchemaError;
use super::compile::{Compiler, Host};
use super::draft::{Draft, ObjectDraft, can_join_objects, join_numbers, join_strings};
use super::reference::ResourceId;
use super::tables::push;
use crate::instance::{Kind, kinds};
use crate::keywords::{Check, all_of, if_};
use crate::plan::{FALSE, FEW_NAMES, NONE, Node, NodeId, ObjectRule, Plan, Property, TRUE, short_hash};

/// From so many on the conditions in a list of `allOf` are not merged into its node.
const MANY_CONDITIONS: usize = 3;

impl<'a, H: Host<'a>> Compiler<'_, 'a, H> {
    /// The node that stands for all of these at once.
    pub fn conjunction(&mut self, nodes: &[NodeId]) -> NodeId {
        let mut kept: Vec<NodeId> = Vec::new();
        for node in nodes {
            if *node == FALSE {
                return FALSE;
            }
            if *node != TRUE && !kept.contains(node) {
                kept.push(*node);
            }
        }
        match kept.as_slice() {
            [] => TRUE,
            [one] => *one,
            _ => {
                let id = push(&mut self.tables.nodes, Node::of_kinds(kinds::ANY));
                let check = all_of::of(kept.into());
                let node = &mut self.tables.nodes[id as usize];
                node.written = id;
                node.more = check.kinds;
                node.checks = push(&mut self.tables.checks, check);
                node.check_count = 1;
                id
            }
        }
    }

    /// What a member of this name must satisfy under an object's keywords, apart from `properties`.
    fn beside_properties(
        &self,
        object: &ObjectDraft,
        name: &str,
        declared: bool,
        limit: &mut bool,
    ) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        for (pattern, node) in &object.patterns {
            match self.tables.patterns[*pattern as usize].is_match(name) {
                Ok(true) => nodes.push(*node),
                Ok(false) => {}
                Err(_) => *limit = true,
            }
        }
        if nodes.is_empty() && !declared {
            nodes.push(object.additional);
        }
        nodes
    }

    /// Puts an object's keywords into the plan: each name gets the node that its member must satisfy.
    pub(super) fn put_object(&mut self, mut object: ObjectDraft) -> u32 {
        for at in 0..object.properties.len() {
            let property = &object.properties[at];
            let range = property.start as usize..(property.start + property.len) as usize;
            let name = self.tables.names[range].to_owned();
            let declared = property.declared != NONE;
            if property.node == NONE {
                let mut nodes = if declared { vec![property.declared] } else { Vec::new() };
                let mut over = false;
                nodes.extend(self.beside_properties(&object, &name, declared, &mut over));
                // A pattern that exceeds its step limit on a name that the schema itself holds never lets it pass.
                let node = if over { FALSE } else { self.conjunction(&nodes) };
                object.properties[at].node = node;
            }
        }
        let first = u32::try_from(self.tables.properties.len()).unwrap_or(u32::MAX);
        let count = object.properties.len();
        let required = object.properties.iter().filter(|property| property.required).count();
        let (table, mask) = self.put_table(&object.properties);
        let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let first_default = narrow(self.tables.with_default.len());
        let with_default = (0..).zip(&object.properties).filter(|(_, property)| property.default != NONE);
        self.tables.with_default.extend(with_default.map(|(at, _)| at));
        let rule = ObjectRule {
            first,
            count: narrow(count),
            required: narrow(required),
            table,
            mask,
            additional: object.additional,
            first_default,
            default_count: narrow(self.tables.with_default.len()) - first_default,
            has_additional: object.has_additional,
            min: object.min,
            max: object.max,
            patterns: object.patterns.into(),
        };
        self.tables.properties.extend(object.properties);
        push(&mut self.tables.objects, rule)
    }

    fn put_table(&mut self, properties: &[Property]) -> (u32, u32) {
        if properties.len() <= FEW_NAMES {
            return (NONE, 0);
        }
        let size = (properties.len() * 4).next_power_of_two();
        let start = self.tables.slots.len();
        self.tables.slots.resize(start + size, 0);
        for (index, property) in properties.iter().enumerate() {
            let range = property.start as usize..(property.start + property.len) as usize;
            let mut at = short_hash(self.tables.names[range].as_bytes()) as usize & (size - 1);
            while self.tables.slots[start + at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.tables.slots[start + at] = u32::try_from(index + 1).unwrap_or(0);
        }
        (u32::try_from(start).unwrap_or(NONE), u32::try_from(size - 1).unwrap_or(0))
    }

    /// The draft with the nodes that apply to the same value merged in; None where none could be.
    pub(super) fn merged(&mut self, draft: &Draft, resource: ResourceId) -> Option<Draft> {
        let mut merged = draft.clone();
        merged.merge.clear();
        let mut taken = Vec::new();
        let mut seen = HashSet::new();
        let is_condition = |run: &Self, node: &NodeId| {
            run.is_finished(*node) && if_::sole_condition(*node, &run.tables).is_some()
        };
        // Many conditions stay together: a look at one member may answer most of them.
        let together = draft.merge.iter().filter(|node| is_condition(self, node)).count() >= MANY_CONDITIONS;
        for node in &draft.merge {
            if together && is_condition(self, node) {
                continue;
            }
            // A node of another resource is entered as it stands: dynamic references ask which resources were.
            let is_own = self.tables.nodes[*node as usize].resource == resource;
            if seen.insert(*node) && is_own && self.is_finished(*node) && self.absorb(&mut merged, *node) {
                taken.push(*node);
            }
        }
        if taken.is_empty() {
            return None;
        }
        taken.sort_unstable();
        merged.checks.retain_mut(|check| check.rule.without(&taken));
        Some(merged)
    }

    /// Merges a finished node into a draft, or leaves the draft as it was.
    fn absorb(&mut self, draft: &mut Draft, id: NodeId) -> bool {
        let node = self.tables.nodes[id as usize].clone();
        let checks = &self.tables.checks[node.checks as usize..(node.checks + node.check_count) as usize];
        let size = checks.len()
            + draft.checks.len()
            + object_size(&self.tables.objects, node.object)
            + draft.object.as_ref().map_or(0, |object| object.properties.len());
        if size > self.merge_budget {
            return false;
        }
        self.merge_budget -= size;
        if id <= FALSE || !checks.iter().all(|check| check.rule.is_portable()) {
            return false;
        }
        let checks: Vec<Check> = checks.to_vec();
        let string = rule(&self.tables.strings, node.string).cloned();
        let string = match (&draft.string, string) {
            (None, other) => other,
            (Some(own), None) => Some(own.clone()),
            (Some(own), Some(other)) => match join_strings(own, &other) {
                Some(joined) => Some(joined),
                None => return false,
            },
        };
        let number = rule(&self.tables.numbers, node.number).cloned();
        let number = match (&draft.number, number) {
            (None, other) => other,
            (Some(own), None) => Some(own.clone()),
            (Some(own), Some(other)) => match join_numbers(own, &other) {
                Some(joined) => Some(joined),
                None => return false,
            },
        };
        let array = match (&draft.array, rule(&self.tables.arrays, node.array).cloned()) {
            (None, other) => other,
            (Some(own), None) => Some(own.clone()),
            (Some(_), Some(_)) => return false,
        };
        let object = match (draft.object.clone(), self.object_draft(&node)) {
            (None, other) => other,
            (Some(own), None) => Some(own),
            (Some(own), Some(other)) if can_join_objects(&own, &other) => {
                Some(self.join_objects(own, &other))
            }
            _ => return false,
        };
        draft.types &= node.types;
        draft.integral |= number.as_ref().is_some_and(|rule| rule.integral);
        draft.string = string;
        draft.number = number;
        draft.array = array;
        draft.object = object;
        draft.checks.extend(checks);
        true
    }

    fn object_draft(&self, node: &Node) -> Option<ObjectDraft> {
        let rule = rule(&self.tables.objects, node.object)?;
        let properties = &self.tables.properties[rule.first as usize..(rule.first + rule.count) as usize];
        Some(ObjectDraft {
            properties: properties.to_vec(),
            patterns: rule.patterns.to_vec(),
            additional: rule.additional,
            has_additional: rule.has_additional,
            min: rule.min,
            max: rule.max,
        })
    }

    fn join_objects(&mut self, mut own: ObjectDraft, other: &ObjectDraft) -> ObjectDraft {
        let name_of = |names: &str, property: &Property| {
            names[property.start as usize..(property.start + property.len) as usize].to_owned()
        };
        let node_of = |property: &Property, additional: NodeId| match (property.node, property.declared) {
            (NONE, NONE) => additional,
            (NONE, declared) => declared,
            (node, _) => node,
        };
        let mut used = vec![false; other.properties.len()];
        let positions: std::collections::HashMap<String, usize> = other
            .properties
            .iter()
            .enumerate()
            .map(|(index, property)| (name_of(&self.tables.names, property), index))
            .collect();
        for property in &mut own.properties {
            let mut nodes = vec![node_of(property, own.additional)];
            if let Some(index) = positions.get(&name_of(&self.tables.names, property)) {
                used[*index] = true;
                let twin = &other.properties[*index];
                nodes.push(node_of(twin, other.additional));
                property.required |= twin.required;
                if property.default == NONE {
                    property.default = twin.default;
                }
            } else {
                nodes.push(other.additional);
            }
            property.node = self.conjunction(&nodes);
            property.declared = property.node;
        }
        for (property, _) in other.properties.iter().zip(&used).filter(|(_, used)| !**used) {
            let node = self.conjunction(&[node_of(property, other.additional), own.additional]);
            own.properties.push(Property { node, declared: node, ..property.clone() });
        }
        own.additional = self.conjunction(&[own.additional, other.additional]);
        own.min = own.min.max(other.min);
        own.max = own.max.min(other.max);
        own
    }

    /// Refuses circles of schemas that apply to the same value: they would never end (2020-12 Core 9.4.1).
    pub(super) fn refuse_circles(&self) -> Result<(), SchemaError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        if self.tables.places.len() < 2 && !self.tables.checks.iter().any(|check| check.rule.refers()) {
            return Ok(());
        }
        let mut marks = vec![Mark::New; self.tables.nodes.len()];
        for start in 0..self.tables.nodes.len() {
            let mut stack = vec![(start, false)];
            while let Some((at, leaving)) = stack.pop() {
                if leaving {
                    marks[at] = Mark::Done;
                    continue;
                }
                match marks[at] {
                    Mark::Done => continue,
                    Mark::Open => {
                        let place = self.tables.places.iter().find(|(node, _)| *node as usize == at);
                        return Err(SchemaError {
                            message: "The references form a circle that never reaches into the value"
                                .to_owned(),
                            schema_path: place.map(|(_, place)| place.to_string()).unwrap_or_default(),
                            keyword: Some("$ref"),
                        });
                    }
                    Mark::New => {}
                }
                marks[at] = Mark::Open;
                stack.push((at, true));
                let node = &self.tables.nodes[at];
                let checks =
                    &self.tables.checks[node.checks as usize..(node.checks + node.check_count) as usize];
                for check in checks {
                    check.rule.in_place(&mut |next| {
                        if marks[next as usize] != Mark::Done {
                            stack.push((next as usize, false));
                        }
                    });
                }
            }
        }
        Ok(())
    }

    /// Copies what the drivers want at hand: a member's kinds into its name, a branch's kinds into its table.
    fn copy_kinds(&mut self) {
        for at in 0..self.tables.checks.len() {
            if self.tables.checks[at].rule.is_list() {
                // It looks at the checks of its branches: it is taken out while it does.
                let mut rule = self.tables.checks[at].rule.clone();
                rule.sort_branches(&self.tables);
                self.tables.checks[at].rule = rule;
            }
        }
        let nodes = &self.tables.nodes;
        let mut narrowed: Vec<u8> = nodes.iter().map(|node| node.types).collect();
        for (id, node) in nodes.iter().enumerate() {
            for check in &self.tables.checks[node.checks as usize..(node.checks + node.check_count) as usize]
            {
                narrowed[id] &= check.rule.accepted_kinds(nodes);
            }
        }
        for (node, types) in self.tables.nodes.iter_mut().zip(narrowed) {
            node.types = types;
            node.more &= types;
        }
        for id in 0..self.tables.nodes.len() {
            self.tables.nodes[id].more &= !self.settled_kinds(&self.tables.nodes[id]);
        }
        for id in 0..self.tables.nodes.len() {
            if self.has_flat_arrays(&self.tables.nodes[id]) {
                self.tables.nodes[id].more |= kinds::FLAT;
            }
        }
        for property in &mut self.tables.properties {
            let node = &self.tables.nodes[property.node as usize];
            (property.types, property.more) = (node.types, node.more);
        }
    }

    /// Are a node's arrays judged by their length and the kinds of their items alone?
    fn has_flat_arrays(&self, node: &Node) -> bool {
        node.types & kinds::ARRAY != 0
            && node.check_count == 0
            && self
                .tables
                .arrays
                .get(node.array as usize)
                .is_some_and(|rule| rule.prefix.is_empty() && self.tables.nodes[rule.rest as usize].more == 0)
    }

    /// The kinds without parts of which a node asks no more than its kind: each of its keywords leaves one schema for the kind,
    /// and that one asks for nothing else (`anyOf` of a string and null). Branches were put before what chooses among them.
    fn settled_kinds(&self, node: &Node) -> u8 {
        const LEAVES: [Kind; 5] = [Kind::Null, Kind::Bool, Kind::Integer, Kind::Float, Kind::String];
        let checks = &self.tables.checks[node.checks as usize..(node.checks + node.check_count) as usize];
        let is_settled = |kind: &Kind| {
            let bit = kind.bit();
            let rule = match kind {
                Kind::String => node.string,
                Kind::Integer | Kind::Float => node.number,
                _ => NONE,
            };
            let asks_no_more = |branch: NodeId| {
                let branch = &self.tables.nodes[branch as usize];
                branch.types & bit != 0 && branch.more & bit == 0
            };
            rule == NONE
                && checks
                    .iter()
                    .all(|check| check.kinds & bit == 0 || check.rule.sole(*kind).is_some_and(asks_no_more))
        };
        LEAVES.iter().filter(|kind| is_settled(kind)).fold(0, |kinds, kind| kinds | kind.bit())
    }

    /// By node: is there a default somewhere below?
    fn reach_of_defaults(&self) -> Box<[bool]> {
        if self.tables.defaults.is_empty() {
            return Box::default();
        }
        let nodes = &self.tables.nodes;
        let mut reach = vec![false; nodes.len()];
        for (id, node) in nodes.iter().enumerate() {
            reach[id] = rule(&self.tables.objects, node.object).is_some_and(ObjectRule::has_defaults);
        }
        loop {
            let before = reach.iter().filter(|marked| **marked).count();
            for (id, node) in nodes.iter().enumerate().rev() {
                if !reach[id] {
                    let mut below = false;
                    self.each_child(node, &mut |child| below |= reach[child as usize]);
                    reach[id] = below;
                }
            }
            if before == reach.iter().filter(|marked| **marked).count() {
                return reach.into();
            }
        }
    }

    /// Is there no default behind a keyword that applies in place, nor behind a pattern, of which several may match?
    fn are_defaults_plain(&self, reach: &[bool]) -> bool {
        let leads = |node: NodeId| reach.get(node as usize).copied().unwrap_or(false);
        let mut plain = true;
        for check in &self.tables.checks {
            check.rule.in_place(&mut |node| plain &= !leads(node));
        }
        plain && !self.tables.objects.iter().flat_map(|rule| &rule.patterns).any(|(_, node)| leads(*node))
    }

    fn each_child(&self, node: &Node, visit: &mut dyn FnMut(NodeId)) {
        visit(node.written);
        for check in &self.tables.checks[node.checks as usize..(node.checks + node.check_count) as usize] {
            check.rule.in_place(visit);
        }
        if let Some(rule) = rule(&self.tables.objects, node.object) {
            let properties = &self.tables.properties[rule.first as usize..(rule.first + rule.count) as usize];
            properties
                .iter()
                .filter(|property| property.declared != NONE)
                .for_each(|property| visit(property.declared));
            rule.patterns.iter().for_each(|(_, node)| visit(*node));
            visit(rule.additional);
        }
        if let Some(rule) = rule(&self.tables.arrays, node.array) {
            rule.prefix.iter().for_each(|node| visit(*node));
            visit(rule.rest);
        }
    }

    /// Closes the plan.
    pub(super) fn link(mut self, root: NodeId) -> Result<Plan, SchemaError> {
        self.refuse_circles()?;
        self.copy_kinds();
        let anchors = self.anchors();
        let to_default = self.reach_of_defaults();
        let plain_defaults = self.are_defaults_plain(&to_default);
        let dialect = self.references.resource(0).dialect;
        let mut tables = self.tables;
        tables.places.sort_by_key(|(node, _)| *node);
        let is_free = tables.nodes[root as usize].is_free();
        Ok(Plan {
            root,
            is_free,
            nodes: tables.nodes.into(),
            strings: tables.strings.into(),
            numbers: tables.numbers.into(),
            arrays: tables.arrays.into(),
            objects: tables.objects.into(),
            properties: tables.properties.into(),
            slots: tables.slots.into(),
            names: tables.names.into(),
            checks: tables.checks.into(),
            patterns: tables.patterns.into(),
            sets: tables.sets.into(),
            places: tables.places.into(),
            with_default: tables.with_default.into(),
            defaults: tables.defaults.into(),
            to_default,
            plain_defaults,
            anchors: anchors.into(),
            dialect,
            limits: self.options.limits,
            early: std::sync::OnceLock::new(),
        })
    }
}

/// How many names an object rule has.
fn object_size(rules: &[ObjectRule], at: u32) -> usize {
    rule(rules, at).map_or(0, |rule| rule.count as usize)
}

fn rule<T>(table: &[T], at: u32) -> Option<&T> {
    table.get(at as usize)
}
