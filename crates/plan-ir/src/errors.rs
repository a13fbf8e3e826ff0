//! The errors that this crate raises, by what they mean; numbers and texts are in the catalogue of `types`.

use std::fmt::Display;

use types::SqlError;

fn error(number: i32, args: &[&dyn Display]) -> SqlError {
    SqlError::new(number, args)
}

/// 8134: division by zero.
#[cold]
pub fn divide_by_zero() -> SqlError {
    error(8134, &[])
}

/// 8115: arithmetic overflow converting an expression to a type.
#[cold]
pub fn overflow(type_name: &str) -> SqlError {
    error(8115, &[&"expression", &type_name])
}

/// 220: arithmetic overflow for tinyint and smallint, with the value.
#[cold]
pub fn small_overflow(type_name: &str, value: i64) -> SqlError {
    error(220, &[&type_name, &value])
}

/// 512: a subquery used as a value gave more than one.
pub fn subquery_many_values() -> SqlError {
    error(512, &[])
}

/// 506: an invalid escape character in LIKE.
pub fn invalid_escape(text: &str) -> SqlError {
    error(506, &[&text, &"LIKE"])
}

/// 1060: the row count of TOP or FETCH is not of an integer type.
pub fn row_count_invalid() -> SqlError {
    error(1060, &[])
}

/// 1014: TOP or FETCH of NULL rows.
pub fn row_count_null() -> SqlError {
    error(1014, &[])
}

/// 127: TOP of a negative number of rows.
pub fn row_count_negative() -> SqlError {
    error(127, &[])
}

/// 10743: OFFSET by something else than a whole number.
pub fn offset_not_whole() -> SqlError {
    error(10743, &[])
}

/// 1031: TOP PERCENT outside 0..=100.
pub fn top_percent_range() -> SqlError {
    error(1031, &[])
}

/// 10742: OFFSET below 0.
pub fn offset_negative() -> SqlError {
    error(10742, &[])
}

/// 10744: FETCH of 0 or fewer rows.
pub fn fetch_not_positive() -> SqlError {
    error(10744, &[])
}

/// 530: a recursion went over its limit.
pub fn max_recursion(limit: u32) -> SqlError {
    error(530, &[&limit])
}

/// 4116: NTILE with a count below 1.
pub fn tile_count_invalid() -> SqlError {
    error(4116, &[&"ntile"])
}

/// The statement was cancelled by an attention, KILL or shutdown; `session` turns it into the right answer.
pub fn cancelled() -> SqlError {
    SqlError::custom(3617, 10, 1, "The operation was cancelled.".to_string())
}

/// Is it the error of a cancelled statement?
pub fn is_cancelled(error: &SqlError) -> bool {
    error.number == 3617
}

/// 191: some part of the statement is nested too deeply.
pub fn too_deep() -> SqlError {
    error(191, &[])
}

/// 701: the request has used the memory that it may use, or all together have.
pub fn out_of_memory(_: os::memory::OutOfMemory) -> SqlError {
    error(701, &[&"default"])
}

/// 8623: what a statement stands for is larger than any plan may be.
pub fn plan_too_large() -> SqlError {
    error(8623, &[])
}

/// 106: more tables in a FROM clause than anybody joins on purpose.
pub fn too_many_tables(tables_max: usize) -> SqlError {
    error(106, &[&tables_max])
}

/// 1056: more items in a select list than any client takes.
pub fn too_many_items(items_max: usize) -> SqlError {
    error(1056, &[&items_max])
}

/// 102: incorrect syntax near a word.
pub fn syntax_near(word: &str) -> SqlError {
    error(102, &[&word])
}

/// 156: incorrect syntax near a keyword.
pub fn syntax_near_keyword(word: &str) -> SqlError {
    error(156, &[&word])
}

/// 40514: valid T-SQL that this version does not run.
pub fn unsupported(what: &str) -> SqlError {
    SqlError::custom(40514, 16, 1, format!("'{what}' is not supported in this version of Hardpan."))
}

/// 155: a word that no list of options of this place has.
pub fn unknown_option(name: &str, place: &str) -> SqlError {
    let place = place.trim_end_matches(" option");
    error(155, &[&name, &place])
}

/// 10715: a name in OPTION (USE HINT (..)) that is none.
pub fn unknown_use_hint(name: &str) -> SqlError {
    error(10715, &[&name])
}

