//! Statistics of columns follow commits: each change counts, and each update invalidates plans.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::sync::Arc;

use hardpan_engine::{Database, RowChange, StatisticsDef};
use os::sim::Profile;
use support::{NAME, Session, create_database, create_table, find, in_world, item, items, open};

/// The column `filler`, which no index has.
const FILLER: usize = 2;

fn about_filler(database: &Arc<Database>, object_id: i32) -> Arc<StatisticsDef> {
    let all = database.catalog().statistics(object_id);
    assert_eq!(all.len(), 1, "statistics of one column were made");
    all[0].clone()
}

#[test]
fn updates_make_statistics_old_and_renewed_ones_tell_the_plans() {
    in_world(31, Profile::default(), |os| {
        let instance = open(os);
        let database = create_database(&instance, NAME).unwrap();
        let table = create_table(&instance, &database, &items("items"));
        let mut session = Session::new(&instance, &database, 51);
        session
            .autocommit(None, |txn| {
                (0..1_000).try_for_each(|id| table.insert(txn, &item(id, id, 10)).map(drop))
            })
            .unwrap();

        let before = table.statistics_version();
        let first = table.statistics_on(FILLER).expect("made at the first question");
        let made = about_filler(&database, table.definition().object_id);
        assert_eq!((first.rows, table.modifications_since(&made), table.is_stale(&made)), (1_000, 0, false));
        let after = table.statistics_version();
        assert!(after > before, "a plan without them is old: {before}, {after}");
        assert_eq!(table.statistics_on(FILLER).unwrap().updated, first.updated, "they are as new as can be");
        assert_eq!(table.statistics_version(), after, "nothing was made");

        let mut update = |keeps: bool| {
            session.set.begin_explicit();
            let changed = session.statement(|txn| {
                (0..900).try_for_each(|id| {
                    let (locator, old) = find(txn, &table, id)?.expect("a row");
                    let new = item(id, id, 11);
                    let change = RowChange { locator: &locator, old: &old, new: &new, changed: &[FILLER] };
                    table.update(txn, change).map(drop)
                })
            });
            changed.unwrap();
            if keeps { session.set.commit(None).unwrap() } else { session.set.rollback().unwrap() }
        };
        update(false);
        assert_eq!(table.modifications_since(&made), 0, "it was rolled back");
        update(true);
        assert_eq!((table.modifications_since(&made), table.is_stale(&made)), (900, true));

        let renewed = table.statistics_on(FILLER).expect("renewed");
        let made = about_filler(&database, table.definition().object_id);
        assert_eq!(
            (renewed.rows, table.modifications_since(&made), table.is_stale(&made)),
            (1_000, 0, false)
        );
        assert!(table.statistics_version() > after, "a plan with the old ones is old");
        instance.shutdown();
    });
}

#[test]
fn statistics_of_all_rows_are_not_stale_because_few_pages_tell_another_number_after_a_start() {
    in_world(32, Profile::default(), |os| {
        let instance = open(os);
        let database = create_database(&instance, NAME).unwrap();
        let table = create_table(&instance, &database, &items("items"));
        let mut session = Session::new(&instance, &database, 51);
        // Short rows at the sampled place, long ones everywhere else.
        let row = |id| item(id, id, if id < 500 { 10 } else { 800 });
        session
            .autocommit(None, |txn| (0..2_000).try_for_each(|id| table.insert(txn, &row(id)).map(drop)))
            .unwrap();
        let rows = table.statistics_on(FILLER).expect("made at the first question").unfiltered_rows;
        assert_eq!((rows, table.row_count_estimate()), (2_000, 2_000));
        drop((session, table, database));
        instance.shutdown();

        let instance = open(os);
        let database = instance.database(NAME).unwrap();
        let table = support::table(&database, "items").unwrap();
        let told = table.row_count_estimate();
        assert!(told > 5_000, "{told}: the pages must mislead, or nothing is tested");
        let made = about_filler(&database, table.definition().object_id);
        assert!(table.is_stale(&made), "as far as the pages tell");
        let renewed = table.statistics_on(FILLER).expect("made anew");
        assert_eq!((renewed.unfiltered_rows, table.row_count_estimate()), (2_000, 2_000));
        let version = table.statistics_version();
        let made = about_filler(&database, table.definition().object_id);
        assert!(!table.is_stale(&made), "all rows have been seen");
        table.statistics_on(FILLER).expect("they are there");
        assert_eq!(table.statistics_version(), version, "no plan is old, nothing was made");
        instance.shutdown();
    });
}
