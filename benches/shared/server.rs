//! The two servers behind one interface: sessions with text statements, and tables with their rows.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::answer::{self, Rows};
use super::connection::Connection;
use super::dialect::Dialect;
use super::hardpan::{DATABASE, Hardpan};
use super::postgres::{Client, Postgres};

/// Rows of one INSERT; SQL Server's limit.
const ROWS_PER_INSERT: usize = 1_000;
/// Log size of Hardpan's database: no checkpoint because of its size.
const LOG_MB: u32 = 2048;
/// The time limit of a load statement.
const LOAD_LIMIT: Duration = Duration::from_secs(600);

/// One table: its name, and its columns as text for both dialects.
pub struct TableDefinition {
    pub name: &'static str,
    pub columns: &'static str,
}

/// Takes a row: the values of an INSERT without parentheses, which are also a line of CSV.
pub type EachRow<'a> = &'a mut dyn FnMut(String) -> Result<(), String>;

/// The content of a database.
pub trait Content {
    /// In the order of the load.
    fn tables(&self) -> &'static [TableDefinition];
    /// Statements after the load, the same in both dialects.
    fn indexes(&self) -> &'static [&'static str];
    /// Calls `each` with every row of a table.
    fn generate(&self, table: &str, each: EachRow<'_>) -> Result<(), String>;
}

/// A connection to one of the two servers.
pub enum Session {
    Hardpan(Connection),
    Postgres(Client),
}

impl Session {
    /// Runs a statement; returns its rows. After an error a session of Hardpan continues, too.
    pub fn ask(&mut self, text: &str) -> Result<Rows, String> {
        match self {
            Session::Hardpan(connection) => {
                let rows = connection.rows(text)?;
                Ok(rows.iter().map(|row| row.iter().map(answer::text_of).collect()).collect())
            }
            Session::Postgres(client) => client.query(text),
        }
    }
}

enum Kind {
    Hardpan(Hardpan),
    Postgres(Postgres),
}

/// One of the two servers.
pub struct Server {
    kind: Kind,
    session: Option<Session>,
    limit: Duration,
    folder: PathBuf,
}

impl Server {
    /// Hardpan on an empty directory.
    pub fn hardpan(folder: &Path, limit: Duration) -> Result<Server, String> {
        let kind = Kind::Hardpan(Hardpan::start(folder, "hardpan", LOG_MB)?);
        Ok(Server { kind, session: None, limit, folder: folder.into() })
    }

    /// PostgreSQL on an empty directory.
    pub fn postgres(folder: &Path, limit: Duration) -> Result<Server, String> {
        let programs = Postgres::installed().ok_or("PostgreSQL is not installed")?;
        println!("PostgreSQL: {}", Postgres::version(&programs));
        let kind = Kind::Postgres(Postgres::start(&programs, folder, "postgres", false)?);
        Ok(Server { kind, session: None, limit, folder: folder.into() })
    }

    /// Its name in messages.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Hardpan(_) => "Hardpan",
            Kind::Postgres(_) => "PostgreSQL",
        }
    }

    /// Its dialect.
    pub fn dialect(&self) -> Dialect {
        match self.kind {
            Kind::Hardpan(_) => Dialect::TransactSql,
            Kind::Postgres(_) => Dialect::PostgreSql,
        }
    }

    /// A session of its own.
    pub fn connect(&self) -> Result<Session, String> {
        match &self.kind {
            Kind::Hardpan(server) => {
                let connection = server.connect(DATABASE)?;
                connection.set_limit(self.limit)?;
                Ok(Session::Hardpan(connection))
            }
            Kind::Postgres(server) => {
                let mut client = server.connect()?;
                client.query(&format!("set statement_timeout = {}", self.limit.as_millis()))?;
                Ok(Session::Postgres(client))
            }
        }
    }

    /// Runs a statement; after an error the session is dropped, and the next statement gets a new one.
    pub fn ask(&mut self, text: &str) -> Result<Rows, String> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.connect()?,
        };
        let began = Instant::now();
        let answer = session.ask(text);
        if answer.is_err() && began.elapsed() >= self.limit {
            return Err(format!("no answer in {} s", self.limit.as_secs()));
        }
        let rows = answer?;
        self.session = Some(session);
        Ok(rows)
    }

    /// Sets whether PostgreSQL may run a query in parallel processes. Hardpan does not.
    pub fn allow_workers(&mut self, allowed: bool) -> Result<(), String> {
        if let Kind::Postgres(_) = self.kind {
            let text = if allowed { "reset" } else { "set" };
            let value = if allowed { "" } else { " = 0" };
            self.ask(&format!("{text} max_parallel_workers_per_gather{value}"))?;
            self.ask(&format!("{text} max_parallel_maintenance_workers{value}"))?;
        }
        Ok(())
    }

    /// Creates the tables, their rows and indexes, and lets the server collect its statistics.
    pub fn load(&mut self, content: &dyn Content) -> Result<(), String> {
        let (limit, began) = (self.limit, Instant::now());
        (self.limit, self.session) = (LOAD_LIMIT, None);
        let mut count = 0;
        for table in content.tables() {
            self.ask(&self.dialect().text(&format!("create table {} ({})", table.name, table.columns)))?;
            count += match self.dialect() {
                Dialect::TransactSql => self.insert(table.name, content)?,
                Dialect::PostgreSql => self.copy(table.name, content)?,
            };
        }
        let loaded = began.elapsed().as_secs_f64();
        for index in content.indexes() {
            self.ask(index)?;
        }
        match self.dialect() {
            Dialect::TransactSql => self.ask("checkpoint")?,
            Dialect::PostgreSql => self.ask("vacuum analyze")?,
        };
        let all = began.elapsed().as_secs_f64();
        eprintln!(
            "{}: {count} rows in {loaded:.1} s, indexes and statistics in {:.1} s",
            self.name(),
            all - loaded
        );
        (self.limit, self.session) = (limit, None);
        Ok(())
    }

    fn insert(&mut self, table: &str, content: &dyn Content) -> Result<u64, String> {
        let (mut batch, mut rows, mut count) = (String::new(), 0, 0);
        content.generate(table, &mut |row| {
            batch.push_str(if rows == 0 { "" } else { "," });
            batch.push_str(&format!("({row})"));
            (rows, count) = (rows + 1, count + 1);
            if rows == ROWS_PER_INSERT {
                self.ask(&format!("insert into {table} values {batch}"))?;
                batch.clear();
                rows = 0;
            }
            Ok(())
        })?;
        if rows > 0 {
            self.ask(&format!("insert into {table} values {batch}"))?;
        }
        Ok(count)
    }

    fn copy(&mut self, table: &str, content: &dyn Content) -> Result<u64, String> {
        let path = self.folder.join(format!("{table}.csv"));
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path).map_err(failed)?);
        let mut count = 0;
        content.generate(table, &mut |row| {
            count += 1;
            writeln!(file, "{row}").map_err(failed)
        })?;
        file.into_inner().map_err(|error| error.to_string())?;
        self.ask(&format!(
            "copy {table} from '{}' with (format csv, quote '''', null 'null')",
            path.display()
        ))?;
        std::fs::remove_file(&path).map_err(failed)?;
        Ok(count)
    }
}