/// 1921: there is no such filegroup.
pub fn invalid_filegroup(name: &str) -> SqlError {
    error(1921, &[&"filegroup", &name])
}

/// 1731: SPARSE with a type or a property that does not allow it.
pub fn sparse_column(column: &str, table: &str) -> SqlError {
    error(1731, &[&column, &table])
}

/// 4145: a condition was expected.
pub fn not_a_condition(expr: &tsql::ast::Expr) -> SqlError {
    match &expr.kind {
        tsql::ast::ExprKind::FullText(_) => return unsupported("full-text search"),
        tsql::ast::ExprKind::Function(call) if call.name.name.is("UPDATE") => {
            return unsupported("UPDATE() of a trigger");
        }
        _ => {}
    }
    let near = match &expr.kind {
        tsql::ast::ExprKind::Column(column) => column.name.value.clone(),
        tsql::ast::ExprKind::Variable(name) => name.clone(),
        tsql::ast::ExprKind::Function(call) => call.name.name.value.clone(),
        _ => String::new(),
    };
    error(4145, &[&near])
}

/// 102: a condition stands where a value is wanted.
pub fn boolean_as_value() -> SqlError {
    error(102, &[&"="])
}

/// 177: IDENTITY() outside SELECT INTO.
pub fn identity_function_misplaced() -> SqlError {
    error(177, &[])
}

/// 116: a subquery that is not introduced with EXISTS gives one column.
pub fn subquery_one_column() -> SqlError {
    error(116, &[])
}

/// 130: an aggregate over an aggregate or a subquery.
pub fn aggregate_over_subquery() -> SqlError {
    error(130, &[])
}

/// 137: a variable that is not declared.
pub fn undeclared_variable(name: &str) -> SqlError {
    error(137, &[&name])
}

/// 8133: all branches are untyped NULLs.
pub fn all_branches_null() -> SqlError {
    error(8133, &[])
}

/// 447: COLLATE on something that is not text.
pub fn collate_not_character(type_name: &str) -> SqlError {
    error(447, &[&type_name])
}

/// 448: an unknown collation.
pub fn invalid_collation(name: &str) -> SqlError {
    error(448, &[&name])
}

/// 1007: a number with more than 38 digits.
pub fn number_too_large(text: &str) -> SqlError {
    error(1007, &[&"number", &text])
}

/// 4147: `*=` and `=*`.
pub fn old_outer_join() -> SqlError {
    SqlError::custom(
        4147,
        15,
        1,
        "The old outer join operators (*= and =*) are not supported; use LEFT and RIGHT OUTER JOIN."
            .to_string(),
    )
}

/// 1001: a length of 0.
pub fn length_zero(length: u64) -> SqlError {
    error(1001, &[&1, &length])
}

/// 131: a length above what the type allows.
pub fn length_too_long(name: &str, length: u64, limit: u64) -> SqlError {
    error(131, &[&length, &"type", &name, &limit])
}

/// 2750: a precision above the limit.
pub fn precision_invalid(position: usize, precision: u64, limit: u64) -> SqlError {
    error(2750, &[&position, &precision, &limit])
}

/// 192: scale above precision.
pub fn scale_above_precision() -> SqlError {
    error(192, &[])
}

/// 1002: a scale above 7.
pub fn fraction_invalid(scale: u64) -> SqlError {
    error(1002, &[&1, &scale])
}

/// 2715: an unknown data type.
pub fn unknown_type(position: usize, name: &str) -> SqlError {
    error(2715, &[&position, &name])
}

/// 10753: a window function without OVER.
pub fn needs_over(name: &str) -> SqlError {
    error(10753, &[&name])
}

/// 195: not a built-in function.
pub fn unknown_function(name: &str) -> SqlError {
    error(195, &[&name, &"built-in function name"])
}

/// 174 or 189: a wrong number of arguments.
pub fn argument_count(name: &str, min: u8, max: u8) -> SqlError {
    if min == max { error(174, &[&name, &min]) } else { error(189, &[&name, &min, &max]) }
}

/// 4127: all arguments are NULL literals.
pub fn all_arguments_null() -> SqlError {
    error(4127, &[])
}

/// 4151: the first argument of NULLIF is the NULL literal.
pub fn nullif_first_null() -> SqlError {
    error(4151, &[])
}

