//! [`Session`]: the state of one login that outlives a request: its database, SET options, transactions, temporary names and prepared handles.

use std::sync::Arc;

use engine::{Database, Instance, IsolationLevel, ModuleDef, TransactionSet};
use query::{SessionRow, SetOptions};
use types::{SqlError, SqlResult};

use crate::batch::cache::ProgramCache;
use crate::batch::commit_site::PendingStatement;
use crate::batch::program_key::ProgramConditions;
use crate::bulk::PendingBulkLoad;
use crate::compile_only_state::CompileOnlyState;
use crate::names::{NameCount, Orphans, TemporaryNames};
use crate::prepared_handles::Prepared;
use crate::query_store::QueryStores;
use crate::registry::{Published, SessionRegistry, SessionSlot};
use crate::state::{LoginInfo, State};

/// State that all sessions of a server share.
#[derive(Clone)]
pub struct SessionShared {
    /// The instance.
    pub instance: Arc<Instance>,
    /// The registry of all open sessions.
    pub registry: Arc<SessionRegistry>,
    pub(crate) programs: Arc<ProgramCache>,
    pub(crate) query_stores: Arc<QueryStores>,
    name_count: NameCount,
    orphans: Orphans,
}

impl SessionShared {
    /// Creates the shared state of one server. `start_ticks`: 100 ns since 0001-01-01, for the views.
    pub fn new(instance: Arc<Instance>, server_name: &str, start_ticks: u64) -> SessionShared {
        let registry = SessionRegistry::new(server_name, start_ticks);
        let programs = Arc::new(ProgramCache::counted(instance.os().counters()));
        let orphans = Orphans::default();
        let query_stores = Arc::default();
        SessionShared {
            instance,
            registry,
            programs,
            query_stores,
            name_count: NameCount::default(),
            orphans,
        }
    }
}

/// One session. Owned by the thread that serves its connection.
pub struct Session {
    pub(crate) instance: Arc<Instance>,
    pub(crate) programs: Arc<ProgramCache>,
    pub(crate) query_stores: Arc<QueryStores>,
    pub(crate) slot: Arc<SessionSlot>,
    pub(crate) database: Arc<Database>,
    pub(crate) options: SetOptions,
    pub(crate) state: State,
    pub(crate) transactions: TransactionSet,
    pub(crate) names: TemporaryNames,
    /// Global temporary objects whose creating session has ended.
    pub(crate) orphans: Orphans,
    pub(crate) prepared: Prepared,
    /// Name of the outermost transaction, if it has one.
    pub(crate) transaction_name: Option<String>,
    /// Number of outer frames that are inside a TRY block now.
    pub(crate) guards: u32,
    pub(crate) inside_insert_execute: bool,
    /// The trigger whose own body is running now.
    pub(crate) trigger: Option<Arc<ModuleDef>>,
    /// The open transaction is that of a statement whose triggers run, and the client does not know of it.
    pub(crate) is_transaction_hidden: bool,
    /// Error 266 of the procedure that has just ended. EXECUTE reports it after it has stored the OUTPUT values.
    pub(crate) unequal_count: Option<SqlError>,
    /// The waker to call when a pending commit is hardened; `None`: commits block.
    pub(crate) commit_waker: Option<std::task::Waker>,
    /// The last statement, if it left its commit pending.
    pub(crate) pending_statement: Option<PendingStatement>,
    /// When the request began: the start time of its first statement.
    pub(crate) request_began_ticks: Option<u64>,
    /// What the session has described of statements that it compiles without running them.
    pub(crate) compile_only_state: CompileOnlyState,
    /// Rows sent and CurCmd of a result set whose statement has failed: for the DONE that ends it.
    pub(crate) unfinished: Option<(u64, u16)>,
    /// An INSERT BULK whose rows are the next message.
    pub(crate) pending_bulk_load: Option<PendingBulkLoad>,
    /// A transaction that a batch begins ends with it (MARS): the descriptor of the transaction in which the request began, 0 for none.
    pub(crate) began_in: Option<u64>,
}

impl Session {
    /// Creates a session for an authenticated login, in the database that it asked for (or master).
    ///
    /// # Errors
    /// 4060 when the database does not exist or cannot be opened.
    pub fn new(shared: &SessionShared, login: LoginInfo) -> SqlResult<Session> {
        let name = if login.database.is_empty() { "master" } else { &login.database };
        let refused = |_| SqlError::new(4060, &[&name]);
        let wanted = shared.instance.database(name).map_err(refused)?;
        let row =
            SessionRow { login_time_ticks: ticks_of(shared.instance.os()), ..published(&login, &wanted) };
        let (session_id, slot) = shared.registry.register(row)?;
        let mut transactions = TransactionSet::new(&shared.instance, session_id);
        let entered = transactions.enter_database(name).map_err(refused);
        let database = entered.inspect_err(|_| shared.registry.unregister(session_id))?;
        let options = options_at_login(&shared.instance, &login);
        let mut session = Session {
            instance: shared.instance.clone(),
            programs: shared.programs.clone(),
            query_stores: shared.query_stores.clone(),
            slot,
            options,
            transactions,
            database,
            state: State::new(
                session_id,
                login,
                shared.registry.clone(),
                shared.programs.clone(),
                shared.query_stores.clone(),
                Arc::clone(&shared.name_count),
            ),
            names: TemporaryNames::new(Arc::clone(&shared.name_count), shared.instance.tempdb()),
            orphans: shared.orphans.clone(),
            prepared: Prepared::default(),
            transaction_name: None,
            guards: 0,
            inside_insert_execute: false,
            trigger: None,
            is_transaction_hidden: false,
            unequal_count: None,
            commit_waker: None,
            pending_statement: None,
            request_began_ticks: None,
            compile_only_state: CompileOnlyState::default(),
            unfinished: None,
            pending_bulk_load: None,
            began_in: None,
        };
        session.publish(|_| {});
        Ok(session)
    }

