//! WITH SCHEMABINDING: objects to which a module refers can be neither dropped nor changed.
//!
//! The catalog stores only the module's text. Names in it have two parts (checked at creation, error 4512), so it suffices to look for
//! pairs of words with a period between them: an object with such a name is referenced. The columns that a view or an inline function uses are found
//! by binding it again. A procedure references a column if the column's name occurs in its text, or if the text takes all columns of a table (`*`,
//! INSERT without a list). That may protect a column of which only a namesake is used; it never misses one that is used.

use std::sync::Arc;

use binder::Observed;
use engine::{CatalogImage, Database, Lookup, ModuleDef, ModuleKind, ObjectDef, ObjectId, TableDef};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::{same_name, written};
use tsql::{Keyword, Lexer, Token, TokenKind};
use types::SqlError;

/// What a text names.
struct Named {
    /// Schema and name, and whether all columns are taken.
    objects: Vec<(String, String, bool)>,
    words: Vec<String>,
}

impl Named {
    fn of(text: &str, quoted_identifier: bool) -> Named {
        let tokens: Vec<Token> = Lexer::new(text, quoted_identifier).collect();
        let kind = |at: usize| tokens.get(at).map(|token| token.kind);
        let takes_all = (0..tokens.len()).any(|at| is_star(&tokens, at));
        let mut named = Named { objects: Vec::new(), words: Vec::new() };
        for at in 0..tokens.len() {
            let Some(word) = word_of(text, tokens[at]) else { continue };
            let name = tokens.get(at + 2).and_then(|token| word_of(text, *token));
            if let (Some(TokenKind::Symbol(b'.')), Some(name)) = (kind(at + 1), name) {
                let is_target = at > 0
                    && matches!(tokens[at - 1].kind, TokenKind::Keyword(Keyword::Insert | Keyword::Into));
                let without_list = is_target && kind(at + 3) != Some(TokenKind::Symbol(b'('));
                named.objects.push((word.clone(), name, takes_all || without_list));
            }
            named.words.push(word);
        }
        named
    }

    /// Does it refer to the object and, if given, to that column of it?
    fn refers_to(&self, object: &ObjectDef, schema: &str, column: Option<&str>) -> bool {
        let mut found =
            self.objects.iter().filter(|(s, name, _)| same_name(s, schema) && same_name(name, object.name()));
        match column {
            None => found.next().is_some(),
            Some(column) => {
                let is_named = self.words.iter().any(|word| same_name(word, column));
                found.any(|(.., takes_all)| *takes_all || is_named)
            }
        }
    }
}

/// The word of a token, if it may be a name.
fn word_of(text: &str, token: Token) -> Option<String> {
    let written = text.get(token.start as usize..token.end as usize)?;
    match token.kind {
        TokenKind::Word => Some(written.to_string()),
        TokenKind::Bracketed => Some(inside(written).replace("]]", "]")),
        TokenKind::Quoted => Some(inside(written).replace("\"\"", "\"")),
        _ => None,
    }
}

fn inside(written: &str) -> &str {
    written.get(1..written.len() - 1).unwrap_or("")
}

/// Does `*` stand for columns here? As a multiplication sign it would be followed by a factor; COUNT(*) has a parenthesis before it.
fn is_star(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| tokens[before].kind);
    let ends = match tokens.get(at + 1).map(|token| token.kind) {
        None | Some(TokenKind::Keyword(Keyword::From | Keyword::Into | Keyword::End)) => true,
        Some(TokenKind::Symbol(symbol)) => matches!(symbol, b',' | b')' | b';'),
        Some(_) => false,
    };
    tokens[at].kind == TokenKind::Symbol(b'*') && ends && before != Some(TokenKind::Symbol(b'('))
}