/// 147: an aggregate in a clause about rows.
pub fn aggregate_in_where() -> SqlError {
    error(147, &[])
}

/// 8117: an operand type that an operator does not take.
pub fn operand_type(type_name: &str, operator: &str) -> SqlError {
    error(8117, &[&type_name, &operator])
}

/// 1023: an invalid parameter.
pub fn invalid_parameter(position: u32, function: &str) -> SqlError {
    error(1023, &[&position, &function])
}

/// 155: not a date part that the function knows.
pub fn unknown_date_part(word: &str, function: &str) -> SqlError {
    error(155, &[&word, &function])
}

/// 1087: a table variable that is not declared.
pub fn undeclared_table_variable(name: &str) -> SqlError {
    error(1087, &[&name])
}

/// 10700: a change of a table that is a READONLY parameter.
pub fn read_only_parameter(name: &str) -> SqlError {
    error(10700, &[&name])
}

/// 216: a table function without its arguments.
pub fn function_needs_arguments(name: &str) -> SqlError {
    SqlError::custom(216, 16, 1, format!("Parameters were not given for the function '{name}'."))
}

/// 208: no object of the name.
pub fn invalid_object(name: &str) -> SqlError {
    error(208, &[&name])
}

/// 207: no column of the name.
pub fn invalid_column(name: &str) -> SqlError {
    error(207, &[&name])
}

/// 209: several columns of the name.
pub fn ambiguous_column(name: &str) -> SqlError {
    error(209, &[&name])
}

/// 4104: a name of several parts that means nothing.
pub fn multi_part_not_bound(name: &str) -> SqlError {
    error(4104, &[&name])
}

/// 107: `t.*` of an unknown `t`.
pub fn star_prefix_unknown(name: &str) -> SqlError {
    error(107, &[&name])
}

/// 263: `*` without FROM.
pub fn star_without_from() -> SqlError {
    error(263, &[])
}

/// 7202: no linked servers.
pub fn no_such_server(name: &str) -> SqlError {
    error(7202, &[&name])
}

/// 8158 or 8159: more or fewer columns than the list of names.
pub fn column_list_mismatch(alias: &str, names: usize, columns: usize) -> SqlError {
    if columns > names { error(8158, &[&alias]) } else { error(8159, &[&alias]) }
}

/// 8155: a derived column without a name.
pub fn column_without_name(position: usize, alias: &str) -> SqlError {
    error(8155, &[&position, &alias])
}

/// 8156: a derived table names a column twice.
pub fn column_named_twice(name: &str, alias: &str) -> SqlError {
    error(8156, &[&name, &alias])
}

/// The stored text of a module or constraint no longer parses: our bug or damage.
pub fn stored_text_damaged() -> SqlError {
    SqlError::custom(4413, 16, 1, "The stored text of an object could not be read back.".to_string())
}

/// 313: too few arguments.
pub fn too_few_arguments(name: &str) -> SqlError {
    error(313, &[&name])
}

/// 8144: too many arguments.
pub fn too_many_arguments(name: &str) -> SqlError {
    error(8144, &[&name])
}

/// 321: not a table hint.
pub fn unknown_hint(name: &str) -> SqlError {
    error(321, &[&name])
}

/// 1047: hints that do not go together.
pub fn conflicting_hints() -> SqlError {
    error(1047, &[])
}

/// 650: READPAST at a level where rows may not be passed over.
pub fn read_past_level() -> SqlError {
    error(650, &[])
}

/// 1065: NOLOCK on a table that is changed.
pub fn uncommitted_target() -> SqlError {
    error(1065, &[])
}

/// 164: a grouping expression without a column.
pub fn group_by_without_column() -> SqlError {
    error(164, &[])
}

/// 8120, 8127 or 8121: a column that is neither grouped nor aggregated.
pub fn not_grouped(column: &str, clause: &str) -> SqlError {
    match clause {
        "HAVING clause" => error(8121, &[&column]),
        "ORDER BY clause" => error(8127, &[&column]),
        _ => error(8120, &[&column]),
    }
}

/// 141: a SELECT that both assigns and returns.
pub fn assignment_mixed() -> SqlError {
    error(141, &[])
}

