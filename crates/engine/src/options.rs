//! The options of a database: what ALTER DATABASE ... SET changes and sys.databases shows.

pub use txn::DelayedDurability;

/// TARGET_RECOVERY_TIME of a new database, as in SQL Server since 2016.
const TARGET_RECOVERY_SECONDS: u32 = 60;

/// RECOVERY of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryModel {
    /// 1: the log is kept until it is backed up.
    Full,
    /// 2: as FULL, with minimal logging of bulk work.
    BulkLogged,
    /// 3: the log is truncated at checkpoints.
    Simple,
}

impl RecoveryModel {
    /// `recovery_model` of sys.databases.
    pub fn number(self) -> u8 {
        match self {
            RecoveryModel::Full => 1,
            RecoveryModel::BulkLogged => 2,
            RecoveryModel::Simple => 3,
        }
    }

    /// From `recovery_model` of sys.databases.
    pub fn from_number(number: u8) -> Option<RecoveryModel> {
        match number {
            1 => Some(RecoveryModel::Full),
            2 => Some(RecoveryModel::BulkLogged),
            3 => Some(RecoveryModel::Simple),
            _ => None,
        }
    }

    /// `recovery_model_desc` of sys.databases.
    pub fn description(self) -> &'static str {
        match self {
            RecoveryModel::Full => "FULL",
            RecoveryModel::BulkLogged => "BULK_LOGGED",
            RecoveryModel::Simple => "SIMPLE",
        }
    }
}

/// The state of a database (`state` of sys.databases).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// Open for work.
    Online = 0,
    /// Crash recovery runs.
    Recovering = 2,
    /// A file is missing or a resource was insufficient; recovery can be tried again.
    RecoveryPending = 3,
    /// Damaged, or a log write failed.
    Suspect = 4,
    /// Closed by ALTER DATABASE ... SET OFFLINE.
    Offline = 6,
}

impl DatabaseState {
    /// `state` of sys.databases.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// `state_desc` of sys.databases.
    pub fn description(self) -> &'static str {
        match self {
            DatabaseState::Online => "ONLINE",
            DatabaseState::Recovering => "RECOVERING",
            DatabaseState::RecoveryPending => "RECOVERY_PENDING",
            DatabaseState::Suspect => "SUSPECT",
            DatabaseState::Offline => "OFFLINE",
        }
    }
}

/// Options of one database.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseOptions {
    /// DELAYED_DURABILITY.
    pub delayed_durability: DelayedDurability,
    /// FLUSH of DELAYED_DURABILITY: when the log of delayed commits drains.
    pub delayed_flush: log::DelayedFlushPolicy,
    /// MAX_DELAY and MAX_LOSS of DELAYED_DURABILITY.
    pub loss_bounds: log::LossBounds,
    /// LOG_LIMITS: how much of its log may be in flight to the device at once.
    pub log_limits: log::LogLimitsProfile,
    /// VLF_RULE: how many VLFs its log gets when it grows.
    pub vlf_rule: log::VlfRule,
    /// RECOVERY.
    pub recovery_model: RecoveryModel,
    /// COMPATIBILITY_LEVEL, 100..=160.
    pub compatibility_level: u8,
    /// READ_ONLY.
    pub read_only: bool,
    /// Whether only one session may use it (SINGLE_USER, RESTRICTED_USER, MULTI_USER as 1, 2, 0).
    pub user_access: u8,
    /// TARGET_RECOVERY_TIME, stored and shown only: checkpoints depend on the size of the log.
    pub target_recovery_seconds: u32,
    /// Options that are stored and shown and have no effect yet, by their upper-case name (ANSI_NULLS, AUTO_CLOSE, ...).
    pub switches: std::collections::BTreeMap<String, bool>,
}

impl DatabaseOptions {
    /// IDENTITY_CACHE, a database-scoped configuration that is on unless it was turned off.
    pub fn has_identity_cache(&self) -> bool {
        self.is_on_unless_off("IDENTITY_CACHE")
    }

    /// AUTO_CREATE_STATISTICS, on unless it was turned off.
    pub fn creates_statistics(&self) -> bool {
        self.is_on_unless_off("AUTO_CREATE_STATISTICS")
    }

    /// AUTO_UPDATE_STATISTICS, on unless it was turned off.
    pub fn updates_statistics(&self) -> bool {
        self.is_on_unless_off("AUTO_UPDATE_STATISTICS")
    }

    /// QUERY_STORE, off unless it was turned on.
    pub fn keeps_query_store(&self) -> bool {
        self.switches.get("QUERY_STORE").copied().unwrap_or(false)
    }

    fn is_on_unless_off(&self, switch: &str) -> bool {
        self.switches.get(switch).copied().unwrap_or(true)
    }
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        DatabaseOptions {
            delayed_durability: DelayedDurability::Disabled,
            delayed_flush: log::DelayedFlushPolicy::Eager,
            loss_bounds: log::LossBounds::default(),
            log_limits: log::LogLimitsProfile::default(),
            vlf_rule: log::VlfRule::default(),
            recovery_model: RecoveryModel::Simple,
            compatibility_level: 160,
            read_only: false,
            user_access: 0,
            target_recovery_seconds: TARGET_RECOVERY_SECONDS,
            switches: std::collections::BTreeMap::new(),
        }
    }
}

/// One change of ALTER DATABASE ... SET.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionChange {
    /// DELAYED_DURABILITY.
    DelayedDurability(DelayedDurability),
    /// LOG_LIMITS.
    LogLimits(log::LogLimitsProfile),
    /// VLF_RULE.
    VlfRule(log::VlfRule),
    /// RECOVERY.
    Recovery(RecoveryModel),
    /// COMPATIBILITY_LEVEL.
    CompatibilityLevel(u8),
    /// READ_ONLY or READ_WRITE.
    ReadOnly(bool),
    /// MULTI_USER 0, SINGLE_USER 1, RESTRICTED_USER 2.
    UserAccess(u8),
    /// TARGET_RECOVERY_TIME in seconds.
    TargetRecovery(u32),
    /// An option that is stored and shown.
    Switch(String, bool),
    /// How the log of delayed commits drains.
    DelayedFlush(log::DelayedFlushPolicy),
    /// MAX_DELAY in ns, none without a bound.
    MaxDelay(Option<u64>),
    /// MAX_LOSS in bytes, none without a bound.
    MaxLoss(Option<u64>),
}
