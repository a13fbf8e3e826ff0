//! QUERY_STORE of ALTER DATABASE ... SET: its values and their effect.

use engine::OptionChange;
use query::query_store::StoreSettings;
use tsql::ast::{DatabaseOption, NamedOption, OptionValue};
use types::{SqlError, SqlResult};

use crate::session::Session;

const NAME: &str = "QUERY_STORE";
/// The table of clauses lists the options in parentheses under this place.
const PLACE: &str = "query store option";

/// The requested change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryStoreChange {
    switch: Option<bool>,
    clears: bool,
    options: Vec<NamedOption>,
}

impl QueryStoreChange {
    /// The change that one option of ALTER DATABASE ... SET asks for; `None` for other options.
    pub(crate) fn of_set(option: &DatabaseOption) -> SqlResult<Option<QueryStoreChange>> {
        let nothing = QueryStoreChange { switch: None, clears: false, options: Vec::new() };
        let change = match option {
            DatabaseOption::Value(named) if named.name.is(NAME) => match &named.value {
                Some(OptionValue::Switch(false, list)) if !list.is_empty() => return Err(misused()),
                Some(OptionValue::Switch(on, list)) => {
                    QueryStoreChange { switch: Some(*on), options: list.clone(), ..nothing }
                }
                Some(OptionValue::List(list)) => QueryStoreChange { options: list.clone(), ..nothing },
                _ => return Err(misused()),
            },
            DatabaseOption::Word(name, word) if name.is(NAME) => {
                if !word.is("CLEAR") && !word.is("CLEAR ALL") {
                    return Err(misused());
                }
                QueryStoreChange { clears: true, ..nothing }
            }
            DatabaseOption::Switch(name, _) if name.is(NAME) => return Err(misused()),
            _ => return Ok(None),
        };
        query::clauses::check_options(PLACE, &change.options)?;
        // Refused before anything changes.
        change.apply(&mut StoreSettings::default())?;
        Ok(Some(change))
    }

    /// The part of the change that the database stores.
    pub(crate) fn kept(&self) -> Option<OptionChange> {
        self.switch.map(|on| OptionChange::Switch(NAME.to_string(), on))
    }

    fn apply(&self, settings: &mut StoreSettings) -> SqlResult<()> {
        for option in &self.options {
            let text = option.value.as_ref().map(query::clauses::value_text).unwrap_or_default();
            let number = || text.parse::<u32>().map_err(|_| misused());
            match (option.name.value.to_uppercase().as_str(), text.as_str()) {
                ("OPERATION_MODE", "READ_WRITE") => settings.is_read_only = false,
                ("OPERATION_MODE", "READ_ONLY") => settings.is_read_only = true,
                ("QUERY_CAPTURE_MODE", "ALL") => settings.takes_new_queries = true,
                ("QUERY_CAPTURE_MODE", "NONE") => settings.takes_new_queries = false,
                ("SIZE_BASED_CLEANUP_MODE", "AUTO") => settings.cleans_up = true,
                ("SIZE_BASED_CLEANUP_MODE", "OFF") => settings.cleans_up = false,
                ("MAX_PLANS_PER_QUERY", _) => settings.plans_max = number()?,
                ("MAX_STORAGE_SIZE_MB", _) => {
                    let megabytes = Some(number()?).filter(|number| (1..=1024).contains(number));
                    settings.bytes_max = u64::from(megabytes.ok_or_else(misused)?) << 20;
                }
                ("INTERVAL_LENGTH_MINUTES", _) => {
                    let minutes =
                        Some(number()?).filter(|number| [1, 5, 10, 15, 30, 60, 1440].contains(number));
                    settings.interval_minutes = minutes.ok_or_else(misused)?;
                }
                ("WAIT_STATS_CAPTURE_MODE", "OFF") => {}
                _ => return Err(misused()),
            }
        }
        Ok(())
    }
}

fn misused() -> SqlError {
    SqlError::new(153, &[&NAME, &"ALTER DATABASE"])
}

impl Session {
    /// Error 12438 for the databases that have no query store.
    pub(crate) fn check_may_have_query_store(&self, name: &str) -> SqlResult<()> {
        if ["master", "tempdb"].iter().any(|own| own.eq_ignore_ascii_case(name)) {
            let text = format!(
                "Cannot perform action because Query Store cannot be enabled on system database {name}."
            );
            return Err(SqlError::custom(12438, 16, 1, text));
        }
        Ok(())
    }

    /// Changes a database's query store.
    pub(crate) fn change_query_store(&self, name: &str, change: &QueryStoreChange) -> SqlResult<()> {
        let incarnation = self.instance.database(name)?.incarnation();
        if change.clears {
            self.query_stores.clear(incarnation);
            return Ok(());
        }
        let mut result = Ok(());
        self.query_stores.set(incarnation, |settings| result = change.apply(settings));
        result
    }
}