/// 145: ORDER BY of SELECT DISTINCT names something not selected.
pub fn order_by_not_selected() -> SqlError {
    error(145, &[])
}

/// 104: ORDER BY of a set operation names something not selected.
pub fn order_by_not_in_union() -> SqlError {
    error(104, &[])
}

/// 108: ORDER BY position out of range.
pub fn order_ordinal(position: i32) -> SqlError {
    error(108, &[&position])
}

/// 10741: TOP together with OFFSET.
pub fn top_with_offset() -> SqlError {
    error(10741, &[])
}

/// 1062: WITH TIES without ORDER BY.
pub fn ties_without_order() -> SqlError {
    error(1062, &[])
}

/// 205: sides of different width.
pub fn set_operation_width() -> SqlError {
    error(205, &[])
}

/// 10709: VALUES rows of different length.
pub fn values_width() -> SqlError {
    error(10709, &[])
}

/// 252: a recursion without UNION ALL.
pub fn recursion_without_union(name: &str) -> SqlError {
    error(252, &[&name])
}

/// 240: anchor and step of different types.
pub fn recursion_type(column: &str, name: &str) -> SqlError {
    error(240, &[&column, &name])
}

/// 4108: a window function outside SELECT and ORDER BY.
pub fn window_misplaced() -> SqlError {
    error(4108, &[])
}

/// 4121: a function of a schema. Scalar ones cannot be made here.
pub fn unknown_scalar_function(name: &str) -> SqlError {
    let first = name.split('.').next().unwrap_or(name);
    error(4121, &[&first, &name])
}

/// 4113: not a window function.
pub fn not_a_window_function(name: &str) -> SqlError {
    error(4113, &[&name])
}

/// 10759: DISTINCT with OVER.
pub fn distinct_with_over() -> SqlError {
    SqlError::custom(10759, 15, 1, "DISTINCT cannot be used together with the OVER clause.".to_string())
}

/// 4194: RANGE takes no number of rows.
pub fn range_with_count() -> SqlError {
    SqlError::custom(
        4194,
        16,
        1,
        "RANGE takes only UNBOUNDED and CURRENT ROW as bounds of its frame.".to_string(),
    )
}

/// Is it an error that SET ARITHABORT OFF and SET ANSI_WARNINGS OFF together turn into NULL: overflow, division by zero, a value out of a
/// function's domain?
pub fn is_arithmetic(number: i32) -> bool {
    matches!(number, 220 | 232 | 3623 | 8115 | 8134)
}

/// 3607: a division by zero gave NULL (a message).
pub fn division_occurred() -> SqlError {
    error(3607, &[])
}

/// 3606: an overflow gave NULL (a message).
pub fn overflow_occurred() -> SqlError {
    error(3606, &[])
}

/// 8153: an aggregate met NULL (a message, not an error).
pub fn null_eliminated() -> SqlError {
    error(8153, &[])
}

/// 259: system tables are not changed by statements.
pub fn system_catalog_update() -> SqlError {
    error(259, &[])
}

/// 264: a column is assigned twice.
pub fn column_assigned_twice(name: &str) -> SqlError {
    error(264, &[&name])
}

/// 271: a computed column cannot be changed.
pub fn column_computed(name: &str) -> SqlError {
    error(271, &[&name])
}

/// 273: no explicit value for a rowversion column.
pub fn insert_rowversion() -> SqlError {
    error(273, &[])
}

/// 515: NULL for a column that takes none.
pub fn null_not_allowed(column: &str, table: &str, verb: &str) -> SqlError {
    error(515, &[&column, &table, &verb])
}

/// 547: a CHECK, FOREIGN KEY or REFERENCE constraint is broken.
pub fn constraint_conflict(
    verb: &str,
    kind: &str,
    name: &str,
    database: &str,
    table: &str,
    column: Option<&str>,
) -> SqlError {
    let tail = column.map_or(String::new(), |column| format!(", column '{column}'"));
    error(547, &[&verb, &kind, &name, &database, &table, &tail])
}

/// 213: as many values as columns are wanted.
pub fn values_do_not_match() -> SqlError {
    error(213, &[])
}

/// 109: more columns than values.
pub fn more_columns_than_values() -> SqlError {
    error(109, &[])
}

/// 110: fewer columns than values.
pub fn fewer_columns_than_values() -> SqlError {
    error(110, &[])
}

