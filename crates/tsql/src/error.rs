//! Syntax errors with SQL Server's numbers.

/// One syntax error of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// SQL Server's message number: 102, 105, 111, 113, 156, 191, 319, ...
    pub number: i32,
    /// 15; 17 for 701.
    pub severity: u8,
    /// 1; 123 for 701.
    pub state: u8,
    /// 1-based line in the batch.
    pub line: u32,
    /// The argument of the message: the token it complains about, or the statement kind (111), or the label (132, 133).
    pub near: String,
    /// Byte offset of that token.
    pub offset: u32,
}

impl SyntaxError {
    /// The same with the state that SQL Server gives it.
    pub(crate) fn with_state(self, state: u8) -> SyntaxError {
        SyntaxError { state, ..self }
    }

    /// The message in our words, with SQL Server's sense and arguments.
    pub fn message(&self) -> String {
        let near = &self.near;
        match self.number {
            102 => format!("Incorrect syntax near '{near}'."),
            103 => format!("The identifier that starts with '{near}' is too long. Maximum length is 128."),
            105 => format!("Unclosed quotation mark after the character string '{near}'."),
            111 => format!("'{near}' must be the first statement in a query batch."),
            113 => "Missing end comment mark '*/'.".to_string(),
            128 => format!("The name \"{near}\" is not permitted in this context. Constants and expressions of constants are, variables in some contexts; columns are not."),
            132 => format!("The label '{near}' has already been declared in this batch or procedure; labels must be unique."),
            133 => format!("A GOTO statement names the label '{near}', which is not declared."),
            134 => format!("The variable '{near}' has already been declared; names must be unique in a batch or procedure."),
            137 => format!("The scalar variable \"{near}\" is not declared."),
            142 => format!("The definition of the '{near}' constraint has incorrect syntax."),
            153 => format!("The option {near} is used in a way that the DECLARE CURSOR statement does not take."),
            154 => "A USE database statement is not allowed in a procedure, function or trigger.".to_string(),
            179 => "OUTPUT cannot be used when a constant is passed to a stored procedure.".to_string(),
            156 => format!("Incorrect syntax near the keyword '{near}'."),
            191 => "Part of this statement is nested too deeply. Rewrite the query or split it into smaller ones.".to_string(),
            319 => "Incorrect syntax near the keyword 'with'. If it starts a common table expression, an xmlnamespaces \
                    clause or a change tracking context clause, the statement before it must end with a semicolon."
                .to_string(),
            117 => format!("The name '{near}' has more parts than such a name may have."),
            135 | 136 => format!("'{near}' stands outside of a WHILE loop."),
            168 => format!("The floating point value '{near}' is out of the range of float."),
            176 => "FOR BROWSE cannot be used in a view.".to_string(),
            178 => "RETURN with a value may stand only in a stored procedure or function.".to_string(),
            343 => format!("Unknown kind of object '{near}' in a CREATE, ALTER or DROP statement."),
            701 => "There is insufficient system memory in resource pool 'default' to run this query.".to_string(),
            1007 => format!("The number '{near}' has more digits than decimal may have (38)."),
            1033 => "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and common table expressions, unless TOP, OFFSET or FOR XML is also specified."
                .to_string(),
            1036 => format!("CREATE or ALTER DATABASE needs the file option {near} here."),
            1046 => "Subqueries are not allowed in this context. Only scalar expressions are allowed.".to_string(),
            1042 => format!("Conflicting {near} optimizer hints were given."),
            1039 => format!("The option '{near}' is given more than once."),
            1049 => "Options of both syntaxes of DECLARE CURSOR, the old and the new, cannot be mixed.".to_string(),
            1048 => format!("Conflicting cursor options {near}."),
            1058 => "READ_ONLY and FOR READ ONLY cannot both be given for a cursor.".to_string(),
            1067 => "A SET SHOWPLAN statement must be the only statement of its batch.".to_string(),
            4145 => format!("A condition is expected, but the expression near '{near}' is not of boolean type."),
            11709 => "RESTART WITH cannot be used in CREATE SEQUENCE.".to_string(),
            11710 => "START WITH cannot be used in ALTER SEQUENCE.".to_string(),
            11711 => "AS cannot be used in ALTER SEQUENCE.".to_string(),
            11712 => format!("'{near}' can be given only once for a sequence."),
            11715 => "ALTER SEQUENCE gives no property to change.".to_string(),
            13620 => "ROOT and WITHOUT_ARRAY_WRAPPER cannot both be given for FOR JSON.".to_string(),
            10710 => format!("An action of type '{near}' is not allowed in the 'WHEN NOT MATCHED' clause of a MERGE statement."),
            10711 => format!("An action of type 'INSERT' is not allowed in the '{near}' clause of a MERGE statement."),
            10705 => "Subqueries are not allowed in the OUTPUT clause.".to_string(),
            10713 => "A MERGE statement must end with a semicolon (;).".to_string(),
            _ => format!("Syntax error {} near '{near}'.", self.number),
        }
    }
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}: {}",
            self.number,
            self.severity,
            self.state,
            self.line,
            self.message()
        )
    }
}

impl std::error::Error for SyntaxError {}
