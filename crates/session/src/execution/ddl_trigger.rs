//! DDL triggers of a database: the events of a statement, what EVENTDATA() tells of each, and running the triggers inside the statement's transaction.

use std::sync::Arc;

use engine::{Database, Lookup, ModuleDef};
use query::SessionState;
use query::ddl_events::{self, DdlEvent};
use tsql::ast::{self, DropKind, ModuleAction, ObjectName, StatementKind};
use types::SqlResult;

use crate::execution::trigger::FiringPlace;
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;
use crate::state::RunningDdlTrigger;

/// What a statement does to one object, and the triggers of that.
pub(crate) struct DdlAction {
    database: Arc<Database>,
    event: &'static DdlEvent,
    triggers: Vec<Arc<ModuleDef>>,
    schema: Option<String>,
    name: String,
    kind: &'static str,
    /// The table of an index or of statistics.
    target: Option<String>,
    command: String,
}

/// One object that a statement creates, changes or drops.
struct Subject<'a> {
    verb: &'static str,
    kind: &'static str,
    /// Its name, or that of its table.
    name: Option<&'a ObjectName>,
    /// The name of a schema, or of an index or statistics of the table.
    own: Option<&'a str>,
}

impl<'a> Subject<'a> {
    fn object(verb: &'static str, kind: &'static str, name: &'a ObjectName) -> Self {
        Subject { verb, kind, name: Some(name), own: None }
    }

    fn of_table(verb: &'static str, kind: &'static str, own: &'a str, table: &'a ObjectName) -> Self {
        Subject { verb, kind, name: Some(table), own: Some(own) }
    }

    fn schema(verb: &'static str, own: &'a str) -> Self {
        Subject { verb, kind: "SCHEMA", name: None, own: Some(own) }
    }
}

impl Session {
    /// The enabled triggers that a statement will fire if it succeeds, an entry for each of its objects. Temporary objects fire none.
    pub(crate) fn ddl_actions(&self, statement: &ast::Statement, text: &str) -> SqlResult<Vec<DdlAction>> {
        let mut actions = Vec::new();
        for subject in self.subjects(statement)? {
            actions.extend(self.ddl_action(&subject, statement, text)?);
        }
        Ok(actions)
    }

    fn ddl_action(
        &self,
        subject: &Subject<'_>,
        statement: &ast::Statement,
        text: &str,
    ) -> SqlResult<Option<DdlAction>> {
        if subject.name.is_some_and(|name| name.name.value.starts_with('#')) {
            return Ok(None);
        }
        // The statement itself says what is wrong with the database.
        let Ok(database) = self.database_of(subject.name) else { return Ok(None) };
        let event = ddl_events::named(&format!("{}_{}", subject.verb, subject.kind));
        let mut triggers = Lookup::new(&self.transactions).database_triggers(&database)?;
        triggers.retain(|trigger| {
            !trigger.trigger.is_disabled && event.is_some_and(|event| fires_for(trigger, event))
        });
        let Some(event) = event.filter(|_| !triggers.is_empty()) else { return Ok(None) };
        let is_module = matches!(
            statement.kind,
            StatementKind::CreateView(_)
                | StatementKind::CreateProcedure(_)
                | StatementKind::CreateFunction(_)
                | StatementKind::CreateTrigger(_)
        );
        let object = subject.name.map(|name| name.name.value.clone());
        let is_of_database = matches!(
            &statement.kind,
            StatementKind::CreateTrigger(made) if made.on == ast::TriggerScope::Database
        ) || matches!(&statement.kind, StatementKind::Drop(drop) if drop.scope.is_some());
        Ok(Some(DdlAction {
            database,
            event,
            triggers,
            schema: subject.name.filter(|_| !is_of_database).map(|name| schema_of(name).to_string()),
            name: subject.own.map(str::to_string).or_else(|| object.clone()).unwrap_or_default(),
            kind: subject.kind,
            target: object.filter(|_| subject.own.is_some()),
            command: if is_module { text.to_string() } else { statement.span.slice(text).to_string() },
        }))
    }