/// 120, 121: the select list of INSERT ... SELECT is too short or too long.
pub fn insert_select_width(fewer: bool) -> SqlError {
    error(if fewer { 120 } else { 121 }, &[])
}

/// 544: an explicit identity value while IDENTITY_INSERT is OFF.
pub fn identity_insert_off(table: &str) -> SqlError {
    error(544, &[&table])
}

/// 545: no explicit identity value while IDENTITY_INSERT is ON.
pub fn identity_insert_needed(table: &str) -> SqlError {
    error(545, &[&table])
}

/// 8101: IDENTITY_INSERT is ON but there is no column list.
pub fn identity_insert_without_list(table: &str) -> SqlError {
    error(8101, &[&table])
}

/// 8102: an identity column cannot be updated.
pub fn update_identity(name: &str) -> SqlError {
    error(8102, &[&name])
}

/// 1038: SELECT INTO needs a name for each column.
pub fn column_name_missing() -> SqlError {
    error(1038, &[])
}

/// 8147: an identity column that takes NULL.
pub fn identity_nullable(column: &str, table: &str) -> SqlError {
    error(8147, &[&column, &table])
}

/// 2749: a type that identity columns cannot have.
pub fn identity_type(column: &str) -> SqlError {
    error(2749, &[&column])
}

/// 2752: a seed that the column's type cannot hold.
pub fn identity_seed(column: &str) -> SqlError {
    error(2752, &[&column])
}

/// 2753: an increment of 0, or one that is no number of that size.
pub fn identity_increment(column: &str) -> SqlError {
    error(2753, &[&column])
}

/// 1767: a foreign key to a table that does not exist.
pub fn foreign_key_table(key: &str, table: &str) -> SqlError {
    error(1767, &[&key, &table])
}

/// 1088: an index on a table that does not exist.
pub fn index_without_table(table: &str) -> SqlError {
    error(1088, &[&table])
}

/// 3701: cannot drop what does not exist.
pub fn cannot_drop(kind: &str, name: &str) -> SqlError {
    error(3701, &[&"drop", &kind, &name])
}

/// 3705: DROP of an object with the wrong word.
pub fn drop_wrong_kind(kind: &str, name: &str) -> SqlError {
    error(
        3705,
        &[&kind.to_ascii_uppercase(), &name, &"object of another kind", &"the statement for its kind"],
    )
}

/// 2714: the name is taken.
pub fn already_exists(name: &str) -> SqlError {
    error(2714, &[&name])
}

/// 2010: ALTER of an object of another kind.
pub fn alter_wrong_kind(name: &str) -> SqlError {
    error(2010, &[&name])
}

/// 1033: ORDER BY in a view without TOP.
pub fn order_by_in_view() -> SqlError {
    error(1033, &[])
}

/// 4511: a view column without a name.
pub fn view_column_unnamed(position: usize) -> SqlError {
    error(4511, &[&position])
}

/// 4902: ALTER of a table that does not exist.
pub fn alter_missing_table(name: &str) -> SqlError {
    error(4902, &[&name])
}

/// 4924: ALTER of a column that does not exist.
pub fn alter_missing_column(column: &str, table: &str) -> SqlError {
    error(4924, &[&"ALTER TABLE ALTER COLUMN", &column, &table])
}

/// 537: an invalid length for SUBSTRING or LEFT; 536 with the name for RIGHT.
pub fn invalid_length(function: &str) -> SqlError {
    match function {
        "right" => error(536, &[&function]),
        _ => error(537, &[]),
    }
}

/// 3623: an invalid floating point operation.
pub fn invalid_float() -> SqlError {
    error(3623, &[])
}

/// 9828: TRANSLATE with lists of different length.
pub fn translate_lengths() -> SqlError {
    SqlError::custom(
        9828,
        16,
        1,
        "The second and third arguments of TRANSLATE must have the same number of characters.".to_string(),
    )
}

/// Error 6603: a pattern of OPENXML is not valid, for the reason that XQuery tells. Other errors (701, an interrupt) stay as they are.
pub fn xml_pattern_error(error: SqlError) -> SqlError {
    match error.number {
        2200..2400 | 6305..6310 | 9300..9400 => SqlError::new(6603, &[&error.message]).with_state(2),
        _ => error,
    }
}
