//! Readers of a whole table beside writers that move amounts between its rows, with READ_COMMITTED_SNAPSHOT or with locks: all of them loops in the
//! server, so that the client uses no processor time.

use std::time::Instant;

use crate::shared::hardpan::{DATABASE, Hardpan};

const WRITERS: usize = 8;
const READERS: usize = 2;
const ROWS: u32 = 1_000;

/// The total of each kind of session, per second.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub reads: f64,
    pub transactions: f64,
}

/// Runs both for `seconds`. With versions every sum that a reader sees is that of one moment: 0, since amounts only move.
pub fn run(hardpan: &Hardpan, has_versions: bool, seconds: f64) -> Result<Rates, String> {
    let versions = if has_versions { "ON" } else { "OFF" };
    let alter =
        format!("ALTER DATABASE {DATABASE} SET READ_COMMITTED_SNAPSHOT {versions} WITH ROLLBACK IMMEDIATE");
    hardpan.connect("master")?.batch(&alter)?;
    hardpan.connect(DATABASE)?.batch(&format!(
        "CREATE TABLE accounts (id int NOT NULL PRIMARY KEY, amount int NOT NULL, filler char(100) NOT NULL DEFAULT '');
         DECLARE @i int = 1; BEGIN TRAN;
         WHILE @i <= {ROWS} BEGIN INSERT accounts (id, amount) VALUES (@i, 0); SET @i += 1 END;
         COMMIT; CHECKPOINT"
    ))?;
    let milliseconds = (seconds * 1e3) as u32;
    let until = format!(
        "SET NOCOUNT ON; DECLARE @end datetime2 = DATEADD(millisecond, {milliseconds}, SYSUTCDATETIME()), @done bigint = 0;"
    );
    // The lesser key first: no deadlocks among the writers.
    let writer = |number: usize| {
        format!(
            "{until} DECLARE @key int, @other int, @seed float = RAND({number});
             WHILE SYSUTCDATETIME() < @end BEGIN
               SET @key = 1 + CAST(RAND() * {} AS int);
               SET @other = @key + 1 + CAST(RAND() * ({ROWS} - @key) AS int);
               BEGIN TRAN;
               UPDATE accounts SET amount -= 1 WHERE id = @key;
               UPDATE accounts SET amount += 1 WHERE id = @other;
               COMMIT; SET @done += 1
             END; SELECT @done",
            ROWS - 1
        )
    };
    let reader = format!(
        "{until} DECLARE @sum bigint, @wrong bigint = 0;
         WHILE SYSUTCDATETIME() < @end BEGIN
           SELECT @sum = SUM(amount) FROM accounts;
           IF @sum <> 0 SET @wrong += 1;
           SET @done += 1
         END;
         IF @wrong > 0 AND {} = 1 RAISERROR('%I64d sums are not of one moment', 16, 1, @wrong);
         SELECT @done",
        i32::from(has_versions)
    );
    let texts: Vec<String> = (1..=WRITERS).map(writer).chain((0..READERS).map(|_| reader.clone())).collect();
    let connections = texts.iter().map(|_| hardpan.connect(DATABASE)).collect::<Result<Vec<_>, String>>()?;
    let began = Instant::now();
    let counts = std::thread::scope(|scope| {
        let threads: Vec<_> = connections
            .into_iter()
            .zip(&texts)
            .map(|(mut connection, text)| scope.spawn(move || connection.batch(text)))
            .collect();
        let counts = threads.into_iter().map(|thread| {
            let count = thread.join().map_err(|_| "a session panicked".to_owned())??;
            count.and_then(|value| value.as_i64()).ok_or_else(|| "no count".to_owned())
        });
        counts.collect::<Result<Vec<i64>, String>>()
    })?;
    let elapsed = began.elapsed().as_secs_f64();
    let (written, read) = counts.split_at(WRITERS);
    let rate = |counts: &[i64]| counts.iter().sum::<i64>() as f64 / elapsed;
    Ok(Rates { reads: rate(read), transactions: rate(written) })
}