    /// `@@SPID`.
    pub fn id(&self) -> i16 {
        self.state.session_id
    }

    /// Name of the current database.
    pub fn database_name(&self) -> String {
        self.database.name().to_string()
    }

    /// Is a user transaction open (the INXACT bit of DONE)?
    pub fn in_transaction(&self) -> bool {
        self.state.transaction_count > 0
    }

    /// Sets the function that KILL calls, on the killing session's thread, to end the connection.
    pub fn hang_up_with(&self, hang_up: crate::registry::HangUp) {
        self.slot.update(|published| published.hang_up = Some(hang_up));
    }

    /// Sets the packet counters of the session's connection.
    pub fn count_packets(&self, packets: Arc<crate::PacketCounts>) {
        self.slot.update(|published| published.packets = Some(packets));
    }

    /// Memory that the session holds between requests: locks, and the rows of open cursors.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.transactions.lock_bytes() + self.state.cursors.held_bytes()
    }

    /// The current time in the unit of the views: 100 ns since 0001-01-01.
    pub(crate) fn now_ticks(&self) -> u64 {
        ticks_of(self.instance.os())
    }

    /// Publishes the session's state for the views, and what `more` changes.
    pub(crate) fn publish(&mut self, more: impl FnOnce(&mut Published)) {
        let database_id = self.database.id();
        let (state, options) = (&self.state, &self.options);
        self.slot.update(|published| {
            let row = &mut published.row;
            row.row_count = state.row_count;
            row.prev_error = state.last_error;
            row.database_id = database_id;
            row.option_bits = options.bits();
            row.lock_timeout_ms = options.lock_timeout_ms;
            row.deadlock_priority = options.deadlock_priority;
            row.text_size = options.text_size;
            row.date_first = i16::from(options.date_first);
            if row.context_info != state.context_info {
                row.context_info = state.context_info.clone();
            }
            for (told, set) in
                [(&mut row.language, &options.language), (&mut row.date_format, &options.date_format)]
            {
                if !Arc::ptr_eq(told, set) {
                    *told = Arc::clone(set);
                }
            }
            row.isolation = match options.isolation {
                IsolationLevel::ReadUncommitted => 1,
                IsolationLevel::ReadCommitted => 2,
                IsolationLevel::RepeatableRead => 3,
                IsolationLevel::Serializable => 4,
                IsolationLevel::Snapshot => 5,
            };
            more(published);
        });
    }

    /// The scope in which the session resolves names now.
    #[inline]
    pub(crate) fn name_scope(&self) -> query::NameScope<'_> {
        query::NameScope { database: &self.database, names: &self.names }
    }

    /// The settings on which the meaning of a text depends now.
    pub(crate) fn program_conditions(&self) -> ProgramConditions {
        ProgramConditions::new(self.database.incarnation(), &self.options)
    }

    /// Makes `entered`, a database that the session has entered already, the current one; leaves the previous one and returns it.
    pub(crate) fn move_to(&mut self, entered: Arc<Database>) -> Arc<Database> {
        let left = std::mem::replace(&mut self.database, entered);
        self.transactions.leave_database(&left);
        left
    }
}

fn ticks_of(os: &os::Os) -> u64 {
    os.clock().utc_100ns().max(0).cast_unsigned()
}

pub(crate) fn options_at_login(instance: &engine::Instance, login: &LoginInfo) -> SetOptions {
    let mut options = SetOptions::default();
    crate::user_options::apply(instance, &mut options);
    if !login.ansi_defaults {
        options.quoted_identifier = login.client_interface_name.is_empty() || options.quoted_identifier;
    }
    if !login.language.is_empty() {
        options.language = login.language.as_str().into();
    }
    options
}

fn published(login: &LoginInfo, database: &Arc<Database>) -> SessionRow {
    SessionRow {
        host_name: login.host_name.clone(),
        program_name: login.program_name.clone(),
        host_process_id: login.host_process_id,
        client_interface_name: login.client_interface_name.clone(),
        login_name: login.login_name.clone(),
        is_user_process: true,
        database_id: database.id(),
        encrypted: login.encrypted,
        net_transport: if login.client_address.is_empty() { "Session".into() } else { "TCP".into() },
        client_net_address: login.client_address.clone(),
        client_tcp_port: i32::from(login.client_port),
        local_tcp_port: i32::from(login.server_port),
        net_packet_size: i32::try_from(login.packet_bytes).unwrap_or(i32::MAX),
        ..SessionRow::default()
    }
}
