//! Documented functions that are not supported: they are refused by name, so that no user suspects a misspelling (195). The list
//! of all documented functions, with the support of each, is `session/tests/functions.txt`.

/// In upper case, by the documentation's categories.
pub static NAMES: &[&str] = &[
    // Aggregates and analytic functions.
    "APPROX_PERCENTILE_CONT",
    "APPROX_PERCENTILE_DISC",
    "PERCENTILE_CONT",
    "PERCENTILE_DISC",
    "PRODUCT",
    // Keys and certificates, of which there are none.
    "ASYMKEYPROPERTY",
    "ASYMKEY_ID",
    "CERTENCODED",
    "CERTPRIVATEKEY",
    "CERTPROPERTY",
    "CERT_ID",
    "DECRYPTBYASYMKEY",
    "DECRYPTBYCERT",
    "DECRYPTBYKEY",
    "DECRYPTBYKEYAUTOASYMKEY",
    "DECRYPTBYKEYAUTOCERT",
    "DECRYPTBYPASSPHRASE",
    "ENCRYPTBYASYMKEY",
    "ENCRYPTBYCERT",
    "ENCRYPTBYKEY",
    "ENCRYPTBYPASSPHRASE",
    "IS_OBJECTSIGNED",
    "KEY_GUID",
    "KEY_ID",
    "KEY_NAME",
    "SIGNBYASYMKEY",
    "SIGNBYCERT",
    "SYMKEYPROPERTY",
    "VERIFYSIGNEDBYASYMKEY",
    "VERIFYSIGNEDBYCERT",
    "PWDCOMPARE",
    "PWDENCRYPT",
    "LOGINPROPERTY",
    // The clock knows its offset, not its zone.
    "CURRENT_TIMEZONE",
    "CURRENT_TIMEZONE_ID",
    // Graphs, XML and triggers.
    "EDGE_ID_FROM_PARTS",
    "EVENTDATA",
    "GRAPH_ID_FROM_EDGE_ID",
    "GRAPH_ID_FROM_NODE_ID",
    "NODE_ID_FROM_PARTS",
    "OBJECT_ID_FROM_EDGE_ID",
    "OBJECT_ID_FROM_NODE_ID",
    // JSON.
    "JSON_ARRAYAGG",
    "JSON_CONTAINS",
    "JSON_OBJECTAGG",
    // Texts by pages, weights of collations, file streams, publishers.
    "GET_FILESTREAM_TRANSACTION_CONTEXT",
    "PUBLISHINGSERVERNAME",
    "TERTIARY_WEIGHTS",
    "TEXTPTR",
    "TEXTVALID",
    // Since 2025.
    "EDIT_DISTANCE",
    "EDIT_DISTANCE_SIMILARITY",
    "JARO_WINKLER_DISTANCE",
    "JARO_WINKLER_SIMILARITY",
    "REGEXP_COUNT",
    "REGEXP_INSTR",
    "REGEXP_LIKE",
    "REGEXP_REPLACE",
    "REGEXP_SUBSTR",
    "UNISTR",
    "VECTORPROPERTY",
    "VECTOR_DISTANCE",
    "VECTOR_NORM",
    "VECTOR_NORMALIZE",
];

/// Is it a function of T-SQL that is not done here? `name` in upper case.
pub fn is_documented(name: &str) -> bool {
    NAMES.contains(&name)
}
