//! Tables, indexes, statistics, partitions, sequences, types, synonyms, DROP.

use super::Printer;
use crate::ast::{
    AlterColumnChange, AlterIndexAction, AlterTable, AlterTableAction, AlterTableDrop, ColumnConstraintKind,
    ColumnDefinition, CreateIndex, CreateIndexColumn, CreateTable, Drop, DropKind, Expr, ExprKind, IndexKind,
    InlineIndex, KeyConstraint, Literal, NamedOption, Names, References, ReferentialAction, SequenceCache,
    SequenceDefinition, StatementKind, Storage, TableConstraint, TableConstraintKind, TableElement,
    TableKind, TriggerScope, TypeDefinition,
};

impl Printer {
    pub(super) fn table_statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::CreateTable(table) => self.create_table(table),
            StatementKind::AlterTable(table) => self.alter_table(table),
            StatementKind::CreateIndex(index) => self.create_index(index),
            StatementKind::AlterIndex(index) => {
                self.w("ALTER INDEX ");
                match &index.name {
                    Some(name) => self.ident(name),
                    None => self.w("ALL"),
                }
                self.w(" ON ");
                self.name(&index.table);
                self.w(" ");
                self.alter_index_action(&index.action);
            }
            StatementKind::DropIndex(drop) => {
                self.w("DROP INDEX ");
                self.flag("IF EXISTS ", drop.if_exists);
                self.list(&drop.indexes, |p, item| {
                    if item.old_style {
                        p.name(&item.table);
                        p.w(".");
                        return p.ident(&item.name);
                    }
                    p.ident(&item.name);
                    p.w(" ON ");
                    p.name(&item.table);
                    p.with_options(&item.options);
                });
            }
            StatementKind::CreateStatistics(statistics) => {
                self.w("CREATE STATISTICS ");
                self.ident(&statistics.name);
                self.w(" ON ");
                self.name(&statistics.table);
                self.paren_idents(&statistics.columns);
                self.opt(" WHERE ", &statistics.filter, Self::expr);
                self.bare_options(&statistics.options);
            }
            StatementKind::UpdateStatistics(statistics) => {
                self.w("UPDATE STATISTICS ");
                self.name(&statistics.table);
                self.paren_idents(&statistics.statistics);
                self.bare_options(&statistics.options);
            }
            StatementKind::DropStatistics(names) => {
                self.w("DROP STATISTICS ");
                self.list(names, Self::name);
            }
            _ => self.small_object(kind),
        }
    }

    fn small_object(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::CreatePartitionFunction(function) => {
                self.w("CREATE PARTITION FUNCTION ");
                self.ident(&function.name);
                self.w(" (");
                self.data_type(&function.data_type);
                self.w(") AS RANGE ");
                self.opt("", &function.right, |p, right| p.w(if *right { "RIGHT " } else { "LEFT " }));
                self.w("FOR VALUES ");
                self.paren_list(&function.values, Self::expr);
            }
            StatementKind::CreatePartitionScheme(scheme) => {
                self.w("CREATE PARTITION SCHEME ");
                self.ident(&scheme.name);
                self.w(" AS PARTITION ");
                self.ident(&scheme.function);
                self.w(if scheme.all { " ALL TO " } else { " TO " });
                self.paren_list(&scheme.filegroups, Self::ident);
            }
            StatementKind::CreateSequence(sequence) => {
                self.w("CREATE SEQUENCE ");
                self.sequence(sequence);
            }
            StatementKind::AlterSequence(sequence) => {
                self.w("ALTER SEQUENCE ");
                self.sequence(sequence);
            }
            StatementKind::CreateType(create) => {
                self.w("CREATE TYPE ");
                self.name(&create.name);
                match &create.definition {
                    TypeDefinition::Alias { base, nullable } => {
                        self.w(" FROM ");
                        self.data_type(base);
                        self.nullable(*nullable);
                    }
                    TypeDefinition::Table { elements, options } => {
                        self.w(" AS TABLE ");
                        self.table_elements(elements);
                        self.with_options(options);
                    }
                    TypeDefinition::External(name) => {
                        self.w(" EXTERNAL NAME ");
                        self.w(name);
                    }
                }
            }
            StatementKind::CreateSynonym(synonym) => {
                self.w("CREATE SYNONYM ");
                self.name(&synonym.name);
                self.w(" FOR ");
                self.name(&synonym.target);
            }
            StatementKind::Drop(drop) => self.drop(drop),
            _ => {}
        }
    }

    fn drop(&mut self, drop: &Drop) {
        if let DropKind::Named(phrase) = drop.kind {
            self.w("DROP ");
            self.w(phrase);
        }
        self.w(match drop.kind {
            DropKind::Table => "DROP TABLE ",
            DropKind::View => "DROP VIEW ",
            DropKind::Procedure => "DROP PROCEDURE ",
            DropKind::Function => "DROP FUNCTION ",
            DropKind::Trigger => "DROP TRIGGER ",
            DropKind::Schema => "DROP SCHEMA ",
            DropKind::Sequence => "DROP SEQUENCE ",
            DropKind::Type => "DROP TYPE ",
            DropKind::Synonym => "DROP SYNONYM ",
            DropKind::User => "DROP USER ",
            DropKind::Role => "DROP ROLE ",
            DropKind::ServerRole => "DROP SERVER ROLE ",
            DropKind::Login => "DROP LOGIN ",
            DropKind::PartitionFunction => "DROP PARTITION FUNCTION ",
            DropKind::PartitionScheme => "DROP PARTITION SCHEME ",
            DropKind::Default => "DROP DEFAULT ",
            DropKind::Rule => "DROP RULE ",
            DropKind::ApplicationRole => "DROP APPLICATION ROLE ",
            DropKind::ExternalTable => "DROP EXTERNAL TABLE ",
            DropKind::Aggregate => "DROP AGGREGATE ",
            DropKind::Named(_) => " ",
        });
        self.flag("IF EXISTS ", drop.if_exists);
        self.list(&drop.names, Self::name);
        self.opt(" ON ", &drop.scope, Self::trigger_scope);
    }

    pub(super) fn trigger_scope(&mut self, scope: &TriggerScope) {
        match scope {
            TriggerScope::Object(name) => self.name(name),
            TriggerScope::Database => self.w("DATABASE"),
            TriggerScope::AllServer => self.w("ALL SERVER"),
        }
    }

    /// ` WITH a, b = c`, or nothing.
    pub(super) fn bare_options(&mut self, options: &[NamedOption]) {
        if !options.is_empty() {
            self.w(" WITH ");
            self.options(options);
        }
    }

    fn sequence(&mut self, sequence: &SequenceDefinition) {
        self.name(&sequence.name);
        self.opt(" AS ", &sequence.data_type, Self::data_type);
        self.opt(" START WITH ", &sequence.start_with, Self::expr);
        self.opt(" RESTART", &sequence.restart, |p, value| p.opt(" WITH ", value, Self::expr));
        self.opt(" INCREMENT BY ", &sequence.increment, Self::expr);
        self.opt("", &sequence.min_value, |p, value| p.bound(" MINVALUE", value));
        self.opt("", &sequence.max_value, |p, value| p.bound(" MAXVALUE", value));
        self.opt("", &sequence.cycle, |p, cycle| p.w(if *cycle { " CYCLE" } else { " NO CYCLE" }));
        match &sequence.cache {
            Some(SequenceCache::NoCache) => self.w(" NO CACHE"),
            Some(SequenceCache::Default) => self.w(" CACHE"),
            Some(SequenceCache::Size(size)) => {
                self.w(" CACHE ");
                self.expr(size);
            }
            None => {}
        }
        self.with_options(&sequence.options);
    }

    fn bound(&mut self, word: &str, value: &Option<Expr>) {
        self.flag(" NO", value.is_none());
        self.w(word);
        self.opt(" ", value, Self::expr);
    }

    fn create_table(&mut self, table: &CreateTable) {
        self.w("CREATE TABLE ");
        self.name(&table.name);
        if !table.elements.is_empty() {
            self.w(" ");
            self.table_elements(&table.elements);
        }
        match table.kind {
            TableKind::FileTable => self.w(" AS FILETABLE"),
            TableKind::GraphNode => self.w(" AS NODE"),
            TableKind::GraphEdge => self.w(" AS EDGE"),
            TableKind::Plain | TableKind::External => {}
        }
        self.opt(" ON ", &table.on, Self::storage);
        self.opt(" TEXTIMAGE_ON ", &table.textimage_on, Self::ident);
        self.opt(" FILESTREAM_ON ", &table.filestream_on, Self::ident);
        self.with_options(&table.options);
    }

    fn storage(&mut self, storage: &Storage) {
        self.ident(&storage.name);
        self.opt(" (", &storage.column, |p, column| {
            p.ident(column);
            p.w(")");
        });
    }

    pub(super) fn table_elements(&mut self, elements: &[TableElement]) {
        self.w("(");
        self.indent += 1;
        for (index, element) in elements.iter().enumerate() {
            self.flag(",", index > 0);
            self.new_line();
            self.table_element(element);
        }
        self.indent -= 1;
        self.new_line();
        self.w(")");
    }

    fn table_element(&mut self, element: &TableElement) {
        match element {
            TableElement::Column(column) => self.column_definition(column),
            TableElement::Constraint(constraint) => self.table_constraint(constraint),
            TableElement::Index(index) => self.inline_index(index),
            TableElement::Period(from, to) => {
                self.w("PERIOD FOR SYSTEM_TIME (");
                self.ident(from);
                self.w(", ");
                self.ident(to);
                self.w(")");
            }
        }
    }

    fn column_definition(&mut self, column: &ColumnDefinition) {
        self.ident(&column.name);
        self.opt(" ", &column.data_type, Self::data_type);
        self.opt(" AS ", &column.computed, |p, computed| {
            p.w("(");
            p.expr(&computed.expr);
            p.w(")");
            p.flag(" PERSISTED", computed.persisted);
        });
        self.flag(" COLUMN_SET FOR ALL_SPARSE_COLUMNS", column.is_column_set);
        self.flag(" FILESTREAM", column.is_filestream);
        self.opt(" COLLATE ", &column.collation, Self::ident);
        self.flag(" SPARSE", column.is_sparse);
        self.opt(" MASKED WITH (FUNCTION = ", &column.masked, |p, function| {
            p.string(function);
            p.w(")");
        });
        self.opt(" GENERATED ALWAYS AS ", &column.generated, |p, generated| {
            p.ident(&generated.what);
            p.w(if generated.start { " START" } else { " END" });
        });
        self.flag(" HIDDEN", column.is_hidden);
        if !column.encrypted.is_empty() {
            self.w(" ENCRYPTED");
            self.with_options(&column.encrypted);
        }
        self.opt(" IDENTITY", &column.identity, |p, identity| {
            p.opt("(", &identity.seed, |p, seed| {
                p.expr(seed);
                p.opt(", ", &identity.increment, Self::expr);
                p.w(")");
            });
            p.flag(" NOT FOR REPLICATION", identity.not_for_replication);
        });
        self.nullable(column.nullable);
        self.flag(" ROWGUIDCOL", column.is_rowguidcol);
        for constraint in &column.constraints {
            self.opt(" CONSTRAINT ", &constraint.name, Self::ident);
            self.w(" ");
            self.column_constraint(&constraint.kind);
        }
        self.opt(" ", &column.index, Self::inline_index);
    }

    fn column_constraint(&mut self, kind: &ColumnConstraintKind) {
        match kind {
            ColumnConstraintKind::Default { value, with_values } => {
                self.w("DEFAULT (");
                self.expr(value);
                self.w(")");
                self.flag(" WITH VALUES", *with_values);
            }
            ColumnConstraintKind::Check { condition, not_for_replication } => {
                self.check(condition, *not_for_replication);
            }
            ColumnConstraintKind::Key(key) => self.key(key),
            ColumnConstraintKind::References(references) => self.references(references),
        }
    }

    fn check(&mut self, condition: &Expr, not_for_replication: bool) {
        self.w("CHECK ");
        self.flag("NOT FOR REPLICATION ", not_for_replication);
        self.w("(");
        self.expr(condition);
        self.w(")");
    }

    fn table_constraint(&mut self, constraint: &TableConstraint) {
        self.opt("CONSTRAINT ", &constraint.name, |p, name| {
            p.ident(name);
            p.w(" ");
        });
        match &constraint.kind {
            TableConstraintKind::Key(key) => self.key(key),
            TableConstraintKind::ForeignKey { columns, references } => {
                self.w("FOREIGN KEY ");
                self.paren_list(columns, Self::ident);
                self.w(" ");
                self.references(references);
            }
            TableConstraintKind::Check { condition, not_for_replication } => {
                self.check(condition, *not_for_replication);
            }
            TableConstraintKind::Default { value, column, with_values } => {
                self.w("DEFAULT (");
                self.expr(value);
                self.w(") FOR ");
                self.ident(column);
                self.flag(" WITH VALUES", *with_values);
            }
            TableConstraintKind::Connection(pairs, on_delete) => {
                self.w("CONNECTION ");
                self.paren_list(pairs, |p, (from, to)| {
                    p.name(from);
                    p.w(" TO ");
                    p.name(to);
                });
                self.opt(" ON DELETE ", on_delete, |p, action| p.referential_action(*action));
            }
        }
    }

    fn key(&mut self, key: &KeyConstraint) {
        self.w(if key.primary { "PRIMARY KEY" } else { "UNIQUE" });
        self.clustered(key.clustered);
        self.flag(" HASH", key.hash);
        self.index_columns(&key.columns);
        self.flag(" NOT ENFORCED", key.not_enforced);
        self.with_options(&key.options);
        self.opt(" ON ", &key.on, Self::storage);
    }

    fn clustered(&mut self, clustered: Option<bool>) {
        self.opt("", &clustered, |p, clustered| p.w(if *clustered { " CLUSTERED" } else { " NONCLUSTERED" }));
    }

    /// ` (a, b DESC)`, or nothing.
    pub(super) fn index_columns(&mut self, columns: &[CreateIndexColumn]) {
        if columns.is_empty() {
            return;
        }
        self.w(" ");
        self.paren_list(columns, |p, column| {
            p.ident(&column.name);
            p.direction(column.descending);
        });
    }

    fn references(&mut self, references: &References) {
        self.w("REFERENCES ");
        self.name(&references.table);
        self.paren_idents(&references.columns);
        self.opt(" ON DELETE ", &references.on_delete, |p, action| p.referential_action(*action));
        self.opt(" ON UPDATE ", &references.on_update, |p, action| p.referential_action(*action));
        self.flag(" NOT FOR REPLICATION", references.not_for_replication);
    }

    fn referential_action(&mut self, action: ReferentialAction) {
        self.w(match action {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        });
    }

    fn inline_index(&mut self, index: &InlineIndex) {
        self.w("INDEX ");
        self.ident(&index.name);
        self.flag(" UNIQUE", index.unique);
        self.clustered(index.clustered);
        self.flag(" HASH", index.hash);
        self.flag(" COLUMNSTORE", index.columnstore);
        self.index_columns(&index.columns);
        if !index.include.is_empty() {
            self.w(" INCLUDE");
            self.paren_idents(&index.include);
        }
        self.opt(" WHERE ", &index.filter, Self::expr);
        self.with_options(&index.options);
        self.opt(" ON ", &index.on, Self::storage);
        self.opt(" FILESTREAM_ON ", &index.filestream_on, Self::ident);
    }

    fn create_index(&mut self, index: &CreateIndex) {
        self.w("CREATE");
        self.flag(" UNIQUE", index.unique);
        self.clustered(index.clustered);
        match &index.kind {
            IndexKind::Rows => {}
            IndexKind::Columnstore => self.w(" COLUMNSTORE"),
            IndexKind::PrimaryXml => self.w(" PRIMARY XML"),
            IndexKind::SecondaryXml { .. } => self.w(" XML"),
            IndexKind::Special { word, .. } => {
                self.w(" ");
                self.ident(word);
            }
        }
        self.w(" INDEX ");
        self.ident(&index.name);
        self.w(" ON ");
        self.name(&index.table);
        self.index_columns(&index.columns);
        match &index.kind {
            IndexKind::SecondaryXml { using, purpose } => {
                self.w(" USING XML INDEX ");
                self.ident(using);
                self.w(" FOR ");
                self.ident(purpose);
            }
            IndexKind::Special { rest, .. } if !rest.is_empty() => {
                self.w(" ");
                self.w(rest);
            }
            _ => {}
        }
        if !index.include.is_empty() {
            self.w(" INCLUDE");
            self.paren_idents(&index.include);
        }
        self.flag(" ORDER", !index.order.is_empty());
        self.index_columns(&index.order);
        self.opt(" WHERE ", &index.filter, Self::expr);
        self.with_options(&index.options);
        self.opt(" ON ", &index.on, Self::storage);
        self.opt(" FILESTREAM_ON ", &index.filestream_on, Self::ident);
    }

    fn partition(&mut self, partition: &Option<Expr>) {
        self.opt(" PARTITION = ", partition, |p, value| match &value.kind {
            ExprKind::Literal(Literal::String(word)) => p.w(word),
            _ => p.expr(value),
        });
    }

    fn alter_index_action(&mut self, action: &AlterIndexAction) {
        match action {
            AlterIndexAction::Rebuild { partition, options } => {
                self.w("REBUILD");
                self.partition(partition);
                self.with_options(options);
            }
            AlterIndexAction::Reorganize { partition, options } => {
                self.w("REORGANIZE");
                self.partition(partition);
                self.with_options(options);
            }
            AlterIndexAction::Disable => self.w("DISABLE"),
            AlterIndexAction::Set(options) => {
                self.w("SET ");
                self.paren_list(options, Self::option);
            }
            AlterIndexAction::Resume(options) => {
                self.w("RESUME");
                self.with_options(options);
            }
            AlterIndexAction::Pause => self.w("PAUSE"),
            AlterIndexAction::Abort => self.w("ABORT"),
            AlterIndexAction::Other(text) => self.w(text),
        }
    }

    fn alter_table(&mut self, table: &AlterTable) {
        self.w("ALTER TABLE ");
        self.name(&table.name);
        self.w(" ");
        match &table.action {
            AlterTableAction::Add { check, elements } => {
                self.check_option(*check);
                self.w("ADD ");
                self.list(elements, Self::table_element);
            }
            AlterTableAction::AlterColumn(alter) => {
                self.w("ALTER COLUMN ");
                self.ident(&alter.name);
                self.w(" ");
                self.alter_column(&alter.change);
                self.with_options(&alter.options);
            }
            AlterTableAction::Drop(drops) => {
                self.w("DROP ");
                self.list(drops, Self::alter_table_drop);
            }
            AlterTableAction::CheckConstraint { with_check, enable, names } => {
                self.check_option(*with_check);
                self.w(if *enable { "CHECK CONSTRAINT " } else { "NOCHECK CONSTRAINT " });
                self.names(names);
            }
            AlterTableAction::Trigger { enable, names } => {
                self.w(if *enable { "ENABLE TRIGGER " } else { "DISABLE TRIGGER " });
                self.names(names);
            }
            AlterTableAction::ChangeTracking { enable, options } => {
                self.w(if *enable { "ENABLE CHANGE_TRACKING" } else { "DISABLE CHANGE_TRACKING" });
                self.with_options(options);
            }
            AlterTableAction::Switch { partition, target, target_partition, options } => {
                self.w("SWITCH");
                self.opt(" PARTITION ", partition, Self::expr);
                self.w(" TO ");
                self.name(target);
                self.opt(" PARTITION ", target_partition, Self::expr);
                self.with_options(options);
            }
            AlterTableAction::Set(options) => {
                self.w("SET ");
                self.paren_list(options, Self::option);
            }
            AlterTableAction::Rebuild { partition, options } => {
                self.w("REBUILD");
                self.partition(partition);
                self.with_options(options);
            }
            AlterTableAction::FileTableNamespace { enable } => {
                self.w(if *enable { "ENABLE FILETABLE_NAMESPACE" } else { "DISABLE FILETABLE_NAMESPACE" });
            }
            AlterTableAction::Other(text) => self.w(text),
        }
    }

    fn check_option(&mut self, check: Option<bool>) {
        self.opt("", &check, |p, check| p.w(if *check { "WITH CHECK " } else { "WITH NOCHECK " }));
    }

    fn names(&mut self, names: &Names) {
        match names {
            Names::All => self.w("ALL"),
            Names::List(names) => self.idents(names),
        }
    }

    fn alter_column(&mut self, change: &AlterColumnChange) {
        match change {
            AlterColumnChange::Type { data_type, collation, nullable, is_sparse, encrypted, masked } => {
                self.data_type(data_type);
                self.opt(" COLLATE ", collation, Self::ident);
                self.flag(" SPARSE", *is_sparse);
                if !encrypted.is_empty() {
                    self.w(" ENCRYPTED");
                    self.with_options(encrypted);
                }
                self.opt(" MASKED WITH (FUNCTION = ", masked, |p, function| {
                    p.string(function);
                    p.w(")");
                });
                self.nullable(*nullable);
            }
            AlterColumnChange::Property { add, property, mask } => {
                self.w(if *add { "ADD " } else { "DROP " });
                self.ident(property);
                self.opt(" WITH (FUNCTION = ", mask, |p, function| {
                    p.string(function);
                    p.w(")");
                });
            }
        }
    }

    fn alter_table_drop(&mut self, drop: &AlterTableDrop) {
        let (word, if_exists, name, options): (_, _, _, &[NamedOption]) = match drop {
            AlterTableDrop::Column { if_exists, name } => ("COLUMN ", *if_exists, name, &[]),
            AlterTableDrop::Constraint { if_exists, name, options } => {
                ("CONSTRAINT ", *if_exists, name, options)
            }
            AlterTableDrop::Index { if_exists, name } => ("INDEX ", *if_exists, name, &[]),
            AlterTableDrop::Period => return self.w("PERIOD FOR SYSTEM_TIME"),
        };
        self.w(word);
        self.flag("IF EXISTS ", if_exists);
        self.ident(name);
        self.with_options(options);
    }
}
