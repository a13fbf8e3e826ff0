//! One text for both servers: the parts that differ are between « and ».

/// The server's dialect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    TransactSql,
    PostgreSql,
}

impl Dialect {
    /// The text in this dialect: `«top 10»` and `«limit 10»` give the same limit, each at its place in the dialect;
    /// `«year(x)»` is the year of a date; `«a|b»` is `a` in T-SQL and `b` in PostgreSQL.
    pub fn text(self, template: &str) -> String {
        let mut out = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('«') {
            let (mark, behind) = after.split_once('»').expect("each « has its »");
            out.push_str(before);
            out.push_str(&self.mark(mark));
            rest = behind;
        }
        out + rest
    }

    fn mark(self, mark: &str) -> String {
        let transact = self == Dialect::TransactSql;
        if let Some(count) = mark.strip_prefix("top ") {
            return if transact { format!("top ({count})") } else { String::new() };
        }
        if let Some(count) = mark.strip_prefix("limit ") {
            return if transact { String::new() } else { format!("limit {count}") };
        }
        if let Some(date) = mark.strip_prefix("year(").and_then(|rest| rest.strip_suffix(')')) {
            return if transact {
                format!("year({date})")
            } else {
                format!("cast(extract(year from {date}) as int)")
            };
        }
        let (ours, theirs) = mark.split_once('|').expect("a mark is top, limit, year or two texts");
        if transact { ours.into() } else { theirs.into() }
    }
}
