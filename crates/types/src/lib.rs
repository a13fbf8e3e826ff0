//! SQL values, types, collations, conversions and the error catalogue.
