//! A file that cannot grow is reported in the server's own log with file and cause: once, until growing has succeeded again.
use crate::common::simulated::{NAME, Server};
use crate::common::{numbers, run};
use os::sim::{Effect, Fault, Operation, Profile, World};

const FILL: &str = "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 400 BEGIN INSERT pile VALUES (REPLICATE('p', 7000)); SET @i += 1; END";

fn full(path_part: &str) -> Fault {
    let every = Fault { effect: Effect::NoSpace, ..Fault::fail_from(Operation::Harden, 0) };
    every.on(path_part)
}

#[test]
fn a_file_that_cannot_grow_is_told_once_with_its_name_and_the_cause() {
    let world = World::new(11, Profile { switches_max: 40_000_000, ..Profile::nvme() });
    let faults = world.clone();
    let report = world.run(move |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        run(&mut session, &format!("CREATE DATABASE {NAME}; ALTER DATABASE {NAME} SET RECOVERY SIMPLE"));
        run(&mut session, &format!("USE {NAME}; CREATE TABLE pile (payload varchar(8000) NOT NULL)"));
        for _ in 0..3 {
            faults.inject(full(".mdf"));
            let mut met = Vec::new();
            while !met.contains(&1105) {
                met = numbers(&run(&mut session, FILL));
            }
            // Other statements meet the same full disk.
            assert!(numbers(&run(&mut session, FILL)).contains(&1105));
            faults.clear_faults();
            // There is room again, and the file grows.
            assert!(numbers(&run(&mut session, FILL)).is_empty());
        }
        // The disk is full: rows change in place, only the log needs more space.
        run(
            &mut session,
            "CREATE DATABASE narrow ON (NAME = n, FILENAME = 'C:\\n.mdf') LOG ON (NAME = l, FILENAME = 'C:\\narrow.ldf', SIZE = 1MB)",
        );
        run(&mut session, "USE narrow; CREATE TABLE pile (payload varchar(8000) NOT NULL)");
        run(&mut session, "INSERT pile SELECT TOP (20) REPLICATE('p', 7000) FROM master..spt_values");
        faults.set_capacity_bytes(Some(faults.used_bytes()));
        run(&mut session, "BEGIN TRAN");
        let update = |turn| format!("UPDATE pile SET payload = REPLICATE(CHAR(65 + {turn}), 7000)");
        let met: Vec<Vec<i32>> = (0..8).map(|turn| numbers(&run(&mut session, &update(turn)))).collect();
        assert!(met.iter().any(|numbers| numbers.contains(&9002)), "{met:?}");
        run(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
        faults.set_capacity_bytes(None);
        server.stop(session);
    });
    report.assert_ok();
    let lines = |part: &str| -> Vec<&String> {
        report.log.iter().filter(|line| line.contains("cannot grow") && line.contains(part)).collect()
    };
    let data = lines(&format!("{NAME}.mdf"));
    assert_eq!(data.len(), 3, "once until it has grown again: {data:?}");
    let log = lines("narrow.ldf");
    assert_eq!(log.len(), 1, "{log:?}");
    for line in data.iter().chain(&log) {
        assert!(line.contains("bytes") && line.contains("No space left on device"), "the cause: {line}");
    }
}
