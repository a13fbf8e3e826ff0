//! Makes nodes: the text of a constructor is written, and read as a tree of its own.

use super::evaluator::{Evaluator, Focus, Item, Items, NodeRef};
use super::expr::{Constructor, Expr, Part};
use super::tree::{Kind, Name};
use super::writer::{Edits, Writer};
use crate::SqlResult;

impl Evaluator<'_> {
    /// The node of a constructor. Errors 6308 of two attributes of one name, 701.
    #[inline(never)]
    pub(super) fn construct(&mut self, expr: &Expr, focus: &Focus) -> SqlResult<Items> {
        let mut writer = Writer::default();
        let is_attribute = matches!(expr, Expr::Attribute(..));
        if is_attribute {
            let holder = Name { local: "holder".to_string(), ..Name::default() };
            writer.start(&holder, &[]);
        }
        let mut written = Vec::new();
        self.write(expr, focus, &mut writer, &mut written)?;
        if is_attribute {
            writer.end();
        }
        let tree = self.add_tree(&writer.out, true)?;
        let tree_of = &self.trees[tree as usize];
        let node = match is_attribute {
            true => tree_of.attributes(1).find(|at| tree_of.node(*at).kind == Kind::Attribute),
            false => (tree_of.node_count() > 1).then_some(1),
        };
        Ok(node.map(|node| Item::Node(NodeRef { tree, node })).into_iter().collect())
    }

    /// Writes what a constructor makes. `attributes`: those of the element around it, as long as it has no other content.
    fn write(
        &mut self,
        expr: &Expr,
        focus: &Focus,
        writer: &mut Writer,
        attributes: &mut Vec<(String, String)>,
    ) -> SqlResult<()> {
        match expr {
            Expr::Element(element) => self.write_element(element, focus, writer),
            Expr::Comment(text) => {
                writer.comment(text);
                Ok(())
            }
            Expr::Instruction(parts) => {
                writer.instruction(&parts.0, &parts.1);
                Ok(())
            }
            Expr::Text(value) => {
                let items = self.eval(value, focus)?;
                writer.text(&self.spaced(&items));
                Ok(())
            }
            Expr::Attribute(parts) => {
                let (name, value) = parts.as_ref();
                let items = self.eval(value, focus)?;
                let value = self.spaced(&items);
                write_attribute(writer, attributes, name, &value)
            }
            expr => {
                let items = self.eval(expr, focus)?;
                self.write_items(&items, writer, attributes)
            }
        }
    }

    #[inline(never)]
    fn write_element(&mut self, element: &Constructor, focus: &Focus, writer: &mut Writer) -> SqlResult<()> {
        writer.start(&element.name, &element.namespaces);
        let mut attributes = Vec::new();
        for (name, parts) in &element.attributes {
            let mut value = String::new();
            for part in parts {
                match part {
                    Part::Text(text) => value.push_str(text),
                    Part::Expr(expr) => {
                        let items = self.eval(expr, focus)?;
                        value.push_str(&self.spaced(&items));
                    }
                }
            }
            write_attribute(writer, &mut attributes, name, &value)?;
        }
        for part in &element.content {
            match part {
                Part::Text(text) => writer.text(text),
                Part::Expr(Expr::Sequence(list)) => {
                    let are_made =
                        |expr: &Expr| matches!(expr, Expr::Element(_) | Expr::Attribute(..) | Expr::Text(_));
                    match list.iter().any(are_made) {
                        true => {
                            for expr in list {
                                self.write(expr, focus, writer, &mut attributes)?;
                            }
                        }
                        false => {
                            let items = self.eval(&Expr::Sequence(list.clone()), focus)?;
                            self.write_items(&items, writer, &mut attributes)?;
                        }
                    }
                }
                Part::Expr(expr) => self.write(expr, focus, writer, &mut attributes)?,
            }
            self.ask(writer.out.len())?;
        }
        writer.end();
        Ok(())
    }

    /// Writes items as the content of an element: values that follow each other have a space between them.
    pub(super) fn write_items(
        &mut self,
        items: &[Item],
        writer: &mut Writer,
        attributes: &mut Vec<(String, String)>,
    ) -> SqlResult<()> {
        let mut is_behind_value = false;
        for item in items {
            self.look()?;
            match item {
                Item::Atom(atom) => {
                    if is_behind_value {
                        writer.text(" ");
                    }
                    writer.text(&atom.text());
                }
                Item::Node(node) if self.kind(*node) == Kind::Attribute => {
                    let tree = self.trees[node.tree as usize].clone();
                    write_attribute(writer, attributes, tree.name(node.node), tree.value(node.node))?;
                }
                Item::Node(node) => {
                    self.ask(self.tree(*node).value(node.node).len())?;
                    writer.node(&self.trees[node.tree as usize], node.node, &Edits::default());
                }
            }
            is_behind_value = matches!(item, Item::Atom(_));
        }
        Ok(())
    }

    /// The values of items with spaces between them.
    pub(super) fn spaced(&self, items: &[Item]) -> String {
        let texts: Vec<String> = items.iter().map(|item| self.text(item)).collect();
        texts.join(" ")
    }
}

/// Error 6308.
fn write_attribute(
    writer: &mut Writer,
    known: &mut Vec<(String, String)>,
    name: &Name,
    value: &str,
) -> SqlResult<()> {
    let key = (name.uri.clone(), name.local.clone());
    if known.contains(&key) {
        return Err(crate::SqlError::new(6308, &[&name.local]));
    }
    known.push(key);
    writer.attribute(name, value);
    Ok(())
}