    fn subjects<'a>(&self, statement: &'a ast::Statement) -> SqlResult<Vec<Subject<'a>>> {
        let one = |verb, kind, name| Ok(vec![Subject::object(verb, kind, name)]);
        match &statement.kind {
            StatementKind::CreateTable(table) => one("CREATE", "TABLE", &table.name),
            StatementKind::AlterTable(table) => one("ALTER", "TABLE", &table.name),
            StatementKind::CreateView(view) => self.module(view.action, "VIEW", &view.name),
            StatementKind::CreateProcedure(made) => self.module(made.action, "PROCEDURE", &made.name),
            StatementKind::CreateFunction(made) => self.module(made.action, "FUNCTION", &made.name),
            StatementKind::CreateTrigger(made) => self.module(made.action, "TRIGGER", &made.name),
            StatementKind::CreateType(made) => one("CREATE", "TYPE", &made.name),
            StatementKind::CreateSynonym(made) => one("CREATE", "SYNONYM", &made.name),
            StatementKind::CreateSchema(schema) => {
                let own = schema.name.as_ref().or(schema.authorization.as_ref());
                Ok(own.map(|name| Subject::schema("CREATE", &name.value)).into_iter().collect())
            }
            StatementKind::AlterSchema(schema) => Ok(vec![Subject::schema("ALTER", &schema.name.value)]),
            StatementKind::Drop(drop) => self.dropped(drop),
            other => Ok(of_tables(other)),
        }
    }

    fn module<'a>(
        &self,
        action: ModuleAction,
        kind: &'static str,
        name: &'a ObjectName,
    ) -> SqlResult<Vec<Subject<'a>>> {
        let is_altered = match action {
            ModuleAction::Create => false,
            ModuleAction::Alter => true,
            ModuleAction::CreateOrAlter => self.is_object(name)?,
        };
        Ok(vec![Subject::object(if is_altered { "ALTER" } else { "CREATE" }, kind, name)])
    }

    /// What a DROP drops: with IF EXISTS only what is there.
    fn dropped<'a>(&self, drop: &'a ast::Drop) -> SqlResult<Vec<Subject<'a>>> {
        let kind = match drop.kind {
            DropKind::Table => "TABLE",
            DropKind::View => "VIEW",
            DropKind::Procedure => "PROCEDURE",
            DropKind::Function => "FUNCTION",
            DropKind::Trigger => "TRIGGER",
            DropKind::Type => "TYPE",
            DropKind::Synonym => "SYNONYM",
            DropKind::Schema => "SCHEMA",
            _ => return Ok(Vec::new()),
        };
        let mut found = Vec::new();
        for name in &drop.names {
            let is_there = match drop.kind {
                _ if !drop.if_exists => true,
                DropKind::Schema => {
                    Lookup::new(&self.transactions).schema_id(&self.database, &name.name.value)?.is_some()
                }
                DropKind::Type => {
                    let types = self.database.catalog().types();
                    types.iter().any(|def| types::Collation::DEFAULT.same_name(&def.name, &name.name.value))
                }
                DropKind::Trigger if drop.scope.is_some() => {
                    let own = self.database.catalog().triggers_of(0);
                    own.iter()
                        .any(|trigger| types::Collation::DEFAULT.same_name(&trigger.name, &name.name.value))
                }
                _ => self.is_object(name)?,
            };
            if is_there {
                found.push(match drop.kind {
                    DropKind::Schema => Subject::schema("DROP", &name.name.value),
                    _ => Subject::object("DROP", kind, name),
                });
            }
        }
        Ok(found)
    }

    fn database_of(&self, name: Option<&ObjectName>) -> SqlResult<Arc<Database>> {
        match name.and_then(|name| name.database.as_ref()) {
            None => Ok(self.database.clone()),
            Some(database) => self.instance.database(&database.value),
        }
    }

    fn is_object(&self, name: &ObjectName) -> SqlResult<bool> {
        let Ok(database) = self.database_of(Some(name)) else { return Ok(false) };
        let found = Lookup::new(&self.transactions).object(&database, schema_of(name), &name.name.value)?;
        Ok(found.is_some())
    }

    /// Runs the triggers of what the statement has done. A trigger that it has dropped does not run.
    pub(crate) fn fire_ddl_triggers(
        &mut self,
        place: FiringPlace<'_>,
        actions: &[DdlAction],
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        self.run_fired(place, sink, |session, sink| {
            actions.iter().try_for_each(|action| session.fire_ddl_action(action, sink))
        })
    }

    fn fire_ddl_action(&mut self, action: &DdlAction, sink: &mut dyn ResultSink) -> Result<(), Interruption> {
        let event_data: Arc<str> = self.event_data_of(action).into();
        for module in &action.triggers {
            let is_there = action.database.catalog().object(module.object_id).is_some();
            let fires = match self.state.triggers.last() {
                Some((running, _)) => self.fires_inside(*running, module, &action.database),
                None => true,
            };
            if !is_there || !fires {
                continue;
            }
            self.state.row_count = 0;
            self.state.last_error = 0;
            self.state.ddl_triggers.push(RunningDdlTrigger {
                object_id: module.object_id,
                nest_level: self.state.nest_level + 1,
                event_data: event_data.clone(),
            });
            let result = self.run_trigger((module, &action.database), None, sink);
            self.state.ddl_triggers.pop();
            result?;
        }
        Ok(())
    }

    /// What EVENTDATA() gives, in the order of the documented schema.
    fn event_data_of(&self, action: &DdlAction) -> String {
        let mut data = String::from("<EVENT_INSTANCE>");
        let mut element = |name: &str, value: &str| {
            data.push_str(&format!("<{name}>{}</{name}>", escaped(value)));
        };
        element("EventType", action.event.name);
        element("PostTime", &post_time(self.instance.os().clock().utc_100ns()));
        element("SPID", &self.state.session_id().to_string());
        element("ServerName", self.state.server_name());
        element("LoginName", self.state.login_name());
        element("UserName", self.state.user_name());
        element("DatabaseName", action.database.name());
        if let Some(schema) = &action.schema {
            element("SchemaName", schema);
        }
        element("ObjectName", &action.name);
        element("ObjectType", action.kind);
        if let Some(target) = &action.target {
            element("TargetObjectName", target);
            element("TargetObjectType", "TABLE");
        }
        let switch = |is_on: bool| if is_on { "ON" } else { "OFF" };
        data.push_str(&format!(
            "<TSQLCommand><SetOptions ANSI_NULLS=\"{}\" ANSI_NULL_DEFAULT=\"ON\" ANSI_PADDING=\"ON\" \
             QUOTED_IDENTIFIER=\"{}\" ENCRYPTED=\"FALSE\"/><CommandText>{}</CommandText></TSQLCommand></EVENT_INSTANCE>",
            switch(self.options.ansi_nulls),
            switch(self.options.quoted_identifier),
            escaped(&action.command)
        ));
        data
    }
}

