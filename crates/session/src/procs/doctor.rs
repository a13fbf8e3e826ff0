//! `sp_log_doctor`: reports in sentences what limits the commits of the session's database; see `docs/doctor.md`.

use engine::doctor::{self, Observation};
use query::{ColumnDescription, Flow};
use types::{SqlError, SqlType, Value};

use super::arguments::int_argument;
use crate::batch::call::{Argument, CallResult};
use crate::interruption::{Interruption, Stop};
use crate::session::Session;
use crate::sink::{Done, DoneKind, ResultSink};

const NAME: &str = "sp_log_doctor";
/// Default observation time.
const SECONDS_DEFAULT: i32 = 5;
const SECONDS_MAX: i32 = 3_600;
/// CurCmd of a SELECT.
const SELECT: u16 = 193;

/// `sp_log_doctor [@seconds = 5]`: its status is the number of findings that are warnings or worse.
pub(super) fn sp_log_doctor(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let seconds = int_argument(&arguments, 0, "@seconds")?.unwrap_or(SECONDS_DEFAULT);
    for (at, given) in arguments.iter().enumerate() {
        match &given.name {
            Some(name) if !name.eq_ignore_ascii_case("@seconds") => {
                return Err(SqlError::new(8145, &[name, &NAME]).into());
            }
            None if at > 0 => return Err(SqlError::new(8144, &[&NAME]).into()),
            _ => {}
        }
    }
    if !(1..=SECONDS_MAX).contains(&seconds) {
        return Err(SqlError::new(15600, &[&NAME]).into());
    }
    let window_ns = u64::from(seconds.unsigned_abs()) * 1_000_000_000;
    let observation = Observation::make(&session.instance, &session.database, window_ns);
    let findings = doctor::findings(&observation.map_err(|_| Stop::Attention)?);
    let status = findings.iter().filter(|one| one.judgement.severity >= doctor::Severity::Warning).count();
    let mut flow = sink.columns(&columns());
    for finding in &findings {
        if flow == Flow::Stop {
            return Err(Stop::Attention.into());
        }
        let judgement = &finding.judgement;
        flow = sink.row(&[
            Value::Int(i32::try_from(finding.number).unwrap_or(i32::MAX)),
            Value::nvarchar(judgement.severity.name()),
            Value::nvarchar(finding.area),
            Value::nvarchar(&judgement.verdict),
            Value::nvarchar(&judgement.evidence),
            Value::nvarchar(judgement.advice),
        ]);
    }
    let row_count = (!session.options.nocount).then_some(findings.len() as u64);
    sink.done(Done { kind: DoneKind::InProcedure, row_count, error: false, command: SELECT });
    Ok(CallResult { status: i32::try_from(status).unwrap_or(i32::MAX), outputs: Vec::new(), returned: None })
}

fn columns() -> Vec<ColumnDescription> {
    let text = |characters: u16| SqlType::nvarchar(characters);
    let types = [
        ("finding", SqlType::Int),
        ("severity", text(10)),
        ("area", text(30)),
        ("verdict", text(400)),
        ("evidence", text(1_000)),
        ("advice", text(400)),
    ];
    let column = |(name, sql_type): (&str, SqlType)| ColumnDescription {
        name: name.to_owned(),
        sql_type,
        nullable: false,
        identity: false,
        updatable: false,
        computed: true,
        table: None,
    };
    types.map(column).into()
}