/// Does a text take all columns of a table, except inside EXISTS? Natively compiled and schema-bound texts may not (error 1054).
pub fn takes_all_columns(text: &str, quoted_identifier: bool) -> bool {
    let tokens: Vec<Token> = Lexer::new(text, quoted_identifier).collect();
    let is_keyword = |at: Option<usize>, keyword| {
        at.and_then(|at| tokens.get(at)).is_some_and(|token| token.kind == TokenKind::Keyword(keyword))
    };
    (0..tokens.len()).any(|at| {
        let asks_for_rows =
            is_keyword(at.checked_sub(1), Keyword::Select) && is_keyword(at.checked_sub(3), Keyword::Exists);
        is_star(&tokens, at) && !asks_for_rows
    })
}

/// Checks the names in the text of a schema-bound view or inline function: each has two parts and denotes no system view or function;
/// a module must be schema-bound itself; `*` and synonyms are not allowed. Errors 1054, 2720, 2788, 4512, 4513.
pub(super) fn check_names(
    (kind, module): (&str, &str),
    named: &Observed,
    (text, quoted_identifier): (&str, bool),
) -> Result<(), SqlError> {
    if takes_all_columns(text, quoted_identifier) {
        return Err(SqlError::new(1054, &[&"*"]));
    }
    if let Some(name) = named.system.iter().find(|name| name.schema.is_some()) {
        return Err(SqlError::new(2720, &[&kind, &module, &written(name)]));
    }
    for (name, object) in &named.written {
        if name.schema.is_none() || name.database.is_some() || name.server.is_some() {
            return Err(SqlError::new(4512, &[&kind, &module, &written(name)]));
        }
        if matches!(object, ObjectDef::Module(found) if found.kind == ModuleKind::Synonym) {
            return Err(SqlError::new(2788, &[]));
        }
        if matches!(object, ObjectDef::Module(found) if !found.is_schema_bound) {
            return Err(SqlError::new(4513, &[&kind, &module, &written(name)]));
        }
    }
    Ok(())
}

/// The current references of a schema-bound text.
pub(super) fn references(
    text: &str,
    quoted_identifier: bool,
    database: &Arc<Database>,
    context: &ExecContext<'_>,
) -> Result<Vec<ObjectDef>, SqlError> {
    let lookup = Lookup::new(context.transactions);
    let mut found: Vec<ObjectDef> = Vec::new();
    for (schema, name, _) in Named::of(text, quoted_identifier).objects {
        if let Some(object) = lookup.object(database, &schema, &name)?
            && !found.iter().any(|known| known.object_id() == object.object_id())
        {
            found.push(object);
        }
    }
    Ok(found)
}

/// The name of a schema-bound module that refers to the object, or to that column of it. The object must be locked: a transaction that creates such
/// a module locks the objects it refers to until it ends.
pub(super) fn module_that_needs(
    database: &Arc<Database>,
    object: &ObjectDef,
    column: Option<&str>,
    context: &ExecContext<'_>,
) -> Result<Option<String>, SqlError> {
    let lookup = Lookup::new(context.transactions);
    let schema = database.catalog().schema(object.schema_id()).map(|schema| schema.name.clone());
    let Some(schema) = schema else { return Ok(None) };
    let needs = |found: &ObjectDef| match found {
        ObjectDef::Module(module) => {
            module.object_id != object.object_id() && refers(module, object, &schema, column, context)
        }
        ObjectDef::Table(table) => is_function(object) && is_called_by(table, object, &schema),
        ObjectDef::Sequence(_) => false,
    };
    for image in [CatalogImage::Settled, CatalogImage::Present] {
        for found in lookup.objects(database, image) {
            if !needs(&found) {
                continue;
            }
            // Another transaction may be dropping the module: its final state counts.
            let now = lookup.object_numbered(database, found.object_id())?;
            if let Some(now) = now.filter(needs) {
                return Ok(Some(now.name().to_string()));
            }
        }
    }
    Ok(None)
}

fn is_function(object: &ObjectDef) -> bool {
    matches!(object, ObjectDef::Module(module) if module.kind == ModuleKind::ScalarFunction)
}

