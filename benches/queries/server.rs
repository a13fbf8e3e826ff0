//! The two servers behind one face: load the tables, run a work and time it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::answer::{self, Rows};
use crate::connection::Connection;
use crate::dialect::Dialect;
use crate::hardpan::{DATABASE, Hardpan};
use crate::postgres::{Client, Postgres};
use crate::shapes::Shape;
use crate::tables::{self, Sizes};

/// Rows of one INSERT; SQL Server takes no more.
const ROWS_PER_INSERT: usize = 1_000;
/// Log of our database: no checkpoint forced by its size.
const LOG_MB: u32 = 2048;

/// What a work came to.
pub enum Outcome {
    /// Its time (of one run of several) and the rows of the last.
    Answer { milliseconds: f64, rows: Rows },
    /// None, and why.
    None(String),
}

enum Kind {
    Hardpan { server: Hardpan, session: Option<Connection> },
    Postgres { server: Postgres, session: Option<Client> },
}

/// One of the two.
pub struct Server {
    kind: Kind,
    limit: Duration,
    folder: PathBuf,
}

impl Server {
    /// Hardpan on an empty directory.
    pub fn hardpan(folder: &Path, limit: Duration) -> Result<Server, String> {
        let server = Hardpan::start(folder, "hardpan", LOG_MB)?;
        Ok(Server { kind: Kind::Hardpan { server, session: None }, limit, folder: folder.into() })
    }

    /// PostgreSQL on an empty directory.
    pub fn postgres(folder: &Path, limit: Duration) -> Result<Server, String> {
        let programs = Postgres::installed().ok_or("PostgreSQL is not installed")?;
        println!("PostgreSQL: {}", Postgres::version(&programs));
        let server = Postgres::start(&programs, folder, "postgres", false)?;
        Ok(Server { kind: Kind::Postgres { server, session: None }, limit, folder: folder.into() })
    }

    /// Its name in messages.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Hardpan { .. } => "Hardpan",
            Kind::Postgres { .. } => "PostgreSQL",
        }
    }

    fn dialect(&self) -> Dialect {
        match self.kind {
            Kind::Hardpan { .. } => Dialect::TransactSql,
            Kind::Postgres { .. } => Dialect::PostgreSql,
        }
    }

    /// Runs a statement; a session that has met an error is left, the next statement has a new one.
    fn ask(&mut self, text: &str) -> Result<Rows, String> {
        let limit = self.limit;
        let answer = match &mut self.kind {
            Kind::Hardpan { server, session } => {
                let mut connection = match session.take() {
                    Some(connection) => connection,
                    None => server.connect(DATABASE)?,
                };
                connection.set_limit(limit)?;
                let began = Instant::now();
                let answer = connection.rows(text);
                if answer.is_err() && began.elapsed() >= limit {
                    return Err(format!("no answer in {} s", limit.as_secs()));
                }
                let rows = answer?;
                *session = Some(connection);
                rows.iter().map(|row| row.iter().map(answer::text_of).collect()).collect()
            }
            Kind::Postgres { server, session } => {
                let mut client = match session.take() {
                    Some(client) => client,
                    None => {
                        let mut client = server.connect()?;
                        client.query(&format!("set statement_timeout = {}", limit.as_millis()))?;
                        client
                    }
                };
                let rows = client.query(text)?;
                *session = Some(client);
                rows
            }
        };
        Ok(answer)
    }

    /// May PostgreSQL spread a query over several processes? Hardpan does not.
    pub fn allow_workers(&mut self, allowed: bool) -> Result<(), String> {
        if let Kind::Postgres { .. } = self.kind {
            let text = if allowed { "reset" } else { "set" };
            let value = if allowed { "" } else { " = 0" };
            self.ask(&format!("{text} max_parallel_workers_per_gather{value}"))?;
            self.ask(&format!("{text} max_parallel_maintenance_workers{value}"))?;
        }
        Ok(())
    }

    /// Makes the tables, their rows and indexes, and lets the server gather what it wants to know of them.
    pub fn load(&mut self, sizes: Sizes) -> Result<(), String> {
        let (limit, began) = (self.limit, Instant::now());
        self.limit = Duration::from_secs(600);
        let mut count = 0;
        for table in &tables::TABLES {
            self.ask(&format!("create table {} ({})", table.name, table.columns))?;
            count += match self.dialect() {
                Dialect::TransactSql => self.insert(table.name, sizes)?,
                Dialect::PostgreSql => self.copy(table.name, sizes)?,
            };
        }
        let loaded = began.elapsed().as_secs_f64();
        for index in tables::INDEXES {
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
        self.limit = limit;
        if let Kind::Postgres { session, .. } = &mut self.kind {
            *session = None;
        }
        Ok(())
    }

    fn insert(&mut self, table: &str, sizes: Sizes) -> Result<u64, String> {
        let (mut batch, mut rows, mut count) = (String::new(), 0, 0);
        tables::generate(table, sizes, &mut |row| {
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

    fn copy(&mut self, table: &str, sizes: Sizes) -> Result<u64, String> {
        let path = self.folder.join(format!("{table}.csv"));
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path).map_err(failed)?);
        let mut count = 0;
        tables::generate(table, sizes, &mut |row| {
            count += 1;
            writeln!(file, "{row}").map_err(failed)
        })?;
        file.into_inner().map_err(|error| error.to_string())?;
        self.ask(&format!("copy {table} from '{}' with (format csv, quote '''')", path.display()))?;
        std::fs::remove_file(&path).map_err(failed)?;
        Ok(count)
    }

    /// Runs a work; an error of the statement itself is an outcome, one of what surrounds it is an error.
    pub fn measure(&mut self, work: &Shape) -> Result<Outcome, String> {
        let dialect = self.dialect();
        if !work.before.is_empty() {
            self.ask(&dialect.text(work.before))
                .map_err(|why| format!("{}: before {}: {why}", self.name(), work.name))?;
        }
        let text = dialect.text(work.text);
        let mut outcome = None;
        // The first run is not timed when there are many: it compiles.
        if work.times > 1
            && let Err(why) = self.ask(&text)
        {
            return Ok(Outcome::None(first_line(&why)));
        }
        let began = Instant::now();
        for _ in 0..work.times {
            match self.ask(&text) {
                Ok(rows) => outcome = Some(rows),
                Err(why) => return Ok(Outcome::None(first_line(&why))),
            }
        }
        let milliseconds = began.elapsed().as_secs_f64() * 1e3 / f64::from(work.times);
        if !work.after.is_empty() {
            self.ask(&dialect.text(work.after))
                .map_err(|why| format!("{}: after {}: {why}", self.name(), work.name))?;
        }
        let rows = outcome.ok_or("a work runs at least once")?;
        Ok(Outcome::Answer { milliseconds, rows })
    }
}

fn first_line(why: &str) -> String {
    why.lines().next().unwrap_or_default().chars().take(160).collect()
}
