//! What `*` and `t.*` in the text of a view or inline function stand for: the columns that there were when it was made, or made anew by ALTER,
//! sp_refreshview or sp_refreshsqlmodule. The catalog keeps their names for each place of the text. A column that has come since is not shown. One
//! whose name is gone is the column that stands in its place now, if that is none of the others: it was renamed; else the module cannot be used
//! (4502 and 4413, as in SQL Server). Modules of before these names were kept show all columns that there
//! are. A `*` of EXISTS stands for no columns.

use engine::{KeptColumn, KeptStar, ModuleDef};
use plan_ir::names::same_name;
use tsql::ast::ObjectName;
use types::SqlError;

use super::kept_stars::Stars;
use super::{Binder, ScopeColumn};

impl Binder<'_> {
    /// The text that is bound next is that of a module.
    pub(super) fn expand_as_kept(&mut self, module: &ModuleDef) {
        self.stars = Stars { kept: module.stars.clone(), ..Stars::default() };
    }

    /// Binds what EXISTS asks.
    pub(super) fn of_exists<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let outer = std::mem::replace(&mut self.stars.is_of_exists, true);
        let result = f(self);
        self.stars.is_of_exists = outer;
        result
    }

    /// The columns that a `*` at this place of the text stands for.
    pub(super) fn columns_of_star(
        &mut self,
        qualifier: Option<&ObjectName>,
        place: u32,
    ) -> Result<Vec<ScopeColumn>, SqlError> {
        if self.stars.is_of_exists {
            return self.star_columns(qualifier);
        }
        let columns = self.columns_of_star_at(qualifier, place)?;
        columns.iter().try_for_each(|column| self.check_no_node(column.id, &column.name))?;
        Ok(columns)
    }

    fn columns_of_star_at(
        &mut self,
        qualifier: Option<&ObjectName>,
        place: u32,
    ) -> Result<Vec<ScopeColumn>, SqlError> {
        if let Some(kept) = self.stars.kept.iter().find(|star| star.place == place) {
            return self.kept_columns(kept);
        }
        let columns = self.star_columns(qualifier)?;
        let star = KeptStar { place, columns: self.places_of(&columns) };
        // A common table expression is bound as often as it is named.
        if let Some(noted) =
            self.stars.noted.as_mut().filter(|noted| noted.iter().all(|one| one.place != place))
        {
            noted.push(star);
        }
        Ok(columns)
    }

    fn kept_columns(&self, kept: &KeptStar) -> Result<Vec<ScopeColumn>, SqlError> {
        let tables = self.scopes.last().map_or(&[][..], |scope| &scope.tables);
        let is_kept = |table: u16, name: &str| {
            kept.columns.iter().any(|column| column.table == table && same_name(&column.name, name))
        };
        let mut columns = Vec::with_capacity(kept.columns.len());
        let mut places = rustc_hash::FxHashMap::<u16, usize>::default();
        for column in &kept.columns {
            let place = places.entry(column.table).or_default();
            let all = tables.get(usize::from(column.table)).map_or(&[][..], |table| &table.columns);
            let named = all.iter().find(|found| same_name(&found.name, &column.name));
            let found = named.or_else(|| all.get(*place).filter(|found| !is_kept(column.table, &found.name)));
            // The module's name is told where it is named.
            let found = found.ok_or_else(|| SqlError::new(4502, &[&""]))?;
            columns.push(ScopeColumn { name: column.name.to_string(), ..found.clone() });
            *place += 1;
        }
        Ok(columns)
    }

    /// Which table of the innermost scope each column is of, and what it is called there.
    fn places_of(&self, columns: &[ScopeColumn]) -> Vec<KeptColumn> {
        let tables = self.scopes.last().map_or(&[][..], |scope| &scope.tables);
        let all = tables
            .iter()
            .enumerate()
            .flat_map(|(at, table)| table.columns.iter().map(move |column| (at, column)));
        let table_of: rustc_hash::FxHashMap<_, _> = all.map(|(at, column)| (column.id, at)).collect();
        let place = |column: &ScopeColumn| KeptColumn {
            table: u16::try_from(table_of[&column.id]).expect("a FROM clause has 256 tables at most"),
            name: column.name.as_str().into(),
        };
        columns.iter().map(place).collect()
    }
}

/// A view or function whose text does not bind any more cannot be used: 4413, told after what is wrong with it. `name`: as the statement has it.
pub(super) fn not_usable(error: SqlError, name: &str) -> SqlError {
    let error = match error.number {
        4502 => SqlError::new(4502, &[&name]),
        207 | 209 | 4104 => error,
        _ => return error,
    };
    SqlError::new(4413, &[&name]).after(error)
}
