//! Classes of securables, the permissions that may be had on each, and their short codes.

/// A securable's class and the permissions that may be had on it, each with its short code.
pub(crate) struct PermissionClass {
    pub(crate) class: &'static str,
    pub(crate) permissions: &'static [(&'static str, &'static str)],
    /// The class that contains it.
    pub(crate) parent: Option<&'static str>,
}

const ON_OWNED: &[(&str, &str)] =
    &[("VIEW DEFINITION", "VW"), ("ALTER", "AL"), ("TAKE OWNERSHIP", "TO"), ("CONTROL", "CL")];

/// All classes.
pub(crate) static CLASSES: &[PermissionClass] = &[
    PermissionClass {
        class: "SERVER",
        permissions: &[
            ("CONNECT SQL", "COSQ"),
            ("SHUTDOWN", "SHDN"),
            ("CREATE ENDPOINT", "CRHE"),
            ("CREATE ANY DATABASE", "CRDB"),
            ("CREATE AVAILABILITY GROUP", "CRAC"),
            ("CREATE SERVER ROLE", "CRSR"),
            ("CREATE DDL EVENT NOTIFICATION", "CRDE"),
            ("CREATE TRACE EVENT NOTIFICATION", "CRTE"),
            ("ALTER ANY LOGIN", "ALLG"),
            ("ALTER ANY CREDENTIAL", "ALCD"),
            ("ALTER ANY ENDPOINT", "ALHE"),
            ("ALTER ANY LINKED SERVER", "ALLS"),
            ("ALTER ANY CONNECTION", "ALCO"),
            ("ALTER ANY DATABASE", "ALDB"),
            ("ALTER ANY EVENT NOTIFICATION", "ALES"),
            ("ALTER ANY EVENT SESSION", "AAES"),
            ("ALTER ANY AVAILABILITY GROUP", "ALAG"),
            ("ALTER ANY SERVER AUDIT", "ALAA"),
            ("ALTER ANY SERVER ROLE", "ALSR"),
            ("ALTER RESOURCES", "ALRS"),
            ("ALTER SETTINGS", "ALST"),
            ("ALTER SERVER STATE", "ALSS"),
            ("ALTER TRACE", "ALTR"),
            ("VIEW ANY DATABASE", "VWDB"),
            ("VIEW ANY DEFINITION", "VWAD"),
            ("VIEW SERVER STATE", "VWSS"),
            ("ADMINISTER BULK OPERATIONS", "ADBO"),
            ("AUTHENTICATE SERVER", "AUTH"),
            ("CONNECT ANY DATABASE", "CADB"),
            ("EXTERNAL ACCESS ASSEMBLY", "XA"),
            ("IMPERSONATE ANY LOGIN", "IAL"),
            ("SELECT ALL USER SECURABLES", "SUS"),
            ("UNSAFE ASSEMBLY", "XU"),
            ("CONTROL SERVER", "CL"),
        ],
        parent: None,
    },
    PermissionClass {
        class: "DATABASE",
        permissions: &[
            ("CREATE TABLE", "CRTB"),
            ("CREATE VIEW", "CRVW"),
            ("CREATE PROCEDURE", "CRPR"),
            ("CREATE FUNCTION", "CRFN"),
            ("CREATE RULE", "CRRU"),
            ("CREATE DEFAULT", "CRDF"),
            ("BACKUP DATABASE", "BADB"),
            ("BACKUP LOG", "BALO"),
            ("CREATE DATABASE DDL EVENT NOTIFICATION", "CRED"),
            ("CREATE TYPE", "CRTY"),
            ("CREATE ASSEMBLY", "CRAS"),
            ("CREATE XML SCHEMA COLLECTION", "CRXS"),
            ("CREATE SCHEMA", "CRSM"),
            ("CREATE SYNONYM", "CRSN"),
            ("CREATE AGGREGATE", "CRAG"),
            ("CREATE ROLE", "CRRL"),
            ("CREATE MESSAGE TYPE", "CRMT"),
            ("CREATE SERVICE", "CRSV"),
            ("CREATE CONTRACT", "CRCT"),
            ("CREATE REMOTE SERVICE BINDING", "CRSB"),
            ("CREATE ROUTE", "CRRT"),
            ("CREATE QUEUE", "CRQU"),
            ("CREATE SYMMETRIC KEY", "CRSK"),
            ("CREATE ASYMMETRIC KEY", "CRAK"),
            ("CREATE FULLTEXT CATALOG", "CRFT"),
            ("CREATE CERTIFICATE", "CRCF"),
            ("CONNECT", "CO"),
            ("CONNECT REPLICATION", "CORP"),
            ("CHECKPOINT", "CP"),
            ("SUBSCRIBE QUERY NOTIFICATIONS", "SUQN"),
            ("AUTHENTICATE", "AUTH"),
            ("SHOWPLAN", "SPLN"),
            ("ALTER ANY USER", "ALUS"),
            ("ALTER ANY ROLE", "ALRL"),
            ("ALTER ANY APPLICATION ROLE", "ALAR"),
            ("ALTER ANY SCHEMA", "ALSM"),
            ("ALTER ANY ASSEMBLY", "ALAS"),
            ("ALTER ANY DATABASE DDL TRIGGER", "ALTG"),
            ("ALTER ANY DATASPACE", "ALDS"),
            ("VIEW DATABASE STATE", "VWDS"),
            ("SELECT", "SL"),
            ("UPDATE", "UP"),
            ("REFERENCES", "RF"),
            ("INSERT", "IN"),
            ("DELETE", "DL"),
            ("EXECUTE", "EX"),
            ("VIEW DEFINITION", "VW"),
            ("ALTER", "AL"),
            ("TAKE OWNERSHIP", "TO"),
            ("CONTROL", "CL"),
        ],
        parent: Some("SERVER"),
    },
    PermissionClass {
        class: "SCHEMA",
        permissions: &[
            ("CREATE SEQUENCE", "CRSO"),
            ("SELECT", "SL"),
            ("UPDATE", "UP"),
            ("REFERENCES", "RF"),
            ("INSERT", "IN"),
            ("DELETE", "DL"),
            ("EXECUTE", "EX"),
            ("VIEW CHANGE TRACKING", "VWCT"),
            ("VIEW DEFINITION", "VW"),
            ("ALTER", "AL"),
            ("TAKE OWNERSHIP", "TO"),
            ("CONTROL", "CL"),
        ],
        parent: Some("DATABASE"),
    },
    PermissionClass {
        class: "OBJECT",
        permissions: &[
            ("SELECT", "SL"),
            ("UPDATE", "UP"),
            ("REFERENCES", "RF"),
            ("INSERT", "IN"),
            ("DELETE", "DL"),
            ("EXECUTE", "EX"),
            ("RECEIVE", "RC"),
            ("VIEW CHANGE TRACKING", "VWCT"),
            ("VIEW DEFINITION", "VW"),
            ("ALTER", "AL"),
            ("TAKE OWNERSHIP", "TO"),
            ("CONTROL", "CL"),
        ],
        parent: Some("SCHEMA"),
    },
    PermissionClass {
        class: "TYPE",
        permissions: &[
            ("REFERENCES", "RF"),
            ("EXECUTE", "EX"),
            ("VIEW DEFINITION", "VW"),
            ("TAKE OWNERSHIP", "TO"),
            ("CONTROL", "CL"),
        ],
        parent: Some("SCHEMA"),
    },
    PermissionClass {
        class: "LOGIN",
        permissions: &[("IMPERSONATE", "IM"), ("VIEW DEFINITION", "VW"), ("ALTER", "AL"), ("CONTROL", "CL")],
        parent: Some("SERVER"),
    },
    PermissionClass {
        class: "USER",
        permissions: &[("IMPERSONATE", "IM"), ("VIEW DEFINITION", "VW"), ("ALTER", "AL"), ("CONTROL", "CL")],
        parent: Some("DATABASE"),
    },
    PermissionClass { class: "ROLE", permissions: ON_OWNED, parent: Some("DATABASE") },
];

/// A class by name, in any letter case.
pub(crate) fn class(name: &str) -> Option<&'static PermissionClass> {
    CLASSES.iter().find(|class| class.class.eq_ignore_ascii_case(name.trim()))
}

/// What applies to an object: procedures are executed, tables and views read and changed.
pub(crate) fn applies(permission: &str, type_code: &str) -> bool {
    match type_code.trim() {
        "P" | "FN" => !matches!(
            permission,
            "SELECT" | "UPDATE" | "INSERT" | "DELETE" | "RECEIVE" | "REFERENCES" | "VIEW CHANGE TRACKING"
        ),
        _ => !matches!(permission, "EXECUTE" | "RECEIVE"),
    }
}