/// Indexes and statistics.
fn of_tables(statement: &StatementKind) -> Vec<Subject<'_>> {
    match statement {
        StatementKind::CreateIndex(index) => {
            vec![Subject::of_table("CREATE", "INDEX", &index.name.value, &index.table)]
        }
        StatementKind::AlterIndex(index) => {
            let own = index.name.as_ref().map_or("ALL", |name| name.value.as_str());
            vec![Subject::of_table("ALTER", "INDEX", own, &index.table)]
        }
        StatementKind::DropIndex(drop) => {
            let items = drop.indexes.iter();
            items.map(|item| Subject::of_table("DROP", "INDEX", &item.name.value, &item.table)).collect()
        }
        StatementKind::CreateStatistics(made) => {
            vec![Subject::of_table("CREATE", "STATISTICS", &made.name.value, &made.table)]
        }
        StatementKind::UpdateStatistics(update) => {
            let own = update.statistics.first().map_or("ALL", |name| name.value.as_str());
            vec![Subject::of_table("UPDATE", "STATISTICS", own, &update.table)]
        }
        StatementKind::DropStatistics(names) => {
            names.iter().map(|name| Subject::object("DROP", "STATISTICS", name)).collect()
        }
        _ => Vec::new(),
    }
}

fn schema_of(name: &ObjectName) -> &str {
    name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str())
}

/// Does the trigger's text name the event, or a group of it?
fn fires_for(trigger: &ModuleDef, event: &DdlEvent) -> bool {
    let Ok(StatementKind::CreateTrigger(text)) = query::stored::parse_module(trigger) else { return false };
    text.events.iter().filter_map(|name| ddl_events::named(&name.value)).any(|named| named.covers(event))
}

/// A text as the content of an XML element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\r', "&#x0D;")
}

/// `2026-11-28T06:05:04.123`, from ticks of 100 ns since 0001-01-01.
fn post_time(ticks: i64) -> String {
    let Some(now) = types::datetime::Moment::from_ticks(ticks) else { return String::new() };
    let day = types::Date { days: now.days }.civil();
    let milliseconds = now.ticks / 10_000;
    let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}", day.year, day.month, day.day)
}