/// Does a computed column, a CHECK or a default of the table call the function?
fn is_called_by(table: &TableDef, function: &ObjectDef, schema: &str) -> bool {
    let checks = table.checks.iter().map(|check| &check.text);
    let columns = table.columns.iter();
    let computed =
        columns.clone().filter_map(|column| column.computed.as_ref().map(|computed| &computed.text));
    let defaults = columns.filter_map(|column| column.default.as_ref().map(|default| &default.text));
    checks
        .chain(computed)
        .chain(defaults)
        .any(|text| Named::of(text, false).refers_to(function, schema, None))
}

fn refers(
    module: &ModuleDef,
    object: &ObjectDef,
    schema: &str,
    column: Option<&str>,
    context: &ExecContext<'_>,
) -> bool {
    let by_words =
        |column| Named::of(&module.definition, module.quoted_identifier).refers_to(object, schema, column);
    if !(module.is_schema_bound && by_words(None)) {
        return false;
    }
    let Some(column) = column else { return true };
    let bind = super::subject::bind_context(context, &[]);
    match binder::observe::bound_module(crate::registry::binder(&bind), module) {
        Some(bound) => bound.used.iter().any(|(at, name)| {
            bound.objects[*at].1.object_id() == object.object_id() && same_name(name, column)
        }),
        None => by_words(Some(column)),
    }
}

/// Locks an object for DROP or replacement. Error 3729 when a schema-bound module refers to it.
pub(super) fn check_not_bound(
    database: &Arc<Database>,
    object: &ObjectDef,
    (statement, written): (&str, &str),
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    super::subject::with_transaction(context, database, |transaction| {
        database.lock_definition(transaction, object)
    })?;
    match module_that_needs(database, object, None, context)? {
        Some(module) => Err(SqlError::new(3729, &[&statement, &written, &module])),
        None => Ok(()),
    }
}

/// Checks a rename of the object. Error 15336 when a schema-bound module refers to it.
pub(super) fn check_may_be_renamed(
    database: &Arc<Database>,
    object_id: ObjectId,
    (column, written): (Option<&str>, &str),
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let Some(object) = database.catalog().object(object_id) else { return Ok(()) };
    if matches!(&object, ObjectDef::Module(module) if module.uses_native_compilation) {
        return Err(SqlError::new(12320, &[]));
    }
    super::subject::with_transaction(context, database, |transaction| {
        database.lock_definition(transaction, &object)
    })?;
    match module_that_needs(database, &object, column, context)? {
        Some(_) => Err(SqlError::new(15336, &[&written])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Named, takes_all_columns};

    fn objects(text: &str) -> Vec<(String, String, bool)> {
        Named::of(text, true).objects
    }

    #[test]
    fn names_of_two_parts_and_what_takes_all_columns() {
        let all = |text: &str| objects(text).first().is_some_and(|object| object.2);
        assert_eq!(objects("SELECT i FROM [d b].\"x\"\"y\"")[0].0, "d b");
        assert_eq!(objects("SELECT i FROM [d b].\"x\"\"y\"")[0].1, "x\"y");
        assert!(all("INSERT dbo.t VALUES (1)") && all("INSERT INTO dbo.t SELECT 1"));
        assert!(!all("INSERT dbo.t (i) VALUES (2 * 3)"));
        assert!(all("UPDATE dbo.t SET i = 1 OUTPUT inserted.*;") && all("SELECT * FROM dbo.t"));
        assert!(!all("SELECT COUNT(*), i * 2 FROM dbo.t"));
        assert!(objects("SELECT 'dbo.t', 1.5 /* dbo.t */ -- dbo.t").is_empty());
    }

    #[test]
    fn a_star_behind_exists_takes_no_columns() {
        assert!(!takes_all_columns("IF EXISTS (SELECT * FROM dbo.t) RETURN 2 * 3", true));
        assert!(takes_all_columns("SELECT t.* FROM dbo.t", true));
    }
}
