//! SQLite, when its command-line program is installed: the same transactions as a script in a process of its own, WAL mode.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::machine;
use crate::work::{Engine, Sample, Scale, Work};

/// Scripts for the `sqlite3` program.
pub struct Sqlite {
    program: PathBuf,
    work: PathBuf,
}

impl Sqlite {
    /// `None` when it is not installed.
    pub fn installed(work: &Path) -> Option<Sqlite> {
        machine::find_program("sqlite3", &[]).map(|program| Sqlite { program, work: work.into() })
    }

    fn timed(&self, synchronous: &str, before: &str, count: u64, after: &str) -> Result<f64, String> {
        let database = self.work.join("sqlite.db");
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(self.work.join(format!("sqlite.db{suffix}")));
        }
        let script = self.work.join("sqlite.sql");
        let mut text = format!(
            "pragma journal_mode=wal;\npragma synchronous={synchronous};\ncreate table t1(col1 int not null);\n{before}"
        );
        for number in 0..count {
            text.push_str(&format!("insert into t1 values({number});\n"));
        }
        text.push_str(after);
        std::fs::write(&script, text).map_err(|error| error.to_string())?;
        let input = std::fs::File::open(&script).map_err(|error| error.to_string())?;
        let began = Instant::now();
        machine::run(Command::new(&self.program).arg(&database).stdin(Stdio::from(input)))?;
        Ok(began.elapsed().as_secs_f64())
    }
}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn measure(&mut self, work: Work, scale: &Scale) -> Option<Result<Sample, String>> {
        let (count, seconds) = match work {
            Work::Durable | Work::Batch => (scale.durable, self.timed("full", "", scale.durable, "")),
            Work::Delayed => (scale.delayed / 5, self.timed("normal", "", scale.delayed / 5, "")),
            Work::OneTransaction => (scale.rows, self.timed("full", "begin;\n", scale.rows, "commit;\n")),
            _ => return None,
        };
        Some(seconds.map(|seconds| Sample::rate(count as f64 / seconds)))
    }
}
